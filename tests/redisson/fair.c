/* Fair locks beside Redisson's: one queue. */
#include "tests/redisson/both.h"

#define NAME "fair:queue"
#define QUEUE "redisson_lock_queue:{fair:queue}"
#define PLACES "redisson_lock_timeout:{fair:queue}"

#define WAITERS 12
#define ROUNDS 5

static volatile hf_status ended[WAITERS];
#define UNDER_WAY ((hf_status)1)

static void note_end(void *status, hf_status how, const struct hf_error *err)
{
    (void)err;
    *(volatile hf_status *)status = how;
}

static void await_queue(int length)
{
    char expected[20];

    (void)snprintf(expected, sizeof expected, "%d", length);
    server_await(server, TOLD_MS, expected, "LLEN " QUEUE);
    server_await(server, TOLD_MS, expected, "ZCARD " PLACES);
}

static int64_t owner_of(int i)
{
    return 1000 + i;
}

/* Ours are the even ones; the others are threads of Redisson's. */
static int thread_of(int i)
{
    return (i + 1) / 2;
}
#define HOLDER 8

static void queue_up(struct hf_lock *lock, int i)
{
    struct hf_acquire_options o;

    if (i % 2) {
        driver_tell(java, thread_of(i), "acquire fair " NAME);
        return;
    }
    hf_acquire_options_init(&o);
    o.owner = owner_of(i);
    ended[i] = UNDER_WAY;
    ck_assert_int_eq(
        hf_lock_acquire_async(lock, &o, note_end, (void *)&ended[i]), HF_OK);
}

static void take_turn(struct hf_lock *lock, int i)
{
    int64_t deadline_ms = TOLD_MS;

    if (i % 2) {
        ck_assert_told("ok", thread_of(i));
        ck_assert_java("ok", thread_of(i), "unlock fair " NAME);
        return;
    }
    while (ended[i] == UNDER_WAY && deadline_ms-- > 0)
        server_await(server, TOLD_MS, "PONG", "PING");
    ck_assert_int_eq(ended[i], HF_OK);
    ck_assert_int_eq(hf_lock_release(lock, owner_of(i), NULL), HF_OK);
}

START_TEST(order_of_arrival_is_that_of_grants)
{
    struct hf_lock *lock = lock_on(HF_KIND_FAIR, NAME);

    for (int round = 0; round < ROUNDS; round++) {
        if (round % 2)
            ck_assert_java("ok", HOLDER, "acquire fair " NAME);
        else
            ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
        for (int i = 0; i < WAITERS; i++) {
            queue_up(lock, i);
            await_queue(i + 1);
        }
        if (round % 2)
            ck_assert_java("ok", HOLDER, "unlock fair " NAME);
        else
            release(lock);
        for (int i = 0; i < WAITERS; i++)
            take_turn(lock, i);
        await_queue(0);
        server_await(server, TOLD_MS, "0", "EXISTS " NAME);
    }
    hf_lock_free(lock);
}
END_TEST

static long long place(int index)
{
    const char *answer =
        server_ask(server, "ZRANGE " PLACES " %d %d WITHSCORES", index, index);

    ck_assert_ptr_nonnull(strchr(answer, ' '));
    return atoll(strchr(answer, ' '));
}

/* Each side reckons from the place before its own, and gives it back. */
START_TEST(places_are_counted_alike)
{
    struct hf_lock *lock = lock_on(HF_KIND_FAIR, NAME);
    long long first, second, third;

    acquire_for(lock, 20000);
    queue_up(lock, 1);
    await_queue(1);
    queue_up(lock, 2);
    await_queue(2);
    queue_up(lock, 3);
    await_queue(3);
    first = place(0);
    second = place(1);
    third = place(2);
    ck_assert_int_eq(second - first, OUR_WATCHDOG_MS);
    ck_assert_int_eq(third - second, 300000);
    release(lock);
    ck_assert_told("ok", 1);
    ck_assert_int_eq(place(0), second - 300000);
    ck_assert_int_eq(place(1), third - 300000);
    ck_assert_java("ok", 1, "unlock fair " NAME);
    take_turn(lock, 2);
    take_turn(lock, 3);
    await_queue(0);
    hf_lock_free(lock);
}
END_TEST

/* A waiter of ours that is closed at the head leaves it to Redisson's. */
START_TEST(waiter_that_leaves_the_head_delays_no_other)
{
    struct hf_lock *lock = lock_on(HF_KIND_FAIR, NAME);
    struct hf_acquire_options o;
    struct hf_cancel cancel;

    hf_cancel_init(&cancel, client);
    hf_acquire_options_init(&o);
    o.owner = owner_of(2);
    o.cancel = &cancel;
    ended[2] = UNDER_WAY;
    ck_assert_java("ok", HOLDER, "acquire fair " NAME);
    ck_assert_int_eq(
        hf_lock_acquire_async(lock, &o, note_end, (void *)&ended[2]), HF_OK);
    await_queue(1);
    queue_up(lock, 3);
    await_queue(2);
    hf_cancel_fire(&cancel);
    await_queue(1);
    ck_assert_java("ok", HOLDER, "unlock fair " NAME);
    take_turn(lock, 3);
    await_queue(0);
    ck_assert_int_eq(ended[2], HF_CANCELLED);
    hf_lock_free(lock);
}
END_TEST

TCase *fair_case(void)
{
    TCase *tc = both_case("fair");

    tcase_add_test(tc, order_of_arrival_is_that_of_grants);
    tcase_add_test(tc, places_are_counted_alike);
    tcase_add_test(tc, waiter_that_leaves_the_head_delays_no_other);
    return tc;
}
