/* Leader election: a candidate is an owner that requests a lock again and again by the public
 * calls of lock.h. Its last release uses a private call, which needs no memory, no space and no
 * open client.
 *
 *   STARTING    -on_pause_task-> REQUESTING
 *   REQUESTING  -elected-> LEADING
 *               -on_acquired-> RELEASING               the hold is not safe, or was lost
 *               -request_leadership_later, failed-> PAUSING, STOPPED
 *   LEADING     -on_leadership_lost-> RELEASING
 *   RELEASING   -on_leadership_released-> REQUESTING
 *               -request_leadership_later, failed-> PAUSING, STOPPED
 *   PAUSING     -on_pause_over, on_pause_task-> REQUESTING
 *
 * Terms. Candidate: the election of one process. To lead: to hold the lock after on_elected
 * was called. Pause: the time between an error and the next request.
 *
 * What is true in each state (election_ok):
 * STARTING    the task is posted; nothing was requested yet
 * REQUESTING  an acquire is pending, or begins
 * LEADING     on_elected was called, or is being called; the next pause is the shortest
 * RELEASING   the hold was lost, or was not safe when it was granted; on_deposed runs, or a
 *             release is pending
 * PAUSING     the timer is armed, or has fired and the task is posted
 * STOPPED     the client is closed: nothing follows
 * In every state: next_pause_ms is from PAUSE_MIN_MS to PAUSE_MAX_MS. After hf_election_leave has
 * begun, the state does not change.
 *
 * ELECT-1  At most one call is pending: the acquire, or the release of a hold that was lost.
 *          Its result, a loss and the end of a pause arrive one after the other, because
 *          callbacks do; each decides the next step.
 * ELECT-2  A hold that is not safe when its grant is processed never led: it is released, and
 *          no callback is called.
 * ELECT-3  A hold that was lost is released after on_deposed has returned. The call needs no
 *          reply; a background release follows if the server may still have the hold. Then the
 *          candidate requests the lock again.
 * ELECT-4  After hf_election_leave has begun, no call begins. A pending acquire is cancelled,
 *          and callbacks that are due run to their end; then a remaining hold is released.
 * ELECT-5  The pause after an error grows with consecutive errors. A reply that grants the
 *          lock, or names its holder, makes the next pause the shortest. */
/* Tests: tests/live/set/test_election.c, tests/sim/test_election.c. */
#include "lock/election.h"

#include <pthread.h>

#include "lock/api/op_request.h"
#include "lock/record/hold.h"
#include "lock/record/records.h"
#include "lock/record/table.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/sized.h"

/* The pause after a failed attempt. It doubles up to the maximum, so an election continues
 * at most half a minute after its server has returned. */
#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 30000

enum election_state { STARTING, REQUESTING, LEADING, RELEASING, PAUSING, STOPPED };

struct hf_election {
    struct hf_lock *lock;
    struct hf_election_options options;
    int64_t owner;
    struct hf_cancel cancel;
    struct hf_timer pause_timer; /* the end of a pause, and what it posts */
    struct hf_task pause_task;
    int64_t next_pause_ms;       /* the next one. Of callbacks alone */
    pthread_mutex_t mutex;
    enum election_state state;   /* [mutex] */
    bool is_withdrawn;           /* [mutex] */
};

/* May `to` follow `from`? See the diagram above. */
static bool is_transition_allowed(enum election_state from, enum election_state to)
{
    switch (to) {
    case REQUESTING:
        return from == STARTING || from == PAUSING || from == RELEASING; /* ELECT-1 */
    case LEADING:
        return from == REQUESTING;
    case RELEASING:
        return from == REQUESTING || from == LEADING;
    case PAUSING:
    case STOPPED:
        return from == REQUESTING || from == RELEASING;
    case STARTING:
        break;
    }
    return false;
}

/* [mutex] */
static bool election_ok(const struct hf_election *e)
{
    return e->next_pause_ms >= PAUSE_MIN_MS && e->next_pause_ms <= PAUSE_MAX_MS &&
           (e->state != LEADING || e->next_pause_ms == PAUSE_MIN_MS); /* ELECT-5 */
}

/* Sets the state; nothing else does. Returns false, and sets nothing, if the candidate
 * leaves (ELECT-4). */
static bool set_state_unless_leaving(struct hf_election *e, enum election_state state)
{
    bool goes;

    pthread_mutex_lock(&e->mutex);
    goes = !e->is_withdrawn;
    if (goes) {
        HF_ASSERT(is_transition_allowed(e->state, state));
        e->state = state;
        HF_ASSERT(election_ok(e));
    }
    pthread_mutex_unlock(&e->mutex);
    return goes;
}

/* After hf_election_leave has begun, the loss is not reported. */
static bool is_leading(struct hf_election *e)
{
    bool leads;

    pthread_mutex_lock(&e->mutex);
    leads = e->state == LEADING && !e->is_withdrawn;
    pthread_mutex_unlock(&e->mutex);
    return leads;
}

static bool was_candidate_withdrawn(struct hf_election *e)
{
    bool leaving;

    pthread_mutex_lock(&e->mutex);
    leaving = e->is_withdrawn;
    pthread_mutex_unlock(&e->mutex);
    return leaving;
}

/* ---- errors ---- */

static void on_pause_over(struct hf_timer *timer)
{
    struct hf_election *e = HF_OWNER_OF(timer, struct hf_election, pause_timer);

    hf_loop_post(e->lock->client->loop, &e->pause_task);
}

static void request_leadership_later(struct hf_election *e)
{
    struct hf_loop *loop = e->lock->client->loop;

    hf_loop_lock(loop);
    if (set_state_unless_leaving(e, PAUSING))
        hf_loop_arm(loop, &e->pause_timer, hf_loop_now(loop) + e->next_pause_ms);
    hf_loop_unlock(loop);
    e->next_pause_ms = e->next_pause_ms < PAUSE_MAX_MS / 2 ? 2 * e->next_pause_ms : PAUSE_MAX_MS;
    HF_ASSERT(e->next_pause_ms >= PAUSE_MIN_MS && e->next_pause_ms <= PAUSE_MAX_MS); /* ELECT-5 */
}

static void report_failed_request(struct hf_election *e, const struct hf_error *err)
{
    if (hf_loop_forked(e->lock->client->loop) || was_candidate_withdrawn(e))
        return;
    if (e->options.on_trouble)
        e->options.on_trouble(e->options.ctx, e, err);
    if (hf_loop_forked(e->lock->client->loop))
        return;
    if (err->status == HF_E_CLOSED)
        (void)set_state_unless_leaving(e, STOPPED);
    else
        request_leadership_later(e);
}

/* A call that could not begin. */
static void report_request_not_begun(struct hf_election *e, hf_status status)
{
    struct hf_error err;

    (void)hf_error_set(&err, status, "cannot request the lock: %s",
                       hf_status_text(status));
    report_failed_request(e, &err);
}

/* ---- requests ---- */

static void request_leadership(struct hf_election *e);

static void on_leadership_released(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)status, (void)err;
    request_leadership(ctx);
}

/* ELECT-3. If the release fails, it is repeated after the next acquire has returned
 * HF_LOST. */
static void release_leadership(struct hf_election *e)
{
    hf_status rc;

    if (hf_loop_forked(e->lock->client->loop) || was_candidate_withdrawn(e))
        return;
    rc = hf_lock_release_async(e->lock, e->owner, on_leadership_released, e);
    if (rc < 0)
        report_request_not_begun(e, rc);
}

static void on_leadership_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                               enum hf_lost reason)
{
    struct hf_election *e = ctx;

    (void)lock, (void)owner;
    if (!is_leading(e) || !set_state_unless_leaving(e, RELEASING))
        return; /* it never led, or leaves */
    if (e->options.on_deposed)
        e->options.on_deposed(e->options.ctx, e, reason);
    release_leadership(e);
}

/* The server replies: what went wrong before has ended, and the next error is the
 * first one. */
static void on_wait(void *ctx, struct hf_lock *lock,
                    const struct hf_lock_info *info)
{
    struct hf_election *e = ctx;

    (void)lock, (void)info;
    e->next_pause_ms = PAUSE_MIN_MS;
}

static void become_leader(struct hf_election *e)
{
    e->next_pause_ms = PAUSE_MIN_MS;
    if (set_state_unless_leaving(e, LEADING) && e->options.on_elected)
        e->options.on_elected(e->options.ctx, e);
}

static void on_acquired(void *ctx, hf_status status, const struct hf_error *err)
{
    struct hf_election *e = ctx;

    if (status == HF_OK && hf_lock_safe_ms(e->lock, e->owner) > 0)
        become_leader(e);
    else if ((status == HF_OK || status == HF_LOST) && set_state_unless_leaving(e, RELEASING))
        release_leadership(e); /* ELECT-2 */
    else if (status != HF_OK && status != HF_CANCELLED)
        report_failed_request(e, err);
}

static void request_leadership(struct hf_election *e)
{
    struct hf_acquire_options o;
    hf_status rc;

    if (!set_state_unless_leaving(e, REQUESTING))
        return;
    hf_acquire_options_init(&o);
    o.owner = e->owner;
    o.cancel = &e->cancel;
    o.on_wait = on_wait;
    o.on_lost = on_leadership_lost;
    o.ctx = e;
    rc = hf_lock_acquire_async(e->lock, &o, on_acquired, e);
    if (rc < 0)
        report_request_not_begun(e, rc);
}

static void on_pause_task(struct hf_task *task)
{
    struct hf_election *e = HF_OWNER_OF(task, struct hf_election, pause_task);
    struct hf_loop *loop = e->lock->client->loop;

    hf_loop_unlock(loop);
    request_leadership(e);
    hf_loop_lock(loop);
}

/* ---- joining and leaving ---- */

static hf_status check_lock_kind(const struct hf_lock *lock, struct hf_error *err)
{
    if (hf_loop_forked(lock->client->loop))
        return hf_fail_forked(err);
    if (lock->kind->may_have_several_holders || lock->kind->is_ownerless)
        return hf_error_set(err, HF_E_INVAL,
                            "a %s can have several holders and cannot elect a leader",
                            hf_lock_kind_text(lock->kind->id));
    return HF_OK;
}

static const struct hf_sized options_size = HF_SIZED(hf_election_options, on_elected);

hf_status hf_election_join(struct hf_election **out, struct hf_lock *lock,
                           const struct hf_election_options *options,
                           struct hf_error *err)
{
    struct hf_loop *loop = lock->client->loop;
    struct hf_election_options known = {.size = sizeof known};
    struct hf_election *e;
    hf_status rc;

    if ((rc = check_lock_kind(lock, err)) < 0 ||
        (rc = hf_sized_read(&known, &options_size, options, err)) < 0)
        return rc;
    if (!(e = hf_mem_new(lock->client->mem, sizeof *e)))
        return hf_error_set(err, HF_E_NOMEM, "%s", hf_status_text(HF_E_NOMEM));
    e->lock = lock;
    e->options = known;
    e->owner = hf_owner_new();
    e->next_pause_ms = PAUSE_MIN_MS;
    e->pause_timer = (struct hf_timer){.fire = on_pause_over};
    pthread_mutex_init(&e->mutex, NULL);
    hf_cancel_init(&e->cancel, lock->client);
    hf_task_init(&e->pause_task, on_pause_task);
    HF_ASSERT(election_ok(e) && e->owner != 0);
    *out = e; /* before a callback can be called */
    hf_loop_lock(loop);
    hf_lock_ref(lock);
    hf_loop_post(loop, &e->pause_task);
    hf_loop_unlock(loop);
    return HF_OK;
}

/* Callbacks that are due, or have begun, have returned when this does. */
static void finish_callbacks(struct hf_election *e)
{
    struct hf_loop *loop = e->lock->client->loop;

    hf_loop_lock(loop);
    hf_loop_disarm(loop, &e->pause_timer);
    hf_loop_unpost(loop, &e->pause_task);
    hf_loop_finish_tasks(loop);
    hf_loop_unlock(loop);
}

static void free_election(struct hf_election *e)
{
    struct hf_client *client = e->lock->client;

    if (!hf_loop_forked(client->loop)) {
        hf_loop_lock(client->loop);
        hf_lock_unref(e->lock);
        hf_loop_unlock(client->loop);
    }
    pthread_mutex_destroy(&e->mutex);
    hf_mem_free(client->mem, e, sizeof *e);
}

static bool is_hold_of_election(const struct hf_hold *hold, const void *election)
{
    const void *ctx;

    return hf_hold_has_on_lost(hold, on_leadership_lost, &ctx) && ctx == election;
}

/* The election is freed next: a hold that could not be released must not call it. */
static void remove_hold_callbacks(const struct hf_election *e)
{
    struct hf_loop *loop = e->lock->client->loop;

    hf_loop_lock(loop);
    hf_loop_finish_tasks(loop);
    hf_hold_remove_callbacks(e->lock, is_hold_of_election, e);
    hf_loop_unlock(loop);
}

/* ELECT-4 */
static hf_status withdraw_candidate(struct hf_election *e, struct hf_error *err)
{
    const struct hf_op_request last = {
        .verb = &hf_verb_release, .begins_despite_limits = true, .owner = e->owner};
    bool was_leading;
    hf_status rc;

    pthread_mutex_lock(&e->mutex);
    was_leading = e->state == LEADING; /* otherwise the loss was reported, or it never led */
    e->is_withdrawn = true;
    pthread_mutex_unlock(&e->mutex);
    hf_cancel_fire(&e->cancel);
    finish_callbacks(e);
    rc = hf_op_run(e->lock, &last, err);
    remove_hold_callbacks(e);
    return rc == HF_NOT_OWNER || (rc == HF_LOST && !was_leading) ? HF_OK : rc;
}

hf_status hf_election_leave(struct hf_election *election, struct hf_error *err)
{
    hf_status rc = HF_E_FORKED;

    if (!election)
        return HF_OK;
    if (!hf_loop_forked(election->lock->client->loop))
        rc = withdraw_candidate(election, err);
    free_election(election);
    return rc;
}

int64_t hf_election_safe_ms(struct hf_election *election)
{
    return hf_lock_safe_ms(election->lock, election->owner);
}

int64_t hf_election_owner(const struct hf_election *election)
{
    return election->owner;
}
