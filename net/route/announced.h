/* Addresses that servers announce, and where these servers are reached: NAT, a
 * container's network. Private to net/. [locked]
 *
 * ANNOUNCED-1  Each address in a slot map, a redirection or a reply of a sentinel is
 *              replaced as soon as it has been read: by options.map_address, or else
 *              by the URL's map. Addresses of the URL itself are not. */
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

#endif
