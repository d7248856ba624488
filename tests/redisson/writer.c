/* Does a writer get in among readers who keep coming? Fifty readers take a read-write
 * lock again and again, each holding it for 5 ms; one writer holds it for 1 ms. How long
 * the writer waits, and how often it is granted, where readers are of holdfast, of
 * Redisson, or of both, on the same server: ten of each of five clients, and the writer
 * of a sixth; or all of one client; or of six again, where everybody takes a fair lock
 * before, and releases it once the read-write lock is held.
 *
 * The environment: HF_REDISSON, and HF_REDISSON_KINDS (run.sh); HF_SECONDS of each
 * row (10). It judges nothing. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/redisson/both.h"
#include "tests/support/local.h"

#define CLIENTS 5
#define READERS 50              /* of all clients */
#define READ_US 5000
#define WRITE_US 1000
#define WAITS_MAX 1000000

/* What is measured: of how many clients the readers are. */
struct row {
    int ours, theirs;
    bool is_alone, is_gated;    /* is_alone: all of one client, the writer, too */
    bool writer_is_ours;
};

static const struct row rows[] = {
    {5, 0, false, false, true},  {5, 0, false, false, false},
    {2, 3, false, false, true},  {2, 3, false, false, false},
    {0, 5, false, false, true},  {0, 5, false, false, false},
    {1, 0, true, false, true},   {0, 1, true, false, false},
    {5, 0, false, true, true},   {2, 3, false, true, true},
    {2, 3, false, true, false},  {0, 5, false, true, false},
};

/* ---- ours ---- */

/* Threads of one client, or one. */
struct crowd {
    struct hf_client *client;
    struct hf_lock *lock, *gate; /* gate: or NULL */
    int threads;
    int64_t hold_us, end_ms;
    pthread_t ids[READERS];
    pthread_mutex_t mutex;
    int64_t *waits_us;
    int count;
};

static int64_t now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void note(struct crowd *c, int64_t wait_us)
{
    (void)pthread_mutex_lock(&c->mutex);
    if (c->count < WAITS_MAX)
        c->waits_us[c->count++] = wait_us;
    (void)pthread_mutex_unlock(&c->mutex);
}

static void *take_turns(void *arg)
{
    struct crowd *c = arg;

    while (local_now_ms() < c->end_ms) {
        int64_t began_us = now_us();

        if (c->gate && hf_lock_acquire(c->gate, NULL, NULL) != HF_OK)
            abort();
        if (hf_lock_acquire(c->lock, NULL, NULL) != HF_OK)
            abort();
        if (c->gate)
            (void)hf_lock_release(c->gate, hf_owner_thread(), NULL);
        note(c, now_us() - began_us);
        local_rest_us(c->hold_us);
        (void)hf_lock_release(c->lock, hf_owner_thread(), NULL);
    }
    return NULL;
}

static struct hf_client *connect_client(void)
{
    struct hf_client_options o;
    struct hf_client *made;
    char url[SERVER_URL_MAX];

    hf_client_options_init(&o);
    o.url = server_url(server, url);
    ck_assert_int_eq(hf_client_new(&made, &o, NULL), HF_OK);
    return made;
}

/* Threads of the client that is in c->client. */
static void begin(struct crowd *c, enum hf_lock_kind kind, int threads,
                  const struct row *row, int ms)
{
    c->threads = threads;
    c->hold_us = kind == HF_KIND_READ ? READ_US : WRITE_US;
    c->count = 0;
    c->waits_us = local_new(WAITS_MAX * sizeof *c->waits_us);
    (void)pthread_mutex_init(&c->mutex, NULL);
    ck_assert_int_eq(
        hf_lock_new_kind(&c->lock, c->client, kind, "rw", 2, NULL), HF_OK);
    c->gate = NULL;
    if (row->is_gated)
        ck_assert_int_eq(hf_lock_new_kind(&c->gate, c->client, HF_KIND_FAIR,
                                          "rw:gate", 7, NULL),
                         HF_OK);
    c->end_ms = local_now_ms() + ms;
    for (int i = 0; i < threads; i++)
        (void)pthread_create(&c->ids[i], NULL, take_turns, c);
}

static int by_size(const void *a, const void *b)
{
    int64_t l = *(const int64_t *)a, r = *(const int64_t *)b;

    return l < r ? -1 : l > r;
}

/* Says "GRANTS MEDIAN LONGEST", as Driver.java does. */
static void end(struct crowd *c, char text[64])
{
    for (int i = 0; i < c->threads; i++)
        (void)pthread_join(c->ids[i], NULL);
    qsort(c->waits_us, (size_t)c->count, sizeof *c->waits_us, by_size);
    (void)snprintf(text, 64, "%d %lld %lld", c->count,
                   (long long)c->waits_us[c->count / 2],
                   (long long)c->waits_us[c->count - 1]);
    hf_lock_free(c->gate);
    hf_lock_free(c->lock);
    free(c->waits_us);
}

/* ---- a row ---- */

/* The last is the writer's, but where all are of one client: that is the first. */
struct all {
    struct crowd crowds[CLIENTS + 1];
    struct driver *drivers[CLIENTS + 1];
};

static void begin_readers(struct all *a, const struct row *row, int ms)
{
    int each = READERS / (row->ours + row->theirs);

    for (int i = 0; i < row->theirs; i++)
        driver_tell(a->drivers[i], 1, "contend read rw %d %d %d %d", each,
                    READ_US, ms, row->is_gated);
    for (int i = 0; i < row->ours; i++)
        begin(&a->crowds[i], HF_KIND_READ, each, row, ms);
}

static unsigned long end_readers(struct all *a, const struct row *row, int ms)
{
    unsigned long grants = 0;
    char text[64];

    for (int i = 0; i < row->ours; i++) {
        end(&a->crowds[i], text);
        grants += strtoul(text, NULL, 10);
    }
    for (int i = 0; i < row->theirs; i++)
        grants +=
            strtoul(driver_answer(a->drivers[i], 1, ms + DRIVER_MS), NULL, 10);
    return grants;
}

static void write_ours(struct all *a, const struct row *row, int ms,
                       char text[64])
{
    struct crowd *c = &a->crowds[CLIENTS];
    struct hf_client *own = c->client;

    if (row->is_alone)
        c->client = a->crowds[0].client;
    begin(c, HF_KIND_WRITE, 1, row, ms);
    end(c, text);
    c->client = own;
}

static void write_theirs(struct all *a, const struct row *row, int ms,
                         char text[64])
{
    struct driver *d = a->drivers[row->is_alone ? 0 : CLIENTS];

    driver_tell(d, 2, "contend write rw 1 %d %d %d", WRITE_US, ms,
                row->is_gated);
    (void)snprintf(text, 64, "%s", driver_answer(d, 2, ms + DRIVER_MS));
}

static void measure(struct all *a, const struct row *row, int ms)
{
    int each = READERS / (row->ours + row->theirs);
    long long grants, median_us, longest_us;
    unsigned long reads;
    char text[64];

    begin_readers(a, row, ms);
    (row->writer_is_ours ? write_ours : write_theirs)(a, row, ms, text);
    reads = end_readers(a, row, ms);
    ck_assert_int_eq(
        sscanf(text, "%lld %lld %lld", &grants, &median_us, &longest_us), 3);
    (void)printf("| %-14s | %2d | %2d | %-8s | %6lld | %8.1f | %8.1f | %7lu |\n",
                 row->is_alone   ? "one client"
                 : row->is_gated ? "by a fair lock"
                                 : "six clients",
                 row->ours * each, row->theirs * each,
                 row->writer_is_ours ? "holdfast" : "Redisson", grants,
                 (double)median_us / 1e3, (double)longest_us / 1e3, reads);
    (void)fflush(stdout);
}

START_TEST(writer_among_readers)
{
    static struct all all;
    const char *text = getenv("HF_SECONDS");
    int ms = (text ? atoi(text) : 10) * 1000;

    start_server();
    for (int i = 0; i <= CLIENTS; i++) {
        all.drivers[i] = driver_start(server, THEIR_WATCHDOG_MS);
        all.crowds[i].client = connect_client();
    }
    (void)printf("\n| how | readers of holdfast | of Redisson | writer | its grants "
                 "| median wait, ms | longest, ms | readers' grants |\n"
                 "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        measure(&all, &rows[i], ms);
    for (int i = 0; i <= CLIENTS; i++) {
        driver_stop(all.drivers[i]);
        hf_client_free(all.crowds[i].client);
    }
    stop_server();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("a writer among readers");
    TCase *tc = tcase_create("writer");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, writer_among_readers);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
