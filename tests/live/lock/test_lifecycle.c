/* A client's whole life in one process, for valgrind: it connects, locks, waits,
 * loses its server, finds it again, unlocks and closes. */
#include <stdio.h>
#include <string.h>

#include "lock/lock.h"
#include "tests/support/local.h"
#include "tests/support/server.h"

/* valgrind is slow: nothing here is measured by the clock. */
#define WATCHDOG 3000
#define REQUEST_TIMEOUT 30000

static int mistakes;

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "lifecycle: not so: %s\n", what);
    mistakes++;
}

static void count(void *ctx, struct hf_lock *lock, int64_t owner)
{
    (void)lock;
    (void)owner;
    __atomic_fetch_add((int *)ctx, 1, __ATOMIC_SEQ_CST);
}

static void count_loss(void *ctx, struct hf_lock *lock, int64_t owner,
                       enum hf_lost reason)
{
    (void)lock;
    (void)owner;
    /* By then a waiter may have it, or, under valgrind, we were too slow. */
    expect(reason == HF_REASON_DELETED || reason == HF_REASON_TAKEN ||
               reason == HF_REASON_UNREACHABLE || reason == HF_REASON_SUSPENDED,
           "the loss has its reason");
    __atomic_fetch_add((int *)ctx, 1, __ATOMIC_SEQ_CST);
}

static void await(int *counter, int value)
{
    while (__atomic_load_n(counter, __ATOMIC_SEQ_CST) < value)
        local_poll_rest();
}

static void count_done(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)err;
    expect(status == HF_OK, "the waiter has it in the end");
    __atomic_fetch_add((int *)ctx, 1, __ATOMIC_SEQ_CST);
}

static struct hf_client *open_client(struct server *server, int protocol)
{
    struct hf_client_options o;
    struct hf_client *client = NULL;
    struct hf_error err = {0};
    char url[SERVER_URL_MAX];

    hf_client_options_init(&o);
    o.url = server_url(server, url);
    o.protocol = protocol;
    o.watchdog_ms = WATCHDOG;
    o.request_timeout_ms = REQUEST_TIMEOUT;
    if (hf_client_new(&client, &o, &err) < 0)
        (void)fprintf(stderr, "lifecycle: %s\n", err.text);
    return client;
}

/* One waits, asleep, while another holds. */
static void wait_for_each_other(struct hf_lock *lock, int *done)
{
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = 1;
    expect(hf_lock_acquire(lock, &o, NULL) == HF_OK, "it can be acquired");
    expect(hf_lock_acquire(lock, &o, NULL) == HF_OK, "and once more");
    o.owner = 2;
    expect(hf_lock_acquire_async(lock, &o, count_done, done) == HF_OK,
           "another may wait");
    expect(hf_lock_release(lock, 1, NULL) == HF_OK, "one less");
    expect(hf_lock_release(lock, 1, NULL) == HF_OK, "released");
    await(done, 1);
    expect(hf_lock_release(lock, 2, NULL) == HF_OK, "the other one, too");
}

/* The server is killed while one holds and two wait; the new one knows nothing,
 * so that the hold is lost and the waiters have it, one after the other. */
static void lose_the_server(struct server *server, struct hf_lock *lock,
                            int *renewals, int *losses, int *done)
{
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = 3;
    o.on_renewed = count;
    o.ctx = renewals;
    expect(hf_lock_acquire(lock, &o, NULL) == HF_OK, "held");
    await(renewals, 1);
    expect(hf_lock_release(lock, 3, NULL) == HF_OK, "released");
    o.on_renewed = NULL;
    o.on_lost = count_loss;
    o.ctx = losses;
    expect(hf_lock_acquire(lock, &o, NULL) == HF_OK, "held");
    o.on_lost = NULL;
    o.owner = 4;
    expect(hf_lock_acquire_async(lock, &o, count_done, done) == HF_OK, "waits");
    o.owner = 5;
    expect(hf_lock_acquire_async(lock, &o, count_done, done) == HF_OK, "waits");
    server_kill(server);
    server_restart(server);
    await(losses, 1);
    expect(hf_lock_release(lock, 3, NULL) == HF_LOST, "it was lost");
    await(done, 2);
    expect(hf_lock_release(lock, 4, NULL) == HF_OK, "one waiter had it");
    await(done, 3);
    expect(hf_lock_release(lock, 5, NULL) == HF_OK, "then the other");
}

static void live(struct server *server, int protocol)
{
    struct hf_client *client = open_client(server, protocol);
    struct hf_lock *lock = NULL;
    struct hf_lock_info info;
    int renewals = 0, losses = 0, done = 0;

    if (!client || hf_client_connect(client, NULL) < 0 ||
        hf_lock_new(&lock, client, "life", 4, NULL) < 0) {
        expect(false, "a client, connected, and a lock");
        hf_client_free(client);
        return;
    }
    wait_for_each_other(lock, &done);
    lose_the_server(server, lock, &renewals, &losses, &done);
    expect(hf_lock_inspect(lock, &info, NULL) == HF_OK && !info.is_locked,
           "nothing stays locked");
    hf_lock_free(lock);
    hf_client_free(client);
}

int main(void)
{
    struct server *server = server_start(NULL);

    if (!server) {
        (void)puts("skipped: lifecycle (no server installed)");
        return 77;
    }
    live(server, 3);
    live(server, 2);
    server_stop(server);
    (void)printf("lifecycle: %d passed, %d failed\n", mistakes == 0,
                 mistakes > 0);
    return mistakes > 0;
}
