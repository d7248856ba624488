/* Addresses in place of others: entries are kept as text and are read again at each
 * search. Maps are read seldom, and have few entries. */
/* Tests: tests/test_net_address_map.c, tests/live/server/test_nat.c. */
#include "net/base/address_map.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "net/base/mem.h"

static const char form[] = "write FROM=TO, each HOST or HOST:PORT, as in "
                           "10.0.0.5:7001=db1:17001";

struct hf_address_map *hf_address_map_new(void)
{
    struct hf_address_map *map = hf_mem_new(&hf_mem_libc, sizeof *map);

    if (map)
        map->references = 1;
    return map;
}

struct hf_address_map *hf_address_map_ref(struct hf_address_map *map)
{
    if (map)
        atomic_fetch_add(&map->references, 1);
    return map;
}

void hf_address_map_unref(struct hf_address_map *map)
{
    if (map && atomic_fetch_sub(&map->references, 1) == 1)
        hf_mem_free(&hf_mem_libc, map, sizeof *map);
}

/* ---- one side of an entry; port 0: none is given ---- */

static bool read_host(struct hf_endpoint *out, struct hf_text host)
{
    enum hf_host_kind kind;

    return hf_host_read(out->host, &kind, host) && kind == HF_HOST_KNOWN;
}

static bool read_port(struct hf_endpoint *out, struct hf_text port)
{
    uint32_t number;

    if (!hf_number_read(&number, port, UINT16_MAX) || number == 0)
        return false;
    out->port = (uint16_t)number;
    return true;
}

/* "[" address "]", with or without a port. */
static bool read_address_in_brackets(struct hf_endpoint *out, struct hf_text side)
{
    const char *end = memchr(side.ptr, ']', side.len);
    struct hf_text host, rest;

    if (!end)
        return false;
    host = (struct hf_text){side.ptr + 1, (size_t)(end - side.ptr) - 1};
    rest = (struct hf_text){end + 1, side.len - host.len - 2};
    if (!read_host(out, host) || !hf_host_is_ipv6(out->host))
        return false;
    return rest.len == 0 ||
           (rest.ptr[0] == ':' &&
            read_port(out, (struct hf_text){rest.ptr + 1, rest.len - 1}));
}

/* A host with more than one colon is an IPv6 address and has no port. */
static bool read_host_and_port(struct hf_endpoint *out, struct hf_text side)
{
    const char *colon = side.len ? memchr(side.ptr, ':', side.len) : NULL;
    size_t len;

    *out = (struct hf_endpoint){0};
    if (side.len && side.ptr[0] == '[')
        return read_address_in_brackets(out, side);
    if (!colon)
        return read_host(out, side);
    len = (size_t)(colon - side.ptr);
    if (memchr(colon + 1, ':', side.len - len - 1))
        return read_host(out, side);
    return read_host(out, (struct hf_text){side.ptr, len}) &&
           read_port(out, (struct hf_text){colon + 1, side.len - len - 1});
}

static bool read_map_entry(struct hf_endpoint *from, struct hf_endpoint *to,
                           struct hf_text entry)
{
    const char *sign = entry.len ? memchr(entry.ptr, '=', entry.len) : NULL;
    size_t len;

    if (!sign)
        return false;
    len = (size_t)(sign - entry.ptr);
    return read_host_and_port(from, (struct hf_text){entry.ptr, len}) &&
           read_host_and_port(to, (struct hf_text){sign + 1, entry.len - len - 1});
}

/* ---- searching ---- */

/* A zone is a part of the text, and is compared as such. */
static bool is_same_host(const char *a, const char *b)
{
    struct in6_addr x, y;

    if (inet_pton(AF_INET6, a, &x) == 1 && inet_pton(AF_INET6, b, &y) == 1)
        return memcmp(&x, &y, sizeof x) == 0;
    return strcasecmp(a, b) == 0;
}

/* The entry for exactly this host and port (0: every port). */
static bool find_map_entry(const struct hf_address_map *map, const struct hf_endpoint *at,
                           uint16_t port, struct hf_endpoint *to)
{
    struct hf_endpoint from;

    for (const char *p = map->text; *p; p += strlen(p) + 1)
        if (read_map_entry(&from, to, (struct hf_text){p, strlen(p)}) &&
            from.port == port && is_same_host(from.host, at->host))
            return true;
    return false;
}

static size_t map_text_len(const struct hf_address_map *map)
{
    const char *p = map->text;

    while (*p)
        p += strlen(p) + 1;
    return (size_t)(p - map->text);
}

const char *hf_address_map_add(struct hf_address_map *map, struct hf_text entry)
{
    size_t end = map_text_len(map);
    struct hf_endpoint from, to, other;

    if (!read_map_entry(&from, &to, entry))
        return form;
    if (find_map_entry(map, &from, from.port, &other))
        return "this address is mapped twice";
    if (entry.len + 2 > sizeof map->text - end)
        return "there are too many addresses to map";
    memcpy(map->text + end, entry.ptr, entry.len);
    map->text[end + entry.len] = '\0';
    return NULL;
}

bool hf_address_map_apply(const struct hf_address_map *map,
                          struct hf_endpoint *at)
{
    struct hf_endpoint to;

    if (!map || (!find_map_entry(map, at, at->port, &to) && !find_map_entry(map, at, 0, &to)))
        return false;
    if (to.port == 0)
        to.port = at->port;
    *at = to;
    return true;
}
