/* Listeners, links and names. See network.h. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world/connection.h"

struct name {
    struct hf_list node;
    char name[64];
    char ip[16];
};

static uint32_t ip_number(const char *ip)
{
    struct in_addr in;

    must(inet_pton(AF_INET, ip, &in) == 1);
    return ntohl(in.s_addr);
}

/* ---- listeners ---- */

struct listener *network_listen(struct world *w, const char *ip, uint16_t port,
                                const struct listener_calls *calls, void *ctx)
{
    struct listener *l = must_alloc(sizeof *l);

    *l = (struct listener){.world = w,
                           .ip = ip_number(ip),
                           .port = port,
                           .calls = calls,
                           .ctx = ctx};
    hf_list_push(&w->network.listeners, &l->node);
    return l;
}

void listener_lead(struct listener *listener, void *ctx)
{
    listener->ctx = ctx;
}

void listener_set_door(struct listener *l, enum door door)
{
    l->door = door;
}

/* Calls `act` for every connection of the link. What it calls may close any of
 * them, so none is freed before the end. */
static void each_connection(struct link *link,
                            void (*act)(struct connection *c, const void *how),
                            const void *how)
{
    struct hf_list *all = &link->connections;
    struct hf_list *n, *next;

    for (n = all->next; n != all; n = n->next)
        HF_OWNER_OF(n, struct connection, node)->busy++;
    for (n = all->next; n != all; n = n->next)
        act(HF_OWNER_OF(n, struct connection, node), how);
    for (n = all->next; n != all; n = next) {
        struct connection *c = HF_OWNER_OF(n, struct connection, node);

        next = n->next;
        c->busy--;
        connection_settle(c);
    }
}

static void each_of_listener(struct listener *l,
                             void (*act)(struct connection *c, const void *how),
                             const void *how)
{
    struct hf_list *links = &l->world->network.links;

    for (struct hf_list *n = links->next; n != links; n = n->next) {
        struct link *link = HF_OWNER_OF(n, struct link, node);

        if (link->listener == l)
            each_connection(link, act, how);
    }
}

static void server_dies(struct connection *c, const void *is_heard)
{
    connection_server_dies(c, *(const bool *)is_heard);
}

void listener_close_all(struct listener *l)
{
    each_of_listener(l, server_dies, &(bool){true});
}

void listener_forget_all(struct listener *l)
{
    each_of_listener(l, server_dies, &(bool){false});
}

/* ---- links ---- */

static struct link *link_new(struct process *p, struct listener *l)
{
    static const struct link_way plain = {
        .shape = {.delay_us = LINK_DELAY_US}, .cut = {.left = SIZE_MAX}};
    struct link *link = must_alloc(sizeof *link);

    *link = (struct link){
        .process = p, .listener = l, .ways = {plain, plain}};
    hf_list_init(&link->connections);
    hf_list_push(&p->world->network.links, &link->node);
    return link;
}

struct link *network_link(struct world *w, struct process *p,
                          struct listener *l)
{
    struct hf_list *links = &w->network.links;

    for (struct hf_list *n = links->next; n != links; n = n->next) {
        struct link *link = HF_OWNER_OF(n, struct link, node);

        if (link->process == p && link->listener == l)
            return link;
    }
    return link_new(p, l);
}

struct link *link_of(struct process *p, uint32_t ip, uint16_t port)
{
    struct hf_list *listeners = &p->world->network.listeners;

    for (struct hf_list *n = listeners->next; n != listeners; n = n->next) {
        struct listener *l = HF_OWNER_OF(n, struct listener, node);

        if (l->ip == ip && l->port == port)
            return network_link(p->world, p, l);
    }
    return NULL;
}

struct process *link_process(const struct link *link)
{
    return link->process;
}

struct listener *link_listener(const struct link *link)
{
    return link->listener;
}

int64_t link_delay_us(const struct link *link, enum way way)
{
    const struct link_shape *shape = &link->ways[way].shape;
    uint64_t *seed = &link->process->world->network.dice;
    int64_t delay = shape->delay_us;

    if (shape->jitter_us > 0)
        delay += (int64_t)dice_of(seed, (uint64_t)shape->jitter_us + 1);
    return delay > 0 ? delay : 1; /* NET-1 */
}

void link_set_shape(struct link *link, enum way way,
                    const struct link_shape *shape)
{
    link->ways[way].shape = *shape;
    for (struct hf_list *n = link->connections.next; n != &link->connections;
         n = n->next)
        connection_slow(HF_OWNER_OF(n, struct connection, node), way, 0);
}

static void hold_changed(struct connection *c, const void *way)
{
    c->ways[*(const enum way *)way].is_held = false;
    connection_hold_changed(c);
}

void link_hold(struct link *link, enum way way, bool is_held)
{
    link->ways[way].is_held = is_held;
    each_connection(link, hold_changed, &way);
}

void link_cut_after(struct link *link, enum way way, size_t bytes,
                    struct event *cut)
{
    link->ways[way].cut = (struct cut){bytes, cut};
}

void link_set_door(struct link *link, enum door door)
{
    link->door = door;
}

static bool is_cut_off(const struct connection *c)
{
    return c->is_open && (c->is_forgotten || connection_is_held(c, TO_SERVER) ||
                          connection_is_held(c, TO_CLIENT));
}

bool link_is_cut_off(const struct link *link)
{
    const struct hf_list *all = &link->connections;

    for (const struct hf_list *n = all->next; n != all; n = n->next)
        if (is_cut_off(HF_OWNER_OF(n, const struct connection, node)))
            return true;
    return link->door != DOOR_OPEN || link->ways[TO_SERVER].is_held ||
           link->ways[TO_CLIENT].is_held;
}

bool link_is_half_open(const struct link *link)
{
    const struct hf_list *all = &link->connections;

    for (const struct hf_list *n = all->next; n != all; n = n->next) {
        const struct connection *c = HF_OWNER_OF(n, const struct connection, node);

        if (c->is_forgotten && c->peer.is_open)
            return true;
    }
    return false;
}

uint64_t link_swallows(const struct link *link)
{
    return link->swallows;
}

uint64_t link_hangups(const struct link *link)
{
    return link->hangups;
}

void link_keep_alive(struct link *link, bool keeps_alive)
{
    link->keeps_alive = keeps_alive;
}

static void reset(struct connection *c, const void *how)
{
    (void)how;
    connection_reset(c);
}

void link_reset(struct link *link)
{
    each_connection(link, reset, NULL);
}

static void drop(struct connection *c, const void *how)
{
    (void)how;
    connection_drop(c);
}

void link_drop(struct link *link)
{
    each_connection(link, drop, NULL);
}

static void forget(struct connection *c, const void *way)
{
    connection_forget(c, *(const enum way *)way);
}

void link_forget(struct link *link, enum way way)
{
    each_connection(link, forget, &way);
}

void link_forget_next(struct link *link, enum way way, bool forgets)
{
    link->forgets_next[way] = forgets;
}

uint64_t link_stillborn(const struct link *link)
{
    return link->stillborn;
}

/* ---- connections ---- */

static bool is_live(const struct connection *c)
{
    return c->is_open && c->state != BROKEN;
}

struct connection *link_connection(struct link *link, unsigned n)
{
    struct hf_list *all = &link->connections;
    struct connection *found = NULL;
    unsigned live = 0;

    for (struct hf_list *l = all->next; l != all; l = l->next)
        live += is_live(HF_OWNER_OF(l, struct connection, node));
    if (live == 0)
        return NULL;
    n = (n - 1) % live + 1;
    for (struct hf_list *l = all->next; n > 0; l = l->next) {
        found = HF_OWNER_OF(l, struct connection, node);
        n -= is_live(found);
    }
    return found;
}

/* ---- names ---- */

void network_name(struct world *w, const char *name, const char *ip)
{
    struct name *n = must_alloc(sizeof *n);

    must(strlen(name) < sizeof n->name && strlen(ip) < sizeof n->ip);
    strcpy(n->name, name);
    strcpy(n->ip, ip);
    hf_list_init(&n->node);
    hf_list_push(&w->network.names, &n->node);
}

void network_forget_name(struct world *w, const char *name)
{
    struct hf_list *names = &w->network.names, *next;

    for (struct hf_list *l = names->next; l != names; l = next) {
        struct name *n = HF_OWNER_OF(l, struct name, node);

        next = l->next;
        if (strcmp(n->name, name) != 0)
            continue;
        hf_list_remove(l);
        free(n);
    }
}

static void answer_queries(struct world *w)
{
    struct hf_list *waiting = &w->network.silent_queries;

    while (!hf_list_is_empty(waiting)) {
        struct name_query *q = HF_OWNER_OF(waiting->next, struct name_query, node);

        hf_list_remove(&q->node);
        world_after(w, &q->answer, w->network.names_delay_us);
    }
}

void network_set_names(struct world *w, enum names names, int64_t delay_us)
{
    w->network.names_are = names;
    w->network.names_delay_us = delay_us;
    if (names != NAMES_SILENT)
        answer_queries(w);
}

void network_query(struct world *w, struct name_query *q)
{
    hf_list_init(&q->node);
    if (w->network.names_are != NAMES_SILENT) {
        world_after(w, &q->answer, w->network.names_delay_us);
        return;
    }
    w->network.lookups.silent++;
    hf_list_push(&w->network.silent_queries, &q->node);
}

const struct network_lookups *network_lookups(const struct world *w)
{
    return &w->network.lookups;
}

size_t network_lookup(struct world *w, const char *name, const char *ips[],
                      size_t room)
{
    struct hf_list *names = &w->network.names;
    size_t count = 0;

    for (struct hf_list *l = names->next; l != names && count < room;
         l = l->next) {
        struct name *n = HF_OWNER_OF(l, struct name, node);

        if (strcmp(n->name, name) == 0)
            ips[count++] = n->ip;
    }
    w->network.lookups.several += count > 1;
    return count;
}

/* ---- looking on ---- */

void network_tap(struct world *w,
                 void (*tap)(void *ctx, const struct network_news *news),
                 void *ctx)
{
    w->network.tap = tap;
    w->network.tap_ctx = ctx;
}

void link_tell(const struct link *link, enum network_event event, enum way way,
               const char *ptr, size_t len)
{
    const struct network *net = &link->process->world->network;
    struct network_news news = {
        .event = event, .link = link, .way = way, .ptr = ptr, .len = len};

    if (net->tap)
        net->tap(net->tap_ctx, &news);
}

/* ---- beginning and end ---- */

void network_init(struct world *w)
{
    struct network *net = &w->network;

    hf_list_init(&net->listeners);
    hf_list_init(&net->links);
    hf_list_init(&net->names);
    hf_list_init(&net->silent_queries);
    net->dice = dice_stream(w->seed, "network");
    net->names_delay_us = 1000;
}

/* What the servers have not closed; all of the processes' must be. */
static void free_links(struct world *w)
{
    while (!hf_list_is_empty(&w->network.links)) {
        struct link *link =
            HF_OWNER_OF(w->network.links.next, struct link, node);

        while (!hf_list_is_empty(&link->connections)) {
            struct connection *c = HF_OWNER_OF(link->connections.next,
                                               struct connection, node);

            must(!c->is_open);
            connection_free(c);
        }
        hf_list_remove(&link->node);
        free(link);
    }
}

static void free_all(struct hf_list *head, size_t node_at)
{
    while (!hf_list_is_empty(head)) {
        struct hf_list *node = head->next;

        hf_list_remove(node);
        free((char *)node - node_at);
    }
}

void network_fini(struct world *w)
{
    free_links(w);
    free_all(&w->network.listeners, offsetof(struct listener, node));
    free_all(&w->network.names, offsetof(struct name, node));
}
