/* The log of a soak (soak.h) as a history that the judge reads (tests/judge): of the
 * server, what it had when each process said that it is inside, and until when what
 * the dead had stayed; of the clients, what they asked and believed. Semaphores and
 * permits, which that does not know, are counted here. */
#include <check.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/judge/judge.h"
#include "tests/redisson/soak.h"
#include "tests/support/local.h"

#define ENTRIES_MAX 256
#define FIELD_ROOM 96
#define SHOWN_MAX 20
#define MS 1000

/* What waits for nothing but the machine: two processors, many processes. A waiter of
 * holdfast asks every 2 s by itself, so one that is not woken is found. */
#define WAKE_MS 1500
/* A fair lock's places: those of the dead are honoured one after the other. Ours last a
 * third of the watchdog's time longer than the wait (FAIR-2); the first of Redisson's
 * begins with the lock's TTL. */
#define PLACE_MS (SOAK_FAIR_WAIT_MS + SOAK_WATCHDOG_MS / 3)
#define FAIR_WAKE_MS (SOAK_WATCHDOG_MS + SOAK_DEAD_MAX * PLACE_MS + WAKE_MS)
/* A reader that goes while another one's lease still runs makes the TTL shorter and tells
 * nobody: who waits sleeps for the TTL that it was told, or until it asks by itself. */
#define RW_LOOK_MS (SOAK_WATCHDOG_MS + WAKE_MS)
/* What a dead process took of permits, and had not yet said so. */
#define POOL_WAKE_MS (SOAK_LEASE_MS + WAKE_MS)
/* Of two threads of one client that ask at once, nobody knows whose call begins first;
 * and a reader waits behind a writer of its client (RW-2). So the writer's goes first:
 * a reader's line is put so much later. */
#define AT_ONCE_US 50000
/* A call that gives up does so in time. */
#define LATE_MS 3000

static const char header[] = HISTORY_FIRST_LINE "\n"
                                                "# look_ms %d\n"
                                                "# wake_ms %d\n"
                                                "# judge 15789\n";

struct line {
    int64_t us;
    char event[12], kind[16], name[16], owner[FIELD_ROOM], second[24];
    char field[FIELD_ROOM];
    unsigned client;
    int64_t call, first, pttl_ms, mine, others;
};

/* Who is inside, or was when it died. */
struct entry {
    struct line line;           /* that says so */
    int64_t until_us;           /* HISTORY_NEVER: somebody renews it */
    bool is_leaving, is_dead, is_there_yet;
};

struct out {
    struct judge *judge;
    FILE *file;
};

/* A call that waits for a permit. */
struct wish {
    unsigned client;
    int64_t call;
};

struct pool {
    const char *kind;
    int64_t all;
    int inside, waiting;
    struct wish wishes[ENTRIES_MAX];
    int64_t since_us;           /* there are some, and somebody waits; 0: not */
};

struct soak_history {
    struct out plain, fair, rw;
    struct entry entries[ENTRIES_MAX];
    int count;
    struct pool pools[2];
    struct line readers[ENTRIES_MAX];   /* that have asked just now */
    int readers_count;
    int64_t now_us;
    unsigned long wrong;
    unsigned last_client;
    struct soak_counts counts;
};

/* ---- out ---- */

static void complain(struct soak_history *h, const struct line *l,
                     const char *what)
{
    if (h->wrong++ < SHOWN_MAX)
        (void)printf("soak: at %" PRId64 ", %s %s of %s (client %u, call %" PRId64
                     ", %s): %s [pttl %" PRId64 ", mine %" PRId64
                     ", others %" PRId64 "]\n",
                     l->us, l->event, l->kind, l->name, l->client, l->call,
                     l->field, what, l->pttl_ms, l->mine, l->others);
}

static void open_out(struct out *out, const char *folder, const char *name,
                     int look_ms, int wake_ms)
{
    char path[512], text[256], *at = text;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    out->file = fopen(path, "w");
    ck_assert_msg(out->file != NULL, "%s cannot be written", path);
    out->judge = judge_new(NULL);
    (void)snprintf(text, sizeof text, header, look_ms, wake_ms);
    (void)fputs(text, out->file);
    while (*at) {
        size_t len = strcspn(at, "\n");

        at[len] = '\0';
        ck_assert_ptr_null(judge_line(out->judge, at, len));
        at += len + 1;
    }
}

struct soak_history *soak_history_new(const char *folder)
{
    struct soak_history *h = local_new(sizeof *h);

    open_out(&h->plain, folder, "history", WAKE_MS, WAKE_MS);
    open_out(&h->fair, folder, "history-fair", FAIR_WAKE_MS, FAIR_WAKE_MS);
    open_out(&h->rw, folder, "history-rw", RW_LOOK_MS, WAKE_MS);
    h->pools[0] = (struct pool){.kind = "permit", .all = SOAK_PERMITS};
    h->pools[1] = (struct pool){.kind = "semaphore", .all = SOAK_SEMAPHORE};
    return h;
}

static void put(struct out *out, const struct history_event *e)
{
    char text[512];

    ck_assert_uint_gt(history_write(e, text, sizeof text), 0);
    (void)fputs(text, out->file);
    judge_event(out->judge, e);
}

static enum history_kind kind_of(const char *text)
{
    static const struct {
        const char *text;
        enum history_kind kind;
    } kinds[] = {
        {"fenced", HISTORY_KIND_FENCED},
        {"nonreentrant", HISTORY_KIND_NONREENTRANT},
        {"read", HISTORY_KIND_READ},
        {"write", HISTORY_KIND_WRITE},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].text, text) == 0)
            return kinds[i].kind;
    return HISTORY_KIND_PLAIN;
}

static struct out *out_of(struct soak_history *h, const struct line *l)
{
    if (strcmp(l->kind, "fair") == 0)
        return &h->fair;
    return strcmp(l->name, "rw:0") ? &h->plain : &h->rw;
}

/* A line of that client (or of the server, 0) about the lock. */
static struct history_event about(struct soak_history *h, const struct line *l,
                                  unsigned client, enum history_what what)
{
    struct history_event e = history_event(h->now_us, client ? 'c' : 's',
                                           client ? client : 1, what);

    e.lock = history_text(l->name);
    e.kind = kind_of(l->kind);
    e.owner = history_text(l->owner);
    if (strcmp(l->field, "-"))
        e.hold = history_text(l->field);
    return e;
}

/* ---- who is inside ---- */

static struct pool *pool_of(struct soak_history *h, const struct line *l)
{
    for (int i = 0; i < 2; i++)
        if (strcmp(h->pools[i].kind, l->kind) == 0)
            return &h->pools[i];
    return NULL;
}

static struct entry *entry_of(struct soak_history *h, const struct line *l)
{
    for (int i = 0; i < h->count; i++) {
        const struct line *its = &h->entries[i].line;

        if (its->client == l->client && strcmp(its->name, l->name) == 0 &&
            (its->call == l->call || strcmp(its->field, l->field) == 0) &&
            strcmp(its->kind, l->kind) == 0)
            return &h->entries[i];
    }
    return NULL;
}

static void drop(struct soak_history *h, struct entry *entry)
{
    struct pool *pool = pool_of(h, &entry->line);

    if (pool)
        pool->inside--;
    *entry = h->entries[--h->count];
}

static void put_freed(struct soak_history *h, struct entry *entry,
                      enum history_why why)
{
    struct history_event e;

    if (!pool_of(h, &entry->line)) {
        e = about(h, &entry->line, 0, HISTORY_FREED);
        e.why = why;
        put(out_of(h, &entry->line), &e);
    }
    h->counts.expired += why == HISTORY_WHY_EXPIRED;
    drop(h, entry);
}

/* What ends by itself until then, the earliest first. */
static void expire(struct soak_history *h, int64_t us)
{
    for (;;) {
        struct entry *first = NULL;

        for (int i = 0; i < h->count; i++)
            if (h->entries[i].until_us <= us &&
                (!first || h->entries[i].until_us < first->until_us))
                first = &h->entries[i];
        if (!first)
            return;
        if (first->until_us > h->now_us)
            h->now_us = first->until_us;
        put_freed(h, first, HISTORY_WHY_EXPIRED);
    }
}

/* A key is gone when the clock's millisecond is beyond its last one. */
static int64_t end_of(const struct line *l)
{
    return (l->us / MS + l->pttl_ms) * MS;
}

static void put_held(struct soak_history *h, const struct entry *entry)
{
    struct history_event e = about(h, &entry->line, 0, HISTORY_HELD);

    e.count = 1;
    e.until_us = entry->until_us;
    e.by = HISTORY_BY_ACQUIRE;
    if (strcmp(entry->line.kind, "fenced") == 0 && !entry->is_dead)
        e.token = atoll(entry->line.second);
    put(out_of(h, &entry->line), &e);
}

static struct entry *add(struct soak_history *h, const struct line *l)
{
    struct entry *entry = &h->entries[h->count++];

    ck_assert_int_lt(h->count, ENTRIES_MAX);
    *entry = (struct entry){.line = *l, .until_us = HISTORY_NEVER};
    return entry;
}

/* ---- lines ---- */

static void add_wish(struct pool *pool, const struct line *l)
{
    ck_assert_int_lt(pool->waiting, ENTRIES_MAX);
    pool->wishes[pool->waiting++] = (struct wish){l->client, l->call};
}

/* That call's; 0: each of the client. */
static void drop_wish(struct pool *pool, unsigned client, int64_t call)
{
    for (int i = pool->waiting - 1; i >= 0; i--)
        if (pool->wishes[i].client == client &&
            (call == 0 || pool->wishes[i].call == call))
            pool->wishes[i] = pool->wishes[--pool->waiting];
}

static void put_ask(struct soak_history *h, const struct line *l)
{
    struct history_event e = about(h, l, l->client, HISTORY_ASK);

    e.call = l->call;
    e.op = HISTORY_OP_ACQUIRE;
    e.wait_ms = l->first < 0 ? HISTORY_NONE : l->first;
    if (l->first >= 0)
        e.due_us = l->us + (l->first + LATE_MS) * MS;
    put(out_of(h, l), &e);
}

static void take_ask(struct soak_history *h, const struct line *l)
{
    if (pool_of(h, l)) {
        add_wish(pool_of(h, l), l);
    } else if (strcmp(l->kind, "read") == 0) {
        ck_assert_int_lt(h->readers_count, ENTRIES_MAX);
        h->readers[h->readers_count++] = *l;
    } else {
        put_ask(h, l);
    }
}

/* Those who asked until then; and the one that the line is about, or all of its client,
 * if that has died (call 0). */
static void put_readers(struct soak_history *h, int64_t until_us,
                        const struct line *l)
{
    int kept = 0;

    for (int i = 0; i < h->readers_count; i++) {
        struct line *r = &h->readers[i];

        if (l && r->client == l->client && (!l->call || r->call == l->call))
            put_ask(h, r);
        else if (r->us <= until_us)
            put_ask(h, r);
        else
            h->readers[kept++] = *r;
    }
    h->readers_count = kept;
}

static void put_end(struct soak_history *h, const struct line *l,
                    const char *status)
{
    struct history_event e = about(h, l, l->client, HISTORY_END);

    e.call = l->call;
    e.status = history_text(status);
    if (*status == 'O' && strcmp(l->kind, "fenced") == 0)
        e.token = atoll(l->second);
    put(out_of(h, l), &e);
}

static void take_miss(struct soak_history *h, const struct line *l)
{
    h->counts.misses++;
    if (pool_of(h, l))
        drop_wish(pool_of(h, l), l->client, l->call);
    else
        put_end(h, l, "HF_TIMEOUT");
}

static void put_safe(struct soak_history *h, const struct line *l, int64_t until)
{
    struct history_event e = about(h, l, l->client, HISTORY_SAFE);

    e.until_us = until;
    put(out_of(h, l), &e);
}

/* The server has granted this: so who has begun to release has done so. */
static void free_the_leaving(struct soak_history *h, const struct line *l)
{
    bool is_read = strcmp(l->kind, "read") == 0;

    for (int i = h->count - 1; i >= 0; i--) {
        struct entry *e = &h->entries[i];

        if (e->is_leaving && strcmp(e->line.name, l->name) == 0 &&
            !(is_read && strcmp(e->line.kind, "read") == 0))
            put_freed(h, e, HISTORY_WHY_RELEASED);
    }
}

static void count_grant(struct soak_history *h, const struct line *l)
{
    bool is_java = SOAK_IS_JAVA(l->client);

    h->counts.grants++;
    h->counts.handed_over +=
        h->last_client && SOAK_IS_JAVA(h->last_client) != is_java;
    h->last_client = l->client;
    for (int i = 0; i < SOAK_THINGS_COUNT; i++)
        if (strcmp(soak_things[i].kind, l->kind) == 0 &&
            strcmp(soak_things[i].name, l->name) == 0)
            h->counts.of_kind[is_java][i]++;
}

/* Of permits, the server's own sum is right at every moment. Whoever has not said yet
 * that it is inside is in none of the sums of a semaphore. */
static void enter_pool(struct soak_history *h, struct pool *pool,
                       const struct line *l)
{
    bool is_permit = pool == &h->pools[0];
    struct entry *entry = add(h, l);

    drop_wish(pool, l->client, l->call);
    pool->inside++;
    count_grant(h, l);
    if (pool->inside + l->others > pool->all)
        complain(h, l, "more are inside than there are permits");
    if (is_permit && l->mine + l->others != pool->all)
        complain(h, l, "permits are made or lost");
    if (l->first > 0)
        entry->until_us = l->us + l->first * MS;
    if (l->first == SOAK_SHORT_MS) /* it will not say when it leaves */
        drop(h, entry);
}

static bool is_late(const struct line *l)
{
    return l->first > 0 && l->mine == 0;
}

/* A read hold that ended by itself leaves its count while other readers stay, and the
 * next one of Redisson's adds to it. WIRE 12.7. */
static bool is_held_once(const struct line *l)
{
    return strcmp(l->kind, "read") ? l->mine == 1 : l->mine >= 1;
}

static void take_enter(struct soak_history *h, const struct line *l)
{
    struct entry *entry;

    if (pool_of(h, l)) {
        enter_pool(h, pool_of(h, l), l);
        return;
    }
    if (is_late(l)) { /* its lease has ended before it could say so */
        put_end(h, l, "HF_TIMEOUT");
        return;
    }
    if (!is_held_once(l) || l->others != 0)
        complain(h, l, "is inside, but the server has others, or not this one");
    free_the_leaving(h, l);
    entry = add(h, l);
    if (l->first > 0)
        entry->until_us = end_of(l);
    count_grant(h, l);
    put_held(h, entry);
    put_end(h, l, "OK");
    put_safe(h, l, entry->until_us);
}

static void take_leave(struct soak_history *h, const struct line *l)
{
    struct entry *entry = entry_of(h, l);

    if (pool_of(h, l)) {
        if (entry)
            drop(h, entry);
        return;
    }
    if (!entry || l->mine == 0) {
        if (l->first == 0)
            complain(h, l, "was inside, but the server has not its hold");
        return;
    }
    if (l->others != 0)
        complain(h, l, "was inside, and the server has others");
    entry->is_leaving = true;
    put_safe(h, l, 0);
}

static void take_left(struct soak_history *h, const struct line *l)
{
    struct entry *entry = entry_of(h, l);

    if (entry)
        put_freed(h, entry, HISTORY_WHY_RELEASED);
}

static void take_gone(struct soak_history *h, const struct line *l)
{
    struct entry *entry = entry_of(h, l);

    h->counts.lost++;
    if (entry && entry->until_us == HISTORY_NEVER)
        complain(h, l, "has lost what it held");
    else if (entry)
        put_freed(h, entry, HISTORY_WHY_EXPIRED);
}

/* ---- the dead ---- */

static void put_to_all(struct soak_history *h, struct history_event e)
{
    put(&h->plain, &e);
    put(&h->fair, &e);
    put(&h->rw, &e);
}

static void take_died(struct soak_history *h, const struct line *l)
{
    put_to_all(h, history_event(h->now_us, 'c', l->client, HISTORY_DIED));
    for (int i = 0; i < 2; i++)
        drop_wish(&h->pools[i], l->client, 0);
    for (int i = 0; i < h->count; i++)
        h->entries[i].is_dead |= h->entries[i].line.client == l->client;
}

static void take_rest(struct soak_history *h, const struct line *l)
{
    struct entry *entry = entry_of(h, l);

    if (!entry) { /* it died before it could say that it is inside */
        free_the_leaving(h, l);
        entry = add(h, l);
        (void)snprintf(entry->line.owner, FIELD_ROOM, "%s", l->field);
        entry->is_dead = true;
    }
    entry->is_there_yet = true;
    entry->until_us = end_of(l);
    put_held(h, entry);
}

/* What the server has not any more had been released, or had ended. */
static void take_buried(struct soak_history *h, const struct line *l)
{
    for (int i = h->count - 1; i >= 0; i--) {
        struct entry *e = &h->entries[i];

        if (e->line.client != l->client || e->is_there_yet)
            continue;
        if (pool_of(h, &e->line)) {
            drop(h, e);
            continue;
        }
        if (!e->is_leaving)
            complain(h, &e->line, "was inside, died, and the server has it not");
        put_freed(h, e, HISTORY_WHY_RELEASED);
    }
}

/* ---- all ---- */

/* There was a permit, and somebody waited. */
static void watch_pools(struct soak_history *h, const struct line *l)
{
    for (int i = 0; i < 2; i++) {
        struct pool *p = &h->pools[i];
        int64_t us;

        if (p->waiting <= 0 || p->inside >= p->all || pool_of(h, l) == p)
            p->since_us = 0;
        else if (p->since_us == 0)
            p->since_us = h->now_us;
        us = p->since_us ? h->now_us - p->since_us : 0;
        if (us > h->counts.longest_pool_us)
            h->counts.longest_pool_us = us;
        if (us > (int64_t)POOL_WAKE_MS * MS) {
            complain(h, l, i ? "a semaphore's waiter waits for nothing"
                             : "a permit's waiter waits for nothing");
            p->since_us = 0;
        }
    }
}

static void (*const takes[])(struct soak_history *, const struct line *) = {
    take_ask,  take_miss, take_enter, take_leave, take_left,
    take_gone, take_died, take_rest,  take_buried,
};
static const char *const events[] = {"ask",  "miss", "enter", "leave", "left",
                                     "gone", "died", "rest",  "buried"};

void soak_history_line(struct soak_history *h, const char *text)
{
    struct line l;
    int n = sscanf(text,
                   "%" SCNd64 " %11s %u %" SCNd64 " %15s %15s %95s %" SCNd64
                   " %23s %" SCNd64 " %" SCNd64 " %" SCNd64 " %95s",
                   &l.us, l.event, &l.client, &l.call, l.kind, l.name, l.owner,
                   &l.first, l.second, &l.pttl_ms, &l.mine, &l.others, l.field);

    ck_assert_msg(n == 13, "%d words: %s", n, text);
    h->counts.lines++;
    expire(h, l.us);
    if (l.us > h->now_us)
        h->now_us = l.us;
    put_readers(h, h->now_us - AT_ONCE_US, &l);
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++)
        if (strcmp(events[i], l.event) == 0)
            takes[i](h, &l);
    watch_pools(h, &l);
}

static unsigned long close_out(struct out *out, int64_t *longest_us)
{
    const struct judge_violation *v;
    struct judge_stats stats;
    unsigned long n;

    judge_end(out->judge);
    judge_stats(out->judge, &stats);
    *longest_us = stats.longest_wait_us;
    n = judge_count(out->judge);
    for (size_t i = 0; i < SHOWN_MAX && (v = judge_violation(out->judge, i)); i++)
        (void)printf("soak: P%d: %s\n", v->property, v->text);
    judge_free(out->judge);
    (void)fclose(out->file);
    return n;
}

unsigned long soak_history_end(struct soak_history *h, struct soak_counts *out)
{
    unsigned long wrong;

    put_readers(h, h->now_us, NULL);
    wrong = close_out(&h->plain, &h->counts.longest_us);
    wrong += close_out(&h->fair, &h->counts.longest_fair_us);
    wrong += close_out(&h->rw, &h->counts.longest_rw_us);
    wrong += h->wrong;
    *out = h->counts;
    free(h);
    return wrong;
}
