/* The fenced lock: Redisson's RFencedLock. A reentrant lock whose grants are
 * numbered; the number comes with the answer to an acquire (reply.h).
 * Source: WIRE 10. */
#include "lock/kind.h"

const struct hf_kind hf_kind_fenced = {
    .id = HF_KIND_FENCED,
    .reenters = true,
    .channel = "redisson_lock__channel",
    .payload = "0",
    .owner_suffix = "",
    .keys = {"redisson_lock_token"},
    .steps = {
        [STEP_ACQUIRE] = {.script = &hf_script_fenced_acquire, .keys = 1},
        [STEP_RELEASE] = {.script = &hf_script_release},
        [STEP_RENEW] = {.script = &hf_script_renew},
        [STEP_FORCE] = {.script = &hf_script_force_release},
        [STEP_INSPECT] = {.script = &hf_script_inspect},
    },
};
