/* How processes share one lock for which they compete.
 *
 *     bench_share [ms [waiters]]                  (started by bench/run.sh)
 *
 * Two processes, each with some threads that acquire, hold for a while and
 * release, during the given ms: grants of each, the share of the first, and waits. The
 * second is ours, a real Redisson (where `make redisson` has put it), or none.
 * Then a crowd: the given number of processes wait for one name, and each acquires it
 * once; the commands that the server executes are counted.
 * Goals: shares of 0.4 to 0.6; no wait longer than 20 times the median; 50 commands for each
 * release. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bench/measure.h"
#include "bench/redisson.h"
#include "holdfast.h"

#define NAME "bench-share"
#define CHANNEL "redisson_lock__channel:{" NAME "}"
#define OTHER "6e3814a1-e847-452b-a982-45baf93a1df2"
#define THREADS_MAX 16
#define WAITS_MAX 400000          /* of one process; more are not looked at */

static char url[64];

/* ---- one process ---- */

/* What came of it, where its parent can read it. */
struct tally {
    long grants;
    double median_us, longest_us;
};

static struct hf_client *client_new(void)
{
    struct hf_client_options options;
    struct hf_client *client;
    struct hf_error err;

    hf_client_options_init(&options);
    options.url = url;
    if (hf_client_new(&client, &options, &err) < 0 ||
        hf_client_connect(client, &err) < 0)
        die("client", err.text);
    return client;
}

static struct hf_lock *lock_new(struct hf_client *client)
{
    struct hf_lock *lock;
    struct hf_error err;

    if (hf_lock_new(&lock, client, NAME, strlen(NAME), &err) < 0)
        die("hf_lock_new", err.text);
    return lock;
}

static void rest(long us)
{
    struct timespec pause = {us / 1000000, us % 1000000 * 1000};

    if (us > 0)
        nanosleep(&pause, NULL);
}

static void acquire(struct hf_lock *lock)
{
    struct hf_error err;

    if (hf_lock_acquire(lock, NULL, &err) < 0)
        die("acquire", err.text);
}

static void release(struct hf_lock *lock)
{
    struct hf_error err;

    if (hf_lock_release(lock, hf_owner_thread(), &err) < 0)
        die("release", err.text);
}

/* Of this process: its threads append their waits here. */
static float waits[WAITS_MAX];
static atomic_long grants;
static atomic_bool is_over;
static long hold_us;

static void *work(void *arg)
{
    struct hf_lock *lock = arg;

    while (!is_over) {
        double began = clock_us(CLOCK_MONOTONIC);
        long i;

        acquire(lock);
        i = grants++;
        if (i < WAITS_MAX)
            waits[i] = (float)(clock_us(CLOCK_MONOTONIC) - began);
        rest(hold_us);
        release(lock);
    }
    return NULL;
}

static int by_float(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static void tally(struct tally *t)
{
    long count = grants < WAITS_MAX ? grants : WAITS_MAX;

    t->grants = grants;
    qsort(waits, (size_t)count, sizeof *waits, by_float);
    t->median_us = count ? (double)waits[count / 2] : 0;
    t->longest_us = count ? (double)waits[count - 1] : 0;
}

static void contend(struct tally *t, int threads, double ms)
{
    struct hf_client *client = client_new();
    pthread_t ids[THREADS_MAX];

    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, lock_new(client)) != 0)
            die("pthread_create", "failed");
    rest((long)(ms * 1e3));
    is_over = true;
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    tally(t);
    hf_client_free(client);
}

static void *shared(size_t size)
{
    void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (ptr == MAP_FAILED)
        die("mmap", "failed");
    return ptr;
}

static pid_t start_ours(struct tally *t, int threads, double ms)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    contend(t, threads, ms);
    _exit(0);
}

/* ---- a real Redisson ---- */

static void redisson_begins(int threads, double ms)
{
    redisson_contend("lock", NAME, threads, hold_us, ms);
}

static void redisson_ends(struct tally *t)
{
    redisson_read("%*d %ld %lf %lf", &t->grants, &t->median_us,
                  &t->longest_us);
}

/* ---- two processes ---- */

enum second { NO_SECOND, OURS, REDISSON };
static const char *const second_names[] = {"none", "ours", "Redisson"};

static void print_tallies(enum second second, int threads, double ms,
                          const struct tally *t)
{
    double all = (double)(t[0].grants + t[1].grants);

    printf("%-9s%5d%7.1f%10.0f%8.2f", second_names[second], threads,
           (double)hold_us / 1e3, all * 1e3 / ms, (double)t[0].grants / all);
    for (int i = 0; i < (second == NO_SECOND ? 1 : 2); i++)
        printf("%9ld%9.1f%9.1f", t[i].grants, t[i].median_us / 1e3,
               t[i].longest_us / 1e3);
    putchar('\n');
    fflush(stdout);
}

static void share(enum second second, int threads, long us, double ms)
{
    struct tally *t = shared(2 * sizeof *t);

    hold_us = us;
    if (second == REDISSON)
        redisson_begins(threads, ms);
    (void)start_ours(&t[0], threads, ms);
    if (second == OURS)
        (void)start_ours(&t[1], threads, ms);
    (void)waitpid(-1, NULL, 0);
    if (second == OURS)
        (void)waitpid(-1, NULL, 0);
    if (second == REDISSON)
        redisson_ends(&t[1]);
    print_tallies(second, threads, ms, t);
    munmap(t, 2 * sizeof *t);
}

/* ---- a crowd ---- */

static redisContext *control;

static redisReply *command(const char *format, const char *word)
{
    redisReply *reply = redisCommand(control, format, word);

    if (!reply)
        die(format, control->errstr);
    return reply;
}

static void tell(const char *format, const char *word)
{
    freeReplyObject(command(format, word));
}

static double calls_of(const char *text, const char *what)
{
    const char *at = strstr(text, what);

    return at ? atof(at + strlen(what)) : 0;
}

/* The script calls so far: acquires and releases. */
static double script_calls(void)
{
    redisReply *reply = command("INFO %s", "commandstats");
    double sum = calls_of(reply->str, "cmdstat_evalsha:calls=") +
                 calls_of(reply->str, "cmdstat_eval:calls=");

    freeReplyObject(reply);
    return sum;
}

static long long listeners(void)
{
    redisReply *reply = command("PUBSUB NUMSUB %s", CHANNEL);
    long long count = reply->element[1]->integer;

    freeReplyObject(reply);
    return count;
}

static void start_waiter(void)
{
    struct hf_lock *lock;

    if (fork() != 0)
        return;
    lock = lock_new(client_new());
    acquire(lock);
    rest(hold_us);
    release(lock);
    _exit(0);
}

/* Another process holds the lock until all waiters have subscribed and sent one more
 * request. */
static void crowd(int waiters, long us)
{
    double calls, began;

    hold_us = us;
    tell("HSET " NAME " %s:1 1", OTHER);
    tell("PEXPIRE %s 600000", NAME);
    for (int i = 0; i < waiters; i++)
        start_waiter();
    while (listeners() < waiters)
        rest(10000);
    rest(1000000);
    calls = script_calls();
    began = clock_us(CLOCK_MONOTONIC);
    tell("DEL %s", NAME);
    tell("PUBLISH %s 0", CHANNEL);
    for (int i = 0; i < waiters; i++)
        if (wait(NULL) < 0)
            die("wait", "a waiter is missing");
    began = clock_us(CLOCK_MONOTONIC) - began;
    printf("%7d%8.1f%10.2f%12.1f\n", waiters, (double)us / 1e3,
           began / 1e3 / waiters, (script_calls() - calls) / waiters);
    fflush(stdout);
}

/* ---- a hand-over ---- */

/* Few processes take turns, each when the one before it has released: how long
 * after that? The lock is all that they share. */
static void hand_over(int waiters, int rounds)
{
    double *released_us = shared(sizeof *released_us);
    double *late = shared(sizeof *late * (size_t)rounds);

    for (int i = 0; i < rounds; i++) {
        tell("HSET " NAME " %s:1 1", OTHER);
        tell("PEXPIRE %s 600000", NAME);
        for (int k = 0; k < waiters; k++)
            if (fork() == 0) {
                struct hf_lock *lock = lock_new(client_new());
                double now;

                acquire(lock);
                now = clock_us(CLOCK_MONOTONIC);
                late[i] += (now - *released_us) / waiters;
                rest(5000);
                *released_us = clock_us(CLOCK_MONOTONIC);
                release(lock);
                _exit(0);
            }
        while (listeners() < waiters)
            rest(1000);
        rest(5000);
        *released_us = clock_us(CLOCK_MONOTONIC);
        tell("DEL %s", NAME);
        tell("PUBLISH %s 0", CHANNEL);
        for (int k = 0; k < waiters; k++)
            (void)wait(NULL);
    }
    printf("%7d%12.0f\n", waiters, median(late, rounds));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const int threads[] = {1, 4, 8};
    static const long holds_us[] = {0, 1000, 2500};
    double ms = argc > 1 ? atof(argv[1]) : 3000;
    int waiters = argc > 2 ? atoi(argv[2]) : 1000;

    snprintf(url, sizeof url, "redis://127.0.0.1:%d", server_port());
    control = redisConnect("127.0.0.1", server_port());
    printf("%g ms each; waits in ms: median, longest\n"
           "second  threads   hold  grants/s   share   first              "
           "            second\n", ms);
    if (redisson_is_there())
        redisson_start();
    for (size_t h = 0; h < 3; h++)
        for (size_t i = 0; i < 3; i++)
            for (int second = NO_SECOND; second <= (redisson_is_there() ? REDISSON : OURS);
                 second++)
                share((enum second)second, threads[i], holds_us[h], ms);
    if (redisson_is_there())
        redisson_stop();
    printf("\nfew waiters, and how late the next one has it, us\n");
    for (int n = 1; n <= 8; n *= 2)
        hand_over(n, 21);
    if (waiters <= 0)
        return 0;
    printf("\nwaiters    hold   ms a release   calls a release\n");
    crowd(waiters, 0);
    crowd(waiters, 10000);
    redisFree(control);
    return 0;
}
