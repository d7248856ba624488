/* Commands and subscriptions, taken to the right server. */
#ifndef HF_ROUTER_H
#define HF_ROUTER_H

#include "net/base/url.h"
#include "net/link/pubsub.h"

/* A router knows which server a command is for, and takes it there: through
 * redirections, moved slots and failovers. There are three kinds, which differ
 * only in how it learns which server serves which slot:
 *
 *   standalone  one server, given
 *   cluster     its nodes say (CLUSTER SLOTS); the URL's hosts are asked first
 *   sentinel    the URL's hosts are sentinels; they name the one master
 *
 * Each server has one link (and one of its own for messages in RESP2), made
 * when it is first needed. Source: CLUSTER; SENTINEL "Guidelines for
 * clients". */
struct hf_router;

#define HF_RUN_ID_MAX RUN_ID_MAX

/* A command, wherever the server is that it is for. The caller's memory, ours
 * from send until `done`. */
struct hf_command {
    /* Set by the owner; argv and what it points at stay until `done`. */
    const struct hf_resp_arg *argv;
    size_t argc;
    uint16_t slot;              /* hf_router_slot of its keys */
    bool is_urgent;             /* has room before those that are not */
    bool is_once;               /* it ends UNSENT when an attempt to connect to
                                   its server has failed, or nobody could be
                                   asked for the map; it does not wait for the
                                   next attempt */
    bool is_replicated;         /* over the link of commands that wait for
                                   replicas: a WAIT holds up all that comes
                                   behind it. A command that must not overtake
                                   those goes there, too */
    int replicas;               /* that must have it, too: HF_REPLICAS_ALL,
                                   _MAJORITY, or so many; 0: none */
    int64_t replicas_timeout_ms;/* how long the server waits for them */
    int64_t deadline_ms;
    /* [locked] Once; as that of a request. An error reply that says where to
     * ask is followed and not seen, HOPS_MAX (5) times. */
    void (*done)(struct hf_command *command, enum hf_outcome outcome,
                 struct hf_resp_value reply);
    /* [locked] With `replicas`, after a `done` whose reply was no error: the
     * reply to WAIT, which was sent in the same write. `wanted`: how many
     * replicas that came to, of the server that it was. The command is ours
     * until then. If that server is master no more, `done` is called once more
     * instead, with HF_UNKNOWN: the new master may know nothing of it. */
    void (*acknowledged)(struct hf_command *command, enum hf_outcome outcome,
                         struct hf_resp_value reply, uint32_t wanted);

    /* For the owner to read in `done` and after hf_router_cancel. */
    int64_t sent_ms;            /* when what was answered, or may have been done,
                                   was sent; HF_NEVER: nothing was */
    uint64_t stream;            /* as hf_request's, of the same sending */
    bool is_by_ask;             /* it was last sent by ASK: its slot is on the
                                   move */
    bool was_put_off;           /* an error, whatever it says, will pass: that
                                   server put ASKING off (BUSY, LOADING), or the
                                   redirections have no end yet */
    bool names_itself;          /* that server redirected to its own address */

    /* The router's own. It need not be zeroed before hf_router_send. */
    struct hf_router *router;
    struct hf_server *server;   /* that it is, or was last, for; NULL: none */
    uint64_t master;            /* the serial of the slot's master, by the map
                                   when `server` was chosen: ASK and MOVED name
                                   others. 0: not known */
    uint64_t serial;            /* no other command of the router has it */
    struct hf_list node;
    struct hf_request request;
    struct hf_request asking;   /* in front of it, where it was sent by ASK */
    struct hf_request role;     /* behind it, where replicas are to be counted */
    struct hf_request wait;     /* behind it, with `replicas` */
    uint32_t attached;          /* replicas, by ROLE */
    uint32_t wanted;
    struct hf_space_waiter room;
    struct hf_timer timer;      /* its deadline, while no link has it */
    uint8_t state;
    uint8_t hops;
    bool had_no_room;           /* it ended while it waited for room */
};

/* Slots that another server serves than before: a bit for each. */
#define HF_SWITCHED_WORDS 256
struct hf_switched {
    uint64_t slots[HF_SWITCHED_WORDS];
    uint64_t sudden[HF_SWITCHED_WORDS]; /* of these: the former server answered
                                           until now; its last answers may be of
                                           a server that was no longer the master */
};

static inline bool hf_switched_has(const uint64_t *slots, uint16_t slot)
{
    return slots[slot / 64] >> slot % 64 & 1;
}

struct hf_router_options {
    const struct hf_seeds *seeds;       /* copied; NULL: standalone */
    struct hf_link_options link;        /* of every server: its url's user, TLS,
                                           database; the host of a standalone
                                           server. Copied. tls, on_change,
                                           on_failure, on_push and ctx are not
                                           looked at */
    int64_t replicas_timeout_ms;        /* the greatest of any command: as long, and
                                           no longer, WAIT may keep a server silent */
    /* [locked] A server was lost, or could not be asked for the map: for a
     * log. */
    void (*on_trouble)(void *ctx, const struct hf_error *why);
    /* [locked] Another server serves these slots. Sends no command. NULL: nobody
     * needs to know. */
    void (*on_switched)(void *ctx, const struct hf_switched *which);
    /* [locked] Must a switch be noticed, though no command is under way? NULL: no. */
    bool (*is_attentive)(void *ctx);
    void *ctx;
    /* [locked] The address at which to reach a server that was announced: connect.h,
     * map_address. NULL: as announced. */
    void (*map_address)(void *ctx, char host[HF_HOST_MAX + 1], uint16_t *port);
    void *map_address_ctx;
    int64_t doubt_ms;                   /* after a silence of this length, an answer
                                           does not count (doubt.h); 0: it does */
};

/* hf_router_new  - does no I/O. HF_E_NOMEM, HF_E_TLS, HF_E_INVAL (TLS files,
 *                  see hf_tls_context_new). Not [locked].
 * hf_router_free - commands end UNSENT or UNKNOWN; `done` is called. The loop
 *                  is quiesced (or free of threads). Takes NULL. [locked] */
hf_status hf_router_new(struct hf_router **out, struct hf_loop *loop,
                        const struct hf_router_options *options,
                        struct hf_error *err) HF_MUST_CHECK;
void hf_router_free(struct hf_router *router);

/* hf_router_slot - of a key: to be kept where the key is. 0 but in a cluster,
 *   where nothing is computed. Any thread.
 * hf_router_is_known   - has it learned a map, at least once?
 * hf_router_is_sharded - is that a cluster with sharded messages that are to be
 *   used? False while it is not known. [locked]
 * hf_router_wakes_both - and plain ones, too: sharded=both. [locked]
 * hf_router_run_id - of the server process that serves the slot now, as the last
 *   handshake with it told (INFO server): HF_RUN_ID_MAX bytes. False: it is not
 *   connected. "": it is, and told none, as where INFO is not permitted. [locked]
 * hf_router_send - `done` follows. HF_E_NOMEM, HF_E_LIMIT (greater than any
 *   link takes, ever): it does not. While the map is not known, or the link is
 *   full, it waits, first come first served. Never calls `done` itself.
 *   [locked]
 * hf_router_cancel - ends it without `done`; UNSENT: no byte will ever leave.
 *   [locked] */
uint16_t hf_router_slot(const struct hf_router *router, const void *key,
                        size_t len);
bool hf_router_is_known(const struct hf_router *router);
bool hf_router_is_sharded(const struct hf_router *router);
bool hf_router_wakes_both(const struct hf_router *router);
bool hf_router_run_id(const struct hf_router *router, uint16_t slot, char *dst);
hf_status hf_router_send(struct hf_router *router, struct hf_command *command)
    HF_MUST_CHECK;
enum hf_outcome hf_router_cancel(struct hf_command *command);

/* hf_command_is_sent - bytes of it have left, its answer is to come.
 * hf_command_awaits_replicas - it was answered, and its WAIT is not yet.
 * hf_command_part    - it has ended, and is sent again after a pause: the
 *                      server that it was for may be gone by then.
 * hf_command_stay    - it is not sent anywhere else: a redirection is its
 *                      answer.
 * hf_command_condemn - what answered it cannot be believed: hf_link_condemn.
 * hf_command_address - of the server it was last for; the router's if none.
 * hf_command_error   - why it was not answered; status HF_OK: not known. All
 *                      [locked] */
bool hf_command_is_sent(const struct hf_command *command);
bool hf_command_awaits_replicas(const struct hf_command *command);
void hf_command_part(struct hf_command *command);
void hf_command_stay(struct hf_command *command);
void hf_command_condemn(struct hf_command *command, const char *why);
const char *hf_command_address(const struct hf_command *command);
const struct hf_error *hf_command_error(const struct hf_command *command);

/* hf_router_address - "127.0.0.1:6379", "cluster at a:7000,b:7000", "master
 *   'main' of sentinels at s:26379", for messages.
 * hf_router_stats   - of all its links, summed; greatest depths are the
 *                     greatest.
 * hf_router_counts  - how often it was sent elsewhere. [locked] */
const char *hf_router_address(const struct hf_router *router);
void hf_router_stats(const struct hf_router *router, struct hf_link_stats *out);
void hf_router_counts(const struct hf_router *router,
                      struct hf_router_counts *out);

/* hf_router_listen  - a subscription (channel and callbacks set) at the server
 *   of `slot`, kept live wherever that goes: on_change tells of each move. What
 *   there is no memory or room for now is tried again. HF_E_FORKED.
 * hf_router_unlisten - at once for the caller.
 * hf_router_is_idle - is no SUBSCRIBE or UNSUBSCRIBE under way?
 * hf_router_on_idle - as hf_pubsub_on_idle. All [locked] */
hf_status hf_router_listen(struct hf_router *router, struct hf_subscription *s,
                           uint16_t slot) HF_MUST_CHECK;
void hf_router_unlisten(struct hf_subscription *s);
bool hf_router_is_idle(const struct hf_router *router);
void hf_router_on_idle(struct hf_router *router, void (*idle)(void *ctx),
                       void *ctx);

#endif
