/* Multi-locks when something fails between two of their members: no memory, no
 * room for a call, a client that is closed, a fork. No member stays held. */
#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock/multi.h"

#define WATCHDOG_MS 60000       /* what is left stays for longer than a test */
#define OWNER 1
#define OTHERS 2

static struct hf_client *client, *other;
static struct hf_lock *locks[2], *busy; /* a, b: of `client`; b of `other` */
static struct hf_multi *multi;

static void open_with(uint32_t waiters_max)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    start_server();
    client_options(&o, url, server_port(server));
    o.watchdog_ms = WATCHDOG_MS;
    o.waiters_max = waiters_max;
    client = client_with(&o);
    other = client_timed(server_port(server), WATCHDOG_MS, 5000);
    locks[0] = lock_of(client, "a");
    locks[1] = lock_of(client, "b");
    busy = lock_of(other, "b");
    ck_assert_ok(hf_multi_new(&multi, locks, COUNT(locks), NULL));
}

static void start(void)
{
    open_with(1000);
}

static void stop(void)
{
    hf_multi_free(multi);
    hf_client_free(client);
    hf_client_free(other);
    stop_server();
}

static void ck_assert_none_held(void)
{
    server_await(server, LONG_MS, "0", "EXISTS a b");
    ck_assert_uint_eq(stats_of(client).holds, 0);
}

/* ---- a fork ---- */

static _Atomic bool is_over;

static void *look(void *unused)
{
    while (!is_over)
        (void)hf_multi_safe_ms(multi, OWNER);
    return unused;
}

static void be_child(void)
{
    struct hf_acquire_options o = acquire_options(OWNER);
    struct call call;

    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(5);
    if (hf_multi_safe_ms(multi, OWNER) != INT64_MIN ||
        hf_multi_acquire(multi, &o, NULL) != HF_E_FORKED ||
        hf_multi_release(multi, OWNER, NULL) != HF_E_FORKED ||
        hf_multi_acquire_async(multi, &o, call_done, &call) != HF_E_FORKED ||
        hf_multi_release_async(multi, OWNER, call_done, &call) != HF_E_FORKED)
        _exit(1);
    hf_multi_free(multi);
    _exit(0);
}

/* Whatever the other threads were about. */
START_TEST(forked_child_is_told_so_at_once)
{
    struct hf_acquire_options o = acquire_options(OWNER);
    pthread_t thread;

    is_over = false;
    ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
    ck_assert_int_eq(pthread_create(&thread, NULL, look, NULL), 0);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        int status;

        if (child == 0)
            be_child();
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    is_over = true;
    pthread_join(thread, NULL);
    ck_assert_ok(hf_multi_release(multi, OWNER, NULL));
    ck_assert_none_held();
}
END_TEST

/* ---- */

static void add_all(Suite *suite)
{
    TCase *c = live_case(suite, "fork", start, stop);
    tcase_add_test(c, forked_child_is_told_so_at_once);
}

int main(void)
{
    return live_main("multi faults", add_all);
}
