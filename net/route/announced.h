/* Addresses that servers announce, and where these servers are reached: NAT, a
 * container's network. Private to net/. [locked]
 *
 * ANNOUNCED-1  Each address in a slot map, a redirection or a reply of a sentinel is
 *              replaced as soon as it has been read: by options.map_address or, without
 *              it, by the URL's map. Addresses of the URL itself are not replaced.
 * ANNOUNCED-2  Nodes of a cluster may disagree about an address, because a node that has
 *              moved still announces the old one. Of two maps that are equally new (MAP-2),
 *              the better one has more slots at nodes that are not known to be
 *              unreachable. A map in force with such a node does not end a round: up to
 *              QUERIED_MAX (discover.c) servers are queried, others in the next round.
 * ANNOUNCED-3  A node is unreachable after an attempt to connect to it has failed, or after
 *              a command has waited for one (silence.c), until a connection to it is made.
 *              A failed connection for WAIT does not count while the other connection is
 *              up. The last HF_UNREACHED_MAX unreachable nodes are remembered.
 * ANNOUNCED-4  A node that redirects a slot to its own address, or refuses its commands because
 *              it is a replica or loading, does not serve this slot: for DENIAL_VALID_MS,
 *              ANNOUNCED-2 counts the slot as one at an unreachable node, unless the node serves it
 *              before. Of each node, the last DENIED_SLOTS_MAX such slots are remembered. Another
 *              map that names this node for the slot does not end a round either.
 * ANNOUNCED-5  A node that gets another address in a map keeps the former one as long as the
 *              connection to it is open and leads to the same process (run_id of INFO server)
 *              as when a map named this address: the new one may be unreachable from here. It
 *              does not if the map names another node at the former address, or if the
 *              process refused a slot (ANNOUNCED-4), replied CLUSTERDOWN, redirected a command to
 *              the new address (it is another node), or is silent, or if another connection to
 *              this address failed. */
#ifndef HF_ANNOUNCED_H
#define HF_ANNOUNCED_H

#include "net/base/endpoint.h"

struct hf_redirection;
struct hf_router;
struct hf_server;
struct hf_slot_map;

/* hf_announced_replace - replaces *at by the address at which the server is reached.
 * hf_announced_replace_in_map - does this for each node of a map that `from` sent.
 * hf_announced_replace_in_redirection - does this for a redirection that `from` sent; afterwards
 *   its host is KNOWN or UNKNOWN. */
void hf_announced_replace(const struct hf_router *router, struct hf_endpoint *at);
void hf_announced_replace_in_map(struct hf_server *from, struct hf_slot_map *map);
void hf_announced_replace_in_redirection(const struct hf_server *from, struct hf_redirection *r);

/* hf_announced_keep_former - gives nodes of a map their former addresses (ANNOUNCED-5).
 * hf_announced_note_processes - notes the processes of the servers that a correct map names.
 * hf_announced_forget_process - forgets the process, so that the former address is not kept.
 * hf_announced_note_moved - the server has replied MOVED: if it leads to the new address of the
 *   node whose former address is the server's, forgets the process.
 * hf_announced_note_denied - notes that the node does not serve this slot (ANNOUNCED-4).
 * hf_announced_note_served - notes that it does; called if server->has_denied_slots.
 * hf_announced_count_denied - returns the number of such slots of the map.
 * hf_announced_note_unreached - notes that an attempt to connect to this address failed.
 * hf_announced_note_reached - notes that a connection to this address was made.
 * hf_announced_fini - frees the addresses that were noted.
 * hf_announced_all_reachable - returns whether the map in force leads to reachable masters alone
 *   (DISCOVER-6); true if there is no map.
 * hf_announced_count_unreachable - returns the number of slots of the map at unreachable nodes. */
void hf_announced_keep_former(struct hf_router *router, struct hf_slot_map *map);
void hf_announced_note_processes(struct hf_router *router, const struct hf_slot_map *map);
uint32_t hf_announced_count_denied(const struct hf_router *router, const struct hf_slot_map *map);
void hf_announced_forget_process(struct hf_server *server);
void hf_announced_note_moved(struct hf_server *server, const struct hf_redirection *r);
void hf_announced_note_denied(struct hf_server *server, uint16_t slot);
void hf_announced_note_served(struct hf_server *server, uint16_t slot);
void hf_announced_note_unreached(struct hf_server *server);
void hf_announced_note_reached(struct hf_server *server);
void hf_announced_fini(struct hf_router *router);
bool hf_announced_all_reachable(const struct hf_router *router);
uint32_t hf_announced_count_unreachable(const struct hf_router *router,
                                        const struct hf_slot_map *map);

#endif
