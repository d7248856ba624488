/* Which table, and what two of them share. */
/* Tests: tests/test_net_router_ends.c, tests/test_net_sentinel.c,
 *        tests/test_net_replicas.c. */
#include "net/route/topology.h"

#include <stdio.h>
#include <string.h>

#include "net/base/url.h"

const struct hf_topology *hf_topology_of(const struct hf_seeds *seeds)
{
    static const struct hf_topology *const all[] = {
        [HF_STANDALONE] = &hf_topology_standalone,
        [HF_CLUSTER] = &hf_topology_cluster,
        [HF_SENTINEL] = &hf_topology_sentinel,
        [HF_REPLICATED] = &hf_topology_replicas,
    };

    return all[seeds->topology];
}

void hf_seeds_describe(const struct hf_seeds *seeds, const char *prefix,
                       char *dst, size_t room)
{
    size_t len = (size_t)snprintf(dst, room, "%s", prefix);

    for (uint32_t i = 0; i < seeds->hosts_count && len < room; i++)
        len += (size_t)snprintf(dst + len, room - len, "%s%s:%u", i ? "," : " ",
                                seeds->hosts[i].host, seeds->hosts[i].port);
}

uint32_t hf_seeds_find(const struct hf_seeds *seeds, const char *host, uint16_t port)
{
    uint32_t i = 0;

    while (i < seeds->hosts_count &&
           (seeds->hosts[i].port != port || strcmp(seeds->hosts[i].host, host) != 0))
        i++;
    return i;
}
