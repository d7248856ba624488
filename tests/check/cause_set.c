/* P12 of calls of sets: a failure has its cause at one of the members. Rules: cause.h. */
#include "tests/check/cause_inner.h"

#define MS 1000

static bool is_part_of(const struct ask *part, const struct ask *whole)
{
    return part->is_part && part->client == whole->client && part->op == whole->op &&
           text_is(part->owner, whole->owner) && text_is(part->set, whole->set);
}

static struct ask *whole_of(const struct judge *j, const struct ask *part)
{
    for (struct ask *a = j->asks; a; a = a->next)
        if (a->is_whole && is_part_of(part, a))
            return a;
    return NULL;
}

static struct hold *hold_of_part(const struct ask *part)
{
    return state_hold(part->lock, part->class, part->owner, part->name, false);
}

/* Has its lease ended, less the tenth that P12b allows, or its max_hold? */
static bool is_over(const struct judge *j, const struct hold *hold)
{
    return j->now.us >= hold->granted_until_us -
                            (hold->granted_until_us - hold->granted_by.us) / 10 ||
           (hold->max_until_us > 0 && j->now.us >= hold->max_until_us - cause_answer_us(j));
}

/* Has the hold that the part releases been lost, or has it expired? */
static bool has_ended(const struct judge *j, const struct ask *part)
{
    const struct hold *hold =
        part->op == HISTORY_OP_RELEASE ? hold_of_part(part) : NULL;

    return cause_has_lost(part) ||
           (hold && (hold->clock.line || hold->excuse.reason != EXCUSE_NONE ||
                     is_over(j, hold)));
}

static bool is_held(const struct ask *part)
{
    const struct hold *hold =
        part->op == HISTORY_OP_RELEASE ? hold_of_part(part) : NULL;

    return hold && hold->tally > 0 && hold->tally >= hold->releasing;
}

/* Adds the causes that the part has met to those of the call of the set. */
static void take_in(struct judge *j, struct ask *whole, struct ask *part)
{
    cause_look(j, part);
    whole->was_barred = whole->was_barred || part->was_barred;
    whole->hears_of_bar = whole->hears_of_bar || part->hears_of_bar;
    whole->has_touched =
        whole->has_touched || part->clock.line ||
        cause_is_touched(j, part->client, part->lock, whole->asked.us);
    if (part->clock.line)
        whole->clock = part->clock;
    whole->has_lost = whole->has_lost || has_ended(j, part);
    whole->has_refused = whole->has_refused || cause_has_other_hold(part);
    whole->has_held = whole->has_held || is_held(part);
}

bool cause_end_part(struct judge *j, struct ask *part, enum failure failure)
{
    struct ask *whole = whole_of(j, part);

    if (!whole)
        return false;
    take_in(j, whole, part);
    return failure != OK;
}

/* ---- the end of the call ---- */

static bool is_touched(const struct judge *j, const struct ask *ask)
{
    return ask->has_touched || ask->clock.line ||
           (ask->lock && cause_is_touched(j, ask->client, ask->lock, ask->asked.us));
}

static bool is_short_wait(const struct judge *j, const struct ask *ask)
{
    return ask->set_wait_ms > 0 && ask->set_wait_ms * MS <= cause_answer_us(j);
}

/* The max_hold of a member may have passed while the call waited for other members. */
static bool is_max_over(const struct judge *j, const struct ask *ask)
{
    return ask->max_hold_ms > 0 &&
           j->now.us - ask->asked.us >= cause_least_us(j, ask->max_hold_ms);
}

static bool is_short(const struct judge *j, const struct ask *ask)
{
    return ask->op == HISTORY_OP_ACQUIRE &&
           (is_short_wait(j, ask) || is_max_over(j, ask) ||
            (ask->lease_ms > 0 && ask->lease_ms <= 2 * j->header.answer_ms));
}

static void end_timeout(struct judge *j, const struct ask *ask,
                        const struct history_event *e)
{
    int64_t waited_us = j->now.us - ask->asked.us, wait_ms = ask->set_wait_ms;

    if (ask->op != HISTORY_OP_ACQUIRE || wait_ms == HISTORY_NONE)
        return;
    if (wait_ms < 0 || (waited_us < cause_least_us(j, wait_ms) && !ask->clock.line))
        cause_fail_call(j, ask, e, "earlier than the time that it is to wait");
    else if (!ask->was_barred && !(wait_ms != 0 && is_touched(j, ask)) &&
             !is_short_wait(j, ask))
        cause_fail_call(j, ask, e, "while nothing kept it from a member");
}

/* Is another call of its owner under way, or does the owner hold the set, which it cannot enter
 * again? */
static bool is_refused(const struct judge *j, const struct ask *ask)
{
    const struct hold *hold =
        ask->lock ? state_hold(ask->lock, ask->class, ask->owner, ask->name, false) : NULL;

    for (const struct ask *a = j->asks; a; a = a->next)
        if (a != ask && a->is_whole && a->client == ask->client &&
            text_is(a->owner, ask->owner) && text_is(a->set, ask->set))
            return true;
    return ask->op == HISTORY_OP_ACQUIRE &&
           (ask->has_refused || (hold && hold->tally > 0));
}

/* Each member's max_hold counts from the grant of that member. */
static bool is_whole_at_max(const struct judge *j, const struct ask *ask)
{
    const struct hold *hold =
        ask->lock ? state_hold(ask->lock, ask->class, ask->owner, ask->name, false) : NULL;

    return ask->op == HISTORY_OP_RELEASE && hold && cause_is_max_over(j, hold);
}

static const char *why_not(const struct judge *j, const struct ask *ask,
                           enum failure failure)
{
    switch (failure) {
    case CANCELLED:
        return ask->cancelled.line ? NULL : "and nobody has cancelled it";
    case IS_LOST:
        return ask->has_lost || is_touched(j, ask) || (ask->lock && cause_has_lost(ask)) ||
                       is_whole_at_max(j, ask)
                   ? NULL
                   : "though no member was lost";
    case NOT_OWNER:
        return ask->has_held ? "though its owner has acquired the set" : NULL;
    case INVALID:
        return is_refused(j, ask) ? NULL : "though nothing of its owner is in the way";
    case CLOSED:
    case ERROR: /* HF_E_QUORUM of a client that closes */
        if (cause_is_ending(j, ask->client))
            return NULL;
        break;
    default:
        return NULL;
    }
    return is_touched(j, ask) || is_short(j, ask) ? NULL
                                                  : "without a fault that touches a member";
}

void cause_end_whole(struct judge *j, struct ask *ask, const struct history_event *e,
                     enum failure failure)
{
    const char *why;

    if (failure == OK || !cause_is_judged(j))
        return;
    for (struct ask *a = j->asks; a; a = a->next)
        if (is_part_of(a, ask))
            take_in(j, ask, a);
    if (ask->lock)
        cause_look(j, ask);
    if (failure == TIMED_OUT)
        end_timeout(j, ask, e);
    else if ((why = why_not(j, ask, failure)))
        cause_fail_call(j, ask, e, why);
}

/* ---- losses ---- */

static bool is_lost_now(const struct judge *j, const struct hold *hold)
{
    return hold->lost.line && hold->lost.us == j->now.us && !hold->is_lost_with_set;
}

bool cause_is_lost_with_set(const struct judge *j, const struct hold *hold)
{
    for (size_t i = 0; i < j->locks_room; i++)
        for (const struct lock *lock = j->locks[i]; lock; lock = lock->chain)
            for (const struct hold *h = lock->holds; h; h = h->next)
                if (h != hold && h->client == hold->client &&
                    text_is(h->owner, hold->owner) &&
                    (is_lost_now(j, h) || (text_is(lock->name, hold->lock->set) &&
                                           cause_is_max_over(j, h))))
                    return true;
    return false;
}

/* Did the owner have that member, and has lost it? */
static bool is_missing(const struct judge *j, const struct lock *member,
                       const struct hold *whole)
{
    for (const struct hold *h = member->holds; h; h = h->next)
        if (text_is(h->owner, whole->owner))
            return h->lost.line || h->taken.line || h->excuse.reason != EXCUSE_NONE ||
                   !state_held(j, h);
    return false;
}

bool cause_is_member_missing(const struct judge *j, const struct hold *hold)
{
    for (size_t i = 0; i < j->locks_room && hold->lock->is_set; i++)
        for (const struct lock *lock = j->locks[i]; lock; lock = lock->chain)
            if (text_is(lock->set, hold->lock->name) && is_missing(j, lock, hold))
                return true;
    return false;
}

void cause_member_taken(struct judge *j, const struct hold *hold)
{
    for (struct ask *a = j->asks; a && hold->lock->set.len > 0; a = a->next)
        if (a->is_whole && text_is(a->set, hold->lock->set) && text_is(a->owner, hold->owner))
            a->has_lost = true;
}

enum part { APART, HELD, TAKEN };

static enum part part_of(const struct judge *j, const struct lock *member,
                         const struct hold *whole)
{
    enum part part = APART;

    for (const struct hold *h = member->holds; h; h = h->next) {
        if (!text_is(h->owner, whole->owner))
            continue;
        if (state_held(j, h))
            return HELD;
        if (h->taken.line || h->excuse.reason != EXCUSE_NONE)
            part = TAKEN;
    }
    return part;
}

bool cause_is_by_forgetting(const struct judge *j, const struct hold *hold)
{
    size_t members = 0, held = 0, taken = 0;

    for (size_t i = 0; i < j->locks_room && hold->lock->is_set; i++)
        for (const struct lock *lock = j->locks[i]; lock; lock = lock->chain)
            if (text_is(lock->set, hold->lock->name)) {
                enum part part = part_of(j, lock, hold);

                members++;
                held += part == HELD;
                taken += part == TAKEN;
            }
    return 2 * held <= members && 2 * (held + taken) > members;
}
