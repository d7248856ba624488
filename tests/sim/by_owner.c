/* What programs do with holds of others. Until when such a hold is safe, by the answer,
 * is what the history says that its owner believes. */
#include "tests/sim/by_owner.h"

#include <stdlib.h>
#include <string.h>

#include "lock/by_owner.h"
#include "tests/sim/model/blob.h"
#include "tests/sim/site.h"
#include "tests/support/must.h"

struct left {
    struct left *next;
    int64_t lock, side;
    char name[OWNER_NAME_MAX], hold[HF_OWNER_TEXT_MAX];
    int64_t until_us; /* that is believed */
    bool is_given_up; /* a release was requested: no owner believes in it again */
};

/* A call on one of them. */
struct task {
    struct call *call;
    struct left *left;  /* NULL: of a client that lives */
    char hold[HF_OWNER_TEXT_MAX];
    char owner[HF_OWNER_TEXT_MAX]; /* what the library is told: the hold, or its id */
    int64_t safe_ms;
    bool was_held;      /* at the time of the request */
};

static bool is_to_be_noted(const struct program *p, const struct owner *o)
{
    return o->count > 0 && o->hold[0] != '\0' && o->form == OWNER_OF_LOCK &&
           !o->whole && !plan_is_counted(p->sim->plan, o->lock_index);
}

void left_note(struct program *p)
{
    for (struct owner *o = p->owners; o; o = o->next) {
        struct left *left;

        if (!is_to_be_noted(p, o))
            continue;
        left = must_alloc(sizeof *left);
        *left = (struct left){.next = p->sim->left,
                              .lock = o->lock_index,
                              .side = o->side};
        memcpy(left->name, o->name, sizeof left->name);
        memcpy(left->hold, o->hold, sizeof left->hold);
        p->sim->left = left;
    }
}

void left_free(struct sim *sim)
{
    while (sim->left) {
        struct left *left = sim->left;

        sim->left = left->next;
        free(left);
    }
}

/* ---- beliefs ---- */

static void believe(struct task *t, int64_t until_us)
{
    struct left *left = t->left;
    struct owner *o = t->call->owner;
    struct history_event e;

    if (!left || !o || left->until_us == until_us ||
        (until_us > 0 && left->is_given_up) ||
        (until_us == 0 && left->until_us <= world_now_us(o->program->sim->world)))
        return;
    left->until_us = until_us;
    e = owner_event(o, HISTORY_SAFE);
    e.owner = history_text(left->name);
    e.hold = history_text(left->hold);
    e.until_us = until_us;
    sim_write(o->program->sim, &e);
}

/* ---- what is true ---- */

static bool is_held(const struct task *t)
{
    const struct owner *o = t->call->owner;
    struct sim *sim = o->program->sim;
    struct server *master = site_master(sim->site, o->lock_index);

    (void)server_turn(master);
    return observer_holds(&master->observer, (size_t)o->lock_index, t->hold);
}

/* One server says it, and there was no other one. */
static bool is_certain(const struct sim *sim)
{
    for (size_t i = 0; i < sim->plan->fault_count; i++)
        if (sim->plan->faults[i].kind == FAULT_FAILOVER ||
            sim->plan->faults[i].kind == FAULT_MOVE_SLOT ||
            sim->plan->faults[i].kind == FAULT_DEMOTE)
            return false;
    return true;
}

static void check(const struct task *t, hf_status status, bool is_release)
{
    struct sim *sim = t->call->program->sim;

    if (!t->call->owner || !is_certain(sim))
        return;
    if (is_release && status == HF_OK && is_held(t))
        sim_fail(sim, "P6", "%s was released by its owner, and is held", t->hold);
    if (status == HF_NOT_OWNER && t->was_held && is_held(t))
        sim_fail(sim, "P12", "%s is held, and its owner was told that it is not",
                 t->hold);
    if (status == HF_OK && !is_release && !t->was_held && !is_held(t) &&
        t->safe_ms > 2 * sim->plan->head.request_ms)
        sim_fail(sim, "P10", "%s was renewed, and was not held", t->hold);
}

/* ---- calls ---- */

static void on_renewed(void *ctx, hf_status status, const struct hf_error *err)
{
    struct task *t = ctx;
    const struct process *process = program_process(t->call->program);

    (void)err;
    check(t, status, false);
    if (status == HF_OK && t->safe_ms > 0) {
        int64_t us = process_true_us(
            process, (process_clock_us(process) / 1000 + t->safe_ms) * 1000);

        if (t->left && us > t->left->until_us)
            believe(t, us);
    }
    call_end(t->call, status, 0);
    free(t);
}

static void on_released(void *ctx, hf_status status, const struct hf_error *err)
{
    struct task *t = ctx;

    (void)err;
    check(t, status, true);
    call_end(t->call, status, 0);
    free(t);
}

static void began(struct task *t, hf_status status, hf_done *done)
{
    if (status < 0)
        done(t, status, NULL);
}

/* Of that name and side. */
static struct left *pick_left(const struct sim *sim, const struct plan_op *op)
{
    int64_t n = op->n / 2;
    struct left *found = NULL;

    for (struct left *l = sim->left; l && (n-- >= 0 || !found); l = l->next)
        if (l->lock == op->lock && l->side == op->side)
            found = l;
    return found;
}

static const char *pick_living(const struct program *p, const struct plan_op *op)
{
    const struct sim *sim = p->sim;

    for (size_t i = 0; i < sim->plan->program_count; i++)
        for (const struct owner *o = sim->programs[i]->owners;
             o && sim->programs[i] != p; o = o->next)
            if (is_to_be_noted(sim->programs[i], o) && o->lock_index == op->lock &&
                o->side == op->side)
                return o->hold;
    return NULL;
}

#define ID_DIGITS 32

/* The id of a permit: PERMIT-2. */
static void id_of(const char *hold, char id[HF_OWNER_TEXT_MAX])
{
    char hex[41];

    md_sha1_hex((struct slice){hold, strlen(hold)}, hex);
    memcpy(id, hex, ID_DIGITS);
    id[ID_DIGITS] = '\0';
}

/* A release of one that lives is as a forced one, which those of a read-write lock
 * are not: they look like its owner's. */
static struct task *task_new(struct program *p, struct owner *o,
                             const struct plan_op *op, enum history_op what)
{
    bool may_live = op->n % 2 == 1 && plan_family(p->sim->plan, op->lock) !=
                                          FAMILY_READ_WRITE;
    const char *living = may_live ? pick_living(p, op) : NULL;
    struct left *left = living ? NULL : pick_left(p->sim, op);
    struct task *t;

    if (!living && !left)
        return NULL;
    t = must_alloc(sizeof *t);
    *t = (struct task){.call = program_call(p, o, what), .left = left};
    memcpy(t->hold, living ? living : left->hold, sizeof t->hold);
    memcpy(t->call->hold, t->hold, sizeof t->hold);
    memcpy(t->owner, t->hold, sizeof t->hold);
    if (op->flags & FLAG_BY_ID && plan_family(p->sim->plan, op->lock) == FAMILY_PERMIT)
        id_of(t->hold, t->owner);
    t->call->lease_ms = op->lease_ms;
    t->was_held = is_held(t);
    return t;
}

static void renew(struct program *p, struct owner *o, const struct plan_op *op)
{
    struct task *t = task_new(p, o, op, HISTORY_OP_RENEW);

    if (!t)
        return;
    call_ask(t->call);
    began(t,
          hf_renew_by_owner_async(o->lock, t->owner, strlen(t->owner), op->lease_ms,
                                  &t->safe_ms, on_renewed, t),
          on_renewed);
}

static void release(struct program *p, struct owner *o, const struct plan_op *op)
{
    struct task *t = task_new(p, o, op, HISTORY_OP_FORCE);

    if (!t)
        return;
    believe(t, 0);
    if (t->left)
        t->left->is_given_up = true;
    call_ask(t->call);
    began(t,
          hf_release_by_owner_async(o->lock, t->owner, strlen(t->owner), on_released, t),
          on_released);
}

bool by_owner_does(struct program *p, struct owner *o, const struct plan_op *op)
{
    bool is_renewal = op->verb == OP_RENEW_OWNER;

    if (!is_renewal && op->verb != OP_RELEASE_OWNER)
        return false;
    if (plan_is_counted(p->sim->plan, op->lock) || o->form != OWNER_OF_LOCK)
        return true;
    if (is_renewal)
        renew(p, o, op);
    else
        release(p, o, op);
    return true;
}
