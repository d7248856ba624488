/* Plans in which nothing goes wrong. In a clear one calls are drawn as elsewhere, and
 * P12 explains each failure. In a mild one every call must end with HF_OK: what is
 * added here, after everything else and from a stream of its own, are holds that need
 * renewals, leases and limits that are long enough, waits with an end, re-entries, and
 * the other verbs, each where it must succeed. */

#include "tests/sim/draw.h"
#include "tests/sim/plan_inner.h"

#define CLEAR_ONE_IN 6
#define LONG_HOLDS_MAX 3    /* of one lock: all others wait for them */
#define LONG_HOLD_MAX_MS 15000
#define GRANT_MS 3000       /* more than any waiter needs to be granted a free lock */
#define SPARE_MS 20000
#define FORCES_MAX 2
#define CLOSES_MAX 4

bool plan_is_clear(uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "clear");

    return draw_one_in(&dice, CLEAR_ONE_IN);
}

static bool is_reentrant(const struct plan *plan, const struct plan_op *op)
{
    enum hf_lock_kind kind = plan_kind(plan, op->lock, op->side);

    return kind == HF_KIND_PLAIN || kind == HF_KIND_FENCED ||
           kind == HF_KIND_READ || kind == HF_KIND_WRITE ||
           kind == HF_KIND_FAIR || kind == HF_KIND_SPIN;
}

/* Longer than the lease of the watchdog. */
static void hold_for_long(struct plan *plan, int64_t lock, uint64_t *dice)
{
    int64_t watchdog_ms = plan->head.watchdog_ms, count = 0;

    for (size_t i = 0; i < plan->op_count && count < LONG_HOLDS_MAX; i++) {
        struct plan_op *op = &plan->ops[i];
        int64_t ms = watchdog_ms * draw_between(dice, 110, 300) / 100;

        if (op->lock != lock || op->verb != OP_ACQUIRE ||
            ms > LONG_HOLD_MAX_MS || !draw_one_in(dice, 6))
            continue;
        op->hold_ms = ms;
        count++;
    }
}

/* Its lease, its limit, its re-entry. */
static void vary_hold(struct plan *plan, struct plan_op *op, uint64_t *dice)
{
    switch (draw_below(dice, 6)) {
    case 0:
        op->lease_ms = op->hold_ms + GRANT_MS + draw_spread(dice, 1, SPARE_MS);
        break;
    case 1:
        op->max_hold_ms = op->hold_ms + GRANT_MS + draw_spread(dice, 1, SPARE_MS);
        break;
    case 2:
        if (is_reentrant(plan, op))
            op->flags |= FLAG_ACQUIRE_IN_DONE;
        break;
    default:
        break;
    }
}

/* So long at most until all before it have had the lock. */
static int64_t longest_wait_ms(const struct plan *plan, int64_t lock)
{
    int64_t ms = SPARE_MS + 2 * plan->head.length_ms;

    for (size_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].lock == lock && plan->ops[i].hold_ms > 0)
            ms += plan->ops[i].hold_ms + GRANT_MS;
    return ms;
}

static void vary(struct plan *plan, uint64_t *dice)
{
    for (size_t i = 0; i < plan->op_count; i++) {
        struct plan_op *op = &plan->ops[i];

        if (op->verb != OP_ACQUIRE)
            continue;
        if (draw_one_in(dice, 12) && !plan_is_counted(plan, op->lock)) {
            op->verb = OP_INSPECT;
            continue;
        }
        if (!plan_is_counted(plan, op->lock))
            vary_hold(plan, op, dice);
        if (draw_one_in(dice, 2))
            op->wait_ms = longest_wait_ms(plan, op->lock);
    }
}

static struct plan_op *add(struct plan *plan, const struct plan_op *like)
{
    static struct plan_op lost;

    if (plan->op_count >= PLAN_OPS_DRAWN)
        return &lost;
    plan->ops[plan->op_count] = *like;
    return &plan->ops[plan->op_count++];
}

static bool is_of_one_owner(const struct plan *plan, int64_t lock)
{
    return plan->locks[lock].family != FAMILY_READ_WRITE &&
           !plan_has_permits(plan, lock);
}

/* Its owner frees it by force, when it has been granted, and keeps what is lost until
 * the end. */
static void force(struct plan *plan, uint64_t *dice)
{
    size_t count = plan->op_count, forces = 0;

    for (size_t i = 0; i < count && forces < FORCES_MAX; i++) {
        struct plan_op *op = &plan->ops[i], *by;

        if (op->verb != OP_ACQUIRE || op->flags || op->lease_ms > 0 ||
            op->max_hold_ms > 0 || !is_of_one_owner(plan, op->lock) ||
            !draw_one_in(dice, 10))
            continue;
        op->hold_ms = -1;
        by = add(plan, op);
        by->verb = OP_FORCE;
        by->n = PLAN_N_WHEN_READY;
        forces++;
    }
}

/* A client is closed while it does nothing. */
static void close_some(struct plan *plan, uint64_t *dice)
{
    for (int64_t n = draw_below(dice, CLOSES_MAX); n > 0; n--) {
        struct plan_op op = {
            .at_ms = draw_below(dice, plan->head.length_ms),
            .verb = OP_CLOSE,
            .program = draw_below(dice, (int64_t)plan->program_count),
            .owner = 1,
            .hold_ms = SPARE_MS,
            .n = PLAN_N_WHEN_READY};

        (void)add(plan, &op);
    }
}

void plan_mild_last(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "mild");

    if (plan->head.profile != PROFILE_MILD)
        return;
    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++)
        if (plan_is_set(plan, i))
            return;
    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++)
        hold_for_long(plan, i, &dice);
    vary(plan, &dice);
    force(plan, &dice);
    close_some(plan, &dice);
    plan_sort_ops(plan);
}
