/* Losses that the server reports, and waiters that it wakes (lock/verb/track.h), in the
 * simulated world: at a moment that a plan chooses, beside lost connections, with pushes that
 * come twice. Nothing is renewed by itself in that time, and no waiter's sleep ends. */
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

/* ---- a look that is slow ---- */

#define SLOW_WATCHDOG_MS 6000   /* tracked holds are looked at after a second (TRACK-1), and
                                   renewed after two */
#define SLOW_MS 700             /* of each way: the reply to the look comes after that */

static bool is_owner(const struct history_event *e, struct history_text owner)
{
    return e->owner.len == owner.len && memcmp(e->owner.at, owner.at, owner.len) == 0;
}

/* How long after the last grant before the fault the server renewed that hold. */
static int64_t renewed_after_us(void)
{
    char *text = history_of_plan(&plan), *rest = text;
    int64_t held_us = 0, renewed_us = 0;
    struct history_text owner = {0};
    bool is_slow = false;
    struct history_event e;

    while (renewed_us == 0 && history_next(&rest, &e)) {
        is_slow = is_slow || e.what == HISTORY_FAULT;
        if (e.what == HISTORY_HELD && e.by == HISTORY_BY_ACQUIRE && !is_slow) {
            owner = e.owner;
            held_us = e.time_us;
        }
        if (e.what == HISTORY_HELD && e.by == HISTORY_BY_RENEW && is_slow &&
            is_owner(&e, owner))
            renewed_us = e.time_us;
    }
    free(text);
    ck_assert_int_gt(renewed_us, 0);
    return renewed_us - held_us;
}

/* LEASE-6. The server has the script, because it has renewed another reader before. */
START_TEST(lease_6_a_renewal_does_not_wait_for_a_slow_look)
{
    plan_row(&rows[0], FAMILY_READ_WRITE, 1, 0);
    plan.head.watchdog_ms = SLOW_WATCHDOG_MS;
    plan.ops[1] = plan.ops[0];
    plan.ops[0].hold_ms = 2400;
    plan.ops[1].owner = 2;
    plan.ops[1].at_ms += 2500;
    plan.op_count = 2;
    plan.fault_count = 0;
    for (int64_t way = 0; way < 2; way++) {
        add_fault(HOLDER_MS + 3000, FAULT_DELAY, SLOW_MS);
        plan.faults[way].to_server = way;
    }
    ck_assert_int_lt(renewed_after_us(),
                     (SLOW_WATCHDOG_MS / 3 + SLOW_MS) * 1000 + AT_ONCE_US);
}
END_TEST

/* ---- waiters ---- */

#define WAITER_MS 3000          /* the waiter begins */
#define FREED_MS LOSS_MS        /* the key changes */
#define POLL_MS 1000            /* of a waiter that may not subscribe: WAIT-5 */

static const struct wait_row {
    const char *name;
    int64_t kind, n;
    int64_t reset_ms;           /* as in struct row; of the waiter's connections */
    int64_t late_ms;            /* so long are bytes to the waiter under way, from then on */
    bool is_woken;
} wait_rows[] = {
    {"deleted", FAULT_DELETE, 0, -1, 0, true},
    {"flushed", FAULT_FLUSHALL, 0, -1, 0, true},
    {"expired", FAULT_SHORTEN, 1, -1, 0, true},
    {"shortened", FAULT_SHORTEN, 20000, -1, 0, false},
    {"deleted, the push is lost with the connection", FAULT_DELETE, 0, 0, 0, true},
    {"deleted after it was tracked again", FAULT_DELETE, 0, 300, 0, true},
    {"deleted, the push is late", FAULT_DELETE, 0, -1, 30, true},
};

static const struct {
    int64_t family, side, waiter_side;
} wait_families[] = {
    {FAMILY_PLAIN, 0, 0},         {FAMILY_FENCED, 0, 0},     {FAMILY_SPIN, 0, 0},
    {FAMILY_VALUE, 0, 0},         {FAMILY_READ_WRITE, 0, 1}, {FAMILY_READ_WRITE, 1, 0},
    {FAMILY_READ_WRITE, 1, 1},
};

/* The second program, which waits. */
static void add_waiter(int64_t tracks, int64_t is_deaf)
{
    plan.head.is_deaf = is_deaf;
    plan.head.piece_max = tracks == 2 ? 7 : 0; /* the second push comes during a request */
    plan.program_count = 2;
    plan.programs[1] = (struct plan_program){.offset_ms = 2000000};
}

/* The faults of the waiter's connection. They must be the first of the plan. */
static void add_waiter_faults(int64_t late_ms, int64_t reset_ms)
{
    plan.fault_count = 0;
    if (late_ms > 0)
        add_fault(WAITER_MS + 500, FAULT_DELAY, late_ms);
    if (reset_ms >= 0)
        add_fault(FREED_MS - reset_ms, FAULT_RESET, 0);
    for (size_t i = 0; i < plan.fault_count; i++)
        plan.faults[i].program = 1;
}

static void plan_wait(const struct wait_row *row, size_t f, int64_t tracks, int64_t is_deaf)
{
    struct row its = {row->name, row->kind, row->n, false, -1};

    plan_row(&its, wait_families[f].family, tracks, WATCHDOG_MS);
    add_waiter(tracks, is_deaf);
    plan.ops[0].side = wait_families[f].side;
    plan.ops[1] = (struct plan_op){.at_ms = WAITER_MS, .program = 1, .owner = 1,
                                   .side = wait_families[f].waiter_side,
                                   .wait_ms = HF_FOREVER, .hold_ms = -1};
    plan.op_count = 2;
    add_waiter_faults(row->late_ms, row->reset_ms);
    add_fault(FREED_MS, row->kind, row->n);
}

/* The time of the first two grants. */
static int read_grants(int64_t at_us[2])
{
    char *text = history_of_plan(&plan), *rest = text;
    struct history_event e;
    int count = 0;

    while (history_next(&rest, &e))
        if (e.what == HISTORY_END && e.status.len == 5 &&
            memcmp(e.status.at, "HF_OK", 5) == 0 && count < 2)
            at_us[count++] = e.time_us;
    free(text);
    return count;
}

static void must_be_woken(const struct wait_row *row, size_t f, int64_t tracks,
                          int64_t is_deaf)
{
    int64_t at_us[2] = {0}, ms = HISTORY_NONE;

    plan_wait(row, f, tracks, is_deaf);
    if (read_grants(at_us) == 2)
        ms = (at_us[1] - at_us[0]) / 1000 - (FREED_MS - HOLDER_MS);
    ck_assert_msg((ms != HISTORY_NONE && ms < AT_ONCE_US / 1000 + 2 * row->late_ms) ==
                      row->is_woken,
                  "%s, %s, %s, pushes %lld: granted after %lld ms", row->name,
                  plan_family_name(wait_families[f].family), is_deaf ? "deaf" : "subscribed",
                  (long long)tracks, (long long)ms);
}

/* TRACK-8: also a waiter that may not subscribe. */
START_TEST(track_8_waiter_is_woken_at_once)
{
    for (size_t f = 0; f < ROWS(wait_families); f++)
        for (int64_t tracks = 1; tracks <= 2; tracks++)
            for (int64_t is_deaf = 0; is_deaf <= 1; is_deaf++)
                must_be_woken(&wait_rows[_i], f, tracks, is_deaf);
}
END_TEST

/* ---- waiters of latches and semaphores: the key is the counter ---- */

#define NO_FAULT (-1)

static const struct count_row {
    const char *name;
    int64_t family;
    int64_t kind, n;            /* of the fault; NO_FAULT: a client changes the count. With
                                   FAULT_DELETE, n: the TTL that it is given before */
    int64_t reset_ms;           /* as in struct row; of the waiter's connections */
    int64_t late_ms;            /* as in struct wait_row */
    bool needs_deafness;        /* otherwise a notification wakes it */
    bool is_woken;
} count_rows[] = {
    {"latch, deleted", FAMILY_LATCH, FAULT_DELETE, 0, -1, 0, false, true},
    {"latch, flushed", FAMILY_LATCH, FAULT_FLUSHALL, 0, -1, 0, false, true},
    {"latch, expired", FAMILY_LATCH, FAULT_SHORTEN, 1, -1, 0, false, true},
    {"latch, given a TTL", FAMILY_LATCH, FAULT_SHORTEN, 20000, -1, 0, false, false},
    {"latch, deleted, the push is lost with the connection", FAMILY_LATCH, FAULT_DELETE, 0, 0,
     0, false, true},
    {"latch, deleted after it was tracked again", FAMILY_LATCH, FAULT_DELETE, 0, 300, 0, false,
     true},
    {"latch, deleted, the push is late", FAMILY_LATCH, FAULT_DELETE, 0, -1, 30, false, true},
    {"latch, given a TTL, then deleted", FAMILY_LATCH, FAULT_DELETE, 20000, -1, 0, false, true},
    {"latch, counted down", FAMILY_LATCH, NO_FAULT, 0, -1, 0, true, true},
    {"latch, counted down after it was tracked again", FAMILY_LATCH, NO_FAULT, 0, 300, 0, true,
     true},
    {"semaphore, released", FAMILY_SEMAPHORE, NO_FAULT, 0, -1, 0, true, true},
    {"semaphore, released, the push is lost with the connection", FAMILY_SEMAPHORE, NO_FAULT, 0,
     0, 0, true, true},
    {"semaphore, released after it was tracked again", FAMILY_SEMAPHORE, NO_FAULT, 0, 300, 0,
     true, true},
    {"semaphore, released, the push is late", FAMILY_SEMAPHORE, NO_FAULT, 0, -1, 30, true, true},
    {"semaphore, deleted: it has no permits", FAMILY_SEMAPHORE, FAULT_DELETE, 0, -1, 0, false,
     false},
};

/* The waiter is the second call that ends well; the first is a client that has taken the only
 * permit, or counts down. */
static void plan_count(const struct count_row *row, int64_t tracks, int64_t is_deaf)
{
    struct row its = {row->name, row->kind, row->n, false, -1};
    bool is_latch = row->family == FAMILY_LATCH;

    plan_row(&its, row->family, tracks, 0);
    add_waiter(tracks, is_deaf);
    plan.locks[0].permits = 1;
    plan.ops[0] = is_latch ? (struct plan_op){.at_ms = FREED_MS, .verb = OP_GIVE, .owner = 1}
                           : (struct plan_op){.at_ms = HOLDER_MS, .owner = 1, .n = 1,
                                              .hold_ms = FREED_MS - HOLDER_MS};
    if (is_latch && row->kind != NO_FAULT)
        plan.ops[0].at_ms = LENGTH_MS;
    if (!is_latch && row->kind != NO_FAULT)
        plan.ops[0].hold_ms = LENGTH_MS;
    plan.ops[1] = (struct plan_op){.at_ms = WAITER_MS, .program = 1, .owner = 1, .n = 1,
                                   .wait_ms = HF_FOREVER, .hold_ms = -1};
    plan.op_count = 2;
    add_waiter_faults(row->late_ms, row->reset_ms);
    if (row->kind == FAULT_DELETE && row->n > 0)
        add_fault(FREED_MS - 1000, FAULT_SHORTEN, row->n);
    if (row->kind != NO_FAULT)
        add_fault(FREED_MS, row->kind, row->n);
}

/* When the call of the second program that waits has ended, after FREED_MS; in ms. */
static int64_t waited_ms(void)
{
    char *text = history_of_plan(&plan), *rest = text;
    int64_t asked_us = HISTORY_NONE, ended_us = HISTORY_NONE, call = 0;
    struct history_event e;

    while (history_next(&rest, &e)) {
        if (e.what == HISTORY_ASK && e.op == HISTORY_OP_ACQUIRE && e.wait_ms < 0) {
            asked_us = e.time_us;
            call = e.call;
        }
        if (e.what == HISTORY_END && asked_us != HISTORY_NONE && e.call == call &&
            e.status.len == 5 && memcmp(e.status.at, "HF_OK", 5) == 0)
            ended_us = e.time_us;
    }
    free(text);
    ck_assert(asked_us != HISTORY_NONE);
    return ended_us == HISTORY_NONE
               ? HISTORY_NONE
               : (ended_us - asked_us) / 1000 - (FREED_MS - WAITER_MS);
}

static void must_pass(const struct count_row *row, int64_t tracks, int64_t is_deaf)
{
    int64_t ms;

    plan_count(row, tracks, is_deaf);
    ms = waited_ms();
    ck_assert_msg((ms != HISTORY_NONE && ms >= 0 &&
                   ms < AT_ONCE_US / 1000 + 2 * row->late_ms) == row->is_woken,
                  "%s, %s, pushes %lld: passed after %lld ms", row->name,
                  is_deaf ? "deaf" : "subscribed", (long long)tracks, (long long)ms);
}

/* TRACK-8 */
START_TEST(track_8_waiter_for_a_count_is_woken_at_once)
{
    const struct count_row *row = &count_rows[_i];

    for (int64_t tracks = 1; tracks <= 2; tracks++)
        for (int64_t is_deaf = row->needs_deafness; is_deaf <= 1; is_deaf++)
            must_pass(row, tracks, is_deaf);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: losses that the server reports");
    TCase *c = tcase_create("pushes");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, track_2_a_loss_is_reported_at_once, 0, ROWS(rows));
    tcase_add_loop_test(c, track_6_each_owner_of_a_shared_key_is_told, 0, SHARED_ROWS);
    tcase_add_test(c, lease_6_a_renewal_does_not_wait_for_a_slow_look);
    tcase_add_loop_test(c, track_8_waiter_is_woken_at_once, 0, ROWS(wait_rows));
    tcase_add_loop_test(c, track_8_waiter_for_a_count_is_woken_at_once, 0, ROWS(count_rows));
    suite_add_tcase(s, c);
    return suite_run(s);
}
