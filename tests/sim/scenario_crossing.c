/* Scenarios in which a release crosses the requests of its waiters. */
#include "tests/sim/scenario.h"

#define TIMES_MAX 60
#define WAITERS_MAX 3
#define LATENCY_US 20000

/* What of one client goes by two connections arrives in any order. */
static void be_uneven(struct plan_head *h, uint64_t *dice)
{
    h->latency_us = draw_spread(dice, 500, LATENCY_US);
    h->jitter_us = h->latency_us - 1;
    if (draw_one_in(dice, 2))
        h->jitter_us = draw_below(dice, h->latency_us);
    h->lag_us = h->latency_us;
    h->is_deaf = draw_one_in(dice, 16);
    if (draw_one_in(dice, 2))
        h->watchdog_ms = 30000;
    if (draw_one_in(dice, 2))
        h->replicas = 0;
}

/* A lock is released just when another client begins to wait for it: its requests,
 * its subscription and the message are on their way at the same time, and mostly
 * no other client will wake it. */
void scenario_crossing(struct plan *plan, uint64_t *dice)
{
    int64_t times = draw_between(dice, 2, TIMES_MAX);
    int64_t part_ms = plan->head.length_ms / times;

    be_uneven(&plan->head, dice);
    for (int64_t i = 0; i < times; i++) {
        int64_t lock = draw_below(dice, (int64_t)plan->lock_count);
        int64_t crossings_ms = 1 + 8 * plan->head.latency_us / 1000;
        const struct plan_op *holder =
            scenario_user(plan, i * part_ms, crossings_ms * 4, lock, dice);

        for (int64_t k = draw_spread(dice, 1, WAITERS_MAX); k > 0; k--)
            scenario_user(plan,
                          holder->at_ms + holder->hold_ms +
                           draw_below(dice, 2 * crossings_ms) - crossings_ms,
                       crossings_ms, lock, dice)
                ->wait_ms = HF_FOREVER;
    }
    if (draw_one_in(dice, 4))
        scenario_disturb(plan, draw_between(dice, 1, 3), dice);
}
