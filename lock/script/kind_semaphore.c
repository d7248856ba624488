/* The semaphore: Redisson's RSemaphore. Its key holds how many permits are
 * available; nobody owns one, so any process may give back what was taken,
 * and a holder that dies keeps its permits. Source: WIRE 15.
 *
 * COUNT-1  Neither taking nor adding may be executed twice, and the client may
 *          have to ask twice. So the script keeps what it answered to a
 *          question, and repeats that. Once the client has the answer, it
 *          deletes it; else it ends after ANSWER_KEPT_MS, long after the client has
 *          stopped to send the request (ASKED_AGAIN_MS).
 * COUNT-2  The question of a call that gives up is undone (orphan.c): what it took is
 *          given back, and it takes nothing later. So is the question of a waiter that
 *          is as old as ASKED_AGAIN_MS, before a new one is sent.
 * COUNT-3  In line the fewest permits come first: if these are not available,
 *          none behind them are either, so it is enough that the first asks
 *          (WAIT-1). */
/* Tests: tests/live/test_semaphore.c. */
#include "lock/script/kind.h"

const struct hf_kind hf_kind_semaphore = {
    .noun = "semaphore",
    .unavailable = "timed out waiting for enough permits",
    .channel = "redisson_sc",
    .owner_suffix = "",
    .is_shared = true,
    .is_ownerless = true,
    .hold_key = "holdfast_answer",
    .steps = {
        [STEP_ACQUIRE] = {.script = &hf_script_semaphore_acquire,
                          .takes_hold_key = true},
        [STEP_RELEASE] = {.script = &hf_script_semaphore_undo,
                          .takes_hold_key = true},
        [STEP_ADD] = {.script = &hf_script_semaphore_release,
                      .takes_hold_key = true},
        [STEP_SET] = {.script = &hf_script_count_set,
                      .takes_hold_key = true, .side = ""},
        [STEP_READ] = {.script = &hf_script_count_read},
    },
};
