/* The life of a lease. Rules and diagram in lease.h. */
/* Tests: tests/test_lock_lease.c, tests/exhaust/lease.c. */

#include "lock/machine/lease.h"
#include "net/base/assert.h"
#include "net/base/moment.h"

/* Renewals that fall due within one sixteenth of a third go out together. */
#define TICKS_IN_THIRD 16
/* First renewals are spread over the last quarter of the first third. */
#define RENEWAL_SPREADS 4
/* If the safe moment is detected later than this, the process was suspended. Timers of
 * a busy process may be some milliseconds late. */
#define SUSPENDED_AFTER_MS 50

void hf_lease_init(struct hf_lease *l, int64_t watchdog_ms)
{
    HF_ASSERT(watchdog_ms > 0);
    *l = (struct hf_lease){.state = LEASE_HELD,
                               .watchdog_ms = watchdog_ms,
                               .granted_ms = INT64_MIN,
                               .next_renewal_ms = HF_NEVER,
                               .last_failed_renewal_ms = INT64_MIN,
                               .max_hold_until_ms = HF_NEVER,
                               .early_check_ms = HF_NEVER,
                               .safe_without_last_reply_ms = INT64_MIN,
                               .proved_without_last_reply_ms = INT64_MIN,
                               .doubted_safe_until_ms = HF_NEVER};
    hf_claims_init(&l->claims);
}

/* LEASE-4: a loss has a reason, and nothing else has one. */
static bool is_loss_reason_ok(const struct hf_lease *l)
{
    return l->state == LEASE_LOST
               ? l->loss_reason >= HF_REASON_DELETED && l->loss_reason <= HF_REASON_CLOSED
               : l->loss_reason == 0;
}

/* LEASE-2, LEASE-3: in the state HELD, a claim of a renewal belongs to a pending
 * renewal. A renewal that was pending at a release or a loss is no longer ended here.
 * */
static bool is_renewal_state_ok(const struct hf_lease *l)
{
    return l->hold_count >= 0 &&
           (l->has_pending_renewal_or_look || l->state != LEASE_HELD ||
            l->claims.sent[CLAIM_BY_RENEWAL].lease_ms == 0);
}

static bool has_pending_renewal(const struct hf_lease *l)
{
    return l->claims.sent[CLAIM_BY_RENEWAL].lease_ms > 0;
}

static bool has_pending_look(const struct hf_lease *l)
{
    return l->has_pending_renewal_or_look && !has_pending_renewal(l);
}

/* LEASE-7: without the last answer the hold ends no later, and is proved no later. */
static bool are_doubt_times_ok(const struct hf_lease *l)
{
    return l->proved_without_last_reply_ms <= l->claims.proved_held_at_ms &&
           (l->doubted_safe_until_ms == HF_NEVER || l->claims.answered_lease_ms > 0);
}

static bool lease_ok(const struct hf_lease *l)
{
    return is_loss_reason_ok(l) && is_renewal_state_ok(l) && are_doubt_times_ok(l);
}

/* All that writes the state. */
static void set_lease_state(struct hf_lease *l, enum hf_lease_state state)
{
    HF_ASSERT(l->state != LEASE_LOST && state > l->state); /* LEASE-4 */
    l->state = state;
}

static int64_t third_of_lease(const struct hf_lease *l)
{
    return l->watchdog_ms / 3;
}

/* Down to the last tick of the clock, which is the same for all holds. */
static int64_t round_down_to_tick(const struct hf_lease *l, int64_t ms)
{
    int64_t tick = third_of_lease(l) / TICKS_IN_THIRD;

    return tick > 1 ? ms - ms % tick : ms;
}

/* Is a lease that the caller gave in force, or may be, that is shorter than the
 * watchdog's? */
static bool has_lease_shorter_than_watchdog(const struct hf_lease *l)
{
    return l->claims.lease_of_first_end_ms < l->watchdog_ms;
}

/* LEASE-2: two thirds of the lease that ends first are left for the renewal. */
static void schedule_renewal_of_short_lease(struct hf_lease *l)
{
    int64_t lease = l->claims.lease_of_first_end_ms;

    if (l->is_renewed_by_watchdog && has_lease_shorter_than_watchdog(l))
        l->next_renewal_ms = hf_min_ms(l->next_renewal_ms,
                                       l->claims.end_ms + hf_claims_drift_ms(lease) -
                                    lease + lease / 3);
}

/* LEASE-7: an earlier reply that is in doubt is no better if this one is, too. */
static void save_moments_before_reply(struct hf_lease *l)
{
    l->safe_without_last_reply_ms = hf_lease_safe_until_ms(l);
    l->proved_without_last_reply_ms = hf_lease_proved_ms(l);
    l->doubted_safe_until_ms = HF_NEVER;
}

/* LEASE-6. The watchdog's next renewal does the same. */
static void look_if_order_is_unknown(struct hf_lease *l, int64_t at_ms)
{
    if (!l->is_renewed_by_watchdog && hf_claims_is_order_unknown(&l->claims))
        hf_lease_look_early(l, at_ms);
}

/* ---- calls of its owner ---- */

void hf_lease_grant_requested(struct hf_lease *l, int64_t now_ms, int64_t lease_ms)
{
    hf_claims_add(&l->claims, CLAIM_BY_CALL, now_ms, lease_ms);
    schedule_renewal_of_short_lease(l);
    HF_ASSERT(lease_ok(l));
}

void hf_lease_granted(struct hf_lease *l, int64_t count,
                     const struct hf_sending *how, bool is_renewed,
                     unsigned spread)
{
    int64_t first = how->sent_ms + third_of_lease(l) -
                    (int64_t)(spread % RENEWAL_SPREADS) * (third_of_lease(l) / TICKS_IN_THIRD);

    l->hold_count = count;
    save_moments_before_reply(l);
    hf_claims_answered(&l->claims, CLAIM_BY_CALL, how);
    if (is_renewed && !l->is_renewed_by_watchdog)
        l->next_renewal_ms = round_down_to_tick(l, first);
    l->is_renewed_by_watchdog = l->is_renewed_by_watchdog || is_renewed;
    schedule_renewal_of_short_lease(l);
    look_if_order_is_unknown(l, how->sent_ms);
    HF_ASSERT(count > 0 && lease_ok(l));
}

void hf_lease_grant_unknown(struct hf_lease *l, const struct hf_sending *how)
{
    hf_claims_unknown(&l->claims, CLAIM_BY_CALL, how);
    schedule_renewal_of_short_lease(l);
    HF_ASSERT(lease_ok(l));
}

void hf_lease_grant_refused(struct hf_lease *l)
{
    HF_ASSERT(lease_ok(l));
    hf_claims_refused(&l->claims, CLAIM_BY_CALL);
    HF_ASSERT(lease_ok(l));
}

void hf_lease_extension_submitted(struct hf_lease *l)
{
    HF_ASSERT(lease_ok(l) && l->state == LEASE_HELD);
    hf_claims_extend(&l->claims);
}

/* A TTL that was longer than the lease is not changed: what was certain remains so, unless the
 * server has less than that. */
void hf_lease_extended(struct hf_lease *l, const struct hf_sending *how,
                       int64_t ttl_ms, int64_t lease_ms, int64_t now_ms)
{
    int64_t was_ms = hf_lease_safe_until_ms(l);
    int64_t lasts_ms = ttl_ms - hf_claims_drift_ms(ttl_ms);
    bool is_as_expected = how->sent_ms + lasts_ms <= l->claims.end_ms &&
                          now_ms + lasts_ms >= l->claims.end_ms;

    HF_ASSERT(now_ms >= how->sent_ms);
    if (l->doubted_safe_until_ms == HF_NEVER && is_as_expected)
        return;
    save_moments_before_reply(l);
    hf_claims_extended(&l->claims, how, ttl_ms, lease_ms);
    look_if_order_is_unknown(l, how->sent_ms);
    HF_ASSERT(lease_ok(l) && !l->is_renewed_by_watchdog);
    HF_ASSERT(hf_lease_safe_until_ms(l) >= was_ms || now_ms + lasts_ms < was_ms);
}

void hf_lease_last_release_submitted(struct hf_lease *l)
{
    HF_ASSERT(l->state == LEASE_HELD);
    set_lease_state(l, LEASE_RELEASING);
    HF_ASSERT(lease_ok(l) && hf_lease_safe_ms(l, 0) == INT64_MIN); /* LEASE-1 */
}

/* ---- renewals ---- */

/* LEASE-5. A process that continues just after the safe moment has not sent the
 * renewal either. */
void hf_lease_note_sleep(struct hf_lease *l, int64_t now_ms)
{
    int64_t least_ms = hf_min_ms(l->claims.lease_of_first_end_ms, l->watchdog_ms) / 3 / 4;
    int64_t due_ms = l->next_renewal_ms > l->last_failed_renewal_ms ? l->next_renewal_ms
        : l->last_failed_renewal_ms;

    l->was_suspended = l->is_renewed_by_watchdog &&
        (!l->has_pending_renewal_or_look || has_pending_look(l)) &&
                   l->state == LEASE_HELD && now_ms >= l->claims.end_ms &&
                   l->claims.end_ms - due_ms > least_ms;
}

static enum hf_lost reason_of_overdue_loss(const struct hf_lease *l, int64_t now_ms)
{
    if (l->was_suspended)
        return HF_REASON_SUSPENDED;
    if (now_ms - l->claims.end_ms >
        hf_claims_drift_ms(l->claims.lease_of_first_end_ms) + SUSPENDED_AFTER_MS)
        return HF_REASON_SUSPENDED;
    return l->is_renewed_by_watchdog && !has_lease_shorter_than_watchdog(l) ? HF_REASON_UNREACHABLE
                                       : HF_REASON_LEASE_ENDED;
}

static enum hf_lease_todo lose_lease_and_report(struct hf_lease *l, enum hf_lost reason)
{
    return hf_lease_lose(l, reason) ? LEASE_DO_REPORT_LOST : LEASE_DO_NOTHING;
}

/* When the next renewal or look is due. */
static int64_t next_renewal_or_look_ms(const struct hf_lease *l)
{
    return l->is_renewed_by_watchdog ? hf_min_ms(l->next_renewal_ms, l->early_check_ms)
           : l->early_check_ms;
}

/* When the next renewal is due, for which a look is not enough. */
static int64_t next_renewal_ms(const struct hf_lease *l)
{
    if (!l->is_renewed_by_watchdog)
        return HF_NEVER;
    return l->is_look_enough_for_early_check ? l->next_renewal_ms
           : hf_min_ms(l->next_renewal_ms, l->early_check_ms);
}

/* LEASE-6: what may be sent next does not wait for a look, unless it is a look. */
static int64_t next_send_ms(const struct hf_lease *l)
{
    if (l->state != LEASE_HELD)
        return HF_NEVER;
    if (!l->has_pending_renewal_or_look)
        return next_renewal_or_look_ms(l);
    return has_pending_look(l) ? next_renewal_ms(l) : HF_NEVER;
}

static enum hf_lease_todo submit_renewal_or_look(struct hf_lease *l, int64_t now_ms)
{
    bool is_look = !l->is_renewed_by_watchdog ||
        (l->is_look_enough_for_early_check && now_ms < l->next_renewal_ms);

    l->has_pending_renewal_or_look = true;
    l->early_check_ms = HF_NEVER;
    l->is_look_enough_for_early_check = false;
    if (is_look) {
        hf_claims_look_sent(&l->claims);
        return LEASE_DO_LOOK;
    }
    while (l->next_renewal_ms <= now_ms) /* bounded, for the end has not come */
        l->next_renewal_ms += third_of_lease(l) > 0 ? third_of_lease(l) : 1;
    hf_claims_add(&l->claims, CLAIM_BY_RENEWAL, now_ms, l->watchdog_ms);
    HF_ASSERT(l->next_renewal_ms > now_ms &&
              3 * (l->next_renewal_ms - now_ms) <= l->watchdog_ms + 3);
    HF_ASSERT(lease_ok(l));
    return LEASE_DO_RENEW;
}

enum hf_lease_todo hf_lease_take_todo(struct hf_lease *l, int64_t now_ms)
{
    HF_ASSERT(lease_ok(l));
    if (l->state == LEASE_LOST)
        return LEASE_DO_NOTHING;
    if (now_ms >= l->claims.end_ms)
        return lose_lease_and_report(l, reason_of_overdue_loss(l, now_ms));
    if (now_ms >= l->max_hold_until_ms)
        return lose_lease_and_report(l, HF_REASON_MAX_HOLD);
    if (now_ms < next_send_ms(l))
        return LEASE_DO_NOTHING;
    HF_ASSERT(l->state == LEASE_HELD && now_ms < l->claims.end_ms); /* LEASE-3 */
    return submit_renewal_or_look(l, now_ms);
}

/* The common times of a group recur each third. */
void hf_lease_align(struct hf_lease *l, int64_t now_ms, unsigned group)
{
    int64_t third = third_of_lease(l), tick = third / TICKS_IN_THIRD;
    int64_t was_ms = l->next_renewal_ms, earlier_ms;

    HF_ASSERT(has_pending_renewal(l));
    if (tick < 1 || was_ms < third)
        return;
    earlier_ms = (was_ms - (int64_t)(group % TICKS_IN_THIRD) * tick) % third;
    if (was_ms - earlier_ms > now_ms)
        l->next_renewal_ms = was_ms - earlier_ms;
    HF_ASSERT(l->next_renewal_ms <= was_ms && lease_ok(l));
}

bool hf_lease_is_renewal_late(const struct hf_lease *l, int64_t now_ms)
{
    int64_t lease_ms = hf_min_ms(l->claims.lease_of_first_end_ms, l->watchdog_ms);

    return l->claims.end_ms - now_ms < lease_ms / 2;
}

void hf_lease_renewed(struct hf_lease *l, const struct hf_sending *how)
{
    l->has_pending_renewal_or_look = false;
    save_moments_before_reply(l);
    hf_claims_answered(&l->claims, CLAIM_BY_RENEWAL, how);
    schedule_renewal_of_short_lease(l);
    HF_ASSERT(lease_ok(l));
}

void hf_lease_look_found_hold(struct hf_lease *l, const struct hf_sending *how,
                              int64_t ttl_ms, int64_t now_ms)
{
    bool was_doubted = l->doubted_safe_until_ms != HF_NEVER;
    int64_t lasts_ms = ttl_ms - hf_claims_drift_ms(ttl_ms);
    bool is_shorter = now_ms + lasts_ms < l->claims.end_ms;

    HF_ASSERT(now_ms >= how->sent_ms && has_pending_look(l));
    l->has_pending_renewal_or_look = false;
    if (l->is_renewed_by_watchdog && !was_doubted && how->sent_ms + lasts_ms >= l->claims.end_ms)
        return; /* as expected */
    save_moments_before_reply(l);
    hf_claims_look_answered(&l->claims, how, ttl_ms);
    if (l->is_renewed_by_watchdog && (was_doubted || is_shorter))
        hf_lease_renew_early(l, how->sent_ms);
    look_if_order_is_unknown(l, how->sent_ms);
    HF_ASSERT(lease_ok(l));
}

void hf_lease_retry(struct hf_lease *l, int64_t now_ms,
                   const struct hf_sending *how)
{
    int64_t lease = hf_min_ms(l->claims.lease_of_first_end_ms, l->watchdog_ms);
    int64_t soon = now_ms + lease / 3 / TICKS_IN_THIRD + 1;
    bool was_look = !has_pending_renewal(l);
    bool is_claim = how && how->stream != 0 && !was_look;

    HF_ASSERT(lease > 0 && soon > now_ms);
    l->has_pending_renewal_or_look = false;
    if (how)
        hf_claims_unknown(&l->claims, CLAIM_BY_RENEWAL, how);
    else
        hf_claims_refused(&l->claims, CLAIM_BY_RENEWAL);
    HF_ASSERT(!is_claim || hf_claims_has_unknown(&l->claims)); /* CLAIM-1 */
    l->last_failed_renewal_ms = now_ms;
    if (was_look)
        hf_lease_look_early(l, soon);
    else if (l->early_check_ms > soon)
        l->next_renewal_ms = hf_min_ms(l->next_renewal_ms, soon);
    HF_ASSERT(lease_ok(l) && next_renewal_or_look_ms(l) <= soon);
}

/* ---- a switch of masters ---- */

bool hf_lease_master_switched(struct hf_lease *l, bool is_sudden)
{
    if (l->state != LEASE_HELD)
        return false;
    if (is_sudden)
        l->doubted_safe_until_ms = hf_min_ms(l->doubted_safe_until_ms,
                                             l->safe_without_last_reply_ms);
    HF_ASSERT(lease_ok(l) && hf_lease_safe_until_ms(l) <= l->claims.end_ms);
    return true;
}

void hf_lease_renew_early(struct hf_lease *l, int64_t at_ms)
{
    l->early_check_ms = hf_min_ms(l->early_check_ms, at_ms);
    l->is_look_enough_for_early_check = false;
    HF_ASSERT(lease_ok(l));
}

void hf_lease_look_early(struct hf_lease *l, int64_t at_ms)
{
    l->is_look_enough_for_early_check = l->is_look_enough_for_early_check ||
        l->early_check_ms == HF_NEVER;
    l->early_check_ms = hf_min_ms(l->early_check_ms, at_ms);
    HF_ASSERT(lease_ok(l));
}

/* ---- its end ---- */

bool hf_lease_lose(struct hf_lease *l, enum hf_lost reason)
{
    if (l->state == LEASE_LOST)
        return false;
    set_lease_state(l, LEASE_LOST);
    l->loss_reason = reason;
    HF_ASSERT(lease_ok(l));
    return true;
}

int64_t hf_lease_next_ms(const struct hf_lease *l)
{
    int64_t next = hf_min_ms(l->claims.end_ms, l->max_hold_until_ms);

    if (l->state == LEASE_LOST)
        return HF_NEVER;
    next = hf_min_ms(next, next_send_ms(l));
    HF_ASSERT(next <= l->claims.end_ms && next <= l->max_hold_until_ms);
    return next;
}

int64_t hf_lease_proved_ms(const struct hf_lease *l)
{
    return l->doubted_safe_until_ms == HF_NEVER ? l->claims.proved_held_at_ms
           : l->proved_without_last_reply_ms;
}

int64_t hf_lease_had_until_ms(const struct hf_lease *l)
{
    return hf_lease_may_remain(l) ? l->claims.end_ms : hf_lease_proved_ms(l);
}

bool hf_lease_may_remain(const struct hf_lease *l)
{
    return l->loss_reason != HF_REASON_DELETED && l->loss_reason != HF_REASON_TAKEN;
}

int64_t hf_lease_safe_ms(const struct hf_lease *l, int64_t now_ms)
{
    if (l->state != LEASE_HELD)
        return INT64_MIN;
    if (l->doubted_safe_until_ms <= now_ms)
        return hf_min_ms(0, l->claims.end_ms - now_ms);
    return hf_min_ms(l->doubted_safe_until_ms, l->claims.end_ms) - now_ms;
}

int64_t hf_lease_safe_until_ms(const struct hf_lease *l)
{
    return hf_min_ms(l->doubted_safe_until_ms, l->claims.end_ms);
}

const char *hf_lost_text(enum hf_lost reason)
{
    static const char *const texts[] = {
        [HF_REASON_DELETED] = "the lock no longer exists on the server",
        [HF_REASON_TAKEN] = "another owner holds the lock, or a program overwrote it",
        [HF_REASON_UNREACHABLE] = "no renewal succeeded in time",
        [HF_REASON_SUSPENDED] = "this process did not run in time",
        [HF_REASON_LEASE_ENDED] = "its lease is about to expire",
        [HF_REASON_MAX_HOLD] = "its maximum hold time has passed",
        [HF_REASON_CLOSED] = "the client was closed",
    };

    if (reason < HF_REASON_DELETED || reason > HF_REASON_CLOSED)
        return "unknown reason";
    return texts[reason];
}
