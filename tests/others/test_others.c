/* Value locks beside those of another library on the same server, which run.sh
 * starts: each side excludes the other, and sees it leave. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holdfast.h"
#include "tests/redisson/driver.h"
#include "tests/support/local.h"
#include "tests/support/one_server.h"
#include "tests/support/suite.h"

#define NAME "order:42"
#define WATCHDOG_MS 600         /* renewed soon */
#define WAIT_MS 20000
#define A_MOMENT_MS 300
#define SHORT_MS 700            /* a lease whose end is awaited */

static struct hf_client *client;
static struct hf_lock *lock;
static struct driver *other;

static struct driver *start_other(void)
{
    char port[16];
    const char *const argv[] = {"sh", "-c", "exec $HF_OTHER \"$0\"", port, NULL};

    (void)snprintf(port, sizeof port, "%d", server_port(server));
    return driver_run(argv);
}

static void start(void)
{
    struct hf_client_options options;
    char url[SERVER_URL_MAX];

    start_server();
    other = start_other();
    hf_client_options_init(&options);
    options.url = server_url(server, url);
    options.watchdog_ms = WATCHDOG_MS;
    ck_assert_int_eq(hf_client_new(&client, &options, NULL), HF_OK);
    ck_assert_int_eq(hf_lock_new_kind(&lock, client, HF_KIND_VALUE, NAME,
                                      strlen(NAME), NULL),
                     HF_OK);
}

static void stop(void)
{
    hf_client_free(client);
    driver_stop(other);
    stop_server();
}

static hf_status acquire_within(int64_t wait_ms)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.wait_ms = wait_ms;
    return hf_lock_acquire(lock, &options, NULL);
}

static hf_status release(void)
{
    return hf_lock_release(lock, hf_owner_thread(), NULL);
}

#define ck_assert_other(expected, ...)                                        \
    ck_assert_str_eq(driver_ask(other, 1, __VA_ARGS__), expected)

static void ck_assert_told(const char *expected)
{
    const char *answer = driver_answer(other, 1, WAIT_MS);

    ck_assert_ptr_nonnull(answer);
    ck_assert_str_eq(answer, expected);
}

START_TEST(we_wait_until_it_releases)
{
    struct hf_lock_info info;

    ck_assert_other("ok", "acquire " NAME);
    ck_assert_int_eq(acquire_within(0), HF_TIMEOUT);
    ck_assert_int_eq(acquire_within(A_MOMENT_MS), HF_TIMEOUT);
    ck_assert_int_eq(hf_lock_inspect(lock, &info, NULL), HF_OK);
    ck_assert_int_eq(info.kind, HF_KIND_VALUE);
    ck_assert_uint_gt(info.holder_len, 0);
    ck_assert_int_gt(info.ttl_ms, WAIT_MS);
    driver_tell(other, 1, "release " NAME);
    ck_assert_int_eq(acquire_within(WAIT_MS), HF_OK);
    ck_assert_told("ok");
    ck_assert_int_eq(release(), HF_OK);
}
END_TEST

START_TEST(it_waits_until_we_release)
{
    ck_assert_int_eq(acquire_within(0), HF_OK);
    ck_assert_other("false", "try " NAME);
    driver_tell(other, 1, "acquire " NAME);
    ck_assert_ptr_null(driver_answer(other, 1, 3 * WATCHDOG_MS)); /* renewed */
    ck_assert_int_eq(release(), HF_OK);
    ck_assert_told("ok");
    ck_assert_int_eq(acquire_within(0), HF_TIMEOUT);
    ck_assert_other("ok", "release " NAME);
}
END_TEST

/* The value is not the one it has set. */
START_TEST(each_leaves_lost_locks_alone)
{
    ck_assert_other("ok", "acquire " NAME " %d", SHORT_MS);
    ck_assert_int_eq(acquire_within(WAIT_MS), HF_OK); /* its lease has ended */
    ck_assert_other("refused", "release " NAME);
    ck_assert_int_gt(hf_lock_safe_ms(lock, hf_owner_thread()), 0);
    ck_assert_int_eq(server_ask_int(server, "DEL " NAME), 1);
    ck_assert_other("true", "try " NAME);
    ck_assert_int_eq(release(), HF_LOST);
    ck_assert_other("ok", "release " NAME);
}
END_TEST

START_TEST(it_can_be_forced)
{
    ck_assert_other("ok", "acquire " NAME);
    ck_assert_int_eq(hf_lock_force_release(lock, NULL, 0, NULL), HF_OK);
    ck_assert_int_eq(acquire_within(0), HF_OK);
    ck_assert_other("refused", "release " NAME);
    ck_assert_int_eq(release(), HF_OK);
}
END_TEST

/* A number that is read and written loses a step whenever both are inside. */
START_TEST(holders_exclude_each_other)
{
    enum { STEPS = 60 };

    driver_tell(other, 1, "count " NAME " steps %d", STEPS);
    for (int i = 0; i < STEPS; i++) {
        long long seen;

        ck_assert_int_eq(acquire_within(WAIT_MS), HF_OK);
        seen = server_ask_int(server, "INCRBY steps 0");
        local_rest_us(1000);
        (void)server_ask(server, "SET steps %lld", seen + 1);
        ck_assert_int_eq(release(), HF_OK);
        local_rest_us(2000);
    }
    ck_assert_told("ok");
    ck_assert_int_eq(server_ask_int(server, "INCRBY steps 0"), 2 * STEPS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("beside others");
    TCase *c = tcase_create("value locks");

    tcase_add_checked_fixture(c, start, stop);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, we_wait_until_it_releases);
    tcase_add_test(c, it_waits_until_we_release);
    tcase_add_test(c, each_leaves_lost_locks_alone);
    tcase_add_test(c, it_can_be_forced);
    tcase_add_test(c, holders_exclude_each_other);
    suite_add_tcase(s, c);
    return suite_run(s);
}
