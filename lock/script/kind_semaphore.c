/* The semaphore: Redisson's RSemaphore. Its key contains the number of available permits.
 * Permits have no owner: any process may release them, and a process that dies does not
 * release those that it took. Source: WIRE 15.
 *
 * COUNT-1  Taking or adding permits must not be executed twice, but the client may have to
 *          send the request twice. So the script records its reply to a request, and repeats
 *          that reply. When the client has received it, it deletes the record; otherwise the
 *          record expires after STORED_REPLY_TTL_MS, long after the client has stopped sending the
 *          request (REQUEST_REPEAT_MS).
 * COUNT-2  The request of a call that is cancelled is undone (orphan.c): the permits that it
 *          took are released, and it takes none later. The same happens to the request of a
 *          waiter that is as old as REQUEST_REPEAT_MS, before a new one is sent.
 * COUNT-3  In the queue, the smallest number of permits comes first: if that number is not
 *          available, no other request can succeed, so only the first waiter sends requests
 *          (WAIT-1). */
/* Tests: tests/live/kind/test_semaphore.c. */
#include "lock/script/kind.h"

const struct hf_kind hf_kind_semaphore = {
    .noun = "semaphore",
    .unavailable_text = "timed out waiting for enough permits",
    .channel_prefix = "redisson_sc",
    .owner_suffix = "",
    .may_have_several_holders = true,
    .is_ownerless = true,
    .key_names = {":timeout"},  /* of expirable permits, which have this kind's key */
    .hold_key = "holdfast_answer",
    .steps = {
        [STEP_ACQUIRE] = {.script = &hf_script_semaphore_acquire, .reads_key_last = true,
                          .takes_hold_key = true},
        [STEP_RELEASE] = {.script = &hf_script_semaphore_undo,
                          .takes_hold_key = true},
        [STEP_COUNTER_ADD] = {.script = &hf_script_semaphore_release,
                      .takes_hold_key = true, .side_name = ""},
        [STEP_COUNTER_ADD_EXISTING] = {.script = &hf_script_semaphore_release,
                               .takes_hold_key = true, .side_name = "1"},
        [STEP_COUNTER_REDUCE] = {.script = &hf_script_semaphore_reduce,
                         .takes_hold_key = true},
        [STEP_COUNTER_SET] = {.script = &hf_script_count_set,
                      .takes_hold_key = true, .side_name = ""},
        [STEP_COUNTER_DELETE] = {.script = &hf_script_semaphore_delete, .keys_count = 1,
                         .takes_hold_key = true},
        [STEP_COUNTER_READ] = {.script = &hf_script_count_read},
    },
};
