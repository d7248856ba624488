/* A permit of a permit-expirable semaphore: Redisson's RPermitExpirableSemaphore.
 * For its owner it is a lock that as many may hold as there are permits: it has a
 * lease, is renewed and lost like any other hold. Source: WIRE 16.
 *
 * PERMIT-1  The key holds how many permits are available, a sorted set which are
 *           out, and until when. A permit that has lapsed is available again
 *           only when somebody has taken it out of that set. An acquire that
 *           finds too few does so.
 * PERMIT-2  A permit's id has 16 bytes, as Redisson's have: the scripts make it
 *           of the owner's field, which is of one hold.
 * PERMIT-3  All times are the server's. Redisson's are those of the machine that
 *           looks: one whose clock is fast takes away what has not lapsed yet,
 *           and the next renewal tells its owner.
 * PERMIT-4  Renewals name the sorted set alone: where it is, the permits are,
 *           also while their slot is on the move. */
/* Tests: tests/live/test_permits.c. */
#include "lock/script/kind.h"

const struct hf_kind hf_kind_permit = {
    .id = HF_KIND_PERMIT,
    .noun = "semaphore",
    .unavailable = "timed out waiting for a permit",
    .channel = "redisson_sc",
    .owner_suffix = "",
    .is_shared = true,
    .has_nameless_holders = true,
    .keys = {":timeout"},
    .hold_key = "holdfast_answer",
    .steps = {
        [STEP_ACQUIRE] = {.script = &hf_script_permit_acquire, .keys = 1},
        [STEP_RELEASE] = {.script = &hf_script_permit_release, .keys = 1},
        [STEP_RENEW] = {.script = &hf_script_permit_renew, .keys = 1,
                        .is_without_name = true},
        [STEP_EXTEND] = {.script = &hf_script_permit_extend, .keys = 1,
                         .is_without_name = true},
        [STEP_FORCE] = {.script = &hf_script_permit_force_release, .keys = 1},
        [STEP_INSPECT] = {.script = &hf_script_permit_inspect, .keys = 1},
        [STEP_SET] = {.script = &hf_script_count_set, .takes_hold_key = true,
                      .side = ""},
        [STEP_READ] = {.script = &hf_script_permit_read, .keys = 1},
    },
};
