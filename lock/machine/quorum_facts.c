/* The facts that always hold in a quorum's turn. Rules in quorum_turn.h. */
/* Tests: tests/test_lock_quorum_turn.c, tests/sim/test_quorum.c. */
#include "lock/machine/quorum_turn.h"

bool hf_quorum_turn_all_free(const struct hf_quorum_turn *turn)
{
    for (uint32_t i = 0; i < turn->count; i++)
        if (turn->votes[i].state != VOTE_FREE)
            return false;
    return true;
}

static bool is_requested_or_ours(const struct hf_vote *vote)
{
    return vote->state == VOTE_REQUESTED || vote->state == VOTE_HELD;
}

/* A free member needs no release. A member that is requested or ours is requested again only
 * after its release, and at the end of a call each such member is released. */
static bool is_release_ok(const struct hf_quorum_turn *turn, const struct hf_vote *vote)
{
    return is_requested_or_ours(vote)
               ? vote->is_unwanted || (!vote->is_due && turn->phase != QUORUM_LEAVE)
               : vote->state != VOTE_FREE || !vote->is_unwanted;
}

/* QUORUM-2: only a member whose acquire is pending is in line or has a request to
 * cancel. QUORUM-6: a lost quorum requests no member. */
static bool is_vote_ok(const struct hf_quorum_turn *turn, const struct hf_vote *vote)
{
    bool may_request = turn->phase != QUORUM_BROKEN && turn->phase != QUORUM_LEAVE;

    if (!is_release_ok(turn, vote))
        return false;
    return (vote->state == VOTE_REQUESTED ||
            (!vote->is_in_line && !vote->is_cancelled)) &&
           (may_request || !vote->is_due);
}

static bool are_votes_ok(const struct hf_quorum_turn *turn)
{
    bool is_ok = turn->phase != QUORUM_IDLE || hf_quorum_turn_all_free(turn);

    for (uint32_t i = 0; i < turn->count; i++)
        is_ok = is_ok && is_vote_ok(turn, &turn->votes[i]);
    return is_ok;
}

/* QUORUM-1, QUORUM-9: a quorum that is held has a majority of votes. */
bool hf_quorum_turn_ok(const struct hf_quorum_turn *turn)
{
    return turn->needed == turn->count / 2 + 1 && turn->first < turn->count &&
           turn->late <= QUORUM_LATE_MAX + 1 && turn->until_ms >= turn->begun_ms &&
           (turn->phase != QUORUM_HELD ||
            hf_quorum_turn_votes(turn) >= turn->needed) &&
           are_votes_ok(turn);
}
