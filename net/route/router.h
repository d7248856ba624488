/* Sends commands and subscriptions to the server that serves their slot. */
#ifndef HF_ROUTER_H
#define HF_ROUTER_H

#include "net/base/url.h"
#include "net/link/pubsub.h"

/* A router sends each command to the server of its slot, and follows redirections,
 * moved slots and failovers. The three topologies differ only in the source of the map
 * from slots to servers:
 *
 *   standalone  the server of the URL serves all slots
 *   cluster     its nodes report the map (CLUSTER SLOTS); the URL's hosts are
 *               queried first
 *   sentinel    the URL's hosts are sentinels, which report the only master
 *   replicas    the URL's hosts are a master and its replicas, which report their roles
 *
 * Each server has one link (and with RESP2 a second one for subscriptions), which is
 * created when it is first needed. Source: CLUSTER; SENTINEL "Guidelines for
 * clients". */
struct hf_router;

#define HF_RUN_ID_MAX RUN_ID_MAX

/* A command for the server of its slot. The caller provides the memory, and must not
 * change it between hf_router_send and `done`. */
struct hf_command {
    /* Set by the owner. argv, and all that it points to, must remain valid until
     * `done`. */
    const struct hf_resp_arg *argv;
    size_t argc;
    uint16_t slot;              /* hf_router_slot of its keys */
    bool is_urgent;             /* if the output is full, it is queued before
                                   commands that are not urgent */
    bool is_never_retried;      /* it ends UNSENT when an attempt to connect to
                                   its server has failed, or when no server could
                                   be queried for the map, without a retry */
    bool is_probe;              /* of no interest but that its server replies: the end of
                                   a handshake, before it was sent, is that reply. Then it
                                   ends ANSWERED, with null */
    bool is_replicated;         /* uses the link of commands that wait for
                                   replicas, because a WAIT delays all later
                                   commands of its link. A command that must not
                                   overtake those uses it also */
    bool is_tracked;            /* if its server supports it, the server reports keys
                                   that it has read and that others change later:
                                   on_invalidated. Not after ASK */
    int replicas;               /* replicas that must confirm it: a number,
                                   HF_REPLICAS_ALL or _MAJORITY; 0: none */
    int64_t replicas_timeout_ms;/* how long the server waits for them */
    int64_t deadline_ms;
    /* [locked] Called once, as the `done` of a request. A redirection is followed, up
     * to HOPS_MAX (5) times, and is not reported. */
    void (*done)(struct hf_command *command, enum hf_outcome outcome,
                 struct hf_resp_value reply);
    /* [locked] Called before the command follows a redirection. It may change what argv
     * points to, but not argc. NULL: not called. */
    void (*on_redirected)(struct hf_command *command);
    /* [locked] With `replicas`, called after a `done` whose reply was not an error, with
     * the reply to WAIT, which was sent in the same write. `wanted` is the number of
     * replicas that were required of that server. The command must not be changed until
     * then. If that server is no longer the master, `done` is called a second time
     * instead, with HF_UNKNOWN, because the new master may not have the write. */
    void (*on_replicas)(struct hf_command *command, enum hf_outcome outcome,
                        struct hf_resp_value reply, uint32_t wanted);

    /* Results, for the owner in `done` and after hf_router_cancel. */
    int64_t sent_ms;               /* when the sending that was replied to, or that may have been
                                      executed, was sent; HF_NEVER: none */
    uint64_t stream;               /* of that sending: hf_request.stream */
    bool was_redirected_by_ask;    /* it was last sent after ASK: its slot is moving */
    bool is_error_temporary;       /* any error of the command is temporary: the target of ASK
                                      refused ASKING with BUSY or LOADING, or redirections have not
                                      ended yet */
    bool was_redirected_to_itself; /* the server redirected to its own address */

    /* Used by the router only; hf_router_send initialises them. */
    struct hf_router *router;
    struct hf_server *server;           /* its server, or the last one; NULL: none */
    uint64_t slot_master_serial;        /* the serial of the slot's master by the map when `server`
                                           was chosen, which differs from `server` after ASK and
                                           MOVED. 0: unknown */
    uint64_t serial;                    /* unique among the router's commands */
    struct hf_list node;
    struct hf_request own_request;
    struct hf_request preamble_request; /* precedes it: ASKING after ASK, or CLIENT CACHING */
    struct hf_request replica_count_request;     /* follows it if the replicas must be counted */
    struct hf_request wait_request;     /* follows it with `replicas` */
    uint32_t connected_replicas;        /* connected replicas, by ROLE */
    uint32_t replicas_wanted;
    struct hf_space_waiter space_waiter;
    struct hf_timer deadline_timer;     /* its deadline, while no link has it */
    uint8_t state;
    uint8_t redirections_followed;
    bool was_output_full;           /* it ended while it waited for space in the output */
};

/* The slots whose server has changed, one bit each. */
#define HF_SWITCHED_WORDS 256
struct hf_switched {
    uint64_t switched_slots[HF_SWITCHED_WORDS];
    uint64_t sudden_slots[HF_SWITCHED_WORDS]; /* those whose former server replied until now, so
                                                 that its last replies may have been sent after it
                                                 had ceased to be the master */
};

static inline bool hf_switched_has(const uint64_t *slots, uint16_t slot)
{
    return slots[slot / 64] >> slot % 64 & 1;
}

/* What a report is about. */
enum hf_trouble {
    HF_TROUBLE_FAILURE,         /* a failure, or a refusal by a server */
    HF_TROUBLE_LOST,            /* a connection was lost; another one is made when needed */
    HF_TROUBLE_TWO_MASTERS      /* a person must act, also if nothing fails */
};

struct hf_router_options {
    const struct hf_seeds *seeds;       /* copied; NULL: standalone */
    struct hf_link_options link;        /* for every server: the user, TLS and database
                                           of its URL; for a standalone server also the
                                           host. Copied. tls, on_change, on_failure,
                                           on_push and ctx are ignored */
    int64_t replicas_timeout_ms;        /* the greatest of any command: a silence of
                                           this length during WAIT is normal */
    /* [locked] A connection was lost, the only server could not be connected (once for
     * each reason), a server could not be queried for the map, or there are two masters.
     * For a log. */
    void (*on_trouble)(void *ctx, enum hf_trouble about, const struct hf_error *why);
    /* [locked] Other servers serve these slots now. It must not send a command. NULL:
     * ignored. */
    void (*on_switched)(void *ctx, const struct hf_switched *which);
    /* [locked] A key that a tracked command has read may have changed. A key NULL: any
     * key of the slots for which hf_router_server_serves(server) is true; keys of these are not
     * tracked until the next tracked command. It must not send a command. NULL: tracking
     * is not used. */
    void (*on_invalidated)(void *ctx, const struct hf_server *server, const char *key,
                           size_t len);
    /* [locked] Returns whether a switch must be detected while no command is pending.
     * NULL: it need not. */
    bool (*must_detect_switch)(void *ctx);
    int64_t roles_interval_ms;          /* the interval at which the roles of a master and its
                                           replicas are queried while the client has subscriptions
                                           or is attentive (REPLICAS-1); 0: as often as the map of
                                           other topologies */
    void *ctx;
    /* [locked] Replaces an announced address by the one to connect to: connect.h,
     * map_address. NULL: addresses are used as announced. */
    void (*map_address)(void *ctx, char host[HF_HOST_MAX + 1], uint16_t *port);
    void *map_address_ctx;
    int64_t doubt_after_ms;             /* after a silence of this length, a reply does not count
                                           (doubt.h); 0: it always counts */
};

/* hf_router_new - creates a router, without I/O. HF_E_NOMEM, HF_E_TLS, HF_E_INVAL (TLS
 *   files, see hf_tls_context_new). Not [locked]. */
hf_status hf_router_new(struct hf_router **out, struct hf_loop *loop,
                        const struct hf_router_options *options,
                        struct hf_error *err) HF_MUST_CHECK;

/* hf_router_reload - reads the TLS files again, for connections that are made later; on a
 *   failure the old contents stay. HF_E_TLS, HF_E_NOMEM. Not [locked]: only the exchange
 *   is. */
hf_status hf_router_reload(struct hf_router *router, struct hf_error *err);

/* hf_router_free - frees the router; NULL is allowed. Pending commands end UNSENT or
 *   UNKNOWN, and their `done` is called. The loop must be quiesced or have no threads.
 *   [locked] */
void hf_router_free(struct hf_router *router);

/* hf_router_is_cluster - returns whether it leads to a cluster. Any thread. */
bool hf_router_is_cluster(const struct hf_router *router);

/* hf_router_slot - returns the slot of a key, which the caller stores with the key; 0
 *   outside of a cluster, without a computation. [locked] */
uint16_t hf_router_slot(const struct hf_router *router, const void *key,
                        size_t len);

/* hf_router_had_map - returns whether the router has read a map at least once. */
bool hf_router_had_map(const struct hf_router *router);

/* hf_router_is_tracking - returns whether the server that was connected last supports
 *   tracked commands. [locked] */
bool hf_router_is_tracking(const struct hf_router *router);

/* hf_router_invalidations - returns the number of pushes that reported tracked keys.
 *   [locked] */
uint64_t hf_router_invalidations(const struct hf_router *router);

/* hf_router_server_serves - returns whether this server may serve the slot, by the map in force;
 *   true while no map names a server for it. [locked] */
bool hf_router_server_serves(const struct hf_router *router, const struct hf_server *server,
                             uint16_t slot);

/* hf_router_is_sharded - returns whether sharded notifications are used; false while
 *   this is unknown. [locked] */
bool hf_router_is_sharded(const struct hf_router *router);

/* hf_router_also_uses_plain_channels - returns whether plain notifications are used also
 *   (sharded=both). [locked] */
bool hf_router_also_uses_plain_channels(const struct hf_router *router);

/* hf_router_run_id - copies the run_id (INFO server) of the process that serves the slot
 *   now to dst, HF_RUN_ID_MAX bytes. It is "" if the server did not report it, for example
 *   because INFO is not permitted. False: the server is not connected. [locked] */
bool hf_router_run_id(const struct hf_router *router, uint16_t slot, char *dst);

/* hf_router_send - sends a command; `done` follows, never during this call. Commands wait
 *   in order of arrival while the map is unknown or the output is full. HF_E_NOMEM,
 *   HF_E_LIMIT (longer than any link accepts): `done` is not called. [locked] */
hf_status hf_router_send(struct hf_router *router, struct hf_command *command)
    HF_MUST_CHECK;

/* hf_router_cancel - ends the command without calling `done`. UNSENT: no byte of it will
 *   be sent. [locked] */
enum hf_outcome hf_router_cancel(struct hf_command *command);

/* hf_command_is_sent - returns whether bytes of it were sent and its reply is awaited.
 *   [locked] */
bool hf_command_is_sent(const struct hf_command *command);

/* hf_command_awaits_replicas - returns whether it has a reply, and its WAIT has not.
 *   [locked] */
bool hf_command_awaits_replicas(const struct hf_command *command);

/* hf_command_forget_server - forgets its server, which may be freed before the ended command is
 *   sent again. [locked] */
void hf_command_forget_server(struct hf_command *command);

/* hf_command_stop_redirects - stops following redirections: a redirection is its reply. [locked] */
void hf_command_stop_redirects(struct hf_command *command);

/* hf_command_condemn - closes the connection that sent its reply, because the reply
 *   cannot be valid: hf_link_condemn. [locked] */
void hf_command_condemn(struct hf_command *command, const char *why);

/* hf_command_address - returns the address of its last server, or of the router.
 *   [locked] */
const char *hf_command_address(const struct hf_command *command);

/* hf_command_error - returns why it has no reply; status HF_OK: unknown. [locked] */
const struct hf_error *hf_command_error(const struct hf_command *command);

/* hf_router_address - returns, for messages, "127.0.0.1:6379", "cluster at a:7000,b:7000"
 *   or "master 'main' of sentinels at s:26379". */
/* hf_router_answer_credentials - passes credentials as hf_link_answer_credentials, to the link that
 *   requested them.
 * [locked] */
bool hf_router_answer_credentials(struct hf_router *router, uint64_t id,
                                  const struct hf_credentials *credentials,
                                  const struct hf_error *why);

/* hf_router_address - "127.0.0.1:6379", "cluster at a:7000,b:7000", "master
 *   'main' of sentinels at s:26379", for messages.
 * hf_router_stats   - of all its links, summed; greatest depths are the
 *                     greatest.
 * hf_router_counts  - how often it was sent elsewhere. [locked] */
const char *hf_router_address(const struct hf_router *router);

/* hf_router_stats - returns the sums of the counters of all links; maxima are the largest
 *   of any link. [locked] */
void hf_router_stats(const struct hf_router *router, struct hf_link_stats *out);

/* hf_router_dump - describes its servers and their connections. [locked] */
struct hf_dump;
void hf_router_dump(const struct hf_router *router, struct hf_dump *dump, int depth);

/* hf_router_get_counts - returns the counters of redirections and maps. [locked] */
void hf_router_get_counts(const struct hf_router *router,
                          struct hf_router_counts *out);

/* hf_router_subscribe - subscribes at the server of `slot`, and again at each server to which
 *   the slot moves; on_change reports each move. The caller has set the channel and the
 *   callbacks. It retries if there is no memory or space. HF_E_FORKED. [locked] */
hf_status hf_router_subscribe(struct hf_router *router, struct hf_subscription *s,
                              uint16_t slot) HF_MUST_CHECK;

/* hf_router_unsubscribe - ends a subscription; no callback of it follows. [locked] */
void hf_router_unsubscribe(struct hf_subscription *s);

/* hf_router_subscriptions_are_idle - returns whether no SUBSCRIBE or UNSUBSCRIBE is pending.
 *   [locked] */
bool hf_router_subscriptions_are_idle(const struct hf_router *router);

/* hf_router_on_subscriptions_idle - as hf_pubsub_on_idle. [locked] */
void hf_router_on_subscriptions_idle(struct hf_router *router, void (*idle)(void *ctx),
                                     void *ctx);

#endif
