/* Orphaned locks: locks that the server may have granted to this client, and of which this
 * client has no hold. Each is released in the background.
 *
 * ORPHAN-1  The release is repeated until the server has replied, over as many connections as
 *           that takes. There is no deadline on our clock: a server that was stopped executes
 *           the commands in its buffers when it continues, and only then does the lease
 *           begin.
 * ORPHAN-2  While the server sends temporary refusals (PATIENCE-1), the release is repeated
 *           for the duration of the lease, from the first refusal on. After that time,
 *           anything that the server had granted has expired, with these exceptions: all
 *           holds of a read-write lock last as long as the longest, and one that is renewed
 *           keeps the others; a place in a queue lasts as long as those before it; permits
 *           without a lease never expire; a refused acquire does not find an expirable permit
 *           that is orphaned late (ORPHAN-3). For these, the release is repeated once a second from
 *           then on; also after the other temporary refusals (PATIENCE-2): for example, a
 *           server that is out of memory refuses the release of a writer that becomes a
 *           reader. A release of a permit or of a place in a queue is also repeated until
 *           an operator grants missing rights (PATIENCE-3), also if no server can be found
 *           for such a reason (all sentinels refuse SENTINEL): then the release ends without
 *           a reply. So is the release of a writer while its owner has the read hold, whose
 *           renewals keep both, or has requested it.
 * ORPHAN-3  A late orphan: an acquire is refused because of a holder with the UUID of this
 *           client that belongs to none of its holds and calls. The server may have executed
 *           that holder's acquire late, after its release. The late orphan is released like
 *           any other. The holder of a pending acquire is not an orphan: the server may
 *           already have executed it, and its reply may arrive on another connection.
 * ORPHAN-4  At most ORPHANS_MAX are pending. A lock that is abandoned beyond that number is
 *           found as a late orphan when this client requests it; otherwise its lease expires.
 * ORPHAN-5  A permit or count without an owner has no lease. So memory for its release is
 *           allocated before it is requested, and ORPHAN-4 does not limit it.
 * ORPHAN-6  No lease ends what a failover restores. So if replicas confirm locks, the release
 *           is repeated until they have confirmed it, for a minute at most, or until the
 *           client is closed, which does not wait for it. */
/* Tests: tests/live/fault/test_lock_orphans.c, tests/live/fault/test_lock_late.c. */
#include "lock/record/orphan.h"

#include <string.h>

#include "lock/record/hold_lookup.h"
#include "lock/record/hold_work.h"
#include "lock/record/wait_queue.h"
#include "lock/record/log.h"
#include "lock/record/op.h"
#include "lock/record/table.h"
#include "lock/record/wake_moved_slot.h"
#include "lock/script/patience.h"
#include "net/base/assert.h"

/* 25 MiB of operations. */
#define ORPHANS_MAX 16384
#define REPEAT_MS 1000 /* ORPHAN-2 */
/* After 1, 2, 4, ... s: for a minute. ORPHAN-6 */
#define REPLICA_CONFIRMATIONS_MAX 6

/* ---- releasing ---- */

static void start_background_release(struct hf_op *op);

static void on_repeat_timer(struct hf_timer *timer)
{
    start_background_release(HF_OWNER_OF(timer, struct hf_op, timer));
}

/* A release concerns a permit, a count, or a place in a queue. */
static bool releases_permit_count_or_place(const struct hf_kind *kind)
{
    return kind->is_ownerless || kind->stores_only_permit_ids || kind->has_server_queue;
}

/* ORPHAN-2 */
static bool may_outlast_lease_on_server(const struct hf_op *op)
{
    return op->lock->kind->other_side || releases_permit_count_or_place(op->lock->kind);
}

/* The fields of one owner differ in their last digits, the serial number. */
static bool is_read_hold_of_writer(const struct hf_hold *hold, struct hf_bytes writer)
{
    char text[HF_OWNER_TEXT_MAX];
    size_t len = hf_hold_put_field(hold, text);

    return len == writer.len && len > OWNER_SERIAL_DIGITS &&
           memcmp(text, writer.ptr, len - OWNER_SERIAL_DIGITS) == 0;
}

static bool lock_has_reader_of_writer(struct hf_lock *reader, struct hf_bytes writer)
{
    for (struct hf_hold *hold = NULL; (hold = hf_hold_next(reader, hold));)
        if (is_read_hold_of_writer(hold, writer))
            return true;
    return false;
}

/* The pending request names the write hold, beside which the server grants the read hold. */
static bool is_read_requested_by_writer(const struct hf_lock *reader, struct hf_bytes writer)
{
    const struct hf_list *ops = &reader->client->pending_ops;

    for (struct hf_list *l = ops->next; l != ops; l = l->next) {
        const struct hf_op *op = HF_OWNER_OF(l, struct hf_op, node);

        if (op->lock == reader && op->hold && op->call.is_under_way &&
            is_read_hold_of_writer(op->hold, writer))
            return true;
    }
    return false;
}

/* ORPHAN-2. Of a writer: does its owner read? */
static bool is_writer_also_a_reader(const struct hf_op *op)
{
    const struct hf_kind *kind = op->lock->kind;
    struct hf_bytes writer = hf_orphan_owner_text(op);
    struct hf_lock *reader = NULL;

    if (!kind->other_side || kind->other_side->id != HF_KIND_READ)
        return false;
    writer.len -= strlen(kind->owner_suffix);
    while ((reader = hf_lock_next_of_name(op->lock, reader)))
        if (reader->kind == kind->other_side &&
            (lock_has_reader_of_writer(reader, writer) ||
             is_read_requested_by_writer(reader, writer)))
            return true;
    return false;
}

/* ORPHAN-2 */
static bool is_release_failure_temporary(const struct hf_op *op, hf_status status,
                                         struct hf_resp_value reply)
{
    return op->call.is_temporary_failure ||
           ((releases_permit_count_or_place(op->lock->kind) || is_writer_also_a_reader(op)) &&
            (!reply.node || hf_error_needs_rights(status, reply)));
}

static void repeat_release_later(struct hf_op *op, int64_t after_ms)
{
    struct hf_loop *loop = op->client->loop;

    HF_ASSERT(after_ms > 0 && !op->call.is_under_way && !op->timer.link);
    op->call.patience_ms = 0;
    op->timer.fire = on_repeat_timer;
    hf_loop_arm(loop, &op->timer, hf_loop_now(loop) + after_ms);
}

static void end_background_release(struct hf_op *op, hf_status status)
{
    if (status == HF_UNREPLICATED)
        hf_client_log(op->client, HF_LOG_WARNING,
                      "a failover may lose released permits: %s",
                      hf_status_text(status));
    else if (status < 0)
        hf_client_log(op->client, HF_LOG_WARNING,
                      "could not release an abandoned lock; it stays locked until its "
                      "lease expires: %s",
                      hf_status_text(status));
    else /* released now, or it was never granted */
        hf_wait_queue_wake_first(op->lock->wait_queue);
    hf_wake_at_slot_owner(op);
    hf_op_finish(op, status);
}

static void on_release_answered(struct hf_call *call, hf_status status,
                                struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    if (status == HF_OK && !hf_op_read_answer(op, reply))
        status = hf_op_fail_unexpected_reply(op);
    if (status < 0 && is_release_failure_temporary(op, status, reply) &&
        may_outlast_lease_on_server(op)) {
        op->was_last_reply_error = reply.node != NULL;
        repeat_release_later(op, REPEAT_MS);
        return;
    }
    end_background_release(op, status);
}

/* ---- replicas: ORPHAN-6 ---- */

static bool is_release_reply_valid(struct hf_call *call, struct hf_resp_value reply)
{
    return hf_op_read_answer(HF_OWNER_OF(call, struct hf_op, call), reply);
}

static void cancel_background_release(struct hf_op *op, hf_status status);

static const struct hf_verb verb_confirm = {
    .name = "confirm the release of",
    .start = start_background_release, .cancel = cancel_background_release, .ends_at_close = true};

static void repeat_for_confirmation(struct hf_op *op)
{
    HF_ASSERT(op->replica_confirmations < REPLICA_CONFIRMATIONS_MAX); /* ORPHAN-6 */
    if (op->verb->is_background_release) { /* it is released: what follows is a chore */
        HF_ASSERT(op->client->background_releases > 0);
        op->client->background_releases--;
        op->client->housekeeping_ops++;
        op->verb = &verb_confirm;
    }
    repeat_release_later(op, REPEAT_MS << op->replica_confirmations++);
}

static void on_replicas_confirmed(struct hf_call *call, hf_status status)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    if (status == HF_OK || op->client->is_closing ||
        op->replica_confirmations >= REPLICA_CONFIRMATIONS_MAX)
        end_background_release(op, status);
    else
        repeat_for_confirmation(op);
}

/* The warning is logged once, until there is room again. */
static bool may_begin_background_release(struct hf_client *client)
{
    if (client->background_releases < ORPHANS_MAX)
        return true;
    if (!client->has_logged_orphans)
        hf_client_log(client, HF_LOG_WARNING,
                      "too many background releases (%d): abandoned locks stay locked "
                      "until this client requests them again, or they expire",
                      ORPHANS_MAX);
    client->has_logged_orphans = true;
    return false;
}

struct hf_bytes hf_orphan_owner_text(const struct hf_op *op)
{
    HF_ASSERT(!op->blocking_waiter && !op->done && op->joined_len > 0); /* text.orphan is in use */
    return (struct hf_bytes){op->text.orphan, op->joined_len};
}

static void start_background_release(struct hf_op *op)
{
    if (op->lock->kind->is_ownerless)
        hf_op_want_replicas(op, is_release_reply_valid, on_replicas_confirmed);
    hf_op_call_script(op, STEP_RELEASE, hf_orphan_owner_text(op), HF_NEVER, on_release_answered);
}

static void cancel_background_release(struct hf_op *op, hf_status status)
{
    hf_loop_disarm(op->client->loop, &op->timer);
    hf_op_finish(op, status);
}

static const struct hf_verb verb = {
    .name = "release, abandoned,",
    .start = start_background_release, .cancel = cancel_background_release,
    .is_background_release = true};

static struct hf_op *begin_background_release(struct hf_lock *lock, const struct hf_verb *of,
                                              struct hf_bytes text, struct hf_op **memory)
{
    struct hf_op *op = memory ? *memory : NULL;

    HF_ASSERT(!op ||
              op->allocated_size >= sizeof *op + hf_hold_key_len(lock, text.len)); /* ORPHAN-5 */
    if (op) {
        *memory = NULL;
        return hf_op_begin_background(op, lock, of);
    }
    return may_begin_background_release(lock->client)
               ? hf_op_new_background(lock, of,
                                      hf_hold_key_len(lock, text.len))
               : NULL;
}

struct hf_op *hf_orphan_new(struct hf_lock *lock, const struct hf_verb *of,
                            struct hf_bytes text, struct hf_op **memory)
{
    struct hf_op *op = begin_background_release(lock, of, text, memory);

    if (!op)
        return NULL;
    HF_ASSERT(text.len > 0 && text.len < HF_OWNER_TEXT_MAX);
    memcpy(op->text.orphan, text.ptr, text.len);
    op->joined_len = text.len;
    hf_hold_put_key(hf_op_orphan_key(op), lock, hf_orphan_owner_text(op));
    return op;
}

/* The server executes the release after the acquire: it follows on the same
 * connection, or on the next one when the old one is dead on the server
 * (design 11). Without memory it is treated as beyond ORPHANS_MAX. */
void hf_release_orphan(struct hf_lock *lock, struct hf_bytes text,
                       int64_t lease_ms, int64_t place_ms,
                       struct hf_op **memory)
{
    struct hf_op *op;

    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    HF_ASSERT(lease_ms > 0 && place_ms >= 0);
    if (lock->client->has_stopped_sending ||
        !(op = hf_orphan_new(lock, &verb, text, memory)))
        return;
    op->lease_ms = lease_ms;
    op->queue_place_valid_ms = place_ms;
    op->call.patience_ms = lease_ms; /* ORPHAN-2 */
    start_background_release(op);
}

/* ---- late orphans (ORPHAN-3) ---- */

static bool is_same_text(struct hf_bytes a, struct hf_bytes b)
{
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

static bool is_hold_of_holder(const struct hf_hold *hold, struct hf_bytes holder)
{
    char text[HF_OWNER_TEXT_MAX];

    return hold &&
           is_same_text((struct hf_bytes){text, hf_hold_put_field(hold, text)}, holder);
}

static bool lock_has_hold_of(struct hf_lock *lock, struct hf_bytes holder)
{
    for (struct hf_hold *hold = NULL; (hold = hf_hold_next(lock, hold));)
        if (is_hold_of_holder(hold, holder))
            return true;
    return false;
}

static bool is_op_of_holder(const struct hf_op *op, struct hf_bytes holder)
{
    return op->verb->is_background_release ? is_same_text(hf_orphan_owner_text(op), holder)
                               : is_hold_of_holder(op->hold, holder);
}

/* Also checks locks of other kinds of this name. */
static bool is_held_by_this_client(struct hf_lock *lock, struct hf_bytes holder)
{
    struct hf_lock *other = NULL;

    while ((other = hf_lock_next_of_name(lock, other)))
        if (lock_has_hold_of(other, holder))
            return true;
    return false;
}

/* Looks at all operations: a holder without a hold is rare. */
static bool has_pending_op_of_holder(const struct hf_client *client, struct hf_bytes holder)
{
    const struct hf_list *ops = &client->pending_ops;

    for (struct hf_list *l = ops->next; l != ops; l = l->next) {
        if (is_op_of_holder(HF_OWNER_OF(l, struct hf_op, node), holder))
            return true;
    }
    return false;
}

static bool is_owner_of_this_client(const struct hf_client *client, struct hf_bytes holder)
{
    return holder.len > UUID_LEN && holder.len < HF_OWNER_TEXT_MAX &&
           memcmp(holder.ptr, client->uuid, UUID_LEN) == 0 &&
           holder.ptr[UUID_LEN] == ':';
}

static bool is_field_of_side(const struct hf_kind *kind, struct hf_bytes holder)
{
    return kind && hf_owner_has_suffix(holder.ptr, holder.len, kind->owner_suffix);
}

/* The side that the holder is of, referenced; NULL: none, or no memory. */
static struct hf_lock *lock_of_holders_side(struct hf_lock *lock, struct hf_bytes holder)
{
    const struct hf_kind *kind = lock->kind;
    struct hf_lock *side;

    if (!is_field_of_side(kind, holder))
        kind = is_field_of_side(kind->other_side, holder) ? kind->other_side : NULL;
    if (!kind || hf_lock_find_or_add(&side, lock->client, kind, lock->texts,
                                     lock->name_len) < 0)
        return NULL;
    return side;
}

void hf_release_if_orphan(struct hf_lock *lock, const struct hf_answer *answer)
{
    struct hf_client *client = lock->client;
    struct hf_bytes holder = answer->field;
    struct hf_lock *side;

    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    if (hf_answer_is_cut(answer) || !is_owner_of_this_client(client, holder) ||
        is_held_by_this_client(lock, holder) ||
        has_pending_op_of_holder(client, holder) || !(side = lock_of_holders_side(lock, holder)))
        return;
    hf_release_orphan(side, holder,
                      answer->number > 0 ? answer->number
                                         : client->watchdog_ms,
                      0, NULL);
    hf_lock_unref(side);
}
