/* The memory of held locks, which is freed when they are idle (hold_work.h, shrink.h), and what
 * they still can do. */
#include "tests/live/test_lock.h"
#include "tests/support/lateness.h"
#include "tests/support/memory.h"
#include "tests/support/one_server.h"

#define HOLDS 3000              /* so many that the memory of the connection is little */
#define HOLD_MAX 256            /* bytes of a plain hold whose name has 14 bytes */
#define IDLE_MAX 11030          /* of the first hold, without the queue of its lock */

static struct memory memory;
static struct hf_client *client;
static struct hf_lock *locks[HOLDS];

static void start_with(int64_t watchdog_ms)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    start_server();
    memory_init(&memory);
    client_options(&o, url, server_port(server));
    o.mem = &memory.hook;
    o.watchdog_ms = watchdog_ms;
    client = client_with(&o);
}

static void start(void)
{
    start_with(90000);
}

static void stop(void)
{
    hf_client_free(client);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    stop_server();
}

static size_t live_bytes(void)
{
    return memory_counts(&memory).live_bytes;
}

static struct hf_lock *lock_number(int i)
{
    char name[15];

    (void)snprintf(name, sizeof name, "held-lock-%04d", i);
    return lock_of(client, name);
}

static void await_bytes(size_t most)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (live_bytes() > most) {
        ck_assert_msg(local_now_ms() < deadline_ms, "%zu bytes, and not %zu", live_bytes(),
                      most);
        local_poll_rest();
    }
}

static void hold_many(const struct hf_acquire_options *o)
{
    for (int i = 0; i < HOLDS; i++) {
        locks[i] = lock_number(i);
        ck_assert_ok(hf_lock_acquire(locks[i], o, NULL));
    }
}

static void release_many(void)
{
    for (int i = 0; i < HOLDS; i++) {
        ck_assert_ok(hf_lock_release(locks[i], 1, NULL));
        hf_lock_free(locks[i]);
    }
}

static struct hf_acquire_options options(void)
{
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = 1;
    return o;
}

/* With the loop's 8 KiB. */
START_TEST(an_idle_client_takes_at_most_32_kib)
{
    struct hf_error err;

    ck_assert_msg(hf_client_connect(client, &err) == HF_OK, "%s", err.text);
    await_bytes(32 << 10);
}
END_TEST

/* IDLE-2, SHRINK-1 */
START_TEST(idle_2_an_idle_hold_takes_at_most_256_bytes)
{
    struct hf_acquire_options o = options();
    size_t before = live_bytes();
    char text[HF_OWNER_TEXT_MAX], again[HF_OWNER_TEXT_MAX];

    hold_many(&o);
    (void)hf_lock_owner_text(locks[7], 1, text);
    await_bytes(before + HOLDS * HOLD_MAX);
    ck_assert_str_eq(hf_lock_owner_text(locks[7], 1, again), text);
    ck_assert_int_gt(hf_lock_safe_ms(locks[7], 1), 0);
    ck_assert_int_eq(hf_lock_safe_ms(locks[7], 2), INT64_MIN);
    release_many();
}
END_TEST

/* IDLE-1, SHRINK-2 */
START_TEST(idle_1_an_idle_hold_is_entered_again)
{
    struct hf_acquire_options o = options();
    size_t before = live_bytes();

    hold_many(&o);
    await_bytes(before + HOLDS * HOLD_MAX);
    ck_assert_ok(hf_lock_acquire(locks[3], &o, NULL));
    ck_assert_ok(hf_lock_release(locks[3], 1, NULL));
    await_bytes(before + HOLDS * HOLD_MAX);
    release_many();
}
END_TEST

/* IDLE-3 */
START_TEST(idle_3_an_idle_hold_is_released_without_memory)
{
    struct hf_acquire_options o = options();
    size_t before = live_bytes();

    hold_many(&o);
    await_bytes(before + HOLDS * HOLD_MAX);
    memory_fail_at(&memory, 1);
    ck_assert_ok(hf_lock_release(locks[0], 1, NULL));
    memory_fail_at(&memory, 0);
    ck_assert_ok(hf_lock_acquire(locks[0], &o, NULL));
    release_many();
}
END_TEST

static void await_renewals(uint64_t more)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;
    uint64_t wanted = stats_of(client).renewals + more;

    while (stats_of(client).renewals < wanted) {
        ck_assert_msg(local_now_ms() < deadline_ms, "no renewal came");
        local_poll_rest();
    }
}

/* IDLE-3: whichever allocation of a renewal fails, the hold is renewed. */
START_TEST(idle_3_a_renewal_without_memory_is_tried_again)
{
    struct hf_acquire_options o = options();

    hf_client_free(client);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    stop_server();
    start_with(9000);
    locks[0] = lock_number(0);
    ck_assert_ok(hf_lock_acquire(locks[0], &o, NULL));
    await_renewals(1);
    memory_fail_at(&memory, (uint64_t)_i);
    await_renewals(1);
    ck_assert(memory_has_failed(&memory));
    memory_fail_at(&memory, 0);
    ck_assert_ok(hf_lock_release(locks[0], 1, NULL));
    hf_lock_free(locks[0]);
}
END_TEST

static const struct {
    enum hf_lock_kind held, waited_for;
    const char *subscribed;
} sharers[] = {
    {HF_KIND_WRITE, HF_KIND_READ, "redisson_rwlock:{shared}"},
    {HF_KIND_READ, HF_KIND_WRITE, "redisson_rwlock:{shared}"},
    {HF_KIND_PLAIN, HF_KIND_NONREENTRANT, "redisson_lock__channel:{shared}"},
};

/* WAIT-6, where nobody hears of a release: the queue of an idle lock was freed, and a waiter of
 * another kind has made a new one. */
START_TEST(wait_6_a_lock_without_a_queue_wakes_waiters_of_another_kind)
{
    struct hf_acquire_options o = options(), waiting;
    struct diary d;
    struct hf_lock *held = lock_of_kind(client, sharers[_i].held, "shared");
    struct hf_lock *other = lock_of_kind(client, sharers[_i].waited_for, "shared");
    struct call call;
    int64_t released_ms;
    size_t before;

    ck_assert_str_eq(server_ask(server, "ACL SETUSER default -publish"), "OK");
    before = live_bytes();
    ck_assert_ok(hf_lock_acquire(held, &o, NULL));
    await_bytes(before + IDLE_MAX);
    waiting = diary_options(&d, 2);
    waiting.wait_ms = AWAIT_MS;
    call_acquire(&call, other, &waiting);
    note_await(&d.note, &d.waits, 1, "a wait");
    server_await(server, AWAIT_MS, sharers[_i].subscribed, "PUBSUB CHANNELS");
    while (stats_of(client).link.in_flight > 0)
        local_poll_rest();
    released_ms = local_now_ms();
    release(held, 1);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_within(released_ms, 2000);
    release(other, 2);
    hf_lock_free(held);
    hf_lock_free(other);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock/memory");
    TCase *c = tcase_create("memory");

    tcase_add_checked_fixture(c, start, stop);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, an_idle_client_takes_at_most_32_kib);
    tcase_add_test(c, idle_2_an_idle_hold_takes_at_most_256_bytes);
    tcase_add_test(c, idle_1_an_idle_hold_is_entered_again);
    tcase_add_test(c, idle_3_an_idle_hold_is_released_without_memory);
    tcase_add_loop_test(c, idle_3_a_renewal_without_memory_is_tried_again, 1, 2);
    tcase_add_loop_test(c, wait_6_a_lock_without_a_queue_wakes_waiters_of_another_kind, 0,
                        COUNT(sharers));
    suite_add_tcase(s, c);
    return suite_run(s);
}
