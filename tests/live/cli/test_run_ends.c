/* A signal that ends programs ends each subcommand within 100 ms, whatever it does
 * at that moment, also where it is PID 1. A machine under load may be late: its delay is
 * measured and subtracted, one try of several has to be in time, and each must end by
 * the signal. */
#include "tests/live/test_run_kit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/signals.h"
#include "tests/support/lateness.h"
#include "tests/support/local.h"
#include "tests/support/proxy.h"
#include "tests/support/suite.h"

#define HANDLE "6e3814a1-e847-452b-a982-45baf93a1df2:1"
#define HOLDFAST HF_BUILD "/holdfast"
#ifdef __SANITIZE_ADDRESS__
#define LIMIT_MS 400            /* the code itself takes several times as long */
#else
#define LIMIT_MS 100
#endif
#define TRIES 12

/* ---- as an ordinary process, and as PID 1 ---- */

static bool is_init;

static struct process *launch(struct server *s, char *const *argv)
{
    return is_init ? start_as_init(s, argv) : start(s, argv);
}

/* Returns how long it took to end since a signal was sent, without the delay of the machine. */
static int64_t await_end_since(struct process *p, int64_t sent_ms)
{
    struct pollfd end = {.fd = pidfd_open(pid_of(p), 0), .events = POLLIN};
    int64_t took_ms;

    ck_assert_int_ge(end.fd, 0);
    ck_assert_msg(poll(&end, 1, PATIENCE_MS) == 1, "it does not end");
    took_ms = local_now_ms() - sent_ms;
    took_ms -= lateness_ms(sent_ms);
    (void)close(end.fd);
    return took_ms > 0 ? took_ms : 0;
}

static int64_t end_by(struct process *p, int signal)
{
    int64_t sent_ms = local_now_ms(), took_ms;

    ck_assert_int_eq(kill(pid_of(p), signal), 0);
    took_ms = await_end_since(p, sent_ms);
    ck_assert_int_eq(finish(p), is_init ? 128 + signal : 1000 + signal);
    return took_ms;
}

/* ---- nothing is held: silent servers, pipes without room ---- */

static char silent_url[64];
static int silent_fd = -1, caller_fd = -1;

static void be_silent(const char *scheme)
{
    int port;

    silent_fd = local_listen(&port);
    (void)snprintf(silent_url, sizeof silent_url, "%s://127.0.0.1:%d", scheme,
                   port);
}

/* Commands that talk to a server, with their words behind -u URL. A word with a slash is
 * a program; others are subcommands of holdfast. */
static char *const connecting[][7] = {
    {(char *)"run", (char *)"-u", silent_url, (char *)"x", (char *)"true"},
    {(char *)"run", (char *)"-u", silent_url, (char *)"-n", (char *)"x",
     (char *)"true"},
    {(char *)"elect", (char *)"-u", silent_url, (char *)"x", (char *)"true"},
    {(char *)"acquire", (char *)"-u", silent_url, (char *)"x",
     (char *)"--lease=1m"},
    {(char *)"watch", (char *)"-u", silent_url, (char *)"x"},
    {(char *)"status", (char *)"-u", silent_url, (char *)"x"},
    {(char *)"ls", (char *)"-u", silent_url},
    {(char *)"doctor", (char *)"-u", silent_url},
    {(char *)"fence", (char *)"-u", silent_url, (char *)"x"},
    {(char *)"unlock", (char *)"-u", silent_url, (char *)"x", (char *)"--force",
     (char *)"-y"},
    {(char *)"release", (char *)"-u", silent_url, (char *)"x", (char *)HANDLE},
    {(char *)"renew", (char *)"-u", silent_url, (char *)"x", (char *)HANDLE,
     (char *)"--lease=1m"},
    {(char *)HOLDFAST "-resp", (char *)"check", (char *)"-u", silent_url},
};

static struct process *start_connecting(int which)
{
    char *argv[9] = {(char *)HOLDFAST};
    struct pollfd call = {.fd = silent_fd, .events = POLLIN};
    struct process *p;

    memcpy(strchr(connecting[which][0], '/') ? argv : argv + 1, connecting[which],
           sizeof connecting[which]);
    p = launch(NULL, argv);
    if (!p)
        return NULL;
    ck_assert_int_eq(poll(&call, 1, PATIENCE_MS), 1);
    caller_fd = accept(silent_fd, NULL, NULL); /* and says nothing */
    return p;
}

static struct process *connecting_plainly(int which)
{
    be_silent("redis");
    return start_connecting(which);
}

static struct process *shaking_hands(int which)
{
    be_silent("rediss");
    return start_connecting(which);
}

/* ---- a silent name server ---- */

#define NAME_SERVER "127.0.0.9"
#define LOOKS_UP_MS 3000

static int dns_fd = -1;
static char dns_script[400];

/* False: not root, or the port is in use. */
static bool open_name_server(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(53)};

    dns_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)inet_pton(AF_INET, NAME_SERVER, &at.sin_addr);
    return bind(dns_fd, (struct sockaddr *)&at, sizeof at) == 0;
}

static const char *const looking_up[] = {"run", "elect", "status", "watch",
                                         "acquire --lease=1m", "ls"};

/* NULL also where names are not looked up by DNS. */
static struct process *resolving(int which)
{
    char *argv[] = {(char *)"unshare", (char *)"-m", (char *)"sh", (char *)"-c",
                    dns_script, NULL};
    struct pollfd query = {.events = POLLIN};
    struct process *p;
    bool is_server = open_name_server();

    (void)snprintf(dns_script, sizeof dns_script,
                   "f=$(mktemp); echo nameserver " NAME_SERVER " >$f;"
                   "mount --bind $f /etc/resolv.conf || exit 77; rm $f;"
                   "exec " HOLDFAST " %s -u redis://slow.example %s",
                   looking_up[which], which == 5 ? "" : which < 2 ? "x true" : "x");
    query.fd = dns_fd;
    if (!is_server || !(p = launch(NULL, argv)))
        return NULL;
    return poll(&query, 1, LOOKS_UP_MS) == 1 ? p : NULL;
}

static void close_name_server(void)
{
    (void)close(dns_fd);
}

static void hang_up(void)
{
    (void)close(caller_fd);
    (void)close(silent_fd);
}

/* The kernel function in which a process sleeps. */
static void await_sleep_in(pid_t pid, const char *function)
{
    int64_t until_ms = local_now_ms() + PATIENCE_MS;
    char path[64], text[64];
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/wchan", (int)pid);
    do {
        *text = '\0';
        if ((file = fopen(path, "r"))) {
            text[fread(text, 1, sizeof text - 1, file)] = '\0';
            (void)fclose(file);
        }
        ck_assert_msg(local_now_ms() < until_ms, "it sleeps in %s", text);
        local_poll_rest();
    } while (!strstr(text, function));
}

#define FULL "head -c 65536 /dev/zero; exec " HOLDFAST " "

static const char *const unread[] = {
    FULL "help", FULL "status x", FULL "ls", FULL "watch x", FULL "doctor",
    FULL "fence x", FULL "run --help", FULL "slot x",
    /* Room for the beginning of its line. */
    "name=$(head -c 5000 /dev/zero | tr '\\0' x); head -c 61440 /dev/zero; "
    "exec " HOLDFAST " acquire --json --lease=1m $name"};

static struct process *printing(int which)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)unread[which], NULL};
    struct process *p;

    hold_by_other("x", 60000);
    p = launch(server, argv);
    if (p)
        await_sleep_in(pid_of(p), "pipe_write");
    return p;
}

/* ---- a lock is wanted, or held ---- */

static struct process *with_words(const char *const *words, int count)
{
    char *argv[16] = {(char *)HOLDFAST};

    for (int i = 0; i < count; i++)
        argv[1 + i] = (char *)words[i];
    return launch(server, argv);
}

#define LAUNCH(...)                                                            \
    with_words((const char *const[]){__VA_ARGS__},                            \
               (int)(sizeof((const char *const[]){__VA_ARGS__}) /             \
                     sizeof(const char *)))

static struct process *start_waiting(int which)
{
    struct process *p;

    hold_by_other("x", 60000);
    if (which == 0)
        p = LAUNCH("run", "--status-fd", "3", "x", "true");
    else if (which == 1)
        p = LAUNCH("elect", "--status-fd", "3", "x", "true");
    else if (which == 2)
        p = LAUNCH("run", "--fair", "--status-fd", "3", "x", "true");
    else
        p = LAUNCH("acquire", "x", "--lease=1m");
    if (p && which < 3)
        (void)await_line(p, STATUS, "\"waiting\"");
    if (p && which == 3)
        server_await(server, PATIENCE_MS, "redisson_lock__channel:{x} 1",
                     "PUBSUB NUMSUB redisson_lock__channel:{x}");
    return p;
}

static struct process *waiting_at_a_frozen_server(int which)
{
    struct process *p = start_waiting(which);

    if (p)
        server_pause(server);
    return p;
}

/* The command has ended; the server does not answer the release. */
static struct process *releasing(int which)
{
    struct process *p =
        LAUNCH(which == 1 ? "elect" : "run", "--status-fd", "3", "x", "sh", "-c",
               "echo up; read go; exit 5");

    if (!p)
        return NULL;
    (void)await_line(p, OUT, "up");
    server_pause(server);
    say(p, "go\n");
    (void)await_line(p, STATUS, "\"exit\"");
    return p;
}

/* The only child of a process. */
static pid_t child_of(pid_t pid)
{
    char path[64];
    FILE *file;
    int child = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid,
                   (int)pid);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%d", &child), 1);
    (void)fclose(file);
    return child;
}

static pid_t traced;

static void freeze(pid_t pid)
{
    ck_assert_int_eq(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
    ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
    ck_assert_int_eq(waitpid(pid, NULL, __WALL), pid);
    traced = pid;
}

/* Its guardian executes nothing, so that the command cannot be killed. */
static struct process *killing(int which)
{
    struct process *p = LAUNCH("run", "-k", "0", "--status-fd", "3", "x", "sh",
                               "-c", "echo up; read go");

    (void)which;
    if (!p)
        return NULL;
    (void)await_line(p, OUT, "up");
    freeze(child_of(pid_of(p)));
    ck_assert_int_eq(kill(pid_of(p), SIGUSR1), 0);
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0); /* KILL is due now */
    await_state(pid_of(p), 'S');
    return p;
}

static void let_go(void)
{
    if (traced > 0)
        (void)ptrace(PTRACE_DETACH, traced, 0, 0);
    traced = 0;
}

static void nothing(void)
{
}

static void resume(void)
{
    server_resume(server);
}

/* ---- all of them ---- */

static const struct state {
    const char *name;
    struct process *(*come_to)(int which);
    int count;
    void (*leave)(void);
    const char *said;           /* on standard error; NULL: not compared */
    bool is_ordinary;           /* PID 1 ends after all others, and so after the
                                   tracer has reaped the guardian */
} states[] = {
    {"connecting", connecting_plainly, ROWS(connecting), hang_up, NULL, false},
    {"in a TLS handshake", shaking_hands, ROWS(connecting), hang_up, NULL, false},
    {"looking up a name", resolving, ROWS(looking_up), close_name_server, NULL,
     false},
    {"printing", printing, ROWS(unread), nothing, NULL, false},
    {"waiting", start_waiting, 4, nothing, "", false},
    {"waiting, server frozen", waiting_at_a_frozen_server, 4, resume, NULL, false},
    {"releasing", releasing, 2, resume, "until its TTL expires", false},
    {"killing", killing, 1, let_go, "stays locked until its TTL expires",
     true},
};

static const int signals[] = {SIGTERM, SIGINT, SIGQUIT};

/* -1: not possible here. */
static int64_t try_once(const struct state *state, int which, int signal)
{
    struct process *p;
    int64_t took_ms;

    (void)server_ask(server, "FLUSHALL");
    p = state->come_to(which);
    if (!p) {
        state->leave();
        return -1;
    }
    took_ms = end_by(p, signal);
    state->leave();
    if (state->said && *state->said)
        ck_assert_ptr_nonnull(strstr(await_end(p, ERR), state->said));
    else if (state->said && !is_init && /* which has its notes about /proc */
             took_ms < CLI_SIGNALS_PROMPT_MS) /* a server that takes longer is reported */
        ck_assert_str_eq(await_end(p, ERR), "");
    return took_ms;
}

/* Whether it is in time. */
static bool ends_in_time(const struct state *state, int which)
{
    int64_t took_ms = 0;

    for (int i = 0; i < TRIES; i++) {
        took_ms = try_once(state, which, signals[(which + i) % ROWS(signals)]);
        if (took_ms <= LIMIT_MS)
            return took_ms >= 0;
    }
    ck_abort_msg("%s, %d: it took %d ms", state->name, which, (int)took_ms);
}

static void all_end_in_time(const struct state *state)
{
    for (int which = 0; which < state->count; which++)
        if (!ends_in_time(state, which)) {
            (void)fprintf(stderr, "  skipped: %s: no namespace, or no name "
                          "server: %s\n", state->name, strerror(errno));
            return;
        }
}

START_TEST(signal_ends_each_state_in_time)
{
    is_init = false;
    all_end_in_time(&states[_i]);
}
END_TEST

START_TEST(signal_ends_pid_1_in_each_state_in_time)
{
    is_init = true;
    if (!states[_i].is_ordinary)
        all_end_in_time(&states[_i]);
}
END_TEST

/* ---- a second signal, and the command's own ---- */

static struct process *keep_at_a_frozen_server(void)
{
    struct process *p = LAUNCH("run", "--at-least", "1h", "--status-fd", "3", "x",
                               "true");

    (void)await_line(p, STATUS, "\"exit\"");
    server_pause(server);
    return p;
}

/* Returns how long two signals took. It ends by one of them. */
static int64_t end_keeping(void)
{
    struct process *p = keep_at_a_frozen_server();
    int64_t sent_ms = local_now_ms(), took_ms;
    int code;

    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(kill(pid_of(p), SIGINT), 0);
    took_ms = await_end_since(p, sent_ms);
    code = finish(p);
    ck_assert(code == 1000 + SIGTERM || code == 1000 + SIGINT);
    server_resume(server);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "until its TTL expires"));
    return took_ms;
}

/* RUN-10: the first one gives the release some time. */
START_TEST(two_signals_end_a_kept_lock_in_time)
{
    int64_t took_ms = 0;

    is_init = false;
    for (int i = 0; i < TRIES; i++) {
        (void)server_ask(server, "FLUSHALL");
        took_ms = end_keeping();
        if (took_ms <= LIMIT_MS)
            return;
    }
    ck_abort_msg("it took %d ms", (int)took_ms);
}
END_TEST

START_TEST(one_signal_releases_a_kept_lock_also_if_the_server_is_slow)
{
    struct process *p;

    is_init = false;
    p = keep_at_a_frozen_server();
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    local_rest_us(3000 * CLI_SIGNALS_LIMIT_MS);
    server_resume(server);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

/* The first one cancels the wait, and the server does not answer. */
START_TEST(two_signals_end_a_wait)
{
    struct process *p;

    is_init = _i == 1;
    p = waiting_at_a_frozen_server(0);
    if (!p)
        return;
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    (void)kill(pid_of(p), SIGINT); /* it may have ended */
    resume();
    ck_assert_int_ge(finish(p) % 1000, _i == 1 ? 128 + SIGINT : SIGINT);
}
END_TEST

/* PID 1 forwards a signal to its command, and ends with it. */
START_TEST(command_of_pid_1_gets_the_signal)
{
    struct process *p;

    is_init = true;
    p = LAUNCH("run", "x", "sh", "-c", _i == 0 ? "echo up; read go"
               : "trap 'exit 5' TERM; echo up; " AWAIT_SIGNALS);
    if (!p)
        return;
    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), _i == 0 ? 128 + SIGTERM : 5);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

/* TERM ends the command, and the server does not answer the release. */
START_TEST(release_after_term_is_not_awaited)
{
    struct process *p;

    is_init = _i == 1;
    p = LAUNCH("run", "--status-fd", "3", "x", "sh", "-c", "echo up; read go");
    if (!p)
        return;
    (void)await_line(p, OUT, "up");
    server_pause(server);
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), is_init ? 128 + SIGTERM : 1000 + SIGTERM);
    resume();
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "until its TTL expires"));
}
END_TEST

/* Its reply was lost. Either the lock is released, or its keeping is reported. */
START_TEST(grant_that_is_not_seen_is_released_or_reported)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct process *p;
    char url[64];

    is_init = _i == 1;
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", proxy_port(proxy));
    hold_by_other("x", 60000);
    p = LAUNCH("run", "-u", url, "--status-fd", "3", "x", "true");
    if (!p)
        return;
    (void)await_line(p, STATUS, "\"waiting\"");
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    (void)server_ask(server, "DEL x");
    (void)server_ask(server, "PUBLISH redisson_lock__channel:{x} 0");
    ck_assert(proxy_await(proxy, PROXY_TO_SERVER, PROXY_KEPT, 1, PATIENCE_MS));
    proxy_swallow(proxy, PROXY_TO_CLIENT, true);
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    server_await(server, PATIENCE_MS, "1", "EXISTS x");
    if (_i > 1)
        proxy_hold(proxy, PROXY_TO_SERVER, true); /* its release */
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), is_init ? 128 + SIGTERM : 1000 + SIGTERM);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "x may stay locked"));
    if (_i > 1)
        ck_assert_str_eq(server_ask(server, "EXISTS x"), "1");
    else
        server_await(server, PATIENCE_MS, "0", "EXISTS x");
    proxy_stop(proxy);
}
END_TEST

/* `elect`, also as PID 1, receives a signal between terms or in one. It ends by that,
 * or with its command's code if the signal came while the command ended. */
START_TEST(elect_leads_no_other_term_after_a_signal)
{
    struct process *p;
    int code;

    is_init = _i == 1;
    p = LAUNCH("elect", "--pause", "0", "--status-fd", "3", "x", "true");
    if (!p)
        return;
    for (int i = 0; i < 3; i++)
        (void)await_line(p, STATUS, "\"released\"");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    code = finish(p);
    ck_assert(code == (is_init ? 128 : 1000) + SIGTERM || code == 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast: ends by a signal");
    TCase *c = run_case(s, "an ordinary process");

    tcase_set_timeout(c, 240);
    tcase_add_loop_test(c, signal_ends_each_state_in_time, 0, ROWS(states));
    c = run_case(s, "PID 1");
    tcase_set_timeout(c, 240);
    tcase_add_loop_test(c, signal_ends_pid_1_in_each_state_in_time, 0,
                        ROWS(states));
    tcase_add_loop_test(c, command_of_pid_1_gets_the_signal, 0, 2);
    c = run_case(s, "orders");
    tcase_add_loop_test(c, two_signals_end_a_wait, 0, 2);
    tcase_add_test(c, two_signals_end_a_kept_lock_in_time);
    tcase_add_test(c, one_signal_releases_a_kept_lock_also_if_the_server_is_slow);
    tcase_add_loop_test(c, release_after_term_is_not_awaited, 0, 2);
    tcase_add_loop_test(c, grant_that_is_not_seen_is_released_or_reported, 0, 3);
    tcase_add_loop_test(c, elect_leads_no_other_term_after_a_signal, 0, 2);
    return run_suite(s);
}
