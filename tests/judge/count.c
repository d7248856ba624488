/* Semaphores and latches: what each request has done. Rules: properties.h, P11. */
#include "tests/judge/count.h"
#include "tests/judge/violation.h"

#include <inttypes.h>
#include <stdlib.h>

#define MS 1000

bool count_is_of(const struct ask *ask)
{
    return ask->class == CLASS_SEMAPHORE || ask->class == CLASS_LATCH;
}

bool count_is_named(const struct ask *ask)
{
    return count_is_of(ask) || ask->op == HISTORY_OP_RESIZE || ask->op == HISTORY_OP_DELETE;
}

/* ---- requests ---- */

static struct request *request_of(const struct lock *lock,
                                    struct history_text name)
{
    struct request *q = lock->requests;

    while (q && !text_is(q->name, name))
        q = q->next;
    return q;
}

void count_asked(const struct ask *ask, struct history_text name)
{
    struct request *q;

    if (request_of(ask->lock, name))
        return;
    q = must_have(calloc(1, sizeof *q));
    *q = (struct request){.next = ask->lock->requests,
                           .client = ask->client,
                           .call = ask->call,
                           .op = ask->op,
                           .is_latch = ask->class == CLASS_LATCH,
                           .n = ask->n,
                           .wanted = HISTORY_NONE,
                           .asked = ask->asked};
    text_set(&q->name, name);
    ask->lock->requests = q;
}

void count_free(struct lock *lock)
{
    for (struct request *q = lock->requests, *next; q; q = next) {
        next = q->next;
        free((char *)q->name.at);
        free(q);
    }
}

/* By how much it changes the number when it is executed. */
static int64_t step_of(const struct request *q)
{
    switch (q->op) {
    case HISTORY_OP_ACQUIRE:
        return q->is_latch ? 0 : -q->n;
    case HISTORY_OP_RELEASE:
        return q->is_latch ? -q->n : q->n;
    case HISTORY_OP_SET:
    case HISTORY_OP_ADD:
        return q->n;
    case HISTORY_OP_REDUCE:
        return -q->n;
    default:
        return 0;
    }
}

/* What it changes depends on the number that it meets. */
static bool depends(const struct request *q)
{
    return q->op == HISTORY_OP_DRAIN || q->op == HISTORY_OP_DELETE;
}

/* ---- how long it is repeated ---- */

#define PERCENT_MS (MS / 100) /* of a millisecond */

static bool is_repeated(const struct request *q)
{
    return q->op == HISTORY_OP_RELEASE || q->op == HISTORY_OP_ADD ||
           q->op == HISTORY_OP_REDUCE || q->op == HISTORY_OP_DRAIN;
}

/* Have so many percent of repeat_ms passed since it was asked? */
static bool has_passed(const struct judge *j, const struct request *q, int percent)
{
    return j->header.repeat_ms != HISTORY_NONE && is_repeated(q) &&
           j->now.us - q->asked.us > j->header.repeat_ms * percent * PERCENT_MS;
}

/* ---- faults ---- */

static void disturb(const struct judge *j, struct lock *lock)
{
    lock->disturbed = j->now;
    for (struct request *q = lock->requests; q; q = q->next)
        q->is_unsure = true;
}

void count_disturbed(struct judge *j, struct lock *lock)
{
    if (lock) {
        disturb(j, lock);
        return;
    }
    for (size_t i = 0; i < j->locks_room; i++)
        for (lock = j->locks[i]; lock; lock = lock->chain)
            disturb(j, lock);
}

static bool is_undisturbed(const struct judge *j, const struct ask *ask)
{
    for (uint32_t i = 0; i < j->servers_room; i++)
        if (j->servers[i].replaced.line)
            return false;
    return ask->lock->disturbed.line < ask->asked.line;
}

static void gone_of(struct lock *lock, uint32_t client)
{
    for (struct request *q = lock->requests; q; q = q->next)
        if (q->client == client)
            q->is_left = true;
}

void count_gone(struct judge *j, uint32_t client)
{
    for (size_t i = 0; i < j->locks_room; i++)
        for (struct lock *lock = j->locks[i]; lock; lock = lock->chain)
            gone_of(lock, client);
}

/* ---- what servers say ---- */

static int64_t or_0(int64_t n)
{
    return n == HISTORY_NONE ? 0 : n;
}

static void fail_stock(struct judge *j, const struct lock *lock,
                       const struct stock *stock, const struct history_event *e,
                       const char *why)
{
    struct judge_violation *v = violate(j, 11, j->now.us);

    say(v, "server s%u counts %" PRId64 " of %s after %" PRId64 ": ",
        (unsigned)stock->server, or_0(e->n), word(lock->name), or_0(stock->n));
    say_words(v, why);
    show(v, stock->last);
    show(v, j->now);
}

/* It changes only a semaphore that exists. */
static bool needs_one(const struct request *q)
{
    return q->op == HISTORY_OP_ADD || q->op == HISTORY_OP_REDUCE;
}

static const char *wrong_step(const struct judge *j, const struct request *q,
                              const struct stock *stock, const struct history_event *e)
{
    if (q->times == 1 && has_passed(j, q, 101))
        return "a request is executed that is not repeated any longer";
    if (q->op == HISTORY_OP_ACQUIRE && stock->n == HISTORY_NONE)
        return "what was taken is returned to a semaphore that is no more";
    if (stock->n == HISTORY_NONE && needs_one(q))
        return "a semaphore that does not exist is changed";
    if (!depends(q))
        return q->net == 0 || q->net == step_of(q)
                   ? NULL
                   : "one request is executed twice, or undone twice";
    if (q->times > 1)
        return "one request is executed twice";
    if (q->op == HISTORY_OP_DELETE)
        return e->n == HISTORY_NONE ? NULL : "a deletion leaves a number";
    return e->n == 0 && stock->n > 0 ? NULL : "a drain does not take what is available";
}

/* A request does its step, and may undo it; nothing else. */
static void take_in(struct judge *j, const struct lock *lock,
                    const struct stock *stock, struct request *q,
                    const struct history_event *e)
{
    const char *wrong;

    q->net += or_0(e->n) - or_0(stock->n);
    q->times++;
    q->last = j->now;
    wrong = wrong_step(j, q, stock, e);
    if (q->is_unsure || !wrong)
        return;
    fail_stock(j, lock, stock, e, wrong);
    q->is_unsure = true;
}

/* What was taken from it is not returned to the next semaphore of that name, unless that
 * one exists when it is returned. */
static void note_end(const struct lock *lock, const struct history_event *e)
{
    if (e->n != HISTORY_NONE)
        return;
    for (struct request *q = lock->requests; q; q = q->next)
        q->is_past = true;
}

void count_stock(struct judge *j, struct lock *lock, const struct stock *stock,
                 const struct history_event *e)
{
    struct request *q = e->hold.at ? request_of(lock, e->hold) : NULL;

    if (e->by == HISTORY_BY_REPLICATION)
        return;
    if (!e->hold.at || !state_decides(j, stock->server)) {
        count_disturbed(j, lock);
        return;
    }
    if (e->by == HISTORY_BY_SET && stock->n != HISTORY_NONE)
        fail_stock(j, lock, stock, e, "it is set where there is one already");
    if (e->by == HISTORY_BY_ACQUIRE && or_0(e->n) < 0)
        fail_stock(j, lock, stock, e, "more is taken than there is");
    if (q)
        take_in(j, lock, stock, q, e);
    note_end(lock, e);
}

/* ---- how many expirable permits there are ---- */

/* A permit that has not expired, at that server. */
static bool is_one_out(const struct lock *lock, uint32_t server, int64_t at_us)
{
    for (struct hold *hold = lock->holds; hold; hold = hold->next) {
        const struct record *r = state_record(hold, server, false);

        if (hold->class == CLASS_PERMIT && r && r->until_us > at_us)
            return true;
    }
    return false;
}

static const char *wrong_number(const struct judge *j, const struct lock *lock,
                                const struct stock *stock, const struct request *q,
                                const struct history_event *e)
{
    int64_t sure_us = j->now.us + j->header.slack_ms * MS;

    if (q->times > 1)
        return "one request changes the number twice";
    if (e->by == HISTORY_BY_RESIZE)
        return e->n == q->n ? NULL : "a request sets another number than that of its call";
    return !lock->halved.line && is_one_out(lock, stock->server, sure_us)
               ? "it is deleted while permits are in use"
               : NULL;
}

void count_of_permits(struct judge *j, struct lock *lock, const struct stock *stock,
                      const struct history_event *e)
{
    struct request *q = e->hold.at ? request_of(lock, e->hold) : NULL;
    const char *wrong;

    if (e->by == HISTORY_BY_OPERATOR && state_decides(j, stock->server))
        count_disturbed(j, lock);
    if (!q || !state_decides(j, stock->server) ||
        (e->by != HISTORY_BY_RESIZE && e->by != HISTORY_BY_DELETE))
        return;
    q->times++;
    q->last = j->now;
    wrong = wrong_number(j, lock, stock, q, e);
    if (q->is_unsure || !wrong)
        return;
    fail_stock(j, lock, stock, e, wrong);
    q->is_unsure = true;
}

void count_of_set(struct judge *j, const struct lock *lock, const struct stock *stock,
                  const struct history_event *e)
{
    if (lock->set_most != 0 && !lock->halved.line && (e->n < lock->set_least || e->n > lock->set_most))
        fail_stock(j, lock, stock, e, "a call sets another number");
}

/* ---- how calls end ---- */

static void fail_end(struct judge *j, const struct ask *ask, const char *what)
{
    struct judge_violation *v = violate(j, 11, j->now.us);

    say(v, "call %" PRId64 " of client c%u on %s has ended well, and ", ask->call,
        (unsigned)ask->client, word(ask->lock->name));
    say_words(v, what);
    show(v, ask->asked);
    show(v, j->now);
}

/* What all requests of a call have done together. */
struct sum {
    int64_t net, times;
    bool is_unsure;
};

static struct sum sum_of(const struct ask *ask)
{
    struct sum sum = {0, 0, false};

    for (const struct request *q = ask->lock->requests; q; q = q->next)
        if (q->client == ask->client && q->call == ask->call) {
            sum.net += q->net;
            sum.times += q->times;
            sum.is_unsure = sum.is_unsure || q->is_unsure;
        }
    return sum;
}

/* Has the latch been there, and not at 0, since before it was asked? */
static bool was_closed(const struct judge *j, const struct lock *lock, struct moment asked)
{
    for (const struct stock *s = lock->stocks; s; s = s->next)
        if (state_decides(j, s->server) && s->n > 0 &&
            (s->until_us == HISTORY_NONE || s->until_us > j->now.us) &&
            s->present.line < asked.line)
            return true;
    return false;
}

static void end_latch(struct judge *j, struct ask *ask, int64_t net)
{
    if (!was_closed(j, ask->lock, ask->asked))
        return;
    if (ask->op == HISTORY_OP_ACQUIRE)
        fail_end(j, ask, "the latch was never at 0 meanwhile");
    else if (ask->op == HISTORY_OP_RELEASE && net == 0)
        fail_end(j, ask, "no server has counted it");
}

static void end_semaphore(struct judge *j, struct ask *ask, int64_t net)
{
    if (ask->op == HISTORY_OP_ACQUIRE && net != -ask->n)
        fail_end(j, ask, "no server has given it that many permits");
    else if (ask->op == HISTORY_OP_RELEASE && net != ask->n)
        fail_end(j, ask, "no server has added that many permits");
}

static bool is_of(struct history_text status, const char *const *statuses)
{
    for (; *statuses; statuses++)
        if (text_is(status, history_text(*statuses)))
            return true;
    return false;
}

/* What a request should have done when all is quiet, or NONE: nobody knows. Whoever has
 * permits may add or remove them: the client repeats such a request until it is executed, or
 * says that nothing was done. */
static int64_t wanted_of(const struct request *q, struct history_text status,
                         bool is_nothing)
{
    static const char *const repeated[] = {"HF_E_CONNECT", "HF_E_NOREPLY", "HF_E_PROTOCOL",
                                           NULL};
    static const char *const unknown[] = {"OK", "HF_OK", "HF_UNREPLICATED", "HF_E_CLOSED",
                                          NULL};
    bool is_change = q->op == HISTORY_OP_RELEASE || needs_one(q);

    if (is_nothing)
        return 0;
    if (!is_change || is_of(status, unknown))
        return HISTORY_NONE;
    return is_of(status, repeated) ? step_of(q) : 0;
}

static void want(const struct ask *ask, struct history_text status, bool is_done,
                 bool is_nothing)
{
    int64_t left = is_done ? 1 : 0;

    for (struct request *q = ask->lock->requests; q; q = q->next) {
        if (q->client != ask->client || q->call != ask->call)
            continue;
        if (q->op == HISTORY_OP_ACQUIRE)
            q->wanted = left-- > 0 ? step_of(q) : 0;
        else
            q->wanted = needs_one(q) && ask->was_missing
                            ? HISTORY_NONE
                            : wanted_of(q, status, is_nothing);
    }
}

/* `told`: the number that the client says it has set; 0: there was one. */
static void end_set(struct judge *j, const struct ask *ask, int64_t told, int64_t net)
{
    if (told > 0 && net != told)
        fail_end(j, ask, "says that it has set the number, which no server has done");
    else if (told == 0 && net != 0)
        fail_end(j, ask, "says that there was a number, and a server has set it");
    else if (told == 0 && !ask->was_there)
        fail_end(j, ask, "says that there was a number, which no server had");
}

/* `told`: how many it took, says the client. */
static void end_drain(struct judge *j, const struct ask *ask, int64_t told, int64_t net)
{
    if (net != -told)
        fail_end(j, ask, "says that it took another number than a server gave it");
    else if (told == 0 && !ask->was_empty)
        fail_end(j, ask, "says that nothing was available, and there were permits all the time");
}

/* `told`: it says that there was one. */
static void end_delete(struct judge *j, const struct ask *ask, bool told, int64_t times)
{
    if (told && times == 0)
        fail_end(j, ask, "says that it deleted the number, which no server has done");
    else if (!told && times > 0)
        fail_end(j, ask, "says that there was no number, and a server has deleted it");
    else if (!told && !ask->was_missing)
        fail_end(j, ask, "says that there was no number, and there was one all the time");
}

/* `told`: it says that there was one. */
static void end_existing(struct judge *j, const struct ask *ask, bool told, int64_t net)
{
    int64_t step = ask->op == HISTORY_OP_ADD ? ask->n : -ask->n;

    if (net != (told ? step : 0))
        fail_end(j, ask, told ? "no server has changed it by that many permits"
                              : "says that there was no semaphore, and a server has changed one");
    else if (!told && !ask->was_missing)
        fail_end(j, ask, "says that there was no semaphore, and there was one all the time");
}

static void end_resize(struct judge *j, const struct ask *ask, int64_t times)
{
    if (times == 0 && !ask->was_so)
        fail_end(j, ask, "no server has set that number");
}

static void end_well(struct judge *j, struct ask *ask, const struct history_event *e,
                     struct sum sum)
{
    if (ask->op == HISTORY_OP_SET)
        end_set(j, ask, e->n, sum.net);
    else if (ask->op == HISTORY_OP_DRAIN)
        end_drain(j, ask, e->n, sum.net);
    else if (ask->op == HISTORY_OP_DELETE)
        end_delete(j, ask, e->n > 0, sum.times);
    else if (ask->op == HISTORY_OP_RESIZE)
        end_resize(j, ask, sum.times);
    else if (ask->op == HISTORY_OP_ADD || ask->op == HISTORY_OP_REDUCE)
        end_existing(j, ask, e->count != 0, sum.net);
    else if (ask->class == CLASS_LATCH)
        end_latch(j, ask, sum.net);
    else
        end_semaphore(j, ask, sum.net);
}

void count_ended(struct judge *j, struct ask *ask, const struct history_event *e,
                 bool is_done, bool is_nothing)
{
    struct sum sum = sum_of(ask);

    count_meet(j, ask);
    want(ask, e->status, is_done, is_nothing);
    if (is_done && !sum.is_unsure && is_undisturbed(j, ask))
        end_well(j, ask, e, sum);
}

/* ---- what a call may meet ---- */

void count_meet(const struct judge *j, struct ask *ask)
{
    if (!ask->lock || (!count_is_named(ask) && ask->op != HISTORY_OP_SET))
        return;
    for (uint32_t server = 0; server < j->servers_room; server++) {
        int64_t n = state_number_at(ask->lock, server);
        bool is_over = state_number_is_over(j, ask->lock, server);

        if (!state_answers(j, ask->lock, server))
            continue;
        ask->was_missing = ask->was_missing || n == HISTORY_NONE || is_over;
        ask->was_empty = ask->was_empty || or_0(n) <= 0 || is_over;
        ask->was_there = ask->was_there || n != HISTORY_NONE;
        ask->was_so = ask->was_so || n == ask->n;
        ask->was_in_use = ask->was_in_use ||
                          is_one_out(ask->lock, server, ask->asked.us - j->header.slack_ms * MS);
    }
}

void count_meets(const struct judge *j, struct lock *lock)
{
    for (struct ask *ask = lock->asks; ask; ask = ask->lock_next)
        count_meet(j, ask);
}

/* ---- when all is quiet ---- */

static bool is_excused(const struct judge *j, const struct lock *lock,
                       const struct request *q)
{
    return q->net == 0 &&
           (has_passed(j, q, 99) || (q->is_latch && !was_closed(j, lock, q->asked)));
}

static void rest_of(struct judge *j, const struct lock *lock,
                    const struct request *q)
{
    struct judge_violation *v;

    if (is_excused(j, lock, q) || q->is_unsure || q->is_left || q->wanted == HISTORY_NONE || q->net == q->wanted ||
        (q->is_past && q->op == HISTORY_OP_ACQUIRE && q->net == step_of(q)) ||
        (q->is_past && needs_one(q) && q->net == 0))
        return;
    v = violate(j, 11, j->now.us);
    say(v, "all is quiet, and call %" PRId64 " of client c%u on %s ", q->call,
        (unsigned)q->client, word(lock->name));
    say(v, "has changed the number by %" PRId64 " in place of %" PRId64, q->net,
        q->wanted);
    show(v, q->asked);
    show(v, q->last);
    show(v, j->quiet);
}

void count_rest(struct judge *j)
{
    for (size_t i = 0; i < j->locks_room; i++)
        for (const struct lock *lock = j->locks[i]; lock; lock = lock->chain)
            for (const struct request *q = lock->requests; q; q = q->next)
                rest_of(j, lock, q);
}

/* ---- waiting ---- */

static bool is_enough(const struct ask *ask, int64_t n)
{
    return ask->class == CLASS_LATCH ? or_0(n) <= 0 : or_0(n) >= ask->n;
}

bool count_is_free(const struct judge *j, const struct ask *ask)
{
    return is_enough(ask, state_permits(j, ask->lock));
}

bool count_is_free_at(const struct judge *j, const struct ask *ask, uint32_t server)
{
    return is_enough(ask, state_number_at(ask->lock, server)) &&
           (!state_number_is_over(j, ask->lock, server) || is_enough(ask, 0));
}
