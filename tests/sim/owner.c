/* The book of one owner, and its lines. */
#include <string.h>

#include "lock/election.h"
#include "lock/multi.h"
#include "lock/quorum.h"
#include "tests/sim/majority.h"
#include "tests/sim/owner.h"
#include "tests/sim/program.h"

static enum history_kind kind_of(enum hf_lock_kind kind)
{
    if (kind == PLAN_KIND_SEMAPHORE)
        return HISTORY_KIND_SEMAPHORE;
    if (kind == PLAN_KIND_LATCH)
        return HISTORY_KIND_LATCH;
    switch (kind) {
    case HF_KIND_NONREENTRANT:
    case HF_KIND_VALUE:
        return HISTORY_KIND_NONREENTRANT;
    case HF_KIND_FENCED:
        return HISTORY_KIND_FENCED;
    case HF_KIND_FAIR:
    case HF_KIND_NONREENTRANT_FAIR:
        return HISTORY_KIND_FAIR;
    case HF_KIND_READ:
        return HISTORY_KIND_READ;
    case HF_KIND_WRITE:
        return HISTORY_KIND_WRITE;
    case HF_KIND_PERMIT:
        return HISTORY_KIND_PERMIT;
    default:
        return HISTORY_KIND_PLAIN;
    }
}

struct history_event owner_event(const struct owner *o, enum history_what what)
{
    static char name[MAJORITY_NAME_MAX];
    const struct sim *sim = program_sim(o->program);
    struct history_event e = program_event(o->program, what);

    e.lock = history_text(majority_name(sim, o->lock_index, o->server, name));
    e.kind = kind_of(plan_kind(sim->plan, o->lock_index, o->side));
    e.owner = history_text(o->name);
    if (o->hold[0] != '\0')
        e.hold = history_text(o->hold);
    return e;
}

static void write_safe(struct owner *o, int64_t until_us)
{
    struct history_event e = owner_event(o, HISTORY_SAFE);

    e.until_us = until_us;
    o->until_us = until_us;
    sim_write(program_sim(o->program), &e);
}

/* An owner that has requested the release of all its acquisitions believes nothing, although
 * releases may wait for each other, or for another call. A single release must end the belief
 * by itself. */
static bool waits_to_give_up(const struct owner *o)
{
    return o->releasing > 0 && o->releasing == o->count && o->stands_behind;
}

int64_t owner_safe_ms(const struct owner *o)
{
    switch (o->form) {
    case OWNER_OF_QUORUM:
        return hf_quorum_safe_ms(o->quorum, o->as);
    case OWNER_OF_MULTI:
        return hf_multi_safe_ms(o->multi, o->as);
    case OWNER_OF_ELECTION:
        return o->election ? hf_election_safe_ms(o->election) : INT64_MIN;
    default:
        return hf_lock_safe_ms(o->lock, o->as);
    }
}

void owner_text(const struct owner *o, char dst[HF_OWNER_TEXT_MAX])
{
    dst[0] = '\0';
    if (o->form == OWNER_OF_LOCK || o->form == OWNER_OF_ELECTION)
        hf_lock_owner_text(o->lock, o->as, dst);
}

bool owner_is_given_up(const struct owner *o)
{
    if (o->count == 0 && o->under_way == 0)
        return true; /* a hold that a closed client may still have has no owner */
    return o->count > 0 && (o->is_lost || o->releasing >= o->count);
}

/* Whole milliseconds of its own clock, as the caller would reckon: now, and so
 * much more. */
static int64_t believes_until_us(const struct owner *o)
{
    const struct process *process = program_process(o->program);
    int64_t ms = owner_safe_ms(o);

    if (ms <= 0 || o->is_left || waits_to_give_up(o) || (o->whole && owner_is_given_up(o->whole)))
        return 0;
    return process_true_us(process,
                           (process_clock_us(process) / 1000 + ms) * 1000);
}

/* A hold that is another one now is believed in no more. */
void owner_look(struct owner *o)
{
    char hold[HF_OWNER_TEXT_MAX];

    owner_text(o, hold);
    majority_first(program_sim(o->program), hold);
    if (o->until_us > 0 && strcmp(hold, o->hold) != 0)
        write_safe(o, 0);
    memcpy(o->hold, hold, sizeof hold);
}

void owner_watch_master(struct owner *o)
{
    int64_t now_us = world_now_us(program_sim(o->program)->world);

    if (o->master_us != now_us)
        o->former_master = o->master;
    o->master = program_master(o->program, o->lock);
    o->master_us = now_us;
}

/* A turn reads replies, and the next one, of the same moment, reports them. */
int64_t owner_master(const struct owner *o)
{
    return o->master_us == world_now_us(program_sim(o->program)->world) ? o->former_master
                                                                         : o->master;
}

/* A belief that has run out needs no line. */
void owner_watch(struct owner *o)
{
    const struct sim *sim = program_sim(o->program);
    int64_t now_us = world_now_us(sim->world), until_us;

    if (plan_is_counted(sim->plan, o->lock_index) || /* it has no holders */
        o->form == OWNER_OF_MULTI) /* its members are what is believed in */
        return;
    until_us = believes_until_us(o);
    if (o->until_us > 0 && o->until_us <= now_us && until_us == 0)
        o->until_us = 0;
    owner_look(o);
    if (until_us != o->until_us)
        write_safe(o, until_us);
}

static bool stops(const struct plan_fault *f)
{
    return f->kind == FAULT_SUSPEND || f->kind == FAULT_STALL || f->kind == FAULT_CLOCK ||
           f->kind == FAULT_CLOCK_BEYOND;
}

/* Of a twelfth of a shorter lease, which is how late a renewal seems to be that a stopped process
 * has not sent (LEASE-5), the milliseconds of timers are a part. */
#define TINY_LEASE_MS 250

/* Is there a fault, or a lease, because of which a client may take another cause for a stop? */
static bool may_be_taken_for_stop(const struct plan *plan)
{
    for (size_t i = 0; i < plan->fault_count; i++)
        if (stops(&plan->faults[i]))
            return true;
    for (size_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].lease_ms > 0 && plan->ops[i].lease_ms < TINY_LEASE_MS)
            return true;
    return false;
}

/* An outage of the server is not a stop of this process. */
static void check_reason(const struct owner *o, enum hf_lost reason)
{
    struct sim *sim = program_sim(o->program);

    if (reason == HF_REASON_SUSPENDED && !may_be_taken_for_stop(sim->plan))
        sim_fail(sim, "P12", "%s is told that a hold was lost because it was stopped, and it was not",
                 process_name(program_process(o->program)));
}

void owner_lost(struct owner *o, enum hf_lost reason, bool is_with_set)
{
    struct history_event e;

    check_reason(o, reason);
    owner_watch(o);
    o->is_lost = true;
    if (o->form == OWNER_OF_MULTI)
        return;
    e = owner_event(o, HISTORY_LOST);
    e.reason = history_text(hf_lost_text(reason));
    if (is_with_set)
        e.of = history_text(plan_lock_name(program_sim(o->program)->plan,
                                           o->whole->lock_index));
    sim_write(program_sim(o->program), &e);
}

void owner_granted(struct owner *o)
{
    if (o->count++ == 0)
        o->is_lost = false;
}

bool owner_has_given_up(const struct owner *o)
{
    return o->releasing > 0 && o->releasing == o->count && !o->stands_behind;
}

static bool was_done(hf_status status)
{
    return status != HF_NOT_OWNER && status != HF_E_INVAL && status != HF_E_LIMIT &&
           status != HF_E_FORKED && status != HF_E_CLOSED;
}

void owner_released(struct owner *o, hf_status status)
{
    if (--o->releasing == 0)
        o->stands_behind = false;
    if (was_done(status) && o->count > 0)
        o->count--;
}

void owner_count(struct owner *o)
{
    struct history_event e = owner_event(o, HISTORY_COUNT);

    if (o->count == 0 || o->is_lost || o->under_way > 0 ||
        o->form == OWNER_OF_MULTI ||
        plan_is_counted(program_sim(o->program)->plan, o->lock_index))
        return;
    e.n = o->count;
    sim_write(program_sim(o->program), &e);
}
