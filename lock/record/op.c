/* Operations of any verb: how they begin, send their requests, and end. */
/* Tests: tests/live/lock/test_lock_calls.c, tests/live/fault/test_lock_cuts.c. */
#include "lock/record/op.h"

#include <string.h>

#include "lock/record/args.h"
#include "lock/record/wait_queue.h"
#include "lock/record/log.h"
#include "lock/record/on_wait.h"
#include "lock/record/table.h"
#include "lock/script/call_end.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"

/* A user without rights on channels would fill the log. */
#define LOG_INTERVAL_MS 60000

static bool is_op_of_a_caller(const struct hf_op *op)
{
    return op->blocking_waiter || op->done;
}

bool hf_op_is_housekeeping(const struct hf_op *op)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    return !is_op_of_a_caller(op) && !op->verb->is_background_release;
}

uint32_t hf_client_count_calls(const struct hf_client *client)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    return client->ops_count - client->background_releases - client->housekeeping_ops;
}

hf_status hf_client_check_call_limit(const struct hf_client *client, struct hf_error *err)
{
    if (hf_client_count_calls(client) + client->pending_label_calls +
            client->pending_done_callbacks <
        client->waiters_max)
        return HF_OK;
    return hf_error_set(err, HF_E_LIMIT, "too many calls are under way: waiters_max is %u",
                        (unsigned)client->waiters_max);
}

/* The counters of the client contain each operation once. */
static bool are_op_counters_ok(const struct hf_client *client)
{
    return client->background_releases + client->housekeeping_ops <= client->ops_count &&
           hf_list_is_empty(&client->pending_ops) == (client->ops_count == 0);
}

/* ---- begin ---- */

static hf_status tally_refused_op(const struct hf_op *op, hf_status status)
{
    if (is_op_of_a_caller(op))
        hf_tally_refused(op->client, status);
    return status;
}

hf_status hf_op_begin(struct hf_op *op)
{
    struct hf_client *client = op->client;

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    if (client->has_stopped_sending ||
        (client->is_closing && !op->verb->is_background_release && !op->begins_despite_limits))
        return tally_refused_op(op, hf_error_set(op->error, HF_E_CLOSED, "%s",
                                                 hf_status_text(HF_E_CLOSED)));
    if (is_op_of_a_caller(op) && !op->begins_despite_limits &&
        hf_client_check_call_limit(client, op->error) < 0)
        return tally_refused_op(op, HF_E_LIMIT);
    HF_ASSERT(!(op->blocking_waiter && op->done) && op->lock->client == client);
    hf_list_push(&client->pending_ops, &op->node);
    hf_list_init(&op->queue_node);
    hf_list_init(&op->cancel_node);
    client->ops_count++;
    op->begin_number = ++client->ops_begun;
    client->background_releases += op->verb->is_background_release;
    client->housekeeping_ops += hf_op_is_housekeeping(op);
    HF_ASSERT(are_op_counters_ok(client));
    hf_lock_ref(op->lock);
    if (op->done)
        hf_loop_retain_driver(client->loop);
    return HF_OK;
}

struct hf_op *hf_op_alloc(const struct hf_lock *lock, size_t room)
{
    size_t size = sizeof(struct hf_op) + room;
    struct hf_op *op = hf_mem_new(lock->client->mem, size);

    if (op)
        op->allocated_size = size;
    return op;
}

struct hf_op *hf_op_begin_background(struct hf_op *op, struct hf_lock *lock,
                                     const struct hf_verb *verb)
{
    if (!op)
        return NULL;
    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    op->client = lock->client;
    op->lock = lock;
    op->verb = verb;
    if (hf_op_begin(op) == HF_OK)
        return op;
    hf_mem_free(op->client->mem, op, op->allocated_size);
    return NULL;
}

struct hf_op *hf_op_new_background(struct hf_lock *lock,
                                   const struct hf_verb *verb, size_t room)
{
    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    return hf_op_begin_background(hf_op_alloc(lock, room), lock, verb);
}

/* ---- end ---- */

/* `size`: op->allocated_size. */
static void free_op(const struct hf_client *client, struct hf_op *op,
                    size_t size)
{
    if (size > 0)
        hf_mem_free(client->mem, op, size);
}

/* The caller's own callback, for a call that did not block. Memory that is not
 * ours to free may be another call's when it returns. */
static void run_done_callback(struct hf_task *task)
{
    struct hf_op *op = HF_OWNER_OF(task, struct hf_op, done_task);
    struct hf_client *client = op->client;
    size_t size = op->allocated_size;

    HF_ASSERT(client->pending_done_callbacks > 0 && op->done && !op->blocking_waiter);
    client->pending_done_callbacks--;
    hf_loop_unlock(client->loop);
    op->done(op->done_ctx, op->status, op->error);
    hf_loop_lock(client->loop);
    free_op(client, op, size);
}

static const char *text_of_status_for_kind(const struct hf_kind *kind, hf_status status)
{
    return status == HF_TIMEOUT && kind->unavailable_text ? kind->unavailable_text
                                                     : hf_status_text(status);
}

/* Fills the error if it is not filled yet; clears an error before a later success. */
static void fill_error_of_op(struct hf_op *op)
{
    const struct hf_kind *kind = op->lock->kind;
    char name[100];

    if (!op->error || op->error->status == op->status)
        return;
    if (op->status == HF_OK) { /* in the end */
        op->error->status = HF_OK;
        return;
    }
    hf_error_set(op->error, op->status, "%s '%s': %s",
                 kind->noun ? kind->noun : "lock",
                 hf_error_quote(name, sizeof name, op->lock->texts,
                                op->lock->name_len),
                 text_of_status_for_kind(kind, op->status));
}

bool hf_client_is_idle(const struct hf_client *client)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    return client->ops_count == 0 && client->provisional_holds_count == 0 &&
           hf_router_subscriptions_are_idle(client->router) && !client->is_closing_label;
}

/* With holds that are open, for their callbacks to be called. */
void hf_client_note_idle(struct hf_client *client)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    if (client->closing_waiter && client->ops_count == 0 && !client->is_closing_label &&
        hf_router_subscriptions_are_idle(client->router))
        hf_waiter_wake(client->closing_waiter);
}

void hf_op_finish(struct hf_op *op, hf_status status)
{
    struct hf_client *client = op->client;

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    HF_ASSERT(!op->call.is_under_way && !op->timer.link && client->ops_count > 0);
    HF_ASSERT(client->background_releases >= op->verb->is_background_release &&
              are_op_counters_ok(client));
    HF_ASSERT(client->housekeeping_ops >= hf_op_is_housekeeping(op));
    HF_ASSERT(!hf_list_is_empty(&op->node) && !op->hold); /* it ends once */
    op->status = status;
    fill_error_of_op(op);
    hf_tally_call_ended(op, status);
    hf_list_remove(&op->node);
    hf_list_remove(&op->queue_node);
    hf_list_remove(&op->cancel_node);
    hf_wait_queue_unassign(op);
    client->ops_count--;
    client->background_releases -= op->verb->is_background_release;
    client->housekeeping_ops -= hf_op_is_housekeeping(op);
    client->has_logged_orphans = client->has_logged_orphans && client->background_releases > 0;
    client->ops_finished_since_close += client->is_closing && !hf_op_is_housekeeping(op);
    HF_ASSERT(are_op_counters_ok(client) && !op->queue);
    hf_client_note_idle(client);
    hf_lock_unref(op->lock);
    if (op->blocking_waiter) {
        hf_on_wait_cancel(op); /* its caller goes, and what ctx points at */
        hf_waiter_wake(op->blocking_waiter);
    } else if (op->done) {
        client->pending_done_callbacks++;
        hf_loop_release_driver(client->loop);
        hf_task_init(&op->done_task, run_done_callback);
        hf_loop_post(client->loop, &op->done_task);
    } else {
        free_op(client, op, op->allocated_size);
    }
}

bool hf_op_cancel(struct hf_op *op, hf_status status)
{
    bool may_have_run;

    HF_ASSERT(hf_loop_is_locked(op->client->loop) && !hf_list_is_empty(&op->node));
    hf_call_cancel(&op->call);
    may_have_run = op->call.may_have_run || op->may_earlier_request_hold;
    hf_wait_queue_release_ended(op, -1);
    op->verb->cancel(op, status);
    return may_have_run;
}

/* ---- sending ---- */

static void set_error_of_failed_start(struct hf_op *op, hf_status status)
{
    hf_error_set(op->error, status, "%s: %s",
                 hf_router_address(op->client->router), hf_status_text(status));
}

/* A release must follow its acquire on the same connection, and the acquire waits for
 * replicas. */
static bool must_be_ordered_with_replicated(const struct hf_op *op, enum hf_step step)
{
    return op->client->replicas != 0 &&
           (step == STEP_ACQUIRE || step == STEP_EXTEND || step == STEP_RELEASE ||
            step == STEP_COUNTER_ADD || step == STEP_COUNTER_ADD_EXISTING ||
            step == STEP_COUNTER_REDUCE || step == STEP_COUNTER_SET ||
            step == STEP_COUNTER_RESIZE || step == STEP_COUNTER_DELETE ||
            step == STEP_RAISE_TOKEN);
}

void hf_op_want_replicas(struct hf_op *op,
                         bool (*is_for_replicas)(struct hf_call *,
                                                 struct hf_resp_value),
                         void (*on_replicas)(struct hf_call *, hf_status))
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    op->call.replicas = op->client->replicas;
    op->call.replicas_timeout_ms = op->client->replicas_timeout_ms;
    op->call.must_replicas_confirm = is_for_replicas;
    op->call.on_replicas = on_replicas;
}

/* A caller may cancel before the call ends; the error must then contain the last refusal. A
 * waiter's next requests may also be refused, each second: only the first refusal is logged. */
static void on_temporary_refusal(struct hf_call *call)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);
    char title[HF_CALL_TITLE_MAX];

    if (op->has_logged_refusal)
        return;
    op->has_logged_refusal = true;
    hf_client_log(op->client, HF_LOG_WARNING, "%s on %s: %s%s%s%s; the request is sent again",
                  hf_call_title(call, title), hf_command_address(&call->command),
                  call->patience_reason, call->refusal_advice ? " (" : "",
                  call->refusal_advice ? call->refusal_advice : "", call->refusal_advice ? ")"
                      : "");
}

void hf_op_call_script(struct hf_op *op, enum hf_step step, struct hf_bytes echo,
                       int64_t deadline_ms,
                       void (*done)(struct hf_call *, hf_status, struct hf_resp_value))
{
    struct hf_call *call = &op->call;
    const struct hf_lock *lock = op->lock;
    const struct hf_kind_step *how = hf_kind_step(lock->kind, step);
    hf_status rc;

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    HF_ASSERT(!call->is_under_way && !hf_list_is_empty(&op->node) && how->script);
    HF_ASSERT(echo.len > 0 && echo.len < HF_OWNER_TEXT_MAX && deadline_ms > 0);
    /* What an earlier request of this wait may have done is not forgotten. */
    HF_ASSERT(step != STEP_ACQUIRE || !call->may_have_run || op->may_earlier_request_hold);
    call->script = how->script;
    call->argv = op->argv;
    call->argc = hf_op_put_args(op, step, echo);
    call->slot = lock->slot;
    call->expected_echo = echo.ptr;
    call->expected_echo_len = echo.len;
    call->lock_name = lock->texts;
    call->lock_name_len = lock->name_len;
    call->derived_keys = how->only_reads_keys &&
        call->keys_count > 1 /* they are declared already */
                        ? HF_DERIVES_NONE
                        : how->derived_keys;
    call->declare_state = &op->client->declare_state;
    call->declared_hold_count = (struct hf_resp_arg){"", 0};
    if (how->derived_keys >= HF_DERIVES_OWN) /* ARGV[2] of their scripts */
        call->declared_hold_count = op->argv[CALL_HEAD_ARGS + call->keys_count + 1];
    call->sends_eval = false;
    call->repeats_with_eval = step == STEP_RELEASE;
    call->lacks_evalsha = &op->client->lacks_evalsha;
    call->only_reads = step == STEP_INSPECT || step == STEP_COUNTER_READ;
    call->is_tracked = step == STEP_ACQUIRE && hf_wait_queue_is_tracked(op);
    call->is_replicated = must_be_ordered_with_replicated(op, step);
    call->error = op->error;
    call->on_put_off = on_temporary_refusal;
    call->done = done;
    rc = hf_call_start(call, op->client->loop, op->client->router,
                       deadline_ms);
    if (rc == HF_OK)
        return;
    set_error_of_failed_start(op, rc);
    done(call, rc, (struct hf_resp_value){0});
}

int64_t hf_op_deadline(const struct hf_op *op)
{
    int64_t deadline =
        hf_loop_now(op->client->loop) + op->client->request_timeout_ms;

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    HF_ASSERT(op->client->request_timeout_ms > 0);
    if (op->options.wait_ms != 0 && op->wait.deadline_ms < deadline)
        return op->wait.deadline_ms;
    return deadline;
}

void hf_op_arm_due(struct hf_op *op)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop) && !hf_list_is_empty(&op->node));
    if (op->wait.due_ms == HF_NEVER)
        hf_loop_disarm(op->client->loop, &op->timer);
    else
        hf_loop_arm(op->client->loop, &op->timer, op->wait.due_ms);
}

hf_status hf_op_fail_unexpected_reply(struct hf_op *op)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    op->call.may_have_run = true;
    return hf_error_set(op->error, HF_E_PROTOCOL,
                        "%s: unexpected script reply; another program may have changed "
                        "the lock's keys",
                        hf_router_address(op->client->router));
}

void hf_op_note_outcome(struct hf_op *op)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    HF_ASSERT(op->hold && op->hold->work && !op->call.is_under_way);
    if (op->call.may_have_run)
        hf_lease_grant_unknown(&op->hold->work->lease, &op->call.sending);
    else
        hf_lease_grant_refused(&op->hold->work->lease);
}

void hf_op_log_unsent_notification(struct hf_op *op)
{
    struct hf_client *client = op->client;
    int64_t now = hf_loop_now(client->loop);
    char name[100], why[200];

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    if (op->answer.note.len == 0 || now < client->next_put_off_log_ms)
        return;
    client->next_put_off_log_ms = now + LOG_INTERVAL_MS;
    hf_client_log(client, HF_LOG_WARNING,
                  "could not notify the waiters of '%s', which will poll some seconds "
                  "later: %s",
                  hf_error_quote(name, sizeof name, op->lock->texts,
                                 op->lock->name_len),
                  hf_error_quote(why, sizeof why, op->answer.note.ptr,
                                 op->answer.note.len));
}

bool hf_op_read_answer(struct hf_op *op, struct hf_resp_value reply)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    if (!hf_answer_read(&op->answer, reply) ||
        (op->answer.count != op->wanted_hold_count && op->answer.count != ANSWER_NOT_HELD))
        return false;
    op->has_logged_refusal = false;
    hf_op_log_unsent_notification(op);
    return true;
}

hf_status hf_op_fail_late(struct hf_op *op)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    return hf_error_set(op->error, HF_E_NOREPLY, "%s: the reply came after the lease had ended",
                        hf_router_address(op->client->router));
}

hf_status hf_op_replace_status(struct hf_op *op, hf_status status)
{
    struct hf_error copy;

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    if (!op->error || op->error->status == HF_OK)
        return status;
    copy = *op->error;
    return hf_error_set(op->error, status, "%s", copy.text);
}

bool hf_status_is_unknown_outcome(hf_status status)
{
    return status == HF_E_CONNECT || status == HF_E_NOREPLY ||
           status == HF_E_PROTOCOL;
}

hf_status hf_op_failure_status(struct hf_op *op, hf_status status, bool may_have_run)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    return may_have_run && !hf_status_is_unknown_outcome(status)
               ? hf_op_replace_status(op, HF_E_NOREPLY)
               : status;
}
