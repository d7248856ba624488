/* Several threads share one client, or two or three, in a simulated world whose scheduler switches between
 * them at each call of a mutex, condition or semaphore (world/sim_threads.h). One of them
 * drives the client's loop, and passes that role (the driver: net/loop/drive.c) on.
 *
 * A plan is two to four callers that acquire, release, inspect, cancel each other's waits and
 * close the client. In a third of the plans the client has a background thread, in a third
 * another thread dispatches, and in a third only the callers drive. A quarter of the plans
 * have faults: a server stops, or connections end. Some plans have two servers, with a client
 * and a lock of each; in some, one of the locks is a quorum of three servers.
 *
 * P1   No two owners believe in one lock.
 * P2   A hold is reported as lost before another caller is granted the lock.
 * P5   Without faults, a lock that is free for FREE_MS is granted to the caller that waits.
 * P6   At the end no key remains.
 * P7   Each call ends: within SOON_MS after its wait, or after it was cancelled; with faults
 *      before the run ends. The failure says what each thread waits for.
 * P10  A granted call's hold is safe.
 * P12  Without faults, each call succeeds, unless another caller explains its result.
 *
 * THREADS_SEEDS=1..5000: these, instead of the first ones. A seed that fails is shrunk, and
 * its plan is printed, with the story of its run. THREADS_PLAN=FILE runs the plan of a file. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock/lock.h"
#include "lock/quorum.h"
#include "tests/sim/harness.h"
#include "tests/sim/threads_plan.h"
#include "tests/sim/world/sim_threads.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define SOON_MS 120
#define FREE_MS 300
#define AGREE_MS 1500           /* a quorum: owners that hold a part each begin again */
#define LATE_MS 40              /* callbacks, after the end of a belief */
#define END_MS 90000
#define CLOSE_MS 500
#define CPU_SECONDS 2           /* of one run; a bug may be an endless loop */
#ifdef __SANITIZE_ADDRESS__
#define SEEDS 200u
#else
#define SEEDS 1000u
#endif

/* ---- a run ---- */

/* What happened. `passed`: how often a thread was offered to drive. */
struct counts {
    unsigned long long operations, granted, waited, cancelled, closed, lost, passed,
        quorums /* granted */, two /* granted at the second server */;
};

struct caller {
    const struct threads_plan *plan;
    int number;
    int64_t owner;
    const struct threads_op *op;        /* the pending one; NULL: none */
    bool waits;                 /* it has requested the lock, and has no reply */
    int64_t since_us;           /* of the call */
    int64_t until_us;           /* by when it must end, without faults */
    bool holds;
    bool is_released;           /* its release has begun */
    bool is_lost;
    int64_t safe_until_us;      /* what it believes, in true time */
    struct hf_cancel cancel;
    bool may_cancel;
    bool was_cancelled;
    int cancelling;             /* threads in hf_cancel_fire, which read `cancel` */
    bool is_done;               /* the callback of an asynchronous call has returned */
    hf_status status;
};

struct place {
    struct hf_lock *lock;       /* of a quorum: its first member */
    struct hf_quorum *quorum;   /* NULL: it is not a quorum */
    uint64_t changes;           /* calls of others that began or ended */
    int users;                  /* calls and holds now */
    int64_t free_since_us;
    int64_t given_up_us;        /* when a call last ended without the lock, which the
                                   server may have granted: it is released soon */
};

static struct harness harness;
static struct process *process;
static struct link *links[THREADS_SERVERS_MAX];
static struct hf_client *clients[THREADS_SERVERS_MAX];
static int clients_count;
static struct caller callers[THREADS_CALLERS_MAX];
static struct place places[THREADS_LOCKS];
static int caller_threads[THREADS_CALLERS_MAX];
static bool is_closed, has_faults, is_serving;
static struct event fault_events[THREADS_FAULTS_MAX][2];
static struct counts counts;

static int64_t now_us(void)
{
    return harness_now_us(&harness);
}

static void violate(const char *property, const struct caller *c)
{
    threads_tell("VIOLATION %s", property);
    harness_violate(&harness, property, c->number);
}

static const char *name_of(int lock)
{
    return lock ? "other" : "lock";
}

/* ---- checks ---- */

static int64_t safe_ms(const struct caller *c)
{
    const struct place *p = &places[c->op->lock];

    return p->quorum ? hf_quorum_safe_ms(p->quorum, c->owner)
                     : hf_lock_safe_ms(p->lock, c->owner);
}

static void look_at_belief(struct caller *c)
{
    int64_t safe = safe_ms(c);

    c->safe_until_us = harness_safe_until_us(process, safe);
    if (safe <= 0 && !c->is_lost && !has_faults)
        violate("P10: granted, and not safe", c);
}

static void check_rivals(const struct caller *c)
{
    for (int i = 0; i < THREADS_CALLERS_MAX; i++) {
        const struct caller *other = &callers[i];

        if (other == c || !other->holds || other->is_released || other->is_lost ||
            other->op->lock != c->op->lock)
            continue;
        if (other->safe_until_us > now_us())
            violate("P1: two believe", c);
        else if (other->plan->mode != CALLERS_ALONE &&
                 other->safe_until_us + LATE_MS * 1000 < now_us())
            violate("P2: granted before the loss of another caller was reported", c);
    }
}

static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner, enum hf_lost reason)
{
    struct caller *c = ctx;

    (void)lock, (void)owner;
    threads_tell("loss of the hold of t%d: %s", c->number, hf_lost_text(reason));
    c->is_lost = true;
    counts.lost++;
    if (!has_faults && !is_closed)
        violate("P12: lost without a cause", c);
}

/* When a hold is renewed, it is believed in for longer. */
static void on_renewed(void *ctx, struct hf_lock *lock, int64_t owner)
{
    struct caller *c = ctx;

    (void)lock, (void)owner;
    if (c->holds && !c->is_released)
        c->safe_until_us = harness_safe_until_us(process, safe_ms(c));
}

static bool is_waited_for(int lock, int64_t *since_us)
{
    *since_us = INT64_MAX;
    for (int i = 0; i < THREADS_CALLERS_MAX; i++)
        if (callers[i].waits && callers[i].op->lock == lock &&
            callers[i].since_us < *since_us)
            *since_us = callers[i].since_us;
    return *since_us != INT64_MAX;
}

static bool is_held(int lock)
{
    for (int i = 0; i < THREADS_CALLERS_MAX; i++)
        if (callers[i].holds && callers[i].op->lock == lock)
            return true;
    return false;
}

/* After each step. */
static void check_time(void)
{
    int64_t since;

    if (has_faults || is_closed)
        return;
    for (int i = 0; i < THREADS_CALLERS_MAX; i++)
        if (callers[i].op && callers[i].until_us < now_us()) {
            violate("P7: a call does not end", &callers[i]);
            callers[i].until_us = INT64_MAX;
        }
    for (int i = 0; i < THREADS_LOCKS; i++) {
        if (is_held(i) || !is_waited_for(i, &since))
            continue;
        if (since < places[i].free_since_us)
            since = places[i].free_since_us;
        if (since + (places[i].quorum ? AGREE_MS : FREE_MS) * 1000 < now_us() &&
            *harness.violation == '\0')
            violate("P5: the lock is free, and a call waits", &callers[0]);
    }
}

/* ---- calls ---- */

static void begin(struct caller *c, const struct threads_op *op, int64_t within_ms)
{
    counts.operations++;
    c->op = op;
    c->since_us = now_us();
    c->until_us = within_ms == HF_FOREVER
                      ? INT64_MAX
                      : c->since_us + (within_ms + SOON_MS) * 1000;
}

/* A quorum whose clients are closed has no server that replies. */
static bool is_because_closed(const struct caller *c, hf_status rc)
{
    return is_closed && (rc == HF_E_CLOSED ||
                         (rc == HF_E_QUORUM && places[c->op->lock].quorum != NULL));
}

static void check_ok(const char *what, const struct caller *c, hf_status rc)
{
    threads_tell("%s: %s", what, hf_status_name(rc));
    if (rc == HF_OK || has_faults || is_because_closed(c, rc))
        return;
    violate("P12: a call fails without a cause", c);
}

/* Whether another caller wanted or had the lock while the call was pending. */
static bool is_explained(const struct caller *c, const struct place *p, uint64_t changes)
{
    return p->changes != changes || p->users > 1 || c->was_cancelled ||
           c->since_us < p->given_up_us + SOON_MS * 1000;
}

static void check_refusal(const struct caller *c, hf_status rc, uint64_t changes)
{
    const struct place *p = &places[c->op->lock];
    int64_t waited_us = now_us() - c->since_us;

    if (has_faults || is_because_closed(c, rc) ||
        (rc == HF_CANCELLED && c->was_cancelled))
        return;
    /* Its turn came when less than a round trip of its wait was left. */
    if (rc == HF_E_NOREPLY && c->op->wait_ms > 0 &&
        waited_us >= (c->op->wait_ms - 1) * 990 && is_explained(c, p, changes))
        return;
    /* No other owner was in the way when the wait ended, and replies were due. */
    if (rc == HF_E_QUORUM && p->quorum && is_explained(c, p, changes) &&
        waited_us >= (c->op->wait_ms - 1) * 990)
        return;
    if (rc != HF_TIMEOUT || !is_explained(c, p, changes))
        violate("P12: a call fails without a cause", c);
    else if (c->op->wait_ms == HF_FOREVER || waited_us < (c->op->wait_ms - 1) * 990)
        violate("P12: HF_TIMEOUT too early", c);
}

static void begin_acquire(struct caller *c, const struct threads_op *op,
                          struct hf_acquire_options *o)
{
    while (c->cancelling > 0)
        threads_sleep(50);
    hf_cancel_init(&c->cancel, clients[op->lock < clients_count ? op->lock : 0]);
    c->was_cancelled = c->is_lost = c->is_released = c->is_done = false;
    c->safe_until_us = 0;
    hf_acquire_options_init(o);
    o->owner = c->owner;
    o->wait_ms = op->wait_ms;
    o->cancel = places[op->lock].quorum ? NULL : &c->cancel;
    o->on_lost = on_lost;
    o->on_renewed = on_renewed;
    o->ctx = c;
    begin(c, op, op->wait_ms);
    places[op->lock].users++;
    places[op->lock].changes++;
    c->waits = true;
    c->may_cancel = true;
    threads_tell("acquires '%s', wait %lld ms", name_of(op->lock), (long long)op->wait_ms);
}

static void end_acquire(struct caller *c, hf_status rc, uint64_t changes)
{
    c->waits = c->may_cancel = false;
    c->holds = rc == HF_OK;
    c->until_us = INT64_MAX;
    threads_tell("%s", hf_status_name(rc));
    if (rc != HF_OK) {
        check_refusal(c, rc, changes);
        places[c->op->lock].given_up_us = now_us();
    } else {
        counts.granted++;
        counts.quorums += places[c->op->lock].quorum != NULL;
        counts.two += c->op->lock > 0 && clients_count > 1;
        look_at_belief(c);
        check_rivals(c);
    }
    counts.waited += now_us() - c->since_us > 500;
    counts.cancelled += rc == HF_CANCELLED;
}

/* The hold ends here for P5: what follows is the release's own time. */
static void end_use(struct caller *c)
{
    struct place *p = &places[c->op->lock];

    c->holds = false;
    p->free_since_us = now_us();
    p->users--;
    p->changes++;
    c->op = NULL;
}

static void release(struct caller *c)
{
    const struct threads_op *op = c->op;
    hf_status rc;

    c->is_released = true;
    begin(c, op, 0);
    threads_tell("releases '%s'", name_of(op->lock));
    rc = places[op->lock].quorum
             ? hf_quorum_release(places[op->lock].quorum, c->owner, NULL)
             : hf_lock_release(places[op->lock].lock, c->owner, NULL);
    check_ok("release", c, rc);
}

static void acquire(struct caller *c, const struct threads_op *op)
{
    struct hf_acquire_options o;
    uint64_t changes;
    hf_status rc;

    begin_acquire(c, op, &o);
    changes = places[op->lock].changes;
    rc = places[op->lock].quorum ? hf_quorum_acquire(places[op->lock].quorum, &o, NULL)
                                 : hf_lock_acquire(places[op->lock].lock, &o, NULL);
    end_acquire(c, rc, changes);
    if (rc == HF_OK) {
        threads_sleep(op->us);
        release(c);
    }
    end_use(c);
}

/* In the callback, which also releases the lock: it blocks there. */
static void on_done(void *ctx, hf_status status, const struct hf_error *err)
{
    struct caller *c = ctx;

    (void)err;
    end_acquire(c, status, UINT64_MAX);
    if (status == HF_OK)
        release(c);
    c->is_done = true;
}

static void acquire_async(struct caller *c, const struct threads_op *op)
{
    struct hf_acquire_options o;
    hf_status rc;

    begin_acquire(c, op, &o);
    rc = hf_lock_acquire_async(places[op->lock].lock, &o, on_done, c);
    if (rc != HF_OK) {
        c->waits = c->may_cancel = false;
        check_ok("acquire without blocking", c, rc);
        c->is_done = true;
    }
    while (!c->is_done)
        threads_sleep(200);
    end_use(c);
}

static void inspect(struct caller *c, const struct threads_op *op)
{
    struct hf_lock_info info;

    begin(c, op, 0);
    threads_tell("inspects '%s'", name_of(op->lock));
    check_ok("inspect", c, hf_lock_inspect(places[op->lock].lock, &info, NULL));
    c->op = NULL;
}

static void cancel(const struct caller *c, const struct threads_op *op)
{
    struct caller *other = &callers[op->whom];

    if (other == c || !other->may_cancel)
        return;
    threads_tell("cancels the wait of t%d", other->number);
    other->was_cancelled = true;
    other->until_us = now_us() + SOON_MS * 1000;
    other->cancelling++;
    if (places[other->op->lock].quorum)
        hf_quorum_cancel(places[other->op->lock].quorum, other->owner);
    else
        hf_cancel_fire(&other->cancel);
    other->cancelling--;
}

static void close_clients(struct caller *c, const struct threads_op *op)
{
    begin(c, op, CLOSE_MS * clients_count);
    is_closed = true;
    counts.closed++;
    for (int i = 0; i < clients_count; i++) {
        hf_status rc;

        threads_tell("closes client %d", i);
        rc = hf_client_close(clients[i], CLOSE_MS, NULL, NULL);
        threads_tell("closed: %s", hf_status_name(rc));
        if (rc != HF_OK && !has_faults)
            violate("P12: a close fails without a cause", c);
    }
    if (now_us() > c->until_us)
        violate("P7: a close takes too long", c);
    c->op = NULL;
}

static void do_op(struct caller *c, const struct threads_op *op)
{
    switch (op->verb) {
    case ACQUIRE:
        acquire(c, op);
        break;
    case ACQUIRE_ASYNC:
        acquire_async(c, op);
        break;
    case INSPECT:
        inspect(c, op);
        break;
    case CANCEL:
        cancel(c, op);
        break;
    case CLOSE:
        close_clients(c, op);
        break;
    default:
        threads_sleep(op->us);
    }
}

static void run_caller(void *ctx)
{
    struct caller *c = ctx;

    for (int k = 0; k < c->plan->op_counts[c->number]; k++)
        do_op(c, &c->plan->ops[c->number][k]);
}

static void run_dispatcher(void *ctx)
{
    (void)ctx;
    while (is_serving)
        hf_loop_dispatch(hf_client_loop(clients[0]), 50);
}

/* ---- the program's first thread ---- */

static void open_client(const struct threads_plan *plan, int server)
{
    struct hf_client_options o;
    char url[64];

    (void)snprintf(url, sizeof url, "redis://%s:%d", harness.site.servers[server]->ip,
                   SERVER_PORT);
    hf_client_options_init(&o);
    o.url = url;
    o.thread = plan->mode == BACKGROUND;
    o.watchdog_ms = HARNESS_WATCHDOG_MS;
    o.request_timeout_ms = HARNESS_REQUEST_MS;
    must(hf_client_new(&clients[server], &o, NULL) == HF_OK);
}

static struct hf_lock *open_lock(const struct threads_plan *plan, int number, int server)
{
    struct hf_lock *lock;

    must(hf_lock_new_kind(&lock, clients[server], plan->kinds[number], name_of(number),
                          strlen(name_of(number)), NULL) == HF_OK);
    return lock;
}

static void open_quorum(const struct threads_plan *plan, struct place *place)
{
    struct hf_lock *members[THREADS_SERVERS_MAX];

    for (int i = 0; i < THREADS_SERVERS_MAX; i++)
        members[i] = open_lock(plan, 0, i);
    must(hf_quorum_new(&place->quorum, members, THREADS_SERVERS_MAX, NULL) == HF_OK);
    for (int i = 0; i < THREADS_SERVERS_MAX; i++)
        hf_lock_free(members[i]);
    place->lock = hf_quorum_member(place->quorum, 0);
}

static void open_all(const struct threads_plan *plan)
{
    clients_count = plan->servers;
    for (int i = 0; i < clients_count; i++)
        open_client(plan, i);
    for (int i = 0; i < THREADS_LOCKS; i++)
        if (plan->servers == THREADS_SERVERS_MAX && i == 0)
            open_quorum(plan, &places[i]);
        else
            places[i].lock = open_lock(plan, i, i < clients_count ? i : 0);
}

static void free_all(void)
{
    for (int i = 0; i < THREADS_LOCKS; i++)
        if (places[i].quorum)
            hf_quorum_free(places[i].quorum);
        else
            hf_lock_free(places[i].lock);
    for (int i = 0; i < clients_count; i++)
        hf_client_free(clients[i]);
}

static void run_main(void *ctx)
{
    const struct threads_plan *plan = ctx;
    struct hf_loop_stats stats;
    int dispatcher = -1;
    char name[16];

    open_all(plan);
    is_serving = true;
    if (plan->mode == DISPATCHER)
        dispatcher = threads_start("dispatcher", run_dispatcher, NULL);
    for (int i = 0; i < plan->callers; i++) {
        callers[i].owner = i + 1;
        (void)snprintf(name, sizeof name, "t%d", i);
        caller_threads[i] = threads_start(name, run_caller, &callers[i]);
    }
    for (int i = 0; i < plan->callers; i++)
        threads_join(caller_threads[i]);
    is_serving = false;
    if (dispatcher >= 0)
        threads_join(dispatcher);
    hf_loop_get_stats(hf_client_loop(clients[0]), &stats);
    counts.passed = stats.driver_changes;
    free_all();
}

/* ---- faults ---- */

static void on_fault(void *ctx)
{
    const struct threads_fault *f = ctx;

    threads_tell("FAULT %s %d", f->for_ms ? "a server stops:" : "connections end:", f->server);
    if (f->for_ms)
        server_freeze(harness.site.servers[f->server], true);
    else
        link_drop(links[f->server]);
}

static void on_fault_end(void *ctx)
{
    const struct threads_fault *f = ctx;

    threads_tell("FAULT a server continues: %d", f->server);
    server_freeze(harness.site.servers[f->server], false);
}

static void arm_faults(struct threads_plan *plan)
{
    for (int i = 0; i < plan->fault_count; i++) {
        struct threads_fault *f = &plan->faults[i];

        fault_events[i][0] = (struct event){.happen = on_fault, .ctx = f};
        fault_events[i][1] = (struct event){.happen = on_fault_end, .ctx = f};
        world_at(harness.sim.world, &fault_events[i][0], sim_us(f->at_ms));
        if (f->for_ms)
            world_at(harness.sim.world, &fault_events[i][1],
                     sim_us(f->at_ms + f->for_ms));
    }
}

/* ---- one plan ---- */

/* The process cannot be freed, because its threads are inside calls. */
static void report_stuck(void)
{
    char list[200];

    threads_list(list, sizeof list);
    threads_tell("VIOLATION P7: calls do not end: %s", list);
    if (!*harness.violation)
        (void)snprintf(harness.violation, sizeof harness.violation,
                       "P7: calls do not end: %s", list);
}

/* True: all threads have ended, and the world was freed. */
static bool run_plan_of_threads(struct threads_plan *plan, FILE *story)
{
    struct threads_options o = {.seed = plan->seed,
                                .stall_us = plan->stall_us,
                                .stay = plan->stay,
                                .story = story};
    bool is_over;

    harness_begin(&harness, plan->seed, "threads", plan->servers);
    process = harness_process(&harness, 1);
    for (int i = 0; i < plan->servers; i++)
        links[i] = network_link(harness.sim.world, process, harness.site.servers[i]->listener);
    memset(places, 0, sizeof places);
    for (int i = 0; i < THREADS_CALLERS_MAX; i++)
        callers[i] = (struct caller){.plan = plan, .number = i};
    is_closed = false;
    has_faults = plan->fault_count > 0;
    arm_faults(plan);
    threads_begin(harness.sim.world, process, &o);
    threads_watch(check_time);
    (void)threads_start("main", run_main, plan);
    is_over = threads_run(sim_us(END_MS));
    if (!is_over) {
        report_stuck();
        return false;
    }
    threads_end();
    harness_run(&harness, (now_us() - WORLD_BEGIN_US) / 1000 +
                              2 * HARNESS_WATCHDOG_MS);
    for (int i = 0; i < THREADS_LOCKS; i++)
        if (plan->kinds[i] != HF_KIND_FENCED)
            harness_check_free(&harness, name_of(i));
    harness_end(&harness);
    return true;
}

/* ---- seeds; each in a child, because a bug may also crash ---- */

struct verdict {
    bool has_failed;
    char text[300];
    struct counts counts;
};

static void run_in_child(struct threads_plan *plan, bool is_loud, int fd)
{
    struct rlimit limit = {CPU_SECONDS, CPU_SECONDS};
    struct verdict v = {0};

    (void)setrlimit(RLIMIT_CPU, &limit);
    if (!is_loud)
        must(freopen("/dev/null", "w", stderr));
    (void)run_plan_of_threads(plan, is_loud ? stderr : NULL);
    v.has_failed = *harness.violation != '\0';
    (void)snprintf(v.text, sizeof v.text, "%s", harness.violation);
    v.counts = counts;
    _exit(write(fd, &v, sizeof v) == (ssize_t)sizeof v ? 0 : 1);
}

/* Loud: with its story. */
static struct verdict try_plan(struct threads_plan *plan, bool is_loud)
{
    struct verdict v;
    int ends[2], status;
    pid_t child;
    ssize_t n;

    must(pipe(ends) == 0);
    (void)fflush(NULL);
    child = fork();
    must(child >= 0);
    if (child == 0)
        run_in_child(plan, is_loud, ends[1]);
    (void)close(ends[1]);
    n = read(ends[0], &v, sizeof v);
    (void)close(ends[0]);
    must(waitpid(child, &status, 0) == child);
    if (n != (ssize_t)sizeof v)
        v = (struct verdict){.has_failed = true, .text = "a crash, or an endless loop"};
    return v;
}

static bool fails(struct threads_plan *plan)
{
    return try_plan(plan, false).has_failed;
}

/* With its story, as short as it gets. */
static void report(struct threads_plan *plan)
{
    threads_plan_shrink(plan, fails);
    (void)try_plan(plan, true);
    threads_plan_write(stderr, plan);
}

static void add(struct counts *sum, const struct counts *c)
{
    sum->operations += c->operations;
    sum->passed += c->passed;
    sum->granted += c->granted;
    sum->waited += c->waited;
    sum->cancelled += c->cancelled;
    sum->closed += c->closed;
    sum->lost += c->lost;
    sum->quorums += c->quorums;
    sum->two += c->two;
}

static void run_seed(uint64_t seed, struct counts *sum)
{
    struct threads_plan plan;
    struct verdict v;

    threads_plan_draw(&plan, seed);
    v = try_plan(&plan, false);
    add(sum, &v.counts);
    if (!v.has_failed)
        return;
    report(&plan);
    ck_abort_msg("seed %llu: %s", (unsigned long long)seed, v.text);
}

START_TEST(threads_of_one_client_take_turns_whatever_the_order)
{
    const char *wanted = getenv("THREADS_SEEDS");
    unsigned long long from = 1, to = SEEDS;
    struct counts sum = {0};

    if (wanted && sscanf(wanted, "%llu..%llu", &from, &to) != 2)
        ck_abort_msg("THREADS_SEEDS is A..B, not %s", wanted);
    for (unsigned long long seed = from; seed <= to; seed++)
        run_seed(seed, &sum);
    printf("%llu worlds, %llu operations, %llu granted, %llu waited for long, "
           "%llu cancelled, %llu closed, %llu lost, %llu changes of driver; "
           "%llu quorums and %llu locks of a second server granted\n",
           to - from + 1, sum.operations, sum.granted, sum.waited, sum.cancelled,
           sum.closed, sum.lost, sum.passed, sum.quorums, sum.two);
    if (to - from + 1 < SEEDS)
        return;
    ck_assert_uint_gt(sum.passed, 0);
    ck_assert_uint_gt(sum.waited, 0);
    ck_assert_uint_gt(sum.cancelled, 0);
    ck_assert_uint_gt(sum.closed, 0);
    ck_assert_uint_gt(sum.lost, 0);
    ck_assert_uint_gt(sum.quorums, 0);
    ck_assert_uint_gt(sum.two, 0);
}
END_TEST

/* The plan of a file, with its story. */
static int run_file(const char *path)
{
    struct threads_plan plan = {0};
    struct verdict v;
    FILE *file = fopen(path, "r");

    must(file);
    threads_plan_read(&plan, file);
    (void)fclose(file);
    v = try_plan(&plan, true);
    (void)fprintf(stderr, "%s\n", v.has_failed ? v.text : "good");
    return v.has_failed;
}

int main(void)
{
    Suite *s = suite_create("sim: threads of one client");
    TCase *c = harness_case(s, "threads", "THREADS_SEEDS");

    if (getenv("THREADS_PLAN"))
        return run_file(getenv("THREADS_PLAN"));
    tcase_add_test(c, threads_of_one_client_take_turns_whatever_the_order);
    return suite_run(s);
}
