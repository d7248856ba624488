/* A scene of semaphores, latches and permits: calls without answers, which are sent
 * again, or overtaken by what undoes them. */
#include "tests/sim/scene.h"

static void (*const scenes[])(struct plan *plan, uint64_t *dice) = {
    scene_unanswered, scene_overtaken, scene_late};

/* All locks have one side and one key until plan.c makes them what they are to be. */
void scene_counted(struct plan *plan, uint64_t *dice)
{
    for (size_t i = 0; i < plan->lock_count; i++)
        plan->locks[i].family = FAMILY_PLAIN;
    scenes[draw_below(dice, DRAW_COUNT(scenes))](plan, dice);
}
