/* Many callers on one link: every answer equals its question, whatever the
 * network does (RESP-CONFORMANCE, V1 to V7), and callers share writes. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/dice.h"
#include "tests/support/link_kit.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/suite.h"

#define ASKERS 64
#define CHAOS_MS 3000
#define CHAOS_SEED 20261121u

struct asker {
    pthread_t thread;
    unsigned me;
    uint64_t seed;
    unsigned answered, unsent, unknown, cancelled;
};

static bool is_calm;                  /* under the lock */
static pthread_barrier_t calm;

static void count_answer(struct asker *me, const char *text,
                         const char *expected)
{
    if (strcmp(text, "(unsent)") == 0)
        me->unsent++;
    else if (strcmp(text, "(unknown)") == 0)
        me->unknown++;
    else if (strcmp(text, expected) == 0)
        me->answered++;
    else
        ck_abort_msg("asked for %s, got %s", expected, text);
}

/* Cancels it after a while, if it is not over by then. */
static void cancel_soon(struct asker *me, struct ask *a, const char *expected)
{
    local_rest_us((int)dice_of(&me->seed, 500));
    lock();
    if (a->text[0] != '\0') {
        count_answer(me, a->text, expected);
    } else {
        (void)hf_link_cancel(&a->request);
        me->cancelled++;
    }
    unlock();
}

static void ask_once(struct asker *me, unsigned n, int timeout_ms,
                     bool is_cancelled)
{
    struct ask a;
    char words[32];

    (void)snprintf(words, sizeof words, "ECHO %u:%u", me->me, n);
    start(&a, words, timeout_ms);
    if (is_cancelled)
        cancel_soon(me, &a, words + 5);
    else
        count_answer(me, answer(&a), words + 5);
}

static bool chaos_is_over(void)
{
    bool it_is;

    lock();
    it_is = is_calm;
    unlock();
    return it_is;
}

/* Once the network is as it should be, everything is answered. */
static void *ask_and_ask(void *arg)
{
    static const int timeouts[] = {1, 5, 30, 2000};
    struct asker *me = arg;
    unsigned n = 0, answered;

    while (!chaos_is_over())
        ask_once(me, n++, timeouts[dice_of(&me->seed, 4)],
                 dice_of(&me->seed, 8) == 0);
    (void)pthread_barrier_wait(&calm);
    (void)pthread_barrier_wait(&calm);
    answered = me->answered;
    ask_once(me, n, LONG_MS, false);
    ck_must(me->answered == answered + 1, "in calm, all is answered");
    return NULL;
}

static void calm_down(struct proxy *proxy)
{
    for (int way = PROXY_TO_SERVER; way <= PROXY_TO_CLIENT; way++) {
        proxy_delay(proxy, (enum proxy_way)way, 0);
        proxy_slice(proxy, (enum proxy_way)way, 0);
        proxy_hold(proxy, (enum proxy_way)way, false);
    }
    proxy_cut_after(proxy, PROXY_TO_SERVER, UINT64_MAX, PROXY_CLOSE);
}

static void make_trouble(struct proxy *proxy, uint64_t *seed)
{
    enum proxy_way way = dice_of(seed, 2) ? PROXY_TO_CLIENT : PROXY_TO_SERVER;
    enum proxy_end end = dice_of(seed, 2) ? PROXY_RESET : PROXY_CLOSE;

    switch (dice_of(seed, 7)) {
    case 0:
        proxy_delay(proxy, way, (int)dice_of(seed, 8));
        break;
    case 1:
        proxy_slice(proxy, way, 1 + dice_of(seed, 64));
        break;
    case 2:
        proxy_hold(proxy, way, true);
        break;
    case 3:
        proxy_cut(proxy, end);
        break;
    case 4:
        proxy_cut_after(proxy, way, dice_of(seed, 3000), end);
        break;
    case 5:
        proxy_swallow(proxy, way, true);
        local_rest_us(3000);
        proxy_cut(proxy, end);
        proxy_swallow(proxy, way, false);
        break;
    default:
        calm_down(proxy);
        break;
    }
}

/* 64 callers on one connection, with random deadlines and cancellations, and a
 * network that delays, slices, holds, swallows and cuts. */
START_TEST(every_answer_equals_its_request)
{
    static struct asker askers[ASKERS];
    struct proxy *proxy = proxy_start(server_port(server));
    uint64_t seed = CHAOS_SEED + (unsigned)_i;
    int64_t end_ms = local_now_ms() + CHAOS_MS;
    struct asker sum = {.me = 0};

    (void)printf("chaos with seed %llu\n", (unsigned long long)seed);
    prepare(proxy_port(proxy));
    options.silence_ms = 300; /* swallowed */
    memory_init(&memory);
    open_with(&memory.hook, _i % 2);
    (void)pthread_barrier_init(&calm, NULL, ASKERS + 1);
    for (unsigned i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){.me = i, .seed = seed * 31 + i};
        (void)pthread_create(&askers[i].thread, NULL, ask_and_ask, &askers[i]);
    }
    while (local_now_ms() < end_ms) {
        make_trouble(proxy, &seed);
        local_rest_us(1000 * (int)(1 + dice_of(&seed, 15)));
    }
    calm_down(proxy);
    lock();
    is_calm = true;
    unlock();
    (void)pthread_barrier_wait(&calm);
    settle();
    (void)pthread_barrier_wait(&calm);
    for (unsigned i = 0; i < ASKERS; i++) {
        (void)pthread_join(askers[i].thread, NULL);
        sum.answered += askers[i].answered;
        sum.unknown += askers[i].unknown;
        sum.unsent += askers[i].unsent;
        sum.cancelled += askers[i].cancelled;
    }
    (void)printf("answered %u, unknown %u, unsent %u, cancelled %u, "
                 "connections %llu\n",
                 sum.answered, sum.unknown, sum.unsent, sum.cancelled,
                 (unsigned long long)stats_now().connects);
    /* Each way to end has occurred: how often, the machine decides. */
    ck_assert_uint_gt(sum.answered, 50);
    ck_assert_uint_gt(sum.unknown, 5);
    ck_assert_uint_gt(sum.cancelled, 5);
    ck_assert_uint_gt(stats_now().connects, 2);
    close_link();
    proxy_stop(proxy);
}
END_TEST

static void *ask_hard(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;

    for (unsigned n = 0; n < 100; n++) {
        struct ask a;
        char words[32];

        (void)snprintf(words, sizeof words, "ECHO %u:%u", me, n);
        start(&a, words, LONG_MS);
        if (strcmp(answer(&a), words + 5) != 0)
            ck_abort_msg("asked for %s, got %s", words + 5, a.text);
    }
    return NULL;
}

/* However the threads are scheduled, some meet. How many is a matter of the machine:
 * the benchmarks of net/ measure it. */
START_TEST(callers_share_writes)
{
    pthread_t threads[ASKERS];
    struct hf_link_stats before, after;

    prepare(server_port(server));
    memory_init(&memory);
    open_with(&memory.hook, _i);
    ck_assert_str_eq(ask("PING"), "PONG");
    before = stats_now();
    (void)ask_hard((void *)1000);
    after = stats_now();
    ck_assert_uint_eq(after.writes - before.writes, 100);
    before = after;
    for (uintptr_t i = 0; i < ASKERS; i++)
        (void)pthread_create(&threads[i], NULL, ask_hard, (void *)i);
    for (int i = 0; i < ASKERS; i++)
        (void)pthread_join(threads[i], NULL);
    after = stats_now();
    ck_assert_uint_eq(after.requests - before.requests, ASKERS * 100);
    ck_assert_uint_lt(after.writes - before.writes, ASKERS * 100);
    close_link();
}
END_TEST

static TCase *case_crowd(void)
{
    TCase *c = tcase_create("crowd");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, start_server, stop_server);
    tcase_add_loop_test(c, every_answer_equals_its_request, 0, 2);
    tcase_add_loop_test(c, callers_share_writes, 0, 2);
    return c;
}

int main(void)
{
    Suite *s;

    if (!server_is_installed()) {
        (void)puts("skipped: net/link, a crowd (no server installed)");
        return 77;
    }
    s = suite_create("net/link, a crowd");
    suite_add_tcase(s, case_crowd());
    return suite_run(s);
}
