/* A client as text: hf_client_dump. */
/* Tests: tests/live/lock/test_dump.c. */
#include "lock/dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lock/api/op_request.h"
#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/label.h"
#include "lock/record/op.h"
#include "lock/record/records.h"
#include "lock/record/table.h"
#include "lock/record/wait_queue.h"
#include "lock/verb/verbs.h"
#include "net/base/dump.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/moment.h"
#include "net/loop/loop.h"
#include "net/route/router.h"

#define NAME_MAX_SHOWN 200

/* ---- holds ---- */

static const char *const lease_states[] = {[LEASE_HELD] = "held",
                                           [LEASE_RELEASING] = "is being released",
                                           [LEASE_LOST] = "lost"};

static void dump_claims(const struct hf_claims *c, struct hf_dump *dump)
{
    static const char *const whose[] = {[CLAIM_BY_CALL] = "a call",
                                        [CLAIM_BY_RENEWAL] = "a renewal"};
    char when[HF_DUMP_TIME_MAX];

    for (int i = 0; i < CLAIM_BY_COUNT; i++)
        if (c->sent[i].lease_ms > 0)
            hf_dump_line(dump, 4, "claim of %s without a reply: sent %s, TTL %" PRId64 " ms",
                         whose[i], hf_dump_time(dump, when, c->sent[i].since_ms),
                         c->sent[i].lease_ms);
    for (int i = 0; i < CLAIM_UNKNOWNS_MAX; i++)
        if (c->unknown[i].lease_ms > 0)
            hf_dump_line(dump, 4,
                         "claim with an unknown outcome: sent %s, TTL %" PRId64
                         " ms, stream %" PRIu64,
                         hf_dump_time(dump, when, c->unknown[i].since_ms),
                         c->unknown[i].lease_ms, c->unknown[i].stream);
}

static void dump_hold(const struct hf_hold *hold, struct hf_dump *dump)
{
    struct hf_lease copy;
    const struct hf_lease *l = hf_hold_lease(hold, &copy);
    char text[HF_OWNER_TEXT_MAX];
    size_t len = hf_hold_put_field(hold, text);
    char safe[HF_DUMP_TIME_MAX], renewal[HF_DUMP_TIME_MAX], proved[HF_DUMP_TIME_MAX];

    hf_dump_line(dump, 3,
                 "hold of owner %" PRId64 " (%.*s): %s%s%s, count %" PRId64
                 ", safe until: %s, last answered request sent: %s, next renewal: %s%s%s%s",
                 hold->owner, (int)len, text, lease_states[l->state],
                 l->state == LEASE_LOST ? ": " : "",
                 l->state == LEASE_LOST ? hf_lost_text(l->loss_reason) : "", l->hold_count,
                 hf_dump_time(dump, safe, l->claims.end_ms),
                 hf_dump_time(dump, proved, l->claims.proved_held_at_ms),
                 hf_dump_time(dump, renewal, l->is_renewed_by_watchdog ? l->next_renewal_ms
                              : HF_NEVER),
                 l->has_pending_renewal_or_look ? ", a renewal has no reply yet" : "",
                 hold->work && hold->work->acting_op ? ", an operation acts on it" : "",
                 hold->is_provisional ? ", of a set that is not complete" : "");
    dump_claims(&l->claims, dump);
}

/* ---- operations ---- */

static const char *const wait_states[] = {
    [WAIT_QUEUED] = "after others",        [WAIT_REQUESTING] = "its request has no reply yet",
    [WAIT_SUBSCRIBING] = "subscribes",     [WAIT_SLEEPING] = "awaits a release",
    [WAIT_DONE] = "ends",
};

static const char *quote_lock_name(const struct hf_op *op, char dst[NAME_MAX_SHOWN])
{
    return hf_error_quote(dst, NAME_MAX_SHOWN, op->lock->texts, op->lock->name_len);
}

static void dump_wait_of_op(const struct hf_op *op, struct hf_dump *dump, int depth)
{
    char due[HF_DUMP_TIME_MAX], deadline[HF_DUMP_TIME_MAX];

    hf_dump_line(dump, depth, "waits: %s, next step %s, deadline %s%s",
                 wait_states[op->wait.state], hf_dump_time(dump, due, op->wait.due_ms),
                 hf_dump_time(dump, deadline, op->wait.deadline_ms),
                 op->wait.gives_way ? ", gives way" : "");
    if (op->last_named_holder_len > 0)
        hf_dump_line(dump, depth, "holder in the last reply: %.*s", (int)op->last_named_holder_len,
                     op->last_named_holder);
}

static void dump_call(const struct hf_call *call, struct hf_dump *dump, int depth)
{
    char first[HF_DUMP_TIME_MAX], last[HF_DUMP_TIME_MAX], deadline[HF_DUMP_TIME_MAX];

    hf_dump_line(dump, depth,
                 "request: first sent: %s, last sent: %s, deadline %s%s%s%s",
                 hf_dump_time(dump, first, call->first_sent_ms),
                 hf_dump_time(dump, last, call->sending.sent_ms),
                 hf_dump_time(dump, deadline, call->deadline_ms),
                 call->may_have_run ? ", may have been executed" : "",
                 call->patience_reason[0] ? ", put off by the server: " : "",
                 call->patience_reason);
}

static void dump_op(const struct hf_op *op, struct hf_dump *dump)
{
    char name[NAME_MAX_SHOWN], timer[HF_DUMP_TIME_MAX];

    hf_dump_line(dump, 1, "operation: %s '%s' by owner %" PRId64 "%s", op->verb->name,
                 quote_lock_name(op, name), op->owner,
                 hf_op_is_housekeeping(op)      ? ", in the background"
                 : op->blocking_waiter            ? ", a thread waits for it"
                                         : "");
    if (op->verb == &hf_verb_acquire)
        dump_wait_of_op(op, dump, 2);
    if (op->call.is_under_way)
        dump_call(&op->call, dump, 2);
    if (op->timer.link)
        hf_dump_line(dump, 2, "timer: %s", hf_dump_time(dump, timer, op->timer.due_ms));
}

/* ---- locks ---- */

static void dump_queue(const struct hf_wait_queue *queue, struct hf_dump *dump)
{
    hf_dump_line(dump, 2, "queue: waiters %zu, %s", hf_list_count(&queue->waiters),
                 !queue->is_listening      ? "not subscribed"
                 : queue->channel.is_live  ? "subscribed"
                                           : "subscription not confirmed");
}

static void dump_lock(struct hf_lock *lock, struct hf_dump *dump)
{
    char name[NAME_MAX_SHOWN];

    hf_dump_line(dump, 1, "lock '%s': %s, slot %u, holds %" PRIu32,
                 hf_error_quote(name, sizeof name, lock->texts, lock->name_len),
                 lock->kind->noun ? lock->kind->noun : hf_lock_kind_text(lock->kind->id),
                 (unsigned)lock->slot, lock->holds_count);
    for (struct hf_hold *hold = NULL; (hold = hf_hold_next(lock, hold));)
        dump_hold(hold, dump);
    if (hf_wait_queue_first(lock->wait_queue) && lock->wait_queue->lock == lock)
        dump_queue(lock->wait_queue, dump);
}

/* ---- all ---- */

static void dump_timers(struct hf_client *client, struct hf_dump *dump)
{
    char next[HF_DUMP_TIME_MAX];
    int64_t next_ms;
    size_t timers = hf_loop_timers(client->loop, &next_ms);

    hf_dump_line(dump, 1, "loop: timers %zu, the next %s", timers,
                 hf_dump_time(dump, next, next_ms));
    if (client->unsure_timer.link)
        hf_dump_line(dump, 2, "timer of the check after a switch of masters: %s",
                     hf_dump_time(dump, next, client->unsure_timer.due_ms));
}

static void dump_client(struct hf_client *client, struct hf_dump *dump)
{
    char label[LABEL_DUMP_MAX];

    hf_dump_line(dump, 0,
                 "holdfast %s, client %s%s: locks %" PRIu32 ", holds %" PRIu64
                 ", operations %" PRIu32 " (background releases %" PRIu32
                 "), renewals without a reply %" PRIu32 ", watchdog timeout %" PRId64
                 " ms, request timeout %" PRId64 " ms",
                 HF_VERSION, client->uuid, client->is_closing ? ", closing" : "",
                 client->locks_count, client->holds_count, client->ops_count,
                 client->background_releases,
                 client->renewal_batches_count, client->watchdog_ms, client->request_timeout_ms);
    if (hf_label_dump_text(client, label))
        hf_dump_line(dump, 1, "%s", label);
    hf_router_dump(client->router, dump, 1);
    dump_timers(client, dump);
    for (struct hf_lock *lock = NULL; (lock = hf_lock_next(client, lock));)
        dump_lock(lock, dump);
    for (const struct hf_list *l = client->pending_ops.next; l != &client->pending_ops; l = l->next)
        dump_op(HF_OWNER_OF(l, struct hf_op, node), dump);
}

static void write_dump_lines(const struct hf_dump *dump,
                             void (*write)(void *ctx, const char *line), void *ctx)
{
    char rest[64];

    for (uint32_t at = 0; at < dump->text_len; at += (uint32_t)strlen(dump->text + at) + 1)
        write(ctx, dump->text + at);
    if (dump->lines_left_out == 0)
        return;
    (void)snprintf(rest, sizeof rest, "... lines left out: %" PRIu64, dump->lines_left_out);
    write(ctx, rest);
}

hf_status hf_client_dump(struct hf_client *client,
                         void (*write)(void *ctx, const char *line), void *ctx)
{
    struct hf_dump dump = {.mem = client->mem, .text_max = HF_DUMP_MAX};
    hf_status rc = HF_OK;

    if (hf_loop_forked(client->loop))
        return HF_E_FORKED;
    hf_loop_lock(client->loop);
    dump.now_ms = hf_loop_now(client->loop);
    dump_client(client, &dump);
    hf_loop_unlock(client->loop);
    if (dump.is_out_of_memory)
        rc = HF_E_NOMEM;
    else
        write_dump_lines(&dump, write, ctx);
    hf_loop_lock(client->loop); /* for the user's allocator */
    hf_dump_fini(&dump);
    hf_loop_unlock(client->loop);
    return rc;
}
