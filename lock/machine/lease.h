/* The lease of a hold, as a pure machine: whether it is held, when it is renewed, when it
 * is lost. claims.h computes until when it is safe. Its events are replies and the time.
 * Private to lock/.
 *
 *   HELD -hf_lease_last_release_submitted-> RELEASING -the release has ended-> (freed)
 *    |                                         |
 *    +----- hf_lease_lose, or hf_lease_take_todo after the safe time -----+
 *    v
 *   LOST
 *
 * Terms. Safe moment: the time at which the hold is no longer certain. Look: a request that
 * only reads the TTL of the key.
 *
 * LEASE-1  A hold is safe until its lease ends, and not after its last release was
 *          submitted.
 * LEASE-2  Renewals are due on an absolute schedule, a third of the lease apart, and
 *          earlier if a shorter lease may be in force.
 * LEASE-3  In the state RELEASING nothing is renewed: after the release was sent, no
 *          renewal follows it.
 * LEASE-4  LOST is final, and is reported once.
 * LEASE-5  A loss has the reason SUSPENDED if this process did not run when the safe moment
 *          came: the loss is detected long after that moment, or a renewal that was due
 *          long before it was not sent.
 * LEASE-6  After a switch of masters, a hold is renewed at once, whenever its next renewal
 *          is due. For a hold that the watchdog does not renew, a look is sent instead.
 *          A push of the server, or the end of the first second of a tracked hold, makes a
 *          renewal or look due in the same way (lock/verb/track.h); or a look, also of a hold
 *          that the watchdog renews. If that look finds a shorter TTL than expected, a
 *          renewal is due at once; a slow reply alone does not cause one. A renewal that is
 *          due does not wait for the reply to a look, which it replaces. If a look and a call
 *          of the owner were executed in an unknown order, so that the shorter of the two leases
 *          counts (CLAIM-4), another look is due at once.
 * LEASE-7  If the former master replied until the switch, its last reply may come from a
 *          server that was no longer the master. Until another reply arrives, the hold is
 *          safe only as long as it would be without that reply. This alone is not a loss.
 *          If the new master does not have the hold, the hold was certain only until the
 *          reply before that one. If that other reply is doubted later, neither counts.
 *
 * LEASE-8  The renewal after a pending one may be moved to a time that the hold has in common
 *          with others, which recurs each third of the lease. It is never moved to a later time,
 *          nor to one that has passed. A hold whose renewals succeed is renewed at most once more
 *          than without this.
 *
 * Sources: LEASE; WIRE 6; design 6. */
#ifndef HF_LEASE_H
#define HF_LEASE_H

#include "lock/lock.h"
#include "lock/machine/claims.h"

enum hf_lease_todo { LEASE_DO_NOTHING, LEASE_DO_RENEW, LEASE_DO_LOOK,
                     LEASE_DO_REPORT_LOST };

enum hf_lease_state { LEASE_HELD, LEASE_RELEASING, LEASE_LOST };

struct hf_lease {
    enum hf_lease_state state;
    enum hf_lost loss_reason;            /* in the state LOST */
    int64_t hold_count;                  /* acquisitions not yet released */
    bool is_renewed_by_watchdog;         /* by the watchdog */
    bool has_pending_renewal_or_look;    /* a renewal or a look has no reply yet */
    bool was_suspended;                  /* LEASE-5 */
    bool is_look_enough_for_early_check; /* for early_check_ms, a look is enough */
    int64_t watchdog_ms;
    int64_t granted_ms;                  /* for the metrics: when the request was sent that was
                                            granted; INT64_MIN: the time of the hold is not counted,
                                            or was */
    struct hf_claims claims;
    int64_t next_renewal_ms;             /* when the next renewal is due */
    int64_t max_hold_until_ms;           /* when max_hold_ms ends; INT64_MAX: no such limit */
    int64_t last_failed_renewal_ms;      /* when the last renewal failed */
    int64_t early_check_ms;              /* LEASE-6: when such a renewal or look is due; HF_NEVER:
                                            none is */
    int64_t safe_without_last_reply_ms; /* the safe moment without the last reply */
    int64_t proved_without_last_reply_ms; /* claims.proved_held_at_ms without the last reply */
    int64_t doubted_safe_until_ms; /* LEASE-7: the safe moment; HF_NEVER: no doubt */
};

/* hf_lease_init - prepares a hold that has not been acquired yet. */
void hf_lease_init(struct hf_lease *l, int64_t watchdog_ms);

/* hf_lease_grant_requested - a request that sets the TTL to `lease_ms` is submitted: an acquire,
 *   re-entry or partial release. hf_lease_granted, _grant_unknown or _grant_refused must
 *   follow. */
void hf_lease_grant_requested(struct hf_lease *l, int64_t now_ms, int64_t lease_ms);

/* hf_lease_granted - the server executed it and set the hold count to `count`.
 *   spread   any number; it moves the first renewal, so that the renewals of many holds are
 *            not due at the same time */
void hf_lease_granted(struct hf_lease *l, int64_t count,
                      const struct hf_sending *how, bool is_renewed,
                      unsigned spread);

/* hf_lease_grant_unknown - the server may have executed it, or may still do so. */
void hf_lease_grant_unknown(struct hf_lease *l, const struct hf_sending *how);

/* hf_lease_grant_refused - the server did not execute it and never will. */
void hf_lease_grant_refused(struct hf_lease *l);

/* hf_lease_extension_submitted - a request that extends the TTL, and never shortens it (CLAIM-5),
 *   is submitted. If it fails, with or without a reply, nothing follows. */
void hf_lease_extension_submitted(struct hf_lease *l);

/* hf_lease_extended - the server executed it, and the TTL was `ttl_ms` (>= lease_ms) between
 *   `how` and `now_ms`. */
void hf_lease_extended(struct hf_lease *l, const struct hf_sending *how,
                       int64_t ttl_ms, int64_t lease_ms, int64_t now_ms);

/* hf_lease_last_release_submitted - the last release is submitted. The state must be HELD. */
void hf_lease_last_release_submitted(struct hf_lease *l);

/* hf_lease_note_sleep - checks for a suspension of this process (LEASE-5). Call it before
 *   hf_lease_take_todo when the timer has fired. */
void hf_lease_note_sleep(struct hf_lease *l, int64_t now_ms);

/* hf_lease_take_todo - returns the action that is due at hf_lease_next_ms: nothing; to send a
 *   renewal or a look, which counts as submitted now; or to report the loss. If a look is
 *   pending, the renewal replaces it: neither its reply nor its failure may be reported. */
enum hf_lease_todo hf_lease_take_todo(struct hf_lease *l, int64_t now_ms);

/* hf_lease_align - moves the renewal that follows the pending one to the time that `group` has
 *   in common (LEASE-8). Leases of one group and one duration are then due at the same time.
 *   group   any number; there are 16 times, a sixteenth of a third of the lease apart */
void hf_lease_align(struct hf_lease *l, int64_t now_ms, unsigned group);

/* hf_lease_is_renewal_late - returns whether a renewal that succeeds now is late: less than half of
 *   the lease is left. Call it before hf_lease_renewed. */
bool hf_lease_is_renewal_late(const struct hf_lease *l, int64_t now_ms);

/* hf_lease_renewed - a renewal succeeded. */
void hf_lease_renewed(struct hf_lease *l, const struct hf_sending *how);

/* hf_lease_look_found_hold - a look found the hold, with a TTL of `ttl_ms` (> 0). The server read
 *   it between `how` and `now_ms`, so the hold is safe for what remains of it since `how`; but
 *   the TTL is shorter than expected only if it is so since `now_ms`. */
void hf_lease_look_found_hold(struct hf_lease *l, const struct hf_sending *how,
                              int64_t ttl_ms, int64_t now_ms);

/* hf_lease_master_switched - another server is the master. It returns false if nothing must be
 *   done; otherwise hf_lease_renew_early must follow.
 *   is_sudden   the former master replied until now (LEASE-7) */
bool hf_lease_master_switched(struct hf_lease *l, bool is_sudden);

/* hf_lease_renew_early - makes the renewal or look of LEASE-6 due at `at_ms`, unless one is due
 *   before. */
void hf_lease_renew_early(struct hf_lease *l, int64_t at_ms);

/* hf_lease_look_early - the same, but a look is enough for this purpose. */
void hf_lease_look_early(struct hf_lease *l, int64_t at_ms);

/* hf_lease_retry - a renewal or look failed: it is due again soon, until the safe moment.
 *   how   not NULL: the server may have executed it; NULL: it did not */
void hf_lease_retry(struct hf_lease *l, int64_t now_ms,
                    const struct hf_sending *how);

/* hf_lease_lose - the hold is lost. It returns false if it was lost before (LEASE-4). */
bool hf_lease_lose(struct hf_lease *l, enum hf_lost reason);

/* hf_lease_next_ms - returns when to call hf_lease_take_todo; HF_NEVER after a loss. */
int64_t hf_lease_next_ms(const struct hf_lease *l);

/* hf_lease_safe_ms - returns the remaining safe time at `now_ms`; INT64_MIN if the hold is
 *   lost or its last release was submitted. */
int64_t hf_lease_safe_ms(const struct hf_lease *l, int64_t now_ms);

/* hf_lease_safe_until_ms - returns the safe moment. */
int64_t hf_lease_safe_until_ms(const struct hf_lease *l);

/* hf_lease_proved_ms - returns when the last request was sent whose reply proves that the
 *   server had the hold. A reply that LEASE-7 doubts proves nothing. */
int64_t hf_lease_proved_ms(const struct hf_lease *l);

/* hf_lease_had_until_ms - returns until when the server had a lost hold, as far as its
 *   replies show: hf_lease_proved_ms if the server reported that it does not have the hold,
 *   otherwise the safe moment. */
int64_t hf_lease_had_until_ms(const struct hf_lease *l);

/* hf_lease_may_remain - returns whether the server may still have a lost hold, so that it
 *   must be released there. */
bool hf_lease_may_remain(const struct hf_lease *l);

#endif
