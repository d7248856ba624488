/* What a server did with the permits of a semaphore, as lines of the history: of each
 * permit that is out "held" and "freed", and "stock": how many there are.
 *
 * A sorted set has the permits in use, by numbers that scripts compute from the names of
 * their owners (PERMIT-2). The request for a permit names its owner. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/script/scripts.h"
#include "tests/sim/model/blob.h"
#include "tests/sim/observer_inner.h"
#include "tests/support/must.h"

#define ID_SIZE 16

/* The number of an owner's permit. All servers of a run have the same. */
struct sim_permit {
    char id[ID_SIZE];
    char field[OBSERVER_HOLD_MAX];
};

static unsigned hex_digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void id_of(struct model_text field, char id[ID_SIZE])
{
    char hex[41];

    md_sha1_hex((struct slice){field.p, field.n}, hex);
    for (size_t i = 0; i < ID_SIZE; i++)
        id[i] = (char)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
}

/* The last ones are searched for most often. */
static const struct sim_permit *permit_of(const struct sim *sim, const char *id)
{
    for (size_t i = sim->permit_count; i > 0; i--)
        if (memcmp(sim->permits[i - 1].id, id, ID_SIZE) == 0)
            return &sim->permits[i - 1];
    return NULL;
}

static void permit_new(struct sim *sim, const char *id, struct model_text field)
{
    struct sim_permit *permit;

    must(field.n < OBSERVER_HOLD_MAX);
    if (sim->permit_count == sim->permit_room) {
        sim->permit_room = sim->permit_room ? 2 * sim->permit_room : 64;
        sim->permits =
            realloc(sim->permits, sim->permit_room * sizeof *sim->permits);
        must(sim->permits != NULL);
    }
    permit = &sim->permits[sim->permit_count++];
    *permit = (struct sim_permit){.field = ""};
    memcpy(permit->id, id, ID_SIZE);
    memcpy(permit->field, field.p, field.n);
}

void observer_permit_asked(struct observer *w, const struct model_script *s)
{
    char id[ID_SIZE];

    if (strcmp(s->sha, hf_script_permit_acquire.sha) != 0)
        return;
    id_of(s->args[0], id);
    if (!permit_of(w->sim, id))
        permit_new(w->sim, id, s->args[0]);
}

/* ---- keys ---- */

void observer_out_key(char *dst, size_t size, const char *name)
{
    (void)snprintf(dst, size, strchr(name, '{') ? "%s:timeout" : "{%s}:timeout",
                   name);
}

static bool is_key(const struct model_change *c, const char *key)
{
    return c->len == strlen(key) && memcmp(c->key, key, c->len) == 0;
}

/* The index-th that is out, and until when. */
static struct model_text out_at(const struct observer *w, const struct model_key *out,
                                size_t index, int64_t *until_us)
{
    struct model_text id, score;
    const struct sim_permit *permit = NULL;

    if (!model_part(out, index, &id, &score))
        return (struct model_text){"", 0};
    if (id.n == ID_SIZE)
        permit = permit_of(w->sim, id.p);
    must(permit != NULL);
    *until_us = observer_true_us(w, observer_number(score) * 1000);
    return (struct model_text){permit->field, strlen(permit->field)};
}

bool observer_permit_lapsed(const struct observer *w, struct model *m,
                            const struct model_key *key)
{
    static const char suffix[] = ":timeout";
    size_t n = sizeof suffix - 1;
    struct model_text id, score;

    (void)w;
    if (key->type != MODEL_ZSET || key->name.n < n ||
        memcmp(key->name.p + key->name.n - n, suffix, n) != 0)
        return false;
    for (size_t i = 0; model_at(m, 0, key->name.p, key->name.n, i, &id, &score);
         i++)
        if (observer_number(score) > model_now_us(m) / 1000)
            return false;
    return true;
}

/* ---- lines ---- */

static size_t count_out(struct model *m, const char *out, struct model_key *key)
{
    return model_look(m, 0, out, strlen(out), key) && key->type == MODEL_ZSET ? key->count : 0;
}

/* Who takes what has lapsed frees it; a deletion frees only that. */
static enum history_why why_freed(enum history_by by, enum history_why why)
{
    return by == HISTORY_BY_ACQUIRE || by == HISTORY_BY_DELETE ? HISTORY_WHY_EXPIRED : why;
}

/* By the request of a call. */
static const char *request_of(const struct observer *w, enum history_by by)
{
    return by == HISTORY_BY_RESIZE || by == HISTORY_BY_DELETE ? w->request : "";
}

static void look(struct observer *w, struct model *m, size_t lock,
                 const char *name, const char *out, enum history_by by,
                 enum history_why why)
{
    struct model_key key;
    size_t count = count_out(m, out, &key);
    int64_t left = observer_available(m, name), until_us;

    if (left != HISTORY_NONE)
        observer_stock(w, lock, left + (int64_t)count, by, request_of(w, by));
    observer_begin(w, lock);
    for (size_t i = 0; i < count; i++)
        observer_mark(w, lock, out_at(w, &key, i, &until_us));
    observer_free_rest(w, lock, why_freed(by, why));
    if (left == HISTORY_NONE)
        observer_stock(w, lock, left, by, request_of(w, by));
    for (size_t i = 0; i < count; i++) {
        struct model_text field = out_at(w, &key, i, &until_us);

        observer_see(w, lock, field, until_us, by);
    }
}

/* A key that goes to another server takes what it says with it. */
static enum history_by by_whom(const struct observer *w,
                               const struct model_change *c, enum history_by by,
                               enum history_why why)
{
    if (c->cause == MODEL_BY_OWNER && w->is_moving)
        return HISTORY_BY_REPLICATION;
    return why == HISTORY_WHY_FORCED ? HISTORY_BY_RELEASE : by;
}

void observer_permit_look(struct observer *w, struct model *m, size_t lock,
                          const struct model_change *c, enum history_by by,
                          enum history_why why)
{
    const char *name = plan_lock_name(w->sim->plan, (int64_t)lock);
    char out[OBSERVER_KEY_MAX];

    observer_out_key(out, sizeof out, name);
    if (is_key(c, name) || is_key(c, out))
        look(w, m, lock, name, out, by_whom(w, c, by, why), why);
}
