/* Scenes: small plans in which a few slow things meet. All at random, two things
 * that need a third between them hardly ever do; a scene has those three in every
 * act, and draws all else: who, when exactly, how long, in which order.
 *
 * A new scene is a function in one of the scene_*.c files, its line in scenes[]
 * (scene.c), its name in `enum plan_scene`. */
#ifndef SIM_SCENE_H
#define SIM_SCENE_H

#include "tests/sim/draw.h"
#include "tests/sim/plan.h"

/* scene_pick     - for a plan that is to have one: a scene that there is.
 * scene_deployment - where it can be played.
 * scene_draw     - its operations and faults; may change the head, but for
 *                  mood, deployment, masters. Locks and programs have been
 *                  drawn. */
int64_t scene_pick(uint64_t *dice);
int64_t scene_deployment(int64_t scene, uint64_t *dice);
void scene_draw(struct plan *plan, uint64_t *dice);

/* For scenes:
 * scene_op    - an operation more, all else 0: that is, of program 0, on lock 0.
 * scene_fault - a fault more. Of both, what finds no room is lost.
 * scene_user  - an operation on a lock: mostly somebody takes it, who waits and
 *               holds it for about span_ms.
 * scene_disturb - `count` faults more, of any kinds, anywhere. Last of all.
 * scene_acts  - how often a scene is played in one plan, at moments that are
 *               far enough apart: times[], at most SCENE_ACTS_MAX. */
#define SCENE_ACTS_MAX 6
struct plan_op *scene_op(struct plan *plan, int64_t at_ms, int64_t verb,
                         int64_t owner);
struct plan_fault *scene_fault(struct plan *plan, int64_t at_ms,
                               int64_t trouble, int64_t for_ms);
struct plan_op *scene_user(struct plan *plan, int64_t at_ms, int64_t span_ms,
                           int64_t lock, uint64_t *dice);
void scene_disturb(struct plan *plan, int64_t count, uint64_t *dice);
size_t scene_acts(struct plan *plan, int64_t times_ms[SCENE_ACTS_MAX],
                  uint64_t *dice);

/* The scenes. */
void scene_unanswered(struct plan *plan, uint64_t *dice);
void scene_overtaken(struct plan *plan, uint64_t *dice);
void scene_renewing(struct plan *plan, uint64_t *dice);
void scene_slots(struct plan *plan, uint64_t *dice);
void scene_crossing(struct plan *plan, uint64_t *dice);
void scene_failover(struct plan *plan, uint64_t *dice);
void scene_former(struct plan *plan, uint64_t *dice);
void scene_messages(struct plan *plan, uint64_t *dice);
void scene_returns(struct plan *plan, uint64_t *dice);
void scene_unheard(struct plan *plan, uint64_t *dice);
void scene_late(struct plan *plan, uint64_t *dice);
void scene_queue(struct plan *plan, uint64_t *dice);
void scene_counted(struct plan *plan, uint64_t *dice);
void scene_redirect(struct plan *plan, uint64_t *dice);
void scene_silence(struct plan *plan, uint64_t *dice);
void scene_switchover(struct plan *plan, uint64_t *dice);
void scene_credentials(struct plan *plan, uint64_t *dice);

#endif
