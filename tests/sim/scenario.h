/* Scenarios: small plans in which a few slow events coincide. In a random plan, two events
 * that need a third one between them hardly ever coincide. A scenario has all three in each of
 * its repetitions, and draws the rest: clients, times, durations, order.
 *
 * A new scenario is a function in one of the scenario_*.c files, its line in scenarios[]
 * (scenario.c), its name in `enum plan_scenario`. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "tests/sim/draw.h"
#include "tests/sim/plan.h"

/* scenario_pick - draws a scenario.
 * scenario_deployment - draws a deployment in which the scenario is possible.
 * scenario_draw - draws the operations and faults of the plan's scenario, after its locks and
 *                 programs were drawn. It may change the head of the plan, except its profile,
 *                 deployment and masters. */
int64_t scenario_pick(uint64_t *dice);
int64_t scenario_deployment(int64_t scenario, uint64_t *dice);
void scenario_draw(struct plan *plan, uint64_t *dice);

/* For the functions below:
 * scenario_op    - adds an operation, whose other members are 0: of program 0, on lock 0.
 * scenario_fault - adds a fault. If the plan has no space, the operation or fault is left out.
 * scenario_user  - adds an operation on a lock: usually an acquire that waits, and holds the
 *                  lock for about span_ms.
 * scenario_server_of - returns the number of the server that decides about a lock before slots
 *                  move.
 * scenario_disturb - adds `count` faults of any kind, at any place. Call it last.
 * scenario_repeats - draws the times at which the scenario is repeated in the plan, far enough
 *                  apart. Returns their number, at most SCENARIO_REPEATS_MAX. */
#define SCENARIO_REPEATS_MAX 6
#define SCENARIO_SHARDS 3 /* of a cluster, with as many slots each (nodes.c) */
struct plan_op *scenario_op(struct plan *plan, int64_t at_ms, int64_t verb,
                            int64_t owner);
struct plan_fault *scenario_fault(struct plan *plan, int64_t at_ms,
                                  int64_t kind, int64_t for_ms);
struct plan_op *scenario_user(struct plan *plan, int64_t at_ms, int64_t span_ms,
                              int64_t lock, uint64_t *dice);
int64_t scenario_server_of(const struct plan *plan, int64_t lock);
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
void scenario_disagree(struct plan *plan, uint64_t *dice);
void scenario_names(struct plan *plan, uint64_t *dice);
void scenario_replaced(struct plan *plan, uint64_t *dice);
void scenario_outage(struct plan *plan, uint64_t *dice);

#endif
