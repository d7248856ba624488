/* What the parts of a run share: the world, the plan, the history and its judge.
 * Other programs include run.h. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "tests/check/history.h"
#include "tests/sim/plan.h"
#include "tests/sim/run.h"
#include "tests/sim/world/world.h"

struct judge;
struct majority;
struct program;
struct site;

struct sim {
    const struct plan *plan;
    struct world *world;
    FILE *history; /* NULL: nobody reads it */
    struct judge *judge;
    struct site *site; /* the servers */
    struct majority *majority; /* of independent ones; or NULL */
    struct program *programs[PLAN_PROGRAMS_MAX];
    struct run_result *result;
    uint64_t call_count;
    struct left *left; /* by_owner.c */
    bool is_ending; /* nothing new is asked for */
    int64_t muted; /* of this client, which has been killed, no line is written; 0 */
    struct sim_permit *permits; /* observer_permit.c */
    size_t permit_count, permit_room;
};

/* sim_us    - the true time of so many ms after the start.
 * sim_event - a line of the history, of now; sim_write writes it.
 * sim_comment - a comment in the history: what `who` sent or received.
 * sim_shows_wire - are such comments wanted? See run_show_wire.
 * sim_fail  - the first failure that the run itself sees is kept. */
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
