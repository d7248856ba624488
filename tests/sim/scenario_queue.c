/* Scenarios of fair locks: a waiter in the queue ends its wait, dies, is suspended, or misses
 * the notification of its turn; and the later waiters wait. */
#include "tests/sim/scenario.h"

#define LEASE_LONG_MS 150000
#define WAITERS_MAX 6
#define EVENTS_MAX 3

static const int64_t watchdogs_ms[] = {3000, 10000, 30000, 30000};
static const int64_t requests_ms[] = {300, 1000};

static void be_fast(struct plan_head *h, uint64_t *dice)
{
    h->is_deaf = 0;
    h->replicas = 0;
    h->watchdog_ms = draw_pick(dice, watchdogs_ms, DRAW_COUNT(watchdogs_ms));
    h->request_ms = draw_pick(dice, requests_ms, DRAW_COUNT(requests_ms));
    h->length_ms = draw_between(dice, 20000, 120000);
}

/* Its further keys must be in its slot; names of one plan follow each other. */
static void be_fair(struct plan *plan, uint64_t *dice)
{
    int64_t next = plan->locks[0].name + (int64_t)plan->lock_count;

    for (size_t i = 0; i < plan->lock_count; i++) {
        plan->locks[i].family = draw_one_in(dice, 3) ? FAMILY_MIXED_FAIR : FAMILY_FAIR;
        if (plan_name_has_two_slots(plan, (int64_t)i))
            plan->locks[i].name = next % PLAN_NAMES_DRAWN;
    }
}

/* ---- who holds, and who waits ---- */

struct repeat {
    int64_t lock, at_ms, release_ms;
    struct plan_op waiters[WAITERS_MAX];
    int64_t count;
};

static struct plan_op *acquire(struct plan *plan, int64_t at_ms, int64_t lock,
                               uint64_t *dice)
{
    struct plan_op *op =
        scenario_op(plan, at_ms, OP_ACQUIRE, draw_between(dice, 1, PLAN_OWNERS));

    op->program = draw_below(dice, (int64_t)plan->program_count);
    op->lock = lock;
    op->wait_ms = HF_FOREVER;
    if (plan_has_sides(plan->locks[lock].family))
        op->side = draw_below(dice, 2);
    return op;
}

static void let_hold(struct plan *plan, const struct repeat *repeat, uint64_t *dice)
{
    struct plan_op *op = acquire(plan, repeat->at_ms, repeat->lock, dice);

    op->hold_ms = repeat->release_ms - repeat->at_ms;
    if (draw_one_in(dice, 2))
        op->lease_ms = draw_one_in(dice, 2) ? LEASE_LONG_MS : op->hold_ms + 1;
}

/* Most for ever; some until about the release, some for a short time. */
static void let_wait(struct plan *plan, struct repeat *repeat, uint64_t *dice)
{
    int64_t hold_ms = repeat->release_ms - repeat->at_ms;
    struct plan_op *op =
        acquire(plan, repeat->at_ms + draw_spread(dice, 1, hold_ms), repeat->lock, dice);

    op->hold_ms = draw_spread(dice, 1, 2000);
    switch (draw_below(dice, 6)) {
    case 0:
        op->wait_ms = draw_spread(dice, 1, 2 * hold_ms);
        break;
    case 1:
        op->wait_ms = repeat->release_ms + draw_between(dice, -30, 30) - op->at_ms;
        if (op->wait_ms <= 0)
            op->wait_ms = 1;
        break;
    default:
        break;
    }
    repeat->waiters[repeat->count++] = *op;
}

/* ---- what happens to them ---- */

static int64_t when(const struct repeat *repeat, uint64_t *dice)
{
    if (draw_one_in(dice, 2))
        return repeat->release_ms + draw_between(dice, -60, 60);
    return repeat->at_ms + draw_spread(dice, 1, 2 * (repeat->release_ms - repeat->at_ms));
}

static void leave(struct plan *plan, const struct repeat *repeat, int64_t verb,
                  uint64_t *dice)
{
    const struct plan_op *who = &repeat->waiters[draw_below(dice, repeat->count)];
    int64_t at_ms = when(repeat, dice);
    struct plan_op *op =
        scenario_op(plan, at_ms > 0 ? at_ms : 0, verb, who->owner);

    op->program = who->program;
    op->lock = who->lock;
    op->side = who->side;
    if (verb == OP_CLOSE)
        op->hold_ms = draw_below(dice, 2) * draw_spread(dice, 10, 1000);
}

static const int64_t link_faults[] = {FAULT_HOLD_BACK, FAULT_RESET, FAULT_CUT,
                                      FAULT_HALF_OPEN, FAULT_DELAY, FAULT_SUSPEND,
                                      FAULT_SUSPEND,   FAULT_SUSPEND};

static void disturb_one(struct plan *plan, const struct repeat *repeat, uint64_t *dice)
{
    const struct plan_op *who = &repeat->waiters[draw_below(dice, repeat->count)];
    int64_t kind = draw_pick(dice, link_faults, DRAW_COUNT(link_faults));
    struct plan_fault *f =
        scenario_fault(plan, when(repeat, dice), kind,
                       draw_spread(dice, 20, 2 * plan->head.watchdog_ms));

    f->program = who->program;
    f->lock = repeat->lock;
    f->server = draw_below(dice, 3);
    f->to_server = draw_one_in(dice, 3);
    f->connection = draw_below(dice, 4);
    if (kind == FAULT_DELAY)
        f->n = draw_spread(dice, 10, 3000);
    else if (kind == FAULT_CUT)
        f->n = draw_spread(dice, 1, 400);
}

static void disturb_lock(struct plan *plan, const struct repeat *repeat, int64_t kind,
                         uint64_t *dice)
{
    struct plan_fault *f = scenario_fault(plan, when(repeat, dice), kind,
                                          draw_spread(dice, 10, 4000));

    f->lock = repeat->lock;
    f->server = draw_below(dice, 2);
    if (kind == FAULT_PEER)
        f->n = draw_below(dice, 2);
}

static void happen(struct plan *plan, const struct repeat *repeat, int64_t what,
                   uint64_t *dice)
{
    switch (what) {
    case 0:
    case 1:
        leave(plan, repeat, OP_CANCEL, dice);
        break;
    case 2:
        leave(plan, repeat, OP_FREE, dice);
        break;
    case 3:
        leave(plan, repeat, OP_CLOSE, dice);
        break;
    case 4:
        leave(plan, repeat, OP_FORCE, dice);
        break;
    case 5:
    case 6:
        disturb_one(plan, repeat, dice);
        break;
    case 7:
        disturb_lock(plan, repeat, FAULT_PEER, dice);
        break;
    case 8:
        disturb_lock(plan, repeat, draw_one_in(dice, 2) ? FAULT_DELETE : FAULT_SHORTEN,
                     dice);
        break;
    default:
        if (plan_can_be(FAULT_MOVE_SLOT, plan->head.deployment))
            disturb_lock(plan, repeat, FAULT_MOVE_SLOT, dice);
        break;
    }
}

/* ---- a hold of minutes ---- */

/* When a Redisson-like waiter is granted the lock or leaves, all scores come earlier by
 * its whole wait: places that are short must not fall into the past, however long the
 * lock was held. */
static void hold_for_minutes(struct plan *plan, uint64_t *dice)
{
    struct repeat repeat = {.lock = draw_below(dice, (int64_t)plan->lock_count),
                            .at_ms = plan->head.length_ms};
    int64_t at_ms = repeat.at_ms;

    repeat.release_ms = at_ms + draw_between(dice, 40000, 120000);
    plan->head.length_ms = repeat.release_ms + 10000;
    let_hold(plan, &repeat, dice);
    for (int64_t n = draw_between(dice, 3, WAITERS_MAX); n > 0; n--) {
        at_ms += draw_between(dice, 50, 5000);
        if (draw_one_in(dice, 2)) {
            acquire(plan, at_ms, repeat.lock, dice)->hold_ms = draw_spread(dice, 1, 2000);
        } else {
            scenario_fault(plan, at_ms, FAULT_PEER,
                           repeat.release_ms - at_ms + draw_between(dice, -20000, 3000))
                ->lock = repeat.lock;
        }
    }
}

#define GOOD 5 /* of happenings: these are no faults */
#define HAPPENINGS 10

/* A lock is held, others queue for it, and not all of them stay until it is their
 * turn. In half of the plans nothing is wrong. */
void scenario_queue(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENARIO_REPEATS_MAX];
    int64_t happenings = draw_one_in(dice, 2) ? GOOD : HAPPENINGS;
    size_t repeats;

    be_fast(&plan->head, dice);
    be_fair(plan, dice);
    repeats = scenario_repeats(plan, times_ms, dice);
    for (size_t i = 0; i < repeats; i++) {
        struct repeat repeat = {.lock = (int64_t)i % (int64_t)plan->lock_count,
                                .at_ms = times_ms[i]};
        int64_t waiters = draw_between(dice, 2, WAITERS_MAX);

        repeat.release_ms =
            repeat.at_ms + draw_spread(dice, 100, plan->head.length_ms / 4);
        let_hold(plan, &repeat, dice);
        while (repeat.count < waiters)
            let_wait(plan, &repeat, dice);
        for (int64_t n = draw_between(dice, 0, EVENTS_MAX); n > 0; n--)
            happen(plan, &repeat, draw_below(dice, happenings), dice);
    }
    if (draw_one_in(dice, 3))
        hold_for_minutes(plan, dice);
}
