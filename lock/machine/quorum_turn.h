/* Which members of a quorum are asked, given back or waited for, as a pure
 * machine: the answers of the members go in, the next step comes out. Each member
 * has a vote, and a majority decides. Private to lock/.
 *
 * QUORUM-1  A rush asks all members at once, without waiting. With a majority of
 *           votes the quorum is held. More failures than a minority end the
 *           acquire.
 * QUORUM-2  While other owners hold members, the first member that answers, in
 *           the order of members, decides which acquire goes on. The acquire
 *           that has it keeps its members, and asks for the others, waiting until
 *           its patience ends (a fill). The other acquires give all members back
 *           and wait in the line of the first member, holding none. So competing
 *           acquires are served one after the other. A member that failed, or was
 *           silent, in this call is not the first until it replies again. Its vote
 *           counts as any other: each rush waits for it until the rush's patience
 *           ends. No call knows what members did in calls before.
 * QUORUM-3  A fill that fails gives all members back, and the acquire waits in
 *           line again. The length of a patience is random: acquires that use
 *           other orders do not give up at the same moment for ever.
 * QUORUM-4  An acquire that waits in line for longer than its patience rushes
 *           meanwhile: the first member may be held by a process that died, or be
 *           cut off. This patience is at most half of the time that the acquire
 *           has left, so that it finds a majority that is free by then.
 * QUORUM-5  While the quorum is held, missing members are asked again and again,
 *           if heal_ms says so: servers may then be down one after the other. A
 *           member that was lost is released first.
 * QUORUM-6  The quorum is lost when fewer than a majority of members are held, or
 *           were at a moment in the past (QUORUM-9).
 *           From then on nothing is given back until the release: on_lost may be
 *           running yet, and whatever a server has of this hold keeps others out.
 * QUORUM-7  An acquire that fails ends when no member is asked or held any
 *           more.
 * QUORUM-8  Only a server that had its time to reply has failed. A request that a
 *           patience, or the end of the wait, cuts off tells nothing about its
 *           server: if members were held by other owners, the result of the
 *           acquire is HF_TIMEOUT.
 * QUORUM-9  A majority must hold at every moment. A member that a server has
 *           forgotten was held when the server last confirmed it, and may have been
 *           missing since. So when its loss is noticed, a member that was granted
 *           after that confirmation does not count: both may have been missing at one
 *           moment, and another owner may have been granted the quorum. A member that
 *           was granted before the quorum was held counts from then on. (The times are
 *           in whole milliseconds. A grant and a confirmation in one of them have no
 *           order, so such a grant does not count either.)
 * QUORUM-10 After a grant while the quorum is held, the other members are renewed
 *           soon. Their confirmations are then later than the grant, and a member that
 *           is forgotten afterwards costs one vote only. A quorum that is released
 *           within QUORUM_CONFIRM_MS sends no such renewal.
 * QUORUM-11 A release counts as QUORUM-9 does. It takes in the losses that were noticed
 *           and not yet reported. A member that its server no longer had when the
 *           release arrived was held when the server last confirmed it, and members
 *           that were granted after that confirmation do not count. With fewer than a
 *           majority, the release returns HF_LOST. */
#ifndef HF_QUORUM_TURN_H
#define HF_QUORUM_TURN_H

#include "lock/quorum.h"

#define QUORUM_ANSWER_MS 1000   /* the patience of a rush, while others are in
                                   the way, and of a fill */
#define QUORUM_LINE_MS 3000     /* that of a line */
#define QUORUM_LINE_LEAST_MS 20 /* more than a round trip to a server nearby */
#define QUORUM_LATE_MAX 3
#define QUORUM_CONFIRM_MS 100   /* QUORUM-10; or a quarter of heal_ms, if that is
                                   less */

enum hf_quorum_action {
    QUORUM_REST,                /* nothing to do until something is heard */
    QUORUM_ASK,                 /* acquire `member`, within wait_ms */
    QUORUM_CANCEL,              /* end its acquire */
    QUORUM_GIVE_BACK,           /* release it */
    QUORUM_COUNT,               /* most are ours: are they safe? */
    QUORUM_CONFIRM,             /* renew the members that no server has confirmed
                                   since turn->granted_ms */
    QUORUM_END                  /* the call ends, with turn->status */
};

struct hf_quorum_step {
    enum hf_quorum_action action;
    uint32_t member;
    int64_t wait_ms;            /* HF_FOREVER, or from 0 */
};

enum hf_vote_state {
    VOTE_FREE,                  /* neither held nor asked */
    VOTE_ASKED,
    VOTE_OURS,
    VOTE_LOST,                  /* it was held, and is to be released: the server
                                   may have it yet */
    VOTE_GIVING                 /* is being released */
};

enum hf_vote_answer { ANSWER_NONE, ANSWER_NO, ANSWER_FAILED };

struct hf_vote {
    enum hf_vote_state state;
    enum hf_vote_answer answer; /* in this round */
    bool is_due;                /* to be asked when it is free */
    bool is_unwanted;           /* to be given back whatever it says */
    bool is_cancelled;
    bool is_in_line;            /* asked by standing in line */
    bool is_away;               /* in this call, it failed or was silent, and has
                                   not replied since (QUORUM-2) */
    bool is_brief;              /* the request was sent with the time of a fill */
    int64_t granted_ms;         /* VOTE_OURS: when its grant was received while the
                                   quorum was held; INT64_MIN: before (QUORUM-9) */
};

enum hf_quorum_phase {
    QUORUM_IDLE,
    QUORUM_RUSH,
    QUORUM_LINE,
    QUORUM_FILL,
    QUORUM_HELD,
    QUORUM_BROKEN,              /* QUORUM-6 */
    QUORUM_LEAVE                /* all is given back, then the call ends */
};

struct hf_quorum_turn {
    uint32_t count;
    uint32_t needed;
    enum hf_quorum_phase phase;
    bool is_called;             /* a call is under way */
    hf_status status;

    bool tries_once;            /* each member: wait_ms was 0 */
    bool was_refused;           /* in this call, another owner held a member */
    int64_t deadline_ms;        /* HF_NEVER: none */
    int64_t patience_ms;        /* none is longer */
    int64_t heal_ms;            /* HF_NEVER: QUORUM-5 is off */
    int64_t begun_ms;           /* of this round */
    int64_t until_ms;           /* of this round; in QUORUM_HELD: when to heal */
    int64_t granted_ms;         /* the latest of the votes' */
    int64_t confirm_ms;         /* when QUORUM_CONFIRM is due; HF_NEVER: it is not */
    uint32_t first;             /* QUORUM-2 */
    uint32_t late;              /* how often most were ours, and not safe */
    uint32_t dice;              /* not 0 */
    struct hf_vote votes[HF_QUORUM_MAX];
};

/* The options of an acquire. lease_ms: 0, the watchdog's. heal_ms: how often, or
 * HF_NEVER. dice: a random number. */
struct hf_quorum_request {
    int64_t wait_ms;
    int64_t lease_ms;
    int64_t heal_ms;
    uint32_t dice;
};

/* hf_quorum_turn_init    - nothing is held.
 * hf_quorum_turn_acquire - from QUORUM_IDLE; hf_quorum_turn_release: from
 *                          QUORUM_HELD or QUORUM_BROKEN.
 * hf_quorum_turn_cancel  - the acquire under way is given up with `status`.
 * hf_quorum_turn_next    - what is to be done now; to be asked again until it is
 *                          QUORUM_REST, or the end of the call.
 * hf_quorum_turn_due     - when to ask again though nothing is heard.
 * hf_quorum_turn_counted - to QUORUM_COUNT.
 * hf_quorum_turn_answered - how QUORUM_ASK went.
 * hf_quorum_turn_gave    - QUORUM_GIVE_BACK was done, however it went.
 * hf_quorum_turn_lost    - a member was lost; its server had it until `held_ms` for
 *                          certain. True: that broke the quorum.
 * hf_quorum_turn_held_since - how many members have a vote, and were granted before
 *                          `ms` (QUORUM-9).
 * hf_quorum_turn_has_vote - it is ours, and not about to be given back.
 * hf_quorum_turn_votes   - how many members have a vote. */
void hf_quorum_turn_init(struct hf_quorum_turn *turn, uint32_t count);
void hf_quorum_turn_acquire(struct hf_quorum_turn *turn, int64_t now_ms,
                            const struct hf_quorum_request *request);
void hf_quorum_turn_release(struct hf_quorum_turn *turn);
void hf_quorum_turn_cancel(struct hf_quorum_turn *turn, hf_status status);
struct hf_quorum_step hf_quorum_turn_next(struct hf_quorum_turn *turn,
                                          int64_t now_ms);
int64_t hf_quorum_turn_due(const struct hf_quorum_turn *turn);
void hf_quorum_turn_counted(struct hf_quorum_turn *turn, bool are_safe,
                            int64_t now_ms);
void hf_quorum_turn_answered(struct hf_quorum_turn *turn, uint32_t member,
                             hf_status status, int64_t now_ms);
void hf_quorum_turn_gave(struct hf_quorum_turn *turn, uint32_t member);
bool hf_quorum_turn_lost(struct hf_quorum_turn *turn, uint32_t member,
                         int64_t held_ms);
uint32_t hf_quorum_turn_held_since(const struct hf_quorum_turn *turn, int64_t ms);
bool hf_quorum_turn_has_vote(const struct hf_quorum_turn *turn,
                             uint32_t member);
uint32_t hf_quorum_turn_votes(const struct hf_quorum_turn *turn);

#endif
