/* Replaces addresses that servers announce by others, which the user gives (the option `map`
 * of the URL, --map), for servers behind NAT. Private to net/ and cli/. */
#ifndef HF_ADDRESS_MAP_H
#define HF_ADDRESS_MAP_H

#include <stdatomic.h>

#include "net/base/endpoint.h"

/* Bytes of all entries: 60 entries of two long IPv6 addresses. */
#define HF_ADDRESS_MAP_MAX 6000

/* The entries as they were given, each followed by a NUL. All zeros: no entry. */
struct hf_address_map {
    char text[HF_ADDRESS_MAP_MAX];
    atomic_uint references;     /* to a map that hf_address_map_new made */
};

/* hf_address_map_new - returns a map without entries, with one reference. NULL: no memory.
 *   Only a client with such entries needs the space. */
struct hf_address_map *hf_address_map_new(void) HF_MUST_CHECK;

/* hf_address_map_ref - adds a reference, and returns the map. NULL is allowed. */
struct hf_address_map *hf_address_map_ref(struct hf_address_map *map);

/* hf_address_map_unref - removes a reference; the last one frees the map. NULL is allowed. */
void hf_address_map_unref(struct hf_address_map *map);

/* hf_address_map_add - adds the entry FROM=TO. Each side is a host, or a host, ':' and a
 *   port; an IPv6 address before a port is in brackets. FROM without a port means every port
 *   of that host; TO without a port keeps the port. Pure.
 *   Returns NULL, or the error, a constant: then *map is unchanged. */
const char *hf_address_map_add(struct hf_address_map *map, struct hf_text entry)
    HF_MUST_CHECK;

/* hf_address_map_apply - replaces *at by the TO of its entry, once; an entry with the port is
 *   preferred. False: there is no entry, or the map is NULL. Host names are compared without
 *   case, IPv6 addresses by value. Pure. */
bool hf_address_map_apply(const struct hf_address_map *map,
                          struct hf_endpoint *at);

#endif
