/* Semaphores and latches, which have no owners: the operations that change or read the
 * count, and what happens to requests without a reply. COUNT-1 to COUNT-3: kind_semaphore.c.
 *
 * COUNT-4  A release, a reduction, a drain or a count-down whose outcome is unknown when its
 *          call ends is repeated until the server has executed it: at once after a lost
 *          connection, and once a second while the server refuses it temporarily (PATIENCE-1,
 *          PATIENCE-2), while rights are missing (PATIENCE-3), and while no server is found. Any
 *          other refusal ends it, and REQUEST_REPEAT_MS after the call began it is given up: from
 *          then on a process that was stopped might find that its recorded reply has expired. */
/* Tests: tests/live/kind/test_semaphore.c, tests/live/kind/test_latch.c,
 *        tests/live/kind/test_counts.c. */
#include "lock/verb/count.h"

#include <string.h>

#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/wait_queue.h"
#include "lock/record/log.h"
#include "lock/record/op.h"
#include "lock/record/orphan.h"
#include "lock/record/wake_moved_slot.h"
#include "lock/script/patience.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/route/refusal.h"

/* The pause between two background attempts after a temporary refusal: short for an
 * operator who removes the cause, and few requests while it remains. */
#define REPEAT_PAUSE_MS 1000
/* How long a recorded reply waits, so that one command deletes several of them. */
#define DELETE_REPLIES_AFTER_MS 5
/* 15 keys of this length fit into the operation that deletes them. */
#define DELETED_KEY_LEN_MAX 128

static struct hf_op *op_of_call(struct hf_call *call)
{
    return HF_OWNER_OF(call, struct hf_op, call);
}

/* ---- recorded replies that are no longer needed ----
 *
 * Several are deleted at once: a command for each would cost as much as the request. */

static void on_replies_deleted(struct hf_call *call, hf_status status,
                               struct hf_resp_value reply)
{
    (void)reply; /* else it ends by its TTL */
    hf_op_finish(op_of_call(call), status);
}

static void cancel_reply_deletion(struct hf_op *op, hf_status status)
{
    hf_loop_disarm(op->client->loop, &op->timer);
    if (op->lock->pending_reply_deletion == op)
        op->lock->pending_reply_deletion = NULL;
    hf_op_finish(op, status);
}

static const struct hf_verb verb_forget = {
    .name = "forget answers of", .cancel = cancel_reply_deletion};

static void delete_stored_replies(struct hf_op *op)
{
    struct hf_client *client = op->client;
    hf_status rc;

    hf_loop_disarm(client->loop, &op->timer);
    HF_ASSERT(op->lock->pending_reply_deletion == op && op->wanted_hold_count > 0 &&
              op->wanted_hold_count < OP_ARGS_MAX);
    op->lock->pending_reply_deletion = NULL;
    op->argv[0] = (struct hf_resp_arg){"DEL", 3};
    op->call.argv = op->argv;
    op->call.argc = (size_t)op->wanted_hold_count + 1;
    op->call.slot = op->lock->slot;
    op->call.done = on_replies_deleted;
    rc = hf_call_start_command(&op->call, client->loop, client->router,
                               hf_op_deadline(op));
    if (rc < 0)
        on_replies_deleted(&op->call, rc, (struct hf_resp_value){0});
}

static void on_deletion_timer(struct hf_timer *timer)
{
    delete_stored_replies(HF_OWNER_OF(timer, struct hf_op, timer));
}

/* Those of long names one by one. */
static int64_t stored_replies_per_deletion_max(size_t key_len)
{
    return key_len <= DELETED_KEY_LEN_MAX ? OP_ARGS_MAX - 1 : 1;
}

/* The keys follow the operation in memory. All keys of a lock have one length. */
static struct hf_op *find_or_add_reply_deletion(struct hf_lock *lock, size_t key_len)
{
    struct hf_op *op = lock->pending_reply_deletion;

    if (op || !(op = hf_op_new_background(lock, &verb_forget,
                                          (size_t)stored_replies_per_deletion_max(key_len) *
                                              key_len)))
        return op;
    lock->pending_reply_deletion = op;
    op->timer.fire = on_deletion_timer;
    hf_loop_arm(lock->client->loop, &op->timer,
                hf_loop_now(lock->client->loop) + DELETE_REPLIES_AFTER_MS);
    return op;
}

/* ---- answers that end soon ---- */

static const struct hf_verb verb_shorten = {
    .name = "shorten the answer of", .cancel = hf_op_finish};

/* A copy of the request may still be executed: until then the answer is kept. */
static void shorten_stored_reply(struct hf_lock *lock, const char *key, size_t len)
{
    struct hf_op *op = hf_op_new_background(lock, &verb_shorten, len);
    struct hf_client *client = lock->client;
    hf_status rc;

    if (!op)
        return;
    memcpy(hf_op_orphan_key(op), key, len);
    op->argv[0] = (struct hf_resp_arg){"PEXPIRE", 7};
    op->argv[1] = (struct hf_resp_arg){hf_op_orphan_key(op), len};
    op->argv[2] = (struct hf_resp_arg){
        op->lease_text, hf_resp_format_integer(op->lease_text, LATE_COPY_REPLY_TTL_MS)};
    op->call.argv = op->argv;
    op->call.argc = 3;
    op->call.slot = lock->slot;
    op->call.done = on_replies_deleted;
    rc = hf_call_start_command(&op->call, client->loop, client->router, hf_op_deadline(op));
    if (rc < 0)
        on_replies_deleted(&op->call, rc, (struct hf_resp_value){0});
}

static bool may_have_been_sent_twice(const struct hf_op *op)
{
    return op->call.is_repeated || op->may_earlier_request_hold;
}

void hf_count_delete_stored_reply(struct hf_op *ended)
{
    size_t len = hf_hold_key_len(ended->lock, ended->hold->work->hold_field_len);
    struct hf_op *op;
    char *key;

    HF_ASSERT(hf_loop_is_locked(ended->client->loop) && len > 0);
    if (may_have_been_sent_twice(ended)) {
        shorten_stored_reply(ended->lock, hf_hold_key(ended->hold), len);
        return;
    }
    if (!(op = find_or_add_reply_deletion(ended->lock, len)))
        return;
    HF_ASSERT(op->wanted_hold_count < stored_replies_per_deletion_max(len));
    key = hf_op_orphan_key(op) + (size_t)op->wanted_hold_count++ * len;
    memcpy(key, hf_hold_key(ended->hold), len);
    op->argv[op->wanted_hold_count] = (struct hf_resp_arg){key, len};
    if (op->wanted_hold_count == stored_replies_per_deletion_max(len))
        delete_stored_replies(op);
}

/* ---- sending ---- */

typedef void answered(struct hf_call *call, hf_status status,
                      struct hf_resp_value reply);

/* The verb that repeats such a request after its call has ended; NULL: it is not repeated. */
static const struct hf_verb *repeat_verb_of_step(enum hf_step step);

static void send_count_change(struct hf_op *op, enum hf_step step, int64_t deadline_ms,
                              answered *done)
{
    hf_op_call_script(op, step, hf_hold_field(op->hold), deadline_ms, done);
}

static bool begin_count_change(struct hf_op *op)
{
    HF_ASSERT(!op->hold);
    op->wanted_hold_count = op->permits;
    op->lease_ms = STORED_REPLY_TTL_MS;
    op->hold_created_ms = hf_loop_now(op->client->loop);
    if ((op->hold = hf_hold_new(op)))
        return true;
    hf_hold_finish_request(op, HF_E_NOMEM);
    return false;
}

static bool was_change_done(const struct hf_op *op)
{
    return op->answer.count == op->wanted_hold_count;
}

static bool is_change_reply_done(struct hf_call *call, struct hf_resp_value reply)
{
    struct hf_op *op = op_of_call(call);

    return hf_op_read_answer(op, reply) && was_change_done(op);
}

static void on_replicas_confirmed(struct hf_call *call, hf_status status);

/* The key has no TTL that would end what a failover made wrong: so replicas confirm each
 * change. */
static void request_replicated_change(struct hf_op *op, int64_t deadline_ms, answered *done)
{
    hf_op_want_replicas(op, is_change_reply_done, on_replicas_confirmed);
    send_count_change(op, op->verb->change_step, deadline_ms, done);
}

/* How waiters are woken is known after the first reply of a cluster. Both requests
 * together have one request timeout. A set and a deletion are not sent again after their call
 * has ended. */
static void start_change_with(struct hf_op *op, answered *done, answered *known)
{
    enum hf_step step = op->verb->change_step;

    if (!begin_count_change(op))
        return;
    if (!repeat_verb_of_step(step))
        op->lease_ms = LATE_COPY_REPLY_TTL_MS;
    if (hf_router_had_map(op->client->router))
        request_replicated_change(op, hf_op_deadline(op), done);
    else
        send_count_change(op, STEP_COUNTER_READ, hf_op_deadline(op), known);
}

static hf_status read_change_reply(struct hf_op *op, hf_status status,
                                   struct hf_resp_value reply)
{
    return status < 0 || hf_op_read_answer(op, reply) ? status
                                                      : hf_op_fail_unexpected_reply(op);
}

static void wake_waiters_of_count(struct hf_op *op)
{
    hf_wait_queue_wake_first(op->lock->wait_queue);
    hf_wake_at_slot_owner(op);
}

/* The server has done it. */
static void end_executed_change(struct hf_op *op, hf_status status)
{
    if (op->out_flag)
        *op->out_flag = was_change_done(op);
    if (op->out_number)
        *op->out_number = was_change_done(op) ? op->answer.number : 0;
    wake_waiters_of_count(op);
    hf_count_delete_stored_reply(op);
    hf_hold_finish_request(op, status);
}

/* If the user may not WAIT, the count was changed nevertheless. */
static void on_replicas_confirmed(struct hf_call *call, hf_status status)
{
    struct hf_op *op = op_of_call(call);

    end_executed_change(op, status < 0 ? hf_op_replace_status(op, HF_UNREPLICATED) : status);
}

/* ---- adding, and removing ---- */

static void repeat_change(struct hf_op *op);

static void on_repeat_timer(struct hf_timer *timer)
{
    repeat_change(HF_OWNER_OF(timer, struct hf_op, timer));
}

/* COUNT-4 */
static bool may_repeat_later(const struct hf_op *op, hf_status status,
                             struct hf_resp_value reply)
{
    return (op->call.is_temporary_failure || !reply.node ||
            hf_error_needs_rights(status, reply)) &&
           hf_loop_now(op->client->loop) < op->wait.deadline_ms;
}

static void log_unknown_outcome(const struct hf_op *op, hf_status status)
{
    hf_client_log(op->client, HF_LOG_WARNING,
                  "outcome of an operation on a %s is unknown: %s", op->lock->kind->noun,
                  hf_status_text(status));
}

static void end_repeated_change(struct hf_op *op, hf_status status)
{
    if (status < 0)
        log_unknown_outcome(op, status);
    else
        wake_waiters_of_count(op);
    if (status == HF_OK)
        shorten_stored_reply(op->lock, hf_op_orphan_key(op),
                             hf_hold_key_len(op->lock, op->joined_len));
    hf_op_finish(op, status);
}

static void on_repeated_change_answered(struct hf_call *call, hf_status status,
                                        struct hf_resp_value reply)
{
    struct hf_op *op = op_of_call(call);
    struct hf_loop *loop = op->client->loop;

    status = read_change_reply(op, status, reply);
    if (status == HF_OK || !may_repeat_later(op, status, reply)) {
        end_repeated_change(op, status);
        return;
    }
    op->timer.fire = on_repeat_timer;
    hf_loop_arm(loop, &op->timer, hf_loop_now(loop) + REPEAT_PAUSE_MS);
}

static void repeat_change(struct hf_op *op)
{
    hf_op_call_script(op, op->verb->change_step, hf_orphan_owner_text(op), op->wait.deadline_ms,
                      on_repeated_change_answered);
}

static void cancel_repeated_change(struct hf_op *op, hf_status status)
{
    hf_loop_disarm(op->client->loop, &op->timer);
    hf_op_finish(op, status);
}

static const struct hf_verb verbs_again[] = {
    {.name = "repeat a change of", .cancel = cancel_repeated_change, .is_background_release = true,
     .change_step = STEP_COUNTER_ADD},
    {.name = "repeat a change of, which exists,", .cancel = cancel_repeated_change,
     .is_background_release = true,
     .change_step = STEP_COUNTER_ADD_EXISTING},
    {.name = "repeat a reduction of", .cancel = cancel_repeated_change,
     .is_background_release = true,
     .change_step = STEP_COUNTER_REDUCE}};

static const struct hf_verb *repeat_verb_of_step(enum hf_step step)
{
    for (size_t i = 0; i < sizeof verbs_again / sizeof *verbs_again; i++)
        if (verbs_again[i].change_step == step)
            return &verbs_again[i];
    return NULL;
}

/* Repeats a request whose caller has ended. No other client can do this, because only
 * this request identifies the change. It is repeated until the server replies, or until
 * REQUEST_REPEAT_MS have passed. */
static void repeat_in_background(const struct hf_op *ended, hf_status status)
{
    int64_t deadline_ms = ended->hold_created_ms + REQUEST_REPEAT_MS;
    const struct hf_verb *verb = repeat_verb_of_step(ended->verb->change_step);
    struct hf_bytes request_id = hf_hold_field(ended->hold);
    struct hf_op *op;

    if (deadline_ms <= hf_loop_now(ended->client->loop)) {
        log_unknown_outcome(ended, status);
        return;
    }
    if (ended->client->has_stopped_sending ||
        !(op = hf_orphan_new(ended->lock, verb, request_id,
                             hf_hold_orphan_memory(ended->hold))))
        return;
    op->wanted_hold_count = ended->wanted_hold_count;
    op->lease_ms = ended->lease_ms;
    op->wait.deadline_ms = deadline_ms;
    repeat_change(op);
}

static void on_add_answered(struct hf_call *call, hf_status status,
                            struct hf_resp_value reply)
{
    struct hf_op *op = op_of_call(call);
    bool goes_on;

    status = read_change_reply(op, status, reply);
    if (status == HF_OK) {
        end_executed_change(op, status);
        return;
    }
    goes_on = call->may_have_run || hf_status_is_unknown_outcome(status);
    if (goes_on)
        repeat_in_background(op, status);
    hf_hold_finish_request(op, hf_op_failure_status(op, status, goes_on));
}

static void on_map_known_before_add(struct hf_call *call, hf_status status,
                                    struct hf_resp_value reply)
{
    call->may_have_run = false; /* it only reads */
    if (status < 0)
        on_add_answered(call, status, reply);
    else
        request_replicated_change(op_of_call(call), call->deadline_ms, on_add_answered);
}

static void start_add(struct hf_op *op)
{
    start_change_with(op, on_add_answered, on_map_known_before_add);
}

const struct hf_verb hf_verb_add = {.name = "add to", .start = start_add,
                                    .cancel = hf_hold_finish_request,
                                    .change_step = STEP_COUNTER_ADD};
const struct hf_verb hf_verb_add_existing = {.name = "add to", .start = start_add,
                                             .cancel = hf_hold_finish_request,
                                             .change_step = STEP_COUNTER_ADD_EXISTING};
const struct hf_verb hf_verb_reduce = {.name = "reduce", .start = start_add,
                                       .cancel = hf_hold_finish_request,
                                       .change_step = STEP_COUNTER_REDUCE};

/* ---- setting, and deleting ---- */

/* Only a deletion: permits that are in use would add up to more than there were. */
static hf_status status_of_refused_deletion(struct hf_op *op)
{
    if (was_change_done(op) || op->answer.number < 1)
        return HF_OK;
    return hf_error_set(op->error, HF_IN_USE, "expirable permits of this name are in use: %lld",
                        (long long)op->answer.number);
}

static void on_set_answered(struct hf_call *call, hf_status status,
                            struct hf_resp_value reply)
{
    struct hf_op *op = op_of_call(call);

    status = read_change_reply(op, status, reply);
    if (status == HF_OK)
        status = status_of_refused_deletion(op);
    if (status == HF_OK || status == HF_IN_USE)
        end_executed_change(op, status);
    else
        hf_hold_finish_request(op,
                               hf_op_failure_status(op, status, call->may_have_run));
}

static void on_map_known_before_set(struct hf_call *call, hf_status status,
                                    struct hf_resp_value reply)
{
    call->may_have_run = false; /* it only reads */
    if (status < 0)
        on_set_answered(call, status, reply);
    else
        request_replicated_change(op_of_call(call), call->deadline_ms, on_set_answered);
}

static void start_set(struct hf_op *op)
{
    start_change_with(op, on_set_answered, on_map_known_before_set);
}

const struct hf_verb hf_verb_set = {.name = "set", .start = start_set,
                                    .cancel = hf_hold_finish_request,
                                    .change_step = STEP_COUNTER_SET};
const struct hf_verb hf_verb_resize = {.name = "resize", .start = start_set,
                                       .cancel = hf_hold_finish_request,
                                       .change_step = STEP_COUNTER_RESIZE};
const struct hf_verb hf_verb_delete = {.name = "delete", .start = start_set,
                                       .cancel = hf_hold_finish_request,
                                       .change_step = STEP_COUNTER_DELETE};

/* ---- reading ---- */

static void on_count_read(struct hf_call *call, hf_status status,
                          struct hf_resp_value reply)
{
    struct hf_op *op = op_of_call(call);
    int64_t exists = 1;

    if (status == HF_OK && (!hf_reply_integer(reply, 1, op->out_number) ||
                            (op->out_flag && !hf_reply_integer(reply, 2, &exists))))
        status = hf_op_fail_unexpected_reply(op);
    if (status == HF_OK && op->out_flag)
        *op->out_flag = exists == 1;
    hf_hold_finish_request(op, status);
}

static void start_reading_count(struct hf_op *op)
{
    if (begin_count_change(op))
        send_count_change(op, STEP_COUNTER_READ, hf_op_deadline(op), on_count_read);
}

const struct hf_verb hf_verb_read = {
    .name = "read", .start = start_reading_count, .cancel = hf_hold_finish_request};
