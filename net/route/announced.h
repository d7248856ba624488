/* Addresses that servers announce, and where these servers are reached: NAT, a
 * container's network. Private to net/. [locked]
 *
 * ANNOUNCED-1  Each address in a slot map, a redirection or a reply of a sentinel is
 *              replaced as soon as it has been read: by options.map_address, or else
 *              by the URL's map. Addresses of the URL itself are not.
 * ANNOUNCED-2  Nodes of a cluster may disagree about an address, for one that has
 *              moved announces the old one. Of two maps that are equally new (MAP-2),
 *              the better one is that with more slots at nodes that are not known to be
 *              unreachable. A map in force with such a node ends no round: up to
 *              ASKED_MAX (discover.c) servers are asked.
 * ANNOUNCED-3  A node is unreachable from a failed attempt to connect to it, or from
 *              when a command has waited for one (silence.c), until a connection to it
 *              is made. A failed connection for WAIT says nothing while the other
 *              connection is up. The last HF_UNREACHED_MAX of them are remembered. */
#ifndef HF_ANNOUNCED_H
#define HF_ANNOUNCED_H

#include "net/base/endpoint.h"

struct hf_redirection;
struct hf_router;
struct hf_server;
struct hf_slot_map;

/* hf_announced - *at becomes the address at which to reach the server.
 * hf_announced_map - the same for each node of a map that `from` sent.
 * hf_announced_redirection - the same for a redirection that `from` sent; afterwards
 *   its host is KNOWN, or UNKNOWN. */
void hf_announced(const struct hf_router *router, struct hf_endpoint *at);
void hf_announced_map(struct hf_server *from, struct hf_slot_map *map);
void hf_announced_redirection(const struct hf_server *from, struct hf_redirection *r);

/* hf_announced_unreached - an attempt to connect to it failed.
 * hf_announced_reached - it is connected.
 * hf_announced_lost - how many slots of the map are at nodes that cannot. */
void hf_announced_unreached(struct hf_server *server);
void hf_announced_reached(const struct hf_server *server);
uint32_t hf_announced_lost(const struct hf_router *router, const struct hf_slot_map *map);

#endif
