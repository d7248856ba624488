/* The read-write lock: Redisson's RReadWriteLock. Its two sides are two kinds of one name.
 * Several readers hold it together, a writer holds it alone; a writer may also read. Source:
 * WIRE 12.
 *
 * RW-1  A read hold is a field, and a key with its lease for each acquisition: a hold whose
 *       keys have all expired does not count.
 * RW-2  Both sides have one queue, in order of arrival: a reader that arrived after a writer
 *       waits for that writer. When a reader is granted the lock, the next waiter sends its
 *       request at once.
 * RW-3  A writer that reads does not enter the queue, because it would wait for itself.
 * RW-4  A reader that requests the write side would wait for itself, and is refused. */
/* Tests: tests/live/kind/test_lock_rw.c, tests/live/kind/test_rw_scripts.c. */
#include "lock/script/kind.h"

#define CHANNEL "redisson_rwlock"

const struct hf_kind hf_kind_read = {
    .id = HF_KIND_READ,
    .is_reentrant = true,
    .channel = CHANNEL,
    .payload = "0",             /* only writers can be waiting */
    .owner_suffix = "",
    .is_shared = true,
    .other = &hf_kind_write,
    .joins_other = true,
    .hold_key = HF_HOLD_KEY,
    .steps = {
        [STEP_ACQUIRE] = {.script = &hf_script_read_acquire, .reads_last = true,
                          .derives = HF_DERIVES_OWN,
                          .takes_hold_key = true, .takes_joined = true},
        [STEP_RELEASE] = {.script = &hf_script_read_release,
                          .derives = HF_DERIVES_ALL, .takes_hold_key = true},
        [STEP_RENEW] = {.script = &hf_script_read_renew,
                        .derives = HF_DERIVES_OWN, .takes_hold_key = true,
                        .reads_last = true},
        [STEP_EXTEND] = {.script = &hf_script_read_extend,
                         .derives = HF_DERIVES_OWN, .takes_hold_key = true},
        [STEP_FORCE_RELEASE] = {.script = &hf_script_rw_force_release, .side = "read"},
        [STEP_INSPECT] = KIND_INSPECT_STEP,
    },
};

#define WHAT_WRITERS_ARE \
    .id = HF_KIND_WRITE, .is_reentrant = true, .channel = CHANNEL, \
    .payload = "1", /* readers may all come */ \
    .owner_suffix = ":write", .other = &hf_kind_read

#define STEPS_OF_WRITERS(...) \
    .steps = { \
        [STEP_ACQUIRE] = {.script = &hf_script_write_acquire, .reads_last = true, \
                          __VA_ARGS__}, \
        [STEP_RELEASE] = {.script = &hf_script_write_release, \
                          .derives = HF_DERIVES_ALL}, \
        [STEP_RENEW] = {.script = &hf_script_renew, .reads_last = true}, \
        [STEP_EXTEND] = {.script = &hf_script_extend, .side = "write"}, \
        [STEP_FORCE_RELEASE] = {.script = &hf_script_rw_force_release, \
                                .side = "write"}, \
        [STEP_INSPECT] = KIND_INSPECT_STEP, \
    }

const struct hf_kind hf_kind_write = {
    WHAT_WRITERS_ARE,
    STEPS_OF_WRITERS(),
};

const struct hf_kind hf_kind_fenced_write = {
    WHAT_WRITERS_ARE,
    .keys = {KIND_TOKEN_COUNTER_KEY},
    STEPS_OF_WRITERS(KIND_ISSUES_TOKENS(1)),
    KIND_READS_TOKEN_COUNTER(1),
};
