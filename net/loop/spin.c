/* Looking before sleeping: when, and for how long. Rules in spin.h. */
/* Tests: tests/test_net_spin.c. */
#include "net/loop/spin.h"

#include <string.h>

#define BURST 64u            /* waits that are measured of a regime */
#define SETTLE 16u           /* waits before that do not count: the server is hot
                                or cold from the other regime */
#define ENOUGH 8u            /* waits, to see that a trial is hopeless */
#define CLEARLY 95u          /* percent of the cost of the regime in use */
#define FOUND_MIN 4u         /* one in this number of polls must find something */
#define WINS 2u              /* in a row, until the regime changes: machines are
                                noisy */
#define WINS_MAX 8u
#define STEADY_MIN 512u      /* waits between comparisons */
#define STEADY_MAX 4096u
#define MISS 64u             /* waits by which a look in vain brings the next
                                comparison nearer */
#define TOOK_MAX_US 400      /* a longer wait is not caused by slow waking */
#define BETWEEN_MAX_US 100   /* what took longer was a caller that thinks */

void hf_spin_init(struct hf_spin *spin, long processors)
{
    *spin = (struct hf_spin){
        .is_possible = processors > 1,
        .regime = SPIN_SLEEP,
        .phase = SPIN_MEASURE_OWN,
        .left = BURST,
        .steady = STEADY_MIN,
        .wins_to_sleep = WINS,
    };
}

/* ---- the plan ---- */

static enum hf_spin_regime other_of(enum hf_spin_regime regime)
{
    return regime == SPIN_SLEEP ? SPIN_LOOK : SPIN_SLEEP;
}

/* The regime of this wait. */
static enum hf_spin_regime regime_of_this_wait(const struct hf_spin *spin)
{
    return spin->phase == SPIN_SETTLE || spin->phase == SPIN_MEASURE_OTHER
               ? other_of(spin->regime)
               : spin->regime;
}

static uint32_t budget_us(const struct hf_spin *spin)
{
    if (spin->slept_us < SPIN_MIN_US)
        return SPIN_MIN_US;
    return spin->slept_us < SPIN_MAX_US ? spin->slept_us : SPIN_MAX_US;
}

static void enter_phase(struct hf_spin *spin, enum hf_spin_phase phase,
                        uint32_t waits)
{
    spin->phase = phase;
    spin->left = waits;
}

static void begin_comparison(struct hf_spin *spin)
{
    memset(spin->tally, 0, sizeof spin->tally);
    enter_phase(spin, SPIN_MEASURE_OWN, BURST);
}

struct hf_spin_plan hf_spin_plan(struct hf_spin *spin)
{
    struct hf_spin_plan plan = {0, false};

    if (!spin->is_possible)
        return plan;
    if (spin->phase == SPIN_STEADY && spin->left == 0)
        begin_comparison(spin);
    if (regime_of_this_wait(spin) == SPIN_LOOK)
        plan.look_us = budget_us(spin);
    plan.is_measured = spin->phase != SPIN_STEADY;
    spin->left--;
    return plan;
}

/* ---- the comparison ---- */

/* The caller waits for all of the time, and it counts twice. */
static uint64_t cost_of_regime(const struct hf_spin_tally *tally)
{
    return 2 * tally->us + tally->cpu_us;
}

/* A command of `a` costs less than `percent` of one of `b`. */
static bool is_cheaper(const struct hf_spin_tally *a,
                       const struct hf_spin_tally *b, uint32_t percent)
{
    return 100 * cost_of_regime(a) * b->answered < percent * cost_of_regime(b) * a->answered;
}

/* A look in vain is a sleep that costs more. */
static bool finds_little(const struct hf_spin_tally *looked)
{
    return FOUND_MIN * looked->found < looked->waits;
}

static bool is_hopeless(const struct hf_spin *spin)
{
    const struct hf_spin_tally *own = &spin->tally[spin->regime];
    const struct hf_spin_tally *other = &spin->tally[other_of(spin->regime)];

    if (spin->phase == SPIN_MEASURE_OWN || other->waits < ENOUGH)
        return false;
    return is_cheaper(own, other, 50) ||
           (spin->regime == SPIN_SLEEP && finds_little(other));
}

/* If sleeping stays cheaper for a long time, the next change again needs less evidence.
 * */
static void keep_regime(struct hf_spin *spin)
{
    spin->wins = 0;
    enter_phase(spin, SPIN_STEADY, spin->steady);
    if (spin->steady < STEADY_MAX)
        spin->steady *= 2;
    else if (spin->regime == SPIN_SLEEP)
        spin->wins_to_sleep = WINS;
}

static void change_regime(struct hf_spin *spin)
{
    spin->regime = other_of(spin->regime);
    if (spin->regime == SPIN_LOOK && spin->wins_to_sleep < WINS_MAX)
        spin->wins_to_sleep *= 2;
    spin->steady = STEADY_MIN;
    keep_regime(spin);
}

static void decide_comparison(struct hf_spin *spin)
{
    const struct hf_spin_tally *own = &spin->tally[spin->regime];
    const struct hf_spin_tally *other = &spin->tally[other_of(spin->regime)];
    uint32_t wins = spin->regime == SPIN_SLEEP ? WINS : spin->wins_to_sleep;

    if (!is_cheaper(other, own, CLEARLY))
        keep_regime(spin);
    else if (++spin->wins < wins)
        begin_comparison(spin);
    else
        change_regime(spin);
}

static void own_is_measured(struct hf_spin *spin)
{
    if (spin->regime == SPIN_LOOK && finds_little(&spin->tally[SPIN_LOOK]))
        change_regime(spin);
    else
        enter_phase(spin, SPIN_SETTLE, SETTLE);
}

static void phase_is_over(struct hf_spin *spin)
{
    switch (spin->phase) {
    case SPIN_STEADY: /* its end is seen by the next plan */
        return;
    case SPIN_MEASURE_OWN:
        own_is_measured(spin);
        return;
    case SPIN_SETTLE:
        memset(&spin->tally[other_of(spin->regime)], 0, sizeof *spin->tally);
        enter_phase(spin, SPIN_MEASURE_OTHER, BURST);
        return;
    case SPIN_MEASURE_OTHER:
        decide_comparison(spin);
    }
}

/* ---- measurements ---- */

static uint32_t capped_us(int64_t us)
{
    return us < TOOK_MAX_US ? (uint32_t)us : TOOK_MAX_US;
}

/* Two regimes of one program differ by the server's work, and that of callers
 * that go on; a pause of theirs is chance. */
static uint32_t capped_time_between_waits(int64_t us)
{
    return us <= BETWEEN_MAX_US ? (uint32_t)us : 0;
}

static void tally_add(struct hf_spin_tally *tally,
                      const struct hf_spin_result *wait)
{
    tally->waits++;
    tally->found += wait->is_found;
    tally->answered += wait->answered;
    tally->us += capped_us(wait->us) + capped_time_between_waits(wait->between_us);
    tally->cpu_us += capped_us(wait->cpu_us);
}

/* A poll in vain and the sleep after it, or a sleep that was measured. */
static void add_sleep_duration(struct hf_spin *spin, int64_t us)
{
    spin->slept_us = (spin->slept_us * 3 + capped_us(us)) / 4;
}

void hf_spin_note(struct hf_spin *spin, struct hf_spin_plan plan,
                  const struct hf_spin_result *wait)
{
    if (!wait->is_found)
        add_sleep_duration(spin, wait->us);
    if (spin->phase == SPIN_STEADY && !wait->is_found)
        spin->left = spin->left > MISS ? spin->left - MISS : 0;
    if (!plan.is_measured)
        return;
    tally_add(&spin->tally[regime_of_this_wait(spin)], wait);
    if (is_hopeless(spin))
        keep_regime(spin);
    else if (spin->left == 0)
        phase_is_over(spin);
}
