/* Which member of a multi-lock is taken or given back next, as a pure machine:
 * what became of the last step goes in, the next step comes out. Private to
 * lock/.
 *
 * MULTI-1  Members are taken in one order. While some are held, the next one is
 *          waited for until patience_ms after the first grant of this round.
 * MULTI-2  A call that does not get one gives all back, the last taken first, and
 *          begins a new round: its holder may wait for what we held.
 * MULTI-3  A round after one in the order begins with the member that was
 *          missing. It is waited for while nothing is held; the others are then
 *          tried once each. A round after such a one is in the order again. So
 *          each pair of rounds waits for a holder: no call runs in circles.
 * MULTI-4  If a member is not safe any more when the last one is granted, all
 *          are given back, and the next round is in the order; MULTI_LATE_MAX
 *          times, or once if each member is tried once.
 * MULTI-5  Anything but "not to be had" ends it at once, with what is held given
 *          back.
 * MULTI-6  The length of a patience is random, from half of it to the whole: calls
 *          that take locks in opposite orders do not end their rounds at the same
 *          moment again and again.
 * MULTI-7  Only a server that had its time to reply has failed. A request that a
 *          patience cuts off before its reply ends the round, as a refusal does.
 *          If the end of the wait cuts it off, the result is HF_TIMEOUT, unless
 *          the member was silent for half of the wait or more. No request is sent
 *          after the end of the wait. */
#ifndef HF_MULTI_TURN_H
#define HF_MULTI_TURN_H

#include "lock/multi.h"

/* The patience: the longest wait for a member while others are held. It bounds a deadlock with
 * callers that use another order, and is longer than most holds. */
#define MULTI_PATIENCE_MS 3000
/* MULTI-4: rounds that may end because a grant came late. */
#define MULTI_LATE_MAX 3

enum hf_multi_action {
    MULTI_TAKE,                 /* acquire `member`, within wait_ms */
    MULTI_GIVE_BACK,            /* release it */
    MULTI_END                   /* with turn->status */
};

struct hf_multi_step {
    enum hf_multi_action action;
    uint32_t member;
    int64_t wait_ms;            /* HF_FOREVER, or from 0 */
};

struct hf_multi_turn {
    uint32_t count;
    uint64_t taken;             /* members, as bits */
    int64_t begun_ms;
    int64_t deadline_ms;        /* HF_NEVER: none */
    bool tries_once;            /* each member: wait_ms was 0 */
    int64_t patience_ms;
    uint32_t dice;              /* set by the caller after init; 0: the whole
                                   patience each time */

    uint32_t first;             /* this round begins with it */
    bool is_in_order;           /* this round: else MULTI-3 */
    int64_t until_ms;           /* the end of the patience of this round */
    uint32_t asked;             /* the member of the step that is under way */
    uint32_t late;              /* rounds that ended by MULTI-4 */
    int64_t asked_ms;           /* when that step began */
    int64_t cut_ms;             /* when its own wait ends; HF_NEVER: it has none */
    uint32_t silent;            /* the member that was asked last, and for how long */
    int64_t silent_ms;          /* it has sent no reply (MULTI-7) */

    bool gives_back;
    bool is_over;               /* it ends when all is given back */
    hf_status status;
};

/* hf_multi_turn_init    - none is taken. lease_ms: 0, the watchdog's.
 * hf_multi_turn_release - all are; they are to be given back.
 * hf_multi_turn_next    - what is to be done now.
 * hf_multi_turn_took    - how MULTI_TAKE went.
 * hf_multi_turn_gave    - MULTI_GIVE_BACK was done, however it went.
 * hf_multi_turn_late    - all are taken, and this is not safe (MULTI-4).
 * hf_multi_turn_refuse  - it ends with `status`, and all is given back. */
void hf_multi_turn_init(struct hf_multi_turn *turn, uint32_t count,
                        int64_t now_ms, int64_t wait_ms, int64_t lease_ms);
void hf_multi_turn_release(struct hf_multi_turn *turn, uint32_t count);
struct hf_multi_step hf_multi_turn_next(struct hf_multi_turn *turn,
                                        int64_t now_ms);
void hf_multi_turn_took(struct hf_multi_turn *turn, hf_status status,
                        int64_t now_ms);
void hf_multi_turn_gave(struct hf_multi_turn *turn);
void hf_multi_turn_late(struct hf_multi_turn *turn, int64_t now_ms);
void hf_multi_turn_refuse(struct hf_multi_turn *turn, hf_status status);

#endif
