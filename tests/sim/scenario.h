/* Scenarios: small plans in which a few slow events coincide. In a plan that is drawn at
 * random, two events that need a third one between them hardly ever meet; a scenario has
 * all three in each of its repetitions, and draws the rest: who, when, how long, in which
 * order.
 *
 * A new scenario is a function in one of the scenario_*.c files, its line in scenarios[]
 * (scenario.c), its name in `enum plan_scenario`. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "tests/sim/draw.h"
#include "tests/sim/plan.h"

/* scenario_pick     - for a plan that is to have one: a scenario that there is.
 * scenario_deployment - where it can be executed.
 * scenario_draw     - its operations and faults; may change the head, but for
 *                  profile, deployment, masters. Locks and programs have been
 *                  drawn. */
int64_t scenario_pick(uint64_t *dice);
int64_t scenario_deployment(int64_t scenario, uint64_t *dice);
void scenario_draw(struct plan *plan, uint64_t *dice);

/* For scenarios:
 * scenario_op    - an operation more, all else 0: that is, of program 0, on lock 0.
 * scenario_fault - a fault more. Of both, what finds no room is lost.
 * scenario_user  - an operation on a lock: mostly somebody takes it, who waits and
 *               holds it for about span_ms.
 * scenario_disturb - `count` faults more, of any kinds, anywhere. Last of all.
 * scenario_repeats - how often a scenario is repeated in one plan, at moments that are
 *               far enough apart: times[], at most SCENARIO_REPEATS_MAX. */
#define SCENARIO_REPEATS_MAX 6
struct plan_op *scenario_op(struct plan *plan, int64_t at_ms, int64_t verb,
                            int64_t owner);
struct plan_fault *scenario_fault(struct plan *plan, int64_t at_ms,
                                  int64_t kind, int64_t for_ms);
struct plan_op *scenario_user(struct plan *plan, int64_t at_ms, int64_t span_ms,
                              int64_t lock, uint64_t *dice);
void scenario_disturb(struct plan *plan, int64_t count, uint64_t *dice);
size_t scenario_repeats(struct plan *plan, int64_t times_ms[SCENARIO_REPEATS_MAX],
                        uint64_t *dice);

/* The scenarios. */
void scenario_unanswered(struct plan *plan, uint64_t *dice);
void scenario_overtaken(struct plan *plan, uint64_t *dice);
void scenario_renewing(struct plan *plan, uint64_t *dice);
void scenario_slots(struct plan *plan, uint64_t *dice);
void scenario_crossing(struct plan *plan, uint64_t *dice);
void scenario_failover(struct plan *plan, uint64_t *dice);
void scenario_former(struct plan *plan, uint64_t *dice);
void scenario_messages(struct plan *plan, uint64_t *dice);
void scenario_returns(struct plan *plan, uint64_t *dice);
void scenario_unheard(struct plan *plan, uint64_t *dice);
void scenario_late(struct plan *plan, uint64_t *dice);
void scenario_queue(struct plan *plan, uint64_t *dice);
void scenario_counted(struct plan *plan, uint64_t *dice);
void scenario_redirect(struct plan *plan, uint64_t *dice);
void scenario_silence(struct plan *plan, uint64_t *dice);
void scenario_switchover(struct plan *plan, uint64_t *dice);
void scenario_credentials(struct plan *plan, uint64_t *dice);
void scenario_proxy(struct plan *plan, uint64_t *dice);

#endif
