/* Labels of clients: what their keys have, at each change and at regular times. */
#include "tests/sim/labels_inner.h"

#include <stdlib.h>
#include <string.h>

#include "lock/record/label.h"
#include "tests/sim/effects.h"
#include "tests/sim/program_inner.h"
#include "tests/sim/site.h"
#include "tests/support/must.h"

#define TICK_US 50000
#define LAST_TICK_US 1000000 /* when no operation begins any longer */
#define AFTER_MS 500        /* label.h: a hold that ends earlier has no label */
#define SLACK_MS 250        /* clocks that differ, timers, ticks; besides the ways of bytes */
#define CROSSINGS 8         /* of a link: a request on a new connection */
#define SOME_TIME 1         /* it is held or waited for, and for how long is not known */
#define EARLY_MS 450        /* a clock may be 1 % fast */

/* ---- what is known ---- */

static int64_t now_us(const struct labels *l)
{
    return world_now_us(l->sim->world);
}

/* Until a request is executed. Replicas delay the requests behind them. */
int64_t labels_slack_us(const struct labels *l)
{
    const struct plan_head *h = &l->sim->plan->head;

    return SLACK_MS * 1000 + CROSSINGS * (h->latency_us + h->jitter_us);
}

static size_t window(const struct labels *l)
{
    size_t ticks = (size_t)((AFTER_MS * 1000 + labels_slack_us(l)) / TICK_US + 1);

    return ticks < WINDOW_MAX ? ticks : WINDOW_MAX;
}

struct labels_client *labels_client_of(const struct labels *l, const char *owner, size_t len)
{
    for (struct labels_client *c = l->clients; len >= UUID_LEN && c; c = c->next)
        if (memcmp(c->uuid, owner, UUID_LEN) == 0)
            return c;
    return NULL;
}

/* The client of a label key; `is_one`: it is such a key. */
static struct labels_client *client_of_key(const struct labels *l, const char *key, size_t len,
                                           bool *is_one)
{
    const size_t n = strlen(HF_LABEL_KEY);

    *is_one = len >= n && memcmp(key, HF_LABEL_KEY, n) == 0;
    return *is_one && len == n + UUID_LEN ? labels_client_of(l, key + n, len - n) : NULL;
}

bool labels_has(const struct labels *l, const struct labels_client *c)
{
    return c->text[0] != '\0' && l->sim->plan->head.labels != LABELS_DENIED;
}

/* Until when a master has the label; 0: it does not. */
int64_t labels_stored_until_us(const struct labels *l, const struct labels_client *c)
{
    const struct site *site = l->sim->site;
    char name[sizeof HF_LABEL_KEY + UUID_LEN];
    struct model_key key;

    (void)snprintf(name, sizeof name, HF_LABEL_KEY "%s", c->uuid);
    for (size_t i = 0; i < site->count; i++) {
        struct server *s = site->servers[i];

        if (s->shard >= 0 && model_is_master(s->model) &&
            model_look(s->model, 0, name, strlen(name), &key) && !key.is_expired)
            return observer_true_us(&s->observer, key.expires_ms * 1000);
    }
    return 0;
}

/* Is a call of the client on this lock pending? Its place may outlast it. */
static bool waits(const struct labels *l, const struct labels_client *c, int64_t lock)
{
    const struct program *p = l->sim->programs[c->program];

    for (const struct owner *o = c->ended_us == 0 ? p->owners : NULL; o; o = o->next)
        if (o->lock_index == lock && o->under_way > 0)
            return true;
    return false;
}

/* When the last lock of the client ends on the servers; 0: it has none. Since when it has one of
 * them. What a read-write
 * lock's writer adds by entering again is of no call, and a reader's field has the end of
 * another one. */
static int64_t held_until_us(const struct labels *l, const struct labels_client *c,
                             int64_t *since_us)
{
    const struct plan *plan = l->sim->plan;
    int64_t until_us = 0, first_us = HISTORY_NEVER;

    for (size_t i = 0; i < plan->lock_count; i++) {
        const struct observer *w = &site_master(l->sim->site, (int64_t)i)->observer;
        bool is_shared = plan_family(plan, (int64_t)i) == FAMILY_READ_WRITE;
        int64_t place_us = waits(l, c, (int64_t)i) ? observer_place_since(w, i, c->uuid)
                                                   : HISTORY_NEVER;

        if (place_us != HISTORY_NEVER && until_us == 0)
            until_us = SOME_TIME;
        first_us = place_us < first_us ? place_us : first_us;
        for (size_t k = 0; k < w->locks[i].count; k++) {
            const struct observer_hold *h = &w->locks[i].holds[k];
            int64_t us = is_shared ? SOME_TIME : h->until_us;

            if (h->until_us <= now_us(l) || h->len <= UUID_LEN ||
                memcmp(h->field, c->uuid, UUID_LEN) != 0)
                continue;
            until_us = us > until_us ? us : until_us;
            first_us = h->since_us < first_us ? h->since_us : first_us;
        }
    }
    if (since_us)
        *since_us = first_us;
    return until_us;
}

/* ---- at each tick ---- */

/* Until when its locks have lasted all the time in which a label is written; 0: not so. */
static int64_t owed_until_us(const struct labels *l, const struct labels_client *c)
{
    int64_t us = INT64_MAX;

    if (c->ticks < window(l))
        return 0;
    for (size_t i = 0; i < window(l); i++) {
        int64_t at = c->until_us[(c->ticks - 1 - i) % WINDOW_MAX];

        us = at < us ? at : us;
    }
    return us;
}

static void fail_short(const struct labels *l, const struct labels_client *c, int64_t owed_us,
                       int64_t stored_us)
{
    sim_fail(l->sim, "label", "c%lld's locks (%s) last for %lld ms, and its label for %lld ms",
             (long long)c->program + 1, c->text, (long long)(owed_us - now_us(l)) / 1000,
             stored_us == 0 ? 0LL : (long long)(stored_us - now_us(l)) / 1000);
}

/* LABELS-1, LABELS-3 */
static void check_live(const struct labels *l, const struct labels_client *c)
{
    int64_t owed_us = owed_until_us(l, c), stored_us = labels_stored_until_us(l, c);

    if (owed_us > 0 && stored_us == 0)
        sim_fail(l->sim, "label", "c%lld has had locks or places, and no label (%s)",
                 (long long)c->program + 1, c->text);
    else if (l->is_calm && owed_us > now_us(l) + labels_slack_us(l) &&
             stored_us < owed_us - labels_slack_us(l))
        fail_short(l, c, owed_us, stored_us);
}

static void check_ended(const struct labels *l, const struct labels_client *c, int64_t held_us)
{
    int64_t stored_us = labels_stored_until_us(l, c);
    int64_t owed_us = held_us < c->owed_us ? held_us : c->owed_us;

    if (now_us(l) < c->ended_us + labels_slack_us(l))
        return;
    if (owed_us > now_us(l) + labels_slack_us(l) && stored_us < owed_us - labels_slack_us(l))
        fail_short(l, c, owed_us, stored_us);
    if (c->was_closed && !c->left_holds && held_us == 0 && stored_us > 0)
        sim_fail(l->sim, "label", "c%lld was closed and held nothing, and its label (%s) stays",
                 (long long)c->program + 1, c->text);
}

/* Does it hold, or is its place in a queue requested? */
static bool is_busy(const struct labels *l, const struct labels_client *c)
{
    const struct program *p = l->sim->programs[c->program];

    for (const struct owner *o = c->ended_us == 0 ? p->owners : NULL; o; o = o->next)
        if ((o->count > 0 && !o->is_lost) ||
            (plan_has_queue(l->sim->plan, o->lock_index) && o->under_way > 0))
            return true;
    return c->ended_us == 0 && held_until_us(l, c, NULL) > 0;
}

/* The server may have a hold that its owner has lost, and has not released. */
static bool has_lost(const struct program *p)
{
    for (const struct owner *o = p->owners; o; o = o->next)
        if (o->is_lost)
            return true;
    return false;
}

static void look(const struct labels *l, struct labels_client *c)
{
    const struct program *p = l->sim->programs[c->program];
    int64_t since_us, held_us = held_until_us(l, c, &since_us);

    if (since_us > now_us(l) - AFTER_MS * 1000 - labels_slack_us(l) || has_lost(p))
        c->ticks = 0;
    c->until_us[c->ticks++ % WINDOW_MAX] = held_us;
    if (is_busy(l, c))
        c->busy_us = now_us(l);
    if (!labels_has(l, c) || now_us(l) < l->judged_from_us)
        return;
    if (c->ended_us == 0 && !PROGRAM_IS_BUSY(p))
        check_live(l, c);
    else if (c->ended_us > 0 && l->is_calm)
        check_ended(l, c, held_us);
}

static void on_tick(void *ctx)
{
    struct labels *l = ctx;

    for (struct labels_client *c = l->clients; c; c = c->next)
        look(l, c);
    l->tick_us = l->sim->is_ending ? LAST_TICK_US : TICK_US;
    world_after(l->sim->world, &l->tick, l->tick_us);
}

/* ---- begin, end ---- */

/* The label itself needs no fault: what it needs is the same at all servers. */
static bool is_calm(const struct plan *plan)
{
    for (size_t i = 0; i < plan->fault_count; i++)
        if (plan->faults[i].kind != FAULT_DIE)
            return false;
    return plan->head.replicas == 0 && plan->head.output_max == 0;
}

#define RETRY_MS 5000   /* lock/record/label.c */

/* The client writes its label again after an error, and once per watchdog timeout. */
static int64_t judged_from_us(const struct plan *plan)
{
    const struct plan_head *h = &plan->head;
    int64_t us = 0;

    for (size_t i = 0; i < plan->fault_count; i++) {
        const struct plan_fault *f = &plan->faults[i];
        int64_t end_ms = f->at_ms + f->for_ms + h->request_ms + RETRY_MS + 2 * h->watchdog_ms;

        if (f->kind != FAULT_DIE && f->kind != FAULT_LOADING && f->kind != FAULT_FULL &&
            f->kind != FAULT_SCANT && f->kind != FAULT_UNSAVED)
            return INT64_MAX;
        if (f->kind != FAULT_DIE && sim_us(end_ms) > us)
            us = sim_us(end_ms);
    }
    return h->replicas == 0 && h->output_max == 0 ? us : INT64_MAX;
}

void labels_begin(struct sim *sim)
{
    struct labels *l;

    if (sim->plan->head.labels == LABELS_NONE)
        return;
    l = must_alloc(sizeof *l);
    *l = (struct labels){.sim = sim, .tick_us = TICK_US, .is_calm = is_calm(sim->plan),
                          .judged_from_us = judged_from_us(sim->plan)};
    l->tick = (struct event){.happen = on_tick, .ctx = l};
    sim->labels = l;
    world_after(sim->world, &l->tick, TICK_US);
}

void labels_free(struct sim *sim)
{
    struct labels *l = sim->labels;

    if (l)
        world_cancel(sim->world, &l->tick);
    while (l && l->clients) {
        struct labels_client *c = l->clients;

        l->clients = c->next;
        free(c);
    }
    free(l);
    sim->labels = NULL;
}

/* Two programs never have one text, nor have two clients of a program. Some have the longest
 * one. */
const char *labels_text(struct sim *sim, int64_t program)
{
    static char text[HF_LABEL_MAX + 1];
    struct labels *l = sim->labels;
    size_t len;

    if (!l || (sim->plan->head.labels == LABELS_SOME && program % 2 == 1))
        return NULL;
    len = (size_t)snprintf(text, sizeof text, "\xc3\xbc%lld of c%lld ",
                           (long long)++l->opened, (long long)program + 1);
    if (l->opened % 4 == 0) {
        memset(text + len, '.', HF_LABEL_MAX - len);
        text[HF_LABEL_MAX] = '\0';
    }
    return text;
}

void labels_opened(struct sim *sim, int64_t program, const char *uuid)
{
    struct labels *l = sim->labels;
    struct labels_client *c;
    char text[HF_LABEL_MAX + 1] = "";

    if (!l)
        return;
    if (l->sim->plan->head.labels != LABELS_SOME || program % 2 == 0) {
        l->opened--;
        memcpy(text, labels_text(sim, program), sizeof text);
    }
    c = must_alloc(sizeof *c);
    *c = (struct labels_client){.next = l->clients, .program = program};
    memcpy(c->uuid, uuid, UUID_LEN);
    memcpy(c->text, text, sizeof text);
    l->clients = c;
}

/* For the last request of a client (LABEL-3). */
static bool is_enough(const struct labels *l, int64_t close_ms)
{
    const struct plan_head *h = &l->sim->plan->head;
    int64_t ms = close_ms < LABEL_CLOSE_MS ? close_ms : LABEL_CLOSE_MS;

    return ms * 1000 > CROSSINGS * (h->latency_us + h->jitter_us);
}

void labels_ended(struct sim *sim, int64_t program, int64_t close_ms)
{
    struct labels *l = sim->labels;
    const struct program *p = sim->programs[program];
    bool was_closed = l && is_enough(l, close_ms);

    for (struct labels_client *c = l ? l->clients : NULL; c; c = c->next) {
        if (c->program != program || c->ended_us > 0)
            continue;
        c->was_closed = was_closed;
        c->left_holds = is_busy(l, c);
        c->owed_us = was_closed && !has_lost(p) ? held_until_us(l, c, NULL) : owed_until_us(l, c);
        c->ended_us = now_us(l);
    }
}

int64_t labels_last_ms(const struct plan *plan)
{
    return plan->head.labels == LABELS_NONE ? 0 : plan->head.watchdog_ms + 1000;
}

/* ---- what servers store ---- */

void labels_held(struct sim *sim, const char *field, int64_t until_us)
{
    struct labels_client *c =
        sim->labels ? labels_client_of(sim->labels, field, strlen(field)) : NULL;

    if (!c)
        return;
    c->busy_us = now_us(sim->labels);
    if (until_us > c->most_until_us)
        c->most_until_us = until_us;
}

void labels_freed(struct sim *sim, const char *field)
{
    struct labels_client *c =
        sim->labels ? labels_client_of(sim->labels, field, strlen(field)) : NULL;

    if (c)
        c->freed_us = now_us(sim->labels);
}

/* LABELS-2. A call counts from its reply on, and a place in a queue for a watchdog timeout. */
static void check_time(const struct labels *l, const struct labels_client *c, int64_t until_us)
{
    int64_t watchdog_us = l->sim->plan->head.watchdog_ms * 1000;
    int64_t most_us = now_us(l) + watchdog_us;

    most_us = (c->most_until_us > most_us ? c->most_until_us : most_us) + watchdog_us;
    if (until_us > most_us + labels_slack_us(l))
        sim_fail(l->sim, "label", "c%lld's label (%s) lasts %lld ms longer than its locks",
                 (long long)c->program + 1, c->text,
                 (long long)(until_us - most_us + watchdog_us) / 1000);
    if (!is_busy(l, c) && now_us(l) > c->busy_us + labels_slack_us(l) + l->tick_us)
        sim_fail(l->sim, "label", "c%lld's label (%s) is written, and it holds nothing",
                 (long long)c->program + 1, c->text);
}

static bool is_held_by(const struct labels *l, const struct owner *o)
{
    const struct server *master = site_master(l->sim->site, o->lock_index);

    return observer_holds(&master->observer, (size_t)o->lock_index, o->hold);
}

/* A hold that has been waited for in a queue had a place before, and one that was freed by force
 * is its owner's until the owner learns of it. */
static bool may_have_begun_earlier(const struct labels *l, const struct labels_client *c)
{
    const struct program *p = l->sim->programs[c->program];

    for (const struct owner *o = p->owners; o; o = o->next)
        if (plan_has_queue(l->sim->plan, o->lock_index) ||
            (o->count > 0 && !o->is_lost && !is_held_by(l, o)))
            return true;
    return p->is_closing || c->ended_us > 0 || c->freed_us >= now_us(l) - labels_slack_us(l);
}

/* LABELS-1. One that is stored is written again at any time. */
static void check_begin(const struct labels *l, const struct labels_client *c)
{
    int64_t since_us, ms;

    (void)held_until_us(l, c, &since_us);
    ms = (now_us(l) - since_us) / 1000;
    if (since_us != HISTORY_NEVER && c->stored_us < now_us(l) && ms < EARLY_MS &&
        !may_have_begun_earlier(l, c))
        sim_fail(l->sim, "label", "c%lld's label (%s) is written after %lld ms",
                 (long long)c->program + 1, c->text, (long long)ms);
}

static void check_key(const struct labels *l, const struct observer *w,
                      struct labels_client *c, const struct model_key *key)
{
    int64_t until_us = observer_true_us(w, key->expires_ms * 1000);
    struct model_text part, value = {"", 0};
    bool is_string = key->type == MODEL_STRING && model_part(key, 0, &part, &value);

    if (key->expires_ms < 0)
        sim_fail(l->sim, "label", "a label of c%lld has no TTL", (long long)c->program + 1);
    else if (!is_string || value.n != strlen(c->text) || memcmp(value.p, c->text, value.n) != 0)
        sim_fail(l->sim, "label", "the label of c%lld is '%.*s', and not '%s'",
                 (long long)c->program + 1, (int)value.n, value.p, c->text);
    else if (l->is_calm && model_is_master(w->model)) {
        check_time(l, c, until_us);
        check_begin(l, c);
        c->stored_us = until_us;
    }
}

void labels_change(struct observer *w, struct model *m, const struct model_change *change)
{
    const struct labels *l = w->sim->labels;
    struct labels_client *c;
    struct model_key key;
    bool is_one;

    if (!l)
        return;
    c = client_of_key(l, change->key, change->len, &is_one);
    if (!is_one)
        return;
    if (!c) {
        sim_fail(l->sim, "label", "%.*s is the label of no client", (int)change->len,
                 change->key);
    } else if (model_look(m, 0, change->key, change->len, &key)) {
        effects_note(l->sim, EFFECT_LABEL);
        check_key(l, w, c, &key);
    } else if (change->cause == MODEL_BY_COMMAND && strcmp(change->command, "del") == 0) {
        effects_note(l->sim, EFFECT_LABEL_REMOVED);
    }
}

/* LABELS-5 */
void labels_error(struct sim *sim, const struct model_error *e)
{
    struct labels *l = sim->labels;

    if (!l || sim->plan->head.labels != LABELS_DENIED || !e->is_refusal ||
        strcmp(e->command, "set") != 0)
        return;
    effects_note(sim, EFFECT_LABEL_REFUSED);
    if (++l->refused_sets > 2 * l->opened && l->is_calm) /* the second one: it is closed */
        sim_fail(sim, "label", "%lld times SET of a label was refused to %lld clients",
                 (long long)l->refused_sets, (long long)l->opened);
}
