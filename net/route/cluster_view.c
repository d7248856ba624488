/* A slot map, to be looked at from above. See slot_map.h. */
/* Tests: tests/test_net_slot_map.c, tests/live/cli/test_doctor.c. */
#include "net/route/cluster_view.h"

#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/net.h"
#include "net/route/slot_map.h"

struct hf_cluster_view {
    const struct hf_mem *mem;
    struct hf_slot_map *map;
};

hf_status hf_cluster_view_read(struct hf_cluster_view **out,
                               const struct hf_mem *mem, const char *host,
                               bool is_tls, struct hf_resp_value reply,
                               struct hf_error *err)
{
    struct hf_slot_map_source from = {
        .mem = mem, .host = host, .is_tls = is_tls};
    struct hf_cluster_view *view = hf_mem_new(mem, sizeof *view);
    hf_status rc;

    if (!view)
        return hf_error_set(err, HF_E_NOMEM, "out of memory");
    view->mem = mem;
    rc = hf_slot_map_from_slots(&view->map, &from, reply, err);
    if (rc < 0)
        hf_cluster_view_free(view);
    else
        *out = view; /* last: a failure leaves *out alone */
    return rc;
}

void hf_cluster_view_free(struct hf_cluster_view *view)
{
    if (!view)
        return;
    hf_slot_map_free(view->map);
    hf_mem_free(view->mem, view, sizeof *view);
}

uint32_t hf_cluster_view_count(const struct hf_cluster_view *view)
{
    return view->map->nodes_count;
}

struct hf_cluster_node hf_cluster_view_node(const struct hf_cluster_view *view,
                                            uint32_t index)
{
    const struct hf_slot_map *map = view->map;
    const struct hf_node *node = &map->nodes[index];
    bool is_replica = node->master_index != index && node->master_index != HF_NO_NODE;

    return (struct hf_cluster_node){
        .id = node->id,
        .host = node->host,
        .port = node->port,
        .master = is_replica ? map->nodes[node->master_index].id : NULL,
    };
}

int hf_cluster_view_owner(const struct hf_cluster_view *view, uint16_t slot)
{
    uint16_t owner = view->map->slot_owners[slot];

    return owner == HF_NO_NODE ? -1 : owner;
}
