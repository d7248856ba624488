/* Nodes, and the messages between them.
 *
 * NODES-1  A slot is on the move until its former node has learned that it has left;
 * and not while the master of either shard is being replaced: a new master of before
 * Valkey 8 does not know of it. One slot moves at a time; in the world `redirect` two
 * may, but not from the same node or to the same node. */
#include "tests/sim/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/effects.h"
#include "tests/sim/site.h"
#include "tests/support/must.h"

#define AGAIN_US 50000 /* the pause before a message to a node that cannot receive it now */
#define MOVES_MAX 2

struct message {
    struct message *next;
    struct nodes *nodes;
    struct server *to;
    struct event event;
    struct model_text channel, payload; /* bytes after the struct */
    bool is_shard;
};

struct move {
    struct one *from, *to;    /* of the slot; NULL: it does not move */
    const struct one *former; /* does not know yet that the slot has moved */
    unsigned slot;
};

struct nodes {
    struct sim *sim;
    struct model_cluster *cluster;
    size_t count;
    struct one {
        struct nodes *nodes;
        struct server *server;
        struct model_node *node;
        struct event news;
        bool is_apart;
    } all[SITE_SERVERS_MAX];
    struct move moves[MOVES_MAX];
    struct message *messages; /* all that there ever were */
};

/* ---- one of them ---- */

static struct one *one_of(struct nodes *nodes, const struct server *s)
{
    return &nodes->all[s->number - 1];
}

static struct one *one_with(const struct nodes *nodes, const struct model *m)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->all[i].server->model == m)
            return (struct one *)&nodes->all[i];
    return NULL;
}

static bool runs(const struct one *one)
{
    return !one->server->is_down && !one->server->is_frozen;
}

static unsigned slot_of(const char *key)
{
    return model_cluster_slot(key, strlen(key));
}

bool nodes_have_one_slot(const char *a, const char *b)
{
    return slot_of(a) == slot_of(b);
}

struct server *nodes_owner(const struct nodes *nodes, const char *key)
{
    return one_with(nodes, model_cluster_owner(nodes->cluster, slot_of(key)))
        ->server;
}

static const struct move *move_of(const struct nodes *nodes, const char *key)
{
    for (const struct move *m = nodes->moves; m < nodes->moves + MOVES_MAX; m++)
        if (m->to && m->slot == slot_of(key))
            return m;
    return NULL;
}

struct server *nodes_holder(const struct nodes *nodes, const char *key)
{
    const struct move *m = move_of(nodes, key);
    struct model_key found;

    if (m && model_look(m->to->server->model, 0, key, strlen(key), &found))
        return m->to->server;
    return nodes_owner(nodes, key);
}

/* ---- learning ---- */

static void learn(struct one *one)
{
    if (one->is_apart)
        return;
    (void)server_turn(one->server);
    model_cluster_learn(one->node);
    server_done(one->server);
    for (int i = 0; i < MOVES_MAX; i++)
        if (one->nodes->moves[i].former == one)
            one->nodes->moves[i].former = NULL;
}

static void on_news(void *ctx)
{
    struct one *one = ctx;

    if (one->server->is_frozen)
        world_after(one->nodes->sim->world, &one->news, AGAIN_US);
    else
        learn(one);
}

void nodes_learn_all(struct nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        on_news(&nodes->all[i]);
}

/* One after the other. */
static void spread_news(struct nodes *nodes, const struct server *but,
                        int64_t late_us)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->all[i].server != but)
            world_after(nodes->sim->world, &nodes->all[i].news,
                        late_us * (int64_t)(i + 1) / (int64_t)nodes->count);
}

void nodes_promote(struct nodes *nodes, struct server *s, struct server *old,
                   int64_t late_us)
{
    struct one *one = one_of(nodes, s);

    model_cluster_promote(one->node);
    learn(one);
    spread_news(nodes, old, late_us);
}

void nodes_set_down(struct nodes *nodes, const struct server *but)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->all[i].server != but)
            model_cluster_set_down(nodes->all[i].node);
}

void nodes_set_apart(struct nodes *nodes, const struct server *s, bool is_apart)
{
    struct one *one = one_of(nodes, s);

    one->is_apart = is_apart;
    on_news(one);
}

struct model_cluster *nodes_cluster(const struct nodes *nodes)
{
    return nodes->cluster;
}

struct model_node *nodes_node(struct nodes *nodes, const struct server *s)
{
    return one_of(nodes, s)->node;
}

/* ---- the bus ---- */

static void on_message(void *ctx)
{
    struct message *m = ctx;
    struct one *one = one_of(m->nodes, m->to);

    if (m->to->is_frozen)
        world_after(m->nodes->sim->world, &m->event, AGAIN_US);
    if (!runs(one))
        return;
    (void)server_turn(m->to);
    model_cluster_hear(one->node, m->channel, m->payload, m->is_shard);
    server_done(m->to);
}

static void send_message(struct nodes *nodes, struct server *to,
                         struct model_text channel, struct model_text payload,
                         bool is_shard)
{
    struct message *m = must_alloc(sizeof *m + channel.n + payload.n);
    char *text = (char *)(m + 1);

    memcpy(text, channel.p, channel.n);
    memcpy(text + channel.n, payload.p, payload.n);
    *m = (struct message){.next = nodes->messages,
                          .nodes = nodes,
                          .to = to,
                          .event = {.happen = on_message, .ctx = m},
                          .channel = {text, channel.n},
                          .payload = {text + channel.n, payload.n},
                          .is_shard = is_shard};
    nodes->messages = m;
    world_after(nodes->sim->world, &m->event, site_lag_us(nodes->sim->site));
}

static void published(void *ctx, struct model *from, struct model_text channel,
                      struct model_text payload, bool is_shard)
{
    struct nodes *nodes = ctx;
    const struct one *one = one_with(nodes, from);
    const struct server *s = one->server;

    for (size_t i = 0; i < nodes->count && !one->is_apart; i++) {
        struct server *to = nodes->all[i].server;

        if (to != s && !nodes->all[i].is_apart && (!is_shard || to->shard == s->shard))
            send_message(nodes, to, channel, payload, is_shard);
    }
}

/* ---- new, free ---- */

struct nodes *nodes_new(struct sim *sim, struct server *const *servers,
                        size_t count)
{
    struct nodes *nodes = must_alloc(sizeof *nodes);

    *nodes = (struct nodes){.sim = sim, .count = 2 * count};
    nodes->cluster = model_cluster_new(published, nodes);
    for (size_t i = 0; i < 2 * count; i++) {
        struct one *one = &nodes->all[i];

        *one = (struct one){.nodes = nodes, .server = servers[i]};
        one->news = (struct event){.happen = on_news, .ctx = one};
        one->node =
            model_cluster_join(nodes->cluster, servers[i]->model,
                               i < count ? NULL : nodes->all[i - count].node);
    }
    for (unsigned i = 0; i < count; i++)
        model_cluster_assign(nodes->cluster,
                             (unsigned)(MODEL_SLOTS * i / count),
                             (unsigned)(MODEL_SLOTS * (i + 1) / count) - 1,
                             nodes->all[i].node);
    for (size_t i = 0; i < nodes->count; i++)
        learn(&nodes->all[i]);
    return nodes;
}

void nodes_free(struct nodes *nodes)
{
    if (!nodes)
        return;
    while (nodes->messages) {
        struct message *m = nodes->messages;

        nodes->messages = m->next;
        world_cancel(nodes->sim->world, &m->event);
        free(m);
    }
    for (size_t i = 0; i < nodes->count; i++)
        world_cancel(nodes->sim->world, &nodes->all[i].news);
    model_cluster_free(nodes->cluster);
    free(nodes);
}

/* ---- a slot on the move ---- */

bool nodes_are_moving(const struct nodes *nodes, int64_t shard)
{
    for (const struct move *m = nodes->moves; m < nodes->moves + MOVES_MAX; m++)
        if (m->to && (m->to->server->shard == shard || m->from->server->shard == shard))
            return true;
    return false;
}

static bool is_busy(const struct move *m)
{
    return m->to || m->former;
}

/* May another slot move from here to there meanwhile? */
static bool leaves_alone(const struct move *m, const struct one *from,
                         const struct one *to, unsigned slot)
{
    return !is_busy(m) || (m->slot != slot && m->from != from && m->to != to &&
                           m->former != from && m->former != to);
}

/* A move that is free; NULL: the slot cannot move now. */
static struct move *free_move(struct nodes *nodes, const struct one *from,
                              const struct one *to, unsigned slot)
{
    int most = nodes->sim->plan->head.scenario == SCENARIO_REDIRECT ? MOVES_MAX : 1;
    struct move *found = NULL;

    for (struct move *m = nodes->moves; m < nodes->moves + most; m++) {
        if (!leaves_alone(m, from, to, slot))
            return NULL;
        if (!is_busy(m))
            found = m;
    }
    return found;
}

static bool is_another_moving(const struct nodes *nodes, const struct move *but)
{
    for (const struct move *m = nodes->moves; m < nodes->moves + MOVES_MAX; m++)
        if (m != but && m->to)
            return true;
    return false;
}

bool nodes_open(struct nodes *nodes, const char *key, struct server *to)
{
    struct one *from = one_of(nodes, nodes_owner(nodes, key)), *target = one_of(nodes, to);
    struct move *m = free_move(nodes, from, target, slot_of(key));

    if (!m || to == from->server || !runs(from) || !runs(target))
        return false;
    if (is_another_moving(nodes, m))
        effects_note(nodes->sim, EFFECT_TWO_MOVES);
    learn(target); /* that it has lost the slot, perhaps just now */
    *m = (struct move){.from = from, .to = target, .slot = slot_of(key)};
    model_cluster_open(m->slot, from->node, target->node);
    return true;
}

/* NULL: the slot does not move, or not now. */
static struct move *running_move(const struct nodes *nodes, const char *key)
{
    const struct move *m = move_of(nodes, key);

    return m && runs(m->from) && runs(m->to) ? (struct move *)m : NULL;
}

static bool move_one(const struct move *m)
{
    bool has_moved;

    (void)server_turn(m->from->server);
    (void)server_turn(m->to->server);
    m->from->server->observer.is_moving = true;
    has_moved = model_cluster_move_key(m->slot, m->from->node, m->to->node);
    m->from->server->observer.is_moving = false;
    server_done(m->to->server);
    server_done(m->from->server);
    return has_moved;
}

bool nodes_move(struct nodes *nodes, const char *key)
{
    const struct move *m = running_move(nodes, key);

    return m && move_one(m);
}

bool nodes_give(struct nodes *nodes, const char *key, int64_t late_us)
{
    struct move *m = running_move(nodes, key);
    struct one *to;

    if (!m)
        return false;
    while (move_one(m))
        continue;
    to = m->to;
    model_cluster_assign(nodes->cluster, m->slot, m->slot, to->node);
    *m = (struct move){.former = m->from, .slot = m->slot};
    learn(to);
    spread_news(nodes, to->server, late_us);
    return true;
}

bool nodes_give_at_once(struct nodes *nodes, const char *key, struct server *to)
{
    struct move *m;

    if (!nodes_open(nodes, key, to))
        return false;
    m = (struct move *)move_of(nodes, key);
    while (move_one(m))
        continue;
    model_cluster_assign(nodes->cluster, m->slot, m->slot, m->to->node);
    *m = (struct move){.to = NULL};
    nodes_learn_all(nodes);
    return true;
}
