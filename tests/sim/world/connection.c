/* A connection between a process and a server. See connection.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world/connection.h"

#define SYN_AGAIN_US INT64_C(1000000)

static struct world *world_of(const struct connection *c)
{
    return c->link->process->world;
}

bool connection_is_held(const struct connection *c, enum way way)
{
    return c->link->ways[way].is_held || c->ways[way].is_held;
}

/* ---- the process' end ---- */

size_t connection_room(const struct connection *c)
{
    const struct flow *out = &c->flows[TO_SERVER];
    uint32_t window = c->link->ways[TO_SERVER].shape.window;
    uint32_t full = out->sent - out->read;

    if (window == 0)
        window = LINK_WINDOW;
    return full < window ? window - full : 0;
}

static int ready(const struct handle *h)
{
    const struct connection *c = HF_OWNER_OF(h, struct connection, handle);
    const struct flow *in = &c->flows[TO_CLIENT];

    if (c->state == ASKING)
        return 0;
    if (c->state == BROKEN)
        return HF_READ | HF_WRITE | IS_BROKEN;
    return (flow_unread(in) > 0 || in->has_ended ? HF_READ : 0) |
           (connection_room(c) > 0 ? HF_WRITE : 0);
}

void connection_break(struct connection *c, int error)
{
    if (c->state == BROKEN)
        return;
    c->state = BROKEN;
    c->error = error;
    world_cancel(world_of(c), &c->step);
    world_cancel(world_of(c), &c->give_up);
    flow_kill(&c->flows[TO_CLIENT]);
    handle_changed(&c->handle);
}

static void on_give_up(void *ctx)
{
    connection_break(ctx, ETIMEDOUT);
}

static bool is_disturbed(const struct connection *c)
{
    return c->is_ignored || connection_is_held(c, TO_SERVER) ||
           connection_is_held(c, TO_CLIENT) || c->flows[TO_SERVER].is_dead ||
           c->flows[TO_CLIENT].is_dead;
}

/* NET-3 */
static void look_at_silence(struct connection *c)
{
    if (c->state == BROKEN || !c->is_open)
        return;
    if (!is_disturbed(c) || c->link->keeps_alive)
        world_cancel(world_of(c), &c->give_up);
    else if (!c->give_up.place)
        world_after(world_of(c), &c->give_up, KERNEL_GIVES_UP_US);
}

/* ---- the server's end ---- */

/* The server is told that the client is gone. */
static void end_peer(struct connection *c)
{
    if (!c->peer.is_open)
        return;
    c->peer.is_open = false;
    c->link->listener->calls->closed(c->peer.ctx);
}

static struct connection *of_peer(const struct peer *peer)
{
    return HF_OWNER_OF(peer, struct connection, peer);
}

void peer_write(struct peer *peer, const char *ptr, size_t len)
{
    struct connection *c = of_peer(peer);

    if (peer->is_open && c->is_open)
        flow_write(&c->flows[TO_CLIENT], ptr, len);
}

void peer_close(struct peer *peer)
{
    struct connection *c = of_peer(peer);

    must(peer->is_open);
    peer->is_open = false;
    flow_end(&c->flows[TO_CLIENT]);
    connection_settle(c);
}

struct link *peer_link(const struct peer *peer)
{
    return of_peer(peer)->link;
}

void connection_server_dies(struct connection *c, bool is_heard)
{
    if (!c->peer.is_open)
        return;
    if (!is_heard) {
        flow_kill(&c->flows[TO_SERVER]);
        flow_kill(&c->flows[TO_CLIENT]);
        look_at_silence(c);
        c->peer.is_open = false;
        connection_settle(c);
        return;
    }
    peer_close(&c->peer);
}

void connection_reset(struct connection *c)
{
    c->busy++;
    link_tell(c->link, NET_RESET, TO_CLIENT, NULL, 0);
    connection_break(c, ECONNRESET);
    flow_kill(&c->flows[TO_SERVER]);
    end_peer(c);
    c->busy--;
    connection_settle(c);
}

void connection_drop(struct connection *c)
{
    link_tell(c->link, NET_RESET, TO_CLIENT, NULL, 0);
    connection_break(c, ECONNRESET);
}

void connection_hold(struct connection *c, enum way way)
{
    c->ways[way].is_held = true;
    look_at_silence(c);
}

void connection_slow(struct connection *c, enum way way, int64_t delay_us)
{
    c->ways[way].slow_us = delay_us;
}

void connection_cut_after(struct connection *c, enum way way, size_t bytes,
                          struct event *cut)
{
    c->ways[way].cut = (struct cut){bytes, cut};
}

void connection_forget(struct connection *c, enum way way)
{
    flow_kill(&c->flows[way]);
    c->is_forgotten = true;
    look_at_silence(c);
}

int64_t connection_age_us(const struct connection *c)
{
    return world_now_us(world_of(c)) - c->began_us;
}

/* ---- bytes ---- */

/* To a server that has closed its end: its kernel answers with a reset. */
static void arrived_at_server(struct connection *c)
{
    struct flow *in = &c->flows[TO_SERVER];
    uint32_t len = flow_unread(in);

    if (!c->peer.is_open) {
        flow_take(in, len);
        connection_reset(c);
        return;
    }
    c->link->listener->calls->arrived(c->peer.ctx, flow_bytes(in), len);
    flow_take(in, len);
    handle_changed(&c->handle); /* there is room for more */
}

void connection_arrived(struct connection *c, enum way way)
{
    if (way == TO_SERVER)
        arrived_at_server(c);
    else
        handle_changed(&c->handle);
}

void connection_ended(struct connection *c, enum way way)
{
    link_tell(c->link, NET_CLOSED, way, NULL, 0);
    if (way == TO_SERVER)
        end_peer(c);
    else
        handle_changed(&c->handle);
}

/* ---- connecting ---- */

static enum door door_of(const struct link *link)
{
    return link->door != DOOR_OPEN ? link->door : link->listener->door;
}

static void accept_it(struct connection *c)
{
    const struct listener *l = c->link->listener;

    c->peer.is_open = true;
    link_tell(c->link, NET_CONNECTED, TO_SERVER, NULL, 0);
    c->peer.ctx = l->calls->accepted(l->ctx, &c->peer);
}

/* As Linux does: after a second, two more, four more. */
static void ask_again(struct connection *c)
{
    world_after(world_of(c), &c->step, SYN_AGAIN_US << c->asked++);
}

/* What a connect has come to: the listener hears of it, then we of that. */
static void heard(struct connection *c)
{
    enum door door = door_of(c->link);

    c->was_heard = door != DOOR_IGNORES;
    c->is_ignored = door == DOOR_IGNORES;
    look_at_silence(c);
    if (c->is_ignored) {
        ask_again(c);
        return;
    }
    c->is_refused = door == DOOR_REFUSES;
    c->is_hung_up = door == DOOR_CLOSES;
    c->flows[TO_CLIENT].last_us =
        world_now_us(world_of(c)) + link_delay_us(c->link, TO_CLIENT);
    world_at(world_of(c), &c->step, c->flows[TO_CLIENT].last_us);
    if (!c->is_refused && !c->is_hung_up)
        accept_it(c);
}

static void answered(struct connection *c)
{
    if (c->is_refused) {
        link_tell(c->link, NET_REFUSED, TO_CLIENT, NULL, 0);
        connection_break(c, ECONNREFUSED);
        return;
    }
    c->state = MADE;
    if (c->is_hung_up) {
        c->link->hangups++;
        flow_end(&c->flows[TO_CLIENT]);
    }
    handle_changed(&c->handle);
}

static void on_step(void *ctx)
{
    struct connection *c = ctx;

    c->is_step_held =
        connection_is_held(c, c->was_heard ? TO_CLIENT : TO_SERVER);
    if (c->is_step_held)
        return;
    c->busy++;
    if (c->was_heard)
        answered(c);
    else
        heard(c);
    c->busy--;
    connection_settle(c);
}

void connection_hold_changed(struct connection *c)
{
    struct world *w = world_of(c);

    look_at_silence(c);
    if (c->is_step_held)
        world_at(w, &c->step, w->now_us);
    for (int way = 0; way < 2; way++)
        if (!connection_is_held(c, (enum way)way))
            flow_wake(&c->flows[way]);
}

/* ---- beginning and end ---- */

static void be_stillborn(struct connection *c)
{
    bool *forgets = c->link->forgets_next;

    if (!forgets[TO_SERVER] && !forgets[TO_CLIENT])
        return;
    c->link->stillborn++;
    for (int way = 0; way < 2; way++)
        if (forgets[way])
            connection_forget(c, (enum way)way);
    forgets[TO_SERVER] = forgets[TO_CLIENT] = false;
}

struct connection *connection_new(struct link *link)
{
    struct connection *c = must_alloc(sizeof *c);

    memset(c, 0, sizeof *c);
    c->link = link;
    c->is_open = true;
    c->began_us = world_now_us(world_of(c));
    c->ways[TO_SERVER].cut.left = c->ways[TO_CLIENT].cut.left = SIZE_MAX;
    c->step = (struct event){.happen = on_step, .ctx = c};
    c->give_up = (struct event){.happen = on_give_up, .ctx = c};
    hf_list_push(&link->connections, &c->node);
    flow_init(&c->flows[TO_SERVER], c, TO_SERVER);
    flow_init(&c->flows[TO_CLIENT], c, TO_CLIENT);
    handle_open(&c->handle, ready);
    world_after(world_of(c), &c->step, link_delay_us(link, TO_SERVER));
    look_at_silence(c);
    be_stillborn(c);
    return c;
}

/* A socket of a process that died is closed twice: by its kernel, for the
 * network, and by the code that gives its memory back. */
static void hang_up(struct connection *c)
{
    world_cancel(world_of(c), &c->step);
    world_cancel(world_of(c), &c->give_up);
    flow_kill(&c->flows[TO_CLIENT]);
    if (c->peer.is_open)
        flow_end(&c->flows[TO_SERVER]);
}

void connection_close(struct connection *c)
{
    poller_forget(&c->handle);
    handle_close(&c->handle);
    c->is_open = false;
    hang_up(c);
    connection_settle(c);
}

void connections_of_dead(struct process *p)
{
    struct hf_list *links = &p->world->network.links;

    for (struct hf_list *l = links->next; l != links; l = l->next) {
        struct link *link = HF_OWNER_OF(l, struct link, node);

        if (link->process != p)
            continue;
        for (struct hf_list *n = link->connections.next;
             n != &link->connections; n = n->next)
            hang_up(HF_OWNER_OF(n, struct connection, node));
    }
}

void connection_settle(struct connection *c)
{
    if (!c->is_open && !c->peer.is_open && c->busy == 0)
        connection_free(c);
}

void connection_free(struct connection *c)
{
    world_cancel(world_of(c), &c->step);
    world_cancel(world_of(c), &c->give_up);
    flow_fini(&c->flows[TO_SERVER]);
    flow_fini(&c->flows[TO_CLIENT]);
    hf_list_remove(&c->node);
    free(c);
}
