/* The value lock: SET NX PX, and compare and delete. A string with a TTL whose value is
 * that of the holder: the lock of redis-py, of redsync and node-redlock on one server,
 * and of many others. It excludes them, and they exclude it. It has no re-entry and no
 * notification: its waiters poll (WAIT-9), as those of the others do. Source: REDLOCK,
 * a single instance. */
/* Tests: tests/live/kind/test_lock_value.c. */
#include "lock/script/kind.h"

/* No other kind has this channel, so it shares no queue. */
#define MEMBERS_OF_BOTH_KINDS \
    .id = HF_KIND_VALUE, .channel_prefix = "", .notification_payload = "", .owner_suffix = "", \
    .waiters_poll = true, .publishes_nothing = true, .accepts_any_holder_text = true

#define STEPS_OF_VALUE_KIND(...) \
    .steps = { \
        [STEP_ACQUIRE] = {.script = &hf_script_value_acquire, .reads_key_last = true, \
                          __VA_ARGS__}, \
        [STEP_RELEASE] = {.script = &hf_script_value_release}, \
        [STEP_RENEW] = {.script = &hf_script_value_renew, .reads_key_last = true}, \
        [STEP_EXTEND] = {.script = &hf_script_value_extend}, \
        [STEP_FORCE_RELEASE] = {.script = &hf_script_value_force_release}, \
        [STEP_INSPECT] = {.script = &hf_script_value_inspect}, \
    }

const struct hf_kind hf_kind_value = {
    MEMBERS_OF_BOTH_KINDS,
    STEPS_OF_VALUE_KIND(),
};

const struct hf_kind hf_kind_fenced_value = {
    MEMBERS_OF_BOTH_KINDS,
    .key_names = {KIND_TOKEN_COUNTER_KEY},
    STEPS_OF_VALUE_KIND(KIND_ISSUES_TOKENS(1)),
    KIND_READS_TOKEN_COUNTER(1),
};
