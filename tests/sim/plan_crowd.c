/* Crowds: what other plans have few of is here in great numbers. One kind in each plan:
 *
 * readers    a hundred owners or more of one program read one lock with a long name, and
 *            are renewed
 * names      one program holds more than a hundred locks
 * listeners  more than 16 clients wait for one lock
 * takers     a hundred calls or more of one program take permits of a semaphore with a
 *            long name
 *
 * Their calls begin at nearly the same time, and a connection takes few bytes at once, so
 * that the output is full. No fault leaves late orphans (run.c): among hundreds of readers a
 * client would not find them. */
#include <string.h>

#include "tests/sim/draw.h"
#include "tests/sim/plan_inner.h"

enum kind { READERS, NAMES, LISTENERS, TAKERS, KINDS };

#define BURST_MS 1000
#define LEAST_OUTPUT (192 * 1024) /* as connect.h */
#define OTHERS_MAX 60             /* calls of other programs */

void plan_crowd_head(struct plan_head *head, uint64_t *dice)
{
    static const int64_t profiles[] = {PROFILE_CLEAR, PROFILE_SINGLE, PROFILE_WILD, PROFILE_WILD};

    head->profile = draw_pick(dice, profiles, DRAW_COUNT(profiles));
    head->scenario = SCENARIO_NONE;
}

/* ---- the head ---- */

/* Fast enough for renewals of all, and whole: a megabyte in pieces of 40 bytes takes
 * long to execute. */
static void be_fast(struct plan_head *h, uint64_t *dice)
{
    static const int64_t watchdogs_ms[] = {3000, 10000};
    static const int64_t windows[] = {0, 64 << 10, 256 << 10};

    h->is_crowd = 1;
    h->watchdog_ms = draw_pick(dice, watchdogs_ms, DRAW_COUNT(watchdogs_ms));
    h->latency_us = draw_between(dice, 100, 2000);
    h->jitter_us = draw_below(dice, h->latency_us);
    h->lag_us = h->latency_us;
    h->replicas = 0;
    h->piece_max = 0;
    h->is_deaf = 0;
    h->window = draw_pick(dice, windows, DRAW_COUNT(windows));
    h->output_max = draw_one_in(dice, 4) ? 0 : LEAST_OUTPUT;
}

/* ---- calls ---- */

static struct plan_op *add(struct plan *plan, int64_t at_ms, int64_t verb)
{
    static struct plan_op lost;

    if (plan->op_count == PLAN_OPS_MAX)
        return &lost;
    plan->ops[plan->op_count] = (struct plan_op){.at_ms = at_ms, .verb = verb, .owner = 1};
    return &plan->ops[plan->op_count++];
}

static int64_t draw_burst_ms(uint64_t *dice)
{
    static const int64_t spreads_ms[] = {1, 20, 300};

    return draw_pick(dice, spreads_ms, DRAW_COUNT(spreads_ms));
}

/* Long enough for a few renewals. */
static int64_t draw_hold_ms(const struct plan *plan, uint64_t *dice)
{
    return draw_one_in(dice, 40) ? -1
                                 : plan->head.watchdog_ms * draw_between(dice, 20, 250) / 100;
}

static int64_t draw_wait_ms(uint64_t *dice)
{
    return draw_one_in(dice, 3) ? HF_FOREVER : draw_between(dice, 0, 20000);
}

/* Owner `number` of the first program. */
static struct plan_op *enter(struct plan *plan, int64_t number, int64_t spread_ms,
                             uint64_t *dice)
{
    struct plan_op *op = add(plan, BURST_MS + draw_below(dice, spread_ms), OP_ACQUIRE);

    op->owner = number;
    op->wait_ms = draw_wait_ms(dice);
    op->hold_ms = draw_hold_ms(plan, dice);
    if (draw_one_in(dice, 20))
        op->lease_ms = plan->head.watchdog_ms * draw_between(dice, 1, 4);
    return op;
}

/* Of any program: what else happens to such a crowd. */
static void disturb(struct plan *plan, int64_t owners, uint64_t *dice)
{
    static const int64_t verbs[] = {OP_ACQUIRE, OP_ACQUIRE, OP_ACQUIRE, OP_ACQUIRE,
                                    OP_RELEASE, OP_CANCEL,  OP_INSPECT, OP_FORCE, OP_SET};

    for (int64_t i = draw_below(dice, OTHERS_MAX); i > 0; i--) {
        struct plan_op *op = add(plan, draw_below(dice, plan->head.length_ms),
                                 draw_pick(dice, verbs, DRAW_COUNT(verbs)));

        op->program = draw_one_in(dice, 2) ? 0 : draw_below(dice, (int64_t)plan->program_count);
        op->lock = draw_below(dice, (int64_t)plan->lock_count);
        op->owner = draw_between(dice, 1, op->program == 0 ? owners : PLAN_OWNERS);
        if (plan_has_sides(plan->locks[op->lock].family))
            op->side = draw_below(dice, 2);
        op->wait_ms = draw_wait_ms(dice);
        op->hold_ms = draw_spread(dice, 1, plan->head.watchdog_ms);
    }
    if (draw_one_in(dice, 4))
        add(plan, draw_below(dice, plan->head.length_ms), draw_one_in(dice, 2) ? OP_CLOSE : OP_FREE)
            ->hold_ms = draw_below(dice, 5000);
}

static void be_one_lock(struct plan *plan, int64_t family)
{
    plan->lock_count = 1;
    plan->locks[0] = (struct plan_lock){.family = family, .name = PLAN_NAME_LONGEST};
}

static void draw_readers(struct plan *plan, uint64_t *dice)
{
    int64_t count = draw_between(dice, 110, 250), spread_ms = draw_burst_ms(dice);

    be_one_lock(plan, FAMILY_READ_WRITE);
    for (int64_t i = 1; i <= count; i++)
        (void)enter(plan, i, spread_ms, dice);
    disturb(plan, count, dice);
}

static void draw_names(struct plan *plan, uint64_t *dice)
{
    static const int64_t families[] = {FAMILY_PLAIN, FAMILY_NONREENTRANT, FAMILY_FENCED,
                                       FAMILY_VALUE};
    int64_t family = draw_pick(dice, families, DRAW_COUNT(families));
    int64_t owners = draw_between(dice, 1, 100), spread_ms = draw_burst_ms(dice);

    plan->lock_count = (size_t)draw_between(dice, 110, PLAN_LOCKS_MAX);
    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++) {
        plan->locks[i] =
            (struct plan_lock){.family = family, .name = PLAN_NAMES_MANY + i};
        enter(plan, 1 + i % owners, spread_ms, dice)->lock = i;
    }
    disturb(plan, owners, dice);
}

/* Programs beyond those that were drawn have clocks like the others. */
static void draw_listeners(struct plan *plan, uint64_t *dice)
{
    static const int64_t families[] = {FAMILY_PLAIN, FAMILY_NONREENTRANT, FAMILY_FENCED,
                                       FAMILY_READ_WRITE};
    size_t drawn = plan->program_count;
    int64_t calls;

    plan->program_count = (size_t)draw_between(dice, 18, PLAN_PROGRAMS_MAX);
    for (size_t i = drawn; i < plan->program_count; i++)
        plan->programs[i] = plan->programs[i % drawn];
    plan->lock_count = 1;
    plan->locks[0].family = draw_pick(dice, families, DRAW_COUNT(families));
    plan->locks[0].name = draw_below(dice, 3);
    calls = (int64_t)plan->program_count * draw_between(dice, 2, 6);
    for (int64_t i = 0; i < calls; i++) {
        struct plan_op *op = add(plan, BURST_MS + draw_spread(dice, 1, 4000), OP_ACQUIRE);

        op->program = i % (int64_t)plan->program_count;
        op->owner = draw_between(dice, 1, PLAN_OWNERS);
        op->side = plan_has_sides(plan->locks[0].family) && !draw_one_in(dice, 4);
        op->wait_ms = draw_one_in(dice, 4) ? draw_between(dice, 1, 20000) : HF_FOREVER;
        op->hold_ms = draw_spread(dice, 1, 300);
    }
    disturb(plan, PLAN_OWNERS, dice);
}

static void draw_takers(struct plan *plan, uint64_t *dice)
{
    int64_t count = draw_between(dice, 110, 250), spread_ms = draw_burst_ms(dice);

    be_one_lock(plan, draw_one_in(dice, 2) ? FAMILY_SEMAPHORE : FAMILY_PERMIT);
    plan->locks[0].permits = draw_between(dice, 50, 300);
    for (int64_t i = 1; i <= count; i++) {
        struct plan_op *op = enter(plan, i, spread_ms, dice);

        if (plan->locks[0].family == FAMILY_SEMAPHORE)
            op->n = draw_between(dice, 1, 3), op->lease_ms = 0;
    }
    disturb(plan, count, dice);
}

/* ---- faults ---- */

static const int64_t faults[] = {
    FAULT_DELAY,   FAULT_HOLD_BACK, FAULT_CUT,  FAULT_RESET,   FAULT_HALF_OPEN,
    FAULT_REFUSE,  FAULT_IGNORE,    FAULT_FREEZE, FAULT_RESTART, FAULT_FORGET,
    FAULT_LOADING, FAULT_BUSY,      FAULT_FULL, FAULT_CROWDED, FAULT_SCRIPTS,
    FAULT_KILL,    FAULT_FLUSHALL,  FAULT_FAILOVER, FAULT_MOVE_SLOT, FAULT_DELETE,
    FAULT_SUSPEND, FAULT_OUTPUT,    FAULT_IDLE};

/* While the calls begin. */
static void go_to_burst(struct plan_fault *f, uint64_t *dice)
{
    f->at_ms = BURST_MS + draw_between(dice, -50, 350);
    f->program = 0;
}

static void draw_faults(struct plan *plan, uint64_t *dice)
{
    int64_t count = plan->head.profile == PROFILE_CLEAR    ? 0
                    : plan->head.profile == PROFILE_SINGLE ? 1
                                                     : draw_between(dice, 2, 8);

    while (count > 0) {
        int64_t kind = draw_pick(dice, faults, DRAW_COUNT(faults));

        if (!plan_can_be(kind, plan->head.deployment))
            continue;
        plan_add_fault(plan, kind, dice);
        if (draw_one_in(dice, 3))
            go_to_burst(&plan->faults[plan->fault_count - 1], dice);
        count--;
    }
}

/* ---- all ---- */

void plan_crowd_last(struct plan *plan, uint64_t *dice)
{
    static void (*const draw[KINDS])(struct plan *plan, uint64_t *dice) = {
        [READERS] = draw_readers,
        [NAMES] = draw_names,
        [LISTENERS] = draw_listeners,
        [TAKERS] = draw_takers,
    };

    be_fast(&plan->head, dice);
    plan->head.length_ms = BURST_MS + 3 * plan->head.watchdog_ms;
    memset(plan->locks, 0, sizeof plan->locks);
    memset(plan->ops, 0, sizeof plan->ops);
    memset(plan->faults, 0, sizeof plan->faults);
    plan->op_count = plan->fault_count = 0;
    draw[draw_below(dice, KINDS)](plan, dice);
    plan_sort_ops(plan);
    draw_faults(plan, dice);
    plan_sort_faults(plan);
}
