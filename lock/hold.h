/* A hold, as a pure machine: until when it is safe, when to renew it, when it is
 * lost. It is told answers and the time. Private to lock/.
 *
 *   HELD -release-> RELEASING -done, count > 0-> HELD
 *    |                 |      -done, count 0---> (gone)
 *    +--- gone, due ---+
 *    v
 *   LOST
 *
 * H1  Safe until sent + lease - drift, not reply + lease: the server began to
 *     count after we sent, so our clock runs out first.
 * H2  Renewals are due on an absolute schedule, a third of the lease apart.
 * H3  While RELEASING to 0 nothing is renewed: once the release is on its way no
 *     renewal follows it.
 * H4  LOST is for good, and told once.
 *
 * Sources: LEASE; WIRE 6; design 6. */
#ifndef HF_HOLD_H
#define HF_HOLD_H

#include "lock/lock.h"

enum hf_hold_todo { HOLD_NOTHING, HOLD_RENEW, HOLD_IS_LOST };

struct hf_hold_core {
    enum { HOLD_HELD, HOLD_RELEASING, HOLD_LOST } state;
    enum hf_lost reason;        /* when LOST */
    int64_t count;              /* acquisitions not yet released */
    bool is_renewed;            /* by the watchdog */
    bool is_renewing;           /* a renewal is under way */
    int64_t watchdog_ms;
    int64_t lease_ms;           /* as last set on the server */
    int64_t safe_until_ms;
    int64_t doubt_sent_ms;      /* of the last call whose outcome is unknown */
    int64_t doubt_until_ms;     /* how long it left us; INT64_MAX: no doubt */
    int64_t renew_ms;           /* when the next renewal is due */
    int64_t max_until_ms;       /* INT64_MAX: no such limit */
};

/* hf_hold_drift_ms - the margin for clocks that run at different rates: a
 * hundredth of the lease and 2 ms. Source: REDLOCK "Safety arguments". */
int64_t hf_hold_drift_ms(int64_t lease_ms);

/* hf_hold_init     - of a first acquire that is about to be asked.
 * hf_hold_granted  - an acquire or partial release, sent at `sent_ms` with
 *                    `lease_ms`, has set the count. `spread` (any number) moves
 *                    the first renewal, so that many do not beat at once.
 * hf_hold_doubt    - nobody knows whether a re-entry sent at `sent_ms` (HF_NEVER:
 *                    it was not) has set `lease_ms`: the earlier end counts, until an
 *                    answer to what was sent later.
 * hf_hold_due      - the time has come (hf_hold_next_ms): RENEW, lost, or
 *                    nothing yet.
 * hf_hold_renewed  - a renewal sent at `sent_ms` was good.
 * hf_hold_retry    - a renewal failed: again soon, until the safe moment.
 * hf_hold_lose     - false if it is lost already (H4).
 * hf_hold_next_ms  - when to call hf_hold_due. */
void hf_hold_init(struct hf_hold_core *h, int64_t watchdog_ms);
void hf_hold_granted(struct hf_hold_core *h, int64_t count, int64_t sent_ms,
                     int64_t lease_ms, bool is_renewed, unsigned spread);
void hf_hold_doubt(struct hf_hold_core *h, int64_t sent_ms, int64_t lease_ms);
enum hf_hold_todo hf_hold_due(struct hf_hold_core *h, int64_t now_ms);
void hf_hold_renewed(struct hf_hold_core *h, int64_t sent_ms);
void hf_hold_retry(struct hf_hold_core *h, int64_t now_ms);
bool hf_hold_lose(struct hf_hold_core *h, enum hf_lost reason);
int64_t hf_hold_next_ms(const struct hf_hold_core *h);

/* hf_hold_safe_ms - what is left at `now_ms`; INT64_MIN if it is lost. */
int64_t hf_hold_safe_ms(const struct hf_hold_core *h, int64_t now_ms);

/* hf_hold_may_remain - lost, but may the server still have it? Then it is worth
 * a release. */
bool hf_hold_may_remain(const struct hf_hold_core *h);

#endif
