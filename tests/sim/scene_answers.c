/* Scenes in which an answer does not come: what the server may have granted, or
 * not released, for a client that asks no more. */
#include "tests/sim/scene.h"

#define LEASE_LONG_MS 150000 /* it is there yet when all is quiet */

static const int64_t silences[] = {FAULT_DELAY,     FAULT_HOLD_BACK,
                                   FAULT_CUT,       FAULT_RESET,
                                   FAULT_HALF_OPEN, FAULT_FREEZE,
                                   FAULT_RESTART,   FAULT_KILL};

/* A lock that its owner takes once, lets go, and never asks for again, while
 * the server cannot be heard. */
void scene_unanswered(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENE_ACTS_MAX];
    size_t acts = scene_acts(plan, times_ms, dice);

    for (size_t i = 0; i < acts; i++) {
        int64_t request_ms = plan->head.request_ms;
        struct plan_fault *fault;
        struct plan_op *op =
            scene_op(plan, times_ms[i], OP_ACQUIRE, (int64_t)i % PLAN_OWNERS + 1);

        op->lock = (int64_t)i % (int64_t)plan->lock_count;
        op->program = draw_below(dice, (int64_t)plan->program_count);
        op->lease_ms = LEASE_LONG_MS;
        op->wait_ms = draw_below(dice, 2) * draw_spread(dice, 1, 2 * request_ms);
        op->hold_ms = draw_spread(dice, 1, request_ms);
        fault = scene_fault(
            plan, op->at_ms + draw_below(dice, 2) * op->hold_ms - 2 + draw_below(dice, 5),
            draw_pick(dice, silences, DRAW_COUNT(silences)),
            draw_spread(dice, request_ms / 4, 4 * request_ms));
        fault->program = op->program;
        fault->lock = op->lock;
        fault->server = draw_below(dice, 8);
        fault->to_server = draw_below(dice, 2);
        fault->n = draw_spread(dice, 1, 400);
    }
}
