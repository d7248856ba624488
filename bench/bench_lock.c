/* Acquire+release pairs beside hiredis and beside bare sockets, on one server and
 * in one run, on one processor and on two.
 *
 *     bench_lock [ms a measurement [rounds]]      (started by bench/run.sh)
 *
 * The peers send the very scripts that we send, by EVALSHA, on a blocking
 * connection for each thread. `bare` sends bytes that were prepared, and hardly reads
 * the replies: no single client can be faster. Rounds are interleaved and medians
 * taken, because machines are noisy; what counts are the ratios. Then: what one
 * held lock costs in memory, and how 1,000 are renewed. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "bench/count_bytes.h"
#include "bench/rounds.h"
#include "holdfast.h"
#include "lock/script/scripts.h"

#define THREADS_MAX 64
#define LATENCIES_MAX 400000
#define HELD 1000
#define UUID "6e3814a1-e847-452b-a982-45baf93a1df2"

static char url[64];

/* ---- measuring ---- */

/* Of one thread, for each contestant. */
struct doors {
    struct hf_client *client;
    redisContext *peer;
    int fd;
};

static float latencies[LATENCIES_MAX];

static void note_latency(const struct worker *w, double began)
{
    if (w->number == 0 && w->count < LATENCIES_MAX)
        latencies[w->count] = (float)(clock_us(CLOCK_MONOTONIC) - began);
}

static int by_float(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static double p50_of(const struct worker *first)
{
    long count = first->count < LATENCIES_MAX ? first->count : LATENCIES_MAX;

    qsort(latencies, (size_t)count, sizeof *latencies, by_float);
    return count ? (double)latencies[count / 2] : 0;
}

/* A pair is one. */
static struct result run(struct worker *workers, int threads,
                         void *(*work)(void *))
{
    struct result r = threads_round(workers, threads, work);

    r.p50_us = p50_of(&workers[0]);
    return r;
}

/* ---- ours ---- */

static void *work_ours(void *arg)
{
    struct worker *w = arg;
    const struct doors *doors = w->ctx;
    struct hf_error err;
    struct hf_lock *lock;
    char name[32];
    int len = snprintf(name, sizeof name, "bench-ours-%d", w->number);

    if (hf_lock_new(&lock, doors->client, name, (size_t)len, &err) < 0)
        die("hf_lock_new", err.text);
    for (w->count = 0; !stop; w->count++) {
        double began = clock_us(CLOCK_MONOTONIC);

        if (hf_lock_acquire(lock, NULL, &err) < 0 ||
            hf_lock_release(lock, hf_owner_thread(), &err) < 0)
            die("pair", err.text);
        note_latency(w, began);
    }
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

/* ---- what the peers send ---- */

struct scripts {
    char name[32], channel[64], owner[72];
    const char *acquire[7], *release[9];
    size_t acquire_len[7], release_len[9];
};

static void scripts_init(struct scripts *s, int number)
{
    const char *acquire[] = {"EVALSHA", hf_script_acquire.sha, "1", s->name,
                             s->owner, "1", "30000"};
    const char *release[] = {"EVALSHA", hf_script_release.sha, "1", s->name,
                             s->owner, "0", "30000", "PUBLISH", s->channel};

    snprintf(s->name, sizeof s->name, "bench-peer-%d", number);
    snprintf(s->owner, sizeof s->owner, UUID ":%d", number);
    snprintf(s->channel, sizeof s->channel, "redisson_lock__channel:{%s}",
             s->name);
    for (int i = 0; i < 7; i++)
        s->acquire_len[i] = strlen(s->acquire[i] = acquire[i]);
    for (int i = 0; i < 9; i++)
        s->release_len[i] = strlen(s->release[i] = release[i]);
}

/* ---- hiredis ---- */

static void send_and_read(redisContext *c, const char **argv, const size_t *lens, int n)
{
    redisReply *reply = redisCommandArgv(c, n, argv, lens);

    if (!reply || reply->type != REDIS_REPLY_ARRAY)
        die("hiredis", reply ? reply->str : c->errstr);
    freeReplyObject(reply);
}

static void *work_hiredis(void *arg)
{
    struct worker *w = arg;
    const struct doors *doors = w->ctx;
    struct scripts s;

    scripts_init(&s, w->number);
    for (w->count = 0; !stop; w->count++) {
        double began = clock_us(CLOCK_MONOTONIC);

        send_and_read(doors->peer, s.acquire, s.acquire_len, 7);
        send_and_read(doors->peer, s.release, s.release_len, 9);
        note_latency(w, began);
    }
    return NULL;
}

/* ---- bare sockets ---- */

static int bare_connect(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)server_port()),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        die("connect", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static size_t bytes_of(char *dst, size_t room, const char *const *argv,
                       const size_t *lens, size_t n)
{
    struct hf_resp_arg args[9];

    for (size_t i = 0; i < n; i++)
        args[i] = (struct hf_resp_arg){argv[i], lens[i]};
    if (hf_resp_command_size(args, n) > room)
        die("bare", "no room");
    return (size_t)(hf_resp_put_command(dst, args, n) - dst);
}

/* The replies of these scripts come in one piece. */
static void bare_send_and_read(int fd, const char *bytes, size_t len)
{
    char reply[512];

    if (write(fd, bytes, len) != (ssize_t)len ||
        read(fd, reply, sizeof reply) <= 0 || reply[0] != '*')
        die("bare", "no good answer");
}

static void *work_bare(void *arg)
{
    struct worker *w = arg;
    const struct doors *doors = w->ctx;
    char acquire[512], release[512];
    size_t acquire_len, release_len;
    struct scripts s;

    scripts_init(&s, w->number);
    acquire_len = bytes_of(acquire, sizeof acquire, s.acquire, s.acquire_len, 7);
    release_len = bytes_of(release, sizeof release, s.release, s.release_len, 9);
    for (w->count = 0; !stop; w->count++) {
        double began = clock_us(CLOCK_MONOTONIC);

        bare_send_and_read(doors->fd, acquire, acquire_len);
        bare_send_and_read(doors->fd, release, release_len);
        note_latency(w, began);
    }
    return NULL;
}

/* ---- side by side ---- */

enum { OURS, HIREDIS, BARE, CONTESTANTS };

static void print_field(struct result results[][ROUNDS_MAX], size_t field,
                        double unit)
{
    for (int c = 0; c < CONTESTANTS; c++)
        printf("%7.1f", median_of(results[c], field) / unit);
    printf("%6.2f%5.2f  ", ratio(results[OURS], results[HIREDIS], field),
           ratio(results[OURS], results[BARE], field));
}

static void compare(int threads)
{
    static void *(*const works[CONTESTANTS])(void *) = {work_ours, work_hiredis,
                                                        work_bare};
    static struct result results[CONTESTANTS][ROUNDS_MAX];
    struct worker workers[THREADS_MAX] = {0};
    struct doors doors[THREADS_MAX];
    struct hf_client *client = client_new(NULL, 30000);

    for (int i = 0; i < threads; i++) {
        workers[i].number = i;
        workers[i].ctx = &doors[i];
        doors[i].client = client;
        doors[i].peer = redisConnect("127.0.0.1", server_port());
        doors[i].fd = bare_connect();
        if (!doors[i].peer || doors[i].peer->err)
            die("hiredis", "cannot connect");
    }
    for (int i = 0; i < rounds; i++)
        for (int c = 0; c < CONTESTANTS; c++)
            results[c][i] = run(workers, threads, works[c]);
    for (int i = 0; i < threads; i++) {
        redisFree(doors[i].peer);
        close(doors[i].fd);
    }
    hf_client_free(client);
    printf("%7d", threads);
    print_field(results, offsetof(struct result, per_s), 1e3);
    print_field(results, offsetof(struct result, cpu_us), 1);
    print_field(results, offsetof(struct result, server_us), 1);
    print_field(results, offsetof(struct result, p50_us), 1);
    putchar('\n');
}

static void compare_in(const struct layout *layout)
{
    static const int threads[] = {1, 4, 8, 16, 64};

    arrange(layout, server_pid());
    printf("\n-- %s: acquire+release pairs of ours, hiredis, bare sockets; ours "
           "over either\n"
           "threads           thousand pairs/s            client CPU, us a pair"
           "            server CPU, us a pair            p50 of a pair, us\n",
           layout->name);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        compare(threads[i]);
}

/* ---- memory and renewals ---- */

/* One third of the watchdog's time, seen from outside: 1,000 more renewals. */
static void watch_renewals(struct hf_client *client)
{
    struct timespec pause = {0, 20000000};
    struct hf_client_stats a, b;

    hf_client_get_stats(client, &a);
    do {
        nanosleep(&pause, NULL);
        hf_client_get_stats(client, &b);
    } while (b.renewals < a.renewals + HELD);
    printf("%d held locks: %llu renewals took %llu commands in %llu writes\n",
           HELD, (unsigned long long)(b.renewals - a.renewals),
           (unsigned long long)(b.renewal_requests - a.renewal_requests),
           (unsigned long long)(b.link.writes - a.link.writes));
}

/* The holds are idle a second after their last use, but are not renewed all at once: the least
 * that is seen in three seconds. */
static long idle_bytes(long before)
{
    struct timespec pause = {0, 1000000};
    long least = live_bytes - before;

    for (int i = 0; i < 3000; i++) {
        nanosleep(&pause, NULL);
        if (live_bytes - before < least)
            least = live_bytes - before;
    }
    return least / HELD;
}

static void acquire_numbered(struct hf_lock **lock, struct hf_client *client, int i)
{
    struct hf_error err;
    char name[32];
    int len = snprintf(name, sizeof name, "bench-held-%d", i);

    if (hf_lock_new(lock, client, name, (size_t)len, &err) < 0 ||
        hf_lock_acquire(*lock, NULL, &err) < 0)
        die("hold", err.text);
}

static int by_number(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;

    return (x > y) - (x < y);
}

/* The first hold also allocates what all holds share, and is not counted. */
static void hold_many(void)
{
    struct hf_client *client = client_new(&counting, 6000);
    struct hf_lock *locks[HELD + 1];
    long before, deltas[HELD];
    struct hf_error err;

    acquire_numbered(&locks[HELD], client, HELD);
    (void)idle_bytes(0);
    before = live_bytes;
    for (int i = 0; i < HELD; i++) {
        long last = live_bytes;

        acquire_numbered(&locks[i], client, i);
        deltas[i] = live_bytes - last;
    }
    watch_renewals(client);
    qsort(deltas, HELD, sizeof *deltas, by_number);
    printf("memory of a held lock (name of 14 bytes included): %ld bytes when acquired, "
           "%ld when idle\n", deltas[HELD / 2], idle_bytes(before));
    for (int i = 0; i <= HELD; i++) {
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
    rounds_init(argc, argv, 400, 7);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", server_port());
    load_script(&hf_script_acquire);
    load_script(&hf_script_release);
    printf("medians of %d interleaved rounds of %g ms\n", rounds,
           measure_us / 1e3);
    for (size_t i = 0; i < 2; i++)
        compare_in(&layouts[i]);
    putchar('\n');
    hold_many();
    return 0;
}
