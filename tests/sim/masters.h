/* A cluster of up to 1,000 masters for tests that drive a world themselves (harness.h). Only the
 * first master has a replica. No message goes from node to node: use sharded ones. */
#ifndef SIM_MASTERS_H
#define SIM_MASTERS_H

#include "tests/sim/harness.h"
#include "tests/sim/model/cluster.h"

#define MASTERS_MAX 1000

struct masters {
    struct harness *harness;
    struct model_cluster *cluster;
    struct server *servers[MASTERS_MAX + 1]; /* the last one is the replica */
    struct model_node *nodes[MASTERS_MAX + 1];
    int count;                  /* of masters */
    uint16_t first_owner[MODEL_SLOTS]; /* the master that a slot had at first */
};

/* masters_begin - begins a world with `count` masters, which share the slots in order; or, if
 *                 `is_scattered`, slot N belongs to master N modulo `count`.
 * masters_end   - ends it, after all clients were freed.
 * masters_url   - the URL of clients.
 * masters_of    - returns the number, from 0, of the master that this key had at first.
 * masters_promote - the replica is master in place of the first, and all nodes know it. */
void masters_begin(struct masters *m, struct harness *harness, int count, bool is_scattered);
void masters_end(struct masters *m);
const char *masters_url(void);
int masters_of(const struct masters *m, const char *key);
void masters_promote(struct masters *m);

#endif
