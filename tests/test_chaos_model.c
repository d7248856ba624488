/* What `make chaos` makes of MONITOR, where servers change places: written files, in
 * place of those of servers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lock/script/scripts.h"
#include "tests/soak/chaos_model.h"
#include "tests/soak/chaos_watch.h"
#include "tests/support/suite.h"

#define SERVERS 2
#define LOCK "plain:0"
#define UUID "00000000-0000-4000-8000-000000000001"
#define OWNER UUID ":10000000001"
#define FENCED "fenced:0"
#define COUNTER "redisson_lock_token:{" FENCED "}"
#define LEASE_MS 3000

static FILE *files[SERVERS];
static char paths[SERVERS][64];
static unsigned long answers[SERVERS];
static int64_t us;              /* of the last command; each takes some time */
static char history[4096];

/* ---- a watch's files ---- */

static void start(void)
{
    us = 1000000;
    history[0] = '\0';
    for (int i = 0; i < SERVERS; i++) {
        int fd;

        (void)strcpy(paths[i], "/tmp/holdfast-model-XXXXXX");
        fd = mkstemp(paths[i]);
        ck_assert_int_ge(fd, 0);
        files[i] = fdopen(fd, "w");
        ck_assert_ptr_nonnull(files[i]);
        (void)fprintf(files[i], "@offset 0\r\n");
        answers[i] = 0;
    }
}

static void remove_files(void)
{
    for (int i = 0; i < SERVERS; i++)
        (void)unlink(paths[i]);
}

static void put_moment(int server)
{
    us += 1000;
    (void)fprintf(files[server], "+%" PRId64 ".%06" PRId64 " ", us / 1000000,
                  us % 1000000);
}

/* A client of ours takes the lock, or takes it again. */
static void is_acquired(int server, int count)
{
    put_moment(server);
    (void)fprintf(files[server], "[0 127.0.0.1:5000] \"EVALSHA\" \"%s\" \"1\" \"" LOCK
                  "\"\r\n", hf_script_acquire.sha);
    put_moment(server);
    (void)fprintf(files[server], "[0 lua] \"hset\" \"" LOCK "\" \"" OWNER
                  "\" \"%d\"\r\n", count);
    put_moment(server);
    (void)fprintf(files[server], "[0 lua] \"pexpire\" \"" LOCK "\" \"%d\"\r\n",
                  LEASE_MS);
}

static void put_script(FILE *out, const char *text)
{
    for (; *text; text++)
        *text == '\n' ? (void)fputs("\\n", out) : (void)fputc(*text, out);
}

/* The server is asked how the lock stands. count 0: it is free. */
static void stands(int server, const char *role, int count)
{
    FILE *out = files[server];

    put_moment(server);
    (void)fputs("[0 unix:/tmp/s] \"EVAL\" \"", out);
    put_script(out, chaos_watch_script);
    (void)fprintf(out, "\" \"0\" \"%lu\"\r\n", ++answers[server]);
    (void)fprintf(out, "@stands %lu %s still " LOCK " 0 ", answers[server], role);
    if (count > 0)
        (void)fprintf(out, "%d 1 " OWNER " %d -2\r\n", LEASE_MS, count);
    else
        (void)fprintf(out, "-2 0\r\n");
}

static void is_gone(int server)
{
    us += 1000;
    (void)fprintf(files[server], "@gone %" PRId64 "\r\n", us);
}

/* ---- what is made of it ---- */

static unsigned client_of(void *ctx, const char *uuid)
{
    (void)ctx;
    return strcmp(uuid, UUID) == 0;
}

static void add_line(void *ctx, int64_t at_us, const char *line, size_t len)
{
    (void)ctx;
    (void)at_us;
    ck_assert_uint_lt(strlen(history) + len, sizeof history);
    (void)strncat(history, line, len);
}

static struct chaos_model_counts take_in(void)
{
    const char *all[SERVERS];

    for (int i = 0; i < SERVERS; i++) {
        (void)fclose(files[i]);
        all[i] = paths[i];
    }
    return chaos_model_run(all, SERVERS, client_of, add_line, NULL);
}

static bool says(const char *what)
{
    return strstr(history, what);
}

/* The first server is killed, the second, which has the lock, takes its place. */
static void fail_over(void)
{
    stands(0, "master", 0);
    stands(1, "slave", 0);
    is_acquired(0, 1);
    stands(1, "slave", 1);
    is_gone(0);
    stands(1, "master", 1);
}

START_TEST(a_master_that_returns_does_not_decide)
{
    struct chaos_model_counts counts;

    fail_over();
    stands(0, "master", 0);
    stands(0, "slave", 1);
    is_acquired(1, 2);
    counts = take_in();
    ck_assert_msg(!says("freed"), "%s", history);
    ck_assert_msg(says("count=2"), "%s", history);
    ck_assert_uint_eq(counts.wrong, 0);
}
END_TEST

START_TEST(a_master_that_returns_decides_once_a_client_uses_it)
{
    fail_over();
    stands(0, "master", 0);
    is_acquired(0, 4);
    (void)take_in();
    ck_assert_msg(says("count=4"), "%s", history);
}
END_TEST

START_TEST(the_only_master_returns_without_its_data)
{
    stands(0, "master", 0);
    is_acquired(0, 1);
    is_gone(0);
    stands(0, "master", 0);
    (void)take_in();
    ck_assert_msg(says("why=forgot"), "%s", history);
}
END_TEST

START_TEST(a_replica_takes_over_without_the_lock)
{
    stands(0, "master", 0);
    stands(1, "slave", 0);
    is_acquired(0, 1);
    is_gone(0);
    stands(1, "master", 0);
    (void)take_in();
    ck_assert_msg(says("why=forgot"), "%s", history);
}
END_TEST

/* An acquire of the fenced lock, which makes its counter `token`. */
static void is_fenced(int server, int token)
{
    put_moment(server);
    (void)fprintf(files[server], "[0 127.0.0.1:5000] \"EVALSHA\" \"%s\" \"2\" \"" FENCED
                  "\" \"" COUNTER "\"\r\n", hf_script_acquire.sha);
    for (int i = 0; i < token; i++) {
        put_moment(server);
        (void)fputs("[0 lua] \"incr\" \"" COUNTER "\"\r\n", files[server]);
    }
    put_moment(server);
    (void)fputs("[0 lua] \"hset\" \"" FENCED "\" \"" OWNER "\" \"1\"\r\n",
                files[server]);
    put_moment(server);
    (void)fputs("[0 lua] \"pexpire\" \"" FENCED "\" \"3000\"\r\n", files[server]);
}

/* The new master had not heard of two grants, so its counter is behind. */
START_TEST(an_acquire_sent_again_to_a_new_master_has_that_ones_token)
{
    stands(0, "master", 0);
    stands(1, "slave", 0);
    is_fenced(0, 3);
    is_fenced(1, 1);
    (void)take_in();
    ck_assert_msg(says(" token=3"), "%s", history);
    ck_assert_msg(says(" token=1"), "%s", history);
}
END_TEST

/* ---- a machine that is so busy that a server does not run for a while ---- */

/* The client's acquire: `late_ms` pass after the server has executed PEXPIRE, before it
 * shows that to MONITOR. Returns when the lock ends, in us. */
static int64_t is_acquired_and_shown_late(int late_ms)
{
    int64_t until_us;

    put_moment(0);
    (void)fprintf(files[0], "[0 127.0.0.1:5000] \"EVALSHA\" \"%s\" \"1\" \"" LOCK
                  "\"\r\n", hf_script_acquire.sha);
    put_moment(0);
    (void)fputs("[0 lua] \"hset\" \"" LOCK "\" \"" OWNER "\" \"1\"\r\n", files[0]);
    until_us = us + LEASE_MS * 1000;
    us += late_ms * 1000;
    put_moment(0);
    (void)fprintf(files[0], "[0 lua] \"pexpire\" \"" LOCK "\" \"%d\"\r\n", LEASE_MS);
    return until_us;
}

static void begin_look(void)
{
    put_moment(0);
    (void)fputs("[0 unix:/tmp/s] \"EVAL\" \"", files[0]);
    put_script(files[0], chaos_watch_script);
    (void)fprintf(files[0], "\" \"0\" \"%lu\"\r\n", ++answers[0]);
}

/* The lock is free; the server's clock runs in scripts. */
static void looks_free(void)
{
    begin_look();
    (void)fprintf(files[0], "@stands %lu master runs " LOCK " 0 -2 0\r\n", answers[0]);
}

/* A look whose PTTL comes `slow_ms` after its begin. */
static void looks(int64_t until_us, int slow_ms)
{
    begin_look();
    us += slow_ms * 1000;
    put_moment(0);
    (void)fputs("[0 lua] \"pttl\" \"" LOCK "\"\r\n", files[0]);
    (void)fprintf(files[0], "@stands %lu master runs " LOCK " 0 %" PRId64 " 1 " OWNER
                  " 1 -2\r\n", answers[0], (until_us - us) / 1000);
}

/* off_ms: the server has the lock for so much longer than it was told to. */
static unsigned long wrong_looks(int late_ms, int slow_ms, int off_ms)
{
    int64_t until_us;

    looks_free();
    until_us = is_acquired_and_shown_late(late_ms) + off_ms * 1000;
    looks(until_us, slow_ms);
    return take_in().wrong;
}

START_TEST(a_command_that_is_shown_late_is_no_difference)
{
    ck_assert_uint_eq(wrong_looks(150, 0, 0), 0);
}
END_TEST

START_TEST(a_look_that_is_slow_is_no_difference)
{
    ck_assert_uint_eq(wrong_looks(30, 90, 0), 0);
}
END_TEST

START_TEST(a_lock_that_ends_earlier_is_a_difference)
{
    ck_assert_uint_eq(wrong_looks(0, 0, -200), 1);
    start();
    ck_assert_uint_eq(wrong_looks(150, 0, -400), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chaos_model");
    TCase *c = tcase_create("chaos_model");

    tcase_add_checked_fixture(c, start, remove_files);
    tcase_add_test(c, a_master_that_returns_does_not_decide);
    tcase_add_test(c, a_master_that_returns_decides_once_a_client_uses_it);
    tcase_add_test(c, the_only_master_returns_without_its_data);
    tcase_add_test(c, a_replica_takes_over_without_the_lock);
    tcase_add_test(c, an_acquire_sent_again_to_a_new_master_has_that_ones_token);
    tcase_add_test(c, a_command_that_is_shown_late_is_no_difference);
    tcase_add_test(c, a_look_that_is_slow_is_no_difference);
    tcase_add_test(c, a_lock_that_ends_earlier_is_a_difference);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
