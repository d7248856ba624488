/* Scenes in which masters are replaced. */
#include "tests/sim/scene.h"

#define SILENT_MAX 2 /* servers */
#define USERS_MAX 10

static void draw_silence(struct plan *plan, int64_t at_ms, int64_t span_ms,
                         uint64_t *dice)
{
    int64_t count = draw_below(dice, SILENT_MAX + 1);

    for (int64_t i = 0; i < count; i++)
        scene_fault(plan, at_ms + draw_below(dice, 2 * span_ms) - span_ms,
                    FAULT_FREEZE, draw_spread(dice, span_ms / 2, 8 * span_ms))
            ->server = draw_below(dice, 12);
}

/* A master is replaced while some wait for its locks, hold them, release them, or
 * ask for the first time; and about then other servers, which clients ask who is
 * master, or the master itself, fall silent. */
void scene_failover(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENE_ACTS_MAX];
    size_t acts = scene_acts(plan, times_ms, dice);

    plan->head.lag_us = plan->head.latency_us;
    plan->head.is_deaf = draw_one_in(dice, 4);
    for (size_t i = 0; i < acts; i++) {
        int64_t span_ms = draw_spread(dice, 200, 4000);
        int64_t users = draw_between(dice, 2, USERS_MAX);
        struct plan_fault *failover =
            scene_fault(plan, times_ms[i] + span_ms, FAULT_FAILOVER,
                        span_ms * draw_between(dice, 1, 4));

        failover->server = draw_below(dice, 8);
        failover->n = draw_below(dice, 32);
        draw_silence(plan, failover->at_ms, span_ms, dice);
        for (int64_t k = 0; k < users; k++)
            scene_user(plan, times_ms[i] + draw_below(dice, 4 * span_ms), span_ms,
                       draw_below(dice, (int64_t)plan->lock_count), dice);
    }
    if (draw_one_in(dice, 4))
        scene_disturb(plan, draw_between(dice, 1, 3), dice);
}
