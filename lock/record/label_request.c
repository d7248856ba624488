/* A command about a label key. */
/* Tests: tests/live/lock/test_lock_label.c. */
#include "lock/record/label_request.h"

#include <string.h>

#include "lock/script/patience.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/utf8.h"
#include "net/route/refusal.h"

/* ---- the reply ---- */

static void remove_from_pending(struct hf_label_request *request)
{
    hf_list_remove(&request->node);
}

/* The server has replied with an error. */
static hf_status fail_by_error_reply(const struct hf_label_request *request,
                                     struct hf_resp_value reply,
                                     struct hf_error *why)
{
    enum hf_after_error after = hf_after_error_reply(reply);
    hf_status status = after == HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY ? HF_E_NOREPLY : HF_E_SERVER;
    const char *ptr;
    size_t len;
    char said[200];

    hf_refusal_text(reply, &ptr, &len);
    (void)hf_error_set(why, status, "%s: %s", hf_command_address(&request->command),
                       hf_error_quote(said, sizeof said, ptr, len));
    why->is_temporary = after == HF_AFTER_ERROR_WAIT_GOES_ON ||
                        after == HF_AFTER_ERROR_REPEAT_REQUEST;
    return status;
}

static hf_status status_of_outcome(const struct hf_label_request *request, enum hf_outcome outcome,
                                   struct hf_resp_value reply, struct hf_error *why)
{
    const struct hf_error *known = hf_command_error(&request->command);

    if (outcome == HF_ANSWERED && !hf_resp_is_error(reply))
        return HF_OK;
    if (outcome == HF_ANSWERED)
        return fail_by_error_reply(request, reply, why);
    if (known->status != HF_OK) {
        *why = *known;
        return known->status;
    }
    return hf_error_set(why, outcome == HF_UNSENT ? HF_E_CONNECT : HF_E_NOREPLY,
                        "%s: no reply in time", hf_command_address(&request->command));
}

static void on_command_done(struct hf_command *command, enum hf_outcome outcome,
                            struct hf_resp_value reply)
{
    struct hf_label_request *request =
        HF_OWNER_OF(command, struct hf_label_request, command);
    struct hf_error why = {.status = HF_OK};
    hf_status status = status_of_outcome(request, outcome, reply, &why);

    remove_from_pending(request);
    request->done(request, status, reply, &why);
}

/* ---- sending ---- */

static void init_label_request(struct hf_label_request *request, struct hf_client *client,
                               const char *uuid)
{
    const size_t prefix = sizeof HF_LABEL_KEY - 1;

    hf_list_init(&request->node);
    request->client = client;
    memcpy(request->key, HF_LABEL_KEY, prefix);
    memcpy(request->key + prefix, uuid, UUID_LEN);
    request->key[prefix + UUID_LEN] = '\0';
}

void hf_label_request_init_own(struct hf_label_request *request, struct hf_client *client)
{
    init_label_request(request, client, client->uuid);
}

bool hf_label_request_init(struct hf_label_request *request, struct hf_client *client,
                           const char *owner, size_t len)
{
    if (!hf_owner_ok(owner, len))
        return false;
    init_label_request(request, client, owner);
    return true;
}

static struct hf_resp_arg arg_from_text(const char *s)
{
    return (struct hf_resp_arg){s, strlen(s)};
}

static struct hf_resp_arg arg_from_number(struct hf_label_request *request, int64_t n)
{
    return (struct hf_resp_arg){request->number, hf_resp_format_integer(request->number, n)};
}

/* The caller has set the arguments after the key. */
static hf_status send_label_command(struct hf_label_request *request, const char *verb, size_t argc,
                                    int64_t deadline_ms)
{
    struct hf_client *client = request->client;
    hf_status rc;

    HF_ASSERT(hf_loop_is_locked(client->loop) && hf_list_is_empty(&request->node));
    if (client->has_stopped_sending)
        return HF_E_CLOSED;
    request->argv[0] = arg_from_text(verb);
    request->argv[1] = arg_from_text(request->key);
    request->command = (struct hf_command){
        .argv = request->argv,
        .argc = argc,
        .slot = hf_router_slot(client->router, request->key, strlen(request->key)),
        .deadline_ms = deadline_ms,
        .done = on_command_done};
    rc = hf_router_send(client->router, &request->command);
    if (rc == HF_OK)
        hf_list_push(&client->label_requests, &request->node);
    return rc;
}

hf_status hf_label_request_send_get(struct hf_label_request *request, int64_t deadline_ms)
{
    return send_label_command(request, "GET", 2, deadline_ms);
}

hf_status hf_label_request_send_set(struct hf_label_request *request, const char *label,
                                    int64_t ttl_ms, int64_t deadline_ms)
{
    HF_ASSERT(ttl_ms > 0);
    request->argv[2] = arg_from_text(label);
    request->argv[3] = arg_from_text("PX");
    request->argv[4] = arg_from_number(request, ttl_ms);
    return send_label_command(request, "SET", 5, deadline_ms);
}

hf_status hf_label_request_send_del(struct hf_label_request *request, int64_t deadline_ms)
{
    return send_label_command(request, "DEL", 2, deadline_ms);
}

hf_status hf_label_request_send_pttl(struct hf_label_request *request, int64_t deadline_ms)
{
    return send_label_command(request, "PTTL", 2, deadline_ms);
}

hf_status hf_label_request_send_pexpire(struct hf_label_request *request, int64_t ttl_ms,
                                        int64_t deadline_ms)
{
    request->argv[2] = arg_from_number(request, ttl_ms);
    return send_label_command(request, "PEXPIRE", 3, deadline_ms);
}

bool hf_label_request_is_pending(const struct hf_label_request *request)
{
    return !hf_list_is_empty(&request->node);
}

void hf_label_request_cancel(struct hf_label_request *request)
{
    if (!hf_label_request_is_pending(request))
        return;
    HF_ASSERT(hf_loop_is_locked(request->client->loop));
    (void)hf_router_cancel(&request->command);
    remove_from_pending(request);
}

void hf_label_requests_end(struct hf_client *client)
{
    struct hf_error why;

    (void)hf_error_set(&why, HF_E_CLOSED, "%s", hf_status_text(HF_E_CLOSED));
    while (!hf_list_is_empty(&client->label_requests)) {
        struct hf_label_request *request =
            HF_OWNER_OF(client->label_requests.next, struct hf_label_request, node);

        hf_label_request_cancel(request);
        request->done(request, HF_E_CLOSED, (struct hf_resp_value){0}, &why);
    }
}

void hf_label_copy(char dst[HF_LABEL_MAX + 1], struct hf_resp_value reply)
{
    const char *ptr = "";
    size_t len = 0;

    if (hf_resp_bytes(reply, &ptr, &len) < 0)
        len = 0; /* null: there is no label */
    if (len > HF_LABEL_MAX)
        len = hf_utf8_complete_len(ptr, HF_LABEL_MAX);
    memcpy(dst, ptr, len);
    dst[len] = '\0';
    hf_error_sanitize(dst, len);
}
