/* Each kind of lock, compared with Redisson's: how many pairs of acquire and release one
 * thread makes in a second without contention, and how many commands the server executes
 * for each pair. A latch is set to 1 and counted down.
 *
 *     bench_kinds [ms [rounds]]                   (started by bench/run.sh)
 *
 * Ours and a real Redisson (where `make redisson` has put it) take turns, round
 * by round; the ratio is the median over the rounds. Before that each kind has some
 * rounds that are not counted, by which the JVM is warm. A quorum's members are on
 * one server: ours by three clients, as it wants them, Redisson's by one. */
#include <string.h>

#include "bench/redisson.h"
#include "bench/rounds.h"
#include "holdfast.h"

#define MEMBERS 3

/* What one kind is measured on. */
struct subject {
    struct hf_lock *locks[MEMBERS];
    struct hf_multi *multi;
    struct hf_quorum *quorum;
    struct hf_semaphore *semaphore;
    struct hf_latch *latch;
};

static struct hf_client *clients[MEMBERS];
static redisContext *control;

/* ---- pairs ---- */

static void must(hf_status status, const char *what, const struct hf_error *err)
{
    if (status < 0)
        die(what, err->text);
}

static void take_lock(struct subject *s)
{
    struct hf_error err;

    must(hf_lock_acquire(s->locks[0], NULL, &err), "acquire", &err);
    must(hf_lock_release(s->locks[0], hf_owner_thread(), &err), "release", &err);
}

static void take_multi(struct subject *s)
{
    struct hf_error err;

    must(hf_multi_acquire(s->multi, NULL, &err), "acquire", &err);
    must(hf_multi_release(s->multi, hf_owner_thread(), &err), "release", &err);
}

static void take_quorum(struct subject *s)
{
    struct hf_acquire_options o;
    struct hf_error err;

    hf_acquire_options_init(&o);
    o.allow_same_server = true;
    must(hf_quorum_acquire(s->quorum, &o, &err), "acquire", &err);
    must(hf_quorum_release(s->quorum, hf_owner_thread(), &err), "release", &err);
}

static void take_permit(struct subject *s)
{
    struct hf_error err;

    must(hf_semaphore_acquire(s->semaphore, 1, HF_FOREVER, NULL, &err), "acquire",
         &err);
    must(hf_semaphore_release(s->semaphore, 1, &err), "release", &err);
}

static void count_down(struct subject *s)
{
    struct hf_error err;
    bool was_set;

    must(hf_latch_try_set_count(s->latch, 1, &was_set, &err), "set", &err);
    must(hf_latch_count_down(s->latch, &err), "count down", &err);
}

/* ---- the kinds ---- */

static const struct {
    const char *text;
    const char *java;           /* Driver.java's word; NULL: Redisson has none */
    const char *java_name;
    int permits;                /* to be made before; 0: none */
    enum hf_lock_kind kind;
    void (*pair)(struct subject *s);
} kinds[] = {
    {"plain", "lock", "java", 0, HF_KIND_PLAIN, take_lock},
    {"non-reentrant", "nonreentrant", "java", 0, HF_KIND_NONREENTRANT, take_lock},
    {"fenced", "fenced", "java", 0, HF_KIND_FENCED, take_lock},
    {"fair", "fair", "java", 0, HF_KIND_FAIR, take_lock},
    {"spin", "spin", "java", 0, HF_KIND_SPIN, take_lock},
    {"read", "read", "java", 0, HF_KIND_READ, take_lock},
    {"write", "write", "java", 0, HF_KIND_WRITE, take_lock},
    {"value", NULL, NULL, 0, HF_KIND_VALUE, take_lock},
    {"multi, of 2", "multi", "ja+jb", 0, HF_KIND_PLAIN, take_multi},
    {"quorum, of 3", "quorum", "ja+jb+jc", 0, HF_KIND_PLAIN, take_quorum},
    {"semaphore", "semaphore", "jsemaphore", 3, HF_KIND_PLAIN, take_permit},
    {"permit", "permit", "jpermit", 3, HF_KIND_PERMIT, take_lock},
    {"latch", "latch", "jlatch", 0, HF_KIND_PLAIN, count_down},
};
#define WARM_ROUNDS 4
#define KINDS (sizeof kinds / sizeof *kinds)

/* ---- what the server heard ---- */

static double reads(void)
{
    redisReply *reply = redisCommand(control, "INFO stats");
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

    /* One of them is the INFO of this program. */
    return (struct round){n / seconds, (reads() - reads_before - 1) / n};
}

static struct round ours(size_t kind, struct subject *s)
{
    double before = reads(), began = clock_us(CLOCK_MONOTONIC), now = began;
    long pairs = 0;

    for (; now < began + measure_us; now = clock_us(CLOCK_MONOTONIC), pairs++)
        kinds[kind].pair(s);
    return round_of(pairs, (now - began) / 1e6, before);
}

static struct round theirs(size_t kind)
{
    double before = reads(), began = clock_us(CLOCK_MONOTONIC), median, most;
    long pairs;

    redisson_contend(kinds[kind].java, kinds[kind].java_name, 1, 0,
                     measure_us / 1e3);
    redisson_read("%*d %ld %lf %lf", &pairs, &median, &most);
    return round_of(pairs, (clock_us(CLOCK_MONOTONIC) - began) / 1e6, before);
}

/* ---- what is measured ---- */

static struct hf_lock *lock_new(size_t kind, int member)
{
    struct hf_lock *lock;
    struct hf_error err;
    char name[40];

    (void)snprintf(name, sizeof name, "%s:%d", kinds[kind].text, member);
    must(hf_lock_new_kind(&lock, clients[member], kinds[kind].kind, name,
                          strlen(name), &err), "lock", &err);
    return lock;
}

static void open_sets(size_t kind, struct subject *s)
{
    struct hf_lock *two[2] = {s->locks[0], NULL};
    struct hf_error err;

    must(hf_lock_new_kind(&two[1], clients[0], kinds[kind].kind, "multi:1", 7,
                          &err), "lock", &err);
    must(hf_multi_new(&s->multi, two, 2, &err), "multi", &err);
    must(hf_quorum_new(&s->quorum, s->locks, MEMBERS, &err), "quorum", &err);
    hf_lock_free(two[1]);
}

static void open_counted(size_t kind, struct subject *s)
{
    struct hf_error err;
    bool was_set;

    must(hf_semaphore_new(&s->semaphore, clients[0], "semaphore", 9, &err),
         "semaphore", &err);
    must(hf_latch_new(&s->latch, clients[0], "latch", 5, &err), "latch", &err);
    if (kinds[kind].permits == 0)
        return;
    must(hf_semaphore_try_set_permits(s->semaphore, kinds[kind].permits, &was_set,
                                      &err), "permits", &err);
    if (kinds[kind].kind == HF_KIND_PERMIT)
        must(hf_permits_try_set(s->locks[0], kinds[kind].permits, &was_set, &err),
             "permits", &err);
    if (redisson_is_there())
        redisson_set(kinds[kind].java, kinds[kind].java_name,
                     kinds[kind].permits);
}

static void open_subject(size_t kind, struct subject *s)
{
    for (int i = 0; i < MEMBERS; i++)
        s->locks[i] = lock_new(kind, i);
    open_sets(kind, s);
    open_counted(kind, s);
}

static void close_subject(struct subject *s)
{
    hf_multi_free(s->multi);
    hf_quorum_free(s->quorum);
    hf_semaphore_free(s->semaphore);
    hf_latch_free(s->latch);
    for (int i = 0; i < MEMBERS; i++)
        hf_lock_free(s->locks[i]);
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
    bool has_peer = kinds[kind].java && redisson_is_there();
    struct subject subject = {0};

    open_subject(kind, &subject);
    for (int i = -WARM_ROUNDS; i < rounds; i++) { /* those count for nothing */
        us[i < 0 ? 0 : i] = ours(kind, &subject);
        if (has_peer)
            them[i < 0 ? 0 : i] = theirs(kind);
    }
    close_subject(&subject);
    printf("%-14s%10.0f%8.2f", kinds[kind].text, median_per_s(us), us[0].reads);
    if (has_peer)
        printf("%12.0f%8.2f%8.2f", median_per_s(them), them[0].reads,
               median_ratio(us, them));
    putchar('\n');
    fflush(stdout);
}

static void connect_all(void)
{
    struct hf_client_options options;
    struct hf_error err;
    char url[64];

    snprintf(url, sizeof url, "redis://127.0.0.1:%d", server_port());
    hf_client_options_init(&options);
    options.url = url;
    for (int i = 0; i < MEMBERS; i++) {
        must(hf_client_new(&clients[i], &options, &err), "client", &err);
        must(hf_client_connect(clients[i], &err), "client", &err);
    }
    control = redisConnect("127.0.0.1", server_port());
}

int main(int argc, char **argv)
{
    rounds_init(argc, argv, 500, 9);
    connect_all();
    if (redisson_is_there())
        redisson_start();
    printf("pairs a second, and reads of the server a pair\n"
           "kind                ours   reads    Redisson   reads   ratio\n");
    for (size_t i = 0; i < KINDS; i++)
        compare(i);
    if (redisson_is_there())
        redisson_stop();
    redisFree(control);
    for (int i = 0; i < MEMBERS; i++)
        hf_client_free(clients[i]);
    return 0;
}
