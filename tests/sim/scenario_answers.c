/* Scenarios in which a reply is lost: the server may have granted a lock, or not released
 * it, for a client that sends no further request. */
#include "tests/sim/scenario.h"

#define LEASE_LONG_MS 150000 /* it lasts until the end of the run */
#define SERVERS 8

/* ---- program and lock ---- */

/* Each repetition has a program and a lock of its own: no later call of that client requests
 * the lock and finds the remains. One repetition in six uses an earlier pair again. */
static int64_t draw_pair(const struct plan *plan, int64_t repeat, uint64_t *dice)
{
    int64_t pairs = (int64_t)plan->program_count * (int64_t)plan->lock_count;

    return (draw_one_in(dice, 6) ? draw_below(dice, repeat + 1) : repeat) % pairs;
}

static struct plan_op *add_op(struct plan *plan, int64_t at_ms, int64_t verb,
                              int64_t pair, uint64_t *dice)
{
    struct plan_op *op =
        scenario_op(plan, at_ms, verb, draw_between(dice, 1, PLAN_OWNERS));

    op->program = pair % (int64_t)plan->program_count;
    op->lock = pair / (int64_t)plan->program_count;
    if (plan_has_sides(plan->locks[op->lock].family))
        op->side = draw_below(dice, 2);
    return op;
}

/* As another operation: the same program, lock, side. */
static struct plan_op *add_beside(struct plan *plan, const struct plan_op *other,
                                  int64_t at_ms, int64_t verb, int64_t owner)
{
    struct plan_op *op = scenario_op(plan, at_ms, verb, owner);

    op->program = other->program;
    op->lock = other->lock;
    op->side = other->side;
    return op;
}

/* ---- its requests ---- */

static int64_t draw_lease(const struct plan *plan, uint64_t *dice)
{
    if (!draw_one_in(dice, 4))
        return LEASE_LONG_MS;
    return draw_below(dice, 2) *
           draw_spread(dice, 30, 4 * plan->head.watchdog_ms);
}

/* Not at all, up to a few request timeouts, or for ever. */
static int64_t draw_wait(const struct plan *plan, uint64_t *dice)
{
    if (draw_one_in(dice, 3))
        return 0;
    return draw_one_in(dice, 8)
               ? HF_FOREVER
               : draw_spread(dice, 1, 8 * plan->head.request_ms);
}

static void draw_acquire(struct plan_op *op, const struct plan *plan,
                         uint64_t *dice)
{
    int64_t request_ms = plan->head.request_ms;

    op->lease_ms = draw_lease(plan, dice);
    op->wait_ms = draw_wait(plan, dice);
    op->hold_ms = draw_spread(dice, 1, 2 * request_ms);
    if (draw_one_in(dice, 6))
        op->max_hold_ms = draw_spread(dice, 50, 2 * request_ms);
    if (draw_one_in(dice, 4))
        op->flags |= FLAG_RELEASE_IN_LOST;
    if (draw_one_in(dice, 6))
        op->flags |= FLAG_ACQUIRE_IN_DONE;
    if (plan->head.replicas != 0 && draw_one_in(dice, 2))
        op->flags |= FLAG_KEEP_UNREPLICATED;
}

static void cancel_some(struct plan *plan, const struct plan_op *op,
                        uint64_t *dice)
{
    if (draw_one_in(dice, 4))
        (void)add_beside(plan, op,
                         op->at_ms +
                             draw_spread(dice, 1, 4 * plan->head.request_ms),
                         OP_CANCEL, op->owner);
}

/* ---- what goes wrong ---- */

/* Between the program and a server, mostly a master, or with that server. */
static struct plan_fault *add_fault(struct plan *plan, const struct plan_op *op,
                                    int64_t at_ms, int64_t kind,
                                    int64_t for_ms, uint64_t *dice)
{
    struct plan_fault *fault = scenario_fault(plan, at_ms, kind, for_ms);

    fault->program = op->program;
    fault->lock = op->lock;
    fault->server = draw_below(
        dice, draw_one_in(dice, 4) ? SERVERS : plan->head.masters);
    fault->to_server = draw_below(dice, 2);
    fault->n = draw_spread(dice, 1, 400);
    return fault;
}

/* One connection alone: the oldest is the main one. */
static void choose_connection(struct plan_fault *fault, uint64_t *dice)
{
    if (fault->kind <= FAULT_HALF_OPEN)
        fault->connection = draw_one_in(dice, 2) ? 1 : draw_between(dice, 1, 3);
}

/* A few crossings of the link before or after that moment. */
static int64_t draw_about(const struct plan *plan, int64_t at_ms,
                          uint64_t *dice)
{
    int64_t crossing_ms = plan->head.latency_us / 1000 + 1;

    return at_ms + draw_between(dice, -2 * crossing_ms, 6 * crossing_ms);
}

/* The request is lost or late, or its reply is. */
static const int64_t silences[] = {
    FAULT_DELAY,  FAULT_HOLD_BACK, FAULT_HOLD_BACK, FAULT_CUT,  FAULT_RESET,
    FAULT_FREEZE, FAULT_HALF_OPEN, FAULT_RESTART,   FAULT_KILL,
};

/* The server cannot be reached. */
static const int64_t absences[] = {
    FAULT_HOLD_BACK, FAULT_HALF_OPEN, FAULT_REFUSE,  FAULT_IGNORE, FAULT_FREEZE,
    FAULT_RESTART,   FAULT_RESTART,   FAULT_LOADING, FAULT_BUSY,   FAULT_SUSPEND,
};

static void fall_silent(struct plan *plan, const struct plan_op *op,
                        int64_t at_ms, uint64_t *dice)
{
    int64_t request_ms = plan->head.request_ms;
    struct plan_fault *fault = add_fault(
        plan, op, at_ms, draw_pick(dice, silences, DRAW_COUNT(silences)),
        draw_spread(dice, request_ms / 4, 4 * request_ms), dice);

    if (draw_one_in(dice, 3))
        choose_connection(fault, dice);
}

static void be_away(struct plan *plan, const struct plan_op *op, int64_t at_ms,
                    uint64_t *dice)
{
    int64_t request_ms = plan->head.request_ms;

    (void)add_fault(plan, op, at_ms,
                    draw_pick(dice, absences, DRAW_COUNT(absences)),
                    draw_spread(dice, request_ms / 4, 8 * request_ms), dice);
}

/* ---- scenarios ---- */

/* A lock that its owner acquires once, releases, and never requests again. The reply to
 * the acquire or to the release is lost, and mostly the server is then unreachable until
 * the call, or its wait, has ended. */
void scenario_unanswered(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENARIO_REPEATS_MAX];
    size_t repeats = scenario_repeats(plan, times_ms, dice);

    for (size_t i = 0; i < repeats; i++) {
        struct plan_op *op =
            add_op(plan, times_ms[i], OP_ACQUIRE,
                   draw_pair(plan, (int64_t)i, dice), dice);
        int64_t at_ms;

        draw_acquire(op, plan, dice);
        at_ms = draw_about(
            plan, op->at_ms + draw_below(dice, 2) * op->hold_ms, dice);
        fall_silent(plan, op, at_ms, dice);
        if (!draw_one_in(dice, 3))
            be_away(plan, op,
                    at_ms + draw_spread(dice, 1, 2 * plan->head.request_ms) - 1,
                    dice);
        cancel_some(plan, op, dice);
    }
}

/* Another program, or another owner, has it until `free_ms`, or lets its lease
 * end then. */
static void add_rival(struct plan *plan, const struct plan_op *op,
                      int64_t free_ms, uint64_t *dice)
{
    int64_t ahead_ms = draw_spread(dice, 1, plan->head.request_ms);
    struct plan_op *rival =
        add_beside(plan, op, op->at_ms - ahead_ms, OP_ACQUIRE,
                   op->owner % PLAN_OWNERS + 1);

    if (rival->at_ms < 0)
        rival->at_ms = 0;
    if (!draw_one_in(dice, 4))
        rival->program = draw_below(dice, (int64_t)plan->program_count);
    rival->hold_ms = free_ms - rival->at_ms;
    if (draw_one_in(dice, 4)) {
        rival->lease_ms = rival->hold_ms;
        rival->hold_ms *= 2;
    }
}

/* An owner waits for a lock that is held. It becomes free, the server grants it,
 * and cannot say so; then it is away, and the wait ends meanwhile. */
void scenario_unheard(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENARIO_REPEATS_MAX];
    size_t repeats = scenario_repeats(plan, times_ms, dice);
    int64_t request_ms = plan->head.request_ms;

    for (size_t i = 0; i < repeats; i++) {
        struct plan_op *op =
            add_op(plan, times_ms[i], OP_ACQUIRE,
                   draw_pair(plan, (int64_t)i, dice), dice);
        int64_t free_ms = op->at_ms + draw_spread(dice, 10, 2 * request_ms);
        int64_t at_ms = draw_about(plan, free_ms, dice);

        draw_acquire(op, plan, dice);
        if (op->wait_ms >= 0)
            op->wait_ms =
                free_ms - op->at_ms + draw_between(dice, 1, 4 * request_ms);
        add_rival(plan, op, free_ms, dice);
        fall_silent(plan, op, at_ms, dice);
        be_away(plan, op, at_ms + draw_spread(dice, 1, request_ms) - 1, dice);
        cancel_some(plan, op, dice);
    }
}

/* Clients may not kill their old connections: requests of those may be executed after
 * requests of the new ones. */
static void forbid_kill(struct plan *plan)
{
    for (int64_t i = 0; i < plan->head.masters; i++) {
        struct plan_fault *fault =
            scenario_fault(plan, 0, FAULT_ACL, plan->head.length_ms);

        fault->server = i;
        fault->n = PLAN_ACL_KILL;
    }
}

/* Faults that delay a request on its way, or in the server. */
static const int64_t delays[] = {FAULT_HOLD_BACK, FAULT_HOLD_BACK, FAULT_DELAY,
                                 FAULT_FREEZE};

static void be_slow(struct plan *plan, const struct plan_op *op, int64_t at_ms,
                    uint64_t *dice)
{
    int64_t request_ms = plan->head.request_ms;
    struct plan_fault *fault =
        add_fault(plan, op, at_ms, draw_pick(dice, delays, DRAW_COUNT(delays)),
                  draw_spread(dice, request_ms / 2, 8 * request_ms), dice);

    fault->to_server = !draw_one_in(dice, 8);
    if (fault->kind == FAULT_DELAY)
        fault->n = draw_spread(dice, request_ms / 2, 8 * request_ms);
    if (!draw_one_in(dice, 4))
        choose_connection(fault, dice);
}

/* A client that has sent a request before, so that its connection exists and the server
 * knows its scripts. Its next request is executed late, after a request that it sent over
 * another connection. */
void scenario_late(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENARIO_REPEATS_MAX];
    size_t repeats = scenario_repeats(plan, times_ms, dice);
    int64_t request_ms = plan->head.request_ms;

    if (!draw_one_in(dice, 4))
        forbid_kill(plan);
    for (size_t i = 0; i < repeats; i++) {
        struct plan_op *before =
            add_op(plan, times_ms[i], OP_ACQUIRE,
                   draw_pair(plan, (int64_t)i, dice), dice);
        struct plan_op *op;

        before->hold_ms = draw_spread(dice, 1, request_ms);
        op = add_beside(plan, before,
                        before->at_ms + before->hold_ms +
                            draw_spread(dice, 1, request_ms),
                        OP_ACQUIRE, before->owner);
        draw_acquire(op, plan, dice);
        be_slow(plan, op,
                draw_about(plan, op->at_ms + draw_below(dice, 2) * op->hold_ms,
                           dice),
                dice);
        cancel_some(plan, op, dice);
    }
}
