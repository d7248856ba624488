/* Subscriptions on their way: each is at the server of its slot, and goes where
 * that goes. Rules in router_inner.h. */
/* Tests: tests/test_net_router_maps.c, tests/live/cluster/test_cluster_wait.c. */
#include "net/route/subscriptions.h"

#include "net/base/assert.h"
#include "net/route/discover.h"
#include "net/route/server.h"
#include "net/route/silence.h"

static struct hf_subscription *subscription_of_route_node(struct hf_list *node)
{
    return HF_OWNER_OF(node, struct hf_subscription, route_node);
}

/* on_change comes last: the owner may free it there. */
static void move_to_server(struct hf_subscription *s, struct hf_server *target)
{
    bool was_live = s->pubsub && s->is_live;

    if (s->pubsub)
        hf_pubsub_drop(s);
    if (hf_pubsub_add(target->pubsub, s) < 0)
        s->pubsub = NULL;
    if (was_live)
        s->on_change(s, false);
}

static void move_subscription(struct hf_router *router, struct hf_subscription *s)
{
    struct hf_server *target = NULL;

    (void)hf_router_target(&target, router, s->slot);
    if (target && s->pubsub == target->pubsub)
        hf_pubsub_retry(s);
    else if (target)
        move_to_server(s, target);
}

/* One that is dropped meanwhile leaves either list. */
void hf_router_move_subscriptions(struct hf_router *router)
{
    struct hf_list list;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    hf_list_init(&list);
    hf_list_join(&list, &router->subscriptions);
    while (!hf_list_is_empty(&list)) {
        struct hf_subscription *s = subscription_of_route_node(list.next);

        hf_list_remove(&s->route_node);
        hf_list_push(&router->subscriptions, &s->route_node);
        move_subscription(router, s);
    }
}

/* Nowhere yet, or at a server that is not there. */
bool hf_router_has_waiting_subscription(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    for (struct hf_list *l = router->subscriptions.next;
         l != &router->subscriptions; l = l->next) {
        const struct hf_subscription *s = subscription_of_route_node(l);
        struct hf_server *target = NULL;

        if (s->is_live)
            continue;
        (void)hf_router_target(&target, router, s->slot);
        if (!target || !hf_link_is_up(target->link))
            return true;
    }
    return false;
}

hf_status hf_router_subscribe(struct hf_router *router, struct hf_subscription *s,
                              uint16_t slot)
{
    struct hf_server *target = NULL;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (hf_loop_forked(router->loop))
        return HF_E_FORKED;
    s->slot = slot;
    s->pubsub = NULL;
    s->pending_order = NULL;
    s->is_live = false;
    /* If there is no memory for the server, the next map tries again. */
    (void)hf_router_target(&target, router, slot);
    if (target)
        (void)hf_pubsub_add(target->pubsub, s);
    hf_list_push(&router->subscriptions, &s->route_node);
    if (target)
        hf_silence_watch(router);
    else
        hf_discover_want(router, NULL);
    return HF_OK;
}

void hf_router_unsubscribe(struct hf_subscription *s)
{
    HF_ASSERT(!s->pubsub || !hf_list_is_empty(&s->route_node));
    hf_list_remove(&s->route_node);
    if (s->pubsub)
        hf_pubsub_drop(s);
    s->pubsub = NULL;
}

void hf_router_end_subscriptions(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    while (!hf_list_is_empty(&router->subscriptions))
        hf_router_unsubscribe(subscription_of_route_node(router->subscriptions.next));
}

bool hf_router_subscriptions_are_idle(const struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        if (!hf_pubsub_is_idle(s->pubsub))
            return false;
    return true;
}

void hf_router_on_subscriptions_idle(struct hf_router *router, void (*idle)(void *ctx),
                                     void *ctx)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    router->on_idle = idle;
    router->on_idle_ctx = ctx;
}

