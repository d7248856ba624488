/* Acquire+release pairs beside hiredis, on one server and in one run.
 *
 * bench_lock PORT [SECONDS]
 *
 * hiredis sends the very scripts that we send, by EVALSHA on a blocking
 * connection: one for one thread, and one each for 64. Rounds are interleaved
 * and medians taken, because machines are noisy; what counts are the ratios.
 * Then: what one held lock costs in memory, and how 1,000 are renewed. */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "holdfast.h"
#include "lock/scripts.h"

#define ROUNDS 5
#define THREADS_MAX 64
#define HELD 1000

static int port;
static char url[64];
static atomic_bool stop;

/* ---- measuring ---- */

struct result {
    double pairs_s;
    double cpu_us;        /* of this process, a pair */
};

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

struct worker {
    pthread_t thread;
    int number;
    long pairs;
    struct hf_client *client;
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_lock: %s: %s\n", what, why);
    exit(1);
}

static struct result run(struct worker *workers, int threads, double for_s,
                         void *(*work)(void *))
{
    double began = seconds(), cpu = cpu_seconds(), took;
    struct timespec pause = {(time_t)for_s,
                             (long)((for_s - (double)(time_t)for_s) * 1e9)};
    long pairs = 0;

    stop = false;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            die("pthread_create", "failed");
    nanosleep(&pause, NULL);
    stop = true;
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        pairs += workers[i].pairs;
    }
    took = seconds() - began;
    cpu = cpu_seconds() - cpu;
    return (struct result){(double)pairs / took, cpu * 1e6 / (double)pairs};
}

/* ---- ours ---- */

static void *work_ours(void *arg)
{
    struct worker *w = arg;
    struct hf_error err;
    struct hf_lock *lock;
    char name[32];
    int len = snprintf(name, sizeof name, "bench-ours-%d", w->number);

    if (hf_lock_new(&lock, w->client, name, (size_t)len, &err) < 0)
        die("hf_lock_new", err.text);
    for (w->pairs = 0; !stop; w->pairs++)
        if (hf_lock_acquire(lock, NULL, &err) < 0 ||
            hf_lock_release(lock, hf_owner_thread(), &err) < 0)
            die("pair", err.text);
    hf_lock_free(lock);
    return NULL;
}

static struct hf_client *client_new(const struct hf_mem *mem, int64_t watchdog)
{
    struct hf_client_options options;
    struct hf_client *client;
    struct hf_error err;

    hf_client_options_init(&options);
    options.url = url;
    options.mem = mem;
    options.watchdog_ms = watchdog;
    if (hf_client_new(&client, &options, &err) < 0 ||
        hf_client_connect(client, &err) < 0)
        die("client", err.text);
    return client;
}

static struct result bench_ours(int threads, double for_s)
{
    struct worker workers[THREADS_MAX] = {0};
    struct hf_client *client = client_new(NULL, 30000);
    struct result r;

    for (int i = 0; i < threads; i++) {
        workers[i].number = i;
        workers[i].client = client;
    }
    r = run(workers, threads, for_s, work_ours);
    hf_client_free(client);
    return r;
}

/* ---- hiredis ---- */

static void ask(redisContext *c, const char **argv, const size_t *lens, int n)
{
    redisReply *reply = redisCommandArgv(c, n, argv, lens);

    if (!reply || reply->type != REDIS_REPLY_ARRAY)
        die("hiredis", reply ? reply->str : c->errstr);
    freeReplyObject(reply);
}

static void load(redisContext *c, const struct hf_script *script)
{
    redisReply *reply =
        redisCommand(c, "SCRIPT LOAD %b", script->text, script->len);

    if (!reply)
        die("SCRIPT LOAD", c->errstr);
    freeReplyObject(reply);
}

static void *work_hiredis(void *arg)
{
    struct worker *w = arg;
    redisContext *c = redisConnect("127.0.0.1", port);
    char name[32], channel[64], owner[72];
    const char *acquire[] = {"EVALSHA", hf_script_acquire.sha, "1", name,
                             owner,     "1",                   "30000"};
    const char *release[] = {"EVALSHA", hf_script_release.sha,
                             "1",       name,
                             owner,     "0",
                             "30000",   "PUBLISH",
                             channel};
    size_t acquire_len[7], release_len[9];

    if (!c || c->err)
        die("redisConnect", c ? c->errstr : "no memory");
    snprintf(name, sizeof name, "bench-peer-%d", w->number);
    snprintf(owner, sizeof owner, "6e3814a1-e847-452b-a982-45baf93a1df2:%d",
             w->number);
    snprintf(channel, sizeof channel, "redisson_lock__channel:{%s}", name);
    for (int i = 0; i < 7; i++)
        acquire_len[i] = strlen(acquire[i]);
    for (int i = 0; i < 9; i++)
        release_len[i] = strlen(release[i]);
    load(c, &hf_script_acquire);
    load(c, &hf_script_release);
    for (w->pairs = 0; !stop; w->pairs++) {
        ask(c, acquire, acquire_len, 7);
        ask(c, release, release_len, 9);
    }
    redisFree(c);
    return NULL;
}

static struct result bench_hiredis(int threads, double for_s)
{
    struct worker workers[THREADS_MAX] = {0};

    for (int i = 0; i < threads; i++)
        workers[i].number = i;
    return run(workers, threads, for_s, work_hiredis);
}

/* ---- medians ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, by_value);
    return values[ROUNDS / 2];
}

static void compare(int threads, double for_s)
{
    double ours[ROUNDS], theirs[ROUNDS], our_cpu[ROUNDS], their_cpu[ROUNDS];
    double rate[ROUNDS], cpu[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        struct result a = bench_ours(threads, for_s);
        struct result b = bench_hiredis(threads, for_s);

        ours[i] = a.pairs_s;
        our_cpu[i] = a.cpu_us;
        theirs[i] = b.pairs_s;
        their_cpu[i] = b.cpu_us;
        rate[i] = a.pairs_s / b.pairs_s;
        cpu[i] = a.cpu_us / b.cpu_us;
    }
    printf("%7d  %9.0f %9.0f  %5.2f   %8.1f %8.1f  %5.2f\n", threads,
           median(ours), median(theirs), median(rate), median(our_cpu),
           median(their_cpu), median(cpu));
}

/* ---- memory and renewals ---- */

static atomic_long live_bytes;

static void *count_resize(void *ctx, void *ptr, size_t old, size_t size)
{
    (void)ctx;
    if (!ptr)
        old = 0;
    if (size == 0) {
        free(ptr);
        live_bytes -= (long)old;
        return NULL;
    }
    ptr = realloc(ptr, size);
    if (ptr)
        live_bytes += (long)size - (long)old;
    return ptr;
}

/* One third of the watchdog's time, seen from outside: 1,000 more renewals. */
static void watch_renewals(struct hf_client *client)
{
    struct timespec pause = {0, 20000000};
    struct hf_client_stats a, b;

    hf_client_stats(client, &a);
    do {
        nanosleep(&pause, NULL);
        hf_client_stats(client, &b);
    } while (b.renewals < a.renewals + HELD);
    printf("%d held locks: %llu renewals took %llu commands in %llu writes\n",
           HELD, (unsigned long long)(b.renewals - a.renewals),
           (unsigned long long)(b.renewal_requests - a.renewal_requests),
           (unsigned long long)(b.link.writes - a.link.writes));
}

static void hold_many(void)
{
    static const struct hf_mem counting = {count_resize, NULL};
    struct hf_client *client = client_new(&counting, 3000);
    struct hf_lock *locks[HELD];
    struct hf_error err;
    long before = live_bytes;

    for (int i = 0; i < HELD; i++) {
        char name[32];
        int len = snprintf(name, sizeof name, "bench-held-%d", i);

        if (hf_lock_new(&locks[i], client, name, (size_t)len, &err) < 0 ||
            hf_lock_acquire(locks[i], NULL, &err) < 0)
            die("hold", err.text);
    }
    printf("memory: %ld bytes a held lock (name of 14 bytes included)\n",
           (live_bytes - before) / HELD);
    watch_renewals(client);
    for (int i = 0; i < HELD; i++) {
        if (hf_lock_release(locks[i], hf_owner_thread(), &err) < 0)
            die("release", err.text);
        hf_lock_free(locks[i]);
    }
    hf_client_free(client);
    if (live_bytes != 0)
        die("memory", "not all of it was freed");
}

int main(int argc, char **argv)
{
    double for_s = argc > 2 ? atof(argv[2]) : 1;

    if (argc < 2 || for_s <= 0) {
        fprintf(stderr, "usage: bench_lock PORT [SECONDS a round]\n");
        return 2;
    }
    port = atoi(argv[1]);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
    printf("acquire+release pairs, medians of %d interleaved rounds of %g s\n"
           "            pairs/s              client CPU, us a pair\n"
           "threads       ours   hiredis  ratio      ours  hiredis  ratio\n",
           ROUNDS, for_s);
    compare(1, for_s);
    compare(THREADS_MAX, for_s);
    hold_many();
    return 0;
}
