/* Calls on a multi-lock: multi_turn.c decides which member is next, and this file sends
 * the request, blocking or not. All is done with the mutex of the multi-lock, which is free
 * while a blocking call waits for a reply. */
/* Tests: tests/live/set/test_multi.c, tests/sim/test_multi.c. */
#include "lock/api/op_request.h"
#include "lock/machine/multi_turn.h"
#include "lock/record/records.h"
#include "lock/set/multi_hold.h"
#include "lock/set/same_server.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/random.h"

/* A member that is being released. */
struct member_call {
    struct hf_multi_call *call;
    uint32_t member;
    struct hf_waiter waiter;    /* of a blocking call */
    struct hf_op_storage storage;
};

/* One acquire or release under way. */
struct hf_multi_call {
    struct hf_multi *multi;
    struct hf_multi_hold *hold;
    bool is_release;
    struct hf_multi_turn turn;
    enum hf_multi_action step_action;         /* of the step that is under way */
    struct hf_acquire_options member_options; /* of a member */
    hf_done *done;                        /* NULL: its caller waits */
    void *ctx;
    struct hf_error error;                /* of the member that failed */
    struct member_call *member_calls;     /* one for each member (MULTI-8); NULL: none is released
                                             yet, or there is no memory */
    struct member_call spare_member_call; /* used then: no release fails for want of memory */
};

/* ---- all are taken ---- */

/* If two members of one name are on one server, the call is refused and its members are
 * released. One server may be connected later than another, so this is checked after
 * each reply. */
static bool fail_if_on_one_server(struct hf_multi_call *call)
{
    const struct hf_multi *multi = call->multi;
    struct hf_same_server found;

    if (!multi->has_members_of_one_name || call->member_options.allow_same_server ||
        !hf_same_server_find(&found, multi->members, multi->count, true))
        return false;
    (void)hf_same_server_fail(&call->error, &found, multi->members);
    hf_multi_turn_fail(&call->turn, HF_E_INVAL);
    return true;
}

/* False: the members must be released and acquired again (MULTI-4). */
static bool commit_members_if_safe(struct hf_multi_call *call)
{
    HF_ASSERT(call->hold->has_pending_call && call->hold->owner == call->member_options.owner);
    if (hf_multi_is_safe_for_half_lease(call->multi, call->member_options.owner,
                                        call->member_options.lease_ms)) {
        call->hold->hold_count++;
        hf_multi_commit(call->multi, call->member_options.owner);
        return true;
    }
    hf_multi_turn_unsafe(&call->turn, hf_clock_ms());
    hf_error_set(&call->error, HF_E_NOREPLY,
                 "a member was lost, or half of its lease was over, before the "
                 "last of %u was granted", (unsigned)call->multi->count);
    return false;
}

/* ---- step by step ---- */

static void set_error_of_member(struct hf_multi_call *call, uint32_t member, hf_status status,
                                const char *why)
{
    hf_multi_name_member(&call->error, call->multi, member, status, why);
}

static const char *text_of_failure(hf_status status, const struct hf_error *err)
{
    return err->status == status ? err->text : hf_status_text(status);
}

static void record_member_acquire(struct hf_multi_call *call, hf_status status,
                                  const struct hf_error *err)
{
    uint32_t member = call->turn.current_member;

    HF_ASSERT(call->hold->has_pending_call && call->turn.members_being_released == 0);
    if (status < 0)
        set_error_of_member(call, member, status, text_of_failure(status, err));
    hf_multi_turn_acquire_ended(&call->turn, status, hf_clock_ms());
    if (call->turn.status == HF_TIMEOUT && status != HF_TIMEOUT)
        set_error_of_member(call, member, HF_TIMEOUT,
                            "the wait ended before its server replied");
    if (status == HF_OK || status == HF_TIMEOUT)
        (void)fail_if_on_one_server(call);
    call->error.is_temporary = status == HF_E_SERVER && err->is_temporary;
}

/* The result of a release is HF_LOST if a member was lost; otherwise the first failure.
 * */
static void record_member_release(struct member_call *member_call, hf_status status,
                                  const struct hf_error *err)
{
    struct hf_multi_call *call = member_call->call;
    hf_status *worst = &call->turn.status;

    HF_ASSERT(call->hold->has_pending_call);
    if (call->is_release && status < 0 &&
        (*worst == HF_OK || (status == HF_LOST && *worst != HF_LOST))) {
        *worst = status;
        set_error_of_member(call, member_call->member, status, text_of_failure(status, err));
    }
    hf_multi_turn_release_ended(&call->turn, member_call->member);
}

static void on_member_acquired(void *ctx, hf_status status, const struct hf_error *err);
static void on_member_released(void *ctx, hf_status status, const struct hf_error *err);

/* False: on_member_acquired will be called. */
static bool start_member_acquire(struct hf_multi_call *call, struct hf_multi_step step)
{
    struct hf_lock *lock = call->multi->members[step.member];
    struct hf_op_request request = {.verb = &hf_verb_acquire,
                                    .is_member = true,
                                    .owner = call->member_options.owner,
                                    .options = &call->member_options};
    struct hf_error err = {.status = HF_OK};
    hf_status rc;

    call->member_options.wait_ms = step.wait_ms;
    if (call->done) {
        if ((rc = hf_op_submit(lock, &request, on_member_acquired, call)) == HF_OK)
            return false;
    } else {
        pthread_mutex_unlock(&call->multi->mutex);
        rc = hf_op_run(lock, &request, &err);
        pthread_mutex_lock(&call->multi->mutex);
    }
    record_member_acquire(call, rc, &err);
    return true;
}

/* MULTI-8 */
static struct member_call *member_call_for(struct hf_multi_call *call, uint32_t member)
{
    struct member_call *member_call;

    if (!call->member_calls && call->turn.count > 1 &&
        (call->member_calls = hf_mem_new(call->multi->mem, call->turn.count * sizeof *member_call)))
        call->turn.releases_at_once_max = call->turn.count;
    member_call = call->member_calls ? &call->member_calls[member] : &call->spare_member_call;
    member_call->call = call;
    member_call->member = member;
    return member_call;
}

/* No other call would release the member, so this begins even where no call may. */
static void start_member_release(struct hf_multi_call *call, uint32_t member)
{
    struct member_call *member_call = member_call_for(call, member);
    struct hf_lock *lock = call->multi->members[member];
    struct hf_op_request request = {.verb = &hf_verb_release,
                                    .begins_despite_limits = true,
                                    .owner = call->member_options.owner};
    hf_status rc = call->done
                       ? hf_op_submit_in(&member_call->storage, lock, &request,
                                         on_member_released, member_call)
                       : hf_op_start(&member_call->storage, &member_call->waiter, lock, &request);

    if (rc < 0)
        record_member_release(member_call, rc, &member_call->storage.error);
}

/* A loop without a thread of its own, or whose thread this is, runs only while this
 * thread waits in it: so its members are waited for first. */
static bool needs_this_thread_to_run(const struct hf_lock *lock)
{
    struct hf_loop *loop = lock->client->loop;
    bool needs;

    hf_loop_lock(loop);
    needs = !hf_loop_has_thread(loop) || hf_loop_runs_tasks_here(loop);
    hf_loop_unlock(loop);
    return needs;
}

static struct member_call *next_pending_member_call(struct hf_multi_call *call)
{
    struct member_call *pending = NULL;

    HF_ASSERT(call->turn.members_being_released != 0);
    for (uint32_t i = call->turn.count; i-- > 0;) {
        if (!(call->turn.members_being_released & (UINT64_C(1) << i)))
            continue;
        if (!pending || needs_this_thread_to_run(call->multi->members[i]))
            pending = call->member_calls ? &call->member_calls[i] : &call->spare_member_call;
        if (needs_this_thread_to_run(call->multi->members[i]))
            break;
    }
    return pending;
}

/* False: on_member_released will be called. */
static bool await_one_member(struct hf_multi_call *call)
{
    struct member_call *member_call;
    hf_status rc;

    if (call->done)
        return false;
    member_call = next_pending_member_call(call);
    pthread_mutex_unlock(&call->multi->mutex);
    rc = hf_op_await(&member_call->storage);
    pthread_mutex_lock(&call->multi->mutex);
    record_member_release(member_call, rc, &member_call->storage.error);
    return true;
}

/* False: a callback continues the call; this thread must no longer use the call when it has
 * left the mutex. */
static bool start_step(struct hf_multi_call *call, struct hf_multi_step step)
{
    if (step.action == MULTI_DO_ACQUIRE)
        return start_member_acquire(call, step);
    if (step.action == MULTI_DO_AWAIT)
        return await_one_member(call);
    start_member_release(call, step.member);
    return true;
}

/* True: it has ended, with turn.status. */
static bool run_steps(struct hf_multi_call *call)
{
    struct hf_multi_step step;

    for (;;) {
        step = hf_multi_turn_next(&call->turn, hf_clock_ms());
        if (step.action != MULTI_DO_END) {
            if (!start_step(call, step))
                return false;
        } else if (call->is_release || call->turn.status < 0 || commit_members_if_safe(call)) {
            break;
        }
    }
    if (call->turn.status == HF_OK)
        call->error.status = HF_OK; /* what went wrong before was mended */
    else if (call->error.status != call->turn.status)
        hf_error_set(&call->error, call->turn.status, "%s",
                     hf_status_text(call->turn.status));
    HF_ASSERT(call->error.status == call->turn.status);
    HF_ASSERT(call->turn.status != HF_OK || call->is_release == (call->turn.held_members == 0));
    hf_multi_leave_hold(call->hold);
    if (call->member_calls)
        hf_mem_free(call->multi->mem, call->member_calls,
                    call->turn.count * sizeof *call->member_calls);
    return true;
}

/* Leaves the mutex. `done` may free the multi-lock. */
static void run_steps_and_report(struct hf_multi_call *call)
{
    const struct hf_mem *mem = call->multi->mem;
    pthread_mutex_t *mutex = &call->multi->mutex;
    bool has_ended = run_steps(call);

    pthread_mutex_unlock(mutex);
    if (!has_ended)
        return;
    call->done(call->ctx, call->turn.status, &call->error);
    hf_mem_free(mem, call, sizeof *call);
}

static void on_member_acquired(void *ctx, hf_status status, const struct hf_error *err)
{
    struct hf_multi_call *call = ctx;

    pthread_mutex_lock(&call->multi->mutex);
    record_member_acquire(call, status, err);
    run_steps_and_report(call);
}

static void on_member_released(void *ctx, hf_status status, const struct hf_error *err)
{
    struct hf_multi_call *call = ((struct member_call *)ctx)->call;

    pthread_mutex_lock(&call->multi->mutex);
    record_member_release(ctx, status, err);
    run_steps_and_report(call);
}

/* ---- acquire ---- */

static hf_status check_acquire_options(const struct hf_multi *multi,
                                       const struct hf_acquire_options *o, bool blocks,
                                       struct hf_error *err)
{
    hf_status rc = blocks ? hf_acquire_options_check(o, err)
                          : hf_acquire_options_check_async(o);

    if (rc < 0)
        return rc;
    if (o->keep_unreplicated)
        return hf_error_set(err, HF_E_INVAL,
                            "keep_unreplicated is not for multi-locks: it "
                            "would leave some of the members held");
    for (uint32_t i = 0; o->cancel && i < multi->count; i++)
        if (multi->members[i]->client != o->cancel->client)
            return hf_error_set(err, HF_E_INVAL,
                                "the cancel belongs to another client than a member");
    return HF_OK;
}

/* [mutex] */
static hf_status claim_hold_for_acquire(struct hf_multi_call *call,
                                        const struct hf_acquire_options *options)
{
    struct hf_multi_hold *hold = hf_multi_add_hold(call->multi, options->owner);

    if (!hold)
        return HF_E_NOMEM;
    if (hold->has_pending_call)
        return HF_E_INVAL;
    if (hold->hold_count == 0) {
        hold->owner = options->owner;
        hold->was_loss_reported = false;
        hold->options = *options;
    }
    hold->has_pending_call = true;
    call->hold = hold;
    return HF_OK;
}

static hf_status set_error_before_start(struct hf_error *err, hf_status status)
{
    return hf_error_set(err, status, "%s",
                        status == HF_E_INVAL
                            ? "another call of this owner is pending"
                            : hf_status_text(status));
}

static hf_status begin_acquire(struct hf_multi_call *call,
                               struct hf_multi *multi,
                               const struct hf_acquire_options *options,
                               struct hf_error *err)
{
    hf_status rc;

    if (hf_multi_forked(multi))
        return set_error_before_start(err, HF_E_FORKED);
    if ((rc = check_acquire_options(multi, options, !call->done, err)) < 0)
        return rc;
    call->multi = multi;
    call->member_options = *options;
    pthread_mutex_lock(&multi->mutex);
    rc = claim_hold_for_acquire(call, options);
    pthread_mutex_unlock(&multi->mutex);
    if (rc < 0)
        return set_error_before_start(err, rc);
    hf_multi_set_callbacks(call->hold, &call->member_options);
    hf_multi_turn_init(&call->turn, multi->count, hf_clock_ms(),
                       options->wait_ms, options->lease_ms);
    (void)hf_random_bytes(&call->turn.random_state, sizeof call->turn.random_state);
    return HF_OK;
}

/* ---- release ---- */

/* [mutex] */
static hf_status claim_hold_for_release(struct hf_multi_call *call, int64_t owner)
{
    struct hf_multi_hold *hold =
        owner == 0 ? NULL : hf_multi_find_hold(call->multi, owner);

    if (!hold || hold->hold_count == 0)
        return HF_NOT_OWNER;
    if (hold->has_pending_call)
        return HF_E_INVAL;
    HF_ASSERT(hold->owner == owner);
    hold->has_pending_call = true;
    hold->hold_count--;
    call->hold = hold;
    return HF_OK;
}

static hf_status begin_release(struct hf_multi_call *call,
                               struct hf_multi *multi, int64_t owner,
                               struct hf_error *err)
{
    hf_status rc;

    if (hf_multi_forked(multi))
        return set_error_before_start(err, HF_E_FORKED);
    call->multi = multi;
    call->is_release = true;
    call->member_options.owner = owner;
    pthread_mutex_lock(&multi->mutex);
    rc = claim_hold_for_release(call, owner);
    pthread_mutex_unlock(&multi->mutex);
    if (rc < 0)
        return set_error_before_start(err, rc);
    hf_multi_turn_release(&call->turn, multi->count);
    return HF_OK;
}

/* ---- waited for, or not ---- */

static hf_status run_call_blocking(struct hf_multi_call *call, struct hf_error *err)
{
    pthread_mutex_lock(&call->multi->mutex);
    (void)run_steps(call); /* to its end */
    pthread_mutex_unlock(&call->multi->mutex);
    if (err)
        *err = call->error;
    return call->turn.status;
}

hf_status hf_multi_acquire(struct hf_multi *multi,
                           const struct hf_acquire_options *options,
                           struct hf_error *err)
{
    struct hf_multi_call call = {0};
    struct hf_acquire_options o;
    hf_status rc = hf_acquire_options_read(&o, options, err);

    if (rc == HF_OK)
        rc = begin_acquire(&call, multi, &o, err);
    return rc < 0 ? rc : run_call_blocking(&call, err);
}

hf_status hf_multi_release(struct hf_multi *multi, int64_t owner,
                           struct hf_error *err)
{
    struct hf_multi_call call = {0};
    hf_status rc = begin_release(&call, multi, owner, err);

    return rc < 0 ? rc : run_call_blocking(&call, err);
}

static struct hf_multi_call *new_async_call(struct hf_multi *multi, hf_done *done,
                                            void *ctx)
{
    struct hf_multi_call *call = hf_mem_new(multi->mem, sizeof *call);

    if (call) {
        call->done = done;
        call->ctx = ctx;
    }
    return call;
}

/* If the first step cannot begin, the function fails and `done` is not called. */
static hf_status start_call_async(struct hf_multi *multi, struct hf_multi_call *call,
                                  hf_status begun)
{
    const struct hf_mem *mem = multi->mem;
    bool has_ended = true;

    if (begun == HF_OK) {
        pthread_mutex_lock(&multi->mutex);
        if ((has_ended = run_steps(call)))
            begun = call->turn.status;
        pthread_mutex_unlock(&multi->mutex);
    }
    if (has_ended)
        hf_mem_free(mem, call, sizeof *call);
    return begun;
}

hf_status hf_multi_acquire_async(struct hf_multi *multi,
                                 const struct hf_acquire_options *options,
                                 hf_done *done, void *ctx)
{
    struct hf_acquire_options o;
    struct hf_multi_call *call;
    hf_status rc;

    if ((rc = hf_acquire_options_read(&o, options, NULL)) < 0)
        return rc;
    if (!(call = new_async_call(multi, done, ctx)))
        return HF_E_NOMEM;
    return start_call_async(multi, call, begin_acquire(call, multi, &o, NULL));
}

hf_status hf_multi_release_async(struct hf_multi *multi, int64_t owner,
                                 hf_done *done, void *ctx)
{
    struct hf_multi_call *call = new_async_call(multi, done, ctx);

    if (!call)
        return HF_E_NOMEM;
    return start_call_async(multi, call, begin_release(call, multi, owner, NULL));
}
