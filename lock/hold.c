/* A hold's life. Rules and diagram in hold.h. */
#include <assert.h>

#include "lock/hold.h"

/* Renewals that fall due within one sixteenth of a third go out together. */
#define TICKS 16
/* First renewals are spread over the last quarter of the first third. */
#define SPREADS 4
/* A safe moment that is seen so much later than it came was slept through. */
#define SLEPT_MS 50

void hf_hold_init(struct hf_hold_core *h, int64_t watchdog_ms)
{
    *h = (struct hf_hold_core){.state = HOLD_HELD,
                               .watchdog_ms = watchdog_ms,
                               .renew_ms = HF_NEVER,
                               .max_until_ms = HF_NEVER};
    hf_lease_init(&h->lease);
}

static int64_t third(const struct hf_hold_core *h)
{
    return h->watchdog_ms / 3;
}

/* Down to the last tick of the clock, which is the same for all holds. */
static int64_t on_tick(const struct hf_hold_core *h, int64_t ms)
{
    int64_t tick = third(h) / TICKS;

    return tick > 1 ? ms - ms % tick : ms;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Is a lease that the caller gave in force, or may be, that is shorter than the
 * watchdog's? */
static bool is_cut(const struct hf_hold_core *h)
{
    return h->lease.shortest_ms < h->watchdog_ms;
}

/* H2: two thirds of the lease that ends first are left for the renewal. */
static void renew_in_time(struct hf_hold_core *h)
{
    int64_t lease = h->lease.shortest_ms;

    if (h->is_renewed && is_cut(h))
        h->renew_ms = earlier(h->renew_ms,
                              h->lease.end_ms + hf_lease_drift_ms(lease) -
                                  lease + lease / 3);
}

/* ---- calls of its owner ---- */

void hf_hold_ask(struct hf_hold_core *h, int64_t now_ms, int64_t lease_ms)
{
    hf_lease_ask(&h->lease, LEASE_BY_CALL, now_ms, lease_ms);
    renew_in_time(h);
}

void hf_hold_granted(struct hf_hold_core *h, int64_t count,
                     const struct hf_sending *how, bool is_renewed,
                     unsigned spread)
{
    int64_t first = how->sent_ms + third(h) -
                    (int64_t)(spread % SPREADS) * (third(h) / TICKS);

    h->count = count;
    hf_lease_answered(&h->lease, LEASE_BY_CALL, how);
    if (is_renewed && !h->is_renewed)
        h->renew_ms = on_tick(h, first);
    h->is_renewed = h->is_renewed || is_renewed;
    renew_in_time(h);
}

void hf_hold_unknown(struct hf_hold_core *h, const struct hf_sending *how)
{
    hf_lease_unknown(&h->lease, LEASE_BY_CALL, how);
    renew_in_time(h);
}

void hf_hold_refused(struct hf_hold_core *h)
{
    hf_lease_refused(&h->lease, LEASE_BY_CALL);
}

void hf_hold_release(struct hf_hold_core *h)
{
    assert(h->state == HOLD_HELD);
    h->state = HOLD_RELEASING;
}

/* ---- renewals ---- */

static enum hf_lost overdue(const struct hf_hold_core *h, int64_t now_ms)
{
    if (now_ms - h->lease.end_ms >
        hf_lease_drift_ms(h->lease.shortest_ms) + SLEPT_MS)
        return HF_LOST_SUSPENDED;
    return h->is_renewed && !is_cut(h) ? HF_LOST_UNREACHABLE
                                       : HF_LOST_LEASE_ENDED;
}

static enum hf_hold_todo lose(struct hf_hold_core *h, enum hf_lost reason)
{
    return hf_hold_lose(h, reason) ? HOLD_IS_LOST : HOLD_NOTHING;
}

enum hf_hold_todo hf_hold_due(struct hf_hold_core *h, int64_t now_ms)
{
    if (h->state == HOLD_LOST)
        return HOLD_NOTHING;
    if (now_ms >= h->lease.end_ms)
        return lose(h, overdue(h, now_ms));
    if (now_ms >= h->max_until_ms)
        return lose(h, HF_LOST_MAX_HOLD);
    if (now_ms < h->renew_ms || h->is_renewing || !h->is_renewed ||
        h->state == HOLD_RELEASING)
        return HOLD_NOTHING;
    h->is_renewing = true;
    while (h->renew_ms <= now_ms) /* bounded, for the end has not come */
        h->renew_ms += third(h) > 0 ? third(h) : 1;
    hf_lease_ask(&h->lease, LEASE_BY_RENEWAL, now_ms, h->watchdog_ms);
    return HOLD_RENEW;
}

void hf_hold_renewed(struct hf_hold_core *h, const struct hf_sending *how)
{
    h->is_renewing = false;
    hf_lease_answered(&h->lease, LEASE_BY_RENEWAL, how);
    renew_in_time(h);
}

void hf_hold_retry(struct hf_hold_core *h, int64_t now_ms,
                   const struct hf_sending *how)
{
    int64_t lease = earlier(h->lease.shortest_ms, h->watchdog_ms);
    int64_t soon = now_ms + lease / 3 / TICKS + 1;

    h->is_renewing = false;
    if (how)
        hf_lease_unknown(&h->lease, LEASE_BY_RENEWAL, how);
    else
        hf_lease_refused(&h->lease, LEASE_BY_RENEWAL);
    h->renew_ms = earlier(h->renew_ms, soon);
}

/* ---- its end ---- */

bool hf_hold_lose(struct hf_hold_core *h, enum hf_lost reason)
{
    if (h->state == HOLD_LOST)
        return false;
    h->state = HOLD_LOST;
    h->reason = reason;
    return true;
}

int64_t hf_hold_next_ms(const struct hf_hold_core *h)
{
    int64_t next = earlier(h->lease.end_ms, h->max_until_ms);

    if (h->state == HOLD_LOST)
        return HF_NEVER;
    if (h->is_renewed && !h->is_renewing && h->state == HOLD_HELD)
        next = earlier(next, h->renew_ms);
    return next;
}

bool hf_hold_may_remain(const struct hf_hold_core *h)
{
    return h->reason != HF_LOST_DELETED && h->reason != HF_LOST_TAKEN;
}

int64_t hf_hold_safe_ms(const struct hf_hold_core *h, int64_t now_ms)
{
    return h->state == HOLD_HELD ? h->lease.end_ms - now_ms : INT64_MIN;
}
