/* The cluster of a run: when each node learns of a change, messages between nodes, and slots
 * that move. */
#ifndef SIM_NODES_H
#define SIM_NODES_H

#include "tests/sim/model/cluster.h"
#include "tests/sim/server.h"

struct nodes;

/* nodes_new  - makes a cluster of new servers: first `count` masters, then as many replicas in
 *              the same order. Call nodes_free after the servers were freed.
 * nodes_promote  - `s` is master in place of `old`, which learns of it last, by
 *                  nodes_learn_all. The others know it within late_us.
 * nodes_learn_all - all nodes know the present state.
 * nodes_set_down - all nodes except `but` reply CLUSTERDOWN until they learn something.
 * nodes_set_apart - no news reaches the node, and it sends and receives no messages, until this
 *                  is called with false: then it learns the present state.
 * nodes_cluster  - returns the cluster. nodes_node - returns the node of that server.
 * nodes_owner    - returns the server that owns the key's slot.
 * nodes_have_one_slot - returns whether both keys are in one slot.
 * nodes_holder   - returns the server that has the key itself now. */
struct nodes *nodes_new(struct sim *sim, struct server *const *servers,
                        size_t count);
void nodes_free(struct nodes *nodes);
void nodes_promote(struct nodes *nodes, struct server *s, struct server *old,
                   int64_t late_us);
void nodes_learn_all(struct nodes *nodes);
void nodes_set_down(struct nodes *nodes, const struct server *but);
void nodes_set_apart(struct nodes *nodes, const struct server *s, bool is_apart);
struct model_cluster *nodes_cluster(const struct nodes *nodes);
struct model_node *nodes_node(struct nodes *nodes, const struct server *s);
bool nodes_have_one_slot(const char *a, const char *b);
struct server *nodes_owner(const struct nodes *nodes, const char *key);
struct server *nodes_holder(const struct nodes *nodes, const char *key);

/* nodes_open - begins to move the key's slot to that server; false: it cannot move.
 * nodes_move - moves one key of the slot; false: there is none, or a server does not run.
 * nodes_give - moves the remaining keys, and gives the slot to the other server; the other
 *              nodes know it within late_us. False: not possible now.
 * nodes_give_at_once - moves the key's slot to that server, and all nodes know it. False: not
 *              possible now.
 * nodes_are_moving - returns whether a slot moves from or to this shard. */
bool nodes_open(struct nodes *nodes, const char *key, struct server *to);
bool nodes_move(struct nodes *nodes, const char *key);
bool nodes_give(struct nodes *nodes, const char *key, int64_t late_us);
bool nodes_give_at_once(struct nodes *nodes, const char *key, struct server *to);
bool nodes_are_moving(const struct nodes *nodes, int64_t shard);

#endif
