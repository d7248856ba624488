/* Commands to servers, many at a time, and their answers. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/base/requests.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "net/base/error.h"
#include "net/loop/clock.h"
#include "net/route/refusal.h"

#define TIMEOUT_MS 5000         /* of a reply, if the URL does not say */
#define REPLY_MAX (4u << 20)    /* bytes: a page of names has a tenth of it */

/* ---- the servers ---- */

hf_status cli_requests_open(struct cli_requests *requests,
                            const struct cli_requests_options *options, struct hf_error *err)
{
    struct hf_router_options router = {.seeds = options->seeds};
    const struct hf_url *url = options->url;
    int64_t timeout_ms = url->timeout_ms > 0 ? url->timeout_ms : TIMEOUT_MS;
    hf_status rc;

    requests->timeout_ms = url->connect_timeout_ms + timeout_ms;
    hf_link_options_init(&router.link);
    router.link.url = *url;
    router.link.client_name = options->client_name;
    router.link.protocol = url->protocol ? url->protocol : 3;
    router.link.connect_timeout_ms = url->connect_timeout_ms;
    router.link.silence_ms = timeout_ms;
    router.link.reply_max = REPLY_MAX;
    router.link.on_trace = options->on_trace;
    router.link.trace_ctx = options->trace_ctx;
    rc = hf_router_new(&requests->router, requests->loop, &router, err);
    explicit_bzero(&router.link.url, sizeof router.link.url);
    return rc;
}

void cli_requests_close(struct cli_requests *requests)
{
    if (!requests->router)
        return;
    hf_loop_lock(requests->loop);
    hf_router_free(requests->router);
    hf_loop_unlock(requests->loop);
    requests->router = NULL;
}

/* ---- requests ---- */

void cli_query_add_bytes(struct cli_query *q, const char *ptr, size_t len)
{
    assert(q->words_count < CLI_QUERY_WORDS_MAX);
    q->words[q->words_count++] = (struct hf_resp_arg){ptr, len};
}

void cli_query_add_word(struct cli_query *q, const char *word)
{
    cli_query_add_bytes(q, word, strlen(word));
}

/* ---- answers ---- */

static void set_error_of_refusal(struct cli_query *q, struct hf_resp_value reply)
{
    bool lacks_right = hf_refusal_is_by_acl(reply);
    char words[220];
    const char *ptr;
    size_t len;

    hf_refusal_text(reply, &ptr, &len);
    q->is_refused = true;
    (void)hf_error_set(&q->error, HF_E_SERVER, "%s: %.*s: %s%s",
                       hf_command_address(&q->command), (int)q->words[0].len,
                       (const char *)q->words[0].ptr,
                       hf_error_quote(words, sizeof words, ptr, len),
                       lacks_right
                           ? " (the ACL of this user lacks that command)"
                           : "");
}

/* All requests only read: a request that was lost with its connection is sent once
 * more. */
static bool repeat_if_lost(struct cli_query *q, enum hf_outcome outcome)
{
    if (outcome != HF_UNKNOWN || q->was_repeated)
        return false;
    q->was_repeated = true;
    return hf_router_send(q->requests->router, &q->command) == HF_OK;
}

static void on_query_done(struct hf_command *command, enum hf_outcome outcome,
                          struct hf_resp_value reply)
{
    struct cli_query *q = HF_OWNER_OF(command, struct cli_query, command);
    const struct hf_error *why = hf_command_error(command);

    if (repeat_if_lost(q, outcome))
        return;
    q->requests->pending_count--;
    if (outcome != HF_ANSWERED && why->status != HF_OK)
        q->error = *why;
    else if (outcome != HF_ANSWERED)
        (void)hf_error_set(&q->error, HF_E_NOREPLY, "%s: no reply in time",
                           hf_command_address(command));
    else if (hf_resp_is_error(reply))
        set_error_of_refusal(q, reply);
    else
        q->read_reply(q, reply);
}

/* Behind the address and the command, as set_error_of_refusal writes it. */
bool cli_query_is_error(const struct cli_query *q, const char *code)
{
    char part[40];

    (void)snprintf(part, sizeof part, ": %s ", code);
    return q->is_refused && strstr(q->error.text, part);
}

/* ---- sending ---- */

void cli_requests_send(struct cli_requests *requests, struct cli_query *q)
{
    hf_status rc;

    q->requests = requests;
    q->error = (struct hf_error){0};
    q->is_refused = q->was_repeated = false;
    q->command = (struct hf_command){
        .argv = q->words,
        .argc = q->words_count,
        .slot = q->slot,
        .is_never_retried = true,
        .deadline_ms = hf_clock_ms() + requests->timeout_ms,
        .done = on_query_done};
    hf_loop_lock(requests->loop);
    rc = hf_router_send(requests->router, &q->command);
    hf_loop_unlock(requests->loop);
    if (rc == HF_OK)
        requests->pending_count++;
    else
        (void)hf_error_set(&q->error, rc, "%s", hf_status_text(rc));
}

void cli_requests_await(struct cli_requests *requests)
{
    while (requests->pending_count > 0)
        hf_loop_dispatch(requests->loop, -1);
}
