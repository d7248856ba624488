/* The rules of turns and crowds, TURN-1 and TURN-2, in a small world: processes that all
 * want one lock, a server between them, and a wire that takes its time. Its clock
 * is turned by hand, so that a test says what the rules do, and nothing of the
 * machine that it runs on. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "lock/machine/wait.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

#define NEVER INT64_MAX
#define PROCESSES_MAX 1000
#define QUEUE_MAX 64
#define GRANTS_MAX 60000
#define TTL 30000

/* ---- what is on the wire ---- */

struct queue {
    int64_t at_us[QUEUE_MAX];   /* in no order */
    int count;
};

static void put(struct queue *q, int64_t at_us)
{
    ck_assert_int_lt(q->count, QUEUE_MAX);
    q->at_us[q->count++] = at_us;
}

static bool comes(struct queue *q, int64_t now_us)
{
    for (int i = 0; i < q->count; i++) {
        if (q->at_us[i] > now_us)
            continue;
        q->at_us[i] = q->at_us[--q->count];
        return true;
    }
    return false;
}

/* ---- processes ---- */

enum make { NONE, OURS, REDISSON };

struct process {
    enum make make;
    int64_t wire_us;            /* to the server, and back */
    bool leaves;                /* once it had the lock */
    bool has_left;
    struct hf_wait w;
    struct hf_channel channel;
    struct queue questions, grants, refusals, messages, counts, confirmed;
    struct queue answers;       /* to its release */
    int64_t heard;
    int64_t done_us;            /* with what the lock is for */
    int64_t last_us;
    int64_t longest_us;         /* between two grants */
    int got;
};

struct world {
    struct process all[PROCESSES_MAX];
    int count;
    int64_t now_us, tick_us, hold_us;
    int64_t released_us;        /* the release is at the server then */
    int holder;                 /* -1: it is free */
    int64_t asked, released;
    int64_t gaps_us[GRANTS_MAX];
    int granted;
};

static struct world g;

static int64_t now_ms(void)
{
    return g.now_us / 1000;
}

static void obey(struct process *p, enum hf_wait_todo todo)
{
    if (todo == DO_REQUEST)
        put(&p->questions, g.now_us + p->wire_us);
    if (todo == DO_SUBSCRIBE && p->confirmed.count == 0)
        put(&p->confirmed, g.now_us + 2 * p->wire_us);
}

static void tell(struct process *p, enum hf_wait_event event)
{
    if (!p->has_left)
        obey(p, hf_wait_step(&p->w, event, now_ms(), &p->channel, TTL, TTL));
}

/* A permit of Redisson's wakes a thread, which asks. */
static void redisson_asks(struct process *p)
{
    put(&p->questions, g.now_us + 300 + (int64_t)dice(400) + p->wire_us);
}

static void begin(struct process *p)
{
    p->channel.random_state = (uint32_t)dice(UINT32_MAX) + 1;
    hf_wait_init(&p->w, NEVER);
    if (p->make == OURS)
        tell(p, EVENT_DUE);
    else
        redisson_asks(p);
}

static void is_granted(struct process *p)
{
    int64_t gap_us = g.now_us - p->last_us;

    p->last_us = g.now_us;
    p->longest_us = gap_us > p->longest_us ? gap_us : p->longest_us;
    if (g.granted < GRANTS_MAX)
        g.gaps_us[g.granted++] = gap_us;
    p->got++;
    p->done_us = g.now_us + g.hold_us;
    p->has_left = p->leaves;
    hf_wait_init(&p->w, NEVER);
    if (p->make == OURS)
        tell(p, EVENT_DUE); /* the next one in its line */
}

static void releases(struct process *p)
{
    p->done_us = NEVER;
    hf_channel_own_release_begins(&p->channel);
    g.released_us = g.now_us + p->wire_us;
}

static void is_released(struct process *p)
{
    hf_channel_own_release_ended(&p->channel, now_ms(), p->heard, p->channel.is_live);
    if (p->make == OURS)
        tell(p, EVENT_DUE);
    else if (!p->has_left && dice(2))
        redisson_asks(p); /* the thread that released wants it again */
}

static void hears(struct process *p)
{
    if (p->make == REDISSON)
        redisson_asks(p);
    else if (hf_channel_notified(&p->channel, now_ms(), "0", 1))
        tell(p, EVENT_WOKEN);
}

static void is_counted(struct process *p)
{
    char text[16];
    int len = snprintf(text, sizeof text, "%d", (int)p->heard);

    if (p->make == OURS)
        (void)hf_channel_notified(&p->channel, now_ms(), text, (size_t)len);
}

static void act(struct process *p)
{
    while (comes(&p->confirmed, g.now_us)) {
        p->channel.is_live = true;
        p->channel.wake_events++;
        tell(p, EVENT_SUBSCRIBED);
    }
    while (comes(&p->messages, g.now_us))
        hears(p);
    while (comes(&p->counts, g.now_us))
        is_counted(p);
    while (comes(&p->answers, g.now_us))
        is_released(p);
    while (comes(&p->grants, g.now_us))
        is_granted(p);
    while (comes(&p->refusals, g.now_us))
        if (p->make == OURS)
            tell(p, EVENT_REFUSED);
    if (p->make == OURS && !p->has_left && p->w.due_ms <= now_ms())
        tell(p, EVENT_DUE);
    if (g.now_us >= p->done_us)
        releases(p);
}

/* ---- the server ---- */

static bool listens(const struct process *p)
{
    return !p->has_left && (p->make == REDISSON || p->channel.is_live);
}

static void publish(struct process *releaser)
{
    int64_t heard = 0;

    for (int i = 0; i < g.count; i++)
        heard += listens(&g.all[i]);
    for (int i = 0; i < g.count; i++) {
        struct process *p = &g.all[i];

        if (!listens(p))
            continue;
        put(&p->messages, g.now_us + p->wire_us);
        p->heard = heard;
        if (heard > FEW_LISTENERS_MAX)
            put(&p->counts, g.now_us + p->wire_us);
    }
    releaser->heard = heard;
    put(&releaser->answers, g.now_us + releaser->wire_us);
}

static void answer(struct process *p, int number)
{
    bool is_free = g.holder < 0 && !p->has_left;

    g.asked++;
    if (is_free)
        g.holder = number;
    put(is_free ? &p->grants : &p->refusals, g.now_us + p->wire_us);
}

/* Questions first: one that was sent before a release is answered before it. */
static void serve(void)
{
    for (int i = 0; i < g.count; i++)
        while (comes(&g.all[i].questions, g.now_us))
            answer(&g.all[i], i);
    if (g.now_us < g.released_us)
        return;
    g.released_us = NEVER;
    g.released++;
    publish(&g.all[g.holder]);
    g.holder = -1;
}

static void turn(void)
{
    g.now_us += g.tick_us;
    serve();
    for (int i = 0; i < g.count; i++)
        act(&g.all[i]);
}

static void create(int64_t tick_us, int64_t hold_us)
{
    g = (struct world){.tick_us = tick_us, .hold_us = hold_us,
                       .now_us = 1000000, .released_us = NEVER, .holder = -1};
    dice_seed = DICE_SEED;
}

static void add(enum make make, int64_t wire_us)
{
    struct process *p = &g.all[g.count++];

    p->make = make;
    p->wire_us = wire_us;
    p->last_us = g.now_us;
    p->done_us = NEVER;
}

/* ---- shares ---- */

struct member {
    enum make make;
    int64_t wire_us;
};

static const struct {
    const char *who;
    struct member members[4];
} companies[] = {
    {"two of ours", {{OURS, 100}, {OURS, 100}}},
    {"one is near, one far", {{OURS, 50}, {OURS, 500}}},
    {"ours and Redisson", {{OURS, 100}, {REDISSON, 100}}},
    {"three, the last a little farther",
     {{OURS, 100}, {OURS, 100}, {OURS, 150}}},
    {"two of ours and Redisson", {{OURS, 100}, {OURS, 100}, {REDISSON, 100}}},
    {"ours and two Redissons", {{OURS, 100}, {REDISSON, 100}, {REDISSON, 100}}},
    {"four", {{OURS, 50}, {OURS, 100}, {OURS, 150}, {OURS, 200}}},
};

static const int64_t holds_us[] = {0, 1000, 2500, 20000};

/* A thread of Redisson's that releases and acquires again at once is quicker than
 * any message: its holds of no time cannot be shared evenly. */
static bool can_be_fair(int company, int64_t hold_us)
{
    bool has_redisson = false;

    for (int i = 0; i < 4; i++)
        has_redisson |= companies[company].members[i].make == REDISSON;
    return !has_redisson || hold_us > 0;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t median_gap_us(void)
{
    qsort(g.gaps_us, (size_t)g.granted, sizeof *g.gaps_us, by_value);
    return g.gaps_us[g.granted / 2];
}

static void ck_assert_fair(const char *who)
{
    int64_t usual_us = median_gap_us();
    int64_t most_us = 20 * (usual_us > 1000 ? usual_us : 1000);
    int least = g.count == 2 ? 8 : 7; /* tenths of an equal share */
    int all = 0;

    for (int i = 0; i < g.count; i++)
        all += g.all[i].got;
    for (int i = 0; i < g.count; i++) {
        ck_assert_msg(g.all[i].got * g.count * 10 >= all * least,
                      "%s, %lld us: process %d had %d of %d", who,
                      (long long)g.hold_us, i, g.all[i].got, all);
        ck_assert_msg(g.all[i].longest_us <= most_us,
                      "%s, %lld us: process %d waited %lld us", who,
                      (long long)g.hold_us, i, (long long)g.all[i].longest_us);
    }
}

/* 40 : 60 between two. */
START_TEST(turn_1_processes_of_any_make_have_equal_shares)
{
    for (int h = 0; h < COUNT(holds_us); h++) {
        if (!can_be_fair(_i, holds_us[h]))
            continue;
        create(10, holds_us[h]);
        for (int i = 0; i < 4 && companies[_i].members[i].make; i++)
            add(companies[_i].members[i].make,
                companies[_i].members[i].wire_us);
        for (int i = 0; i < g.count; i++)
            begin(&g.all[i]);
        while (g.now_us < 6000000)
            turn();
        ck_assert_fair(companies[_i].who);
    }
}
END_TEST

START_TEST(turn_1_a_lone_client_does_not_give_way)
{
    int64_t round_us = 1000 + 4 * 100; /* held; release and acquire */

    create(10, 1000);
    add(OURS, 100);
    begin(&g.all[0]);
    while (g.now_us < 3000000)
        turn();
    ck_assert_int_ge(g.all[0].got, 2000000 / round_us * 95 / 100);
}
END_TEST

/* ---- a crowd ---- */

static bool all_listen(void)
{
    for (int i = 0; i < g.count; i++)
        if (!g.all[i].channel.is_live)
            return false;
    return true;
}

/* Each takes it once and leaves. Another holds it until all listen. */
static void drain(int count, int64_t hold_us)
{
    create(500, hold_us);
    add(REDISSON, 0);
    g.all[0].leaves = true;
    g.holder = 0;
    for (int i = 0; i < count; i++) {
        add(OURS, 500);
        g.all[g.count - 1].leaves = true;
        begin(&g.all[g.count - 1]);
    }
    g.all[0].channel.is_live = true;
    while (!all_listen())
        turn();
    for (int i = 0; i < 20; i++)
        turn(); /* they ask behind it, and sleep */
    g.asked = 0;
    g.all[0].has_left = true;
    g.all[0].done_us = g.all[0].last_us = g.now_us;
    while (g.released <= count)
        turn();
}

static const struct {
    int count;
    int64_t hold_us;
    int most;           /* questions a release */
    int64_t idle_us;    /* between two holds, the wire's 2 ms among it */
} crowds[] = {
    {4, 1000, 5, 3000},     {FEW_LISTENERS_MAX, 1000, FEW_LISTENERS_MAX, 3000},
    {100, 0, 20, 5000},     {100, 10000, 40, 5000},
    {999, 0, 20, 5000},     {999, 10000, 40, 5000},
};

START_TEST(turn_2_a_crowd_sends_few_requests_and_leaves_the_lock_free_for_a_moment_only)
{
    int64_t began_us, spent_us;

    drain(crowds[_i].count, crowds[_i].hold_us);
    began_us = g.all[0].last_us;
    spent_us = (g.now_us - began_us) / crowds[_i].count - crowds[_i].hold_us;
    ck_assert_msg(g.asked <= (int64_t)crowds[_i].most * crowds[_i].count,
                  "%d: %lld questions a release", crowds[_i].count,
                  (long long)g.asked / crowds[_i].count);
    ck_assert_msg(spent_us <= crowds[_i].idle_us, "%d: %lld us a release",
                  crowds[_i].count, (long long)spent_us);
}
END_TEST

/* ---- */

int main(void)
{
    Suite *s = suite_create("lock/share");
    TCase *c = tcase_create("share");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, turn_1_processes_of_any_make_have_equal_shares, 0,
                        COUNT(companies));
    tcase_add_test(c, turn_1_a_lone_client_does_not_give_way);
    tcase_add_loop_test(
        c, turn_2_a_crowd_sends_few_requests_and_leaves_the_lock_free_for_a_moment_only, 0,
        COUNT(crowds));
    suite_add_tcase(s, c);
    return suite_run(s);
}
