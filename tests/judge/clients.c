/* What the lines of clients change, and which properties are then looked at. */
#include <stdlib.h>
#include <string.h>

#include "tests/judge/cause.h"
#include "tests/judge/count.h"
#include "tests/judge/lines.h"
#include "tests/judge/properties.h"
#include "tests/judge/queue.h"
#include "tests/judge/watch.h"

#define MS 1000

/* ---- calls ---- */

enum outcome { DONE, LOST, NOTHING, UNKNOWN };

static enum outcome outcome_of(struct history_text status)
{
    static const struct {
        const char *status;
        enum outcome outcome;
    } table[] = {{"OK", DONE},
                 {"HF_OK", DONE},
                 {"UNREPLICATED_HELD", DONE},
                 {"HF_LOST", LOST},
                 {"HF_NOT_OWNER", NOTHING},
                 {"HF_E_LIMIT", NOTHING},
                 {"HF_E_INVAL", NOTHING},
                 {"HF_IN_USE", NOTHING},
                 {"HF_E_FORKED", NOTHING},
                 {"HF_E_CLOSED", NOTHING}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (text_is(status, history_text(table[i].status)))
            return table[i].outcome;
    return UNKNOWN;
}

static bool waits(const struct ask *ask)
{
    return ask->op == HISTORY_OP_ACQUIRE && ask->wait_ms != 0;
}

/* Behind another call of its client, which may sleep because nobody told it
 * that the lock is free? Those of one client may ask one after the other. */
static bool stands_in_line(const struct ask *ask)
{
    for (const struct ask *a = ask->lock->asks; a; a = a->lock_next)
        if (a != ask && a->client == ask->client && waits(a))
            return true;
    return false;
}

static void note_number(struct lock *lock, int64_t n)
{
    if (lock->set_most == 0 || n < lock->set_least)
        lock->set_least = n;
    if (n > lock->set_most)
        lock->set_most = n;
}

static void on_ask(struct judge *j, const struct history_event *e)
{
    struct ask *ask = state_ask(j, e->source.number, e->call);
    struct hold *hold;

    if (ask) /* its number is used again: the end is missing */
        state_ask_drop(j, ask);
    ask = state_ask_add(j, e);
    state_due(j, ask->due_us);
    cause_begin(j, ask);
    count_meet(j, ask);
    if (!ask->lock)
        return;
    if (ask->op == HISTORY_OP_SET)
        note_number(ask->lock, ask->n);
    note_rates(j, ask);
    if (ask->op == HISTORY_OP_ACQUIRE || ask->op == HISTORY_OP_TOKEN) {
        ask->token_before = ask->lock->told_token;
        ask->token_before_at = ask->lock->told_token_at;
    }
    if (ask->op == HISTORY_OP_ACQUIRE) {
        watch_ask(j, ask,
                  stands_in_line(ask) ? watch_look_ms(j) : j->header.wake_ms,
                  false);
    } else if (ask->op == HISTORY_OP_RELEASE && !count_is_of(ask)) {
        hold = state_hold(ask->lock, ask->class, ask->owner, ask->name, true);
        hold->client = ask->client;
        cause_rest(j, hold);
        hold->releasing++;
    }
}

static void end_granted(struct judge *j, struct ask *ask, struct hold *hold,
                        const struct history_event *e)
{
    j->stats.grants++;
    if (hold->tally++ == 0) {
        hold->lost.line = 0;
        hold->is_renewed = hold->has_stray_lease = false;
    }
    hold->client = ask->client;
    excuse_clock(hold, ask->clock);
    hold->is_renewed =
        hold->is_renewed || ask->lease_ms == HISTORY_NONE || ask->lease_ms == 0;
    cause_ended_well(j, ask, hold);
    p10_granted(j, ask, hold, e->master);
    hold->unsure.line = hold->died.line = 0;
    if (e->token != HISTORY_NONE && e->token != 0)
        p8_told(j, ask, hold, e->token);
    if (state_is_excused(hold))
        p2_taken_away(j, hold); /* while the answer was on its way */
}

static void end_acquire(struct judge *j, struct ask *ask,
                        const struct history_event *e)
{
    struct history_text owner = e->owner.at ? e->owner : ask->owner;
    struct history_text name = e->hold.at ? e->hold : ask->name;
    enum outcome outcome = outcome_of(e->status);
    struct hold *hold =
        state_hold(ask->lock, ask->class, owner, name, outcome == DONE);

    if (outcome == DONE) {
        end_granted(j, ask, hold, e);
        if (hold->taken.line < ask->asked.line)
            hold->taken.line = 0;
    } else if (hold && hold->tally > 0 && outcome == UNKNOWN) {
        hold->unsure = j->now;
        hold->has_stray_lease = hold->has_stray_lease || ask->lease_ms > 0;
    }
}

static void end_release(struct judge *j, struct ask *ask, enum outcome outcome)
{
    struct hold *hold =
        state_hold(ask->lock, ask->class, ask->owner, ask->name, false);

    if (!hold)
        return;
    if (hold->releasing > 0)
        hold->releasing--;
    if (outcome == NOTHING || hold->tally == 0)
        return;
    hold->unsure = outcome == UNKNOWN ? j->now : (struct moment){0, 0};
    if (--hold->tally > 0) {
        excuse_clock(hold, ask->clock);
    } else {
        state_unowe(j, hold);
        hold->released = outcome == DONE ? j->now : (struct moment){0, 0};
    }
    ask->op = HISTORY_NO_OP; /* it is under way no longer */
    if (outcome == DONE)
        cause_released(j, ask, hold);
}

static bool is_first_in_line(const struct ask *ask)
{
    for (const struct ask *a = ask->lock_prev; a; a = a->lock_prev)
        if (a->client == ask->client && waits(a))
            return false;
    return true;
}

/* Calls of one client stand in line: the next one has only now its turn. For one that was
 * behind the ended call alone, the lock is free only now; if the first in line stays,
 * that one has yet to look. */
static void move_up(struct judge *j, struct ask *ended)
{
    struct ask *ask = ended->lock_next;
    bool stood_in_line = waits(ended), was_first = is_first_in_line(ended);

    ended->op = HISTORY_NO_OP; /* nobody is behind it any more */
    for (; stood_in_line && ask; ask = ask->lock_next)
        if (ask->client == ended->client)
            watch_ask(j, ask,
                      was_first || ask->free_since.line ? j->header.wake_ms
                                                        : watch_look_ms(j),
                      true);
}

/* A client that is freed ends calls that it has sent. */
static bool was_not_sent(struct history_text status)
{
    return outcome_of(status) == NOTHING &&
           !text_is(status, history_text("HF_E_CLOSED"));
}

static void on_end(struct judge *j, const struct history_event *e)
{
    struct ask *ask = state_ask(j, e->source.number, e->call);
    struct lock *lock;

    if (!ask)
        return;
    cause_end(j, ask, e);
    if ((lock = ask->lock)) {
        if (count_is_named(ask))
            count_ended(j, ask, e, outcome_of(e->status) == DONE,
                        was_not_sent(e->status));
        else if (ask->op == HISTORY_OP_ACQUIRE)
            end_acquire(j, ask, e);
        else if (ask->op == HISTORY_OP_RELEASE)
            end_release(j, ask, outcome_of(e->status));
        else if (ask->op == HISTORY_OP_TOKEN && e->token != HISTORY_NONE)
            p8_latest(j, ask, e->token);
        move_up(j, ask);
    }
    state_ask_drop(j, ask);
    if (lock)
        state_tidy(j, lock);
}

/* ---- what clients believe ---- */

static void on_safe(struct judge *j, const struct history_event *e)
{
    struct hold *hold = hold_of(j, e);

    hold->client = e->source.number;
    p10_extended(j, hold, e->until_us);
    if (hold->until_us <= j->now.us)
        hold->believed_first = j->now;
    if (hold->tally == 0 || e->until_us > hold->greatest_until_us)
        hold->greatest_until_us = e->until_us;
    hold->until_us = e->until_us;
    hold->believed = j->now;
    excuse_clock(hold, clocks_apart(j, hold));
    if (hold->until_us > j->now.us) {
        p10_believed(j, hold);
        p1_one_believes(j, hold);
        cause_believes(j, hold);
    } else {
        hold->until_us = 0;
        state_tidy(j, hold->lock);
    }
}

/* The median needs them; the first LEADS_MAX will do. */
static void keep_lead(struct judge *j, int64_t lead_us)
{
    if (j->stats.leads >= LEADS_MAX)
        return;
    if (j->stats.leads == j->leads_room) {
        j->leads_room = j->leads_room ? 2 * j->leads_room : 64;
        j->leads = must_have(realloc(j->leads, j->leads_room * sizeof *j->leads));
    }
    j->leads[j->stats.leads] = lead_us;
}

static void note_lead(struct judge *j, int64_t lead_us)
{
    struct judge_stats *s = &j->stats;

    if (s->leads == 0 || lead_us < s->lead_least_us)
        s->lead_least_us = lead_us;
    if (s->leads == 0 || lead_us > s->lead_most_us)
        s->lead_most_us = lead_us;
    keep_lead(j, lead_us);
    s->leads++;
}

/* A client that was suspended when the hold ended could not be told before. */
static bool is_lead(struct judge *j, uint32_t client,
                    const struct record *record)
{
    return record && record->until_us != HISTORY_NEVER &&
           state_client(j, client)->went.us < record->until_us;
}

static void on_lost(struct judge *j, const struct history_event *e)
{
    struct hold *hold = hold_of(j, e);
    const struct record *record = state_held(j, hold);

    hold->client = e->source.number;
    cause_lost(j, hold, e->of.at != NULL);
    hold->lost = j->now;
    hold->greatest_until_us = 0;
    state_unowe(j, hold);
    j->stats.losses++;
    if (is_lead(j, e->source.number, record))
        note_lead(j, record->until_us - j->now.us);
    state_tidy(j, hold->lock);
}

static void on_count(struct judge *j, const struct history_event *e)
{
    struct hold *hold = hold_of(j, e);

    hold->client = e->source.number;
    hold->counted = e->n;
    hold->counted_at = j->now;
}

/* ---- processes ---- */

static void on_stop(struct judge *j, struct party *p)
{
    p->is_suspended = true;
    p->stopped = j->now;
    watch_all(j, p->source.number);
}

static int64_t time_stopped(const struct judge *j, const struct party *p,
                            struct moment since)
{
    return j->now.us - (since.us > p->stopped.us ? since.us : p->stopped.us);
}

static void on_go(struct judge *j, struct party *p)
{
    if (!p->is_suspended)
        return;
    p->is_suspended = false;
    p->went = j->now;
    for (struct ask *ask = j->asks; ask; ask = ask->next)
        if (ask->client == p->source.number && ask->due_us != HISTORY_NEVER)
            ask->due_us += time_stopped(j, p, ask->asked);
    for (struct hold *h = j->owed; h; h = h->owed_next)
        if (h->client == p->source.number) {
            int64_t soon = j->now.us + j->header.slack_ms * MS;

            if (h->owed_due_us != HISTORY_NEVER)
                h->owed_due_us += time_stopped(j, p, h->owed_since);
            if (h->owed_due_us < soon)
                h->owed_due_us = soon;
        }
    j->next_due_us = j->now.us; /* reckoned anew at the next line */
    watch_all(j, p->source.number);
}

static void on_gone(struct judge *j, struct hold *hold, const struct party *p)
{
    if (hold->client != p->source.number)
        return;
    hold->died = j->now;
    hold->tally = 0;
    hold->releasing = 0;
    hold->until_us = 0;
    state_unowe(j, hold);
    hold->counted = HISTORY_NONE;
}

/* It has died, or begins again. */
static void forget_client(struct judge *j, struct party *p)
{
    for (struct ask *ask = j->asks, *next; ask; ask = next) {
        struct lock *lock = ask->lock;

        next = ask->next;
        if (ask->client != p->source.number)
            continue;
        cause_dropped(j, ask);
        state_ask_drop(j, ask);
        if (lock)
            state_tidy(j, lock);
    }
    each_hold(j, on_gone, p);
    count_gone(j, p->source.number);
    state_gone(j, p);
    p->is_suspended = false;
    p->ending.line = 0;
}

static void on_start(struct judge *j, struct party *p,
                     const struct history_event *e)
{
    size_t len = e->id.len < sizeof p->id - 1 ? e->id.len : sizeof p->id - 1;

    forget_client(j, p);
    if (len > 0)
        memcpy(p->id, e->id.at, len);
    p->id[len] = '\0';
}

/* ---- a line ---- */

void on_client(struct judge *j, struct party *p, const struct history_event *e)
{
    switch (e->what) {
    case HISTORY_START:
        on_start(j, p, e);
        return;
    case HISTORY_ASK:
        on_ask(j, e);
        return;
    case HISTORY_END:
        on_end(j, e);
        return;
    case HISTORY_WAIT:
        on_wait(j, e);
        return;
    case HISTORY_CANCEL:
        cause_cancel(j, e);
        return;
    case HISTORY_SAFE:
        on_safe(j, e);
        return;
    case HISTORY_LOST:
        on_lost(j, e);
        return;
    case HISTORY_COUNT:
        on_count(j, e);
        return;
    case HISTORY_STOP:
        on_stop(j, p);
        return;
    case HISTORY_GO:
        on_go(j, p);
        return;
    case HISTORY_DIED:
        forget_client(j, p);
        return;
    case HISTORY_CLOCK:
        on_clock(j, p, e);
        return;
    default:
        return;
    }
}
