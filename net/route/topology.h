/* The differences between topologies, as a table of functions. topology_standalone.c,
 * topology_cluster.c, topology_sentinel.c and topology_replicas.c each define one table;
 * no other file distinguishes topologies. Private to net/. All functions are [locked],
 * except `slot_of_key`. */
#ifndef HF_TOPOLOGY_H
#define HF_TOPOLOGY_H

#include "net/base/url.h"
#include "net/net.h"
#include "net/route/redirect.h"

struct hf_router;
struct hf_seeds;
struct hf_server;

/* What an error reply means for the command that it belongs to. */
enum hf_verdict {
    HF_VERDICT_RESULT,          /* the reply is the command's result */
    HF_VERDICT_REDIRECT,        /* another server serves the slot, or has the key */
    HF_VERDICT_DEMOTED,         /* it is no longer a master: another server is */
    HF_VERDICT_RECONNECT        /* it does not serve now; the same address may lead
                                   to a server that does (replace.h) */
};

/* A function that is NULL has no effect. */
struct hf_topology {
    /* Each node of the map is queried for the map. False: only the seeds are queried.
     * They report the map but serve no slot (sentinels). */
    bool queries_nodes;

    /* Each round queries all seeds at once, and keeps their connections. The map is used when
     * all have replied or failed, when the others were silent for this time (ROUND-3), or when
     * is_choice_certain returns true: no reply of a silent seed can change the map.
     * 0: the first good map is used, and the time of ROUND-3 is the connect timeout. */
    int64_t collect_replies_ms;
    bool (*is_choice_certain)(struct hf_router *router);

    /* Writes the router's address, for messages. */
    void (*describe)(const struct hf_router *router, char *dst, size_t room);

    /* start - sets what is known before the first query; fini - frees it, also after a
     * failure. */
    hf_status (*start)(struct hf_router *router, struct hf_error *err);
    void (*free_state)(struct hf_router *router);

    /* Returns the slot of a key; NULL: every key is in slot 0. Any thread. */
    uint16_t (*slot_of_key)(const void *key, size_t len);

    /* Queries a server for the map. hf_discover_found or hf_discover_failed is called
     * once. HF_E_NOMEM, HF_E_LIMIT: neither is called. NULL: there is no map. */
    hf_status (*query_server)(struct hf_server *server, int64_t deadline_ms);

    /* While a query is pending: why there is no reply yet; and the server whose reply
     * is awaited, which is the queried one or one that it named. */
    void (*explain_pending_query)(const struct hf_server *server, struct hf_error *out);
    const struct hf_server *(*server_awaited)(const struct hf_server *server);

    /* An attempt to connect to a queried server failed. NULL: the query is pending until
     * a later attempt. */
    void (*on_unreached)(struct hf_server *server);

    /* A link to this server has ended. */
    void (*on_link_down)(struct hf_server *server);

    /* A server replied after a silence (doubt.h). NULL: there is only one server. */
    void (*on_doubt)(struct hf_server *server);

    /* Classifies an error reply; HF_VERDICT_REDIRECT sets *out. Pure. */
    enum hf_verdict (*classify_error_reply)(struct hf_redirection *out,
                                            struct hf_resp_value reply);
};

extern const struct hf_topology hf_topology_standalone;
extern const struct hf_topology hf_topology_cluster;
extern const struct hf_topology hf_topology_sentinel;
extern const struct hf_topology hf_topology_replicas;

/* hf_topology_of - returns the table for these seeds. */
const struct hf_topology *hf_topology_of(const struct hf_seeds *seeds);

/* hf_seeds_describe - writes `prefix`, followed by the addresses of the seeds. */
void hf_seeds_describe(const struct hf_seeds *seeds, const char *prefix,
                       char *dst, size_t room);

/* hf_seeds_find - returns the index of the first seed with this host and port; `count` of the
 *                 seeds: there is none. */
uint32_t hf_seeds_find(const struct hf_seeds *seeds, const char *host, uint16_t port);

#endif
