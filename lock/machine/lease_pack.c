/* A packed lease. Rules in lease_pack.h. */
/* Tests: tests/test_lock_lease_pack.c. */
#include "lock/machine/lease_pack.h"

#include <assert.h>

#include "net/base/assert.h"
#include "net/base/moment.h"

/* For INT64_MIN and HF_NEVER. */
#define RELATIVE_MIN INT32_MIN
#define RELATIVE_NEVER INT32_MAX
/* The time of the hold is not counted. */
#define HELD_UNKNOWN UINT32_MAX

static_assert(sizeof(struct hf_lease_packed) == 48, "a held lock takes at most 256 bytes");

/* ---- moments ---- */

static bool pack_moment(int32_t *out, int64_t ms, int64_t base_ms)
{
    int64_t by = ms - (ms == INT64_MIN || ms == HF_NEVER ? 0 : base_ms);

    if (ms == INT64_MIN)
        *out = RELATIVE_MIN;
    else if (ms == HF_NEVER)
        *out = RELATIVE_NEVER;
    else if (by <= RELATIVE_MIN || by >= RELATIVE_NEVER)
        return false;
    else
        *out = (int32_t)by;
    return true;
}

static int64_t unpack_moment(int32_t relative, int64_t base_ms)
{
    if (relative == RELATIVE_MIN)
        return INT64_MIN;
    return relative == RELATIVE_NEVER ? HF_NEVER : base_ms + relative;
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
    return l->state != LEASE_RELEASING && l->hold_count == 1 && !l->has_pending_renewal_or_look &&
           l->max_hold_until_ms == HF_NEVER && l->last_failed_renewal_ms <= l->next_renewal_ms &&
           hf_claims_are_settled(&l->claims) && fits_32_bits(l->claims.answered_lease_ms) &&
           l->claims.answered_stream <= UINT32_MAX &&
           fits_32_bits(l->claims.owner_lease_ms);
}

/* PACK-3 */
static uint32_t held_ms_at_last_proof(const struct hf_lease *l)
{
    int64_t ms;

    if (l->granted_ms == INT64_MIN)
        return HELD_UNKNOWN;
    ms = hf_max_ms(l->claims.proved_held_at_ms - l->granted_ms, 0);
    return ms < HELD_UNKNOWN ? (uint32_t)ms : HELD_UNKNOWN - 1;
}

static bool pack_moments(struct hf_lease_packed *p, const struct hf_lease *l)
{
    int64_t base_ms = l->claims.proved_held_at_ms;

    *p = (struct hf_lease_packed){.proved_held_at_ms = base_ms,
                                  .stream = (uint32_t)l->claims.answered_stream,
                                  .held_ms = held_ms_at_last_proof(l),
                                  .answered_lease_ms = (uint32_t)l->claims.answered_lease_ms,
                                  .owner_lease_ms = (uint32_t)l->claims.owner_lease_ms,
                                  .state = (uint8_t)l->state,
                                  .loss_reason = (uint8_t)l->loss_reason,
                                  .is_renewed_by_watchdog = l->is_renewed_by_watchdog,
                                  .is_look_enough_for_early_check =
                                      l->is_look_enough_for_early_check};
    return pack_moment(&p->next_renewal, l->next_renewal_ms, base_ms) &&
           pack_moment(&p->early_check, l->early_check_ms, base_ms) &&
           pack_moment(&p->safe_without_last_reply, l->safe_without_last_reply_ms, base_ms) &&
           pack_moment(&p->proved_without_last_reply, l->proved_without_last_reply_ms, base_ms) &&
           pack_moment(&p->doubted_safe_until, l->doubted_safe_until_ms, base_ms);
}

/* PACK-1: what decides about a hold is the same after it was packed. */
static bool is_lease_same_after_unpack(const struct hf_lease_packed *p, const struct hf_lease *l)
{
    struct hf_lease again;

    hf_lease_unpack(&again, p, l->watchdog_ms);
    return again.state == l->state && again.loss_reason == l->loss_reason &&
           again.hold_count == l->hold_count &&
           again.is_renewed_by_watchdog == l->is_renewed_by_watchdog &&
           again.claims.end_ms == l->claims.end_ms &&
           hf_lease_next_ms(&again) == hf_lease_next_ms(l) &&
           hf_lease_safe_until_ms(&again) == hf_lease_safe_until_ms(l) &&
           hf_lease_proved_ms(&again) == hf_lease_proved_ms(l);
}

bool hf_lease_pack(struct hf_lease_packed *p, const struct hf_lease *l)
{
    if (!may_be_packed(l) || !pack_moments(p, l))
        return false;
    HF_ASSERT(is_lease_same_after_unpack(p, l));
    return true;
}

void hf_lease_unpack(struct hf_lease *l, const struct hf_lease_packed *p,
                     int64_t watchdog_ms)
{
    int64_t base_ms = p->proved_held_at_ms;

    hf_lease_init(l, watchdog_ms);
    l->state = (enum hf_lease_state)p->state;
    l->loss_reason = (enum hf_lost)p->loss_reason;
    l->is_renewed_by_watchdog = p->is_renewed_by_watchdog;
    l->hold_count = 1;
    l->granted_ms = p->held_ms == HELD_UNKNOWN ? INT64_MIN : base_ms - p->held_ms;
    l->next_renewal_ms = unpack_moment(p->next_renewal, base_ms);
    l->early_check_ms = unpack_moment(p->early_check, base_ms);
    l->is_look_enough_for_early_check = p->is_look_enough_for_early_check;
    l->safe_without_last_reply_ms = unpack_moment(p->safe_without_last_reply, base_ms);
    l->proved_without_last_reply_ms = unpack_moment(p->proved_without_last_reply, base_ms);
    l->doubted_safe_until_ms = unpack_moment(p->doubted_safe_until, base_ms);
    hf_claims_restore(&l->claims, base_ms, p->answered_lease_ms, p->owner_lease_ms, p->stream);
}
