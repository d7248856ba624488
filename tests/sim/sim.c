/* sim: plans drawn from seeds, executed and judged. docs/simulation.md */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/run.h"
#include "tests/sim/shrink.h"
#include "tests/sim/trace.h"
#include "tests/sim/fault.h"
#include "tests/support/must.h"

/* So many seeds meet every kind of fault. */
#define LONG_RUN 3000
#define LONG_RUN_OF_WORLD 60

struct settings {
    uint64_t from, to; /* seeds; to UINT64_MAX: until the time has passed */
    double seconds;
    int jobs, runs;
    const char *plan_file, *history_file;
    bool traces, prints, is_one, goes_on, rotates, is_of_family;
};

struct totals {
    uint64_t seeds, calls, granted;
    uint64_t seeds_of[FAMILIES]; /* by the family that was selected for them */
    int64_t family; /* of all of them; -1: of no family, or the families in turn */
    int64_t simulated_us;
    uint64_t calls_of[PLAN_KINDS];
    uint64_t faults[FAULT_KINDS];
    uint64_t effects[EFFECTS];
    bool has_failed;
};

static const char *program_name;

static const char help[] =
    "usage: sim [--seconds N | --seeds A..B | --seed N | --plan FILE] [--jobs N]\n"
    "           [--trace] [--history FILE] [--wire] [--print] [--runs N] [--all]\n"
    "           [--family F]\n"
    "\n"
    "  --seconds N     run fresh seeds for N seconds (default: 10), and print the first\n"
    "                  one. Every other seed is of one family, the families in turn\n"
    "  --seeds A..B    run seeds A to B - 1\n"
    "  --seed N        run this seed\n"
    "  --plan FILE     run the plan in FILE\n"
    "  --jobs N        use N processes, each with its own seeds (default: 1)\n"
    "  --trace         print the events of one plan as sentences\n"
    "  --history FILE  write the history of one plan to FILE, for build/judge\n"
    "  --wire          with --trace or --history: add each command of each client\n"
    "  --print         print one plan\n"
    "  --runs N        at most N runs for shrinking (default: 500)\n"
    "  --all           continue after a failure, and shrink nothing\n"
    "  --family F      all names are of this family: plain, nonreentrant, fenced,\n"
    "                  read-write, fair, value, spin, permit, semaphore, latch, quorum,\n"
    "                  multi, election or by-owner; or they are of any family, in a\n"
    "                  world: kill (CLIENT KILL is refused), redirect (slots move);\n"
    "                  crowd: hundreds of calls at one moment; silence: connections\n"
    "                  swallow bytes; credentials: passwords are rotated;\n"
    "                  switchover: one address leads to another master;\n"
    "                  proxy: a proxy loses its server;\n"
    "                  disagree: nodes of a cluster announce wrong addresses;\n"
    "                  queues: fair locks; messages: only they wake waiters in time;\n"
    "                  names: a name leads to another address, or is not resolved;\n"
    "                  push: tracking=on; labels: clients have labels;\n"
    "                  outage: changes of counts are repeated, for weeks;\n"
    "                  or hosts: replicas without sentinels;\n"
    "                  each: as with --seconds; all: any family\n"
    "  --help          print this text\n"
    "\n"
    "A failure is shrunk, and its trace is printed; its plan is written to\n"
    "failed-SEED.plan in the working folder.\n"
    "Exit code: 0 no violation, 1 a property was violated, 2 usage, 3 a kind of\n"
    "fault that the family has never occurred in a long run, or never had an effect.\n";

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- families in turn ---- */

static int64_t family_now = -1; /* of all families */

static int64_t family_of(uint64_t seed)
{
    int64_t turn = (int64_t)(seed / 2 % FAMILIES);

    while (!plan_is_selectable(turn))
        turn = (turn + 1) % FAMILIES;
    return seed % 2 == 0 ? -1 : turn;
}

static void take_turn(const struct settings *set, uint64_t seed)
{
    if (!set->rotates)
        return;
    family_now = family_of(seed);
    plan_only_number(family_now);
}

static const char *family_option(char *dst, size_t size)
{
    *dst = '\0';
    if (family_now >= 0)
        (void)snprintf(dst, size, " --family %s", plan_family_name(family_now));
    return dst;
}

static bool take_family(struct settings *set, const char *name)
{
    set->rotates = strcmp(name, "each") == 0;
    if (set->rotates || strcmp(name, "all") == 0)
        return true;
    if (!plan_only(name))
        return false;
    family_now = plan_only_is();
    return true;
}

/* ---- one that failed ---- */

static bool fails_again(void *ctx, const struct plan *plan)
{
    struct run_result r;

    run_plan(plan, NULL, &r);
    return run_is_alike(&r, ctx);
}

static void print_trace(const struct plan *plan)
{
    struct run_result r;
    FILE *history = tmpfile();

    must(history);
    run_plan(plan, history, &r);
    rewind(history);
    trace_print(history, stdout);
    (void)fclose(history);
    if (r.has_failed)
        (void)printf("%s: %s\n", r.property, r.text);
}

static void keep_plan(const struct plan *plan)
{
    char name[64];
    FILE *file;

    (void)snprintf(name, sizeof name, "failed-%" PRIu64 ".plan",
                   (uint64_t)plan->head.seed);
    file = fopen(name, "w");
    if (!file)
        return;
    plan_print(plan, file);
    (void)fclose(file);
    (void)printf("the shrunk plan again:  %s --plan %s --trace\n", program_name,
                 name);
}

static void report(const struct plan *plan, struct run_result *r,
                   const struct settings *set)
{
    static struct plan small;
    char family[40];
    int runs;

    (void)printf("seed %" PRIu64 " fails: %s: %s%s\n", (uint64_t)plan->head.seed,
                 r->property, r->text, family_option(family, sizeof family));
    (void)fflush(stdout);
    if (set->goes_on)
        return;
    small = *plan;
    runs = shrink(&small, fails_again, r, set->runs);
    (void)printf("shrunk by %d runs to %zu operations and %zu faults:\n\n",
                 runs, small.op_count, small.fault_count);
    plan_print(&small, stdout);
    (void)putchar('\n');
    print_trace(&small);
    (void)printf("\nthe whole seed again:   %s --seed %" PRIu64 "%s --trace\n",
                 program_name, (uint64_t)plan->head.seed, family);
    keep_plan(&small);
    (void)fflush(stdout);
}

/* ---- one ---- */

static void add(struct totals *t, const struct run_result *r)
{
    t->seeds++;
    if (plan_only_is() >= 0)
        t->seeds_of[plan_only_is()]++;
    t->calls += r->calls;
    t->granted += r->granted;
    t->simulated_us += r->simulated_us;
    t->has_failed = t->has_failed || r->has_failed;
    for (int i = 0; i < FAULT_KINDS; i++)
        t->faults[i] += r->faults[i];
    for (int i = 0; i < EFFECTS; i++)
        t->effects[i] += r->effects[i];
    for (int i = 0; i < PLAN_KINDS; i++)
        t->calls_of[i] += r->calls_of[i];
}

static int run_one(const struct plan *plan, const struct settings *set)
{
    struct run_result r;
    FILE *history = set->history_file ? fopen(set->history_file, "w") : NULL;

    must(history || !set->history_file);
    if (set->prints)
        plan_print(plan, stdout);
    if (set->traces) {
        print_trace(plan);
        return 0;
    }
    run_plan(plan, history, &r);
    if (history)
        (void)fclose(history);
    if (r.has_failed)
        report(plan, &r, set);
    return r.has_failed;
}

/* ---- crashes ---- */

static uint64_t seed_now;

/* A crash of the program reports its seed. */
static void on_crash(int signal)
{
    char line[100], family[40];
    int len =
        snprintf(line, sizeof line, "seed %" PRIu64 " crashes%s\n", seed_now,
                 family_option(family, sizeof family));

    if (write(STDOUT_FILENO, line, (size_t)len) != (ssize_t)len)
        _exit(1);
    (void)raise(signal); /* SA_RESETHAND: now as ever */
}

static void watch_for_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE};
    struct sigaction action = {.sa_handler = on_crash};

    action.sa_flags = (int)SA_RESETHAND;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        must(sigaction(signals[i], &action, NULL) == 0);
}

/* ---- many ---- */

static void run_seeds(struct totals *t, const struct settings *set, int job)
{
    static struct plan plan;
    double end_s = now_s() + set->seconds;
    struct run_result r;

    for (uint64_t seed = set->from + (uint64_t)job;
         seed < set->to && (!t->has_failed || set->goes_on) &&
         (set->to < UINT64_MAX || now_s() < end_s);
         seed += (uint64_t)set->jobs) {
        seed_now = seed;
        take_turn(set, seed);
        plan_draw(&plan, seed);
        run_plan(&plan, NULL, &r);
        add(t, &r);
        if (r.has_failed)
            report(&plan, &r, set);
    }
}

static void add_totals(struct totals *sum, const struct totals *t)
{
    sum->seeds += t->seeds;
    for (int i = 0; i < FAMILIES; i++)
        sum->seeds_of[i] += t->seeds_of[i];
    sum->calls += t->calls;
    sum->granted += t->granted;
    sum->simulated_us += t->simulated_us;
    sum->has_failed = sum->has_failed || t->has_failed;
    for (int i = 0; i < FAULT_KINDS; i++)
        sum->faults[i] += t->faults[i];
    for (int i = 0; i < EFFECTS; i++)
        sum->effects[i] += t->effects[i];
    for (int i = 0; i < PLAN_KINDS; i++)
        sum->calls_of[i] += t->calls_of[i];
}

/* Each job is a process: a world is one for each. */
static void run_jobs(struct totals *sum, const struct settings *set)
{
    int ends[2];
    struct totals t = {0};

    must(pipe(ends) == 0);
    (void)fflush(stdout);
    for (int job = 0; job < set->jobs; job++) {
        if (fork() != 0)
            continue;
        run_seeds(&t, set, job);
        must(write(ends[1], &t, sizeof t) == (ssize_t)sizeof t);
        (void)fflush(stdout);
        _exit(0);
    }
    (void)close(ends[1]);
    while (read(ends[0], &t, sizeof t) == (ssize_t)sizeof t)
        add_totals(sum, &t);
    for (int job = 0; job < set->jobs; job++) {
        int status;

        sum->has_failed = (wait(&status) > 0 && status != 0) || sum->has_failed;
    }
}

static void print_kinds(const struct totals *t)
{
    static const char *const names[PLAN_KINDS] = {
        [HF_KIND_PLAIN] = "plain",
        [HF_KIND_NONREENTRANT] = "nonreentrant",
        [HF_KIND_FENCED] = "fenced",
        [HF_KIND_READ] = "read",
        [HF_KIND_WRITE] = "write",
        [HF_KIND_FAIR] = "fair",
        [HF_KIND_NONREENTRANT_FAIR] = "nonreentrant fair",
        [HF_KIND_VALUE] = "value",
        [HF_KIND_SPIN] = "spin",
        [HF_KIND_PERMIT] = "permit",
        [PLAN_KIND_SEMAPHORE] = "semaphore",
        [PLAN_KIND_LATCH] = "latch"};
    const char *between = "operations:";

    for (int i = 0; i < PLAN_KINDS; i++) {
        if (t->calls_of[i] == 0)
            continue;
        (void)printf("%s %s %" PRIu64, between,
                     names[i] ? names[i] : "?", t->calls_of[i]);
        between = ",";
    }
    (void)putchar('\n');
}

/* Have there been enough seeds for what happens in this world? -1: in any. */
static bool is_long_run(const struct totals *t, int64_t world)
{
    return world >= 0 ? t->seeds_of[world] >= LONG_RUN_OF_WORLD : t->seeds >= LONG_RUN;
}

/* Has this fault had enough seeds to happen? */
static bool is_fault_due(const struct totals *t, int kind)
{
    static bool can_have[FAULT_KINDS];
    static int64_t family = -2;

    if (plan_fault_world(kind) >= 0)
        return is_long_run(t, plan_fault_world(kind));
    if (family != t->family)
        plan_kinds_of(family = t->family, can_have);
    return is_long_run(t, -1) && can_have[kind];
}

/* And this effect? Which effects can happen in one family alone nobody knows. */
static bool is_effect_due(const struct totals *t, int effect)
{
    if (effects_world(effect) >= 0)
        return is_long_run(t, effects_world(effect));
    return t->family < 0 && t->seeds >= (effects_is_rare(effect) ? 10 * LONG_RUN : LONG_RUN);
}

static void print_count(const char *before, const char *name, uint64_t count)
{
    (void)printf("%s%s %" PRIu64, before, name, count);
}

static void print_never(const char *name, int *never)
{
    (void)printf("%s%s", (*never)++ ? ", " : "never: ", name);
}

/* Returns how many have never happened that must happen in so many seeds. */
static int print_faults(const struct totals *t)
{
    int never = 0;

    for (int i = 0; i < FAULT_KINDS; i++)
        print_count(i ? ", " : "faults: ", plan_fault_name(i), t->faults[i]);
    (void)putchar('\n');
    for (int i = 0; i < EFFECTS; i++)
        print_count(i ? ", " : "effects: refused: ", effects_name(i), t->effects[i]);
    (void)putchar('\n');
    for (int i = 0; i < FAULT_KINDS; i++)
        if (t->faults[i] == 0 && is_fault_due(t, i))
            print_never(plan_fault_name(i), &never);
    for (int i = 0; i < EFFECTS; i++)
        if (t->effects[i] == 0 && is_effect_due(t, i))
            print_never(effects_name(i), &never);
    if (never > 0)
        (void)putchar('\n');
    return never;
}

/* Of this process, and of the jobs that have ended. */
static double user_cpu_s(void)
{
    struct rusage own, jobs;

    (void)getrusage(RUSAGE_SELF, &own);
    (void)getrusage(RUSAGE_CHILDREN, &jobs);
    return (double)(own.ru_utime.tv_sec + jobs.ru_utime.tv_sec) +
           (double)(own.ru_utime.tv_usec + jobs.ru_utime.tv_usec) / 1e6;
}

static int print_totals(const struct totals *t, double took_s)
{
    double simulated_s = (double)t->simulated_us / 1e6, cpu_s = user_cpu_s();
    int never;

    (void)printf("%" PRIu64 " seeds in %.1f s: %.0f a second; %" PRIu64
                 " operations, %.0f a second; %" PRIu64 " grants; %.0f s "
                 "simulated, %.0f times real time\n",
                 t->seeds, took_s, (double)t->seeds / took_s, t->calls,
                 (double)t->calls / took_s, t->granted, simulated_s,
                 simulated_s / took_s);
    (void)printf("%.1f s of user CPU time: %.0f seeds and %.0f operations a CPU second\n",
                 cpu_s, (double)t->seeds / cpu_s, (double)t->calls / cpu_s);
    print_kinds(t);
    never = print_faults(t);
    if (t->has_failed)
        return 1;
    return never > 0 && t->seeds >= LONG_RUN ? 3 : 0;
}

static int run_many(const struct settings *set)
{
    struct totals t = {.family = set->rotates ? -1 : plan_only_is()};
    double begin_s = now_s();

    (void)printf("seeds from %" PRIu64 "\n", set->from);
    (void)fflush(stdout);
    if (set->jobs == 1)
        run_seeds(&t, set, 0);
    else
        run_jobs(&t, set);
    return print_totals(&t, now_s() - begin_s);
}

/* ---- the command line ---- */

static const struct option options[] = {
    {"seconds", required_argument, NULL, 's'},
    {"seeds", required_argument, NULL, 'S'},
    {"seed", required_argument, NULL, 'n'},
    {"plan", required_argument, NULL, 'p'},
    {"jobs", required_argument, NULL, 'j'},
    {"runs", required_argument, NULL, 'r'},
    {"family", required_argument, NULL, 'f'},
    {"history", required_argument, NULL, 'h'},
    {"trace", no_argument, NULL, 't'},
    {"print", no_argument, NULL, 'P'},
    {"all", no_argument, NULL, 'a'},
    {"wire", no_argument, NULL, 'w'},
    {"help", no_argument, NULL, 'H'},
    {NULL, 0, NULL, 0},
};

static bool take(struct settings *set, int option)
{
    switch (option) {
    case 's':
        set->seconds = atof(optarg);
        return true;
    case 'S':
        return sscanf(optarg, "%" SCNu64 "..%" SCNu64, &set->from, &set->to) ==
               2;
    case 'n':
        set->is_one = true;
        return sscanf(optarg, "%" SCNu64, &set->from) == 1;
    case 'p':
        set->plan_file = optarg;
        return true;
    case 'j':
        return (set->jobs = atoi(optarg)) > 0;
    case 'f':
        set->is_of_family = true;
        return take_family(set, optarg);
    case 'r':
        return (set->runs = atoi(optarg)) >= 0;
    case 'h':
        set->history_file = optarg;
        return true;
    case 't':
        return set->traces = true;
    case 'P':
        return set->prints = true;
    case 'a':
        return set->goes_on = true;
    case 'w':
        run_show_wire(true);
        return true;
    default:
        return false;
    }
}

static bool get_plan(struct plan *plan, const struct settings *set)
{
    FILE *file;
    bool ok;

    if (!set->plan_file) {
        plan_draw(plan, set->from);
        return true;
    }
    if (!(file = fopen(set->plan_file, "r"))) {
        perror(set->plan_file);
        return false;
    }
    ok = plan_read(plan, file);
    (void)fclose(file);
    return ok;
}

int main(int argc, char **argv)
{
    static struct plan plan;
    struct settings set = {.from = (uint64_t)time(NULL) * 1000003,
                           .to = UINT64_MAX,
                           .seconds = 10,
                           .jobs = 1,
                           .runs = 500};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'H') {
            (void)fputs(help, stdout);
            return 0;
        }
        if (!take(&set, option)) {
            /* getopt_long has named an unknown option itself. */
            if (option != '?')
                (void)fprintf(stderr, "%s: invalid value '%s'\n", argv[0], optarg);
            (void)fprintf(stderr, "See '%s --help'.\n", argv[0]);
            return 2;
        }
    }
    set.rotates = set.rotates || (!set.is_of_family && set.to == UINT64_MAX &&
                                  !set.is_one && !set.plan_file);
    program_name = argv[0];
    watch_for_crashes();
    seed_now = set.from;
    if (!set.is_one && !set.plan_file)
        return run_many(&set);
    return get_plan(&plan, &set) ? run_one(&plan, &set) : 2;
}
