/* The same locks as a real Redisson: each side excludes the other, wakes it and
 * reads its state. The Java side is Peer.java, asked line by line. */
#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holdfast.h"
#include "tests/support/server.h"

/* A JVM on a loaded machine is slow to start and slow to answer. */
#define JAVA_MS 60000
/* Far below the 30 s of a TTL: whoever is woken within was told, and did not
 * wait for the lock to expire. */
#define TOLD_MS 10000

static struct server *server;
static struct hf_client *client;
static pid_t java;
static int to_java = -1, from_java = -1;

/* ---- the Java side ---- */

static void exec_java(int in, int out, const char *url)
{
    const char *lib = getenv("HF_REDISSON");
    char path[600];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in, 0);
    dup2(out, 1);
    snprintf(path, sizeof path, "%s:%s/*", lib, lib);
    execlp("java", "java", "-XX:TieredStopAtLevel=1", "-cp", path, "Peer", url,
           (char *)NULL);
    _exit(127);
}

/* One line within `ms`, without its end; NULL: none yet. */
static const char *java_says(int ms)
{
    static char line[256];
    struct pollfd p = {.fd = from_java, .events = POLLIN};
    size_t n = 0;

    if (poll(&p, 1, ms) == 0)
        return NULL;
    while (n < sizeof line - 1 && read(from_java, line + n, 1) == 1 &&
           line[n] != '\n')
        n++;
    line[n] = '\0';
    return line;
}

static void java_do(const char *line)
{
    ck_assert_int_eq(dprintf(to_java, "%s\n", line), (int)strlen(line) + 1);
}

static const char *java_ask(const char *line)
{
    const char *answer;

    java_do(line);
    answer = java_says(JAVA_MS);
    ck_assert_msg(answer != NULL, "Redisson does not answer '%s'", line);
    return answer;
}

static void java_start(void)
{
    char url[SERVER_URL_MAX];
    int in[2], out[2];

    ck_assert(pipe(in) == 0 && pipe(out) == 0);
    server_url(server, url);
    if ((java = fork()) == 0)
        exec_java(in[0], out[1], url);
    close(in[0]);
    close(out[1]);
    to_java = in[1];
    from_java = out[0];
    ck_assert_str_eq(strtok(strdup(java_says(JAVA_MS)), " "), "ready");
}

/* ---- both sides, once for all tests (CK_NOFORK) ---- */

static void set_up(void)
{
    struct hf_client_options options;
    struct hf_error err;
    char url[SERVER_URL_MAX];

    server = server_start(NULL);
    ck_assert_ptr_nonnull(server);
    java_start();
    hf_client_options_init(&options);
    options.url = server_url(server, url);
    options.watchdog_ms = 3000;
    ck_assert_msg(hf_client_new(&client, &options, &err) == HF_OK, "%s",
                  err.text);
}

static void tear_down(void)
{
    hf_client_free(client);
    close(to_java);
    close(from_java);
    kill(java, SIGKILL);
    waitpid(java, NULL, 0);
    server_stop(server);
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

/* Names with and without braces: both sides must spell the channel alike. */
static const char *const names[] = {"order:42", "shop{eu}lock", "{a}{b}", "x}y"};
#define NAMES ((int)(sizeof names / sizeof *names))

static const char *line_of(const char *verb, const char *name, const char *rest)
{
    static char line[128];

    snprintf(line, sizeof line, "%s %s%s", verb, name, rest);
    return line;
}

START_TEST(what_redisson_holds_we_do_not_get_until_it_tells_us)
{
    struct hf_lock *lock = lock_on(names[_i]);
    struct hf_lock_info info;

    ck_assert_str_eq(java_ask(line_of("lock", names[_i], "")), "ok");
    ck_assert_str_eq(java_ask(line_of("lock", names[_i], "")), "ok");
    ck_assert_int_eq(hf_lock_inspect(lock, &info, NULL), HF_OK);
    ck_assert(info.is_locked);
    ck_assert_int_eq(info.hold_count, 2);
    ck_assert_int_eq(acquire_within(lock, 0), HF_TIMEOUT);
    ck_assert_int_eq(acquire_within(lock, 50), HF_TIMEOUT);

    ck_assert_str_eq(java_ask(line_of("unlock", names[_i], "")), "ok");
    ck_assert_int_eq(acquire_within(lock, 50), HF_TIMEOUT);
    java_do(line_of("unlock", names[_i], ""));
    ck_assert_int_eq(acquire_within(lock, TOLD_MS), HF_OK);
    ck_assert_str_eq(java_says(JAVA_MS), "ok");
    ck_assert_int_eq(hf_lock_release(lock, hf_owner_thread(), NULL), HF_OK);
    hf_lock_free(lock);
}
END_TEST

START_TEST(what_we_hold_redisson_does_not_get_until_we_tell_it)
{
    struct hf_lock *lock = lock_on(names[_i]);
    const char *answer;

    ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
    ck_assert_str_eq(java_ask(line_of("locked", names[_i], "")), "true");
    ck_assert_str_eq(java_ask(line_of("try", names[_i], " 0 -1")), "false");
    ck_assert_str_eq(java_ask(line_of("unlock", names[_i], "")), "not mine");

    java_do(line_of("lock", names[_i], ""));
    ck_assert_msg(java_says(200) == NULL, "Redisson is inside, too");
    ck_assert_int_eq(hf_lock_release(lock, hf_owner_thread(), NULL), HF_OK);
    answer = java_says(TOLD_MS);
    ck_assert_msg(answer && strcmp(answer, "ok") == 0, "it was not woken");
    ck_assert_str_eq(java_ask(line_of("count", names[_i], "")), "1");
    ck_assert_str_eq(java_ask(line_of("unlock", names[_i], "")), "ok");
    hf_lock_free(lock);
}
END_TEST

START_TEST(either_side_may_force_the_other)
{
    struct hf_lock *lock = lock_on("forced");

    ck_assert_str_eq(java_ask("lock forced"), "ok");
    ck_assert_int_eq(hf_lock_force_release(lock, NULL, 0, NULL), HF_OK);
    ck_assert_str_eq(java_ask("unlock forced"), "not mine");

    ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
    ck_assert_str_eq(java_ask("force forced"), "true");
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
    ck_assert_int_eq(hf_lock_release(lock, hf_owner_thread(), NULL), HF_OK);
}

START_TEST(both_sides_together_never_are_inside_at_once)
{
    struct hf_lock *lock = lock_on("adder");
    char line[64];

    server_ask(server, "SET sum 0");
    snprintf(line, sizeof line, "add adder sum %d", ADDS);
    java_do(line);
    for (int i = 0; i < ADDS; i++)
        add_once(lock);
    ck_assert_str_eq(java_says(JAVA_MS), "ok");
    ck_assert_int_eq(atol(server_ask(server, "GET sum")), 2 * ADDS);
    hf_lock_free(lock);
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
    tcase_add_loop_test(
        tc, what_redisson_holds_we_do_not_get_until_it_tells_us, 0, NAMES);
    tcase_add_loop_test(
        tc, what_we_hold_redisson_does_not_get_until_we_tell_it, 0, NAMES);
    tcase_add_test(tc, either_side_may_force_the_other);
    tcase_add_test(tc, both_sides_together_never_are_inside_at_once);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK); /* one JVM for all of them */
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
