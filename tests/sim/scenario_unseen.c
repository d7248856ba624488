/* Scenarios of the worlds whose faults the client must cope with: the history has no line of
 * them, so no call may fail and no hold may be lost because of them (P12).
 *
 * Each program has one connection disturbed at a time, with enough time between that the
 * first one is replaced. Program 0 is idle between its calls, for longer than
 * idle_check_ms: its forced releases, which are not repeated, must be sent over a
 * connection that was probed (LINK-9). All others hold and wait. */
#include "tests/sim/disagree.h"
#include "tests/sim/names.h"
#include "tests/sim/scenario.h"

#define USERS_MAX 24
#define IDLE_MS 3000   /* idle_check_ms */
#define SPAN_MS 1500   /* of a hold, about */
#define PAUSE_MS 9000  /* a silent listener is found out within half of this */
#define CALL_MS 1000   /* of the idle program: it has ended, and its hold */
#define WAIT_MS 1000000 /* longer than any plan */
#define SETTLE_MS 4000 /* also if its connection was replaced meanwhile */

static const int64_t watchdogs_ms[] = {3000, 3000, 10000, 30000};
static const int64_t latencies_us[] = {100, 500, 2000};

/* Replicas are as fast as their master, and no client is refused. */
static void be_fast(struct plan_head *h, uint64_t *dice)
{
    h->is_deaf = 0;
    h->watchdog_ms = draw_pick(dice, watchdogs_ms, DRAW_COUNT(watchdogs_ms));
    h->request_ms = draw_one_in(dice, 3) ? 1000 : 5000;
    h->latency_us = draw_pick(dice, latencies_us, DRAW_COUNT(latencies_us));
    h->jitter_us = draw_below(dice, h->latency_us);
    h->lag_us = h->latency_us;
    h->length_ms = draw_between(dice, 20000, 90000);
    h->idle_check_ms = IDLE_MS;
}

/* No wait ends while the last request
 * has no reply: such a call ends with HF_E_NOREPLY. */
static void draw_user(struct plan *plan, uint64_t *dice)
{
    struct plan_op *op =
        scenario_user(plan, draw_below(dice, plan->head.length_ms), SPAN_MS,
                      draw_below(dice, (int64_t)plan->lock_count), dice);

    op->program = draw_between(dice, 1, (int64_t)plan->program_count - 1);
    if (op->verb == OP_CLOSE || op->verb == OP_FREE || op->verb == OP_FORCE)
        op->verb = OP_INSPECT;
    if (op->wait_ms > 0)
        op->wait_ms = draw_one_in(dice, 2) ? HF_FOREVER : WAIT_MS;
    if (op->verb == OP_ACQUIRE && draw_one_in(dice, 3)) /* it needs renewals */
        op->hold_ms = plan->head.watchdog_ms * draw_between(dice, 50, 300) / 100;
}

/* Where clients query the servers that name the master now and then, also the master,
 * connections are not idle for long enough: there nothing is forced. */
static void draw_idle_call(struct plan *plan, int64_t at_ms, uint64_t *dice)
{
    static const int64_t verbs[] = {OP_ACQUIRE, OP_FORCE, OP_FORCE, OP_INSPECT};
    struct plan_op *op =
        scenario_op(plan, at_ms, draw_pick(dice, verbs, DRAW_COUNT(verbs)), 1);

    if (op->verb == OP_FORCE && plan->head.deployment > DEPLOY_REPLICAS)
        op->verb = OP_INSPECT;
    op->lock = draw_below(dice, (int64_t)plan->lock_count);
    op->hold_ms = draw_between(dice, 1, CALL_MS / 4);
}

/* When a connection of an idle program may be disturbed: after its last call, and well
 * before the next one. */
static void draw_idle_program(struct plan *plan,
                              void (*disturb)(struct plan *plan, int64_t at_ms,
                                              int64_t program, uint64_t *dice),
                              uint64_t *dice)
{
    int64_t at_ms = draw_between(dice, 500, 2000);

    while (at_ms < plan->head.length_ms) {
        int64_t quiet_ms = IDLE_MS + SETTLE_MS + draw_spread(dice, 1, PAUSE_MS);

        draw_idle_call(plan, at_ms, dice);
        if (!draw_one_in(dice, 4))
            disturb(plan, at_ms + CALL_MS + draw_below(dice, quiet_ms - 2 * CALL_MS), 0, dice);
        at_ms += quiet_ms;
    }
}

static void draw_all(struct plan *plan,
                     void (*disturb)(struct plan *plan, int64_t at_ms, int64_t program,
                                     uint64_t *dice),
                     uint64_t *dice)
{
    be_fast(&plan->head, dice);
    draw_idle_program(plan, disturb, dice);
    for (int64_t i = draw_between(dice, 8, USERS_MAX); i > 0; i--)
        draw_user(plan, dice);
    for (int64_t p = 1; p < (int64_t)plan->program_count; p++)
        for (int64_t at_ms = draw_below(dice, PAUSE_MS); at_ms < plan->head.length_ms;
             at_ms += PAUSE_MS + draw_spread(dice, 1, PAUSE_MS))
            disturb(plan, at_ms, p, dice);
}

/* ---- silence ---- */

/* After a silence of a third of a short TTL, the sentinels are queried for 1.5 s whether the
 * master was replaced (DOUBT-3). A second dead connection takes the rest of the TTL. */
static bool bears_two(const struct plan_head *h)
{
    return h->deployment != DEPLOY_SENTINEL || h->watchdog_ms > 3000;
}

/* A firewall forgets both ways; a proxy that is stuck, one. */
static void silence(struct plan *plan, int64_t at_ms, int64_t program, uint64_t *dice)
{
    struct plan_fault *f = scenario_fault(plan, at_ms, FAULT_SWALLOW, PAUSE_MS);

    f->program = program;
    f->server = draw_one_in(dice, 8) ? draw_below(dice, 8)
                                     : draw_below(dice, plan->head.masters);
    f->to_server = draw_below(dice, 2);
    f->connection = draw_between(dice, 1, 3);
    f->n = draw_below(dice, bears_two(&plan->head) ? 4 : 2);
}

void scenario_silence(struct plan *plan, uint64_t *dice)
{
    draw_all(plan, silence, dice);
}

/* ---- switchover ---- */

#define LEADS_MS 500 /* the interval at which a load balancer looks for the master */

/* In half of the plans, the confirmation is so slow that connections for it are made late,
 * and lead to the new master while others still lead to the former one (REPLACE-4). */
static void draw_lag(struct plan_head *h, uint64_t *dice)
{
    if (draw_one_in(dice, 2))
        return;
    h->lag_us = draw_spread(dice, 50000, 500000);
    h->replicas_ms = 3000;
}

void scenario_switchover(struct plan *plan, uint64_t *dice)
{
    be_fast(&plan->head, dice);
    plan->head.watchdog_ms = 30000;
    plan->head.request_ms = 10000;
    draw_lag(&plan->head, dice);
    for (int64_t i = draw_between(dice, 8, USERS_MAX); i > 0; i--)
        draw_user(plan, dice);
    for (int64_t at_ms = draw_between(dice, 500, PAUSE_MS); at_ms < plan->head.length_ms;
         at_ms += PAUSE_MS + draw_spread(dice, 1, PAUSE_MS))
        scenario_fault(plan, at_ms, FAULT_SWITCHOVER, PAUSE_MS / 2)->n =
            draw_below(dice, 2) * draw_below(dice, LEADS_MS);
}

/* ---- credentials ---- */

#define REQUEST_MS 10000 /* new passwords, and the servers that name the master, are slow */
#define LEASE_MS 30000
#define LAG_MAX_MS 500
#define FIRST_MS 3000 /* every client has been accepted once */

/* Returns how (FAULT_ROTATE). */
static int64_t rotate(struct plan *plan, int64_t at_ms, uint64_t *dice)
{
    int64_t how = draw_below(dice, 3);
    struct plan_fault *f =
        scenario_fault(plan, at_ms, FAULT_ROTATE,
                       how == 2 ? draw_between(dice, PAUSE_MS / 4, PAUSE_MS / 2)
                             : draw_spread(dice, 1, LAG_MAX_MS));

    f->n = how;
    return how;
}

/* A connection that has a former password, whose end was not known, becomes silent: that which
 * takes its place has the new one, whose end may be known. */
static void silence_one(struct plan *plan, int64_t at_ms, uint64_t *dice)
{
    struct plan_fault *f =
        scenario_fault(plan, at_ms + draw_between(dice, 1000, PAUSE_MS / 3), FAULT_SWALLOW, PAUSE_MS);

    f->program = draw_below(dice, (int64_t)plan->program_count);
    f->server = draw_below(dice, plan->head.masters);
    f->to_server = draw_below(dice, 2);
    f->connection = draw_between(dice, 1, 3);
    f->n = draw_below(dice, 2);
}

static void inspect_all(struct plan *plan)
{
    for (int64_t p = 0; p < (int64_t)plan->program_count; p++)
        for (int64_t lock = 0; lock < (int64_t)plan->lock_count; lock++) {
            struct plan_op *op = scenario_op(plan, 100 + p, OP_INSPECT, 1);

            op->program = p;
            op->lock = lock;
        }
}

void scenario_credentials(struct plan *plan, uint64_t *dice)
{
    be_fast(&plan->head, dice);
    plan->head.watchdog_ms = LEASE_MS;
    plan->head.request_ms = REQUEST_MS;
    plan->head.has_passwords = 1;
    plan->head.credentials_ms = draw_below(dice, 2) * draw_spread(dice, 1, 300);
    inspect_all(plan);
    for (int64_t i = draw_between(dice, 8, USERS_MAX); i > 0; i--)
        draw_user(plan, dice);
    for (int64_t at_ms = FIRST_MS; at_ms < plan->head.length_ms;
         at_ms += PAUSE_MS + draw_spread(dice, 1, PAUSE_MS))
        if (rotate(plan, at_ms, dice) == 0 && draw_one_in(dice, 2))
            silence_one(plan, at_ms, dice);
}

/* ---- proxy ---- */

/* The shortest TTL is 3 s, so a renewal is due 2 s before its end. */
#define WITHOUT_SERVER_MS 1500

void scenario_proxy(struct plan *plan, uint64_t *dice)
{
    be_fast(&plan->head, dice);
    plan->head.request_ms = REQUEST_MS;
    for (int64_t i = draw_between(dice, 8, USERS_MAX); i > 0; i--)
        draw_user(plan, dice);
    for (int64_t at_ms = draw_between(dice, 500, PAUSE_MS / 2); at_ms < plan->head.length_ms;
         at_ms += PAUSE_MS / 2 + draw_spread(dice, 1, PAUSE_MS))
        scenario_fault(plan, at_ms, FAULT_PROXY, draw_spread(dice, 1, WITHOUT_SERVER_MS))->n =
            draw_below(dice, 2);
}

/* ---- disagree ---- */

#define DISAGREES_MS 12000 /* how long, at most */

static int64_t draw_way(uint64_t *dice)
{
    int64_t way = draw_below(dice, DISAGREE_WAYS);

    way |= draw_one_in(dice, 2) ? DISAGREE_CLOSES : DISAGREE_MOVES;
    if (draw_one_in(dice, 3))
        way |= DISAGREE_IGNORES;
    if (draw_one_in(dice, 2))
        way |= DISAGREE_ALL_BUT_ONE;
    return way;
}

/* Calls on a lock whose slot has moved. */
static void call_soon(struct plan *plan, const struct plan_fault *f, uint64_t *dice)
{
    for (int64_t p = 0; p < (int64_t)plan->program_count; p++) {
        struct plan_op *op =
            scenario_op(plan, f->at_ms + draw_spread(dice, 1, f->for_ms), OP_ACQUIRE, 1);

        op->program = p;
        op->lock = f->lock;
        op->wait_ms = HF_FOREVER;
        op->hold_ms = draw_spread(dice, 1, SPAN_MS);
    }
}

/* Half of the plans begin with a cluster that disagrees. */
void scenario_disagree(struct plan *plan, uint64_t *dice)
{
    int64_t at_ms = draw_below(dice, 2) * draw_between(dice, 500, PAUSE_MS);

    be_fast(&plan->head, dice);
    plan->head.nat = draw_one_in(dice, 3) ? draw_between(dice, 1, 2) : 0;
    for (int64_t i = draw_between(dice, 8, USERS_MAX); i > 0; i--)
        draw_user(plan, dice);
    while (at_ms < plan->head.length_ms) {
        int64_t for_ms = draw_between(dice, 500, DISAGREES_MS);
        struct plan_fault *f = scenario_fault(plan, at_ms, FAULT_DISAGREE, for_ms);

        f->server = draw_below(dice, 6);
        f->connection = draw_below(dice, 7);
        f->lock = draw_below(dice, (int64_t)plan->lock_count);
        f->n = draw_way(dice);
        call_soon(plan, f, dice);
        at_ms += for_ms + PAUSE_MS / 2 + draw_spread(dice, 1, PAUSE_MS);
    }
}

/* ---- names ---- */

/* A TTL is three seconds longer at least than the server is away, and an attempt to connect to
 * an address that does not answer lasts. */
void scenario_names(struct plan *plan, uint64_t *dice)
{
    be_fast(&plan->head, dice);
    plan->head.request_ms = REQUEST_MS;
    plan->head.watchdog_ms = draw_one_in(dice, 2) ? 10000 : 30000;
    for (int64_t i = draw_between(dice, 8, USERS_MAX); i > 0; i--)
        draw_user(plan, dice);
    for (int64_t at_ms = draw_between(dice, 500, PAUSE_MS / 2); at_ms < plan->head.length_ms;
         at_ms += PAUSE_MS + draw_spread(dice, 1, PAUSE_MS))
        scenario_fault(plan, at_ms, FAULT_NAMES, draw_spread(dice, 1, WITHOUT_SERVER_MS))->n =
            draw_below(dice, 2 * NAMES_WAYS);
}

/* ---- replaced ---- */

#define AWAY_MS 6000
#define EXCUSED_MS 1000 /* a switch explains what fails within this time (bounds.c) */
#define ROLES_MS 5000 /* clients query the roles when they are that old (REPLICAS-1) */

/* A call that meets the stopped master, because its client has learned the roles a moment before
 * the switch, and has nothing to do since. */
static void call_across(struct plan *plan, int64_t at_ms, int64_t program, uint64_t *dice)
{
    int64_t before_ms = draw_between(dice, 200, ROLES_MS - EXCUSED_MS - 500);
    int64_t after_ms = draw_between(dice, EXCUSED_MS + 1, ROLES_MS - before_ms + EXCUSED_MS);

    for (int i = 0; i < 2; i++) {
        struct plan_op *op = scenario_op(plan, at_ms + (i ? after_ms : -before_ms), OP_ACQUIRE,
                                         draw_between(dice, 1, PLAN_OWNERS));

        op->program = program;
        op->lock = draw_below(dice, (int64_t)plan->lock_count);
        op->hold_ms = draw_spread(dice, 1, 50);
        if (draw_one_in(dice, 3))
            op->verb = OP_INSPECT;
    }
}

/* Of the programs, the first ones have nothing to do between these calls. */
void scenario_replaced(struct plan *plan, uint64_t *dice)
{
    int64_t idle = draw_between(dice, 1, (int64_t)plan->program_count);

    be_fast(&plan->head, dice);
    plan->head.watchdog_ms = LEASE_MS;
    plan->head.request_ms = draw_between(dice, 1500, 5000);
    for (int64_t i = draw_between(dice, 1, USERS_MAX); i > 0; i--)
        draw_user(plan, dice);
    for (size_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].program < idle)
            plan->ops[i].program = (int64_t)plan->program_count - 1;
    for (int64_t at_ms = ROLES_MS; at_ms + AWAY_MS < plan->head.length_ms;
         at_ms += AWAY_MS + PAUSE_MS + draw_spread(dice, 1, PAUSE_MS)) {
        scenario_fault(plan, at_ms, FAULT_REPLACE, AWAY_MS);
        for (int64_t p = 0; p < idle; p++)
            call_across(plan, at_ms, p, dice);
    }
}
