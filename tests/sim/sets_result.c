/* Results of calls of sets that the judge does not check: which servers are one, and which member
 * was lost before its set was released, are not in a history. */
#include <string.h>

#include "tests/sim/effects.h"
#include "tests/sim/sets.h"
#include "tests/sim/site.h"

/* ---- a quorum with two members on one server ---- */

hf_status sets_refused(const struct call *c, hf_status status, bool has_begun)
{
    struct sim *sim = program_sim(c->program);

    if (status != HF_E_INVAL || !has_begun || c->owner->form != OWNER_OF_QUORUM)
        return status;
    if (c->asked_us > sim->site->one_server_us)
        sim_fail(sim, "P12", "call %lld is refused, though no two members are on one server",
                 (long long)c->number);
    effects_note(sim, EFFECT_ONE_SERVER);
    return HF_UNREPLICATED;
}

/* ---- a multi-lock that is released when a member was lost ---- */

/* One server refuses scripts, and nothing else goes wrong: all others reply. */
static const struct plan_fault *only_refusal(const struct plan *plan)
{
    const struct plan_fault *f = plan->faults;

    return plan->fault_count == 1 && f->kind == FAULT_ACL && f->n == 0 &&
                   plan_is_cluster(plan->head.deployment)
               ? f
               : NULL;
}

static bool is_lost_elsewhere(struct sim *sim, const struct owner *member,
                              const struct plan_fault *refusal)
{
    const struct server *master = site_master(sim->site, member->lock_index);

    return member->hold[0] != '\0' && master != site_server(sim->site, refusal->server) &&
           !observer_holds(&master->observer, (size_t)member->lock_index, member->hold);
}

void sets_note_lost(struct call *c)
{
    struct sim *sim = program_sim(c->program);
    const struct plan_fault *refusal = only_refusal(sim->plan);

    if (!refusal || c->owner->form != OWNER_OF_MULTI)
        return;
    for (const struct owner *m = c->owner->members; m && m->whole == c->owner; m = m->next)
        c->has_lost_member = c->has_lost_member || is_lost_elsewhere(sim, m, refusal);
}

void sets_check_lost(const struct call *c, hf_status status)
{
    struct sim *sim = program_sim(c->program);

    if (!c->has_lost_member)
        return;
    effects_note(sim, EFFECT_LOST_MEMBER);
    if (status != HF_LOST)
        sim_fail(sim, "P12", "call %lld releases a set whose member was lost, and is told %s",
                 (long long)c->number, hf_status_name(status));
}
