/* Looking before sleeping: when, and for how long. Rules in spin.h. */
/* Tests: tests/test_net_spin.c. */
#include "net/loop/spin.h"

#include <string.h>

#define BURST_WAITS 64u      /* waits that are measured of a regime */
#define SETTLE_WAITS 16u     /* waits before that do not count: the server is hot
                                or cold from the other regime */
#define CHEAPER_PERCENT 8u   /* waits, to see that a trial is hopeless */
#define CLEARLY_CHEAPER_PERCENT 95u /* percent of the cost of the regime in use */
#define ONE_FOUND_IN_MIN 4u  /* one in this number of polls must find something */
#define WINS_TO_CHANGE 2u    /* in a row, until the regime changes: machines are
                                noisy */
#define WINS_MAX 8u
#define STEADY_WAITS_MIN 512u /* waits between comparisons */
#define STEADY_WAITS_MAX 4096u
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
        .phase_waits_left = BURST_WAITS,
        .steady_waits = STEADY_WAITS_MIN,
        .wins_to_sleep = WINS_TO_CHANGE,
    };
}

/* ---- the plan ---- */

static enum hf_spin_regime other_regime(enum hf_spin_regime regime)
{
    return regime == SPIN_SLEEP ? SPIN_LOOK : SPIN_SLEEP;
}

/* The regime of this wait. */
static enum hf_spin_regime regime_of_this_wait(const struct hf_spin *spin)
{
    return spin->phase == SPIN_SETTLE || spin->phase == SPIN_MEASURE_OTHER
               ? other_regime(spin->regime)
               : spin->regime;
}

static uint32_t look_budget_us(const struct hf_spin *spin)
{
    if (spin->average_sleep_us < SPIN_MIN_US)
        return SPIN_MIN_US;
    return spin->average_sleep_us < SPIN_MAX_US ? spin->average_sleep_us : SPIN_MAX_US;
}

static void enter_phase(struct hf_spin *spin, enum hf_spin_phase phase,
                        uint32_t waits)
{
    spin->phase = phase;
    spin->phase_waits_left = waits;
}

static void begin_comparing_regimes(struct hf_spin *spin)
{
    memset(spin->tally, 0, sizeof spin->tally);
    enter_phase(spin, SPIN_MEASURE_OWN, BURST_WAITS);
}

struct hf_spin_plan hf_spin_plan(struct hf_spin *spin)
{
    struct hf_spin_plan plan = {0, false};

    if (!spin->is_possible)
        return plan;
    if (spin->phase == SPIN_STEADY && spin->phase_waits_left == 0)
        begin_comparing_regimes(spin);
    if (regime_of_this_wait(spin) == SPIN_LOOK)
        plan.look_us = look_budget_us(spin);
    plan.is_measured = spin->phase != SPIN_STEADY;
    spin->phase_waits_left--;
    return plan;
}

/* ---- the comparison ---- */

/* The caller waits for all of the time, and it counts twice. */
static uint64_t cost_of_regime(const struct hf_spin_tally *tally)
{
    return 2 * tally->duration_us + tally->cpu_us;
}

/* A command of `a` costs less than `percent` of one of `b`. */
static bool is_cheaper(const struct hf_spin_tally *a,
                       const struct hf_spin_tally *b, uint32_t percent)
{
    return 100 * cost_of_regime(a) * b->callers_answered <
           percent * cost_of_regime(b) * a->callers_answered;
}

/* A look in vain is a sleep that costs more. */
static bool finds_events_too_rarely(const struct hf_spin_tally *looked)
{
    return ONE_FOUND_IN_MIN * looked->found_by_looking < looked->waits_count;
}

static bool cannot_other_regime_win(const struct hf_spin *spin)
{
    const struct hf_spin_tally *own = &spin->tally[spin->regime];
    const struct hf_spin_tally *other = &spin->tally[other_regime(spin->regime)];

    if (spin->phase == SPIN_MEASURE_OWN || other->waits_count < CHEAPER_PERCENT)
        return false;
    return is_cheaper(own, other, 50) ||
           (spin->regime == SPIN_SLEEP && finds_events_too_rarely(other));
}

/* If sleeping stays cheaper for a long time, the next change again needs less evidence.
 * */
static void keep_regime(struct hf_spin *spin)
{
    spin->wins_in_a_row = 0;
    enter_phase(spin, SPIN_STEADY, spin->steady_waits);
    if (spin->steady_waits < STEADY_WAITS_MAX)
        spin->steady_waits *= 2;
    else if (spin->regime == SPIN_SLEEP)
        spin->wins_to_sleep = WINS_TO_CHANGE;
}

static void change_regime(struct hf_spin *spin)
{
    spin->regime = other_regime(spin->regime);
    if (spin->regime == SPIN_LOOK && spin->wins_to_sleep < WINS_MAX)
        spin->wins_to_sleep *= 2;
    spin->steady_waits = STEADY_WAITS_MIN;
    keep_regime(spin);
}

static void choose_cheaper_regime(struct hf_spin *spin)
{
    const struct hf_spin_tally *own = &spin->tally[spin->regime];
    const struct hf_spin_tally *other = &spin->tally[other_regime(spin->regime)];
    uint32_t wins = spin->regime == SPIN_SLEEP ? WINS_TO_CHANGE : spin->wins_to_sleep;

    if (!is_cheaper(other, own, CLEARLY_CHEAPER_PERCENT))
        keep_regime(spin);
    else if (++spin->wins_in_a_row < wins)
        begin_comparing_regimes(spin);
    else
        change_regime(spin);
}

static void end_own_measurement(struct hf_spin *spin)
{
    if (spin->regime == SPIN_LOOK && finds_events_too_rarely(&spin->tally[SPIN_LOOK]))
        change_regime(spin);
    else
        enter_phase(spin, SPIN_SETTLE, SETTLE_WAITS);
}

static void end_phase(struct hf_spin *spin)
{
    switch (spin->phase) {
    case SPIN_STEADY: /* its end is seen by the next plan */
        return;
    case SPIN_MEASURE_OWN:
        end_own_measurement(spin);
        return;
    case SPIN_SETTLE:
        memset(&spin->tally[other_regime(spin->regime)], 0, sizeof *spin->tally);
        enter_phase(spin, SPIN_MEASURE_OTHER, BURST_WAITS);
        return;
    case SPIN_MEASURE_OTHER:
        choose_cheaper_regime(spin);
    }
}

/* ---- measurements ---- */

static uint32_t limit_duration_us(int64_t us)
{
    return us < TOOK_MAX_US ? (uint32_t)us : TOOK_MAX_US;
}

/* Two regimes of one program differ by the server's work, and that of callers
 * that go on; a pause of theirs is chance. */
static uint32_t limit_time_between_waits(int64_t us)
{
    return us <= BETWEEN_MAX_US ? (uint32_t)us : 0;
}

static void add_wait_to_tally(struct hf_spin_tally *tally,
                              const struct hf_spin_result *wait)
{
    tally->waits_count++;
    tally->found_by_looking += wait->is_found_by_looking;
    tally->callers_answered += wait->callers_answered;
    tally->duration_us += limit_duration_us(wait->duration_us) +
                          limit_time_between_waits(wait->between_us);
    tally->cpu_us += limit_duration_us(wait->cpu_us);
}

/* A poll in vain and the sleep after it, or a sleep that was measured. */
static void add_sleep_duration(struct hf_spin *spin, int64_t us)
{
    spin->average_sleep_us = (spin->average_sleep_us * 3 + limit_duration_us(us)) / 4;
}

void hf_spin_note(struct hf_spin *spin, struct hf_spin_plan plan,
                  const struct hf_spin_result *wait)
{
    if (!wait->is_found_by_looking)
        add_sleep_duration(spin, wait->duration_us);
    if (spin->phase == SPIN_STEADY && !wait->is_found_by_looking)
        spin->phase_waits_left = spin->phase_waits_left > MISS ? spin->phase_waits_left - MISS : 0;
    if (!plan.is_measured)
        return;
    add_wait_to_tally(&spin->tally[regime_of_this_wait(spin)], wait);
    if (cannot_other_regime_win(spin))
        keep_regime(spin);
    else if (spin->phase_waits_left == 0)
        end_phase(spin);
}
