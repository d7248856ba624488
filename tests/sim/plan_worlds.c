/* Worlds: plans of one kind, with names of any family. --family selects
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
 * silence: connections swallow bytes, one at a time for each client. There are no
 * other faults, and P12 excuses none of these (scenario_unseen.c); the same is true of
 * credentials, switchover, proxy and disagree.
 *
 * credentials: passwords are rotated.
 *
 * switchover: the address of a server leads to another master, and connections that are
 * open still lead to the former one.
 *
 * proxy: a proxy replies that it has lost its server, which may have executed the request.
 *
 * disagree: nodes of a cluster announce wrong addresses or an old map.
 *
 * hosts: a master and its replicas without sentinels. Two of three plans have a scenario
 * of failovers; faults are those of any plan. One of three has none of these, as silence: a
 * master stops and is replaced, and the history has no line of it.
 *
 * queues: fair locks (scenario_queue.c). In some plans a waiter leaves the queue while the
 * server is busy for longer than its lease.
 *
 * messages: waiters that only a message wakes in time, and slots that move meanwhile
 * (scenario_messages.c, _crossing.c, _slots.c). In some plans servers refuse the command by
 * which a client subscribes, and no other one.
 *
 * labels: clients have labels, which others read, or not all, or their account may not use
 * them. Half of the plans have no faults, or a program dies; those of the others are any plan's.
 *
 * outage: semaphores and latches, whose server, or the process, is away for minutes or weeks
 * (scenario_outage.c).
 *
 * names: the resolver does not answer, the address of a server changes, or its name has two,
 * as in silence. */

#include "tests/sim/draw.h"
#include "tests/sim/effects.h"
#include "tests/sim/plan_inner.h"
#include "tests/sim/scenario.h"

/* ---- kill ---- */

#define REFUSALS_MAX 3
#define CROSSINGS 8 /* of a link: more than a handshake takes */

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

/* The next connection, during its handshake. */
static void lose_successors(struct plan *plan, uint64_t *dice)
{
    int64_t handshake_ms = CROSSINGS * plan->head.latency_us / 1000 + 2;
    size_t count = plan->fault_count;

    for (size_t i = 0; i < count; i++) {
        struct plan_fault f = plan->faults[i];

        if (!is_end(&f) || !draw_one_in(dice, 3))
            continue;
        f.kind = FAULT_RESET;
        f.n = draw_below(dice, 2);
        f.connection = 0;
        f.at_ms += draw_between(dice, 1, handshake_ms);
        (void)add(plan, &f);
    }
}

static void finish_kill(struct plan *plan, uint64_t *dice)
{
    drop_refusals(plan);
    refuse_in_turn(plan, dice);
    lose_successors(plan, dice);
    plan_sort_faults(plan);
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
    if (draw_one_in(dice, 3))
        be_unseen(h, SCENARIO_REPLACED);
}

/* ---- queues ---- */

static void be_queues(struct plan_head *h)
{
    h->profile = PROFILE_WILD;
    h->scenario = SCENARIO_QUEUE;
}

static void be_outage(struct plan_head *h)
{
    h->profile = PROFILE_WILD;
    h->scenario = SCENARIO_OUTAGE;
}

static struct plan_op *acquire(struct plan *plan, int64_t at_ms, int64_t program,
                               int64_t owner)
{
    struct plan_op *op = scenario_op(plan, at_ms, OP_ACQUIRE, owner);

    op->program = program % (int64_t)plan->program_count;
    op->wait_ms = HF_FOREVER;
    op->hold_ms = -1;
    return op;
}

#define LEFT_MS 6000 /* before the end: the place is still there when the run is quiet */

/* Its place lasts as long as that of the waiter before it (ORPHAN-2). */
static void leave_a_busy_server(struct plan *plan, uint64_t *dice)
{
    int64_t at_ms = plan->head.length_ms - LEFT_MS, first = draw_below(dice, 8);
    int64_t lease_ms = draw_spread(dice, 100, 1000);
    struct plan_op *leaves;
    struct plan_fault *busy;

    plan->head.watchdog_ms = 30000;
    (void)acquire(plan, at_ms, first, 1);
    (void)acquire(plan, at_ms + draw_between(dice, 100, 500), first + 1, 2);
    leaves = acquire(plan, at_ms + draw_between(dice, 600, 1500), first + 2, 3);
    leaves->lease_ms = lease_ms;
    busy = scenario_fault(plan, at_ms + 2000, FAULT_BUSY,
                          lease_ms + draw_between(dice, 500, 3000));
    busy->server = scenario_server_of(plan, 0);
    scenario_op(plan, busy->at_ms + draw_between(dice, 1, 100), OP_CANCEL, leaves->owner)
        ->program = leaves->program;
}

static void finish_queues(struct plan *plan, uint64_t *dice)
{
    if (draw_one_in(dice, 4))
        leave_a_busy_server(plan, dice);
    plan_sort_ops(plan);
    plan_sort_faults(plan);
}

/* ---- messages ---- */

static void be_messages(struct plan_head *h, uint64_t *dice)
{
    static const int64_t scenarios[] = {SCENARIO_MESSAGES, SCENARIO_MESSAGES, SCENARIO_SLOTS,
                                        SCENARIO_SLOTS,    SCENARIO_RETURNS,  SCENARIO_CROSSING};

    h->profile = PROFILE_WILD;
    h->scenario = draw_pick(dice, scenarios, DRAW_COUNT(scenarios));
}

static bool is_refusal_to_subscribe(const struct plan_fault *f)
{
    return f->kind == FAULT_ACL && f->n == PLAN_ACL_SUBSCRIBE;
}

/* Shortly before a call, which may have to subscribe. */
static struct plan_fault *refuse_before_a_call(struct plan *plan, uint64_t *dice)
{
    const struct plan_op *op = &plan->ops[draw_below(dice, (int64_t)plan->op_count)];

    return scenario_fault(plan, op->at_ms - draw_spread(dice, 1, 300), FAULT_ACL,
                          draw_spread(dice, 400, 6000));
}

/* The command of one kind of messages; the other kind is allowed. */
static void refuse_alone(const struct plan *plan, struct plan_fault *f)
{
    f->kind = FAULT_DENY;
    f->n = plan->head.deployment == DEPLOY_SHARDED && plan->head.version % 3 != 0
               ? DENIED_SSUBSCRIBE
               : DENIED_SUBSCRIBE;
}

static void finish_messages(struct plan *plan, uint64_t *dice)
{
    bool is_of_messages = plan->head.scenario == SCENARIO_MESSAGES ||
                          plan->head.scenario == SCENARIO_RETURNS;

    if (is_of_messages && draw_one_in(dice, 2))
        refuse_before_a_call(plan, dice)->n = PLAN_ACL_SUBSCRIBE;
    for (size_t i = 0; i < plan->fault_count; i++)
        if (is_refusal_to_subscribe(&plan->faults[i]) && draw_one_in(dice, 2))
            refuse_alone(plan, &plan->faults[i]);
    plan_sort_faults(plan);
}

/* ---- labels ---- */

static void be_labels(struct plan_head *h, uint64_t *dice)
{
    static const int64_t kinds[] = {LABELS_ALL, LABELS_ALL, LABELS_SOME, LABELS_DENIED};

    h->labels = draw_pick(dice, kinds, DRAW_COUNT(kinds));
    if (draw_one_in(dice, 2))
        be_unseen(h, SCENARIO_NONE);
}

/* Who holds a lock for so long has a label, and who waits for so long reads it. */
static void be_slow(struct plan *plan, struct plan_op *op, uint64_t *dice)
{
    if (draw_one_in(dice, 2))
        op->hold_ms = draw_spread(dice, 400, 8000);
    if (plan->head.profile != PROFILE_MILD && draw_one_in(dice, 3))
        op->wait_ms = draw_between(dice, 400, 6000);
}

static void read_label(struct plan *plan, const struct plan_op *of, uint64_t *dice)
{
    if (plan->op_count < PLAN_OPS_DRAWN)
        plan->ops[plan->op_count++] = (struct plan_op){
            .at_ms = of->at_ms + draw_spread(dice, 400, 4000),
            .verb = OP_LABEL,
            .program = draw_below(dice, (int64_t)plan->program_count),
            .lock = of->lock};
}

#define LABEL_AFTER_MS 500
#define LONG_LEASE_MS 60000

/* While the label is being written for the other hold. */
static void take_long_lease(struct plan *plan, const struct plan_op *of, uint64_t *dice)
{
    struct plan_op *op = &plan->ops[plan->op_count];
    int64_t way_ms = (plan->head.latency_us + plan->head.jitter_us) / 1000;

    if (plan->op_count == PLAN_OPS_DRAWN || plan->lock_count == 1 ||
        plan->head.profile == PROFILE_MILD)
        return;
    plan->op_count++;
    *op = *of;
    op->lock = (of->lock + 1) % (int64_t)plan->lock_count;
    op->side = op->wait_ms = op->max_hold_ms = 0;
    op->owner = draw_between(dice, 1, PLAN_OWNERS);
    op->lease_ms = LONG_LEASE_MS;
    op->hold_ms = draw_spread(dice, 2000, 8000);
    op->at_ms += LABEL_AFTER_MS + draw_between(dice, 0, 2 * way_ms + 2);
}

/* Early, so that labels must be there again before the plan ends. */
static void refuse_writes(struct plan *plan, uint64_t *dice)
{
    static const int64_t kinds[] = {FAULT_LOADING, FAULT_FULL, FAULT_SCANT, FAULT_UNSAVED};
    struct plan_fault *f = &plan->faults[plan->fault_count];

    plan_add_fault(plan, draw_pick(dice, kinds, DRAW_COUNT(kinds)), dice);
    f->at_ms /= 4;
    f->for_ms = draw_spread(dice, 500, 3000);
    f->server = draw_below(dice, plan->head.masters);
}

#define DEATHS_MAX 3

static void finish_labels(struct plan *plan, uint64_t *dice)
{
    size_t count = plan->op_count;

    for (size_t i = 0; i < count; i++) {
        if (plan->ops[i].verb != OP_ACQUIRE)
            continue;
        be_slow(plan, &plan->ops[i], dice);
        if (draw_one_in(dice, 6))
            take_long_lease(plan, &plan->ops[i], dice);
        if (draw_one_in(dice, 4))
            read_label(plan, &plan->ops[i], dice);
    }
    if (plan->head.profile == PROFILE_CLEAR && draw_one_in(dice, 2)) {
        plan->head.profile = PROFILE_SINGLE;
        if (draw_one_in(dice, 3))
            refuse_writes(plan, dice);
        for (int64_t n = draw_between(dice, 1, DEATHS_MAX); n > 0; n--)
            plan_add_fault(plan, FAULT_DIE, dice);
    }
    plan_sort_ops(plan);
    plan_sort_faults(plan);
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
    else if (plan_only_is() == FAMILY_DISAGREE)
        be_unseen(head, SCENARIO_DISAGREE);
    else if (plan_only_is() == FAMILY_NAMES)
        be_unseen(head, SCENARIO_NAMES);
    else if (plan_only_is() == FAMILY_QUEUES)
        be_queues(head);
    else if (plan_only_is() == FAMILY_MESSAGES)
        be_messages(head, &dice);
    else if (plan_only_is() == FAMILY_LABELS)
        be_labels(head, &dice);
    else if (plan_only_is() == FAMILY_OUTAGE)
        be_outage(head);
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
    else if (plan_only_is() == FAMILY_QUEUES)
        finish_queues(plan, &dice);
    else if (plan_only_is() == FAMILY_MESSAGES)
        finish_messages(plan, &dice);
    else if (plan_only_is() == FAMILY_LABELS)
        finish_labels(plan, &dice);
    else if (plan_only_is() == FAMILY_PUSH)
        plan->head.protocol = 3;
}
