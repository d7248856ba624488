/* A real cluster that the test owns: servers as of server.h, joined by hand.
 *
 *     struct cluster *c = cluster_start(&(struct cluster_options){
 *         .masters = 3, .replicas = 1});
 *     struct server *node = cluster_node(c, cluster_owner(c, slot));
 *     server_kill(node);
 *     cluster_await_owner(c, slot, replica);
 *     ...
 *     cluster_stop(c);
 *
 * Nodes are numbered: masters first, which share the slots evenly and in order;
 * then the first master's replicas, and so on. The numbers stay when the roles
 * change. Stop, continue, kill and restart a node with what server.h has: what
 * it knows of the cluster is in its folder, and it comes back as itself.
 *
 * Whatever cannot be done within CLUSTER_PATIENCE_MS fails the test; nothing
 * here returns an error. What the functions below call "all nodes" are those
 * that run: not killed, not paused.
 *
 * Fork: as of server.h, so that one cluster of an unchecked fixture can serve a
 * whole suite. Nothing is kept here that a forked test could make untrue.
 * Cost: a start takes 2.2 s for whatever number of nodes, because a master
 * refuses to work in the first 2 s of its life; on memory, 10 MB a node. */
#ifndef TEST_CLUSTER_H
#define TEST_CLUSTER_H

#include <stdbool.h>

#include "tests/support/server.h"

#define CLUSTER_NODES_MAX 32
#define CLUSTER_PATIENCE_MS 60000

struct cluster;

struct cluster_options {
    int masters;                /* 1 or more */
    int replicas;               /* of each master */
    int node_timeout_ms;        /* 0: 1000. A failover takes about twice that */
    bool is_bare;               /* started, each alone, without slots: the rest
                                   is the caller's */
    const char *const *args;    /* more for every server's command line, as in
                                   server_start; NULL: none */
};

/* cluster_start - on return every node says cluster_state:ok, knows all others
 *   and their roles, and each replica has its master's data. NULL: no server is
 *   installed; then the test must say "skipped".
 * cluster_stop  - nothing is left. Takes NULL. If the test ends in any other
 *   way, each server's keeper sees to it. */
struct cluster *cluster_start(const struct cluster_options *options);
void cluster_stop(struct cluster *c);

int cluster_count(const struct cluster *c);
struct server *cluster_node(const struct cluster *c, int node);

/* cluster_replica - the number of replica `index`, from 0, that a master had at
 * the start. */
int cluster_replica(const struct cluster *c, int master, int index);

/* cluster_id - as CLUSTER MYID had it; lent until cluster_stop. */
const char *cluster_id(const struct cluster *c, int node);

/* cluster_owner       - the node that serves a slot, as the first of all nodes
 *                       says; -1: none.
 * cluster_owner_of    - likewise, of a key.
 * cluster_view        - as `node` says.
 * cluster_await_owner - until all nodes say it is `owner`.
 * cluster_await_ok    - until all nodes say cluster_state:ok.
 * cluster_await_agreement - until all nodes say the same of everyone's role and
 *                       slots, and have heard of the same epoch. So it is after
 *                       cluster_start, _failover, _move_end, _mend.
 * cluster_await_state - until `node` says this state: "ok", "fail". */
int cluster_owner(struct cluster *c, int slot);
int cluster_owner_of(struct cluster *c, const char *key);
int cluster_view(struct cluster *c, int node, int slot);
void cluster_await_owner(struct cluster *c, int slot, int owner);
void cluster_await_ok(struct cluster *c);
void cluster_await_agreement(struct cluster *c);
void cluster_await_state(struct cluster *c, int node, const char *state);

/* cluster_mend - what is paused goes on, what is dead is restarted, and all is
 * well again (though roles may have changed): for a fixture between tests. */
void cluster_mend(struct cluster *c);

/* cluster_failover - CLUSTER FAILOVER at a replica; `how` is "", "FORCE" or
 * "TAKEOVER". On return all nodes know it as the master. It may have been
 * one. */
void cluster_failover(struct cluster *c, int replica, const char *how);

/* A slot on the move, the old way, step by step:
 *
 * cluster_move_begin - IMPORTING at `to`, MIGRATING at its owner: from here on
 *                      ASK for absent keys, TRYAGAIN for some of several.
 * cluster_move_keys  - MIGRATE of up to `count` of its keys; how many it were.
 * cluster_move_end   - NODE at `to`, at its owner, and at all others: MOVED.
 *                      On return all nodes know. Keys must have been moved.
 * cluster_move_stop  - STABLE at both: it stays where it was.
 * cluster_move       - all of it.
 *
 * NODE alone is not enough: only with IMPORTING does the new owner take a new epoch. Without it,
 * a message that the former owner sent before takes the slot back at the new owner, and then
 * each of the two redirects to the other for good. */
void cluster_move_begin(struct cluster *c, int slot, int to);
int cluster_move_keys(struct cluster *c, int slot, int to, int count);
void cluster_move_end(struct cluster *c, int slot, int to);
void cluster_move_stop(struct cluster *c, int slot, int to);
void cluster_move(struct cluster *c, int slot, int to);

#endif
