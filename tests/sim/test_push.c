/* Losses that the server reports (lock/verb/track.h), in the simulated world: at a moment
 * that a plan chooses, beside lost connections, with pushes that come twice. Nothing is
 * renewed by itself in that time. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/history_kit.h"
#include "tests/sim/plan.h"
#include "tests/support/suite.h"

#define WATCHDOG_MS 60000
#define HOLDER_MS 1000      /* the holder acquires */
#define LOSS_MS 5000        /* the key changes */
#define LENGTH_MS 15000
#define AT_ONCE_US 100000

static struct plan plan;

struct trace {
    int64_t held_us, lost_us;   /* the first; 0: never */
    int64_t last_us;            /* the last loss */
    int losses;
};

static void read_trace(struct trace *s)
{
    char *text = history_of_plan(&plan), *rest = text;
    struct history_event e;

    memset(s, 0, sizeof *s);
    while (history_next(&rest, &e)) {
        if (e.what == HISTORY_HELD && s->held_us == 0)
            s->held_us = e.time_us;
        if (e.what != HISTORY_LOST)
            continue;
        if (s->losses++ == 0)
            s->lost_us = e.time_us;
        s->last_us = e.time_us;
    }
    free(text);
}

static const struct row {
    const char *name;
    int64_t kind, n;
    bool is_loss;
    int64_t reset_ms;           /* how long before it the connection is lost; -1: it is not */
} rows[] = {
    {"deleted", FAULT_DELETE, 0, true, -1},
    {"flushed", FAULT_FLUSHALL, 0, true, -1},
    {"retyped", FAULT_RETYPE, 0, true, -1},
    {"shortened", FAULT_SHORTEN, 20000, false, -1},
    {"deleted, the push is lost with the connection", FAULT_DELETE, 0, true, 0},
    {"deleted before it is tracked again", FAULT_DELETE, 0, true, 1},
    {"deleted after it was tracked again", FAULT_DELETE, 0, true, 1000},
    {"flushed after it was tracked again", FAULT_FLUSHALL, 0, true, 1000},
};

static const int64_t families[] = {FAMILY_PLAIN, FAMILY_FENCED, FAMILY_FAIR,
                                   FAMILY_SPIN, FAMILY_VALUE, FAMILY_READ_WRITE,
                                   FAMILY_PERMIT};

static void add_fault(int64_t at_ms, int64_t kind, int64_t n)
{
    plan.faults[plan.fault_count++] = (struct plan_fault){
        .at_ms = at_ms, .kind = kind, .n = n, .for_ms = LENGTH_MS};
}

static void plan_row(const struct row *row, int64_t family, int64_t tracks,
                     int64_t lease_ms)
{
    memset(&plan, 0, sizeof plan);
    plan.head = (struct plan_head){
        .seed = 1,
        .profile = PROFILE_WILD,
        .deployment = DEPLOY_STANDALONE,
        .version = 3,
        .protocol = 3,
        .masters = 1,
        .length_ms = LENGTH_MS,
        .latency_us = 200,
        .watchdog_ms = WATCHDOG_MS,
        .request_ms = 5000,
        .replicas_ms = 100,
        .tracks = tracks,
    };
    plan.program_count = 1;
    plan.programs[0] = (struct plan_program){.offset_ms = 1000000};
    plan.lock_count = 1;
    plan.locks[0] = (struct plan_lock){.family = family, .permits = 1};
    plan.op_count = 1;
    plan.ops[0] = (struct plan_op){
        .at_ms = HOLDER_MS, .owner = 1, .hold_ms = -1, .lease_ms = lease_ms};
    if (row->reset_ms >= 0)
        add_fault(LOSS_MS - row->reset_ms, FAULT_RESET, 0);
    add_fault(LOSS_MS, row->kind, row->n);
}

static void must_be_told(const struct row *row, int64_t family, int64_t tracks,
                         int64_t lease_ms)
{
    struct trace s;
    int64_t until_us;

    plan_row(row, family, tracks, lease_ms);
    read_trace(&s);
    ck_assert_msg(s.held_us > 0, "%s: never held", row->name);
    until_us = s.held_us + (LOSS_MS - HOLDER_MS) * 1000 + AT_ONCE_US;
    ck_assert_msg((s.losses > 0 && s.lost_us < until_us) == row->is_loss,
                  "%s, %s: %d losses, the first %lld us after it was held", row->name,
                  plan_family_name(family), s.losses, (long long)(s.lost_us - s.held_us));
}

#define SHARED_ROWS 3           /* deleted, flushed, retyped */
static const int64_t shared[] = {FAMILY_READ_WRITE, FAMILY_PERMIT};

/* Two owners of one client hold it, and a third one has released it: each of the two is told. */
static void must_tell_both(const struct row *row, int64_t family, int64_t tracks)
{
    struct trace s;

    plan_row(row, family, tracks, 0);
    plan.locks[0].permits = 3;
    plan.op_count = 3;
    plan.ops[1] = plan.ops[2] = plan.ops[0];
    plan.ops[1].owner = 2;
    plan.ops[1].at_ms += 10;
    plan.ops[2].owner = 3;
    plan.ops[2].at_ms += 20;
    plan.ops[2].hold_ms = 1500;
    read_trace(&s);
    ck_assert_msg(s.losses == 2 && s.last_us < s.held_us + (LOSS_MS - HOLDER_MS) * 1000 +
                                                   AT_ONCE_US,
                  "%s, %s: %d losses, the last %lld us after it was held", row->name,
                  plan_family_name(family), s.losses, (long long)(s.last_us - s.held_us));
}

/* TRACK-5, TRACK-6 */
START_TEST(track_6_each_owner_of_a_shared_key_is_told)
{
    for (size_t k = 0; k < ROWS(shared); k++)
        for (int64_t tracks = 1; tracks <= 2; tracks++)
            must_tell_both(&rows[_i], shared[k], tracks);
}
END_TEST

START_TEST(track_2_a_loss_is_reported_at_once)
{
    for (size_t k = 0; k < ROWS(families); k++)
        for (int64_t tracks = 1; tracks <= 2; tracks++) {
            must_be_told(&rows[_i], families[k], tracks, 0);
            must_be_told(&rows[_i], families[k], tracks, WATCHDOG_MS);
        }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: losses that the server reports");
    TCase *c = tcase_create("pushes");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, track_2_a_loss_is_reported_at_once, 0, ROWS(rows));
    tcase_add_loop_test(c, track_6_each_owner_of_a_shared_key_is_told, 0, SHARED_ROWS);
    suite_add_tcase(s, c);
    return suite_run(s);
}
