/* A plan is drawn: each part by a stream of the seed that bears its name, so
 * that a change to how one part is drawn moves no other. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/draw.h"
#include "tests/sim/effects.h"
#include "tests/sim/plan_inner.h"
#include "tests/sim/scenario.h"

/* ---- deployment ---- */

static const int64_t profiles[] = {PROFILE_MILD, PROFILE_SINGLE, PROFILE_WILD, PROFILE_WILD,
                                   PROFILE_WILD, PROFILE_WILD,   PROFILE_WILD, PROFILE_WILD};
static const int64_t watchdogs_ms[] = {900, 3000, 3000, 10000, 30000};
static const int64_t requests_ms[] = {300, 1000, 5000};
#define REQUEST_MILD_MS 5000 /* every link is fast enough for that */
static const int64_t latencies_us[] = {100, 500, 2000, 20000};

static bool has_no_faults(const struct plan_head *h)
{
    return h->profile == PROFILE_MILD || h->profile == PROFILE_CLEAR;
}

static void draw_deployment(struct plan_head *h, uint64_t *dice)
{
    h->deployment = h->scenario == SCENARIO_NONE ? draw_below(dice, DEPLOYMENTS_DRAWN)
                        : scenario_deployment(h->scenario, dice);
    if (plan_only_is() == FAMILY_HOSTS)
        h->deployment = DEPLOY_HOSTS;
    h->version = draw_below(dice, 4);
    h->protocol = draw_between(dice, 2, 3);
    h->masters = plan_is_cluster(h->deployment) ? 3 : 1;
    h->latency_us = draw_pick(dice, latencies_us, DRAW_COUNT(latencies_us));
    h->jitter_us = draw_below(dice, h->latency_us);
    h->keeps_alive = draw_below(dice, 2);
    h->has_long_leases = draw_one_in(dice, 3);
    h->is_deaf = draw_one_in(dice, 8);
    h->piece_max = draw_one_in(dice, 3) ? draw_between(dice, 1, 40) : 0;
    h->replicas_ms = 100;
    if (!has_no_faults(h))
        h->replicas_ms = draw_spread(dice, 20, h->watchdog_ms / 6);
    h->lag_us = h->latency_us;
    if (!has_no_faults(h) && draw_one_in(dice, 2))
        h->lag_us = draw_spread(dice, 1000, 2000 * h->replicas_ms);
    if (h->deployment == DEPLOY_REPLICAS ||
        (h->deployment != DEPLOY_STANDALONE && draw_one_in(dice, 4)))
        h->replicas = draw_between(dice, HF_REPLICAS_MAJORITY, 1);
}

/* Two of three of those where much goes wrong. */
static int64_t draw_scenario(uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "scene");
    int64_t scenario = draw_one_in(&dice, 3) ? SCENARIO_NONE : scenario_pick(&dice);

    return plan_takes_scenario(scenario) ? scenario : SCENARIO_NONE;
}

static void draw_head(struct plan *plan, uint64_t seed)
{
    struct plan_head *h = &plan->head;
    uint64_t dice = dice_stream(seed, "head");

    h->seed = (int64_t)seed;
    h->profile = draw_pick(&dice, profiles, DRAW_COUNT(profiles));
    if (h->profile != PROFILE_MILD && plan_is_clear(seed))
        h->profile = PROFILE_CLEAR;
    if (h->profile == PROFILE_WILD)
        h->scenario = draw_scenario(seed);
    plan_world_head(h, seed);
    h->length_ms = draw_between(&dice, 5000, 60000);
    h->watchdog_ms = draw_pick(&dice, watchdogs_ms, DRAW_COUNT(watchdogs_ms));
    h->request_ms = has_no_faults(h)
                        ? REQUEST_MILD_MS
                        : draw_pick(&dice, requests_ms, DRAW_COUNT(requests_ms));
    draw_deployment(h, &dice);
    h->wakes_both = draw_one_in(&dice, 4) ? draw_between(&dice, 1, 2) : 0;
    dice = dice_stream(seed, "alignment");
    h->aligns_renewals = plan_is_cluster(h->deployment) && draw_one_in(&dice, 2);
}

static void draw_programs(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "programs");

    plan->program_count = (size_t)draw_between(&dice, 2, PLAN_PROGRAMS_DRAWN);
    for (size_t i = 0; i < plan->program_count; i++) {
        plan->programs[i].offset_ms = draw_between(&dice, 0, 100000000);
        plan->programs[i].ppm = draw_one_in(&dice, 3) ? draw_between(&dice, -9000, 9000)
                                                 : draw_between(&dice, -100, 100);
    }
}

/* ---- locks ---- */

int64_t plan_family(const struct plan *plan, int64_t lock)
{
    return plan_is_set(plan, lock) ? plan->locks[lock].inner
                                   : plan->locks[lock].family;
}

bool plan_has_fault(const struct plan *plan, int64_t kind)
{
    for (size_t i = 0; i < plan->fault_count; i++)
        if (plan->faults[i].kind == kind)
            return true;
    return false;
}

bool plan_is_set(const struct plan *plan, int64_t lock)
{
    return plan->locks[lock].family >= FAMILY_QUORUM;
}

bool plan_is_cluster(int64_t deployment)
{
    return deployment == DEPLOY_CLUSTER || deployment == DEPLOY_SHARDED;
}

bool plan_needs_two_keys(const struct plan *plan, int64_t lock)
{
    int64_t family = plan_family(plan, lock);

    return family == FAMILY_FENCED || plan->locks[lock].has_tokens ||
           family == FAMILY_READ_WRITE || plan_has_permits(plan, lock) ||
           plan_has_queue(plan, lock);
}

bool plan_is_counted(const struct plan *plan, int64_t lock)
{
    return plan->locks[lock].family == FAMILY_SEMAPHORE ||
           plan->locks[lock].family == FAMILY_LATCH;
}

bool plan_has_permits(const struct plan *plan, int64_t lock)
{
    return plan->locks[lock].family == FAMILY_PERMIT ||
           plan_is_counted(plan, lock);
}

bool plan_has_queue(const struct plan *plan, int64_t lock)
{
    return plan->locks[lock].family == FAMILY_FAIR ||
           plan->locks[lock].family == FAMILY_MIXED_FAIR;
}

static void draw_locks(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "locks");
    int64_t name = draw_below(&dice, PLAN_NAMES_DRAWN);

    plan->lock_count = (size_t)draw_between(&dice, 1, PLAN_LOCKS_DRAWN);
    for (size_t i = 0; i < plan->lock_count; i++) {
        plan->locks[i].family = draw_below(&dice, FAMILIES_DRAWN);
        plan->locks[i].name = (name + (int64_t)i) % PLAN_NAMES_DRAWN;
        if (plan_needs_two_keys(plan, (int64_t)i) &&
            !plan_may_have_two_keys(plan, (int64_t)i))
            plan->locks[i].family = FAMILY_PLAIN;
    }
}

bool plan_has_sides(int64_t family)
{
    return family == FAMILY_MIXED || family == FAMILY_READ_WRITE ||
           family == FAMILY_MIXED_FAIR || family == FAMILY_MIXED_SPIN ||
           family == FAMILY_ELECTION;
}

enum hf_lock_kind plan_kind(const struct plan *plan, int64_t lock, int64_t side)
{
    static const enum hf_lock_kind kinds[FAMILIES][2] = {
        [FAMILY_PLAIN] = {HF_KIND_PLAIN, HF_KIND_PLAIN},
        [FAMILY_NONREENTRANT] = {HF_KIND_NONREENTRANT, HF_KIND_NONREENTRANT},
        [FAMILY_MIXED] = {HF_KIND_PLAIN, HF_KIND_NONREENTRANT},
        [FAMILY_FENCED] = {HF_KIND_FENCED, HF_KIND_FENCED},
        [FAMILY_READ_WRITE] = {HF_KIND_READ, HF_KIND_WRITE},
        [FAMILY_FAIR] = {HF_KIND_FAIR, HF_KIND_FAIR},
        [FAMILY_MIXED_FAIR] = {HF_KIND_FAIR, HF_KIND_NONREENTRANT_FAIR},
        [FAMILY_VALUE] = {HF_KIND_VALUE, HF_KIND_VALUE},
        [FAMILY_SPIN] = {HF_KIND_SPIN, HF_KIND_SPIN},
        [FAMILY_PERMIT] = {HF_KIND_PERMIT, HF_KIND_PERMIT},
        [FAMILY_SEMAPHORE] = {PLAN_KIND_SEMAPHORE, PLAN_KIND_SEMAPHORE},
        [FAMILY_LATCH] = {PLAN_KIND_LATCH, PLAN_KIND_LATCH},
        [FAMILY_MIXED_SPIN] = {HF_KIND_SPIN, HF_KIND_NONREENTRANT},
    };

    if (plan_is_set(plan, lock)) /* the side that excludes all others */
        side = plan_family(plan, lock) == FAMILY_READ_WRITE;
    return kinds[plan_family(plan, lock)][side];
}

enum hf_lock_kind plan_kind_of_handle(const struct plan *plan, int64_t lock,
                                      int64_t side)
{
    enum hf_lock_kind kind = plan_kind(plan, lock, side);

    return plan->locks[lock].has_tokens && kind != HF_KIND_READ
               ? (enum hf_lock_kind)(kind | HF_WITH_TOKEN)
               : kind;
}

/* ---- operations ---- */

static void draw_target(struct plan_op *op, const struct plan *plan,
                        uint64_t *dice)
{
    op->at_ms = draw_below(dice, plan->head.length_ms);
    op->program = draw_below(dice, (int64_t)plan->program_count);
    op->lock = draw_below(dice, (int64_t)plan->lock_count);
    op->side =
        plan_has_sides(plan->locks[op->lock].family) ? draw_below(dice, 2) : 0;
    op->owner = draw_between(dice, 1, PLAN_OWNERS);
}

/* Longer than the end of a run: an orphaned lock still exists then. */
#define LEASE_LONG_MS 150000

static int64_t draw_lease(const struct plan_head *h, uint64_t *dice)
{
    if (!draw_one_in(dice, 3))
        return 0;
    switch (draw_below(dice, h->has_long_leases ? 2 : 6)) {
    case 0:
        return LEASE_LONG_MS;
    case 1:
        return h->watchdog_ms * draw_between(dice, 2, 8);
    default:
        return draw_spread(dice, 30, h->watchdog_ms);
    }
}

static int64_t draw_wait(uint64_t *dice)
{
    switch (draw_below(dice, 4)) {
    case 0:
        return 0;
    case 1:
        return HF_FOREVER;
    default:
        return draw_spread(dice, 1, 20000);
    }
}

static void draw_acquire(struct plan_op *op, const struct plan_head *h,
                         uint64_t *dice)
{
    op->verb = OP_ACQUIRE;
    op->wait_ms = draw_wait(dice);
    op->lease_ms = draw_lease(h, dice);
    op->hold_ms = draw_one_in(dice, 20) ? -1 : draw_spread(dice, 1, h->watchdog_ms);
    if (draw_one_in(dice, 6))
        op->max_hold_ms = draw_spread(dice, 50, h->watchdog_ms);
    if (draw_one_in(dice, 4))
        op->flags |= FLAG_RELEASE_IN_LOST;
    if (draw_one_in(dice, 8))
        op->flags |= FLAG_ACQUIRE_IN_DONE;
    if (h->replicas != 0 && draw_one_in(dice, 2))
        op->flags |= FLAG_KEEP_UNREPLICATED;
}

static const int64_t rare_verbs[] = {
    OP_RELEASE, OP_RELEASE, OP_RELEASE, OP_RELEASE, OP_CANCEL, OP_CANCEL,
    OP_INSPECT, OP_INSPECT, OP_FORCE,   OP_CLOSE,   OP_FREE,
};

/* Operations that cross must be near each other: soon after another one, on the same lock,
 * and mostly of the same owner. */
static void draw_near(struct plan_op *op, const struct plan_op *other,
                      const struct plan_head *h, uint64_t *dice)
{
    op->at_ms = other->at_ms + draw_spread(dice, 1, h->watchdog_ms / 2);
    if (op->at_ms >= h->length_ms)
        op->at_ms = h->length_ms - 1;
    op->lock = other->lock;
    op->side = other->side;
    if (draw_one_in(dice, 3))
        return;
    op->program = other->program;
    op->owner = other->owner;
}

static void draw_op(struct plan_op *op, const struct plan *plan,
                    const struct plan_op *other, uint64_t *dice)
{
    draw_target(op, plan, dice);
    if (other)
        draw_near(op, other, &plan->head, dice);
    if (!draw_one_in(dice, 5)) {
        draw_acquire(op, &plan->head, dice);
        return;
    }
    op->verb = draw_pick(dice, rare_verbs, DRAW_COUNT(rare_verbs));
    op->n = draw_below(dice, 2);
    if (op->verb == OP_CLOSE)
        op->hold_ms = draw_one_in(dice, 3) ? 0 : draw_spread(dice, 10, 5000);
}

/* Every owner has one lock at a time: its calls follow each other by the time
 * that all before it may need. So no owner waits for itself, and everything is
 * granted. */
static void draw_mild_op(struct plan_op *op, const struct plan *plan,
                         const struct plan_op *other, uint64_t *dice)
{
    draw_target(op, plan, dice);
    if (other) {
        op->at_ms = other->at_ms + draw_spread(dice, 1, 50) - 1;
        op->lock = other->lock;
        op->side =
            plan_has_sides(plan->locks[op->lock].family) ? draw_below(dice, 2) : 0;
    }
    if (op->at_ms >= plan->head.length_ms)
        op->at_ms = plan->head.length_ms - 1;
    op->verb = OP_ACQUIRE;
    op->wait_ms = HF_FOREVER;
    op->hold_ms = draw_spread(dice, 1, 400);
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b; /* at_ms is the first field of both */

    return (*x > *y) - (*x < *y);
}

void plan_sort_ops(struct plan *plan)
{
    qsort(plan->ops, plan->op_count, sizeof *plan->ops, by_time);
}

void plan_sort_faults(struct plan *plan)
{
    qsort(plan->faults, plan->fault_count, sizeof *plan->faults, by_time);
}

/* A re-entry by chance would wait for the other side, which its own owner holds. */
static void give_own_owners(struct plan *plan)
{
    for (size_t i = 0; i < plan->op_count; i++)
        plan->ops[i].owner = (int64_t)i + 1;
}

static void draw_ops(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "operations");
    bool is_mild = plan->head.profile == PROFILE_MILD;
    int64_t closeness = draw_between(&dice, 0, 3); /* of 4 */

    plan->op_count = (size_t)draw_spread(&dice, 8, 300);
    for (size_t i = 0; i < plan->op_count; i++) {
        struct plan_op *op = &plan->ops[i];
        const struct plan_op *other =
            i > 0 && draw_below(&dice, 4) < closeness ? op - 1 : NULL;

        if (is_mild)
            draw_mild_op(op, plan, other, &dice);
        else
            draw_op(op, plan, other, &dice);
    }
    plan_sort_ops(plan);
    if (is_mild)
        give_own_owners(plan);
}

/* ---- faults ---- */

/* What `n` may be, and how long it lasts; 0: it does not last. */
struct range {
    int64_t n_low, n_high, for_low, for_high;
};

static const struct range ranges[FAULT_KINDS] = {
    [FAULT_DELAY] = {1, 4000, 10, 10000},
    [FAULT_HOLD_BACK] = {0, 0, 10, 20000},
    [FAULT_CUT] = {0, 400, 0, 0},
    [FAULT_RESET] = {0, 1, 0, 0},
    [FAULT_HALF_OPEN] = {0, 1, 10, 20000},
    [FAULT_REFUSE] = {0, 1, 10, 10000},
    [FAULT_IGNORE] = {0, 0, 10, 10000},
    [FAULT_RESOLVER] = {0, 0, 10, 10000},
    [FAULT_FREEZE] = {0, 0, 10, 20000},
    [FAULT_RESTART] = {0, 0, 10, 10000},
    [FAULT_FORGET] = {0, 0, 10, 10000},
    [FAULT_LOADING] = {0, 0, 10, 5000},
    [FAULT_BUSY] = {0, 0, 10, 5000},
    [FAULT_FULL] = {0, 0, 10, 10000},
    [FAULT_CROWDED] = {0, 0, 10, 10000},
    [FAULT_ACL] = {0, 2, 10, 20000},
    [FAULT_LAG] = {0, 0, 10, 10000},
    [FAULT_FAILOVER] = {0, 255, 100, 10000},
    [FAULT_MOVE_SLOT] = {0, 0, 10, 5000},
    [FAULT_RETYPE] = {0, 0, 10, 5000},
    [FAULT_SHORTEN] = {1, 2000, 0, 0},
    [FAULT_PEER] = {0, 1, 10, 5000},
    [FAULT_SUSPEND] = {0, 0, 10, 60000},
    [FAULT_CLOCK] = {-9000, 9000, 0, 0},
    [FAULT_CLOCK_BEYOND] = {-300000, 300000, 100, 10000},
    [FAULT_MEMORY] = {1, 200, 0, 0},
    [FAULT_DENY] = {0, PLAN_DENIED - 1, 10, 20000},
    [FAULT_PASSWORD] = {0, 1, 10, 10000},
    [FAULT_SCANT] = {0, 0, 10, 10000},
    [FAULT_UNSAVED] = {0, 0, 10, 10000},
    [FAULT_EVICT] = {0, 20, 0, 0},
    [FAULT_IDLE] = {50, 5000, 0, 0},
    [FAULT_DEMOTE] = {0, 255, 100, 10000},
    [FAULT_DIE] = {0, 0, 1, 20000},
    [FAULT_STALL] = {0, 1, 1, 10000},
    [FAULT_SERVER_CLOCK] = {-PLAN_STEP_MAX_MS, PLAN_STEP_MAX_MS, 0, 0},
    [FAULT_SERVER_DRIFT] = {-9000, 9000, 0, 0},
    [FAULT_POWER] = {1, 10000, 10, 20000},
    [FAULT_ONE_SERVER] = {1, PLAN_MEMBERS_MAX - 1, 10, 20000},
    [FAULT_SWALLOW] = {0, 3, 10, 20000},
    [FAULT_ROTATE] = {0, 2, 1, 20000},
    [FAULT_SWITCHOVER] = {0, 2000, 10, 20000},
    [FAULT_PROXY] = {0, 1, 1, 20000},
    [FAULT_DISAGREE] = {0, 255, 10, 20000},
    [FAULT_NAMES] = {0, 7, 1, 20000},
    [FAULT_REPLACE] = {0, 0, 10, 20000},
};

bool plan_lasts(int64_t kind)
{
    return ranges[kind].for_high > 0;
}

int64_t plan_fault_world(int64_t kind)
{
    switch (kind) {
    case FAULT_ONE_SERVER:
        return FAMILY_QUORUM;
    case FAULT_SWALLOW:
        return FAMILY_SILENCE;
    case FAULT_ROTATE:
        return FAMILY_CREDENTIALS;
    case FAULT_SWITCHOVER:
        return FAMILY_SWITCHOVER;
    case FAULT_PROXY:
        return FAMILY_PROXY;
    case FAULT_DISAGREE:
        return FAMILY_DISAGREE;
    case FAULT_NAMES:
        return FAMILY_NAMES;
    case FAULT_REPLACE:
        return FAMILY_HOSTS;
    default:
        return -1;
    }
}

bool plan_can_be(int64_t kind, int64_t deployment)
{
    switch (kind) {
    case FAULT_MOVE_SLOT:
    case FAULT_DISAGREE:
        return plan_is_cluster(deployment);
    case FAULT_FAILOVER:
        return deployment == DEPLOY_SENTINEL || deployment == DEPLOY_HOSTS ||
               plan_is_cluster(deployment);
    case FAULT_ONE_SERVER:
        return deployment == DEPLOY_INDEPENDENT;
    case FAULT_LAG:
        return deployment != DEPLOY_STANDALONE &&
               deployment != DEPLOY_INDEPENDENT;
    case FAULT_SWITCHOVER:
        return deployment == DEPLOY_REPLICAS;
    case FAULT_NAMES:
        return deployment == DEPLOY_STANDALONE;
    case FAULT_REPLACE:
        return deployment == DEPLOY_HOSTS;
    case FAULT_DEMOTE: /* nodes of a cluster redirect */
    case FAULT_POWER: /* the disk of a node also has its slots; quorum.md, R3 */
        return !plan_is_cluster(deployment) && deployment != DEPLOY_INDEPENDENT;
    default:
        return true;
    }
}

static bool is_calm(int64_t kind)
{
    return kind == FAULT_MOVE_SLOT || kind == FAULT_FAILOVER ||
           kind == FAULT_FREEZE || kind == FAULT_SCRIPTS;
}

/* With WAIT, a server with subscriptions alone also matters. */
bool plan_is_calm(const struct plan *plan)
{
    for (size_t i = 0; i < plan->fault_count; i++)
        if (!is_calm(plan->faults[i].kind))
            return false;
    return plan->head.replicas == 0;
}

/* Any time; or about as long as a lease lasts, or as a call does. */
static int64_t draw_span(const struct range *r, const struct plan_head *h,
                         uint64_t *dice)
{
    int64_t ms = draw_spread(dice, r->for_low, r->for_high);

    if (draw_one_in(dice, 3))
        ms = (draw_one_in(dice, 2) ? h->watchdog_ms : h->request_ms) *
             draw_between(dice, 30, 200) / 100;
    if (ms < r->for_low)
        return r->for_low;
    return ms < r->for_high ? ms : r->for_high;
}

static void draw_fault(struct plan_fault *f, const struct plan *plan,
                       int64_t kind, uint64_t *dice)
{
    const struct range *r = &ranges[kind];

    f->kind = kind;
    f->at_ms = draw_below(dice, plan->head.length_ms);
    f->program = draw_below(dice, (int64_t)plan->program_count);
    f->server = draw_below(dice, 8);
    f->lock = draw_below(dice, (int64_t)plan->lock_count);
    f->to_server = draw_below(dice, 2);
    f->n = draw_between(dice, r->n_low, r->n_high);
    f->for_ms = r->for_high > 0 ? draw_span(r, &plan->head, dice) : 0;
}

/* Soon after an operation begins, where it is; so its answer may be lost. */
static void go_to_op(struct plan_fault *f, const struct plan_op *op,
                     uint64_t *dice)
{
    f->at_ms = op->at_ms + draw_spread(dice, 1, 200) - 1;
    f->program = op->program;
    f->lock = op->lock;
}

/* Soon after another fault, at the same place. */
static void go_to_fault(struct plan_fault *f, const struct plan_fault *other,
                        const struct plan_head *h, uint64_t *dice)
{
    f->at_ms = other->at_ms + draw_spread(dice, 1, h->watchdog_ms);
    f->program = other->program;
    f->server = other->server;
    f->lock = other->lock;
}

static void place_fault(struct plan *plan, size_t i, int64_t hurry,
                        uint64_t *dice)
{
    struct plan_fault *f = &plan->faults[i];

    switch (draw_below(dice, 3)) {
    case 0:
        go_to_op(f, &plan->ops[draw_below(dice, (int64_t)plan->op_count)], dice);
        break;
    case 1:
        if (i > 0)
            go_to_fault(f, f - 1, &plan->head, dice);
        break;
    default:
        break;
    }
    if (f->at_ms >= plan->head.length_ms)
        f->at_ms = plan->head.length_ms - 1;
    f->at_ms /= hurry;
}

static int64_t draw_fault_kind(const struct plan *plan, uint64_t *dice)
{
    int64_t kind;

    do {
        kind = draw_below(dice, FAULT_KINDS_COMMON);
    } while (!plan_can_be(kind, plan->head.deployment));
    return kind;
}

/* A few kinds that come again and again meet each other; of all kinds, each is
 * rare. Source: Groce et al., "Swarm Testing", 2012. */
#define KINDS_MAX 6

void plan_add_fault(struct plan *plan, int64_t kind, uint64_t *dice)
{
    size_t i = plan->fault_count++;

    plan->faults[i] = (struct plan_fault){0};
    draw_fault(&plan->faults[i], plan, kind, dice);
    place_fault(plan, i, 1, dice);
}

void scenario_disturb(struct plan *plan, int64_t count, uint64_t *dice)
{
    while (count-- > 0 && plan->fault_count < PLAN_FAULTS_MAX)
        plan_add_fault(plan, draw_fault_kind(plan, dice), dice);
}

static void draw_faults(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "faults");
    int64_t kinds[KINDS_MAX], count = draw_between(&dice, 1, KINDS_MAX);
    bool is_swarm = draw_one_in(&dice, 2);
    int64_t hurry = draw_one_in(&dice, 4) ? 10 : 1; /* much happens afterwards */

    if (has_no_faults(&plan->head))
        return;
    for (int64_t i = 0; i < count; i++)
        kinds[i] = draw_fault_kind(plan, &dice);
    plan->fault_count = plan->head.profile == PROFILE_SINGLE
                            ? 1
                            : (size_t)draw_between(&dice, 2, PLAN_FAULTS_MAX);
    for (size_t i = 0; i < plan->fault_count; i++) {
        draw_fault(&plan->faults[i], plan,
                   is_swarm ? kinds[draw_below(&dice, count)]
                            : draw_fault_kind(plan, &dice),
                   &dice);
        place_fault(plan, i, hurry, &dice);
    }
    plan_sort_faults(plan);
}

static bool is_of_connections(int64_t kind)
{
    return kind <= FAULT_HALF_OPEN;
}

/* Half of these disturb one connection alone: that of messages, of WAIT, or the
 * main one, and what goes by the others overtakes it. */
#define CONNECTIONS_MAX 3

static void draw_connections(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "connections");

    for (size_t i = 0; i < plan->fault_count; i++) {
        struct plan_fault *f = &plan->faults[i];

        if (is_of_connections(f->kind) && draw_one_in(&dice, 2))
            f->connection = draw_between(&dice, 1, CONNECTIONS_MAX);
    }
}

static void draw_by_chance(struct plan *plan, uint64_t seed)
{
    draw_ops(plan, seed);
    draw_faults(plan, seed);
    draw_connections(plan, seed);
}

static void put_in_order(struct plan *plan)
{
    plan_sort_ops(plan);
    plan_sort_faults(plan);
}

static void draw_scenario_of(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "acts");

    scenario_draw(plan, &dice);
    put_in_order(plan);
}

/* A waiter keeps its place in a queue by a request in each third of the watchdog timeout; a
 * request to a server that waits for replicas delays the later ones. A hundred waiters of a
 * client must get their turn in time. */
static void hurry_replicas(struct plan *plan)
{
    int64_t most_us = plan->head.watchdog_ms * 1000 / 300;

    for (size_t i = 0; i < plan->lock_count; i++)
        if (plan->head.replicas != 0 && plan->head.lag_us > most_us &&
            plan_has_queue(plan, (int64_t)i))
            plan->head.lag_us = most_us;
}

#define QUEUE_MAX 64
#define LONG_QUEUES_ONE_IN 16

static bool waits_in_queue(const struct plan *plan, const struct plan_op *op)
{
    return op->verb == OP_ACQUIRE && op->wait_ms != 0 && plan_has_queue(plan, op->lock);
}

/* A script reads all places of a queue, so the time of a plan grows by the square of its calls:
 * all but a few plans have few of them for each fair lock. */
static void shorten_queues(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "long queues");
    int64_t waiting[PLAN_LOCKS_MAX] = {0};
    size_t count = 0;

    if (draw_one_in(&dice, LONG_QUEUES_ONE_IN))
        return;
    for (size_t i = 0; i < plan->op_count; i++) {
        const struct plan_op *op = &plan->ops[i];

        if (!waits_in_queue(plan, op) || waiting[op->lock]++ < QUEUE_MAX)
            plan->ops[count++] = *op;
    }
    memset(plan->ops + count, 0, (plan->op_count - count) * sizeof *plan->ops);
    plan->op_count = count;
}

void plan_draw(struct plan *plan, uint64_t seed)
{
    memset(plan, 0, sizeof *plan);
    draw_head(plan, seed);
    draw_programs(plan, seed);
    draw_locks(plan, seed);
    plan_family_first(plan);
    if (plan->head.scenario == SCENARIO_NONE)
        draw_by_chance(plan, seed);
    else
        draw_scenario_of(plan, seed);
    plan_draw_rare(plan, seed);
    plan_draw_rarest(plan, seed);
    plan_world_last(plan, seed);
    plan_family_last(plan, seed);
    plan_draw_clocks(plan, seed);
    plan_draw_drift(plan, seed);
    plan_draw_power(plan, seed);
    plan_draw_deaths(plan, seed);
    shorten_queues(plan, seed);
    plan_mild_last(plan, seed);
    plan_draw_verbs(plan, seed);
    plan_rename(plan, seed);
    hurry_replicas(plan);
}
