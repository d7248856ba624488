/* Links: pipelined connections that reconnect by themselves. */
#ifndef HF_LINK_H
#define HF_LINK_H

#include "net/base/url.h"
#include "net/credentials.h"
#include "net/link/greet.h"
#include "net/link/request.h"
#include "net/link/space.h"
#include "net/loop/loop.h"

struct hf_tls_context;

/* A link is one pipelined connection that keeps itself connected while anyone
 * wants it to be:
 *
 *   IDLE -wanted-> ASKING -> DIALING -> SECURING -> GREETING -> READY
 *    ^                |          |           |           |         |
 *    |                +- failed -+-----------+-----------+---------+
 *    |                      v
 *    +-nobody wants it- BACKOFF -time is up-> ASKING
 *
 * ASKING waits for credentials; without a callback for them, over at once.
 * SECURING is the handshake of TLS; without it, over at once.
 *
 * Requests are queued in any state and written when READY.
 *
 * A READY connection that is silent for suspect_ms while a reply is due may be dead
 * without a sign: a firewall, NAT or proxy has forgotten it. The link then opens a
 * rival, a second connection to the same server. If the old connection speaks first,
 * the rival is closed. If the rival is READY first, it takes the place of the old
 * connection, which it has ended on the server by CLIENT KILL. A server that is only
 * slow or stopped answers neither, and keeps its connection. */
struct hf_link;

struct hf_link_options {
    struct hf_url url;          /* its login is borrowed until hf_link_free */
    struct hf_tls_context *tls; /* with rediss://; borrowed until hf_link_free */
    /* [locked] Asked before each connection, and before credentials expire; see
     * lock/connect.h. NULL: the login is the URL's. */
    hf_status (*credentials)(void *ctx, const struct hf_credentials_query *query,
                             struct hf_credentials *out, struct hf_error *err);
    void *credentials_ctx;
    bool is_sentinel;           /* for that query */
    bool *was_accepted;         /* the server accepted a login of this origin; shared by
                                   links, borrowed. NULL: the link's own */
    const char *client_name;    /* CLIENT SETNAME; NULL: none. Borrowed */
    struct hf_predecessor predecessor; /* an earlier connection of ours to this
                                   server, which may still have commands to
                                   execute; id 0 (default): none */
    const char *announced_by;   /* the server that gave this address, for a message;
                                   NULL: the URL did. Copied */
    int protocol;               /* 3: HELLO 3, RESP2 if refused; 2: RESP2 */
    bool is_subscriber;         /* RESP2: a connection for pub/sub alone */
    int64_t connect_timeout_ms; /* resolve + connect + greeting; default 5000 */
    int64_t silence_ms;         /* unanswered for so long, with nothing heard:
                                   the connection is ended; default 5000 */
    int64_t suspect_ms;         /* unanswered for so long, with nothing heard: a
                                   rival is opened. Default 0: never */
    int64_t idle_check_ms;      /* a connection on which nothing was heard for so
                                   long is sent PING before the next request, which
                                   waits for the reply. Default 0: never */
    int64_t listen_ms;          /* a connection that carries subscriptions, and on
                                   which nothing was heard for so long, is asked
                                   PING, so that silence_ms applies to it, too.
                                   Default 3000; 0: never */
    int64_t backoff_min_ms;     /* default 10; doubles, with jitter, up to */
    int64_t backoff_max_ms;     /* default 1000 */
    size_t output_max;          /* bytes queued and not yet taken by the kernel;
                                   default 64 MiB */
    uint32_t requests_max;      /* unanswered ones; default 1 Mi */
    size_t reply_max;           /* bytes of one reply or push. A greater one is
                                   skipped (CONN-8). Default 1 GiB. Its nodes
                                   take some ten times as much at most */

    /* [locked] up: READY now; or not any more. */
    void (*on_change)(void *ctx, bool is_up);
    /* [locked] An attempt to connect failed; hf_link_error says why. */
    void (*on_failure)(void *ctx);
    /* [locked] A push, or in RESP2 a pub/sub message. */
    void (*on_push)(void *ctx, struct hf_resp_value push);
    /* [locked] A push was too large: any subscription may have lost a message.
     * NULL: nobody asks. */
    void (*on_push_lost)(void *ctx);
    void *ctx;

    /* [locked] Looks, and calls nothing of ours but hf_trace_text, hf_resp_*
     * and hf_waiter_wake. NULL (default): costs one branch a request. */
    void (*on_trace)(void *ctx, const struct hf_trace *trace);
    void *trace_ctx;
};

/* hf_link_options_init - the defaults. */
void hf_link_options_init(struct hf_link_options *options);

/* hf_link_new  - IDLE; connects when first wanted. HF_E_NOMEM. [locked]
 * hf_link_free - requests end UNSENT or UNKNOWN; `done` is called. The loop is
 *                quiesced (or free of threads). Takes NULL. [locked] */
hf_status hf_link_new(struct hf_link **out, struct hf_loop *loop,
                      const struct hf_link_options *options) HF_MUST_CHECK;
void hf_link_free(struct hf_link *link);

/* hf_link_submit - queues a command, `argc` >= 1 arguments, copied. `deadline`
 *   is when to give up on it (HF_NEVER: at no time): done(UNSENT) if it was not
 *   written by then, else done(UNKNOWN); the late reply finds its place taken
 *   by nobody. HF_E_NOMEM, HF_E_LIMIT (full: nothing was queued, done will not
 *   be called; hf_link_await_space). Never calls `done` itself. [locked]
 * hf_link_cancel - ends it now as at its deadline, without calling `done`;
 *   says how it ended. HF_UNSENT: no byte will ever leave. [locked] */
hf_status hf_link_submit(struct hf_link *link, struct hf_request *request,
                         const struct hf_resp_arg *argv, size_t argc,
                         int64_t deadline_ms) HF_MUST_CHECK;
enum hf_outcome hf_link_cancel(struct hf_request *request);

/* hf_link_await_space  - for a command of `bytes` (hf_resp_command_size);
 *   `ready` follows, and not from here. First come, first served, so a great
 *   one waits for its turn and is not passed by small ones. HF_E_LIMIT: the
 *   link takes none so great, ever.
 * hf_link_forget_space - waits no more; `ready` is not called. One that does
 *   not wait (its node initialised) is left alone.
 * hf_link_is_awaited  - are there such waiters? hf_link_submit does not look: a
 *   caller that submits before them takes the space. All [locked] */
hf_status hf_link_await_space(struct hf_link *link,
                              struct hf_space_waiter *waiter,
                              size_t bytes) HF_MUST_CHECK;
void hf_link_forget_space(struct hf_space_waiter *waiter);
bool hf_link_is_awaited(const struct hf_link *link);

/* hf_link_answer - of a query for credentials; NULL: none, and why. False: this link
 * awaits no such answer. [locked] */
bool hf_link_answer(struct hf_link *link, uint64_t id,
                    const struct hf_credentials *credentials,
                    const struct hf_error *why);

/* hf_link_want - while wanted, a lost link comes back of itself, also with no
 * request in its queue. [locked] */
void hf_link_want(struct hf_link *link, bool is_wanted);

/* hf_link_condemn - the peer answers what it was not asked: close, connect
 * anew. Everything in flight ends UNKNOWN. `why` for the error. [locked]
 * Takes effect when the bytes under way are handled. */
void hf_link_condemn(struct hf_link *link, const char *why);

/* hf_link_replace - the server at the other end does not serve now (it is a
 *   replica, say): closes the connection as hf_link_condemn does, resolves the
 *   name again, and tries another of its addresses first. An address counts as
 *   good again only after hf_link_serves. A link that is not READY: nothing.
 * hf_link_serves  - the server has replied as a server that serves. Both
 *   [locked] */
void hf_link_replace(struct hf_link *link, const char *why);
void hf_link_serves(struct hf_link *link);

/* hf_link_heard_ms - when bytes last came, or were first awaited. [locked]
 * hf_link_is_refused - the last attempt failed for good (a wrong password, not
 * a Redis server): what is submitted now will be tried once more.
 * hf_link_is_up      - is it READY?
 * hf_link_protocol   - 2 or 3; 0: not known yet.
 * hf_link_error      - the last one, for a message; status HF_OK: none since
 *                      READY.
 * hf_link_placeholder - the user that the server refused: it logged in the default
 *                      user, who has the same password. NULL: it did not.
 * hf_link_address    - of its server, for a message.
 * hf_link_predecessor - its last connection; id 0: it had none. All [locked] */
bool hf_link_is_refused(const struct hf_link *link);
int64_t hf_link_heard_ms(const struct hf_link *link);
bool hf_link_is_up(const struct hf_link *link);
int hf_link_protocol(const struct hf_link *link);
const struct hf_error *hf_link_error(const struct hf_link *link);
const char *hf_link_placeholder(const struct hf_link *link);
const char *hf_link_address(const struct hf_link *link);
const struct hf_predecessor *hf_link_predecessor(const struct hf_link *link);

/* hf_link_stats     - a copy (2 KB). [locked]
 * hf_link_stats_add - those of another link on top; what is greatest stays
 * so. */
void hf_link_get_stats(const struct hf_link *link, struct hf_link_stats *out);
void hf_link_stats_add(struct hf_link_stats *to,
                       const struct hf_link_stats *from);

#endif
