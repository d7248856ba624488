/* Looking before sleeping: when, and for how long. Rules in spin.h. */
#include <assert.h>

#include "net/spin.h"

#define EIGHTHS 8u
#define WEIGHT 8u            /* of the past in an average */
#define TOOK_MAX_US 200      /* what took longer was no matter of waking up */
#define LEARN 16u            /* both ways by turns, to begin with */
#define SLEEP_EVERY 1024u    /* while looking is quicker */
#define LOOK_EVERY 4096u     /* while sleeping is */
#define MEASURE_EVERY 64u    /* of the sleeps: to look at the clock costs, too */

static_assert(LOOK_EVERY % MEASURE_EVERY == 0, "every look is measured");

void hf_spin_init(struct hf_spin *spin, long processors)
{
    *spin = (struct hf_spin){
        .is_possible = processors > 1,
        .looked = EIGHTHS * SPIN_MAX_US / 2,
        .slept = EIGHTHS * SPIN_MAX_US / 2,
    };
}

static bool prefers_looking(const struct hf_spin *spin)
{
    return spin->looked < spin->slept;
}

static bool shall_look(const struct hf_spin *spin)
{
    if (spin->turn < LEARN)
        return spin->turn % 2 == 0;
    if (prefers_looking(spin))
        return spin->turn % SLEEP_EVERY != 0;
    return spin->turn % LOOK_EVERY == 0;
}

static uint32_t budget_us(const struct hf_spin *spin)
{
    uint32_t us = 2 * spin->looked / EIGHTHS;

    if (us < SPIN_MIN_US)
        return SPIN_MIN_US;
    return us < SPIN_MAX_US ? us : SPIN_MAX_US;
}

struct hf_spin_plan hf_spin_plan(struct hf_spin *spin)
{
    struct hf_spin_plan plan = {0, false};

    if (!spin->is_possible)
        return plan;
    spin->turn++;
    if (shall_look(spin))
        plan.look_us = budget_us(spin);
    plan.is_measured = plan.look_us > 0 || spin->turn < LEARN ||
                       spin->turn % MEASURE_EVERY == 0;
    return plan;
}

static void average(uint32_t *eighths, uint32_t us)
{
    *eighths = (*eighths * (WEIGHT - 1) + us * EIGHTHS) / WEIGHT;
}

/* A look that was tried and was quicker is tried again at once, until looking
 * is preferred or slower. */
static void looked(struct hf_spin *spin, uint32_t us)
{
    average(&spin->looked, us);
    if (!prefers_looking(spin) && us * EIGHTHS < spin->slept)
        spin->turn--;
}

void hf_spin_note(struct hf_spin *spin, struct hf_spin_plan plan, bool is_found,
                  int64_t took_us)
{
    uint32_t us = took_us < TOOK_MAX_US ? (uint32_t)took_us : TOOK_MAX_US;

    if (plan.look_us == 0)
        average(&spin->slept, us);
    else
        looked(spin, is_found ? us : us + plan.look_us);
}
