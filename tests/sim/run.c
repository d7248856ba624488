/* A run from its beginning to its end. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/judge/judge.h"
#include "tests/sim/bounds.h"
#include "tests/sim/failover.h"
#include "tests/sim/by_owner.h"
#include "tests/sim/labels.h"
#include "tests/sim/majority.h"
#include "tests/sim/outage.h"
#include "tests/sim/peer.h"
#include "tests/sim/run.h"
#include "tests/sim/program.h"
#include "tests/sim/fault.h"
#include "tests/support/must.h"

#define RETRY_US 10000 /* an operation that cannot be done now */
#define END_ROUNDS 20  /* until everything must have been released */

struct step {
    struct sim *sim;
    const struct plan_op *op;
    struct event event;
};

struct run {
    struct sim sim;
    struct step steps[PLAN_OPS_MAX];
    struct fault faults[PLAN_FAULTS_MAX];
};

/* ---- lines ---- */

struct history_event sim_event(const struct sim *sim, char role, int64_t number,
                               enum history_what what)
{
    return history_event(world_now_us(sim->world), role, (uint32_t)number,
                         what);
}

void sim_write(struct sim *sim, const struct history_event *event)
{
    static char line[HISTORY_LINE_MAX];

    if (sim->muted > 0 && event->source.role == 'c' && event->source.number == sim->muted)
        return;
    if (sim->history && history_write(event, line, sizeof line) > 0)
        (void)fputs(line, sim->history);
    judge_event(sim->judge, event);
    majority_see(sim, event);
}

static bool shows_wire;

void run_show_wire(bool shows)
{
    shows_wire = shows;
}

bool sim_shows_wire(void)
{
    return shows_wire;
}

void sim_comment(struct sim *sim, const char *who, const char *text)
{
    if (sim->history)
        (void)fprintf(sim->history, "# %lld %s %s\n",
                      (long long)world_now_us(sim->world), who, text);
}

static void write_world(struct sim *sim, enum history_what what)
{
    struct history_event e = sim_event(sim, 'w', 0, what);

    sim_write(sim, &e);
}

void sim_fail(struct sim *sim, const char *property, const char *format, ...)
{
    struct run_result *r = sim->result;
    va_list args;

    if (r->has_failed)
        return;
    r->has_failed = true;
    (void)snprintf(r->property, sizeof r->property, "%s", property);
    (void)snprintf(r->kind, sizeof r->kind, "%s", format);
    va_start(args, format);
    (void)vsnprintf(r->text, sizeof r->text, format, args);
    va_end(args);
}

/* ---- the header ---- */

static void print_bound(const struct sim *sim, const char *name, int64_t ms)
{
    if (ms != HISTORY_NONE)
        (void)fprintf(sim->history, "# %s %lld\n", name, (long long)ms);
}

static void print_header(const struct sim *sim, const struct history_header *b)
{
    if (!sim->history)
        return;
    (void)fputs(HISTORY_FIRST_LINE "\n", sim->history);
    print_bound(sim, "wake_ms", b->wake_ms);
    print_bound(sim, "look_ms", b->look_ms);
    print_bound(sim, "settle_ms", b->settle_ms);
    print_bound(sim, "tell_ms", b->tell_ms);
    print_bound(sim, "slack_ms", b->slack_ms);
    print_bound(sim, "cause_ms", b->cause_ms);
    print_bound(sim, "answer_ms", b->answer_ms);
    print_bound(sim, "belief", b->belief);
    print_bound(sim, "passed", b->passed);
    print_bound(sim, "repeat_ms", b->repeat_ms);
    print_bound(sim, "seed", sim->plan->head.seed);
}

/* ---- the beginning ---- */

static void on_step(void *ctx)
{
    struct step *step = ctx;
    struct program *p = step->sim->programs[step->op->program];

    if (program_can_do(p, step->op))
        program_do(p, step->op);
    else
        world_after(step->sim->world, &step->event, RETRY_US);
}

static void arm_steps(struct run *run)
{
    struct sim *sim = &run->sim;

    for (size_t i = 0; i < sim->plan->op_count; i++) {
        struct step *step = &run->steps[i];

        *step = (struct step){.sim = sim,
                              .op = &sim->plan->ops[i],
                              .event = {.happen = on_step, .ctx = step}};
        world_at(sim->world, &step->event, sim_us(step->op->at_ms));
    }
}

static void begin(struct run *run)
{
    struct sim *sim = &run->sim;
    struct history_header b = bounds_of(sim->plan);

    sim->judge = judge_new(&b);
    print_header(sim, &b);
    sim->world = world_new((uint64_t)sim->plan->head.seed);
    sim->majority = majority_new(sim->plan);
    sim->site = site_new(sim);
    labels_begin(sim);
    if (sim->plan->head.has_passwords) {
        sim->site->password = sim->site->known_password = 1;
        site_set_password(sim->site, "SETUSER default resetpass >s1");
    }
    for (size_t i = 0; i < sim->plan->program_count; i++)
        sim->programs[i] = program_new(sim, (int64_t)i);
    site_link_all(sim->site);
    for (size_t i = 0; i < sim->plan->program_count; i++)
        program_set_all(sim->programs[i]);
    if (sim->plan->head.is_deaf)
        site_forbid(sim->site, "SETUSER default -subscribe -ssubscribe");
    if (sim->plan->head.labels == LABELS_DENIED)
        site_forbid(sim->site, "SETUSER default resetkeys ~[^h]* ~holdfast_answer*");
    arm_steps(run);
    faults_arm(sim, run->faults);
}

/* ---- the end ---- */

static void run_for(struct sim *sim, int64_t ms)
{
    world_run(sim->world, world_now_us(sim->world) + ms * 1000);
}

static void each_program(struct sim *sim, void (*act)(struct program *p))
{
    for (size_t i = 0; i < sim->plan->program_count; i++)
        act(sim->programs[i]);
}

static bool is_idle(const struct sim *sim)
{
    for (size_t i = 0; i < sim->plan->program_count; i++)
        if (!program_is_idle(sim->programs[i]))
            return false;
    return true;
}

/* Holds of clients that have ended expire with their TTL. */
static int64_t longest_lease_ms(const struct plan *plan)
{
    int64_t ms = plan->head.watchdog_ms;

    for (size_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].lease_ms > ms)
            ms = plan->ops[i].lease_ms;
    return ms < 30000 ? 30000 : ms; /* a peer's */
}

/* A writer that enters again adds its lease to what is left (kinds.md). */
#define REENTRIES 8

static int64_t leases_last_ms(const struct plan *plan)
{
    for (size_t i = 0; i < plan->lock_count; i++)
        if (plan->locks[i].family == FAMILY_READ_WRITE)
            return REENTRIES * longest_lease_ms(plan);
    return longest_lease_ms(plan);
}

/* The time for pending calls to end, and for their orphaned locks to be released, after
 * requests that wait for replicas on the same connection. */
static int64_t give_back_ms(const struct plan_head *h)
{
    return 2 * h->request_ms + (h->replicas != 0 ? BOUNDS_WAITS * h->replicas_ms : 0);
}

/* After such a fault, a background release may fail, or arrive before its acquire. */
static bool leaves_orphans(const struct plan_fault *fault)
{
    return fault->kind == FAULT_MEMORY || fault->kind == FAULT_DENY ||
           fault->kind == FAULT_PASSWORD || fault->kind == FAULT_SCANT ||
           fault->kind == FAULT_UNSAVED || fault->kind == FAULT_DEMOTE ||
           fault->kind == FAULT_SWITCHOVER ||
           (fault->kind == FAULT_ACL && fault->n != PLAN_ACL_SUBSCRIBE);
}

static bool may_leave_orphans(const struct plan *plan)
{
    for (size_t i = 0; i < plan->fault_count; i++)
        if (leaves_orphans(&plan->faults[i]))
            return true;
    return false;
}

/* Readers hide each other: an answer names one holder. */
#define ORPHAN_ROUNDS 8
#define FREE_HEAD_MS 15000 /* FAIR-6 */

/* Readers that hold for ever hide other readers. */
static bool stays_for_long(const struct plan *plan, const struct plan_op *op)
{
    return op->verb == OP_CLOSE || op->verb == OP_FREE ||
           (op->hold_ms < 0 && plan->locks[op->lock].family == FAMILY_READ_WRITE);
}

/* A client that ends leaves holds of all locks, whichever one the operation names. */
static bool leaves_holds(const struct plan *plan)
{
    for (size_t i = 0; i < plan->op_count; i++)
        if (stays_for_long(plan, &plan->ops[i]))
            return true;
    return plan_has_fault(plan, FAULT_DIE) || plan_has_fault(plan, FAULT_CLOCK_BEYOND);
}

/* No reply names the owner of a permit. */
static bool may_hide_orphans(const struct plan *plan)
{
    bool has_readers = false;

    for (size_t i = 0; i < plan->lock_count; i++) {
        if (plan->locks[i].family == FAMILY_PERMIT)
            return true;
        has_readers = has_readers || plan->locks[i].family == FAMILY_READ_WRITE;
    }
    return has_readers && leaves_holds(plan);
}

/* Orphaned locks are released as soon as the server replies, except a late orphan, which is
 * released when it blocks an acquire of its client (guarantees.md, 7). So each client
 * requests each lock. A hidden orphan expires with its lease, and its field remains. */
static void release_orphans(struct sim *sim)
{
    if (!may_leave_orphans(sim->plan))
        return;
    for (int i = 0; i < ORPHAN_ROUNDS; i++) {
        each_program(sim, program_probe);
        run_for(sim, give_back_ms(&sim->plan->head));
    }
    if (may_hide_orphans(sim->plan))
        run_for(sim, 2 * longest_lease_ms(sim->plan));
}

/* Only rights, settings and the like kept the master from a release, so it is repeated until
 * it has its effect (ORPHAN-2). Otherwise the release may be lost, or come before its
 * acquire. */
static bool gets_all_releases(const struct plan *plan)
{
    for (size_t i = 0; i < plan->fault_count; i++) {
        const struct plan_fault *f = &plan->faults[i];

        if (f->kind == FAULT_MEMORY || f->kind == FAULT_FAILOVER || f->kind == FAULT_DEMOTE ||
            f->kind == FAULT_SWITCHOVER || f->kind == FAULT_MOVE_SLOT ||
            f->kind == FAULT_POWER || (f->kind == FAULT_ACL && f->n == PLAN_ACL_KILL) ||
            (f->kind == FAULT_DENY && f->n <= DENIED_INFO))
            return false;
    }
    return true;
}

/* What is held for a while may be released just now. */
static void await_calls(struct sim *sim)
{
    int64_t until_us =
        world_now_us(sim->world) + 4 * sim->plan->head.request_ms * 1000;
    bool is_calling;

    do {
        is_calling = false;
        for (size_t i = 0; i < sim->plan->program_count; i++)
            is_calling = is_calling || program_is_calling(sim->programs[i]);
        if (is_calling)
            run_for(sim, 1);
    } while (is_calling && world_now_us(sim->world) < until_us);
}

/* All operations have ended, except holds that last for ever, whose renewals have had time
 * to detect a loss. No call waits. */
static void become_quiet(struct sim *sim, const struct history_header *b)
{
    int64_t end_us = faults_end_us(sim->plan);
    int64_t length_us = sim_us(sim->plan->head.length_ms);

    world_run(sim->world, end_us > length_us ? end_us : length_us);
    run_for(sim, 2 * b->look_ms + BOUNDS_SETTLE_MS);
    sim->is_ending = true;
    each_program(sim, program_feed);
    each_program(sim, program_unstall);
    if (gets_all_releases(sim->plan))
        each_program(sim, program_check_writers);
    release_orphans(sim);
    each_program(sim, program_settle);
    run_for(sim, 4 * sim->plan->head.request_ms);
    each_program(sim, program_stop_waiting);
    run_for(sim, give_back_ms(&sim->plan->head));
    await_calls(sim);
    if (bounds_is_handshake_slow(&sim->plan->head)) /* releases may never arrive: leases end */
        run_for(sim, 2 * longest_lease_ms(sim->plan));
    if (may_leave_orphans(sim->plan) && may_hide_orphans(sim->plan))
        site_dead_readers(sim->site);
    write_world(sim, HISTORY_QUIET);
    if (!may_leave_orphans(sim->plan))
        site_places(sim->site);
    each_program(sim, program_count);
}

/* Some calls end only when others have: again, until nothing is left. */
static void give_everything_up(struct sim *sim)
{
    for (int i = 0; i < END_ROUNDS && !is_idle(sim); i++) {
        each_program(sim, program_give_up);
        run_for(sim, 2 * sim->plan->head.request_ms);
    }
    if (!is_idle(sim))
        sim_fail(sim, "end", "calls are under way after %d rounds of giving up",
                 END_ROUNDS);
}

/* Of a queue, the key with the times of its places may be lost alone: it is evicted, or a server
 * forgets it while its slot moves. */
static bool may_lose_times_of_places(const struct plan *plan)
{
    return plan_has_fault(plan, FAULT_EVICT) || plan_has_fault(plan, FAULT_MOVE_SLOT);
}

/* Places in queues expire one after the other, each within the watchdog timeout; the place
 * of a dead waiter of Redisson within five minutes. A place whose time was lost gets that
 * of a waiter of Redisson. */
static int64_t places_last_ms(const struct plan *plan)
{
    int64_t ms = longest_lease_ms(plan) +
                 (int64_t)(plan->op_count + 1) * plan->head.watchdog_ms;

    for (size_t i = 0; i < plan->fault_count; i++)
        if (plan->faults[i].kind == FAULT_PEER)
            ms += PEER_PLACE_MS;
    if (may_lose_times_of_places(plan))
        ms += (int64_t)plan->op_count * PEER_PLACE_MS;
    return ms;
}

/* A queue whose times were lost: the next acquire gives its head a time. */
static int64_t places_until(struct sim *sim, int64_t last_us)
{
    int64_t until_us = site_places_until(sim->site);

    if ((until_us > 0 && until_us <= last_us) || !may_lose_times_of_places(sim->plan))
        return until_us;
    each_program(sim, program_probe);
    run_for(sim, 2 * give_back_ms(&sim->plan->head));
    return site_places_until(sim->site);
}

/* Another queue's times may have been evicted: the acquire just now has given its head
 * a time. */
static void outlast_new_times(struct sim *sim, int64_t last_us)
{
    int64_t until_us = site_places_until(sim->site);

    if (plan_has_fault(sim->plan, FAULT_EVICT) && until_us <= last_us &&
        until_us > world_now_us(sim->world))
        world_run(sim->world, until_us + 1000);
}

/* A waiter of holdfast among those of Redisson keeps its place beyond all that they may
 * subtract, so the times of those after it may be long. While the lock is free, each head has 15 s
 * at most (FAIR-6). */
static void outlast_heads(struct sim *sim)
{
    size_t rounds = sim->plan->op_count + sim->plan->fault_count + 1;

    while (rounds-- > 0 && site_places_until(sim->site) > 0) {
        each_program(sim, program_probe);
        run_for(sim, FREE_HEAD_MS + 2 * give_back_ms(&sim->plan->head));
    }
}

/* Queues have no TTL: the place of a waiter that died is dropped when its time has passed, by
 * the next acquire. A client that must find its server may not reach it in the time of the first
 * call. */
static void outlast_places(struct sim *sim)
{
    int64_t last_us = world_now_us(sim->world) + places_last_ms(sim->plan) * 1000;
    int64_t until_us = places_until(sim, last_us);

    if (until_us > last_us && plan_has_fault(sim->plan, FAULT_PEER)) {
        outlast_heads(sim);
        until_us = site_places_until(sim->site);
    }
    if (until_us == 0)
        return;
    if (until_us > last_us)
        sim_fail(sim, "P6", "a place in a queue is honoured until %lld us",
                 (long long)until_us);
    world_run(sim->world, until_us + 1000);
    for (int i = 0; i < ORPHAN_ROUNDS && site_places_until(sim->site) > 0; i++) {
        each_program(sim, program_probe);
        run_for(sim, 2 * give_back_ms(&sim->plan->head));
        outlast_new_times(sim, last_us);
    }
}

/* A hold ends later by the time by which the server's clock was set back. */
static int64_t steps_back_ms(const struct plan *plan)
{
    int64_t ms = 0;

    for (size_t i = 0; i < plan->fault_count; i++)
        if (plan->faults[i].kind == FAULT_SERVER_CLOCK && plan->faults[i].n < 0)
            ms -= plan->faults[i].n;
    return ms;
}

/* A hold whose release failed ends with its TTL (lock.h). But the field of a reader is in
 * one hash with its owner's write hold, whose renewals keep both: then that TTL begins only
 * now. A server's clock is up to 1 % slow. */
static void end(struct sim *sim)
{
    struct history_header b = bounds_of(sim->plan);

    become_quiet(sim, &b);
    give_everything_up(sim);
    run_for(sim, leases_last_ms(sim->plan) * 101 / 100 + steps_back_ms(sim->plan) +
                     labels_last_ms(sim->plan));
    outlast_places(sim);
    site_keys(sim->site);
    outage_check(sim);
    if (site_stray_askings(sim->site) > 0)
        sim_fail(sim, "asking", "%llu times ASKING came without the command for it",
                 (unsigned long long)site_stray_askings(sim->site));
    sim->result->simulated_us = world_now_us(sim->world) - WORLD_BEGIN_US;
    write_world(sim, HISTORY_OVER);
}

/* ---- judging ---- */

static void judge_it(struct sim *sim)
{
    const struct judge_violation *v;
    char property[8];

    judge_end(sim->judge);
    v = judge_violation(sim->judge, 0);
    if (!v || sim->result->has_failed)
        return;
    (void)snprintf(property, sizeof property, "P%d", v->property);
    sim_fail(sim, property, "%s", v->text);
    memcpy(sim->result->kind, v->kind, sizeof v->kind);
}

bool run_is_alike(const struct run_result *a, const struct run_result *b)
{
    return a->has_failed && b->has_failed && strcmp(a->property, b->property) == 0 &&
           strcmp(a->kind, b->kind) == 0;
}

void run_plan(const struct plan *plan, FILE *history, struct run_result *result)
{
    struct run *run = must_alloc(sizeof *run);
    struct sim *sim = &run->sim;

    memset(result, 0, sizeof *result);
    memset(run, 0, sizeof *run);
    sim->plan = plan;
    sim->history = history;
    sim->result = result;
    begin(run);
    end(sim);
    judge_it(sim);
    each_program(sim, program_free);
    labels_free(sim);
    if (world_handles(sim->world) != 0)
        sim_fail(sim, "leak", "%u descriptors are open",
                 world_handles(sim->world));
    site_free(sim->site);
    world_free(sim->world);
    judge_free(sim->judge);
    majority_free(sim->majority);
    left_free(sim);
    free(sim->permits);
    free(run);
}
