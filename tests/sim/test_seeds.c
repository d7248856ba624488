/* Runs of plans: past failures stay mended, and a seed is one history. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/history_kit.h"
#include "tests/sim/run.h"
#include "tests/sim/seeds.h"
#include "tests/support/suite.h"

#define FRESH 15 /* seeds that were not selected, the same each time */

static struct plan plan;

static void read_past(const struct past *past)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "tests/sim/plans/%s.plan", past->plan);
    file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s is not there", path);
    ck_assert(plan_read(&plan, file));
    (void)fclose(file);
}

START_TEST(plan_that_failed_once_fails_no_more)
{
    const struct past *past = &past_failures[_i];
    struct run_result r;

    read_past(past);
    run_plan(&plan, NULL, &r);
    ck_assert_msg(!r.has_failed, "%s (%s, %s) fails: %s: %s", past->plan,
                  past->violated, past->why, r.property, r.text);
}
END_TEST

static void play_well(uint64_t seed, uint64_t effects[EFFECTS])
{
    struct run_result r;

    plan_draw(&plan, seed);
    run_plan(&plan, NULL, &r);
    ck_assert_msg(!r.has_failed, "seed %llu fails: %s: %s", (unsigned long long)seed,
                  r.property, r.text);
    for (int i = 0; i < EFFECTS; i++)
        effects[i] += r.effects[i];
}

START_TEST(world_of_faults_without_a_line_is_good)
{
    const struct past_world *world = &past_worlds[_i];
    uint64_t effects[EFFECTS] = {0};

    ck_assert(plan_only(world->family));
    for (uint64_t seed = 1; seed <= world->seeds; seed++)
        play_well(seed, effects);
    for (int i = 0; i < EFFECTS; i++)
        ck_assert_msg(effects_world(i) != plan_only_is() || effects[i] > 0, "no %s",
                      effects_name(i));
    plan_only_number(-1);
}
END_TEST

static char *history_of(uint64_t seed)
{
    plan_draw(&plan, seed);
    return history_of_plan(&plan);
}

START_TEST(seed_gives_the_same_history_byte_for_byte)
{
    for (uint64_t seed = 1; seed <= FRESH; seed++) {
        char *first = history_of(seed), *second = history_of(seed);

        ck_assert_msg(strcmp(first, second) == 0,
                      "seed %llu gives two histories",
                      (unsigned long long)seed);
        free(first);
        free(second);
    }
}
END_TEST

/* Shrinking keeps both: docs/simulation.md. */
START_TEST(plays_are_alike_if_property_and_kind_are)
{
    const struct run_result a = {
        .has_failed = true, .property = "P12", .text = "call 1 waits", .kind = "call  waits"};
    struct run_result b = a;

    (void)snprintf(b.text, sizeof b.text, "call 2 waits");
    ck_assert(run_is_alike(&a, &b));
    (void)snprintf(b.kind, sizeof b.kind, "call  fails");
    ck_assert(!run_is_alike(&a, &b));
    b = a;
    (void)snprintf(b.property, sizeof b.property, "P5");
    ck_assert(!run_is_alike(&a, &b));
    b = (struct run_result){.has_failed = false};
    ck_assert(!run_is_alike(&b, &b));
}
END_TEST

/* ---- a change of a count, and a failover ---- */

/* Replicas are 30 ms behind. The change is executed at 2034 ms, and the master dies at
 * that moment or later; all replicas have to confirm it. */
static const char failover_plan[] =
    "plan seed=1 profile=single scenario=none deployment=sentinel version=1 protocol=3 "
    "masters=1 length_ms=6411 latency_us=500 lag_us=30000 keeps_alive=1 "
    "watchdog_ms=3000 request_ms=5000 replicas=%d replicas_ms=400\n"
    "program offset_ms=57042523\nprogram offset_ms=66869236\n"
    "lock family=%s name=4 permits=3\n%s\n"
    "fault at_ms=%d kind=failover for_ms=3000\n";

static const struct {
    const char *family, *op;
    long long after;
} changes[] = {
    {"semaphore", "op at_ms=1000 verb=acquire program=1 owner=2 wait_ms=2000 "
                  "hold_ms=1000", 3},
    {"latch", "op at_ms=2033 verb=give program=1 owner=2", 2},
};

static void read_failover(int change, int replicas, int at_ms)
{
    char text[1000];
    FILE *file;

    (void)snprintf(text, sizeof text, failover_plan, replicas, changes[change].family,
                   changes[change].op, at_ms);
    file = fmemopen(text, strlen(text), "r");
    ck_assert_ptr_nonnull(file);
    ck_assert(plan_read(&plan, file));
    (void)fclose(file);
}

static const char *last(const char *text, const char *what)
{
    const char *found = NULL;

    for (const char *at = text; (at = strstr(at, what)); at++)
        found = at;
    ck_assert_msg(found != NULL, "no '%s' in %s", what, text);
    return found;
}

/* Is the change said to be done, and what is counted in the end? */
static bool is_confirmed(const char *history, long long *count)
{
    const char *end = last(history, " end call=");

    *count = atoll(last(history, " n=") + strlen(" n="));
    return strstr(end, "status=HF_OK") && strstr(end, "status=HF_OK") < strchr(end, '\n');
}

START_TEST(failover_forgets_no_change_that_replicas_confirmed)
{
    int confirmed = 0;

    for (int at_ms = 2030; at_ms <= 2110; at_ms += 2) {
        long long count;
        char *history;

        read_failover(_i, -1, at_ms);
        history = history_of_plan(&plan);
        if (is_confirmed(history, &count)) {
            confirmed++;
            ck_assert_msg(count == changes[_i].after, "at %d ms %s: %lld\n%s", at_ms,
                          changes[_i].family, count, history);
        }
        free(history);
    }
    ck_assert_int_gt(confirmed, 10);
}
END_TEST

/* The failovers above are such that they would forget it. */
START_TEST(failover_forgets_a_change_that_no_replica_confirmed)
{
    int forgotten = 0;

    for (int at_ms = 2030; at_ms <= 2110; at_ms += 2) {
        long long count;
        char *history;

        read_failover(_i, 0, at_ms);
        history = history_of_plan(&plan);
        forgotten += is_confirmed(history, &count) && count != changes[_i].after;
        free(history);
    }
    ck_assert_int_gt(forgotten, 0);
}
END_TEST

/* ---- calls that are abandoned ---- */

static void read_plan(const char *text)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

    ck_assert_ptr_nonnull(file);
    ck_assert(plan_read(&plan, file));
    (void)fclose(file);
}

static long long count_at_the_end(void)
{
    char *history = history_of_plan(&plan);
    long long count = atoll(last(history, " n=") + strlen(" n="));

    free(history);
    return count;
}

/* ORPHAN-5: the acquire of a permit is cancelled while it is under way, 10 ms each way, and
 * from then on one allocation fails. */
static const char starved_plan[] =
    "plan seed=1 profile=wild scenario=none deployment=standalone version=1 protocol=3 "
    "masters=1 length_ms=6000 latency_us=10000 lag_us=1000 watchdog_ms=3000 "
    "request_ms=5000 replicas_ms=400\n"
    "program offset_ms=57042523\n"
    "lock family=semaphore name=4 permits=3\n"
    "op at_ms=500 verb=acquire owner=1 wait_ms=2000 hold_ms=1\n"
    "op at_ms=1000 verb=acquire owner=2 wait_ms=2000 hold_ms=1000\n"
    "op at_ms=%d verb=cancel owner=2\n"
    "fault at_ms=%d kind=memory n=1\n";

START_TEST(permit_of_an_abandoned_call_is_released_without_memory)
{
    for (int ms = 1002; ms <= 1018; ms += 2) {
        char text[1000];

        (void)snprintf(text, sizeof text, starved_plan, ms, ms - 1);
        read_plan(text);
        ck_assert_msg(count_at_the_end() == 3, "cancelled at %d ms", ms);
    }
}
END_TEST

/* ORPHAN-6: it is cancelled while replicas have yet to confirm it, and the master dies when
 * they have heard of the acquire, and not of the release. */
static const char *const abandoned =
    "op at_ms=500 verb=acquire program=1 owner=1 wait_ms=2000 hold_ms=1\n"
    "op at_ms=1000 verb=acquire program=1 owner=2 wait_ms=2000 hold_ms=1000\n"
    "op at_ms=1015 verb=cancel program=1 owner=2";

START_TEST(failover_forgets_no_permit_of_an_abandoned_call)
{
    for (int at_ms = 1010; at_ms <= 1090; at_ms += 2) {
        char text[1200];

        (void)snprintf(text, sizeof text, failover_plan, -1, "semaphore", abandoned, at_ms);
        read_plan(text);
        ck_assert_msg(count_at_the_end() == 3, "the master dies at %d ms", at_ms);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: seeds");
    TCase *t = tcase_create("runs");

    tcase_add_loop_test(t, plan_that_failed_once_fails_no_more, 0,
                        ROWS(past_failures));
    tcase_add_loop_test(t, world_of_faults_without_a_line_is_good, 0, ROWS(past_worlds));
    tcase_add_test(t, seed_gives_the_same_history_byte_for_byte);
    tcase_add_test(t, plays_are_alike_if_property_and_kind_are);
    tcase_add_loop_test(t, failover_forgets_no_change_that_replicas_confirmed, 0,
                        ROWS(changes));
    tcase_add_loop_test(t, failover_forgets_a_change_that_no_replica_confirmed, 0,
                        ROWS(changes));
    tcase_add_test(t, permit_of_an_abandoned_call_is_released_without_memory);
    tcase_add_test(t, failover_forgets_no_permit_of_an_abandoned_call);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return suite_run(s);
}
