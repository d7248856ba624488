/* The second judge: slow and obvious. Rules: properties.h. */
#include "tests/judge/naive.h"

#include <string.h>

#define MS 1000

struct naive {
    const struct history_event *at;
    int count;
    const struct history_header *header;
    uint32_t broken;
};

/* What all lines up to one say of a hold. Lines are indexes; -1: none. */
struct view {
    bool is_held;
    int64_t count, until_us, last_until_us;
    bool is_shortened;
    bool is_peers;
    int granted, last_held, excuse;
    int64_t tally, releasing;
    bool is_renewed;
    int lost, released, unsure, died, counted;
    int64_t believes_us;
    int64_t told_token;
    uint32_t client;
};

static bool same(struct history_text a, struct history_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

static int class(const struct history_event *e)
{
    return e->kind == HISTORY_KIND_READ    ? 'r'
           : e->kind == HISTORY_KIND_WRITE ? 'w'
                                           : 'p';
}

static bool same_hold(const struct history_event *a,
                      const struct history_event *b)
{
    return a->lock.at && a->owner.at && b->lock.at && b->owner.at &&
           same(a->lock, b->lock) && same(a->owner, b->owner) &&
           class(a) == class(b);
}

static bool is(struct history_text text, const char *word)
{
    return same(text, history_text(word));
}

static bool is_done(const struct history_event *end)
{
    return is(end->status, "OK") || is(end->status, "HF_OK");
}

static bool is_nothing(const struct history_event *end)
{
    return is(end->status, "HF_NOT_OWNER") || is(end->status, "HF_E_LIMIT") ||
           is(end->status, "HF_E_FORKED") || is(end->status, "HF_E_CLOSED");
}

/* Does line k begin or end everything of that client? */
static bool is_new_life(const struct history_event *e, uint32_t client)
{
    return e->source.role == 'c' && e->source.number == client &&
           (e->what == HISTORY_DIED || e->what == HISTORY_START);
}

/* The ask that line `end` ends, or -1. */
static int ask_of(const struct naive *h, int end)
{
    const struct history_event *e = &h->at[end];

    for (int i = end - 1; i >= 0; i--) {
        const struct history_event *a = &h->at[i];

        if (is_new_life(a, e->source.number))
            return -1;
        if (a->source.role != 'c' || a->source.number != e->source.number ||
            a->call != e->call)
            continue;
        if (a->what == HISTORY_END)
            return -1;
        if (a->what == HISTORY_ASK)
            return i;
    }
    return -1;
}

/* The end of the ask in line `ask`, up to line k; k + 1: there is none yet. */
static int end_of(const struct naive *h, int ask, int k)
{
    for (int i = ask + 1; i <= k; i++)
        if ((h->at[i].what == HISTORY_END && ask_of(h, i) == ask) ||
            is_new_life(&h->at[i], h->at[ask].source.number) ||
            (h->at[i].what == HISTORY_ASK &&
             h->at[i].source.number == h->at[ask].source.number &&
             h->at[i].call == h->at[ask].call))
            return i;
    return k + 1;
}

/* Is a call of the owner that line x names under way behind line k? */
static bool has_call(const struct naive *h, const struct history_event *x, int k)
{
    for (int i = 0; i <= k; i++)
        if (h->at[i].what == HISTORY_ASK &&
            (h->at[i].op == HISTORY_OP_ACQUIRE || h->at[i].op == HISTORY_OP_RELEASE) &&
            same(h->at[i].lock, x->lock) && same(h->at[i].owner, x->owner) &&
            end_of(h, i, k) > k)
            return true;
    return false;
}

/* ---- a hold, line by line ---- */

static const struct view nothing = {.granted = -1,
                                    .last_held = -1,
                                    .excuse = -1,
                                    .lost = -1,
                                    .released = -1,
                                    .unsure = -1,
                                    .died = -1,
                                    .counted = -1};

static void see_end(const struct naive *h, struct view *v, int ask, int k)
{
    const struct history_event *a = &h->at[ask], *e = &h->at[k];

    if (a->op == HISTORY_OP_ACQUIRE && is_done(e)) {
        if (v->tally++ == 0) {
            v->lost = -1;
            v->is_renewed = false;
        }
        v->is_renewed |= a->lease_ms == HISTORY_NONE || a->lease_ms == 0;
        v->unsure = v->died = -1;
        v->client = e->source.number;
        if (e->token > 0)
            v->told_token = e->token;
    } else if (a->op == HISTORY_OP_ACQUIRE) {
        if (v->tally > 0 && !is_nothing(e) && !is(e->status, "HF_LOST"))
            v->unsure = k;
    } else if (a->op == HISTORY_OP_RELEASE) {
        v->releasing -= v->releasing > 0;
        if (is_nothing(e) || v->tally == 0)
            return;
        v->unsure = is_done(e) || is(e->status, "HF_LOST") ? -1 : k;
        if (--v->tally == 0)
            v->released = is_done(e) ? k : -1;
    }
}

/* Sent by a client before it died, and executed now. */
static bool is_late(const struct naive *h, const struct view *v, int k)
{
    const struct history_event *e = &h->at[k];

    return v->died >= 0 && !has_call(h, e, k) &&
           (e->what == HISTORY_FREED
                ? e->why == HISTORY_WHY_RELEASED
                : e->by == HISTORY_BY_ACQUIRE || e->by == HISTORY_BY_RENEW ||
                      e->by == HISTORY_BY_RELEASE);
}

/* A peer, an operator, or a late request of a dead client that makes it shorter is the
 * excuse, until it is as long again. */
static void see_until(const struct naive *h, struct view *v, int k)
{
    const struct history_event *e = &h->at[k];

    v->is_shortened = v->is_held && e->until_us < v->last_until_us &&
                      (e->by == HISTORY_BY_PEER || e->by == HISTORY_BY_OPERATOR ||
                       v->is_shortened || is_late(h, v, k));
    v->excuse = v->is_shortened ? k : -1;
    if (!v->is_shortened)
        v->last_until_us = e->until_us;
    v->is_held = true;
}

static void see_server(const struct naive *h, struct view *v, int k)
{
    const struct history_event *e = &h->at[k];

    if (e->what == HISTORY_HELD) {
        if (!v->is_held)
            v->granted = k;
        v->is_peers = v->is_held && e->by != HISTORY_BY_ACQUIRE
                          ? v->is_peers
                          : e->by == HISTORY_BY_PEER;
        v->count = e->count;
        v->until_us = e->until_us;
        v->last_held = k;
        see_until(h, v, k);
        if (e->by == HISTORY_BY_ACQUIRE)
            v->released = -1;
    } else if (e->what == HISTORY_FREED) {
        v->is_held = false;
        if (is_late(h, v, k) ||
            (e->why != HISTORY_WHY_EXPIRED && e->why != HISTORY_WHY_RELEASED))
            v->excuse = k;
    }
}

static void see_client(struct view *v, const struct history_event *e, int k)
{
    switch (e->what) {
    case HISTORY_ASK:
        if (e->op != HISTORY_OP_RELEASE)
            break;
        v->releasing++;
        v->client = e->source.number;
        break;
    case HISTORY_SAFE:
        v->believes_us = e->until_us > e->time_us ? e->until_us : 0;
        v->client = e->source.number;
        break;
    case HISTORY_LOST:
        v->lost = k;
        v->client = e->source.number;
        break;
    case HISTORY_COUNT:
        v->counted = k;
        v->client = e->source.number;
        break;
    default:
        break;
    }
}

static bool is_awaited(const struct naive *h, const struct history_event *x,
                       int k)
{
    for (int i = 0; i <= k; i++)
        if (h->at[i].what == HISTORY_ASK &&
            h->at[i].op == HISTORY_OP_ACQUIRE &&
            same(h->at[i].lock, x->lock) && same(h->at[i].owner, x->owner) &&
            end_of(h, i, k) > k)
            return true;
    return false;
}

/* A hold of which nothing is left is another one when it comes again. */
static bool is_forgotten(const struct naive *h, const struct history_event *x,
                         const struct view *v, int k)
{
    const struct history_event *e = &h->at[k];
    int ask = e->what == HISTORY_END ? ask_of(h, k) : -1;
    bool tidies =
        (ask >= 0 && same(h->at[ask].lock, x->lock)) ||
        ((e->what == HISTORY_LOST || e->what == HISTORY_FREED ||
          (e->what == HISTORY_SAFE && e->until_us <= e->time_us)) &&
         same(e->lock, x->lock));

    return tidies && !v->is_held && v->tally == 0 && v->releasing == 0 &&
           v->believes_us <= e->time_us && !is_awaited(h, x, k);
}

/* What lines 0 to k say of the hold that line x names. */
static struct view look(const struct naive *h, const struct history_event *x,
                        int k)
{
    struct view v = nothing;

    for (int i = 0; i <= k; i++) {
        const struct history_event *e = &h->at[i];
        int ask = e->what == HISTORY_END ? ask_of(h, i) : -1;

        if (is_new_life(e, v.client)) {
            v.died = i;
            v.tally = v.releasing = v.believes_us = 0;
            v.counted = -1;
        } else if (ask >= 0 && same_hold(&h->at[ask], x)) {
            see_end(h, &v, ask, i);
        } else if (same_hold(e, x)) {
            see_server(h, &v, i);
            see_client(&v, e, i);
        }
        if (is_forgotten(h, x, &v, i))
            v = nothing;
    }
    return v;
}

static bool is_last_release(const struct view *v)
{
    return v->tally > 0 && v->releasing >= v->tally;
}

static void broken(struct naive *h, int property)
{
    h->broken |= 1u << property;
}

/* ---- all pairs ---- */

static bool may_share(const struct history_event *a,
                      const struct history_event *b)
{
    return (class(a) == 'r' && class(b) == 'r') || same(a->owner, b->owner);
}

/* The grant of a hold as it stands after line k. */
static int grant(const struct naive *h, const struct history_event *x,
                 const struct view *v, int k)
{
    int first = k;

    if (v->granted >= 0)
        return v->granted;
    for (int i = k; i >= 0; i--)
        if (h->at[i].what == HISTORY_SAFE && same_hold(&h->at[i], x)) {
            if (h->at[i].until_us <= h->at[first].time_us)
                break;
            first = i;
        }
    return first;
}

static bool excuses(const struct naive *h, const struct history_event *x,
                    const struct view *of, const struct history_event *y,
                    const struct view *other, int k)
{
    (void)x;
    return of->excuse >= 0 && of->excuse < grant(h, y, other, k);
}

/* P1: beliefs a and b, of lines a < b; is a still believed in line b? */
static void compare_beliefs(struct naive *h, int a, int b)
{
    const struct history_event *x = &h->at[a], *y = &h->at[b];
    struct view of_x, of_y;

    if (x->what != HISTORY_SAFE || y->what != HISTORY_SAFE ||
        !same(x->lock, y->lock) || same_hold(x, y) || may_share(x, y) ||
        x->until_us <= y->time_us || y->until_us <= y->time_us)
        return;
    for (int i = a + 1; i <= b; i++)
        if ((h->at[i].what == HISTORY_SAFE && same_hold(&h->at[i], x)) ||
            is_new_life(&h->at[i], x->source.number))
            return;
    of_x = look(h, x, b);
    of_y = look(h, y, b);
    if (!excuses(h, x, &of_x, y, &of_y, b) && !excuses(h, y, &of_y, x, &of_x, b))
        broken(h, 1);
}

/* P9: the hold of line a, when line b grants another. */
static void compare_holds(struct naive *h, int a, int b)
{
    const struct history_event *x = &h->at[a], *y = &h->at[b];
    struct view of_x, of_y;

    if (x->what != HISTORY_HELD || y->what != HISTORY_HELD ||
        !same(x->lock, y->lock) || same_hold(x, y) ||
        (class(x) == 'r' && class(y) == 'r'))
        return;
    if (same(x->owner, y->owner) && class(x) != 'p' && class(y) != 'p')
        return;
    of_x = look(h, x, b);
    of_y = look(h, y, b);
    if (of_x.is_held && ((!of_x.is_peers && !of_y.is_peers) ||
                         (class(x) == 'p') == (class(y) == 'p')))
        broken(h, 9);
}

/* ---- each line ---- */

/* P2: the hold of line x was taken away in line k. Does line i grant it again, by a copy of an acquire
 * that ended before, and is no other owner granted the lock between the two lines? */
static bool is_held_again(const struct naive *h, const struct history_event *x, int k, int i)
{
    if (h->at[i].what != HISTORY_HELD || h->at[i].by != HISTORY_BY_ACQUIRE ||
        !same_hold(&h->at[i], x))
        return false;
    for (int a = 0; a < i; a++) {
        const struct history_event *e = &h->at[a];

        if (e->what == HISTORY_ASK && e->op == HISTORY_OP_ACQUIRE && same(e->lock, x->lock) &&
            same(e->owner, x->owner) && end_of(h, a, i) > i)
            return false;
        if (a > k && e->what == HISTORY_HELD && e->by == HISTORY_BY_ACQUIRE &&
            same(e->lock, x->lock) && !same_hold(e, x) && !may_share(e, x))
            return false;
    }
    return true;
}

/* P2: from line k on the loss of the hold is owed, by `due_us`. */
static void must_be_told(struct naive *h, const struct history_event *x, int k,
                         int64_t due_us)
{
    uint32_t client = look(h, x, k).client;
    int64_t slack_us = h->header->slack_ms * MS, since_us = h->at[k].time_us;
    bool is_stopped = false;

    for (int i = 0; i < h->count; i++) {
        const struct history_event *e = &h->at[i];
        bool is_own = e->source.role == 'c' && e->source.number == client;

        if (i > k && !is_stopped && e->time_us > due_us) {
            broken(h, 2);
            return;
        }
        if (i > k && ((e->what == HISTORY_LOST && same_hold(e, x)) ||
                      look(h, x, i).tally == 0 || is_held_again(h, x, k, i)))
            return;
        if (is_own && e->what == HISTORY_STOP) {
            is_stopped = true;
            if (i > k)
                since_us = e->time_us;
        } else if (is_own && e->what == HISTORY_GO && is_stopped) {
            is_stopped = false;
            if (i > k) {
                due_us += e->time_us - since_us;
                if (due_us < e->time_us + slack_us)
                    due_us = e->time_us + slack_us;
            }
        }
    }
}

static void check_freed(struct naive *h, int k)
{
    const struct history_event *e = &h->at[k];
    struct view before = look(h, e, k - 1);
    int64_t slack_us = h->header->slack_ms * MS, due = e->time_us;
    bool is_taken =
        e->why != HISTORY_WHY_EXPIRED && e->why != HISTORY_WHY_RELEASED;

    if (!is_taken && before.excuse < 0 && !is_late(h, &before, k) &&
        before.believes_us - slack_us > e->time_us)
        broken(h, 2);
    if (before.tally == 0 || before.lost >= 0 || is_last_release(&before))
        return;
    if (is_taken || before.excuse >= 0) {
        due += h->header->tell_ms * MS;
        if (!before.is_renewed && before.believes_us > due)
            due = before.believes_us;
        must_be_told(h, e, k, due + slack_us);
    } else if (e->why == HISTORY_WHY_EXPIRED) {
        must_be_told(h, e, k, due + slack_us - 1);
    }
}

static void check_held(struct naive *h, int k)
{
    const struct history_event *e = &h->at[k];
    struct view before = look(h, e, k - 1);

    if (e->by == HISTORY_BY_RENEW && (before.released >= 0 || !before.is_held))
        broken(h, 4);
    if (before.believes_us > e->time_us && !look(h, e, k).is_shortened &&
        before.believes_us - h->header->slack_ms * MS > e->until_us)
        broken(h, 10);
}

static void check_safe(struct naive *h, int k)
{
    const struct history_event *e = &h->at[k];
    struct view v = look(h, e, k), before = look(h, e, k - 1);
    int64_t until = v.is_held ? v.until_us : 0;

    if (e->until_us <= e->time_us)
        return;
    if (v.excuse >= 0 && v.last_until_us > until)
        until = v.last_until_us;
    if (e->until_us - h->header->slack_ms * MS > until)
        broken(h, 10);
    if (e->until_us > before.believes_us &&
        (before.lost > before.last_held || is_last_release(&before)))
        broken(h, 10);
}

/* The greatest token that was told of the lock before line k. */
static int64_t told_before(const struct naive *h, struct history_text lock,
                           int k)
{
    int64_t most = 0;

    for (int i = 0; i < k; i++) {
        int ask = h->at[i].what == HISTORY_END ? ask_of(h, i) : -1;

        if (ask >= 0 && same(h->at[ask].lock, lock) && is_done(&h->at[i]) &&
            h->at[i].token > most)
            most = h->at[i].token;
    }
    return most;
}

static void check_end(struct naive *h, int k)
{
    const struct history_event *e = &h->at[k], *a;
    int ask = ask_of(h, k);
    struct view v;

    if (ask < 0 || h->at[ask].op != HISTORY_OP_ACQUIRE || !is_done(e))
        return;
    a = &h->at[ask];
    v = look(h, a, k - 1);
    if (v.last_held < ask &&
        !(v.unsure >= 0 && v.is_held && v.count > v.tally))
        broken(h, 10);
    if (e->token <= 0)
        return;
    if (v.last_held >= 0 && h->at[v.last_held].token > 0 &&
        h->at[v.last_held].token != e->token)
        broken(h, 8);
    if (v.told_token != e->token && e->token <= told_before(h, a->lock, ask))
        broken(h, 8);
}

static void check_token(struct naive *h, int k)
{
    const struct history_event *e = &h->at[k];
    struct view before = look(h, e, k - 1);

    if (e->token <= 0 || (before.is_held && before.last_held >= 0 &&
                          h->at[before.last_held].token == e->token))
        return;
    for (int i = 0; i < k; i++)
        if (h->at[i].what == HISTORY_HELD && same(h->at[i].lock, e->lock) &&
            h->at[i].token >= e->token)
            broken(h, 8);
}

/* P7. */
static void check_ask(struct naive *h, int k)
{
    const struct history_event *a = &h->at[k];
    int end = end_of(h, k, h->count - 1);
    int64_t due_us = a->due_us, stopped_us = -1;

    if (due_us == HISTORY_NONE)
        return;
    for (int i = k + 1; i < h->count; i++) {
        const struct history_event *e = &h->at[i];
        bool is_own =
            e->source.role == 'c' && e->source.number == a->source.number;

        if (stopped_us < 0 && e->time_us > due_us) {
            broken(h, 7);
            return;
        }
        if (i == end)
            return;
        if (is_own && e->what == HISTORY_STOP) {
            stopped_us = e->time_us;
        } else if (is_own && e->what == HISTORY_GO && stopped_us >= 0) {
            due_us += e->time_us - stopped_us;
            stopped_us = -1;
        }
    }
}

/* P3, P6: the hold of line x, behind line k. */
static void check_rest(struct naive *h, const struct history_event *x, int k,
                       bool is_over)
{
    struct view v = look(h, x, k);
    int64_t held = v.is_held ? v.count : 0;
    bool is_gone = v.died >= 0 || v.lost >= 0;
    bool is_taken_away = !v.is_held && v.excuse >= 0;

    if (v.lost < 0 && v.unsure < 0 && !(v.is_held && v.is_peers) &&
        (is_over || !is_taken_away) &&
        (v.counted >= 0 ? h->at[v.counted].n != held || v.tally != held
                        : v.tally > 0 && v.tally != held))
        broken(h, 3);
    if (v.is_held && !v.is_peers && (v.tally == 0 || v.lost >= 0) &&
        (!is_gone || v.until_us == HISTORY_NEVER))
        broken(h, 6);
}

static void check_all(struct naive *h, int k, bool is_over)
{
    for (int i = 0; i <= k; i++) {
        int ask = h->at[i].what == HISTORY_END ? ask_of(h, i) : i;

        if (ask >= 0 && h->at[ask].lock.at && h->at[ask].owner.at)
            check_rest(h, &h->at[ask], k, is_over);
    }
}

static void check_over(struct naive *h, int k)
{
    bool was_quiet = false;

    for (int i = 0; i <= k; i++)
        was_quiet |= h->at[i].what == HISTORY_QUIET;
    if (was_quiet)
        check_all(h, k, true);
}

static bool ends_quiet(const struct history_event *e)
{
    return e->what == HISTORY_ASK || e->what == HISTORY_FREED ||
           e->what == HISTORY_DIED || e->what == HISTORY_START ||
           e->what == HISTORY_FAULT;
}

/* Is line k the first that ends it? */
static void check_quiet(struct naive *h, int k)
{
    bool is_quiet = false;

    for (int i = 0; i < k; i++)
        is_quiet = h->at[i].what == HISTORY_QUIET ||
                   (is_quiet && !ends_quiet(&h->at[i]));
    if (is_quiet && ends_quiet(&h->at[k]))
        check_all(h, k - 1, false);
}

static void check_line(struct naive *h, int k)
{
    check_quiet(h, k);
    switch (h->at[k].what) {
    case HISTORY_HELD:
        check_held(h, k);
        check_token(h, k);
        break;
    case HISTORY_FREED: check_freed(h, k); break;
    case HISTORY_SAFE: check_safe(h, k); break;
    case HISTORY_END: check_end(h, k); break;
    case HISTORY_ASK: check_ask(h, k); break;
    case HISTORY_OVER: check_over(h, k); break;
    default: break;
    }
}

uint32_t naive_judge(const struct history_event *events, int count,
                     const struct history_header *header)
{
    struct naive h = {.at = events, .count = count, .header = header};
    bool is_over = false;

    for (int b = 0; b < count; b++) {
        for (int a = 0; a < b; a++) {
            compare_beliefs(&h, a, b);
            compare_holds(&h, a, b);
        }
        check_line(&h, b);
        is_over |= events[b].what == HISTORY_OVER;
    }
    if (!is_over)
        check_over(&h, count - 1);
    return h.broken;
}
