/* What goes wrong, kind by kind. */
#include <stdio.h>
#include <string.h>

#include "lock/lock.h"
#include "tests/sim/failover.h"
#include "tests/sim/peer.h"
#include "tests/sim/program.h"
#include "tests/sim/reshard.h"
#include "tests/sim/trouble.h"
#include "tests/sim/trouble_kinds.h"
#include "tests/sim/witness.h"

#define AGAIN_US 50000

/* ---- who is touched ---- */

static struct server *server_of(const struct trouble *t)
{
    return site_server(t->sim->site, t->fault->server);
}

static struct program *program_of(const struct trouble *t)
{
    return t->sim->programs[t->fault->program];
}

static struct link *link_of(const struct trouble *t)
{
    return site_link(t->sim->site, program_of(t), server_of(t));
}

static enum way way_of(const struct trouble *t)
{
    return t->fault->to_server ? TO_SERVER : TO_CLIENT;
}

static const char *lock_of(const struct trouble *t)
{
    return plan_lock_name(t->sim->plan, t->fault->lock);
}

static struct server *master_of(const struct trouble *t)
{
    if (t->sim->plan->head.deployment == DEPLOY_INDEPENDENT)
        return server_of(t);
    return site_master(t->sim->site, t->fault->lock);
}

/* The one connection that is touched; NULL: all, or it has none. */
static struct connection *connection_of(const struct trouble *t)
{
    return t->fault->connection == 0
               ? NULL
               : link_connection(link_of(t), (unsigned)t->fault->connection);
}

/* ---- links ---- */

static void delay(struct trouble *t)
{
    struct link_shape shape = site_shape(t->sim->site);
    struct connection *one = t->is_on ? connection_of(t) : NULL;

    if (one) {
        connection_slow(one, way_of(t), t->fault->n * 1000);
        return;
    }
    if (t->is_on)
        shape.delay_us += t->fault->n * 1000;
    link_set_shape(link_of(t), way_of(t), &shape);
}

static void hold_back(struct trouble *t)
{
    struct connection *one = t->is_on ? connection_of(t) : NULL;

    if (one)
        connection_hold(one, way_of(t));
    else
        link_hold(link_of(t), way_of(t), t->is_on);
}

/* The connection that is cut, or the bytes before the cut, may come long after the
 * fault. */
static void on_cut(void *ctx)
{
    trouble_tell(ctx, HISTORY_STATE_ONCE);
}

static void cut(struct trouble *t)
{
    struct connection *one = connection_of(t);

    t->again = (struct event){.happen = on_cut, .ctx = t};
    if (one)
        connection_cut_after(one, way_of(t), (size_t)t->fault->n, &t->again);
    else
        link_cut_after(link_of(t), way_of(t), (size_t)t->fault->n, &t->again);
}

static void reset(struct trouble *t)
{
    struct connection *one = connection_of(t);

    if (one && t->fault->n == 1)
        connection_drop(one);
    else if (one)
        connection_reset(one);
    else if (t->fault->n == 1)
        link_drop(link_of(t));
    else
        link_reset(link_of(t));
}

/* Who went half open is not known any more at the end: all are reset. */
static void half_open(struct trouble *t)
{
    struct connection *one = connection_of(t);

    if (!t->is_on && t->fault->n == 0)
        link_reset(link_of(t));
    else if (t->is_on && one)
        connection_forget(one, way_of(t));
    else if (t->is_on)
        link_forget(link_of(t), way_of(t));
}

/* A connection that is being made may be the one after the last fault. While a client has
 * a dead connection, no other one dies. */
#define GREETED_US 1000000

static void end_swallow(const struct trouble *t)
{
    struct link *link = link_of(t);

    link_forget_next(link, TO_SERVER, false);
    link_forget_next(link, TO_CLIENT, false);
    if (link_swallows(link) > 0)
        effects_note(t->sim, EFFECT_SWALLOWED);
    if (link_stillborn(link) > 0)
        effects_note(t->sim, EFFECT_SWALLOWED_GREETING);
}

static void swallow_on(const struct trouble *t, struct connection *one, enum way way)
{
    connection_forget(one, way);
    if (t->fault->n & PLAN_SWALLOW_NEXT)
        link_forget_next(link_of(t), way, true);
}

static void swallow(struct trouble *t)
{
    struct connection *one = t->is_on ? connection_of(t) : NULL;

    if (!t->is_on)
        end_swallow(t);
    if (!one || connection_age_us(one) < GREETED_US || link_is_cut_off(link_of(t)))
        return;
    swallow_on(t, one, way_of(t));
    if (t->fault->n & PLAN_SWALLOW_BOTH)
        swallow_on(t, one, way_of(t) == TO_SERVER ? TO_CLIENT : TO_SERVER);
}

/* Or, behind a proxy, it is accepted and closed. */
static void refuse(struct trouble *t)
{
    struct link *link = link_of(t);
    enum door closed = t->fault->n == 1 ? DOOR_CLOSES : DOOR_REFUSES;

    link_set_door(link, t->is_on ? closed : DOOR_OPEN);
    if (!t->is_on && link_hangups(link) > 0)
        effects_note(t->sim, EFFECT_HUNG_UP);
}

static void ignore(struct trouble *t)
{
    link_set_door(link_of(t), t->is_on ? DOOR_IGNORES : DOOR_OPEN);
}

static void resolver(struct trouble *t)
{
    network_set_names(t->sim->world, t->is_on ? NAMES_FAIL : NAMES_FOUND, 1000);
}

/* ---- servers ---- */

static void freeze(struct trouble *t)
{
    server_freeze(server_of(t), t->is_on);
}

static void restart(struct trouble *t)
{
    if (t->is_on)
        server_take_down(server_of(t));
    else
        server_bring_up(server_of(t), t->fault->trouble == FAULT_RESTART);
}

static void set_state(struct trouble *t)
{
    struct server *s = server_of(t);
    struct model *m = server_turn(s);

    if (t->fault->trouble == FAULT_LOADING)
        model_set_loading(m, t->is_on);
    else if (t->fault->trouble == FAULT_BUSY)
        model_set_busy(m, t->is_on);
    else if (t->fault->trouble == FAULT_FULL)
        model_set_full(m, t->is_on);
    else
        model_set_maxclients(m, t->is_on ? 1 : 10000);
    server_done(s);
}

static void acl(struct trouble *t)
{
    static const char *const taken[] = {
        "SETUSER default -eval -evalsha",
        [PLAN_ACL_SUBSCRIBE] = "SETUSER default -subscribe -ssubscribe",
        [PLAN_ACL_KILL] = "SETUSER default -client -info",
    };
    struct server *s = server_of(t);

    (void)model_acl(server_turn(s),
                    t->is_on ? taken[t->fault->n] : "SETUSER default +@all");
    server_done(s);
}

static void forget_scripts(struct trouble *t)
{
    model_forget_scripts(server_turn(server_of(t)));
    server_done(server_of(t));
}

static void kill_connections(struct trouble *t)
{
    model_close_all(server_turn(server_of(t)));
    server_done(server_of(t));
}

/* A server that is down executes nothing: what it had counts when it is back. */
static void flush(struct trouble *t)
{
    struct server *s = master_of(t);

    if (!s->is_down)
        server_say(s, 1, (const char *[]){"FLUSHALL"});
}

static void lag(struct trouble *t)
{
    struct server *s = server_of(t);

    if (s->feed)
        server_set_lag(s, t->is_on ? -1 : t->sim->plan->head.lag_us);
}

static void set_server_clock(struct trouble *t)
{
    struct server *s = server_of(t);

    if (witness_has_holds(&s->witness))
        effects_note(t->sim, EFFECT_CLOCK_SET);
    server_set_clock(s, t->fault->n * 1000);
}

/* ---- keys ---- */

static bool is_permit(const struct trouble *t)
{
    return t->sim->plan->locks[t->fault->lock].family == FAMILY_PERMIT;
}

static bool is_value(const struct trouble *t)
{
    return plan_family(t->sim->plan, t->fault->lock) == FAMILY_VALUE ||
           plan_has_permits(t->sim->plan, t->fault->lock);
}

/* Of a semaphore, which permits are out, too: else the operator makes some. */
static void delete (struct trouble *t)
{
    char out[WITNESS_KEY_MAX];

    witness_out_key(out, sizeof out, lock_of(t));
    server_say(master_of(t), is_permit(t) ? 3 : 2,
               (const char *[]){"DEL", lock_of(t), out});
}

/* A value lock is a string itself. */
static enum model_type other_type(const struct trouble *t)
{
    return is_value(t) ? MODEL_HASH : MODEL_STRING;
}

static bool is_retyped(const struct trouble *t, const struct server *s)
{
    const char *name = lock_of(t);
    struct model_key key;

    return model_look(s->model, 0, name, strlen(name), &key) &&
           key.type == other_type(t);
}

/* Also where a stopped server has not executed the SET yet, a replica, which may be
 * master one day, has not heard of the DEL, or the DEL has not reached the disk. */
static bool may_be_retyped(const struct trouble *t)
{
    const struct site *site = t->sim->site;

    for (size_t i = 0; i < site->count; i++)
        if (site->servers[i]->is_frozen || site->servers[i]->is_down ||
            site->servers[i]->on_disk || is_retyped(t, site->servers[i]))
            return true;
    return false;
}

/* Whoever else has the name by then is left alone. A server that is busy,
 * stopped or down is asked again. */
static void un_retype(void *ctx)
{
    struct trouble *t = ctx;

    if (is_retyped(t, master_of(t)))
        server_say(master_of(t), 2, (const char *[]){"DEL", lock_of(t)});
    if (may_be_retyped(t))
        world_after(t->sim->world, &t->again, AGAIN_US);
}

static void retype(struct trouble *t)
{
    t->again = (struct event){.happen = un_retype, .ctx = t};
    if (t->is_on && is_value(t)) {
        delete (t);
        server_say(master_of(t), 4,
                   (const char *[]){"HSET", lock_of(t), "f", "x"});
    } else if (t->is_on) {
        server_say(master_of(t), 3, (const char *[]){"SET", lock_of(t), "x"});
    } else {
        un_retype(t);
    }
}

static void shorten(struct trouble *t)
{
    char ms[24];

    if (is_permit(t)) /* the key of those that are out has a TTL of its own */
        return;
    (void)snprintf(ms, sizeof ms, "%lld", (long long)t->fault->n);
    server_say(master_of(t), 3, (const char *[]){"PEXPIRE", lock_of(t), ms});
}

/* ---- a peer ---- */

static void on_peer_again(void *ctx)
{
    struct trouble *t = ctx;

    peer_look(t);
    world_after(t->sim->world, &t->again, PEER_LOOK_US);
}

static void peer(struct trouble *t)
{
    if (!t->is_on) {
        world_cancel(t->sim->world, &t->again);
        peer_leave(t);
    } else if (peer_enter(t)) {
        t->again = (struct event){.happen = on_peer_again, .ctx = t};
        world_after(t->sim->world, &t->again, PEER_LOOK_US);
    }
}

/* ---- programs ---- */

static void suspend(struct trouble *t)
{
    program_suspend(program_of(t), t->fault->for_ms);
}

static void set_clock(struct trouble *t)
{
    program_set_rate(program_of(t), t->fault->n, t->fault->for_ms,
                     t->fault->trouble == FAULT_CLOCK_BEYOND);
}

static void starve(struct trouble *t)
{
    program_starve(program_of(t), t->fault->n);
}

static void kill_program(struct trouble *t)
{
    program_kill(program_of(t), t->fault->for_ms);
}

static void stall(struct trouble *t)
{
    program_stall(program_of(t), t->fault->for_ms, t->fault->n == 1);
}

/* ---- the table ---- */

enum touches {
    TOUCHES_LINK,
    TOUCHES_SERVER,
    TOUCHES_SHARD,
    TOUCHES_LOCK,
    TOUCHES_PROGRAM
};

static const struct {
    void (*act)(struct trouble *t);
    enum touches touches;
    bool ends_by_itself;
} kinds[TROUBLES] = {
    [FAULT_DELAY] = {delay, TOUCHES_LINK, false},
    [FAULT_HOLD_BACK] = {hold_back, TOUCHES_LINK, false},
    [FAULT_CUT] = {cut, TOUCHES_LINK, false},
    [FAULT_RESET] = {reset, TOUCHES_LINK, false},
    [FAULT_HALF_OPEN] = {half_open, TOUCHES_LINK, false},
    [FAULT_REFUSE] = {refuse, TOUCHES_LINK, false},
    [FAULT_IGNORE] = {ignore, TOUCHES_LINK, false},
    [FAULT_RESOLVER] = {resolver, TOUCHES_SERVER, false},
    [FAULT_FREEZE] = {freeze, TOUCHES_SERVER, false},
    [FAULT_RESTART] = {restart, TOUCHES_SERVER, false},
    [FAULT_FORGET] = {restart, TOUCHES_SERVER, false},
    [FAULT_LOADING] = {set_state, TOUCHES_SERVER, false},
    [FAULT_BUSY] = {set_state, TOUCHES_SERVER, false},
    [FAULT_FULL] = {set_state, TOUCHES_SERVER, false},
    [FAULT_CROWDED] = {set_state, TOUCHES_SERVER, false},
    [FAULT_ACL] = {acl, TOUCHES_SERVER, false},
    [FAULT_SCRIPTS] = {forget_scripts, TOUCHES_SERVER, false},
    [FAULT_KILL] = {kill_connections, TOUCHES_SERVER, false},
    [FAULT_FLUSHALL] = {flush, TOUCHES_SERVER, false},
    [FAULT_LAG] = {lag, TOUCHES_SERVER, false},
    [FAULT_FAILOVER] = {failover, TOUCHES_SHARD, false},
    [FAULT_MOVE_SLOT] = {reshard, TOUCHES_LOCK, false},
    [FAULT_DELETE] = {delete, TOUCHES_LOCK, false},
    [FAULT_RETYPE] = {retype, TOUCHES_LOCK, false},
    [FAULT_SHORTEN] = {shorten, TOUCHES_LOCK, false},
    [FAULT_PEER] = {peer, TOUCHES_LOCK, false},
    [FAULT_SUSPEND] = {suspend, TOUCHES_PROGRAM, true},
    [FAULT_CLOCK] = {set_clock, TOUCHES_PROGRAM, true},
    [FAULT_CLOCK_BEYOND] = {set_clock, TOUCHES_PROGRAM, true},
    [FAULT_MEMORY] = {starve, TOUCHES_PROGRAM, true},
    [FAULT_DENY] = {trouble_deny, TOUCHES_SERVER, false},
    [FAULT_PASSWORD] = {trouble_password, TOUCHES_SERVER, false},
    [FAULT_SCANT] = {trouble_refuse_writes, TOUCHES_SERVER, false},
    [FAULT_UNSAVED] = {trouble_refuse_writes, TOUCHES_SERVER, false},
    [FAULT_EVICT] = {trouble_evict, TOUCHES_SERVER, false},
    [FAULT_OUTPUT] = {trouble_close_some, TOUCHES_SERVER, false},
    [FAULT_IDLE] = {trouble_close_some, TOUCHES_SERVER, false},
    [FAULT_DEMOTE] = {trouble_demote, TOUCHES_SHARD, false},
    [FAULT_DIE] = {kill_program, TOUCHES_PROGRAM, true},
    [FAULT_STALL] = {stall, TOUCHES_PROGRAM, true},
    [FAULT_SERVER_CLOCK] = {set_server_clock, TOUCHES_SERVER, false},
    [FAULT_POWER] = {trouble_power, TOUCHES_SERVER, false},
    [FAULT_SWALLOW] = {swallow, TOUCHES_LINK, false},
    [FAULT_ROTATE] = {trouble_rotate, TOUCHES_SERVER, false},
    [FAULT_SWITCHOVER] = {trouble_switchover, TOUCHES_SHARD, false},
};

/* ---- lines ---- */

static void name_the_touched(const struct trouble *t, char *dst, size_t size)
{
    long long program = t->fault->program + 1;
    long long server = server_of(t)->number;

    switch (kinds[t->fault->trouble].touches) {
    case TOUCHES_LINK:
        (void)snprintf(dst, size, "c%lld,s%lld", program, server);
        break;
    case TOUCHES_SERVER:
        (void)snprintf(dst, size, "s%lld%s", server,
                       t->is_aside ? ",nobody" : "");
        break;
    case TOUCHES_SHARD:
        (void)snprintf(dst, size, "s%lld",
                       (long long)failover_master(t)->number);
        break;
    case TOUCHES_LOCK:
        (void)snprintf(dst, size, "s%lld", (long long)master_of(t)->number);
        break;
    case TOUCHES_PROGRAM:
        (void)snprintf(dst, size, "c%lld", program);
        break;
    }
}

void trouble_tell(struct trouble *t, enum history_state state)
{
    if (state == HISTORY_STATE_END && t->is_told_over)
        state = HISTORY_STATE_ONCE;
    t->is_told_over = state == HISTORY_STATE_END;
    trouble_tell_of(t, state, t->fault->lock);
}

void trouble_tell_of(const struct trouble *t, enum history_state state,
                     int64_t lock)
{
    struct history_event e = sim_event(t->sim, 'w', 0, HISTORY_FAULT);
    char on[64];

    name_the_touched(t, on, sizeof on);
    e.fault = history_text(plan_trouble_name(t->fault->trouble));
    e.on = history_text(on);
    e.state = state;
    if (kinds[t->fault->trouble].touches == TOUCHES_LOCK &&
        t->sim->plan->head.deployment != DEPLOY_INDEPENDENT)
        e.lock = history_text(plan_lock_name(t->sim->plan, lock));
    sim_write(t->sim, &e);
}

/* A server that has never had locks. Where nobody waits for replicas, a client
 * that finds it silent is not held up, unless it knows no other one. */
static bool is_aside(const struct trouble *t)
{
    const struct server *s = server_of(t);

    return t->fault->trouble == FAULT_FREEZE &&
           t->sim->plan->head.replicas == 0 && !s->has_been_master &&
           site_has_other_seed(t->sim->site, s);
}

/* A slot on the move tells by itself when it may matter (reshard.c). What a peer
 * does is not a fault, and the client must cope with the faults of some worlds. An allocation fails some time after the fault is armed, and
 * the program writes the line (program.c). */
static void tell(struct trouble *t, enum history_state state)
{
    if (t->fault->trouble != FAULT_MOVE_SLOT && t->fault->trouble != FAULT_PEER &&
        t->fault->trouble != FAULT_MEMORY && t->fault->trouble < TROUBLES_OF_WORLDS)
        trouble_tell(t, state);
}

/* ---- beginning and ending ---- */

static void on_end(void *ctx)
{
    struct trouble *t = ctx;

    t->is_on = false;
    kinds[t->fault->trouble].act(t);
    tell(t, HISTORY_STATE_END);
}

static void on_begin(void *ctx)
{
    struct trouble *t = ctx;
    bool lasts = plan_lasts(t->fault->trouble) &&
                 !kinds[t->fault->trouble].ends_by_itself;

    if (!kinds[t->fault->trouble].act)
        return;
    t->is_on = true;
    t->is_aside = is_aside(t);
    tell(t, lasts ? HISTORY_STATE_BEGIN : HISTORY_STATE_ONCE);
    t->sim->result->troubles[t->fault->trouble]++;
    kinds[t->fault->trouble].act(t);
    t->event.happen = on_end;
    if (lasts)
        world_after(t->sim->world, &t->event, t->fault->for_ms * 1000);
}

void trouble_arm(struct sim *sim, struct trouble troubles[PLAN_FAULTS_MAX])
{
    for (size_t i = 0; i < sim->plan->fault_count; i++) {
        struct trouble *t = &troubles[i];

        *t = (struct trouble){.sim = sim,
                              .fault = &sim->plan->faults[i],
                              .event = {.happen = on_begin, .ctx = t}};
        world_at(sim->world, &t->event, sim_us(t->fault->at_ms));
    }
}

int64_t trouble_end_us(const struct plan *plan)
{
    int64_t end_ms = 0;

    for (size_t i = 0; i < plan->fault_count; i++) {
        int64_t over_ms = plan->faults[i].at_ms + plan->faults[i].for_ms;

        if (over_ms > end_ms)
            end_ms = over_ms;
    }
    return sim_us(end_ms);
}
