/* What the lines of servers change, and which properties are then looked at. */
#include "tests/judge/cause.h"
#include "tests/judge/count.h"
#include "tests/judge/lines.h"
#include "tests/judge/properties.h"
#include "tests/judge/queue.h"
#include "tests/judge/sight.h"
#include "tests/judge/watch.h"

static void note_wait(struct judge *j, const struct hold *hold)
{
    for (const struct ask *ask = hold->lock->asks; ask; ask = ask->lock_next)
        if (ask->free_since.line && text_is(ask->owner, hold->owner) &&
            j->now.us - ask->free_since.us > j->stats.longest_wait_us)
            j->stats.longest_wait_us = j->now.us - ask->free_since.us;
}

/* Does its owner reckon anew when it hears of it? */
static bool is_by_owner(const struct history_event *e)
{
    return e->by == HISTORY_BY_ACQUIRE || e->by == HISTORY_BY_RENEW ||
           e->by == HISTORY_BY_RELEASE;
}

/* Has the owner's client died, and its owner not begun anew? Then it sent this before, and
 * another client, which has renewed the hold by its name, does not know of it. */
static bool is_of_dead(const struct hold *hold)
{
    return hold->died.line && !cause_has_call(hold);
}

static bool is_late(const struct judge *j, const struct hold *hold,
                    const struct history_event *e)
{
    return is_of_dead(hold) && is_by_owner(e) && !cause_is_named_lease(j, hold, e);
}

/* Is what a peer, or an operator, did the reason why it ends before the time that
 * was granted; or that a new master has only what replication brought; or a late request
 * of a dead client? Then it is, until that time is reached again, whatever its owner has added to
 * the shorter time (`was_until_us`). */
static bool is_shortened(const struct judge *j, const struct hold *hold,
                         const struct history_event *e, int64_t was_until_us)
{
    return e->until_us < hold->last_until_us &&
           (e->by == HISTORY_BY_PEER || e->by == HISTORY_BY_OPERATOR ||
            e->by == HISTORY_BY_REPLICATION || hold->is_short ||
            (e->by == HISTORY_BY_OTHER && hold->clock.line) ||
            (was_until_us != HISTORY_NONE && was_until_us < e->until_us) ||
            is_late(j, hold, e));
}

static void excuse_old_master(struct judge *j, struct hold *hold,
                              const struct history_event *e)
{
    struct moment replaced = j->servers[e->source.number].replaced;

    excuse(hold, EXCUSE_OLD_MASTER, replaced);
    if (replaced.line && e->until_us > hold->old_master_until_us)
        hold->old_master_until_us = e->until_us;
}

/* Its owner does not hear of it. */
static bool is_by_another(const struct hold *hold, const struct history_event *e)
{
    return e->by == HISTORY_BY_OTHER ||
           (e->by == HISTORY_BY_RENEW && cause_is_renewed_by_name(hold));
}

/* A set ends when the first of its majority does: one member that was renewed changes nothing. */
static bool is_lease_of_before(const struct hold *hold, const struct history_event *e)
{
    return hold->lock->is_set && e->by == HISTORY_BY_RENEW && e->until_us <= hold->last_until_us;
}

/* The master lacks what its predecessor granted, before it was replaced or after. */
static bool is_excused_by_failover(const struct judge *j, const struct hold *hold,
                                   const struct history_event *e)
{
    return hold->excuse.reason == EXCUSE_FAILOVER ||
           (hold->excuse.reason == EXCUSE_OLD_MASTER && state_decides(j, e->source.number));
}

static void excuse_held(struct judge *j, struct hold *hold, const struct record *record,
                        const struct history_event *e, int64_t was_until_us)
{
    bool was_shortened = (was_until_us != HISTORY_NONE || record->next) &&
                         is_shortened(j, hold, e, was_until_us);

    if (is_excused_by_failover(j, hold, e) && is_by_another(hold, e)) {
        if (e->until_us > hold->last_until_us)
            hold->last_until_us = e->until_us;
        return; /* it was granted nothing anew */
    }
    hold->excuse = (struct excuse){EXCUSE_NONE, {0, 0}};
    hold->is_short = was_shortened;
    if (is_by_owner(e) && !is_lease_of_before(hold, e))
        hold->clock.line = 0;
    if (was_shortened)
        excuse(hold, EXCUSE_SHORTENED, j->now);
    else
        hold->last_until_us = e->until_us;
    excuse_old_master(j, hold, e);
    excuse_clock(hold, clocks_apart(j, hold));
}

/* Nobody counts who does not decide: a replica may not have heard yet that the hold
 * was freed, a master that has been replaced never does. */
static bool is_at_another(const struct judge *j, const struct hold *hold,
                          const struct record *record)
{
    for (const struct record *r = hold->records; r; r = r->next)
        if (r != record && state_decides(j, r->server))
            return true;
    return false;
}

static void note_held(const struct judge *j, struct hold *hold, uint32_t server)
{
    hold->last_held = j->now;
    if (j->servers[server].replaced.line)
        return;
    hold->ruled = j->now;
    hold->ruled_by = server;
}

/* Of a slot that moves to and fro, the server that it moves to executes what an
 * earlier move had sent there, though the lock is still where it was. */
static bool is_beside(const struct judge *j, const struct hold *hold,
                      uint32_t server)
{
    for (const struct hold *h = hold->lock->holds; h; h = h->next) {
        const struct record *r = h == hold ? NULL : state_held(j, h);

        if (r && r->server != server &&
            (h->class != hold->class || h->class == CLASS_PLAIN ||
             h->class == CLASS_WRITE))
            return true;
    }
    return false;
}

/* What a server says that decides, or has done so. was_until_us: HISTORY_NONE: it was not held. */
static void held_by_master(struct judge *j, struct hold *hold,
                           struct record *record, const struct history_event *e,
                           int64_t was_until_us)
{
    bool was_held = was_until_us != HISTORY_NONE;

    note_wait(j, hold);
    if (!was_held && !is_at_another(j, hold, record)) {
        hold->granted = j->now;
        hold->beside = is_beside(j, hold, e->source.number)
                           ? j->now
                           : (struct moment){0, 0};
    }
    cause_granted(j, hold, e, was_held);
    if (e->by != HISTORY_BY_OTHER)
        note_held(j, hold, e->source.number);
    hold->last_server = e->source.number;
    if (e->by == HISTORY_BY_ACQUIRE)
        hold->released.line = hold->released_of_old.line = 0;
    excuse_held(j, hold, record, e, was_until_us);
    p9_one_holds(j, hold, record, !was_held && e->by == HISTORY_BY_ACQUIRE);
    p10_shortened(j, hold, record);
    if (e->by == HISTORY_BY_RENEW)
        p4_renewed(j, hold, was_held);
    if (e->by == HISTORY_BY_RENEW && hold->class == CLASS_PERMIT &&
        state_decides(j, e->source.number))
        state_unowe(j, hold); /* it had lapsed, and nobody had taken it */
    if (e->by == HISTORY_BY_ACQUIRE && !was_held) {
        p2_granted(j, hold);
        p5_in_order(j, hold);
        cause_passed(j, hold);
    }
    if (e->token != HISTORY_NONE && e->token != 0)
        p8_granted(j, hold, e->token);
    if (hold->excuse.reason == EXCUSE_OLD_MASTER)
        p2_taken_away(j, hold);
}

/* Calls that are under way may meet, or see, what the lock is just now: after a change,
 * and before one, because time alone has changed it since the last line. */
static void lock_is_seen(struct judge *j, struct lock *lock)
{
    count_meets(j, lock);
    cause_looks(j, lock);
    sight_add(j, lock);
}

static void on_held(struct judge *j, struct party *p,
                    const struct history_event *e)
{
    struct hold *hold = hold_of(j, e);
    struct record *record = state_record(hold, p->source.number, false);
    bool was_held = record;
    int64_t was_until_us = record ? record->until_us : HISTORY_NONE;

    lock_is_seen(j, hold->lock);
    record = state_record(hold, p->source.number, true);
    if (!was_held && e->by != HISTORY_BY_REPLICATION)
        hold->room = state_number_at(hold->lock, p->source.number);
    record->count = e->count;
    record->until_us = e->until_us;
    record->last = j->now;
    record->is_peers = was_held && e->by != HISTORY_BY_ACQUIRE
                           ? record->is_peers
                           : e->by == HISTORY_BY_PEER;
    if (p->is_replica)
        return;
    hold->lock->home = p->source.number;
    held_by_master(j, hold, record, e, was_until_us);
    lock_is_seen(j, hold->lock);
    watch_lock(j, hold->lock, watch_look_ms(j), false);
}

/* Was a message published with it, which wakes waiters? */
static bool has_message(const struct hold *hold, const struct history_event *e)
{
    return e->why == HISTORY_WHY_FORCED ||
           (e->why == HISTORY_WHY_RELEASED &&
            (e->by != HISTORY_BY_PEER || hold->class != CLASS_WRITE));
}

/* A waiter that has heard of the TTL looks when it ends (P12i). */
static int64_t freed_bound_ms(const struct judge *j, const struct hold *hold,
                              const struct history_event *e)
{
    if (has_message(hold, e) || j->header.wake_ms == HISTORY_NONE)
        return j->header.wake_ms;
    if (e->why != HISTORY_WHY_EXPIRED || e->kind == HISTORY_KIND_FAIR ||
        cause_has_shortened(j, hold->lock) ||
        j->header.wake_ms + j->header.answer_ms > watch_look_ms(j))
        return watch_look_ms(j);
    return j->header.wake_ms + j->header.answer_ms;
}

static void on_freed(struct judge *j, struct party *p,
                     const struct history_event *e)
{
    struct hold *hold = hold_of(j, e);
    struct lock *lock = hold->lock;
    bool decides = state_decides(j, p->source.number);
    int64_t bound_ms = freed_bound_ms(j, hold, e);

    cause_freed(j, hold, e);
    lock->freed = j->now;
    lock_is_seen(j, lock);
    state_record_drop(hold, p->source.number);
    lock_is_seen(j, lock);
    queue_freed(hold);
    if (decides && !state_held(j, hold))
        lock->home = p->source.number;
    if (!decides && e->why == HISTORY_WHY_RELEASED)
        hold->released_of_old = j->now;
    if (decides && !state_held(j, hold)) {
        hold->back.line = 0;
        if (e->why == HISTORY_WHY_RELEASED && is_of_dead(hold))
            excuse(hold, EXCUSE_TAKEN_AWAY, j->now);
        if (e->why == HISTORY_WHY_EXPIRED || e->why == HISTORY_WHY_RELEASED) {
            p2_before_freed(j, hold, e->why);
        } else {
            excuse(hold, EXCUSE_TAKEN_AWAY, j->now);
            hold->taken = j->now;
            p2_taken_away(j, hold);
        }
        watch_lock(j, lock, bound_ms, false);
    }
    state_tidy(j, lock);
}

/* Somebody's FLUSHALL, say, has deleted the number of permits, and those that are out
 * were on another server just then: what is left of both is half a semaphore, until
 * both are gone. */
static void note_halves(struct judge *j, struct lock *lock,
                        const struct history_event *e)
{
    if (e->n != HISTORY_NONE || e->by == HISTORY_BY_REPLICATION || e->by == HISTORY_BY_DELETE)
        return;
    lock->halved.line = 0;
    for (const struct hold *hold = lock->holds; hold; hold = hold->next)
        if (hold->class == CLASS_PERMIT && hold->records)
            lock->halved = j->now;
}

/* Permits that are out stay out when there are fewer. */
static void note_room(const struct lock *lock, const struct history_event *e)
{
    for (struct hold *hold = lock->holds; hold; hold = hold->next)
        if (e->n > hold->room)
            hold->room = e->n;
}

static void on_stock(struct judge *j, struct party *p,
                     const struct history_event *e)
{
    struct lock *lock = state_lock(j, e->lock, true);
    struct stock *stock = state_stock(lock, p->source.number);

    if (e->kind == HISTORY_KIND_SEMAPHORE || e->kind == HISTORY_KIND_LATCH) {
        count_stock(j, lock, stock, e);
    } else {
        count_of_permits(j, lock, stock, e);
        p11_stock(j, lock, stock, e);
        note_halves(j, lock, e);
        note_room(lock, e);
    }
    if (e->by == HISTORY_BY_SET)
        count_of_set(j, lock, stock, e);
    if (stock->n <= 0 && e->n > 0)
        stock->present = j->now;
    stock->n = e->n;
    stock->until_us = e->until_us;
    stock->last = j->now;
    lock_is_seen(j, lock);
    if (e->by == HISTORY_BY_SET || e->by == HISTORY_BY_RESIZE)
        lock->permits = e->n;
    if (!state_decides(j, p->source.number))
        return;
    if (e->n != HISTORY_NONE)
        lock->home = p->source.number;
    watch_lock(j, lock,
               e->by == HISTORY_BY_SET || e->by == HISTORY_BY_RELEASE ||
                       e->by == HISTORY_BY_RESIZE || e->by == HISTORY_BY_DELETE
                   ? j->header.wake_ms
                   : watch_look_ms(j),
               false);
}

static void on_reset(struct judge *j, const struct history_event *e)
{
    struct lock *lock = state_lock(j, e->lock, true);

    lock->server_token = lock->told_token = 0;
    lock->reset = j->now;
    for (struct ask *ask = lock->asks; ask; ask = ask->lock_next)
        ask->token_before = 0;
    state_tidy(j, lock);
}

/* For members of quorums. */
static void note_spot(struct judge *j, const struct party *p, int change)
{
    struct trouble *t = trouble_spot(j, 0, p->source.number);

    t->open += change;
    t->last = j->now;
}

static void on_down(struct judge *j, struct party *p)
{
    note_spot(j, p, !p->trouble.open);
    p->trouble.open = 1;
    p->trouble.last = j->now;
    watch_all(j, 0);
}

static void on_up(struct judge *j, struct party *p)
{
    note_spot(j, p, -p->trouble.open);
    p->trouble.open = 0;
    p->trouble.last = j->now;
    watch_all(j, 0);
}

/* `old` does not decide any more: what has become of its holds? */
static void on_replaced(struct judge *j, struct hold *hold,
                        const struct party *old)
{
    const struct record *was = state_record(hold, old->source.number, false);
    const struct record *is = was ? state_held(j, hold) : NULL;

    if (!was || (is && is->until_us >= was->until_us))
        return;
    excuse(hold, EXCUSE_FAILOVER, j->now);
    if (was->until_us > hold->last_until_us)
        hold->last_until_us = was->until_us; /* the new master's clock may differ */
    p2_taken_away(j, hold);
}

/* It has a hold that its predecessor had lost: there is nothing to be told. To all
 * others it is as if it was granted only now. */
static void on_successor(struct judge *j, struct hold *hold,
                         const struct party *p)
{
    if (!state_record(hold, p->source.number, false))
        return;
    state_unowe(j, hold);
    if (state_held(j, hold))
        return;
    hold->granted = hold->back = j->now;
}

/* Its predecessor's locks are its own. */
static void move_home(struct judge *j, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < j->locks_room; i++)
        for (struct lock *lock = j->locks[i]; lock; lock = lock->chain)
            if (lock->home == from)
                lock->home = to;
}

static void each_lock_is_seen(struct judge *j)
{
    for (size_t i = 0; i < j->locks_room; i++)
        for (struct lock *lock = j->locks[i]; lock; lock = lock->chain)
            lock_is_seen(j, lock);
}

/* A server that begins anew with older data takes over from itself: what it had before has
 * a number that no server has. */
#define BEFORE 0

static bool is_by_itself(const struct party *p, const struct history_event *e)
{
    return e->instead.role == 's' && e->instead.number == p->source.number;
}

static void keep_as_before(struct judge *j, struct hold *hold, const struct party *p)
{
    struct record *record = state_record(hold, p->source.number, false);

    (void)j;
    if (record)
        record->server = BEFORE;
}

/* It was taken away, without a notice yet, and the older data brought it back: what its owner
 * believes is from before both. */
static void on_brought_back(struct judge *j, struct hold *hold, const struct party *p)
{
    const struct record *is = state_record(hold, p->source.number, false);

    if (is && !state_record(hold, BEFORE, false) && hold->until_us > is->until_us)
        excuse(hold, EXCUSE_FAILOVER, j->now);
}

static void forget_before(struct judge *j, struct hold *hold, const struct party *p)
{
    (void)j, (void)p;
    state_record_drop(hold, BEFORE);
}

static void on_older(struct judge *j, struct party *p)
{
    struct party *before = &j->servers[BEFORE];

    each_hold(j, on_successor, p);
    p->is_replica = false;
    before->source.number = BEFORE;
    before->replaced = j->now;
    each_hold(j, on_replaced, before);
    each_hold(j, on_brought_back, p);
    each_hold(j, forget_before, before);
    before->replaced.line = 0;
    each_lock_is_seen(j);
    count_disturbed(j, NULL);
    j->trouble.last = j->now;
    note_spot(j, p, 0);
    watch_all(j, 0);
}

static void on_master(struct judge *j, struct party *p,
                      const struct history_event *e)
{
    struct party *old;

    if (is_by_itself(p, e)) {
        on_older(j, p);
        return;
    }
    each_hold(j, on_successor, p);
    p->is_replica = false;
    p->replaced.line = 0;
    if (e->instead.role == 's' && e->instead.number < j->servers_room) {
        old = &j->servers[e->instead.number];
        old->replaced = j->now;
        p->first = old->first ? old->first : e->instead.number;
        each_hold(j, on_replaced, old);
        move_home(j, e->instead.number, e->source.number);
    }
    each_lock_is_seen(j);
    count_disturbed(j, NULL);
    j->trouble.last = j->now;
    note_spot(j, p, 0);
    watch_all(j, 0);
}

/* It takes another's data over: what it had is gone. */
static void on_demoted(struct judge *j, struct hold *hold,
                       const struct party *p)
{
    (void)j;
    state_record_drop(hold, p->source.number);
}

static void on_replica(struct judge *j, struct party *p, const struct history_event *e)
{
    p->is_replica = true;
    each_hold(j, is_by_itself(p, e) ? keep_as_before : on_demoted, p);
    watch_all(j, 0);
}

void on_server(struct judge *j, struct party *p, const struct history_event *e)
{
    switch (e->what) {
    case HISTORY_HELD: on_held(j, p, e); return;
    case HISTORY_FREED: on_freed(j, p, e); return;
    case HISTORY_RESET: on_reset(j, e); return;
    case HISTORY_DOWN: on_down(j, p); return;
    case HISTORY_UP: on_up(j, p); return;
    case HISTORY_MASTER: on_master(j, p, e); return;
    case HISTORY_REPLICA: on_replica(j, p, e); return;
    case HISTORY_CLOCK: on_clock(j, p, e); return;
    case HISTORY_KEY: p6_key(j, e); return;
    case HISTORY_QUEUED: on_queued(j, e); return;
    case HISTORY_HEAD: on_head(j, e); return;
    case HISTORY_PLACE: on_place(j, e); return;
    case HISTORY_STOCK: on_stock(j, p, e); return;
    default: return;
    }
}
