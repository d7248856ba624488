/* Scenarios in which masters are replaced. */
#include "tests/sim/failover.h"
#include "tests/sim/scenario.h"

#define SILENT_MAX 2 /* servers */
#define USERS_MAX 8
#define NEWCOMERS_MAX 3
#define SERVERS_MAX 6 /* of all these deployments */

/* Mostly from before the master fails until it is long replaced. */
static void draw_silence(struct plan *plan, int64_t at_ms, int64_t span_ms,
                         uint64_t *dice)
{
    int64_t count = draw_below(dice, SILENT_MAX + 1);

    for (int64_t i = 0; i < count; i++)
        scenario_fault(plan, at_ms + draw_below(dice, span_ms) - span_ms * 3 / 4,
                       FAULT_FREEZE, draw_spread(dice, span_ms / 2, 16 * span_ms))
            ->server = draw_below(dice, SERVERS_MAX);
}

static struct plan_fault *draw_failover(struct plan *plan, int64_t at_ms,
                                        int64_t span_ms, bool all_die,
                                        uint64_t *dice)
{
    struct plan_fault *f =
        scenario_fault(plan, at_ms, FAULT_FAILOVER, span_ms * draw_between(dice, 1, 4));

    f->server = draw_below(dice, SERVERS_MAX);
    f->lock = draw_below(dice, (int64_t)plan->lock_count);
    f->n = draw_below(dice, 256);
    if (draw_one_in(dice, 2))
        f->n |= FAILOVER_OF_LOCK | FAILOVER_IS_QUICK;
    if (all_die)
        f->n &= ~(int64_t)(FAILOVER_SERVES_ON | FAILOVER_STOPS);
    return f;
}

static int64_t draw_lock(const struct plan *plan, const struct plan_fault *f,
                         uint64_t *dice)
{
    return draw_one_in(dice, 2) ? f->lock
                                : draw_below(dice, (int64_t)plan->lock_count);
}

/* A client that knows no server yet sends its first request at that moment. */
static void draw_newcomer(struct plan *plan, const struct plan_fault *f,
                          int64_t program, uint64_t *dice)
{
    struct plan_op *first =
        scenario_user(plan, f->at_ms + draw_below(dice, f->for_ms / 4 + 1),
                      f->for_ms / 4 + 1, draw_lock(plan, f, dice), dice);

    if (draw_one_in(dice, 2))
        first->wait_ms = HF_FOREVER;
    first->program = program;
}

static void draw_users(struct plan *plan, const struct plan_fault *f,
                       int64_t span_ms, uint64_t *dice)
{
    int64_t count = (int64_t)plan->program_count;
    int64_t newcomer = draw_below(dice, count);

    scenario_op(plan, f->at_ms - 1, OP_FREE, 1)->program = newcomer;
    for (int64_t k = draw_spread(dice, 1, NEWCOMERS_MAX); k > 0; k--)
        draw_newcomer(plan, f, newcomer, dice);
    for (int64_t k = draw_spread(dice, 1, USERS_MAX); k > 0; k--) {
        struct plan_op *op =
            scenario_user(plan, f->at_ms - span_ms + draw_below(dice, 4 * span_ms),
                          span_ms, draw_lock(plan, f, dice), dice);

        if (op->program == newcomer)
            op->program = (newcomer + 1) % count;
    }
}

/* A master is replaced while some wait for its locks, hold them, release them, or
 * send their first request; and about then other servers, which clients query for
 * the master, or the master itself, become silent. */
void scenario_failover(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENARIO_REPEATS_MAX];
    size_t repeats = scenario_repeats(plan, times_ms, dice);
    bool all_die = draw_one_in(dice, 2); /* clients hear of it soonest */

    plan->head.lag_us = plan->head.latency_us;
    plan->head.is_deaf = draw_one_in(dice, 4);
    if (draw_one_in(dice, 2))
        plan->head.replicas = 0;
    if (draw_one_in(dice, 2))
        plan->head.request_ms = 5000; /* of which a silent server takes much */
    for (size_t i = 0; i < repeats; i++) {
        int64_t span_ms = draw_spread(dice, 200, 4000);
        const struct plan_fault *f =
            draw_failover(plan, times_ms[i] + span_ms, span_ms, all_die, dice);

        draw_silence(plan, f->at_ms, span_ms, dice);
        draw_users(plan, f, span_ms, dice);
    }
    if (draw_one_in(dice, 6))
        scenario_disturb(plan, draw_between(dice, 1, 3), dice);
}

/* ---- answers of a former master ---- */

#define QUERIED_MAX 6
#define SILENT_MS 250 /* after that a client queries other servers for the master */
#define SENTINEL_FIRST 3 /* after a master and its replicas */
#define SENTINEL_LAST 5

static void ask_former(struct plan *plan, int64_t at_ms, int64_t program,
                       int64_t lock, uint64_t *dice)
{
    struct plan_op *op = scenario_op(plan, at_ms, OP_ACQUIRE,
                                     draw_between(dice, 1, PLAN_OWNERS));

    op->program = program;
    op->lock = lock;
    op->side = plan_has_sides(plan->locks[lock].family) ? draw_below(dice, 2) : 0;
    op->lease_ms = draw_below(dice, 2) * draw_spread(dice, 1000, 150000);
    op->wait_ms = draw_below(dice, 2) * draw_spread(dice, 1, 4000);
    op->hold_ms = draw_one_in(dice, 4) ? -1 : draw_spread(dice, 1, 4000);
    if (plan->head.replicas != 0 && !draw_one_in(dice, 4))
        op->flags = FLAG_KEEP_UNREPLICATED;
}

/* Of these servers. */
static void answer_late(struct plan *plan, int64_t first, int64_t last,
                        const struct plan_fault *like, uint64_t *dice)
{
    int64_t late_ms = draw_between(dice, 10, plan->head.request_ms - SILENT_MS);

    for (int64_t i = first; i <= last; i++) {
        struct plan_fault *f =
            scenario_fault(plan, like->at_ms, FAULT_DELAY, like->for_ms);

        f->program = like->program;
        f->server = i;
        f->n = late_ms;
    }
}

/* The former master replies late; with sentinels perhaps also the new one, which then confirms
 * late that it is the master, and the sentinels. */
static void answer_all_late(struct plan *plan, int64_t at_ms, int64_t span_ms,
                            int64_t program, uint64_t *dice)
{
    struct plan_fault like = {.at_ms = at_ms + draw_below(dice, span_ms / 8),
                              .for_ms = 2 * span_ms,
                              .program = program};

    answer_late(plan, 0, plan->head.masters - 1, &like, dice);
    like.at_ms = at_ms;
    if (plan->head.deployment == DEPLOY_SENTINEL && draw_one_in(dice, 2))
        answer_late(plan, 1, SENTINEL_FIRST - 1, &like, dice);
    if (plan->head.deployment == DEPLOY_SENTINEL && draw_one_in(dice, 2))
        answer_late(plan, SENTINEL_FIRST, SENTINEL_LAST, &like, dice);
}

/* Of two in three of these plans: a grant waits for replicas, of which a former master
 * has none left. */
static void draw_replicas(struct plan_head *h, uint64_t *dice)
{
    h->replicas = draw_one_in(dice, 3)
                      ? 0
                      : draw_between(dice, HF_REPLICAS_MAJORITY, 1);
    if (h->replicas != 0)
        h->replicas_ms = h->watchdog_ms / draw_between(dice, 6, 12);
}

/* A master serves on though it has been replaced, and its answers are late: they
 * come when the client has heard of its successor, or while it hears of it. */
void scenario_former(struct plan *plan, uint64_t *dice)
{
    struct plan_head *h = &plan->head;
    int64_t program = draw_below(dice, (int64_t)plan->program_count);
    int64_t lock = draw_below(dice, (int64_t)plan->lock_count);
    int64_t span_ms = draw_spread(dice, 1000, 8000);
    int64_t at_ms = 1000 + draw_below(dice, h->length_ms / 2);
    struct plan_fault *f = scenario_fault(plan, at_ms, FAULT_FAILOVER, span_ms);
    int64_t new_ms, how;

    h->request_ms = draw_one_in(dice, 2) ? 5000 : 1000;
    draw_replicas(h, dice);
    f->lock = lock;
    how = draw_below(dice, 32);
    f->n = FAILOVER_SERVES_ON | FAILOVER_OF_LOCK | (how & 15) |
           (how & FAILOVER_STOPS ? FAILOVER_IS_UNTOLD : 0);
    new_ms = at_ms + span_ms / (f->n & FAILOVER_IS_QUICK ? 8 : 2);
    ask_former(plan, at_ms - draw_between(dice, 100, 900), program, lock, dice);
    answer_all_late(plan, at_ms, span_ms, program, dice);
    for (int64_t k = draw_between(dice, 1, QUERIED_MAX); k > 0; k--)
        ask_former(plan, new_ms - SILENT_MS + draw_below(dice, span_ms / 2),
                   program, lock, dice);
    if (draw_one_in(dice, 6))
        scenario_disturb(plan, 1, dice);
}
