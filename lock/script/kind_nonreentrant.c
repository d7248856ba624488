/* The non-reentrant lock: Redisson's, since 4.4.0. On the server it is a reentrant lock
 * with a hold count of 1, so the two kinds exclude and wake each other. The scripts are
 * the same: an owner field belongs to one hold (names.h), so an existing field was set
 * by this very acquire, which was sent again. An acquire by an owner that holds the
 * lock is detected before a request is sent. Source: WIRE 9.1. */
/* Tests: tests/live/kind/test_lock_nonreentrant.c. */
#include "lock/script/kind.h"

#define WHAT_BOTH_ARE \
    .id = HF_KIND_NONREENTRANT, .channel = "redisson_lock__channel", \
    .payload = "0", .owner_suffix = ""

const struct hf_kind hf_kind_nonreentrant = {
    WHAT_BOTH_ARE,
    .keys = {KIND_QUEUE_KEY},
    KIND_STEPS_OF_PLAIN(0, ),
};

const struct hf_kind hf_kind_fenced_nonreentrant = {
    WHAT_BOTH_ARE,
    .keys = {KIND_TOKEN_COUNTER_KEY, KIND_QUEUE_KEY},
    KIND_STEPS_OF_PLAIN(1, KIND_ISSUES_TOKENS(1)),
    KIND_READS_TOKEN_COUNTER(1),
};
