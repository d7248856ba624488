/* A lease in less memory, while no command about its hold is pending: a fifth of the size of
 * struct hf_lease. Private to lock/.
 *
 * PACK-1  A lease that was packed and unpacked reacts to all later events as the lease itself
 *         would have, except that it no longer knows of a suspension (LEASE-5) that was noted
 *         before: hf_lease_note_sleep notes it again.
 * PACK-2  A lease is not packed while a command is pending or its outcome unknown, during a
 *         release, with a hold count other than 1 or a limit of the hold time, or if it is longer
 *         than 12 days, so that each later moment of it fits in 32 bits.
 * PACK-3  After 49 days the time since the grant is no longer known exactly: it then counts from
 *         the last reply, and 49 days. */
#ifndef HF_LEASE_PACK_H
#define HF_LEASE_PACK_H

#include "lock/machine/lease.h"

struct hf_lease_packed {
    int64_t proved_held_at_ms;  /* the moments below are relative to it */
    uint32_t stream;
    uint32_t held_ms;           /* from the grant until then; HELD_UNKNOWN */
    uint32_t answered_lease_ms;
    uint32_t owner_lease_ms;
    int32_t next_renewal;
    int32_t early_check;
    int32_t safe_without_last_reply;
    int32_t proved_without_last_reply;
    int32_t doubted_safe_until;
    uint8_t state;              /* enum hf_lease_state */
    uint8_t loss_reason;        /* enum hf_lost */
    bool is_renewed_by_watchdog;
    bool is_look_enough_for_early_check;
};

/* hf_lease_pack - writes the lease to *p. False: it cannot be packed now (PACK-2), and *p is
 *   undefined. */
bool hf_lease_pack(struct hf_lease_packed *p, const struct hf_lease *l);

/* hf_lease_unpack - restores a lease that was packed. */
void hf_lease_unpack(struct hf_lease *l, const struct hf_lease_packed *p,
                     int64_t watchdog_ms);

#endif
