/* The cluster of a run: who learns what when, messages between nodes, slots on
 * the move. */
#ifndef SIM_NODES_H
#define SIM_NODES_H

#include "tests/sim/model/cluster.h"
#include "tests/sim/server.h"

struct nodes;

/* nodes_new  - of servers that are new; `count` masters first, then as many
 *              replicas, in the same order. nodes_free, after the servers.
 * nodes_promote  - this one, in place of its master, which learns of it last of
 *                  all: by nodes_learn_all. The others know by `late_us`.
 * nodes_learn_all - all know what is true, now.
 * nodes_set_down - all but that one say CLUSTERDOWN until they learn something.
 * nodes_owner    - whose slot the key is in.
 * nodes_have_one_slot - are both keys in one slot?
 * nodes_holder   - who has the key itself now. */
struct nodes *nodes_new(struct sim *sim, struct server *const *servers,
                        size_t count);
void nodes_free(struct nodes *nodes);
void nodes_promote(struct nodes *nodes, struct server *s, struct server *old,
                   int64_t late_us);
void nodes_learn_all(struct nodes *nodes);
void nodes_set_down(struct nodes *nodes, const struct server *but);
bool nodes_have_one_slot(const char *a, const char *b);
struct server *nodes_owner(const struct nodes *nodes, const char *key);
struct server *nodes_holder(const struct nodes *nodes, const char *key);

/* nodes_open - the key's slot is on the move to that server; false: it cannot
 * be. nodes_move - one key of it is moved; false: there is none, or they do not
 * run. nodes_give - what is left is moved, and the slot is its; the others know
 * by `late_us`; false: not now. nodes_are_moving - is a slot on the move from or
 * to this shard? */
bool nodes_open(struct nodes *nodes, const char *key, struct server *to);
bool nodes_move(struct nodes *nodes, const char *key);
bool nodes_give(struct nodes *nodes, const char *key, int64_t late_us);
bool nodes_are_moving(const struct nodes *nodes, int64_t shard);

#endif
