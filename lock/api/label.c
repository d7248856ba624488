/* The public calls about labels. */
/* Tests: tests/live/lock/test_lock_label.c. */
#include "lock/label.h"

#include <string.h>

#include "lock/api/op_request.h"
#include "lock/record/op.h"
#include "lock/record/label_request.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"

/* One call: GET, DEL, or PTTL that PEXPIRE may follow. */
struct label_call {
    struct hf_label_request request;
    char *dst;                  /* receives the label; or NULL */
    int64_t lease_ms;           /* to extend */
    hf_status status;
    struct hf_error error;
    struct hf_waiter *waiter;   /* of a blocking call; or NULL */
    hf_done *done;
    void *ctx;
    struct hf_task task;        /* that calls `done` */
};

/* ---- the end ---- */

static void run_done_callback(struct hf_task *task)
{
    struct label_call *call = HF_OWNER_OF(task, struct label_call, task);
    struct hf_client *client = call->request.client;

    client->pending_label_calls--;
    hf_loop_unlock(client->loop);
    call->done(call->ctx, call->status, &call->error);
    hf_loop_lock(client->loop);
    hf_mem_free(client->mem, call, sizeof *call);
}

static void end_label_call(struct label_call *call, hf_status status, const struct hf_error *why)
{
    struct hf_client *client = call->request.client;

    HF_ASSERT(hf_loop_is_locked(client->loop));
    call->status = status;
    if (why)
        call->error = *why;
    else
        (void)hf_error_set(&call->error, status, "%s", hf_status_text(status));
    if (call->waiter) {
        client->pending_label_calls--;
        hf_waiter_wake(call->waiter);
        return;
    }
    hf_loop_release_driver(client->loop);
    hf_task_init(&call->task, run_done_callback);
    hf_loop_post(client->loop, &call->task);
}

static void on_request_done(struct hf_label_request *request, hf_status status,
                            struct hf_resp_value reply, const struct hf_error *why)
{
    struct label_call *call = HF_OWNER_OF(request, struct label_call, request);

    if (status == HF_OK && call->dst)
        hf_label_copy(call->dst, reply);
    end_label_call(call, status, why);
}

static int64_t deadline_of_call(const struct label_call *call)
{
    const struct hf_client *client = call->request.client;

    return hf_loop_now(client->loop) + client->request_timeout_ms;
}

/* A negative TTL: there is no label, or it has no TTL. */
static void on_ttl_received(struct hf_label_request *request, hf_status status,
                            struct hf_resp_value reply, const struct hf_error *why)
{
    struct label_call *call = HF_OWNER_OF(request, struct label_call, request);
    int64_t ttl_ms = -1;

    if (status == HF_OK)
        (void)hf_resp_integer(reply, &ttl_ms);
    if (status < 0 || ttl_ms < 0 || ttl_ms >= call->lease_ms) {
        end_label_call(call, status, why);
        return;
    }
    request->done = on_request_done;
    status = hf_label_request_send_pexpire(request, call->lease_ms, deadline_of_call(call));
    if (status < 0)
        end_label_call(call, status, NULL);
}

/* ---- the beginning ---- */

enum label_verb { LABEL_READ, LABEL_EXTEND, LABEL_REMOVE };

/* Counts the call, until its end is reported. */
static hf_status count_pending_call(struct hf_client *client, struct hf_error *err)
{
    hf_status rc = hf_client_check_call_limit(client, err);

    client->pending_label_calls += rc == HF_OK;
    return rc;
}

static hf_status send_label_request(struct label_call *call, enum label_verb verb)
{
    struct hf_label_request *request = &call->request;

    request->done = verb == LABEL_EXTEND ? on_ttl_received : on_request_done;
    if (verb == LABEL_READ)
        return hf_label_request_send_get(request, deadline_of_call(call));
    return verb == LABEL_EXTEND ? hf_label_request_send_pttl(request, deadline_of_call(call))
                          : hf_label_request_send_del(request, deadline_of_call(call));
}

static hf_status submit_label_request(struct label_call *call, enum label_verb verb,
                                      struct hf_error *err)
{
    struct hf_client *client = call->request.client;
    hf_status rc = client->is_closing ? HF_E_CLOSED : count_pending_call(client, err);

    if (rc == HF_E_LIMIT) /* the error says more */
        return rc;
    if (rc == HF_OK && (rc = send_label_request(call, verb)) < 0)
        client->pending_label_calls--;
    return rc < 0 ? hf_error_set(err, rc, "%s", hf_status_text(rc)) : HF_OK;
}

static hf_status run_label_request(struct label_call *call, enum label_verb verb,
                                   struct hf_error *err)
{
    struct hf_loop *loop = call->request.client->loop;
    struct hf_waiter waiter;
    hf_status rc;

    hf_waiter_init(&waiter, loop);
    call->waiter = &waiter;
    hf_loop_lock(loop);
    if ((rc = submit_label_request(call, verb, err)) < 0) {
        hf_loop_unlock(loop);
        return rc;
    }
    hf_loop_wait(&waiter);
    if (hf_loop_forked(loop))
        return hf_fail_forked(err);
    if (err)
        *err = call->error;
    return call->status;
}

static hf_status begin_label_call(struct hf_client *client, const char *owner, size_t len,
                                  enum label_verb verb,
                                  struct label_call *call, struct hf_error *err)
{
    if (hf_loop_forked(client->loop))
        return hf_fail_forked(err);
    if (err)
        err->status = HF_OK;
    return hf_label_request_init(&call->request, client, owner, len)
               ? run_label_request(call, verb, err)
               : HF_OK;
}

/* ---- the public calls ---- */

hf_status hf_label_read(struct hf_client *client, const char *owner, size_t len,
                        char dst[HF_LABEL_MAX + 1], struct hf_error *err)
{
    struct label_call call = {.dst = dst};

    *dst = '\0';
    return begin_label_call(client, owner, len, LABEL_READ, &call, err);
}

hf_status hf_label_extend(struct hf_client *client, const char *owner, size_t len,
                          int64_t lease_ms, struct hf_error *err)
{
    struct label_call call = {.lease_ms = lease_ms};
    hf_status rc = hf_op_check_lease(lease_ms, err);

    return rc < 0 ? rc : begin_label_call(client, owner, len, LABEL_EXTEND, &call, err);
}

hf_status hf_label_remove(struct hf_client *client, const char *owner, size_t len,
                          struct hf_error *err)
{
    struct label_call call = {.dst = NULL};

    return begin_label_call(client, owner, len, LABEL_REMOVE, &call, err);
}

static hf_status start_async_label_call(struct label_call *call, bool has_key)
{
    struct hf_loop *loop = call->request.client->loop;
    hf_status rc;

    hf_loop_retain_driver(loop);
    rc = has_key ? submit_label_request(call, LABEL_READ, NULL)
        : count_pending_call(call->request.client, NULL);
    if (rc < 0)
        hf_loop_release_driver(loop);
    else if (!has_key)
        end_label_call(call, HF_OK, NULL);
    return rc;
}

hf_status hf_label_read_async(struct hf_client *client, const char *owner, size_t len,
                              char dst[HF_LABEL_MAX + 1], hf_done *done, void *ctx)
{
    struct label_call *call;
    hf_status rc;

    *dst = '\0';
    if (hf_loop_forked(client->loop))
        return HF_E_FORKED;
    if (!(call = hf_mem_new(client->mem, sizeof *call)))
        return HF_E_NOMEM;
    call->dst = dst;
    call->done = done;
    call->ctx = ctx;
    call->request.client = client;
    hf_loop_lock(client->loop);
    rc = start_async_label_call(call, hf_label_request_init(&call->request, client, owner, len));
    if (rc < 0)
        hf_mem_free(client->mem, call, sizeof *call);
    hf_loop_unlock(client->loop);
    return rc;
}
