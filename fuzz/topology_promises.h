/* What must hold of what clusters and sentinels say, taken or refused. */
#ifndef FUZZ_TOPOLOGY_PROMISES_H
#define FUZZ_TOPOLOGY_PROMISES_H

#include <arpa/inet.h>
#include <string.h>

#include "net/base/mem.h"
#include "net/route/redirect.h"
#include "net/route/sentinel_words.h"
#include "net/route/slot_map.h"
#include "tests/support/must.h"

#define ASKED "asked"

/* ---- hosts: as the grammar has them, looked at without our own reader ---- */

static inline bool is_ipv6(const char *host)
{
    char address[HF_HOST_MAX + 1];
    struct in6_addr ignored;

    (void)strcpy(address, host);
    address[strcspn(address, "%")] = '\0';
    return inet_pton(AF_INET6, address, &ignored) == 1;
}

static inline bool is_host(const char *host)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789.-_";
    size_t len = strspn(host, letters);

    return host[0] && (!host[len] || is_ipv6(host));
}

/* ---- texts: written again, they are what they were ---- */

static inline void must_be_redirection_or_none(const char *text, size_t len)
{
    char again[HF_HOST_MAX + 32];
    struct hf_redirection r;
    size_t n;

    if (!hf_redirection_parse(&r, text, len))
        return;
    n = (size_t)sprintf(again, "%s %u %s:%u",
                        r.kind == HF_MOVED ? "MOVED" : "ASK", (unsigned)r.slot,
                        r.host_kind == HF_HOST_UNKNOWN ? "?" : r.host,
                        (unsigned)r.port);
    must(r.slot < HF_SLOTS && r.port > 0);
    must(r.host_kind == HF_HOST_KNOWN ? is_host(r.host) : !r.host[0]);
    must(n <= len && memcmp(text, again, n) == 0);
    must(n == len || text[n] == ' ');
}

static inline void must_be_switch_or_none(const char *text, size_t len)
{
    char again[2 * (HF_HOST_MAX + 16)];
    struct hf_switch_master s;
    size_t n;

    if (!hf_switch_master_read(&s, (struct hf_text){text, len}))
        return;
    n = (size_t)sprintf(again, " %s %u %s %u", s.old_master.host,
                        (unsigned)s.old_master.port, s.new_master.host,
                        (unsigned)s.new_master.port);
    must(s.master_name.ptr == text && s.master_name.len > 0 && s.master_name.len + n == len);
    must(memcmp(text + s.master_name.len, again, n) == 0);
    must(s.old_master.port > 0 && s.new_master.port > 0);
    must(is_host(s.old_master.host) && is_host(s.new_master.host));
}

/* ---- maps ---- */

static inline void must_be_node(const struct hf_slot_map *map, uint16_t index)
{
    const struct hf_node *node = &map->nodes[index];

    must(memchr(node->id, '\0', sizeof node->id) && node->id[0]);
    must(memchr(node->host, '\0', sizeof node->host) != NULL);
    must(!node->host[0] || is_host(node->host));
    must(node->master_index == HF_NO_NODE ||
         (node->master_index < map->nodes_count &&
          map->nodes[node->master_index].master_index == node->master_index));
    for (uint16_t i = 0; i < index; i++)
        must(strcmp(map->nodes[i].id, node->id) != 0);
}

static inline void must_be_whole(const struct hf_slot_map *map)
{
    must(map->nodes_count <= map->nodes_capacity && map->nodes_capacity <= HF_NODES_MAX);
    for (uint16_t i = 0; i < map->nodes_count; i++)
        must_be_node(map, i);
    for (unsigned slot = 0; slot < HF_SLOTS; slot++)
        must(map->slot_owners[slot] == HF_NO_NODE || map->slot_owners[slot] < map->nodes_count);
    must(hf_slot_map_is_equal(map, map));
    must(hf_slot_map_is_better(map, NULL) == (hf_slot_map_count_covered(map) > 0));
}

static inline struct hf_resp_value element(struct hf_resp_value v, size_t index)
{
    struct hf_resp_value out;

    must(hf_resp_element(v, index, &out) == HF_OK);
    return out;
}

static inline int64_t integer(struct hf_resp_value v)
{
    int64_t n;

    must(hf_resp_integer(v, &n) == HF_OK);
    return n;
}

/* A node as an entry has it, beside the map's. */
static inline void must_be_node_of(const struct hf_slot_map *map,
                                   struct hf_resp_value v, bool is_first)
{
    struct hf_resp_value endpoint = element(v, 0), id = element(v, 2);
    const struct hf_node *node = map->nodes;
    const char *text;
    size_t len;

    while (!hf_resp_is_text(id, node->id, strlen(node->id))) {
        node++;
        must(node < map->nodes + map->nodes_count);
    }
    must(node->port == integer(element(v, 1)));
    must(is_first == (node->master_index == node - map->nodes));
    if (hf_resp_bytes(endpoint, &text, &len) == HF_OK && len > 0 &&
        !hf_resp_is_text(endpoint, "?", 1))
        must(hf_resp_is_text(endpoint, node->host, strlen(node->host)));
}

static inline void must_be_nodes_of(const struct hf_slot_map *map,
                                    struct hf_resp_value entry)
{
    size_t count = hf_resp_count(entry);

    must(count > 2);
    for (size_t i = 2; i < count; i++) {
        const char *id;
        size_t len;

        must_be_node_of(map, element(entry, i), i == 2);
        must(hf_resp_bytes(element(element(entry, i), 2), &id, &len) == HF_OK);
        for (size_t j = 2; j < i; j++)
            must(!hf_resp_is_text(element(element(entry, j), 2), id, len));
    }
}

/* The reply to CLUSTER SLOTS, read once more and slowly: every slot of every
 * entry is its first node's, and no other's. */
static inline void must_say_so(const struct hf_slot_map *map,
                               struct hf_resp_value reply)
{
    bool is_said[HF_SLOTS] = {false};

    for (size_t i = 0; i < hf_resp_count(reply); i++) {
        struct hf_resp_value entry = element(reply, i);
        int64_t first = integer(element(entry, 0));
        int64_t last = integer(element(entry, 1));
        struct hf_resp_value id = element(element(entry, 2), 2);

        must(0 <= first && first <= last && last < HF_SLOTS);
        must_be_nodes_of(map, entry);
        for (; first <= last; first++) {
            const char *owner = map->nodes[map->slot_owners[first]].id;

            must(!is_said[first]);
            is_said[first] = true;
            must(hf_resp_is_text(id, owner, strlen(owner)));
        }
    }
    for (unsigned slot = 0; slot < HF_SLOTS; slot++)
        must(is_said[slot] == (map->slot_owners[slot] != HF_NO_NODE));
}

/* One MOVED is learned; all else stays. */
static inline void must_learn(struct hf_slot_map **map)
{
    uint32_t count = (*map)->nodes_count;
    uint16_t next = (*map)->slot_owners[8];
    hf_status rc = hf_slot_map_set_slot(map, 7, "learned.example", 7);

    must(rc == HF_OK || (rc == HF_E_LIMIT && count == HF_NODES_MAX));
    if (rc < 0)
        return;
    must((*map)->nodes_count <= count + 1 && (*map)->slot_owners[8] == next);
    must(strcmp(hf_slot_map_master_of_slot(*map, 7)->host, "learned.example") == 0);
}

static inline void must_be_error(hf_status rc, const struct hf_error *err)
{
    must(rc < 0 && err->status == rc && err->text[0]);
    for (const char *p = err->text; *p; p++)
        must((unsigned char)*p >= ' ' && *p != 127);
}

static inline void must_be_map_or_none(
    hf_status (*read)(struct hf_slot_map **, const struct hf_slot_map_source *,
                      struct hf_resp_value, struct hf_error *),
    struct hf_resp_value reply, bool is_tls, bool is_slots)
{
    const struct hf_slot_map_source from = {&hf_mem_libc, ASKED, is_tls};
    struct hf_slot_map *map = NULL;
    struct hf_error err = {0};
    hf_status rc = read(&map, &from, reply, &err);

    must((rc == HF_OK) == (map != NULL));
    if (rc < 0) {
        must_be_error(rc, &err);
        return;
    }
    must_be_whole(map);
    if (is_slots)
        must_say_so(map, reply);
    must_learn(&map);
    hf_slot_map_free(map);
}

/* ---- the other replies ---- */

static inline void must_be_address(const struct hf_endpoint *a)
{
    must(a->port > 0 && is_host(a->host));
}

static inline void must_be_master_or_none(struct hf_resp_value reply)
{
    struct hf_error err = {0};
    struct hf_endpoint a;
    hf_status rc = hf_sentinel_master_read(&a, reply, &err);

    if (rc == HF_OK)
        must_be_address(&a);
    else
        must_be_error(rc, &err);
}

static inline void must_be_list_or_none(struct hf_resp_value reply)
{
    struct hf_sentinel_list list;
    struct hf_error err = {0};
    hf_status rc = hf_sentinel_list_read(&list, reply, &err);

    if (rc < 0) {
        must_be_error(rc, &err);
        return;
    }
    must(list.count <= HF_SENTINELS_MAX);
    for (uint32_t i = 0; i < list.count; i++) {
        must_be_address(&list.sentinels[i]);
        for (uint32_t j = 0; j < i; j++)
            must(!hf_endpoint_is_equal(&list.sentinels[i], &list.sentinels[j]));
    }
}

static inline void must_be_role_or_none(struct hf_resp_value reply)
{
    struct hf_error err = {0};
    struct hf_role role;
    hf_status rc = hf_role_read(&role, reply, &err);

    if (rc < 0)
        must_be_error(rc, &err);
    else if (role.kind == HF_ROLE_REPLICA)
        must_be_address(&role.master);
    else
        must(!role.has_data_of_master && !role.master.host[0]);
}

static inline void must_be_words_or_none(struct hf_resp_value reply)
{
    struct hf_cluster_info info;
    struct hf_redirection r;

    must_be_master_or_none(reply);
    must_be_list_or_none(reply);
    must_be_role_or_none(reply);
    if (hf_redirection_read(&r, reply))
        must(hf_resp_is_error(reply));
    if (hf_cluster_info_read(&info, reply))
        must(!hf_resp_is_error(reply));
}

#endif
