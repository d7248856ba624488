/* The label of this client. Rules in label.h. */
/* Tests: tests/live/lock/test_lock_label.c. */
#include "lock/record/label.h"

#include <stdio.h>
#include <string.h>

#include "lock/record/hold_lookup.h"
#include "lock/record/hold_work.h"
#include "lock/record/label_request.h"
#include "lock/record/table.h"
#include "net/base/assert.h"
#include "net/base/mem.h"
#include "net/base/moment.h"
#include "net/route/refusal.h"

#define RETRY_MS 5000           /* after a request that failed */

struct hf_label {
    struct hf_label_request request;
    struct hf_timer timer;
    int64_t needed_until_ms;    /* holds and places may stay on the server until then */
    int64_t stored_until_ms;    /* the label certainly stays there until then; 0: not stored */
    int64_t sent_until_ms;      /* the same, once the pending SET has a reply */
    int64_t retry_from_ms;      /* not before, after a request that failed */
    bool may_be_stored;         /* a SET was sent */
    bool is_refused_by_server;  /* LABEL-4 */
    size_t size;                /* of this memory */
    char label_text[];
};

static void arm_label_timer(const struct hf_client *client, int64_t at_ms)
{
    hf_loop_arm(client->loop, &client->label->timer, at_ms);
}

static void retry_label_later(const struct hf_client *client)
{
    client->label->retry_from_ms = hf_loop_now(client->loop) + RETRY_MS;
    arm_label_timer(client, client->label->retry_from_ms);
}

/* LABEL-1. A timer that is due earlier stays. */
static void arm_label_timer_if_earlier(const struct hf_client *client)
{
    const struct hf_label *label = client->label;
    int64_t at_ms = hf_max_ms(hf_loop_now(client->loop) + LABEL_AFTER_MS, label->retry_from_ms);

    if (!label->timer.link || label->timer.due_ms > at_ms)
        arm_label_timer(client, at_ms);
}

/* ---- storing ---- */

static void on_label_stored(struct hf_label_request *request, hf_status status,
                            struct hf_resp_value reply, const struct hf_error *why)
{
    const struct hf_client *client = request->client;
    struct hf_label *label = client->label;

    (void)why;
    if (status == HF_OK) {
        label->stored_until_ms = label->sent_until_ms;
        if (label->needed_until_ms > label->stored_until_ms) /* noted meanwhile */
            arm_label_timer_if_earlier(client);
        else
            arm_label_timer(client, label->stored_until_ms - client->watchdog_ms);
        return;
    }
    label->is_refused_by_server = hf_refusal_is_by_acl(reply);
    if (!label->is_refused_by_server)
        retry_label_later(client);
}

/* With a watchdog timeout to spare, so that the next request can follow later. */
static void store_label(struct hf_client *client)
{
    struct hf_label *label = client->label;
    int64_t now = hf_loop_now(client->loop);
    int64_t ttl_ms = label->needed_until_ms - now + client->watchdog_ms;

    HF_ASSERT(label->needed_until_ms > now);
    label->request.done = on_label_stored;
    label->sent_until_ms = now + ttl_ms;
    label->may_be_stored = true;
    if (hf_label_request_send_set(&label->request, label->label_text, ttl_ms,
                                  now + client->request_timeout_ms) < 0)
        retry_label_later(client);
}

/* When the oldest hold was granted; HF_NEVER: there is none. One that was lost is its owner's until
 * it is released, but not the server's. One that is old enough ends the search. */
static int64_t oldest_hold_granted_ms(const struct hf_client *client)
{
    int64_t now = hf_loop_now(client->loop), old_ms = now - LABEL_AFTER_MS, ms = HF_NEVER;
    struct hf_lease copy;

    if (client->holds_count == 0)
        return HF_NEVER;
    for (struct hf_lock *lock = NULL; ms > old_ms && (lock = hf_lock_next(client, lock));)
        for (struct hf_hold *hold = NULL; ms > old_ms && (hold = hf_hold_next(lock, hold));) {
            const struct hf_lease *lease = hf_hold_lease(hold, &copy);

            if (lease->state != LEASE_LOST) /* the moment of the grant ends with a release */
                ms = hf_min_ms(ms, lease->state == LEASE_HELD ? lease->granted_ms : now);
        }
    return ms;
}

static bool has_unexpired_hold(const struct hf_client *client)
{
    return oldest_hold_granted_ms(client) != HF_NEVER;
}

/* When the oldest call began that may be in a queue; HF_NEVER: there is none. */
static int64_t oldest_queued_call_begun_ms(const struct hf_client *client)
{
    int64_t ms = HF_NEVER;

    for (struct hf_list *l = client->pending_ops.next; l != &client->pending_ops; l = l->next) {
        const struct hf_op *op = HF_OWNER_OF(l, struct hf_op, node);

        if (op->may_be_queued)
            ms = hf_min_ms(ms, op->began_ms);
    }
    return ms;
}

/* The watchdog may have renewed a hold since it was noted. */
static bool is_label_needed(struct hf_client *client)
{
    struct hf_label *label = client->label;
    int64_t now = hf_loop_now(client->loop);

    if (has_unexpired_hold(client))
        label->needed_until_ms =
            hf_max_ms(label->needed_until_ms, now + client->watchdog_ms);
    else if (oldest_queued_call_begun_ms(client) == HF_NEVER)
        label->needed_until_ms = 0;
    return label->needed_until_ms > now;
}

/* LABEL-1: what the timer was armed for may have ended, and another hold or place begun. */
static int64_t label_due_ms(const struct hf_client *client)
{
    if (client->label->stored_until_ms > hf_loop_now(client->loop))
        return INT64_MIN;
    return hf_min_ms(oldest_hold_granted_ms(client),
                     oldest_queued_call_begun_ms(client)) + LABEL_AFTER_MS;
}

static void on_label_timer(struct hf_timer *timer)
{
    struct hf_label *label = HF_OWNER_OF(timer, struct hf_label, timer);
    struct hf_client *client = label->request.client;
    int64_t at_ms;

    if (client->is_closing || label->is_refused_by_server ||
        hf_label_request_is_pending(&label->request) || !is_label_needed(client))
        return;
    at_ms = label_due_ms(client);
    if (hf_loop_now(client->loop) < at_ms) {
        arm_label_timer(client, at_ms);
        return;
    }
    if (label->needed_until_ms >= label->stored_until_ms)
        store_label(client);
    else if (has_unexpired_hold(client))
        arm_label_timer(client, label->stored_until_ms - client->watchdog_ms);
}

void hf_label_note_needed(struct hf_client *client, int64_t for_ms)
{
    struct hf_label *label = client->label;
    int64_t now;

    if (!label)
        return;
    HF_ASSERT(hf_loop_is_locked(client->loop));
    now = hf_loop_now(client->loop);
    label->needed_until_ms = hf_max_ms(label->needed_until_ms, now + for_ms);
    if (label->is_refused_by_server || hf_label_request_is_pending(&label->request))
        return;
    if (label->needed_until_ms > label->stored_until_ms)
        arm_label_timer_if_earlier(client);
    else if (!label->timer.link) /* it came early, for a lease that had ended */
        arm_label_timer(client, hf_max_ms(label->stored_until_ms - client->watchdog_ms,
                                          now + LABEL_AFTER_MS));
}

/* ---- closing ---- */

static void on_last_request_done(struct hf_label_request *request, hf_status status,
                                 struct hf_resp_value reply, const struct hf_error *why)
{
    struct hf_client *client = request->client;

    (void)status;
    (void)reply;
    (void)why;
    client->is_closing_label = false;
    if (client->closing_waiter)
        hf_waiter_wake(client->closing_waiter);
}

static hf_status send_closing_label_request(struct hf_client *client, int64_t now)
{
    struct hf_label *label = client->label;

    label->request.done = on_last_request_done;
    if (has_unexpired_hold(client))
        /* A watchdog timeout to spare, as in store_label: the server may have granted the hold
         * after the loop read the clock. */
        return hf_label_request_send_set(&label->request, label->label_text,
                                         label->needed_until_ms - now + client->watchdog_ms,
                                         now + LABEL_CLOSE_MS);
    return hf_label_request_send_del(&label->request, now + LABEL_CLOSE_MS);
}

/* A SET that is pending stores it, or is executed before the next request. */
static bool needs_last_label_request(struct hf_client *client)
{
    const struct hf_label *label = client->label;
    int64_t until_ms = hf_label_request_is_pending(&label->request) ? label->sent_until_ms
                                                                    : label->stored_until_ms;

    if (!has_unexpired_hold(client))
        return label->may_be_stored;
    return is_label_needed(client) && label->needed_until_ms > until_ms;
}

void hf_label_close(struct hf_client *client)
{
    struct hf_label *label = client->label;

    HF_ASSERT(hf_loop_is_locked(client->loop));
    if (!label || label->is_refused_by_server)
        return;
    hf_loop_disarm(client->loop, &label->timer);
    if (!needs_last_label_request(client))
        return;
    hf_label_request_cancel(&label->request);
    client->is_closing_label =
        send_closing_label_request(client, hf_loop_now(client->loop)) == HF_OK;
}

/* ---- begin, end ---- */

hf_status hf_label_open(struct hf_client *client, const char *text)
{
    size_t size = sizeof(struct hf_label) + strlen(text) + 1;
    struct hf_label *label = hf_mem_new(client->mem, size);

    if (!label)
        return HF_E_NOMEM;
    label->size = size;
    label->timer.fire = on_label_timer;
    (void)strcpy(label->label_text, text);
    hf_label_request_init_own(&label->request, client);
    client->label = label;
    return HF_OK;
}

void hf_label_free(struct hf_client *client)
{
    struct hf_label *label = client->label;

    if (!label)
        return;
    HF_ASSERT(!hf_label_request_is_pending(&label->request));
    hf_loop_disarm(client->loop, &label->timer);
    client->label = NULL;
    hf_mem_free(client->mem, label, label->size);
}

const char *hf_label_dump_text(const struct hf_client *client, char dst[LABEL_DUMP_MAX])
{
    const struct hf_label *label = client->label;

    if (!label)
        return NULL;
    (void)snprintf(dst, LABEL_DUMP_MAX, "label '%s': %s%s", label->label_text,
                   label->is_refused_by_server                            ? "refused by the server"
                   : hf_label_request_is_pending(&label->request) ? "being written"
                   : label->stored_until_ms > 0                   ? "stored"
                                                                  : "not stored",
                   label->timer.link ? ", timer armed" : "");
    return dst;
}
