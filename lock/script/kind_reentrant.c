/* The reentrant lock: Redisson's RLock; with a token, its RFencedLock. Source: WIRE
 * 8, 10. */
/* Tests: tests/live/lock/test_lock.c, tests/live/kind/test_lock_fenced.c. */
#include "lock/script/kind.h"

#define WHAT_BOTH_ARE \
    .reenters = true, .channel = "redisson_lock__channel", .payload = "0", \
    .owner_suffix = ""

const struct hf_kind hf_kind_reentrant = {
    .id = HF_KIND_PLAIN,
    WHAT_BOTH_ARE,
    .keys = {KIND_QUEUE},
    KIND_STEPS_OF_PLAIN(0, ),
};

const struct hf_kind hf_kind_fenced = {
    .id = HF_KIND_FENCED,
    WHAT_BOTH_ARE,
    .keys = {KIND_COUNTER, KIND_QUEUE},
    KIND_STEPS_OF_PLAIN(1, KIND_NUMBERS(1)),
    KIND_READS_COUNTER(1),
};
