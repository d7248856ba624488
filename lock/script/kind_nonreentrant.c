/* The non-reentrant lock: Redisson's, since 4.4.0. On the server it is a reentrant lock
 * with a hold count of 1, so the two kinds exclude and wake each other. The scripts are
 * the same: an owner field belongs to one hold (names.h), so an existing field was set
 * by this very acquire, which was sent again. An acquire by an owner that holds the
 * lock is detected before a request is sent. Source: WIRE 9.1. */
/* Tests: tests/live/kind/test_lock_nonreentrant.c. */
#include "lock/script/kind.h"

#define MEMBERS_OF_BOTH_KINDS \
    .id = HF_KIND_NONREENTRANT, .channel_prefix = "redisson_lock__channel", \
    .notification_payload = "0", .owner_suffix = ""

const struct hf_kind hf_kind_nonreentrant = {
    MEMBERS_OF_BOTH_KINDS,
    .key_names = {KIND_QUEUE_KEY},
    KIND_STEPS_OF_PLAIN(0, ),
};

const struct hf_kind hf_kind_fenced_nonreentrant = {
    MEMBERS_OF_BOTH_KINDS,
    .key_names = {KIND_TOKEN_COUNTER_KEY, KIND_QUEUE_KEY},
    KIND_STEPS_OF_PLAIN(1, KIND_ISSUES_TOKENS(1)),
    KIND_READS_TOKEN_COUNTER(1),
};
