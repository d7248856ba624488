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
    .unavailable_text = "timed out waiting for the count to reach 0",
    .channel_prefix = "redisson_countdownlatch__channel__",
    .has_braced_channel = true,
    .notification_payload = "0",
    .owner_suffix = "",
    .may_have_several_holders = true,
    .is_ownerless = true,
    .grants_all_waiters = true,
    .hold_key = "holdfast_answer",
    .steps = {
        [STEP_ACQUIRE] = {.script = &hf_script_latch_await, .reads_key_last = true},
        [STEP_COUNTER_ADD] = {.script = &hf_script_latch_count_down,
                      .takes_hold_key = true},
        [STEP_COUNTER_SET] = {.script = &hf_script_count_set,
                      .takes_hold_key = true, .side_name = "1"},
        [STEP_COUNTER_DELETE] = {.script = &hf_script_latch_delete,
                         .takes_hold_key = true, .side_name = "1"},
        [STEP_COUNTER_READ] = {.script = &hf_script_count_read, .side_name = "0"},
    },
};
