/* The count-down latch: Redisson's RCountDownLatch. Its key contains the remaining count; a
 * waiter changes nothing, so all waiters pass together. Source: WIRE 17.
 *
 * Redisson's waiters read the count only after the message that it has reached 0. holdfast's
 * read it after each message and every few seconds, so a latch that was deleted also lets
 * them pass. */
/* Tests: tests/live/kind/test_latch.c. */
#include "lock/script/kind.h"

const struct hf_kind hf_kind_latch = {
    .noun = "latch",
    .unavailable = "timed out waiting for the count to reach 0",
    .channel = "redisson_countdownlatch__channel__",
    .has_braced_channel = true,
    .payload = "0",
    .owner_suffix = "",
    .is_shared = true,
    .is_ownerless = true,
    .opens_for_all = true,
    .hold_key = "holdfast_answer",
    .steps = {
        [STEP_ACQUIRE] = {.script = &hf_script_latch_await, .reads_last = true},
        [STEP_ADD] = {.script = &hf_script_latch_count_down,
                      .takes_hold_key = true},
        [STEP_SET] = {.script = &hf_script_count_set,
                      .takes_hold_key = true, .side = "1"},
        [STEP_DELETE] = {.script = &hf_script_latch_delete,
                         .takes_hold_key = true, .side = "1"},
        [STEP_READ] = {.script = &hf_script_count_read, .side = "0"},
    },
};
