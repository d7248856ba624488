/* Changes that are repeated, and given up. */
#include "tests/sim/outage.h"

#include <string.h>

#include "tests/sim/effects.h"
#include "tests/sim/program.h"
#include "tests/sim/sim.h"

static bool is_change(const struct call *c)
{
    return c->op == HISTORY_OP_ADD || c->op == HISTORY_OP_REDUCE || c->op == HISTORY_OP_DRAIN ||
           (c->op == HISTORY_OP_RELEASE && c->owner &&
            plan_is_counted(program_sim(c->program)->plan, c->owner->lock_index));
}

void outage_ended(const struct call *c, hf_status status)
{
    if (is_change(c) && (status == HF_E_CONNECT || status == HF_E_NOREPLY))
        program_sim(c->program)->unknown_changes++;
}

void outage_logged(struct sim *sim, const char *line)
{
    if (!strstr(line, "outcome of an operation on a "))
        return;
    sim->given_up++;
    effects_note(sim, EFFECT_GIVEN_UP);
}

static bool is_beyond(const struct plan *plan)
{
    for (size_t i = 0; i < plan->fault_count; i++)
        if (plan->faults[i].for_ms > REPEATED_MS)
            return true;
    return false;
}

void outage_check(struct sim *sim)
{
    int64_t wanted = is_beyond(sim->plan) ? sim->unknown_changes : 0;

    if (sim->plan->head.scenario != SCENARIO_OUTAGE)
        return;
    if (sim->given_up != wanted)
        sim_fail(sim, "COUNT-4", "the log has %lld changes that were given up, in place of %lld",
                 (long long)sim->given_up, (long long)wanted);
    if (sim->unknown_changes > sim->given_up)
        effects_note(sim, EFFECT_REPEATED);
}
