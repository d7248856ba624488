/* Which member of a multi-lock is acquired or released next, as a pure machine: it receives
 * the outcome of the last step and returns the next step. Private to lock/.
 *
 * Terms. Round: one attempt to acquire all members. Patience: the longest wait for a member
 * while other members are held.
 *
 * MULTI-1  Members are acquired in one order, the same for all calls. While some are held,
 *          the call waits for the next one until the patience ends, counted from the first
 *          grant of the round.
 * MULTI-2  If that member is not granted in time, the call releases all members, the last
 *          one first, and begins a new round: the holder of that member may be waiting for
 *          the members held here.
 * MULTI-3  The round after a round in order begins with the member that was not granted.
 *          The call waits for this member while it holds nothing, and then tries each of
 *          the others once. The round after that is in order again. So two consecutive
 *          rounds include a wait for a holder, and calls do not retry in a tight loop.
 * MULTI-4  If a member is no longer safe when the last one is granted, all members are
 *          released, and the next round is in order. This happens at most MULTI_LATE_MAX
 *          times, or once if each member is tried once.
 * MULTI-5  Any result except HF_OK and HF_TIMEOUT ends the call; it releases what it holds.
 * MULTI-6  The patience is random, from half of the maximum to the maximum. So calls that
 *          acquire locks in opposite orders do not end their rounds at the same time again
 *          and again.
 * MULTI-7  A server has failed only if it had time to reply. If the patience ends before a
 *          reply, the round ends as after a refusal. If the wait of the call ends before a
 *          reply, the result is HF_TIMEOUT, or the error if the member was silent for half
 *          of the wait or more. No request is sent after the end of the wait.
 * MULTI-8  Releases do not wait for each other's replies: they are requested one after the
 *          other, the last member first, and a call or round ends with the last reply. So
 *          a release of many members takes one round trip. (Without memory for this, one
 *          release is pending at a time: releases_at_once_max.) */
#ifndef HF_MULTI_TURN_H
#define HF_MULTI_TURN_H

#include "lock/multi.h"

/* The greatest patience, if the lease is not shorter. It bounds a deadlock with callers that
 * use another order, and is longer than most holds. */
#define MULTI_PATIENCE_MS 3000
/* MULTI-4: the rounds that may end because a grant came late. A server that is too slow in
 * four rounds is too slow for this lease. */
#define MULTI_LATE_MAX 3

enum hf_multi_action {
    MULTI_DO_ACQUIRE,           /* acquire `member`, and wait for wait_ms at most */
    MULTI_DO_RELEASE,           /* release `member` */
    MULTI_DO_AWAIT,             /* nothing, until a pending release has ended */
    MULTI_DO_END                /* end the call with turn->status */
};

struct hf_multi_step {
    enum hf_multi_action action;
    uint32_t member;
    int64_t wait_ms;            /* >= 0, or HF_FOREVER */
};

struct hf_multi_turn {
    uint32_t count;                  /* of members */
    uint64_t held_members;           /* the members held, as bits */
    uint64_t members_being_released; /* those of them whose release is pending */
    uint32_t releases_at_once_max;   /* releases that may be pending; 1, or set by the caller
                                        (MULTI-8) */
    int64_t begun_ms;                /* when the call began */
    int64_t deadline_ms;             /* HF_NEVER: none */
    bool tries_once;                 /* each member is tried once: wait_ms was 0 */
    int64_t patience_max_ms;         /* the greatest patience */
    uint32_t random_state;           /* state of the random numbers, set by the caller after init;
                                        0: the patience is always the greatest */

    uint32_t first_member;      /* the member with which this round begins */
    bool is_round_in_order;     /* this round; false: MULTI-3 */
    int64_t patience_until_ms;  /* when the patience of this round ends */
    uint32_t current_member;    /* the member of the last step */
    uint32_t late_rounds;       /* rounds that ended by MULTI-4 */
    int64_t step_begun_ms;      /* when the current step began */
    int64_t step_until_ms;      /* when its own wait ends; HF_NEVER: it has none */
    uint32_t silent_member;     /* the member that was requested last, and how long */
    int64_t silent_ms;          /* it has sent no reply (MULTI-7) */

    bool releases_members;      /* members are being released */
    bool ends_when_released;    /* the call ends when all of them are released */
    hf_status status;
};

/* hf_multi_turn_init - begins an acquire that holds no member.
 *   wait_ms    as in hf_acquire_options
 *   lease_ms   0: the watchdog's */
void hf_multi_turn_init(struct hf_multi_turn *turn, uint32_t count,
                        int64_t now_ms, int64_t wait_ms, int64_t lease_ms);

/* hf_multi_turn_release - begins a release of all members. */
void hf_multi_turn_release(struct hf_multi_turn *turn, uint32_t count);

/* hf_multi_turn_next - returns the next step. After MULTI_DO_ACQUIRE, hf_multi_turn_acquire_ended
 *   must follow. After MULTI_DO_RELEASE, call it again at once; hf_multi_turn_release_ended follows
 *   when the release has ended. After MULTI_DO_AWAIT, call it after the next
 *   hf_multi_turn_release_ended. */
struct hf_multi_step hf_multi_turn_next(struct hf_multi_turn *turn,
                                        int64_t now_ms);

/* hf_multi_turn_acquire_ended - MULTI_DO_ACQUIRE ended with `status`. */
void hf_multi_turn_acquire_ended(struct hf_multi_turn *turn, hf_status status,
                                 int64_t now_ms);

/* hf_multi_turn_release_ended - MULTI_DO_RELEASE of `member` ended, with any result. */
void hf_multi_turn_release_ended(struct hf_multi_turn *turn, uint32_t member);

/* hf_multi_turn_unsafe - all members are held, and one of them is not safe (MULTI-4). */
void hf_multi_turn_unsafe(struct hf_multi_turn *turn, int64_t now_ms);

/* hf_multi_turn_fail - ends the call with `status`, after all members were released. */
void hf_multi_turn_fail(struct hf_multi_turn *turn, hf_status status);

#endif
