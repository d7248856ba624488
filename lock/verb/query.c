/* The verbs "inspect" and "force": read the state of a lock, and release it by force.
 * */
/* Tests: tests/live/lock/test_lock.c, tests/live/lock/test_lock_foreign.c. */
#include "lock/verb/query.h"

#include <stdio.h>
#include <string.h>

#include "lock/record/hold.h"
#include "lock/record/holder.h"
#include "lock/record/wait_queue.h"
#include "lock/record/op.h"
#include "lock/record/wake_moved_slot.h"
#include "lock/verb/track.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/sized.h"

/* A fresh text for the reply to begin with, so that it can be no other's. */
static struct hf_bytes new_request_id(struct hf_op *op)
{
    size_t len = hf_owner_format(op->text.request_id, op->client->uuid, 0,
                                 ++op->client->last_serial, "");

    return (struct hf_bytes){op->text.request_id, len};
}

/* ---- inspect ---- */

/* Returns the holder that a field of the lock names. A read-write lock that contains only
 * its field `mode` has no holder. The holder of a multi-lock is the value of the field, or
 * is in the middle of the field's name. */
static struct hf_bytes holder_named_by_field(enum hf_lock_kind kind, struct hf_bytes field,
                              struct hf_bytes value)
{
    if (kind == HF_KIND_READ || kind == HF_KIND_WRITE)
        return (struct hf_bytes){"", 0};
    if (kind != HF_KIND_MULTI)
        return field;
    if (hf_owner_ok(value.ptr, value.len))
        return value;
    field.ptr += HF_VALUE_HASH_LEN + 1;
    field.len -= HF_VALUE_HASH_LEN + 1;
    while (field.len > 0 && field.ptr[field.len - 1] != ':')
        field.len--;
    field.len -= field.len > 0;
    return field;
}

static void put_holder_in_info(struct hf_lock_info *info, struct hf_bytes holder)
{
    info->holder_len = holder.len < sizeof info->holder
                           ? holder.len
                           : sizeof info->holder - 1;
    info->holder_full_len = holder.len;
    memcpy(info->holder, holder.ptr, info->holder_len);
    info->holder[info->holder_len] = '\0';
}

static void read_hash_answer(struct hf_lock_info *info, const struct hf_answer *answer)
{
    struct hf_bytes field = answer->field, value = answer->value;
    enum hf_lock_kind side =
        hf_field_kind("mode", 4, answer->mode.ptr, answer->mode.len);

    info->kind = hf_answer_is_cut(answer)
                     ? HF_KIND_NONE
                     : hf_field_kind(field.ptr, field.len, value.ptr, value.len);
    put_holder_in_info(info, holder_named_by_field(info->kind, field, value));
    if (info->kind == HF_KIND_NONE)
        info->holder_full_len = answer->field_full_len;
    if (info->kind == HF_KIND_PLAIN && side != HF_KIND_NONE)
        info->kind = side;
}

void hf_info_read(struct hf_lock_info *info, const struct hf_kind *kind,
                  const struct hf_answer *answer)
{
    if (answer->value_full_len > answer->value.len ||
        !hf_text_integer(answer->value, &info->hold_count))
        info->hold_count = 0;
    if (!kind->accepts_any_holder_text) {
        read_hash_answer(info, answer);
        return;
    }
    info->kind = kind->id;
    put_holder_in_info(info, answer->field);
    info->holder_full_len = answer->field_full_len;
}

hf_status hf_fail_not_a_lock(struct hf_error *err, const struct hf_lock *lock,
                             const struct hf_lock_info *info)
{
    char name[100], field[100];

    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    return hf_error_set(err, HF_E_SERVER,
                        "%s: '%s' is not a lock: unexpected field '%s' in this hash "
                        "(does another program use the key?)",
                        hf_router_address(lock->client->router),
                        hf_error_quote(name, sizeof name, lock->texts,
                                       lock->name_len),
                        hf_error_quote(field, sizeof field, info->holder,
                                       info->holder_len));
}

static hf_status refuse_head_of_queue(struct hf_error *err, const struct hf_lock *lock,
                                      const struct hf_lock_info *info)
{
    char name[100], head[100];

    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    return hf_error_set(err, HF_E_SERVER,
                        "%s: '%s' is free, but the first place in its queue is '%s', "
                        "which is not an owner of a lock: another program wrote it; "
                        "'holdfast unlock --queue --force' removes it",
                        hf_router_address(lock->client->router),
                        hf_error_quote(name, sizeof name, lock->texts, lock->name_len),
                        hf_error_quote(head, sizeof head, info->holder,
                                       info->holder_len));
}

/* The reply names the head of the queue with the value 1, and a short time: fair_acquire.lua. */
static bool is_holder_head_of_queue(const struct hf_kind *kind, const struct hf_lock_info *info)
{
    return kind->has_server_queue && info->hold_count == 1 && info->ttl_ms >= 20 &&
           info->ttl_ms <= 250;
}

hf_status hf_fail_acquire_not_a_lock(struct hf_error *err, const struct hf_lock *lock,
                                     const struct hf_lock_info *info)
{
    return is_holder_head_of_queue(lock->kind, info) ? refuse_head_of_queue(err, lock, info)
                                              : hf_fail_not_a_lock(err, lock, info);
}

hf_status hf_fail_held_by(struct hf_error *err, const struct hf_lock *lock,
                          const struct hf_lock_info *info)
{
    const char *label = hf_holder_label(lock->wait_queue, info->holder, info->holder_len);
    char name[100], holder[100], left[50] = "";

    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    if (info->ttl_ms >= 0)
        (void)snprintf(left, sizeof left, " for another %lld ms", (long long)info->ttl_ms);
    return hf_error_set(err, HF_TIMEOUT, "lock '%s' is held by %s%s%s%s%s",
                        hf_error_quote(name, sizeof name, lock->texts, lock->name_len),
                        hf_error_quote(holder, sizeof holder, info->holder, info->holder_len),
                        *label ? " (" : "", label, *label ? ")" : "", left);
}

/* The ACL hides whether there is a queue: inspect.lua. */
#define QUEUE_UNSEEN (-2)

/* What the single field cannot say. */
static void complete_info_of_kind(struct hf_lock_info *info, int64_t fields)
{
    info->holders = fields;
    if (info->kind == HF_KIND_MULTI)
        info->holders = 1; /* there, a field is not a holder */
    else if (info->kind == HF_KIND_PLAIN && info->waiters != 0 &&
             info->waiters != QUEUE_UNSEEN)
        info->kind = HF_KIND_FAIR;
    if (info->kind == HF_KIND_READ)
        info->holders = fields - 1;
    else if (info->kind == HF_KIND_WRITE)
        info->holders = 1; /* its fields may include its own read hold */
}

static void complete_info_of_permits(struct hf_lock_info *info,
                                     const struct hf_kind *kind, int64_t holders)
{
    info->kind = kind->id;
    info->holders = holders;
    info->hold_count = 1; /* each */
}

/* Only the reply for a kind whose name may be a fair lock's has these. */
static void read_first_place(struct hf_lock_info *info,
                             struct hf_resp_value reply)
{
    struct hf_bytes waiter;

    info->first_place_ms = -1;
    if (!hf_reply_bytes(reply, 11, &waiter) ||
        waiter.len >= sizeof info->first_waiter ||
        !hf_reply_integer(reply, 13, &info->first_place_ms))
        return;
    memcpy(info->first_waiter, waiter.ptr, waiter.len);
    info->first_waiter_len = waiter.len;
}

static bool read_info_answer(struct hf_op *op, struct hf_lock_info *info,
                             struct hf_resp_value reply)
{
    int64_t fields;

    if (!hf_answer_read(&op->answer, reply) ||
        op->answer.count != ANSWER_NOT_HELD ||
        !hf_reply_integer(reply, 8, &op->wanted_hold_count) ||
        !hf_reply_integer(reply, 9, &fields) ||
        !hf_reply_integer(reply, 10, &info->waiters))
        return false;
    read_first_place(info, reply);
    hf_info_read(info, op->lock->kind, &op->answer);
    info->ttl_ms = op->answer.number;
    info->is_locked = info->ttl_ms != TTL_NO_LOCK;
    if (info->is_locked && op->lock->kind->stores_only_permit_ids)
        complete_info_of_permits(info, op->lock->kind, fields);
    else if (info->is_locked)
        complete_info_of_kind(info, fields);
    if (info->waiters == QUEUE_UNSEEN)
        info->waiters = -1;
    return true;
}

static void on_inspect_answered(struct hf_call *call, hf_status status,
                                struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);
    struct hf_lock_info info = {0};

    if (status == HF_OK && !read_info_answer(op, &info, reply))
        status = hf_op_fail_unexpected_reply(op);
    else if (status == HF_OK && info.is_locked && info.kind == HF_KIND_NONE)
        status = hf_fail_not_a_lock(op->error, op->lock, &info);
    hf_sized_write(op->out_info, op->info_size, &info, sizeof info);
    hf_op_finish(op, status);
}

static void start_inspect(struct hf_op *op)
{
    hf_op_call_script(op, STEP_INSPECT, new_request_id(op), hf_op_deadline(op),
                      on_inspect_answered);
}

const struct hf_verb hf_verb_inspect = {.name = "inspect", .start = start_inspect,
                                        .cancel = hf_op_finish};

/* ---- force ---- */

/* Why nothing was done, where that is not for another holder: the script's last
 * reason, and all. */
#define FORCE_LEAST (-7)

static hf_status fail_force_release(struct hf_op *op)
{
    static const char *const kinds[] = {[2] = "not a lock of Redisson's form",
                                        [3] = "a read-write lock",
                                        [4] = "a fair lock with a queue",
                                        [6] = "a multi-lock",
                                        [7] = "a string that cannot be a holder"};
    int64_t answer = op->answer.count;
    char name[100];

    (void)hf_error_quote(name, sizeof name, op->lock->texts, op->lock->name_len);
    if (answer == -2)
        return hf_error_set(op->error, HF_E_SERVER,
                            "%s: '%s' is not a lock, but a hash of another program; "
                            "nothing was changed",
                            hf_router_address(op->client->router), name);
    if (answer == -5)
        return hf_error_set(op->error, HF_E_SERVER,
                            "'%s' has %lld holders, and a forced release needs "
                            "exactly one; nothing is changed", name,
                            (long long)op->answer.number);
    return hf_error_set(op->error, HF_E_SERVER,
                        "'%s' is %s, and is not freed as a %s; nothing is changed",
                        name, kinds[-answer],
                        hf_lock_kind_text(op->lock->kind->id));
}

static hf_status status_of_force_release(struct hf_op *op)
{
    if (op->answer.count == 0)
        return HF_OK;
    if (op->answer.count != ANSWER_NOT_HELD)
        return fail_force_release(op);
    if (!op->call.is_repeated)
        return HF_NOT_OWNER;
    return hf_error_set(op->error, HF_E_NOREPLY,
                        "the first request had no reply; when it was repeated, that "
                        "owner did not hold the lock: the first may have released it");
}

static void on_force_answered(struct hf_call *call, hf_status status,
                              struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);
    struct hf_answer *answer = &op->answer;
    bool is_read = status == HF_OK && hf_answer_read(answer, reply) &&
                   answer->count <= 0 && answer->count >= FORCE_LEAST;
    bool is_done = is_read && answer->count == 0;

    hf_wait_queue_release_ended(op, is_done ? answer->number : -1);
    if (is_done)
        hf_op_log_unsent_notification(op);
    hf_track_after_forced_release(op->lock);
    if (status == HF_OK)
        hf_wait_queue_wake_first(op->lock->wait_queue);
    hf_wake_at_slot_owner(op);
    if (status == HF_OK)
        status = is_read ? status_of_force_release(op) : hf_op_fail_unexpected_reply(op);
    else
        status = hf_op_failure_status(op, status, call->may_have_run);
    hf_hold_finish_request(op, status); /* by_owner.c has made a hold for it */
}

/* Without a named holder it could free the lock of the next owner. */
static bool may_repeat_force_release(const struct hf_op *op)
{
    return op->named_holder_len > 0;
}

static void send_force_release(struct hf_op *op, int64_t deadline_ms)
{
    hf_wait_queue_release_begins(op);
    op->call.must_not_repeat = !may_repeat_force_release(op);
    if (op->hold)
        hf_op_call_script(op, STEP_RELEASE, hf_hold_field(op->hold), deadline_ms,
                          on_force_answered);
    else
        hf_op_call_script(op, STEP_FORCE_RELEASE, new_request_id(op), deadline_ms,
                          on_force_answered);
}

static void on_map_known_before_force(struct hf_call *call, hf_status status,
                                      struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    (void)reply;
    if (status < 0 && (status != HF_E_SERVER || call->is_temporary_failure))
        hf_hold_finish_request(op, status);
    else
        send_force_release(op, call->deadline_ms);
}

/* How waiters are woken is known after the first reply of a cluster. A request that must not be
 * repeated is sent after one that may be: a dead connection or a doubted master then delays only
 * the first. Both requests together have one request timeout. */
static void start_force_release(struct hf_op *op)
{
    if (hf_router_had_map(op->client->router) && may_repeat_force_release(op))
        send_force_release(op, hf_op_deadline(op));
    else
        hf_op_call_script(op, STEP_INSPECT, new_request_id(op), hf_op_deadline(op),
                          on_map_known_before_force);
}

const struct hf_verb hf_verb_force_release = {.name = "force-release", .start = start_force_release,
                                              .cancel = hf_hold_finish_request};
