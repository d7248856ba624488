/* What differs between topologies, as a table: topology_standalone.c,
 * topology_cluster.c and topology_sentinel.c fill one each, and no other file
 * asks which one it is. Private to net/. All of it is [locked] but `slot`. */
#ifndef HF_TOPOLOGY_H
#define HF_TOPOLOGY_H

#include "net/base/url.h"
#include "net/net.h"
#include "net/route/redirect.h"

struct hf_router;
struct hf_seeds;
struct hf_server;

/* What an error reply says of the server that sent it. */
enum hf_verdict {
    HF_STAYS,                   /* nothing: the reply is the command's own */
    HF_REDIRECTS,               /* another server serves the slot, or has the key */
    HF_IS_DEMOTED,              /* it is no longer a master: another server is */
    HF_RECONNECTS               /* it does not serve now; the same address may lead
                                   to a server that does (replace.h) */
};

/* A function that is NULL has nothing to do. */
struct hf_topology {
    /* Each node of the map is asked for the map. False: only the seeds are,
     * which are guides: they know the map and serve nothing. */
    bool asks_nodes;

    /* The router's address, for messages. */
    void (*describe)(const struct hf_router *router, char *dst, size_t room);

    /* What is known before anybody is asked. */
    hf_status (*start)(struct hf_router *router, struct hf_error *err);

    /* The slot of a key; NULL: each is in slot 0. Any thread. */
    uint16_t (*slot)(const void *key, size_t len);

    /* Asks a server for the map; the answer goes to hf_discover_found or
     * _failed, once. HF_E_NOMEM, HF_E_LIMIT: neither is called. NULL: there is
     * no map. */
    hf_status (*ask)(struct hf_server *server, int64_t deadline_ms);

    /* While a server is asked: why there is no answer yet, and which server is
     * to speak next, the one that was asked or one that it named. */
    void (*explain)(const struct hf_server *server, struct hf_error *out);
    const struct hf_server *(*awaits)(const struct hf_server *server);

    /* A link to this server has ended. */
    void (*on_link_down)(struct hf_server *server);

    /* A server answers after a silence (doubt.h). NULL: it is the only one. */
    void (*on_doubt)(struct hf_server *server);

    /* Of an error reply; *out is set with HF_REDIRECTS. Pure. */
    enum hf_verdict (*judge)(struct hf_redirection *out,
                             struct hf_resp_value reply);
};

extern const struct hf_topology hf_topology_standalone;
extern const struct hf_topology hf_topology_cluster;
extern const struct hf_topology hf_topology_sentinel;

/* hf_topology_of    - the table for these seeds.
 * hf_seeds_describe - `prefix`, and the addresses of the seeds behind it. */
const struct hf_topology *hf_topology_of(const struct hf_seeds *seeds);
void hf_seeds_describe(const struct hf_seeds *seeds, const char *prefix,
                       char *dst, size_t room);

#endif
