/* `holdfast acquire`, `holdfast renew` and `holdfast release`: a lock that outlives
 * the process that took it. */
#include "tests/live/test_run_kit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gate.h"
#include "tests/support/proxy.h"
#include "tests/support/suite.h"

#define OWNER_MAX 128
#define CHANNEL "redisson_lock__channel:{x}"

/* Takes x for a minute; its owner goes to `owner`. Returns the safe time. */
static long take(char owner[OWNER_MAX])
{
    struct process *p = holdfast(server, "acquire", "x", "--lease", "1m", NULL);
    long safe_ms = 0;

    ck_assert_int_eq(finish(p), 0);
    ck_assert_int_eq(sscanf(await_end(p, OUT), "%127s %ld", owner, &safe_ms),
                     2);
    return safe_ms;
}

static int release(const char *owner)
{
    return finish(holdfast(server, "release", "x", owner, NULL));
}

static bool is_held(void)
{
    return strcmp(server_ask(server, "EXISTS x"), "1") == 0;
}

START_TEST(a_lock_stays_held_until_it_is_released)
{
    char owner[OWNER_MAX], ask[200];
    long safe_ms = take(owner);

    ck_assert_int_gt(safe_ms, 50000);
    ck_assert_int_le(safe_ms, 60000);
    (void)snprintf(ask, sizeof ask, "HGET x %s", owner);
    ck_assert_str_eq(server_ask(server, ask), "1");
    ck_assert_int_gt(atol(server_ask(server, "PTTL x")), safe_ms - 10000);
    ck_assert_int_eq(release(owner), 0);
    ck_assert(!is_held());
    ck_assert_int_eq(release(owner), 122);
}
END_TEST

START_TEST(it_is_not_renewed)
{
    ck_assert_int_eq(finish(holdfast(server, "acquire", "x", "--lease", "200ms",
                                     NULL)), 0);
    ck_assert_int_eq(finish(holdfast(server, "acquire", "-w", "20s", "x",
                                     "--lease", "1m", NULL)), 0);
}
END_TEST

/* Nor is any text a value lock's owner, as it is to the library. */
static const char *const nonsense[] = {"nonsense", "value:5", "value:",
                                       "value:" STRANGER "x", "fair:5"};

START_TEST(a_release_leaves_the_lock_of_another)
{
    char owner[OWNER_MAX];
    struct process *p;

    (void)take(owner);
    (void)server_ask(server, "DEL x");
    hold_by_other("x", 60000);
    ck_assert_int_eq(release(owner), 122);
    ck_assert(is_held());
    for (size_t i = 0; i < ROWS(nonsense); i++) {
        (void)server_ask(server, "SET s 5");
        p = holdfast(server, "release", "s", nonsense[i], NULL);
        await_line(p, ERR, "not a handle: use the first word");
        ck_assert_int_eq(finish(p), 125);
        p = holdfast(server, "renew", "s", nonsense[i], "--lease=1m", NULL);
        await_line(p, ERR, "not a handle: use the first word");
        ck_assert_int_eq(finish(p), 125);
        ck_assert_str_eq(server_ask(server, "GET s"), "5");
    }
    p = holdfast(NULL, "renew", "-u", "redis://127.0.0.1:1", "s", "word", "--lease=1m", NULL);
    await_line(p, ERR, "not a handle: "); /* and not that nobody is there */
    ck_assert_int_eq(finish(p), 125);
}
END_TEST

/* The first request has no reply, so the outcome is unknown. The last one has a reply. */
START_TEST(a_server_that_replies_with_an_error_is_not_called_silent)
{
    static const struct gate_rule rules[] = {
        {.pattern = "EVALSHA ...", .times = 1},
        {.pattern = "EVALSHA ...",
         .answer = "-ERR unknown command 'EVALSHA'\r\n"},
        {.pattern = "EVAL ...",
         .answer = "-ERR unknown command 'EVAL'\r\n"},
        {0}};
    struct gate *gate = gate_start(server_port(server), rules);
    char owner[OWNER_MAX], url[64];
    const char *err;
    struct process *p;

    (void)take(owner);
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", gate_port(gate));
    p = holdfast(NULL, "renew", "-u", url, "x", owner, "--lease=1m", NULL);
    ck_assert_int_eq(finish(p), 125);
    err = await_end(p, ERR);
    ck_assert_ptr_nonnull(strstr(err, "unknown command 'EVAL'"));
    ck_assert_ptr_null(strstr(err, "not reply"));
    ck_assert_int_eq(release(owner), 0);
    gate_stop(gate);
}
END_TEST

/* ---- kinds ---- */

#define HANDLE_MAX 140

static const struct {
    const char *option, *value; /* NULL: none */
    const char *prefix;         /* of the handle */
    const char *key_left;       /* what is left of it: "" nothing */
} kinds[] = {
    {"-q", NULL, "", ""},                   {"--fair", NULL, "fair:", ""},
    {"--shared", NULL, "read:", ""},        {"--exclusive", NULL, "write:", ""},
    {"--value", NULL, "value:", ""},        {"--permits", "1", "permit:", "x"},
    {"--fenced", NULL, "", "redisson_lock_token:{x}"},
};

static struct process *acquire_kind(int i)
{
    const char *option = kinds[i].option, *value = kinds[i].value;

    return value ? holdfast(server, "acquire", "-n", option, value, "x",
                            "--lease", "1m", NULL)
                 : holdfast(server, "acquire", "-n", option, "x", "--lease",
                            "1m", NULL);
}

/* Returns the token, 0 without one. */
static int take_kind(int i, char handle[HANDLE_MAX])
{
    struct process *p = acquire_kind(i);
    long safe_ms = 0;
    int token = 0;

    ck_assert_int_eq(finish(p), 0);
    ck_assert_int_ge(sscanf(await_end(p, OUT), "%139s %ld %d", handle, &safe_ms,
                            &token), 2);
    ck_assert_int_gt(safe_ms, 40000);
    return token;
}

START_TEST(each_kind_is_renewed_and_released_by_its_handle)
{
    char handle[HANDLE_MAX];
    struct process *p;

    ck_assert_int_eq(take_kind(_i, handle),
                     strcmp(kinds[_i].option, "--fenced") == 0);
    ck_assert_msg(strncmp(handle, kinds[_i].prefix, strlen(kinds[_i].prefix)) ==
                      0, "%s", handle);
    p = holdfast(server, "renew", "x", handle, "--lease", "1h", NULL);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_int_gt(atol(await_end(p, OUT)), 3000000);
    ck_assert_int_le(atol(await_end(p, OUT)), 3600000 / 100 * 99 / 50 * 49);
    ck_assert_int_eq(finish(holdfast(server, "status", "-q", "x", NULL)), 0);
    if (strcmp(kinds[_i].option, "--shared") != 0)
        ck_assert_int_eq(finish(acquire_kind(_i)), 75);
    ck_assert_int_eq(finish(holdfast(server, "release", "x", handle, NULL)), 0);
    ck_assert_str_eq(server_ask(server, "KEYS *"), kinds[_i].key_left);
    ck_assert_int_eq(finish(holdfast(server, "renew", "x", handle, "--lease",
                                     "1m", NULL)), 122);
    ck_assert_int_eq(finish(holdfast(server, "release", "x", handle, NULL)),
                     122);
}
END_TEST

START_TEST(one_reader_of_two_is_released)
{
    char handles[2][HANDLE_MAX];

    (void)take_kind(2, handles[0]);
    (void)take_kind(2, handles[1]);
    ck_assert_int_eq(finish(holdfast(server, "release", "x", handles[0], NULL)),
                     0);
    ck_assert_int_eq(finish(holdfast(server, "renew", "x", handles[0], "--lease",
                                     "1m", NULL)), 122);
    ck_assert_int_eq(finish(holdfast(server, "renew", "x", handles[1], "--lease",
                                     "1m", NULL)), 0);
}
END_TEST

START_TEST(a_late_renewal_shortens_nothing)
{
    char handle[HANDLE_MAX];
    struct process *p;

    (void)take_kind(0, handle);
    p = holdfast(server, "renew", "x", handle, "--lease", "100ms", NULL);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_int_gt(atol(await_end(p, OUT)), 30000);
    ck_assert_int_gt(atol(server_ask(server, "PTTL x")), 30000);
}
END_TEST

START_TEST(kinds_that_do_not_go_together_are_refused)
{
    ck_assert_int_eq(finish(holdfast(server, "acquire", "--fair", "--value", "x",
                                     "--lease", "1m", NULL)), 125);
    ck_assert_int_eq(finish(holdfast(server, "acquire", "--fenced", "--shared",
                                     "x", "--lease", "1m", NULL)), 125);
    ck_assert_int_eq(finish(holdfast(server, "acquire", "--permits", "0", "x",
                                     "--lease", "1m", NULL)), 125);
    ck_assert(!is_held());
}
END_TEST

START_TEST(permit_of_redisson_has_its_id_as_handle)
{
    static const char id[] = "6162636465666768696a6b6c6d6e6f70";

    (void)server_ask(server, "SET x 0");
    (void)server_ask(server, "ZADD {x}:timeout 1000 abcdefghijklmnop");
    ck_assert_int_eq(finish(holdfast(server, "renew", "x", id, "--lease=1m", NULL)), 0);
    ck_assert_int_eq(finish(holdfast(server, "release", "x", id, NULL)), 0);
    ck_assert_str_eq(server_ask(server, "GET x"), "1");
    ck_assert_int_eq(finish(holdfast(server, "release", "x", id, NULL)), 122);
}
END_TEST

/* ---- who waits ---- */

static void await_waiter(void)
{
    server_await(server, PATIENCE_MS, CHANNEL " 1", "PUBSUB NUMSUB " CHANNEL);
}

START_TEST(a_release_wakes_a_waiter)
{
    char owner[OWNER_MAX];
    struct process *waiter;

    (void)take(owner);
    waiter = holdfast(server, "run", "x", "echo", "held", NULL);
    await_waiter();
    ck_assert_int_eq(release(owner), 0);
    await_line(waiter, OUT, "held");
    ck_assert_int_eq(finish(waiter), 0);
}
END_TEST

START_TEST(a_lock_that_another_holds_is_not_acquired)
{
    hold_by_other("x", 60000);
    ck_assert_int_eq(finish(holdfast(server, "acquire", "-n", "x", "--lease",
                                     "1m", NULL)), 75);
    ck_assert_int_eq(finish(holdfast(server, "acquire", "-E", "3", "-w", "50ms",
                                     "x", "--lease", "1m", NULL)), 3);
}
END_TEST

/* Ended while it waits. The lock is then freed, and stays free. */
static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

START_TEST(a_signal_ends_the_wait_and_leaves_nothing)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "acquire", "x", "--lease", "1m", NULL);
    await_waiter();
    (void)kill(pid_of(p), signals[_i]);
    ck_assert_int_eq(finish(p), 1000 + signals[_i]);
    (void)server_ask(server, "DEL x");
    ck_assert(!is_held());
}
END_TEST

/* Then nobody holds it, and its lease may be long. */
static const struct {
    const char *wait;
    int signal, code;
} unheard[] = {{"--wait=1m", SIGTERM, 1000 + SIGTERM}, {"--wait=4s", 0, 125}};

START_TEST(an_abandoned_lock_is_reported)
{
    struct proxy *proxy = proxy_start(server_port(server));
    char url[SERVER_URL_MAX];
    struct process *p;

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", proxy_port(proxy));
    hold_by_other("x", 60000);
    p = holdfast(server, "acquire", "--url", url, "x", "--lease=10m",
                 unheard[_i].wait, NULL);
    await_waiter();
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    (void)server_ask(server, "PING"); /* what had passed is executed: it did not
                                         get the lock */
    (void)server_ask(server, "DEL x");
    (void)server_ask(server, "PUBLISH redisson_lock__channel:{x} 0");
    ck_assert(proxy_await(proxy, PROXY_TO_SERVER, PROXY_KEPT, 1, PATIENCE_MS));
    proxy_swallow(proxy, PROXY_TO_CLIENT, true);
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    server_await(server, PATIENCE_MS, "1", "EXISTS x");
    proxy_hold(proxy, PROXY_TO_SERVER, true);   /* its release */
    if (unheard[_i].signal)
        (void)kill(pid_of(p), unheard[_i].signal);
    await_line(p, ERR, "x may stay locked until its lease expires");
    ck_assert_int_eq(finish(p), unheard[_i].code);
    ck_assert(is_held());
    proxy_stop(proxy);
}
END_TEST

START_TEST(an_owner_that_cannot_be_printed_holds_nothing)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "acquire", "x", "--lease", "1m", NULL);
    deafen(p, OUT);
    (void)server_ask(server, "DEL x");
    (void)server_ask(server, "PUBLISH redisson_lock__channel:{x} 0");
    ck_assert_int_eq(finish(p), 125);
    ck_assert(!is_held());
}
END_TEST

/* Its pipe is full, and is read when the lease is over. */
static const char *const full_pipes[] = {
    "exec 3<&0; (head -c 65536 /dev/zero; " HF_BUILD "/holdfast acquire x "
    "--lease 500ms; echo code $? >&2) | (read go <&3; cat >/dev/null)",
    "exec 3<&0; h=$(" HF_BUILD "/holdfast acquire x --lease 3s | cut -d' ' -f1);"
    "(head -c 65536 /dev/zero; " HF_BUILD "/holdfast renew x $h --lease 4s; "
    "echo code $? >&2) | (read go <&3; cat >/dev/null)",
};

START_TEST(a_safe_time_that_is_printed_too_late_is_no_success)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)full_pipes[_i], NULL};
    struct process *p = start(server, argv);

    server_await(server, PATIENCE_MS, "1", "EXISTS x");
    server_await(server, PATIENCE_MS, "0", "EXISTS x");
    say(p, "go\n");
    await_line(p, ERR, _i == 0 ? "standard output was not read" : "SAFE_MS is stale");
    await_line(p, ERR, "code 125");
    (void)finish(p);
}
END_TEST

/* Nor is it too late for a signal. (timeout(1) sends one, and waits.) */
START_TEST(a_signal_ends_it_while_its_output_is_not_read)
{
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"exec 3<&0; (head -c 65536 /dev/zero; timeout 1 "
                            HF_BUILD "/holdfast acquire x --lease 1m; "
                            "echo code $? >&2) | (read go <&3; cat >/dev/null)",
                    NULL};
    struct process *p = start(server, argv);

    await_line(p, ERR, "code 124");
    ck_assert(!is_held());
    say(p, "go\n");
    (void)finish(p);
}
END_TEST

/* Nor where there is no standard output at all. */
START_TEST(an_owner_without_standard_output_holds_nothing)
{
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"exec " HF_BUILD
                            "/holdfast acquire x --lease 1m >&-", NULL};
    struct process *p = start(server, argv);

    await_line(p, ERR, "releasing the lock");
    ck_assert_int_eq(finish(p), 125);
    ck_assert(!is_held());
}
END_TEST

/* That it outlives the process is no loss to be told of. */
START_TEST(a_hold_that_remains_is_not_reported_as_lost)
{
    struct process *p = holdfast(server, "acquire", "-v", "x", "--lease", "1m",
                                 NULL);

    ck_assert_str_eq(await_end(p, ERR), "");
    ck_assert_int_eq(finish(p), 0);
    ck_assert(is_held());
}
END_TEST

/* Asks for what `acquire --json` has told of. */
static struct process *ask_object(const char *what, const char *handle,
                                  const char *lease)
{
    return holdfast(server, what, "--json", "x", handle, lease, NULL);
}

START_TEST(programs_read_an_object)
{
    struct process *p = holdfast(server, "acquire", "--json", "--fair",
                                 "--fenced", "x", "--lease", "1m", NULL);
    const char *line = await_line(p, OUT, "safe_ms");
    char handle[HANDLE_MAX];

    ck_assert_str_eq(member(line, "name"), "x");
    ck_assert_str_eq(member(line, "kind"), "fair");
    ck_assert_str_eq(member(line, "token"), "1");
    (void)snprintf(handle, sizeof handle, "%s", member(line, "handle"));
    ck_assert_str_eq(member(line, "owner"), handle + strlen("fair:"));
    ck_assert_int_eq(finish(p), 0);
    p = ask_object("renew", handle, "--lease=1h");
    line = await_line(p, OUT, "renewed");
    ck_assert_str_eq(member(line, "renewed"), "true");
    ck_assert_int_gt(atol(member(line, "safe_ms")), 3000000);
    ck_assert_int_eq(finish(p), 0);
    p = ask_object("release", handle, NULL);
    ck_assert_str_eq(member(await_line(p, OUT, "released"), "released"),
                     "true");
    ck_assert_int_eq(finish(p), 0);
    p = ask_object("renew", handle, "--lease=1h");
    ck_assert_str_eq(member(await_line(p, OUT, "renewed"), "renewed"), "false");
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

START_TEST(no_byte_of_a_name_is_lost)
{
    struct process *p = holdfast(server, "acquire", "--json", "\xff", "--lease",
                                 "1m", NULL);
    char handle[HANDLE_MAX];
    const char *line = await_line(p, OUT, "safe_ms");

    ck_assert_ptr_nonnull(strstr(line, "\"name\":\"\\\\xff\",\"escaped\":true"));
    (void)snprintf(handle, sizeof handle, "%s", member(line, "handle"));
    ck_assert_int_eq(finish(p), 0);
    p = holdfast(server, "release", "--json", "\xff", handle, NULL);
    (void)await_line(p, OUT, "\"name\":\"\\\\xff\",\"escaped\":true");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

START_TEST(wrong_usage_and_no_server_are_errors)
{
    struct process *p;

    ck_assert_int_eq(finish(holdfast(server, "acquire", "x", NULL)), 125);
    ck_assert_int_eq(finish(holdfast(server, "acquire", "--lease", "1m", NULL)),
                     125);
    ck_assert_int_eq(finish(holdfast(server, "release", "x", NULL)), 125);
    ck_assert_int_eq(finish(holdfast(server, "renew", "x", STRANGER, NULL)),
                     125);
    p = holdfast(server, "acquire", "", "--lease", "1m", NULL);
    await_line(p, ERR, "NAME is empty");
    ck_assert_int_eq(finish(p), 125);
    ck_assert_int_eq(finish(holdfast(server, "renew", "x", "--lease", "1m",
                                     NULL)), 125);
    p = holdfast(server, "release", "x", STRANGER, "59988", NULL);
    await_line(p, ERR, "the first word that 'holdfast acquire' printed");
    ck_assert_int_eq(finish(p), 125);
    ck_assert_int_eq(finish(holdfast(NULL, "acquire", "-n", "-u",
                                     "redis://127.0.0.1:1", "x", "--lease",
                                     "1m", NULL)), 125);
    ck_assert_int_eq(finish(holdfast(NULL, "release", "-u",
                                     "redis://127.0.0.1:1", "x", STRANGER,
                                     NULL)), 125);
    ck_assert_int_eq(finish(holdfast(NULL, "renew", "-u", "redis://127.0.0.1:1",
                                     "x", STRANGER, "--lease", "1m", NULL)),
                     125);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast acquire, renew, release");
    TCase *c = run_case(s, "acquire");

    tcase_add_test(c, a_lock_stays_held_until_it_is_released);
    tcase_add_test(c, it_is_not_renewed);
    tcase_add_test(c, a_release_leaves_the_lock_of_another);
    tcase_add_test(c, a_server_that_replies_with_an_error_is_not_called_silent);
    tcase_add_loop_test(c, each_kind_is_renewed_and_released_by_its_handle, 0,
                        ROWS(kinds));
    tcase_add_test(c, one_reader_of_two_is_released);
    tcase_add_test(c, a_late_renewal_shortens_nothing);
    tcase_add_test(c, permit_of_redisson_has_its_id_as_handle);
    tcase_add_test(c, kinds_that_do_not_go_together_are_refused);
    tcase_add_test(c, a_release_wakes_a_waiter);
    tcase_add_test(c, a_lock_that_another_holds_is_not_acquired);
    tcase_add_loop_test(c, a_signal_ends_the_wait_and_leaves_nothing, 0,
                        ROWS(signals));
    tcase_add_loop_test(c, an_abandoned_lock_is_reported, 0,
                        ROWS(unheard));
    tcase_add_test(c, an_owner_that_cannot_be_printed_holds_nothing);
    tcase_add_loop_test(c, a_safe_time_that_is_printed_too_late_is_no_success, 0,
                        ROWS(full_pipes));
    tcase_add_test(c, a_signal_ends_it_while_its_output_is_not_read);
    tcase_add_test(c, an_owner_without_standard_output_holds_nothing);
    tcase_add_test(c, a_hold_that_remains_is_not_reported_as_lost);
    tcase_add_test(c, programs_read_an_object);
    tcase_add_test(c, no_byte_of_a_name_is_lost);
    tcase_add_test(c, wrong_usage_and_no_server_are_errors);
    return run_suite(s);
}
