/* A cluster's map, for programs that show or compare it. */
#ifndef HF_CLUSTER_VIEW_H
#define HF_CLUSTER_VIEW_H

#include "net/net.h"

/* Which node serves which slots, as one node of a cluster says: what routing goes by,
 * and what several nodes may say differently. */
struct hf_cluster_view;

struct hf_cluster_node {
    const char *id;           /* lent, as the rest, until the view is freed */
    const char *host;         /* "": not known, so nobody can go there */
    uint16_t port;            /* of the kind asked for; 0: it has none */
    const char *master;       /* whose replica it is: that one's id; NULL: none's */
};

/* hf_cluster_view_read - the reply to CLUSTER SLOTS.
 *   host    what was asked: nodes may say "the same as you have"
 *   is_tls  what was asked over
 *   HF_E_SERVER, HF_E_PROTOCOL, HF_E_LIMIT, HF_E_NOMEM; *out is set only on
 *   HF_OK, for hf_cluster_view_free (which takes NULL). Pure.
 * hf_cluster_view_count, _node - masters and replicas. index < count.
 * hf_cluster_view_owner - the index of the node that serves a slot; -1:
 * none. */
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
