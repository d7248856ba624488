/* What the files of routing share: the way (router.c), servers (server.c),
 * commands (command.c) and subscriptions (listening.c) on their way, and asking
 * for it (discover.c). Private to net/. All of it is [locked].
 *
 *   router -> map: slot -> server -> link
 *      ^
 *      +-- discovery: asks servers for a map
 *
 * R1  A command is in one place: in `pending` (the way is not known), or with
 *     one server: waiting for room at its link, or in the link's hands.
 * R2  A map is swapped whole. Then everything looks where it belongs now; what
 *     is with a server that serves other slots and answers stays there: it will
 *     be answered, or redirected.
 * R3  What has left for a server that is gone or demoted ends UNKNOWN when the
 *     map says so: the silence need not be waited for.
 * R4  ASKING and its command, and WAIT behind it, stand side by side in the
 *     output, and leave, or do not leave, together.
 * R5  An answer counts only while its server serves the slot. If a newer map, or
 *     a sentinel, names another server now, the outcome is UNKNOWN: a master that
 *     was stopped and replaced executes what it was sent when it continues, and
 *     then loses it. */
#ifndef HF_ROUTER_INNER_H
#define HF_ROUTER_INNER_H

#include "net/net.h"
#include "net/route/redirect.h"
#include "net/route/round.h"
#include "net/route/router.h"
#include "net/route/slot.h"
#include "net/route/slot_map.h"

#define HOPS_MAX 5
#define SERVERS_MAX (HF_NODES_MAX + 2 * HF_SEEDS_MAX)

/* One who can be asked for the way: requests under way to it for that. */
#define PROBE_REQUESTS 4
struct hf_probe {
    struct hf_request requests[PROBE_REQUESTS];
    bool is_sent[PROBE_REQUESTS];
    bool is_under_way;
    uint32_t round;               /* it was last asked in */
    uint32_t learned_count;       /* of the discovery, when it was asked */
    struct hf_cluster_info info;
    bool has_info;
    /* Of a sentinel: */
    struct hf_server *master;     /* whose ROLE is asked for */
    struct hf_subscription news;  /* +switch-master */
    bool has_missed_news;         /* perhaps: it was away */
};

struct hf_server {
    struct hf_list node;          /* in router->servers, the latest helpful first */
    struct hf_router *router;
    char host[256];
    uint16_t port;
    bool is_sentinel;
    bool is_target;               /* of the map in force */
    struct hf_link *link;
    struct hf_link *slow;         /* made when first needed */
    struct hf_pubsub *pubsub;
    struct hf_tls_context *tls;
    uint32_t replicas;            /* that it has, as far as known */
    struct hf_list commands;
    const struct hf_command *seen;/* the first of them, unsent, at the last look;
                                   only compared */
    struct hf_probe probe;
};

struct hf_discovery {
    struct hf_timer timer;        /* the next round, or the next to be asked */
    struct hf_timer watch;        /* the next look at who is silent */
    struct hf_round round;
    uint32_t round_number;
    bool is_wanted_again;
    bool is_final;                /* all who failed would fail again */
    uint32_t next_seed;
    uint32_t next_node;           /* of the map */
    uint32_t failures;            /* rounds in a row */
    int64_t ended_ms;             /* the last round */
    struct hf_server *hint;       /* whom to ask first */
    struct hf_slot_map *best;     /* of maps that were worse than ours */
    uint64_t learned[HF_SLOTS / 64]; /* slots of MOVED since the round began */
    uint32_t learned_count;       /* MOVED, ever */
    bool is_told;                 /* router->error is a reachable server's, of this
                                     round, */
    bool was_told;                /* or of the one before (DISCOVER-5) */
};

struct hf_router {
    struct hf_loop *loop;
    const struct hf_mem *mem;
    struct hf_router_options options;
    struct hf_seeds seeds;
    uint32_t seeds_given;         /* of them, by the URL: the first */
    char address[300];
    char client_name[256];
    struct hf_list servers;
    uint32_t server_count;
    struct hf_tls_context *tls;   /* shared by those of all servers */
    struct hf_server *only;       /* standalone */
    struct hf_slot_map *map;      /* NULL: the way is not known */
    struct hf_server **by_node;   /* of the map's nodes; NULL: not looked up yet */
    uint32_t by_node_room;
    bool is_known;                /* there was a map */
    bool is_sharded;              /* then: its nodes know SPUBLISH */
    struct hf_list pending;
    struct hf_list subscriptions;
    struct hf_discovery discovery;
    struct hf_timer sweep;        /* when to free servers that nobody needs */
    struct hf_error error;        /* why the way is not known */
    struct hf_router_counts counts;
    struct hf_link_stats gone;    /* of links that were freed */
    void (*on_idle)(void *ctx);
    void *on_idle_ctx;
    bool is_closing;
};

static inline bool hf_router_is_standalone(const struct hf_router *router)
{
    return router->seeds.topology == HF_STANDALONE;
}

/* ---- server.c ---- */

/* hf_server_get  - the one at that place, made if there was none. HF_E_NOMEM,
 *                  HF_E_LIMIT, HF_E_TLS.
 * hf_server_find - or NULL.
 * hf_server_free - commands end; as hf_link_free.
 *
 * hf_servers_init
 * hf_servers_sweep_soon - those that are no targets any more, and have nothing
 *                  under way, are freed by and by. */
hf_status hf_server_get(struct hf_server **out, struct hf_router *router,
                        const char *host, uint16_t port, bool is_sentinel);
struct hf_server *hf_server_find(struct hf_router *router, const char *host,
                                 uint16_t port, bool is_sentinel);
void hf_server_free(struct hf_server *server);
void hf_servers_init(struct hf_router *router);
void hf_servers_sweep_soon(struct hf_router *router);

/* The one behind it in router->servers; of NULL the first; NULL at the end. */
static inline struct hf_server *hf_server_next(const struct hf_router *router,
                                               const struct hf_server *server)
{
    struct hf_list *l = server ? server->node.next : router->servers.next;

    return l == &router->servers ? NULL
                                 : HF_OWNER_OF(l, struct hf_server, node);
}

/* hf_server_slow - the link of those who wait for replicas. HF_E_NOMEM. */
hf_status hf_server_slow(struct hf_link **out, struct hf_server *server);

/* ---- command.c ---- */

/* hf_commands_reconsider   - of a server, after the way has changed (R2, R3).
 * hf_commands_bring_back   - what has not left waits for the way; what has, for
 *                            its reply or the end of its connection.
 * hf_commands_resume       - what is pending tries again.
 * hf_commands_fail_pending - it ends UNSENT, for the reason in router->error.
 * hf_commands_end_once     - an attempt to connect to the server failed: what is
 *                            sent once, and waits for that link, ends UNSENT.
 * hf_commands_end_pending_once - likewise what is pending: a round has ended, and
 *                            nobody could say the way.
 * hf_command_awaits_replicas - it was answered, and its WAIT is not yet. */
void hf_commands_reconsider(struct hf_server *server);
void hf_commands_bring_back(struct hf_server *server);
void hf_commands_resume(struct hf_router *router);
void hf_commands_fail_pending(struct hf_router *router);
void hf_commands_end_once(struct hf_server *server);
void hf_commands_end_pending_once(struct hf_router *router);
bool hf_command_awaits_replicas(const struct hf_command *c);

/* ---- router.c ---- */

/* hf_router_target - who serves a slot; *out is NULL if that is not known.
 *                  HF_E_NOMEM, HF_E_LIMIT, HF_E_TLS.
 * hf_router_adopt  - the map is in force from now on; it is the router's.
 * hf_router_learn  - what a MOVED says of one slot, whose host is given (M4): at
 *                  once, and then all of it is asked for.
 * hf_router_forget - the way is not known any more.
 * hf_router_resume - what waits for the way tries again. */
hf_status hf_router_target(struct hf_server **out, struct hf_router *router,
                           uint16_t slot);
void hf_router_adopt(struct hf_router *router, struct hf_slot_map *map);
void hf_router_forget(struct hf_router *router);
void hf_router_learn(struct hf_router *router, const struct hf_redirection *r,
                     const char *host);
void hf_router_resume(struct hf_router *router);

/* hf_router_lost_touch - a server's link has ended. */
void hf_router_lost_touch(struct hf_router *router, struct hf_server *server);

/* ---- listening.c ---- */

/* hf_router_relisten - the way has changed, or a server ended a subscription.
 * hf_router_is_deaf  - does one wait for a server that is not there?
 * hf_router_unlisten_all */
void hf_router_relisten(struct hf_router *router);
bool hf_router_is_deaf(struct hf_router *router);
void hf_router_unlisten_all(struct hf_router *router);

/* ---- discover.c ---- */

/* hf_discover_init, _fini
 * hf_discover_want   - the way is to be asked for, soon; of `hint` first (NULL:
 *                      nobody). Coalesced, and not too often.
 * hf_discover_watch  - somebody waits for an answer, or listens: a server that
 *                      falls silent is a reason to ask others.
 * hf_discover_learned - by MOVED, whose slot this is.
 * hf_discover_restart - at once, whatever is under way: it has just changed.
 * hf_discover_found  - an answer: a map, which is taken. The probe is over.
 * hf_discover_unreached - an attempt to connect to it failed. Its probe is over, if
 *                      a command that is sent once waits for the way; else it goes
 *                      on with the next attempt.
 * hf_discover_failed - no answer, or one of no use: `why`; `is_final`: it would
 *                      be the same again. */
void hf_discover_init(struct hf_router *router);
void hf_discover_fini(struct hf_router *router);
void hf_discover_want(struct hf_router *router, struct hf_server *hint);
void hf_discover_watch(struct hf_router *router);
void hf_discover_learned(struct hf_router *router, uint16_t slot);
void hf_discover_restart(struct hf_router *router);
void hf_discover_found(struct hf_server *server, struct hf_slot_map *map);
void hf_discover_unreached(struct hf_server *server);
void hf_discover_failed(struct hf_server *server, bool is_final,
                        const struct hf_error *why);

/* What a kind of topology asks its servers. Answers go to hf_discover_found or
 * _failed, once for each ask. HF_E_NOMEM, HF_E_LIMIT: neither follows. */
hf_status hf_cluster_ask(struct hf_server *server, int64_t deadline_ms);
hf_status hf_sentinel_ask(struct hf_server *server, int64_t deadline_ms);

/* hf_discover_explain - router->error says what keeps us, if it says nothing yet.
 * hf_sentinel_explain - what keeps this one's answer.
 * hf_sentinel_awaits - whom its probe waits for: itself, or the master that it
 *                      names. */
void hf_discover_explain(struct hf_router *router);
void hf_sentinel_explain(const struct hf_server *server, struct hf_error *out);
const struct hf_server *hf_sentinel_awaits(const struct hf_server *server);

/* hf_probe_send   - request `index` of a probe.
 * hf_probe_ended  - the same in its `done`: it is under way no more. Of whom?
 * hf_probe_cancel - none of it is under way any more. */
hf_status hf_probe_send(struct hf_server *server, unsigned index,
                        struct hf_link *link, const struct hf_resp_arg *argv,
                        size_t argc, int64_t deadline_ms,
                        void (*done)(struct hf_request *, enum hf_outcome,
                                     struct hf_resp_value));
struct hf_server *hf_probe_ended(struct hf_request *request, unsigned index);
void hf_probe_cancel(struct hf_server *server);

/* hf_probe_drop_news - a sentinel is not listened to any more. */
void hf_probe_drop_news(struct hf_server *server);

#endif
