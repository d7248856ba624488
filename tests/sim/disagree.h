/* Nodes of a cluster that disagree: FAULT_DISAGREE. The history has no line for it, so the client
 * must cope (P12). At least one node that the URL names always announces what is true. */
#ifndef SIM_DISAGREE_H
#define SIM_DISAGREE_H

#include "tests/sim/fault.h"
#include "tests/sim/model/cluster.h"

/* The low bits of `n`: the node `server` announces these addresses from model/cluster.h. Up to
 * DISAGREE_OTHER_NODE and from DISAGREE_UNKNOWN_HOST on: of node `connection`, 0: of all;
 * otherwise, of itself. */
enum {
    DISAGREE_OLD_HOST,
    DISAGREE_OLD_PORT,
    DISAGREE_OTHER_NODE,
    DISAGREE_NULL_HOST,
    DISAGREE_EMPTY_HOST,
    DISAGREE_ANY_HOST,
    DISAGREE_UNKNOWN_HOST,
    DISAGREE_LOST_NAME,
    DISAGREE_OLD_MAP,  /* the node has the map from before the slot of `lock` moved */
    DISAGREE_MINORITY, /* a former master is cut off from its successor; it replies CLUSTERDOWN
                          and the map from before */
    DISAGREE_WAYS
};
/* The other bits of `n`. */
enum {
    DISAGREE_CLOSES = 16,  /* connections of these nodes are closed */
    DISAGREE_MOVES = 32,   /* the slot of `lock` moves, so that its former master replies MOVED */
    DISAGREE_IGNORES = 64, /* no machine has the old address; otherwise, no process */
    DISAGREE_ALL_BUT_ONE = 128 /* all nodes announce this, except one that the URL names */
};
#define DISAGREE_WAY(n) ((n) & 15)

/* disagree_new - the addresses that the nodes of this site had before. */
struct disagree *disagree_new(const struct site *site);

#endif
