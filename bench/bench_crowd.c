/* How many commands waiting clients send for one event: counts, not times.
 *
 *     bench_crowd [most clients]                  (started by bench/run.sh)
 *
 * 1, 10, 100 and 1,000 clients, each as a process of its own, wait for one lock, with tracking=off
 * and tracking=on. Events:
 *
 *   drain     the holder releases; each client acquires and releases at once. Commands for each
 *             release
 *   release   the holder releases, and the client that acquires keeps the lock
 *   touched   another program changes the TTL (PEXPIRE), as a renewal does
 *
 * Each column has the commands of the clients within a second of the event, and the most of them
 * within 10 ms, by the times that MONITOR prints. Commands that a script calls are not counted.
 * Goal: a release with 1,000 waiting clients costs at most 50 commands. */
#include <pthread.h>
#include <string.h>

#include "bench/measure.h"
#include "holdfast.h"

#define NAME "bench-crowd"
#define CHANNEL "redisson_lock__channel:{" NAME "}"
#define CLIENTS_MAX 1000
#define LINES_MAX 400000
#define CALM_MS 1000            /* without a command: all sleep */

struct member {
    struct hf_client *client;
    struct hf_lock *lock;
};

static redisContext *control;
static struct hf_loop *loop;
static struct member members[CLIENTS_MAX];
static int count, granted, released;
static bool is_drained;

/* ---- the commands that the server executes ---- */

static double times_ms[LINES_MAX];
static int lines;

static redisReply *command(const char *format, const char *word)
{
    redisReply *reply = redisCommand(control, format, word);

    if (!reply || reply->type == REDIS_REPLY_ERROR)
        die(format, reply ? reply->str : control->errstr);
    return reply;
}

static void tell(const char *format, const char *word)
{
    freeReplyObject(command(format, word));
}

/* A line is: 1339518083.107412 [0 127.0.0.1:60866] "keys" "*" */
static void *monitor(void *ctx)
{
    redisContext *own = ctx;
    void *reply;

    while (redisGetReply(own, &reply) == REDIS_OK) {
        const char *line = ((redisReply *)reply)->str;
        int at = __atomic_load_n(&lines, __ATOMIC_RELAXED);

        if (line && strstr(line, " lua] ") == NULL && strstr(line, "\"QUIT\"") == NULL &&
            at < LINES_MAX) {
            times_ms[at] = atof(line) * 1e3;
            __atomic_store_n(&lines, at + 1, __ATOMIC_RELEASE);
        }
        freeReplyObject(reply);
    }
    return NULL;
}

static void start_monitor(void)
{
    redisContext *own = redisConnect("127.0.0.1", server_port());
    redisReply *reply = redisCommand(own, "MONITOR");
    pthread_t thread;

    if (!reply || pthread_create(&thread, NULL, monitor, own) != 0)
        die("MONITOR", "failed");
    freeReplyObject(reply);
}

static int lines_so_far(void)
{
    return __atomic_load_n(&lines, __ATOMIC_ACQUIRE);
}

/* The most within 10 ms. */
static int densest(int from, int to)
{
    int most = 0;

    for (int i = from, k = from; i < to; i++) {
        while (times_ms[i] - times_ms[k] > 10)
            k++;
        most = i - k + 1 > most ? i - k + 1 : most;
    }
    return most;
}

/* ---- clients ---- */

static void on_released(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx;
    if (status < 0)
        die("release", err ? err->text : "failed");
    released++;
}

static void on_granted(void *ctx, hf_status status, const struct hf_error *err)
{
    struct member *m = ctx;

    if (status == HF_E_CLOSED || status == HF_CANCELLED)
        return;
    if (status != HF_OK)
        die("acquire", err ? err->text : "failed");
    granted++;
    if (is_drained && hf_lock_release_async(m->lock, 1, on_released, m) < 0)
        die("release", "refused");
}

static void make(struct member *m, bool is_tracking)
{
    struct hf_client_options options;
    struct hf_error err;
    char url[80];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?tracking=%s", server_port(),
                   is_tracking ? "on" : "off");
    hf_client_options_init(&options);
    options.url = url;
    options.loop = loop;
    options.thread = false;
    options.watchdog_ms = 90000; /* a waiter polls each 30 s, and a hold is renewed */
    if (hf_client_new(&m->client, &options, &err) < 0 ||
        hf_lock_new(&m->lock, m->client, NAME, strlen(NAME), &err) < 0)
        die("client", err.text);
}

static void acquire(struct member *m)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.owner = 1;
    options.wait_ms = HF_FOREVER;
    if (hf_lock_acquire_async(m->lock, &options, on_granted, m) < 0)
        die("acquire", "refused");
}

static void drive_until(const int *number, int reached)
{
    while (*number < reached)
        hf_loop_dispatch(loop, 100);
}

static void drive_ms(double ms)
{
    double end_us = clock_us(CLOCK_MONOTONIC) + ms * 1e3;

    while (clock_us(CLOCK_MONOTONIC) < end_us)
        hf_loop_dispatch(loop, 5);
}

static void drive_until_calm(void)
{
    int before;

    do {
        before = lines_so_far();
        drive_ms(CALM_MS);
    } while (lines_so_far() != before);
}

/* ---- events ---- */

enum event { DRAIN, RELEASE, TOUCHED };

static void happen(enum event event, struct member *holder)
{
    if (event == TOUCHED)
        tell("PEXPIRE %s 85000", NAME);
    else if (hf_lock_release_async(holder->lock, 1, on_released, holder) < 0)
        die("release", "refused");
}

static void start(struct member *holder, bool is_tracking)
{
    granted = released = 0;
    is_drained = false;
    make(holder, is_tracking);
    acquire(holder);
    drive_until(&granted, 1);
    for (int i = 0; i < count; i++) {
        make(&members[i], is_tracking);
        acquire(&members[i]);
    }
    drive_until_calm();
}

static void stop(struct member *holder)
{
    for (int i = 0; i <= count; i++) {
        struct member *m = i < count ? &members[i] : holder;

        hf_lock_free(m->lock);
        hf_client_free(m->client);
    }
    tell("FLUSHALL%s", "");
}

static void measure(enum event event, bool is_tracking)
{
    struct member holder;
    int from, to;

    start(&holder, is_tracking);
    from = lines_so_far();
    is_drained = event == DRAIN;
    happen(event, &holder);
    if (event == DRAIN)
        drive_until(&released, count + 1);
    else
        drive_ms(1000);
    to = lines_so_far();
    if (event == DRAIN)
        printf("%14.1f", (double)(to - from) / (count + 1));
    else
        printf("%8d%6d", to - from, densest(from, to));
    (void)fflush(stdout);
    stop(&holder);
}

int main(int argc, char **argv)
{
    int most = argc > 1 ? atoi(argv[1]) : CLIENTS_MAX;
    struct hf_loop_options options = HF_LOOP_OPTIONS_INIT;

    if (most < 1 || most > CLIENTS_MAX || hf_loop_new(&loop, &options) < 0)
        die("usage", "bench_crowd [1 to 1000]");
    control = redisConnect("127.0.0.1", server_port());
    start_monitor();
    printf("waiting  tracking  drain, a release   release: 1 s, 10 ms   touched: 1 s, 10 ms\n");
    for (count = 1; count <= most; count *= 10)
        for (int is_tracking = 0; is_tracking <= 1; is_tracking++) {
            printf("%7d  %8s", count, is_tracking ? "on" : "off");
            for (enum event event = DRAIN; event <= TOUCHED; event++)
                measure(event, is_tracking);
            printf("\n");
        }
    hf_loop_free(loop);
    redisFree(control);
    return 0;
}
