/* When each sentinel of a run hears of the new master. */
#include <stdlib.h>

#include "tests/sim/model/sentinel.h"
#include "tests/sim/sentinels.h"
#include "tests/support/must.h"

#define AGAIN_US 100000 /* the pause before a message to a sentinel that cannot receive it now */

struct sentinels {
    struct member {
        struct server *server;
        struct sentinel *sentinel;
        const struct server *master;
        struct event news;
    } members[SENTINELS];
};

static void on_news(void *ctx)
{
    struct member *m = ctx;

    if (m->server->is_frozen || m->server->is_down) {
        world_after(m->server->sim->world, &m->news, AGAIN_US);
        return;
    }
    (void)server_turn(m->server);
    sentinel_tell(m->sentinel, m->master->ip, m->master->port);
    server_done(m->server);
}

struct sentinels *sentinels_new(struct server *const servers[SENTINELS],
                                const struct server *master)
{
    struct sentinels *group = must_alloc(sizeof *group);

    for (int i = 0; i < SENTINELS; i++) {
        struct member *m = &group->members[i];

        *m = (struct member){.server = servers[i], .master = master};
        m->news = (struct event){.happen = on_news, .ctx = m};
        m->sentinel = sentinel_new(servers[i]->model, SENTINEL_MASTER_NAME,
                                   master->ip, master->port);
        for (int k = 0; k < SENTINELS; k++)
            sentinel_meet(m->sentinel, servers[k]->model);
    }
    return group;
}

void sentinels_free(struct sentinels *group)
{
    for (int i = 0; group && i < SENTINELS; i++)
        sentinel_free(group->members[i].sentinel);
    free(group);
}

void sentinels_tell(struct sentinels *group, const struct server *master,
                    int64_t first_us, int64_t last_us)
{
    for (int i = 0; i < SENTINELS; i++) {
        struct member *m = &group->members[i];

        m->master = master;
        world_after(m->server->sim->world, &m->news,
                    first_us + (last_us - first_us) * i / (SENTINELS - 1));
    }
}
