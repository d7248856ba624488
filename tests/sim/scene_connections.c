/* Scenes with two ways to one server, of which one is slow: commands that set a
 * lock's TTL are executed in another order than they were asked. */
#include "tests/sim/scene.h"

/* Longer than a request, and than a silent connection is let be (LINK-3), or
 * not. */
static int64_t draw_slowness(const struct plan_head *h, uint64_t *dice)
{
    return draw_spread(dice, h->request_ms / 2, 12000);
}

/* Shorter than that of the watchdog, as long, or far longer. */
static int64_t draw_lease(const struct plan_head *h, uint64_t *dice)
{
    static const int64_t percent[] = {5, 20, 50, 90, 100, 300, 1000};

    return draw_one_in(dice, 4)
               ? 0
               : h->watchdog_ms *
                     draw_pick(dice, percent, DRAW_COUNT(percent)) / 100;
}

/* A hold that lasts, and more calls of its owner on it while it is renewed. */
static int64_t hold_and_reenter(struct plan *plan, int64_t at_ms, int64_t act,
                                uint64_t *dice)
{
    struct plan_head *h = &plan->head;
    int64_t program = draw_below(dice, (int64_t)plan->program_count);
    int64_t lock = draw_below(dice, (int64_t)plan->lock_count);
    int64_t sides = plan_has_sides(plan->locks[lock].family) ? 2 : 1;
    int64_t side = draw_below(dice, sides);
    int64_t calls = draw_between(dice, 1, 3), lasts_ms = 20000;

    for (int64_t i = 0; i <= calls; i++) {
        struct plan_op *op =
            scene_op(plan, at_ms, OP_ACQUIRE, act % PLAN_OWNERS + 1);

        op->program = program;
        op->lock = lock;
        op->side = draw_one_in(dice, 8) ? draw_below(dice, sides) : side;
        op->lease_ms = draw_lease(h, dice);
        op->hold_ms = i == 0 ? lasts_ms : draw_spread(dice, 1, lasts_ms);
        op->flags = draw_below(dice, 4);
        at_ms += i == 0 ? draw_spread(dice, 50, h->watchdog_ms)
                        : draw_spread(dice, 1, h->request_ms * 2);
    }
    return program;
}

static const int64_t slow[] = {FAULT_HOLD_BACK, FAULT_HOLD_BACK, FAULT_DELAY,
                               FAULT_HALF_OPEN};
static const int64_t ends[] = {FAULT_RESET, FAULT_CUT, FAULT_CUT,
                               FAULT_HALF_OPEN, FAULT_KILL};

/* One connection, or (0) all: bytes are late. */
static struct plan_fault *slow_one_way(struct plan *plan, int64_t at_ms,
                                       uint64_t *dice)
{
    int64_t for_ms = draw_slowness(&plan->head, dice);
    struct plan_fault *f =
        scene_fault(plan, at_ms, draw_pick(dice, slow, DRAW_COUNT(slow)), for_ms);

    f->connection = draw_between(dice, 0, 3);
    f->to_server = draw_below(dice, 2);
    f->n = f->trouble == FAULT_DELAY
               ? draw_spread(dice, 1, 2 * plan->head.request_ms)
               : draw_below(dice, 2);
    return f;
}

/* The client hears that it has ended, mostly while a call still waits; what is on
 * its way to the server arrives later. */
static void end_it(struct plan *plan, const struct plan_fault *slowed,
                   uint64_t *dice)
{
    struct plan_fault *f = scene_fault(
        plan, slowed->at_ms + draw_spread(dice, 1, 2 * plan->head.request_ms),
        draw_pick(dice, ends, DRAW_COUNT(ends)), 1000);

    f->program = slowed->program;
    f->server = slowed->server;
    f->connection = slowed->connection;
    f->to_server = draw_one_in(dice, 4);
    f->n = f->trouble == FAULT_CUT && draw_one_in(dice, 4)
               ? draw_below(dice, 400)
               : draw_below(dice, 2);
}

/* No server kills an old connection, so that what that still brings is executed
 * beside the new one. */
#define SERVERS 6

static void keep_what_was_sent(struct plan *plan)
{
    for (int64_t i = 0; i < SERVERS; i++) {
        struct plan_fault *f =
            scene_fault(plan, 0, FAULT_ACL, plan->head.length_ms);

        f->n = PLAN_ACL_KILL;
        f->server = i;
    }
}

void scene_overtaken(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENE_ACTS_MAX];
    size_t acts = scene_acts(plan, times_ms, dice);
    struct plan_head *h = &plan->head;

    if (h->deployment != DEPLOY_STANDALONE && draw_one_in(dice, 2))
        h->replicas = draw_between(dice, HF_REPLICAS_MAJORITY, 1);
    h->request_ms = draw_one_in(dice, 2) ? 300 : 1000;
    if (draw_one_in(dice, 2))
        keep_what_was_sent(plan);
    for (size_t i = 0; i < acts; i++) {
        int64_t program = hold_and_reenter(plan, times_ms[i], (int64_t)i, dice);
        const struct plan_op *last = &plan->ops[plan->op_count - 1];
        struct plan_fault *slowed =
            slow_one_way(plan, last->at_ms - draw_spread(dice, 1, 200), dice);

        slowed->program = program;
        slowed->server = draw_below(dice, h->masters);
        if (draw_one_in(dice, 2))
            end_it(plan, slowed, dice);
    }
}

/* ---- renewals that are out ---- */

/* From soon after the grants on; one is on its way for so long. */
static int64_t slow_line(struct plan *plan, int64_t at_ms, int64_t program,
                         uint64_t *dice)
{
    int64_t each_ms = draw_between(dice, 10, plan->head.request_ms / 3);

    for (int64_t i = 0; i < 2 * plan->head.masters; i++) {
        struct plan_fault *f =
            scene_fault(plan, at_ms + plan->head.watchdog_ms / 5, FAULT_DELAY,
                        2 * plan->head.watchdog_ms);

        f->program = program;
        f->server = i / 2;
        f->to_server = i % 2;
        f->n = each_ms;
    }
    return 2 * each_ms;
}

/* Holds of one program end while their renewals are out: as long as allowed,
 * released, or with the client. */
static void end_while_renewed(struct plan *plan, int64_t at_ms, int64_t program,
                              uint64_t *dice)
{
    struct plan_head *h = &plan->head;
    int64_t out_ms = slow_line(plan, at_ms, program, dice);
    int64_t holds = draw_between(dice, 1, 4), ends_ms;

    for (int64_t i = 0; i < holds; i++) {
        struct plan_op *op = scene_op(plan, at_ms + draw_below(dice, 20),
                                      OP_ACQUIRE, i % PLAN_OWNERS + 1);

        ends_ms = h->watchdog_ms / 3 * draw_between(dice, 1, 3) +
                  draw_below(dice, 2 * out_ms);
        op->program = program;
        op->lock = draw_below(dice, (int64_t)plan->lock_count);
        op->side = plan_has_sides(plan->locks[op->lock].family)
                       ? draw_below(dice, 2)
                       : 0;
        op->hold_ms = draw_one_in(dice, 2) ? ends_ms : -1;
        op->max_hold_ms = draw_one_in(dice, 2) ? ends_ms : 0;
        op->wait_ms = draw_one_in(dice, 2) ? h->watchdog_ms : h->request_ms;
        op->flags = draw_below(dice, 8);
    }
    if (draw_one_in(dice, 3))
        scene_op(plan, at_ms + ends_ms,
                 draw_one_in(dice, 2) ? OP_FREE : OP_CLOSE, 1)
            ->program = program;
}

void scene_renewing(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENE_ACTS_MAX];
    size_t acts = scene_acts(plan, times_ms, dice);

    for (size_t i = 0; i < acts; i++)
        end_while_renewed(plan, times_ms[i],
                          draw_below(dice, (int64_t)plan->program_count), dice);
}
