/* The reentrant lock: Redisson's RLock; with a token, its RFencedLock. Source: WIRE
 * 8, 10. */
/* Tests: tests/live/lock/test_lock.c, tests/live/kind/test_lock_fenced.c. */
#include "lock/script/kind.h"

#define MEMBERS_OF_BOTH_KINDS \
    .is_reentrant = true, .channel_prefix = "redisson_lock__channel", .notification_payload = "0", \
    .owner_suffix = ""

const struct hf_kind hf_kind_reentrant = {
    .id = HF_KIND_PLAIN,
    MEMBERS_OF_BOTH_KINDS,
    .key_names = {KIND_QUEUE_KEY},
    KIND_STEPS_OF_PLAIN(0, ),
};

const struct hf_kind hf_kind_fenced = {
    .id = HF_KIND_FENCED,
    MEMBERS_OF_BOTH_KINDS,
    .key_names = {KIND_TOKEN_COUNTER_KEY, KIND_QUEUE_KEY},
    KIND_STEPS_OF_PLAIN(1, KIND_ISSUES_TOKENS(1)),
    KIND_READS_TOKEN_COUNTER(1),
};
