/* Connections of links that were freed. See departed.h. */
/* Tests: tests/sim/test_seeds.c. */
#include "net/route/departed.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/mem.h"

struct departed {
    struct hf_list node;          /* in router->departed, the oldest first */
    struct hf_predecessor last;
    size_t size;                  /* of this memory */
    uint16_t port;
    bool is_wait_link;
    char host[];
};

static void forget(struct hf_router *router, struct departed *d)
{
    hf_list_remove(&d->node);
    router->departed_count--;
    hf_mem_free(router->mem, d, d->size);
}

static void forget_oldest(struct hf_router *router)
{
    forget(router, HF_OWNER_OF(router->departed.next, struct departed, node));
}

void hf_departed_note(struct hf_router *router,
                      const struct hf_departed_place *place,
                      const struct hf_link *link)
{
    size_t len = strlen(place->host);
    struct departed *d;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (!link || hf_link_predecessor(link)->id == 0)
        return;
    d = hf_mem_new(router->mem, sizeof *d + len + 1);
    if (!d)
        return;
    if (router->departed_count == DEPARTED_MAX)
        forget_oldest(router);
    d->last = *hf_link_predecessor(link);
    d->size = sizeof *d + len + 1;
    d->port = place->port;
    d->is_wait_link = place->is_wait_link;
    memcpy(d->host, place->host, len + 1);
    hf_list_push(&router->departed, &d->node);
    router->departed_count++;
}

static bool is_there(const struct departed *d,
                     const struct hf_departed_place *place)
{
    return d->port == place->port && d->is_wait_link == place->is_wait_link &&
           strcmp(d->host, place->host) == 0;
}

struct hf_predecessor hf_departed_take(struct hf_router *router,
                                       const struct hf_departed_place *place)
{
    struct hf_predecessor last = {0};

    HF_ASSERT(hf_loop_is_locked(router->loop));
    for (struct hf_list *l = router->departed.next; l != &router->departed;
         l = l->next) {
        struct departed *d = HF_OWNER_OF(l, struct departed, node);

        if (is_there(d, place)) {
            last = d->last;
            forget(router, d);
            break;
        }
    }
    return last;
}

void hf_departed_fini(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    while (router->departed_count > 0)
        forget_oldest(router);
}
