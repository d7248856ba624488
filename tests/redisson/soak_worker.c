/* A process of the soak that uses holdfast: three threads, each an owner. Soak.java
 * does the same with Redisson.
 *
 *     soak worker URL CLIENT SHA SEED KIND=NAME...
 */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "holdfast.h"
#include "tests/redisson/soak.h"
#include "tests/support/dice.h"
#include "tests/support/local.h"

#define THINGS_MAX 16

static struct {
    const char *client_number, *sha;
    char **things;
    int things_count, port;
    uint64_t seed;
    struct hf_client *client;
    atomic_bool is_over;
} w;

struct worker {
    int number;
    uint64_t seed;
    redisContext *marks;
    int64_t avoided_ms[THINGS_MAX]; /* until when */
    struct hf_lock *locks[THINGS_MAX];
    struct hf_semaphore *semaphore;
    bool is_left[THINGS_MAX];   /* it has not released it, and must, for itself */
    char owner_text[24];
    int64_t owner;

    /* What is under way. */
    unsigned long call;
    int thing;
    char kind[16], name[16], field[HF_OWNER_TEXT_MAX];
    int64_t lease_ms, wait_ms, token;
};

static void stop(const char *what, const char *more)
{
    (void)fprintf(stderr, "soak worker %s: %s %s\n", w.client_number, what, more);
    exit(1);
}

/* ---- marks ---- */

static redisContext *connect_marks(void)
{
    redisContext *c = redisConnect("127.0.0.1", w.port);

    if (!c || c->err)
        stop("no connection", c ? c->errstr : "");
    freeReplyObject(redisCommand(c, "CLIENT SETNAME soak-%s", w.client_number));
    return c;
}

static void mark(struct worker *t, const char *event, int64_t first,
                 const char *second)
{
    redisReply *r = redisCommand(
        t->marks, "EVALSHA %s 0 %s %s %lu %s %s %s %lld %s %s", w.sha, event,
        w.client_number, t->call, t->kind, t->name, t->owner_text,
        (long long)first, second, t->field);

    if (!r || r->type == REDIS_REPLY_ERROR)
        stop("no mark", r ? r->str : t->marks->errstr);
    freeReplyObject(r);
}

/* ---- what is asked for ---- */

static enum hf_lock_kind kind_of(const char *text)
{
    for (int i = 0; i < SOAK_THINGS_COUNT; i++)
        if (strcmp(soak_things[i].kind, text) == 0)
            return soak_things[i].lock_kind;
    stop("no such kind", text);
    return HF_KIND_PLAIN;
}

static bool is_semaphore(const struct worker *t)
{
    return strcmp(t->kind, "semaphore") == 0;
}

static bool is_kind(const struct worker *t, const char *kind)
{
    return strcmp(t->kind, kind) == 0;
}

static void check(const struct worker *t, const char *what, bool is_well,
                  const struct hf_error *err)
{
    char text[640];

    if (is_well)
        return;
    (void)snprintf(text, sizeof text, "%s %s: %s", t->kind, t->name, err->text);
    stop(what, text);
}

static bool acquire(struct worker *t)
{
    struct hf_acquire_options o;
    struct hf_error err = {0};
    hf_status rc;

    if (is_semaphore(t)) {
        rc = hf_semaphore_acquire(t->semaphore, 1, t->wait_ms, NULL, &err);
    } else {
        hf_acquire_options_init(&o);
        o.owner = t->owner;
        o.wait_ms = t->wait_ms;
        o.lease_ms = t->lease_ms;
        rc = hf_lock_acquire(t->locks[t->thing], &o, &err);
    }
    check(t, "acquire", rc == HF_OK || rc == HF_TIMEOUT, &err);
    return rc == HF_OK;
}

static hf_status release(struct worker *t)
{
    struct hf_error err = {0};
    hf_status rc =
        is_semaphore(t) ? hf_semaphore_release(t->semaphore, 1, &err)
                        : hf_lock_release(t->locks[t->thing], t->owner, &err);

    check(t, "release", rc == HF_OK || rc == HF_LOST, &err);
    return rc;
}

/* ---- a turn ---- */

static int64_t roll(struct worker *t, uint64_t sides)
{
    return (int64_t)dice_of(&t->seed, sides);
}

/* A name that it has left to its end, by whatever kind. */
static bool is_avoided(const struct worker *t)
{
    for (int i = 0; i < w.things_count; i++)
        if (t->avoided_ms[i] > local_now_ms() &&
            strcmp(strchr(w.things[i], '='),
                   strchr(w.things[t->thing], '=')) == 0)
            return true;
    return false;
}

static void choose_thing(struct worker *t)
{
    do
        t->thing = (int)roll(t, (uint64_t)w.things_count);
    while (is_avoided(t));
    (void)sscanf(w.things[t->thing], "%15[^=]=%15s", t->kind, t->name);
    if (t->is_left[t->thing]) /* it ended by itself; it is a matter of our own */
        (void)release(t);
    t->is_left[t->thing] = false;
}

static void choose(struct worker *t)
{
    int64_t how;

    choose_thing(t);
    t->lease_ms = is_semaphore(t)              ? 0
                  : roll(t, 40) == 0           ? SOAK_SHORT_MS
                  : is_kind(t, "permit") ||
                          roll(t, 3) == 0      ? SOAK_LEASE_MS
                                               : 0;
    how = roll(t, 10);
    t->wait_ms = how == 0 ? 0 : how < 6 ? 100 + roll(t, 1500) : HF_FOREVER;
    if (is_kind(t, "fair") && t->wait_ms <= 0)
        t->wait_ms = SOAK_FAIR_WAIT_MS;
}

static void hold(struct worker *t)
{
    bool enters = !is_semaphore(t) && t->lease_ms == 0 &&
                  !is_kind(t, "nonreentrant") && roll(t, 5) == 0;

    if (enters && !acquire(t))
        stop("no re-entry", t->name);
    local_rest_us(t->lease_ms == 0 && roll(t, 100) == 0 ? 2500000
                                                        : roll(t, 20000));
    if (enters && release(t) != HF_OK)
        stop("a re-entry is lost", t->name);
}

static void note_grant(struct worker *t)
{
    char token[24];

    t->field[0] = '-';
    t->field[1] = '\0';
    t->token = 0;
    if (!is_semaphore(t))
        (void)hf_lock_owner_text(t->locks[t->thing], t->owner, t->field);
    if (is_kind(t, "fenced"))
        t->token = hf_lock_token(t->locks[t->thing], t->owner);
    (void)snprintf(token, sizeof token, "%" PRId64, t->token);
    mark(t, "enter", t->lease_ms, token);
}

static void take_turn(struct worker *t)
{
    choose(t);
    t->call++;
    (void)strcpy(t->field, "-");
    mark(t, "ask", t->wait_ms, "0");
    if (!acquire(t)) {
        mark(t, "miss", 0, "0");
        return;
    }
    note_grant(t);
    if (t->lease_ms == SOAK_SHORT_MS) {
        t->is_left[t->thing] = true;
        t->avoided_ms[t->thing] = local_now_ms() + 2 * SOAK_SHORT_MS;
        return;
    }
    hold(t);
    mark(t, "leave", t->lease_ms, "0");
    mark(t, release(t) == HF_OK ? "left" : "gone", 0, "0");
}

static void *work(void *arg)
{
    struct worker *t = arg;

    while (!atomic_load(&w.is_over))
        take_turn(t);
    return NULL;
}

/* ---- the process ---- */

static void connect_client(const char *url)
{
    struct hf_client_options o;
    struct hf_error err;
    char name[32];

    (void)snprintf(name, sizeof name, "soak-%s", w.client_number);
    hf_client_options_init(&o);
    o.url = url;
    o.name = name;
    o.watchdog_ms = SOAK_WATCHDOG_MS;
    if (hf_client_new(&w.client, &o, &err) != HF_OK ||
        hf_client_connect(w.client, &err) != HF_OK)
        stop("no client", err.text);
}

static void make_thing(struct worker *t, int i)
{
    struct hf_error err;
    char kind[16], name[16];
    hf_status rc;

    (void)sscanf(w.things[i], "%15[^=]=%15s", kind, name);
    if (strcmp(kind, "semaphore") == 0)
        rc = hf_semaphore_new(&t->semaphore, w.client, name, strlen(name), &err);
    else
        rc = hf_lock_new_kind(&t->locks[i], w.client, kind_of(kind), name,
                              strlen(name), &err);
    if (rc != HF_OK)
        stop("no handle", err.text);
}

static void begin(struct worker *t, int number)
{
    *t = (struct worker){.number = number,
                         .seed = w.seed + (uint64_t)number,
                         .marks = connect_marks(),
                         .owner = number,
                         .kind = "-",
                         .name = "-",
                         .field = "-",
                         .call = (unsigned long)number * 10000000};
    (void)snprintf(t->owner_text, sizeof t->owner_text, "c%s:%d",
                   w.client_number, number);
    for (int i = 0; i < w.things_count; i++)
        make_thing(t, i);
}

static void end(struct worker *t)
{
    for (int i = 0; i < w.things_count; i++)
        hf_lock_free(t->locks[i]);
    hf_semaphore_free(t->semaphore);
    redisFree(t->marks);
}

/* The UUID is the begin of each field. */
static void say_start(struct worker *t)
{
    struct hf_error err = {0};
    struct hf_lock *lock = NULL;
    char name[32], uuid[HF_OWNER_TEXT_MAX];

    (void)snprintf(name, sizeof name, "soak:own:%s", w.client_number);
    if (hf_lock_new(&lock, w.client, name, strlen(name), &err) != HF_OK ||
        hf_lock_acquire(lock, NULL, &err) != HF_OK)
        stop("no UUID", err.text);
    (void)hf_lock_owner_text(lock, hf_owner_thread(), uuid);
    (void)snprintf(t->field, sizeof t->field, "%.36s", uuid);
    if (hf_lock_release(lock, hf_owner_thread(), &err) != HF_OK)
        stop("no UUID", err.text);
    hf_lock_free(lock);
    mark(t, "start", 0, "0");
}

int soak_worker(int argc, char **argv)
{
    static struct worker workers[SOAK_THREADS];
    pthread_t threads[SOAK_THREADS];
    char byte;

    w.client_number = argv[3];
    w.sha = argv[4];
    w.seed = strtoull(argv[5], NULL, 10) * DICE_SEED | 1;
    w.things = argv + 6;
    w.things_count = argc - 6;
    w.port = atoi(strrchr(argv[2], ':') + 1);
    connect_client(argv[2]);
    for (int i = 0; i < SOAK_THREADS; i++)
        begin(&workers[i], i + 1);
    say_start(&workers[0]);
    for (int i = 0; i < SOAK_THREADS; i++)
        (void)pthread_create(&threads[i], NULL, work, &workers[i]);
    while (read(0, &byte, 1) > 0)
        continue;
    atomic_store(&w.is_over, true);
    for (int i = 0; i < SOAK_THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    for (int i = 0; i < SOAK_THREADS; i++)
        end(&workers[i]);
    hf_client_free(w.client);
    return 0;
}
