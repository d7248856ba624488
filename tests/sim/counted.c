/* What programs do with semaphores, latches and the number of expirable permits. */
#include "tests/sim/counted.h"

#include "lock/permits.h"
#include "tests/sim/counts.h"

static const struct plan *plan_of(const struct owner *o)
{
    return o->program->sim->plan;
}

static bool is_of(const struct owner *o, int64_t family)
{
    return plan_of(o)->locks[o->lock_index].family == family;
}

static bool is_semaphore(const struct owner *o)
{
    return is_of(o, FAMILY_SEMAPHORE);
}

/* ---- the number ---- */

void counted_set(struct owner *o)
{
    int64_t n = plan_of(o)->locks[o->lock_index].permits;
    struct call *c;

    if (!plan_has_permits(plan_of(o), o->lock_index))
        return;
    c = program_call(o->program, o, HISTORY_OP_SET);
    c->n = n;
    call_ask(c);
    if (plan_is_counted(plan_of(o), o->lock_index))
        program_began(c, count_set(o, c, n, program_ended), program_ended);
    else
        program_began(c, hf_permits_try_set_async(o->lock, n, &c->was_set, program_ended, c),
                      program_ended);
    program_watch_queues(o->program);
}

/* Also a semaphore with the name of expirable permits. */
static void delete(struct owner *o)
{
    struct call *c = program_call(o->program, o, HISTORY_OP_DELETE);

    call_ask(c);
    program_began(c, count_delete(o, c, program_ended), program_ended);
    program_watch_queues(o->program);
}

static void look(struct owner *o)
{
    struct call *c = program_call(o->program, o, HISTORY_OP_INSPECT);

    call_ask(c);
    program_began(c, count_look(o, c, program_ended), program_ended);
}

/* ---- adding ---- */

static void on_given(void *ctx, hf_status status, const struct hf_error *err)
{
    struct call *c = ctx;

    (void)err;
    if (c->owner->releasing > 0) {
        c->owner->releasing--;
        c->owner->count--;
    }
    call_end(c, status, 0);
}

/* So many permits; or the latch is counted down. */
static void give(struct owner *o, int64_t n)
{
    struct call *c = program_call(o->program, o, HISTORY_OP_RELEASE);

    c->n = n;
    call_ask(c);
    program_began(c, count_give(o, c, n, on_given), on_given);
    program_watch_queues(o->program);
}

/* Only to a semaphore that exists. */
static void add(struct owner *o, int64_t n)
{
    struct call *c = program_call(o->program, o, HISTORY_OP_ADD);

    c->n = n;
    call_ask(c);
    program_began(c, count_add(o, c, n, on_given), on_given);
    program_watch_queues(o->program);
}

/* It is requested once, whatever its result. */
static void give_back(struct call *taken)
{
    struct owner *o = taken->owner;

    if (!taken->is_out)
        return;
    taken->is_out = false;
    o->releasing++;
    if (taken->op == HISTORY_OP_REDUCE)
        add(o, taken->n);
    else
        give(o, taken->n);
}

void counted_give_back(struct program *p)
{
    for (struct call *c = p->calls; c; c = c->next)
        if (c->owner && c->is_out)
            give_back(c);
}

/* ---- taking ---- */

static void on_take_over(void *ctx)
{
    struct call *c = ctx;
    struct program *p = c->program;
    struct process *before;

    if (process_is_suspended(p->process) || p->is_freeing) {
        world_after(p->sim->world, &c->release, RETRY_US);
        return;
    }
    before = process_enter(p->process);
    give_back(c);
    process_enter(before);
}

/* It has c->n permits, which it gives back hold_ms later. */
static void keep(struct call *c)
{
    c->is_out = true;
    c->owner->count++;
    if (c->hold_ms >= 0)
        world_after(c->program->sim->world, &c->release, c->hold_ms * 1000);
}

static void on_taken(void *ctx, hf_status status, const struct hf_error *err)
{
    struct call *c = ctx;

    (void)err;
    call_end(c, status, 0);
    if (status == HF_OK && is_semaphore(c->owner))
        keep(c);
}

/* They are removed, or taken, also where replicas did not confirm it (semaphore.h). */
static bool is_removed(hf_status status)
{
    return status == HF_OK || status == HF_UNREPLICATED;
}

static void on_reduced(void *ctx, hf_status status, const struct hf_error *err)
{
    struct call *c = ctx;

    (void)err;
    call_end(c, status, 0);
    if (is_removed(status) && c->exists)
        keep(c);
}

static void on_drained(void *ctx, hf_status status, const struct hf_error *err)
{
    struct call *c = ctx;

    (void)err;
    call_end(c, status, 0);
    c->n = c->value;
    if (is_removed(status) && c->n > 0)
        keep(c);
}

static struct call *call_to_take(struct owner *o, const struct plan_op *op, enum history_op what)
{
    struct call *c = program_call(o->program, o, what);

    c->hold_ms = op->hold_ms;
    c->release.happen = on_take_over;
    c->release.ctx = c;
    return c;
}

static int64_t permits_of(const struct plan_op *op)
{
    return op->n > 1 ? op->n : 1;
}

static void take(struct owner *o, const struct plan_op *op)
{
    struct call *c = call_to_take(o, op, HISTORY_OP_ACQUIRE);

    c->n = is_semaphore(o) ? permits_of(op) : 1;
    c->wait_ms = op->wait_ms;
    call_ask(c);
    program_began(c, count_take(o, c, on_taken), on_taken);
    program_watch_queues(o->program);
}

static void reduce(struct owner *o, const struct plan_op *op)
{
    struct call *c = call_to_take(o, op, HISTORY_OP_REDUCE);

    c->n = permits_of(op);
    call_ask(c);
    program_began(c, count_reduce(o, c, on_reduced), on_reduced);
    program_watch_queues(o->program);
}

static void drain(struct owner *o, const struct plan_op *op)
{
    struct call *c = call_to_take(o, op, HISTORY_OP_DRAIN);

    call_ask(c);
    program_began(c, count_drain(o, c, on_drained), on_drained);
    program_watch_queues(o->program);
}

/* ---- expirable permits ---- */

static void resize(struct owner *o, int64_t n)
{
    struct call *c = program_call(o->program, o, HISTORY_OP_RESIZE);

    c->n = n;
    call_ask(c);
    program_began(c, hf_permits_set_async(o->lock, n, program_ended, c), program_ended);
    program_watch_queues(o->program);
}

static void available(struct owner *o)
{
    struct call *c = program_call(o->program, o, HISTORY_OP_AVAILABLE);

    call_ask(c);
    program_began(c, hf_permits_available_async(o->lock, &c->value, program_ended, c),
                  program_ended);
}

/* ---- operations ---- */

static bool permits_do(struct owner *o, const struct plan_op *op)
{
    if (op->verb == OP_SET)
        counted_set(o);
    else if (op->verb == OP_RESIZE)
        resize(o, op->n);
    else if (op->verb == OP_AVAILABLE)
        available(o);
    else if (op->verb == OP_DELETE)
        delete(o);
    else
        return false;
    return true;
}

bool counted_does(struct owner *o, const struct plan_op *op)
{
    if (is_of(o, FAMILY_PERMIT))
        return permits_do(o, op);
    if (!plan_is_counted(plan_of(o), op->lock))
        return false;
    switch ((enum plan_verb)op->verb) {
    case OP_ACQUIRE:
        take(o, op);
        return true;
    case OP_SET:
        counted_set(o);
        return true;
    case OP_GIVE:
        if (!is_semaphore(o))
            give(o, 1);
        return true;
    case OP_REDUCE:
        if (is_semaphore(o))
            reduce(o, op);
        return true;
    case OP_DRAIN:
        if (is_semaphore(o))
            drain(o, op);
        return true;
    case OP_DELETE:
        delete(o);
        return true;
    case OP_RELEASE:
    case OP_FORCE:
    case OP_INSPECT:
        look(o);
        return true;
    default:
        return false;
    }
}
