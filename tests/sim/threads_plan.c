/* Draws, writes, reads and shrinks the plans of test_threads. */
#include "tests/sim/threads_plan.h"

#include <string.h>

#include "tests/support/dice.h"
#include "tests/support/must.h"

static const char *const mode_words[THREADS_MODES] = {"background", "dispatcher", "callers"};
static const char *const verb_words[THREADS_VERBS] = {"acquire", "async", "inspect", "rest",
                                              "cancel",  "close"};

static int64_t draw(uint64_t *seed, int64_t sides)
{
    return (int64_t)dice_of(seed, (uint64_t)sides);
}

static int64_t draw_wait(uint64_t *dice)
{
    static const int64_t waits[] = {0, 10, 15, 40, 1000, HF_FOREVER, HF_FOREVER};

    return waits[draw(dice, sizeof waits / sizeof *waits)];
}

static int64_t draw_us(uint64_t *dice, const struct threads_plan *plan)
{
    int64_t most = draw(dice, 3) ? 500 : 30000;

    if (plan->mode != CALLERS_ALONE && draw(dice, 12) == 0)
        most = 4000000;         /* renewals are needed */
    return draw(dice, most);
}

static struct threads_op draw_op(uint64_t *dice, const struct threads_plan *plan)
{
    static const enum threads_verb verbs[] = {ACQUIRE, ACQUIRE, ACQUIRE, ACQUIRE, ACQUIRE_ASYNC,
                                      INSPECT, REST,    CANCEL};
    struct threads_op op = {.verb = verbs[draw(dice, sizeof verbs / sizeof *verbs)]};

    if (op.verb == ACQUIRE_ASYNC && plan->mode == CALLERS_ALONE)
        op.verb = ACQUIRE;      /* no thread would call `done` */
    op.lock = draw(dice, 3) == 0;
    op.wait_ms = draw_wait(dice);
    op.us = draw_us(dice, plan);
    op.whom = (int)draw(dice, plan->callers);
    return op;
}

static void draw_faults(uint64_t *dice, struct threads_plan *plan)
{
    if (draw(dice, 4))
        return;
    plan->fault_count = 1 + (int)draw(dice, THREADS_FAULTS_MAX);
    for (int i = 0; i < plan->fault_count; i++)
        plan->faults[i] = (struct threads_fault){.at_ms = draw(dice, 60),
                                         .for_ms = draw(dice, 2) ? draw(dice, 2500) : 0};
}

/* By dice of its own. A quorum needs background threads, and its members are of one kind that
 * has no queue. */
static void draw_servers(struct threads_plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "threads servers");

    plan->servers = 1;
    if (draw(&dice, 3) == 0 && plan->mode != DISPATCHER)
        plan->servers = plan->mode == BACKGROUND && draw(&dice, 2) ? 3 : 2;
    for (int i = 0; i < plan->fault_count; i++)
        plan->faults[i].server = (int)draw(&dice, plan->servers);
    if (plan->servers < THREADS_SERVERS_MAX)
        return;
    if (plan->kinds[0] == HF_KIND_FAIR)
        plan->kinds[0] = HF_KIND_PLAIN;
    for (int i = 0; i < plan->callers; i++)
        for (int k = 0; k < plan->op_counts[i]; k++)
            if (plan->ops[i][k].verb == ACQUIRE_ASYNC && plan->ops[i][k].lock == 0)
                plan->ops[i][k].verb = ACQUIRE; /* a callback may not block there */
}

void threads_plan_draw(struct threads_plan *plan, uint64_t seed)
{
    static const enum hf_lock_kind kinds[] = {HF_KIND_PLAIN, HF_KIND_PLAIN, HF_KIND_FAIR,
                                              HF_KIND_FENCED, HF_KIND_NONREENTRANT,
                                              HF_KIND_SPIN};
    uint64_t dice = dice_stream(seed, "threads plan");

    *plan = (struct threads_plan){.seed = seed};
    plan->mode = (enum threads_mode)draw(&dice, THREADS_MODES);
    for (int i = 0; i < THREADS_LOCKS; i++)
        plan->kinds[i] = kinds[draw(&dice, sizeof kinds / sizeof *kinds)];
    plan->stall_us = draw(&dice, 2) ? 20 : 300;
    plan->stay = draw(&dice, 3) * 4;
    plan->callers = 2 + (int)draw(&dice, THREADS_CALLERS_MAX - 1);
    for (int i = 0; i < plan->callers; i++) {
        plan->op_counts[i] = 1 + (int)draw(&dice, THREADS_OPS_MAX - 1);
        for (int k = 0; k < plan->op_counts[i]; k++)
            plan->ops[i][k] = draw_op(&dice, plan);
    }
    if (draw(&dice, 6) == 0)    /* the last one closes the client, for all */
        plan->ops[0][plan->op_counts[0] - 1].verb = CLOSE;
    draw_faults(&dice, plan);
    draw_servers(plan, seed);
}

void threads_plan_write(FILE *file, const struct threads_plan *p)
{
    (void)fprintf(file, "plan seed %llu mode %s kinds %d %d stall %lld stay %lld servers %d\n",
                  (unsigned long long)p->seed, mode_words[p->mode], (int)p->kinds[0],
                  (int)p->kinds[1], (long long)p->stall_us, (long long)p->stay, p->servers);
    for (int i = 0; i < p->callers; i++)
        for (int k = 0; k < p->op_counts[i]; k++)
            (void)fprintf(file, "t%d %s lock %d wait %lld us %lld whom %d\n", i,
                          verb_words[p->ops[i][k].verb], p->ops[i][k].lock,
                          (long long)p->ops[i][k].wait_ms, (long long)p->ops[i][k].us,
                          p->ops[i][k].whom);
    for (int i = 0; i < p->fault_count; i++)
        (void)fprintf(file, "fault at %lld for %lld server %d\n", (long long)p->faults[i].at_ms,
                      (long long)p->faults[i].for_ms, p->faults[i].server);
}

static int find_word(const char *const *words, int count, const char *word)
{
    int i = 0;

    while (i < count && strcmp(words[i], word) != 0)
        i++;
    must(i < count);
    return i;
}

static void read_op(struct threads_plan *p, const char *line)
{
    struct threads_op op = {0};
    long long wait, us;
    char word[16];
    int caller;

    must(sscanf(line, "t%d %15s lock %d wait %lld us %lld whom %d", &caller, word, &op.lock,
                &wait, &us, &op.whom) == 6);
    must(caller >= 0 && caller < THREADS_CALLERS_MAX && p->op_counts[caller] < THREADS_OPS_MAX);
    op.verb = (enum threads_verb)find_word(verb_words, THREADS_VERBS, word);
    op.wait_ms = wait;
    op.us = us;
    p->ops[caller][p->op_counts[caller]++] = op;
    if (caller >= p->callers)
        p->callers = caller + 1;
}

static void read_line(struct threads_plan *p, const char *line)
{
    unsigned long long seed;
    long long stall, stay, at, span;
    int kinds[2], servers = 1, server = 0;
    char word[16];

    if (sscanf(line, "plan seed %llu mode %15s kinds %d %d stall %lld stay %lld servers %d",
               &seed, word, &kinds[0], &kinds[1], &stall, &stay, &servers) >= 6) {
        must(servers >= 1 && servers <= THREADS_SERVERS_MAX);
        *p = (struct threads_plan){
            .seed = seed, .stall_us = stall, .stay = stay, .servers = servers};
        p->mode = (enum threads_mode)find_word(mode_words, THREADS_MODES, word);
        for (int i = 0; i < THREADS_LOCKS; i++)
            p->kinds[i] = (enum hf_lock_kind)kinds[i];
    } else if (sscanf(line, "fault at %lld for %lld server %d", &at, &span, &server) >= 2) {
        must(p->fault_count < THREADS_FAULTS_MAX && server >= 0 && server < p->servers);
        p->faults[p->fault_count++] =
            (struct threads_fault){.at_ms = at, .for_ms = span, .server = server};
    } else if (*line == 't') {
        read_op(p, line);
    }
}

void threads_plan_read(struct threads_plan *p, FILE *file)
{
    char line[200];

    while (fgets(line, sizeof line, file))
        read_line(p, line);
}

/* ---- shrinking ---- */

#define OTHER_SEEDS 20

static bool fails_by_a_seed(struct threads_plan *p, bool (*fails)(struct threads_plan *))
{
    struct threads_plan other = *p;

    for (uint64_t i = 0; i <= OTHER_SEEDS; i++) {
        other.seed = i ? i : p->seed;
        if (!fails(&other))
            continue;
        *p = other;
        return true;
    }
    return false;
}

static void leave_out_op(struct threads_plan *p, int caller, int k)
{
    struct threads_op *ops = p->ops[caller];

    p->op_counts[caller]--;
    memmove(ops + k, ops + k + 1, (size_t)(p->op_counts[caller] - k) * sizeof *ops);
}

/* True: something was left out. */
static bool shrink_ops(struct threads_plan *p, bool (*fails)(struct threads_plan *))
{
    struct threads_plan less;
    bool is_less = false;

    for (int i = 0; i < p->callers; i++)
        for (int k = p->op_counts[i] - 1; k >= 0; k--) {
            less = *p;
            leave_out_op(&less, i, k);
            if (!fails_by_a_seed(&less, fails))
                continue;
            *p = less;
            is_less = true;
        }
    return is_less;
}

static bool shrink_faults(struct threads_plan *p, bool (*fails)(struct threads_plan *))
{
    struct threads_plan less = *p;

    if (p->fault_count == 0)
        return false;
    less.fault_count--;
    if (!fails_by_a_seed(&less, fails))
        return false;
    *p = less;
    return true;
}

void threads_plan_shrink(struct threads_plan *plan, bool (*fails)(struct threads_plan *))
{
    while (shrink_faults(plan, fails) || shrink_ops(plan, fails))
        continue;
}
