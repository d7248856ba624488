/* The reentrant lock: Redisson's RLock. Source: WIRE 8. */
#include "lock/kind.h"

const struct hf_kind hf_kind_reentrant = {
    .id = HF_KIND_PLAIN,
    .reenters = true,
    .channel = "redisson_lock__channel",
    .payload = "0",
    .owner_suffix = "",
    .steps = {
        [STEP_ACQUIRE] = {.script = &hf_script_acquire},
        [STEP_RELEASE] = {.script = &hf_script_release},
        [STEP_RENEW] = {.script = &hf_script_renew},
        [STEP_FORCE] = {.script = &hf_script_force_release},
        [STEP_INSPECT] = {.script = &hf_script_inspect},
    },
};
