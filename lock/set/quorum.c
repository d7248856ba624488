/* Quorums: their members, the threads that may wait for them, and what each owner
 * has. */
/* Tests: tests/live/set/test_quorum.c, tests/sim/test_quorum.c. */
#include "lock/record/hold.h"
#include "lock/record/records.h"
#include "lock/record/table.h"
#include "lock/set/quorum_hold.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"

/* ---- handles ---- */

static size_t quorum_size_in_bytes(size_t count)
{
    return sizeof(struct hf_quorum) + count * sizeof(struct hf_lock *);
}

static size_t hold_size_in_bytes(size_t count)
{
    return sizeof(struct hf_quorum_hold) +
           count * sizeof(struct hf_quorum_member_call);
}

static size_t raise_ops_size_in_bytes(size_t count)
{
    return count * sizeof(struct hf_op_storage);
}

static void free_quorum_hold(const struct hf_quorum *quorum, struct hf_quorum_hold *hold)
{
    if (hold->raise_ops)
        hf_mem_free(quorum->mem, hold->raise_ops, raise_ops_size_in_bytes(quorum->count));
    hf_quorum_renewal_free(quorum, hold->renewal);
    hf_mem_free(quorum->mem, hold, hold_size_in_bytes(quorum->count));
}

static bool has_lock_of_client(struct hf_lock *const *locks, size_t count,
                               const struct hf_client *client)
{
    for (size_t i = 0; i < count; i++)
        if (locks[i]->client == client)
            return true;
    return false;
}

static bool has_tokens(const struct hf_kind *kind)
{
    return kind->steps[STEP_ACQUIRE].takes_retention;
}

/* Two majorities have a server in common. It keeps their owners apart only if it
 * grants its member to one owner at a time; readers are such owners against writers.
 * NULL: nothing. */
static const char *reason_not_a_member(const struct hf_kind *kind,
                                       const struct hf_kind *first)
{
    if (has_tokens(kind) != has_tokens(first))
        return "some members have fencing tokens and others have none";
    if (kind->is_ownerless || (kind->may_have_several_holders && !kind->other_side))
        return "each server counts its own permits, so two majorities would grant "
               "more permits than there are";
    if (kind->may_have_several_holders != first->may_have_several_holders)
        return "some members are read locks and others are not: readers do not "
               "exclude each other where most of the members are read locks";
    return NULL;
}

static hf_status check_kind(const struct hf_lock *lock,
                            const struct hf_lock *first, struct hf_error *err)
{
    const char *why = reason_not_a_member(lock->kind, first->kind);

    return why ? hf_error_set(err, HF_E_INVAL, "a %s cannot be a member of a "
                              "quorum: %s", hf_lock_kind_text(lock->kind->id),
                              why)
               : HF_OK;
}

static hf_status check_members(struct hf_lock *const *locks, size_t count,
                               struct hf_error *err)
{
    hf_status rc = HF_OK;

    if (count < 1 || count > HF_QUORUM_MAX)
        return hf_error_set(err, HF_E_INVAL,
                            "a quorum has 1 to %d members, not %zu",
                            HF_QUORUM_MAX, count);
    for (size_t i = 0; i < count; i++) {
        if (hf_loop_forked(locks[i]->client->loop))
            return hf_fail_forked(err);
        if (has_lock_of_client(locks, i, locks[i]->client))
            return hf_error_set(err, HF_E_INVAL,
                                "two members use one client, at %s: its server "
                                "would have two votes",
                                hf_client_address(locks[i]->client));
        if ((rc = check_kind(locks[i], locks[0], err)) < 0)
            return rc;
    }
    return rc;
}

static void reference_members(struct hf_quorum *quorum)
{
    for (uint32_t i = 0; i < quorum->count; i++) {
        struct hf_loop *loop = quorum->members[i]->client->loop;

        hf_loop_lock(loop);
        hf_lock_ref(quorum->members[i]);
        hf_loop_unlock(loop);
    }
}

hf_status hf_quorum_new(struct hf_quorum **out, struct hf_lock *const *locks,
                        size_t count, struct hf_error *err)
{
    hf_status rc = check_members(locks, count, err);
    struct hf_quorum *quorum;

    if (rc < 0)
        return rc;
    quorum = hf_mem_new(locks[0]->client->mem, quorum_size_in_bytes(count));
    if (!quorum)
        return hf_error_set(err, HF_E_NOMEM, "%s", hf_status_text(HF_E_NOMEM));
    quorum->mem = locks[0]->client->mem;
    quorum->count = (uint32_t)count;
    quorum->is_fenced = has_tokens(locks[0]->kind);
    for (size_t i = 0; i < count; i++)
        quorum->members[i] = locks[i];
    hf_list_init(&quorum->holds);
    pthread_mutex_init(&quorum->mutex, NULL);
    pthread_cond_init(&quorum->call_ended, NULL);
    reference_members(quorum);
    *out = quorum;
    return HF_OK;
}

bool hf_quorum_forked(const struct hf_quorum *quorum)
{
    return hf_loop_forked(quorum->members[0]->client->loop);
}

struct hf_lock *hf_quorum_member(const struct hf_quorum *quorum, size_t index)
{
    return index < quorum->count ? quorum->members[index] : NULL;
}

/* Timers are of the first one's loop. */
static void stop_hold_timers(const struct hf_quorum *quorum)
{
    struct hf_loop *loop = quorum->members[0]->client->loop;

    hf_loop_lock(loop);
    for (struct hf_list *l = quorum->holds.next; l != &quorum->holds;
         l = l->next) {
        struct hf_quorum_hold *hold =
            HF_OWNER_OF(l, struct hf_quorum_hold, node);

        hf_loop_disarm(loop, &hold->turn_timer);
        hf_loop_unpost(loop, &hold->turn_task);
    }
    hf_loop_unlock(loop);
}

/* Callbacks that have begun have returned when this does. */
static void detach_from_members(const struct hf_quorum *quorum)
{
    for (uint32_t i = 0; i < quorum->count; i++) {
        struct hf_loop *loop = quorum->members[i]->client->loop;

        hf_loop_lock(loop);
        hf_loop_finish_tasks(loop);
        hf_hold_remove_callbacks(quorum->members[i], hf_quorum_has_hold, quorum);
        hf_lock_unref(quorum->members[i]);
        hf_loop_unlock(loop);
    }
}

void hf_quorum_free(struct hf_quorum *quorum)
{
    struct hf_list *l;

    if (!quorum || hf_quorum_forked(quorum))
        return;
    pthread_mutex_lock(&quorum->mutex);
    quorum->is_freed = true;
    pthread_mutex_unlock(&quorum->mutex);
    stop_hold_timers(quorum);
    detach_from_members(quorum);
    while ((l = quorum->holds.next) != &quorum->holds) {
        hf_list_remove(l);
        free_quorum_hold(quorum, HF_OWNER_OF(l, struct hf_quorum_hold, node));
    }
    pthread_cond_destroy(&quorum->call_ended);
    pthread_mutex_destroy(&quorum->mutex);
    hf_mem_free(quorum->mem, quorum, quorum_size_in_bytes(quorum->count));
}

/* ---- threads ---- */

/* The answers of a member come where its client's callbacks run. */
static hf_status check_callback_thread(struct hf_client *client, struct hf_error *err)
{
    bool is_in_callback;

    hf_loop_lock(client->loop);
    is_in_callback = hf_loop_runs_tasks_here(client->loop);
    hf_loop_unlock(client->loop);
    if (hf_loop_has_thread(client->loop) && !is_in_callback)
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL, "%s: %s; use the call that does not block",
                        hf_client_address(client),
                        is_in_callback ? "a blocking call in a callback of this "
                                         "client would never return"
                                       : "this client has no background thread");
}

hf_status hf_quorum_check_threads(const struct hf_quorum *quorum,
                                  struct hf_error *err)
{
    hf_status rc = HF_OK;

    for (uint32_t i = 0; rc == HF_OK && i < quorum->count; i++)
        rc = check_callback_thread(quorum->members[i]->client, err);
    return rc;
}

hf_status hf_quorum_check_options(const struct hf_quorum *quorum,
                                  const struct hf_acquire_options *o,
                                  bool blocks, struct hf_error *err)
{
    hf_status rc = blocks ? hf_acquire_options_check(o, err)
                          : hf_acquire_options_check_async(o);

    if (rc < 0)
        return rc;
    if (o->keep_unreplicated || o->cancel)
        return hf_error_set(err, HF_E_INVAL,
                            "%s for quorums", o->cancel
                                ? "cancel belongs to one client: use hf_quorum_cancel"
                                : "keep_unreplicated is not");
    return blocks ? hf_quorum_check_threads(quorum, err) : HF_OK;
}

/* ---- holds ---- */

struct hf_quorum_hold *hf_quorum_find_hold(const struct hf_quorum *quorum,
                                           int64_t owner)
{
    for (struct hf_list *l = quorum->holds.next; l != &quorum->holds;
         l = l->next) {
        struct hf_quorum_hold *hold =
            HF_OWNER_OF(l, struct hf_quorum_hold, node);

        if (hold->owner == owner)
            return hold;
    }
    return NULL;
}

static struct hf_quorum_hold *new_quorum_hold(struct hf_quorum *quorum)
{
    struct hf_quorum_hold *hold =
        hf_mem_new(quorum->mem, hold_size_in_bytes(quorum->count));

    if (!hold)
        return NULL;
    if (quorum->is_fenced &&
        !(hold->raise_ops = hf_mem_new(quorum->mem, raise_ops_size_in_bytes(quorum->count)))) {
        hf_mem_free(quorum->mem, hold, hold_size_in_bytes(quorum->count));
        return NULL;
    }
    hold->quorum = quorum;
    hold->turn_timer = (struct hf_timer){.fire = hf_quorum_on_timer};
    hf_task_init(&hold->turn_task, hf_quorum_on_task);
    for (uint32_t i = 0; i < quorum->count; i++) {
        hold->member_calls[i].hold = hold;
        hold->member_calls[i].member = i;
    }
    hf_quorum_turn_init(&hold->turn, quorum->count);
    hf_list_push(&quorum->holds, &hold->node);
    return hold;
}

struct hf_quorum_hold *hf_quorum_add_hold(struct hf_quorum *quorum)
{
    struct hf_quorum_hold *hold = hf_quorum_find_hold(quorum, 0);

    HF_ASSERT(!hold || (!hold->has_pending_call && hold->turn.phase == QUORUM_IDLE));
    return hold ? hold : new_quorum_hold(quorum);
}

static int64_t safe_ms_of_member(const struct hf_quorum_hold *hold, uint32_t member)
{
    return hf_quorum_vote_counts(hold, member)
               ? hf_lock_safe_ms(hold->quorum->members[member], hold->owner)
               : INT64_MIN;
}

/* How many members are certainly held for `ms` or longer. */
static uint32_t count_members_safe_for(const int64_t *safe, uint32_t count, int64_t ms)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < count; i++)
        n += safe[i] >= ms;
    return n;
}

/* Copies: the hold may belong to another call when `done` runs. */
void hf_quorum_leave(struct hf_quorum_hold *hold, bool is_over, hf_quorum_end_call *end)
{
    struct hf_quorum *quorum = hold->quorum;
    hf_done *done = is_over ? hold->done : NULL;
    void *ctx = hold->ctx;
    struct hf_error error = {.status = HF_OK};
    hf_status status = HF_OK;

    if (done)
        status = end(hold, &error);
    else if (is_over)
        pthread_cond_broadcast(&quorum->call_ended);
    pthread_mutex_unlock(&quorum->mutex);
    if (done)
        done(ctx, status, &error);
}

/* Sorted, the greatest first: most last as long as the one in the middle. */
int64_t hf_quorum_majority_safe_ms(const struct hf_quorum_hold *hold)
{
    int64_t safe[HF_QUORUM_MAX] = {0};
    uint32_t count = hold->turn.count;

    for (uint32_t i = 0; i < count; i++) {
        int64_t ms = safe_ms_of_member(hold, i);
        uint32_t at = i;

        for (; at > 0 && safe[at - 1] < ms; at--)
            safe[at] = safe[at - 1];
        safe[at] = ms;
    }
    HF_ASSERT(count_members_safe_for(safe, count, safe[count / 2]) >= hold->turn.votes_needed);
    return safe[count / 2];
}

int64_t hf_quorum_safe_ms(struct hf_quorum *quorum, int64_t owner)
{
    const struct hf_quorum_hold *hold;
    int64_t safe = INT64_MIN;

    if (hf_quorum_forked(quorum))
        return safe;
    pthread_mutex_lock(&quorum->mutex);
    if (owner != 0 && (hold = hf_quorum_find_hold(quorum, owner)) &&
        hold->turn.phase == QUORUM_HELD)
        safe = hf_quorum_majority_safe_ms(hold);
    pthread_mutex_unlock(&quorum->mutex);
    return safe;
}
