/* Servers: the link to each one, and its subscriptions and pending commands. Private to
 * net/. [locked] */
#ifndef HF_SERVER_H
#define HF_SERVER_H

#include "net/route/router_inner.h"

#define SERVERS_MAX (HF_NODES_MAX + 2 * HF_SEEDS_MAX)
#define SERVER_LINKS 3 /* link, wait_link, and the one of pubsub */
#define DENIED_SLOTS_MAX 8 /* ANNOUNCED-4 */

/* The pending requests that query a server for the map: at most PROBE_REQUESTS of the
 * requests that topology_cluster.c or topology_sentinel.c numbers. */
#define PROBE_REQUESTS 4
struct hf_probe {
    struct hf_request requests[PROBE_REQUESTS];
    bool is_sent[PROBE_REQUESTS];
    bool is_under_way;
    uint32_t last_round;             /* the last round in which the server was queried */
    uint32_t moved_replies_at_query; /* of the discovery, at the time of the query */
    struct hf_cluster_info cluster_info;
    bool has_info;
    /* For a sentinel: */
    struct hf_server *named_master;             /* the server whose ROLE is queried */
    struct hf_subscription switch_subscription; /* +switch-master */
    bool may_have_missed_switch;                /* possible, because the subscription was not
                                                   live */
};

struct hf_server {
    struct hf_list node;          /* in router->servers; the server that last returned a
                                     map is first */
    struct hf_server *next_in_bucket; /* in multi_server->server_buckets */
    struct hf_router *router;
    char host[256];
    uint16_t port;
    uint16_t map_node;            /* the index of its node in a map: hf_servers_find_in_map */
    bool is_map_source;                /* it reports the map and serves no slot */
    bool serves_slots;            /* it serves slots by the map in force */
    struct hf_link *link;
    bool was_wait_link_tracking;  /* it was, once (TRACKING-5) */
    struct hf_link *wait_link;    /* for commands that wait for replicas; created when it is first
                                     needed */
    struct hf_pubsub *pubsub;
    bool is_pubsub_down_reported; /* it was reported that the link of `pubsub` does not open */
    struct hf_tls_context *tls;
    uint32_t connected_replicas;  /* its number of replicas, as far as known */
    uint64_t serial;              /* unique among all servers of the router, because memory of a
                                     freed server is used again */
    struct hf_list commands;
    uint64_t first_unsent_seen;   /* the serial of the first unsent command at the last check of
                                     silence.c; 0: none */
    struct hf_probe probe;
    uint32_t never_retried_until; /* commands that are sent once end after this round of discovery,
                                     in which others may name another address; 0: no attempt to
                                     connect failed */
    /* doubt.h */
    bool has_answered;            /* it has replied to a command at least once */
    int64_t silent_since_ms;      /* 0: it is not silent */
    int64_t doubt_until_ms, next_doubt_ms;
    /* replace.h */
    struct hf_replacement {
        int64_t first_refusal_ms;    /* the first refusal of a series; 0: none */
        int64_t last_refusal_ms;     /* the last one */
        int64_t next_replacement_ms; /* no replacement before */
        int64_t pause_ms;
    } replacement;
    /* REPLACE-4: hf_link_attempt_number of each connection that was replaced; 0: its link is open
     * again or was freed, or it was not replaced */
    uint64_t replaced_attempts[SERVER_LINKS];
    int64_t replace_pause_until_ms, replace_pause_ms;
    struct hf_timer replace_pause_timer; /* REPLACE-4: the end of the pause */
    /* ANNOUNCED-4: slots that it does not serve, and until when this is believed */
    struct hf_denial {
        uint16_t slot;
        int64_t until_ms;
    } denied_slots[DENIED_SLOTS_MAX];
    unsigned next_denied_slot_index;
    bool has_denied_slots;        /* one of them was denied, and may not be served yet */
    /* ANNOUNCED-5: run_id of the process to which this address led when a map named it, or
     * at the first connection after that; "": there was none */
    char run_id_when_named[HF_RUN_ID_MAX];
    struct hf_endpoint moved_to_address; /* the new address in the last map in which a node kept the
                                     address of this server; port 0: there was none */
    /* switched.h */
    bool is_last_reply_readonly;  /* it replied READONLY, and nothing else since */
    int64_t last_readonly_ms;     /* the time of the last READONLY; 0: none */
};

/* What a server reports to the router. */
struct hf_server_events {
    void (*on_link_down)(struct hf_server *server, const struct hf_link *link);
    void (*on_link_up)(struct hf_server *server);         /* each link */
    void (*on_handshake_ended)(struct hf_server *server); /* the handshake of its main link has
                                                             ended */
    /* an attempt of this link to connect failed */
    void (*on_unreached)(struct hf_server *server, const struct hf_link *link);
    void (*on_slot_moved)(struct hf_server *server); /* it no longer serves a channel */
    void (*on_free)(struct hf_server *server);       /* it will be freed: send nothing */
};

/* hf_server_get - returns the server at this address, and creates it if it does not exist.
 *   HF_E_NOMEM, HF_E_LIMIT, HF_E_TLS. */
hf_status hf_server_get(struct hf_server **out, struct hf_router *router,
                        const char *host, uint16_t port, bool is_map_source)
    HF_MUST_CHECK;

/* hf_server_find - returns the server at this address, or NULL. Cost: that of a hash
 *   table (server_table.c). */
struct hf_server *hf_server_find(struct hf_router *router, const char *host,
                                 uint16_t port, bool is_map_source);

/* hf_server_put_into_table    - the server, which is in router->servers, can be found from now on.
 * hf_server_remove_from_table - it can no longer be found. One that is not in the table is
 *   allowed. */
void hf_server_put_into_table(struct hf_server *server);
void hf_server_remove_from_table(struct hf_server *server);

/* hf_servers_find_in_map - stores in `map_node` of each server of router->servers what
 *   hf_slot_map_find_node returns for its address; HF_NO_NODE for a map source. The map need not
 *   be in force. Cost: linear in the servers and nodes. */
void hf_servers_find_in_map(struct hf_router *router, const struct hf_slot_map *map);

/* hf_server_free - frees the server; its commands end as with hf_link_free. */
void hf_server_free(struct hf_server *server);

/* hf_servers_init - initialises the list of servers. `events` is borrowed. */
void hf_servers_init(struct hf_router *router,
                     const struct hf_server_events *events);

/* hf_servers_take_ips - the map has just been put into force: a server whose name cannot
 *   be resolved is connected at the ip that this map has for it. */
void hf_servers_take_ips(struct hf_router *router);

/* hf_servers_sweep_soon - frees, within seconds, the servers that are no longer masters
 *   of the map and have no pending commands. */
void hf_servers_sweep_soon(struct hf_router *router);

/* hf_server_next - returns the server after `server` in router->servers; for NULL the
 *   first one; NULL at the end. */
static inline struct hf_server *hf_server_next(const struct hf_router *router,
                                               const struct hf_server *server)
{
    struct hf_list *l = server ? server->node.next : router->servers.next;

    return l == &router->servers ? NULL
                                 : HF_OWNER_OF(l, struct hf_server, node);
}

/* hf_server_wait_link - returns the link for commands that wait for replicas.
 *   HF_E_NOMEM. */
hf_status hf_server_wait_link(struct hf_link **out, struct hf_server *server)
    HF_MUST_CHECK;

/* hf_server_explain_silence - writes why the server has not replied: the error of its link or, if
 *   there is none, that no reply came in time. */
void hf_server_explain_silence(const struct hf_server *server, struct hf_error *out);

#endif
