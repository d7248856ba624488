/* P12 of holds: what explains a loss. Rules: cause.h. */
#include <inttypes.h>

#include "tests/judge/cause_inner.h"
#include "tests/judge/count.h"
#include "tests/judge/violation.h"
#include "tests/judge/watch.h"

#define MS 1000
#define MILLION 1000000

/* ---- holds ---- */

static void fail_hold(struct judge *j, struct hold *hold, const char *what)
{
    struct judge_violation *v;

    if (hold->is_reported || !cause_is_wanted(j, hold->class))
        return;
    hold->is_reported = true;
    v = violate(j, 12, j->now.us);
    say(v, "lock %s of %s ", word(hold->lock->name), word(hold->owner));
    say_words(v, what);
    say(v, ": it was granted at %s ", when(hold->granted_by.us));
    say(v, "until %s", when(hold->granted_until_us));
    show(v, hold->granted_by);
    show(v, hold->believed);
    show(v, hold->lost);
    show(v, j->now);
}

static int64_t granted_us(const struct hold *hold)
{
    return hold->granted_until_us - hold->granted_by.us;
}

/* Its client has it, and does not give it up. */
static bool is_kept(const struct hold *hold)
{
    return hold->tally > 0 && hold->releasing == 0 && !hold->lost.line &&
           hold->granted_by.line && hold->granted_until_us != HISTORY_NEVER;
}

/* Another lease may be in force, so that renewals leave no trace on the server. But the client
 * believes in them. */
static bool is_renewed_unseen(const struct judge *j, const struct hold *hold)
{
    return hold->has_several_leases && hold->until_us > j->now.us;
}

/* A fault that ended long before now explains no renewal that is missing still: the client
 * has had time to repeat it. */
static bool is_touched_lately(const struct judge *j, const struct hold *hold)
{
    struct moment since = hold->granted_by;

    if (since.us < j->now.us - cause_answer_us(j))
        since.us = j->now.us - cause_answer_us(j);
    return cause_is_hold_touched(j, hold, since);
}

/* P12c */
static void look_at_renewals(struct judge *j, struct hold *hold)
{
    int64_t since_us = j->now.us - hold->granted_by.us;
    const struct record *record = state_held(j, hold);

    if (is_kept(hold) && hold->is_watched && record && !record->is_peers &&
        record->until_us <= hold->granted_until_us &&
        since_us > granted_us(hold) / 2 + cause_answer_us(j) &&
        !cause_is_ending(j, hold->client) && !is_renewed_unseen(j, hold) &&
        !is_touched_lately(j, hold) &&
        !(hold->lock->is_set && cause_has_no_majority(j, hold)))
        fail_hold(j, hold, "is not renewed in time");
}

/* Is the server's end perhaps not that of the owner's last command? */
static bool has_several_leases(const struct hold *hold,
                               const struct history_event *e)
{
    if (e->by == HISTORY_BY_RENEW && cause_is_renewed_by_name(hold))
        return true;
    if (hold->class != CLASS_READ && hold->class != CLASS_WRITE)
        return false;
    for (struct hold *other = hold->lock->holds; other; other = other->next)
        if (other != hold && state_record(other, e->source.number, false))
            return true;
    return e->count > 1 || e->by == HISTORY_BY_RELEASE;
}

/* A renewal leaves an end that is later than its own, such as the end of a hold from before the
 * server's clock was set back. */
static bool is_in_force_already(const struct hold *hold, const struct history_event *e)
{
    return e->by == HISTORY_BY_RENEW && e->until_us == hold->last_until_us;
}

/* Until when its owner believes at least. Of several leases, the shortest may be the one
 * in force. */
static int64_t least_belief_us(const struct judge *j, const struct hold *hold,
                               const struct record *record)
{
    int64_t until = record->until_us < hold->granted_until_us ? record->until_us
                                                              : hold->granted_until_us;
    int64_t shortest_us = hold->granted_by.us + hold->lease_ms * MS;

    if (hold->lease_ms > 0 && shortest_us < until)
        until = shortest_us;
    return until - granted_us(hold) * (100 - j->header.belief) / 100 -
           cause_answer_us(j) - cause_slack_us(j);
}

/* P12d */
static void look_at_belief(struct judge *j, struct hold *hold)
{
    const struct record *record = state_held(j, hold);
    int64_t least;

    if (!is_kept(hold) || !j->has_beliefs || !record || record->is_peers ||
        hold->has_several_leases || hold->has_stray_lease || cause_has_call(hold) ||
        (hold->is_renewed && hold->lease_ms > 0))
        return;
    least = least_belief_us(j, hold, record);
    if (hold->until_us >= least || least <= j->now.us ||
        cause_is_hold_touched(j, hold, hold->granted_by) ||
        (hold->lock->is_set && cause_is_majority_missing(j, hold)))
        return;
    fail_hold(j, hold, "is believed in for much less than was granted");
}

static int64_t max_due_us(const struct judge *j, const struct hold *hold)
{
    return hold->max_until_us +
           (hold->max_until_us - hold->granted.us) / MILLION * j->header.ppm +
           cause_answer_us(j) + cause_slack_us(j);
}

static bool has_max(const struct hold *hold)
{
    return hold->tally > 0 && hold->max_until_us > 0 &&
           hold->max_until_us != HISTORY_NEVER;
}

/* P12e */
static void look_at_max(struct judge *j, struct hold *hold)
{
    if (has_max(hold) && is_kept(hold) && j->now.us > max_due_us(j, hold) &&
        cause_is_judged(j) &&
        !cause_is_hold_touched(j, hold, (struct moment){hold->max_until_us, 1}))
        fail_hold(j, hold, "is held for longer than its max_hold");
}

/* What is late is seen at the next line about the hold. */
static void look_at(struct judge *j, struct hold *hold)
{
    look_at_renewals(j, hold);
    if (j->now.us >= hold->granted_by.us + cause_answer_us(j))
        look_at_belief(j, hold);
    look_at_max(j, hold);
}

void cause_rest(struct judge *j, struct hold *hold)
{
    look_at(j, hold);
}

/* Its client reads the TTL at the new master. If that and a call cross on two connections, the client
 * reads it again before it believes in the longer time. */
static bool has_changed_masters(const struct judge *j, const struct hold *hold)
{
    for (const struct record *r = hold->records; r; r = r->next)
        if (j->servers[r->server].replaced.line)
            return true;
    return false;
}

void cause_believes(struct judge *j, struct hold *hold)
{
    j->has_beliefs = true;
    if (hold->until_us > j->now.us && !hold->lock->is_set && !has_changed_masters(j, hold))
        look_at_belief(j, hold);
}

void cause_granted(struct judge *j, struct hold *hold,
                   const struct history_event *e, bool was_held)
{
    if (!state_decides(j, e->source.number))
        return;
    if (was_held && e->until_us < hold->last_until_us)
        hold->shortened = j->now;
    if (e->by != HISTORY_BY_ACQUIRE && e->by != HISTORY_BY_RENEW &&
        e->by != HISTORY_BY_RELEASE)
        return;
    if (was_held)
        look_at(j, hold);
    if (e->by == HISTORY_BY_RENEW && hold->lost.line && !hold->is_lost_with_set &&
        !hold->lock->is_set && hold->tally > 0 &&
        j->now.us > hold->lost.us + cause_answer_us(j) &&
        !cause_is_renewed_by_name(hold) &&
        !cause_is_hold_touched(j, hold, hold->lost))
        fail_hold(j, hold, "is renewed after it was told to be lost");
    if (e->by == HISTORY_BY_RENEW && was_held && hold->lock->at_server)
        cause_look_at_missing(j, hold);
    hold->granted_by = j->now;
    hold->granted_until_us = e->until_us;
    hold->has_several_leases =
        has_several_leases(hold, e) || (was_held && is_in_force_already(hold, e));
}

void cause_ended_well(struct judge *j, struct ask *ask, struct hold *hold)
{
    bool has_lease = ask->lease_ms != HISTORY_NONE && ask->lease_ms > 0;
    int64_t since_us = ask->is_part ? hold->granted.us : j->now.us;
    bool may_be_before = hold->lock->is_set || hold->granted.us < ask->asked.us;
    int64_t least_us = may_be_before ? ask->asked.us : hold->granted.us;

    if (hold->tally == 1) {
        hold->is_reported = false;
        hold->lease_ms = 0;
        hold->kind = ask->kind;
        hold->acquired = j->now;
        hold->is_of_set = ask->is_part;
        hold->max_until_us =
            ask->max_hold_ms > 0 ? since_us + ask->max_hold_ms * MS
                                 : HISTORY_NEVER;
        hold->max_early_us = ask->max_hold_ms > 0
                                 ? least_us + ask->max_hold_ms * MS
                                 : HISTORY_NEVER;
    }
    hold->is_watched =
        (hold->tally > 1 && hold->is_watched) || ask->lease_ms == 0;
    hold->has_lease = (hold->tally > 1 && hold->has_lease) || has_lease;
    hold->has_stray_lease =
        hold->has_stray_lease ||
        (has_lease && cause_is_touched(j, ask->client, ask->lock, ask->asked.us));
    if (has_lease && (hold->lease_ms == 0 || ask->lease_ms < hold->lease_ms))
        hold->lease_ms = ask->lease_ms;
}

/* ---- P12b: losses ---- */

static bool is_over(const struct judge *j, const struct hold *hold)
{
    int64_t early_us = hold->has_lease ? MS : granted_us(hold) / 10;

    return !hold->is_watched &&
           j->now.us >= hold->until_us - cause_slack_us(j) - early_us;
}

static bool is_short_lease(const struct judge *j, int64_t lease_ms)
{
    return lease_ms > 0 && lease_ms <= 2 * j->header.answer_ms;
}

/* Also one that a call under way may have brought about. */
static bool has_short_lease(const struct judge *j, const struct hold *hold)
{
    for (const struct ask *a = hold->lock->asks; a; a = a->lock_next)
        if (a->op == HISTORY_OP_ACQUIRE && text_is(a->owner, hold->owner) &&
            is_short_lease(j, a->lease_ms))
            return true;
    return is_short_lease(j, hold->lease_ms);
}

bool cause_is_max_over(const struct judge *j, const struct hold *hold)
{
    /* A set may have been granted again since. */
    int64_t from_us = hold->lock->is_set ? hold->acquired.us : hold->granted.us;
    int64_t span_ms = (hold->max_early_us - from_us) / MS;

    return has_max(hold) &&
           j->now.us >= from_us + cause_least_us(j, span_ms) - cause_answer_us(j);
}

/* A server that may have answered does not have it, and it has not just expired; or
 * another owner has the lock. */
static bool is_taken(const struct judge *j, const struct hold *hold)
{
    if ((!state_held(j, hold) || cause_least_count(j, hold) == 0) &&
        hold->granted_until_us > j->now.us)
        return true;
    for (const struct hold *h = hold->lock->holds; h; h = h->next)
        if (h != hold && cause_is_at_a_server(j, h) && hold->class != CLASS_PERMIT &&
            (hold->class != CLASS_READ || h->class != CLASS_READ))
            return true;
    return false;
}

/* Its client may have said already that it believes nothing. */
void cause_lost(struct judge *j, struct hold *hold, bool is_with_set)
{
    hold->is_lost_with_set = is_with_set;
    look_at_renewals(j, hold);
    hold->is_at_max = has_max(hold) && !hold->is_of_set &&
                      !hold->lock->is_set && j->now.us >= hold->max_until_us &&
                      !cause_is_ending(j, hold->client) &&
                      hold->granted_until_us > j->now.us + cause_answer_us(j);
    if (is_with_set && cause_is_judged(j) && cause_is_lost_with_set(j, hold))
        return;
    if (hold->tally == 0 || !cause_is_judged(j) ||
        cause_is_ending(j, hold->client) || is_taken(j, hold) || is_over(j, hold) ||
        has_short_lease(j, hold) || cause_is_max_over(j, hold) ||
        (hold->lock->is_set ? cause_is_majority_missing(j, hold)
                            : is_touched_lately(j, hold)))
        return;
    fail_hold(j, hold, "is told to be lost without a cause");
}

/* Its client ended before the release at its max_hold had to be executed. */
static bool has_died_meanwhile(const struct judge *j, const struct hold *hold)
{
    return hold->died.line > hold->lost.line &&
           hold->died.us <= hold->lost.us + cause_answer_us(j);
}

void cause_freed(struct judge *j, struct hold *hold,
                 const struct history_event *e)
{
    if (e->why != HISTORY_WHY_RELEASED)
        cause_member_taken(j, hold);
    if (e->why == HISTORY_WHY_FORCED)
        cause_forced(j, hold, state_decides(j, e->source.number));
    else if (e->why == HISTORY_WHY_RELEASED)
        cause_released_by_name(j, hold);
    if (!state_decides(j, e->source.number) || e->why != HISTORY_WHY_EXPIRED)
        return;
    look_at(j, hold);
    if (hold->lost.line && hold->is_at_max &&
        j->now.us > hold->lost.us + cause_answer_us(j) &&
        !has_died_meanwhile(j, hold) &&
        !cause_is_hold_touched(j, hold, hold->lost))
        fail_hold(j, hold, "is left to expire after its max_hold");
}

/* ---- P12h, P12i: waiters ---- */

static const struct ask *ask_of(const struct hold *hold)
{
    for (const struct ask *a = hold->lock->asks; a; a = a->lock_next)
        if (a->op == HISTORY_OP_ACQUIRE && text_is(a->owner, hold->owner))
            return a;
    return NULL;
}

static bool is_passed(const struct judge *j, const struct ask *ask,
                      const struct ask *granted)
{
    return ask->op == HISTORY_OP_ACQUIRE && ask->wait_ms != 0 &&
           !ask->is_fair && ask->class != CLASS_READ && !count_is_of(ask) &&
           ask->asked.line < granted->asked.line && !cause_is_behind_another(ask) &&
           !cause_is_touched(j, ask->client, ask->lock, ask->asked.us);
}

void cause_passed(struct judge *j, struct hold *hold)
{
    const struct ask *granted = ask_of(hold);
    struct judge_violation *v;

    if (!granted || hold->class == CLASS_READ)
        return;
    for (struct ask *a = hold->lock->asks; a; a = a->lock_next) {
        if (!is_passed(j, a, granted) || ++a->passed != j->header.passed)
            continue;
        v = violate(j, 12, j->now.us);
        say(v, "%s waits for lock %s, which %" PRId64
               " later calls were granted before it",
            word(a->owner), word(hold->lock->name), a->passed);
        show(v, a->asked);
        show(v, j->now);
    }
}

bool cause_has_shortened(const struct judge *j, const struct lock *lock)
{
    int64_t since_us = j->now.us - watch_look_ms(j) * MS;

    for (const struct hold *hold = lock->holds; hold; hold = hold->next)
        if (hold->shortened.line && hold->shortened.us >= since_us)
            return true;
    return false;
}
