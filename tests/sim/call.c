/* The time within which calls must end, computed from lock.h and connect.h:
 *
 *   acquire  wait_ms 0: one request timeout, and another one for a second request.
 *            Otherwise wait_ms; no limit if it waits forever. With replicas, an acquire
 *            may take replicas_timeout_ms longer, and so may later requests on its
 *            connection.
 *   release, force, inspect  the request timeout
 *   close    its own timeout
 *
 * Calls of one owner on one lock are sent one after the other, each with a request timeout
 * of its own. A call that begins soon after another, and is granted before it, counts as
 * the earlier one. A pending call may be granted and released before it: two requests.
 *
 * These are times of the program's clock, whose rate may change meanwhile, by RATE_PERCENT
 * within the assumption. SLACK_MS: timers have whole milliseconds. */
#include <string.h>

#include "tests/sim/call.h"
#include "tests/sim/majority.h"
#include "tests/sim/outage.h"
#include "tests/sim/program.h"
#include "tests/sim/site.h"

#define SLACK_MS 100
#define RATE_PERCENT 3

/* A clock beyond the assumption may be a third fast, and then a third slow. */
static int64_t rate_percent(const struct plan *plan)
{
    return plan_has_fault(plan, FAULT_CLOCK_BEYOND) ? 90 : RATE_PERCENT;
}

/* quorum.h, multi.h: a multi-lock requests its members one after the other. Members that
 * were acquired are released before the call ends. A candidate waits until it leaves. */
#define WAIT_FOR_REPLIES_MS 1500

static int64_t set_span_ms(const struct call *c)
{
    const struct sim *sim = program_sim(c->program);
    int64_t step_ms = sim->plan->head.request_ms +
                      (sim->plan->head.replicas != 0 ? sim->plan->head.replicas_ms : 0);
    int64_t members = c->owner->form == OWNER_OF_MULTI ? PLAN_LOCKS_DRAWN : 1;

    if (c->op != HISTORY_OP_ACQUIRE)
        return 2 * step_ms * members;
    if (c->owner->form == OWNER_OF_ELECTION || c->wait_ms == HF_FOREVER)
        return HISTORY_NONE;
    return (c->wait_ms > 0 ? c->wait_ms : 2 * step_ms * members) +
           2 * step_ms * members + WAIT_FOR_REPLIES_MS;
}

/* HISTORY_NONE: it may take for ever. */
static int64_t span_ms(const struct call *c)
{
    const struct plan_head *h = &program_sim(c->program)->plan->head;
    int64_t replicas_ms = h->replicas != 0 ? h->replicas_ms : 0;
    int64_t step_ms = h->request_ms + replicas_ms;

    if (c->op == HISTORY_OP_CLOSE)
        return c->wait_ms;
    if (c->is_part)
        return HISTORY_NONE;
    if (c->owner->form != OWNER_OF_LOCK)
        return set_span_ms(c);
    if (c->op != HISTORY_OP_ACQUIRE)
        return step_ms * (1 + program_beside(c->program, c->owner));
    if (c->wait_ms == HF_FOREVER)
        return HISTORY_NONE;
    if (c->wait_ms > 0)
        return c->wait_ms + replicas_ms;
    return step_ms * (2 + 2 * program_beside(c->program, c->owner) +
                      program_asks_within(c->program, c->owner, 2 * step_ms));
}

static int64_t due_us(const struct call *c)
{
    const struct sim *sim = program_sim(c->program);
    const struct process *process = program_process(c->program);
    int64_t ms = span_ms(c);

    if (ms == HISTORY_NONE)
        return HISTORY_NONE;
    ms += ms * rate_percent(sim->plan) / 100 + SLACK_MS;
    return process_true_us(process, process_clock_us(process) + ms * 1000);
}

static struct history_event event_of(const struct call *c,
                                     enum history_what what)
{
    bool has_lock = c->owner && c->owner->form != OWNER_OF_MULTI;
    struct history_event e = has_lock ? owner_event(c->owner, what)
                                      : program_event(c->program, what);

    e.call = c->number;
    e.hold =
        c->hold[0] != '\0' ? history_text(c->hold) : (struct history_text){0};
    return e;
}

void call_place(struct call *c, const char *field, size_t len)
{
    struct history_event e;

    if (strlen(c->place) == len && memcmp(c->place, field, len) == 0)
        return;
    memcpy(c->place, field, len);
    c->place[len] = '\0';
    e = program_event(c->program, HISTORY_WAIT);
    e.call = c->number;
    e.hold = history_text(c->place);
    sim_write(program_sim(c->program), &e);
}

/* The owner of a multi-lock has the name that its members have. */
static void name_set(const struct call *c, struct history_event *e)
{
    const struct owner *o = c->owner, *set = c->is_part ? o->whole : o;
    bool is_of_set = o && (c->is_part || o->form == OWNER_OF_QUORUM ||
                           o->form == OWNER_OF_MULTI);

    if (!is_of_set)
        return;
    e->of = history_text(plan_lock_name(program_sim(c->program)->plan, set->lock_index));
    if (!c->is_part && o->form == OWNER_OF_MULTI)
        e->owner = history_text(o->members->name);
}

/* Promise 22: who releases what was taken away learns of it. With faults a release is repeated, and
 * may then find what its first request has freed. */
static bool is_gone(const struct call *c)
{
    const struct owner *o = c->owner;
    const struct sim *sim = program_sim(c->program);

    return c->op == HISTORY_OP_RELEASE && o && sim->plan->fault_count == 0 && o->hold[0] &&
           (o->form == OWNER_OF_LOCK || o->form == OWNER_OF_ELECTION) && !o->whole &&
           o->under_way == 0 && !plan_is_counted(sim->plan, o->lock_index) &&
           !observer_holds(&site_master(sim->site, o->lock_index)->observer,
                           (size_t)o->lock_index, o->hold);
}

void call_ask(struct call *c)
{
    struct sim *sim = program_sim(c->program);
    struct history_event e;

    if (c->owner) {
        if (c->op != HISTORY_OP_FORCE && c->op != HISTORY_OP_RENEW)
            memcpy(c->hold, c->owner->hold, sizeof c->hold);
        if (c->owner->under_way == 0)
            owner_watch_master(c->owner);
    }
    e = event_of(c, HISTORY_ASK);
    e.op = c->op;
    e.due_us = due_us(c);
    if (c->n > 0 || c->op == HISTORY_OP_RESIZE)
        e.n = c->n;
    if (c->op == HISTORY_OP_ACQUIRE) {
        e.wait_ms = c->is_part ? 0 : c->wait_ms;
        e.lease_ms = c->lease_ms;
    }
    if (c->op == HISTORY_OP_RENEW || c->op == HISTORY_OP_EXTEND)
        e.lease_ms = c->lease_ms;
    name_set(c, &e);
    if (c->max_hold_ms > 0)
        e.max_hold_ms = c->max_hold_ms;
    c->was_gone = is_gone(c);
    c->is_under_way = true;
    c->asked_us = world_now_us(sim->world);
    if (c->owner)
        c->owner->under_way++;
    sim->result->calls++;
    if (c->owner)
        sim->result->calls_of[plan_kind(sim->plan, c->owner->lock_index,
                                        c->owner->side)]++;
    sim_write(sim, &e);
}

static bool is_mild(const struct sim *sim)
{
    return sim->plan->head.profile == PROFILE_MILD && !sim->is_ending;
}

static bool is_kept(const struct call *c, hf_status status)
{
    return status == HF_UNREPLICATED && (c->flags & FLAG_KEEP_UNREPLICATED);
}

void call_cancel(struct call *c)
{
    struct history_event e = program_event(c->program, HISTORY_CANCEL);

    e.call = c->number;
    sim_write(program_sim(c->program), &e);
}

static int64_t ends_us(const struct call *c)
{
    if (c->info.ttl_ms < 0)
        return c->info.ttl_ms == -1 ? HISTORY_NEVER : HISTORY_NONE;
    return world_now_us(program_sim(c->program)->world) + c->info.ttl_ms * 1000;
}

/* What an inspection has reported. */
static void write_info(const struct call *c, struct history_event *e)
{
    static char holder[sizeof c->info.holder];
    const struct plan *plan = program_sim(c->program)->plan;
    int64_t lock = c->owner->lock_index;

    e->hold = (struct history_text){0};
    e->n = c->info.is_locked ? c->info.hold_count : 0;
    if (plan_is_counted(plan, lock) || c->op == HISTORY_OP_AVAILABLE)
        e->n = c->value;
    else if (plan_has_permits(plan, lock)) /* which have no name there */
        e->n = c->info.is_locked ? c->info.holders : 0;
    if (plan_has_permits(plan, lock) || !c->info.is_locked)
        return;
    memcpy(holder, c->info.holder, sizeof holder);
    majority_first(program_sim(c->program), holder);
    e->hold = history_text(holder);
    e->until_us = ends_us(c);
}

/* Does its client know who is master, or that it does not know? One that takes another
 * server for master is led elsewhere by redirections. */
static bool knows_master(const struct call *c)
{
    const struct sim *sim = program_sim(c->program);
    int64_t master = owner_master(c->owner);

    return master == HISTORY_NONE || master == 0 || c->owner->form != OWNER_OF_LOCK ||
           master == site_master(sim->site, c->owner->lock_index)->number;
}

void call_end(struct call *c, hf_status status, int64_t token)
{
    struct sim *sim = program_sim(c->program);
    struct history_event e;

    if (c->op == HISTORY_OP_ACQUIRE)
        memcpy(c->hold, c->owner->hold, sizeof c->hold);
    e = event_of(c, HISTORY_END);
    e.status = history_text(hf_status_name(status));
    if (is_kept(c, status))
        e.status = history_text("UNREPLICATED_HELD");
    if (token != 0)
        e.token = token;
    if (c->op == HISTORY_OP_ACQUIRE && (status == HF_OK || is_kept(c, status)) &&
        knows_master(c))
        e.master = owner_master(c->owner);
    if ((c->op == HISTORY_OP_INSPECT || c->op == HISTORY_OP_AVAILABLE) && status == HF_OK)
        write_info(c, &e);
    if (c->op == HISTORY_OP_SET && status == HF_OK && c->n > 0)
        e.n = c->was_set ? c->n : 0;
    if (c->says_exists && status == HF_OK)
        e.count = c->exists;
    if (c->op == HISTORY_OP_DELETE && status == HF_OK)
        e.n = c->was_deleted;
    if (c->op == HISTORY_OP_DRAIN && status == HF_OK)
        e.n = c->value;
    if (c->op == HISTORY_OP_TOKEN && status == HF_OK)
        e.token = c->value;
    c->is_under_way = false;
    outage_ended(c, status);
    if (c->owner)
        c->owner->under_way--;
    sim->result->granted += c->op == HISTORY_OP_ACQUIRE && status == HF_OK;
    sim_write(sim, &e);
    if (c->was_gone && status == HF_OK)
        sim_fail(sim, "P12", "call %lld has released what was gone, and is told HF_OK",
                 (long long)c->number);
    if (is_mild(sim) && status != HF_OK && !c->is_part)
        sim_fail(sim, "mild",
                 "call %lld ended with %s, though nothing was wrong",
                 (long long)c->number, hf_status_name(status));
}
