/* A process that has no descriptor left: every subcommand, and every call of the
 * library that opens one, names EMFILE. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/live/test_lock.h"
#include "tests/live/test_run_kit.h"

/* LeakSanitizer needs a descriptor when a process ends, and has none here. */
const char *__asan_default_options(void)
    __attribute__((visibility("default")));

const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* As many as a shell and timeout(1) need to start it, up to as many as each subcommand needs. */
#define FEWEST 5
#define MOST 18

/* It runs until the test stops it. With --for it would fail in another way where it could not
 * connect before that time, and timeout(1) may not yet pass a signal on when its child writes. */
#define WATCH "watch x"

/* Of holdfast, and of holdfast-resp. */
static const char *const commands[] = {
    "status x", "status -u redis://localhost:$PORT x", "ls", "fence x", "doctor",
    WATCH, "unlock --force -y x", "unlock --queue x",
    "acquire --lease 1s x", "run x true", "run --fair x true",
    "run --multi y x true", "elect x false", "-resp check",
    "renew x aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee:-1 --lease 1s",
    "status --password-file /etc/passwd x"};

/* What a subcommand with enough of them may fail with: not of descriptors. */
static bool is_of_something_else(const char *said)
{
    static const char *const others[] = {"it is free", "is not a handle", "any more",
                                         "HELLO", "AUTH", "the handle", "no longer",
                                         "Name or service", "name resolution"};

    for (size_t i = 0; i < COUNT(others); i++)
        if (strstr(said, others[i]))
            return true;
    return false;
}

static struct process *start_limited(const char *command, int limit)
{
    static char text[400];
    char *argv[] = {(char *)"sh", (char *)"-c", text, NULL};

    (void)snprintf(text, sizeof text,
                   "ulimit -n %d; URL=$HOLDFAST_URL; PORT=${URL##*:}; "
                   "exec %s" HF_BUILD "/holdfast%s%s",
                   limit, strcmp(command, WATCH) == 0 ? "" : "timeout 2 ",
                   *command == '-' ? "" : " ", command);
    return start(server, argv);
}

/* Its exit code. */
static int end_of(struct process *p, const char *command)
{
    if (strcmp(command, WATCH) == 0 && await_first(p, OUT))
        (void)kill(pid_of(p), SIGTERM);
    return finish(p);
}

START_TEST(subcommand_without_descriptors_names_emfile)
{
    int named = 0;

    for (int limit = FEWEST; limit <= MOST; limit++) {
        struct process *p = start_limited(commands[_i], limit);
        int code = end_of(p, commands[_i]);
        const char *said = await_end(p, ERR);

        named += strstr(said, "EMFILE") != NULL;
        if (code == 125 && !is_of_something_else(said))
            ck_assert_msg(strstr(said, "EMFILE"), "%s with %d: %s", commands[_i],
                          limit, said);
        ck_assert_msg(!strstr(said, "check that the server runs"), "%s with %d: %s",
                      commands[_i], limit, said);
    }
    ck_assert_msg(named > 0, "%s was never short of descriptors", commands[_i]);
}
END_TEST

/* ---- the library ---- */

/* Leaves so many descriptors free above those that are open. */
static void limit_descriptors(int left)
{
    struct rlimit limit;
    int lowest = dup(0);

    ck_assert_int_ge(lowest, 0);
    (void)close(lowest);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (rlim_t)(lowest + left);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Each step of making and connecting a client, one descriptor more each time. The
 * suite forks for each test: the limit is this one's. */
START_TEST(library_names_emfile)
{
    struct hf_client_options o;
    struct hf_client *client = NULL;
    struct hf_error err = {0};
    char url[SERVER_URL_MAX];
    hf_status rc;

    client_options(&o, url, server_port(server));
    o.connect_once = true;
    o.thread = _i % 2;
    o.connect_timeout_ms = 1000;
    limit_descriptors(_i / 2);
    rc = hf_client_new(&client, &o, &err);
    if (rc == HF_OK)
        rc = hf_client_connect(client, &err);
    if (rc < 0)
        ck_assert_msg(strstr(err.text, "EMFILE"), "%d left: %s: %s", _i / 2,
                      hf_status_name(rc), err.text);
    ck_assert(rc < 0 || _i / 2 >= 4);
    hf_client_free(client);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("descriptors");
    TCase *c = run_case(s, "few");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, subcommand_without_descriptors_names_emfile, 0,
                        COUNT(commands));
    tcase_add_loop_test(c, library_names_emfile, 0, 20);
    return run_suite(s);
}
