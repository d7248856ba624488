/* Labels that clients read, and errors that have them (LABELS-4). */
#include "tests/sim/labels_inner.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/effects.h"
#include "tests/sim/program_inner.h"
#include "tests/sim/site.h"
#include "tests/support/must.h"

#define TOLD_MS 2500        /* who has waited so long has read the label */
#define FAIR_TOLD_MS 6000   /* of a fair lock: a waiter that is not first learns of a new holder
                               when it renews its place */

/* Reads a label. */
struct reading {
    struct sim *sim;
    const struct labels_client *of;
    bool was_stored;
    char text[HF_LABEL_MAX + 1];
};

static void check_text(const struct labels *l, const struct labels_client *c, const char *text,
                       bool must_be_there)
{
    if (*text && strcmp(text, c->text) != 0)
        sim_fail(l->sim, "label", "a label of c%lld is read as '%s', and is '%s'",
                 (long long)c->program + 1, text, c->text);
    if (!*text && must_be_there && l->is_calm && labels_has(l, c))
        sim_fail(l->sim, "label", "the label of c%lld (%s) is not found",
                 (long long)c->program + 1, c->text);
}

static void on_read(void *ctx, hf_status status, const struct hf_error *err)
{
    struct reading *r = ctx;
    const struct labels *l = r->sim->labels;

    (void)err;
    if (*r->text)
        effects_note(r->sim, EFFECT_LABEL_READ);
    check_text(l, r->of, r->text,
               status == HF_OK && r->was_stored && labels_stored_until_us(l, r->of) > 0);
    free(r);
}

/* Of a holder of the lock, by the owner that stands there. */
static const struct observer_hold *holder_of(const struct sim *sim, int64_t lock)
{
    const struct observer *w = &site_master(sim->site, lock)->observer;

    return w->locks[lock].count > 0 ? &w->locks[lock].holds[0] : NULL;
}

void labels_read(struct program *p, int64_t lock)
{
    const struct labels *l = p->sim->labels;
    const struct observer_hold *h = l ? holder_of(p->sim, lock) : NULL;
    struct labels_client *c = h ? labels_client_of(l, h->field, h->len) : NULL;
    struct reading *r;

    if (!c)
        return;
    r = must_alloc(sizeof *r);
    *r = (struct reading){
        .sim = p->sim, .of = c, .was_stored = labels_stored_until_us(l, c) > 0};
    if (hf_label_read_async(p->client, h->field, h->len, r->text, on_read, r) < 0)
        free(r);
}

/* Since when the lock has this hold; HISTORY_NEVER: it does not have it. */
static int64_t held_since_us(const struct sim *sim, int64_t lock, const char *field, size_t len)
{
    const struct observer *w = &site_master(sim->site, lock)->observer;

    for (size_t i = 0; i < w->locks[lock].count; i++)
        if (w->locks[lock].holds[i].len == len &&
            memcmp(w->locks[lock].holds[i].field, field, len) == 0)
            return w->locks[lock].holds[i].since_us;
    return HISTORY_NEVER;
}

/* Only a client with a label reads others. */
static bool reads_labels(const struct labels *l, const struct program *p)
{
    const struct labels_client *c = labels_client_of(l, program_uuid(p), UUID_LEN);

    return c && labels_has(l, c);
}

/* Only the first waiter of a client reads the label, and not for a call that cannot time out; it may
 * learn of a new holder late. */
static bool waits_with_others(const struct call *c)
{
    for (const struct call *other = c->program->calls; other; other = other->next)
        if (other != c && other->is_under_way && other->owner &&
            other->owner->lock_index == c->owner->lock_index)
            return true;
    return false;
}

/* The reply to a reader names one of them, and the release of one wakes nobody. */
static bool has_waited(const struct labels *l, const struct call *c, const char *holder,
                       size_t len)
{
    int64_t since_us = held_since_us(l->sim, c->owner->lock_index, holder, len);
    enum plan_family family = plan_family(l->sim->plan, c->owner->lock_index);
    bool is_fair = family == FAMILY_FAIR || family == FAMILY_MIXED_FAIR;
    int64_t told_ms = is_fair ? FAIR_TOLD_MS : TOLD_MS;
    int64_t early_us = world_now_us(l->sim->world) - told_ms * 1000 - labels_slack_us(l);

    return family != FAMILY_READ_WRITE && c->asked_us < early_us && since_us < early_us &&
           reads_labels(l, c->program) && !waits_with_others(c);
}

/* A re-entry without a reply may have set its lease (LABELS-2). */
static void note_unknown(const struct call *c)
{
    const struct labels *l = c->program->sim->labels;
    int64_t until_us = world_now_us(l->sim->world) + c->lease_ms * 1000;
    struct labels_client *its = labels_client_of(l, program_uuid(c->program), UUID_LEN);

    if (its && until_us > its->most_until_us)
        its->most_until_us = until_us;
}

void labels_told(const struct call *c, hf_status status, const struct hf_error *err)
{
    static const char words[] = ", held by ";
    const struct labels *l = c->program->sim->labels;
    const char *at = l && status == HF_TIMEOUT && err ? strstr(err->text, words) : NULL;
    const char *holder = at ? at + strlen(words) : "", *label;
    const struct labels_client *of;
    char text[HF_ERROR_TEXT_MAX] = "";
    size_t len = strcspn(holder, " ");

    if (l && status == HF_E_NOREPLY)
        note_unknown(c);
    if (!at || !(of = labels_client_of(l, holder, len)))
        return;
    label = strstr(holder, " (");
    if (label)
        (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(label + 2, ")"), label + 2);
    if (*text)
        effects_note(l->sim, EFFECT_LABEL_SHOWN);
    check_text(l, of, text, has_waited(l, c, holder, len) && labels_stored_until_us(l, of) > 0);
}
