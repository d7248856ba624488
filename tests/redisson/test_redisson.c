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

/* ---- calls ---- */

static struct hf_lock *lock_on(enum hf_lock_kind kind, const char *name)
{
    struct hf_lock *lock = NULL;

    ck_assert_int_eq(hf_lock_new_kind(&lock, client, kind, name, strlen(name),
                                      NULL),
                     HF_OK);
    return lock;
}

static hf_status acquire_within(struct hf_lock *lock, int64_t wait_ms)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.wait_ms = wait_ms;
    return hf_lock_acquire(lock, &options, NULL);
}

static void acquire_for(struct hf_lock *lock, int64_t lease_ms)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.lease_ms = lease_ms;
    ck_assert_int_eq(hf_lock_acquire(lock, &options, NULL), HF_OK);
}

static void release(struct hf_lock *lock)
{
    ck_assert_int_eq(hf_lock_release(lock, hf_owner_thread(), NULL), HF_OK);
}

/* What a thread of Redisson answers to "VERB KIND NAME ...". */
#define ck_assert_java(expected, thread, ...)                                 \
    ck_assert_str_eq(driver_ask(java, thread, __VA_ARGS__), expected)

static void ck_assert_told(const char *expected, int thread)
{
    const char *answer = driver_answer(java, thread, TOLD_MS);

    ck_assert_msg(answer != NULL, "Redisson was not woken");
    ck_assert_str_eq(answer, expected);
}

/* ---- one holds, the other waits ---- */

/* A kind of Redisson's and a kind of ours, which exclude each other. */
static const struct pair {
    const char *java;
    enum hf_lock_kind ours;
    int holds;                  /* how often Redisson acquires it */
    const char *name;           /* with braces and without: both sides must spell
                                   the channel alike */
} pairs[] = {
    {"lock", HF_KIND_PLAIN, 2, "order:42"},
    {"lock", HF_KIND_PLAIN, 2, "shop{eu}lock"},
    {"lock", HF_KIND_PLAIN, 2, "{a}{b}"},
    {"lock", HF_KIND_PLAIN, 2, "x}y"},
    {"fenced", HF_KIND_FENCED, 2, "fenced"},
    {"fenced", HF_KIND_FENCED, 2, "fenced{eu}lock"},
    {"nonreentrant", HF_KIND_NONREENTRANT, 1, "once"},
    {"nonreentrant", HF_KIND_PLAIN, 1, "once:plain"},
    {"lock", HF_KIND_NONREENTRANT, 2, "plain:once"},
};
#define PAIRS ((int)(sizeof pairs / sizeof *pairs))

START_TEST(we_wait_until_redisson_releases)
{
    const struct pair *p = &pairs[_i];
    struct hf_lock *lock = lock_on(p->ours, p->name);
    struct hf_lock_info info;

    for (int i = 0; i < p->holds; i++)
        ck_assert_java("ok", 1, "acquire %s %s", p->java, p->name);
    ck_assert_int_eq(hf_lock_inspect(lock, &info, NULL), HF_OK);
    ck_assert(info.is_locked);
    ck_assert_int_eq(info.hold_count, p->holds);
    ck_assert_int_eq(acquire_within(lock, 0), HF_TIMEOUT);
    ck_assert_int_eq(acquire_within(lock, 50), HF_TIMEOUT);

    for (int i = 1; i < p->holds; i++) {
        ck_assert_java("ok", 1, "unlock %s %s", p->java, p->name);
        ck_assert_int_eq(acquire_within(lock, 50), HF_TIMEOUT);
    }
    driver_tell(java, 1, "unlock %s %s", p->java, p->name);
    ck_assert_int_eq(acquire_within(lock, TOLD_MS), HF_OK);
    ck_assert_told("ok", 1);
    release(lock);
    hf_lock_free(lock);
}
END_TEST

START_TEST(redisson_waits_until_we_release)
{
    const struct pair *p = &pairs[_i];
    struct hf_lock *lock = lock_on(p->ours, p->name);

    ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
    ck_assert_java("true", 1, "locked %s %s", p->java, p->name);
    ck_assert_java("false", 1, "try %s %s", p->java, p->name);
    ck_assert_java("refused", 1, "unlock %s %s", p->java, p->name);

    driver_tell(java, 1, "acquire %s %s", p->java, p->name);
    ck_assert_msg(driver_answer(java, 1, A_MOMENT_MS) == NULL,
                  "Redisson is inside, too");
    release(lock);
    ck_assert_told("ok", 1);
    ck_assert_java("1", 1, "count %s %s", p->java, p->name);
    ck_assert_java("ok", 1, "unlock %s %s", p->java, p->name);
    hf_lock_free(lock);
}
END_TEST

START_TEST(either_side_may_force_the_other)
{
    const struct pair *p = &pairs[_i];
    struct hf_lock *lock = lock_on(p->ours, p->name);

    ck_assert_java("ok", 1, "acquire %s %s", p->java, p->name);
    ck_assert_int_eq(hf_lock_force_release(lock, NULL, 0, NULL), HF_OK);
    ck_assert_java("refused", 1, "unlock %s %s", p->java, p->name);

    ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
    ck_assert_java("true", 1, "force-unlock %s %s", p->java, p->name);
    ck_assert_int_eq(hf_lock_release(lock, hf_owner_thread(), NULL), HF_LOST);
    hf_lock_free(lock);
}
END_TEST

/* A lease is so short that whoever waits for its end is in time. */
#define SHORT_MS 500

START_TEST(what_expires_on_one_side_is_the_others)
{
    const struct pair *p = &pairs[_i];
    struct hf_lock *lock = lock_on(p->ours, p->name);

    ck_assert_java("ok", 1, "acquire %s %s %d", p->java, p->name, SHORT_MS);
    ck_assert_int_eq(acquire_within(lock, TOLD_MS), HF_OK);
    ck_assert_java("refused", 1, "unlock %s %s", p->java, p->name);
    release(lock);

    acquire_for(lock, SHORT_MS);
    ck_assert_java("true", 1, "wait %s %s %d", p->java, p->name, TOLD_MS);
    ck_assert_int_eq(hf_lock_release(lock, hf_owner_thread(), NULL), HF_LOST);
    ck_assert_java("ok", 1, "unlock %s %s", p->java, p->name);
    hf_lock_free(lock);
}
END_TEST

/* Its watchdog dies with it. */
START_TEST(redisson_that_is_killed_leaves_its_lock_to_us)
{
    const struct pair *p = &pairs[_i];
    struct hf_lock *lock = lock_on(p->ours, p->name);
    struct driver *other = driver_start(server, 3000);

    ck_assert_str_eq(driver_ask(other, 1, "acquire %s %s", p->java, p->name),
                     "ok");
    ck_assert_int_eq(acquire_within(lock, 0), HF_TIMEOUT);
    driver_kill(other);
    ck_assert_int_eq(acquire_within(lock, TOLD_MS), HF_OK);
    release(lock);
    driver_stop(other);
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
    const struct pair *p = &pairs[_i];
    struct hf_lock *lock = lock_on(p->ours, p->name);

    server_ask(server, "SET sum 0");
    driver_tell(java, 1, "add %s %s sum %d", p->java, p->name, ADDS);
    for (int i = 0; i < ADDS; i++)
        add_once(lock);
    ck_assert_str_eq(driver_answer(java, 1, DRIVER_MS), "ok");
    ck_assert_int_eq(atol(server_ask(server, "GET sum")), 2 * ADDS);
    hf_lock_free(lock);
}
END_TEST

/* ---- re-entry of what does not re-enter ---- */

START_TEST(each_side_refuses_its_own_owner)
{
    struct hf_lock *lock = lock_on(HF_KIND_NONREENTRANT, "once");

    ck_assert_java("ok", 1, "acquire nonreentrant once");
    ck_assert_java("refused", 1, "acquire nonreentrant once");
    ck_assert_java("ok", 1, "unlock nonreentrant once");
    ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
    ck_assert_int_eq(acquire_within(lock, 0), HF_E_INVAL);
    ck_assert_java("false", 1, "try nonreentrant once");
    release(lock);
    ck_assert_java("true", 1, "try nonreentrant once");
    ck_assert_java("ok", 1, "unlock nonreentrant once");
    hf_lock_free(lock);
}
END_TEST

/* ---- fencing tokens ---- */

#define FENCED "tokens"

static int64_t our_token(struct hf_lock *lock)
{
    ck_assert_int_eq(acquire_within(lock, TOLD_MS), HF_OK);
    return hf_lock_token(lock, hf_owner_thread());
}

static int64_t their_token(void)
{
    return atoll(driver_ask(java, 1, "acquire-token fenced " FENCED));
}

START_TEST(tokens_grow_from_one_side_to_the_other)
{
    struct hf_lock *lock = lock_on(HF_KIND_FENCED, FENCED);
    int64_t last = atoll(driver_ask(java, 1, "token fenced " FENCED));

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(our_token(lock), ++last);
        ck_assert_int_eq(our_token(lock), last); /* a re-entry */
        ck_assert_int_eq(atoll(driver_ask(java, 2, "token fenced " FENCED)),
                         last);
        release(lock);
        release(lock);
        ck_assert_int_eq(their_token(), ++last);
        ck_assert_int_eq(their_token(), ++last); /* Redisson's takes another */
        ck_assert_java("ok", 1, "unlock fenced " FENCED);
        ck_assert_java("ok", 1, "unlock fenced " FENCED);
    }
    hf_lock_free(lock);
}
END_TEST

START_TEST(waiter_has_a_greater_token_than_its_holder)
{
    struct hf_lock *lock = lock_on(HF_KIND_FENCED, FENCED);
    int64_t last = our_token(lock);
    const char *answer;

    driver_tell(java, 1, "acquire-token fenced " FENCED);
    ck_assert_ptr_null(driver_answer(java, 1, A_MOMENT_MS));
    release(lock);
    answer = driver_answer(java, 1, TOLD_MS);
    ck_assert_ptr_nonnull(answer);
    ck_assert_int_eq(atoll(answer), ++last);

    ck_assert_int_eq(acquire_within(lock, 50), HF_TIMEOUT);
    driver_tell(java, 1, "unlock fenced " FENCED);
    ck_assert_int_eq(our_token(lock), ++last);
    ck_assert_told("ok", 1);
    release(lock);
    hf_lock_free(lock);
}
END_TEST

START_TEST(force_and_expiry_keep_the_counter)
{
    struct hf_lock *lock = lock_on(HF_KIND_FENCED, FENCED);
    int64_t last = our_token(lock);

    ck_assert_java("true", 1, "force-unlock fenced " FENCED);
    ck_assert_int_eq(hf_lock_release(lock, hf_owner_thread(), NULL), HF_LOST);
    ck_assert_int_eq(their_token(), ++last);
    ck_assert_int_eq(hf_lock_force_release(lock, NULL, 0, NULL), HF_OK);
    ck_assert_java("ok", 1, "acquire fenced " FENCED " %d", SHORT_MS);
    ck_assert_int_eq(our_token(lock), last + 2);
    release(lock);
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

/* ---- the suite ---- */

/* Of the kinds that this version of Redisson has. */
static void add_pairs(TCase *tc)
{
    for (int i = 0; i < PAIRS; i++) {
        if (!driver_has(pairs[i].java)) {
            printf("skipped: %s, as %s (this Redisson has none)\n",
                   pairs[i].name, pairs[i].java);
            continue;
        }
        tcase_add_loop_test(tc, we_wait_until_redisson_releases, i, i + 1);
        tcase_add_loop_test(tc, redisson_waits_until_we_release, i, i + 1);
        tcase_add_loop_test(tc, either_side_may_force_the_other, i, i + 1);
        tcase_add_loop_test(tc, what_expires_on_one_side_is_the_others, i,
                            i + 1);
        tcase_add_loop_test(tc, redisson_that_is_killed_leaves_its_lock_to_us,
                            i, i + 1);
        tcase_add_loop_test(tc, both_sides_are_never_inside_at_once, i, i + 1);
    }
}

static Suite *redisson_suite(void)
{
    Suite *suite = suite_create("redisson");
    TCase *tc = tcase_create("both sides");

    tcase_add_unchecked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    add_pairs(tc);
    if (driver_has("nonreentrant"))
        tcase_add_test(tc, each_side_refuses_its_own_owner);
    if (driver_has("fenced")) {
        tcase_add_test(tc, tokens_grow_from_one_side_to_the_other);
        tcase_add_test(tc, waiter_has_a_greater_token_than_its_holder);
        tcase_add_test(tc, force_and_expiry_keep_the_counter);
    }
    tcase_add_loop_test(tc, read_write_steps_leave_the_same_states, 0,
                        rw_tables_count * CASTS);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(redisson_suite());
    int failed;

    srunner_set_fork_status(runner, CK_NOFORK); /* one JVM for all of them */
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
