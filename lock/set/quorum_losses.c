/* Members of a held quorum: which are lost, and until when their servers had them
 * (QUORUM-9, QUORUM-10). */
/* Tests: tests/live/set/test_quorum_loss.c, tests/sim/test_quorum.c. */
#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/records.h"
#include "lock/set/quorum_hold.h"
#include "net/base/assert.h"
#include "net/base/moment.h"

/* QUORUM-10. [locked] */
static void confirm_member_hold(struct hf_hold *held, int64_t since_ms)
{
    struct hf_lease copy;
    const struct hf_lease *lease = hf_hold_lease(held, &copy);

    if (lease->state == LEASE_HELD && lease->claims.proved_held_at_ms <= since_ms)
        hf_hold_renew_early(held, hf_loop_now(held->lock->client->loop));
}

void hf_quorum_confirm(const struct hf_quorum_hold *hold)
{
    for (uint32_t i = 0; i < hold->turn.count; i++) {
        struct hf_lock *lock = hold->quorum->members[i];
        struct hf_hold *held;

        if (!hf_quorum_turn_has_vote(&hold->turn, i))
            continue;
        hf_loop_lock(lock->client->loop);
        if ((held = hf_hold_find(lock, hold->owner)))
            confirm_member_hold(held, hold->turn.last_granted_ms);
        hf_loop_unlock(lock->client->loop);
    }
}

typedef int64_t moment_of(const struct hf_lease *lease);

/* HF_NEVER: the client no longer has the member. */
static int64_t read_moment_of_member(const struct hf_quorum_hold *hold, uint32_t member,
                                     moment_of *of)
{
    struct hf_lock *lock = hold->quorum->members[member];
    int64_t ms = HF_NEVER;
    struct hf_lease copy;
    struct hf_hold *held;

    hf_loop_lock(lock->client->loop);
    if ((held = hf_hold_find(lock, hold->owner)))
        ms = of(hf_hold_lease(held, &copy));
    hf_loop_unlock(lock->client->loop);
    return ms;
}

int64_t hf_quorum_proved_ms(const struct hf_quorum_hold *hold, uint32_t member)
{
    return read_moment_of_member(hold, member, hf_lease_proved_ms);
}

static bool record_member_loss(struct hf_quorum_hold *hold, uint32_t member)
{
    int64_t had_until_ms = read_moment_of_member(hold, member, hf_lease_had_until_ms);
    bool is_broken = hf_quorum_turn_lost(&hold->turn, member, had_until_ms);

    HF_ASSERT(!hf_quorum_turn_has_vote(&hold->turn, member));
    HF_ASSERT(hold->turn.phase != QUORUM_HELD || /* QUORUM-9 */
              hf_quorum_turn_held_since(&hold->turn, had_until_ms) >= hold->turn.votes_needed);
    return is_broken;
}

/* Checks all members, because the callback of one may be delayed by a slow callback. */
bool hf_quorum_note_losses(struct hf_quorum_hold *hold)
{
    bool is_broken = false;

    for (uint32_t i = 0; i < hold->turn.count; i++)
        if (hold->turn.votes[i].state == VOTE_HELD &&
            hf_lock_safe_ms(hold->quorum->members[i], hold->owner) == INT64_MIN)
            is_broken = record_member_loss(hold, i) || is_broken;
    if (is_broken)
        hf_quorum_renewal_broken(hold);
    return is_broken;
}
