/* The lease of a hold, as a pure machine: whether it is held, when to renew it,
 * when it is lost. claims.h computes until when it is safe. Its events are
 * answers and the time. Private to lock/.
 *
 *   HELD -release-> RELEASING -done---> (gone)
 *    |                 |
 *    +--- gone, due ---+
 *    v
 *   LOST
 *
 * LEASE-1  A hold is safe until its lease ends, but not after its last release
 *          was handed out.
 * LEASE-2  Renewals are due on an absolute schedule, a third of the lease
 *          apart, and earlier where a shorter lease may be in force.
 * LEASE-3  While RELEASING nothing is renewed: once the release is on its way
 *          no renewal follows it.
 * LEASE-4  LOST is for good, and told once.
 * LEASE-5  A loss has the reason SUSPENDED if the safe moment passed while this
 *          process did not run: it is noticed long after that moment, or a renewal
 *          that was due long before it had not been sent.
 * LEASE-6  After a switch of masters, a hold is renewed at once, whenever its next
 *          renewal is due. A hold that the watchdog does not renew is looked at.
 * LEASE-7  If the former master answered until the switch, its last answer may be
 *          of a server that was no longer the master. Until another answer comes,
 *          the hold is safe only until it would be without that answer. It is not
 *          lost by this. If the new master does not have the hold, the hold was
 *          certain only until the answer before that one.
 *
 * Sources: LEASE; WIRE 6; design 6. */
#ifndef HF_LEASE_H
#define HF_LEASE_H

#include "lock/lock.h"
#include "lock/machine/claims.h"

enum hf_lease_todo { LEASE_DO_NOTHING, LEASE_DO_RENEW, LEASE_DO_LOOK,
                     LEASE_DO_TELL_LOST };

enum hf_lease_state { LEASE_HELD, LEASE_RELEASING, LEASE_LOST };

struct hf_lease {
    enum hf_lease_state state;
    enum hf_lost reason;        /* when LOST */
    int64_t count;              /* acquisitions not yet released */
    bool is_renewed;            /* by the watchdog */
    bool is_renewing;           /* a renewal or a look is under way */
    int64_t watchdog_ms;
    struct hf_claims claims;
    int64_t renew_ms;           /* when the next renewal is due */
    int64_t max_until_ms;       /* INT64_MAX: no such limit */
    int64_t failed_ms;          /* when the last renewal failed */
    bool has_slept;             /* LEASE-5 */
    int64_t rush_ms;            /* LEASE-6: HF_NEVER, or when the renewal or look
                                   is due that a switch has made necessary */
    int64_t before_ms;          /* the safe moment before the last answer */
    int64_t proved_before_ms;   /* claims.proved_ms before the last answer */
    int64_t doubt_ms;           /* LEASE-7: HF_NEVER, or the safe moment */
};

/* hf_lease_init     - before its first acquire.
 * hf_lease_sent      - an acquire, re-entry or partial release that sets the TTL
 *                    to `lease_ms` is handed out. One of these three follows:
 * hf_lease_granted  - the server has set the count. `spread` (any number) moves
 *                    the first renewal, so that renewals of many holds do not
 *                    fall due at once.
 * hf_lease_unknown  - the server may have executed it, or may execute it later.
 * hf_lease_refused  - it was not executed, and never will be.
 * hf_lease_release  - the last release is handed out.
 * hf_lease_note_sleep - before hf_lease_due, when its timer has fired: LEASE-5.
 * hf_lease_due      - the time has come (hf_lease_next_ms): RENEW or LOOK (it is
 *                    handed out now), lost, or nothing yet.
 * hf_lease_renewed  - a renewal succeeded.
 * hf_lease_looked   - a look found the hold, with a TTL of `ttl_ms` (> 0).
 * hf_lease_switched - another server is the master. `is_sudden`: the former one
 *                    answered until now (LEASE-7). False: there is nothing to do;
 *                    else hf_lease_rush follows.
 * hf_lease_rush     - the renewal or look of LEASE-6 is due now.
 * hf_lease_retry    - a renewal or a look failed: it is due again soon, until the safe
 *                    moment. `how`: the server may have executed it; NULL: it
 *                    has not.
 * hf_lease_lose     - false if it is lost already (LEASE-4).
 * hf_lease_next_ms  - when to call hf_lease_due. */
void hf_lease_init(struct hf_lease *l, int64_t watchdog_ms);
void hf_lease_sent(struct hf_lease *l, int64_t now_ms, int64_t lease_ms);
void hf_lease_granted(struct hf_lease *l, int64_t count,
                      const struct hf_sending *how, bool is_renewed,
                      unsigned spread);
void hf_lease_unknown(struct hf_lease *l, const struct hf_sending *how);
void hf_lease_refused(struct hf_lease *l);
void hf_lease_release(struct hf_lease *l);
void hf_lease_note_sleep(struct hf_lease *l, int64_t now_ms);
enum hf_lease_todo hf_lease_due(struct hf_lease *l, int64_t now_ms);
void hf_lease_renewed(struct hf_lease *l, const struct hf_sending *how);
void hf_lease_looked(struct hf_lease *l, const struct hf_sending *how,
                     int64_t ttl_ms);
bool hf_lease_switched(struct hf_lease *l, bool is_sudden);
void hf_lease_rush(struct hf_lease *l, int64_t now_ms);
void hf_lease_retry(struct hf_lease *l, int64_t now_ms,
                    const struct hf_sending *how);
bool hf_lease_lose(struct hf_lease *l, enum hf_lost reason);
int64_t hf_lease_next_ms(const struct hf_lease *l);

/* hf_lease_safe_ms - what is left at `now_ms`; INT64_MIN if it is lost, or its
 * last release was handed out. */
int64_t hf_lease_safe_ms(const struct hf_lease *l, int64_t now_ms);

/* hf_lease_safe_until_ms - when that ends. */
int64_t hf_lease_safe_until_ms(const struct hf_lease *l);

/* hf_lease_proved_ms    - when the last command was sent whose answer proves that the
 *                         server had the hold. LEASE-7: a doubted answer is no proof.
 * hf_lease_had_until_ms - of a lost hold: the server had it until then, as far as its
 *                         answers tell. If the server reported that it does not have
 *                         the hold: hf_lease_proved_ms; otherwise the hold's safe
 *                         moment. */
int64_t hf_lease_proved_ms(const struct hf_lease *l);
int64_t hf_lease_had_until_ms(const struct hf_lease *l);

/* hf_lease_may_remain - of a lost hold: may the server still have it? Then it
 * is released there. */
bool hf_lease_may_remain(const struct hf_lease *l);

#endif
