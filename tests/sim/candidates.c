/* The operations of candidates, and their callbacks. */
#include "tests/sim/candidates.h"

#include "lock/election.h"

static struct call *stand(struct owner *o, int64_t wait_ms)
{
    struct call *c = program_call(o->program, o, HISTORY_OP_ACQUIRE);

    c->wait_ms = wait_ms;
    o->standing = o->last = c;
    call_ask(c);
    return c;
}

static void end_standing(struct owner *o, hf_status status)
{
    struct call *c = o->standing;

    o->standing = NULL;
    if (c)
        call_end(c, status, status == HF_OK ? hf_lock_token(o->lock, o->as) : 0);
}

static void end_release(struct owner *o, struct call *c, hf_status status)
{
    owner_released(o, status);
    call_end(c, status, 0);
}

/* ---- leaving: one at a time, which blocks (WORLD-5) ---- */

static void leave_now(void *ctx)
{
    struct owner *o = ctx;
    struct program *p = o->program;
    struct hf_election *election = o->election;
    struct call *c = o->leads ? program_release(o) : NULL;
    hf_status status;

    o->is_leaving = true;
    p->leaving++;
    o->election = NULL; /* it believes nothing */
    owner_watch(o);
    if (o->standing)
        call_cancel(o->standing);
    status = hf_election_leave(election, NULL);
    if (!o->leads && status == HF_LOST)
        sim_fail(p->sim, "election", "%s did not lead, and leaves with HF_LOST", o->name);
    if (o->leads && !c) /* it was elected meanwhile */
        c = program_release(o);
    if (c)
        end_release(o, c, status);
    end_standing(o, HF_CANCELLED);
    o->leads = false;
    o->is_leaving = false;
    p->leaving--;
}

static void on_time_over(void *ctx)
{
    struct call *c = ctx;

    if (c->owner)
        candidate_leave(c->owner);
}

static void leave_after(struct call *c, int64_t us)
{
    c->release.happen = on_time_over;
    c->release.ctx = c;
    world_cancel(c->program->sim->world, &c->release);
    world_after(c->program->sim->world, &c->release, us);
}

void candidate_leave(struct owner *o)
{
    struct program *p = o->program;

    if (!o->election || o->is_leaving)
        return;
    if (p->leaving == 0 && !process_is_suspended(p->process) && !p->is_closing &&
        !p->is_freeing)
        process_call(p->process, leave_now, o);
    else
        leave_after(o->last, RETRY_US);
}

/* ---- callbacks ---- */

static void on_elected(void *ctx, struct hf_election *election)
{
    struct owner *o = ctx;
    struct call *c = o->standing;

    if (o->leads || !c) {
        sim_fail(o->program->sim, "election", "%s is elected, and %s", o->name,
                 o->leads ? "leads already" : "does not stand");
        return;
    }
    if (hf_election_safe_ms(election) <= 0)
        sim_fail(o->program->sim, "P12", "%s is elected, and may not believe",
                 o->name);
    o->leads = true;
    owner_look(o);
    owner_granted(o);
    end_standing(o, HF_OK);
    owner_watch(o);
    if (!o->is_leaving && o->hold_ms >= 0)
        leave_after(c, o->hold_ms * 1000);
}

/* It has one lost hold less: on_deposed reports its end. */
static void on_deposed(void *ctx, struct hf_election *election,
                       enum hf_lost reason)
{
    struct owner *o = ctx;

    if (!o->leads) {
        sim_fail(o->program->sim, "election", "%s is deposed, and does not lead",
                 o->name);
        return;
    }
    if (!o->is_leaving && hf_election_safe_ms(election) > 0)
        sim_fail(o->program->sim, "P10", "%s is deposed, and may believe",
                 o->name);
    o->leads = false;
    owner_lost(o, reason, false);
    end_release(o, program_release(o), HF_LOST);
    if (!o->is_leaving && !o->program->is_freeing)
        (void)stand(o, HF_FOREVER);
}

/* It is a candidate again after a pause of unknown length, so no wait is judged. */
static void on_trouble(void *ctx, struct hf_election *election,
                       const struct hf_error *err)
{
    struct owner *o = ctx;

    (void)election;
    if (!o->standing) {
        sim_fail(o->program->sim, "election",
                 "%s cannot stand (%s), and does not want to", o->name, err->text);
        return;
    }
    if (err->status == HF_LOST) /* ELECT-2: it is released, and requested again at once */
        sim_fail(o->program->sim, "election", "%s is told of HF_LOST as an error", o->name);
    end_standing(o, err->status);
    if (err->status != HF_E_CLOSED && !o->is_leaving)
        (void)stand(o, 0);
}

/* ---- what it does ---- */

static void join(struct program *p, struct owner *o, const struct plan_op *op)
{
    struct hf_election_options options = {.size = sizeof options, .on_elected = on_elected,
                                          .on_deposed = on_deposed,
                                          .on_trouble = on_trouble,
                                          .ctx = o};
    struct call *c;

    if (o->election || o->is_leaving ||
        hf_election_join(&o->election, o->lock, &options, NULL) < 0)
        return;
    o->as = hf_election_owner(o->election);
    o->hold_ms = op->hold_ms;
    (void)snprintf(o->name, sizeof o->name, "%s:%lld",
                   hf_client_uuid(p->client), (long long)o->as);
    c = stand(o, HF_FOREVER);
    if (op->wait_ms != HF_FOREVER)
        leave_after(c, op->wait_ms * 1000);
}

bool candidate_does(struct program *p, struct owner *o, const struct plan_op *op)
{
    if (o->form != OWNER_OF_ELECTION)
        return false;
    switch ((enum plan_verb)op->verb) {
    case OP_ACQUIRE:
        join(p, o, op);
        return true;
    case OP_RELEASE:
    case OP_CANCEL:
        candidate_leave(o);
        return true;
    default:
        return false;
    }
}

void candidates_stop(struct program *p)
{
    for (struct owner *o = p->owners; o; o = o->next)
        if (o->election && !o->leads)
            candidate_leave(o);
}

void candidates_leave(struct program *p)
{
    for (struct owner *o = p->owners; o; o = o->next)
        if (o->election)
            candidate_leave(o);
}

static struct owner *a_candidate(const struct program *p)
{
    struct owner *o = p->owners;

    while (o && !o->election)
        o = o->next;
    return o;
}

/* Others may join while one leaves. */
void candidates_end(struct program *p)
{
    for (struct owner *o; (o = a_candidate(p));)
        leave_now(o);
}
