/* P12 of calls: what explains that one fails. Rules: cause.h. */
#include "tests/judge/cause_inner.h"

#include <inttypes.h>

#include "tests/judge/count.h"
#include "tests/judge/sight.h"
#include "tests/judge/violation.h"
#include "tests/judge/watch.h"

#define MS 1000
#define MILLION 1000000

/* ---- excuses ---- */

static int64_t cause_ms(const struct judge *j)
{
    return j->header.cause_ms != HISTORY_NONE ? j->header.cause_ms
                                              : watch_settle_ms(j);
}

bool cause_is_judged(const struct judge *j)
{
    return cause_ms(j) != HISTORY_NONE;
}

/* What is counted is judged where the history gives cause_ms itself. */
bool cause_is_wanted(const struct judge *j, enum hold_class class)
{
    return class < CLASS_PERMIT || j->header.cause_ms != HISTORY_NONE;
}

int64_t cause_answer_us(const struct judge *j)
{
    return j->header.answer_ms * MS;
}

int64_t cause_slack_us(const struct judge *j)
{
    return j->header.slack_ms * MS;
}

/* A client may still take it for the master of its lock. */
static bool is_a_server_down(const struct judge *j)
{
    for (uint32_t i = 0; i < j->servers_room; i++)
        if (j->servers[i].trouble.open > 0)
            return true;
    return false;
}

/* May a fault explain what has happened since then? */
bool cause_is_touched(const struct judge *j, uint32_t client,
                       const struct lock *lock, int64_t since_us)
{
    const struct party *p = state_client(j, client);
    int64_t from_us;

    if (!cause_is_judged(j))
        return true;
    from_us = since_us - cause_ms(j) * MS;
    if (p->is_suspended || (p->went.line && p->went.us >= from_us))
        return true;
    if (lock->is_set)
        return cause_is_majority_touched(j, client, lock, since_us);
    if (lock->at_server)
        return trouble_of_member(j, client, lock, from_us);
    return trouble_now(j, client, lock) ||
           trouble_last(j, client, lock) >= from_us || is_a_server_down(j);
}

bool cause_is_hold_touched(const struct judge *j, const struct hold *hold,
                            struct moment since)
{
    return hold->clock.line || hold->unsure.line ||
           hold->excuse.reason != EXCUSE_NONE ||
           cause_is_touched(j, hold->client, hold->lock, since.us);
}

bool cause_is_ending(const struct judge *j, uint32_t client)
{
    return state_client(j, client)->ending.line;
}

bool cause_has_call(const struct hold *hold)
{
    for (const struct ask *a = hold->lock->asks; a; a = a->lock_next)
        if (text_is(a->owner, hold->owner) &&
            (a->op == HISTORY_OP_ACQUIRE || a->op == HISTORY_OP_RELEASE))
            return true;
    return false;
}

/* By a clock that may be fast: by ppm compared with a server, which may be fast, too. */
int64_t cause_least_us(const struct judge *j, int64_t ms)
{
    ms = ms < HISTORY_BOUND_MAX ? ms : HISTORY_BOUND_MAX;
    return ms * MS - ms * (j->header.ppm + j->server_ppm) / MILLION * MS - cause_slack_us(j) - MS;
}

/* ---- what a call may meet ---- */

/* A record of any server that answers calls. */
bool cause_is_at_a_server(const struct judge *j, const struct hold *hold)
{
    for (const struct record *r = hold->records; r; r = r->next)
        if (!j->servers[r->server].is_replica)
            return true;
    return false;
}

int64_t cause_least_count(const struct judge *j, const struct hold *hold)
{
    int64_t least = HISTORY_NEVER;

    for (uint32_t server = 0; server < j->servers_room; server++) {
        const struct record *r;
        int64_t count;

        if (!state_answers(j, hold->lock, server))
            continue;
        r = state_record((struct hold *)hold, server, false);
        count = r ? r->count : 0;
        least = count < least ? count : least;
    }
    return least;
}

/* A hold that its owner was told to be lost, and that the server still has, bars the
 * owner like any other hold. */
static bool is_own(const struct hold *hold, const struct ask *ask)
{
    return text_is(hold->owner, ask->owner) && hold->tally > 0 && !hold->lost.line;
}

static bool bars(const struct hold *hold, const struct ask *ask)
{
    return !is_own(hold, ask) &&
           (hold->class != CLASS_READ || ask->class != CLASS_READ ||
            text_is(hold->owner, ask->owner));
}

/* The part of a call of a set may wait as long as the call does. */
static bool may_wait(const struct ask *ask)
{
    return ask->wait_ms != 0 || ask->is_part;
}

/* Its client waits for the lock already, or its owner has a call on it: calls of one
 * owner are sent one after the other. */
bool cause_is_behind_another(const struct ask *ask)
{
    for (const struct ask *a = ask->lock_prev; a; a = a->lock_prev)
        if (text_is(a->owner, ask->owner) ||
            (a->client == ask->client && a->op == HISTORY_OP_ACQUIRE &&
             may_wait(a) && may_wait(ask)))
            return true;
    return false;
}

static bool has_no_permit(const struct lock *lock, uint32_t server)
{
    int64_t left = state_number_at(lock, server);

    for (struct hold *hold = lock->holds; hold; hold = hold->next)
        left -= left > 0 && state_record(hold, server, false);
    return left <= 0;
}

/* Is another one the first in the server's queue? */
static bool is_queued_behind(const struct ask *ask, uint32_t server)
{
    for (const struct head *head = ask->lock->heads; head; head = head->next)
        if (head->server == server && head->hold.len > 0)
            return ask->is_fair && !text_is(head->hold, ask->place);
    return false;
}

static bool is_barred_at(const struct judge *j, const struct ask *ask, uint32_t server)
{
    if (count_is_of(ask))
        return !count_is_free_at(j, ask, server);
    if (ask->class == CLASS_PERMIT)
        return has_no_permit(ask->lock, server);
    if (is_queued_behind(ask, server))
        return true;
    for (struct hold *hold = ask->lock->holds; hold; hold = hold->next)
        if (state_record(hold, server, false) && bars(hold, ask))
            return true;
    return false;
}

/* An extension is of a hold of its own owner. */
static bool is_meant(const struct ask *ask, const struct hold *hold)
{
    return state_is_named(ask, hold) &&
           (ask->op != HISTORY_OP_EXTEND || text_is(hold->owner, ask->owner));
}

/* Of a forced release or a renewal: does the server not have the hold that it is to free
 * or renew? A permit that has lapsed is not held any more. */
static bool is_apart_at(const struct judge *j, const struct ask *ask, uint32_t server)
{
    for (struct hold *hold = ask->lock->holds; hold; hold = hold->next) {
        const struct record *r = state_record(hold, server, false);

        if (r && hold->class == ask->class && is_meant(ask, hold) &&
            (hold->class != CLASS_PERMIT || r->until_us > j->now.us))
            return false;
    }
    return true;
}

/* Of a renewal: does the server have the hold that it names, be it a permit that has
 * lapsed? And until when? */
static void find_at(struct ask *ask, uint32_t server)
{
    for (struct hold *hold = ask->lock->holds; hold; hold = hold->next) {
        const struct record *r = state_record(hold, server, false);

        if (hold->class != ask->class || !is_meant(ask, hold) || !r)
            continue;
        ask->was_found = true;
        if (r->until_us > ask->lasted_until_us)
            ask->lasted_until_us = r->until_us;
    }
}

/* Then the server refuses it with HF_E_SERVER. */
static bool is_of_another_kind_at(const struct ask *ask, uint32_t server)
{
    int64_t count = 0;
    bool is_other = false;

    for (struct hold *hold = ask->lock->holds; hold; hold = hold->next)
        if (state_record(hold, server, false)) {
            count++;
            is_other = is_other || hold->class != ask->class;
        }
    return is_other || (ask->class != CLASS_PERMIT && count > 1);
}

void cause_begin(struct judge *j, struct ask *ask)
{
    if (ask->op == HISTORY_OP_CLOSE || ask->op == HISTORY_OP_FREE)
        state_client(j, ask->client)->ending = j->now;
    j->has_forces = j->has_forces || ask->op == HISTORY_OP_FORCE;
    for (const struct ask *a = ask->lock_prev; a; a = a->lock_prev)
        if (a->client == ask->client && a->op == HISTORY_OP_ACQUIRE && a->was_barred)
            ask->hears_of_bar = true;
    cause_look(j, ask);
    sight_begin(j, ask);
}

static void look_at(const struct judge *j, struct ask *ask, uint32_t server)
{
    if (ask->op == HISTORY_OP_ACQUIRE) {
        ask->was_barred = ask->was_barred || is_barred_at(j, ask, server);
    } else {
        ask->was_apart = ask->was_apart || is_apart_at(j, ask, server);
        find_at(ask, server);
        ask->was_barred = ask->was_barred || is_of_another_kind_at(ask, server);
    }
}

/* Must it find the hold, and make it last? */
static bool is_renewal(const struct ask *ask)
{
    return ask->op == HISTORY_OP_RENEW || ask->op == HISTORY_OP_EXTEND;
}

/* Nothing that it meets from now on can change what is known of it. */
static bool is_settled(const struct ask *ask)
{
    return ask->was_barred && !is_renewal(ask) &&
           (ask->op == HISTORY_OP_ACQUIRE || (ask->was_apart && ask->was_found));
}

/* A forced release may name one. */
static bool names_a_hold(const struct ask *ask)
{
    return ask->op == HISTORY_OP_FORCE || ask->op == HISTORY_OP_RENEW;
}

void cause_look(const struct judge *j, struct ask *ask)
{
    if (!ask->lock || is_settled(ask) ||
        (ask->op != HISTORY_OP_ACQUIRE && !names_a_hold(ask) && !is_renewal(ask)))
        return;
    if (ask->op == HISTORY_OP_ACQUIRE && cause_is_behind_another(ask))
        ask->was_barred = true;
    for (uint32_t server = 0; server < j->servers_room && !is_settled(ask); server++)
        if (state_answers(j, ask->lock, server))
            look_at(j, ask, server);
}

void cause_looks(const struct judge *j, struct lock *lock)
{
    for (struct ask *ask = lock->asks; ask; ask = ask->lock_next)
        cause_look(j, ask);
}

/* ---- P12a: calls that fail ---- */

void cause_fail_call(struct judge *j, const struct ask *ask,
                      const struct history_event *e, const char *why)
{
    struct judge_violation *v = violate(j, 12, j->now.us);

    say(v, "call %" PRId64 " of client c%u, begun at %s, ends with ",
        ask->call, (unsigned)ask->client, when(ask->asked.us));
    say_words(v, word(e->status));
    say(v, ", ");
    say_words(v, why);
    show(v, ask->asked);
    show(v, j->now);
}

static bool is_fault_free(const struct judge *j, const struct ask *ask)
{
    return !ask->clock.line && ask->lock &&
           !cause_is_touched(j, ask->client, ask->lock, ask->asked.us);
}

/* The time from its first request to the end of its wait: earlier calls of its owner are
 * sent, and answered, first. */
static int64_t left_us(const struct ask *ask)
{
    int64_t sent_us = ask->behind.line ? ask->behind.us : ask->asked.us;

    return ask->asked.us + ask->wait_ms * MS - sent_us;
}

static bool is_short_wait(const struct judge *j, const struct ask *ask)
{
    return ask->wait_ms > 0 && left_us(ask) <= cause_answer_us(j);
}

static bool is_short(const struct judge *j, const struct ask *ask)
{
    return ask->op == HISTORY_OP_ACQUIRE &&
           (is_short_wait(j, ask) ||
            (ask->lease_ms > 0 && ask->lease_ms <= 2 * j->header.answer_ms));
}

/* The client may have heard that the lock is held, by an answer to an earlier call, and
 * then has no time left to hear more. */
static bool has_heard_of_bar(const struct judge *j, const struct ask *ask)
{
    return ask->hears_of_bar && is_short_wait(j, ask);
}

static void end_timeout(struct judge *j, const struct ask *ask,
                        const struct history_event *e)
{
    int64_t waited_us = j->now.us - ask->asked.us;

    if (ask->op != HISTORY_OP_ACQUIRE || ask->wait_ms == HISTORY_NONE)
        return;
    if ((ask->wait_ms < 0 && j->header.cause_ms != HISTORY_NONE) ||
        (ask->wait_ms > 0 && waited_us < cause_least_us(j, ask->wait_ms) && !ask->clock.line))
        cause_fail_call(j, ask, e, "earlier than the time that it is to wait");
    else if (cause_is_judged(j) && !ask->was_barred &&
             !has_heard_of_bar(j, ask) && cause_is_wanted(j, ask->class) &&
             !(ask->wait_ms != 0 && !is_fault_free(j, ask)))
        cause_fail_call(j, ask, e, "while nothing kept it from the lock");
}

bool cause_has_other_hold(const struct ask *ask)
{
    bool reenters = ask->kind == HISTORY_KIND_PLAIN ||
                    ask->kind == HISTORY_KIND_FENCED ||
                    ask->kind == HISTORY_KIND_READ ||
                    ask->kind == HISTORY_KIND_WRITE;

    for (const struct hold *h = ask->lock->holds; h; h = h->next)
        if (text_is(h->owner, ask->owner) && (!reenters || h->kind != ask->kind))
            return true;
    for (const struct ask *a = ask->lock->asks; a; a = a->lock_next)
        if (a != ask && text_is(a->owner, ask->owner) &&
            (!reenters || a->kind != ask->kind))
            return true;
    return false;
}

/* An owner that has begun its last release is told of no loss: the calls that follow
 * report it. */
bool cause_has_lost(const struct ask *ask)
{
    for (const struct hold *h = ask->lock->holds; h; h = h->next)
        if (text_is(h->owner, ask->owner) && (h->lost.line || h->taken.line))
            return true;
    return false;
}

static struct hold *hold_of_release(const struct ask *ask)
{
    return state_hold(ask->lock, ask->class, ask->owner, ask->name, false);
}

static void end_lost(struct judge *j, const struct ask *ask,
                     const struct history_event *e)
{
    const struct hold *hold = hold_of_release(ask);

    if (ask->op == HISTORY_OP_EXTEND && hold && hold->releasing > 0)
        return; /* its lease may have ended while the release waited for this call: no on_lost */
    if (cause_has_lost(ask) || !is_fault_free(j, ask) ||
        (hold && (hold->clock.line || hold->excuse.reason != EXCUSE_NONE ||
                  hold->granted_until_us <= j->now.us)))
        return;
    cause_fail_call(j, ask, e, "though its owner was told of no loss");
}

/* Is the hold that is to be extended not released meanwhile? A call that names none may be of
 * another kind of this lock. */
static bool is_kept_through(const struct ask *ask)
{
    const struct hold *hold = hold_of_release(ask);

    return hold && hold->releasing == 0 && (ask->name.len > 0 || hold->name.len == 0);
}

static void end_not_owner(struct judge *j, const struct ask *ask,
                          const struct history_event *e)
{
    const struct hold *hold;

    if (names_a_hold(ask)) {
        if (!ask->was_apart && is_fault_free(j, ask))
            cause_fail_call(j, ask, e, ask->name.len > 0
                                     ? "though the hold that it names was held all the time"
                                     : "though the lock was held all the time");
        return;
    }
    if (ask->op == HISTORY_OP_EXTEND ? !is_kept_through(ask)
                                     : ask->op != HISTORY_OP_RELEASE || count_is_of(ask))
        return;
    hold = hold_of_release(ask);
    if (hold && hold->tally > 0 && hold->tally >= hold->releasing)
        cause_fail_call(j, ask, e, "though its owner has acquired the lock");
}

static void end_error(struct judge *j, const struct ask *ask,
                      const struct history_event *e)
{
    if (!is_fault_free(j, ask) || is_short(j, ask) ||
        !cause_is_wanted(j, ask->class))
        return;
    if (text_is(e->status, history_text("HF_E_SERVER")) && ask->was_barred &&
        names_a_hold(ask))
        return;
    cause_fail_call(j, ask, e, "without a fault that touches it");
}

/* ---- P12f: what returns well, and has done nothing ---- */

static void end_forced(struct judge *j, const struct ask *ask,
                       const struct history_event *e)
{
    if (!ask->freed.line && !count_is_of(ask))
        cause_fail_call(j, ask, e, "and no server has freed a hold since");
}

void cause_released(struct judge *j, struct ask *ask, struct hold *hold)
{
    const struct record *record = state_held(j, hold);
    struct judge_violation *v;

    if (!record || record->is_peers || cause_least_count(j, hold) <= hold->tally ||
        !cause_is_wanted(j, hold->class) ||
        cause_has_call(hold) || cause_is_hold_touched(j, hold, ask->asked))
        return;
    v = violate(j, 12, j->now.us);
    say(v,
        "%s has released lock %s, %" PRId64 " acquisitions are left, but the "
        "server counts %" PRId64,
        word(hold->owner), word(hold->lock->name), hold->tally, record->count);
    show(v, ask->asked);
    show(v, record->last);
    show(v, j->now);
}

void cause_end_renewed(struct judge *j, const struct ask *ask, const struct history_event *e)
{
    if (!ask->was_found)
        cause_fail_call(j, ask, e, "and no server had the hold that it names");
    else if (ask->lasted_until_us < ask->asked.us + cause_least_us(j, ask->lease_ms))
        cause_fail_call(j, ask, e, "and the hold that it names did not last that long");
}

bool cause_is_renewed_by_name(const struct hold *hold)
{
    for (const struct ask *a = hold->lock->asks; a; a = a->lock_next)
        if (a->op == HISTORY_OP_RENEW && state_is_named(a, hold))
            return true;
    return hold->lock->unsure_renewal.line > 0;
}

bool cause_is_named_lease(const struct judge *j, const struct hold *hold,
                          const struct history_event *e)
{
    for (const struct ask *a = hold->lock->asks; a; a = a->lock_next) {
        int64_t ms = a->lease_ms < HISTORY_BOUND_MAX ? a->lease_ms : HISTORY_BOUND_MAX;
        int64_t off_us = e->until_us - j->now.us - ms * MS;

        if (e->by == HISTORY_BY_RENEW && a->op == HISTORY_OP_RENEW &&
            state_is_named(a, hold) &&
            (off_us < 0 ? -off_us : off_us) <= ms * MS - cause_least_us(j, ms))
            return true;
    }
    return false;
}

void cause_released_by_name(struct judge *j, const struct hold *hold)
{
    for (struct ask *a = hold->lock->asks; a; a = a->lock_next)
        if (a->op == HISTORY_OP_FORCE && a->name.len > 0 && state_is_named(a, hold))
            a->freed = j->now;
}

/* The read hold of an owner ends with its write hold. */
static bool ends_with(const struct hold *hold, const struct ask *ask)
{
    return hold->class == CLASS_READ && ask->class == CLASS_WRITE &&
           text_is(hold->owner, ask->owner);
}

void cause_forced(struct judge *j, const struct hold *hold, bool decides)
{
    struct moment named = hold->lock->unsure_force;
    struct judge_violation *v;

    for (struct ask *a = hold->lock->asks; a; a = a->lock_next)
        if (a->op == HISTORY_OP_FORCE && (state_is_named(a, hold) || ends_with(hold, a)))
            named = a->freed = j->now;
    if (named.line || !j->has_forces || !decides || state_is_set(j, hold->lock))
        return;
    v = violate(j, 12, j->now.us);
    say(v, "lock %s of %s is freed by force, which no call wants",
        word(hold->lock->name), word(hold->owner));
    show(v, j->now);
}

/* ---- the end of a call ---- */

void cause_cancel(struct judge *j, const struct history_event *e)
{
    struct ask *ask = state_ask(j, e->source.number, e->call);

    if (ask)
        ask->cancelled = j->now;
}

static void end_ok(struct judge *j, struct ask *ask,
                   const struct history_event *e)
{
    if (ask->op == HISTORY_OP_FORCE)
        end_forced(j, ask, e);
    else if (ask->op == HISTORY_OP_INSPECT || ask->op == HISTORY_OP_AVAILABLE)
        sight_end(j, ask, e);
    else if (is_renewal(ask))
        cause_end_renewed(j, ask, e);
}

static enum failure failure_of(struct history_text status)
{
    static const struct {
        const char *status;
        enum failure failure;
    } table[] = {{"OK", OK},
                 {"HF_OK", OK},
                 {"UNREPLICATED_HELD", OK},
                 {"HF_TIMEOUT", TIMED_OUT},
                 {"TIMEOUT", TIMED_OUT},
                 {"HF_CANCELLED", CANCELLED},
                 {"HF_LOST", IS_LOST},
                 {"HF_NOT_OWNER", NOT_OWNER},
                 {"HF_E_INVAL", INVALID},
                 {"HF_IN_USE", IN_USE},
                 {"HF_E_CLOSED", CLOSED},
                 {"HF_E_LIMIT", CLOSED},
                 {"HF_UNREPLICATED", UNREPLICATED}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (text_is(status, history_text(table[i].status)))
            return table[i].failure;
    return ERROR;
}

/* Does the client renew the hold that is to be extended, or may it? */
bool cause_is_renewed_anyway(const struct ask *ask)
{
    const struct hold *hold = hold_of_release(ask);

    return !hold || hold->is_watched || cause_has_call(hold);
}

/* Is HF_E_INVAL the right answer? */
static bool is_refused(const struct ask *ask)
{
    if (ask->op == HISTORY_OP_EXTEND)
        return cause_is_renewed_anyway(ask);
    return ask->op == HISTORY_OP_RENEW ? ask->lease_ms == 0
                                       : ask->op == HISTORY_OP_ACQUIRE && cause_has_other_hold(ask);
}

static void end_of_lock(struct judge *j, struct ask *ask,
                        const struct history_event *e, enum failure failure)
{
    switch (failure) {
    case OK: end_ok(j, ask, e); return;
    case TIMED_OUT: end_timeout(j, ask, e); return;
    case IS_LOST: end_lost(j, ask, e); return;
    case NOT_OWNER: end_not_owner(j, ask, e); return;
    case INVALID:
        if (!is_refused(ask))
            end_error(j, ask, e);
        return;
    case CANCELLED:
        if (!ask->cancelled.line && cause_is_judged(j))
            cause_fail_call(j, ask, e, "and nobody has cancelled it");
        return;
    case CLOSED:
        if (!cause_is_ending(j, ask->client))
            end_error(j, ask, e);
        return;
    case UNREPLICATED: return;
    case IN_USE:
        if (!ask->was_in_use && is_fault_free(j, ask))
            cause_fail_call(j, ask, e, "and no permit was in use");
        return;
    case ERROR: end_error(j, ask, e); return;
    }
}

static void note_behind(const struct judge *j, const struct ask *ended)
{
    for (struct ask *ask = ended->lock_next; ask; ask = ask->lock_next)
        if (text_is(ask->owner, ended->owner) ||
            (ask->client == ended->client && ended->op == HISTORY_OP_ACQUIRE))
            ask->behind = j->now;
    if (ended->op != HISTORY_OP_RELEASE)
        return;
    /* A call that waits is not sent while its owner, whom a later call granted the lock,
     * releases it. */
    for (struct ask *ask = ended->lock_prev; ask; ask = ask->lock_prev)
        if (text_is(ask->owner, ended->owner))
            ask->behind = j->now;
}

void cause_end(struct judge *j, struct ask *ask, const struct history_event *e)
{
    enum failure failure = failure_of(e->status);

    if (ask->is_whole)
        cause_end_whole(j, ask, e, failure);
    if (!ask->lock)
        return;
    cause_look(j, ask);
    if (!ask->is_whole && !(ask->is_part && cause_end_part(j, ask, failure)))
        end_of_lock(j, ask, e, failure);
    note_behind(j, ask);
    if (failure != OK && failure != NOT_OWNER)
        cause_dropped(j, ask);
}

void cause_dropped(const struct judge *j, const struct ask *ask)
{
    if (ask->lock && names_a_hold(ask))
        *(ask->op == HISTORY_OP_FORCE ? &ask->lock->unsure_force
                                      : &ask->lock->unsure_renewal) = j->now;
}
