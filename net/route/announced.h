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
 *              ASKED_MAX (discover.c) servers are queried, others in the next round.
 * ANNOUNCED-3  A node is unreachable after an attempt to connect to it has failed, or after
 *              a command has waited for one (silence.c), until a connection to it is made.
 *              A failed connection for WAIT does not count while the other connection is
 *              up. The last HF_UNREACHED_MAX unreachable nodes are remembered. */
#ifndef HF_ANNOUNCED_H
#define HF_ANNOUNCED_H

#include "net/base/endpoint.h"

struct hf_redirection;
struct hf_router;
struct hf_server;
struct hf_slot_map;

/* hf_announced     - replaces *at by the address at which the server is reached.
 * hf_announced_map - does this for each node of a map that `from` sent.
 * hf_announced_redirection - does this for a redirection that `from` sent; then its host is
 *   KNOWN or UNKNOWN. */
void hf_announced(const struct hf_router *router, struct hf_endpoint *at);
void hf_announced_map(struct hf_server *from, struct hf_slot_map *map);
void hf_announced_redirection(const struct hf_server *from, struct hf_redirection *r);

/* hf_announced_note_unreached - notes that an attempt to connect to this address failed.
 * hf_announced_note_reached - notes that a connection to this address was made.
 * hf_announced_count_lost - returns the number of slots of the map at unreachable nodes. */
void hf_announced_note_unreached(struct hf_server *server);
void hf_announced_note_reached(const struct hf_server *server);
uint32_t hf_announced_count_lost(const struct hf_router *router, const struct hf_slot_map *map);

#endif
