/* The state that the parts of a run share: the world, the plan, the history and its judge.
 * Code outside of runs includes run.h instead. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "tests/judge/history.h"
#include "tests/sim/plan.h"
#include "tests/sim/run.h"
#include "tests/sim/world/world.h"

struct judge;
struct labels;
struct majority;
struct program;
struct site;

struct sim {
    const struct plan *plan;
    struct world *world;
    FILE *history; /* NULL: not written */
    struct judge *judge;
    struct site *site; /* the servers */
    struct majority *majority; /* of independent servers; or NULL */
    struct program *programs[PLAN_PROGRAMS_MAX];
    struct run_result *result;
    uint64_t call_count;
    struct left *left; /* by_owner.c */
    struct labels *labels; /* NULL: no client has one */
    bool is_ending; /* no new operation begins */
    int64_t muted; /* a client that was killed, whose lines are not written; 0: none */
    struct sim_permit *permits; /* observer_permit.c */
    size_t permit_count, permit_room;
    int64_t unknown_changes, given_up; /* outage.c */
};

/* sim_us    - returns the true time at_ms after the start.
 * sim_event - returns a line of the history with the present time; sim_write writes it.
 * sim_comment - writes a comment to the history: the bytes that `who` sent or received.
 * sim_shows_wire - returns whether such comments are wanted (run_show_wire).
 * sim_fail  - notes a failure that the run itself has found, unless there was one before. */
static inline int64_t sim_us(int64_t at_ms)
{
    return WORLD_BEGIN_US + at_ms * 1000;
}
struct history_event sim_event(const struct sim *sim, char role, int64_t number,
                               enum history_what what);
void sim_write(struct sim *sim, const struct history_event *event);
void sim_comment(struct sim *sim, const char *who, const char *text);
bool sim_shows_wire(void);
void sim_fail(struct sim *sim, const char *property, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
