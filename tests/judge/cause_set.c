/* P12 of calls of sets: a failure has its cause at one of the members. Rules: cause.h. */
#include "tests/judge/cause_inner.h"
#include "tests/judge/violation.h"

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
    const struct hold *hold = part->op != HISTORY_OP_ACQUIRE ? hold_of_part(part) : NULL;

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

static uint64_t place_of(const struct lock *member)
{
    return member->place < SET_MAX ? (uint64_t)1 << member->place : 0;
}

/* Adds the causes that the part has met to those of the call of the set. */
static void take_in(struct judge *j, struct ask *whole, struct ask *part)
{
    uint64_t place = place_of(part->lock);

    cause_look(j, part);
    whole->parts |= place;
    if (part->clock.line ||
        cause_is_touched(j, part->client, part->lock, whole->asked.us)) {
        whole->has_touched = true;
        whole->touched |= place;
    }
    if (part->was_barred) {
        whole->was_barred = true;
        whole->barred |= place;
    }
    if (has_ended(j, part)) {
        whole->has_lost = true;
        whole->gone |= place;
    }
    whole->hears_of_bar = whole->hears_of_bar || part->hears_of_bar;
    if (part->clock.line)
        whole->clock = part->clock;
    whole->has_refused = whole->has_refused ||
                         (part->op == HISTORY_OP_EXTEND ? cause_is_renewed_anyway(part)
                                                        : cause_has_other_hold(part));
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

/* ---- members of a quorum ---- */

typedef uint64_t look(const struct judge *j, const struct lock *member, const void *of);

/* Which members `is` so; and how many there are. */
static uint64_t members_that(const struct judge *j, const struct lock *set, look *is,
                             const void *of, size_t *count)
{
    uint64_t members = 0;

    *count = 0;
    for (size_t i = 0; i < j->locks_room; i++)
        for (const struct lock *lock = j->locks[i]; lock; lock = lock->chain)
            if (text_is(lock->set, set->name)) {
                (*count)++;
                members |= is(j, lock, of);
            }
    return members;
}

/* Without these members, are the others no majority? */
static bool leaves_no_majority(uint64_t members, size_t count)
{
    size_t without = 0;

    for (; members; members &= members - 1)
        without++;
    return count > SET_MAX || 2 * (count - without) <= count;
}

struct since {
    uint32_t client;
    int64_t us;
};

static uint64_t touched_since(const struct judge *j, const struct lock *member,
                              const void *of)
{
    const struct since *since = of;

    return cause_is_touched(j, since->client, member, since->us) ? place_of(member) : 0;
}

static uint64_t any_member(const struct judge *j, const struct lock *member, const void *of)
{
    (void)j, (void)of;
    return place_of(member);
}

bool cause_is_majority_touched(const struct judge *j, uint32_t client,
                               const struct lock *set, int64_t since_us)
{
    struct since since = {client, since_us};
    size_t count;
    uint64_t touched = members_that(j, set, touched_since, &since, &count);

    return leaves_no_majority(touched, count);
}

/* ---- the end of the call ---- */

/* Of a quorum, the members that were lost explain it together with those that a fault touched. */
static bool is_touched(const struct judge *j, const struct ask *ask, uint64_t others)
{
    struct since since = {ask->client, ask->asked.us};
    uint64_t touched;
    size_t count;

    if (!ask->lock)
        return ask->has_touched || ask->clock.line;
    touched = ask->touched | members_that(j, ask->lock, touched_since, &since, &count);
    return ask->clock.line || (touched && leaves_no_majority(touched | others, count));
}

/* Members that the owner of a quorum does not have cannot confirm its release. */
static uint64_t apart(const struct judge *j, const struct ask *ask)
{
    size_t count;

    return members_that(j, ask->lock, any_member, NULL, &count) & ~ask->parts;
}

/* Members that explain the failure together with those that a fault touched. A member that the
 * release of a quorum finds to be gone counts as released. */
static uint64_t beside_faults(const struct judge *j, const struct ask *ask)
{
    if (ask->lock && ask->op == HISTORY_OP_RELEASE)
        return ask->barred | apart(j, ask);
    return ask->barred | ask->gone;
}

/* Something kept it from so many members, perhaps together with faults, that the others are no
 * majority. */
static bool is_barred(const struct judge *j, const struct ask *ask)
{
    struct since since = {ask->client, ask->asked.us};
    uint64_t touched;
    size_t count;

    if (!ask->lock || !ask->was_barred)
        return ask->was_barred;
    touched = ask->touched | members_that(j, ask->lock, touched_since, &since, &count);
    return leaves_no_majority(touched | ask->barred, count);
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
    else if (!is_barred(j, ask) && !(wait_ms != 0 && is_touched(j, ask, ask->barred)) &&
             !is_short_wait(j, ask) && !(ask->was_barred && is_short(j, ask)))
        cause_fail_call(j, ask, e, ask->lock ? "while nothing kept it from a majority"
                                             : "while nothing kept it from a member");
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
    if (ask->op == HISTORY_OP_EXTEND)
        return ask->has_refused || !hold || hold->is_watched;
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

static bool is_lost(const struct judge *j, const struct ask *ask)
{
    const struct hold *hold;

    if (!ask->lock)
        return ask->has_lost || is_touched(j, ask, 0);
    hold = state_hold(ask->lock, ask->class, ask->owner, ask->name, false);
    return cause_has_lost(ask) || is_touched(j, ask, ask->gone) ||
           (hold && (cause_is_majority_missing(j, hold) ||
                     (ask->op == HISTORY_OP_EXTEND && is_over(j, hold))));
}

/* Of an extension: members that the owner does not have cannot be extended. */
static bool lacks_members(const struct judge *j, const struct ask *ask)
{
    const struct hold *hold =
        ask->lock && ask->op == HISTORY_OP_EXTEND
            ? state_hold(ask->lock, ask->class, ask->owner, ask->name, false)
            : NULL;

    return hold && cause_is_majority_missing(j, hold);
}

static const char *why_not(const struct judge *j, const struct ask *ask,
                           enum failure failure)
{
    switch (failure) {
    case CANCELLED:
        return ask->cancelled.line ? NULL : "and nobody has cancelled it";
    case IS_LOST:
        return is_lost(j, ask) || is_whole_at_max(j, ask)
                   ? NULL
                   : ask->lock ? "though a majority was not lost" : "though no member was lost";
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
    if (is_touched(j, ask, beside_faults(j, ask)) || is_short(j, ask) || lacks_members(j, ask))
        return NULL;
    return ask->lock ? "without faults that touch so many members that the others are no majority"
                     : "without a fault that touches a member";
}

void cause_end_whole(struct judge *j, struct ask *ask, const struct history_event *e,
                     enum failure failure)
{
    const char *why;

    if (failure == OK && ask->op == HISTORY_OP_EXTEND && ask->lock) {
        cause_look(j, ask);
        cause_end_renewed(j, ask, e);
    }
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

static const struct hold *hold_of_member(const struct lock *member, const struct hold *whole)
{
    const struct hold *hold = NULL;

    for (const struct hold *h = member->holds; h; h = h->next)
        if (text_is(h->owner, whole->owner))
            hold = h;
    return hold;
}

/* Did the owner have that member, and has lost it, or may a fault explain that? One that the server
 * has granted again counts as missing until its owner is told (tally). */
static uint64_t is_missing(const struct judge *j, const struct lock *member, const void *of)
{
    const struct hold *whole = of, *hold = hold_of_member(member, whole);
    int64_t since_us = hold && hold->granted_by.line ? hold->granted_by.us
                                                     : whole->granted_by.us;

    return !hold || hold->tally == 0 || hold->lost.line || hold->taken.line ||
                   hold->excuse.reason != EXCUSE_NONE || !state_held(j, hold) ||
                   hold->clock.line ||
                   cause_is_touched(j, whole->client, member, since_us)
               ? place_of(member)
               : 0;
}

/* The last time at which a member that is missing now was certainly held, by the owner's
 * knowledge. */
static int64_t confirmed_us(const struct judge *j, const struct hold *whole)
{
    int64_t us = HISTORY_NEVER;

    for (size_t i = 0; i < j->locks_room; i++)
        for (const struct lock *lock = j->locks[i]; lock; lock = lock->chain) {
            const struct hold *hold = hold_of_member(lock, whole);

            if (!text_is(lock->set, whole->lock->name) || !is_missing(j, lock, whole))
                continue;
            if (!hold || cause_is_touched(j, whole->client, lock, hold->granted_by.us))
                return NEVER_YET;
            us = hold->granted_by.us < us ? hold->granted_by.us : us;
        }
    return us;
}

struct after {
    const struct hold *whole;
    int64_t us;
};

/* Was the owner granted it when it had the quorum already, and later than that? Another member
 * may have been missing before (docs/quorum.md: Loss by a server that forgot). */
static uint64_t is_late(const struct judge *j, const struct lock *member, const void *of)
{
    const struct after *after = of;
    const struct hold *hold = hold_of_member(member, after->whole);

    (void)j;
    return hold && hold->acquired.line > after->whole->acquired.line &&
                   hold->acquired.us >= after->us
               ? place_of(member)
               : 0;
}

bool cause_is_majority_missing(const struct judge *j, const struct hold *hold)
{
    struct after after = {hold, confirmed_us(j, hold)};
    size_t count;
    uint64_t missing = members_that(j, hold->lock, is_missing, hold, &count);

    if (after.us != NEVER_YET)
        after.us -= cause_answer_us(j);
    return hold->clock.line ||
           (missing && leaves_no_majority(
                           missing | members_that(j, hold->lock, is_late, &after, &count),
                           count));
}

bool cause_has_no_majority(const struct judge *j, const struct hold *hold)
{
    size_t count;
    uint64_t missing = members_that(j, hold->lock, is_missing, hold, &count);

    return missing && leaves_no_majority(missing, count);
}

static bool has_quorum(const struct ask *part, struct lock *set)
{
    const struct hold *whole =
        set ? state_hold(set, part->class, part->owner, part->name, false) : NULL;

    return whole && whole->tally > 0 && whole->releasing == 0 && !whole->lost.line &&
           whole->is_watched;
}

static bool is_free(const struct lock *lock)
{
    for (const struct hold *hold = lock->holds; hold; hold = hold->next)
        if (hold->records)
            return false;
    return true;
}

/* P12j */
void cause_look_at_missing(struct judge *j, const struct hold *hold)
{
    int64_t lease_us = hold->granted_until_us - hold->granted_by.us;
    int64_t since_us = j->now.us - lease_us - cause_answer_us(j);
    struct judge_violation *v;

    for (struct ask *a = j->asks; a; a = a->next) {
        if (!a->is_part || a->op != HISTORY_OP_ACQUIRE || a->is_reported ||
            a->client != hold->client || a->asked.us >= since_us ||
            a->lock->freed.us >= since_us || !text_is(a->owner, hold->owner) ||
            !text_is(a->set, hold->lock->set) || !is_free(a->lock) ||
            !has_quorum(a, state_lock(j, a->set, false)) ||
            cause_is_touched(j, a->client, a->lock, since_us))
            continue;
        a->is_reported = true;
        v = violate(j, 12, j->now.us);
        say(v, "%s has a quorum without member %s, which is free and is not requested again",
            word(a->owner), word(a->lock->name));
        show(v, a->asked);
        show(v, a->lock->freed);
        show(v, j->now);
    }
}

void cause_member_taken(struct judge *j, const struct hold *hold)
{
    for (struct ask *a = j->asks; a && hold->lock->set.len > 0; a = a->next)
        if (a->is_whole && text_is(a->set, hold->lock->set) && text_is(a->owner, hold->owner)) {
            a->has_lost = true;
            a->gone |= place_of(hold->lock);
        }
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
