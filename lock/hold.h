/* A hold, as a pure machine: whether it is held, when to renew it, when it is
 * lost. lease.h computes until when it is safe. Its events are answers and the
 * time. Private to lock/.
 *
 *   HELD -release-> RELEASING -done---> (gone)
 *    |                 |
 *    +--- gone, due ---+
 *    v
 *   LOST
 *
 * H1  A hold is safe until its lease ends, but not after its last release was
 *     handed out.
 * H2  Renewals are due on an absolute schedule, a third of the lease apart, and
 *     earlier where a shorter lease may be in force.
 * H3  While RELEASING nothing is renewed: once the release is on its way no
 *     renewal follows it.
 * H4  LOST is for good, and told once.
 *
 * Sources: LEASE; WIRE 6; design 6. */
#ifndef HF_HOLD_H
#define HF_HOLD_H

#include "lock/lease.h"
#include "lock/lock.h"

enum hf_hold_todo { HOLD_NOTHING, HOLD_RENEW, HOLD_IS_LOST };

struct hf_hold_core {
    enum { HOLD_HELD, HOLD_RELEASING, HOLD_LOST } state;
    enum hf_lost reason;        /* when LOST */
    int64_t count;              /* acquisitions not yet released */
    bool is_renewed;            /* by the watchdog */
    bool is_renewing;           /* a renewal is under way */
    int64_t watchdog_ms;
    struct hf_lease lease;
    int64_t renew_ms;           /* when the next renewal is due */
    int64_t max_until_ms;       /* INT64_MAX: no such limit */
};

/* hf_hold_init     - before its first acquire.
 * hf_hold_ask      - an acquire, re-entry or partial release that sets the TTL to
 *                    `lease_ms` is handed out. One of these three follows:
 * hf_hold_granted  - the server has set the count. `spread` (any number) moves
 *                    the first renewal, so that renewals of many holds do not
 *                    fall due at once.
 * hf_hold_unknown  - the server may have executed it, or may execute it later.
 * hf_hold_refused  - it was not executed, and never will be.
 * hf_hold_release  - the last release is handed out.
 * hf_hold_due      - the time has come (hf_hold_next_ms): RENEW (a renewal is
 *                    handed out now), lost, or nothing yet.
 * hf_hold_renewed  - a renewal succeeded.
 * hf_hold_retry    - a renewal failed: it is due again soon, until the safe
 *                    moment. `how`: the server may have executed it; NULL: it has
 *                    not.
 * hf_hold_lose     - false if it is lost already (H4).
 * hf_hold_next_ms  - when to call hf_hold_due. */
void hf_hold_init(struct hf_hold_core *h, int64_t watchdog_ms);
void hf_hold_ask(struct hf_hold_core *h, int64_t now_ms, int64_t lease_ms);
void hf_hold_granted(struct hf_hold_core *h, int64_t count,
                     const struct hf_sending *how, bool is_renewed,
                     unsigned spread);
void hf_hold_unknown(struct hf_hold_core *h, const struct hf_sending *how);
void hf_hold_refused(struct hf_hold_core *h);
void hf_hold_release(struct hf_hold_core *h);
enum hf_hold_todo hf_hold_due(struct hf_hold_core *h, int64_t now_ms);
void hf_hold_renewed(struct hf_hold_core *h, const struct hf_sending *how);
void hf_hold_retry(struct hf_hold_core *h, int64_t now_ms,
                   const struct hf_sending *how);
bool hf_hold_lose(struct hf_hold_core *h, enum hf_lost reason);
int64_t hf_hold_next_ms(const struct hf_hold_core *h);

/* hf_hold_safe_ms - what is left at `now_ms`; INT64_MIN if it is lost, or its
 * last release was handed out. */
int64_t hf_hold_safe_ms(const struct hf_hold_core *h, int64_t now_ms);

/* hf_hold_may_remain - of a lost hold: may the server still have it? Then it is
 * released there. */
bool hf_hold_may_remain(const struct hf_hold_core *h);

#endif
