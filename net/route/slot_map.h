/* Slot maps: which node of a cluster serves which slot, as one of its nodes
 * says. Pure: replies in, decisions out; no socket, no clock. Private to net/.
 *
 * Which reply to ask for. CLUSTER SLOTS is made from the table that the node
 * itself routes by, gives the port of the kind of connection that asks (plain
 * or TLS), and leaves out replicas that failed. CLUSTER SHARDS says more
 * (health, both ports), but since 7.2 a shard whose failed master is still
 * remembered may have two masters, and in releases from before August 2024 no
 * slots (redis #13414, valkey #784). So: SLOTS, and SHARDS where a server has
 * only that.
 *
 * How new a map is. Neither reply says. CLUSTER INFO, to be asked for in front
 * of the map and over the same connection, has
 *
 *   cluster_current_epoch   the greatest epoch that this node has heard of.
 *                           Every failover raises it, and so does a slot that
 *                           changes its node, but for one that goes to the node
 *                           with the greatest already. All nodes come to agree
 *   cluster_my_epoch        that of this node's own claim to its slots, or its
 *                           master's; says nothing of others
 *   cluster_state           ok; or fail: slots are uncovered, or this node does
 *                           not reach most of the masters (which it knows after
 *                           cluster-node-timeout, not before)
 *
 * A map is at least as new as an epoch that was asked for before it.
 *
 * Rules
 * MAP-1  A map without a node to ask replaces nothing: a node after CLUSTER
 *        RESET, or not yet met, says so quite truthfully.
 * MAP-2  Of two maps the better one is in force: state ok before fail, so that
 *        a minority's view replaces no whole one; then the greater epoch; then
 *        the more slots covered; and if all is equal, the later one.
 * MAP-3  Epochs end with their cluster: one that was reset, or another one at
 *        the same addresses, begins at 0. When every known node and every seed
 *        has answered or failed, or has been silent for long (round.h,
 *        ROUND-3), and none has a map as good as the one in force, the best of
 *        their maps replaces it (hf_slot_map_is_better with NULL as `held`).
 * MAP-4  A MOVED comes from a node that knows better than the map: it is
 *        learned at once, and the refresh that follows asks the node that it
 *        named first. One that came while a refresh was under way is learned
 *        again afterwards.
 * MAP-5  A reply that is wrong anywhere is wrong: the old map stays. A gap is
 *        not wrong; the slots in it have no target. */
#ifndef HF_SLOT_MAP_H
#define HF_SLOT_MAP_H

#include "net/base/endpoint.h"
#include "net/route/slot.h"

/* A cluster has at most this many, says its specification. */
#define HF_NODES_MAX 1024
#define HF_NO_NODE UINT16_MAX

/* 40 in Redis and Valkey. */
#define HF_NODE_ID_MAX 64

struct hf_node {
    char id[HF_NODE_ID_MAX + 1];    /* "": learned from MOVED */
    char host[HF_HOST_MAX + 1];     /* "": not known */
    uint16_t port;                  /* of the kind asked for; 0: it has none */
    uint16_t master;                /* index of the node whose replica it is:
                                       its own: none's; HF_NO_NODE: not known */
    bool is_online;                 /* health, where that is said */
};

/* CLUSTER INFO, as far as it tells how good a map is. */
struct hf_cluster_info {
    bool is_ok;
    uint64_t current_epoch;
    uint64_t my_epoch;
    uint32_t known_nodes;
    uint32_t size;                  /* masters with slots */
};

/* One block of memory. Nodes are referred to by index; an index lives as long
 * as the map, a pointer to a node until the next hf_slot_map_set. */
struct hf_slot_map {
    const struct hf_mem *mem;
    uint32_t room;                  /* of nodes */
    uint32_t count;
    struct hf_cluster_info info;    /* is_ok and zeros, until somebody sets it */
    uint16_t owner[HF_SLOTS];       /* index, or HF_NO_NODE */
    struct hf_node nodes[];
};

/* The node that the map comes from. */
struct hf_slot_map_source {
    const struct hf_mem *mem;       /* borrowed until hf_slot_map_free */
    const char *host;               /* what nodes of "the same host" get */
    bool is_tls;                    /* of SHARDS, TLS ports are taken: a node that
                                       announces none is no target */
};

/* hf_slot_map_from_slots  - of the reply to CLUSTER SLOTS,
 * hf_slot_map_from_shards - to CLUSTER SHARDS: RESP2's or RESP3's; keys in any
 *   order, unknown keys skipped. *out is for hf_slot_map_free.
 *
 *   host  null, ""     the one that was asked
 *         "?"          the node's ip, if that is said; else not known
 *
 * HF_E_SERVER: an error reply. HF_E_PROTOCOL: wrong (MAP-5): a slot or port out
 * of range, start behind end, a slot or a node twice, an entry without nodes,
 * no id, no host's spelling. HF_E_LIMIT: more than HF_NODES_MAX nodes.
 * HF_E_NOMEM.
 * *out is left alone then, and *err says what is wrong in which entry.
 * Cost: in the reply and HF_SLOTS.
 * Source: CLUSTER SLOTS, CLUSTER SHARDS (redis.io, valkey.io). */
hf_status hf_slot_map_from_slots(struct hf_slot_map **out,
                                 const struct hf_slot_map_source *from,
                                 struct hf_resp_value reply,
                                 struct hf_error *err) HF_MUST_CHECK;
hf_status hf_slot_map_from_shards(struct hf_slot_map **out,
                                  const struct hf_slot_map_source *from,
                                  struct hf_resp_value reply,
                                  struct hf_error *err) HF_MUST_CHECK;

/* hf_slot_map_new  - no node, no slot. NULL: no memory.
 * hf_slot_map_free - takes NULL.
 * hf_slot_map_add  - one more node, which is copied; its index is the old
 *   count. HF_E_LIMIT, HF_E_NOMEM: *map is as before. It may move. */
struct hf_slot_map *hf_slot_map_new(const struct hf_mem *mem) HF_MUST_CHECK;
void hf_slot_map_free(struct hf_slot_map *map);
hf_status hf_slot_map_add(struct hf_slot_map **map, const struct hf_node *node)
    HF_MUST_CHECK;

/* hf_slot_map_set - what a MOVED says: the slot is that node's. A node that is
 *   not known yet is added; one that was a replica or not online is a master,
 *   online, from now on. `host` is not "". HF_E_LIMIT also if it is longer than
 *   HF_HOST_MAX. As hf_slot_map_add otherwise. */
hf_status hf_slot_map_set(struct hf_slot_map **map, uint16_t slot,
                          const char *host, uint16_t port);

/* hf_node_is_target - can it be asked for its slots? A master, online, with a
 *   host and a port.
 * hf_slot_map_target - the node that serves a slot; NULL: none that is known.
 * hf_slot_map_covered - slots that have a target.
 * hf_slot_map_find - the first node at that place, online ones before others:
 *   its index, or HF_NO_NODE. Cost: in the nodes. */
bool hf_node_is_target(const struct hf_slot_map *map, uint16_t index);
const struct hf_node *hf_slot_map_target(const struct hf_slot_map *map,
                                         uint16_t slot);
uint32_t hf_slot_map_covered(const struct hf_slot_map *map);
uint16_t hf_slot_map_find(const struct hf_slot_map *map, const char *host,
                          uint16_t port);

/* hf_slot_map_is_equal - the same nodes, in whatever order, with the same
 *   slots. How new they are does not count.
 * hf_slot_map_is_better - is `fresh`, which came later, to replace `held`
 *   (NULL: there is none)? MAP-1, MAP-2. */
bool hf_slot_map_is_equal(const struct hf_slot_map *a,
                          const struct hf_slot_map *b);
bool hf_slot_map_is_better(const struct hf_slot_map *fresh,
                           const struct hf_slot_map *held);

/* hf_cluster_info_read - the reply to CLUSTER INFO: bulk or verbatim string.
 *   Unknown lines are skipped. false: it has no state or no epoch; *out is left
 *   alone. */
bool hf_cluster_info_read(struct hf_cluster_info *out,
                          struct hf_resp_value reply);

#endif
