/* Quorums of value locks beside another library's on the same three servers,
 * which run.sh starts: each side excludes the other, also while one is down. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holdfast.h"
#include "tests/redisson/driver.h"
#include "tests/support/local.h"
#include "tests/support/server.h"
#include "tests/support/suite.h"

#define NAME "order:42"
#define SERVERS 3
#define WATCHDOG_MS 900
#define TIMEOUT_MS 1000         /* of a request */
#define WAIT_MS 20000
#define A_MOMENT_MS 300

static struct server *servers[SERVERS];
static struct hf_client *clients[SERVERS];
static struct hf_quorum *quorum;
static struct driver *other;

static void start_other(void)
{
    char ports[SERVERS][16];
    const char *const argv[] = {"sh", "-c", "exec $HF_OTHER \"$@\"", "other",
                                ports[0], ports[1], ports[2], NULL};

    for (int i = 0; i < SERVERS; i++)
        (void)snprintf(ports[i], sizeof ports[i], "%d",
                       server_port(servers[i]));
    other = driver_run(argv);
}

static struct hf_lock *open_member(int i)
{
    struct hf_client_options options;
    char url[SERVER_URL_MAX];
    struct hf_lock *lock;

    hf_client_options_init(&options);
    options.url = server_url(servers[i], url);
    options.watchdog_ms = WATCHDOG_MS;
    options.request_timeout_ms = TIMEOUT_MS;
    ck_assert_int_eq(hf_client_new(&clients[i], &options, NULL), HF_OK);
    ck_assert_int_eq(hf_lock_new_kind(&lock, clients[i], HF_KIND_VALUE, NAME,
                                      strlen(NAME), NULL),
                     HF_OK);
    return lock;
}

static void start(void)
{
    struct hf_lock *members[SERVERS];

    for (int i = 0; i < SERVERS; i++)
        ck_assert_ptr_nonnull(servers[i] = server_start(NULL));
    start_other();
    for (int i = 0; i < SERVERS; i++)
        members[i] = open_member(i);
    ck_assert_int_eq(hf_quorum_new(&quorum, members, SERVERS, NULL), HF_OK);
}

static void stop(void)
{
    hf_quorum_free(quorum);
    for (int i = 0; i < SERVERS; i++)
        hf_client_free(clients[i]);
    driver_stop(other);
    for (int i = 0; i < SERVERS; i++)
        server_stop(servers[i]);
}

static hf_status acquire_within(int64_t wait_ms)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.wait_ms = wait_ms;
    return hf_quorum_acquire(quorum, &options, NULL);
}

static hf_status release(void)
{
    return hf_quorum_release(quorum, hf_owner_thread(), NULL);
}

#define ck_assert_other(expected, ...)                                        \
    ck_assert_str_eq(driver_ask(other, 1, __VA_ARGS__), expected)

static void ck_assert_told(const char *expected)
{
    const char *answer = driver_answer(other, 1, WAIT_MS);

    ck_assert_ptr_nonnull(answer);
    ck_assert_str_eq(answer, expected);
}

static void take_turns(void)
{
    ck_assert_other("ok", "acquire " NAME);
    ck_assert_int_eq(acquire_within(0), HF_TIMEOUT);
    driver_tell(other, 1, "release " NAME);
    ck_assert_int_eq(acquire_within(WAIT_MS), HF_OK);
    ck_assert_told("ok");
    ck_assert_other("false", "try " NAME);
    driver_tell(other, 1, "acquire " NAME);
    ck_assert_ptr_null(driver_answer(other, 1, 2 * WATCHDOG_MS)); /* renewed */
    ck_assert_int_eq(release(), HF_OK);
    ck_assert_told("ok");
    ck_assert_int_eq(acquire_within(A_MOMENT_MS), HF_TIMEOUT);
    ck_assert_other("ok", "release " NAME);
}

START_TEST(each_waits_for_the_other)
{
    take_turns();
}
END_TEST

START_TEST(each_waits_for_the_other_while_one_is_down)
{
    server_kill(servers[2]);
    take_turns();
}
END_TEST

/* A number that is read and written loses a step whenever both are inside. */
START_TEST(holders_exclude_each_other)
{
    enum { STEPS = 30 };

    driver_tell(other, 1, "count " NAME " steps %d", STEPS);
    for (int i = 0; i < STEPS; i++) {
        long long seen;

        ck_assert_int_eq(acquire_within(WAIT_MS), HF_OK);
        seen = server_ask_int(servers[0], "INCRBY steps 0");
        local_rest_us(1000);
        (void)server_ask(servers[0], "SET steps %lld", seen + 1);
        ck_assert_int_eq(release(), HF_OK);
        local_rest_us(2000);
    }
    ck_assert_told("ok");
    ck_assert_int_eq(server_ask_int(servers[0], "INCRBY steps 0"), 2 * STEPS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("quorum beside others");
    TCase *c = tcase_create("quorums of value locks");

    tcase_add_checked_fixture(c, start, stop);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, each_waits_for_the_other);
    tcase_add_test(c, each_waits_for_the_other_while_one_is_down);
    tcase_add_test(c, holders_exclude_each_other);
    suite_add_tcase(s, c);
    return suite_run(s);
}
