/* Each kind of lock beside Redisson's: how many pairs of acquire and release one
 * thread makes in a second when nobody else wants the lock, and how often the
 * server hears of each.
 *
 *     bench_kinds [ms [rounds]]                   (started by bench/run.sh)
 *
 * Ours and a real Redisson (where `make redisson` has put it) take turns, round
 * by round; the ratio is the median over the rounds. Before that each kind has some
 * rounds that are not counted, by which the JVM is warm. */
#include <string.h>

#include "bench/redisson.h"
#include "bench/rounds.h"
#include "holdfast.h"

static const struct {
    const char *java;           /* Driver.java's word; NULL: Redisson has none */
    enum hf_lock_kind kind;
    const char *text;
} kinds[] = {
    {"lock", HF_KIND_PLAIN, "plain"},
    {"nonreentrant", HF_KIND_NONREENTRANT, "non-reentrant"},
    {"fenced", HF_KIND_FENCED, "fenced"},
    {"fair", HF_KIND_FAIR, "fair"},
    {"spin", HF_KIND_SPIN, "spin"},
    {"read", HF_KIND_READ, "read"},
    {"write", HF_KIND_WRITE, "write"},
    {"multi", HF_KIND_NONE, "multi, of 2"},
    {NULL, HF_KIND_VALUE, "value"},
};
#define WARM_ROUNDS 4
#define KINDS (sizeof kinds / sizeof *kinds)

static struct hf_client *client;
static redisContext *asker;

/* ---- what the server heard ---- */

static double reads(void)
{
    redisReply *reply = redisCommand(asker, "INFO stats");
    const char *at = reply ? strstr(reply->str, "total_reads_processed:") : NULL;
    double count = at ? atof(strchr(at, ':') + 1) : 0;

    freeReplyObject(reply);
    return count;
}

/* ---- one round ---- */

struct round {
    double per_s;
    double reads;               /* of the server's sockets, a pair */
};

static struct round round_of(long pairs, double seconds, double reads_before)
{
    double n = pairs > 0 ? (double)pairs : 1;

    /* Our own question is one. */
    return (struct round){n / seconds, (reads() - reads_before - 1) / n};
}

static struct hf_lock *lock_new(enum hf_lock_kind kind, const char *name)
{
    struct hf_lock *lock;
    struct hf_error err;

    if (hf_lock_new_kind(&lock, client, kind, name, strlen(name), &err) < 0)
        die("hf_lock_new_kind", err.text);
    return lock;
}

static void take(struct hf_lock *lock)
{
    struct hf_error err;

    if (hf_lock_acquire(lock, NULL, &err) < 0 ||
        hf_lock_release(lock, hf_owner_thread(), &err) < 0)
        die(hf_lock_name(lock, NULL), err.text);
}

static void take_multi(struct hf_multi *multi)
{
    struct hf_error err;

    if (hf_multi_acquire(multi, NULL, &err) < 0 ||
        hf_multi_release(multi, hf_owner_thread(), &err) < 0)
        die("multi", err.text);
}

static struct hf_multi *multi_new(struct hf_lock *const members[2])
{
    struct hf_multi *multi;
    struct hf_error err;

    if (hf_multi_new(&multi, members, 2, &err) < 0)
        die("hf_multi_new", err.text);
    return multi;
}

static struct round ours(size_t kind, struct hf_lock *lock,
                         struct hf_multi *multi)
{
    double before = reads(), began = clock_us(CLOCK_MONOTONIC), now = began;
    long pairs = 0;

    for (; now < began + measure_us; now = clock_us(CLOCK_MONOTONIC), pairs++) {
        if (kinds[kind].kind == HF_KIND_NONE)
            take_multi(multi);
        else
            take(lock);
    }
    return round_of(pairs, (now - began) / 1e6, before);
}

static struct round theirs(size_t kind, const char *name)
{
    double before = reads(), began = clock_us(CLOCK_MONOTONIC), median, most;
    long pairs;

    redisson_contend(kinds[kind].java, name, 1, 0, measure_us / 1e3);
    redisson_read("%*d %ld %lf %lf", &pairs, &median, &most);
    return round_of(pairs, (clock_us(CLOCK_MONOTONIC) - began) / 1e6, before);
}

/* ---- all rounds of a kind ---- */

static double median_per_s(const struct round *r)
{
    double values[ROUNDS_MAX];

    for (int i = 0; i < rounds; i++)
        values[i] = r[i].per_s;
    return median(values, rounds);
}

static double median_ratio(const struct round *a, const struct round *b)
{
    double values[ROUNDS_MAX];

    for (int i = 0; i < rounds; i++)
        values[i] = a[i].per_s / b[i].per_s;
    return median(values, rounds);
}

static void compare(size_t kind)
{
    struct round us[ROUNDS_MAX], them[ROUNDS_MAX];
    struct hf_lock *members[2] = {lock_new(HF_KIND_PLAIN, "bench:a"),
                                  lock_new(HF_KIND_PLAIN, "bench:b")};
    struct hf_multi *multi = multi_new(members);
    bool has_peer = kinds[kind].java && redisson_is_there();
    enum hf_lock_kind of = kinds[kind].kind;
    struct hf_lock *lock = lock_new(of ? of : HF_KIND_PLAIN, kinds[kind].text);
    const char *name = of ? kinds[kind].java : "bench:a+bench:b";

    for (int i = -WARM_ROUNDS; i < rounds; i++) { /* those count for nothing */
        us[i < 0 ? 0 : i] = ours(kind, lock, multi);
        if (has_peer)
            them[i < 0 ? 0 : i] = theirs(kind, name);
    }
    printf("%-14s%10.0f%8.2f", kinds[kind].text, median_per_s(us), us[0].reads);
    if (has_peer)
        printf("%12.0f%8.2f%8.2f", median_per_s(them), them[0].reads,
               median_ratio(us, them));
    putchar('\n');
    fflush(stdout);
    hf_multi_free(multi);
    hf_lock_free(members[0]);
    hf_lock_free(members[1]);
    hf_lock_free(lock);
}

int main(int argc, char **argv)
{
    struct hf_client_options options;
    struct hf_error err;
    char url[64];

    rounds_init(argc, argv, 500, 9);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", server_port());
    hf_client_options_init(&options);
    options.url = url;
    if (hf_client_new(&client, &options, &err) < 0 ||
        hf_client_connect(client, &err) < 0)
        die("client", err.text);
    asker = redisConnect("127.0.0.1", server_port());
    if (redisson_is_there())
        redisson_start();
    printf("pairs a second, and reads of the server a pair\n"
           "kind                ours   reads    Redisson   reads   ratio\n");
    for (size_t i = 0; i < KINDS; i++)
        compare(i);
    if (redisson_is_there())
        redisson_stop();
    redisFree(asker);
    hf_client_free(client);
    return 0;
}
