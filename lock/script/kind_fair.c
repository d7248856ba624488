/* The fair lock: Redisson's RFairLock. A reentrant lock whose waiters, of all
 * processes, are granted in the order in which the server heard of them.
 * Source: WIRE 11.
 *
 * FAIR-1  Each waiter stands in the server's queue under the owner field by
 *         which it would hold the lock, asks for itself, and listens on a
 *         channel of its own: a release tells the head of the queue alone.
 * FAIR-2  A place has a time until which it is honoured, by the server's clock:
 *         the waiter's place_ms, behind that of the one before it: its wait and
 *         a third of the watchdog's time or, if that is shorter, the watchdog's
 *         time. A waiter that asks (wait.h, WAIT-4: each third) prolongs it; one
 *         that does not ask again, for its wait is short, keeps it until its
 *         wait is over, though those before it were granted or left. So one that
 *         died costs those behind it no more than that, whatever the lock's TTL
 *         was. (Redisson adds the TTL, for its waiters do not ask again.)
 * FAIR-3  A grant, or a waiter that leaves, takes what is left of its place off
 *         those behind it, but not below the floor: three quarters of that place
 *         or, if that is longer, half of the watchdog's time. Each
 *         asks again within a third of the watchdog's time, or its wait is over
 *         by then (FAIR-2).
 * FAIR-6  When a Redisson waiter is granted the lock or leaves, it takes its whole
 *         wait off the places behind it, also if the lock was held for longer than
 *         that. So each acquire of a waiter keeps its place for place_ms beyond all
 *         that the Redisson waiters before it may take off; and, while the lock is
 *         held, it keeps the places of Redisson's waiters, which do not prolong them
 *         (fair_places.lua). While the lock is free, the first place is kept for
 *         place_ms at most, Redisson's for 15 s: its waiter is woken, and a dead one
 *         must not keep the lock from others. tests/exhaust/fair.c tries the orders.
 * FAIR-7  A script processes 200 places at most; a queue that is longer is processed
 *         by the next ones.
 * FAIR-4  A waiter that gives up is released like a lock that nobody here holds
 *         (orphan.c), and leaves the queue by that; if the lock is free, the
 *         new head is told.
 * FAIR-5  While the lock is free and it is another's turn, the answer names the
 *         head, and a time to wait that is never 0. A head that is ours, and
 *         that no call has, is a ghost (ORPHAN-3). */
/* Tests: tests/live/test_lock_fair.c, tests/live/test_fair_queue.c,
 *        tests/exhaust/fair.c. */
#include "lock/script/kind.h"

#define QUEUE "redisson_lock_queue", "redisson_lock_timeout"

#define WHAT_ALL_ARE \
    .channel = "redisson_lock__channel", .payload = "0", .owner_suffix = "", \
    .waiters_queue = true

#define STEPS_OF(...) \
    .steps = { \
        [STEP_ACQUIRE] = {.script = &hf_script_fair_acquire, \
                          .takes_place = true, .takes_silence = true, \
                          __VA_ARGS__}, \
        [STEP_RELEASE] = {.script = &hf_script_fair_release, .keys = 2, \
                          .takes_place = true}, \
        [STEP_RENEW] = {.script = &hf_script_renew}, \
        [STEP_EXTEND] = {.script = &hf_script_extend}, \
        [STEP_FORCE] = {.script = &hf_script_force_release, .keys = 2}, \
        [STEP_INSPECT] = {.script = &hf_script_inspect}, \
        [STEP_DROP] = {.script = &hf_script_fair_drop, .keys = 2}, \
    }

const struct hf_kind hf_kind_fair = {
    .id = HF_KIND_FAIR,
    .reenters = true,
    WHAT_ALL_ARE,
    .keys = {QUEUE},
    STEPS_OF(.keys = 2),
};

const struct hf_kind hf_kind_fenced_fair = {
    .id = HF_KIND_FAIR,
    .reenters = true,
    WHAT_ALL_ARE,
    .keys = {QUEUE, KIND_COUNTER},
    STEPS_OF(KIND_NUMBERS(3)),
    KIND_READS_COUNTER(3),
};

/* An owner that asks for what it holds is refused. */
const struct hf_kind hf_kind_nonreentrant_fair = {
    .id = HF_KIND_NONREENTRANT_FAIR,
    WHAT_ALL_ARE,
    .keys = {QUEUE},
    STEPS_OF(.keys = 2),
};

const struct hf_kind hf_kind_fenced_nonreentrant_fair = {
    .id = HF_KIND_NONREENTRANT_FAIR,
    WHAT_ALL_ARE,
    .keys = {QUEUE, KIND_COUNTER},
    STEPS_OF(KIND_NUMBERS(3)),
    KIND_READS_COUNTER(3),
};
