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

static bool is_member_requested_or_held(const struct hf_vote *vote)
{
    return vote->state == VOTE_REQUESTED || vote->state == VOTE_HELD;
}

/* A free member needs no release. A member that is requested or ours is requested again only
 * after its release, and at the end of a call each such member is released. */
static bool is_release_flag_ok(const struct hf_quorum_turn *turn, const struct hf_vote *vote)
{
    return is_member_requested_or_held(vote)
               ? vote->must_be_released || (!vote->must_be_requested && turn->phase != QUORUM_LEAVE)
               : vote->state != VOTE_FREE || !vote->must_be_released;
}

/* QUORUM-2: only a member whose acquire is pending is in line or has a request to
 * cancel. QUORUM-6: a lost quorum requests no member. */
static bool are_vote_flags_ok(const struct hf_quorum_turn *turn, const struct hf_vote *vote)
{
    bool may_request = turn->phase != QUORUM_BROKEN && turn->phase != QUORUM_LEAVE;

    if (!is_release_flag_ok(turn, vote))
        return false;
    return (vote->state == VOTE_REQUESTED ||
            (!vote->waits_in_line && !vote->is_request_cancelled)) &&
           (may_request || !vote->must_be_requested);
}

static bool are_votes_and_phase_ok(const struct hf_quorum_turn *turn)
{
    bool is_ok = turn->phase != QUORUM_IDLE || hf_quorum_turn_all_free(turn);

    for (uint32_t i = 0; i < turn->count; i++)
        is_ok = is_ok && are_vote_flags_ok(turn, &turn->votes[i]);
    return is_ok;
}

/* QUORUM-1, QUORUM-9: a quorum that is held has a majority of votes. */
bool hf_quorum_turn_ok(const struct hf_quorum_turn *turn)
{
    return turn->votes_needed == turn->count / 2 + 1 && turn->first_member < turn->count &&
           turn->late_majorities <= QUORUM_LATE_MAX + 1 &&
           turn->phase_until_ms >= turn->phase_begun_ms &&
           (turn->phase != QUORUM_HELD ||
            hf_quorum_turn_votes(turn) >= turn->votes_needed) &&
           are_votes_and_phase_ok(turn);
}
