/* What programs do: calls of the library by what operations say, and the callbacks
 * in which they end. */
#include <stdio.h>
#include <string.h>

#include "lock/token.h"
#include "tests/sim/by_owner.h"
#include "tests/sim/candidates.h"
#include "tests/sim/counted.h"
#include "tests/sim/labels.h"
#include "tests/sim/majority.h"
#include "tests/sim/program_inner.h"
#include "tests/sim/sets.h"
#include "tests/sim/site.h"
#include "tests/support/must.h"

/* ---- calls ---- */

struct call *program_call(struct program *p, struct owner *o, enum history_op op)
{
    struct call *c = must_alloc(sizeof *c);

    *c = (struct call){.next = p->calls,
                       .program = p,
                       .owner = o,
                       .op = op,
                       .number = (int64_t)++p->sim->call_count};
    hf_cancel_init(&c->cancel, p->client);
    p->calls = c;
    return c;
}

/* In the history it ends with HF_E_INVAL, HF_LOST or HF_E_LIMIT, which say that nothing was
 * done (lock.h). */
void program_began(struct call *c, hf_status status, hf_done *done)
{
    bool is_known = status == HF_E_INVAL ||
                    (status == HF_LOST && c->op == HISTORY_OP_ACQUIRE);

    if (status < 0)
        done(c, is_known ? status : HF_E_LIMIT, NULL);
}

/* ---- releasing ---- */

static void on_released(void *ctx, hf_status status, const struct hf_error *err)
{
    struct call *c = ctx;

    (void)err;
    sets_check_lost(c, status);
    sets_ended(c, status);
    owner_released(c->owner, status);
    call_end(c, status, 0);
    owner_watch(c->owner);
    sets_watch(c->owner);
    program_stall_callback(c->program);
}

struct call *program_release(struct owner *o)
{
    struct call *c = program_call(o->program, o, HISTORY_OP_RELEASE);

    o->releasing++;
    call_ask(c);
    return c;
}

static void release(struct owner *o)
{
    struct call *c;

    o->stands_behind = o->stands_behind || o->under_way > 0;
    c = program_release(o);
    sets_note_lost(c);
    sets_asked(c);
    program_began(c, sets_release(o, on_released, c), on_released);
    owner_watch(o);
    sets_watch(o);
}

static void release_one(struct owner *o)
{
    if (o->count > o->releasing)
        release(o);
}

static void release_all(struct owner *o)
{
    for (int64_t n = o->count - o->releasing; n > 0; n--)
        release(o);
}

/* quorum.h, multi.h: not while its owner renews it. */
static bool is_refused(const struct owner *o)
{
    return o->form != OWNER_OF_LOCK && o->extending > 0;
}

/* A hold is released hold_ms after its acquire. */
static void on_hold_over(void *ctx)
{
    struct call *c = ctx;
    struct program *p = c->program;
    struct process *before;

    if (process_is_suspended(p->process) || p->is_freeing || is_refused(c->owner)) {
        world_after(p->sim->world, &c->release, RETRY_US);
        return;
    }
    before = process_enter(p->process);
    release_one(c->owner);
    process_enter(before);
}

/* ---- acquiring ---- */

static void acquire(struct program *p, struct owner *o,
                    const struct plan_op *op);

/* Once all has been released, its user may have freed what `ctx` points at. */
static void check_holds(const struct owner *o)
{
    if (o->count == 0 && o->under_way == 0)
        sim_fail(o->program->sim, "lost",
                 "%s is told of the loss of what it has released", o->name);
}

static void on_lost(void *ctx, struct hf_lock *lock, int64_t number,
                    enum hf_lost reason)
{
    struct call *c = ctx;

    (void)number;
    check_holds(c->owner);
    owner_lost(c->owner, reason, false);
    sets_lost(c->owner, lock, reason);
    if ((c->flags & FLAG_RELEASE_IN_LOST) && !c->program->is_freeing)
        release_all(c->owner);
}

/* Reports a wait; the history does not need it. */
static void on_wait(void *ctx, struct hf_lock *lock,
                    const struct hf_lock_info *info)
{
    struct call *c = ctx;

    (void)lock;
    if (!c->is_under_way)
        sim_fail(c->program->sim, "wait",
                 "call %lld has ended, and then begins to wait for %s",
                 (long long)c->number, info->holder);
}

static void on_renewed(void *ctx, struct hf_lock *lock, int64_t number)
{
    struct owner *o = ((struct call *)ctx)->owner;

    (void)lock;
    (void)number;
    if (o->is_lost || owner_has_given_up(o))
        sim_fail(o->program->sim, "renewed",
                 "%s is told of a renewal of what it has %s", o->name,
                 o->is_lost ? "lost" : "given up");
    owner_watch(o);
}

static void acquire_once_more(struct call *c)
{
    struct plan_op again = {.lock = c->owner->lock_index,
                            .lease_ms = c->lease_ms,
                            .hold_ms = c->hold_ms};

    acquire(c->program, c->owner, &again);
}

static bool is_held(const struct call *c, hf_status status)
{
    return status == HF_OK ||
           (status == HF_UNREPLICATED && (c->flags & FLAG_KEEP_UNREPLICATED));
}

static void on_acquired(void *ctx, hf_status status, const struct hf_error *err)
{
    struct call *c = ctx;
    struct owner *o = c->owner;

    labels_told(c, status, err);
    owner_look(o);
    sets_ended(c, status);
    if (!is_held(c, status)) {
        call_end(c, sets_status(c, sets_refused(c, status, err != NULL)), 0);
        owner_watch(o);
        sets_watch(o);
        return;
    }
    owner_granted(o);
    call_end(c, status, sets_token(o));
    owner_watch(o);
    sets_watch(o);
    if (c->hold_ms >= 0)
        world_after(c->program->sim->world, &c->release, c->hold_ms * 1000);
    if ((c->flags & FLAG_ACQUIRE_IN_DONE) && !c->program->is_freeing)
        acquire_once_more(c);
    program_stall_callback(c->program);
}

static void acquire(struct program *p, struct owner *o,
                    const struct plan_op *op)
{
    struct call *c = program_call(p, o, HISTORY_OP_ACQUIRE);
    struct hf_acquire_options options;

    c->wait_ms = op->wait_ms;
    c->lease_ms = op->lease_ms;
    c->hold_ms = op->hold_ms;
    c->max_hold_ms = op->max_hold_ms;
    c->flags = op->flags;
    if (o->form != OWNER_OF_LOCK)
        c->flags &= ~FLAG_KEEP_UNREPLICATED;
    c->release.happen = on_hold_over;
    c->release.ctx = c;
    hf_acquire_options_init(&options);
    options.owner = o->as;
    options.wait_ms = op->wait_ms;
    options.lease_ms = op->lease_ms;
    options.max_hold_ms = op->max_hold_ms;
    options.cancel = &c->cancel;
    options.keep_unreplicated = c->flags & FLAG_KEEP_UNREPLICATED;
    options.on_lost = on_lost;
    options.on_wait = on_wait;
    options.on_renewed = on_renewed;
    options.ctx = c;
    call_ask(c);
    sets_asked(c);
    program_began(c, sets_acquire(o, &options, on_acquired, c), on_acquired);
    program_watch_queues(p);
    owner_watch(o);
    sets_watch(o);
}

/* ---- the other calls ---- */

void program_ended(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)err;
    call_end(ctx, status, 0);
    owner_watch(((struct call *)ctx)->owner);
}

/* An election may have ended since it was looked at: then it has no hold to name. */
static void force(struct owner *o, bool is_own)
{
    char text[HF_OWNER_TEXT_MAX];
    const char *holder = is_own && o->hold[0] != '\0' ? text : NULL;
    struct call *c;

    owner_text(o, text);
    if (holder && text[0] == '\0')
        return;
    c = program_call(o->program, o, HISTORY_OP_FORCE);
    if (holder) {
        memcpy(c->hold, text, sizeof c->hold);
        majority_first(o->program->sim, c->hold);
    }
    call_ask(c);
    program_began(c,
                  hf_lock_force_release_async(o->lock, holder, holder ? strlen(holder) : 0,
                                              program_ended, c),
                  program_ended);
}

static void on_extended(void *ctx, hf_status status, const struct hf_error *err)
{
    struct call *c = ctx;
    struct owner *o = c->owner;

    (void)err;
    if (status == HF_OK)
        effects_note(o->program->sim, sets_effect(o));
    o->extending--;
    owner_watch(o);
    sets_ended(c, status);
    call_end(c, status, 0);
    owner_watch(o);
    sets_watch(o);
}

static void extend(struct owner *o, const struct plan_op *op)
{
    struct call *c;

    hf_status status;

    if (o->form == OWNER_OF_ELECTION || o->whole ||
        plan_is_counted(o->program->sim->plan, op->lock))
        return;
    c = program_call(o->program, o, HISTORY_OP_EXTEND);
    c->lease_ms = op->lease_ms;
    o->extending++;
    call_ask(c);
    sets_asked(c);
    status = sets_renew(o, op->lease_ms, on_extended, c);
    if (status < 0 && o->form != OWNER_OF_LOCK)
        on_extended(c, status, NULL); /* it says at once what it does not do */
    else
        program_began(c, status, on_extended);
}

/* Of what has tokens; of a set, each member has its own. */
static void read_token(struct owner *o)
{
    enum hf_lock_kind kind = plan_kind_of_handle(o->program->sim->plan, o->lock_index, o->side);
    struct call *c;

    if (o->form != OWNER_OF_LOCK || o->whole ||
        !(kind & HF_WITH_TOKEN || kind == HF_KIND_FENCED))
        return;
    c = program_call(o->program, o, HISTORY_OP_TOKEN);
    call_ask(c);
    program_began(c, hf_token_latest_async(o->lock, &c->value, program_ended, c), program_ended);
}

static void inspect(struct owner *o)
{
    struct call *c = program_call(o->program, o, HISTORY_OP_INSPECT);

    call_ask(c);
    program_began(c, hf_lock_inspect_async(o->lock, &c->info, program_ended, c), program_ended);
}

void program_set_all(struct program *p)
{
    struct process *before = process_enter(p->process);

    for (int64_t i = 0; i < (int64_t)p->sim->plan->lock_count; i++) {
        struct plan_op once = {.lock = i, .owner = PLAN_OWNERS + 1};

        if (plan_has_permits(p->sim->plan, i))
            counted_set(program_owner(p, &once));
    }
    process_enter(before);
}

/* ---- cancelling, closing ---- */

static void cancel(struct program *p, const struct owner *o)
{
    for (struct call *c = p->calls; c; c = c->next)
        if (c->is_under_way && c->op == HISTORY_OP_ACQUIRE &&
            (!o || c->owner == o) && !c->is_part) {
            call_cancel(c);
            sets_cancel(c);
        }
}

/* The closed client counts what is still held: at least the holds in which owners believe, and
 * no hold whose loss was reported. */
static void check_closed(const struct program *p, const struct hf_client_closed *closed)
{
    uint64_t believed = 0, most = 0;

    for (struct owner *o = p->owners; o; o = o->next) {
        if (o->form != OWNER_OF_LOCK || o->whole)
            return; /* what sets hold is counted for each member */
        believed += owner_safe_ms(o) > 0;
        most += o->count > 0 && !o->is_lost;
    }
    if (closed->holds < believed || closed->holds > most)
        sim_fail(p->sim, "close", "close counts %llu holds: %llu are believed in, %llu not lost",
                 (unsigned long long)closed->holds, (unsigned long long)believed,
                 (unsigned long long)most);
}

/* It blocks: meanwhile the world continues. */
static void close_one(struct program *p, struct hf_client *client,
                      int64_t timeout_ms)
{
    struct call *c = program_call(p, NULL, HISTORY_OP_CLOSE);
    struct hf_client_closed closed;
    hf_status status;

    c->wait_ms = timeout_ms;
    call_ask(c);
    status = hf_client_close(client, timeout_ms, &closed, NULL);
    program_watch(p);
    check_closed(p, &closed);
    call_end(c, status, 0);
}

static void close_clients(struct program *p, int64_t timeout_ms)
{
    for (size_t i = 0; i < p->client_count; i++)
        close_one(p, p->clients[i], timeout_ms);
}

static bool has_sets(const struct program *p)
{
    for (size_t i = 0; i < PLAN_LOCKS_MAX; i++)
        if (p->quorums[i] || p->multis[i])
            return true;
    return false;
}

/* What a set holds may be freed with its handle only once clients are closed. */
void program_end_sets(struct program *p)
{
    if (has_sets(p))
        close_clients(p, 0);
    candidates_end(p);
}

static void replace_client(void *ctx)
{
    struct program *p = ctx;

    if (p->close_ms >= 0) {
        close_clients(p, p->close_ms);
        labels_ended(p->sim, p->index, p->close_ms);
        candidates_end(p);
    } else {
        program_end_sets(p);
    }
    program_free_client(p);
    program_open_client(p);
    p->is_closing = false;
    /* In a mild plan nothing is lost. A latch that has opened would be closed again
     * before all of its waiters have looked. */
    if (p->sim->plan->head.profile != PROFILE_MILD)
        program_set_all(p);
}

void program_replace_client(struct program *p, int64_t close_ms)
{
    p->is_closing = true;
    p->close_ms = close_ms;
    process_call(p->process, replace_client, p);
}

/* ---- operations ---- */

/* Members of a set may be looked at, and forced. */
static bool is_of_member(const struct plan_op *op, const struct owner *o)
{
    return (o->form == OWNER_OF_QUORUM || o->form == OWNER_OF_MULTI) &&
           (op->verb == OP_FORCE || op->verb == OP_INSPECT);
}

static void do_now(struct program *p, const struct plan_op *op)
{
    struct owner *o;

    if (op->verb == OP_LABEL) {
        labels_read(p, op->lock);
        return;
    }
    o = program_owner(p, op);
    if (candidate_does(p, o, op) || by_owner_does(p, o, op))
        return;
    if (is_of_member(op, o))
        o = sets_member(o, op->owner);
    if (counted_does(o, op))
        return;
    switch ((enum plan_verb)op->verb) {
    case OP_ACQUIRE:
        acquire(p, o, op);
        break;
    case OP_RELEASE:
        release_one(o);
        break;
    case OP_FORCE:
        force(o, op->n > 0);
        break;
    case OP_INSPECT:
        inspect(o);
        break;
    case OP_EXTEND:
        extend(o, op);
        break;
    case OP_TOKEN:
        read_token(o);
        break;
    case OP_CANCEL:
        cancel(p, o);
        break;
    case OP_SET:
    case OP_GIVE:
    case OP_REDUCE:
    case OP_DRAIN:
    case OP_DELETE:
    case OP_RESIZE:
    case OP_AVAILABLE:
    case OP_RENEW_OWNER:
    case OP_RELEASE_OWNER:
    case OP_LABEL:
        break;
    case OP_CLOSE:
    case OP_FREE:
    case VERBS:
        program_replace_client(p, op->verb == OP_CLOSE ? op->hold_ms : -1);
        break;
    }
}

static const struct owner *find_owner(const struct program *p,
                                      const struct plan_op *op)
{
    const struct owner *o = p->owners;

    while (o && (o->number != op->owner || o->lock_index != op->lock ||
                 o->side != op->side))
        o = o->next;
    return o;
}

static bool holds(const struct program *p, const struct plan_op *op)
{
    const struct owner *o = find_owner(p, op);

    return o && o->count > 0 && o->hold[0] != '\0';
}

/* Where every call must succeed. */
static bool is_ready(const struct program *p, const struct plan_op *op)
{
    bool waits = op->n == PLAN_N_WHEN_READY;

    if (p->is_closing && p->sim->plan->head.profile == PROFILE_MILD)
        return false;
    if (op->verb == OP_CLOSE)
        return !waits || program_is_idle(p);
    return op->verb != OP_FORCE || !waits || holds(p, op);
}

bool program_can_do(const struct program *p, const struct plan_op *op)
{
    bool replaces = op->verb == OP_CLOSE || op->verb == OP_FREE;

    return !p->is_dead && !process_is_suspended(p->process) && !p->is_freeing &&
           !((p->is_closing || p->leaving > 0) && replaces) && is_ready(p, op);
}

void program_do(struct program *p, const struct plan_op *op)
{
    struct process *before = process_enter(p->process);

    do_now(p, op);
    process_enter(before);
}

/* ---- the end ---- */

/* Of a read-write lock: to write. */
static int64_t excluding_side(const struct program *p, int64_t lock)
{
    return p->sim->plan->locks[lock].family == FAMILY_READ_WRITE ||
           p->sim->plan->locks[lock].family == FAMILY_ELECTION;
}

void program_probe(struct program *p)
{
    struct process *before = process_enter(p->process);

    for (int64_t i = 0; i < (int64_t)p->sim->plan->lock_count; i++) {
        struct plan_op once = {
            .lock = i, .side = excluding_side(p, i), .owner = PLAN_OWNERS + 1};

        if (plan_is_counted(p->sim->plan, i)) /* no acquire finds its orphans */
            continue;
        acquire(p, program_owner(p, &once), &once);
    }
    process_enter(before);
}

/* Does a call, or a hold, of this owner need the other side? */
static bool needs_side(const struct program *p, const struct owner *reader, int64_t side)
{
    for (const struct owner *o = p->owners; o; o = o->next)
        if (o->lock_index == reader->lock_index && o->side == side &&
            o->number == reader->number && (o->count > 0 || o->under_way > 0))
            return true;
    return false;
}

#define SERIAL_DIGITS 10 /* lock/script/names.h: hf_owner_format */

/* The fields of one owner differ in their serial numbers. */
static bool is_writer_of(const char *field, const char *reader)
{
    size_t len = strlen(reader);

    return strlen(field) == len + strlen(":write") && strcmp(field + len, ":write") == 0 &&
           memcmp(field, reader, len - SERIAL_DIGITS) == 0;
}

static void check_writer(const struct program *p, const struct owner *reader)
{
    const struct observer *w = &site_master(p->sim->site, reader->lock_index)->observer;
    size_t lock = (size_t)reader->lock_index;

    for (size_t i = 0; i < w->locks[lock].count; i++)
        if (is_writer_of(w->locks[lock].holds[i].field, reader->hold))
            sim_fail(p->sim, "P6", "%s is released, and its owner's read hold keeps it",
                     w->locks[lock].holds[i].field);
}

void program_check_writers(struct program *p)
{
    for (const struct owner *o = p->owners; o; o = o->next)
        if (plan_family(p->sim->plan, o->lock_index) == FAMILY_READ_WRITE && o->side == 0 &&
            o->count > 0 && !o->is_lost && o->under_way == 0 && o->hold[0] != '\0' &&
            !needs_side(p, o, 1))
            check_writer(p, o);
}

static bool is_reentrant(const struct plan *plan, int64_t lock, int64_t side)
{
    enum hf_lock_kind kind = plan_kind(plan, lock, side);

    return kind != HF_KIND_NONREENTRANT && kind != HF_KIND_VALUE &&
           kind != HF_KIND_NONREENTRANT_FAIR && kind != HF_KIND_PERMIT &&
           !plan_is_counted(plan, lock);
}

static bool are_members_reentrant(const struct plan *plan, int64_t set)
{
    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++)
        if (plan->locks[set].members >> i & 1 && !is_reentrant(plan, i, 0))
            return false;
    return true;
}

static bool reenters(const struct owner *o)
{
    const struct plan *plan = o->program->sim->plan;

    if (o->form == OWNER_OF_MULTI)
        return are_members_reentrant(plan, o->lock_index);
    return o->form == OWNER_OF_LOCK && !o->whole &&
           is_reentrant(plan, o->lock_index, o->side);
}

void program_settle(struct program *p)
{
    struct process *before = process_enter(p->process);

    for (struct owner *o = p->owners; o; o = o->next) {
        struct plan_op once = {.lock = o->lock_index};

        if (o->count > 0 && !o->is_lost && o->under_way == 0 && reenters(o))
            acquire(p, o, &once);
    }
    process_enter(before);
}

void program_stop_waiting(struct program *p)
{
    struct process *before = process_enter(p->process);

    sets_check_waits(p);
    cancel(p, NULL);
    process_enter(before);
    candidates_stop(p);
}

void program_give_up(struct program *p)
{
    struct process *before = process_enter(p->process);

    cancel(p, NULL);
    counted_give_back(p);
    for (struct owner *o = p->owners; o; o = o->next)
        if (!plan_is_counted(p->sim->plan, o->lock_index) && !o->whole &&
            o->form != OWNER_OF_ELECTION)
            release_all(o);
    process_enter(before);
    candidates_leave(p);
}
