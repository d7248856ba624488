/* Labels on the command line: --label, HOLDFAST_LABEL, and where a person and a program see the
 * label of a holder. */
#include "tests/live/test_run_kit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/local.h"
#include "tests/support/suite.h"

#define HELD "echo ready; read go"
#define KEY "holdfast_label:6e3814a1-e847-452b-a982-45baf93a1df2" /* of STRANGER */

/* The UUID of who holds x, as a key. */
static const char *key_of_holder(void)
{
    static char key[64];

    (void)snprintf(key, sizeof key, "holdfast_label:%.36s", server_ask(server, "HKEYS x"));
    return key;
}

static void await_label(const char *label)
{
    server_await(server, PATIENCE_MS, label, "GET %s", key_of_holder());
}

static struct process *hold_labelled(const char *label)
{
    struct process *p = holdfast(server, "run", "--label", label, "x", "sh", "-c", HELD, NULL);

    (void)await_line(p, OUT, "ready");
    await_label(label);
    return p;
}

static void let_go(struct process *p)
{
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
}

static const char *status_line(const char *option)
{
    struct process *p = holdfast(server, "status", option, "x", NULL);
    const char *line = await_line(p, OUT, "x");

    ck_assert_int_eq(finish(p), 0);
    return line;
}

/* ---- which label ---- */

/* Host, process and program: those of run; of the shell that has started acquire. */
static const struct {
    const char *script, *program;
} defaults[] = {
    {"echo pid $$; exec " HF_BUILD "/holdfast run x -- /bin/cat", "cat"},
    {"echo pid $$; exec " HF_BUILD "/holdfast run x -c 'read go'", "sh"},
    {"echo pid $$; exec " HF_BUILD "/holdfast hold --stdin x", "holdfast"},
    {"echo pid $$; " HF_BUILD "/holdfast acquire --lease 1h x; read go", "sh"},
};

START_TEST(the_default_names_host_process_and_program)
{
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)defaults[_i].script, NULL};
    char host[256] = "", wanted[400];
    struct process *p;

    ck_assert_int_eq(setenv("SHELL", "/bin/sh", 1), 0);
    ck_assert_int_eq(gethostname(host, sizeof host - 1), 0);
    p = start(server, argv);
    (void)snprintf(wanted, sizeof wanted, "%.56s %s %s", host,
                   await_line(p, OUT, "pid ") + strlen("pid "), defaults[_i].program);
    server_await(server, PATIENCE_MS, "1", "EXISTS x");
    await_label(wanted);
    (void)strcat(wanted, ")");
    ck_assert_ptr_nonnull(strstr(status_line("--"), wanted));
    shut(p);
    (void)finish(p);
}
END_TEST

/* The option, then the variable, then the URL. */
static const struct {
    const char *option, *variable, *in_url, *label; /* label NULL: none is stored */
} ways[] = {
    {"--label=option", "variable", "url", "option"},
    {"-v", "variable", "url", "variable"},
    {"-v", NULL, "url", "url"},
    {"--label=", "variable", "url", NULL},
    {"-v", "", "url", NULL},
};

START_TEST(each_way_to_set_it)
{
    char url[SERVER_URL_MAX + 32];
    struct process *p;

    if (ways[_i].variable)
        ck_assert_int_eq(setenv("HOLDFAST_LABEL", ways[_i].variable, 1), 0);
    (void)server_url(server, url);
    (void)strcat(strcat(url, "?label="), ways[_i].in_url);
    p = holdfast(NULL, "run", "-u", url, ways[_i].option, "x", "sh", "-c", HELD, NULL);
    (void)await_line(p, OUT, "ready");
    if (ways[_i].label)
        await_label(ways[_i].label);
    else
        local_rest_us(700000);
    ck_assert_int_eq(server_ask_int(server, "EXISTS %s", key_of_holder()), ways[_i].label != NULL);
    let_go(p);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0); /* nothing is left */
}
END_TEST

START_TEST(a_label_that_a_terminal_would_execute_is_refused)
{
    struct process *p = holdfast(server, "run", "--label", "\033[2J", "x", "true", NULL);

    (void)await_line(p, ERR, "a label has at most 128 bytes of UTF-8, without control");
    ck_assert_int_eq(finish(p), 125);
    ck_assert_int_eq(server_ask_int(server, "EXISTS x"), 0);
}
END_TEST

/* ---- who shows it ---- */

START_TEST(status_shows_it)
{
    struct process *p = hold_labelled("night shift");

    ck_assert_ptr_nonnull(strstr(status_line("--"), " (night shift), hold count 1"));
    ck_assert_str_eq(member(status_line("--json"), "label"), "night shift");
    let_go(p);
}
END_TEST

START_TEST(a_dead_holder_still_has_one)
{
    struct process *p = hold_labelled("night shift");

    (void)kill(pid_of(p), SIGKILL);
    (void)finish(p);
    ck_assert_ptr_nonnull(strstr(status_line("--"), " (night shift)"));
    ck_assert_int_gt(server_ask_int(server, "PTTL %s", key_of_holder()),
                     server_ask_int(server, "PTTL x"));
}
END_TEST

START_TEST(watch_shows_it)
{
    struct process *p = hold_labelled("night shift");
    struct process *text = holdfast(server, "watch", "--every", "50ms", "x", NULL);
    struct process *json = holdfast(server, "watch", "--every", "50ms", "--json", "x", NULL);

    (void)await_line(text, OUT, " (night shift), TTL ");
    ck_assert_str_eq(member(await_line(json, OUT, "held"), "label"), "night shift");
    let_go(p);
    (void)await_line(text, OUT, " (night shift)");
    ck_assert_str_eq(member(await_line(json, OUT, "released"), "label"), "night shift");
    (void)kill(pid_of(text), SIGTERM);
    (void)kill(pid_of(json), SIGTERM);
    (void)finish(text);
    (void)finish(json);
}
END_TEST

#define READ_MS 10000           /* the last time that watch reads it is earlier */

static int gets_now(void)
{
    const char *at = strstr(server_ask(server, "INFO commandstats"), "cmdstat_get:calls=");

    return at ? atoi(at + strlen("cmdstat_get:calls=")) : 0;
}

/* It is stored when the hold is half a second old, which is after `acquired` was printed. */
START_TEST(watch_shows_a_label_that_was_stored_later)
{
    struct process *watch = holdfast(server, "watch", "x", NULL), *p;
    int64_t until_ms = local_now_ms() + READ_MS;
    int gets;

    (void)await_line(watch, OUT, "x: free");
    p = holdfast(server, "run", "--label", "night shift", "x", "sh", "-c", HELD, NULL);
    (void)await_line(watch, OUT, "acquired by");
    server_await(server, PATIENCE_MS, "1", "EXISTS %s", key_of_holder());
    gets = gets_now();
    while (gets_now() == gets && local_now_ms() < until_ms) /* or it has been read already */
        local_rest_us(10000);
    (void)await_line(p, OUT, "ready");
    let_go(p);
    ck_assert_ptr_nonnull(strstr(await_line(watch, OUT, "released, was held by"),
                                 " (night shift)"));
    (void)kill(pid_of(watch), SIGTERM);
    (void)finish(watch);
}
END_TEST

/* ---- who waits ---- */

static const char *const waiters[] = {"run", "hold", "acquire"};

START_TEST(a_waiter_shows_it)
{
    struct process *p = hold_labelled("night shift"), *w;
    const char *which = waiters[_i];

    w = _i == 2 ? holdfast(server, which, "-v", "--lease", "1h", "x", NULL)
                : holdfast(server, which, "-v", "x", _i == 0 ? "true" : NULL, NULL);
    (void)await_line(w, ERR, " (night shift), TTL ");
    let_go(p);
    if (_i == 1) {
        (void)await_line(w, OUT, "held ");
        (void)kill(pid_of(w), SIGTERM);
    }
    ck_assert_int_eq(finish(w), 0);
}
END_TEST

START_TEST(one_that_gives_up_shows_it)
{
    struct process *p = hold_labelled("night shift"), *w;
    const char *which = waiters[_i / 2], *wait = _i % 2 ? "-w1500ms" : "-n";

    w = _i / 2 == 2 ? holdfast(server, which, "-v", wait, "--lease", "1h", "x", NULL)
                    : holdfast(server, which, "-v", wait, "x", _i / 2 == 0 ? "true" : NULL,
                               NULL);
    (void)await_line(w, ERR, _i % 2 ? "timed out waiting for the lock, held by "
                                    : "lock 'x' is held by ");
    ck_assert_int_eq(finish(w), 75);
    let_go(p);
}
END_TEST

START_TEST(the_refusal_has_it)
{
    struct process *p = hold_labelled("night shift");
    struct process *w = holdfast(server, "run", "-v", _i ? "-w1500ms" : "-n", "x", "true", NULL);
    const char *said;

    ck_assert_int_eq(finish(w), 75);
    said = await_end(w, ERR);
    ck_assert_ptr_nonnull(strstr(strstr(said, "lock 'x'"), "(night shift)"));
    let_go(p);
}
END_TEST

START_TEST(the_event_has_it)
{
    struct process *p = hold_labelled("night shift");
    struct process *w = holdfast(server, "run", "--status-fd", "3", "x", "true", NULL);

    ck_assert_str_eq(member(await_line(w, STATUS, "waiting"), "label"), "night shift");
    let_go(p);
    ck_assert_int_eq(finish(w), 0);
}
END_TEST

/* Without -v, a person is told after two seconds. */
START_TEST(a_terminal_shows_it_later)
{
    char *argv[] = {(char *)HF_BUILD "/holdfast", (char *)"run", (char *)"x", (char *)"true",
                    NULL};
    struct process *p = hold_labelled("night shift"), *w;

    w = start_on_terminal(server, argv);
    (void)await_line(w, OUT, "holdfast: waiting for x: held by ");
    let_go(p);
    ck_assert_int_eq(finish(w), 0);
}
END_TEST

/* ---- handles ---- */

START_TEST(a_handle_keeps_its_label)
{
    struct process *p = holdfast(server, "acquire", "--label", "deploy 17", "--lease", "60s", "x",
                                 NULL);
    char handle[100], key[64];

    (void)snprintf(handle, sizeof handle, "%s", await_line(p, OUT, " "));
    *strchr(handle, ' ') = '\0';
    ck_assert_int_eq(finish(p), 0);
    (void)snprintf(key, sizeof key, "%s", key_of_holder());
    ck_assert_str_eq(server_ask(server, "GET %s", key), "deploy 17");
    ck_assert_int_eq(finish(holdfast(server, "renew", "--lease", "1h", "x", handle, NULL)), 0);
    ck_assert_int_gt(server_ask_int(server, "PTTL %s", key), 3500000);
    ck_assert_int_eq(finish(holdfast(server, "release", "x", handle, NULL)), 0);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
}
END_TEST

/* ---- other programs ---- */

START_TEST(a_holder_of_redisson_has_none)
{
    hold_by_other("x", 60000);
    ck_assert_ptr_null(strchr(status_line("--"), '('));
    ck_assert_str_eq(member(status_line("--json"), "owner"), STRANGER);
    ck_assert_ptr_null(strstr(status_line("--json"), "label"));
}
END_TEST

/* Any user of the server may write such a key. */
START_TEST(a_forged_label_is_harmless)
{
    const char *line;

    hold_by_other("x", 60000);
    (void)server_ask(server, "SET %s %s", KEY, "a\033[31mb\"\\\xe2\x80\xae" "c\nd");
    line = status_line("--");
    ck_assert_ptr_null(strchr(line, '\033'));
    ck_assert_ptr_nonnull(strstr(line, "(a [31mb\"\\???c d), hold count"));
    ck_assert_ptr_nonnull(strstr(status_line("--json"), "\"label\":\"a [31mb\\\"\\\\???c d\""));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast --label");
    TCase *c = run_case(s, "label");

    tcase_add_loop_test(c, the_default_names_host_process_and_program, 0, ROWS(defaults));
    tcase_add_loop_test(c, each_way_to_set_it, 0, ROWS(ways));
    tcase_add_test(c, a_label_that_a_terminal_would_execute_is_refused);
    tcase_add_test(c, status_shows_it);
    tcase_add_test(c, a_dead_holder_still_has_one);
    tcase_add_test(c, watch_shows_it);
    tcase_add_test(c, watch_shows_a_label_that_was_stored_later);
    tcase_add_loop_test(c, a_waiter_shows_it, 0, ROWS(waiters));
    tcase_add_loop_test(c, one_that_gives_up_shows_it, 0, 2 * ROWS(waiters));
    tcase_add_loop_test(c, the_refusal_has_it, 0, 2);
    tcase_add_test(c, the_event_has_it);
    tcase_add_test(c, a_terminal_shows_it_later);
    tcase_add_test(c, a_handle_keeps_its_label);
    tcase_add_test(c, a_holder_of_redisson_has_none);
    tcase_add_test(c, a_forged_label_is_harmless);
    return run_suite(s);
}
