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

static int64_t number_of(const struct hf_quorum_seat *seat)
{
    const struct hf_quorum_hold *hold = seat->hold;

    return hf_lock_token(hold->quorum->members[seat->member], hold->owner);
}

static bool is_numbered(const struct hf_quorum_seat *seat)
{
    const struct hf_quorum_hold *hold = seat->hold;

    return hf_quorum_turn_has_vote(&hold->turn, seat->member) &&
           (seat->raised_to >= hold->token || number_of(seat) >= hold->token);
}

bool hf_quorum_counts(const struct hf_quorum_hold *hold, uint32_t member)
{
    if (!hold->quorum->is_fenced || hold->turn.phase == QUORUM_HELD)
        return hf_quorum_turn_has_vote(&hold->turn, member);
    return is_numbered(&hold->seats[member]);
}

/* QTOKEN-1 */
static int64_t greatest(const struct hf_quorum_hold *hold)
{
    int64_t token = 0;

    for (uint32_t i = 0; i < hold->turn.count; i++) {
        int64_t number = hf_quorum_turn_has_vote(&hold->turn, i)
                             ? number_of(&hold->seats[i])
                             : 0;

        token = number > token ? number : token;
        HF_ASSERT(token >= number);
    }
    return token;
}

/* A member whose counter cannot be raised has no vote. HF_NOT_OWNER: its hold was lost. */
static void not_raised(struct hf_quorum_seat *seat, hf_status status)
{
    struct hf_quorum_turn *turn = &seat->hold->turn;

    if (turn->phase == QUORUM_HELD || turn->phase == QUORUM_BROKEN)
        return;
    if (status == HF_NOT_OWNER)
        (void)hf_quorum_turn_lost(turn, seat->member, HF_NEVER);
    else
        hf_quorum_turn_failed(turn, seat->member);
}

void hf_quorum_raise(struct hf_quorum_seat *seat, hf_done *done)
{
    struct hf_quorum_hold *hold = seat->hold;
    const struct hf_quorum *quorum = hold->quorum;
    struct hf_op_request request = {.verb = &hf_verb_raise,
                                    .owner = hold->owner,
                                    .permits = hold->token};
    hf_status rc;

    if (seat->is_raising || is_numbered(seat))
        return;
    HF_ASSERT(hold->token >= 0 && hold->raises);
    seat->raising_to = hold->token;
    rc = hf_op_submit_in(&hold->raises[seat->member], quorum->members[seat->member], &request,
                         done, seat);
    seat->is_raising = rc == HF_OK;
    if (rc < 0)
        not_raised(seat, rc);
}

void hf_quorum_note_raised(struct hf_quorum_seat *seat, hf_status status)
{
    HF_ASSERT(seat->is_raising);
    seat->is_raising = false;
    if (status != HF_OK)
        not_raised(seat, status);
    else if (seat->raising_to > seat->raised_to)
        seat->raised_to = seat->raising_to;
}

/* QTOKEN-2 */
enum hf_quorum_numbering hf_quorum_number(struct hf_quorum_hold *hold,
                                          hf_done *done)
{
    uint32_t numbered = 0, raising = 0;

    if (!hold->quorum->is_fenced)
        return NUMBERING_DONE;
    hold->token = greatest(hold);
    for (uint32_t i = 0; i < hold->turn.count; i++) {
        struct hf_quorum_seat *seat = &hold->seats[i];

        if (hf_quorum_turn_has_vote(&hold->turn, i))
            hf_quorum_raise(seat, done);
        numbered += is_numbered(seat);
        raising += seat->is_raising;
    }
    if (numbered >= hold->turn.needed)
        return NUMBERING_DONE;
    return raising > 0 ? NUMBERING_WAITS : NUMBERING_FAILED;
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
