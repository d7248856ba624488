/* The reentrant lock: Redisson's RLock; with a token, its RFencedLock. Source: WIRE
 * 8, 10. */
/* Tests: tests/live/lock/test_lock.c, tests/live/kind/test_lock_fenced.c. */
#include "lock/script/kind.h"

#define WHAT_BOTH_ARE \
    .is_reentrant = true, .channel = "redisson_lock__channel", .payload = "0", \
    .owner_suffix = ""

const struct hf_kind hf_kind_reentrant = {
    .id = HF_KIND_PLAIN,
    WHAT_BOTH_ARE,
    .keys = {KIND_QUEUE_KEY},
    KIND_STEPS_OF_PLAIN(0, ),
};

const struct hf_kind hf_kind_fenced = {
    .id = HF_KIND_FENCED,
    WHAT_BOTH_ARE,
    .keys = {KIND_TOKEN_COUNTER_KEY, KIND_QUEUE_KEY},
    KIND_STEPS_OF_PLAIN(1, KIND_ISSUES_TOKENS(1)),
    KIND_READS_TOKEN_COUNTER(1),
};
