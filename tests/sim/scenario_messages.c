/* Scenarios in which nothing but the message of a release wakes a waiter in time:
 * leases are long, and so is the time until it would look by itself. */
#include <string.h>

#include "tests/sim/scenario.h"

#define LEASE_LONG_MS 150000
#define WAITERS_MAX 4

static const int64_t watchdogs_ms[] = {10000, 30000, 30000};
static const int64_t requests_ms[] = {300, 1000};

/* No connection waits for replicas, and no client is refused from the beginning. */
static void be_fast(struct plan_head *h, uint64_t *dice)
{
    h->is_deaf = 0;
    h->replicas = 0;
    h->watchdog_ms = draw_pick(dice, watchdogs_ms, DRAW_COUNT(watchdogs_ms));
    h->request_ms = draw_pick(dice, requests_ms, DRAW_COUNT(requests_ms));
}

/* ---- who holds, and who waits ---- */

static struct plan_op *acquire(struct plan *plan, int64_t at_ms, int64_t program,
                               int64_t lock, uint64_t *dice)
{
    struct plan_op *op =
        scenario_op(plan, at_ms, OP_ACQUIRE, draw_between(dice, 1, PLAN_OWNERS));

    op->program = program;
    op->lock = lock;
    op->wait_ms = HF_FOREVER;
    op->lease_ms = draw_below(dice, 2) * LEASE_LONG_MS;
    if (plan_has_sides(plan->locks[lock].family))
        op->side = draw_below(dice, 2);
    return op;
}

static void let_hold(struct plan *plan, int64_t at_ms, int64_t program,
                     int64_t lock, int64_t hold_ms, uint64_t *dice)
{
    struct plan_fault *peer;

    if (plan->locks[lock].family != FAMILY_READ_WRITE && draw_one_in(dice, 6)) {
        peer = scenario_fault(plan, at_ms, FAULT_PEER, hold_ms);
        peer->lock = lock;
        return;
    }
    acquire(plan, at_ms, program, lock, dice)->hold_ms = hold_ms;
}

static int64_t other_program(const struct plan *plan, int64_t program,
                             uint64_t *dice)
{
    int64_t count = (int64_t)plan->program_count;

    return (program + 1 + draw_below(dice, count - 1)) % count;
}

/* ---- scenario: messages ---- */

/* What a waiter listens by breaks, falls silent, is refused, or goes elsewhere.
 * A plan has mostly one of these. */
#define MANNERS 4
#define KINDS 4
static const struct manner {
    int64_t kinds[KINDS];
    bool is_seen_at_once; /* by the client: soon all is as before */
} manners[MANNERS] = {
    {{FAULT_RESET, FAULT_CUT, FAULT_KILL, FAULT_REFUSE}, true},
    {{FAULT_HALF_OPEN, FAULT_HALF_OPEN, FAULT_DELAY, FAULT_HOLD_BACK}, false},
    {{FAULT_ACL, FAULT_ACL, FAULT_ACL, FAULT_KILL}, false},
    {{FAULT_MOVE_SLOT, FAULT_MOVE_SLOT, FAULT_IGNORE, FAULT_RESET}, true},
};

/* Of RESP2, the second is that of messages; of RESP3 there is one. 0: all. */
static const int64_t connections[] = {0, 1, 2, 2, 2, 3};
#define ACL_SUBSCRIBE 1

struct repeat {
    int64_t lock, holder, waiter; /* the programs */
    int64_t at_ms, release_ms;
    const struct manner *manner;
};

static int64_t draw_kind(const struct plan *plan, const struct repeat *repeat,
                         uint64_t *dice)
{
    int64_t kind;

    do {
        kind = draw_pick(dice, repeat->manner->kinds, KINDS);
    } while (!plan_can_be(kind, plan->head.deployment));
    return kind;
}

/* Long enough for one that comes meanwhile to be refused. */
static void refuse_for_a_while(struct plan_fault *f, uint64_t *dice)
{
    f->n = ACL_SUBSCRIBE;
    f->for_ms = draw_spread(dice, 400, 6000);
}

static void disturb(struct plan *plan, const struct repeat *repeat, int64_t at_ms,
                    uint64_t *dice)
{
    struct plan_fault *f = scenario_fault(plan, at_ms, draw_kind(plan, repeat, dice),
                                          draw_spread(dice, 10, 4000));

    f->program = repeat->waiter;
    f->server = scenario_server_of(plan, repeat->lock);
    f->lock = repeat->lock;
    f->to_server = draw_one_in(dice, 3);
    f->connection = draw_pick(dice, connections, DRAW_COUNT(connections));
    if (f->kind == FAULT_CUT)
        f->n = draw_spread(dice, 1, 400);
    else if (f->kind == FAULT_DELAY)
        f->n = draw_spread(dice, 10, 3000);
    else if (f->kind == FAULT_ACL)
        refuse_for_a_while(f, dice);
    else
        f->n = !draw_one_in(dice, 4); /* half open for good */
}

/* When the waiter comes, or shortly before the release; several of them near each
 * other. */
static void disturb_act(struct plan *plan, const struct repeat *repeat, bool is_near,
                        uint64_t *dice)
{
    int64_t count = draw_between(dice, 1, 3);
    int64_t at_ms = is_near ? repeat->release_ms - draw_spread(dice, 1, 400)
                            : repeat->at_ms + draw_between(dice, -300, 600);

    while (count-- > 0) {
        disturb(plan, repeat, at_ms, dice);
        at_ms += draw_spread(dice, 1, 1000) * (draw_one_in(dice, 3) ? -1 : 1);
    }
}

static void play_act(struct plan *plan, const struct repeat *repeat, bool is_near,
                     uint64_t *dice)
{
    int64_t waiters = draw_between(dice, 1, WAITERS_MAX);

    let_hold(plan, repeat->at_ms, repeat->holder, repeat->lock,
             repeat->release_ms - repeat->at_ms, dice);
    for (int64_t i = 0; i < waiters; i++) {
        struct plan_op *op = acquire(
            plan, repeat->at_ms + draw_spread(dice, 20, 400),
            i == 0 ? repeat->waiter : other_program(plan, repeat->holder, dice),
            repeat->lock, dice);

        op->hold_ms = draw_spread(dice, 1, 2000);
    }
    disturb_act(plan, repeat, is_near, dice);
}

/* How long after a disturbance all must be as before, and more (run.c). */
static int64_t long_after_ms(const struct plan_head *h, uint64_t *dice)
{
    int64_t settle_ms = 4 * h->request_ms + 9000;

    return settle_ms + h->watchdog_ms / 3 * draw_below(dice, 2) +
           draw_below(dice, 12000);
}

static const struct manner *draw_manner(bool *is_near, uint64_t *dice)
{
    const struct manner *manner = &manners[draw_below(dice, MANNERS)];

    *is_near = draw_one_in(dice, 4) ? !manner->is_seen_at_once
                                    : manner->is_seen_at_once;
    return manner;
}

/* A lock is held for long; who waits for it listens, and what it listens by breaks,
 * falls silent, or is refused and available again; the message is sent in that
 * moment, or long after. */
void scenario_messages(struct plan *plan, uint64_t *dice)
{
    int64_t times_ms[SCENARIO_REPEATS_MAX];
    struct repeat repeat = {0};
    bool is_near;
    size_t repeats;

    be_fast(&plan->head, dice);
    repeat.manner = draw_manner(&is_near, dice);
    plan->head.keeps_alive = !draw_one_in(dice, 4);
    plan->head.protocol = draw_one_in(dice, 3) ? 3 : 2; /* mostly two connections */
    plan->head.length_ms = is_near ? draw_between(dice, 20000, 60000)
                                   : draw_between(dice, 60000, 240000);
    repeats = scenario_repeats(plan, times_ms, dice);
    for (size_t i = 0; i < repeats; i++) {
        repeat.at_ms = times_ms[i];
        repeat.release_ms =
            repeat.at_ms + (is_near ? draw_spread(dice, 500, 8000)
                                 : long_after_ms(&plan->head, dice));
        repeat.lock = (int64_t)i % (int64_t)plan->lock_count;
        repeat.holder = draw_below(dice, (int64_t)plan->program_count);
        repeat.waiter = other_program(plan, repeat.holder, dice);
        play_act(plan, &repeat, is_near, dice);
    }
}

/* ---- scenario: returns ---- */

/* Locks whose slots are at one server. */
static const int64_t neighbours[][4] = {{0, 4, 5, 6}, {1, 2, 7, 1}};

static void draw_neighbours(struct plan *plan, uint64_t *dice)
{
    const int64_t *names = neighbours[draw_below(dice, DRAW_COUNT(neighbours))];

    memset(plan->locks, 0, sizeof plan->locks);
    plan->lock_count = (size_t)draw_between(dice, 2, 3);
    for (size_t i = 0; i < plan->lock_count; i++)
        plan->locks[i] = (struct plan_lock){.family = draw_below(dice, FAMILIES_DRAWN),
                                            .name = names[i]};
}

/* Away and back, in the time in which a waiter does not look. Returns when the
 * source notifies its subscribers: the others learn one after the other (nodes.c). */
static int64_t move_there_and_back(struct plan *plan, int64_t at_ms,
                                   uint64_t *dice)
{
    int64_t away_ms = draw_spread(dice, 20, 1000);
    struct plan_fault *there = scenario_fault(plan, at_ms, FAULT_MOVE_SLOT, away_ms);
    struct plan_fault *back =
        scenario_fault(plan, at_ms + away_ms * 5 / 4 + draw_spread(dice, 1, 500),
                       FAULT_MOVE_SLOT, draw_spread(dice, 10, 500));

    there->server = draw_below(dice, 2);
    back->server = 1 - there->server;
    return at_ms + away_ms +
           away_ms / 4 * (scenario_server_of(plan, 0) + 1) / (2 * SCENARIO_SHARDS);
}

/* The waiter of this lock ends its wait when the slot moves: its channel is no longer wanted
 * at the moment at which the other channel ends. */
static void give_up_at(struct plan *plan, int64_t program, int64_t lock,
                       int64_t given_ms, uint64_t *dice)
{
    struct plan_op *op =
        acquire(plan, given_ms - draw_spread(dice, 300, 1500), program, lock, dice);
    int64_t window_ms = 2 * plan->head.latency_us / 1000 + 2;

    op->wait_ms = given_ms - op->at_ms + draw_between(dice, -window_ms, window_ms);
}

/* A slot moves away and comes back before a waiter looks, and beside it another
 * channel of the same connection is abandoned. Long after, the lock is released. */
static void play_return(struct plan *plan, int64_t at_ms, uint64_t *dice)
{
    int64_t holder = draw_below(dice, (int64_t)plan->program_count);
    int64_t given_ms = move_there_and_back(plan, at_ms + 2000, dice);
    int64_t over_ms = given_ms + long_after_ms(&plan->head, dice) +
                      plan->head.watchdog_ms / 3;

    for (int64_t lock = 0; lock < (int64_t)plan->lock_count; lock++)
        acquire(plan, at_ms, holder, lock, dice)->hold_ms =
            over_ms + lock * draw_spread(dice, 1, 5000) - at_ms;
    for (int64_t p = 0; p < (int64_t)plan->program_count; p++) {
        struct plan_op *op;

        if (p == holder)
            continue;
        op = acquire(plan, at_ms + draw_spread(dice, 100, 1900), p, 0, dice);
        op->hold_ms = draw_spread(dice, 1, 2000);
        for (int64_t lock = 1; lock < (int64_t)plan->lock_count; lock++)
            give_up_at(plan, p, lock, given_ms, dice);
    }
}

void scenario_returns(struct plan *plan, uint64_t *dice)
{
    be_fast(&plan->head, dice);
    plan->head.version = draw_between(dice, 1, 2); /* with sharded messages */
    plan->head.latency_us = draw_spread(dice, 5000, 20000);
    plan->head.jitter_us = draw_below(dice, plan->head.latency_us);
    plan->head.lag_us = plan->head.latency_us;
    draw_neighbours(plan, dice);
    play_return(plan, draw_below(dice, 1000), dice);
    plan->head.length_ms = 60000;
}
