/* From the loss of a held lock to its report, and from a lock that became free to the grant of
 * a waiter: by a push (tracking=on), and without (tracking=off), on one server and in one run.
 *
 *     bench_push [losses a case [losses by renewal]]      (started by bench/run.sh)
 *
 * Another connection deletes the key. Measured are a round trip (PING, on that connection), the
 * time from before the DEL was sent until on_lost was called, with 1 and with 10,000 holds of
 * the client, and until the command of `holdfast run` has received TERM. All holds are older
 * than a second, and one at a time is lost. A round trip of the client is a blocking
 * hf_lock_inspect.
 *
 * Waiters: the time from before a DEL, from the end of a TTL, or from before a release by
 * another client, until `done` of the waiting acquire was called, also for a user who may not
 * subscribe; and the pairs of two clients with two threads each on one lock.
 *
 * The peer is rueidislock (Go), which also uses tracking, for keys of its own kind. Each of its
 * rows follows the row that it is to be compared with. */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>

#include "bench/measure.h"
#include "bench/rueidislock.h"
#include "holdfast.h"

#define MANY 10000
#define LOSSES_MAX 5000
#define WATCHDOG_MS 30000

static redisContext *control;
static sem_t lost;
static double lost_us;
static double times[LOSSES_MAX];

/* ---- distributions ---- */

static void print_times(const char *what, int count)
{
    qsort(times, (size_t)count, sizeof *times, by_value);
    printf("%-44s %6d %10.3f %10.3f %10.3f\n", what, count, times[count / 2] / 1e3,
           times[(count * 99 - 1) / 100] / 1e3, times[count - 1] / 1e3);
    (void)fflush(stdout);
}

static long long command(const char *format, const char *argument)
{
    redisReply *reply = redisCommand(control, format, argument);
    long long number;

    if (!reply || reply->type == REDIS_REPLY_ERROR)
        die(format, reply ? reply->str : control->errstr);
    number = reply->integer;
    freeReplyObject(reply);
    return number;
}

static void measure_round_trip(int count)
{
    for (int i = 0; i < count; i++) {
        double began = clock_us(CLOCK_MONOTONIC);

        (void)command("PING%s", "");
        times[i] = clock_us(CLOCK_MONOTONIC) - began;
    }
    print_times("PING, a round trip", count);
}

/* ---- holds of a client ---- */

static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner, enum hf_lost reason)
{
    (void)ctx, (void)lock, (void)owner, (void)reason;
    lost_us = clock_us(CLOCK_MONOTONIC);
    (void)sem_post(&lost);
}

static struct hf_client *client_as(bool is_tracking, const char *user)
{
    struct hf_client_options options;
    struct hf_client *client;
    struct hf_error err;
    char url[80];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?tracking=%s", server_port(),
                   is_tracking ? "on" : "off");
    hf_client_options_init(&options);
    options.url = url;
    options.watchdog_ms = WATCHDOG_MS;
    options.user = user;
    options.password = user;
    if (hf_client_new(&client, &options, &err) < 0 || hf_client_connect(client, &err) < 0)
        die("client", err.text);
    return client;
}

static struct hf_client *client_new(bool is_tracking)
{
    return client_as(is_tracking, NULL);
}

static void acquire_numbered(struct hf_client *client, int i)
{
    struct hf_acquire_options options;
    struct hf_lock *lock;
    struct hf_error err;
    char name[32];
    int len = snprintf(name, sizeof name, "bench-push-%d", i);

    hf_acquire_options_init(&options);
    options.on_lost = on_lost;
    if (hf_lock_new(&lock, client, name, (size_t)len, &err) < 0 ||
        hf_lock_acquire(lock, &options, &err) < 0)
        die("acquire", err.text);
    hf_lock_free(lock);
}

static void release_numbered(struct hf_client *client, int i)
{
    struct hf_lock *lock;
    struct hf_error err;
    char name[32];
    int len = snprintf(name, sizeof name, "bench-push-%d", i);

    if (hf_lock_new(&lock, client, name, (size_t)len, &err) < 0)
        die("lock", err.text);
    (void)hf_lock_release(lock, hf_owner_thread(), &err);
    hf_lock_free(lock);
}

/* All holds were renewed once, and so are tracked. */
static void await_renewals(struct hf_client *client, uint64_t count)
{
    struct timespec pause = {0, 1000000};
    struct hf_client_stats stats;

    do {
        nanosleep(&pause, NULL);
        hf_client_get_stats(client, &stats);
    } while (stats.renewals < count);
}

static double lose_numbered(int i)
{
    char name[32];
    double began;

    (void)snprintf(name, sizeof name, "bench-push-%d", i);
    began = clock_us(CLOCK_MONOTONIC);
    if (command("DEL %s", name) != 1)
        die("DEL", "there was no key");
    while (sem_wait(&lost) != 0)
        continue;
    return lost_us - began;
}

static void measure_inspect(int count)
{
    struct hf_client *client = client_new(true);
    struct hf_lock_info info;
    struct hf_lock *lock;
    struct hf_error err;

    if (hf_lock_new(&lock, client, "bench-push", 10, &err) < 0)
        die("lock", err.text);
    for (int i = 0; i < count; i++) {
        double began = clock_us(CLOCK_MONOTONIC);

        if (hf_lock_inspect(lock, &info, &err) < 0)
            die("inspect", err.text);
        times[i] = clock_us(CLOCK_MONOTONIC) - began;
    }
    print_times("hf_lock_inspect, a round trip of the client", count);
    hf_lock_free(lock);
    hf_client_free(client);
}

/* With one hold, it is acquired anew for each loss. */
static void measure_one(int count)
{
    struct hf_client *client = client_new(true);
    struct hf_client_stats stats;

    for (int i = 0; i < count; i++) {
        hf_client_get_stats(client, &stats);
        acquire_numbered(client, 0);
        await_renewals(client, stats.renewals + 1);
        times[i] = lose_numbered(0);
        release_numbered(client, 0);
    }
    print_times("DEL to on_lost, 1 hold, by push", count);
    hf_client_free(client);
}

static void measure_many(bool is_tracking, int count)
{
    struct hf_client *client = client_new(is_tracking);
    struct timespec second = {1, 0};
    struct hf_client_stats stats;

    for (int i = 0; i < MANY; i++)
        acquire_numbered(client, i);
    if (is_tracking)
        await_renewals(client, MANY);
    else
        nanosleep(&second, NULL);
    for (int i = 0; i < count; i++)
        times[i] = lose_numbered(i);
    hf_client_get_stats(client, &stats);
    print_times(is_tracking ? "DEL to on_lost, 10,000 holds, by push"
                            : "DEL to on_lost, 10,000 holds, by renewal", count);
    (void)command("FLUSHALL%s", "");
    hf_client_free(client);
    while (sem_trywait(&lost) == 0) /* of the rest, which is lost also */
        continue;
}

/* ---- a command ---- */

/* It writes a byte when it has begun, and another one in its handler of TERM. */
#define COMMAND "trap 'printf T; exit 0' TERM; printf S; while :; do read x; done"

static pid_t run_command(int out, const int *in, bool is_tracking)
{
    char url[80];
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?tracking=%s", server_port(),
                   is_tracking ? "on" : "off");
    (void)dup2(in[0], STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    (void)execl(given("BENCH_HOLDFAST"), "holdfast", "run", "-q", "-u", url, "bench-run",
                "--", "/bin/sh", "-c", COMMAND, (char *)NULL);
    _exit(127);
}

static void await_byte(int fd, char expected)
{
    char c = 0;

    if (read(fd, &c, 1) != 1 || c != expected)
        die("holdfast run", "its command did not write what was expected");
}

static double lose_command(bool is_tracking)
{
    struct timespec while_it_lasts = {1, 300000000};
    int out[2], in[2];
    double began, us;
    pid_t pid;

    if (pipe(out) != 0 || pipe(in) != 0)
        die("pipe", "failed");
    pid = run_command(out[1], in, is_tracking);
    await_byte(out[0], 'S');
    nanosleep(&while_it_lasts, NULL);
    began = clock_us(CLOCK_MONOTONIC);
    (void)command("DEL %s", "bench-run");
    await_byte(out[0], 'T');
    us = clock_us(CLOCK_MONOTONIC) - began;
    (void)waitpid(pid, NULL, 0);
    for (int i = 0; i < 2; i++)
        (void)close(out[i]), (void)close(in[i]);
    return us;
}

static void measure_command(bool is_tracking, int count)
{
    for (int i = 0; i < count; i++)
        times[i] = lose_command(is_tracking);
    print_times(is_tracking ? "DEL to TERM at the command of run, by push"
                            : "DEL to TERM at the command of run, by renewal", count);
}

/* ---- waiters ---- */

#define DEAF "deaf"             /* may not subscribe; also its password */
#define WAITED "bench-wait"
#define TTL_MS 200

static sem_t granted;
static double granted_us, granted_at_us;        /* monotonic; by the calendar */

static void on_granted(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx;
    granted_us = clock_us(CLOCK_MONOTONIC);
    granted_at_us = clock_us(CLOCK_REALTIME);
    if (status != HF_OK)
        die("waiting", err ? err->text : "failed");
    (void)sem_post(&granted);
}

static void rest_ms(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

static struct hf_lock *lock_new(struct hf_client *client)
{
    struct hf_lock *lock;
    struct hf_error err;

    if (hf_lock_new(&lock, client, WAITED, strlen(WAITED), &err) < 0)
        die("lock", err.text);
    return lock;
}

/* It sleeps after a few round trips. `rest_most_ms`: at a random moment of a poll. */
static void begin_to_wait(struct hf_lock *lock, int rest_most_ms)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.owner = 1;
    options.wait_ms = HF_FOREVER;
    if (hf_lock_acquire_async(lock, &options, on_granted, NULL) < 0)
        die("waiting", "refused");
    rest_ms(10 + rand() % rest_most_ms);
}

static void await_grant(struct hf_lock *lock)
{
    struct hf_error err;

    while (sem_wait(&granted) != 0)
        continue;
    if (hf_lock_release(lock, 1, &err) < 0)
        die("release", err.text);
}

static double hand_over_by_del(struct hf_lock *lock, int rest_most_ms)
{
    double began;

    (void)command("HSET %s 8743c9c0-0795-4907-87fd-6c719a6b4586:1 1", WAITED);
    (void)command("PEXPIRE %s 60000", WAITED);
    begin_to_wait(lock, rest_most_ms);
    began = clock_us(CLOCK_MONOTONIC);
    (void)command("DEL %s", WAITED);
    await_grant(lock);
    return granted_us - began;
}

/* The TTL was known when the waiter began; or it is shortened while the waiter sleeps. */
static double hand_over_by_expiry(struct hf_lock *lock, bool is_shortened)
{
    double ends_us;
    char text[64];

    (void)command("HSET %s 8743c9c0-0795-4907-87fd-6c719a6b4586:1 1", WAITED);
    (void)command(is_shortened ? "PEXPIRE %s 60000" : "PEXPIRE %s 1000", WAITED);
    ends_us = clock_us(CLOCK_REALTIME) + TTL_MS * 1e3;
    ends_us -= (double)((long long)ends_us % 1000);
    (void)snprintf(text, sizeof text, "PEXPIREAT %%s %lld", (long long)(ends_us / 1e3));
    if (!is_shortened)
        (void)command(text, WAITED);
    begin_to_wait(lock, 20);
    if (is_shortened)
        (void)command(text, WAITED);
    await_grant(lock);
    return granted_at_us - ends_us;
}

static double hand_over_by_release(struct hf_lock *lock, struct hf_lock *other,
                                   int rest_most_ms)
{
    struct hf_acquire_options options;
    struct hf_error err;
    double began;

    hf_acquire_options_init(&options);
    options.owner = 2;
    if (hf_lock_acquire(other, &options, &err) < 0)
        die("acquire", err.text);
    begin_to_wait(lock, rest_most_ms);
    began = clock_us(CLOCK_MONOTONIC);
    if (hf_lock_release(other, 2, &err) < 0)
        die("release", err.text);
    await_grant(lock);
    return granted_us - began;
}

static const struct {
    const char *what;
    enum { BY_DEL, BY_EXPIRY, BY_SHORTENING, BY_RELEASE } how;
    const char *user;
    bool is_tracking, is_slow;
    const char *peer;           /* the case of the peer to compare with, or NULL */
} waits[] = {
    {"DEL to grant, by push", BY_DEL, NULL, true, false, "del"},
    {"DEL to grant, no subscription, by push", BY_DEL, DEAF, true, false, NULL},
    {"end of TTL to grant, tracking=on", BY_EXPIRY, NULL, true, false, "expiry"},
    {"end of TTL to grant, tracking=off", BY_EXPIRY, NULL, false, false, NULL},
    {"end of shortened TTL to grant, by push", BY_SHORTENING, NULL, true, false, NULL},
    {"release to grant, tracking=on", BY_RELEASE, NULL, true, false, "release"},
    {"release to grant, tracking=off", BY_RELEASE, NULL, false, false, NULL},
    {"release to grant, no subscription, by push", BY_RELEASE, DEAF, true, false, NULL},
    {"release to grant, no subscription, by poll", BY_RELEASE, DEAF, false, true, NULL},
    {"DEL to grant, no subscription, by poll", BY_DEL, DEAF, false, true, NULL},
    {"DEL to grant, without a push", BY_DEL, NULL, false, true, NULL},
    {"end of shortened TTL to grant, without a push", BY_SHORTENING, NULL, false, true, NULL},
};

static double hand_over(size_t row, struct hf_lock *lock, struct hf_lock *other)
{
    int rest_most_ms = waits[row].is_slow ? 1000 : 5;

    switch (waits[row].how) {
    case BY_DEL: return hand_over_by_del(lock, rest_most_ms);
    case BY_EXPIRY: return hand_over_by_expiry(lock, false);
    case BY_SHORTENING: return hand_over_by_expiry(lock, true);
    case BY_RELEASE: return hand_over_by_release(lock, other, rest_most_ms);
    }
    return 0;
}

static void measure_waits(size_t row, int count)
{
    struct hf_client *client = client_as(waits[row].is_tracking, waits[row].user);
    struct hf_client *holder = client_as(waits[row].is_tracking, NULL);
    struct hf_lock *lock = lock_new(client), *other = lock_new(holder);

    for (int i = 0; i < count; i++)
        times[i] = hand_over(row, lock, other);
    print_times(waits[row].what, count);
    hf_lock_free(lock);
    hf_lock_free(other);
    hf_client_free(client);
    hf_client_free(holder);
}

/* ---- a contended lock ---- */

#define CONTENDED_MS 2000

static long long pairs;
static bool is_over;

static void *contend(void *ctx)
{
    struct hf_lock *lock = lock_new(ctx);
    struct hf_error err;

    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        struct hf_acquire_options options;

        hf_acquire_options_init(&options);
        options.wait_ms = HF_FOREVER;
        if (hf_lock_acquire(lock, &options, &err) < 0 ||
            hf_lock_release(lock, hf_owner_thread(), &err) < 0)
            die("a contended lock", err.text);
        (void)__atomic_fetch_add(&pairs, 1, __ATOMIC_RELAXED);
    }
    hf_lock_free(lock);
    return NULL;
}

static void measure_contended(bool is_tracking)
{
    struct hf_client *clients[2] = {client_new(is_tracking), client_new(is_tracking)};
    struct hf_client_stats stats;
    pthread_t threads[4];
    uint64_t wakes = 0;

    pairs = 0;
    __atomic_store_n(&is_over, false, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, contend, clients[i / 2]) != 0)
            die("pthread_create", "failed");
    rest_ms(CONTENDED_MS);
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        hf_client_get_stats(clients[i], &stats);
        wakes += stats.push_wakes;
        hf_client_free(clients[i]);
    }
    printf("contended, tracking=%-3s %25lld pairs a second, %llu requests by pushes\n",
           is_tracking ? "on" : "off", pairs * 1000 / CONTENDED_MS, (unsigned long long)wakes);
    (void)fflush(stdout);
}

static void measure_waiters(int count, int slow)
{
    (void)sem_init(&granted, 0, 0);
    (void)command("ACL SETUSER %s on >" DEAF " ~* &* +@all -subscribe -ssubscribe", DEAF);
    for (int i = 0; i < 1000; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "present-%d", i);
        (void)command("SET %s 1 EX 600", name);
    }
    for (size_t row = 0; row < sizeof waits / sizeof *waits; row++) {
        measure_waits(row, waits[row].is_slow ? slow : count);
        if (waits[row].peer)
            measure_peer("  rueidislock", waits[row].peer, count);
    }
    for (int round = 0; round < 3; round++) {
        for (int is_tracking = 0; is_tracking <= 1; is_tracking++)
            measure_contended(is_tracking);
        measure_peer("contended, rueidislock", "contended", CONTENDED_MS);
    }
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 2000, slow = argc > 2 ? atoi(argv[2]) : 5;

    if (count < 100 || count > LOSSES_MAX || slow < 1 || slow > 100) {
        fprintf(stderr, "usage: %s [LOSSES, 100 to %d [BY RENEWAL, to 100]]\n", argv[0],
                LOSSES_MAX);
        return 2;
    }
    (void)sem_init(&lost, 0, 0);
    peer_start(); /* it has no thread yet, and no connection */
    control = redisConnect("127.0.0.1", server_port());
    if (!control || control->err)
        die("hiredis", "cannot connect");
    printf("%-44s %6s %10s %10s %10s\n", "", "count", "p50 ms", "p99 ms", "most ms");
    measure_round_trip(count);
    measure_inspect(count);
    measure_waiters(count / 4, slow);
    measure_many(true, count);
    measure_peer("  rueidislock", "many", count);
    measure_one(count / 50);
    measure_peer("  rueidislock", "one", count / 50);
    measure_command(true, count / 100);
    measure_many(false, slow);
    measure_command(false, slow);
    redisFree(control);
    return 0;
}
