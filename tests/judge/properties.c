/* What is wrong with a history, by the rules in properties.h. */
#include "tests/judge/properties.h"
#include "tests/judge/cause.h"
#include "tests/judge/violation.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000

static const char *lock_of(const struct hold *hold)
{
    return word(hold->lock->name);
}

static const char *owner_of(const struct hold *hold)
{
    return word(hold->owner);
}

static int64_t slack_us(const struct judge *j)
{
    return j->header.slack_ms * MS;
}

/* a + b, or never. */
static int64_t later(int64_t a, int64_t b)
{
    return a == HISTORY_NEVER ? a : a + b;
}

/* ---- P1 ---- */

static bool may_share(const struct hold *a, const struct hold *b)
{
    return (a->class == CLASS_READ && b->class == CLASS_READ) ||
           text_is(a->owner, b->owner);
}

/* When it was granted; a history without servers says when it was believed. */
static struct moment grant_of(const struct hold *hold)
{
    return hold->granted.line ? hold->granted : hold->believed_first;
}

/* Does its excuse explain that `other` holds it, too? */
static bool explains(const struct hold *hold, const struct hold *other)
{
    if (hold->clock.line || state_is_by_old_master(hold))
        return true;
    if (hold->excuse.reason == EXCUSE_TAKEN_AWAY && hold->beside.line)
        return true;
    if (hold->excuse.reason == EXCUSE_TAKEN_AWAY ||
        hold->excuse.reason == EXCUSE_FAILOVER)
        return hold->excuse.at.line <= grant_of(other).line;
    return hold->excuse.reason != EXCUSE_NONE;
}

static void fail_p1(struct judge *j, const struct hold *a, const struct hold *b)
{
    struct judge_violation *v = violate(j, 1, j->now.us);

    say(v,
        "two owners believe at the same time that they hold lock %s: "
        "%s from %s until %s, ",
        lock_of(a), owner_of(a), when(a->believed_first.us), when(a->until_us));
    say(v, "and %s from %s until %s", owner_of(b), when(b->believed_first.us),
        when(b->until_us));
    show(v, a->granted);
    show(v, a->believed);
    show(v, b->granted);
    show(v, b->believed);
}

static bool believes_beside(const struct judge *j, const struct hold *hold,
                            const struct hold *other)
{
    return other != hold && other->until_us > j->now.us &&
           !explains(hold, other) && !explains(other, hold);
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Of permits, more believe than there are. One that was taken away is another's, and
 * whose it is nobody can say. */
static void p1_enough(struct judge *j, struct hold *hold)
{
    int64_t permits = greater(hold->lock->permits, hold->room), believe = 1;
    struct hold *last = NULL;

    for (struct hold *other = hold->lock->holds; other; other = other->next)
        if (other != hold && other->class == CLASS_PERMIT &&
            other->until_us > j->now.us && !state_is_excused(other)) {
            believe++;
            permits = state_held(j, other) ? greater(permits, other->room) : permits;
            last = other;
        }
    if (last && hold->lock->permits > 0 && believe > permits && !state_is_excused(hold) &&
        !hold->lock->halved.line)
        fail_p1(j, last, hold);
}

/* Two owners of a set may each count a member that its server has forgotten. */
static bool is_by_forgetting(const struct judge *j, const struct hold *hold,
                             const struct hold *other)
{
    return cause_is_by_forgetting(j, hold) || cause_is_by_forgetting(j, other);
}

void p1_one_believes(struct judge *j, struct hold *hold)
{
    if (hold->class == CLASS_PERMIT) {
        p1_enough(j, hold);
        return;
    }
    for (struct hold *other = hold->lock->holds; other; other = other->next)
        if (believes_beside(j, hold, other) && !may_share(hold, other) &&
            !is_by_forgetting(j, hold, other))
            fail_p1(j, other, hold);
}

/* ---- P2 ---- */

bool last_release_is_under_way(const struct hold *hold)
{
    return hold->tally > 0 && hold->releasing >= hold->tally;
}

static void fail_p2_believes(struct judge *j, const struct hold *hold,
                             const char *how)
{
    struct judge_violation *v = violate(j, 2, j->now.us);

    say(v, "the server frees lock %s (", lock_of(hold));
    say_words(v, how);
    say(v, ") at %s while %s believes in it until %s", when(j->now.us), owner_of(hold),
        when(hold->until_us));
    show(v, hold->last_held);
    show(v, hold->believed);
    show(v, j->now);
}

static void fail_p2_told(struct judge *j, const struct hold *hold)
{
    struct judge_violation *v = violate(j, 2, hold->owed_due_us);

    say(v,
        "%s has lost lock %s at %s, and was not told by %s", owner_of(hold),
        lock_of(hold), when(hold->owed_since.us), when(hold->owed_due_us));
    show(v, hold->last_held);
    show(v, hold->excuse.at);
    show(v, hold->owed_since);
}

/* From now on its loss is to be told. */
static void owe(struct judge *j, struct hold *hold, int64_t due_us)
{
    if (hold->tally == 0 || hold->lost.line || hold->is_owed ||
        last_release_is_under_way(hold))
        return;
    state_owe(j, hold, due_us);
}

void p2_taken_away(struct judge *j, struct hold *hold)
{
    int64_t in_time;

    if (j->header.tell_ms == HISTORY_NONE || state_held(j, hold))
        return;
    in_time = j->now.us + j->header.tell_ms * MS;
    if ((!hold->is_renewed || hold->clock.line) &&
        hold->until_us > in_time)
        in_time = hold->until_us;
    owe(j, hold, later(in_time, slack_us(j)));
}

void p2_before_freed(struct judge *j, struct hold *hold, enum history_why why)
{
    bool is_excused;

    state_end_belief(j, hold);
    is_excused = state_is_excused(hold);
    if (is_excused)
        p2_taken_away(j, hold);
    else if (later(hold->until_us, -slack_us(j)) > j->now.us)
        fail_p2_believes(j, hold,
                         why == HISTORY_WHY_EXPIRED ? "expired" : "released");
    if (!is_excused && why == HISTORY_WHY_EXPIRED)
        owe(j, hold, j->now.us + slack_us(j) - 1);
}

/* P2c: has a fault kept its owner from learning of it? Or does nothing renew it,
 * and its belief began only after it was taken away? Until when it may be put off; 0: it
 * may not. A client that learns of another master believes for a shorter time, or in
 * nothing, until that master answers: its owner is told by the end of the longest belief. */
static int64_t put_off_us(struct judge *j, const struct hold *hold)
{
    bool is_touched = trouble_since(j, hold->client, hold->lock, hold->owed_since.us);
    bool is_excused = state_is_excused(hold) ||
                      (hold->is_owed_of_set && !hold->is_renewed); /* and granted again */
    int64_t until_us = hold->until_us;

    if (!is_excused || (hold->is_renewed && !is_touched))
        return 0;
    if (until_us == 0 && is_touched)
        until_us = hold->last_until_us;
    if (is_touched && hold->greatest_until_us > until_us)
        until_us = hold->greatest_until_us;
    return later(until_us, slack_us(j));
}

/* Promise 18: a member that was forgotten while its owner could not ask the server counts until
 * its lease would have ended. The set was whole again before that. */
static bool is_whole_again(const struct judge *j, const struct hold *hold)
{
    return hold->is_owed_of_set && state_held(j, hold) &&
           trouble_since(j, hold->client, hold->lock, hold->owed_since.us);
}

/* A grant while its owner has no call is a copy of an acquire that it had sent again. From the count
 * that a re-entry returns, the owner learns that the hold was lost. */
void p2_granted(struct judge *j, struct hold *hold)
{
    for (struct hold *other = hold->lock->holds; other; other = other->next)
        if (other != hold && other->is_owed && !may_share(other, hold))
            other->has_successor = true;
    if (hold->is_owed && !hold->has_successor && state_held(j, hold) && !hold->lock->is_set &&
        !cause_has_call(hold))
        state_unowe(j, hold);
}

void p2_overdue(struct judge *j, struct hold *hold)
{
    /* The end of the release tells it. */
    if (last_release_is_under_way(hold) || is_whole_again(j, hold)) {
        state_unowe(j, hold);
        return;
    }
    if (put_off_us(j, hold) > hold->owed_due_us) {
        hold->owed_due_us = put_off_us(j, hold);
        return;
    }
    fail_p2_told(j, hold);
    state_unowe(j, hold);
}

/* ---- P3 ---- */

static void fail_p3(struct judge *j, const struct hold *hold, int64_t on_server)
{
    struct judge_violation *v = violate(j, 3, j->now.us);

    say(v,
        "all is quiet, and %s has acquired lock %s %" PRId64
        " times more than it released it, but the server counts %" PRId64,
        owner_of(hold), lock_of(hold), hold->tally, on_server);
    if (hold->counted != HISTORY_NONE)
        say(v, ", and its client %" PRId64, hold->counted);
    show(v, hold->last_held);
    show(v, hold->believed);
    show(v, hold->counted_at);
    show(v, j->quiet);
}

/* P2 says by when its owner is told. In the end it has been. */
static bool is_to_be_told(const struct judge *j, const struct hold *hold)
{
    return !j->over.line && !state_held(j, hold) &&
           (hold->excuse.reason != EXCUSE_NONE || hold->is_owed);
}

void p3_counts(struct judge *j, struct hold *hold)
{
    const struct record *record = state_held(j, hold);
    int64_t on_server = record ? record->count : 0;

    if (hold->lost.line || hold->unsure.line || is_to_be_told(j, hold) ||
        (record && record->is_peers))
        return;
    if (hold->counted != HISTORY_NONE
            ? hold->counted != on_server || hold->tally != on_server
            : hold->tally > 0 && hold->tally != on_server)
        fail_p3(j, hold, on_server);
}

/* ---- P4 ---- */

/* The new master has not heard of its release; a plain lock's only holder would
 * still be the one that renews it. */
static bool is_renewed_with_another(const struct hold *hold)
{
    return hold->class != CLASS_PLAIN &&
           (hold->released_of_old.line || hold->back.line);
}

void p4_renewed(struct judge *j, struct hold *hold, bool was_held)
{
    struct judge_violation *v;

    if (j->servers[hold->last_server].replaced.line)
        return;
    if (hold->released.line && !is_renewed_with_another(hold)) {
        v = violate(j, 4, j->now.us);
        say(v, "the server renews lock %s for %s, which had released it at %s",
            lock_of(hold), owner_of(hold), when(hold->released.us));
        show(v, hold->released);
        show(v, j->now);
    } else if (!was_held) {
        v = violate(j, 4, j->now.us);
        say(v, "a renewal makes a hold of lock %s for %s, which had none",
            lock_of(hold), owner_of(hold));
        show(v, j->now);
    }
}

/* ---- P5, P7 ---- */

void p5_overdue(struct judge *j, struct ask *ask)
{
    struct judge_violation *v = violate(j, 5, ask->free_due_us);

    say(v, "%s waits for lock %s, which is free for it since %s, still at %s",
        word(ask->owner), word(ask->lock->name), when(ask->free_since.us),
        when(ask->free_due_us));
    show(v, ask->asked);
    show(v, ask->free_since);
}

void p7_overdue(struct judge *j, struct ask *ask)
{
    struct judge_violation *v = violate(j, 7, ask->due_us);

    say(v, "call %" PRId64 " of client c%u, begun at %s, has not ended by %s",
        ask->call, (unsigned)ask->client, when(ask->asked.us),
        when(ask->due_us));
    show(v, ask->asked);
}

/* ---- P6 ---- */

/* Is there a line that says that nobody is there to give the hold back, or that
 * whoever did so spoke to a master that had been replaced, or was then? */
static bool ends_by_itself(const struct judge *j, const struct hold *hold)
{
    return hold->died.line || hold->lost.line || hold->back.line ||
           hold->released_of_old.line || state_gone_of(j, hold).line;
}

void p6_left(struct judge *j, struct hold *hold)
{
    const struct record *record = state_held(j, hold);
    struct judge_violation *v;

    if (!record || record->is_peers ||
        (hold->tally > 0 && !hold->lost.line) ||
        (ends_by_itself(j, hold) && record->until_us != HISTORY_NEVER))
        return;
    v = violate(j, 6, j->now.us);
    say(v,
        "all is quiet, and the server holds lock %s for %s, which does not know "
        "of it",
        lock_of(hold), owner_of(hold));
    show(v, record->last);
    show(v, j->quiet);
}

static bool is_held(const struct judge *j, const struct lock *lock)
{
    for (const struct hold *hold = lock->holds; hold; hold = hold->next)
        if (state_held(j, hold))
            return true;
    return false;
}

void p6_key(struct judge *j, const struct history_event *key)
{
    struct lock *lock = key->of.at ? state_lock(j, key->of, false) : NULL;
    struct judge_violation *v;

    if (!j->quiet.line || key->may.at || (lock && is_held(j, lock)))
        return;
    v = violate(j, 6, j->now.us);
    say(v, "all is quiet, and the key %s is left", word(key->name));
    show(v, j->quiet);
    show(v, j->now);
}

/* ---- P8 ---- */

void p8_granted(struct judge *j, struct hold *hold, int64_t token)
{
    struct lock *lock = hold->lock;
    struct judge_violation *v;

    if (token == hold->token)
        return;
    hold->token = token;
    if (token <= lock->server_token) {
        v = violate(j, 8, j->now.us);
        say(v,
            "the server grants lock %s to %s with token %" PRId64
            ", after it has given %" PRId64,
            lock_of(hold), owner_of(hold), token, lock->server_token);
        show(v, lock->server_token_at);
        show(v, j->now);
        return;
    }
    lock->server_token = token;
    lock->server_token_at = j->now;
}

static void fail_p8_told(struct judge *j, const struct ask *ask, int64_t token,
                         struct moment other, int64_t other_token)
{
    struct judge_violation *v = violate(j, 8, j->now.us);

    say(v,
        "%s is told token %" PRId64 " of lock %s, ", word(ask->owner), token,
        word(ask->lock->name));
    say(v, "where %" PRId64 " was given ", other_token);
    say_words(v, other.line < ask->asked.line ? "before it asked" : "by the server");
    show(v, other);
    show(v, ask->asked);
    show(v, j->now);
}

void p8_told(struct judge *j, struct ask *ask, struct hold *hold, int64_t token)
{
    struct lock *lock = hold->lock;
    bool is_kept = token == hold->told_token;

    hold->told_token = token;
    if (hold->token && hold->token != token)
        fail_p8_told(j, ask, token, hold->last_held, hold->token);
    if (is_kept || grant_of(hold).line < lock->reset.line)
        return;
    if (token <= ask->token_before)
        fail_p8_told(j, ask, token, ask->token_before_at, ask->token_before);
    if (token > lock->told_token) {
        lock->told_token = token;
        lock->told_token_at = j->now;
    }
}

static bool is_a_server_replaced(const struct judge *j)
{
    for (uint32_t i = 0; i < j->servers_room; i++)
        if (j->servers[i].replaced.line)
            return true;
    return false;
}

void p8_latest(struct judge *j, const struct ask *ask, int64_t token)
{
    if (token < ask->token_before && !is_a_server_replaced(j))
        fail_p8_told(j, ask, token, ask->token_before_at, ask->token_before);
}

/* ---- P9 ---- */

/* Redisson's read-write locks do not see plain ones of the same name. */
static bool is_peers_fault(const struct hold *a, const struct record *record,
                           const struct hold *b)
{
    return record->is_peers &&
           (a->class == CLASS_PLAIN) != (b->class == CLASS_PLAIN);
}

static bool may_hold_both(const struct hold *a, const struct hold *b)
{
    if (a->class == CLASS_READ && b->class == CLASS_READ)
        return true;
    return text_is(a->owner, b->owner) && a->class != b->class &&
           a->class != CLASS_PLAIN && b->class != CLASS_PLAIN;
}

static void p9_enough(struct judge *j, const struct hold *hold,
                      const struct record *record, bool is_new)
{
    const struct stock *stock = state_stock(hold->lock, record->server);
    struct judge_violation *v;
    int64_t out = 0, most = stock->n;

    for (struct hold *h = hold->lock->holds; h; h = h->next) {
        const struct record *r = state_record(h, record->server, false);

        if (h->class != CLASS_PERMIT || !r || r->until_us <= j->now.us)
            continue;
        out++;
        most = is_new ? most : greater(most, h->room);
    }
    if (stock->n == HISTORY_NONE || out <= most || hold->lock->halved.line)
        return;
    v = violate(j, 9, j->now.us);
    say(v, "server s%u has given %" PRId64 " permits of %s, and there are %" PRId64,
        (unsigned)record->server, out, lock_of(hold), stock->n);
    show(v, stock->last);
    show(v, j->now);
}

void p9_one_holds(struct judge *j, struct hold *hold, struct record *record, bool is_new)
{
    if (hold->class == CLASS_PERMIT) {
        p9_enough(j, hold, record, is_new);
        return;
    }
    for (struct hold *other = hold->lock->holds; other; other = other->next) {
        const struct record *theirs =
            state_record(other, record->server, false);
        struct judge_violation *v;

        if (other == hold || !theirs || may_hold_both(hold, other) ||
            is_peers_fault(hold, record, other) ||
            is_peers_fault(other, theirs, hold) || is_by_forgetting(j, hold, other))
            continue;
        v = violate(j, 9, j->now.us);
        say(v, "server s%u holds lock %s for %s and ", (unsigned)record->server,
            lock_of(hold), owner_of(other));
        say(v, "for %s at the same time", owner_of(hold));
        show(v, theirs->last);
        show(v, j->now);
    }
}

/* ---- P10 ---- */

static void fail_p10(struct judge *j, const struct hold *hold, int64_t until_us,
                     const char *what)
{
    struct judge_violation *v = violate(j, 10, j->now.us);

    say(v, "%s believes in lock %s until %s, ", owner_of(hold), lock_of(hold),
        when(hold->until_us));
    say_words(v, what);
    if (until_us > 0)
        say(v, " %s", when(until_us));
    else
        say_words(v, " it never granted");
    show(v, hold->last_held);
    show(v, hold->believed);
    show(v, hold->excuse.at);
    show(v, j->now);
}

/* The latest end of the hold at a server that is no replica. */
static int64_t granted_until(const struct judge *j, const struct hold *hold)
{
    int64_t until = 0;

    for (const struct record *r = hold->records; r; r = r->next)
        if (!j->servers[r->server].is_replica && r->until_us > until)
            until = r->until_us;
    return until;
}

void p10_believed(struct judge *j, struct hold *hold)
{
    int64_t until = granted_until(j, hold);

    if (hold->until_us <= j->now.us || hold->clock.line)
        return;
    if (hold->excuse.reason != EXCUSE_NONE && hold->last_until_us > until)
        until = hold->last_until_us;
    if (later(hold->until_us, -slack_us(j)) > until)
        fail_p10(j, hold, until, "beyond what the server has granted:");
}

/* P10d: its belief is to begin or to move later; does it no more have the hold? */
void p10_extended(struct judge *j, struct hold *hold, int64_t until_us)
{
    struct judge_violation *v;
    bool is_lost =
        hold->lost.line > hold->last_held.line && !hold->died.line;

    if (until_us <= j->now.us || until_us <= hold->until_us ||
        (!is_lost && !last_release_is_under_way(hold)))
        return;
    v = violate(j, 10, j->now.us);
    say(v, "%s believes in lock %s until %s, after ", owner_of(hold), lock_of(hold),
        when(until_us));
    say_words(v, is_lost ? "it was told that it has lost it" : "its last release began");
    show(v, is_lost ? hold->lost : hold->believed);
    show(v, j->now);
}

void p10_shortened(struct judge *j, struct hold *hold, struct record *record)
{
    if (!state_is_excused(hold) && hold->until_us > j->now.us &&
        later(hold->until_us, -slack_us(j)) > record->until_us)
        fail_p10(j, hold, record->until_us,
                 "while the server now ends it earlier:");
}

/* An earlier call of unknown outcome has made the server count so many already. */
static bool is_counted(const struct judge *j, const struct hold *hold)
{
    const struct record *record = state_held(j, hold);

    return hold->unsure.line && record && record->count >= hold->tally;
}

/* Its client knows that another server decides, and that one has not heard of it, nor
 * granted it since. */
static bool is_by_former_master(const struct judge *j, const struct ask *ask,
                                struct hold *hold, int64_t master)
{
    struct moment replaced = j->servers[hold->last_server].replaced;
    bool has_granted = hold->ruled_by == (uint32_t)master &&
                       hold->ruled.line > ask->asked.line;

    return master != HISTORY_NONE && hold->last_server != (uint32_t)master &&
           replaced.line && replaced.line < hold->last_held.line &&
           !has_granted && !state_record(hold, (uint32_t)master, false);
}

void p10_granted(struct judge *j, struct ask *ask, struct hold *hold,
                 int64_t master)
{
    bool is_granted =
        hold->last_held.line > ask->asked.line || is_counted(j, hold);
    struct judge_violation *v;

    if (ask->is_part ||
        (is_granted && !is_by_former_master(j, ask, hold, master)))
        return;
    v = violate(j, 10, j->now.us);
    say(v, "%s is told that it holds lock %s, which ", word(ask->owner),
        word(ask->lock->name));
    say_words(v, is_granted ? "a server that it takes for a master no more" : "no server");
    say(v, " has granted to it");
    show(v, ask->asked);
    if (is_granted)
        show(v, hold->last_held);
    show(v, j->now);
}

/* ---- P11 ---- */

/* Who takes or gives back changes nothing; who makes a semaphore finds none. */
void p11_stock(struct judge *j, struct lock *lock, const struct stock *stock,
               const struct history_event *e)
{
    bool is_ours = e->by == HISTORY_BY_ACQUIRE || e->by == HISTORY_BY_RELEASE ||
                   e->by == HISTORY_BY_RENEW;
    struct judge_violation *v;

    if (lock->halved.line ||
        (is_ours ? e->n == stock->n
                 : e->by != HISTORY_BY_SET || stock->n == HISTORY_NONE))
        return;
    v = violate(j, 11, j->now.us);
    say(v, "server s%u had %" PRId64 " permits of %s, ",
        (unsigned)stock->server, stock->n == HISTORY_NONE ? 0 : stock->n,
        word(lock->name));
    say(v, "and has %" PRId64 " after ", e->n == HISTORY_NONE ? 0 : e->n);
    say_words(v, is_ours ? "one was taken or given back" : "it was set");
    show(v, stock->last);
    show(v, j->now);
}
