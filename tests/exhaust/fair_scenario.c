/* Runs one scenario of a fair lock: fair_scenario.h. */
#include "tests/exhaust/fair_scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/script/scripts.h"
#include "net/base/moment.h"
#include "tests/sim/model/model.h"
#include "tests/support/must.h"
#include "tests/support/redisson_fair.h"

#define NAME "order:42"
#define QUEUE "redisson_lock_queue:{" NAME "}"
#define PLACES "redisson_lock_timeout:{" NAME "}"
#define CHANNEL "redisson_lock__channel:{" NAME "}"
#define START_MS INT64_C(1795214330870)
#define WATCHDOG_MS INT64_C(30000)
#define DEFAULT_WAIT_MS INT64_C(300000)
#define LONG_WAIT_MS INT64_C(7200000)
#define NEVER INT64_MAX
#define WAKE_MS 2             /* a message on its way */
#define SPIN_MS 100           /* Redisson's own clients do not pause at all */

enum state { ABSENT, WAITS, HOLDS, GONE };

struct client {
    const struct scenario_waiter *is;
    enum state state;
    char field[64];
    int64_t next_ms;          /* its next script; NEVER: none */
    int64_t came_ms;          /* it entered the queue */
    int64_t sent_ms;          /* its last acquire */
    int64_t ends_ms;          /* its wait; NEVER */
    int64_t leaves_ms, dies_ms;
    int requests;
};

static struct model *m;
static struct model_client *connection;
static char reply[4096];
static size_t reply_n;
static int64_t now_ms;
static struct client clients[SCENARIO_WAITERS_MAX + 1]; /* the last one: the holder */
static int count;
static int64_t free_since_ms, free_ms;
static char sha[3][41];

/* ---- the server ---- */

static void on_write(void *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    must(reply_n + len < sizeof reply);
    memcpy(reply + reply_n, bytes, len);
    reply_n += len;
    reply[reply_n] = '\0';
}

static void on_close(void *ctx)
{
    (void)ctx;
    must(false);
}

/* CHANNEL:FIELD */
static void on_publish(void *ctx, struct model *of, const char *channel, size_t len,
                       const char *payload, size_t payload_len, int receivers)
{
    (void)ctx, (void)of, (void)payload, (void)payload_len, (void)receivers;
    for (int i = 0; i < count; i++) {
        struct client *c = &clients[i];
        size_t n = strlen(c->field);

        if (c->state == WAITS && len > n &&
            memcmp(channel + len - n, c->field, n) == 0 &&
            c->next_ms > now_ms + WAKE_MS)
            c->next_ms = now_ms + WAKE_MS;
    }
}

static void ask(int argc, const char *const *argv)
{
    static char request[16384];
    int n = snprintf(request, sizeof request, "*%d\r\n", argc);

    for (int i = 0; i < argc; i++)
        n += snprintf(request + n, sizeof request - (size_t)n, "$%zu\r\n%s\r\n",
                      strlen(argv[i]), argv[i]);
    must((size_t)n < sizeof request);
    reply_n = 0;
    model_set_time(m, now_ms * 1000);
    model_feed(connection, request, (size_t)n);
    must(reply_n > 0 && *reply != '-');
}

#define ASK(...) \
    ask((int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
        (const char *[]){__VA_ARGS__})

static void load(char into[41], const char *text)
{
    ASK("SCRIPT", "LOAD", text);
    memcpy(into, strchr(reply, '\n') + 1, 40);
    into[40] = '\0';
}

static void start_server(void)
{
    static const struct model_observer observer = {.on_publish = on_publish};

    m = model_new(&(struct model_options){.version = MODEL_REDIS_7_0});
    model_set_time(m, now_ms * 1000);
    connection = model_accept(m, on_write, on_close, NULL);
    model_observe(m, &observer);
    load(sha[0], REDISSON_FAIR_ACQUIRE);
    load(sha[1], REDISSON_FAIR_LEAVE);
    load(sha[2], REDISSON_FAIR_UNLOCK);
    ASK("SCRIPT", "LOAD", hf_script_fair_acquire.text);
    ASK("SCRIPT", "LOAD", hf_script_fair_release.text);
}

/* ---- scripts ---- */

static const char *text_of(int64_t value)
{
    static char texts[16][24];
    static int next;
    char *text = texts[next++ % 16];

    (void)snprintf(text, sizeof texts[0], "%lld", (long long)value);
    return text;
}

static int64_t wait_of(const struct client *c)
{
    if (c->is->fate == TIMES_OUT)
        return SCENARIO_SHORT_MS;
    if (c->is->is_ours)
        return NEVER;
    return c->is->fate == WAITS_LONG ? LONG_WAIT_MS : DEFAULT_WAIT_MS;
}

/* lock/verb/acquire.c, lock/record/args.c */
static int64_t place_of(const struct client *c)
{
    int64_t wait_ms = wait_of(c);

    if (wait_ms == NEVER || wait_ms + WATCHDOG_MS / 3 > WATCHDOG_MS)
        return WATCHDOG_MS;
    return wait_ms + WATCHDOG_MS / 3;
}

static int64_t floor_of(int64_t place_ms)
{
    return place_ms * 3 / 4 > WATCHDOG_MS / 2 ? place_ms * 3 / 4
                                               : WATCHDOG_MS / 2;
}

/* True: granted; otherwise *ttl_ms is for how long to wait. */
static bool acquire_ours(struct client *c, int64_t *ttl_ms)
{
    int64_t place_ms = place_of(c);
    const char *argv[] = {
        "EVALSHA", hf_script_fair_acquire.sha, "3", NAME, QUEUE, PLACES, c->field,
        "1", text_of(WATCHDOG_MS), text_of(place_ms), text_of(floor_of(place_ms)),
        text_of(now_ms - c->sent_ms), "PUBLISH", CHANNEL};
    const char *at;

    ask(c->requests > 0 ? 14 : 11, argv);
    at = strstr(reply, "\r\n:");
    must(at);
    if (atoll(at + 3) == 1)
        return true;
    *ttl_ms = atoll(strstr(at + 3, "\r\n:") + 3);
    return false;
}

static bool acquire_theirs(struct client *c, int64_t *ttl_ms)
{
    ASK("EVALSHA", sha[0], "3", NAME, QUEUE, PLACES, text_of(WATCHDOG_MS), c->field,
        text_of(wait_of(c)), text_of(now_ms));
    if (reply[0] != ':')
        return true;
    *ttl_ms = atoll(reply + 1);
    return false;
}

static void release(struct client *c)
{
    int64_t place_ms = c->state == WAITS ? place_of(c) : 0;

    if (c->is->is_ours)
        ASK("EVALSHA", hf_script_fair_release.sha, "3", NAME, QUEUE, PLACES,
            c->field, "0", text_of(WATCHDOG_MS), text_of(place_ms),
            text_of(floor_of(place_ms)), "PUBLISH", CHANNEL);
    else if (c->state == WAITS)
        ASK("EVALSHA", sha[1], "2", QUEUE, PLACES, c->field, text_of(wait_of(c)));
    else
        ASK("EVALSHA", sha[2], "5", NAME, QUEUE, PLACES, CHANNEL, text_of(now_ms),
            "0", text_of(WATCHDOG_MS), c->field, text_of(now_ms), "PUBLISH", "1");
}

/* ---- clients ---- */

static void granted(struct client *c, const struct scenario *s)
{
    c->state = HOLDS;
    c->ends_ms = now_ms + s->next_hold_ms;
    c->next_ms = hf_min_ms(c->ends_ms, now_ms + WATCHDOG_MS / 3);
    c->dies_ms = c->leaves_ms = NEVER;
}

static void go_away(struct client *c)
{
    c->state = GONE;
    c->next_ms = c->leaves_ms = c->dies_ms = c->ends_ms = NEVER;
}

static void put_far_place(struct client *c)
{
    ASK("RPUSH", QUEUE, c->field);
    ASK("ZADD", PLACES, "+inf", c->field);
    go_away(c);
}

static void try_it(struct client *c, const struct scenario *s)
{
    int64_t ttl_ms;

    if (c->is->fate == IS_FAR) {
        put_far_place(c);
        return;
    }

    if (c->state == ABSENT) {
        c->state = WAITS;
        c->came_ms = now_ms;
        if (wait_of(c) != NEVER && wait_of(c) != DEFAULT_WAIT_MS)
            c->ends_ms = now_ms + wait_of(c);
    }
    if ((c->is->is_ours ? acquire_ours : acquire_theirs)(c, &ttl_ms)) {
        granted(c, s);
        return;
    }
    if (c->is->is_ours && (ttl_ms < 0 || ttl_ms > WATCHDOG_MS / 3))
        ttl_ms = WATCHDOG_MS / 3;
    if (!c->is->is_ours && ttl_ms < SPIN_MS)
        ttl_ms = SPIN_MS;
    c->sent_ms = now_ms;
    c->next_ms = c->requests++ == 0 ? now_ms + 1 : now_ms + ttl_ms + 1;
}

static void step(struct client *c, const struct scenario *s)
{
    if (c->dies_ms <= now_ms) {
        go_away(c);
    } else if (c->state == WAITS && (c->leaves_ms <= now_ms || c->ends_ms <= now_ms)) {
        release(c);
        go_away(c);
    } else if (c->state == HOLDS && c->ends_ms <= now_ms) {
        release(c);
        go_away(c);
    } else if (c->state == HOLDS) {
        ASK("PEXPIRE", NAME, text_of(WATCHDOG_MS));
        c->next_ms = hf_min_ms(c->ends_ms, now_ms + WATCHDOG_MS / 3);
    } else if (c->state != GONE) {
        try_it(c, s);
    }
}

static int64_t due(const struct client *c)
{
    int64_t at_ms = hf_min_ms(c->next_ms, c->dies_ms);

    return c->state == WAITS ? hf_min_ms(at_ms, hf_min_ms(c->leaves_ms, c->ends_ms)) : at_ms;
}

/* ---- what must hold ---- */

static bool fail(const struct client *c, const char *what)
{
    (void)printf("after %lld ms, waiter %d %s\n", (long long)(now_ms - START_MS),
                 (int)(c - clients) + 1, what);
    return false;
}

static struct client *client_of(struct model_text who)
{
    for (int i = 0; i <= count; i++)
        if (strlen(clients[i].field) == who.n &&
            memcmp(clients[i].field, who.p, who.n) == 0)
            return &clients[i];
    return NULL;
}

static bool some_of_ours_wait(const struct client *but)
{
    for (int i = 0; i < count; i++)
        if (&clients[i] != but && clients[i].state == WAITS && clients[i].is->is_ours)
            return true;
    return false;
}

static bool lost_place(struct client *c, const char *what)
{
    if (c->is->is_ours || some_of_ours_wait(c))
        return fail(c, what);
    c->came_ms = now_ms;
    return true;
}

static bool check_queue(void)
{
    bool is_there[SCENARIO_WAITERS_MAX + 1] = {false};
    struct client *before = NULL;
    struct model_text none, who;

    for (size_t i = 0; model_at(m, 0, QUEUE, strlen(QUEUE), i, &none, &who); i++) {
        struct client *c = client_of(who);

        if (!c || c->state != WAITS)
            continue;
        is_there[c - clients] = true;
        if (before && c->came_ms < before->came_ms &&
            !lost_place(c, "is behind one that came later"))
            return false;
        before = c;
    }
    for (int i = 0; i < count; i++)
        if (clients[i].state == WAITS && !is_there[i] &&
            !lost_place(&clients[i], "has lost its place"))
            return false;
    return true;
}

static bool check_grant(const struct client *c)
{
    for (int i = 0; i < count; i++)
        if (clients[i].state == WAITS && clients[i].came_ms < c->came_ms)
            return fail(c, "was granted before one that came earlier");
    return true;
}

/* Is the lock free, while a live waiter waits? */
static void watch_free(void)
{
    struct model_key key;
    bool is_free = !model_look(m, 0, NAME, strlen(NAME), &key) || key.is_expired;
    bool waits = false;

    for (int i = 0; i < count; i++)
        waits = waits || clients[i].state == WAITS;
    if (!is_free || !waits) {
        free_since_ms = NEVER;
        return;
    }
    if (free_since_ms == NEVER)
        free_since_ms = now_ms;
    if (now_ms - free_since_ms > free_ms)
        free_ms = now_ms - free_since_ms;
}

int64_t scenario_free_ms(void)
{
    return free_ms;
}

/* ---- a scenario ---- */

/* As in fair_places.lua: the fraction of a place of holdfast. */
static unsigned mark(const char *who)
{
    unsigned sum = 0;

    for (const char *at = who + strlen(who) - 10; *at; at++)
        sum = (sum * 31 + (unsigned char)*at) % 1021;
    return sum;
}

/* A number of holdfast is negative or chosen by its user, a number of Redisson is small.
 * If the waiter before it is of holdfast, the place of a waiter of Redisson has that one's
 * fraction, and its name has the same mark: the worst case. */
static void name_it(struct client *c, int i)
{
    if (c->is->is_ours) {
        (void)snprintf(c->field, sizeof c->field,
                       "01234567-89ab-4def-8123-456789abcdef:%s%d00000000%d",
                       i % 2 ? "-" : "", i + 1, i);
        return;
    }
    for (int number = 10 + i; number < 100000; number += 10) {
        (void)snprintf(c->field, sizeof c->field,
                       "6e3814a1-e847-452b-a982-45baf93a1df2:%d", number);
        if (i == 0 || !c[-1].is->is_ours || mark(c->field) == mark(c[-1].field))
            return;
    }
    must(false);
}

static void add(const struct scenario *s, int i, const struct scenario_waiter *is)
{
    struct client *c = &clients[i];
    int64_t half_ms = START_MS + s->hold_ms / 2, late_ms = START_MS + s->hold_ms + 3000;
    bool is_late = is->fate == CANCELS_LATE || is->fate == DIES_LATE;

    *c = (struct client){.is = is, .ends_ms = NEVER, .leaves_ms = NEVER,
                         .dies_ms = NEVER};
    name_it(c, i);
    c->next_ms = START_MS + s->spacing_ms * (i + 1);
    if (is->fate == CANCELS || is->fate == CANCELS_LATE)
        c->leaves_ms = is_late ? late_ms : half_ms;
    if (is->fate == DIES || is->fate == DIES_LATE)
        c->dies_ms = is_late ? late_ms : half_ms;
}

static void begin(const struct scenario *s)
{
    static struct scenario_waiter holder;
    struct client *c = &clients[s->count];

    now_ms = START_MS;
    count = s->count;
    start_server();
    holder = (struct scenario_waiter){.is_ours = s->holder_is_ours};
    for (int i = 0; i < count; i++)
        add(s, i, &s->waiters[i]);
    add(s, count, &holder);
    try_it(c, s);
    must(c->state == HOLDS);
    c->ends_ms = START_MS + s->hold_ms;
    if (s->holder_dies)
        c->dies_ms = c->ends_ms;
    c->next_ms = hf_min_ms(c->ends_ms, c->next_ms);
    free_since_ms = NEVER;
    free_ms = 0;
}

static struct client *next_one(void)
{
    struct client *next = &clients[0];

    for (int i = 1; i <= count; i++)
        if (due(&clients[i]) < due(next))
            next = &clients[i];
    return due(next) == NEVER ? NULL : next;
}

static bool go_on(const struct scenario *s)
{
    struct client *c = next_one();
    bool was_waiting = c->state != HOLDS;

    now_ms = due(c) > now_ms ? due(c) : now_ms;
    step(c, s);
    watch_free();
    return !(was_waiting && c->state == HOLDS && !check_grant(c)) && check_queue();
}

bool scenario_run(const struct scenario *s)
{
    bool holds = true;

    begin(s);
    while (holds && next_one()) {
        holds = go_on(s);
        if (holds && now_ms > START_MS + s->hold_ms + 4 * LONG_WAIT_MS)
            holds = fail(next_one(), "waits for hours");
    }
    model_free(m);
    return holds;
}

void scenario_print(const struct scenario *s)
{
    static const char *const fates[SCENARIO_FATES] = {
        "", " cancels", " dies", " cancels late", " dies late", " times out",
        " waits long",
        " is an infinite place"};

    (void)printf("%s holds for %lld s%s (the next for %lld ms), each %lld s:",
                 s->holder_is_ours ? "C" : "J", (long long)s->hold_ms / 1000,
                 s->holder_dies ? " and dies" : "", (long long)s->next_hold_ms,
                 (long long)s->spacing_ms / 1000);
    for (int i = 0; i < s->count; i++)
        (void)printf(" %c%d%s%s", s->waiters[i].is_ours ? 'C' : 'J', i + 1,
                     fates[s->waiters[i].fate], i + 1 < s->count ? "," : "\n");
}
