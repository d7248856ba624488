/* Servers: a link to each, subscriptions over it, and what is under way to it.
 * Private to net/. [locked] */
#ifndef HF_SERVER_H
#define HF_SERVER_H

#include "net/route/router_inner.h"

#define SERVERS_MAX (HF_NODES_MAX + 2 * HF_SEEDS_MAX)

/* The requests under way that ask a server for the map. */
#define PROBE_REQUESTS 4
struct hf_probe {
    struct hf_request requests[PROBE_REQUESTS];
    bool is_sent[PROBE_REQUESTS];
    bool is_under_way;
    uint32_t round;               /* the last in which the server was asked */
    uint32_t learned_count;       /* of the discovery, when it was asked */
    struct hf_cluster_info info;
    bool has_info;
    /* Of a sentinel: */
    struct hf_server *master;     /* whose ROLE is asked for */
    struct hf_subscription news;  /* +switch-master */
    bool has_missed_news;         /* perhaps: the subscription was not live */
};

struct hf_server {
    struct hf_list node;          /* in router->servers, the latest helpful first */
    struct hf_router *router;
    char host[256];
    uint16_t port;
    bool is_guide;                /* it knows the map, and serves nothing */
    bool is_target;               /* of the map in force */
    struct hf_link *link;
    struct hf_link *wait_link;    /* of commands that wait for replicas; made when
                                     first needed */
    struct hf_pubsub *pubsub;
    struct hf_tls_context *tls;
    uint32_t replicas;            /* that it has, as far as known */
    uint64_t serial;              /* no other server of the router had it: its
                                   memory may become another server's */
    struct hf_list commands;
    uint64_t seen;                /* the serial of the first of them, unsent, at
                                   the last look; 0: none */
    struct hf_probe probe;
    /* doubt.h */
    bool has_answered;            /* a command, ever */
    int64_t silent_since_ms;      /* 0: it is not silent */
    int64_t doubt_until_ms, doubt_again_ms;
    /* replace.h */
    struct hf_replacement {
        int64_t since_ms;         /* the first refusal of a series; 0: none */
        int64_t refused_ms;       /* the last one */
        int64_t next_ms;          /* no replacement before */
        int64_t pause_ms;
    } replacement;
    /* switched.h */
    bool is_demoted;              /* it has answered nothing since READONLY */
    int64_t demoted_ms;           /* when that came last; 0: never */
};

/* What a server reports to the router. */
struct hf_server_events {
    void (*on_link_down)(struct hf_server *server, const struct hf_link *link);
    void (*on_unreached)(struct hf_server *server);  /* an attempt to connect has
                                                        failed */
    void (*on_slot_moved)(struct hf_server *server); /* it does not serve a channel
                                                        any more */
    void (*on_free)(struct hf_server *server);       /* nothing may ask it now */
};

/* hf_server_get  - the server at that place, made if there was none.
 *                  HF_E_NOMEM, HF_E_LIMIT, HF_E_TLS.
 * hf_server_find - the same, or NULL.
 * hf_server_free - commands end; as hf_link_free.
 *
 * hf_servers_init       - none; `events` is borrowed.
 * hf_servers_sweep_soon - servers that are no longer masters of the map, and have
 *                         nothing under way, are freed within seconds. */
hf_status hf_server_get(struct hf_server **out, struct hf_router *router,
                        const char *host, uint16_t port, bool is_guide)
    HF_MUST_CHECK;
struct hf_server *hf_server_find(struct hf_router *router, const char *host,
                                 uint16_t port, bool is_guide);
void hf_server_free(struct hf_server *server);
void hf_servers_init(struct hf_router *router,
                     const struct hf_server_events *events);
void hf_servers_sweep_soon(struct hf_router *router);

/* hf_server_next - behind `server` in router->servers; of NULL the first; NULL
 * at the end. */
static inline struct hf_server *hf_server_next(const struct hf_router *router,
                                               const struct hf_server *server)
{
    struct hf_list *l = server ? server->node.next : router->servers.next;

    return l == &router->servers ? NULL
                                 : HF_OWNER_OF(l, struct hf_server, node);
}

/* hf_server_wait_link - the link of commands that wait for replicas.
 *                       HF_E_NOMEM. */
hf_status hf_server_wait_link(struct hf_link **out, struct hf_server *server)
    HF_MUST_CHECK;

/* hf_server_silence - why it has not answered: the error of its link; if that
 * has none, the answer has not come in time. */
void hf_server_silence(const struct hf_server *server, struct hf_error *out);

#endif
