/* Plans of quorums, multi-locks, elections, and holds that outlive their clients. */

#include "tests/sim/draw.h"
#include "tests/sim/plan_inner.h"

bool plan_sets_take_scenario(int64_t family, int64_t scenario)
{
    switch (scenario) {
    case SCENARIO_QUEUE:
    case SCENARIO_COUNTED:
        return false;
    case SCENARIO_SLOTS:
    case SCENARIO_FAILOVER:
    case SCENARIO_FORMER:
    case SCENARIO_RETURNS:
        return family != FAMILY_QUORUM;
    default:
        return true;
    }
}

/* A plain lock instead of one that needs keys in two slots. */
static int64_t draw_inner(const struct plan *plan, int64_t lock, uint64_t *dice)
{
    static const int64_t families[] = {FAMILY_PLAIN,  FAMILY_PLAIN,
                                       FAMILY_FENCED, FAMILY_NONREENTRANT,
                                       FAMILY_VALUE,  FAMILY_SPIN};
    int64_t family = draw_pick(dice, families, DRAW_COUNT(families));

    return family != FAMILY_FENCED || plan_may_have_two_keys(plan, lock)
               ? family
               : FAMILY_PLAIN;
}

/* There may be more than were drawn. */
static void name_in_turn(struct plan *plan)
{
    for (size_t i = 1; i < plan->lock_count; i++)
        plan->locks[i].name =
            (plan->locks[0].name + (int64_t)i) % PLAN_NAMES_DRAWN;
}

/* Few names: what is to contend must meet. */
static void be_few(struct plan *plan, int64_t family, uint64_t *dice)
{
    plan->lock_count = (size_t)draw_between(dice, 1, 2);
    name_in_turn(plan);
    for (size_t i = 0; i < plan->lock_count; i++)
        plan->locks[i] = (struct plan_lock){
            .family = family,
            .name = plan->locks[i].name,
            .inner = draw_inner(plan, (int64_t)i, dice)};
}

/* All servers are masters that know nothing of each other. */
static void be_quorums(struct plan *plan, uint64_t *dice)
{
    static const int64_t members[] = {3, 3, 3, 5, 5, 2, 4, 6, 7};

    plan->head.deployment = DEPLOY_INDEPENDENT;
    plan->head.masters = draw_pick(dice, members, DRAW_COUNT(members));
    plan->head.replicas = 0;
    be_few(plan, FAMILY_QUORUM, dice);
}

static void be_elections(struct plan *plan, uint64_t *dice)
{
    be_few(plan, FAMILY_ELECTION, dice);
}

static int64_t draw_members(size_t count, uint64_t *dice)
{
    int64_t members = draw_one_in(dice, 2) ? (1 << count) - 1
                                           : draw_between(dice, 1, (1 << count) - 1);

    return members & (members - 1) ? members : (1 << count) - 1;
}

/* Locks, and one or two sets of them. */
static void be_multis(struct plan *plan, uint64_t *dice)
{
    int64_t singles = draw_between(dice, 2, 4), sets = draw_between(dice, 1, 2);
    int64_t first = plan->locks[0].name;

    plan->lock_count = (size_t)(singles + sets);
    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++) {
        plan->locks[i] =
            (struct plan_lock){.name = (first + i) % PLAN_NAMES_DRAWN};
        if (i < singles)
            plan->locks[i].family = draw_inner(plan, i, dice);
        else
            plan->locks[i].family = FAMILY_MULTI;
        if (i >= singles)
            plan->locks[i].members = draw_members((size_t)singles, dice);
    }
}

void plan_sets_first(struct plan *plan, int64_t family)
{
    uint64_t dice = dice_stream((uint64_t)plan->head.seed, "sets");

    if (family == FAMILY_QUORUM)
        be_quorums(plan, &dice);
    else if (family == FAMILY_MULTI)
        be_multis(plan, &dice);
    else if (family == FAMILY_ELECTION)
        be_elections(plan, &dice);
}

/* Two of three calls are of a set. */
static void go_to_sets(struct plan *plan, uint64_t *dice)
{
    for (size_t i = 0; i < plan->op_count; i++) {
        struct plan_op *op = &plan->ops[i];

        if (plan_is_set(plan, op->lock) || draw_one_in(dice, 3))
            continue;
        op->lock = plan_is_set(plan, (int64_t)plan->lock_count - 2)
                       ? (int64_t)plan->lock_count - draw_between(dice, 1, 2)
                       : (int64_t)plan->lock_count - 1;
        op->side = 0;
    }
}

/* The same fault soon after, at a number of the next servers. */
static void repeat_fault(struct plan *plan, const struct plan_fault *fault,
                         int64_t times, uint64_t *dice)
{
    for (int64_t i = 1; i <= times && plan->fault_count < PLAN_FAULTS_MAX; i++) {
        struct plan_fault *f = &plan->faults[plan->fault_count++];

        *f = *fault;
        f->server = (fault->server + i) % plan->head.masters;
        f->at_ms += draw_below(dice, 20);
    }
}

/* What goes wrong at one server harms no quorum: some of it happens at most of them. A
 * scenario has one server: here each fault has its own. */
static void spread_faults(struct plan *plan, uint64_t *dice)
{
    size_t count = plan->fault_count;

    for (size_t i = 0; i < count; i++) {
        struct plan_fault *f = &plan->faults[i];

        if (plan->head.scenario != SCENARIO_NONE)
            f->server = draw_below(dice, plan->head.masters);
        if (draw_one_in(dice, 3))
            repeat_fault(plan, f, draw_between(dice, 1, plan->head.masters / 2),
                         dice);
    }
}

/* A majority of the servers forget what they had, at nearly the same time: one member may
 * be acquired again before the loss of another is noticed. */
static void forget_most(struct plan *plan, uint64_t *dice)
{
    struct plan_fault first;

    if (plan->fault_count == PLAN_FAULTS_MAX)
        return;
    plan_add_fault(plan, FAULT_FLUSHALL, dice);
    first = plan->faults[plan->fault_count - 1];
    first.server = draw_below(dice, plan->head.masters);
    plan->faults[plan->fault_count - 1] = first;
    repeat_fault(plan, &first, plan->head.masters / 2, dice);
}

#define PEER_AT_MS 50
#define HELD_AT_MS 200
#define WAITS_AT_MS 400

static void add_acquire(struct plan *plan, int64_t at_ms, int64_t program, int64_t wait_ms,
                        int64_t hold_ms)
{
    struct plan_op *op = &plan->ops[plan->op_count++];

    *op = (struct plan_op){.at_ms = at_ms, .verb = OP_ACQUIRE, .program = program, .owner = 1,
                           .wait_ms = wait_ms, .hold_ms = hold_ms};
}

/* A peer has the member at the first server for long. One program has the others for a moment;
 * another one begins to wait then, in line at the first server (QUORUM-2), and must notice that
 * the others are free (QUORUM-4). */
static void hold_one_member(struct plan *plan, uint64_t *dice)
{
    if (plan->program_count < 2 || plan->op_count + 2 > PLAN_OPS_MAX ||
        plan->head.masters < 3)
        return;
    plan->faults[0] = (struct plan_fault){.at_ms = PEER_AT_MS, .kind = FAULT_PEER,
                                          .for_ms = draw_between(dice, 10000, 25000)};
    plan->fault_count = 1;
    add_acquire(plan, HELD_AT_MS, 0, 0, draw_between(dice, 400, 3000));
    add_acquire(plan, WAITS_AT_MS, 1, HF_FOREVER, draw_between(dice, 10, 1000));
    plan_sort_ops(plan);
}

static int64_t set_of(const struct plan *plan)
{
    int64_t lock = (int64_t)plan->lock_count - 1;

    while (lock > 0 && plan->locks[lock].family != FAMILY_MULTI)
        lock--;
    return lock;
}

static bool is_member(const struct plan *plan, int64_t lock)
{
    return plan->locks[set_of(plan)].members >> lock & 1;
}

static struct plan_op *add_op(struct plan *plan, int64_t verb, int64_t lock, int64_t at_ms,
                              int64_t program)
{
    struct plan_op *op = &plan->ops[plan->op_count++];

    *op = (struct plan_op){.at_ms = at_ms, .verb = verb, .lock = lock, .program = program,
                           .owner = 1};
    return op;
}

#define FORCED_AT_MS 600
#define FREE_AT_MS 700

/* One program has a member for a moment. Another one begins to acquire the set, and waits for that
 * member; the others that it has are freed by force meanwhile. So the last grant comes late, and
 * the call must begin anew (MULTI-4). */
static void lose_members(struct plan *plan, uint64_t *dice)
{
    int64_t set = set_of(plan), last;

    if (plan->program_count < 2 || plan->op_count + PLAN_LOCKS_DRAWN + 2 > PLAN_OPS_MAX)
        return;
    do {
        last = draw_below(dice, set);
    } while (!is_member(plan, last));
    add_op(plan, OP_ACQUIRE, last, HELD_AT_MS, 0)->hold_ms =
        FREE_AT_MS - HELD_AT_MS + draw_below(dice, 300);
    add_op(plan, OP_ACQUIRE, set, WAITS_AT_MS, 1)->wait_ms = HF_FOREVER;
    plan->ops[plan->op_count - 1].hold_ms = draw_between(dice, 10, 1000);
    for (int64_t lock = 0; lock < set; lock++)
        if (is_member(plan, lock) && lock != last)
            add_op(plan, OP_FORCE, lock, FORCED_AT_MS, 0);
    plan_sort_ops(plan);
}

#define LOST_AT_MS 1700
#define RELEASED_AT_MS 2000

/* A client allows a sixth of it for the replicas at most. */
static void use_watchdog(struct plan_head *h, int64_t watchdog_ms)
{
    h->watchdog_ms = watchdog_ms;
    if (h->replicas_ms > watchdog_ms / 6)
        h->replicas_ms = watchdog_ms / 6;
}

/* Nothing but a set that is held, one of whose members is freed by force. As the set is released,
 * one server of the cluster refuses scripts: the member that was lost decides the result. */
static void release_beside_a_refusal(struct plan *plan, uint64_t *dice)
{
    int64_t set = set_of(plan), lost;

    if (plan->program_count < 2 || !plan_is_cluster(plan->head.deployment))
        return;
    do {
        lost = draw_below(dice, set);
    } while (!is_member(plan, lost));
    plan->op_count = 0;
    add_op(plan, OP_ACQUIRE, set, HELD_AT_MS, 1)->hold_ms = RELEASED_AT_MS - HELD_AT_MS;
    add_op(plan, OP_FORCE, lost, LOST_AT_MS, 0);
    plan->faults[0] = (struct plan_fault){.at_ms = RELEASED_AT_MS - draw_below(dice, 100),
                                          .kind = FAULT_ACL,
                                          .server = draw_below(dice, plan->head.masters),
                                          .for_ms = 3000};
    plan->fault_count = 1;
    plan->head.latency_us = 2000;
    plan->head.jitter_us = 1500;
    use_watchdog(&plan->head, 10000);
}

#define ENTERS_AT_MS 5000
#define LONG_LEASE_MS 150000

/* An owner whose set is renewed enters it again, with a long lease. While members that are far away
 * are requested, renewals shorten the lease of those that were granted: the set is whole all the
 * same. */
static void enter_for_long(struct plan *plan, uint64_t *dice)
{
    int64_t set = set_of(plan);
    struct plan_op *op;

    if (plan->op_count + 2 > PLAN_OPS_MAX)
        return;
    use_watchdog(&plan->head, 900);
    plan->head.latency_us = 20000;
    op = add_op(plan, OP_ACQUIRE, set, ENTERS_AT_MS, 0);
    op->wait_ms = HF_FOREVER;
    op->hold_ms = 4000;
    op->owner = PLAN_OWNERS;
    op = add_op(plan, OP_ACQUIRE, set, ENTERS_AT_MS + draw_between(dice, 500, 3000), 0);
    op->lease_ms = LONG_LEASE_MS;
    op->hold_ms = draw_between(dice, 1, 1000);
    op->owner = PLAN_OWNERS;
    plan_sort_ops(plan);
}

/* Two servers seem to be one for a while, as if two names led to it: quorums are refused, and no
 * longer when that ends. */
static void be_one_server(struct plan *plan, uint64_t *dice)
{
    struct plan_fault *f = &plan->faults[0];

    *f = (struct plan_fault){.kind = FAULT_ONE_SERVER,
                             .server = draw_below(dice, plan->head.masters),
                             .n = draw_between(dice, 1, plan->head.masters - 1),
                             .for_ms = draw_spread(dice, 500, plan->head.length_ms / 3)};
    f->at_ms = draw_below(dice, plan->head.length_ms / 3);
    plan->fault_count = 1;
}

/* Some holds are left to their leases, as by a process that ends; others renew and
 * release them. */
static void leave_holds(struct plan *plan, uint64_t *dice)
{
    for (size_t i = 0; i < plan->op_count; i++) {
        struct plan_op *op = &plan->ops[i];

        if (op->verb == OP_ACQUIRE && draw_one_in(dice, 2)) {
            op->lease_ms = draw_spread(dice, 500, 8 * plan->head.watchdog_ms);
            op->hold_ms = draw_one_in(dice, 2) ? -1 : 2 * op->lease_ms;
            op->max_hold_ms = 0;
        } else if (draw_one_in(dice, 8)) {
            op->verb = OP_FREE;
        } else if (draw_one_in(dice, 2)) {
            op->verb = draw_one_in(dice, 3) ? OP_RELEASE_OWNER : OP_RENEW_OWNER;
            op->lease_ms = draw_spread(dice, 100, 8 * plan->head.watchdog_ms);
            op->n = draw_below(dice, 8);
        }
    }
}

void plan_sets_last(struct plan *plan, int64_t family)
{
    uint64_t dice = dice_stream((uint64_t)plan->head.seed, "acts of sets");

    if (family == FAMILY_MULTI)
        go_to_sets(plan, &dice);
    if (family == FAMILY_BY_OWNER && plan->head.profile != PROFILE_MILD)
        leave_holds(plan, &dice);
    if (family == FAMILY_QUORUM && plan->head.profile == PROFILE_WILD)
        spread_faults(plan, &dice);
    if (family == FAMILY_QUORUM && plan->head.profile == PROFILE_WILD &&
        draw_one_in(&dice, 2))
        forget_most(plan, &dice);
    plan_sort_faults(plan);
    dice = dice_stream((uint64_t)plan->head.seed, "peer of a quorum");
    if (family == FAMILY_QUORUM && plan->head.profile == PROFILE_SINGLE && draw_one_in(&dice, 2))
        hold_one_member(plan, &dice);
    else if (family == FAMILY_QUORUM && plan->head.profile == PROFILE_SINGLE)
        be_one_server(plan, &dice);
    dice = dice_stream((uint64_t)plan->head.seed, "members that are lost");
    if (family == FAMILY_MULTI && plan->head.profile == PROFILE_CLEAR)
        lose_members(plan, &dice);
    if (family == FAMILY_MULTI && plan->head.profile == PROFILE_CLEAR && draw_one_in(&dice, 2))
        enter_for_long(plan, &dice);
    dice = dice_stream((uint64_t)plan->head.seed, "releases of what was lost");
    if (family == FAMILY_MULTI && plan->head.profile == PROFILE_SINGLE)
        release_beside_a_refusal(plan, &dice);
}
