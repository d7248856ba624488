/* Scenarios of the world `redirect`: what clients have sent is redirected while it is under
 * way. */
#include "tests/sim/failover.h"
#include "tests/sim/scenario.h"

#define USERS_MAX 16
#define MOVES_MAX 3 /* of one lock's slot, one after the other */

struct repeat {
    int64_t at_ms, span_ms; /* when its moves begin, and how long one lasts */
    int64_t locks[2];       /* whose slots move at the same time */
};

static struct repeat draw_act(const struct plan *plan, int64_t at_ms, uint64_t *dice)
{
    int64_t first = draw_below(dice, (int64_t)plan->lock_count);

    return (struct repeat){
        .at_ms = at_ms,
        .span_ms = draw_spread(dice, 100, 6000),
        .locks = {first, (first + 1) % (int64_t)plan->lock_count}};
}

static int64_t draw_lock(const struct repeat *repeat, uint64_t *dice)
{
    return repeat->locks[draw_below(dice, 2)];
}

/* ---- slots ---- */

static void draw_moves(struct plan *plan, const struct repeat *repeat, int64_t lock,
                       uint64_t *dice)
{
    int64_t at_ms = repeat->at_ms + draw_below(dice, repeat->span_ms / 2 + 1);

    for (int64_t i = draw_between(dice, 1, MOVES_MAX); i > 0; i--) {
        struct plan_fault *move =
            scenario_fault(plan, at_ms, FAULT_MOVE_SLOT,
                           draw_between(dice, repeat->span_ms / 2, repeat->span_ms));

        move->lock = lock;
        move->server = draw_below(dice, 2);
        at_ms += move->for_ms * 5 / 4 + draw_spread(dice, 1, repeat->span_ms);
    }
}

/* ---- what crosses the moves ---- */

static const int64_t ends[] = {FAULT_RESET, FAULT_RESET, FAULT_CUT, FAULT_KILL};

/* A program's connection to one of the masters ends, or is slow, while slots move. Not so
 * slow that a request arrives one move too late: a server cannot distinguish such a request
 * from a new one. */
static void disturb_link(struct plan *plan, const struct repeat *repeat, uint64_t *dice)
{
    int64_t kind = draw_one_in(dice, 2) ? FAULT_DELAY
                      : draw_one_in(dice, 2)
                          ? FAULT_HOLD_BACK
                          : draw_pick(dice, ends, DRAW_COUNT(ends));
    struct plan_fault *f =
        scenario_fault(plan, repeat->at_ms + draw_below(dice, 3 * repeat->span_ms), kind,
                       draw_spread(dice, 20, repeat->span_ms / 2 + 20));

    f->program = draw_below(dice, (int64_t)plan->program_count);
    f->server = draw_below(dice, plan->head.masters);
    f->to_server = draw_below(dice, 2);
    f->connection = draw_below(dice, 3);
    f->n = kind == FAULT_DELAY ? draw_spread(dice, 5, repeat->span_ms / 2)
                                  : draw_below(dice, 2);
}

/* The master of a lock is replaced, before its slot moves or afterwards. It does not serve
 * on: what a former master grants is the matter of other scenarios. */
static void replace_master(struct plan *plan, const struct repeat *repeat, uint64_t *dice)
{
    struct plan_fault *f =
        scenario_fault(plan,
                       repeat->at_ms + draw_between(dice, -repeat->span_ms,
                                                    4 * repeat->span_ms),
                       FAULT_FAILOVER, draw_spread(dice, 100, 4000));

    f->lock = draw_lock(repeat, dice);
    f->n = (draw_below(dice, 256) | FAILOVER_OF_LOCK) & ~(int64_t)FAILOVER_SERVES_ON;
}

/* A server that forgets its scripts is sent their text after the redirection. */
static void cross(struct plan *plan, const struct repeat *repeat, uint64_t *dice)
{
    struct plan_fault *f;

    if (draw_one_in(dice, 4))
        replace_master(plan, repeat, dice);
    if (draw_one_in(dice, 4)) {
        f = scenario_fault(plan, repeat->at_ms + draw_below(dice, 2 * repeat->span_ms),
                           FAULT_SCRIPTS, 0);
        f->server = draw_below(dice, plan->head.masters);
    }
}

/* ---- who calls ---- */

static void draw_users(struct plan *plan, const struct repeat *repeat, uint64_t *dice)
{
    for (int64_t k = draw_between(dice, 4, USERS_MAX); k > 0; k--) {
        struct plan_op *op =
            scenario_user(plan, repeat->at_ms - repeat->span_ms / 2 +
                                 draw_below(dice, 4 * repeat->span_ms),
                       repeat->span_ms, draw_lock(repeat, dice), dice);

        if (op->at_ms < 0)
            op->at_ms = 0;
        if (plan->head.replicas != 0 && draw_one_in(dice, 2))
            op->flags |= FLAG_KEEP_UNREPLICATED;
    }
}

/* In half of these plans slots move, masters are replaced, and nothing else is wrong:
 * there the bounds are tight. */
void scenario_redirect(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENARIO_REPEATS_MAX];
    size_t repeats = scenario_repeats(plan, times_ms, dice);
    bool is_calm = draw_one_in(dice, 2);
    struct plan_head *h = &plan->head;

    h->replicas = draw_one_in(dice, 3) ? draw_between(dice, HF_REPLICAS_MAJORITY, 1) : 0;
    h->lag_us = h->latency_us;
    h->is_deaf = draw_one_in(dice, 16);
    if (draw_one_in(dice, 2))
        h->version = draw_between(dice, 1, 2);
    for (size_t i = 0; i < repeats; i++) {
        struct repeat repeat = draw_act(plan, times_ms[i], dice);

        draw_moves(plan, &repeat, repeat.locks[0], dice);
        if (!draw_one_in(dice, 4))
            draw_moves(plan, &repeat, repeat.locks[1], dice);
        cross(plan, &repeat, dice);
        for (int64_t k = is_calm ? 0 : draw_between(dice, 1, 4); k > 0; k--)
            disturb_link(plan, &repeat, dice);
        draw_users(plan, &repeat, dice);
    }
}
