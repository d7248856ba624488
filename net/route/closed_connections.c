/* Connections of links that were freed. See closed_connections.h. */
/* Tests: tests/sim/test_seeds.c. */
#include "net/route/closed_connections.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/mem.h"

struct closed_connection {
    struct hf_list node;          /* in router->closed_connections, the oldest first */
    struct hf_predecessor predecessor;
    size_t size;                  /* of this memory */
    uint16_t port;
    bool is_wait_link;
    char host[];
};

static void forget_closed_connection(struct hf_router *router, struct closed_connection *d)
{
    hf_list_remove(&d->node);
    router->closed_connections_count--;
    hf_mem_free(router->mem, d, d->size);
}

static void forget_oldest_closed_connection(struct hf_router *router)
{
    forget_closed_connection(
        router, HF_OWNER_OF(router->closed_connections.next, struct closed_connection, node));
}

void hf_closed_connection_note(struct hf_router *router,
                               const struct hf_closed_connection_key *place,
                               const struct hf_link *link)
{
    size_t len = strlen(place->host);
    struct closed_connection *d;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (!link || hf_link_predecessor(link)->client_id == 0)
        return;
    d = hf_mem_new(router->mem, sizeof *d + len + 1);
    if (!d)
        return;
    if (router->closed_connections_count == CLOSED_CONNECTIONS_MAX)
        forget_oldest_closed_connection(router);
    d->predecessor = *hf_link_predecessor(link);
    d->size = sizeof *d + len + 1;
    d->port = place->port;
    d->is_wait_link = place->is_wait_link;
    memcpy(d->host, place->host, len + 1);
    hf_list_push(&router->closed_connections, &d->node);
    router->closed_connections_count++;
}

static bool is_connection_of_key(const struct closed_connection *d,
                                 const struct hf_closed_connection_key *place)
{
    return d->port == place->port && d->is_wait_link == place->is_wait_link &&
           strcmp(d->host, place->host) == 0;
}

struct hf_predecessor hf_closed_connection_take(struct hf_router *router,
                                                const struct hf_closed_connection_key *place)
{
    struct hf_predecessor last = {0};

    HF_ASSERT(hf_loop_is_locked(router->loop));
    for (struct hf_list *l = router->closed_connections.next; l != &router->closed_connections;
         l = l->next) {
        struct closed_connection *d = HF_OWNER_OF(l, struct closed_connection, node);

        if (is_connection_of_key(d, place)) {
            last = d->predecessor;
            forget_closed_connection(router, d);
            break;
        }
    }
    return last;
}

void hf_closed_connections_fini(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    while (router->closed_connections_count > 0)
        forget_oldest_closed_connection(router);
}
