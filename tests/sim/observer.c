/* What a server did, as lines of the history. */
#include <stdlib.h>
#include <string.h>

#include "lock/script/scripts.h"
#include "tests/sim/labels.h"
#include "tests/sim/majority.h"
#include "tests/sim/observer_inner.h"
#include "tests/support/must.h"

#define SERIAL_DIGITS 10 /* after the owner's number: lock/script/names.c */
#define WRITE_SUFFIX ":write"

/* ---- owners ---- */

static bool ends_in(const char *text, size_t len, const char *suffix)
{
    size_t n = strlen(suffix);

    return len > n && memcmp(text + len - n, suffix, n) == 0;
}

/* "uuid:numberSSSSSSSSSS[:write]": without the serial number of the hold and
 * the side, an owner is the same on all lines. A peer's numbers are short: they
 * are the owner's, whole. */
struct history_text observer_owner(const char *field,
                                   char out[OBSERVER_HOLD_MAX])
{
    size_t len = strlen(field), digits;

    if (ends_in(field, len, WRITE_SUFFIX))
        len -= strlen(WRITE_SUFFIX);
    digits = len;
    while (digits > 0 && field[digits - 1] >= '0' && field[digits - 1] <= '9')
        digits--;
    if (len - digits > SERIAL_DIGITS)
        len -= SERIAL_DIGITS;
    memcpy(out, field, len);
    out[len] = '\0';
    return (struct history_text){out, len};
}

/* ---- causes ---- */

static bool is_script(const struct model_change *c, const struct hf_script *s)
{
    return c->sha && strcmp(c->sha, s->sha) == 0;
}

static bool is_one_of(const struct model_change *c,
                      const struct hf_script *const *scripts)
{
    for (; *scripts; scripts++)
        if (is_script(c, *scripts))
            return true;
    return false;
}

static const struct hf_script *const acquires[] = {
    &hf_script_acquire, &hf_script_read_acquire, &hf_script_write_acquire,
    &hf_script_fair_acquire, &hf_script_value_acquire, &hf_script_permit_acquire,
    NULL};
static const struct hf_script *const renewals[] = {&hf_script_renew,
                                                   &hf_script_read_renew,
                                                   &hf_script_value_renew,
                                                   &hf_script_permit_renew,
                                                   &hf_script_extend,
                                                   &hf_script_read_extend,
                                                   &hf_script_value_extend,
                                                   &hf_script_permit_extend, NULL};
static const struct hf_script *const releases[] = {
    &hf_script_release, &hf_script_read_release, &hf_script_write_release,
    &hf_script_fair_release, &hf_script_value_release, &hf_script_permit_release,
    NULL};
static const struct hf_script *const forces[] = {
    &hf_script_force_release, &hf_script_rw_force_release,
    &hf_script_value_force_release, &hf_script_permit_force_release, NULL};

static enum history_by by_of(const struct model_change *c)
{
    if (c->cause == MODEL_BY_REPLICATION)
        return HISTORY_BY_REPLICATION;
    if (!c->sha)
        return HISTORY_BY_OPERATOR;
    if (is_one_of(c, acquires))
        return HISTORY_BY_ACQUIRE;
    if (is_one_of(c, renewals))
        return HISTORY_BY_RENEW;
    if (is_script(c, &hf_script_count_set))
        return HISTORY_BY_SET;
    if (is_script(c, &hf_script_permit_set))
        return HISTORY_BY_RESIZE;
    if (is_script(c, &hf_script_semaphore_delete) || is_script(c, &hf_script_latch_delete))
        return HISTORY_BY_DELETE;
    return is_one_of(c, releases) ? HISTORY_BY_RELEASE : HISTORY_BY_PEER;
}

static enum history_why why_of(const struct observer *w,
                               const struct model_change *c)
{
    switch (c->cause) {
    case MODEL_BY_EXPIRY:
        return HISTORY_WHY_EXPIRED;
    case MODEL_BY_FLUSH:
    case MODEL_BY_REPLICATION:
        return HISTORY_WHY_FORGOT;
    case MODEL_BY_OWNER:
        return w->owner_why;
    default:
        break;
    }
    if (!c->sha)
        return HISTORY_WHY_DELETED;
    return is_one_of(c, forces) ? HISTORY_WHY_FORCED : HISTORY_WHY_RELEASED;
}

/* ---- lines ---- */

static bool is_permit(const struct observer *w, size_t lock)
{
    return w->sim->plan->locks[lock].family == FAMILY_PERMIT;
}

static void write_hold(struct observer *w, size_t lock,
                       const struct observer_hold *hold, bool has_mode,
                       struct history_event *e)
{
    char owner[OBSERVER_HOLD_MAX], field[OBSERVER_HOLD_MAX];
    char name[MAJORITY_NAME_MAX];

    w->locks[lock].changed_us = world_now_us(w->sim->world);
    w->lines++;
    memcpy(field, hold->field, sizeof field);
    majority_first(w->sim, field);
    e->lock = history_text(majority_name(w->sim, (int64_t)lock, w->server, name));
    e->owner = observer_owner(field, owner);
    e->hold = history_text(field);
    e->kind = plan_has_queue(w->sim->plan, (int64_t)lock) ? HISTORY_KIND_FAIR
                                                          : HISTORY_KIND_PLAIN;
    if (is_permit(w, lock))
        e->kind = HISTORY_KIND_PERMIT;
    if (has_mode)
        e->kind = ends_in(hold->field, strlen(hold->field), WRITE_SUFFIX)
                      ? HISTORY_KIND_WRITE
                      : HISTORY_KIND_READ;
    sim_write(w->sim, e);
}

static bool is_read_write(const struct observer *w, size_t lock)
{
    return plan_family(w->sim->plan, (int64_t)lock) == FAMILY_READ_WRITE;
}

static void write_freed(struct observer *w, size_t lock,
                        const struct observer_hold *hold, enum history_why why)
{
    struct history_event e = sim_event(w->sim, 's', w->server, HISTORY_FREED);

    e.why = why;
    labels_freed(w->sim, hold->field);
    write_hold(w, lock, hold, is_read_write(w, lock), &e);
}

static void write_held(struct observer *w, size_t lock,
                       const struct observer_hold *hold, enum history_by by)
{
    struct history_event e = sim_event(w->sim, 's', w->server, HISTORY_HELD);

    e.count = hold->count;
    e.until_us = hold->until_us;
    e.by = by;
    labels_held(w->sim, hold->field, hold->until_us);
    write_hold(w, lock, hold, is_read_write(w, lock), &e);
}

void observer_repeat(struct observer *w)
{
    for (size_t lock = 0; lock < w->sim->plan->lock_count; lock++)
        for (size_t i = 0; i < w->locks[lock].count; i++)
            write_held(w, lock, &w->locks[lock].holds[i],
                       HISTORY_BY_REPLICATION);
    for (size_t lock = 0; lock < w->sim->plan->lock_count; lock++)
        observer_stock_repeat(w, lock);
}

/* ---- looking at a lock ---- */

/* Fields are mostly looked up in the order in which they were noted: the search begins
 * after the last one that was found. */
static struct observer_hold *hold_of(struct observer *w, size_t lock,
                                     struct model_text field)
{
    size_t count = w->locks[lock].count, at = w->locks[lock].found;

    for (size_t i = 0; i < count; i++) {
        struct observer_hold *h;

        at = at + 1 < count ? at + 1 : 0;
        h = &w->locks[lock].holds[at];
        if (h->len == field.n && memcmp(h->field, field.p, field.n) == 0) {
            w->locks[lock].found = at;
            return h;
        }
    }
    return NULL;
}

bool observer_holds(const struct observer *w, size_t lock, const char *field)
{
    for (size_t i = 0; i < w->locks[lock].count; i++)
        if (strcmp(w->locks[lock].holds[i].field, field) == 0)
            return true;
    return false;
}

#define MILLION 1000000

/* What is of true time as time of the server's clock. In two parts: the product of a year
 * would not fit. */
static int64_t clock_span(const struct observer *w, int64_t us)
{
    int64_t rate = MILLION + w->clock.ppm;

    return us / MILLION * rate + us % MILLION * rate / MILLION;
}

static int64_t clock_at(const struct observer *w, int64_t true_us)
{
    return w->clock.shown_us + clock_span(w, true_us - w->clock.since_us);
}

int64_t observer_clock_us(const struct observer *w)
{
    return clock_at(w, world_now_us(w->sim->world));
}

int64_t observer_true_us(const struct observer *w, int64_t clock_us)
{
    int64_t rate = MILLION + w->clock.ppm, us = clock_us - w->clock.shown_us;
    int64_t span = us / rate * MILLION + us % rate * MILLION / rate;

    while (clock_span(w, span) < us)
        span++;
    return w->clock.since_us + span;
}

void observer_set_clock(struct observer *w, int64_t step_us, int64_t ppm)
{
    const struct observer before = *w;

    w->clock.shown_us = observer_clock_us(w) + step_us;
    w->clock.since_us = world_now_us(w->sim->world);
    w->clock.ppm = ppm;
    for (size_t lock = 0; lock < w->sim->plan->lock_count; lock++)
        for (size_t i = 0; i < w->locks[lock].count; i++) {
            struct observer_hold *h = &w->locks[lock].holds[i];

            if (h->until_us == HISTORY_NEVER)
                continue;
            h->until_us = observer_true_us(w, clock_at(&before, h->until_us));
            write_held(w, lock, h, HISTORY_BY_OTHER);
        }
}

bool observer_has_holds(const struct observer *w)
{
    for (size_t i = 0; i < w->sim->plan->lock_count; i++)
        if (w->locks[i].count > 0)
            return true;
    return false;
}

bool observer_is_free(const struct observer *w, size_t lock, int64_t since_us)
{
    return w->locks[lock].count == 0 && w->locks[lock].changed_us <= since_us;
}

static struct observer_hold *next_hold(struct observer *w, size_t lock)
{
    size_t count = w->locks[lock].count++, room = w->locks[lock].room;

    if (count == room) {
        room = room ? 2 * room : 8;
        w->locks[lock].holds =
            realloc(w->locks[lock].holds, room * sizeof *w->locks[lock].holds);
        must(w->locks[lock].holds);
        w->locks[lock].room = room;
    }
    return &w->locks[lock].holds[count];
}

static struct observer_hold *hold_new(struct observer *w, size_t lock,
                                      struct model_text field)
{
    struct observer_hold *h = next_hold(w, lock);

    must(field.n < OBSERVER_HOLD_MAX);
    *h = (struct observer_hold){
        .count = -1, .len = field.n, .since_us = world_now_us(w->sim->world)};
    memcpy(h->field, field.p, field.n);
    return h;
}

void observer_free_rest(struct observer *w, size_t lock, enum history_why why)
{
    size_t left = 0;

    for (size_t i = 0; i < w->locks[lock].count; i++) {
        struct observer_hold *h = &w->locks[lock].holds[i];

        if (h->is_there)
            w->locks[lock].holds[left++] = *h;
        else
            write_freed(w, lock, h, why);
    }
    w->locks[lock].count = left;
}

/* In true time, if the server's clock is not set meanwhile. */
static int64_t until_of(const struct observer *w, const struct model_key *key)
{
    return key->expires_ms < 0 ? HISTORY_NEVER : observer_true_us(w, key->expires_ms * 1000);
}

int64_t observer_number(struct model_text value)
{
    char digits[24] = "";

    memcpy(digits, value.p,
           value.n < sizeof digits ? value.n : sizeof digits - 1);
    return strtoll(digits, NULL, 10);
}

static bool is_writer(struct model_text field)
{
    size_t n = strlen(WRITE_SUFFIX);

    return field.n > n && memcmp(field.p + field.n - n, WRITE_SUFFIX, n) == 0;
}

/* A read-write lock has the fields of several owners, and one end. If the end alone
 * has changed, by a command that is not the writer's, another's lease did it: what
 * readers' commands do to their own, see_reader has seen before. */
static enum history_by by_whom(const struct observer *w, size_t lock,
                               const struct model_change *c,
                               struct model_text field, bool is_counted)
{
    enum history_by by = by_of(c);
    bool is_writers = is_script(c, &hf_script_write_acquire) ||
                      is_script(c, &hf_script_renew);

    if (!is_read_write(w, lock) || is_counted ||
        (is_writers && is_writer(field)))
        return by;
    return by == HISTORY_BY_ACQUIRE || by == HISTORY_BY_RENEW ||
                   by == HISTORY_BY_RELEASE
               ? HISTORY_BY_OTHER
               : by;
}

static void see(struct observer *w, size_t lock, const struct model_change *c,
                const struct model_key *key, struct model_text field,
                struct model_text value)
{
    struct observer_hold *h = hold_of(w, lock, field);
    enum history_by by;

    if (!h)
        h = hold_new(w, lock, field);
    by = by_whom(w, lock, c, field, h->count != observer_number(value));
    if (h->count == observer_number(value) && h->until_us == until_of(w, key) &&
        by != HISTORY_BY_ACQUIRE) /* one that is repeated is a grant, too */
        return;
    h->count = observer_number(value);
    h->until_us = until_of(w, key);
    write_held(w, lock, h, by);
}

void observer_see(struct observer *w, size_t lock, struct model_text field,
                  int64_t until_us, enum history_by by)
{
    struct observer_hold *h = hold_of(w, lock, field);

    if (!h)
        h = hold_new(w, lock, field);
    if (h->count == 1 && h->until_us == until_us)
        return;
    h->count = 1;
    h->until_us = until_us;
    write_held(w, lock, h, by);
}

static bool is_mode(struct model_text field)
{
    return field.n == 4 && memcmp(field.p, "mode", 4) == 0;
}

static void each_field(struct observer *w, size_t lock, const struct model_change *c,
                       const struct model_key *key, bool is_first_pass)
{
    struct model_text field, value;

    for (size_t i = 0; model_part(key, i, &field, &value); i++) {
        if (is_mode(field))
            continue;
        if (is_first_pass)
            observer_mark(w, lock, field);
        else
            see(w, lock, c, key, field, value);
    }
}

/* Of a value lock: the holder is the value, and holds it once. */
static void see_value(struct observer *w, struct model *m, size_t lock,
                      const struct model_change *c, const struct model_key *key)
{
    const struct model_text once = {"1", 1};
    struct model_text part, holder;
    struct observer_hold *h;

    if (!model_at(m, 0, c->key, c->len, 0, &part, &holder))
        return;
    if ((h = hold_of(w, lock, holder)))
        h->is_there = true;
    observer_free_rest(w, lock, why_of(w, c));
    see(w, lock, c, key, holder, once);
}

static bool is_value(const struct observer *w, size_t lock)
{
    return plan_family(w->sim->plan, (int64_t)lock) == FAMILY_VALUE;
}

void observer_begin(struct observer *w, size_t lock)
{
    for (size_t i = 0; i < w->locks[lock].count; i++)
        w->locks[lock].holds[i].is_there = false;
}

void observer_mark(struct observer *w, size_t lock, struct model_text field)
{
    struct observer_hold *h = hold_of(w, lock, field);

    if (h)
        h->is_there = true;
}

/* First the holds that have ended, then the new ones. */
static void look(struct observer *w, struct model *m, size_t lock,
                 const struct model_change *c)
{
    struct model_key key;
    bool is_hash =
        model_look(m, 0, c->key, c->len, &key) && key.type == MODEL_HASH;

    observer_begin(w, lock);
    if (is_value(w, lock) && model_look(m, 0, c->key, c->len, &key) &&
        key.type == MODEL_STRING) {
        see_value(w, m, lock, c, &key);
        return;
    }
    if (is_hash)
        each_field(w, lock, c, &key, true);
    observer_free_rest(w, lock, why_of(w, c));
    if (is_hash)
        each_field(w, lock, c, &key, false);
}

/* ---- what is observed ---- */

static bool is_name(const struct model_change *c, const char *name)
{
    return c->len == strlen(name) && memcmp(c->key, name, c->len) == 0;
}

/* The counter of a lock's tokens stays, for ever or a while (lock.h: hf_lock_token). */
static bool is_token_key(struct model_text name)
{
    static const char prefix[] = "redisson_lock_token:";

    return name.n > sizeof prefix - 1 &&
           memcmp(name.p, prefix, sizeof prefix - 1) == 0;
}

static void token_key(char *dst, size_t size, const char *name)
{
    const char *format = strchr(name, '{') ? "redisson_lock_token:%s"
                                           : "redisson_lock_token:{%s}";

    (void)snprintf(dst, size, format, name);
}

static void write_reset(struct observer *w, int64_t lock)
{
    struct history_event e = sim_event(w->sim, 's', w->server, HISTORY_RESET);
    char name[MAJORITY_NAME_MAX];

    e.lock = history_text(majority_name(w->sim, lock, w->server, name));
    sim_write(w->sim, &e);
}

/* A reader's lease is in a key of its own, "{lock}:field:rwlock_timeout:number": which
 * field, and the number. 0: it is not such a key. */
#define HOLD_KEY ":rwlock_timeout:"

static int64_t number_of_hold_key(const struct model_change *c, const char *name,
                                  struct model_text *field)
{
    bool has_tag = strchr(name, '{') != NULL;
    size_t n = strlen(name), len = c->len, begin = n + (has_tag ? 1 : 3);
    size_t digits = 0;

    while (digits < len && c->key[len - digits - 1] >= '0' && c->key[len - digits - 1] <= '9')
        digits++;
    if (digits == 0 || len - digits < begin + strlen(HOLD_KEY))
        return 0;
    len -= digits + strlen(HOLD_KEY);
    if (memcmp(c->key + len, HOLD_KEY, strlen(HOLD_KEY)) != 0 ||
        memcmp(c->key + !has_tag, name, n) != 0)
        return 0;
    *field = (struct model_text){c->key + begin, len - begin};
    return observer_number((struct model_text){c->key + c->len - digits, digits});
}

/* The lock's end, which is that of the longest lease, need not change with a reader's:
 * what is in its hash does not show each grant and each renewal. */
static void look_at_hold_key(struct observer *w, struct model *m, size_t lock,
                             const struct model_change *c)
{
    const char *name = plan_lock_name(w->sim->plan, (int64_t)lock);
    enum history_by by = by_of(c);
    struct model_text field = {0}, value;
    struct observer_hold *h;
    struct model_key key;
    int64_t number;
    char text[OBSERVER_HOLD_MAX];

    if (!is_read_write(w, lock) || (by != HISTORY_BY_ACQUIRE && by != HISTORY_BY_RENEW) ||
        (number = number_of_hold_key(c, name, &field)) == 0 ||
        !(h = hold_of(w, lock, field)) || !model_look(m, 0, name, strlen(name), &key))
        return;
    memcpy(text, h->field, sizeof text);
    if (!model_field(m, 0, name, strlen(name), text, &value) ||
        observer_number(value) != number)
        return;
    h->count = number;
    h->until_us = until_of(w, &key);
    write_held(w, lock, h, by);
}

/* A counter that was lost begins again; with retention, above all earlier tokens. */
static void look_at_token(struct observer *w, struct model *m, int64_t lock,
                          const struct model_change *c)
{
    const char *name = plan_lock_name(w->sim->plan, lock);
    struct model_key key;
    char token[PLAN_KEY_MAX];

    if (!is_token_key((struct model_text){c->key, c->len}))
        return;
    token_key(token, sizeof token, name);
    if (!w->sim->plan->head.retains_tokens && is_name(c, token) &&
        model_is_master(m) && !w->is_moving && !model_look(m, 0, c->key, c->len, &key))
        write_reset(w, lock);
}

static int64_t token_of(struct model *m, const char *name)
{
    struct model_text part, value;
    char token[PLAN_KEY_MAX];

    token_key(token, sizeof token, name);
    return model_at(m, 0, token, strlen(token), 0, &part, &value)
               ? observer_number(value)
               : 0;
}

/* Of a counter that the old one lost it is not known what it gave. */
void observer_behind(struct observer *w, struct model *model, struct model *old)
{
    const struct plan *plan = w->sim->plan;

    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++) {
        int64_t is = token_of(model, plan_lock_name(plan, i));
        int64_t was = token_of(old, plan_lock_name(plan, i));

        if (is < was || (was == 0 && is > 0))
            write_reset(w, i);
    }
    observer_queue_promoted(w, model);
}

static void on_change(void *ctx, struct model *m, const struct model_change *c)
{
    struct observer *w = ctx;
    const struct plan *plan = w->sim->plan;

    labels_change(w, m, c);
    for (size_t i = 0; c->db == 0 && i < plan->lock_count; i++) {
        const char *name = plan_lock_name(plan, (int64_t)i);

        if (is_permit(w, i)) {
            observer_permit_look(w, m, i, c, by_of(c), why_of(w, c));
            continue;
        }
        if (plan_is_counted(plan, (int64_t)i)) {
            observer_count_look(w, m, i, c, by_of(c));
            continue;
        }
        if (!is_name(c, name)) {
            look_at_token(w, m, (int64_t)i, c);
            look_at_hold_key(w, m, i, c);
            observer_queue_look(w, m, i, c, by_of(c));
            continue;
        }
        look(w, m, i, c);
        if (w->is_replaced)
            write_reset(w, (int64_t)i);
    }
}

#define LISTENERS 16 /* lock/machine/channel.h: more are a crowd */

static void on_publish(void *ctx, struct model *m, const char *channel,
                       size_t len, const char *payload, size_t payload_len,
                       int receivers)
{
    struct observer *w = ctx;
    struct history_event e = sim_event(w->sim, 's', w->server, HISTORY_TOLD);

    (void)m;
    (void)payload;
    (void)payload_len;
    if (receivers > LISTENERS)
        effects_note(w->sim, EFFECT_LISTENERS);
    e.channel = (struct history_text){channel, len};
    e.n = receivers;
    sim_write(w->sim, &e);
}

static bool is_text(struct model_text a, const char *b)
{
    return a.n == strlen(b) && memcmp(a.p, b, a.n) == 0;
}

static bool is_last_release(const struct model_script *s)
{
    for (const struct hf_script *const *r = releases; *r; r++)
        if (strcmp((*r)->sha, s->sha) == 0)
            return is_text(s->args[1], "0");
    return false;
}

#define BATCH 100 /* keys */

static bool is_renewal(const struct model_script *s)
{
    for (const struct hf_script *const *r = renewals; *r; r++)
        if (strcmp((*r)->sha, s->sha) == 0)
            return true;
    return false;
}

/* A master that serves on beside its successor may receive the release of a hold that only
 * the successor has: no key changes, and its client takes the hold for released. */
static void on_script(void *ctx, struct model *m, const struct model_script *s)
{
    struct observer *w = ctx;
    const struct plan *plan = w->sim->plan;
    struct observer_hold hold = {.count = 0};

    (void)m;
    observer_permit_asked(w, s);
    observer_count_asked(w, s);
    if (is_renewal(s) && s->keys >= BATCH)
        effects_note(w->sim, EFFECT_BATCH);
    if (!w->is_replaced || !is_last_release(s) || s->args[0].n >= OBSERVER_HOLD_MAX)
        return;
    memcpy(hold.field, s->args[0].p, s->args[0].n);
    for (size_t i = 0; i < plan->lock_count; i++)
        if (is_text(s->key, plan_lock_name(plan, (int64_t)i)) &&
            !hold_of(w, i, s->args[0]))
            write_freed(w, i, &hold, HISTORY_WHY_RELEASED);
}

static void on_error(void *ctx, struct model *m, const struct model_error *e)
{
    const struct observer *w = ctx;

    (void)m;
    effects_of_error(w->sim, w->server, e);
    labels_error(w->sim, e);
}

void observer_init(struct observer *w, struct sim *sim, int64_t server,
                   struct model *model)
{
    struct model_observer observer = {w, on_change, on_publish, on_script,
                                      on_error};

    memset(w, 0, sizeof *w);
    w->sim = sim;
    w->server = server;
    w->model = model;
    w->owner_why = HISTORY_WHY_DELETED;
    for (size_t i = 0; i < PLAN_LOCKS_MAX; i++)
        w->stocks[i] = w->stocks_until_us[i] = HISTORY_NONE;
    model_observe(model, &observer);
}

/* ---- what is left ---- */

/* The hold key of the reader's hold number i. */
static bool look_at_own(struct model *m, const char *name, const struct observer_hold *h,
                        long long i, struct model_key *key)
{
    const char *format = strchr(name, '{') ? "%s:%s:rwlock_timeout:%lld"
                                           : "{%s}:%s:rwlock_timeout:%lld";
    char text[PLAN_KEY_MAX + OBSERVER_HOLD_MAX];
    size_t n = (size_t)snprintf(text, sizeof text, format, name, h->field, i);

    must(n < sizeof text);
    return model_look(m, 0, text, n, key) && !key->is_expired;
}

static bool has_hold_key(struct model *m, const char *name,
                         const struct observer_hold *h)
{
    struct model_key key;

    for (long long i = 1; i <= h->count; i++)
        if (look_at_own(m, name, h, i, &key))
            return true;
    return false;
}

static bool is_dead(struct model *m, const char *name,
                    const struct observer_hold *h)
{
    return !ends_in(h->field, strlen(h->field), WRITE_SUFFIX) &&
           !has_hold_key(m, name, h);
}

void observer_dead_readers(struct observer *w, struct model *model)
{
    for (size_t lock = 0; lock < w->sim->plan->lock_count; lock++)
        for (size_t i = 0; is_read_write(w, lock) && i < w->locks[lock].count;
             i++)
            if (is_dead(model, plan_lock_name(w->sim->plan, (int64_t)lock),
                        &w->locks[lock].holds[i]))
                write_freed(w, lock, &w->locks[lock].holds[i],
                            HISTORY_WHY_EXPIRED);
}

/* When the last of its hold keys expires, by the server's clock; 0: there is none. */
static int64_t own_end_ms(struct model *m, const char *name, const struct observer_hold *h)
{
    int64_t end_ms = 0;
    struct model_key key;

    for (long long i = 1; i <= h->count; i++)
        if (look_at_own(m, name, h, i, &key) && key.expires_ms > end_ms)
            end_ms = key.expires_ms;
    return end_ms;
}

static void write_older(struct observer *w, size_t lock, const struct observer_hold *h,
                        int64_t end_ms)
{
    struct observer_hold is = *h;
    int64_t until_us = end_ms > 0 ? observer_true_us(w, end_ms * 1000)
                                  : world_now_us(w->sim->world);

    is.until_us = until_us < h->until_us ? until_us : h->until_us;
    write_held(w, lock, &is, HISTORY_BY_REPLICATION);
}

void observer_older_readers(struct observer *w, struct model *model, struct model *old)
{
    for (size_t lock = 0; lock < w->sim->plan->lock_count; lock++)
        for (size_t i = 0; is_read_write(w, lock) && i < w->locks[lock].count; i++) {
            const char *name = plan_lock_name(w->sim->plan, (int64_t)lock);
            const struct observer_hold *h = &w->locks[lock].holds[i];
            int64_t end_ms = own_end_ms(model, name, h);

            if (end_ms < own_end_ms(old, name, h))
                write_older(w, lock, h, end_ms);
        }
}

static const char *const type_names[] = {"none", "string", "hash",
                                         "list", "zset",   "set"};

/* A semaphore stays for ever. */
static bool is_stock(const struct observer *w, struct model_text key)
{
    for (size_t i = 0; i < w->sim->plan->lock_count; i++)
        if (plan_has_permits(w->sim->plan, (int64_t)i) &&
            is_text(key, plan_lock_name(w->sim->plan, (int64_t)i)))
            return true;
    return false;
}

/* The recorded reply to a request that was repeated expires (COUNT-1). */
static bool is_answer(const struct model_key *key)
{
    return key->expires_ms >= 0 && observer_is_answer(key->name.p, key->name.n);
}

static void write_key(void *ctx, const struct model_key *key)
{
    struct observer *w = ctx;
    struct history_event e = sim_event(w->sim, 's', w->server, HISTORY_KEY);

    if (key->is_expired)
        return;
    e.name = (struct history_text){key->name.p, key->name.n};
    e.type = history_text(type_names[key->type]);
    if (is_token_key(key->name))
        e.may = history_text("token");
    else if (is_stock(w, key->name))
        e.may = history_text("stock");
    else if (is_answer(key))
        e.may = history_text("answer");
    else if (observer_permit_lapsed(w, w->model, key))
        e.may = history_text("lapsed");
    sim_write(w->sim, &e);
}

void observer_keys(struct observer *w, struct model *model)
{
    model_each_key(model, 0, write_key, w);
}
