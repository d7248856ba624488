/* Addresses to use in place of others, as a user gives them, for servers behind NAT:
 * the URL's option map, --map. Private to net/ and cli/. */
#ifndef HF_ADDRESS_MAP_H
#define HF_ADDRESS_MAP_H

#include <stdatomic.h>

#include "net/base/endpoint.h"

/* Bytes of all entries: 60 entries of two long IPv6 addresses. */
#define HF_ADDRESS_MAP_MAX 6000

/* Entries as they were given, each with a NUL after it. All zeros: none. */
struct hf_address_map {
    char text[HF_ADDRESS_MAP_MAX];
    atomic_uint references;     /* to a map that hf_address_map_new made */
};

/* hf_address_map_new - returns a map without entries and with one reference; NULL: out
 *   of memory. Only a client with such entries needs the space.
 * hf_address_map_ref - adds a reference, and returns the map; takes NULL.
 * hf_address_map_unref - the last reference frees the map; takes NULL.
 * hf_address_map_add - the entry FROM=TO, each of which is a host, or a host, ':' and
 *   a port; an IPv6 address has brackets before a port. FROM without a port is every
 *   port of that host, and TO without a port keeps the port.
 *   Returns NULL, or a constant that says what is wrong: then *map is unchanged.
 * hf_address_map_apply - replaces *at by what its entry says; an entry with its port
 *   is preferred. False: it has none, or the map is NULL. Host names are compared without case, and IPv6
 *   addresses by value. What is replaced is not looked up again. Pure, both. */
struct hf_address_map *hf_address_map_new(void) HF_MUST_CHECK;
struct hf_address_map *hf_address_map_ref(struct hf_address_map *map);
void hf_address_map_unref(struct hf_address_map *map);
const char *hf_address_map_add(struct hf_address_map *map, struct hf_text entry)
    HF_MUST_CHECK;
bool hf_address_map_apply(const struct hf_address_map *map,
                          struct hf_endpoint *at);

#endif
