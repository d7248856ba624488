/* A packed lease. Rules in lease_pack.h. */
/* Tests: tests/test_lock_lease_pack.c. */
#include "lock/machine/lease_pack.h"

#include <assert.h>

#include "net/base/assert.h"
#include "net/base/moment.h"

/* For INT64_MIN and HF_NEVER. */
#define REL_MIN INT32_MIN
#define REL_NEVER INT32_MAX
/* The time of the hold is not counted. */
#define HELD_UNKNOWN UINT32_MAX

static_assert(sizeof(struct hf_lease_packed) == 48, "a held lock takes at most 256 bytes");

/* ---- moments ---- */

static bool to_relative(int32_t *out, int64_t ms, int64_t base_ms)
{
    int64_t by = ms - (ms == INT64_MIN || ms == HF_NEVER ? 0 : base_ms);

    if (ms == INT64_MIN)
        *out = REL_MIN;
    else if (ms == HF_NEVER)
        *out = REL_NEVER;
    else if (by <= REL_MIN || by >= REL_NEVER)
        return false;
    else
        *out = (int32_t)by;
    return true;
}

static int64_t to_moment(int32_t relative, int64_t base_ms)
{
    if (relative == REL_MIN)
        return INT64_MIN;
    return relative == REL_NEVER ? HF_NEVER : base_ms + relative;
}

/* A lease that is so short ends before a moment of it is too far from its last answer. */
static bool fits_32_bits(int64_t ms)
{
    return ms >= 0 && ms <= INT32_MAX / 2;
}

/* ---- pack ---- */

/* A failed renewal matters for LEASE-5 only if none was due after it. */
static bool may_be_packed(const struct hf_lease *l)
{
    return l->state != LEASE_RELEASING && l->count == 1 && !l->is_renewing &&
           l->max_until_ms == HF_NEVER && l->failed_ms <= l->renew_ms &&
           hf_claims_are_settled(&l->claims) && fits_32_bits(l->claims.answered_ms) &&
           l->claims.answered_stream <= UINT32_MAX &&
           fits_32_bits(l->claims.set_ms);
}

/* PACK-3 */
static uint32_t held_ms(const struct hf_lease *l)
{
    int64_t ms;

    if (l->granted_ms == INT64_MIN)
        return HELD_UNKNOWN;
    ms = hf_max_ms(l->claims.proved_ms - l->granted_ms, 0);
    return ms < HELD_UNKNOWN ? (uint32_t)ms : HELD_UNKNOWN - 1;
}

static bool put_moments(struct hf_lease_packed *p, const struct hf_lease *l)
{
    int64_t base_ms = l->claims.proved_ms;

    *p = (struct hf_lease_packed){.proved_ms = base_ms,
                                  .stream = (uint32_t)l->claims.answered_stream,
                                  .held_ms = held_ms(l),
                                  .answered_ms = (uint32_t)l->claims.answered_ms,
                                  .set_ms = (uint32_t)l->claims.set_ms,
                                  .state = (uint8_t)l->state,
                                  .reason = (uint8_t)l->reason,
                                  .is_renewed = l->is_renewed,
                                  .is_early_look = l->is_early_look};
    return to_relative(&p->renew, l->renew_ms, base_ms) &&
           to_relative(&p->early, l->early_ms, base_ms) &&
           to_relative(&p->before, l->safe_without_last_reply_ms, base_ms) &&
           to_relative(&p->proved_before, l->proved_without_last_reply_ms, base_ms) &&
           to_relative(&p->doubt, l->doubt_ms, base_ms);
}

/* PACK-1: what decides about a hold is the same after it was packed. */
static bool is_kept(const struct hf_lease_packed *p, const struct hf_lease *l)
{
    struct hf_lease again;

    hf_lease_unpack(&again, p, l->watchdog_ms);
    return again.state == l->state && again.reason == l->reason && again.count == l->count &&
           again.is_renewed == l->is_renewed && again.claims.end_ms == l->claims.end_ms &&
           hf_lease_next_ms(&again) == hf_lease_next_ms(l) &&
           hf_lease_safe_until_ms(&again) == hf_lease_safe_until_ms(l) &&
           hf_lease_proved_ms(&again) == hf_lease_proved_ms(l);
}

bool hf_lease_pack(struct hf_lease_packed *p, const struct hf_lease *l)
{
    if (!may_be_packed(l) || !put_moments(p, l))
        return false;
    HF_ASSERT(is_kept(p, l));
    return true;
}

void hf_lease_unpack(struct hf_lease *l, const struct hf_lease_packed *p,
                     int64_t watchdog_ms)
{
    int64_t base_ms = p->proved_ms;

    hf_lease_init(l, watchdog_ms);
    l->state = (enum hf_lease_state)p->state;
    l->reason = (enum hf_lost)p->reason;
    l->is_renewed = p->is_renewed;
    l->count = 1;
    l->granted_ms = p->held_ms == HELD_UNKNOWN ? INT64_MIN : base_ms - p->held_ms;
    l->renew_ms = to_moment(p->renew, base_ms);
    l->early_ms = to_moment(p->early, base_ms);
    l->is_early_look = p->is_early_look;
    l->safe_without_last_reply_ms = to_moment(p->before, base_ms);
    l->proved_without_last_reply_ms = to_moment(p->proved_before, base_ms);
    l->doubt_ms = to_moment(p->doubt, base_ms);
    hf_claims_restore(&l->claims, base_ms, p->answered_ms, p->set_ms, p->stream);
}
