/* Rare faults: they are drawn after all others, from a stream of their own, so that a plan
 * without them is unchanged. */

#include "tests/sim/draw.h"
#include "tests/sim/effects.h"
#include "tests/sim/plan_inner.h"

/* Where a message must wake a waiter in the time of an undisturbed plan, or all
 * follow a new master in the time that cluster.md states, or each change of a count is judged, they
 * have no place. */
static bool may_have_rare(const struct plan_head *h)
{
    switch (h->scenario) {
    case SCENARIO_SLOTS:
    case SCENARIO_FAILOVER:
    case SCENARIO_CROSSING:
    case SCENARIO_MESSAGES:
    case SCENARIO_RETURNS:
    case SCENARIO_OUTAGE:
        return false;
    default:
        return h->profile != PROFILE_MILD && h->profile != PROFILE_CLEAR;
    }
}

static int64_t draw_kind(const struct plan *plan, uint64_t *dice)
{
    int64_t kind;

    do {
        kind = draw_one_in(dice, 4)
                   ? FAULT_DENY /* one of many commands */
                   : draw_between(dice, FAULT_KINDS_COMMON, FAULT_KINDS_RARE - 1);
    } while (!plan_can_be(kind, plan->head.deployment));
    return kind;
}

/* One kind, or two, that come again and again. */
#define RARE_MAX 6

/* A connection ends soon after the fault began, so that the handshake of the next
 * one falls into it. */
static void end_connection(struct plan *plan, uint64_t *dice)
{
    static const int64_t ends[] = {FAULT_RESET, FAULT_KILL, FAULT_HALF_OPEN,
                                   FAULT_CUT};
    struct plan_fault *before = &plan->faults[plan->fault_count - 1], *f;

    if (plan->fault_count == PLAN_FAULTS_MAX || draw_one_in(dice, 4))
        return;
    plan_add_fault(plan, draw_pick(dice, ends, DRAW_COUNT(ends)), dice);
    f = before + 1;
    f->at_ms = before->at_ms + draw_below(dice, before->for_ms + 1);
    f->program = before->program;
    f->server = draw_below(dice, plan->head.masters);
}

static bool is_of_handshake(const struct plan_fault *f)
{
    return f->kind == FAULT_PASSWORD ||
           (f->kind == FAULT_DENY &&
            (f->n <= DENIED_INFO ||
             (f->n >= DENIED_SETINFO && f->n <= DENIED_HELLO)));
}

/* Is the command sent at all in such a deployment? */
static bool is_sent(int64_t denied, const struct plan_head *h)
{
    switch (denied) {
    case DENIED_SPUBLISH:
    case DENIED_SSUBSCRIBE:
        return h->deployment == DEPLOY_SHARDED;
    case DENIED_CLUSTER:
    case DENIED_ASKING:
        return plan_is_cluster(h->deployment);
    case DENIED_SENTINEL:
        return h->deployment == DEPLOY_SENTINEL;
    case DENIED_WAIT:
        return h->replicas != 0;
    default:
        return true;
    }
}

/* ASKING is sent while a slot moves. */
static void choose_command(struct plan *plan, struct plan_fault *f,
                           uint64_t *dice)
{
    if (plan->head.deployment == DEPLOY_SHARDED &&
        (f->n == DENIED_PUBLISH || f->n == DENIED_SUBSCRIBE))
        f->n++; /* of shards */
    while (!is_sent(f->n, &plan->head))
        f->n = draw_below(dice, PLAN_DENIED);
    if (f->n == DENIED_PING || f->n == DENIED_SPUBLISH) /* sent now and then */
        f->for_ms = draw_between(dice, 5000, 20000);
    if (f->n != DENIED_ASKING || plan->fault_count == PLAN_FAULTS_MAX)
        return;
    plan_add_fault(plan, FAULT_MOVE_SLOT, dice);
    f[1].at_ms = f->at_ms;
    f[1].for_ms = f->for_ms;
}

static void add_one(struct plan *plan, int64_t kind, uint64_t *dice)
{
    struct plan_fault *f = &plan->faults[plan->fault_count];

    plan_add_fault(plan, kind, dice);
    f->server = draw_one_in(dice, 2) ? f->server
                                     : draw_below(dice, plan->head.masters);
    if (f->kind == FAULT_DENY)
        choose_command(plan, f, dice);
    if (is_of_handshake(f))
        end_connection(plan, dice);
}

static void add(struct plan *plan, uint64_t *dice)
{
    int64_t kinds[2] = {draw_kind(plan, dice), draw_kind(plan, dice)};
    int64_t count = draw_between(dice, 1, RARE_MAX);

    if (plan->head.profile == PROFILE_SINGLE)
        plan->fault_count = 0, count = 1;
    while (count-- > 0 && plan->fault_count < PLAN_FAULTS_MAX)
        add_one(plan, kinds[draw_below(dice, 2)], dice);
    plan_sort_faults(plan);
}

/* Scenarios in which no connection can be killed refuse that and INFO together: there
 * no client knows which server it had been connected to. Half of them refuse one
 * of the two. */
static void refuse_alone(struct plan *plan, uint64_t *dice)
{
    int64_t denied = draw_one_in(dice, 4) ? DENIED_INFO : DENIED_KILL;
    bool is_alone = draw_one_in(dice, 2);

    for (size_t i = 0; i < plan->fault_count; i++) {
        struct plan_fault *f = &plan->faults[i];

        if (is_alone && f->kind == FAULT_ACL && f->n == PLAN_ACL_KILL) {
            f->kind = FAULT_DENY;
            f->n = denied;
        }
    }
}

/* A lock that cannot get its TTL is taken back by DEL. If the server refuses both, and
 * the client ends, the lock stays for ever: that is the operator's fault. */
static void refuse_del_or_pexpire(struct plan *plan)
{
    int64_t refused = -1;

    for (size_t i = 0; i < plan->fault_count; i++) {
        struct plan_fault *f = &plan->faults[i];

        if (f->kind != FAULT_DENY || (f->n != DENIED_PEXPIRE && f->n != DENIED_DEL))
            continue;
        if (refused < 0)
            refused = f->n;
        f->n = refused;
    }
}

void plan_draw_rare(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "rare");

    refuse_alone(plan, &dice);
    if (may_have_rare(&plan->head) && draw_one_in(&dice, 2))
        add(plan, &dice);
    refuse_del_or_pexpire(plan);
}

/* ---- the end of a process, and a stop within a turn ---- */

/* In one of eight plans in which much goes wrong. Owners of sets are killed in others, by a
 * stream of their own. */
#define RAREST_ONE_IN 8
#define RAREST_MAX 4

static bool has_sets(void)
{
    return plan_only_is() == FAMILY_QUORUM || plan_only_is() == FAMILY_MULTI ||
           plan_only_is() == FAMILY_ELECTION;
}

void plan_draw_rarest(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "rarest");
    int64_t count = draw_between(&dice, 1, RAREST_MAX);

    if (!may_have_rare(&plan->head) || plan->head.profile == PROFILE_SINGLE ||
        !draw_one_in(&dice, RAREST_ONE_IN))
        return;
    for (; count > 0 && plan->fault_count < PLAN_FAULTS_MAX; count--)
        plan_add_fault(plan,
                       has_sets() ? FAULT_STALL
                                  : draw_between(&dice, FAULT_KINDS_RARE, FAULT_KINDS_RAREST - 1),
                       &dice);
    plan_sort_faults(plan);
}

#define DEATHS_ONE_IN 4

/* While the program holds a set, if its acquire is granted soon. */
static void go_to_hold(struct plan_fault *f, const struct plan *plan, uint64_t *dice)
{
    const struct plan_op *op = &plan->ops[draw_below(dice, (int64_t)plan->op_count)];

    if (op->verb != OP_ACQUIRE || !plan_is_set(plan, op->lock) || op->hold_ms == 0)
        return;
    f->at_ms = op->at_ms + draw_spread(dice, 1, op->hold_ms > 0 ? op->hold_ms : 1000);
    f->program = op->program;
    if (f->at_ms >= plan->head.length_ms)
        f->at_ms = plan->head.length_ms - 1;
}

void plan_draw_deaths(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "deaths of owners of sets");
    int64_t count = draw_between(&dice, 1, RAREST_MAX);

    if (!has_sets() || !may_have_rare(&plan->head) || plan->head.profile == PROFILE_SINGLE ||
        !draw_one_in(&dice, DEATHS_ONE_IN))
        return;
    for (; count > 0 && plan->fault_count < PLAN_FAULTS_MAX; count--) {
        plan_add_fault(plan, FAULT_DIE, &dice);
        go_to_hold(&plan->faults[plan->fault_count - 1], plan, &dice);
    }
    plan_sort_faults(plan);
}

/* ---- clocks of servers ---- */

/* Of locks that have nothing but a TTL: the times of a queue, of answers that are kept, and
 * of tokens that outlive their counter are those of the server's clock (A1). */
static bool is_by_ttl(const struct plan *plan, int64_t lock)
{
    return !plan_has_queue(plan, lock) && !plan_has_permits(plan, lock) &&
           !(plan->head.retains_tokens && plan->locks[lock].has_tokens) &&
           plan_family(plan, lock) != FAMILY_FENCED;
}

#define CLOCKS_ONE_IN 8

/* With replicas, the time of WAIT is also one of the server's clock. */
void plan_draw_clocks(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "clocks of servers");
    int64_t count = draw_between(&dice, 1, 3);

    if (!may_have_rare(&plan->head) || plan->head.profile == PROFILE_SINGLE || has_sets() ||
        plan->head.replicas != 0 || !draw_one_in(&dice, CLOCKS_ONE_IN))
        return;
    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++)
        if (!is_by_ttl(plan, i))
            return;
    for (; count > 0 && plan->fault_count < PLAN_FAULTS_MAX; count--) {
        plan_add_fault(plan, FAULT_SERVER_CLOCK, &dice);
        if (draw_one_in(&dice, 2))
            plan->faults[plan->fault_count - 1].server = draw_below(&dice, plan->head.masters);
    }
    plan_sort_faults(plan);
}

#define DRIFTS_ONE_IN 8

/* Nothing is excused: the rates stay as assumption A1 of guarantees.md has them, unless the
 * clock of a program is as far off in the other direction. */
void plan_draw_drift(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "rates of servers");
    int64_t count = draw_between(&dice, 1, 4);

    if (!may_have_rare(&plan->head) || plan->head.profile == PROFILE_SINGLE ||
        !draw_one_in(&dice, DRIFTS_ONE_IN))
        return;
    for (; count > 0 && plan->fault_count < PLAN_FAULTS_MAX; count--) {
        plan_add_fault(plan, FAULT_SERVER_DRIFT, &dice);
        if (has_sets()) /* the judge knows no rates of a quorum as a whole */
            plan->faults[plan->fault_count - 1].n /= 10;
    }
    plan_sort_faults(plan);
}

/* ---- power ---- */

#define POWER_ONE_IN 8
#define POWER_MAX 3
#define EVERYSEC_MS 1000 /* appendfsync everysec; one in four loses more */

void plan_draw_power(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "power");
    int64_t count = draw_between(&dice, 1, POWER_MAX);

    if (!may_have_rare(&plan->head) || plan->head.profile == PROFILE_SINGLE ||
        !plan_can_be(FAULT_POWER, plan->head.deployment) || !draw_one_in(&dice, POWER_ONE_IN))
        return;
    for (; count > 0 && plan->fault_count < PLAN_FAULTS_MAX; count--) {
        struct plan_fault *f = &plan->faults[plan->fault_count];

        plan_add_fault(plan, FAULT_POWER, &dice);
        if (!draw_one_in(&dice, 4))
            f->n = draw_between(&dice, 1, EVERYSEC_MS);
        if (draw_one_in(&dice, 2))
            f->server = draw_below(&dice, plan->head.masters);
    }
    plan_sort_faults(plan);
}
