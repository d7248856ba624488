/* Which members of a quorum are acquired, released or waited for, as a pure machine: it
 * receives the results of the members and returns the next step. Each member has a vote,
 * and a majority decides. Private to lock/.
 *
 *   IDLE -acquire-> RUSH -majority-> HELD -too few members-> BROKEN
 *                   |  ^               |                        |
 *       first member|  |patience ends  +-------release----------+
 *     is ours, or   v  |               v
 *     blocked     LINE, FILL --failed> LEAVE -all released-> IDLE
 *
 * Terms. Rush: all members are requested at once, each with one try. Line: the acquire
 * holds nothing and waits for one member, the first. Fill: the acquire has the first member
 * and requests the others. Patience: the longest time of a rush, line or fill.
 *
 * QUORUM-1  A rush requests all members at once, without waiting. With a majority of votes
 *           the quorum is held. If more members than a minority fail, the acquire ends.
 * QUORUM-2  While other owners hold members, the first member that replies, in the order of
 *           members, decides which acquire continues. The acquire that has this member
 *           keeps its members and requests the others, until its patience ends (a fill).
 *           The other acquires release all members and wait for the first member (a line).
 *           So competing acquires are served one after the other. A member that failed or
 *           was silent in this call is not the first until it replies again. Its vote
 *           counts as any other: each rush waits for it until the patience of the rush
 *           ends. No call uses results of earlier calls.
 * QUORUM-3  If a fill fails, the acquire releases all members and waits in line again. The
 *           patience is random, so that acquires with other orders do not stop at the same
 *           time again and again.
 * QUORUM-4  An acquire that waits in line for longer than its patience begins a rush and
 *           stays in line: the first member may be held by a process that died, or may be
 *           unreachable. This patience is at most half of the remaining wait, so that the
 *           rush finds a majority that has become free.
 * QUORUM-5  While the quorum is held, missing members are requested every heal_interval_ms. So
 *           servers may fail one after the other. A member that was lost is released first.
 * QUORUM-6  The quorum is lost when fewer than a majority of members are held, or were held
 *           at a time in the past (QUORUM-9). From then on no member is released until the
 *           release of the quorum: on_lost may still be running, and every server that has
 *           this hold keeps other owners out.
 * QUORUM-7  An acquire that fails ends when no member is requested or held.
 * QUORUM-8  A server has failed only if it had time to reply. If a patience or the end of
 *           the wait ends a request, this shows nothing about its server: if other owners
 *           held members, the result of the acquire is HF_TIMEOUT.
 * QUORUM-9  A majority must be held at every moment. A member that its server has forgotten
 *           was certainly held when the server last confirmed it, and may have been missing
 *           since. So when the loss is detected, members that were granted after that
 *           confirmation do not count: both may have been missing at one moment, at which
 *           another owner may have acquired the quorum. A member that was granted before
 *           the quorum was held always counts. (Times are in whole milliseconds. A grant
 *           and a confirmation in the same millisecond have no order, so such a grant does
 *           not count either.)
 * QUORUM-10 After a grant while the quorum is held, the other members are renewed soon.
 *           Their confirmations are then later than the grant, and a member that is
 *           forgotten afterwards costs only one vote. A quorum that is released within
 *           QUORUM_CONFIRM_MS sends no such renewal.
 * QUORUM-11 A release counts as QUORUM-9 does. It includes losses that were detected and
 *           not yet reported. If a server no longer had its member when the release
 *           arrived, that member was held until the last confirmation, and members that
 *           were granted later do not count. With fewer than a majority, the release
 *           returns HF_LOST.
 * QUORUM-12 A member that is lost before the quorum is held (deleted, forced, max_hold_ms)
 *           is released and requested again, at most QUORUM_LATE_MAX times in a call for all
 *           members together. A member that is lost after that counts as failed. The loss of
 *           a member that is being released does not count.
 * QUORUM-13 A member that is granted and cannot be used (its counter cannot be raised) counts
 *           as failed until the next round: another try in this one would take as long. */
#ifndef HF_QUORUM_TURN_H
#define HF_QUORUM_TURN_H

#include "lock/quorum.h"

#define QUORUM_PATIENCE_MS 1000 /* the patience of a rush and of a fill: many round trips
                                   between continents */
#define QUORUM_LINE_PATIENCE_MS 3000 /* the patience of a line: longer than most holds */
#define QUORUM_LINE_PATIENCE_LEAST_MS 20 /* more than a round trip to a server nearby */
#define QUORUM_LATE_MAX 3       /* majorities that may be unsafe before the call fails; and
                                   members that may be lost meanwhile (QUORUM-12) */
#define QUORUM_CONFIRM_MS 100   /* QUORUM-10; or a quarter of heal_interval_ms, if that is
                                   less */

enum hf_quorum_action {
    QUORUM_DO_NOTHING,          /* do nothing until the next event */
    QUORUM_DO_REQUEST,          /* acquire `member`, and wait for wait_ms at most */
    QUORUM_DO_CANCEL,           /* cancel its acquire */
    QUORUM_DO_RELEASE,          /* release it */
    QUORUM_DO_CHECK_SAFE,       /* a majority is ours: check that its members are safe */
    QUORUM_DO_CONFIRM,          /* renew the members that no server has confirmed
                                   since turn->last_granted_ms */
    QUORUM_DO_END               /* end the call with turn->status */
};

struct hf_quorum_step {
    enum hf_quorum_action action;
    uint32_t member;
    int64_t wait_ms;            /* >= 0, or HF_FOREVER */
};

enum hf_vote_state {
    VOTE_FREE,                  /* neither held nor requested */
    VOTE_REQUESTED,             /* its acquire is pending */
    VOTE_HELD,
    VOTE_LOST,                  /* it was held and must be released: the server may still
                                   have it */
    VOTE_RELEASING              /* its release is pending */
};

enum hf_vote_answer { VOTE_ANSWER_NONE, VOTE_ANSWER_NO, VOTE_ANSWER_FAILED };

struct hf_vote {
    enum hf_vote_state state;
    enum hf_vote_answer answer; /* in this round */
    bool must_be_requested;     /* is requested as soon as it is VOTE_FREE */
    bool must_be_released;      /* is released whatever its acquire returns */
    bool is_request_cancelled;  /* QUORUM_DO_CANCEL was returned for it */
    bool waits_in_line;         /* its acquire waits in line */
    bool is_unresponsive;       /* in this call, it failed or was silent, and has not replied since
                                   (QUORUM-2) */
    bool has_short_wait;        /* its acquire was sent by a fill, with little time */
    int64_t granted_ms;         /* VOTE_HELD: when its grant was received while the quorum was held;
                                   INT64_MIN: before (QUORUM-9) */
};

enum hf_quorum_phase {
    QUORUM_IDLE,
    QUORUM_RUSH,
    QUORUM_LINE,
    QUORUM_FILL,
    QUORUM_HELD,
    QUORUM_BROKEN,              /* QUORUM-6 */
    QUORUM_LEAVE                /* all members are released, then the call ends */
};

struct hf_quorum_turn {
    uint32_t count;             /* of members */
    uint32_t votes_needed;      /* votes for a majority */
    enum hf_quorum_phase phase;
    bool has_pending_call;      /* a call is pending */
    hf_status status;

    bool tries_once;             /* each member is tried once: wait_ms was 0 */
    bool was_refused;            /* in this call, another owner held a member */
    int64_t deadline_ms;         /* HF_NEVER: none */
    int64_t patience_max_ms;     /* the greatest patience of any phase */
    int64_t heal_interval_ms;    /* HF_NEVER: QUORUM-5 is off */
    int64_t phase_begun_ms;      /* when this phase began */
    int64_t phase_until_ms;      /* when this phase ends; in QUORUM_HELD: when to heal */
    int64_t last_granted_ms;     /* the latest last_granted_ms of the votes */
    int64_t confirm_due_ms;      /* when QUORUM_DO_CONFIRM is due; HF_NEVER: it is not */
    uint32_t first_member;       /* QUORUM-2 */
    uint32_t late_majorities;    /* majorities that were not safe */
    uint32_t members_lost_early; /* members that were lost before the quorum was held */
    uint32_t random_state;       /* state of the random numbers; not 0 */
    struct hf_vote votes[HF_QUORUM_MAX];
};

/* The options of an acquire. */
struct hf_quorum_request {
    int64_t wait_ms;            /* as in hf_acquire_options */
    int64_t lease_ms;           /* 0: the watchdog's */
    int64_t heal_interval_ms;   /* the interval of QUORUM-5; HF_NEVER: off */
    uint32_t random_seed;       /* a random number */
};

/* hf_quorum_turn_init - begins in QUORUM_IDLE: no member is held. */
void hf_quorum_turn_init(struct hf_quorum_turn *turn, uint32_t count);

/* hf_quorum_turn_acquire - begins an acquire. The phase must be QUORUM_IDLE. */
void hf_quorum_turn_acquire(struct hf_quorum_turn *turn, int64_t now_ms,
                            const struct hf_quorum_request *request);

/* hf_quorum_turn_release - begins a release. The phase must be QUORUM_HELD or
 *   QUORUM_BROKEN. */
void hf_quorum_turn_release(struct hf_quorum_turn *turn);

/* hf_quorum_turn_cancel - ends the pending acquire with `status`, if there is one. */
void hf_quorum_turn_cancel(struct hf_quorum_turn *turn, hf_status status);

/* hf_quorum_turn_next - returns the next step. Call it again until it returns QUORUM_DO_NOTHING or
 *   QUORUM_DO_END. */
struct hf_quorum_step hf_quorum_turn_next(struct hf_quorum_turn *turn,
                                          int64_t now_ms);

/* hf_quorum_turn_due - returns when to call hf_quorum_turn_next if no event comes before;
 *   HF_NEVER: there is no such time. */
int64_t hf_quorum_turn_due(const struct hf_quorum_turn *turn);

/* hf_quorum_turn_safe_checked - the result of QUORUM_DO_CHECK_SAFE. */
void hf_quorum_turn_safe_checked(struct hf_quorum_turn *turn, bool are_safe,
                                 int64_t now_ms);

/* hf_quorum_turn_request_ended - QUORUM_DO_REQUEST of `member` ended with `status`. */
void hf_quorum_turn_request_ended(struct hf_quorum_turn *turn, uint32_t member,
                                  hf_status status, int64_t now_ms);

/* hf_quorum_turn_release_ended - QUORUM_DO_RELEASE of `member` ended, with any result. */
void hf_quorum_turn_release_ended(struct hf_quorum_turn *turn, uint32_t member);

/* hf_quorum_turn_lost - a member was lost; its server certainly had it until `held_ms`. It
 *   returns true if the quorum is lost by this. */
bool hf_quorum_turn_lost(struct hf_quorum_turn *turn, uint32_t member,
                         int64_t held_ms);

/* hf_quorum_turn_unusable - a member that has a vote cannot be used (QUORUM-13). Only before the
 *   quorum is held. */
void hf_quorum_turn_unusable(struct hf_quorum_turn *turn, uint32_t member);

/* hf_quorum_turn_held_since - returns how many members have a vote and were granted before
 *   `ms` (QUORUM-9). */
uint32_t hf_quorum_turn_held_since(const struct hf_quorum_turn *turn, int64_t ms);

/* hf_quorum_turn_has_vote - returns whether the member is ours and is not about to be
 *   released. */
bool hf_quorum_turn_has_vote(const struct hf_quorum_turn *turn,
                             uint32_t member);

/* hf_quorum_turn_votes - returns how many members have a vote. */
uint32_t hf_quorum_turn_votes(const struct hf_quorum_turn *turn);

/* hf_quorum_turn_all_free - returns whether no member is held, requested or being released. */
bool hf_quorum_turn_all_free(const struct hf_quorum_turn *turn);

/* hf_quorum_turn_ok - returns whether the facts of the turn hold. For HF_ASSERT, at the
 *   beginning and the end of an event. */
bool hf_quorum_turn_ok(const struct hf_quorum_turn *turn);

#endif
