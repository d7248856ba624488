/* Scenarios in which slots move. */
#include "tests/sim/scenario.h"

#define MOVES_MAX 4 /* one after the other */
#define USERS_MAX 14

static void draw_moves(struct plan *plan, int64_t at_ms, int64_t span_ms,
                       int64_t lock, uint64_t *dice)
{
    int64_t moves = draw_between(dice, 1, MOVES_MAX);

    for (int64_t i = 0; i < moves; i++) {
        struct plan_fault *move =
            scenario_fault(plan, at_ms, FAULT_MOVE_SLOT,
                           draw_spread(dice, 1 + span_ms / 20, span_ms));

        move->lock = lock;
        move->server = draw_below(dice, 2);
        at_ms += move->for_ms * 5 / 4 + draw_spread(dice, 1, span_ms);
    }
}

/* Mostly with all that makes messages matter: servers that have sharded ones, and
 * waiters that look late by themselves. */
static void want_messages(struct plan_head *h, uint64_t *dice)
{
    if (draw_one_in(dice, 4))
        return;
    h->version = draw_between(dice, 1, 2);
    h->replicas = 0;
    h->watchdog_ms = draw_one_in(dice, 2) ? 10000 : 30000;
    if (h->latency_us > 2000)
        h->latency_us = h->jitter_us = 1000;
}

/* A slot is long on the move, several times perhaps, and the key of a lock in it
 * moves long before the slot does. Meanwhile and afterwards, that lock is taken,
 * waited for and released by those who came before the move, or who found the key
 * at the source, or at the target. */
void scenario_slots(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENARIO_REPEATS_MAX];
    size_t repeats = scenario_repeats(plan, times_ms, dice);

    want_messages(&plan->head, dice);
    plan->head.lag_us = plan->head.latency_us;
    plan->head.is_deaf = draw_one_in(dice, 16);
    for (size_t i = 0; i < repeats; i++) {
        int64_t span_ms = draw_spread(dice, 200, 8000);
        int64_t lock = draw_below(dice, (int64_t)plan->lock_count);
        int64_t users = draw_between(dice, 3, USERS_MAX);

        draw_moves(plan, times_ms[i] + span_ms / 2, span_ms, lock, dice);
        for (int64_t k = 0; k < users; k++)
            scenario_user(plan, times_ms[i] + draw_below(dice, 3 * span_ms), span_ms,
                          lock, dice);
    }
    if (draw_one_in(dice, 4))
        scenario_disturb(plan, draw_between(dice, 1, 3), dice);
}
