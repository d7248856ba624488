/* Scenarios with two ways to one server, of which one is slow: commands that set a
 * lock's TTL are executed in another order than they were sent, or their replies arrive in
 * another order; and a renewal is pending while its hold is released. The ways are the
 * connection of calls that wait for replicas and that of renewals, or an abandoned
 * connection and its successor. */
#include "tests/sim/scenario.h"

/* The lock, the program and the times of one repetition. */
struct target {
    int64_t program, lock, side, owner;
    int64_t third_ms;  /* between two renewals */
    int64_t answer_ms; /* how long a renewal waits for its reply */
};

static int64_t at_least_1(int64_t ms)
{
    return ms > 0 ? ms : 1;
}

/* Repetitions use one lock after the other, so that they do not disturb each other. */
static struct target draw_target(const struct plan *plan, size_t repeat,
                                 uint64_t *dice)
{
    const struct plan_head *h = &plan->head;
    int64_t third_ms = h->watchdog_ms / 3;
    size_t lock = repeat % plan->lock_count;
    bool has_sides = plan_has_sides(plan->locks[lock].family);

    return (struct target){
        .program = draw_below(dice, (int64_t)plan->program_count),
        .lock = (int64_t)lock,
        .side = has_sides ? draw_below(dice, 2) : 0,
        .owner = (int64_t)repeat % PLAN_OWNERS + 1,
        .third_ms = third_ms,
        .answer_ms = third_ms < h->request_ms ? third_ms : h->request_ms};
}

static struct plan_op *acquire_on(struct plan *plan, const struct target *s,
                                  int64_t at_ms)
{
    struct plan_op *op = scenario_op(plan, at_ms, OP_ACQUIRE, s->owner);

    op->program = s->program;
    op->lock = s->lock;
    op->side = s->side;
    return op;
}

/* On the way to whichever master has the lock. */
static void put_fault(struct plan *plan, const struct target *s, int64_t at_ms,
                      struct plan_fault fault)
{
    for (int64_t i = 0; i < plan->head.masters; i++) {
        struct plan_fault *f =
            scenario_fault(plan, at_ms, fault.kind, fault.for_ms);

        f->program = s->program;
        f->server = i;
        f->to_server = fault.to_server;
        f->connection = fault.connection;
        f->n = fault.n;
    }
}

/* ---- the slow way ---- */

/* Two connections, where calls wait for replicas; where there are none, each
 * such call is one acquisition that too few have. */
static void draw_ways(struct plan_head *h, uint64_t *dice)
{
    if (draw_one_in(dice, 4))
        return;
    h->replicas = h->deployment == DEPLOY_STANDALONE
                      ? 1
                      : draw_between(dice, HF_REPLICAS_MAJORITY, 1);
}

static int64_t draw_connection(uint64_t *dice)
{
    return draw_one_in(dice, 8) ? draw_below(dice, 4)
                                : draw_between(dice, 1, 2);
}

/* Replies or requests that arrive later than those of the other way, but in time. */
static void slow_down(struct plan *plan, const struct target *s, int64_t at_ms,
                      uint64_t *dice)
{
    put_fault(plan, s, at_ms,
              (struct plan_fault){
                  .kind = FAULT_DELAY,
                  .for_ms = draw_between(dice, s->third_ms, 4 * s->third_ms),
                  .n = draw_between(dice, s->answer_ms / 20, s->answer_ms) + 1,
                  .to_server = draw_one_in(dice, 4),
                  .connection = draw_connection(dice)});
}

static const int64_t ends[] = {FAULT_RESET, FAULT_RESET, FAULT_RESET,
                               FAULT_CUT,   FAULT_HALF_OPEN, FAULT_KILL};

/* The client loses it meanwhile. */
static void end_early(struct plan *plan, const struct target *s,
                      const struct plan_fault *held, uint64_t *dice)
{
    put_fault(plan, s,
              held->at_ms + draw_spread(dice, 10, plan->head.request_ms),
              (struct plan_fault){
                  .kind = draw_pick(dice, ends, DRAW_COUNT(ends)),
                  .for_ms = draw_spread(dice, 10, held->for_ms),
                  .connection = held->connection,
                  .n = !draw_one_in(dice, 4)});
}

/* Held up until the client gives the connection up, and opens another one. What
 * the old one brings then, the server executes beside that. */
static void hold_up(struct plan *plan, const struct target *s, int64_t at_ms,
                    uint64_t *dice)
{
    int64_t request_ms = plan->head.request_ms;
    struct plan_fault held = {
        .at_ms = at_ms,
        .kind = FAULT_HOLD_BACK,
        .for_ms = draw_one_in(dice, 4)
                      ? draw_spread(dice, request_ms / 2, 12000)
                      : request_ms * draw_between(dice, 50, 260) / 100,
        .to_server = !draw_one_in(dice, 6),
        .connection = draw_connection(dice)};

    put_fault(plan, s, at_ms, held);
    if (!draw_one_in(dice, 3))
        end_early(plan, s, &held, dice);
}

/* The old connection cannot be killed by its successor. */
static void forbid_kill(struct plan *plan, uint64_t *dice)
{
    for (int64_t i = 0; i < plan->head.masters; i++) {
        struct plan_fault *f = scenario_fault(
            plan, draw_below(dice, 2) * draw_below(dice, plan->head.length_ms),
            FAULT_ACL, plan->head.length_ms);

        f->n = PLAN_ACL_KILL;
        f->server = i;
    }
}

/* ---- a hold whose lease changes ---- */

/* Shorter than that of the watchdog, as long, or far longer. */
static int64_t draw_lease(const struct plan_head *h, uint64_t *dice)
{
    static const int64_t percent[] = {2, 5, 20, 50, 90, 100, 300, 1000};

    if (draw_one_in(dice, 4))
        return 0;
    return at_least_1(h->watchdog_ms *
                      draw_pick(dice, percent, DRAW_COUNT(percent)) / 100);
}

/* It lasts as long as its repetition. */
static int64_t draw_hold(const struct plan *plan, uint64_t *dice)
{
    const struct plan_head *h = &plan->head;

    return h->watchdog_ms + draw_between(dice, 1, 4) * h->request_ms;
}

/* While it is renewed, its owner enters again, for shorter or longer, and
 * releases in part: one call after the other, or at once. */
static void reenter(struct plan *plan, const struct target *s, int64_t at_ms,
                    uint64_t *dice)
{
    const struct plan_head *h = &plan->head;
    int64_t calls = draw_between(dice, 1, 3);

    for (int64_t i = 0; i < calls; i++) {
        struct plan_op *op = acquire_on(plan, s, at_ms);

        op->lease_ms = draw_lease(h, dice);
        op->hold_ms = draw_one_in(dice, 2) ? draw_hold(plan, dice)
                                           : draw_spread(dice, 1, 20000);
        op->flags = FLAG_KEEP_UNREPLICATED;
        at_ms += draw_spread(dice, 1, h->request_ms);
    }
}

static void draw_overtaken(struct plan *plan, const struct target *s,
                           int64_t at_ms, uint64_t *dice)
{
    struct plan_op *first = acquire_on(plan, s, at_ms);

    first->hold_ms = draw_hold(plan, dice);
    first->lease_ms = draw_one_in(dice, 6) ? draw_lease(&plan->head, dice) : 0;
    first->flags = FLAG_KEEP_UNREPLICATED;
    at_ms += draw_between(dice, 50, 2 * s->third_ms);
    if (draw_one_in(dice, 2)) {
        slow_down(plan, s, at_ms, dice);
        at_ms += draw_below(dice, 2 * s->third_ms);
    } else {
        hold_up(plan, s, at_ms, dice);
        at_ms += draw_spread(dice, 1, plan->head.request_ms / 2);
    }
    reenter(plan, s, at_ms, dice);
}

static void draw_times(struct plan_head *h, uint64_t *dice)
{
    static const int64_t watchdogs_ms[] = {900, 3000, 3000, 3000, 10000};

    h->length_ms = draw_between(dice, 10000, 120000);
    h->watchdog_ms = draw_pick(dice, watchdogs_ms, DRAW_COUNT(watchdogs_ms));
    h->request_ms = draw_one_in(dice, 2) ? 300 : 1000;
    h->replicas_ms = draw_spread(dice, 20, h->watchdog_ms / 6);
}

void scenario_overtaken(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENARIO_REPEATS_MAX];
    size_t repeats;

    draw_times(&plan->head, dice);
    repeats = scenario_repeats(plan, times_ms, dice);
    draw_ways(&plan->head, dice);
    if (!draw_one_in(dice, 4))
        forbid_kill(plan, dice);
    for (size_t i = 0; i < 2 * repeats; i++) {
        struct target s = draw_target(plan, i, dice);

        draw_overtaken(plan, &s, times_ms[i / 2], dice);
    }
}

/* ---- a hold that is released while its renewal is pending ---- */

/* Readers, mostly, where there are any: they hold it together, and what is kept
 * of them is memory of their own. */
static void seek_readers(struct target *s, const struct plan *plan,
                         uint64_t *dice)
{
    for (int tries = 0; tries < 4; tries++)
        if (plan->locks[s->lock].family != FAMILY_READ_WRITE)
            s->lock = draw_below(dice, (int64_t)plan->lock_count);
    s->side = plan_has_sides(plan->locks[s->lock].family) &&
              draw_one_in(dice, 4);
}

/* It ends about when it is renewed for the first, the second or the third time:
 * by its owner, by its client, or as it has been held for long enough. */
static void end_while_renewed(struct plan *plan, const struct target *s,
                              struct plan_op *op, uint64_t *dice)
{
    int64_t renewed_ms = s->third_ms * draw_between(dice, 1, 3) -
                         draw_below(dice, s->third_ms / 4 + 1);
    int64_t ends_ms = at_least_1(renewed_ms + draw_below(dice, s->answer_ms));

    op->hold_ms = draw_one_in(dice, 4) ? 20000 : ends_ms;
    if (draw_one_in(dice, 4)) {
        op->max_hold_ms = ends_ms;
        op->flags |= draw_below(dice, 2) * FLAG_RELEASE_IN_LOST;
    }
    if (draw_one_in(dice, 4)) {
        int64_t verb = draw_between(dice, OP_RELEASE, OP_FREE);
        struct plan_op *also =
            scenario_op(plan, op->at_ms + ends_ms, verb, s->owner);

        also->program = s->program;
        also->lock = s->lock;
        also->side = op->side;
    }
}

void scenario_renewing(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENARIO_REPEATS_MAX];
    size_t repeats;

    draw_times(&plan->head, dice);
    repeats = scenario_repeats(plan, times_ms, dice);
    draw_ways(&plan->head, dice);
    for (size_t i = 0; i < repeats; i++) {
        struct target s = draw_target(plan, i, dice);
        int64_t holds = draw_between(dice, 1, 3);

        seek_readers(&s, plan, dice);
        for (int64_t k = 0; k < holds; k++) {
            struct plan_op *op =
                acquire_on(plan, &s, times_ms[i] + draw_spread(dice, 1, 100));

            op->wait_ms = draw_below(dice, 2) * draw_spread(dice, 1, 1000);
            op->flags = FLAG_KEEP_UNREPLICATED;
            end_while_renewed(plan, &s, op, dice);
            s.owner = s.owner % PLAN_OWNERS + 1;
        }
        slow_down(plan, &s, times_ms[i] + draw_between(dice, 50, s.third_ms),
                  dice);
    }
}
