/* A permit of a permit-expirable semaphore: Redisson's RPermitExpirableSemaphore. For its
 * owner it is a lock that as many owners may hold as there are permits: it has a lease, and is
 * renewed and lost like any other hold. Source: WIRE 16.
 *
 * PERMIT-1  The key contains the number of available permits, and a sorted set contains the
 *           permits in use with the time at which each expires. An expired permit is
 *           available again only when it was removed from that set. An acquire that finds too
 *           few available permits does this.
 * PERMIT-2  A permit id has 16 bytes, as Redisson's: the scripts derive it from the owner
 *           field, which belongs to one hold.
 * PERMIT-3  All times are those of the server. Redisson uses the clock of its machine: if it
 *           is fast, Redisson removes permits that have not expired, and the owner learns of
 *           it at the next renewal.
 * PERMIT-4  Renewals name only the sorted set: the permits are on the same node, also while
 *           their slot moves. */
/* Tests: tests/live/kind/test_permits.c. */
#include "lock/script/kind.h"

const struct hf_kind hf_kind_permit = {
    .id = HF_KIND_PERMIT,
    .noun = "semaphore",
    .unavailable_text = "timed out waiting for a permit",
    .channel_prefix = "redisson_sc",
    .owner_suffix = "",
    .may_have_several_holders = true,
    .stores_only_permit_ids = true,
    .key_names = {":timeout"},
    .hold_key = "holdfast_answer",
    .steps = {
        [STEP_ACQUIRE] = {.script = &hf_script_permit_acquire, .keys_count = 1},
        [STEP_RELEASE] = {.script = &hf_script_permit_release, .keys_count = 1},
        [STEP_RENEW] = {.script = &hf_script_permit_renew, .keys_count = 1,
                        .is_without_name = true, .reads_key_last = true},
        [STEP_EXTEND] = {.script = &hf_script_permit_extend, .keys_count = 1,
                         .is_without_name = true},
        [STEP_FORCE_RELEASE] = {.script = &hf_script_permit_force_release, .keys_count = 1},
        [STEP_INSPECT] = {.script = &hf_script_permit_inspect, .keys_count = 1},
        [STEP_COUNTER_SET] = {.script = &hf_script_count_set, .takes_hold_key = true,
                      .side_name = ""},
        [STEP_COUNTER_RESIZE] = {.script = &hf_script_permit_set, .keys_count = 1,
                                 .takes_hold_key = true},
        [STEP_COUNTER_READ] = {.script = &hf_script_permit_read, .keys_count = 1},
    },
};
