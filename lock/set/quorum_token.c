/* The fencing token of a quorum. Each server numbers its own grants, so the numbers
 * of two owners have no common order by themselves.
 *
 * QTOKEN-1  The token is the greatest number of the members that have a vote.
 * QTOKEN-2  The quorum is held only if the counters of a majority are the token or
 *           more, and the members of that majority are safe after their counters
 *           were raised.
 * QTOKEN-3  So a later token is greater: the majorities of two holds have a server
 *           in common. The periods in which their owners hold that member are
 *           disjoint, because each owner's includes the moment at which its acquire
 *           ends. A counter is raised within the period of its owner, and the next
 *           owner's number is taken from it after that.
 * QTOKEN-4  A member that is granted later, while the quorum is held, is also raised
 *           if its server replies: then more servers may forget their counters. */
/* Tests: tests/live/set/test_quorum.c. */
#include "lock/record/hold.h"
#include "lock/record/records.h"
#include "lock/set/quorum_hold.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"

static int64_t token_of_member(const struct hf_quorum_member_call *call)
{
    const struct hf_quorum_hold *hold = call->hold;

    return hf_lock_token(hold->quorum->members[call->member], hold->owner);
}

static bool has_member_this_token(const struct hf_quorum_member_call *call)
{
    const struct hf_quorum_hold *hold = call->hold;

    return hf_quorum_turn_has_vote(&hold->turn, call->member) &&
           (call->token_raised_to >= hold->token || token_of_member(call) >= hold->token);
}

bool hf_quorum_vote_counts(const struct hf_quorum_hold *hold, uint32_t member)
{
    if (!hold->quorum->is_fenced || hold->turn.phase == QUORUM_HELD)
        return hf_quorum_turn_has_vote(&hold->turn, member);
    return has_member_this_token(&hold->member_calls[member]);
}

/* QTOKEN-1 */
static int64_t greatest_token_of_votes(const struct hf_quorum_hold *hold)
{
    int64_t token = 0;

    for (uint32_t i = 0; i < hold->turn.count; i++) {
        int64_t number = hf_quorum_turn_has_vote(&hold->turn, i)
                             ? token_of_member(&hold->member_calls[i])
                             : 0;

        token = number > token ? number : token;
        HF_ASSERT(token >= number);
    }
    return token;
}

/* A member whose counter cannot be raised has no vote. HF_NOT_OWNER: its hold was lost. */
static void record_failed_raise(struct hf_quorum_member_call *call, hf_status status)
{
    struct hf_quorum_turn *turn = &call->hold->turn;

    if (turn->phase == QUORUM_HELD || turn->phase == QUORUM_BROKEN)
        return;
    if (status == HF_NOT_OWNER)
        (void)hf_quorum_turn_lost(turn, call->member, HF_NEVER);
    else
        hf_quorum_turn_unusable(turn, call->member);
}

void hf_quorum_raise(struct hf_quorum_member_call *call, hf_done *done)
{
    struct hf_quorum_hold *hold = call->hold;
    const struct hf_quorum *quorum = hold->quorum;
    struct hf_op_request request = {.verb = &hf_verb_raise_token,
                                    .owner = hold->owner,
                                    .permits = hold->token};
    hf_status rc;

    if (call->is_raising_token || has_member_this_token(call))
        return;
    HF_ASSERT(hold->token >= 0 && hold->raise_ops);
    call->token_being_raised_to = hold->token;
    rc = hf_op_submit_in(&hold->raise_ops[call->member], quorum->members[call->member],
                         &request, done, call);
    call->is_raising_token = rc == HF_OK;
    if (rc < 0)
        record_failed_raise(call, rc);
}

void hf_quorum_note_raised(struct hf_quorum_member_call *call, hf_status status)
{
    HF_ASSERT(call->is_raising_token);
    call->is_raising_token = false;
    if (status != HF_OK)
        record_failed_raise(call, status);
    else if (call->token_being_raised_to > call->token_raised_to)
        call->token_raised_to = call->token_being_raised_to;
}

/* QTOKEN-2 */
enum hf_quorum_raising hf_quorum_raise_tokens(struct hf_quorum_hold *hold,
                                              hf_done *done)
{
    uint32_t numbered = 0, raising = 0;

    if (!hold->quorum->is_fenced)
        return RAISING_DONE;
    hold->token = greatest_token_of_votes(hold);
    for (uint32_t i = 0; i < hold->turn.count; i++) {
        struct hf_quorum_member_call *call = &hold->member_calls[i];

        if (hf_quorum_turn_has_vote(&hold->turn, i))
            hf_quorum_raise(call, done);
        numbered += has_member_this_token(call);
        raising += call->is_raising_token;
    }
    if (numbered >= hold->turn.votes_needed)
        return RAISING_DONE;
    return raising > 0 ? RAISING_PENDING : RAISING_FAILED;
}

int64_t hf_quorum_token(struct hf_quorum *quorum, int64_t owner)
{
    const struct hf_quorum_hold *hold;
    int64_t token = 0;

    if (hf_quorum_forked(quorum))
        return 0;
    pthread_mutex_lock(&quorum->mutex);
    if (owner != 0 && (hold = hf_quorum_find_hold(quorum, owner)) &&
        (hold->turn.phase == QUORUM_HELD || hold->turn.phase == QUORUM_BROKEN))
        token = hold->token;
    pthread_mutex_unlock(&quorum->mutex);
    return token;
}
