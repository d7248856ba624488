/* Slot maps: which node of a cluster serves which slot, as one of its nodes reports it.
 * Pure. Private to net/.
 *
 * Request. The map is read by CLUSTER SLOTS, which a node builds from the table that it
 * uses for its own redirections. It contains the port for the kind of the connection
 * (plain or TLS), and no failed replicas. CLUSTER SHARDS contains more (health, both
 * ports); but since 7.2 a shard with a failed master may list two masters, and in
 * releases before August 2024 no slots (redis #13414, valkey #784). SHARDS is therefore
 * used only if the server does not have SLOTS.
 *
 * Age. Neither reply contains the age of the map. CLUSTER INFO, which is requested
 * before the map on the same connection, has
 *
 *   cluster_current_epoch   the greatest epoch that this node knows. Every failover
 *                           raises it; so does a slot that moves, unless it moves to
 *                           the node that has the greatest epoch already. All nodes
 *                           agree on it in the end
 *   cluster_my_epoch        the epoch of this node, or of its master; it says nothing
 *                           about other nodes
 *   cluster_state           ok; or fail: slots are uncovered, or this node does not
 *                           reach a majority of the masters (which it detects after
 *                           cluster-node-timeout)
 *
 * A map is at least as new as an epoch that was read before it.
 *
 * Rules
 * MAP-1  A map without any target replaces no other map. A node reports such a map after
 *        CLUSTER RESET, or before it has met other nodes.
 * MAP-2  The better one of two maps is in force: state ok before fail, so that the view
 *        of a minority does not replace a complete one; then the greater epoch; then
 *        the larger number of covered slots; then the later one.
 * MAP-3  A cluster that was reset, or another one at the same addresses, begins with
 *        epoch 0. If every known node and every seed has replied or failed, or has been
 *        silent for long (round.h, ROUND-3), and no map is as good as the one in force,
 *        the best of these maps replaces it (hf_slot_map_is_better with `held` NULL).
 * MAP-4  A MOVED comes from a node that knows more than the map. It is stored at once,
 *        and the refresh that follows queries the node that it names first. A MOVED
 *        that came during a refresh is stored again after it.
 * MAP-5  If any part of a reply is invalid, the whole reply is rejected, and the old
 *        map stays in force. A gap is valid; its slots have no target. */
#ifndef HF_SLOT_MAP_H
#define HF_SLOT_MAP_H

#include "net/base/endpoint.h"
#include "net/route/slot.h"

/* The maximum of the cluster specification. */
#define HF_NODES_MAX 1024
#define HF_NO_NODE UINT16_MAX

/* Ids of Redis and Valkey have 40 bytes. */
#define HF_NODE_ID_MAX 64

struct hf_node {
    char id[HF_NODE_ID_MAX + 1];    /* "": learned from MOVED */
    char host[HF_HOST_MAX + 1];     /* "": unknown */
    char ip[HF_IP_MAX];             /* of a host that is a name; "": unknown */
    uint16_t port;                  /* for TLS or plain, as requested; 0: none */
    uint16_t master_index;          /* the index of its master; its own index if it is a master;
                                       HF_NO_NODE: unknown */
    bool is_online;                 /* true if the reply does not contain it */
    bool was_address_mapped;        /* the server announced another address: ANNOUNCED-1 */
};

/* The fields of CLUSTER INFO by which two maps are compared. */
struct hf_cluster_info {
    bool is_ok;
    uint64_t current_epoch;
    uint64_t my_epoch;
    uint32_t known_nodes;
    uint32_t masters_with_slots;    /* masters with slots */
};

/* One block of memory. The index of a node is valid as long as the map, a pointer to a
 * node until the next hf_slot_map_set_slot. */
struct hf_slot_map {
    const struct hf_mem *mem;
    uint32_t nodes_capacity;             /* of nodes */
    uint32_t nodes_count;
    char sender_address[300];            /* the address of the node that sent it; "": unknown */
    struct hf_cluster_info cluster_info; /* is_ok and zeros, until the caller sets it */
    uint16_t slot_owners[HF_SLOTS];      /* index, or HF_NO_NODE */
    struct hf_node nodes[];
};

/* The node that the map comes from. */
struct hf_slot_map_source {
    const struct hf_mem *mem;       /* borrowed until hf_slot_map_free */
    const char *host;               /* replaces an empty host in the reply */
    bool is_tls;                    /* reads TLS ports from SHARDS; a node without
                                       one is not a target */
};

/* hf_slot_map_from_slots  - builds a map from the reply to CLUSTER SLOTS,
 * hf_slot_map_from_shards - to CLUSTER SHARDS, of RESP2 or RESP3. Keys may have any
 *   order; unknown keys are skipped. Free *out by hf_slot_map_free.
 *
 *   host  null, "", "0.0.0.0", "::"   becomes from->host
 *         "?"          becomes the node's ip if the reply contains it; else unknown
 *
 * HF_E_SERVER: an error reply. HF_E_PROTOCOL: an invalid reply (MAP-5): a slot or port
 * out of range, a start greater than its end, a slot or a node twice, an entry without
 * nodes, no id, an invalid host. HF_E_LIMIT: more than HF_NODES_MAX nodes. HF_E_NOMEM.
 * After an error *out is unchanged, and *err names the error and the entry.
 * Cost: linear in the reply and HF_SLOTS.
 * Source: CLUSTER SLOTS, CLUSTER SHARDS (redis.io, valkey.io). */
hf_status hf_slot_map_from_slots(struct hf_slot_map **out,
                                 const struct hf_slot_map_source *from,
                                 struct hf_resp_value reply,
                                 struct hf_error *err) HF_MUST_CHECK;
hf_status hf_slot_map_from_shards(struct hf_slot_map **out,
                                  const struct hf_slot_map_source *from,
                                  struct hf_resp_value reply,
                                  struct hf_error *err) HF_MUST_CHECK;

/* hf_slot_map_new  - creates a map without nodes. NULL: no memory.
 * hf_slot_map_free - frees a map; NULL is allowed.
 * hf_slot_map_of_one - creates a map whose only node serves all slots. NULL: no memory, or
 *   the host is too long.
 * hf_slot_map_add_node  - adds a copy of the node; its index is the old count. The map may
 *   move. HF_E_LIMIT, HF_E_NOMEM: *map is unchanged. */
struct hf_slot_map *hf_slot_map_new(const struct hf_mem *mem) HF_MUST_CHECK;
struct hf_slot_map *hf_slot_map_of_one(const struct hf_mem *mem, const char *host,
                                       uint16_t port) HF_MUST_CHECK;
void hf_slot_map_free(struct hf_slot_map *map);
hf_status hf_slot_map_add_node(struct hf_slot_map **map, const struct hf_node *node)
    HF_MUST_CHECK;

/* hf_slot_map_set_slot - stores a MOVED: the slot belongs to that node. An unknown node is
 *   added; a replica, or a node that was not online, becomes an online master. `host`
 *   must not be "". HF_E_LIMIT also if it is longer than HF_HOST_MAX; otherwise as
 *   hf_slot_map_add_node. */
hf_status hf_slot_map_set_slot(struct hf_slot_map **map, uint16_t slot,
                               const char *host, uint16_t port);

/* hf_node_is_usable_master - returns whether commands for its slots can be sent to it: it is an
 *   online master with a host and a port.
 * hf_slot_map_master_of_slot - returns the node that serves a slot; NULL: unknown.
 * hf_slot_map_count_covered - returns the number of slots that have a target.
 * hf_slot_map_find_node - returns the index of the first node at that address, preferably an
 *   online one, or HF_NO_NODE. Cost: linear in the nodes. */
bool hf_node_is_usable_master(const struct hf_slot_map *map, uint16_t index);
const struct hf_node *hf_slot_map_master_of_slot(const struct hf_slot_map *map,
                                                 uint16_t slot);
uint32_t hf_slot_map_count_covered(const struct hf_slot_map *map);
uint16_t hf_slot_map_find_node(const struct hf_slot_map *map, const char *host,
                               uint16_t port);

/* hf_slot_map_keep_ips - a node of `fresh` without an ip gets the one that `held` (NULL:
 *   no map) has for the same id at the same address. A node that does not know an ip yet
 *   takes away none.
 * hf_slot_map_is_equal - returns whether both maps have the same nodes, in any order, at
 *   the same addresses and ips, with the same slots. It ignores their age.
 * hf_slot_map_is_better - returns whether `fresh`, which came later, replaces `held` (NULL:
 *   there is no map). MAP-1, MAP-2.
 * hf_slot_map_is_as_new - returns whether neither map is newer by state or epoch (MAP-2). */
void hf_slot_map_keep_ips(struct hf_slot_map *fresh, const struct hf_slot_map *held);
bool hf_slot_map_is_equal(const struct hf_slot_map *a,
                          const struct hf_slot_map *b);
bool hf_slot_map_is_better(const struct hf_slot_map *fresh,
                           const struct hf_slot_map *held);
bool hf_slot_map_is_as_new(const struct hf_slot_map *fresh, const struct hf_slot_map *held);

/* hf_cluster_info_read - parses the reply to CLUSTER INFO, a bulk or verbatim string.
 *   Unknown lines are skipped. Returns false, and leaves *out unchanged, if the state or
 *   the epoch is missing. */
bool hf_cluster_info_read(struct hf_cluster_info *out,
                          struct hf_resp_value reply);

#endif
