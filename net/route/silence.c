/* Silence causes no event (DISCOVER-7). So while commands are pending, the client
 * checks every CHECK_MS whether one has waited for that long; and while it has
 * subscriptions, whose links may always be silent, it requests the map every LISTEN_INTERVAL_MS.
 * From a master and its replicas without sentinels it does so every options.roles_interval_ms, also
 * while the client holds locks, and with each command if the last map is that old
 * (REPLICAS-1). */
/* Tests: tests/test_net_router_maps.c, tests/live/cluster/test_cluster_wait.c. */
#include "net/route/silence.h"
#include "net/base/assert.h"
#include "net/route/announced.h"
#include "net/route/discover.h"
#include "net/route/doubt.h"
#include "net/route/server.h"

#define CHECK_MS 250           /* a script takes some microseconds */
#define LISTEN_INTERVAL_MS 5000

/* Commands are in the order of arrival. A command that was not sent may wait for others
 * that have no reply: it counts if it is the first one twice, CHECK_MS apart. */
static bool is_server_silent(struct hf_server *server, int64_t now)
{
    const struct hf_command *first;
    uint64_t seen = server->first_unsent_seen;

    server->first_unsent_seen = 0;
    if (hf_list_is_empty(&server->commands))
        return false;
    first = HF_OWNER_OF(server->commands.next, struct hf_command, node);
    if (hf_command_awaits_replicas(first))
        return false; /* it was answered */
    if (hf_command_is_sent(first) && now - first->own_request.sent_ms < CHECK_MS)
        return false;
    if (hf_command_is_sent(first)) {
        hf_doubt_silent(server, first->own_request.sent_ms);
        return true;
    }
    server->first_unsent_seen = first->serial;
    if (first->serial == seen)
        hf_announced_note_unreached(server);
    return first->serial == seen || !hf_link_is_up(server->link);
}

/* The longest time between two rounds; HF_NEVER: there is no limit. */
static int64_t round_interval_ms(const struct hf_router *router)
{
    const struct hf_router_options *o = &router->options;
    bool listens = !hf_list_is_empty(&router->subscriptions);

    if (!router->topology->collect_replies_ms || o->roles_interval_ms == 0)
        return listens ? LISTEN_INTERVAL_MS : HF_NEVER;
    return listens || (o->must_detect_switch && o->must_detect_switch(o->ctx))
           ? o->roles_interval_ms
                                                                   : HF_NEVER;
}

static void check_servers_for_silence(struct hf_router *router, int64_t every_ms,
                                      bool *is_anybody_busy)
{
    int64_t now = hf_loop_now(router->loop);
    bool is_one_silent = false;

    for (struct hf_server *server = NULL;
         (server = hf_server_next(router, server));) {
        *is_anybody_busy |= !hf_list_is_empty(&server->commands);
        is_one_silent |= is_server_silent(server, now);
    }
    if (is_one_silent || now - router->discovery.last_round_ended_ms >= every_ms)
        hf_discover_want(router, NULL);
}

/* The map may be requested at any time, and its reply takes its own time. */
static int64_t next_check_ms(const struct hf_router *router, int64_t every_ms,
                             bool is_anybody_busy)
{
    int64_t now = hf_loop_now(router->loop);
    int64_t due;

    if (is_anybody_busy)
        return now + CHECK_MS;
    due = router->discovery.last_round_ended_ms + every_ms;
    return due > now ? due : now + every_ms;
}

static void on_silence_timer(struct hf_timer *timer)
{
    struct hf_router *router = HF_OWNER_OF(timer, struct hf_router, silence_timer);
    int64_t every_ms = round_interval_ms(router);
    bool is_anybody_busy = false;

    check_servers_for_silence(router, every_ms, &is_anybody_busy);
    if (is_anybody_busy || every_ms != HF_NEVER)
        hf_loop_arm(router->loop, timer,
                    next_check_ms(router, every_ms, is_anybody_busy));
}

void hf_silence_init(struct hf_router *router)
{
    router->silence_timer.fire = on_silence_timer;
}

/* REPLICAS-1. A command that a round itself has released starts no other round. */
static bool must_query_roles_again(const struct hf_router *router)
{
    const struct hf_discovery *d = &router->discovery;
    int64_t roles_ms = router->options.roles_interval_ms;

    return router->topology->collect_replies_ms && roles_ms > 0 && !d->round.is_running &&
           hf_loop_now(router->loop) - d->last_round_ended_ms >= roles_ms;
}

void hf_silence_watch(struct hf_router *router)
{
    struct hf_timer *timer = &router->silence_timer;
    int64_t due_ms;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (!router->topology->query_server)
        return; /* there is no other server */
    if (must_query_roles_again(router))
        hf_discover_want(router, NULL);
    due_ms = hf_loop_now(router->loop) + CHECK_MS;
    if (!timer->link || timer->due_ms > due_ms)
        hf_loop_arm(router->loop, timer, due_ms);
}

void hf_silence_fini(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    hf_loop_disarm(router->loop, &router->silence_timer);
}
