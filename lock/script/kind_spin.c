/* The spin lock: Redisson's RSpinLock. On the server it is a reentrant lock, so
 * the two exclude each other. Redisson's release of it publishes nothing, and
 * its waiters listen to nothing. Ours listen to nothing either (WAIT-9), but a
 * release of ours publishes: waiters of spin locks do not hear it, and it wakes
 * waiters for a reentrant lock of the name, which Redisson leaves to the
 * TTL. Source: WIRE 9.2. */
/* Tests: tests/live/kind/test_lock_spin.c. */
#include "lock/script/kind.h"

#define WHAT_BOTH_ARE \
    .id = HF_KIND_SPIN, .is_reentrant = true, .channel = "redisson_lock__channel", \
    .payload = "0", .owner_suffix = "", .spins = true

const struct hf_kind hf_kind_spin = {
    WHAT_BOTH_ARE,
    .keys = {KIND_QUEUE_KEY},
    KIND_STEPS_OF_PLAIN(0, ),
};

const struct hf_kind hf_kind_fenced_spin = {
    WHAT_BOTH_ARE,
    .keys = {KIND_TOKEN_COUNTER_KEY, KIND_QUEUE_KEY},
    KIND_STEPS_OF_PLAIN(1, KIND_ISSUES_TOKENS(1)),
    KIND_READS_TOKEN_COUNTER(1),
};
