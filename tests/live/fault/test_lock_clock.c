/* Clocks that jump. Wall clock: no effect at all. Suspend: the clock that goes
 * on while a machine sleeps (CLOCK_BOOTTIME) is ahead of the one that does not
 * (CLOCK_MONOTONIC), and the first look says that the hold is not safe.
 *
 * The linker puts the wrapper below in place of what the library calls
 * (Makefile: --wrap); waiting in the kernel goes by the true clocks, as after a
 * suspend. Source: faults X8, X9. */
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

#include "tests/live/test_lock_held.h"
#include "tests/support/lateness.h"
#include "tests/support/lua_client.h"

static atomic_int_fast64_t wall_step_ms, sleep_ms;
static atomic_int wall_looks;

static void add_ms(struct timespec *t, int64_t ms)
{
    int64_t ns = t->tv_nsec + ms % 1000 * 1000000;

    t->tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
    t->tv_nsec = (long)(ns % 1000000000);
    if (t->tv_nsec < 0) {
        t->tv_sec--;
        t->tv_nsec += 1000000000;
    }
}

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    int rc = __real_clock_gettime(id, t);

    if (id == CLOCK_REALTIME) {
        atomic_fetch_add(&wall_looks, 1);
        add_ms(t, atomic_load(&wall_step_ms));
    } else if (id == CLOCK_BOOTTIME) {
        add_ms(t, atomic_load(&sleep_ms));
    }
    return rc;
}

int __real_gettimeofday(struct timeval *t, void *zone);
int __wrap_gettimeofday(struct timeval *t, void *zone);
int __wrap_gettimeofday(struct timeval *t, void *zone)
{
    int rc = __real_gettimeofday(t, zone);

    atomic_fetch_add(&wall_looks, 1);
    t->tv_sec += (time_t)(atomic_load(&wall_step_ms) / 1000);
    return rc;
}

time_t __real_time(time_t *out);
time_t __wrap_time(time_t *out);
time_t __wrap_time(time_t *out)
{
    time_t t = __real_time(NULL) + (time_t)(atomic_load(&wall_step_ms) / 1000);

    atomic_fetch_add(&wall_looks, 1);
    if (out)
        *out = t;
    return t;
}

/* ---- the wall clock ---- */

static const int64_t steps_ms[] = {
    1000, -1000, 3600000, -3600000, INT64_C(86400000) * 400,
    INT64_C(-86400000) * 400};

/* While it is held, renewed, waited for with a deadline, and given back. */
START_TEST(steps_of_the_wall_clock_change_nothing)
{
    struct hf_acquire_options o = acquire_options(2);
    int64_t start_ms = local_now_ms();
    int renewals = 0;

    hold();
    for (int i = 0; i < COUNT(steps_ms); i++) {
        int64_t safe_ms = hf_lock_safe_ms(lock, 1);

        atomic_store(&wall_step_ms, steps_ms[i]);
        ck_assert_int_le(hf_lock_safe_ms(lock, 1), safe_ms + WATCHDOG_MS);
        ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
        o.wait_ms = 200;
        must_time_out(lock, &o);
    }
    for (int i = 0; i < 3; i++) {
        atomic_store(&wall_step_ms, steps_ms[i]);
        note_await(&diary.note, &diary.renewals, ++renewals, "a renewal");
        ck_assert_int_le(server_ask_int(server, "PTTL " NAME), WATCHDOG_MS);
    }
    /* Every third of the watchdog timeout; the first may come early. */
    ck_assert_int_ge(local_now_ms() - start_ms, 2 * WATCHDOG_MS / 3 - 50);
    ck_assert_within(start_ms, LONG_MS);
    ck_assert_holder(server, lock, 1, 1);
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    release(lock, 1);
}
END_TEST

/* Not even once: what is not asked cannot mislead. */
START_TEST(the_wall_clock_is_never_looked_at)
{
    atomic_store(&wall_looks, 0); /* libcheck has */
    hold();
    note_await(&diary.note, &diary.renewals, 1, "a renewal");
    (void)server_ask(server, "CLIENT KILL TYPE normal SKIPME yes");
    note_await(&diary.note, &diary.renewals, 2, "a renewal");
    release(lock, 1);
    hf_client_free(client);
    client = NULL;
    if (!tls_wanted()) /* certificates have dates */
        ck_assert_int_eq(atomic_load(&wall_looks), 0);
}
END_TEST

/* ---- suspend ---- */

/* The machine sleeps for longer than the lease, nobody ran; another has had the
 * lock meanwhile. */
START_TEST(after_a_suspend_the_first_check_reports_unsafe)
{
    hold();
    atomic_store(&sleep_ms, 10 * WATCHDOG_MS);
    ck_assert_int_le(hf_lock_safe_ms(lock, 1), 0);
    (void)server_ask(server, "DEL " NAME); /* its clock went on */
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_SUSPENDED);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    hold();
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
}
END_TEST

/* With a lease of its own, and one that goes on for longer than the sleep. */
START_TEST(a_suspend_shorter_than_the_lease_costs_nothing)
{
    struct hf_acquire_options o = diary_options(&diary, 1);

    o.lease_ms = 60000;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    atomic_store(&sleep_ms, 50000);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    ck_assert_int_lt(hf_lock_safe_ms(lock, 1), 10000);
    release(lock, 1);
    ck_assert_int_eq(diary.losses, 0);
}
END_TEST

/* Deadlines are over that passed while it slept. */
START_TEST(a_wait_whose_time_was_slept_through_is_over)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;

    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    o.wait_ms = 50000;
    call_acquire(&call, lock, &o);
    await_subscribers(server, CHANNEL, 1);
    atomic_store(&sleep_ms, 60000);
    (void)server_ask(server, "PUBLISH " CHANNEL " 0"); /* it runs again */
    ck_assert_status(call_await(&call), HF_TIMEOUT);
}
END_TEST

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "clocks", start, stop);

    tcase_add_test(c, steps_of_the_wall_clock_change_nothing);
    tcase_add_test(c, the_wall_clock_is_never_looked_at);
    tcase_add_test(c, after_a_suspend_the_first_check_reports_unsafe);
    tcase_add_test(c, a_suspend_shorter_than_the_lease_costs_nothing);
    tcase_add_test(c, a_wait_whose_time_was_slept_through_is_over);
}

int main(void)
{
    return live_main("lock, clock", add_cases);
}
