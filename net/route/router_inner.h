/* The router's state, which the files of net/route share. Private to net/.
 * [locked]
 *
 *   router.c     the map: slot -> server; puts the others together
 *   server.c     a link to each server
 *   command.c    commands under way      listening.c  subscriptions
 *   discover.c   asks servers for a map  silence.c    notices that one is
 *   silent topology_*.c what differs between one server, a cluster and
 *   sentinels
 *
 * ROUTE-1  A command is in one place: in `pending` (the map is not known), or
 *          with one server: waiting for space at its link, or in the link's
 *          hands.
 * ROUTE-2  A map is swapped whole. Then each command looks where it belongs
 *          now. A command at a server that serves other slots now, and answers,
 *          stays there: it will be answered, or redirected.
 * ROUTE-3  A command that was sent to a server which is gone or demoted ends
 *          UNKNOWN when the map says so, without waiting for its deadline.
 * ROUTE-4  ASKING, its command, and WAIT behind it stand side by side in the
 *          output, and leave, or do not leave, together.
 * ROUTE-5  A reply counts only while its server serves the slot. If a newer
 *          map, or a sentinel, names another server now, the outcome is
 *          UNKNOWN: a master that was stopped and replaced executes what it was
 *          sent when it continues, and then loses it. */
#ifndef HF_ROUTER_INNER_H
#define HF_ROUTER_INNER_H

#include "net/base/url.h"
#include "net/net.h"
#include "net/route/discovery.h"
#include "net/route/router.h"
#include "net/route/slot_map.h"
#include "net/route/topology.h"

struct hf_server_events;

struct hf_router {
    const struct hf_topology *topology;
    struct hf_loop *loop;
    const struct hf_mem *mem;
    struct hf_router_options options;
    struct hf_seeds seeds;
    uint32_t seeds_given;         /* of them, by the URL: the first */
    char address[300];
    char client_name[256];
    struct hf_list servers;
    struct hf_tls_context *tls;   /* shared by those of all servers */
    struct hf_server *only;       /* the only server, if there is no map */
    struct hf_slot_map *map;      /* NULL: not known */
    struct hf_slot_map *former;   /* the map in force before it was forgotten */
    bool former_answered;         /* its server, until then */
    int64_t lost_ms;              /* when a master's connection last ended; 0: none
                                     did */
    struct hf_server **by_node;   /* of the map's nodes; NULL: not looked up yet */
    struct hf_list pending;
    struct hf_list subscriptions;
    struct hf_discovery discovery;
    struct hf_timer silence;      /* the next look for silent servers */
    const struct hf_server_events *events;
    struct hf_timer sweep;        /* when to free servers that nobody needs */
    struct hf_error error;        /* why the map is not known */
    struct hf_router_counts counts;
    struct hf_link_stats gone;    /* of links that were freed */
    void (*on_idle)(void *ctx);
    void *on_idle_ctx;
    struct hf_list departed;      /* connections of servers that were freed */
    uint32_t departed_count;
    uint32_t server_count;
    uint64_t servers_made;
    uint64_t commands;            /* since it was made */
    uint32_t by_node_room;
    bool is_known;                /* there was a map, or there is none to know */
    bool is_sharded;              /* then: its nodes know SPUBLISH */
    bool is_closing;
};

/* hf_router_target - the server of a slot; *out is NULL if that is not known.
 *                    HF_E_NOMEM, HF_E_LIMIT, HF_E_TLS.
 * hf_router_learn  - what a MOVED says of one slot, whose host is given
 *                    (MAP-4): at once; and the whole map is asked for.
 * hf_router_forget - the map is not known any more.
 * hf_router_explain - router->error says why no server serves the slot. */
hf_status hf_router_target(struct hf_server **out, struct hf_router *router,
                           uint16_t slot);
void hf_router_forget(struct hf_router *router);
void hf_router_explain(struct hf_router *router, uint16_t slot);
void hf_router_learn(struct hf_router *router, const struct hf_redirection *r,
                     const char *host);

#endif
