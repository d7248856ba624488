/* The replies to CLUSTER SLOTS and CLUSTER SHARDS, read strictly: they decide
 * where passwords and locks are sent.
 *
 * Both are lists of entries, a range or a shard each, with nodes and slots. A
 * node is known by its id. */
/* Tests: tests/test_net_slot_map.c, tests/live/cluster/test_cluster_map.c. */
#include <assert.h>
#include <string.h>

#include "net/base/error.h"
#include "net/route/slot_map.h"

/* A power of two, so that most ids of HF_NODES_MAX have one of their own. */
#define NODE_BUCKETS 2048
static_assert(NODE_BUCKETS > HF_NODES_MAX, "a search ends at a free bucket");

struct map_reader {
    const struct hf_slot_map_source *source;
    const char *command;
    struct hf_slot_map *map;
    struct hf_error *err;
    uint32_t entry_number;                     /* that is being read, from 1 */
    uint32_t last_entry_of_node[HF_NODES_MAX]; /* node by index: the last entry */
    uint16_t node_buckets[NODE_BUCKETS];       /* index + 1 of a node; 0: free */
};

/* The status is a constant, so that the compiler knows which variables are set after
 * HF_OK. */
static hf_status fail_entry(const struct map_reader *r, const char *why)
{
    (void)hf_error_set(r->err, HF_E_PROTOCOL, "%s, entry %u: %s", r->command,
                       (unsigned)r->entry_number, why);
    return HF_E_PROTOCOL;
}

/* ---- values ---- */

static bool get_text(struct hf_resp_value v, struct hf_text *out)
{
    return !hf_resp_is_error(v) &&
           hf_resp_bytes(v, &out->ptr, &out->len) == HF_OK;
}

static bool get_field(struct hf_resp_value v, const char *key,
                      struct hf_resp_value *out)
{
    return hf_resp_map_get(v, key, strlen(key), out) == HF_OK;
}

static hf_status read_slot(const struct map_reader *r, struct hf_resp_value v,
                           uint16_t *out)
{
    int64_t n;

    if (hf_resp_integer(v, &n) < 0 || n < 0 || n >= HF_SLOTS)
        return fail_entry(r, "a slot is not a number from 0 to 16383");
    *out = (uint16_t)n;
    return HF_OK;
}

static hf_status read_port(const struct map_reader *r, struct hf_resp_value v,
                           uint16_t *out)
{
    int64_t n;

    if (hf_resp_integer(v, &n) < 0 || n < 1 || n > UINT16_MAX)
        return fail_entry(r, "a port is not a number from 1 to 65535");
    *out = (uint16_t)n;
    return HF_OK;
}

static bool is_printable_text(struct hf_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
            return false;
    return true;
}

static hf_status read_id(const struct map_reader *r, struct hf_resp_value v,
                         struct hf_node *node)
{
    struct hf_text id;

    if (!get_text(v, &id) || id.len == 0 || id.len > HF_NODE_ID_MAX ||
        !is_printable_text(id))
        return fail_entry(r, "a node has no valid id");
    memcpy(node->id, id.ptr, id.len);
    return HF_OK;
}

/* ---- hosts ---- */

/* In place of "?". A text that is not an address is not an error here: the server also
 * sends "?" there, or "" for itself. */
static void set_host_from_ip(struct hf_node *node, const struct hf_resp_value *ip)
{
    enum hf_host_kind ignored;
    struct hf_text text;

    if (ip && get_text(*ip, &text))
        (void)hf_host_read(node->host, &ignored, text);
}

/* Beside a name, for a client that cannot resolve it. */
static void set_ip_beside_name(struct hf_node *node, const struct hf_resp_value *ip)
{
    char host[HF_HOST_MAX + 1];
    enum hf_host_kind kind;
    struct hf_text text;

    if (ip && get_text(*ip, &text) && text.len < sizeof node->ip &&
        hf_host_read(host, &kind, text) && kind == HF_HOST_KNOWN &&
        strcmp(host, node->host) != 0)
        memcpy(node->ip, host, text.len + 1);
}

static hf_status read_host(const struct map_reader *r,
                           const struct hf_resp_value *endpoint,
                           const struct hf_resp_value *ip, struct hf_node *node)
{
    enum hf_host_kind kind = endpoint ? HF_HOST_SAME : HF_HOST_UNKNOWN;
    struct hf_text text;

    if (endpoint && !hf_resp_is_null(*endpoint) &&
        (!get_text(*endpoint, &text) ||
         !hf_host_read(node->host, &kind, text)))
        return fail_entry(r, "a host has no valid name");
    if (kind == HF_HOST_SAME && strlen(r->source->host) <= HF_HOST_MAX)
        (void)strcpy(node->host, r->source->host);
    if (kind == HF_HOST_UNKNOWN)
        set_host_from_ip(node, ip);
    if (kind == HF_HOST_KNOWN)
        set_ip_beside_name(node, ip);
    return HF_OK;
}

/* ---- nodes ---- */

/* Returns the index of the node with this id, or where it would be inserted. */
static uint16_t *bucket_of_node_id(struct map_reader *r, const char *id)
{
    size_t at = hf_slot_of(id, strlen(id)) % NODE_BUCKETS;

    while (r->node_buckets[at] &&
           strcmp(r->map->nodes[r->node_buckets[at] - 1].id, id) != 0)
        at = (at + 1) % NODE_BUCKETS;
    return &r->node_buckets[at];
}

static hf_status add_node(struct map_reader *r, const struct hf_node *node,
                          uint16_t *bucket)
{
    hf_status rc = hf_slot_map_add_node(&r->map, node);

    if (rc == HF_E_LIMIT)
        return hf_error_set(r->err, rc, "%s: more than %d nodes", r->command,
                            HF_NODES_MAX);
    if (rc < 0)
        return hf_error_set(r->err, rc, "no memory for the slot map");
    *bucket = (uint16_t)r->map->nodes_count;
    return HF_OK;
}

/* A node of this entry, which may have stood in earlier ones, but then as the
 * very same. `node->master_index`: HF_NO_NODE for itself. */
static hf_status add_or_check_node(struct map_reader *r, struct hf_node *node,
                                   uint16_t *index)
{
    uint16_t *bucket = bucket_of_node_id(r, node->id);
    bool is_new = *bucket == 0;
    const struct hf_node *known;
    hf_status rc = HF_OK;

    *index = is_new ? (uint16_t)r->map->nodes_count : (uint16_t)(*bucket - 1);
    if (node->master_index == HF_NO_NODE)
        node->master_index = *index;
    if (is_new && (rc = add_node(r, node, bucket)) < 0)
        return rc;
    known = &r->map->nodes[*index];
    if (r->last_entry_of_node[*index] == r->entry_number)
        return fail_entry(r, "a node appears twice");
    if (known->master_index != node->master_index || known->port != node->port ||
        strcmp(known->host, node->host) != 0)
        return fail_entry(r, "a node differs from an earlier entry");
    r->last_entry_of_node[*index] = r->entry_number;
    return HF_OK;
}

/* ---- slots ---- */

static hf_status assign_slot_range(struct map_reader *r, struct hf_resp_value first,
                                   struct hf_resp_value last, uint16_t owner)
{
    uint16_t from, to;
    hf_status rc;

    if ((rc = read_slot(r, first, &from)) < 0 ||
        (rc = read_slot(r, last, &to)) < 0)
        return rc;
    if (from > to)
        return fail_entry(r, "a range of slots ends before it begins");
    for (unsigned slot = from; slot <= to; slot++) {
        if (r->map->slot_owners[slot] != HF_NO_NODE)
            return fail_entry(r, "a slot is in two ranges");
        r->map->slot_owners[slot] = owner;
    }
    return HF_OK;
}

/* ---- CLUSTER SLOTS: first, last, its master, replicas ---- */

/* Endpoint, port, id and, since 7.0, a map with the rest. */
static hf_status read_slots_node(struct map_reader *r, struct hf_resp_value v,
                                 struct hf_node *node)
{
    struct hf_resp_value endpoint, port, id, more, ip;
    bool has_ip;
    hf_status rc;

    if (hf_resp_type(v) != HF_RESP_ARRAY ||
        hf_resp_element(v, 0, &endpoint) < 0 ||
        hf_resp_element(v, 1, &port) < 0 || hf_resp_element(v, 2, &id) < 0)
        return fail_entry(r, "a node is not endpoint, port and id");
    has_ip = hf_resp_element(v, 3, &more) == HF_OK && get_field(more, "ip", &ip);
    if ((rc = read_port(r, port, &node->port)) < 0 ||
        (rc = read_id(r, id, node)) < 0)
        return rc;
    return read_host(r, &endpoint, has_ip ? &ip : NULL, node);
}

static hf_status read_slots_entry(struct map_reader *r, struct hf_resp_value entry)
{
    struct hf_resp_iter nodes = hf_resp_children(entry);
    struct hf_resp_value first, last, v;
    uint16_t index, master = HF_NO_NODE;
    hf_status rc;

    if (hf_resp_type(entry) != HF_RESP_ARRAY || !hf_resp_next(&nodes, &first) ||
        !hf_resp_next(&nodes, &last))
        return fail_entry(r, "it is not a range of slots");
    while (hf_resp_next(&nodes, &v)) {
        struct hf_node node = {.master_index = master, .is_online = true};

        if ((rc = read_slots_node(r, v, &node)) < 0 ||
            (rc = add_or_check_node(r, &node, &index)) < 0)
            return rc;
        if (master == HF_NO_NODE)
            master = index;
    }
    if (master == HF_NO_NODE)
        return fail_entry(r, "a range of slots has no node");
    return assign_slot_range(r, first, last, master);
}

/* ---- CLUSTER SHARDS: a map of slots and nodes ---- */

/* A server may announce both ports; the one that is not used is also checked. */
static hf_status read_ports(const struct map_reader *r, struct hf_resp_value v,
                            struct hf_node *node)
{
    struct hf_resp_value port;
    uint16_t plain = 0, tls = 0;
    hf_status rc = HF_OK;

    if (get_field(v, "port", &port))
        rc = read_port(r, port, &plain);
    if (rc == HF_OK && get_field(v, "tls-port", &port))
        rc = read_port(r, port, &tls);
    if (rc == HF_OK && !plain && !tls)
        rc = fail_entry(r, "a node has no port");
    node->port = r->source->is_tls ? tls : plain;
    return rc;
}

static hf_status read_role(const struct map_reader *r, struct hf_resp_value v,
                           bool *is_master)
{
    struct hf_resp_value role;
    struct hf_text text;

    if (!get_field(v, "role", &role) || !get_text(role, &text))
        return fail_entry(r, "a node has no role");
    *is_master = hf_text_is(text, "master");
    return HF_OK;
}

static hf_status read_shards_node(struct map_reader *r, struct hf_resp_value v,
                                  struct hf_node *node)
{
    struct hf_resp_value id, endpoint, ip, health;
    bool has_endpoint = get_field(v, "endpoint", &endpoint);
    bool has_ip = get_field(v, "ip", &ip);
    hf_status rc;

    if (!get_field(v, "id", &id))
        return fail_entry(r, "a node has no id");
    node->is_online =
        !get_field(v, "health", &health) || hf_resp_is_text(health, "online", 6);
    if ((rc = read_id(r, id, node)) < 0 || (rc = read_ports(r, v, node)) < 0)
        return rc;
    return read_host(r, has_endpoint ? &endpoint : NULL, has_ip ? &ip : NULL,
                     node);
}

/* Of several masters that are online, the first is used: the node that replied has not
 * agreed with the others yet on the master (MAP-4 corrects this). */
static uint16_t choose_online_master(const struct map_reader *r, uint16_t a, uint16_t b)
{
    if (a == HF_NO_NODE)
        return b;
    return hf_node_is_usable_master(r->map, a) || !hf_node_is_usable_master(r->map, b) ? a
                                                                         : b;
}

static hf_status add_shards_node(struct map_reader *r, struct hf_resp_value v,
                                 uint16_t *master)
{
    struct hf_node node = {.master_index = HF_NO_NODE};
    uint32_t known = r->map->nodes_count;
    bool is_master = false; /* for compilers that do not see that it is set */
    uint16_t index;
    hf_status rc;

    if ((rc = read_role(r, v, &is_master)) < 0 ||
        (rc = read_shards_node(r, v, &node)) < 0 ||
        (rc = add_or_check_node(r, &node, &index)) < 0)
        return rc;
    if (r->map->nodes_count == known)
        return fail_entry(r, "a node is in two shards");
    if (is_master)
        *master = choose_online_master(r, *master, index);
    else
        r->map->nodes[index].master_index = HF_NO_NODE;
    return HF_OK;
}

static hf_status add_shards_nodes(struct map_reader *r, struct hf_resp_value nodes,
                                  uint16_t *master)
{
    struct hf_resp_iter it = hf_resp_children(nodes);
    uint32_t first = r->map->nodes_count;
    struct hf_resp_value v;
    hf_status rc;

    while (hf_resp_next(&it, &v))
        if ((rc = add_shards_node(r, v, master)) < 0)
            return rc;
    for (uint32_t i = first; i < r->map->nodes_count; i++)
        if (r->map->nodes[i].master_index == HF_NO_NODE)
            r->map->nodes[i].master_index = *master;
    return HF_OK;
}

static hf_status assign_shards_slots(struct map_reader *r, struct hf_resp_value slots,
                                     uint16_t master)
{
    struct hf_resp_iter it = hf_resp_children(slots);
    struct hf_resp_value first, last;
    hf_status rc;

    while (hf_resp_next(&it, &first)) {
        if (!hf_resp_next(&it, &last))
            return fail_entry(r, "the last range of slots has no end");
        if ((rc = assign_slot_range(r, first, last, master)) < 0)
            return rc;
    }
    return HF_OK;
}

static hf_status read_shards_entry(struct map_reader *r, struct hf_resp_value entry)
{
    struct hf_resp_value slots, nodes;
    uint16_t master = HF_NO_NODE;
    hf_status rc;

    if (!get_field(entry, "slots", &slots) || !get_field(entry, "nodes", &nodes) ||
        hf_resp_type(slots) != HF_RESP_ARRAY ||
        hf_resp_type(nodes) != HF_RESP_ARRAY)
        return fail_entry(r, "it is not a shard with slots and nodes");
    if (hf_resp_count(slots) > 0 && hf_resp_count(nodes) == 0)
        return fail_entry(r, "a range of slots has no node");
    if ((rc = add_shards_nodes(r, nodes, &master)) < 0)
        return rc;
    return assign_shards_slots(r, slots, master);
}

/* ---- all ---- */

static hf_status fail_not_an_array(const struct map_reader *r,
                                   struct hf_resp_value reply)
{
    struct hf_text text;
    char quoted[256];

    if (hf_resp_is_error(reply) &&
        hf_resp_bytes(reply, &text.ptr, &text.len) == HF_OK)
        return hf_error_set(
            r->err, HF_E_SERVER, "%s: %s", r->command,
            hf_error_quote(quoted, sizeof quoted, text.ptr, text.len));
    return hf_error_set(r->err, HF_E_PROTOCOL, "%s: the reply is not an array",
                        r->command);
}

static hf_status read_entries_with(struct map_reader *r, struct hf_resp_value reply,
                                   hf_status (*read)(struct map_reader *,
                                                     struct hf_resp_value))
{
    struct hf_resp_iter entries = hf_resp_children(reply);
    struct hf_resp_value entry;
    hf_status rc;

    if (hf_resp_type(reply) != HF_RESP_ARRAY)
        return fail_not_an_array(r, reply);
    while (hf_resp_next(&entries, &entry)) {
        r->entry_number++;
        if ((rc = read(r, entry)) < 0)
            return rc;
    }
    return HF_OK;
}

static hf_status read_map_with(struct hf_slot_map **out, struct map_reader *r,
                               struct hf_resp_value reply,
                               hf_status (*read)(struct map_reader *,
                                                 struct hf_resp_value))
{
    hf_status rc;

    r->map = hf_slot_map_new(r->source->mem);
    if (!r->map)
        return hf_error_set(r->err, HF_E_NOMEM, "no memory for the slot map");
    rc = read_entries_with(r, reply, read);
    if (rc == HF_OK)
        *out = r->map; /* last: a failure leaves *out alone */
    else
        hf_slot_map_free(r->map);
    return rc;
}

hf_status hf_slot_map_from_slots(struct hf_slot_map **out,
                                 const struct hf_slot_map_source *from,
                                 struct hf_resp_value reply,
                                 struct hf_error *err)
{
    struct map_reader r = {.source = from, .command = "CLUSTER SLOTS", .err = err};

    return read_map_with(out, &r, reply, read_slots_entry);
}

hf_status hf_slot_map_from_shards(struct hf_slot_map **out,
                                  const struct hf_slot_map_source *from,
                                  struct hf_resp_value reply,
                                  struct hf_error *err)
{
    struct map_reader r = {.source = from, .command = "CLUSTER SHARDS", .err = err};

    return read_map_with(out, &r, reply, read_shards_entry);
}
