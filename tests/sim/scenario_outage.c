/* The world of outages: changes of semaphores and latches whose calls end without a reply, and
 * which their client repeats (COUNT-4). The server, or the link to it, is away for minutes or for
 * weeks, or the process is stopped for so long.
 *
 * A change is repeated for REPEATED_MS from the beginning of its call (outage.h). No outage lasts
 * about as long as that: it is clearly shorter, and each change must be executed once; or it is
 * clearly longer, and each change of unknown outcome must be given up with a line in the log, and
 * not be executed later.
 *
 * Copies of a request that a server, or a link, delivers after such a time may be executed
 * (semaphores.md): a longer outage loses what was sent. Weeks of attempts to connect take a tenth
 * of a second of the processor, so most of the longer outages are those of a process that does not
 * run. */
#include "tests/sim/outage.h"
#include "tests/sim/scenario.h"

#define PROGRAM 1 /* the one that has outages; program 0 has created the names */
#define BEGIN_MS 2000
#define USED_MS 300
#define HOLD_MS 1000 /* of permits that are released as the outage begins */
#define LATCH_COUNT 9 /* more than are counted down */

#define MINUTE_MS INT64_C(60000)
#define DAY_MS (24 * 60 * MINUTE_MS)
#define LATE_COPY_REPLY_TTL_MS (10 * MINUTE_MS) /* so long the reply to other requests is kept */
#define SHORT_MS (26 * MINUTE_MS)
#define WITHIN_MS (REPEATED_MS * 98 / 100)
#define BEYOND_MS (REPEATED_MS * 102 / 100)
#define LONGEST_MS (40 * DAY_MS) /* longer than a server keeps its reply */
#define PATIENT_MS (60 * MINUTE_MS) /* a request timeout with which few attempts are made */

static void set_head(struct plan_head *h, uint64_t *dice)
{
    static const int64_t requests_ms[] = {300, 1000, 5000};

    h->is_deaf = h->replicas = 0;
    h->watchdog_ms = 30000;
    h->request_ms = draw_pick(dice, requests_ms, DRAW_COUNT(requests_ms));
    h->latency_us = 500;
    h->jitter_us = h->lag_us = 100;
    h->length_ms = 2 * BEGIN_MS;
}

static void set_names(struct plan *plan, uint64_t *dice)
{
    for (size_t i = 0; i < plan->lock_count; i++) {
        bool is_latch = draw_one_in(dice, 3);

        plan->locks[i].family = is_latch ? FAMILY_LATCH : FAMILY_SEMAPHORE;
        plan->locks[i].permits = is_latch ? LATCH_COUNT : draw_between(dice, 2, 5);
    }
}

/* The server knows the scripts before the outage begins: a request that it does not execute at
 * once is sent twice. */
static void use_names(struct plan *plan)
{
    for (int64_t lock = 0; lock < (int64_t)plan->lock_count; lock++) {
        if (plan->locks[lock].family == FAMILY_LATCH) {
            scenario_op(plan, USED_MS, OP_GIVE, 1)->lock = lock;
            continue;
        }
        for (int i = 0; i < 2; i++) {
            struct plan_op *op = scenario_op(plan, (i + 1) * USED_MS, i ? OP_REDUCE : OP_ACQUIRE, 1);

            op->lock = lock;
            op->n = 1;
            op->hold_ms = USED_MS / 2;
        }
    }
}

/* ---- changes ---- */

/* A few crossings of the link before or after the outage begins. */
static struct plan_op *draw_op(struct plan *plan, int64_t lock, int64_t verb, int64_t before_ms,
                               uint64_t *dice)
{
    struct plan_op *op = scenario_op(plan, BEGIN_MS + draw_between(dice, -3, 4) - before_ms,
                                     verb, draw_between(dice, 1, PLAN_OWNERS));

    op->program = PROGRAM;
    op->lock = lock;
    op->n = 1;
    op->hold_ms = before_ms > 0 ? before_ms : -1;
    return op;
}

static void draw_change(struct plan *plan, int64_t lock, uint64_t *dice)
{
    static const int64_t verbs[] = {OP_ACQUIRE, OP_ACQUIRE, OP_REDUCE, OP_DRAIN};
    int64_t verb = draw_pick(dice, verbs, DRAW_COUNT(verbs));

    if (plan->locks[lock].family == FAMILY_LATCH)
        (void)draw_op(plan, lock, OP_GIVE, 0, dice);
    else if (verb == OP_ACQUIRE || draw_one_in(dice, 2)) /* what it has taken is added */
        (void)draw_op(plan, lock, verb, HOLD_MS, dice);
    else
        (void)draw_op(plan, lock, verb, 0, dice);
}

/* ---- outages ---- */

static struct plan_fault *add_fault(struct plan *plan, int64_t at_ms, int64_t kind,
                                    int64_t for_ms)
{
    struct plan_fault *f = scenario_fault(plan, at_ms, kind, for_ms);

    f->program = PROGRAM;
    return f;
}

/* What is under way is lost, and nothing reaches the server. */
static void lose_all(struct plan *plan, int64_t for_ms, bool is_silent, uint64_t *dice)
{
    int64_t ends = draw_below(dice, 2);

    if (is_silent || draw_one_in(dice, 2)) {
        add_fault(plan, BEGIN_MS, FAULT_HALF_OPEN, for_ms)->to_server = ends;
    } else {
        add_fault(plan, BEGIN_MS, FAULT_RESET, 0)->n = ends;
    }
    add_fault(plan, BEGIN_MS, is_silent || draw_one_in(dice, 2) ? FAULT_IGNORE : FAULT_REFUSE,
              for_ms);
}

static void be_away(struct plan *plan, int64_t for_ms, uint64_t *dice)
{
    static const int64_t kinds[] = {FAULT_HOLD_BACK, FAULT_FREEZE, FAULT_RESTART};

    if (draw_one_in(dice, 2))
        lose_all(plan, for_ms, false, dice);
    else
        add_fault(plan, BEGIN_MS, draw_pick(dice, kinds, DRAW_COUNT(kinds)), for_ms)->to_server =
            draw_below(dice, 2);
}

/* The server is there again, and refuses the change for a while. */
static void refuse(struct plan *plan, int64_t end_ms, uint64_t *dice)
{
    static const int64_t kinds[] = {FAULT_LOADING, FAULT_BUSY,     FAULT_FULL, FAULT_SCANT,
                                    FAULT_UNSAVED, FAULT_PASSWORD, FAULT_ACL};
    struct plan_fault *f = add_fault(plan, end_ms - draw_spread(dice, 1, MINUTE_MS / 6),
                                     draw_pick(dice, kinds, DRAW_COUNT(kinds)),
                                     draw_spread(dice, MINUTE_MS / 6, MINUTE_MS));

    f->n = f->kind == FAULT_PASSWORD;
}

static int64_t draw_weeks(bool is_beyond, uint64_t *dice)
{
    return is_beyond ? draw_between(dice, BEYOND_MS, LONGEST_MS)
                     : draw_spread(dice, LATE_COPY_REPLY_TTL_MS, WITHIN_MS);
}

/* Of the link, and of a client that is patient. */
static void lose_link_for_weeks(struct plan *plan, uint64_t *dice)
{
    plan->head.request_ms = PATIENT_MS;
    lose_all(plan, draw_weeks(draw_one_in(dice, 2), dice), true, dice);
}

/* It stops before its calls have ended, or afterwards. The link is lost until then at least. */
static void stop_process(struct plan *plan, uint64_t *dice)
{
    bool is_beyond = draw_one_in(dice, 2);
    int64_t for_ms = draw_weeks(is_beyond, dice);
    int64_t after_ms = draw_spread(dice, 50, 3 * plan->head.request_ms);
    int64_t end_ms = after_ms + for_ms;

    lose_all(plan,
             draw_one_in(dice, 3) ? end_ms + draw_spread(dice, 1, 5 * MINUTE_MS)
                                  : after_ms + draw_between(dice, 1, for_ms),
             false, dice);
    add_fault(plan, BEGIN_MS + after_ms, FAULT_SUSPEND, for_ms);
    if (!is_beyond && draw_one_in(dice, 3))
        refuse(plan, BEGIN_MS + end_ms, dice);
}

static void be_away_for_minutes(struct plan *plan, uint64_t *dice)
{
    int64_t for_ms = draw_spread(dice, plan->head.request_ms, SHORT_MS);

    if (draw_one_in(dice, 2))
        for_ms = draw_between(dice, LATE_COPY_REPLY_TTL_MS, SHORT_MS);
    be_away(plan, for_ms, dice);
    if (draw_one_in(dice, 3))
        refuse(plan, BEGIN_MS + for_ms, dice);
}

#define CHANGES_MAX 3 /* for each name */
#define WEEKS_ONE_IN 16

void scenario_outage(struct plan *plan, uint64_t *dice)
{
    set_head(&plan->head, dice);
    set_names(plan, dice);
    use_names(plan);
    plan->program_count = PROGRAM + 1;
    for (int64_t i = 0; i <= PROGRAM; i++)
        plan->programs[i].ppm = draw_between(dice, -100, 100);
    for (int64_t lock = 0; lock < (int64_t)plan->lock_count; lock++)
        for (int64_t n = draw_between(dice, 1, CHANGES_MAX); n > 0; n--)
            draw_change(plan, lock, dice);
    if (draw_one_in(dice, WEEKS_ONE_IN))
        lose_link_for_weeks(plan, dice);
    else if (draw_one_in(dice, 3))
        be_away_for_minutes(plan, dice);
    else
        stop_process(plan, dice);
}
