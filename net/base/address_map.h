/* Addresses to use in place of others, as a user gives them, for servers behind NAT:
 * the URL's option map, --map. Private to net/ and cli/. */
#ifndef HF_ADDRESS_MAP_H
#define HF_ADDRESS_MAP_H

#include "net/base/endpoint.h"

/* Bytes of all entries: 60 entries of two long IPv6 addresses. */
#define HF_ADDRESS_MAP_MAX 6000

/* Entries as they were given, each with a NUL after it. All zeros: none. */
struct hf_address_map {
    char text[HF_ADDRESS_MAP_MAX];
};

/* hf_address_map_add - the entry FROM=TO, each of which is a host, or a host, ':' and
 *   a port; an IPv6 address has brackets before a port. FROM without a port is every
 *   port of that host, and TO without a port keeps the port.
 *   Returns NULL, or a constant that says what is wrong: then *map is unchanged.
 * hf_address_map_apply - replaces *at by what its entry says; an entry with its port
 *   is preferred. False: it has none. Host names are compared without case, and IPv6
 *   addresses by value. What is replaced is not looked up again. Pure, both. */
const char *hf_address_map_add(struct hf_address_map *map, struct hf_text entry)
    HF_MUST_CHECK;
bool hf_address_map_apply(const struct hf_address_map *map,
                          struct hf_endpoint *at);

#endif
