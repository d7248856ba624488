/* Slot maps: nodes by index, and for each slot the index of its node. */
/* Tests: tests/test_net_slot_map.c. */
#include "net/route/slot_map.h"

#include <string.h>

#include "net/base/mem.h"

/* Most clusters fit. */
#define FIRST_CAPACITY 16

/* Slots that one memcmp compares. */
#define SLOTS_COMPARED_AT_ONCE 64

/* ---- memory ---- */

static size_t map_size_in_bytes(uint32_t room)
{
    return offsetof(struct hf_slot_map, nodes) + room * sizeof(struct hf_node);
}

struct hf_slot_map *hf_slot_map_new(const struct hf_mem *mem)
{
    struct hf_slot_map *map = hf_mem_new(mem, map_size_in_bytes(FIRST_CAPACITY));

    if (!map)
        return NULL;
    map->mem = mem;
    map->nodes_capacity = FIRST_CAPACITY;
    map->cluster_info.is_ok = true;
    for (unsigned slot = 0; slot < HF_SLOTS; slot++)
        map->slot_owners[slot] = HF_NO_NODE;
    return map;
}

void hf_slot_map_free(struct hf_slot_map *map)
{
    if (map)
        hf_mem_free(map->mem, map, map_size_in_bytes(map->nodes_capacity));
}

static hf_status grow_nodes(struct hf_slot_map **map)
{
    const struct hf_mem *mem = (*map)->mem;
    uint32_t old = (*map)->nodes_capacity, room = 2 * old;
    struct hf_slot_map *grown;

    if (old == HF_NODES_MAX)
        return HF_E_LIMIT;
    if (room > HF_NODES_MAX)
        room = HF_NODES_MAX;
    grown = mem->resize(mem->ctx, *map, map_size_in_bytes(old), map_size_in_bytes(room));
    if (!grown)
        return HF_E_NOMEM;
    grown->nodes_capacity = room;
    *map = grown;
    return HF_OK;
}

hf_status hf_slot_map_add_node(struct hf_slot_map **map, const struct hf_node *node)
{
    hf_status rc = HF_OK;

    if ((*map)->nodes_count == (*map)->nodes_capacity)
        rc = grow_nodes(map);
    if (rc == HF_OK)
        (*map)->nodes[(*map)->nodes_count++] = *node;
    return rc;
}

struct hf_slot_map *hf_slot_map_of_one(const struct hf_mem *mem, const char *host,
                                       uint16_t port)
{
    struct hf_slot_map *map = hf_slot_map_new(mem);
    struct hf_node node = {.port = port, .master_index = 0, .is_online = true};

    if (!map)
        return NULL;
    if (strlen(host) >= sizeof node.host) {
        hf_slot_map_free(map);
        return NULL;
    }
    (void)strcpy(node.host, host);
    if (hf_slot_map_add_node(&map, &node) < 0) {
        hf_slot_map_free(map);
        return NULL;
    }
    memset(map->slot_owners, 0, sizeof map->slot_owners);
    return map;
}

/* ---- learning ---- */

static hf_status find_or_add_node(struct hf_slot_map **map, const char *host,
                                  uint16_t port, uint16_t *index)
{
    struct hf_node node = {.port = port};

    *index = hf_slot_map_find_node(*map, host, port);
    if (*index != HF_NO_NODE)
        return HF_OK;
    if (strlen(host) > HF_HOST_MAX)
        return HF_E_LIMIT;
    *index = (uint16_t)(*map)->nodes_count;
    (void)strcpy(node.host, host);
    return hf_slot_map_add_node(map, &node);
}

hf_status hf_slot_map_set_slot(struct hf_slot_map **map, uint16_t slot,
                               const char *host, uint16_t port)
{
    uint16_t index;
    hf_status rc = find_or_add_node(map, host, port, &index);

    if (rc < 0)
        return rc;
    (*map)->nodes[index].master_index = index;
    (*map)->nodes[index].is_online = true;
    (*map)->slot_owners[slot] = index;
    return HF_OK;
}

/* ---- looking up ---- */

bool hf_node_is_usable_master(const struct hf_slot_map *map, uint16_t index)
{
    const struct hf_node *node = &map->nodes[index];

    return node->master_index == index && node->is_online && node->host[0] &&
           node->port;
}

const struct hf_node *hf_slot_map_master_of_slot(const struct hf_slot_map *map,
                                                 uint16_t slot)
{
    uint16_t index = map->slot_owners[slot];

    if (index == HF_NO_NODE || !hf_node_is_usable_master(map, index))
        return NULL;
    return &map->nodes[index];
}

/* The slot after the run of one node that begins at `slot`. Runs are mostly long: a
 * stretch that equals itself one slot earlier continues the run. */
static unsigned end_of_slot_run(const struct hf_slot_map *map, unsigned slot)
{
    const uint16_t *owner = map->slot_owners;

    slot++;
    while (slot + SLOTS_COMPARED_AT_ONCE <= HF_SLOTS &&
           memcmp(owner + slot, owner + slot - 1, SLOTS_COMPARED_AT_ONCE * sizeof *owner) == 0)
        slot += SLOTS_COMPARED_AT_ONCE;
    while (slot < HF_SLOTS && owner[slot] == owner[slot - 1])
        slot++;
    return slot;
}

/* A node is looked at once for each of its runs. */
uint32_t hf_slot_map_count_covered(const struct hf_slot_map *map)
{
    uint32_t covered = 0;

    for (unsigned first = 0, end; first < HF_SLOTS; first = end) {
        end = end_of_slot_run(map, first);
        if (hf_slot_map_master_of_slot(map, (uint16_t)first))
            covered += end - first;
    }
    return covered;
}

/* While a node is replaced by another at its place, both may be listed. */
uint16_t hf_slot_map_find_node(const struct hf_slot_map *map, const char *host,
                               uint16_t port)
{
    uint16_t found = HF_NO_NODE;

    for (uint16_t i = 0; i < map->nodes_count; i++) {
        const struct hf_node *node = &map->nodes[i];

        if (node->port != port || strcmp(node->host, host) != 0)
            continue;
        if (node->is_online)
            return i;
        if (found == HF_NO_NODE)
            found = i;
    }
    return found;
}

/* ---- comparing ---- */

static bool is_same_address(const struct hf_node *a, const struct hf_node *b)
{
    return a->port == b->port && strcmp(a->id, b->id) == 0 &&
           strcmp(a->host, b->host) == 0;
}

static bool is_same_node(const struct hf_node *a, const struct hf_node *b)
{
    return is_same_address(a, b) && a->is_online == b->is_online &&
           strcmp(a->ip, b->ip) == 0;
}

static const struct hf_node *node_at(const struct hf_slot_map *map, uint16_t index,
                                     const struct hf_node *like)
{
    if (index < map->nodes_count && is_same_address(&map->nodes[index], like))
        return &map->nodes[index];
    for (uint16_t i = 0; i < map->nodes_count; i++)
        if (is_same_address(&map->nodes[i], like))
            return &map->nodes[i];
    return NULL;
}

void hf_slot_map_keep_ips(struct hf_slot_map *fresh, const struct hf_slot_map *held)
{
    for (uint16_t i = 0; held && i < fresh->nodes_count; i++) {
        struct hf_node *node = &fresh->nodes[i];
        const struct hf_node *known = node->ip[0] ? NULL : node_at(held, i, node);

        if (known)
            memcpy(node->ip, known->ip, sizeof node->ip);
    }
}

/* Node `index` of `a` is which one of `b`? Mostly the one at the same place. */
static uint16_t same_node_in_other_map(const struct hf_slot_map *a, uint16_t index,
                                       const struct hf_slot_map *b)
{
    const struct hf_node *node = &a->nodes[index];

    if (is_same_node(node, &b->nodes[index]))
        return index;
    for (uint16_t i = 0; i < b->nodes_count; i++)
        if (is_same_node(node, &b->nodes[i]))
            return i;
    return HF_NO_NODE;
}

static uint16_t same_node_or_none(const uint16_t *twins, uint16_t index)
{
    return index == HF_NO_NODE ? HF_NO_NODE : twins[index];
}

bool hf_slot_map_is_equal(const struct hf_slot_map *a,
                          const struct hf_slot_map *b)
{
    uint16_t twins[HF_NODES_MAX];

    if (a->nodes_count != b->nodes_count)
        return false;
    for (uint16_t i = 0; i < a->nodes_count; i++)
        if ((twins[i] = same_node_in_other_map(a, i, b)) == HF_NO_NODE)
            return false;
    for (uint16_t i = 0; i < a->nodes_count; i++)
        if (same_node_or_none(twins, a->nodes[i].master_index) !=
            b->nodes[twins[i]].master_index)
            return false;
    for (unsigned slot = 0, end; slot < HF_SLOTS; slot = end) {
        end = end_of_slot_run(a, slot);
        if (same_node_or_none(twins, a->slot_owners[slot]) != b->slot_owners[slot] ||
            end_of_slot_run(b, slot) < end)
            return false;
    }
    return true;
}

bool hf_slot_map_is_as_new(const struct hf_slot_map *fresh, const struct hf_slot_map *held)
{
    return held && hf_slot_map_count_covered(fresh) > 0 &&
           fresh->cluster_info.is_ok == held->cluster_info.is_ok &&
           fresh->cluster_info.current_epoch == held->cluster_info.current_epoch;
}

bool hf_slot_map_is_better(const struct hf_slot_map *fresh,
                           const struct hf_slot_map *held)
{
    uint32_t covered = hf_slot_map_count_covered(fresh);

    if (covered == 0 || !held)
        return covered > 0; /* MAP-1 */
    if (fresh->cluster_info.is_ok != held->cluster_info.is_ok) /* MAP-2 */
        return fresh->cluster_info.is_ok;
    if (fresh->cluster_info.current_epoch != held->cluster_info.current_epoch)
        return fresh->cluster_info.current_epoch > held->cluster_info.current_epoch;
    return covered >= hf_slot_map_count_covered(held);
}
