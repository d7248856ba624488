/* What goes wrong, kind by kind. */
#include <stdio.h>
#include <string.h>

#include "lock/lock.h"
#include "tests/sim/failover.h"
#include "tests/sim/peer.h"
#include "tests/sim/program.h"
#include "tests/sim/reshard.h"
#include "tests/sim/sets.h"
#include "tests/sim/fault.h"
#include "tests/sim/fault_kinds.h"
#include "tests/sim/observer.h"

#define AGAIN_US 50000

/* ---- who is touched ---- */

static struct server *server_of(const struct fault *f)
{
    return site_server(f->sim->site, f->planned->server);
}

static struct program *program_of(const struct fault *f)
{
    return f->sim->programs[f->planned->program];
}

static struct link *link_of(const struct fault *f)
{
    return site_link(f->sim->site, program_of(f), server_of(f));
}

static enum way way_of(const struct fault *f)
{
    return f->planned->to_server ? TO_SERVER : TO_CLIENT;
}

static const char *lock_of(const struct fault *f)
{
    return plan_lock_name(f->sim->plan, f->planned->lock);
}

static struct server *master_of(const struct fault *f)
{
    if (f->sim->plan->head.deployment == DEPLOY_INDEPENDENT)
        return server_of(f);
    return site_master(f->sim->site, f->planned->lock);
}

/* The one connection that is touched; NULL: all, or it has none. */
static struct connection *connection_of(const struct fault *f)
{
    return f->planned->connection == 0
               ? NULL
               : link_connection(link_of(f), (unsigned)f->planned->connection);
}

/* ---- links ---- */

static void delay(struct fault *f)
{
    struct link_shape shape = site_shape(f->sim->site);
    struct connection *one = f->is_on ? connection_of(f) : NULL;

    if (one) {
        connection_slow(one, way_of(f), f->planned->n * 1000);
        return;
    }
    if (f->is_on)
        shape.delay_us += f->planned->n * 1000;
    link_set_shape(link_of(f), way_of(f), &shape);
}

static void hold_back(struct fault *f)
{
    struct connection *one = f->is_on ? connection_of(f) : NULL;

    if (one)
        connection_hold(one, way_of(f));
    else
        link_hold(link_of(f), way_of(f), f->is_on);
}

/* The connection that is cut, or the bytes before the cut, may come long after the
 * fault. */
static void on_cut(void *ctx)
{
    fault_write(ctx, HISTORY_STATE_ONCE);
}

static void cut(struct fault *f)
{
    struct connection *one = connection_of(f);

    f->again = (struct event){.happen = on_cut, .ctx = f};
    if (one)
        connection_cut_after(one, way_of(f), (size_t)f->planned->n, &f->again);
    else
        link_cut_after(link_of(f), way_of(f), (size_t)f->planned->n, &f->again);
}

static void reset(struct fault *f)
{
    struct connection *one = connection_of(f);

    if (one && f->planned->n == 1)
        connection_drop(one);
    else if (one)
        connection_reset(one);
    else if (f->planned->n == 1)
        link_drop(link_of(f));
    else
        link_reset(link_of(f));
}

/* Which connections are half open is not known at the end: all are reset. */
static void half_open(struct fault *f)
{
    struct connection *one = connection_of(f);

    if (!f->is_on && f->planned->n == 0)
        link_reset(link_of(f));
    else if (f->is_on && one)
        connection_forget(one, way_of(f));
    else if (f->is_on)
        link_forget(link_of(f), way_of(f));
}

/* A connection that is being made may be the one after the last fault. While a client has
 * a dead connection, no other one dies. */
#define HANDSHAKE_US 1000000

static void end_swallow(const struct fault *f)
{
    struct link *link = link_of(f);

    link_forget_next(link, TO_SERVER, false);
    link_forget_next(link, TO_CLIENT, false);
    if (link_swallows(link) > 0)
        effects_note(f->sim, EFFECT_SWALLOWED);
    if (link_stillborn(link) > 0)
        effects_note(f->sim, EFFECT_SWALLOWED_HANDSHAKE);
}

static void swallow_on(const struct fault *f, struct connection *one, enum way way)
{
    connection_forget(one, way);
    if (f->planned->n & PLAN_SWALLOW_NEXT)
        link_forget_next(link_of(f), way, true);
}

static void swallow(struct fault *f)
{
    struct connection *one = f->is_on ? connection_of(f) : NULL;

    if (!f->is_on)
        end_swallow(f);
    if (!one || connection_age_us(one) < HANDSHAKE_US || link_is_cut_off(link_of(f)))
        return;
    swallow_on(f, one, way_of(f));
    if (f->planned->n & PLAN_SWALLOW_BOTH)
        swallow_on(f, one, way_of(f) == TO_SERVER ? TO_CLIENT : TO_SERVER);
}

/* A proxy may instead accept the connection and close it. */
static void refuse(struct fault *f)
{
    struct link *link = link_of(f);
    enum door closed = f->planned->n == 1 ? DOOR_CLOSES : DOOR_REFUSES;

    link_set_door(link, f->is_on ? closed : DOOR_OPEN);
    if (!f->is_on && link_hangups(link) > 0)
        effects_note(f->sim, EFFECT_HUNG_UP);
}

static void ignore(struct fault *f)
{
    link_set_door(link_of(f), f->is_on ? DOOR_IGNORES : DOOR_OPEN);
}

static void resolver(struct fault *f)
{
    network_set_names(f->sim->world, f->is_on ? NAMES_FAIL : NAMES_FOUND, 1000);
}

/* ---- servers ---- */

static void freeze(struct fault *f)
{
    server_freeze(server_of(f), f->is_on);
}

static void restart(struct fault *f)
{
    if (f->is_on)
        server_take_down(server_of(f));
    else
        server_bring_up(server_of(f), f->planned->kind == FAULT_RESTART);
}

static void set_state(struct fault *f)
{
    struct server *s = server_of(f);
    struct model *m = server_turn(s);

    if (f->planned->kind == FAULT_LOADING)
        model_set_loading(m, f->is_on);
    else if (f->planned->kind == FAULT_BUSY)
        model_set_busy(m, f->is_on);
    else if (f->planned->kind == FAULT_FULL)
        model_set_full(m, f->is_on);
    else
        model_set_maxclients(m, f->is_on ? 1 : 10000);
    server_done(s);
}

static void acl(struct fault *f)
{
    static const char *const taken[] = {
        "SETUSER default -eval -evalsha",
        [PLAN_ACL_SUBSCRIBE] = "SETUSER default -subscribe -ssubscribe",
        [PLAN_ACL_KILL] = "SETUSER default -client -info",
    };
    struct server *s = server_of(f);

    (void)model_acl(server_turn(s),
                    f->is_on ? taken[f->planned->n] : "SETUSER default +@all");
    server_done(s);
}

static void forget_scripts(struct fault *f)
{
    model_forget_scripts(server_turn(server_of(f)));
    server_done(server_of(f));
}

static void kill_connections(struct fault *f)
{
    model_close_all(server_turn(server_of(f)));
    server_done(server_of(f));
}

/* A client learns which server it is by its handshake, and its connection is replaced within this
 * time. */
#define RECONNECTED_US 3000000

static void seem_one_server(struct fault *f)
{
    struct site *site = f->sim->site;
    struct server *other = site_server(site, f->planned->server + f->planned->n);

    model_seem(server_of(f)->model, f->is_on && other != server_of(f) ? other->model : NULL);
    site->one_server_us = f->is_on ? INT64_MAX : world_now_us(f->sim->world) + RECONNECTED_US;
    kill_connections(f);
}

/* A server that is down executes nothing: what it had counts when it is back. */
static void flush(struct fault *f)
{
    struct server *s = master_of(f);

    if (!s->is_down)
        server_say(s, 1, (const char *[]){"FLUSHALL"});
}

static void lag(struct fault *f)
{
    struct server *s = server_of(f);

    if (s->feed)
        server_set_lag(s, f->is_on ? -1 : f->sim->plan->head.lag_us);
}

static void set_server_clock(struct fault *f)
{
    struct server *s = server_of(f);

    if (observer_has_holds(&s->observer))
        effects_note(f->sim, EFFECT_CLOCK_SET);
    server_set_clock(s, f->planned->n * 1000);
}

static void set_server_rate(struct fault *f)
{
    struct server *s = server_of(f);

    if (observer_has_holds(&s->observer))
        effects_note(f->sim, EFFECT_DRIFT);
    server_set_rate(s, f->planned->n);
}

/* ---- keys ---- */

static bool is_permit(const struct fault *f)
{
    return f->sim->plan->locks[f->planned->lock].family == FAMILY_PERMIT;
}

static bool is_value(const struct fault *f)
{
    return plan_family(f->sim->plan, f->planned->lock) == FAMILY_VALUE ||
           plan_has_permits(f->sim->plan, f->planned->lock);
}

/* Also deletes which permits of a semaphore are in use: otherwise the operator adds some. */
static void delete (struct fault *f)
{
    char out[OBSERVER_KEY_MAX];

    observer_out_key(out, sizeof out, lock_of(f));
    server_say(master_of(f), is_permit(f) ? 3 : 2,
               (const char *[]){"DEL", lock_of(f), out});
}

/* A value lock is a string itself. */
static enum model_type other_type(const struct fault *f)
{
    return is_value(f) ? MODEL_HASH : MODEL_STRING;
}

static bool is_retyped(const struct fault *f, const struct server *s)
{
    const char *name = lock_of(f);
    struct model_key key;

    return model_look(s->model, 0, name, strlen(name), &key) &&
           key.type == other_type(f);
}

/* Also where a stopped server has not executed the SET yet, a replica, which may be
 * master one day, has not heard of the DEL, or the DEL has not reached the disk. */
static bool may_be_retyped(const struct fault *f)
{
    const struct site *site = f->sim->site;

    for (size_t i = 0; i < site->count; i++)
        if (site->servers[i]->is_frozen || site->servers[i]->is_down ||
            site->servers[i]->on_disk || is_retyped(f, site->servers[i]))
            return true;
    return false;
}

/* A key that another client has created by then is left unchanged. The request is repeated
 * if the server is busy, stopped or down. */
static void un_retype(void *ctx)
{
    struct fault *f = ctx;

    if (is_retyped(f, master_of(f)))
        server_say(master_of(f), 2, (const char *[]){"DEL", lock_of(f)});
    if (may_be_retyped(f))
        world_after(f->sim->world, &f->again, AGAIN_US);
}

static void retype(struct fault *f)
{
    f->again = (struct event){.happen = un_retype, .ctx = f};
    if (f->is_on && is_value(f)) {
        delete (f);
        server_say(master_of(f), 4,
                   (const char *[]){"HSET", lock_of(f), "f", "x"});
    } else if (f->is_on) {
        server_say(master_of(f), 3, (const char *[]){"SET", lock_of(f), "x"});
    } else {
        un_retype(f);
    }
}

static void shorten(struct fault *f)
{
    char ms[24];

    if (is_permit(f)) /* the key of those that are out has a TTL of its own */
        return;
    (void)snprintf(ms, sizeof ms, "%lld", (long long)f->planned->n);
    server_say(master_of(f), 3, (const char *[]){"PEXPIRE", lock_of(f), ms});
}

/* ---- a peer ---- */

static void on_peer_again(void *ctx)
{
    struct fault *f = ctx;

    peer_look(f);
    world_after(f->sim->world, &f->again, PEER_LOOK_US);
}

static void peer(struct fault *f)
{
    if (!f->is_on) {
        world_cancel(f->sim->world, &f->again);
        sets_check_peer(f->sim, f->planned->lock);
        peer_leave(f);
    } else if (peer_enter(f)) {
        f->again = (struct event){.happen = on_peer_again, .ctx = f};
        world_after(f->sim->world, &f->again, PEER_LOOK_US);
    }
}

/* ---- programs ---- */

static void suspend(struct fault *f)
{
    program_suspend(program_of(f), f->planned->for_ms);
}

static void set_clock(struct fault *f)
{
    program_set_rate(program_of(f), f->planned->n, f->planned->for_ms,
                     f->planned->kind == FAULT_CLOCK_BEYOND);
}

static void starve(struct fault *f)
{
    program_starve(program_of(f), f->planned->n);
}

static void kill_program(struct fault *f)
{
    program_kill(program_of(f), f->planned->for_ms);
}

static void stall(struct fault *f)
{
    program_stall(program_of(f), f->planned->for_ms, f->planned->n == 1);
}

/* ---- the table ---- */

enum touches {
    TOUCHES_LINK,
    TOUCHES_SERVER,
    TOUCHES_SHARD,
    TOUCHES_LOCK,
    TOUCHES_PROGRAM,
    TOUCHES_ALL
};

static const struct {
    void (*act)(struct fault *f);
    enum touches touches;
    bool ends_by_itself;
} kinds[FAULT_KINDS] = {
    [FAULT_DELAY] = {delay, TOUCHES_LINK, false},
    [FAULT_HOLD_BACK] = {hold_back, TOUCHES_LINK, false},
    [FAULT_CUT] = {cut, TOUCHES_LINK, false},
    [FAULT_RESET] = {reset, TOUCHES_LINK, false},
    [FAULT_HALF_OPEN] = {half_open, TOUCHES_LINK, false},
    [FAULT_REFUSE] = {refuse, TOUCHES_LINK, false},
    [FAULT_IGNORE] = {ignore, TOUCHES_LINK, false},
    [FAULT_RESOLVER] = {resolver, TOUCHES_ALL, false},
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
    [FAULT_DENY] = {fault_deny, TOUCHES_ALL, false},
    [FAULT_PASSWORD] = {fault_password, TOUCHES_SERVER, false},
    [FAULT_SCANT] = {fault_refuse_writes, TOUCHES_SERVER, false},
    [FAULT_UNSAVED] = {fault_refuse_writes, TOUCHES_SERVER, false},
    [FAULT_EVICT] = {fault_evict, TOUCHES_SERVER, false},
    [FAULT_OUTPUT] = {fault_close_some, TOUCHES_SERVER, false},
    [FAULT_IDLE] = {fault_close_some, TOUCHES_SERVER, false},
    [FAULT_DEMOTE] = {fault_demote, TOUCHES_SHARD, false},
    [FAULT_DIE] = {kill_program, TOUCHES_PROGRAM, true},
    [FAULT_STALL] = {stall, TOUCHES_PROGRAM, true},
    [FAULT_SERVER_CLOCK] = {set_server_clock, TOUCHES_SERVER, false},
    [FAULT_SERVER_DRIFT] = {set_server_rate, TOUCHES_SERVER, true},
    [FAULT_POWER] = {fault_power, TOUCHES_SERVER, false},
    [FAULT_ONE_SERVER] = {seem_one_server, TOUCHES_SERVER, false},
    [FAULT_SWALLOW] = {swallow, TOUCHES_LINK, false},
    [FAULT_ROTATE] = {fault_rotate, TOUCHES_SERVER, false},
    [FAULT_SWITCHOVER] = {fault_switchover, TOUCHES_SHARD, false},
    [FAULT_PROXY] = {fault_proxy, TOUCHES_SERVER, false},
    [FAULT_DISAGREE] = {fault_disagree, TOUCHES_SERVER, false},
    [FAULT_NAMES] = {fault_names, TOUCHES_SERVER, false},
    [FAULT_REPLACE] = {failover_replace, TOUCHES_SHARD, false},
};

/* ---- lines ---- */

static void name_the_touched(const struct fault *f, char *dst, size_t size)
{
    long long program = f->planned->program + 1;
    long long server = server_of(f)->number;

    switch (kinds[f->planned->kind].touches) {
    case TOUCHES_LINK:
        (void)snprintf(dst, size, "c%lld,s%lld", program, server);
        break;
    case TOUCHES_SERVER:
        (void)snprintf(dst, size, "s%lld%s", server,
                       f->is_aside ? ",nobody" : "");
        break;
    case TOUCHES_SHARD:
        (void)snprintf(dst, size, "s%lld",
                       (long long)failover_master(f)->number);
        break;
    case TOUCHES_LOCK:
        (void)snprintf(dst, size, "s%lld", (long long)master_of(f)->number);
        break;
    case TOUCHES_PROGRAM:
        (void)snprintf(dst, size, "c%lld", program);
        break;
    case TOUCHES_ALL:
        (void)snprintf(dst, size, "all");
        break;
    }
}

void fault_write(struct fault *f, enum history_state state)
{
    if (state == HISTORY_STATE_END && f->is_end_written)
        state = HISTORY_STATE_ONCE;
    f->is_end_written = state == HISTORY_STATE_END;
    fault_write_for(f, state, f->planned->lock);
}

void fault_write_for(const struct fault *f, enum history_state state,
                     int64_t lock)
{
    struct history_event e = sim_event(f->sim, 'w', 0, HISTORY_FAULT);
    char on[64];

    name_the_touched(f, on, sizeof on);
    e.fault = history_text(plan_fault_name(f->planned->kind));
    e.on = history_text(on);
    e.state = state;
    if (kinds[f->planned->kind].touches == TOUCHES_LOCK &&
        f->sim->plan->head.deployment != DEPLOY_INDEPENDENT)
        e.lock = history_text(plan_lock_name(f->sim->plan, lock));
    sim_write(f->sim, &e);
}

/* A server that has never had locks. If no call waits for replicas, its silence does not
 * delay a client that knows another server. */
static bool is_aside(const struct fault *f)
{
    const struct server *s = server_of(f);

    return f->planned->kind == FAULT_FREEZE &&
           f->sim->plan->head.replicas == 0 && !s->has_been_master &&
           site_has_other_seed(f->sim->site, s);
}

/* reshard.c writes the lines of a slot on the move. The actions of a peer are not a fault, and the client must cope with the faults of some worlds. An allocation
 * fails some time after the fault is armed, and the program writes the line (program.c). */
static void tell(struct fault *f, enum history_state state)
{
    if (f->planned->kind != FAULT_MOVE_SLOT && f->planned->kind != FAULT_PEER &&
        f->planned->kind != FAULT_MEMORY && f->planned->kind < FAULT_KINDS_OF_WORLDS)
        fault_write(f, state);
}

/* ---- beginning and ending ---- */

static void on_end(void *ctx)
{
    struct fault *f = ctx;

    f->is_on = false;
    kinds[f->planned->kind].act(f);
    tell(f, HISTORY_STATE_END);
}

static void on_begin(void *ctx)
{
    struct fault *f = ctx;
    bool lasts = plan_lasts(f->planned->kind) &&
                 !kinds[f->planned->kind].ends_by_itself;

    if (!kinds[f->planned->kind].act)
        return;
    f->is_on = true;
    f->is_aside = is_aside(f);
    tell(f, lasts ? HISTORY_STATE_BEGIN : HISTORY_STATE_ONCE);
    f->sim->result->faults[f->planned->kind]++;
    kinds[f->planned->kind].act(f);
    f->event.happen = on_end;
    if (lasts)
        world_after(f->sim->world, &f->event, f->planned->for_ms * 1000);
}

void faults_arm(struct sim *sim, struct fault faults[PLAN_FAULTS_MAX])
{
    for (size_t i = 0; i < sim->plan->fault_count; i++) {
        struct fault *f = &faults[i];

        *f = (struct fault){.sim = sim,
                            .planned = &sim->plan->faults[i],
                            .event = {.happen = on_begin, .ctx = f}};
        world_at(sim->world, &f->event, sim_us(f->planned->at_ms));
    }
}

int64_t faults_end_us(const struct plan *plan)
{
    int64_t end_ms = 0;

    for (size_t i = 0; i < plan->fault_count; i++) {
        int64_t over_ms = plan->faults[i].at_ms + plan->faults[i].for_ms;

        if (over_ms > end_ms)
            end_ms = over_ms;
    }
    return sim_us(end_ms);
}
