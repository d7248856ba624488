/* Which slots another server serves. Rules in switched.h. */
/* Tests: tests/live/server/test_lock_switch.c, tests/sim/test_switch.c. */
#include "net/route/switched.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/route/refusal.h"
#include "net/route/server.h"

#define DETECT_SWITCH_MS 40000  /* sentinels wait 30 s by default (down-after-milliseconds),
                                   nodes of a cluster 15 s */
#define DEMOTED_REPEAT_MS 1000  /* the address of a replica must not cause a renewal of
                                   all holds with each command */

static void report_switched(struct hf_router *router, const struct hf_switched *which)
{
    if (router->options.on_switched && !router->is_closing)
        router->options.on_switched(router->options.ctx, which);
}

/* SWITCHED-2 */
static bool has_answered_until_now(struct hf_router *router,
                                   const struct hf_node *node)
{
    const struct hf_server *server =
        hf_server_find(router, node->host, node->port, false);

    return server && hf_link_is_up(server->link) &&
           server->silent_since_ms == 0;
}

static void set_slot_bit(uint64_t *slots, unsigned slot)
{
    slots[slot / 64] |= UINT64_C(1) << slot % 64;
}

/* Whether it is the same process at another address. */
static bool is_same_node(const struct hf_node *a, const struct hf_node *b)
{
    return a->id[0] && strcmp(a->id, b->id) == 0;
}

/* A pair of nodes in two maps. Most slots have the same pair as the slot before. */
struct node_pair {
    uint16_t from, to;
    bool is_switched, is_sudden;
};

static void compare_nodes_of_slot(struct node_pair *pair, struct hf_router *router,
                                  const struct hf_slot_map *old,
                                  const struct hf_slot_map *map)
{
    const struct hf_node *from = &old->nodes[pair->from];
    const struct hf_node *to = &map->nodes[pair->to];

    pair->is_switched =
        from->port != to->port || strcmp(from->host, to->host) != 0;
    pair->is_sudden =
        pair->is_switched && !is_same_node(from, to) && has_answered_until_now(router, from);
}

static bool find_switched_slots(struct hf_switched *which, struct hf_router *router,
                                const struct hf_slot_map *old,
                                const struct hf_slot_map *map)
{
    struct node_pair pair = {.from = HF_NO_NODE};
    bool is_any = false;

    for (unsigned slot = 0; slot < HF_SLOTS; slot++) {
        if (old->slot_owners[slot] == HF_NO_NODE || map->slot_owners[slot] == HF_NO_NODE)
            continue;
        if (pair.from != old->slot_owners[slot] || pair.to != map->slot_owners[slot]) {
            pair.from = old->slot_owners[slot];
            pair.to = map->slot_owners[slot];
            compare_nodes_of_slot(&pair, router, old, map);
        }
        if (pair.is_switched)
            set_slot_bit(which->switched_slots, slot);
        if (pair.is_sudden || (pair.is_switched && router->was_forgotten_server_answering))
            set_slot_bit(which->sudden_slots, slot);
        is_any |= pair.is_switched;
    }
    return is_any;
}

void hf_switched_by_map(struct hf_router *router, const struct hf_slot_map *map)
{
    const struct hf_slot_map *old =
        router->map ? router->map : router->forgotten_map;
    struct hf_switched which;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (!old)
        return;
    memset(&which, 0, sizeof which);
    if (find_switched_slots(&which, router, old, map))
        report_switched(router, &which);
    router->was_forgotten_server_answering = false;
    hf_slot_map_free(router->forgotten_map);
    router->forgotten_map = NULL;
}

void hf_switched_forget(struct hf_router *router)
{
    const struct hf_node *node;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (!router->map)
        return;
    node = hf_slot_map_master_of_slot(router->map, 0);
    router->was_forgotten_server_answering = node && has_answered_until_now(router, node);
    hf_slot_map_free(router->forgotten_map);
    router->forgotten_map = router->map;
    router->map = NULL;
}

void hf_switched_by_moved(struct hf_router *router, uint16_t slot,
                          const char *host, uint16_t port)
{
    const struct hf_node *node =
        router->map ? hf_slot_map_master_of_slot(router->map, slot) : NULL;
    struct hf_switched which;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (!node || (node->port == port && strcmp(node->host, host) == 0))
        return;
    memset(&which, 0, sizeof which);
    set_slot_bit(which.switched_slots, slot);
    if (has_answered_until_now(router, node))
        set_slot_bit(which.sudden_slots, slot);
    report_switched(router, &which);
}

/* ---- a server that the URL names (SWITCHED-3) ---- */

static void report_all_slots_switched(struct hf_router *router, bool is_sudden)
{
    struct hf_switched which;

    memset(which.switched_slots, 0xff, sizeof which.switched_slots);
    memset(which.sudden_slots, is_sudden ? 0xff : 0, sizeof which.sudden_slots);
    report_switched(router, &which);
}

void hf_switched_refused(struct hf_command *command, struct hf_resp_value error)
{
    struct hf_router *router = command->router;
    struct hf_server *server = command->server;
    int64_t now = hf_loop_now(router->loop);

    HF_ASSERT(hf_loop_is_locked(command->router->loop));
    if (server != router->only_server || !hf_refusal_is(error, "READONLY") ||
        (server->last_readonly_ms != 0 &&
         now - server->last_readonly_ms < DEMOTED_REPEAT_MS))
        return;
    server->last_readonly_ms = now;
    server->is_last_reply_readonly = true;
    report_all_slots_switched(router, true);
}

void hf_switched_answered(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    if (!server->is_last_reply_readonly)
        return;
    server->is_last_reply_readonly = false;
    report_all_slots_switched(server->router, false);
}

/* ---- a master that is away (SWITCHED-4) ---- */

void hf_switched_lost(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    if (server->serves_slots)
        server->router->last_master_lost_ms = hf_loop_now(server->router->loop);
}

static bool is_master_down(const struct hf_router *router)
{
    for (const struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        if (s->serves_slots && s->has_answered && !hf_link_is_up(s->link))
            return true;
    return false;
}

bool hf_switched_is_awaited(const struct hf_router *router)
{
    const struct hf_router_options *o = &router->options;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    return router->last_master_lost_ms != 0 &&
           hf_loop_now(router->loop) - router->last_master_lost_ms < DETECT_SWITCH_MS &&
           o->must_detect_switch && o->must_detect_switch(o->ctx) &&
           (!router->map || is_master_down(router));
}

void hf_switched_fini(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    hf_slot_map_free(router->forgotten_map);
    router->forgotten_map = NULL;
}
