/* The spin lock: Redisson's RSpinLock. On the server it is a reentrant lock, so
 * the two exclude each other. Redisson's release of it publishes nothing, and
 * its waiters listen to nothing. Ours listen to nothing either (WAIT-9), but a
 * release of ours publishes: to those who spin that is nothing, and it wakes
 * those who wait for a reentrant lock of the name, which Redisson leaves to the
 * TTL. Source: WIRE 9.2. */
#include "lock/kind.h"

const struct hf_kind hf_kind_spin = {
    .id = HF_KIND_SPIN,
    .reenters = true,
    .channel = "redisson_lock__channel",
    .payload = "0",
    .owner_suffix = "",
    .spins = true,
    .steps = {
        [STEP_ACQUIRE] = {.script = &hf_script_acquire},
        [STEP_RELEASE] = {.script = &hf_script_release},
        [STEP_RENEW] = {.script = &hf_script_renew},
        [STEP_FORCE] = {.script = &hf_script_force_release},
        [STEP_INSPECT] = {.script = &hf_script_inspect},
    },
};
