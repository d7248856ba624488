/* A cluster's map, for programs that show or compare it. */
#ifndef HF_CLUSTER_VIEW_H
#define HF_CLUSTER_VIEW_H

#include "net/net.h"

/* The map from slots to nodes, as one node of a cluster reports it. Routing uses it; two
 * nodes may report different maps. */
struct hf_cluster_view;

struct hf_cluster_node {
    const char *id;           /* as the other texts, valid until the view is freed */
    const char *host;         /* "": unknown, so the node cannot be reached */
    uint16_t port;            /* for TLS or plain, as requested; 0: it has none */
    const char *master;       /* the id of its master; NULL: it is not a replica */
};

/* hf_cluster_view_read - parses the reply to CLUSTER SLOTS.
 *   host    of the server that replied; a node may have "the same host"
 *   is_tls  whether the connection uses TLS
 *   HF_E_SERVER, HF_E_PROTOCOL, HF_E_LIMIT, HF_E_NOMEM; *out is set only on
 *   HF_OK, for hf_cluster_view_free (which takes NULL). Pure.
 * hf_cluster_view_count, hf_cluster_view_node - return the number of masters and
 *   replicas, and one of them; index < count.
 * hf_cluster_view_owner - returns the index of the node that serves a slot; -1: none. */
hf_status hf_cluster_view_read(struct hf_cluster_view **out,
                               const struct hf_mem *mem, const char *host,
                               bool is_tls, struct hf_resp_value reply,
                               struct hf_error *err) HF_MUST_CHECK;
void hf_cluster_view_free(struct hf_cluster_view *view);
uint32_t hf_cluster_view_count(const struct hf_cluster_view *view);
struct hf_cluster_node hf_cluster_view_node(const struct hf_cluster_view *view,
                                            uint32_t index);
int hf_cluster_view_owner(const struct hf_cluster_view *view, uint16_t slot);

#endif
