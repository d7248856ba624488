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
#define CONFIRMATIONS_MAX 6

/* ---- releasing ---- */

static void start_background_release(struct hf_op *op);

static void on_repeat(struct hf_timer *timer)
{
    start_background_release(HF_OWNER_OF(timer, struct hf_op, timer));
}

/* A release concerns a permit, a count, or a place in a queue. */
static bool is_counted_or_queued(const struct hf_kind *kind)
{
    return kind->is_ownerless || kind->has_nameless_holders || kind->has_server_queue;
}

/* ORPHAN-2 */
static bool may_outlast_its_lease(const struct hf_op *op)
{
    return op->lock->kind->other || is_counted_or_queued(op->lock->kind);
}

/* The fields of one owner differ in their last digits, the serial number. */
static bool is_reader_of(const struct hf_hold *hold, struct hf_bytes writer)
{
    char text[HF_OWNER_TEXT_MAX];
    size_t len = hf_hold_put_field(hold, text);

    return len == writer.len && len > OWNER_SERIAL_DIGITS &&
           memcmp(text, writer.ptr, len - OWNER_SERIAL_DIGITS) == 0;
}

static bool is_read_by(struct hf_lock *reader, struct hf_bytes writer)
{
    for (struct hf_hold *hold = NULL; (hold = hf_hold_next(reader, hold));)
        if (is_reader_of(hold, writer))
            return true;
    return false;
}

/* The pending request names the write hold, beside which the server grants the read hold. */
static bool is_requested_by(const struct hf_lock *reader, struct hf_bytes writer)
{
    const struct hf_list *ops = &reader->client->ops;

    for (struct hf_list *l = ops->next; l != ops; l = l->next) {
        const struct hf_op *op = HF_OWNER_OF(l, struct hf_op, node);

        if (op->lock == reader && op->hold && op->call.is_under_way &&
            is_reader_of(op->hold, writer))
            return true;
    }
    return false;
}

/* ORPHAN-2. Of a writer: does its owner read? */
static bool is_kept_by_its_reader(const struct hf_op *op)
{
    const struct hf_kind *kind = op->lock->kind;
    struct hf_bytes writer = hf_orphan_owner_text(op);
    struct hf_lock *reader = NULL;

    if (!kind->other || kind->other->id != HF_KIND_READ)
        return false;
    writer.len -= strlen(kind->owner_suffix);
    while ((reader = hf_lock_next_of_name(op->lock, reader)))
        if (reader->kind == kind->other &&
            (is_read_by(reader, writer) || is_requested_by(reader, writer)))
            return true;
    return false;
}

/* ORPHAN-2 */
static bool is_temporary_failure(const struct hf_op *op, hf_status status,
                                 struct hf_resp_value reply)
{
    return op->call.is_temporary_failure ||
           ((is_counted_or_queued(op->lock->kind) || is_kept_by_its_reader(op)) &&
            (!reply.node || hf_patience_needs_rights(status, reply)));
}

static void repeat_later(struct hf_op *op, int64_t after_ms)
{
    struct hf_loop *loop = op->client->loop;

    HF_ASSERT(after_ms > 0 && !op->call.is_under_way && !op->timer.link);
    op->call.patience_ms = 0;
    op->timer.fire = on_repeat;
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

static void on_answer(struct hf_call *call, hf_status status,
                      struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    if (status == HF_OK && !hf_op_read_answer(op, reply))
        status = hf_op_fail_unexpected_reply(op);
    if (status < 0 && is_temporary_failure(op, status, reply) &&
        may_outlast_its_lease(op)) {
        op->was_refused = reply.node != NULL;
        repeat_later(op, REPEAT_MS);
        return;
    }
    end_background_release(op, status);
}

/* ---- replicas: ORPHAN-6 ---- */

static bool is_released(struct hf_call *call, struct hf_resp_value reply)
{
    return hf_op_read_answer(HF_OWNER_OF(call, struct hf_op, call), reply);
}

static void cancel_background_release(struct hf_op *op, hf_status status);

static const struct hf_verb verb_confirm = {
    .name = "confirm the release of",
    .start = start_background_release, .cancel = cancel_background_release, .only_waits = true};

static void be_confirmed_later(struct hf_op *op)
{
    HF_ASSERT(op->confirmations < CONFIRMATIONS_MAX); /* ORPHAN-6 */
    if (op->verb->is_orphan) { /* it is released: what follows is a chore */
        HF_ASSERT(op->client->orphans > 0);
        op->client->orphans--;
        op->client->housekeeping_ops++;
        op->verb = &verb_confirm;
    }
    repeat_later(op, REPEAT_MS << op->confirmations++);
}

static void on_replicas(struct hf_call *call, hf_status status)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    if (status == HF_OK || op->client->is_closing ||
        op->confirmations >= CONFIRMATIONS_MAX)
        end_background_release(op, status);
    else
        be_confirmed_later(op);
}

/* The warning is logged once, until there is room again. */
static bool has_room(struct hf_client *client)
{
    if (client->orphans < ORPHANS_MAX)
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
    HF_ASSERT(!op->waiter && !op->done && op->text_len > 0); /* text.orphan is in use */
    return (struct hf_bytes){op->text.orphan, op->text_len};
}

static void start_background_release(struct hf_op *op)
{
    if (op->lock->kind->is_ownerless)
        hf_op_want_replicas(op, is_released, on_replicas);
    hf_op_call_script(op, STEP_RELEASE, hf_orphan_owner_text(op), HF_NEVER, on_answer);
}

static void cancel_background_release(struct hf_op *op, hf_status status)
{
    hf_loop_disarm(op->client->loop, &op->timer);
    hf_op_finish(op, status);
}

static const struct hf_verb verb = {
    .name = "release, abandoned,",
    .start = start_background_release, .cancel = cancel_background_release, .is_orphan = true};

static struct hf_op *begin_background_release(struct hf_lock *lock, const struct hf_verb *of,
                                              struct hf_bytes text, struct hf_op **memory)
{
    struct hf_op *op = memory ? *memory : NULL;

    HF_ASSERT(!op || op->size >= sizeof *op + hf_hold_key_len(lock, text.len)); /* ORPHAN-5 */
    if (op) {
        *memory = NULL;
        return hf_op_begin_background(op, lock, of);
    }
    return has_room(lock->client)
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
    op->text_len = text.len;
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
    op->place_ms = place_ms;
    op->call.patience_ms = lease_ms; /* ORPHAN-2 */
    start_background_release(op);
}

/* ---- late orphans (ORPHAN-3) ---- */

static bool is_same(struct hf_bytes a, struct hf_bytes b)
{
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

static bool is_hold(const struct hf_hold *hold, struct hf_bytes holder)
{
    char text[HF_OWNER_TEXT_MAX];

    return hold &&
           is_same((struct hf_bytes){text, hf_hold_put_field(hold, text)}, holder);
}

static bool lock_has_hold_of(struct hf_lock *lock, struct hf_bytes holder)
{
    for (struct hf_hold *hold = NULL; (hold = hf_hold_next(lock, hold));)
        if (is_hold(hold, holder))
            return true;
    return false;
}

static bool is_of(const struct hf_op *op, struct hf_bytes holder)
{
    return op->verb->is_orphan ? is_same(hf_orphan_owner_text(op), holder)
                               : is_hold(op->hold, holder);
}

/* Also checks locks of other kinds of this name. */
static bool is_held_here(struct hf_lock *lock, struct hf_bytes holder)
{
    struct hf_lock *other = NULL;

    while ((other = hf_lock_next_of_name(lock, other)))
        if (lock_has_hold_of(other, holder))
            return true;
    return false;
}

/* Looks at all operations: a holder without a hold is rare. */
static bool is_under_way(const struct hf_client *client, struct hf_bytes holder)
{
    const struct hf_list *ops = &client->ops;

    for (struct hf_list *l = ops->next; l != ops; l = l->next) {
        if (is_of(HF_OWNER_OF(l, struct hf_op, node), holder))
            return true;
    }
    return false;
}

static bool is_ours(const struct hf_client *client, struct hf_bytes holder)
{
    return holder.len > UUID_LEN && holder.len < HF_OWNER_TEXT_MAX &&
           memcmp(holder.ptr, client->uuid, UUID_LEN) == 0 &&
           holder.ptr[UUID_LEN] == ':';
}

static bool is_side(const struct hf_kind *kind, struct hf_bytes holder)
{
    return kind && hf_owner_has_suffix(holder.ptr, holder.len, kind->owner_suffix);
}

/* The side that the holder is of, referenced; NULL: none, or no memory. */
static struct hf_lock *side_of(struct hf_lock *lock, struct hf_bytes holder)
{
    const struct hf_kind *kind = lock->kind;
    struct hf_lock *side;

    if (!is_side(kind, holder))
        kind = is_side(kind->other, holder) ? kind->other : NULL;
    if (!kind || hf_lock_find_or_add(&side, lock->client, kind, lock->text,
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
    if (hf_answer_is_cut(answer) || !is_ours(client, holder) ||
        is_held_here(lock, holder) ||
        is_under_way(client, holder) || !(side = side_of(lock, holder)))
        return;
    hf_release_orphan(side, holder,
                      answer->number > 0 ? answer->number
                                         : client->watchdog_ms,
                      0, NULL);
    hf_lock_unref(side);
}
