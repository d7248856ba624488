/* A run inside another has to prove that: the environment alone, which sudo(8) and
 * ssh(1) can pass on, lets no command run without its lock. */
#include "tests/live/test_run_kit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/lateness.h"
#include "tests/support/local.h"
#include "tests/support/suite.h"

#define HOLDFAST HF_BUILD "/holdfast"
#define SH "sh", "-c"
#define TEXT 600

/* ---- an outer run ---- */

static char outer[TEXT], owner[TEXT];

/* A run whose command shows its environment. */
static struct process *start_outer(const char *name)
{
    struct process *p = holdfast(server, "run", name, SH,
                                 "echo outer=$HOLDFAST_OUTER;"
                                 "echo owner=$HOLDFAST_OWNER; read go", NULL);

    (void)snprintf(outer, sizeof outer, "HOLDFAST_OUTER=%s",
                   await_line(p, OUT, "outer=") + strlen("outer="));
    (void)snprintf(owner, sizeof owner, "HOLDFAST_OWNER=%s",
                   await_line(p, OUT, "owner=") + strlen("owner="));
    return p;
}

static void end_outer(struct process *p)
{
    shut(p);
    (void)finish(p);
}

/* A run outside, with that environment. */
static struct process *pretend(const char *list)
{
    char *argv[] = {(char *)"env", (char *)list,       owner,
                    (char *)HOLDFAST, (char *)"run",  (char *)"x",
                    (char *)"echo", (char *)"ran",    NULL};

    return start(server, argv);
}

static void is_refused(struct process *p, const char *said)
{
    ck_assert_int_eq(finish(p), 125);
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), said));
}

/* ---- the environment alone ---- */

START_TEST(environment_is_no_proof)
{
    struct process *p = start_outer("x");

    is_refused(pretend(outer), "cannot prove");
    end_outer(p);
}
END_TEST

/* As a program does that closes what it does not know. */
START_TEST(closed_descriptor_is_no_proof)
{
    struct process *p = holdfast(
        server, "run", "x", SH, "eval \"exec $HOLDFAST_FD<&-\"; " HOLDFAST
        " run x echo ran; echo code $?", NULL);

    ck_assert_str_eq(await_line(p, OUT, ""), "code 125");
    (void)await_line(p, ERR, "cannot prove");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* ---- forged descriptors ---- */

/* A pipe of our own that a forged list names, with the door of a real run, with one
 * that does not exist, with none. */
static const char *const doors[] = {"@", "@fffff", "", "@@@@", "@0123456789abcdef0"};

#define REAL_DOOR ROWS(doors)

static const char *real_door(void)
{
    static char door[32];
    const char *at = strrchr(outer, '@');

    ck_assert_ptr_nonnull(at);
    (void)snprintf(door, sizeof door, "%.*s", (int)strcspn(at, ","), at);
    return door;
}

START_TEST(pipe_of_another_is_no_proof)
{
    struct process *p = start_outer("x");
    const char *held = owner + strlen("HOLDFAST_OWNER=");
    char list[TEXT + 200], digits[12], place[80];
    struct stat st;
    int fd[2];

    ck_assert_int_eq(pipe(fd), 0); /* inherited */
    ck_assert_int_eq(fstat(fd[0], &st), 0);
    (void)snprintf(digits, sizeof digits, "%d", fd[0]);
    (void)snprintf(place, sizeof place, "%llu:%llu%s",
                   (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
                   _i == REAL_DOOR ? real_door() : doors[_i]);
    (void)snprintf(list, sizeof list, "HOLDFAST_OUTER=1:x,%zu:%s,%zu:%s,%zu:%s,",
                   strlen(held), held, strlen(digits), digits, strlen(place),
                   place);
    is_refused(pretend(list), "cannot prove");
    (void)close(fd[0]);
    (void)close(fd[1]);
    end_outer(p);
}
END_TEST

/* Inside a real run on another name: its descriptor proves nothing about x, which
 * another holds, whose owner `status` shows. */
START_TEST(descriptor_of_a_run_on_another_name_is_no_proof)
{
    struct process *p = holdfast(
        server, "run", "y", SH,
        "rest=${HOLDFAST_OUTER#*,}; rest=${rest#*,};"
        "HOLDFAST_OUTER=\"1:x,38:" STRANGER ",$rest\" HOLDFAST_OWNER=" STRANGER
        " " HOLDFAST " run x echo ran; echo code $?", NULL);

    ck_assert_uint_eq(strlen(STRANGER), 38);
    hold_by_other("x", 60000);
    ck_assert_str_eq(await_line(p, OUT, ""), "code 125");
    (void)await_line(p, ERR, "cannot prove");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

static const char *const broken[] = {"x", "1:x,", "1:x,2:ab,1:3,3:1:2", "5:hello;",
                                     "99999999999:x,", "1:x,1:y,1:3,1:z,rest"};

START_TEST(list_that_cannot_be_read_is_refused)
{
    struct process *p;
    char list[TEXT];

    hold_by_other("x", 60000);
    (void)snprintf(owner, sizeof owner, "HOLDFAST_OWNER=" STRANGER);
    (void)snprintf(list, sizeof list, "HOLDFAST_OUTER=%s", broken[_i]);
    p = pretend(list);
    is_refused(p, "HOLDFAST_OUTER was changed, so this run cannot know");
}
END_TEST

/* ---- the outer run replies ---- */

/* More than fit into the queue of its socket. */
START_TEST(many_runs_inside_are_answered)
{
    struct process *p = holdfast(
        server, "run", "x", SH,
        "for i in $(seq 40); do " HOLDFAST " run x echo ran & done; wait", NULL);

    for (int i = 0; i < 40; i++)
        (void)await_line(p, OUT, "ran");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* It is stopped, and so are its renewals. */
START_TEST(stopped_outer_run_proves_nothing)
{
    struct process *p = holdfast(server, "run", "--ttl", "1h", "x", SH,
                                 "echo up; read go; " HOLDFAST
                                 " run x echo ran; echo code $?", NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGSTOP), 0);
    say(p, "go\n");
    ck_assert_str_eq(await_line(p, OUT, ""), "code 125");
    (void)await_line(p, ERR, "cannot prove");
    ck_assert_int_eq(kill(pid_of(p), SIGCONT), 0);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* And a signal ends the wait for its reply. */
START_TEST(signal_ends_the_wait_for_the_proof)
{
    struct process *p = holdfast(
        server, "run", "--ttl", "1h", "x", SH,
        "echo up; read go; " HOLDFAST " run x echo ran & sleep 0.3; kill $!;"
        "wait $!; echo code $?", NULL);
    int64_t said_ms;

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGSTOP), 0);
    said_ms = local_now_ms();
    say(p, "go\n");
    ck_assert_str_eq(await_line(p, OUT, ""), "code 143");
    ck_assert_within(said_ms, 4000);
    ck_assert_int_eq(kill(pid_of(p), SIGCONT), 0);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* ---- tokens ---- */

/* The outer run's token is 1, 2, .. */
static const struct {
    const char *option, *token;
    int code;
} tokens[] = {
    {"--fenced", "$HOLDFAST_TOKEN", 0}, {"", "$HOLDFAST_TOKEN", 0},
    {"--fenced", "", 125},              {"", "", 0},
    {"--fenced", "abc", 125},           {"", "abc", 125},
    {"--fenced", "-1", 125},            {"", "-1", 125},
    {"--fenced", "0", 125},             {"", "0", 125},
    {"--fenced", "999999", 125},        {"", "999999", 125},
    {"--fenced", "1x", 125},            {"", "' 1'", 125},
    {"--fenced", "+1", 125},            {"", "01", 125},
    {"--fenced", "9223372036854775808", 125},
    {"--fenced", "18446744073709551617", 125},
};

START_TEST(token_of_a_run_inside_is_the_outer_runs)
{
    struct process *p;
    char script[TEXT];

    (void)snprintf(script, sizeof script,
                   "HOLDFAST_TOKEN=%s " HOLDFAST " run %s x sh -c "
                   "'echo ran $HOLDFAST_TOKEN'; echo code $?",
                   tokens[_i].token, tokens[_i].option);
    p = holdfast(server, "run", "--fenced", "x", SH, script, NULL);
    if (tokens[_i].code == 0)
        ck_assert_str_eq(await_line(p, OUT, ""),
                         *tokens[_i].token ? "ran 1" : "ran");
    (void)snprintf(script, sizeof script, "code %d", tokens[_i].code);
    ck_assert_str_eq(await_line(p, OUT, ""), script);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* The outer run has none. */
START_TEST(invented_token_is_refused)
{
    struct process *p = holdfast(server, "run", "x", SH,
                                 "HOLDFAST_TOKEN=7 " HOLDFAST
                                 " run x echo ran; echo code $?", NULL);

    ck_assert_str_eq(await_line(p, OUT, ""), "code 125");
    (void)await_line(p, ERR, "HOLDFAST_TOKEN=7 is not the token");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast run, inside another");
    TCase *c = run_case(s, "proof");

    tcase_add_test(c, environment_is_no_proof);
    tcase_add_test(c, closed_descriptor_is_no_proof);
    tcase_add_loop_test(c, pipe_of_another_is_no_proof, 0, REAL_DOOR + 1);
    tcase_add_test(c, descriptor_of_a_run_on_another_name_is_no_proof);
    tcase_add_loop_test(c, list_that_cannot_be_read_is_refused, 0, ROWS(broken));
    tcase_add_test(c, many_runs_inside_are_answered);
    tcase_add_test(c, stopped_outer_run_proves_nothing);
    tcase_add_test(c, signal_ends_the_wait_for_the_proof);
    c = run_case(s, "tokens");
    tcase_add_loop_test(c, token_of_a_run_inside_is_the_outer_runs, 0,
                        ROWS(tokens));
    tcase_add_test(c, invented_token_is_refused);
    return run_suite(s);
}
