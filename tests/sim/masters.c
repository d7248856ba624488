/* Many masters in one world. */
#include "tests/sim/masters.h"

#include <string.h>

#include "tests/support/must.h"

#define REPLICA_LAG_US 200

static void published(void *ctx, struct model *from, struct model_text channel,
                      struct model_text payload, bool is_shard)
{
    (void)ctx, (void)from, (void)channel, (void)payload, (void)is_shard;
}

static int owner_of(const struct masters *m, unsigned slot, bool is_scattered)
{
    return (int)(is_scattered ? slot % (unsigned)m->count
                              : slot * (unsigned)m->count / MODEL_SLOTS);
}

static void learn_all(struct masters *m)
{
    for (int i = 0; i <= m->count; i++)
        if (!m->servers[i]->is_down) {
            (void)server_turn(m->servers[i]);
            model_cluster_learn(m->nodes[i]);
            server_done(m->servers[i]);
        }
}

/* The first master and its replica are of the site, where a feed looks for its ends. */
static struct server *server_number(struct masters *m, int i)
{
    struct harness *h = m->harness;

    if (i == 0 || i == m->count)
        return h->site.servers[i > 0];
    return server_new(&h->sim, i + 2);
}

void masters_begin(struct masters *m, struct harness *harness, int count, bool is_scattered)
{
    must(count >= 1 && count <= MASTERS_MAX);
    harness_begin(harness, 1, "masters", 2);
    *m = (struct masters){.harness = harness, .count = count};
    m->cluster = model_cluster_new(published, NULL);
    for (int i = 0; i <= count; i++) {
        m->servers[i] = server_number(m, i);
        m->nodes[i] = model_cluster_join(m->cluster, m->servers[i]->model,
                                         i < count ? NULL : m->nodes[0]);
    }
    for (unsigned slot = 0; slot < MODEL_SLOTS; slot++) {
        m->first_owner[slot] = (uint16_t)owner_of(m, slot, is_scattered);
        model_cluster_assign(m->cluster, slot, slot, m->nodes[m->first_owner[slot]]);
    }
    server_follow(m->servers[count], m->servers[0], REPLICA_LAG_US);
    learn_all(m);
}

void masters_end(struct masters *m)
{
    server_unfollow(m->servers[m->count]);
    for (int i = 1; i < m->count; i++)
        server_free(m->servers[i]);
    harness_end(m->harness);
    model_cluster_free(m->cluster);
}

const char *masters_url(void)
{
    return "redis+cluster://10.0.0.3:6379,10.0.0.1:6379";
}

int masters_of(const struct masters *m, const char *key)
{
    return m->first_owner[model_cluster_slot(key, strlen(key))];
}

void masters_promote(struct masters *m)
{
    struct server *s = m->servers[m->count];

    server_unfollow(s);
    model_promote(server_turn(s));
    server_done(s);
    model_cluster_promote(m->nodes[m->count]);
    learn_all(m);
}
