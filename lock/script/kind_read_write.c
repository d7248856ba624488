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
    .channel_prefix = CHANNEL,
    .notification_payload = "0", /* only writers can be waiting */
    .owner_suffix = "",
    .may_have_several_holders = true,
    .other_side = &hf_kind_write,
    .may_join_other_side = true,
    .hold_key = HF_HOLD_KEY,
    .steps = {
        [STEP_ACQUIRE] = {.script = &hf_script_read_acquire, .reads_key_last = true,
                          .derived_keys = HF_DERIVES_OWN,
                          .takes_hold_key = true, .takes_joined_field = true},
        [STEP_RELEASE] = {.script = &hf_script_read_release,
                          .derived_keys = HF_DERIVES_ALL, .takes_hold_key = true},
        [STEP_RENEW] = {.script = &hf_script_read_renew,
                        .derived_keys = HF_DERIVES_OWN, .takes_hold_key = true,
                        .reads_key_last = true},
        [STEP_EXTEND] = {.script = &hf_script_read_extend,
                         .derived_keys = HF_DERIVES_OWN, .takes_hold_key = true},
        [STEP_FORCE_RELEASE] = {.script = &hf_script_rw_force_release, .side_name = "read"},
        [STEP_INSPECT] = KIND_INSPECT_STEP,
    },
};

#define MEMBERS_OF_WRITER_KINDS \
    .id = HF_KIND_WRITE, .is_reentrant = true, .channel_prefix = CHANNEL, \
    .notification_payload = "1", /* readers may all come */ \
    .owner_suffix = ":write", .other_side = &hf_kind_read

#define STEPS_OF_WRITER_KINDS(...) \
    .steps = { \
        [STEP_ACQUIRE] = {.script = &hf_script_write_acquire, .reads_key_last = true, \
                          __VA_ARGS__}, \
        [STEP_RELEASE] = {.script = &hf_script_write_release, \
                          .derived_keys = HF_DERIVES_ALL}, \
        [STEP_RENEW] = {.script = &hf_script_renew, .reads_key_last = true}, \
        [STEP_EXTEND] = {.script = &hf_script_extend, .side_name = "write"}, \
        [STEP_FORCE_RELEASE] = {.script = &hf_script_rw_force_release, \
                                .side_name = "write"}, \
        [STEP_INSPECT] = KIND_INSPECT_STEP, \
    }

const struct hf_kind hf_kind_write = {
    MEMBERS_OF_WRITER_KINDS,
    STEPS_OF_WRITER_KINDS(),
};

const struct hf_kind hf_kind_fenced_write = {
    MEMBERS_OF_WRITER_KINDS,
    .key_names = {KIND_TOKEN_COUNTER_KEY},
    STEPS_OF_WRITER_KINDS(KIND_ISSUES_TOKENS(1)),
    KIND_READS_TOKEN_COUNTER(1),
};
