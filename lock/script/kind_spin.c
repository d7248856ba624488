/* The spin lock: Redisson's RSpinLock. On the server it is a reentrant lock, so
 * the two exclude each other. Redisson's release of it publishes nothing, and
 * its waiters listen to nothing. Ours listen to nothing either (WAIT-9), but a
 * release of ours publishes: waiters of spin locks do not hear it, and it wakes
 * waiters for a reentrant lock of the name, which Redisson leaves to the
 * TTL. Source: WIRE 9.2. */
/* Tests: tests/live/kind/test_lock_spin.c. */
#include "lock/script/kind.h"

#define MEMBERS_OF_BOTH_KINDS \
    .id = HF_KIND_SPIN, .is_reentrant = true, .channel_prefix = "redisson_lock__channel", \
    .notification_payload = "0", .owner_suffix = "", .waiters_poll = true

const struct hf_kind hf_kind_spin = {
    MEMBERS_OF_BOTH_KINDS,
    .key_names = {KIND_QUEUE_KEY},
    KIND_STEPS_OF_PLAIN(0, ),
};

const struct hf_kind hf_kind_fenced_spin = {
    MEMBERS_OF_BOTH_KINDS,
    .key_names = {KIND_TOKEN_COUNTER_KEY, KIND_QUEUE_KEY},
    KIND_STEPS_OF_PLAIN(1, KIND_ISSUES_TOKENS(1)),
    KIND_READS_TOKEN_COUNTER(1),
};
