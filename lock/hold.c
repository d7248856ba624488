/* A hold's life. Rules and diagram in hold.h. */
#include <assert.h>

#include "lock/hold.h"

/* Renewals that fall due within one sixteenth of a third go out together. */
#define TICKS 16
/* First renewals are spread over the last quarter of the first third. */
#define SPREADS 4

int64_t hf_hold_drift_ms(int64_t lease_ms)
{
    return lease_ms / 100 + 2;
}

void hf_hold_init(struct hf_hold_core *h, int64_t watchdog_ms)
{
    *h = (struct hf_hold_core){.state = HOLD_HELD,
                               .watchdog_ms = watchdog_ms,
                               .doubt_sent_ms = INT64_MIN,
                               .doubt_until_ms = HF_NEVER,
                               .renew_ms = HF_NEVER,
                               .max_until_ms = HF_NEVER};
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

static int64_t safe_until(int64_t sent_ms, int64_t lease_ms)
{
    return sent_ms + lease_ms - hf_hold_drift_ms(lease_ms);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void set_lease(struct hf_hold_core *h, int64_t sent_ms, int64_t lease_ms)
{
    if (sent_ms > h->doubt_sent_ms)
        h->doubt_until_ms = HF_NEVER;
    h->lease_ms = lease_ms;
    h->safe_until_ms =
        earlier(safe_until(sent_ms, lease_ms), h->doubt_until_ms);
}

/* A shorter lease of a re-entry cuts the TTL that the watchdog keeps. */
static void renew_by(struct hf_hold_core *h, int64_t ms)
{
    if (h->is_renewed && ms < h->renew_ms)
        h->renew_ms = ms;
}

void hf_hold_granted(struct hf_hold_core *h, int64_t count, int64_t sent_ms,
                     int64_t lease_ms, bool is_renewed, unsigned spread)
{
    int64_t first = sent_ms + third(h) -
                    (int64_t)(spread % SPREADS) * (third(h) / TICKS);

    h->count = count;
    if (h->state == HOLD_LOST)
        return;
    h->state = HOLD_HELD;
    set_lease(h, sent_ms, lease_ms);
    if (is_renewed && !h->is_renewed)
        h->renew_ms = on_tick(h, first);
    h->is_renewed = h->is_renewed || is_renewed;
    renew_by(h, sent_ms + lease_ms / 3);
}

void hf_hold_doubt(struct hf_hold_core *h, int64_t sent_ms, int64_t lease_ms)
{
    if (h->state == HOLD_LOST || sent_ms == HF_NEVER ||
        safe_until(sent_ms, lease_ms) >= h->safe_until_ms)
        return;
    h->doubt_sent_ms = sent_ms;
    h->doubt_until_ms = safe_until(sent_ms, lease_ms);
    h->safe_until_ms = h->doubt_until_ms;
    renew_by(h, sent_ms + lease_ms / 3);
}

/* A safe moment that we see only well after it came was slept through. */
static enum hf_lost overdue(const struct hf_hold_core *h, int64_t now_ms)
{
    if (now_ms - h->safe_until_ms > hf_hold_drift_ms(h->lease_ms) + 50)
        return HF_LOST_SUSPENDED;
    return h->is_renewed ? HF_LOST_UNREACHABLE : HF_LOST_LEASE_ENDED;
}

enum hf_hold_todo hf_hold_due(struct hf_hold_core *h, int64_t now_ms)
{
    if (h->state == HOLD_LOST)
        return HOLD_NOTHING;
    if (now_ms >= h->safe_until_ms)
        return hf_hold_lose(h, overdue(h, now_ms)) ? HOLD_IS_LOST
                                                   : HOLD_NOTHING;
    if (now_ms >= h->max_until_ms)
        return hf_hold_lose(h, HF_LOST_MAX_HOLD) ? HOLD_IS_LOST : HOLD_NOTHING;
    if (now_ms < h->renew_ms || h->is_renewing || !h->is_renewed ||
        h->state == HOLD_RELEASING)
        return HOLD_NOTHING;
    h->is_renewing = true;
    while (h->renew_ms <= now_ms) /* H2: bounded, for safe_until has not come */
        h->renew_ms += third(h) > 0 ? third(h) : 1;
    return HOLD_RENEW;
}

void hf_hold_renewed(struct hf_hold_core *h, int64_t sent_ms)
{
    h->is_renewing = false;
    if (h->state != HOLD_LOST)
        set_lease(h, sent_ms, h->watchdog_ms);
}

void hf_hold_retry(struct hf_hold_core *h, int64_t now_ms)
{
    int64_t soon = now_ms + third(h) / TICKS + 1;

    h->is_renewing = false;
    if (soon < h->renew_ms)
        h->renew_ms = soon;
}

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
    int64_t next = earlier(h->safe_until_ms, h->max_until_ms);

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
    return h->state == HOLD_LOST ? INT64_MIN : h->safe_until_ms - now_ms;
}
