/* A callback that forks. The child that returns from it must not touch what is
 * the parent's: its epoll set, its sockets, the bytes that wait to be sent. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

/* The copy of the background thread ends with its process, which has no other
 * thread. LeakSanitizer then no longer finds what the test's main thread had, and
 * would end the child with an error. */
const char *__asan_default_options(void)
    __attribute__((visibility("default")));

const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

#define CALLS 20                /* of the parent, after the fork */
#define SOON_MS 2000
#define WATCHDOG_MS STEADY_WATCHDOG_MS

/* ---- the fork ---- */

static pid_t parent, child;
static int pipe_fd[2];          /* what children report, a letter each */
static int forks_left;
static struct hf_client *client;
static struct hf_lock *lock;

static bool is_child(void)
{
    return getpid() != parent;
}

static void report(char what)
{
    (void)!write(pipe_fd[1], &what, 1);
}

static bool are_signals_blocked(void)
{
    sigset_t mask;

    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    return sigismember(&mask, SIGTERM) || sigismember(&mask, SIGINT) ||
           sigismember(&mask, SIGCHLD);
}

/* In any callback. 'f': the child that was forked; 'b': it blocks signals; 'x':
 * a callback that the child must not call. */
static void called(void)
{
    if (is_child()) {
        report('x');
        return;
    }
    if (forks_left == 0)
        return;
    forks_left--;
    child = fork();
    if (child != 0)
        return;
    alarm(20);
    report(are_signals_blocked() ? 'b' : 'f');
}

/* ---- callbacks ---- */

static struct diary diary;
static struct call calls[CALLS];

static void on_done(void *ctx, hf_status status, const struct hf_error *err)
{
    called();
    if (!is_child())
        call_done(ctx, status, err);
}

static void on_wait(void *ctx, struct hf_lock *l,
                    const struct hf_lock_info *info)
{
    called();
    if (!is_child())
        diary_wait(ctx, l, info);
}

static void on_renewed(void *ctx, struct hf_lock *l, int64_t owner)
{
    called();
    if (!is_child())
        diary_renewed(ctx, l, owner);
}

static void on_lost(void *ctx, struct hf_lock *l, int64_t owner,
                    enum hf_lost reason)
{
    called();
    if (!is_child())
        diary_lost(ctx, l, owner, reason);
}

static void on_log(void *ctx, enum hf_log_level level, const char *line)
{
    (void)ctx, (void)level, (void)line;
    called();
}

static bool traces;
static enum hf_trace_kind traced_kind;

static void on_trace(void *ctx, const struct hf_trace *trace)
{
    (void)ctx;
    if (traces && trace->kind == traced_kind)
        called();
}

/* ---- what makes a callback come ---- */

static void acquire_async(int i)
{
    struct hf_acquire_options o = diary_options(&diary, i + 1);

    o.on_wait = on_wait;
    o.on_renewed = on_renewed;
    o.on_lost = on_lost;
    call_init(&calls[i]);
    ck_assert_ok(hf_lock_acquire_async(lock, &o, on_done, &calls[i]));
}

/* Of several that are called in one turn, the first forks. */
static void by_done(void)
{
    static struct hf_lock_info infos[CALLS];

    forks_left = 1;
    for (int i = 0; i < CALLS; i++) {
        call_init(&calls[i]);
        ck_assert_ok(
            hf_lock_inspect_async(lock, &infos[i], on_done, &calls[i]));
    }
}

static void hold(void)
{
    acquire_async(0);
    while (!call_is_done(&calls[0]))
        hf_loop_dispatch(hf_client_loop(client), 10);
}

static void by_renewal(void)
{
    hold();
    forks_left = 1;
}

static void by_wait(void)
{
    (void)server_ask(server, "HSET " NAME " stranger 1");
    (void)server_ask(server, "PEXPIRE " NAME " 100");
    forks_left = 1;
    acquire_async(0);
}

static void by_loss(void)
{
    hold();
    while (note_read(&diary.note, &diary.renewals) == 0)
        hf_loop_dispatch(hf_client_loop(client), 10);
    forks_left = 1;
    (void)server_ask(server, "DEL " NAME);
}

static void by_log(void)
{
    forks_left = 1;
    server_kill_connections(server);
}

/* With the lock of the loop held. */
static void by_trace(void)
{
    by_done();
    traces = true;
}

static void (*const ways[])(void) = {by_done, by_renewal, by_wait,
                                     by_loss, by_log,     by_trace};

/* ---- parent and child ---- */

static void open_client(bool has_thread)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.thread = has_thread;
    o.watchdog_ms = WATCHDOG_MS;
    o.log = on_log;
    o.trace = on_trace;
    client = client_with(&o);
    lock = lock_of(client, NAME);
}

static void begin(bool has_thread)
{
    parent = getpid();
    child = 0;
    forks_left = 0;
    traces = false;
    traced_kind = HF_TRACE_ENDED;
    ck_assert_int_eq(pipe(pipe_fd), 0);
    open_client(has_thread);
    acquire(lock, 99); /* all that is needed is there */
    release(lock, 99);
}

/* The child has returned from hf_loop_dispatch. */
static void end_child(void)
{
    struct hf_error err;

    hf_loop_dispatch(hf_client_loop(client), -1);
    if (hf_lock_release(lock, 1, &err) != HF_E_FORKED ||
        hf_client_close(client, 1000, NULL, &err) != HF_E_FORKED)
        report('r');
    hf_client_free(client);
    _exit(0);
}

static void await_fork(bool has_thread)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    while (child == 0 && !is_child()) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        if (has_thread)
            local_poll_rest();
        else
            hf_loop_dispatch(hf_client_loop(client), 10);
    }
    if (is_child())
        end_child();
}

static void call_in_parent(int i)
{
    int64_t began_ms = local_now_ms();
    struct hf_lock *other = lock_of(client, "other");

    acquire(other, i + 1000);
    release(other, i + 1000);
    hf_lock_free(other);
    ck_assert_int_lt(local_now_ms() - began_ms, SOON_MS);
}

static void await_child(void)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;
    int status;
    pid_t ended;

    while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
    ck_assert_int_eq(ended, child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}

static void ck_assert_reported(const char *expected)
{
    char text[100] = "";

    (void)close(pipe_fd[1]);
    ck_assert_int_ge(read(pipe_fd[0], text, sizeof text - 1), 0);
    ck_assert_str_eq(text, expected);
    (void)close(pipe_fd[0]);
}

static void end(uint64_t losses)
{
    for (int i = 0; i < CALLS; i++)
        call_in_parent(i);
    await_child();
    ck_assert_reported("f");
    ck_assert_uint_eq(stats_of(client).link.losses, losses);
    hf_client_free(client);
}

/* DRIVER-10: With a thread of its own, which the child's is a copy of, or dispatched. */
START_TEST(child_that_returns_from_a_callback_leaves_the_parent_alone)
{
    bool has_thread = _i % 2;
    void (*make_it_fork)(void) = ways[_i / 2];

    begin(has_thread);
    make_it_fork();
    await_fork(has_thread);
    end(make_it_fork == by_log);
}
END_TEST

/* The callback is called by the call itself: before its bytes are sent, or when
 * the reply has come. */
START_TEST(child_returns_from_the_call_that_it_was_forked_in)
{
    struct hf_error err = {0};
    hf_status rc;

    begin(false);
    traces = true;
    traced_kind = _i ? HF_TRACE_ENDED : HF_TRACE_QUEUED;
    forks_left = 1;
    rc = hf_lock_acquire(lock, NULL, &err);
    if (is_child()) {
        if (rc != HF_E_FORKED)
            report('r');
        end_child();
    }
    ck_assert_status(rc, HF_OK);
    ck_assert_ok(hf_lock_release(lock, hf_owner_thread(), NULL));
    end(0);
}
END_TEST

/* Closing runs callbacks where there is no thread. */
START_TEST(child_returns_from_closing)
{
    struct hf_client_closed closed;
    hf_status rc;

    begin(false);
    acquire_async(0);
    call_drive(&calls[0], client);
    by_done();
    forks_left = 1;
    rc = hf_client_close(client, 1000, &closed, NULL);
    if (is_child())
        _exit(rc != HF_E_FORKED);
    ck_assert_status(rc, HF_OK);
    ck_assert_uint_eq(closed.finished, CALLS);
    hf_client_free(client);
    await_child();
    ck_assert_reported("f");
}
END_TEST

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "a callback forks", start_server, stop_server);

    tcase_add_loop_test(c, child_that_returns_from_a_callback_leaves_the_parent_alone,
                        0, 2 * COUNT(ways));
    tcase_add_loop_test(c, child_returns_from_the_call_that_it_was_forked_in, 0,
                        2);
    tcase_add_test(c, child_returns_from_closing);
}

int main(void)
{
    return live_main("lock, fork", add_cases);
}
