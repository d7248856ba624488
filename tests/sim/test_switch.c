/* Switches of masters: one program holds a lock, another waits for it, and the
 * master stops. Every combination of rows is executed in the simulated world, and
 * the history says for how long both believed that they hold the lock. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/effects.h"
#include "tests/sim/failover.h"
#include "tests/sim/history_kit.h"
#include "tests/sim/plan.h"
#include "tests/support/suite.h"

#define WATCHDOG_MS 3000
#define HOLDER_MS 1000  /* the holder acquires */
#define WAITER_MS 1500  /* the waiter begins to wait */
#define STOP_MS 5000    /* the master stops */
#define LENGTH_MS 40000

static struct plan plan;

/* ---- the history ---- */

#define OWNERS 8
#define ENOUGH_US 20000000 /* after the switch */

struct believer {
    char owner[80];
    int64_t until_us;
};

struct trace {
    struct believer all[OWNERS];
    int count;
    int64_t now_us;
    int64_t both_us;        /* how long both believed */
    int64_t switched_us;    /* a replica became the master; 0: never */
    uint32_t master;        /* that one */
    int64_t renewed_us;     /* a hold was renewed there; 0: never */
    int64_t lost_us;        /* on_lost of the first owner; 0: never */
    int losses;
};

static struct believer *believer_of(struct trace *s, struct history_text owner)
{
    for (int i = 0; i < s->count; i++)
        if (strlen(s->all[i].owner) == owner.len &&
            memcmp(s->all[i].owner, owner.at, owner.len) == 0)
            return &s->all[i];
    ck_assert_int_lt(s->count, OWNERS);
    ck_assert_uint_lt(owner.len, sizeof s->all[0].owner);
    memcpy(s->all[s->count].owner, owner.at, owner.len);
    return &s->all[s->count++];
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Adds the time from the last line to this one in which two owners believed. */
static void advance(struct trace *s, int64_t us)
{
    for (int i = 0; i < s->count; i++)
        for (int k = i + 1; k < s->count; k++) {
            int64_t end_us = least(
                us, least(s->all[i].until_us, s->all[k].until_us));

            if (end_us > s->now_us)
                s->both_us += end_us - s->now_us;
        }
    s->now_us = us;
}

static void take_line(struct trace *s, const struct history_event *e)
{
    advance(s, e->time_us);
    if (e->what == HISTORY_SAFE)
        believer_of(s, e->owner)->until_us = e->until_us;
    if (e->what == HISTORY_MASTER && e->instead.role) {
        s->switched_us = e->time_us;
        s->master = e->source.number;
    }
    if (e->what == HISTORY_HELD && e->by == HISTORY_BY_RENEW &&
        e->source.number == s->master && s->renewed_us == 0)
        s->renewed_us = e->time_us;
    if (e->what == HISTORY_LOST) {
        believer_of(s, e->owner)->until_us = 0;
        s->losses++;
        s->lost_us = s->lost_us ? s->lost_us : e->time_us;
    }
}

static void read_trace(struct trace *s)
{
    char *text = history_of_plan(&plan), *rest = text;
    struct history_event e;

    memset(s, 0, sizeof *s);
    while (history_next(&rest, &e) &&
           !(s->switched_us && e.time_us - s->switched_us > ENOUGH_US))
        take_line(s, &e);
    free(text);
}

/* ---- the plans ---- */

static const struct kind {
    const char *name;
    int64_t family, side;
} kinds[] = {
    {"plain", FAMILY_PLAIN, 0},       {"write", FAMILY_READ_WRITE, 1},
    {"fair", FAMILY_FAIR, 0},         {"value", FAMILY_VALUE, 0},
    {"permit", FAMILY_PERMIT, 0},     {"fenced", FAMILY_FENCED, 0},
    {"spin", FAMILY_SPIN, 0},         {"read", FAMILY_READ_WRITE, 0},
};
#define EXCLUSIVE (ROWS(kinds) - 1)

static void plan_holder(const struct kind *kind, int64_t deployment,
                        int64_t lease_ms)
{
    plan.head = (struct plan_head){
        .seed = 1,
        .profile = PROFILE_WILD,
        .deployment = deployment,
        .version = 3,
        .protocol = 3,
        .masters = plan_is_cluster(deployment) ? 3 : 1,
        .length_ms = LENGTH_MS,
        .latency_us = 200,
        .lag_us = 200,
        .watchdog_ms = WATCHDOG_MS,
        .request_ms = 5000,
        .replicas_ms = 100,
    };
    plan.program_count = 2;
    plan.programs[0] = (struct plan_program){.offset_ms = 1000000};
    plan.programs[1] = (struct plan_program){.offset_ms = 2000000};
    plan.lock_count = 1;
    plan.locks[0] = (struct plan_lock){.family = kind->family, .permits = 1};
    plan.op_count = 2;
    plan.ops[0] = (struct plan_op){.at_ms = HOLDER_MS, .owner = 1,
                                   .side = kind->side, .hold_ms = -1,
                                   .lease_ms = lease_ms};
    plan.ops[1] = (struct plan_op){.at_ms = WAITER_MS, .program = 1, .owner = 1,
                                   .side = kind->side, .hold_ms = -1,
                                   .wait_ms = HF_FOREVER};
    plan.fault_count = 0;
}

/* The master fails `at_ms`; a replica replaces it after `after_ms`. */
static void plan_failover(int64_t at_ms, int64_t after_ms, int64_t how)
{
    plan.faults[plan.fault_count++] = (struct plan_fault){
        .at_ms = at_ms, .kind = FAULT_FAILOVER,
        .n = how | FAILOVER_IS_QUICK | FAILOVER_OF_LOCK, .for_ms = 8 * after_ms};
}

/* ---- a master that stops, and continues before a sentinel has heard ---- */

static const int64_t outages_ms[] = {1200, 1400, 1600, 1800, 2000};
#define FIRST_SENTINEL 3 /* after a master and its replicas */
#define WAKES_PART 4 /* the former master continues after this part of the outage */
#define BUSY_AFTER_MS 100 /* since it stopped */
#define BUSY_ON_MS 30 /* since it continued: one renewal is refused, the next one is not */
/* When in a third of the watchdog timeout it stops. With a sanitizer, which takes six times as
 * long, two phases show what it is to find. */
#ifdef __SANITIZE_ADDRESS__
#define PHASES 2
#else
#define PHASES 8
#endif

/* The holder hears nothing of the first sentinel, so the waiter knows the new master
 * before it. */
static void plan_deafness(void)
{
    plan.faults[plan.fault_count++] = (struct plan_fault){
        .at_ms = WAITER_MS, .kind = FAULT_HOLD_BACK, .server = FIRST_SENTINEL,
        .for_ms = LENGTH_MS / 2};
}

static void tell(const struct kind *kind, int64_t outage_ms, int64_t at_ms,
                 const struct trace *s)
{
    if (getenv("HF_TEST_TELL") && (s->both_us || s->losses))
        (void)fprintf(stderr,
                      "%s, replaced after %lld ms, stopped at %lld: both "
                      "believed for %lld us, %d losses\n",
                      kind->name, (long long)outage_ms, (long long)at_ms,
                      (long long)s->both_us, s->losses);
}

/* Returns for how long both believed. */
static int64_t play_stop(const struct kind *kind, int64_t deployment, int64_t outage_ms,
                         int phase, bool is_deaf)
{
    int64_t at_ms = STOP_MS + phase * WATCHDOG_MS / 3 / PHASES;
    struct trace s;

    plan_holder(kind, deployment, 0);
    if (is_deaf)
        plan_deafness();
    plan_failover(at_ms, outage_ms,
                  FAILOVER_STOPS | FAILOVER_WAKES | FAILOVER_IS_UNTOLD);
    read_trace(&s);
    tell(kind, outage_ms, at_ms, &s);
    return s.both_us;
}

static void must_believe_alone(const struct kind *kind, int64_t deployment,
                               bool is_deaf)
{
    int64_t worst_us = 0;

    for (size_t k = 0; k < ROWS(outages_ms); k++)
        for (int phase = 0; phase < PHASES; phase++) {
            int64_t us = play_stop(kind, deployment, outages_ms[k], phase, is_deaf);

            worst_us = us > worst_us ? us : worst_us;
        }
    ck_assert_msg(worst_us == 0, "%s: both believed for %lld us", kind->name,
                  (long long)worst_us);
}

START_TEST(no_two_holders_after_a_stopped_master_continues)
{
    must_believe_alone(&kinds[_i], DEPLOY_SENTINEL, false);
}
END_TEST

/* DOUBT-2, DOUBT-3 */
START_TEST(no_two_holders_if_one_of_them_is_notified_late)
{
    must_believe_alone(&kinds[_i], DEPLOY_SENTINEL, true);
}
END_TEST

/* The holder hears no +switch-master, and the old master has executed more than the new
 * one when it continues. DOUBT-2, REPLICAS-3 */
START_TEST(no_two_holders_without_sentinels)
{
    must_believe_alone(&kinds[_i], DEPLOY_HOSTS, false);
}
END_TEST

/* DOUBT-1: the first replies of the master that continues are BUSY, which prove nothing. */
START_TEST(master_that_is_busy_as_it_continues_is_doubted)
{
    int64_t worst_us = 0;

    for (size_t k = 0; k < ROWS(outages_ms); k++)
        for (int phase = 0; phase < PHASES; phase++) {
            int64_t at_ms = STOP_MS + phase * WATCHDOG_MS / 3 / PHASES;
            struct trace s;

            plan_holder(&kinds[_i], DEPLOY_SENTINEL, 0);
            plan_deafness();
            plan_failover(at_ms, outages_ms[k],
                          FAILOVER_STOPS | FAILOVER_WAKES | FAILOVER_IS_UNTOLD);
            plan.faults[plan.fault_count++] = (struct plan_fault){
                .at_ms = at_ms + BUSY_AFTER_MS, .kind = FAULT_BUSY,
                .for_ms = outages_ms[k] + outages_ms[k] / WAKES_PART - BUSY_AFTER_MS + BUSY_ON_MS};
            read_trace(&s);
            worst_us = s.both_us > worst_us ? s.both_us : worst_us;
        }
    ck_assert_msg(worst_us == 0, "%s: both believed for %lld us", kinds[_i].name,
                  (long long)worst_us);
}
END_TEST

/* ---- a master that is suspended, without sentinels ---- */

#define SUSPENDED_MS 10000      /* longer than the TTL of the hold; a replica is promoted after a
                                   256th of it */
#define ROLES_PART 6            /* of the TTL: the interval at which the roles are queried */

/* The promoted server succeeds the silent one, which is not waited for (REPLICAS-2). Row 1:
 * INFO is refused, so the client does not know this, and waits a second for the silent one. */
static const struct suspension {
    bool has_no_info;
    int64_t within_ms;
} suspensions[] = {{false, 400}, {true, 1500}};

static void play_suspended(struct trace *s, const struct kind *kind,
                           const struct suspension *how, int64_t watchdog_ms, int64_t at_ms)
{
    plan_holder(kind, DEPLOY_HOSTS, 0);
    plan.head.watchdog_ms = watchdog_ms;
    plan.op_count = 1;
    if (how->has_no_info)
        plan.faults[plan.fault_count++] = (struct plan_fault){
            .kind = FAULT_DENY, .n = DENIED_INFO, .for_ms = LENGTH_MS};
    plan.faults[plan.fault_count++] = (struct plan_fault){
        .at_ms = at_ms, .kind = FAULT_FAILOVER, .for_ms = SUSPENDED_MS,
        .n = FAILOVER_STOPS | FAILOVER_AT_ONCE | FAILOVER_OF_LOCK};
    read_trace(s);
}

static void must_outlast(const struct kind *kind, const struct suspension *how,
                         int64_t watchdog_ms)
{
    for (int phase = 0; phase < PHASES; phase++) {
        int64_t at_ms = STOP_MS + phase * watchdog_ms / 3 / PHASES;
        struct trace s;

        play_suspended(&s, kind, how, watchdog_ms, at_ms);
        ck_assert_int_gt(s.switched_us, 0);
        ck_assert_msg(s.losses == 0, "%s, TTL %lld, suspended at %lld: lost", kind->name,
                      (long long)watchdog_ms, (long long)at_ms);
        ck_assert_msg(s.renewed_us > 0 &&
                          s.renewed_us - s.switched_us <
                              (watchdog_ms / ROLES_PART + how->within_ms) * 1000,
                      "%s, TTL %lld, suspended at %lld: renewed %lld us after the promotion",
                      kind->name, (long long)watchdog_ms, (long long)at_ms,
                      (long long)(s.renewed_us - s.switched_us));
    }
}

START_TEST(hold_outlasts_a_suspended_master_without_sentinels)
{
    for (size_t k = 0; k < ROWS(kinds); k++)
        for (int64_t watchdog_ms = 3000; watchdog_ms <= 9000; watchdog_ms += 3000)
            must_outlast(&kinds[k], &suspensions[_i], watchdog_ms);
}
END_TEST

/* ---- a master that is slow ---- */

#define SLOW_WATCHDOG_MS 9000
#define FIRST_FREEZE_MS 4000    /* after it, the master is doubted for 1.5 s: not too long for
                                   a hold that is renewed every 3 s */
#define NEXT_FREEZE_MS 5000     /* with a doubt after it, some renewals would be late */
#define NEXT_FREEZE_AT_MS 12000 /* soon after the doubt, for each phase of the renewals */
#define SLOW_PHASES (3 * PHASES / 2)

static void plan_freeze(int64_t at_ms, int64_t for_ms)
{
    plan.faults[plan.fault_count++] = (struct plan_fault){
        .at_ms = at_ms, .kind = FAULT_FREEZE, .for_ms = for_ms};
}

/* DOUBT-4 */
START_TEST(master_that_is_slow_again_is_not_doubted_again)
{
    for (int phase = 0; phase < SLOW_PHASES; phase++) {
        struct trace s;

        plan_holder(&kinds[_i], DEPLOY_SENTINEL, 0);
        plan.head.watchdog_ms = SLOW_WATCHDOG_MS;
        plan.op_count = 1;
        plan_freeze(STOP_MS, FIRST_FREEZE_MS);
        plan_freeze(NEXT_FREEZE_AT_MS + phase * SLOW_WATCHDOG_MS / 3 / SLOW_PHASES,
                    NEXT_FREEZE_MS);
        read_trace(&s);
        ck_assert_int_eq(s.count, 1);
        ck_assert_msg(s.losses == 0, "lost in phase %d", phase);
    }
}
END_TEST

/* ---- at once ---- */

#define LONG_MS 30000       /* a watchdog timeout: nothing is renewed by itself */
#define REPLACED_MS 1000    /* after it failed */
#define SERVERS 6
#define LATE_MS (REPLACED_MS / 2)   /* from one sentinel to the next, or all nodes */
#define AT_ONCE_US 100000
#define NEWS_US (2 * LATE_MS * 1000)
#define ROLES_US 5500000    /* no news: the roles are queried every 5 s */
#define FOLLOW_US 1500000   /* clients of a cluster request the map: cluster.md */

static const struct replacing {
    const char *name;
    int64_t deployment, how, lease_ms, within_us;
} ways[] = {
    {"sentinels, dies", DEPLOY_SENTINEL, 0, 0, AT_ONCE_US + NEWS_US},
    {"sentinels, untold", DEPLOY_SENTINEL, FAILOVER_IS_UNTOLD, 0,
     AT_ONCE_US + NEWS_US},
    {"sentinels, serves on", DEPLOY_SENTINEL, FAILOVER_SERVES_ON, 0, AT_ONCE_US},
    {"sentinels, serves on untold", DEPLOY_SENTINEL,
     FAILOVER_SERVES_ON | FAILOVER_IS_UNTOLD, 0, AT_ONCE_US + LATE_MS * 1000},
    {"sentinels, lease", DEPLOY_SENTINEL, FAILOVER_SERVES_ON, 2 * LONG_MS,
     AT_ONCE_US},
    {"cluster, dies", DEPLOY_CLUSTER, 0, 0, FOLLOW_US},
    {"sharded, dies", DEPLOY_SHARDED, 0, 0, FOLLOW_US},
    {"hosts, dies", DEPLOY_HOSTS, 0, 0, FOLLOW_US},
    {"hosts, serves on", DEPLOY_HOSTS, FAILOVER_SERVES_ON, 0, ROLES_US},
    {"hosts, lease", DEPLOY_HOSTS, 0, 2 * LONG_MS, FOLLOW_US},
    {"cluster, lease", DEPLOY_CLUSTER, 0, 2 * LONG_MS, FOLLOW_US},
};

/* No replica hears of what happens from the beginning on. */
static void plan_lag(void)
{
    for (int64_t server = 0; server < SERVERS; server++)
        plan.faults[plan.fault_count++] = (struct plan_fault){
            .at_ms = HOLDER_MS / 2, .kind = FAULT_LAG, .server = server,
            .for_ms = LENGTH_MS / 2};
}

static void play_way(struct trace *s, const struct kind *kind,
                     const struct replacing *way, bool is_lagging)
{
    plan_holder(kind, way->deployment, way->lease_ms);
    plan.head.watchdog_ms = LONG_MS;
    plan.op_count = 1;
    if (is_lagging)
        plan_lag();
    plan_failover(STOP_MS, REPLACED_MS, way->how);
    read_trace(s);
    ck_assert_msg(s->switched_us > 0, "%s, %s: no switch", kind->name,
                  way->name);
}

static void must_follow(int64_t us, const struct trace *s,
                        const struct kind *kind, const struct replacing *way)
{
    ck_assert_msg(us > 0, "%s, %s: never", kind->name, way->name);
    ck_assert_msg(us - s->switched_us < way->within_us,
                  "%s, %s: %lld us after the switch", kind->name, way->name,
                  (long long)(us - s->switched_us));
}

/* SWITCHED-1, SWITCHED-4 */
START_TEST(holds_that_the_new_master_lacks_are_lost_at_once)
{
    const struct replacing *way = &ways[_i];

    for (size_t k = 0; k < ROWS(kinds); k++) {
        struct trace s;

        play_way(&s, &kinds[k], way, true);
        must_follow(s.lost_us, &s, &kinds[k], way);
        ck_assert_int_eq(s.losses, 1);
    }
}
END_TEST

/* SWITCHED-4 */
START_TEST(holds_that_the_new_master_has_are_renewed_at_once)
{
    const struct replacing *way = &ways[_i];

    for (size_t k = 0; k < ROWS(kinds); k++) {
        struct trace s;

        play_way(&s, &kinds[k], way, false);
        if (way->lease_ms == 0)
            must_follow(s.renewed_us, &s, &kinds[k], way);
        ck_assert_int_eq(s.losses, 0);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: switches of masters");
    TCase *t = tcase_create("switch");

    tcase_add_loop_test(
        t, no_two_holders_after_a_stopped_master_continues, 0,
        EXCLUSIVE);
    tcase_add_loop_test(
        t, no_two_holders_if_one_of_them_is_notified_late, 0,
        EXCLUSIVE);
    tcase_add_loop_test(t, master_that_is_busy_as_it_continues_is_doubted, 0, EXCLUSIVE);
    tcase_add_loop_test(t, master_that_is_slow_again_is_not_doubted_again, 0,
                        ROWS(kinds));
    tcase_add_loop_test(t, no_two_holders_without_sentinels, 0, EXCLUSIVE);
    tcase_add_loop_test(t, hold_outlasts_a_suspended_master_without_sentinels, 0,
                        ROWS(suspensions));
    tcase_add_loop_test(t, holds_that_the_new_master_lacks_are_lost_at_once, 0,
                        ROWS(ways));
    tcase_add_loop_test(t, holds_that_the_new_master_has_are_renewed_at_once, 0,
                        ROWS(ways));
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    return suite_run(s);
}
