/* The fair lock: Redisson's RFairLock. A reentrant lock that is granted to the waiters of all
 * processes in the order in which their requests reached the server. Source: WIRE 11.
 *
 * Terms. Place: the entry of a waiter in the queue on the server, with the time until which
 * it is valid. Head: the first waiter of the queue.
 *
 * FAIR-1  Each waiter is in the server's queue with the owner field that its hold would have,
 *         sends its own requests, and listens on its own channel: a release notifies only
 *         the head.
 * FAIR-2  A place is valid for place_ms, by the server's clock, after the end of the place
 *         before it. place_ms is the wait of the call and a third of the watchdog timeout, or
 *         the watchdog timeout if that is shorter. Each request of a waiter (wait.h, WAIT-4:
 *         after each third) extends its place. A waiter that sends no further request,
 *         because its wait is short, keeps its place until its wait ends, although those
 *         before it were granted or left. So a waiter that died delays those after it by no
 *         more than that, whatever the TTL of the lock was. (Redisson adds the TTL, because
 *         its waiters send no further requests.)
 * FAIR-3  A waiter that is granted the lock or leaves subtracts the rest of its place from
 *         those after it, but not below the floor: three quarters of that place, or half of
 *         the watchdog timeout if that is longer. Each of them sends a request within a
 *         third of the watchdog timeout, or its wait ends by then (FAIR-2). If its connection
 *         is dead, and the next one is too, it sends the request again two silences later
 *         (LINK-8, LINK-10): with a short watchdog timeout, the floor includes these.
 * FAIR-6  When a waiter of Redisson is granted the lock or leaves, it subtracts its whole
 *         wait from the places after it, even if the lock was held for longer. So each
 *         request of a holdfast waiter extends its place to place_ms beyond all that the
 *         Redisson waiters before it may subtract; and, while the lock is held, it extends
 *         the places of Redisson's waiters, which do not extend them (fair_places.lua).
 *         While the lock is free, the first place is kept for at most place_ms, or 15 s for
 *         Redisson's: its waiter is woken, and a dead waiter must not keep the lock from
 *         others. tests/exhaust/fair.c tries the orders.
 * FAIR-7  A script processes at most 200 places; the next scripts process the rest of a
 *         longer queue.
 * FAIR-4  A waiter that is cancelled is released like an orphaned lock (orphan.c), and leaves
 *         the queue by that; if the lock is free, the new head is notified.
 * FAIR-5  While the lock is free and it is another waiter's turn, the reply names the head and
 *         a time to wait that is never 0. A head with the UUID of this client that belongs
 *         to none of its calls is a late orphan (ORPHAN-3). */
/* Tests: tests/live/kind/test_lock_fair.c, tests/live/kind/test_fair_queue.c,
 *        tests/exhaust/fair.c. */
#include "lock/script/kind.h"

#define KEYS_OF_QUEUE KIND_QUEUE_KEY, HF_PLACES_KEY

#define MEMBERS_OF_ALL_FAIR_KINDS \
    .channel_prefix = "redisson_lock__channel", .notification_payload = "0", .owner_suffix = "", \
    .has_server_queue = true

#define STEPS_OF_FAIR_KIND(...) \
    .steps = { \
        [STEP_ACQUIRE] = {.script = &hf_script_fair_acquire, \
                          .takes_queue_place = true, .takes_acquire_interval = true, \
                          __VA_ARGS__}, \
        [STEP_RELEASE] = {.script = &hf_script_fair_release, .keys_count = 2, \
                          .takes_queue_place = true}, \
        [STEP_RENEW] = {.script = &hf_script_renew, .reads_key_last = true}, \
        [STEP_EXTEND] = {.script = &hf_script_extend}, \
        [STEP_FORCE_RELEASE] = {.script = &hf_script_force_release, .keys_count = 2}, \
        [STEP_INSPECT] = KIND_INSPECT_STEP, \
        [STEP_DROP_PLACES] = {.script = &hf_script_fair_drop, .keys_count = 2}, \
    }

const struct hf_kind hf_kind_fair = {
    .id = HF_KIND_FAIR,
    .is_reentrant = true,
    MEMBERS_OF_ALL_FAIR_KINDS,
    .key_names = {KEYS_OF_QUEUE},
    STEPS_OF_FAIR_KIND(.keys_count = 2),
};

const struct hf_kind hf_kind_fenced_fair = {
    .id = HF_KIND_FAIR,
    .is_reentrant = true,
    MEMBERS_OF_ALL_FAIR_KINDS,
    .key_names = {KEYS_OF_QUEUE, KIND_TOKEN_COUNTER_KEY},
    STEPS_OF_FAIR_KIND(KIND_ISSUES_TOKENS(3)),
    KIND_READS_TOKEN_COUNTER(3),
};

/* An owner that holds the lock cannot acquire it again. */
const struct hf_kind hf_kind_nonreentrant_fair = {
    .id = HF_KIND_NONREENTRANT_FAIR,
    MEMBERS_OF_ALL_FAIR_KINDS,
    .key_names = {KEYS_OF_QUEUE},
    STEPS_OF_FAIR_KIND(.keys_count = 2),
};

const struct hf_kind hf_kind_fenced_nonreentrant_fair = {
    .id = HF_KIND_NONREENTRANT_FAIR,
    MEMBERS_OF_ALL_FAIR_KINDS,
    .key_names = {KEYS_OF_QUEUE, KIND_TOKEN_COUNTER_KEY},
    STEPS_OF_FAIR_KIND(KIND_ISSUES_TOKENS(3)),
    KIND_READS_TOKEN_COUNTER(3),
};
