/* Between the world and a model. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/effects.h"
#include "tests/sim/site.h"
#include "tests/support/must.h"

struct server_conn {
    struct server_conn *next;
    struct server *server;
    struct peer *peer;           /* NULL: gone, or the operator */
    struct model_client *client; /* NULL: gone */
};

/* ---- time ---- */

struct model *server_turn(struct server *s)
{
    model_set_time(s->model, observer_clock_us(&s->observer));
    return s->model;
}

void server_done(struct server *s)
{
    int64_t next_us =
        s->is_down || s->is_frozen ? INT64_MAX : model_next_us(s->model);

    if (next_us == INT64_MAX)
        world_cancel(s->sim->world, &s->tick);
    else
        world_at(s->sim->world, &s->tick, observer_true_us(&s->observer, next_us));
}

static void on_tick(void *ctx)
{
    struct server *s = ctx;

    model_tick(server_turn(s));
    server_done(s);
}

/* ---- connections ---- */

static void to_client(void *ctx, const char *bytes, size_t len)
{
    struct server_conn *c = ctx;

    if (c->peer)
        peer_write(c->peer, bytes, len);
}

static void model_closed(void *ctx)
{
    struct server_conn *c = ctx;
    struct peer *peer = c->peer;

    c->client = NULL;
    c->peer = NULL;
    if (peer)
        peer_close(peer);
}

static struct server_conn *connect_to(struct server *s, struct peer *peer)
{
    struct server_conn *c = must_alloc(sizeof *c);

    *c = (struct server_conn){.next = s->conns, .server = s, .peer = peer};
    s->conns = c;
    c->client = model_accept(server_turn(s), to_client, model_closed, c);
    server_done(s);
    return c;
}

static void *accepted(void *ctx, struct peer *peer)
{
    return connect_to(ctx, peer);
}

static void feed_client(struct server_conn *c, const char *ptr, size_t len)
{
    if (!c->client)
        return;
    (void)server_turn(c->server);
    model_feed(c->client, ptr, len);
    server_done(c->server);
}

static void arrived(void *ctx, const char *ptr, size_t len)
{
    feed_client(ctx, ptr, len);
}

static void closed(void *ctx)
{
    struct server_conn *c = ctx;
    struct model_client *client = c->client;

    c->peer = NULL;
    c->client = NULL;
    if (!client)
        return;
    (void)server_turn(c->server);
    model_hang_up(client);
    server_done(c->server);
}

static const struct listener_calls calls = {accepted, arrived, closed};

/* ---- an operator ---- */

#define OPERATOR "operator" /* a user with all rights, whatever those of programs are */

static void add_operator(struct server *s)
{
    if (!model_acl(s->model, "SETUSER " OPERATOR " on nopass ~* &* +@all"))
        (void)model_acl(s->model, "SETUSER " OPERATOR " on nopass ~* +@all"); /* Redis 6.0 */
}

static void say(struct server_conn *c, int argc, const char *const *argv)
{
    char head[32];

    (void)snprintf(head, sizeof head, "*%d\r\n", argc);
    feed_client(c, head, strlen(head));
    for (int i = 0; i < argc; i++) {
        (void)snprintf(head, sizeof head, "$%zu\r\n", strlen(argv[i]));
        feed_client(c, head, strlen(head));
        feed_client(c, argv[i], strlen(argv[i]));
        feed_client(c, "\r\n", 2);
    }
}

void server_say(struct server *s, int argc, const char *const *argv)
{
    struct server_conn *c = connect_to(s, NULL);

    say(c, 3, (const char *[]){"AUTH", OPERATOR, "x"});
    say(c, argc, argv);
    closed(c);
}

/* ---- replication ---- */

/* FEED-1  What a replica hears of its master comes in order, lag_us late.
 * FEED-2  While one of the two is down there is no link; then the replica takes
 *         over all that the master has. */
struct server_feed {
    struct server *replica, *master;
    struct model_link *link; /* NULL: there is none */
    struct event deliver;
    int64_t lag_us; /* -1: held back */
    char *bytes;
    size_t len, room;
};

static void arm_feed(struct server_feed *f)
{
    struct world *world = f->replica->sim->world;

    if (f->len > 0 && f->lag_us >= 0 && f->deliver.place == 0)
        world_after(world, &f->deliver, f->lag_us);
}

static void on_effect(void *ctx, const char *bytes, size_t len)
{
    struct server_feed *f = ctx;

    if (f->len + len > f->room) {
        f->room = 2 * (f->len + len);
        f->bytes = realloc(f->bytes, f->room);
        must(f->bytes);
    }
    memcpy(f->bytes + f->len, bytes, len);
    f->len += len;
    arm_feed(f);
}

static void on_deliver(void *ctx)
{
    struct server_feed *f = ctx;
    size_t len = f->len;

    if (f->lag_us < 0 || !f->link)
        return;
    f->len = 0;
    model_apply(server_turn(f->replica), f->bytes, len);
    server_done(f->replica);
    (void)server_turn(f->master);
    model_ack(f->link, model_offset(f->replica->model));
    server_done(f->master);
}

static void link_feed(struct server_feed *f)
{
    if (f->link || f->replica->is_down || f->master->is_down)
        return;
    (void)server_turn(f->master);
    f->link =
        model_follow(server_turn(f->replica), f->master->model, on_effect, f);
    server_done(f->master);
    server_done(f->replica);
}

static void unlink_feed(struct server_feed *f)
{
    world_cancel(f->replica->sim->world, &f->deliver);
    f->len = 0;
    if (f->link)
        model_unfollow(f->link);
    f->link = NULL;
}

/* Its own, and those of its replicas. */
static void each_feed(struct server *s, void (*act)(struct server_feed *f))
{
    const struct site *site = s->sim->site;

    for (size_t i = 0; i < site->count; i++) {
        struct server_feed *f = site->servers[i]->feed;

        if (f && (f->replica == s || f->master == s))
            act(f);
    }
}

void server_unfollow(struct server *s)
{
    struct server_feed *f = s->feed;

    s->feed = NULL;
    if (!f)
        return;
    unlink_feed(f);
    free(f->bytes);
    free(f);
}

void server_follow(struct server *s, struct server *master, int64_t lag_us)
{
    struct server_feed *f = must_alloc(sizeof *f);
    struct history_event e = sim_event(s->sim, 's', s->number, HISTORY_REPLICA);

    server_unfollow(s);
    sim_write(s->sim, &e);
    observer_repeat(&s->observer);
    s->observer.is_replaced = false;
    *f = (struct server_feed){.replica = s,
                              .master = master,
                              .deliver = {.happen = on_deliver, .ctx = f},
                              .lag_us = lag_us};
    s->feed = f;
    model_demote(s->model); /* also while its master is down */
    link_feed(f);
}

bool server_follows(const struct server *s, const struct server *master)
{
    return s->feed && s->feed->master == master;
}

#define CLOCKS_DIFFER_US 100000

static bool do_clocks_differ(const struct server *a, const struct server *b)
{
    int64_t us = observer_clock_us(&a->observer) - observer_clock_us(&b->observer);

    return us > CLOCKS_DIFFER_US || us < -CLOCKS_DIFFER_US;
}

void server_promote(struct server *s, struct server *old)
{
    struct history_event e = sim_event(s->sim, 's', s->number, HISTORY_MASTER);

    if (do_clocks_differ(s, old) && observer_has_holds(&old->observer))
        effects_note(s->sim, EFFECT_CLOCKS_DIFFER);

    server_unfollow(s);
    s->has_been_master = true;
    observer_older_readers(&s->observer, server_turn(s), old->model);
    e.instead = (struct history_source){'s', (uint32_t)old->number};
    sim_write(s->sim, &e);
    s->observer.is_replaced = false;
    old->observer.is_replaced = true;
    model_promote(server_turn(s));
    observer_behind(&s->observer, s->model, old->model);
    server_done(s);
}

void server_set_lag(struct server *s, int64_t lag_us)
{
    s->feed->lag_us = lag_us;
    arm_feed(s->feed);
}

/* ---- new, free ---- */

struct server *server_new(struct sim *sim, int64_t number)
{
    static const enum model_version versions[] = {
        MODEL_REDIS_6_0, MODEL_REDIS_7_0, MODEL_VALKEY_9};
    struct server *s = must_alloc(sizeof *s);
    struct model_options o = {0};

    *s = (struct server){.sim = sim, .number = number, .port = SERVER_PORT};
    (void)snprintf(s->name, sizeof s->name, "server%d", (int)number);
    (void)snprintf(s->ip, sizeof s->ip, "10.0.%d.%d", (int)number >> 8 & 255,
                   (int)number & 255);
    o.version = versions[sim->plan->head.version % 3];
    o.pushes_twice = sim->plan->head.tracks == 2;
    o.host = s->ip;
    o.port = s->port;
    o.seed = (uint64_t)(sim->plan->head.seed + number);
    s->model = model_new(&o);
    add_operator(s);
    s->tick = (struct event){.happen = on_tick, .ctx = s};
    observer_init(&s->observer, sim, number, s->model);
    network_name(sim->world, s->name, s->ip);
    s->listener = network_listen(sim->world, s->ip, s->port, &calls, s);
    (void)server_turn(s);
    server_done(s);
    return s;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    server_unfollow(s);
    world_cancel(s->sim->world, &s->tick); /* a key that expires yet */
    model_free(s->model);
    model_free(s->on_disk);
    observer_free(&s->observer);
    while (s->conns) {
        struct server_conn *c = s->conns;

        s->conns = c->next;
        free(c);
    }
    free(s);
}

struct listener *server_listen(struct server *s, const char *ip)
{
    return network_listen(s->sim->world, ip, SERVER_PORT, &calls, s);
}

/* ---- faults ---- */

static void write_plain(struct server *s, enum history_what what)
{
    struct history_event e = sim_event(s->sim, 's', s->number, what);

    sim_write(s->sim, &e);
}

static void go_down(struct server *s, enum door door)
{
    server_freeze(s, false);
    write_plain(s, HISTORY_DOWN);
    s->is_down = true;
    listener_set_door(s->listener, door);
    each_feed(s, unlink_feed);
    model_close_all(server_turn(s));
    server_done(s);
}

void server_take_down(struct server *s)
{
    if (!s->is_down)
        go_down(s, DOOR_REFUSES);
}

void server_lose_power(struct server *s)
{
    if (s->is_down)
        return;
    for (struct server_conn *c = s->conns; c; c = c->next)
        c->peer = NULL;
    listener_forget_all(s->listener);
    go_down(s, DOOR_IGNORES);
}

void server_bring_up(struct server *s, bool with_data)
{
    if (!s->is_down)
        return;
    s->observer.owner_why = HISTORY_WHY_FORGOT;
    model_restart(server_turn(s), with_data);
    s->observer.owner_why = HISTORY_WHY_DELETED;
    s->is_down = false;
    write_plain(s, HISTORY_UP);
    listener_set_door(s->listener, DOOR_OPEN);
    if (s->feed)
        model_demote(s->model);
    each_feed(s, link_feed);
    server_done(s);
}

static struct model *copy_of(const struct model *model)
{
    struct model *copy = model_new(&(struct model_options){.host = "", .port = SERVER_PORT});

    model_copy(copy, model);
    return copy;
}

void server_stop_disk(struct server *s)
{
    if (!s->on_disk)
        s->on_disk = copy_of(server_turn(s));
}

/* The lines of a new master that has not heard of all (history.h): the server takes over
 * from itself. */
static bool take_older_data(struct server *s)
{
    struct history_event e = sim_event(s->sim, 's', s->number, HISTORY_REPLICA);
    struct model *had = copy_of(server_turn(s));
    uint64_t lines;

    e.instead = e.source;
    sim_write(s->sim, &e);
    observer_repeat(&s->observer);
    lines = s->observer.lines;
    model_copy(s->model, s->on_disk);
    observer_older_readers(&s->observer, s->model, had);
    lines = s->observer.lines - lines;
    e = sim_event(s->sim, 's', s->number, HISTORY_MASTER);
    e.instead = e.source;
    sim_write(s->sim, &e);
    observer_behind(&s->observer, s->model, had);
    model_free(had);
    return lines > 0;
}

bool server_restore(struct server *s)
{
    bool decides = s->is_down && !s->feed && !s->observer.is_replaced;
    bool is_older = decides && take_older_data(s);

    model_free(s->on_disk);
    s->on_disk = NULL;
    server_bring_up(s, true);
    return is_older;
}

void server_freeze(struct server *s, bool is_frozen)
{
    if (s->is_down || s->is_frozen == is_frozen)
        return;
    s->is_frozen = is_frozen;
    if (is_frozen)
        model_freeze(server_turn(s));
    else
        model_continue(server_turn(s));
    server_done(s);
}

void server_set_clock(struct server *s, int64_t step_us)
{
    struct history_event e = sim_event(s->sim, 's', s->number, HISTORY_CLOCK);

    e.step_us = step_us;
    sim_write(s->sim, &e);
    observer_set_clock(&s->observer, step_us, s->observer.clock.ppm);
    (void)server_turn(s);
    server_done(s);
}

void server_set_rate(struct server *s, int64_t ppm)
{
    struct history_event e = sim_event(s->sim, 's', s->number, HISTORY_CLOCK);

    e.ppm = ppm;
    sim_write(s->sim, &e);
    observer_set_clock(&s->observer, 0, ppm);
    (void)server_turn(s);
    server_done(s);
}
