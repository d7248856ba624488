/* What a server counts, as lines of the history: "stock". */
#include <stdio.h>
#include <string.h>

#include "lock/script/scripts.h"
#include "tests/sim/observer_inner.h"
#include "tests/support/must.h"

int64_t observer_available(struct model *m, const char *name)
{
    struct model_text part, value;
    struct model_key key;

    if (!model_look(m, 0, name, strlen(name), &key) ||
        key.type != MODEL_STRING ||
        !model_at(m, 0, name, strlen(name), 0, &part, &value))
        return HISTORY_NONE;
    return observer_number(value);
}

/* ---- lines ---- */

static enum history_kind kind_of(const struct observer *w, size_t lock)
{
    switch (w->sim->plan->locks[lock].family) {
    case FAMILY_SEMAPHORE:
        return HISTORY_KIND_SEMAPHORE;
    case FAMILY_LATCH:
        return HISTORY_KIND_LATCH;
    default:
        return HISTORY_KIND_PERMIT;
    }
}

static void write_stock(struct observer *w, size_t lock, enum history_by by,
                        const char *hold)
{
    struct history_event e = sim_event(w->sim, 's', w->server, HISTORY_STOCK);

    e.lock = history_text(plan_lock_name(w->sim->plan, (int64_t)lock));
    e.kind = kind_of(w, lock);
    e.n = w->stocks[lock];
    e.by = by;
    e.until_us = w->stocks_until_us[lock];
    if (hold[0] != '\0')
        e.hold = history_text(hold);
    sim_write(w->sim, &e);
}

void observer_stock_repeat(struct observer *w, size_t lock)
{
    if (w->stocks[lock] != HISTORY_NONE)
        write_stock(w, lock, HISTORY_BY_REPLICATION, "");
}

void observer_stock(struct observer *w, size_t lock, int64_t stock,
                    enum history_by by, const char *hold)
{
    if (stock == w->stocks[lock])
        return;
    w->stocks[lock] = stock;
    write_stock(w, lock, by, hold);
}

/* ---- semaphores and latches ---- */

static const struct hf_script *const counting[] = {
    &hf_script_semaphore_acquire, &hf_script_semaphore_release,
    &hf_script_semaphore_undo, &hf_script_semaphore_reduce, &hf_script_latch_count_down,
    &hf_script_count_set, &hf_script_semaphore_delete, &hf_script_latch_delete,
    &hf_script_permit_set, NULL};

static bool counts(const char *sha)
{
    for (const struct hf_script *const *s = counting; *s; s++)
        if (strcmp((*s)->sha, sha) == 0)
            return true;
    return false;
}

/* It reduces by 0: by all that is available. */
static bool is_drain(const struct model_script *s)
{
    return strcmp(s->sha, hf_script_semaphore_reduce.sha) == 0 && s->args[1].n == 1 &&
           s->args[1].p[0] == '0';
}

void observer_count_asked(struct observer *w, const struct model_script *s)
{
    w->request[0] = '\0';
    if (!counts(s->sha) || s->args[0].n >= sizeof w->request)
        return;
    w->is_drain = is_drain(s);
    memcpy(w->request, s->args[0].p, s->args[0].n);
    w->request[s->args[0].n] = '\0';
}

/* A key that goes to another server takes its number with it. */
static enum history_by by_whom(const struct observer *w,
                               const struct model_change *c, enum history_by by)
{
    if (c->cause == MODEL_BY_OWNER && w->is_moving)
        return HISTORY_BY_REPLICATION;
    if (c->sha && (strcmp(c->sha, hf_script_semaphore_acquire.sha) == 0 ||
                   (strcmp(c->sha, hf_script_semaphore_reduce.sha) == 0 && w->is_drain)))
        return HISTORY_BY_ACQUIRE;
    return c->sha && counts(c->sha) && by != HISTORY_BY_SET && by != HISTORY_BY_DELETE
               ? HISTORY_BY_RELEASE
               : by;
}

/* It has one by an operator's doing. That is news, though the number stays. */
static void see_end(struct observer *w, struct model *m, size_t lock,
                    const char *name)
{
    struct model_key key;
    int64_t until_us = HISTORY_NONE;

    if (model_look(m, 0, name, strlen(name), &key) && key.expires_ms >= 0)
        until_us = observer_true_us(w, key.expires_ms * 1000);
    if (until_us == w->stocks_until_us[lock])
        return;
    w->stocks_until_us[lock] = until_us;
    if (w->stocks[lock] != HISTORY_NONE)
        write_stock(w, lock, HISTORY_BY_REPLICATION, "");
}

bool observer_is_answer(const char *key, size_t len)
{
    static const char suffix[] = ":holdfast_answer";
    size_t n = sizeof suffix - 1;

    return len > n && memcmp(key + len - n, suffix, n) == 0;
}

/* "{name}:QUESTION:holdfast_answer" */
static bool is_answer_of(const struct model_change *c, const char *name)
{
    char begin[PLAN_KEY_MAX];
    int n = snprintf(begin, sizeof begin, strchr(name, '{') ? "%s:" : "{%s}:", name);

    must(n < (int)sizeof begin);
    return observer_is_answer(c->key, c->len) && c->len > (size_t)n &&
           memcmp(c->key, begin, (size_t)n) == 0;
}

/* The server lost a recorded reply: a request that is repeated is executed again. The judge
 * is informed, also if no number changes. */
static bool is_forgotten(const struct observer *w, const struct model_change *c)
{
    return c->cause == MODEL_BY_FLUSH ||
           (c->cause == MODEL_BY_OWNER && !w->is_moving);
}

void observer_count_look(struct observer *w, struct model *m, size_t lock,
                         const struct model_change *c, enum history_by by)
{
    const char *name = plan_lock_name(w->sim->plan, (int64_t)lock);

    if (is_forgotten(w, c) && is_answer_of(c, name))
        write_stock(w, lock, HISTORY_BY_OPERATOR, "");
    if (c->len != strlen(name) || memcmp(c->key, name, c->len) != 0)
        return;
    see_end(w, m, lock, name);
    observer_stock(w, lock, observer_available(m, name), by_whom(w, c, by),
                   c->sha && counts(c->sha) ? w->request : "");
}
