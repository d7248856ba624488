/* Worlds: plans of one kind of kind, with names of any family. --family selects
 * one. Each has dice of its own, so a world changes no other plan.
 *
 * kill: a client loses its connection while the server has not yet executed what it
 * sent there, and its successor cannot kill it: CLIENT KILL is refused, or INFO, or
 * the successor is lost as well before the server has replied.
 *
 * redirect: slots of a cluster move, two of them at the same time, and masters are
 * replaced. Meanwhile clients wait for replicas, lose connections, and hear of the move
 * in another order than it happens (scenario_redirect.c).
 *
 * crowd: hundreds of owners, names or clients at one moment (plan_crowd.c).
 *
 * push: servers report keys that change (tracking=on), some of them twice; faults are
 * those of any plan.
 *
 * silence: connections swallow bytes, one at a time for each client. Nothing else is
 * wrong, and P12 takes nothing of it for an excuse (scenario_unseen.c).
 *
 * credentials: passwords are rotated, likewise.
 *
 * switchover: the address of a server leads to another master, and connections that are
 * open still lead to the former one, likewise.
 *
 * proxy: a proxy replies that it has lost its server, which may have executed the request,
 * likewise.
 *
 * hosts: a master and its replicas without sentinels. Two of three plans have a scenario
 * of failovers; faults are those of any plan. */
#include <stdlib.h>

#include "tests/sim/draw.h"
#include "tests/sim/effects.h"
#include "tests/sim/plan.h"

static int by_time(const void *a, const void *b)
{
    const struct plan_fault *x = a, *y = b;

    return (x->at_ms > y->at_ms) - (x->at_ms < y->at_ms);
}

/* ---- kill ---- */

#define REFUSALS_MAX 3
#define CROSSINGS 8 /* of a link: more than a greeting takes */

static void be_kill(struct plan_head *h, uint64_t *dice)
{
    h->profile = PROFILE_WILD;
    h->scenario = draw_one_in(dice, 6) ? SCENARIO_LATE : SCENARIO_OVERTAKEN;
}

/* The scenario's own refusals last for the whole plan and are of both commands. Leaves room
 * for others. */
static void drop_refusals(struct plan *plan)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->fault_count; i++) {
        const struct plan_fault *f = &plan->faults[i];

        if ((f->kind != FAULT_ACL || f->n != PLAN_ACL_KILL) &&
            (f->kind != FAULT_DENY || f->n > DENIED_INFO))
            plan->faults[count++] = *f;
    }
    plan->fault_count =
        count < PLAN_FAULTS_MAX - REFUSALS_MAX ? count : PLAN_FAULTS_MAX - REFUSALS_MAX;
}

static struct plan_fault *add(struct plan *plan, const struct plan_fault *fault)
{
    static struct plan_fault lost;

    if (plan->fault_count == PLAN_FAULTS_MAX)
        return &lost;
    plan->faults[plan->fault_count] = *fault;
    return &plan->faults[plan->fault_count++];
}

/* One command at a time, for a part of the plan or for all of it. */
static void refuse_in_turn(struct plan *plan, uint64_t *dice)
{
    int64_t count = draw_between(dice, 1, REFUSALS_MAX);
    int64_t part_ms = plan->head.length_ms / count;

    for (int64_t i = 0; i < count; i++) {
        struct plan_fault *f = add(plan, &(struct plan_fault){.at_ms = i * part_ms});

        f->kind = FAULT_DENY;
        f->n = draw_one_in(dice, 3) ? DENIED_INFO : DENIED_KILL;
        f->at_ms += draw_below(dice, 2) * draw_below(dice, part_ms / 2);
        f->for_ms = (i + 1) * part_ms - f->at_ms - 1;
    }
}

static bool is_end(const struct plan_fault *f)
{
    return f->kind == FAULT_RESET || f->kind == FAULT_CUT ||
           f->kind == FAULT_KILL;
}

/* The next connection, while it is greeted. */
static void lose_successors(struct plan *plan, uint64_t *dice)
{
    int64_t greeting_ms = CROSSINGS * plan->head.latency_us / 1000 + 2;
    size_t count = plan->fault_count;

    for (size_t i = 0; i < count; i++) {
        struct plan_fault f = plan->faults[i];

        if (!is_end(&f) || !draw_one_in(dice, 3))
            continue;
        f.kind = FAULT_RESET;
        f.n = draw_below(dice, 2);
        f.connection = 0;
        f.at_ms += draw_between(dice, 1, greeting_ms);
        (void)add(plan, &f);
    }
}

static void finish_kill(struct plan *plan, uint64_t *dice)
{
    drop_refusals(plan);
    refuse_in_turn(plan, dice);
    lose_successors(plan, dice);
    qsort(plan->faults, plan->fault_count, sizeof *plan->faults, by_time);
}

/* ---- redirect ---- */

static void be_redirect(struct plan_head *h)
{
    h->profile = PROFILE_WILD;
    h->scenario = SCENARIO_REDIRECT;
}

/* ---- silence ---- */

static void be_unseen(struct plan_head *h, int64_t scenario)
{
    h->profile = PROFILE_CLEAR;
    h->scenario = scenario;
}

/* ---- hosts ---- */

static void be_hosts(struct plan_head *h, uint64_t *dice)
{
    static const int64_t scenarios[] = {SCENARIO_NONE, SCENARIO_FAILOVER, SCENARIO_FORMER};

    h->profile = PROFILE_WILD;
    h->scenario = draw_pick(dice, scenarios, DRAW_COUNT(scenarios));
}

/* ---- all ---- */

void plan_world_head(struct plan_head *head, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "world");

    if (plan_only_is() == FAMILY_KILL)
        be_kill(head, &dice);
    else if (plan_only_is() == FAMILY_REDIRECT)
        be_redirect(head);
    else if (plan_only_is() == FAMILY_CROWD)
        plan_crowd_head(head, &dice);
    else if (plan_only_is() == FAMILY_SILENCE)
        be_unseen(head, SCENARIO_SILENCE);
    else if (plan_only_is() == FAMILY_CREDENTIALS)
        be_unseen(head, SCENARIO_CREDENTIALS);
    else if (plan_only_is() == FAMILY_HOSTS)
        be_hosts(head, &dice);
    else if (plan_only_is() == FAMILY_SWITCHOVER)
        be_unseen(head, SCENARIO_SWITCHOVER);
    else if (plan_only_is() == FAMILY_PROXY)
        be_unseen(head, SCENARIO_PROXY);
    else if (plan_only_is() == FAMILY_PUSH)
        head->tracks = draw_between(&dice, 1, 2);
}

void plan_world_last(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "faults of a world");

    if (plan_only_is() == FAMILY_KILL)
        finish_kill(plan, &dice);
    else if (plan_only_is() == FAMILY_CROWD)
        plan_crowd_last(plan, &dice);
    else if (plan_only_is() == FAMILY_PUSH)
        plan->head.protocol = 3;
}
