/* Families that names get last, when the rest of a plan is drawn, and the one family
 * that all names are to have. */
#include <string.h>

#include "tests/sim/draw.h"
#include "tests/sim/plan_inner.h"

/* The family of all names, or -1. */
static int64_t the_only = -1;

/* "read-write" as "read_write". */
static bool is_word(const char *text, const char *word)
{
    for (; *word && (*text == *word || (*text == '-' && *word == '_')); word++)
        text++;
    return *word == '\0' && *text == '\0';
}

bool plan_only(const char *family)
{
    for (int64_t i = 0; i < FAMILIES; i++)
        if (plan_is_selectable(i) && is_word(family, plan_family_name(i))) {
            the_only = i;
            return true;
        }
    return false;
}

void plan_only_number(int64_t family)
{
    the_only = family;
}

int64_t plan_only_is(void)
{
    return the_only;
}

bool plan_is_selectable(int64_t family)
{
    return family != FAMILY_MIXED && family != FAMILY_MIXED_FAIR &&
           family != FAMILY_MIXED_SPIN;
}

/* Of one family alone? */
static bool is_narrow(void)
{
    return the_only >= 0 && the_only < FAMILY_BY_OWNER;
}

static bool is_counted(int64_t family)
{
    return family == FAMILY_PERMIT || family == FAMILY_SEMAPHORE ||
           family == FAMILY_LATCH;
}

bool plan_takes_scenario(int64_t scenario)
{
    if (the_only >= FAMILY_QUORUM && is_narrow())
        return plan_sets_take_scenario(the_only, scenario);
    return !is_narrow() || scenario != SCENARIO_COUNTED || is_counted(the_only);
}

/* Until the operations are drawn: what is drawn in place of another family becomes so
 * afterwards. */
static int64_t first_family(void)
{
    switch (the_only) {
    case FAMILY_NONREENTRANT:
    case FAMILY_FENCED:
    case FAMILY_READ_WRITE:
    case FAMILY_FAIR:
        return the_only;
    case FAMILY_VALUE:
        return FAMILY_NONREENTRANT;
    default:
        return FAMILY_PLAIN;
    }
}

void plan_family_first(struct plan *plan)
{
    if (!is_narrow())
        return;
    for (size_t i = 0; i < plan->lock_count; i++) {
        plan->locks[i].family = first_family();
        if (plan_needs_two_keys(plan, (int64_t)i) &&
            !plan_may_have_two_keys(plan, (int64_t)i))
            plan->locks[i].family = FAMILY_PLAIN;
    }
    plan_sets_first(plan, the_only);
}

/* Last, so that nothing else of a plan depends on it: its calls are those of a
 * non-reentrant lock. */
static void draw_values(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "values");

    for (size_t i = 0; i < plan->lock_count; i++)
        if (plan->locks[i].family == FAMILY_NONREENTRANT &&
            (is_narrow() ? the_only == FAMILY_VALUE : draw_one_in(&dice, 2)))
            plan->locks[i].family = FAMILY_VALUE;
}

/* Some of its calls make it anew, after a fault has deleted it. */
static void be_permit(struct plan *plan, int64_t lock, uint64_t *dice)
{
    for (size_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].lock == lock && draw_one_in(dice, 12))
            plan->ops[i].verb = OP_SET;
}

/* Some want more than one. */
static void be_semaphore(struct plan *plan, int64_t lock, uint64_t *dice)
{
    be_permit(plan, lock, dice);
    for (size_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].lock == lock && plan->ops[i].verb == OP_ACQUIRE)
            plan->ops[i].n = draw_one_in(dice, 2)
                                 ? draw_between(dice, 1, plan->locks[lock].permits)
                                 : 1;
}

/* Without faults, all waiters must pass: the latch is not set again, and is counted down
 * often enough. */
static void open_in_the_end(struct plan *plan, int64_t lock)
{
    for (int64_t n = plan->locks[lock].permits;
         n > 0 && plan->op_count < PLAN_OPS_DRAWN; n--)
        plan->ops[plan->op_count++] =
            (struct plan_op){.at_ms = plan->head.length_ms + 1000,
                             .verb = OP_GIVE,
                             .lock = lock,
                             .owner = (int64_t)plan->op_count + 1};
}

/* Who would acquire waits, or counts down; and it is made anew now and then. */
static void be_latch(struct plan *plan, int64_t lock, uint64_t *dice)
{
    bool is_mild = plan->head.profile == PROFILE_MILD;

    for (size_t i = 0; i < plan->op_count; i++) {
        struct plan_op *op = &plan->ops[i];

        if (op->lock == lock && op->verb == OP_ACQUIRE && draw_one_in(dice, 2))
            op->verb = !is_mild && draw_one_in(dice, 3) ? OP_SET : OP_GIVE;
    }
    if (is_mild)
        open_in_the_end(plan, lock);
}

static void be_counted(struct plan *plan, int64_t lock, int64_t family,
                       uint64_t *dice)
{
    plan->locks[lock].family = family;
    plan->locks[lock].permits = draw_one_in(dice, 2) ? 1 : draw_between(dice, 2, 4);
    if (family == FAMILY_PERMIT)
        be_permit(plan, lock, dice);
    else if (family == FAMILY_SEMAPHORE)
        be_semaphore(plan, lock, dice);
    else
        be_latch(plan, lock, dice);
}

/* A scenario of such has nothing else. */
static bool is_to_be_counted(const struct plan *plan, int64_t lock,
                             uint64_t *dice)
{
    int64_t family = plan->locks[lock].family;

    if (is_narrow())
        return is_counted(the_only) && family == FAMILY_PLAIN &&
               plan_may_have_two_keys(plan, lock);
    return (family == FAMILY_PLAIN || family == FAMILY_NONREENTRANT) &&
           (draw_one_in(dice, 2) || plan->head.scenario == SCENARIO_COUNTED) &&
           plan_may_have_two_keys(plan, lock);
}

/* Likewise, in place of locks with one side. */
static void draw_permits(struct plan *plan, uint64_t seed)
{
    static const int64_t families[] = {FAMILY_PERMIT, FAMILY_SEMAPHORE,
                                       FAMILY_LATCH};
    uint64_t dice = dice_stream(seed, "permits");

    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++) {
        int64_t family;

        if (!is_to_be_counted(plan, i, &dice))
            continue;
        family = draw_pick(&dice, families, DRAW_COUNT(families));
        be_counted(plan, i, is_narrow() ? the_only : family, &dice);
    }
}

/* Likewise, in place of reentrant locks. */
static void draw_spins(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "spins");

    for (size_t i = 0; i < plan->lock_count; i++) {
        int64_t *family = &plan->locks[i].family;

        if (is_narrow() ? the_only != FAMILY_SPIN : !draw_one_in(&dice, 3))
            continue;
        if (*family == FAMILY_PLAIN)
            *family = FAMILY_SPIN;
        else if (*family == FAMILY_MIXED)
            *family = FAMILY_MIXED_SPIN;
    }
}

/* Likewise, with the calls that it has. */
static void draw_tokens(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "tokens");

    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++)
        plan->locks[i].has_tokens =
            !plan_has_permits(plan, i) &&
            plan->locks[i].family != FAMILY_MULTI &&
            plan_family(plan, i) != FAMILY_FENCED &&
            draw_one_in(&dice, 3) && plan_may_have_two_keys(plan, i);
    plan->head.retains_tokens = draw_one_in(&dice, 3);
}

void plan_family_last(struct plan *plan, uint64_t seed)
{
    if (plan->head.is_crowd)
        return;
    draw_values(plan, seed);
    draw_permits(plan, seed);
    draw_spins(plan, seed);
    draw_tokens(plan, seed);
    plan_sets_last(plan, the_only);
}
