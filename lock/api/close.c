/* Closes a client with a deadline: calls that only wait are cancelled, and requests that
 * were sent may end.
 *
 * CLOSE-1  After closing has begun, no call begins, except releases that the client itself
 *          performs: of abandoned locks, and of locks that are granted meanwhile.
 * CLOSE-2  The client is quiet when no operation, SUBSCRIBE or UNSUBSCRIBE is pending, and
 *          no multi-lock holds only some of its members: those are released.
 * CLOSE-3  After closing has ended, no request is sent or pending.
 * CLOSE-4  Without a background thread, the call runs the callbacks that become due while it
 *          waits: a quorum's call, or the report of a loss, must not wait for its end. */
/* Tests: tests/live/lock/test_lock_close.c, tests/live/lock/test_lock_end.c. */
#include <string.h>

#include "lock/api/op_request.h"
#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/label.h"
#include "lock/record/label_request.h"
#include "lock/record/op.h"
#include "lock/record/table.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/sized.h"

struct close_wait {
    struct hf_waiter waiter;
    struct hf_timer timer;
};

static void on_subscriptions_idle(void *ctx)
{
    hf_client_note_idle(ctx);
}

/* ---- cancelling ---- */

struct cancelled_counts {
    uint64_t unknown;           /* the server may have executed them */
    uint64_t unsent;            /* or waiting: they had no effect on the server */
    uint64_t refused;           /* of both: releases that are repeated after an error reply */
};

static void cancel_op(struct hf_op *op, struct cancelled_counts *c)
{
    bool is_chore = hf_op_is_housekeeping(op);
    bool was_refused = op->was_last_reply_error;
    bool may_have_run = hf_op_cancel(op, HF_E_CLOSED);

    c->unknown += !is_chore && may_have_run;
    c->unsent += !is_chore && !may_have_run;
    c->refused += !is_chore && was_refused;
}

/* A request that was sent has a reply soon, which shows whether a lock was granted and
 * must be released. */
static bool may_be_cancelled_at_once(const struct hf_op *op)
{
    return op->verb->ends_at_close && !hf_call_is_sent(&op->call);
}

static void cancel_waiting_ops(struct hf_client *client, struct cancelled_counts *c)
{
    struct hf_list *next;

    for (struct hf_list *l = client->pending_ops.next; l != &client->pending_ops; l = next) {
        struct hf_op *op = HF_OWNER_OF(l, struct hf_op, node);

        next = l->next; /* cancelling one ends no other */
        if (may_be_cancelled_at_once(op))
            cancel_op(op, c);
    }
}

static void cancel_all_ops(struct hf_client *client, struct cancelled_counts *c)
{
    while (!hf_list_is_empty(&client->pending_ops))
        cancel_op(HF_OWNER_OF(client->pending_ops.next, struct hf_op, node), c);
}

/* ---- waiting ---- */

static void on_close_deadline(struct hf_timer *timer)
{
    hf_waiter_wake(
        &HF_OWNER_OF(timer, struct close_wait, timer)->waiter);
}

/* Waits until the deadline, until the client may be quiet, or until there are callbacks that
 * no other thread runs. */
static void await_idle_or_deadline(struct hf_client *client, int64_t deadline_ms)
{
    struct hf_loop *loop = client->loop;
    struct close_wait closing = {.timer.fire = on_close_deadline};

    hf_waiter_init(&closing.waiter, loop);
    hf_loop_arm(loop, &closing.timer, deadline_ms);
    hf_router_on_subscriptions_idle(client->router, on_subscriptions_idle, client);
    HF_ASSERT(!client->closing_waiter && client->is_closing);
    client->closing_waiter = &closing.waiter;
    hf_loop_set_task_waiter(loop, &closing.waiter);
    hf_loop_wait(&closing.waiter);
    hf_loop_lock(loop);
    hf_loop_set_task_waiter(loop, NULL);
    client->closing_waiter = NULL;
    hf_router_on_subscriptions_idle(client->router, NULL, NULL);
    hf_loop_disarm(loop, &closing.timer);
}

/* A callback releases the members of a multi-lock, so callbacks must run first. Without a
 * background thread, all callbacks are run (CLOSE-4). */
static void await_all_work_done(struct hf_client *client, int64_t deadline_ms)
{
    struct hf_loop *loop = client->loop;

    for (;;) {
        if (client->provisional_holds_count > 0 || !hf_loop_has_thread(loop))
            hf_loop_finish_tasks(loop);
        if (hf_client_is_idle(client) || hf_loop_forked(loop) ||
            hf_loop_now(loop) >= deadline_ms)
            return;
        await_idle_or_deadline(client, deadline_ms);
    }
}

/* ---- what became of it ---- */

static uint64_t count_holds_of_lock(struct hf_lock *lock)
{
    struct hf_lease copy;
    uint64_t count = 0;

    for (struct hf_hold *hold = NULL; (hold = hf_hold_next(lock, hold));)
        count += hf_hold_lease(hold, &copy)->state != LEASE_LOST;
    return count;
}

static uint64_t count_all_holds(const struct hf_client *client)
{
    uint64_t count = 0;

    for (struct hf_lock *lock = NULL; (lock = hf_lock_next(client, lock));)
        count += count_holds_of_lock(lock);
    return count;
}

/* Reports the requests that were cancelled at the deadline, without waiting calls. One of those
 * that may have been executed is undone in the background: it counts if something was left. */
static hf_status fill_error_of_cancelled(struct hf_client *client,
                                         const struct cancelled_counts *waited,
                                         const struct cancelled_counts *left, struct hf_error *err)
{
    uint64_t unknown = left->unknown + (left->unsent > 0 ? waited->unknown : 0);

    if (left->refused > 0 && left->refused == left->unknown + left->unsent)
        return hf_error_set(err, HF_E_SERVER,
                            "%s: closed while the server refused background releases: %llu",
                            hf_router_address(client->router),
                            (unsigned long long)left->refused);
    if (unknown > 0)
        return hf_error_set(err, HF_E_NOREPLY,
                            "%s: closed while calls had no reply: %llu; the server "
                            "may have executed them",
                            hf_router_address(client->router),
                            (unsigned long long)unknown);
    if (left->unsent > 0)
        return hf_error_set(err, HF_E_CONNECT,
                            "%s: closed before all calls were sent; not sent: %llu",
                            hf_router_address(client->router),
                            (unsigned long long)left->unsent);
    return HF_OK;
}

/* The label comes last: while a release has no reply, the hold is still there. Without time
 * for the replies, its request is only handed to the connection. */
static void await_background_work(struct hf_client *client, int64_t timeout_ms)
{
    int64_t deadline_ms = hf_loop_now(client->loop) + timeout_ms;

    if (timeout_ms > 0)
        await_all_work_done(client, deadline_ms);
    if (hf_loop_forked(client->loop)) /* a callback has forked */
        return;
    hf_label_close(client);
    if (timeout_ms > 0)
        await_all_work_done(client, deadline_ms);
}

static hf_status cancel_and_finish_work(struct hf_client *client, int64_t timeout_ms,
                                        struct hf_client_closed *out, struct hf_error *err)
{
    struct cancelled_counts waited = {0}, left = {0};

    client->is_closing = true;
    cancel_waiting_ops(client, &waited);
    await_background_work(client, timeout_ms);
    client->has_stopped_sending = true;
    cancel_all_ops(client, &left);
    hf_label_requests_end(client);
    HF_ASSERT(client->ops_count == 0 && client->background_releases == 0 &&
              client->housekeeping_ops == 0);
    out->cancelled = waited.unsent + left.unsent;
    out->unknown = waited.unknown + left.unknown;
    HF_ASSERT(client->ops_finished_since_close >= out->cancelled + out->unknown);
    out->finished = client->ops_finished_since_close - out->cancelled - out->unknown;
    out->holds = count_all_holds(client);
    HF_ASSERT(out->holds <= client->holds_count);
    hf_loop_finish_tasks(client->loop);
    if (hf_loop_forked(client->loop)) /* a callback has forked */
        return hf_fail_forked(err);
    return fill_error_of_cancelled(client, &waited, &left, err);
}

static hf_status check_and_close_client(struct hf_client *client, int64_t timeout_ms,
                                        struct hf_client_closed *out, struct hf_error *err)
{
    hf_status rc;

    if (hf_loop_forked(client->loop))
        return hf_error_set(err, HF_E_FORKED, "%s",
                            hf_status_text(HF_E_FORKED));
    if (timeout_ms < 0 || timeout_ms > HF_SPAN_MAX_MS)
        return hf_error_set(err, HF_E_INVAL, "a timeout is 0 to %lld ms",
                            (long long)HF_SPAN_MAX_MS);
    hf_loop_lock(client->loop);
    if (client->is_closing)
        rc = hf_error_set(err, HF_E_CLOSED, "the client was closed before");
    else
        rc = cancel_and_finish_work(client, timeout_ms, out, err);
    hf_loop_unlock(client->loop);
    return rc;
}

hf_status hf_client_close_sized(struct hf_client *client, int64_t timeout_ms,
                                struct hf_client_closed *out, size_t size,
                                struct hf_error *err)
{
    struct hf_client_closed closed = {0};
    hf_status rc = check_and_close_client(client, timeout_ms, &closed, err);

    if (out)
        hf_sized_write(out, size, &closed, sizeof closed);
    return rc;
}
