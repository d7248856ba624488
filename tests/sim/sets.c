/* What programs do with quorums and multi-locks. */
#include "tests/sim/sets.h"

#include <string.h>

#include "lock/multi.h"
#include "lock/quorum.h"
#include "lock/renew.h"
#include "tests/sim/effects.h"
#include "tests/sim/majority.h"
#include "tests/sim/site.h"
#include "tests/support/must.h"

/* Owners of multi-locks hold nothing by themselves. */
#define SET_OWNERS 1000

/* ---- handles ---- */

static void open_quorum(struct program *p, int64_t lock)
{
    const struct plan *plan = p->sim->plan;
    const char *name = plan_lock_name(plan, lock);

    for (size_t i = 0; i < p->client_count; i++)
        must(hf_lock_new_kind(&p->members[lock][i], p->clients[i],
                              plan_kind_of_handle(plan, lock, 0), name,
                              strlen(name), NULL) == HF_OK);
    must(hf_quorum_new(&p->quorums[lock], p->members[lock], p->client_count,
                       NULL) == HF_OK);
}

static bool is_member(const struct program *p, int64_t set, int64_t lock)
{
    return p->sim->plan->locks[set].members >> lock & 1;
}

/* Of a read-write lock, its writers. */
static int64_t side_of(const struct program *p, int64_t lock)
{
    return p->sim->plan->locks[lock].family == FAMILY_READ_WRITE;
}

static void open_multi(struct program *p, int64_t lock)
{
    struct hf_lock *members[PLAN_LOCKS_MAX];
    size_t count = 0;

    for (int64_t i = 0; i < (int64_t)p->sim->plan->lock_count; i++)
        if (is_member(p, lock, i))
            members[count++] = p->locks[i][side_of(p, i)];
    must(hf_multi_new(&p->multis[lock], members, count, NULL) == HF_OK);
}

void sets_open(struct program *p)
{
    for (int64_t i = 0; i < (int64_t)p->sim->plan->lock_count; i++) {
        p->quorums[i] = NULL;
        p->multis[i] = NULL;
        if (p->sim->plan->locks[i].family == FAMILY_QUORUM)
            open_quorum(p, i);
        else if (p->sim->plan->locks[i].family == FAMILY_MULTI)
            open_multi(p, i);
    }
}

void sets_free(struct program *p)
{
    for (int64_t i = 0; i < PLAN_LOCKS_MAX; i++) {
        hf_quorum_free(p->quorums[i]);
        hf_multi_free(p->multis[i]);
        p->quorums[i] = NULL;
        p->multis[i] = NULL;
    }
}

/* ---- owners ---- */

static struct owner *new_member(struct program *p, struct owner *o, int64_t lock,
                                int64_t side, int64_t number)
{
    struct owner *member = program_new_owner(p, lock, side, number);

    member->whole = o;
    return o->members = member;
}

static void member_of_quorum(struct program *p, struct owner *o, size_t i)
{
    struct owner *member = new_member(p, o, o->lock_index, o->side, o->number);

    member->lock = p->members[o->lock_index][i];
    member->server = (int64_t)i + 1;
}

void sets_owner(struct program *p, struct owner *o)
{
    int64_t lock = o->lock_index;

    o->quorum = p->quorums[lock];
    o->multi = p->multis[lock];
    if (o->quorum) {
        o->form = OWNER_OF_QUORUM;
        o->lock = p->members[lock][0];
        for (size_t i = 0; i < p->client_count; i++)
            member_of_quorum(p, o, i);
    } else if (o->multi) {
        o->form = OWNER_OF_MULTI;
        o->lock = hf_multi_member(o->multi, 0);
        o->as = o->number + SET_OWNERS * lock;
        for (int64_t i = 0; i < (int64_t)p->sim->plan->lock_count; i++)
            if (is_member(p, lock, i))
                (void)new_member(p, o, i, side_of(p, i), o->as);
    }
}

static struct owner *next_member(const struct owner *member)
{
    return member->next && member->next->whole == member->whole ? member->next : NULL;
}

struct owner *sets_member(struct owner *o, int64_t n)
{
    struct owner *member = o->members;

    while (n-- > 0 && member) {
        struct owner *next = next_member(member);

        member = next ? next : o->members;
    }
    return member;
}

/* ---- calls ---- */

hf_status sets_acquire(struct owner *o, struct hf_acquire_options *options,
                       hf_done *done, struct call *c)
{
    switch (o->form) {
    case OWNER_OF_QUORUM:
        options->cancel = NULL;
        options->keep_unreplicated = false;
        options->on_renewed = NULL;
        return hf_quorum_acquire_async(o->quorum, options, done, c);
    case OWNER_OF_MULTI:
        options->keep_unreplicated = false;
        options->on_renewed = NULL;
        return hf_multi_acquire_async(o->multi, options, done, c);
    default:
        return hf_lock_acquire_async(o->lock, options, done, c);
    }
}

hf_status sets_release(struct owner *o, hf_done *done, struct call *c)
{
    switch (o->form) {
    case OWNER_OF_QUORUM:
        return hf_quorum_release_async(o->quorum, o->as, done, c);
    case OWNER_OF_MULTI:
        return hf_multi_release_async(o->multi, o->as, done, c);
    default:
        return hf_lock_release_async(o->lock, o->as, done, c);
    }
}

hf_status sets_renew(struct owner *o, int64_t lease_ms, hf_done *done, struct call *c)
{
    switch (o->form) {
    case OWNER_OF_QUORUM:
        return hf_quorum_renew_async(o->quorum, o->as, lease_ms, done, c);
    case OWNER_OF_MULTI:
        return hf_multi_renew_async(o->multi, o->as, lease_ms, done, c);
    default:
        return hf_lock_renew_async(o->lock, o->as, lease_ms, done, c);
    }
}

int sets_effect(const struct owner *o)
{
    if (o->form == OWNER_OF_QUORUM)
        return EFFECT_EXTENDED_QUORUM;
    return o->form == OWNER_OF_MULTI ? EFFECT_EXTENDED_MULTI : EFFECT_EXTENDED;
}

void sets_cancel(struct call *c)
{
    if (c->owner && c->owner->form == OWNER_OF_QUORUM)
        hf_quorum_cancel(c->owner->quorum, c->owner->as);
    else
        hf_cancel_fire(&c->cancel);
}

hf_status sets_status(const struct call *c, hf_status status)
{
    bool is_unreplicated = c->owner->form == OWNER_OF_QUORUM && status == HF_E_QUORUM &&
                           program_sim(c->program)->plan->head.replicas != 0;

    return is_unreplicated ? HF_UNREPLICATED : status;
}

int64_t sets_token(const struct owner *o)
{
    switch (o->form) {
    case OWNER_OF_QUORUM:
        return hf_quorum_token(o->quorum, o->as);
    case OWNER_OF_MULTI:
        return 0;
    default:
        return hf_lock_token(o->lock, o->as);
    }
}

/* ---- members' calls ---- */

static struct call *part_call(struct owner *member, enum history_op op)
{
    struct call *c = program_call(member->program, member, op);

    c->is_part = true;
    c->lease_ms = member->whole->lease_ms;
    call_ask(c);
    return c;
}

/* A release that begins and ends at once. HF_CANCELLED: its end is not observed. */
static void part_released(struct owner *member, hf_status status)
{
    struct call *c;

    member->releasing++;
    c = part_call(member, HISTORY_OP_RELEASE);
    if (status == HF_CANCELLED)
        call_cancel(c);
    owner_released(member, status);
    call_end(c, status, 0);
}

static void ask_parts(struct call *c)
{
    size_t i = 0;

    for (struct owner *m = c->owner->members; m; m = next_member(m)) {
        if (c->op == HISTORY_OP_RELEASE)
            m->releasing++;
        c->parts[i] = program_call(c->program, m, c->op);
        c->parts[i]->is_part = true;
        c->parts[i]->lease_ms = c->lease_ms;
        c->parts[i]->max_hold_ms = c->max_hold_ms;
        call_ask(c->parts[i++]);
    }
}

static void end_acquire(struct call *part, hf_status status)
{
    struct owner *m = part->owner;

    owner_look(m);
    if (status == HF_OK)
        owner_granted(m);
    else
        call_cancel(part);
    call_end(part, status == HF_OK ? HF_OK : HF_CANCELLED,
             status == HF_OK ? hf_lock_token(m->lock, m->as) : 0);
    owner_watch(m);
}

static void end_parts(struct call *c, hf_status status)
{
    for (size_t i = 0; i < PLAN_MEMBERS_MAX && c->parts[i]; i++) {
        struct call *part = c->parts[i];

        if (part->op == HISTORY_OP_ACQUIRE) {
            end_acquire(part, status);
        } else if (part->op == HISTORY_OP_EXTEND) {
            owner_watch(part->owner);
            call_end(part, status, 0);
        } else {
            owner_released(part->owner, status);
            call_end(part, status, 0);
            owner_watch(part->owner);
        }
    }
}

/* quorum.h, multi.h: another call of its owner is under way, or the owner holds the quorum
 * already. The members keep the lease of the call that took them. */
static bool is_refused_at_once(const struct call *c)
{
    return c->owner->form != OWNER_OF_LOCK &&
           (c->owner->under_way > 1 ||
            (c->owner->form == OWNER_OF_QUORUM && c->op == HISTORY_OP_ACQUIRE &&
             c->owner->count > 0));
}

static void note_asked(struct call *c)
{
    struct owner *o = c->owner;
    int64_t now_us = process_clock_us(program_process(c->program)); /* the library's are ms */

    o->lease_ms = c->lease_ms;
    o->max_until_us = c->max_hold_ms > 0 ? now_us / 1000 * 1000 + c->max_hold_ms * 1000 : 0;
}

void sets_asked(struct call *c)
{
    if (c->op == HISTORY_OP_ACQUIRE && !is_refused_at_once(c))
        note_asked(c);
    if (c->owner->form == OWNER_OF_MULTI && !is_refused_at_once(c))
        ask_parts(c);
    if (c->op != HISTORY_OP_EXTEND) /* which requests no member */
        sets_watch(c->owner);
}

/* quorum.h, multi.h: at least half of a lease remains. The watchdog may have renewed the
 * members of a hold that the owner had before. */
static void check_granted(const struct call *c)
{
    int64_t safe_ms = owner_safe_ms(c->owner), lease_ms = c->lease_ms;
    int64_t watchdog_ms = program_sim(c->program)->plan->head.watchdog_ms;

    if (c->owner->count > 0 && watchdog_ms < lease_ms)
        lease_ms = watchdog_ms;
    if (safe_ms <= 0 || safe_ms < lease_ms / 2)
        sim_fail(c->program->sim, "P12",
                 "call %lld was granted with a lease of %lld ms, of which %lld are left",
                 (long long)c->number, (long long)c->lease_ms, (long long)safe_ms);
}

void sets_ended(struct call *c, hf_status status)
{
    if (c->owner && c->owner->form != OWNER_OF_LOCK && status == HF_OK &&
        c->op == HISTORY_OP_ACQUIRE)
        check_granted(c);
    if (!c->owner || c->owner->form != OWNER_OF_MULTI)
        return;
    if (!c->parts[0] && status == HF_OK)
        sim_fail(c->program->sim, "P12", "call %lld, beside another one of its owner, ends with %s",
                 (long long)c->number, hf_status_name(status));
    end_parts(c, status);
}

/* The member that the library names is lost by itself, and the others with it. */
static void lose_multi(struct owner *o, const struct hf_lock *lock, enum hf_lost reason)
{
    struct owner *lost = o->members;

    while (lost && lost->lock != lock)
        lost = next_member(lost);
    if (!lost) {
        sim_fail(o->program->sim, "lost", "%s is told of a loss, of no member", o->name);
        return;
    }
    owner_lost(lost, reason, false);
    for (struct owner *m = o->members; m; m = next_member(m))
        if (m != lost)
            owner_lost(m, reason, true);
}

void sets_lost(struct owner *o, const struct hf_lock *lock, enum hf_lost reason)
{
    if (o->form == OWNER_OF_MULTI)
        lose_multi(o, lock, reason);
    sets_watch(o);
}

/* ---- what is observed of a quorum's members ---- */

static bool is_another_hold(const struct owner *m)
{
    char text[HF_OWNER_TEXT_MAX];

    owner_text(m, text);
    majority_first(program_sim(m->program), text);
    return strcmp(text, m->hold) != 0;
}

static bool has_member(const struct owner *m)
{
    return !owner_is_given_up(m->whole) && !m->is_left && owner_safe_ms(m) > 0;
}

/* quorum.h: max_hold_ms applies to each member. */
static bool is_max_over(const struct owner *o)
{
    return o->max_until_us > 0 && process_clock_us(program_process(o->program)) >= o->max_until_us;
}

/* Lost while the quorum is held, or released. */
static void drop_member(struct owner *m)
{
    const struct owner *o = m->whole;
    bool is_loss = o->count > 0 && o->releasing < o->count;

    if (is_loss)
        owner_lost(m, HF_REASON_DELETED, o->is_lost || is_max_over(o));
    part_released(m, is_loss ? HF_LOST : HF_CANCELLED);
    majority_forget(o->program->sim, m->lock_index, m->name, m->server);
    owner_watch(m);
}

static void take_member(struct owner *m)
{
    owner_look(m);
    owner_granted(m);
    call_end(m->standing, HF_OK, 0);
    m->standing = NULL;
    owner_watch(m);
}

static void watch_member(struct owner *m)
{
    const struct owner *o = m->whole;
    bool is_wanted = (o->under_way > 0 || o->count > 0) && !owner_is_given_up(o);

    if (m->is_left || !is_wanted)
        m->is_left = owner_safe_ms(m) > 0;
    if (m->count > 0 && !process_has_turns(program_process(o->program)) &&
        (!has_member(m) || is_another_hold(m)))
        drop_member(m);
    if (m->count == 0 && m->standing && has_member(m))
        take_member(m);
    if (m->count == 0 && is_wanted && !m->standing) {
        majority_request(o->program->sim, m->lock_index, m->name, m->server);
        m->standing = part_call(m, HISTORY_OP_ACQUIRE);
    }
    if (m->standing && !is_wanted) {
        call_cancel(m->standing);
        call_end(m->standing, HF_CANCELLED, 0);
        m->standing = NULL;
        majority_forget(o->program->sim, m->lock_index, m->name, m->server);
    }
    owner_watch(m);
}

/* ---- a multi-lock is what its members are ---- */

static void check_multi(struct program *p, struct owner *o)
{
    int64_t safe_ms = owner_safe_ms(o), least_ms = INT64_MAX;

    for (struct owner *m = o->members; m; m = next_member(m)) {
        int64_t ms = owner_safe_ms(m);

        least_ms = ms < least_ms ? ms : least_ms;
    }
    if (safe_ms > 0 && safe_ms > least_ms)
        sim_fail(p->sim, "P1",
                 "%s may believe in multi-lock %lld for %lld ms, and in a member "
                 "for %lld",
                 o->name, (long long)o->lock_index, (long long)safe_ms,
                 (long long)least_ms);
    if (safe_ms > 0 && (o->count == 0 || owner_is_given_up(o)) && o->under_way == 0)
        sim_fail(p->sim, "P1", "%s may believe in multi-lock %lld, which it has %s",
                 o->name, (long long)o->lock_index,
                 o->count == 0 ? "not acquired" : "lost or released");
}

static bool is_at_rest(const struct owner *o)
{
    bool is_idle = o->form == OWNER_OF_QUORUM && o->count == 0 && o->under_way == 0;

    for (const struct owner *m = o->members; m && is_idle; m = next_member(m))
        is_idle = m->count == 0 && m->under_way == 0 && m->until_us == 0 &&
                  !m->standing;
    return is_idle;
}

/* Most owners are at rest, and nothing becomes of their members. */
void sets_watch(struct owner *o)
{
    struct program *p = o->program;
    bool was_at_rest = o->is_at_rest;

    o->is_at_rest = is_at_rest(o);
    if (was_at_rest && o->is_at_rest)
        return;
    for (struct owner *m = o->members; m; m = next_member(m))
        if (o->form == OWNER_OF_QUORUM)
            watch_member(m);
        else if (o->count > 0 || o->under_way > 0 || m->until_us > 0)
            owner_watch(m);
    if (o->form == OWNER_OF_MULTI && !p->is_freeing)
        check_multi(p, o);
}

/* ---- who waits gets it ---- */

#define RUSH_MS 5000 /* the patience of a line is 3 s, of a rush and of a fill 1 s */
#define CROSSINGS 20 /* of three requests, one with a new connection, and a release */

/* Longer than a waiter gives way to others. */
#define FREE_MS 12000
#define FREE_FOR_CANDIDATES_MS 31000 /* election.h: pauses after errors */

static bool is_free(const struct program *p, const struct server *server,
                    int64_t lock)
{
    bool is_election = p->sim->plan->locks[lock].family == FAMILY_ELECTION;
    int64_t ms = (is_election ? FREE_FOR_CANDIDATES_MS : FREE_MS) +
                 2 * p->sim->plan->head.request_ms;

    return observer_is_free(&server->observer, (size_t)lock,
                            world_now_us(p->sim->world) - ms * 1000);
}

static bool is_quorum_free(const struct program *p, int64_t lock)
{
    size_t free_count = 0;

    for (size_t i = 0; i < p->client_count; i++)
        free_count += is_free(p, site_server(p->sim->site, (int64_t)i), lock);
    return free_count == p->client_count;
}

static bool is_multi_free(const struct program *p, int64_t set)
{
    for (int64_t i = 0; i < (int64_t)p->sim->plan->lock_count; i++)
        if (is_member(p, set, i) && !is_free(p, site_master(p->sim->site, i), i))
            return false;
    return true;
}

static bool is_set_free(const struct program *p, const struct owner *o,
                        bool waits_for_ever)
{
    switch (o->form) {
    case OWNER_OF_QUORUM:
        return waits_for_ever && is_quorum_free(p, o->lock_index);
    case OWNER_OF_MULTI:
        return waits_for_ever && is_multi_free(p, o->lock_index);
    case OWNER_OF_ELECTION:
        return !o->is_leaving &&
               is_free(p, site_master(p->sim->site, o->lock_index), o->lock_index);
    default:
        return false;
    }
}

static bool waits_for_a_set(const struct program *p, const struct call *c)
{
    return c->is_under_way && !c->is_part && c->owner &&
           c->op == HISTORY_OP_ACQUIRE &&
           is_set_free(p, c->owner, c->wait_ms == HF_FOREVER);
}

void sets_check_waits(struct program *p)
{
    for (struct call *c = p->calls; c; c = c->next)
        if (!p->is_closing && waits_for_a_set(p, c))
            sim_fail(p->sim, "P5", "call %lld of %s waits for a set that is free",
                     (long long)c->number, c->owner->name);
}

/* QUORUM-4: each call that waits requests all members in this time. A member that nobody had
 * meanwhile was not requested. */
static int64_t rush_us(const struct plan_head *h)
{
    return RUSH_MS * 1000 + CROSSINGS * (h->latency_us + h->jitter_us);
}

static bool has_only_peers(const struct plan *plan)
{
    for (size_t i = 0; i < plan->fault_count; i++)
        if (plan->faults[i].kind != FAULT_PEER)
            return false;
    return true;
}

static int64_t count_free(const struct sim *sim, int64_t lock, int64_t since_us)
{
    int64_t free_count = 0;

    for (int64_t i = 0; i < sim->plan->head.masters; i++)
        free_count += observer_is_free(&site_server(sim->site, i)->observer, (size_t)lock, since_us);
    return free_count;
}

void sets_check_peer(struct sim *sim, int64_t lock)
{
    int64_t since_us = world_now_us(sim->world) - rush_us(&sim->plan->head);

    if (sim->plan->locks[lock].family != FAMILY_QUORUM || !has_only_peers(sim->plan) ||
        count_free(sim, lock, since_us) <= sim->plan->head.masters / 2)
        return;
    for (size_t i = 0; i < sim->plan->program_count; i++)
        for (struct call *c = sim->programs[i]->calls; c; c = c->next)
            if (c->is_under_way && !c->is_part && c->op == HISTORY_OP_ACQUIRE && c->owner &&
                c->owner->form == OWNER_OF_QUORUM && c->owner->lock_index == lock &&
                c->asked_us <= since_us)
                sim_fail(sim, "P5", "call %lld of %s waits for a quorum, most of which is free",
                         (long long)c->number, c->owner->name);
}
