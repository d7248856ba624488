/* Links: pipelined connections that reconnect by themselves. */
#ifndef HF_LINK_H
#define HF_LINK_H

#include "net/base/url.h"
#include "net/credentials.h"
#include "net/link/handshake.h"
#include "net/link/request.h"
#include "net/link/space.h"
#include "net/loop/loop.h"

struct hf_tls_context;

/* A link is one pipelined connection. It reconnects by itself while it is wanted: while
 * requests are queued, or after hf_link_want.
 *
 *   IDLE      -hf_link_attempt-> FETCHING
 *   FETCHING  -hf_link_attempt-> DIALING         the credentials are known
 *   DIALING   -on_dialed-> SECURING
 *   SECURING  -begin_handshake-> HANDSHAKE
 *   HANDSHAKE -hf_link_become_ready-> READY
 *   READY     -close_first_connection-> HANDSHAKE             a rival replaces it (link_rival.c)
 *   any       -hf_link_close-> IDLE              then, if it is wanted:
 *   IDLE      -hf_link_back_off-> BACKOFF
 *   BACKOFF   -on_timer-> FETCHING, or IDLE if it is no longer wanted
 *
 * FETCHING waits for credentials; without a callback for them, it ends at once.
 * SECURING is the handshake of TLS; without TLS, it ends at once.
 * hf_link_ok lists what holds in each state.
 *
 * Requests are queued in any state and written when READY.
 *
 * A READY connection that is silent for suspect_ms while a reply is due may be dead without
 * an error, because a firewall, NAT or proxy has forgotten it. The link then opens a rival, a
 * second connection to the same server. If bytes arrive on the old connection first, the
 * rival is closed. If the rival is READY first, it replaces the old connection, which it has
 * closed on the server by CLIENT KILL. A server that is only slow or stopped replies on
 * neither, and keeps its connection. An attempt to connect that is silent for suspect_ms
 * while requests are queued also has a rival. */
struct hf_link;

struct hf_link_options {
    struct hf_url url;          /* its login and options of TLS are borrowed until
                                   hf_link_free */
    struct hf_tls_context *tls; /* with rediss://; borrowed until hf_link_free */
    /* [locked] Called before each connection, and before credentials expire; see
     * lock/connect.h. NULL: the login is that of the URL. */
    hf_status (*credentials)(void *ctx, const struct hf_credentials_query *query,
                             struct hf_credentials *out, struct hf_error *err);
    void *credentials_ctx;
    bool is_sentinel;           /* passed to that callback */
    bool *was_accepted;         /* the server accepted a login of this origin; shared by
                                   links, borrowed. NULL: the link's own */
    const char *client_name;    /* CLIENT SETNAME; NULL: none. Borrowed */
    struct hf_predecessor predecessor; /* an earlier connection of ours to this
                                   server, which may still have commands to
                                   execute; id 0 (default): none */
    const char *announced_by;   /* the server that announced this address, for messages;
                                   NULL: it is from the URL. Copied */
    int protocol;               /* 3: HELLO 3, RESP2 if refused; 2: RESP2 */
    bool wants_tracking;        /* with RESP3: hf_link_is_tracking */
    bool is_subscriber;         /* RESP2: a connection only for pub/sub */
    int64_t connect_timeout_ms; /* for name lookup, connect and handshake together;
                                   default 5000 */
    int64_t silence_ms;         /* if a reply is due and nothing arrives for this time, the
                                   connection is closed; default 5000 */
    int64_t suspect_ms;         /* if a reply is due and nothing but messages arrives for
                                   this time, or an attempt to connect makes no progress, a
                                   rival is opened. Default 0: never */
    int64_t idle_check_ms;      /* if nothing arrived for this time, the next request waits
                                   for the reply to a PING. Default 0: never */
    int64_t listen_ms;          /* if there are subscriptions and nothing arrived for this
                                   time, PING is sent, so that silence_ms applies. Default
                                   3000; 0: never */
    int64_t backoff_min_ms;     /* the first pause after a failure, default 10; it doubles,
                                   with jitter, up to */
    int64_t backoff_max_ms;     /* default 1000 */
    size_t output_max;          /* bytes queued and not yet written; default 64 MiB */
    uint32_t requests_max;      /* requests without a reply; default 1 Mi */
    size_t reply_max;           /* bytes of one reply or push. A larger one is skipped
                                   (CONN-8). Default 1 GiB. The nodes of a reply take up to
                                   ten times as much memory */

    /* [locked] The link became READY (true), or is no longer. */
    void (*on_change)(void *ctx, bool is_up);
    /* [locked] An attempt to connect failed; see hf_link_error. */
    void (*on_failure)(void *ctx);
    /* [locked] A push, or with RESP2 a pub/sub message. */
    void (*on_push)(void *ctx, struct hf_resp_value push);
    /* [locked] A push was too large: any subscription may have lost a message.
     * NULL: not called. */
    void (*on_push_lost)(void *ctx);
    void *ctx;

    /* [locked] It may call only hf_trace_text, hf_resp_* and hf_waiter_wake. NULL (default):
     * costs one branch for each request. */
    void (*on_trace)(void *ctx, const struct hf_trace *trace);
    void *trace_ctx;
};

/* hf_link_options_init - sets the defaults. */
void hf_link_options_init(struct hf_link_options *options);

/* hf_link_new - creates a link, IDLE, which connects when it is first wanted. HF_E_NOMEM.
 *   [locked] */
hf_status hf_link_new(struct hf_link **out, struct hf_loop *loop,
                      const struct hf_link_options *options) HF_MUST_CHECK;

/* hf_link_free - ends all requests as UNSENT or UNKNOWN, calls `done`, and frees the link. No
 *   thread may drive the loop. NULL is allowed. [locked] */
void hf_link_free(struct hf_link *link);

/* hf_link_submit - queues a command of `argc` >= 1 arguments, which are copied. It never
 *   calls `done` itself. [locked]
 *   deadline_ms   when the request ends without a reply: done(UNSENT) if nothing of it was
 *                 written, otherwise done(UNKNOWN). A later reply is ignored. HF_NEVER: none
 * Returns HF_E_NOMEM, or HF_E_LIMIT if the link is full. Then nothing was queued and `done`
 * is not called; see hf_link_await_space. */
hf_status hf_link_submit(struct hf_link *link, struct hf_request *request,
                         const struct hf_resp_arg *argv, size_t argc,
                         int64_t deadline_ms) HF_MUST_CHECK;

/* hf_link_cancel - ends a request now, without calling `done`. Returns HF_UNSENT (no byte of
 *   it will be sent) or HF_UNKNOWN. [locked] */
enum hf_outcome hf_link_cancel(struct hf_request *request);

/* hf_link_await_space - waits for space for a command of `bytes` (hf_resp_command_size);
 *   `ready` is called later, never from here. Waiters are served in order of arrival, so
 *   small commands do not overtake a large one. HF_E_LIMIT: the command is larger than
 *   output_max. [locked] */
hf_status hf_link_await_space(struct hf_link *link,
                              struct hf_space_waiter *waiter,
                              size_t bytes) HF_MUST_CHECK;

/* hf_link_stop_awaiting_space - stops waiting; `ready` is not called. The node of a waiter that is
 *   not waiting must be initialised. [locked] */
void hf_link_stop_awaiting_space(struct hf_space_waiter *waiter);

/* hf_link_has_space_waiters - returns whether there are waiters for space. hf_link_submit does not
 *   check this: a caller that submits before them takes their space. [locked] */
bool hf_link_has_space_waiters(const struct hf_link *link);

/* hf_link_answer_credentials - passes the result of a query for credentials. NULL: there are none,
 *   and `why` has the reason. False: this link did not make that query. [locked] */
bool hf_link_answer_credentials(struct hf_link *link, uint64_t id,
                                const struct hf_credentials *credentials,
                                const struct hf_error *why);

/* hf_link_set_ip - sets the ip to use if the host's name cannot be resolved ("": none; at
 *   most HF_IP_MAX - 1 bytes). An attempt that is connecting begins again, with a new
 *   hf_link_attempt_number; an open connection stays. By the thread that drives the loop.
 *   [locked] */
void hf_link_set_ip(struct hf_link *link, const char *ip);

/* hf_link_want - while it is wanted, the link reconnects also without queued requests.
 *   [locked] */
void hf_link_want(struct hf_link *link, bool is_wanted);

/* hf_link_reconnect_once - whether a lost link reconnects also without queued requests, this once,
 *   after the pause that follows a failure. [locked] */
void hf_link_reconnect_once(struct hf_link *link, bool comes_back);

/* hf_link_condemn - the replies do not belong to the requests: closes the connection and
 *   connects again, after the received bytes were processed. Requests in flight end UNKNOWN.
 *   `why` is for the error. [locked] */
void hf_link_condemn(struct hf_link *link, const char *why);

/* hf_link_replace - this server does not serve now (for example, it is a replica): closes the
 *   connection as hf_link_condemn does, resolves the name again, and tries another address
 *   first. The address is preferred again only after hf_link_note_serving. Nothing happens if the
 *   link is not READY. [locked] */
void hf_link_replace(struct hf_link *link, const char *why);

/* hf_link_note_serving - the server replied as a server that serves. [locked] */
void hf_link_note_serving(struct hf_link *link);

/* hf_link_is_refused - returns whether a retry of the last attempt would fail in the same way
 *   (a wrong password, not a Redis server). A request that is submitted now causes one more
 *   attempt. [locked] */
bool hf_link_is_refused(const struct hf_link *link);

/* hf_link_heard_ms - returns when bytes last arrived, or were first expected. [locked] */
int64_t hf_link_heard_ms(const struct hf_link *link);

/* hf_link_is_up - returns whether the link is READY. [locked] */
bool hf_link_is_up(const struct hf_link *link);

/* hf_link_protocol - returns 2 or 3; 0: not known yet. [locked] */
int hf_link_protocol(const struct hf_link *link);

/* hf_link_error - returns the last error, for messages; its status is HF_OK if there was none
 *   since READY. [locked] */
const struct hf_error *hf_link_error(const struct hf_link *link);

/* hf_link_refused_user - returns the user name that the server refused: it accepted the
 *   password for the default user instead. NULL: this did not happen. [locked] */
const char *hf_link_refused_user(const struct hf_link *link);

/* hf_link_address - returns the address of the server, for messages. [locked] */
const char *hf_link_address(const struct hf_link *link);

/* hf_link_predecessor - returns the last connection; id 0: there was none. [locked] */
const struct hf_predecessor *hf_link_predecessor(const struct hf_link *link);

/* hf_link_attempt_number - returns the number of the last attempt to connect. An attempt of any
 *   link of this loop that began later has a greater number. [locked] */
uint64_t hf_link_attempt_number(const struct hf_link *link);

/* hf_link_dump - describes the link, which is `what` of its owner. [locked] */
struct hf_dump;
void hf_link_dump(const struct hf_link *link, struct hf_dump *dump, int depth,
                  const char *what);

/* hf_link_options - returns its options, with the current address. They contain the password.
 *   [locked] */
const struct hf_link_options *hf_link_options(const struct hf_link *link);

/* hf_link_is_tracking - returns whether the link is READY and the server reports, by a push
 *   `invalidate`, keys that change after a command behind CLIENT CACHING YES has read them.
 *   [locked] */
bool hf_link_is_tracking(const struct hf_link *link);

/* hf_link_stop_tracking - the server refuses CLIENT CACHING: this connection does without.
 *   [locked] */
void hf_link_stop_tracking(struct hf_link *link);

/* hf_link_get_stats - copies the counters (2 KB). [locked] */
void hf_link_get_stats(const struct hf_link *link, struct hf_link_stats *out);

/* hf_link_stats_add - adds the counters of another link; of maxima, the greater one is
 *   kept. */
void hf_link_stats_add(struct hf_link_stats *to,
                       const struct hf_link_stats *from);

#endif
