/* The checkers of examples/fencing/ against the real thing: a holder that is
 * stopped and wakes after its lease is refused by each. C, Redis and, where there is
 * sqlite3, SQLite; PostgreSQL in `make fencing`, which starts one. */
#include "tests/live/test_run_kit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/live/test_lock.h"

#define WRITER HF_BUILD "/tests/fencing/writer"
#define RESOURCE "tests/fencing/resource.sh"
#define REFUSED 3
#define LEASE_MS "500"

/* What is there, of all that resource.sh knows. */
static const char *kinds[6] = {"c", "redis"};
static int kind_count = 2;

static void find_kinds(void)
{
    if (system("command -v sqlite3 >/dev/null") == 0) {
        kinds[kind_count++] = "sqlite";
        kinds[kind_count++] = "sqlite-row";
    }
    if (getenv("HF_FENCING_PG")) {
        kinds[kind_count++] = "postgresql";
        kinds[kind_count++] = "postgresql-row";
    }
}

/* ---- resources ---- */

static void name_places(void)
{
    char url[SERVER_URL_MAX];

    (void)setenv("HOLDFAST_URL", server_url(server, url), 1);
    (void)setenv("HF_FENCING_DIR", server_folder(server), 1);
    (void)setenv("HF_FENCING_C", HF_BUILD "/examples/fencing", 1);
}

static char said[4096]; /* by the last command */

/* The exit code of a command. */
static int code_of(const char *command)
{
    FILE *pipe = popen(command, "r");
    int status;
    size_t n;

    ck_assert_ptr_nonnull(pipe);
    n = fread(said, 1, sizeof said - 1, pipe);
    said[n] = '\0';
    status = pclose(pipe);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void set_up(const char *kind)
{
    char command[200];

    name_places();
    (void)snprintf(command, sizeof command, RESOURCE " %s setup 2>&1", kind);
    ck_assert_msg(code_of(command) == 0, "%s: setup: %s", kind, said);
}

static int write_as(const char *kind, const char *token, const char *value)
{
    char command[200];

    (void)snprintf(command, sizeof command, RESOURCE " %s write %s %s 2>&1",
                   kind, token, value);
    return code_of(command);
}

static void expect(const char *kind, const char *token, const char *value,
                   int code)
{
    int is = write_as(kind, token, value);

    ck_assert_msg(is == code, "%s: %s ended with %d, not %d: %s", kind, token,
                  is, code, said);
}

/* Without its newline, lent until the next command. */
static const char *value_of(const char *kind)
{
    char command[200];

    (void)snprintf(command, sizeof command, RESOURCE " %s read 2>&1", kind);
    ck_assert_msg(code_of(command) == 0, "%s: read: %s", kind, said);
    said[strcspn(said, "\n")] = '\0';
    return said;
}

/* ---- holders ---- */

static struct process *writer(const char *lease_ms)
{
    const char *const argv[] = {WRITER, lease_ms, NULL};

    return start(server, (char *const *)argv);
}

static long long await_token(struct process *p)
{
    return atoll(await_line(p, OUT, "token ") + strlen("token "));
}

static void tell(struct process *p, const char *kind, const char *how,
                 const char *value)
{
    char line[200];

    (void)snprintf(line, sizeof line, RESOURCE " %s %s $TOKEN %s\n", kind, how,
                   value);
    say(p, line);
}

static int await_exit(struct process *p)
{
    return atoi(await_line(p, OUT, "exit ") + strlen("exit "));
}

static int told(struct process *p, const char *kind, const char *how,
                const char *value)
{
    tell(p, kind, how, value);
    return await_exit(p);
}

/* A holder writes and is stopped; its lease ends, and with that the wait of
 * another, who writes, too; the first wakes, and goes on to write once more. Its
 * last write's exit code. */
static int late_write(const char *kind, const char *how, struct process **second)
{
    struct process *first = writer(LEASE_MS);

    ck_assert_int_eq(await_token(first), 1);
    ck_assert_int_eq(told(first, kind, how, "early"), 0);
    ck_assert_int_eq(kill(pid_of(first), SIGSTOP), 0);
    await_state(pid_of(first), 'T');
    *second = writer("0");
    ck_assert_int_eq(await_token(*second), 2);
    ck_assert_int_eq(told(*second, kind, how, "second"), 0);
    tell(first, kind, how, "late");
    ck_assert_int_eq(kill(pid_of(first), SIGCONT), 0);
    return await_exit(first);
}

/* ---- the tests ---- */

START_TEST(holder_that_wakes_after_its_lease_is_refused)
{
    const char *kind = kinds[_i];
    struct process *second;

    set_up(kind);
    ck_assert_int_eq(late_write(kind, "write", &second), REFUSED);
    ck_assert_str_eq(value_of(kind), "second");
    ck_assert_int_eq(told(second, kind, "write", "again"), 0);
    ck_assert_str_eq(value_of(kind), "again");
}
END_TEST

/* Does the test above show anything? */
START_TEST(holder_that_wakes_after_its_lease_does_harm_without_a_check)
{
    const char *kind = kinds[_i];
    struct process *second;

    set_up(kind);
    ck_assert_int_eq(late_write(kind, "blind", &second), 0);
    ck_assert_str_eq(value_of(kind), "late");
}
END_TEST

static const struct {
    const char *token;
    int code;
} offers[] = {
    {"9", 0},
    {"10", 0},
    {"9", REFUSED},             /* though "9" > "10" as text */
    {"10", 0},
    {"9007199254740992", 0},    /* 2^53 */
    {"9007199254740993", 0},    /* the same, as a double */
    {"9007199254740992", REFUSED},
    {"9007199254740993", 0},
    {"9223372036854775807", 0}, /* 2^63 - 1 */
    {"9223372036854775806", REFUSED},
    {"9223372036854775807", 0},
};

START_TEST(tokens_are_compared_exactly)
{
    const char *kind = kinds[_i];

    set_up(kind);
    for (size_t i = 0; i < COUNT(offers); i++) {
        char value[32], before[100];

        (void)snprintf(value, sizeof value, "v%zu", i);
        (void)snprintf(before, sizeof before, "%s", value_of(kind));
        expect(kind, offers[i].token, value, offers[i].code);
        ck_assert_str_eq(value_of(kind), offers[i].code ? before : value);
    }
}
END_TEST

START_TEST(invalid_token_writes_nothing)
{
    static const char *const wrong[] = {"0", "-1", "x", "9223372036854775808"};
    const char *kind = kinds[_i];

    set_up(kind);
    expect(kind, "5", "five", 0);
    for (size_t i = 0; i < COUNT(wrong); i++)
        ck_assert_int_ne(write_as(kind, wrong[i], "wrong"), 0);
    ck_assert_str_eq(value_of(kind), "five");
    expect(kind, "5", "still", 0);
}
END_TEST

/* Ten writers at once: nobody undoes what the greatest token wrote, and that is
 * never refused. */
START_TEST(concurrent_writers_leave_the_value_of_the_greatest_token)
{
    const char *kind = kinds[_i];
    char command[400];

    set_up(kind);
    for (int round = 1; round <= 5; round++) {
        char expected[20];
        int greatest = round * 10 + 9;

        (void)snprintf(command, sizeof command,
            "for i in 3 7 9 0 8 1 6 2 5 4; do " RESOURCE " %s write %d$i v%d$i "
            ">/dev/null 2>&1 & [ $i != 9 ] || last=$!; done; wait $last; "
            "code=$?; wait; exit $code", kind, round, round);
        ck_assert_msg(code_of(command) == 0, "the greatest is refused");
        (void)snprintf(expected, sizeof expected, "v%d", greatest);
        ck_assert_str_eq(value_of(kind), expected);
    }
}
END_TEST

/* ---- a counter that is lost ---- */

#define COUNTER "redisson_lock_token:{order:42}"

static void write_once(const char *kind, long long token, int code)
{
    struct process *p = writer("0");

    ck_assert_int_eq(await_token(p), token);
    ck_assert_int_eq(told(p, kind, "write", "new"), code);
    shut(p);
    ck_assert_int_eq(finish(p), 0);
}

/* As docs/fencing.md says. */
START_TEST(lost_counter_is_raised_above_the_tokens_of_the_resource)
{
    const char *kind = kinds[_i];

    set_up(kind);
    expect(kind, "41", "old", 0);
    write_once(kind, 1, REFUSED);
    ck_assert_int_eq(server_ask_int(server, "INCRBY " COUNTER " 41"), 42);
    write_once(kind, 43, 0);
    ck_assert_str_eq(value_of(kind), "new");
}
END_TEST

/* ---- inside ---- */

/* A write between whose check and statement this test comes: it stops there until
 * somebody opens the FIFO "go". */
static struct process *start_inside(const char *kind, const char *token,
                                    const char *value)
{
    char command[600];
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct process *p;

    (void)snprintf(command, sizeof command,
                   "rm -f $HF_FENCING_DIR/go; mkfifo $HF_FENCING_DIR/go; "
                   "export HF_FENCING_INSIDE='echo inside >&3; "
                   "read go <$HF_FENCING_DIR/go'; "
                   "exec " RESOURCE " %s write %s %s", kind, token, value);
    p = start(server, (char *const *)argv);
    (void)await_line(p, STATUS, "inside");
    return p;
}

static void let_go_on(void)
{
    char path[300];
    int fd;

    (void)snprintf(path, sizeof path, "%s/go", server_folder(server));
    fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    (void)close(fd);
}

static const char *const in_two[] = {"sqlite", "postgresql"};

static bool is_there(const char *kind)
{
    for (int i = 0; i < kind_count; i++)
        if (strcmp(kinds[i], kind) == 0)
            return true;
    return false;
}

/* Were the check over before the write, a greater token could come in between, and
 * the late write undo what it wrote. */
START_TEST(writer_after_its_check_excludes_others_until_it_has_written)
{
    const char *kind = in_two[_i];
    struct process *first;

    set_up(kind);
    first = start_inside(kind, "5", "first");
    (void)setenv("HF_FENCING_PATIENCE", "100", 1);
    expect(kind, "6", "second", 1); /* an error: had no time to wait */
    ck_assert_ptr_nonnull(strstr(said, "lock"));
    (void)unsetenv("HF_FENCING_PATIENCE");
    let_go_on();
    ck_assert_int_eq(finish(first), 0);
    expect(kind, "6", "second", 0);
    ck_assert_str_eq(value_of(kind), "second");
}
END_TEST

/* ---- */

static Suite *fencing(void)
{
    Suite *s = suite_create("fencing");
    TCase *holders = run_case(s, "holders");
    TCase *tokens = run_case(s, "tokens");

    tcase_add_loop_test(holders, holder_that_wakes_after_its_lease_is_refused, 0,
                        kind_count);
    tcase_add_loop_test(holders,
                        holder_that_wakes_after_its_lease_does_harm_without_a_check,
                        0, kind_count);
    tcase_add_loop_test(tokens, tokens_are_compared_exactly, 0, kind_count);
    tcase_add_loop_test(tokens, invalid_token_writes_nothing, 0, kind_count);
    tcase_add_loop_test(tokens, concurrent_writers_leave_the_value_of_the_greatest_token, 0,
                        kind_count);
    tcase_add_loop_test(
        tokens, lost_counter_is_raised_above_the_tokens_of_the_resource,
        0, kind_count);
    for (int i = 0; i < (int)COUNT(in_two); i++)
        if (is_there(in_two[i]))
            tcase_add_loop_test(
                tokens,
                writer_after_its_check_excludes_others_until_it_has_written, i,
                i + 1);
    return s;
}

int main(void)
{
    find_kinds();
    return run_suite(fencing());
}
