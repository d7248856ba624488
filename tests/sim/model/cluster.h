/* Nodes of a cluster: models that route by slots. What is true, and what each
 * node takes for true, are two things: a node learns when its owner says so.
 *
 * There is no bus: what is published comes to the owner
 * (model_cluster_published_fn), who brings it to the others. No CLUSTER SETSLOT
 * and no MIGRATE either: the owner opens a slot, moves its keys, and gives it.
 *
 * Source: CLUSTER; getNodeByQuery() of Redis 7.0. */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include "tests/sim/model/model.h"

#define MODEL_SLOTS 16384
#define MODEL_NODES_MAX 1024

struct model_cluster;
struct model_node;

/* What a node announces as the address of a node, in CLUSTER SLOTS, MOVED and ASK. */
enum model_announced {
    MODEL_ITS_ADDRESS, /* or the one behind NAT */
    MODEL_OLD_HOST,    /* the host that it had before: MODEL_OLD_IP */
    MODEL_OLD_PORT,    /* the port that it had before: one more */
    MODEL_OTHER_NODE,  /* the address of the next node */
    MODEL_NULL_HOST,   /* null, and in redirections "" */
    MODEL_EMPTY_HOST,
    MODEL_ANY_HOST,     /* 0.0.0.0 */
    MODEL_UNKNOWN_HOST, /* "?", and in CLUSTER SLOTS the IP address beside it */
    MODEL_LOST_NAME,    /* a name that cannot be resolved, and the IP address beside it */
    MODEL_ANNOUNCED
};
#define MODEL_OLD_IP "10.0.9.%d"     /* %d: of node N from 1 on */
#define MODEL_INNER_IP "192.168.0.%d"

typedef void model_cluster_published_fn(void *ctx, struct model *from,
                                        struct model_text channel,
                                        struct model_text payload,
                                        bool is_shard);

/* model_cluster_new  - no nodes. model_cluster_free, after the models; takes
 * NULL. model_cluster_join - one more node: a model that is new; of `master`,
 * or NULL: it is one. model_cluster_assign  - these slots are its: true, and
 * known to nobody yet. model_cluster_learn   - the node knows what is true now;
 * channels of slots that it loses are ended by `sunsubscribe`, slots that were
 * on the move are settled. model_cluster_promote - the slots of its master are
 * its; the others of the shard are its replicas. model_cluster_set_down - the
 * node says CLUSTERDOWN, until it learns something. */
struct model_cluster *model_cluster_new(model_cluster_published_fn *published,
                                        void *ctx);
void model_cluster_free(struct model_cluster *cl);
struct model_node *model_cluster_join(struct model_cluster *cl, struct model *m,
                                      struct model_node *master);
void model_cluster_assign(struct model_cluster *cl, unsigned first,
                          unsigned last, const struct model_node *node);
void model_cluster_learn(struct model_node *node);
void model_cluster_promote(struct model_node *node);
void model_cluster_set_down(struct model_node *node);

/* model_cluster_announce - `by` announces this address of `about`.
 * model_cluster_set_nat  - all nodes announce MODEL_INNER_IP in place of their hosts.
 * model_cluster_told     - returns how often clients received such an address of a map or (with
 *                          is_redirection) in MOVED or ASK, since this was called last.
 * model_cluster_told_old - the same for maps that were no longer true.
 * model_cluster_told_nat - the same for addresses behind NAT. */
void model_cluster_announce(struct model_node *by, const struct model_node *about,
                            enum model_announced how);
void model_cluster_set_nat(struct model_cluster *cl);
uint64_t model_cluster_told(struct model_cluster *cl, enum model_announced how,
                            bool is_redirection);
uint64_t model_cluster_told_old(struct model_cluster *cl);
uint64_t model_cluster_told_nat(struct model_cluster *cl);

/* model_cluster_slot     - of a key or sharded channel.
 * model_cluster_owner    - who has it: true.
 * model_cluster_open     - MIGRATING and IMPORTING.
 * model_cluster_move_key - one key of the slot, the oldest; false: there is
 * none. Deleted as by the owner (model.h) from where it was. model_cluster_hear
 * - what was published at another node. */
unsigned model_cluster_slot(const char *key, size_t len);
struct model *model_cluster_owner(const struct model_cluster *cl,
                                  unsigned slot);
void model_cluster_open(unsigned slot, struct model_node *from,
                        struct model_node *to);
bool model_cluster_move_key(unsigned slot, struct model_node *from,
                            struct model_node *to);
void model_cluster_hear(struct model_node *node, struct model_text channel,
                        struct model_text payload, bool is_shard);

#endif
