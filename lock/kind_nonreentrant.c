/* The non-reentrant lock: Redisson's, since 4.4.0. On the server it is a
 * reentrant lock with a hold count of 1, so the two kinds exclude and wake each
 * other. The scripts are the same: an owner field is of one hold (names.h), so
 * one that is there already was set by this very acquire, which was sent again.
 * That an owner asks for what it holds is seen before anything is sent. Source:
 * WIRE 9.1. */
#include "lock/kind.h"

const struct hf_kind hf_kind_nonreentrant = {
    .id = HF_KIND_NONREENTRANT,
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
