/* The state of the router, which the files of net/route share. Private to net/.
 * [locked]
 *
 *   router.c      the map from slots to servers; calls the other files
 *   server.c      the link to each server
 *   command.c     pending commands
 *   subscriptions.c  the channels that are listened to
 *   discover.c    queries servers for the map
 *   silence.c     detects silent servers
 *   topology_*.c  the differences between topologies
 *
 * ROUTE-1  A command is either in `commands_awaiting_map` (the map is unknown), or belongs to one
 *          server: it waits for space at its link, or is on the link.
 * ROUTE-2  A map is replaced as a whole. Then the server of each command is looked up
 *          again. If its server now serves other slots but still replies, the command
 *          remains there: it will have a reply, or be redirected.
 * ROUTE-3  A command that was sent to a removed or demoted server ends UNKNOWN as
 *          soon as the map shows this, without waiting for its deadline.
 * ROUTE-4  ASKING or CLIENT CACHING, its command, and the WAIT after it are adjacent in the
 *          output; either all of them are sent, or none.
 * ROUTE-5  A reply counts only while its server serves the slot. If a newer map, or a
 *          sentinel, names another server, the outcome is UNKNOWN: a master that was
 *          suspended and replaced executes pending commands when it continues, and then
 *          loses their effects. */
#ifndef HF_ROUTER_INNER_H
#define HF_ROUTER_INNER_H

#include "net/base/url.h"
#include "net/net.h"
#include "net/route/discovery.h"
#include "net/route/router.h"
#include "net/route/slot_map.h"
#include "net/route/topology.h"

struct hf_roles;
struct hf_server_events;

#define HF_UNREACHED_MAX 16   /* as many as the seeds of a URL */

#define HF_SERVER_BUCKETS 128 /* with 1,000 masters, 8 servers in each */

/* What a router needs unless it is standalone: 9.3 KB. */
struct hf_multi_server_state {
    struct hf_seeds seeds;
    struct hf_server *server_buckets[HF_SERVER_BUCKETS]; /* all of `servers`, by a hash of the
                                         address */
    struct hf_link_stats freed_stats; /* of links that were freed */
    uint64_t slots_learned_from_moved[HF_SLOTS / 64]; /* slots of MOVED since the round began */
};

struct hf_router {
    const struct hf_topology *topology;
    struct hf_loop *loop;
    const struct hf_mem *mem;
    struct hf_router_options options;
    struct hf_multi_server_state *multi_server; /* NULL: standalone, whose server is freed last */
    const struct hf_seeds *seeds;       /* of `multi_server`; standalone: a constant without any */
    uint32_t seeds_in_url;              /* how many of them the URL contains: the first */
    char address[300];
    char client_name[256];
    bool was_login_accepted[2];         /* a login, at the servers; at the sentinels */
    bool has_reported_refused_user;
    struct hf_list servers;
    struct hf_tls_context *tls;         /* the settings that all servers share */
    struct hf_server *only_server;      /* the only server, if there is no map */
    struct hf_server *only_bucket;      /* of `servers`, without multi_server->server_buckets */
    struct hf_error last_connect_error; /* of it: the last failure to connect that was reported; "":
                                           it was connected since */
    struct hf_slot_map *map;            /* NULL: unknown */
    struct hf_slot_map *forgotten_map;  /* the map in force before it was forgotten */
    bool was_forgotten_server_answering; /* its server replied until then */
    int64_t last_master_lost_ms;        /* when a master's connection last ended; 0: never */
    struct hf_server **servers_by_node; /* the server of each node of the map; NULL: not looked up
                                           yet */
    struct hf_roles *roles;             /* the roles of the seeds (topology_replicas.c); NULL with
                                           other topologies */
    struct hf_list commands_awaiting_map;
    struct hf_list subscriptions;
    struct hf_discovery discovery;
    struct hf_timer silence_timer;      /* the next check for silent servers */
    const struct hf_server_events *events;
    struct hf_endpoint *unreached_addresses; /* ANNOUNCED-3: HF_UNREACHED_MAX of them, port 0: none;
                                                NULL: none at all */
    uint32_t next_unreached;
    struct hf_timer sweep_timer;  /* when unused servers are freed */
    struct hf_error map_error;    /* why the map is unknown */
    struct hf_router_counts counts;
    void (*on_idle)(void *ctx);
    void *on_idle_ctx;
    struct hf_list closed_connections; /* connections of servers that were freed */
    uint32_t closed_connections_count;
    uint32_t server_count;
    uint64_t last_server_serial;
    uint64_t last_command_serial;          /* serial of the last command */
    uint64_t last_reload, reload_in_force; /* serials: of the last reload; of that in force */
    uint32_t by_node_capacity;
    bool was_map_known;                    /* there was a map once, or the topology has none */
    uint64_t invalidation_pushes;          /* pushes of tracked keys */
    bool is_tracking;                      /* of the server that was connected last */
    bool is_sharded;                       /* the nodes of that map support SPUBLISH */
    bool is_closing;
};

/* hf_router_target - returns the server of a slot; *out is NULL if it is unknown.
 *   HF_E_NOMEM, HF_E_LIMIT, HF_E_TLS. */
hf_status hf_router_target(struct hf_server **out, struct hf_router *router,
                           uint16_t slot);

/* hf_router_forget_map - makes the map unknown. */
void hf_router_forget_map(struct hf_router *router);

/* hf_router_explain - writes to router->map_error why no server serves the slot. */
void hf_router_explain(struct hf_router *router, uint16_t slot);

/* hf_router_store_moved - stores what a MOVED with a host says of one slot at once (MAP-4), and
 *   requests the whole map. */
void hf_router_store_moved(struct hf_router *router, const struct hf_redirection *r,
                           const char *host);

#endif
