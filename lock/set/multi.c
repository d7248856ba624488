/* Multi-locks: their members, in order, and what each owner has. */
/* Tests: tests/live/set/test_multi.c, tests/live/set/test_multi_faults.c. */
#include <string.h>

#include "lock/api/op_request.h"
#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/records.h"
#include "lock/record/table.h"
#include "lock/set/multi_hold.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/moment.h"

/* ---- handles ---- */

static int compare_locks(const struct hf_lock *a, const struct hf_lock *b)
{
    size_t len = a->name_len < b->name_len ? a->name_len : b->name_len;
    int order = memcmp(a->texts, b->texts, len);

    return order ? order : (a->name_len > len) - (b->name_len > len);
}

/* Insertion sort: equal members keep their order. False: the member is in the set
 * already. */
static bool add_member(struct hf_multi *multi, struct hf_lock *lock)
{
    uint32_t at = multi->count;

    HF_ASSERT(at < HF_MULTI_MAX);
    for (uint32_t i = 0; i < multi->count; i++)
        if (multi->members[i]->client == lock->client &&
            compare_locks(multi->members[i], lock) == 0)
            return false;
    for (uint32_t i = 0; i < multi->count; i++)
        multi->has_members_of_one_name = multi->has_members_of_one_name ||
                               compare_locks(multi->members[i], lock) == 0;
    for (; at > 0 && compare_locks(multi->members[at - 1], lock) > 0; at--)
        multi->members[at] = multi->members[at - 1];
    multi->members[at] = lock;
    multi->count++;
    return true;
}

static size_t multi_size_in_bytes(size_t count)
{
    return sizeof(struct hf_multi) + count * sizeof(struct hf_lock *);
}

static hf_status fail_duplicate_lock(struct hf_error *err, const struct hf_lock *lock)
{
    char name[100];

    return hf_error_set(
        err, HF_E_INVAL, "lock '%s' appears twice: its owner would wait for itself",
        hf_error_quote(name, sizeof name, lock->texts, lock->name_len));
}

static hf_status check_members(struct hf_lock *const *locks, size_t count,
                               struct hf_error *err)
{
    if (count < 1 || count > HF_MULTI_MAX)
        return hf_error_set(err, HF_E_INVAL,
                            "a multi-lock has 1 to %d members, not %zu",
                            HF_MULTI_MAX, count);
    for (size_t i = 0; i < count; i++)
        if (hf_loop_forked(locks[i]->client->loop))
            return hf_fail_forked(err);
    return HF_OK;
}

static void reference_members(struct hf_multi *multi)
{
    for (uint32_t i = 0; i < multi->count; i++) {
        struct hf_loop *loop = multi->members[i]->client->loop;

        hf_loop_lock(loop);
        hf_lock_ref(multi->members[i]);
        hf_loop_unlock(loop);
    }
}

hf_status hf_multi_new(struct hf_multi **out, struct hf_lock *const *locks,
                       size_t count, struct hf_error *err)
{
    hf_status rc = check_members(locks, count, err);
    struct hf_multi *multi;

    if (rc < 0)
        return rc;
    multi = hf_mem_new(locks[0]->client->mem, multi_size_in_bytes(count));
    if (!multi)
        return hf_error_set(err, HF_E_NOMEM, "%s", hf_status_text(HF_E_NOMEM));
    multi->mem = locks[0]->client->mem;
    hf_list_init(&multi->holds);
    for (size_t i = 0; i < count; i++) {
        if (!add_member(multi, locks[i])) {
            hf_mem_free(multi->mem, multi, multi_size_in_bytes(count));
            return fail_duplicate_lock(err, locks[i]);
        }
    }
    pthread_mutex_init(&multi->mutex, NULL);
    reference_members(multi);
    *out = multi;
    return HF_OK;
}

static void on_member_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                           enum hf_lost reason);

static bool is_hold_of_multi(const struct hf_hold *hold, const void *multi)
{
    const void *ctx;

    return hf_hold_has_on_lost(hold, on_member_lost, &ctx) &&
           ((const struct hf_multi_hold *)ctx)->multi == multi;
}

/* Callbacks that have begun have returned when this does. */
static void detach_from_members(struct hf_multi *multi)
{
    for (uint32_t i = 0; i < multi->count; i++) {
        struct hf_loop *loop = multi->members[i]->client->loop;

        hf_loop_lock(loop);
        hf_loop_finish_tasks(loop);
        hf_hold_remove_callbacks(multi->members[i], is_hold_of_multi, multi);
        hf_lock_unref(multi->members[i]);
        hf_loop_unlock(loop);
    }
}

bool hf_multi_forked(const struct hf_multi *multi)
{
    return hf_loop_forked(multi->members[0]->client->loop);
}

void hf_multi_free(struct hf_multi *multi)
{
    struct hf_list *l;

    if (!multi || hf_multi_forked(multi))
        return;
    detach_from_members(multi);
    while ((l = multi->holds.next) != &multi->holds) {
        hf_list_remove(l);
        hf_mem_free(multi->mem, HF_OWNER_OF(l, struct hf_multi_hold, node),
                    sizeof(struct hf_multi_hold));
    }
    pthread_mutex_destroy(&multi->mutex);
    hf_mem_free(multi->mem, multi, multi_size_in_bytes(multi->count));
}

struct hf_lock *hf_multi_member(const struct hf_multi *multi, size_t index)
{
    return index < multi->count ? multi->members[index] : NULL;
}

/* ---- holds ---- */

struct hf_multi_hold *hf_multi_find_hold(const struct hf_multi *multi,
                                         int64_t owner)
{
    for (struct hf_list *l = multi->holds.next; l != &multi->holds;
         l = l->next) {
        struct hf_multi_hold *hold = HF_OWNER_OF(l, struct hf_multi_hold, node);

        if (hold->owner == owner)
            return hold;
    }
    return NULL;
}

struct hf_multi_hold *hf_multi_add_hold(struct hf_multi *multi, int64_t owner)
{
    struct hf_multi_hold *hold = hf_multi_find_hold(multi, owner);

    HF_ASSERT(owner != 0);
    if (!hold)
        hold = hf_multi_find_hold(multi, 0);
    if (!hold && (hold = hf_mem_new(multi->mem, sizeof *hold))) {
        hold->multi = multi;
        hf_list_push(&multi->holds, &hold->node);
    }
    HF_ASSERT(!hold || hold->owner == owner || (hold->hold_count == 0 && !hold->has_pending_call));
    return hold;
}

int64_t hf_multi_min_safe_ms(const struct hf_multi *multi, int64_t owner)
{
    int64_t least = INT64_MAX;

    for (uint32_t i = 0; i < multi->count; i++) {
        int64_t safe = hf_lock_safe_ms(multi->members[i], owner);

        least = safe < least ? safe : least;
        HF_ASSERT(least <= safe);
    }
    return least;
}

/* If the watchdog renews the hold, its next renewal shortens a longer lease to the watchdog's
 * timeout, so half of that timeout is enough. */
static bool is_member_safe(struct hf_lock *lock, int64_t owner, int64_t lease_ms)
{
    struct hf_loop *loop = lock->client->loop;
    const struct hf_hold *hold;
    bool is_safe = false;

    hf_loop_lock(loop);
    if ((hold = hf_hold_find(lock, owner))) {
        struct hf_lease copy;
        const struct hf_lease *lease = hf_hold_lease(hold, &copy);
        int64_t safe_ms = hf_lease_safe_ms(lease, hf_loop_now(loop));

        if (lease->is_renewed_by_watchdog)
            lease_ms = hf_min_ms(lease_ms, lease->watchdog_ms);
        is_safe = safe_ms > 0 && safe_ms >= lease_ms / 2;
    }
    hf_loop_unlock(loop);
    return is_safe;
}

bool hf_multi_is_safe_for_half_lease(const struct hf_multi *multi, int64_t owner, int64_t lease_ms)
{
    for (uint32_t i = 0; i < multi->count; i++)
        if (!is_member_safe(multi->members[i], owner, lease_ms))
            return false;
    return true;
}

void hf_multi_commit(const struct hf_multi *multi, int64_t owner)
{
    for (uint32_t i = 0; i < multi->count; i++) {
        struct hf_lock *lock = multi->members[i];
        struct hf_hold *hold;

        hf_loop_lock(lock->client->loop);
        if ((hold = hf_hold_find(lock, owner)))
            hf_hold_commit(hold);
        hf_loop_unlock(lock->client->loop);
    }
}

void hf_multi_leave_hold(struct hf_multi_hold *hold)
{
    HF_ASSERT(hold->has_pending_call && hold->owner != 0);
    hold->has_pending_call = false;
    if (hold->hold_count == 0)
        hold->owner = 0;
}

int64_t hf_multi_safe_ms(struct hf_multi *multi, int64_t owner)
{
    const struct hf_multi_hold *hold;
    int64_t safe = INT64_MIN;

    if (hf_multi_forked(multi))
        return safe;
    pthread_mutex_lock(&multi->mutex);
    if (owner != 0 && (hold = hf_multi_find_hold(multi, owner)) && hold->hold_count > 0 &&
        !hold->was_loss_reported)
        safe = hf_multi_min_safe_ms(multi, owner);
    pthread_mutex_unlock(&multi->mutex);
    return safe;
}

/* Not every error of a lock names it. */
void hf_multi_name_member(struct hf_error *err, const struct hf_multi *multi, uint32_t member,
                          hf_status status, const char *why)
{
    const struct hf_lock *lock = multi->members[member];
    char name[100];

    (void)hf_error_set(err, status, "member '%s': %s",
                       hf_error_quote(name, sizeof name, lock->texts, lock->name_len), why);
    err->member = member + 1;
}

/* ---- callbacks of members ---- */

/* A callback that began when its call or hold ended finds a record that is unused or
 * belongs to another owner. */
static struct hf_acquire_options options_of_hold(struct hf_multi_hold *hold,
                                                 int64_t owner)
{
    struct hf_acquire_options wanted = {0};

    pthread_mutex_lock(&hold->multi->mutex);
    if (hold->owner != 0 && (owner == 0 ? hold->has_pending_call : hold->owner == owner))
        wanted = hold->options;
    pthread_mutex_unlock(&hold->multi->mutex);
    return wanted;
}

static void on_member_wait(void *ctx, struct hf_lock *lock,
                           const struct hf_lock_info *info)
{
    struct hf_acquire_options wanted = options_of_hold(ctx, 0);

    if (wanted.on_wait)
        wanted.on_wait(wanted.ctx, lock, info);
}

static void on_member_renewed(void *ctx, struct hf_lock *lock, int64_t owner)
{
    struct hf_acquire_options wanted = options_of_hold(ctx, owner);

    if (wanted.on_renewed)
        wanted.on_renewed(wanted.ctx, lock, owner);
}

/* The first loss of a member that is held. A late report of a loss of an earlier hold
 * does not count: then the member is safe, or nothing is held. */
static void on_member_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                           enum hf_lost reason)
{
    struct hf_multi_hold *hold = ctx;
    struct hf_acquire_options wanted;
    bool is_first;

    pthread_mutex_lock(&hold->multi->mutex);
    is_first = hold->owner == owner && hold->hold_count > 0 && !hold->was_loss_reported &&
               hf_lock_safe_ms(lock, owner) == INT64_MIN;
    hold->was_loss_reported = hold->was_loss_reported || is_first;
    wanted = hold->options;
    pthread_mutex_unlock(&hold->multi->mutex);
    if (is_first && wanted.on_lost)
        wanted.on_lost(wanted.ctx, lock, owner, reason);
}

void hf_multi_set_callbacks(struct hf_multi_hold *hold,
                            struct hf_acquire_options *member)
{
    member->on_wait = member->on_wait ? on_member_wait : NULL;
    member->on_renewed = member->on_renewed ? on_member_renewed : NULL;
    member->on_lost = on_member_lost;
    member->ctx = hold;
}
