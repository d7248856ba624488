/* The same locks as a real Redisson: each side excludes the other, wakes it and
 * reads its state. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holdfast.h"
#include "tests/redisson/driver.h"
#include "tests/support/one_server.h"
#include "tests/support/rw_steps.h"
#include "tests/support/server.h"
#include "tests/support/suite.h"

/* Far below the 30 s of a TTL: whoever is woken within was told, and did not
 * wait for the lock to expire. */
#define TOLD_MS 10000
/* Long enough for what should not happen to happen. */
#define A_MOMENT_MS 200

static struct hf_client *client;
static struct driver *java;

/* ---- both sides, once for all tests (CK_NOFORK) ---- */

static void set_up(void)
{
    struct hf_client_options options;
    struct hf_error err;
    char url[SERVER_URL_MAX];

    start_server();
    java = driver_start(server, 30000);
    hf_client_options_init(&options);
    options.url = server_url(server, url);
    options.watchdog_ms = 3000;
    ck_assert_msg(hf_client_new(&client, &options, &err) == HF_OK, "%s",
                  err.text);
}

static void tear_down(void)
{
    hf_client_free(client);
    driver_stop(java);
    stop_server();
}

static struct hf_lock *lock_on(const char *name)
{
    struct hf_lock *lock;

    ck_assert_int_eq(
        hf_lock_new(&lock, client, name, strlen(name), NULL), HF_OK);
    return lock;
}

static hf_status acquire_within(struct hf_lock *lock, int64_t wait_ms)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.wait_ms = wait_ms;
    return hf_lock_acquire(lock, &options, NULL);
}

static void release(struct hf_lock *lock)
{
    ck_assert_int_eq(hf_lock_release(lock, hf_owner_thread(), NULL), HF_OK);
}

/* What thread `thread` of Redisson answers to "VERB KIND NAME ...". */
#define ck_assert_java(expected, thread, ...)                                 \
    ck_assert_str_eq(driver_ask(java, thread, __VA_ARGS__), expected)

/* ---- one holds, the other waits ---- */

/* Names with and without braces: both sides must spell the channel alike. */
static const struct meeting {
    const char *kind;
    const char *name;
} meetings[] = {
    {"lock", "order:42"}, {"lock", "shop{eu}lock"},
    {"lock", "{a}{b}"},   {"lock", "x}y"},
};
#define MEETINGS ((int)(sizeof meetings / sizeof *meetings))

START_TEST(we_wait_until_redisson_releases)
{
    const struct meeting *m = &meetings[_i];
    struct hf_lock *lock = lock_on(m->name);
    struct hf_lock_info info;

    ck_assert_java("ok", 1, "acquire %s %s", m->kind, m->name);
    ck_assert_java("ok", 1, "acquire %s %s", m->kind, m->name);
    ck_assert_int_eq(hf_lock_inspect(lock, &info, NULL), HF_OK);
    ck_assert(info.is_locked);
    ck_assert_int_eq(info.hold_count, 2);
    ck_assert_int_eq(acquire_within(lock, 0), HF_TIMEOUT);
    ck_assert_int_eq(acquire_within(lock, 50), HF_TIMEOUT);

    ck_assert_java("ok", 1, "unlock %s %s", m->kind, m->name);
    ck_assert_int_eq(acquire_within(lock, 50), HF_TIMEOUT);
    driver_tell(java, 1, "unlock %s %s", m->kind, m->name);
    ck_assert_int_eq(acquire_within(lock, TOLD_MS), HF_OK);
    ck_assert_str_eq(driver_answer(java, 1, DRIVER_MS), "ok");
    release(lock);
    hf_lock_free(lock);
}
END_TEST

START_TEST(redisson_waits_until_we_release)
{
    const struct meeting *m = &meetings[_i];
    struct hf_lock *lock = lock_on(m->name);
    const char *answer;

    ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
    ck_assert_java("true", 1, "locked %s %s", m->kind, m->name);
    ck_assert_java("false", 1, "try %s %s", m->kind, m->name);
    ck_assert_java("refused", 1, "unlock %s %s", m->kind, m->name);

    driver_tell(java, 1, "acquire %s %s", m->kind, m->name);
    ck_assert_msg(driver_answer(java, 1, A_MOMENT_MS) == NULL,
                  "Redisson is inside, too");
    release(lock);
    answer = driver_answer(java, 1, TOLD_MS);
    ck_assert_msg(answer && strcmp(answer, "ok") == 0, "it was not woken");
    ck_assert_java("1", 1, "count %s %s", m->kind, m->name);
    ck_assert_java("ok", 1, "unlock %s %s", m->kind, m->name);
    hf_lock_free(lock);
}
END_TEST

START_TEST(either_side_may_force_the_other)
{
    struct hf_lock *lock = lock_on("forced");

    ck_assert_java("ok", 1, "acquire lock forced");
    ck_assert_int_eq(hf_lock_force_release(lock, NULL, 0, NULL), HF_OK);
    ck_assert_java("refused", 1, "unlock lock forced");

    ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
    ck_assert_java("true", 1, "force-unlock lock forced");
    ck_assert_int_eq(hf_lock_release(lock, hf_owner_thread(), NULL), HF_LOST);
    hf_lock_free(lock);
}
END_TEST

/* Read, add, write, without any atomicity but the lock's: the sum is the truth. */
#define ADDS 300

static void add_once(struct hf_lock *lock)
{
    char text[32];

    ck_assert_int_eq(acquire_within(lock, TOLD_MS), HF_OK);
    snprintf(text, sizeof text, "%s", server_ask(server, "GET sum"));
    snprintf(text, sizeof text, "%ld", atol(text) + 1);
    server_ask(server, "SET sum %s", text);
    release(lock);
}

START_TEST(both_sides_are_never_inside_at_once)
{
    struct hf_lock *lock = lock_on("adder");

    server_ask(server, "SET sum 0");
    driver_tell(java, 1, "add lock adder sum %d", ADDS);
    for (int i = 0; i < ADDS; i++)
        add_once(lock);
    ck_assert_str_eq(driver_answer(java, 1, DRIVER_MS), "ok");
    ck_assert_int_eq(atol(server_ask(server, "GET sum")), 2 * ADDS);
    hf_lock_free(lock);
}
END_TEST

/* ---- read-write locks, step by step ---- */

/* Our scripts play A, or B, or nobody: Redisson alone shows that the tables are
 * its contract, and not our idea of it. */
enum { OURS_IS_A, OURS_IS_B, NONE_IS_OURS, CASTS };

static const char *rw_act(struct rw_player *p, const char *verb, long lease_ms)
{
    const char *side = strstr(verb, "read") ? "read" : "write";
    const char *answer;

    if (*verb == 'f')
        answer = driver_ask(java, p->thread, "force-unlock %s %s", side, p->name);
    else if (*verb == 'u')
        answer = driver_ask(java, p->thread, "unlock %s %s", side, p->name);
    else
        answer = driver_ask(java, p->thread, "try %s %s %ld", side, p->name,
                            lease_ms);
    return strcmp(answer, "ok") == 0 || strcmp(answer, "true") == 0 ? "ok"
                                                                    : "no";
}

static struct rw_player rw_redisson(const char *name, int thread, char *owner)
{
    (void)strcpy(owner, driver_ask(java, thread, "owner"));
    return (struct rw_player){.owner = owner,
                              .is_redisson = true,
                              .times = 1,
                              .act = rw_act,
                              .server = server,
                              .name = name,
                              .thread = thread};
}

START_TEST(read_write_steps_leave_the_same_states)
{
    static const char ours[] = "6e3814a1-e847-452b-a982-45baf93a1df2:1";
    const struct rw_table *table = &rw_tables[_i / CASTS];
    char owners[2][64];
    struct rw_player players[2];

    for (int i = 0; i < 2; i++)
        players[i] = _i % CASTS == i
                         ? rw_player_scripts(server, "order:42", ours, 1)
                         : rw_redisson("order:42", i + 1, owners[i]);
    rw_play(table, players);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("redisson");
    TCase *tc = tcase_create("both sides");
    SRunner *runner;
    int failed;

    tcase_add_unchecked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, we_wait_until_redisson_releases, 0, MEETINGS);
    tcase_add_loop_test(tc, redisson_waits_until_we_release, 0, MEETINGS);
    tcase_add_test(tc, either_side_may_force_the_other);
    tcase_add_test(tc, both_sides_are_never_inside_at_once);
    tcase_add_loop_test(tc, read_write_steps_leave_the_same_states, 0,
                        rw_tables_count * CASTS);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK); /* one JVM for all of them */
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
