/* A link's state, which link.c (states and events), link_request.c (requests)
 * and link_trace.c share. Private to net/. [locked] */
#ifndef HF_LINK_INNER_H
#define HF_LINK_INNER_H

#include "net/link/conn.h"
#include "net/link/deadlines.h"
#include "net/link/link.h"
#include "net/link/space.h"
#include "net/wire/dial.h"
#include "net/wire/stream.h"

#define HF_CLIENT_NAME_MAX 255

enum hf_link_state {
    HF_LINK_IDLE,
    HF_LINK_ASKING,
    HF_LINK_DIALING,
    HF_LINK_SECURING,
    HF_LINK_GREETING,
    HF_LINK_READY,
    HF_LINK_BACKOFF
};

struct hf_link {
    /* Set once. */
    struct hf_loop *loop;
    struct hf_link_options options;
    char client_name[HF_CLIENT_NAME_MAX + 1];
    char address[300];
    char announced_by[300];         /* "": the URL gives the address */

    /* Under the loop's lock. */
    enum hf_link_state state;
    struct hf_conn conn;
    struct hf_stream stream;
    struct hf_io io;                /* of its socket */
    struct hf_timer timer;          /* this attempt's end, BACKOFF's, or the next
                                       look for silence */
    struct hf_deadlines deadlines;             /* the requests' deadlines */
    struct hf_turn_hook turn;
    struct hf_dial dial;
    struct hf_space_queue space_queue;         /* waiters for space */
    unsigned failures;              /* attempts, and short lives, in a row */
    bool has_answered;              /* anything but the greeting, since READY */
    int64_t quiet_since_ms;         /* bytes last came, or were first awaited */
    int64_t look_ms;                /* the next look for silence is so much later */
    struct hf_link *rival;          /* LINK-8; NULL: none */
    unsigned vain_rivals;           /* that took over in a row, after which the
                                       server answered no request */
    struct hf_request probe;        /* LINK-9 */
    int protocol;                   /* of the last time READY; 0: never was */
    bool is_fluent;                 /* LINK-6: it was greeted in its best manner */
    bool has_unread;                /* inside TLS: the timer is due for it */
    bool is_wanted;
    bool is_replaced;               /* hf_link_replace, and no hf_link_serves since */
    bool is_refused;                /* trying again will not help */

    /* link_login.c */
    struct hf_login *login;         /* of this connection, or of the next one */
    struct hf_login *fresh;         /* the answer that was not used yet */
    struct hf_login *refused;       /* since one was accepted; NULL: none */
    bool has_fresh;                 /* it may be NULL */
    struct hf_error no_login;       /* why there is no answer; HF_OK: not known */
    uint64_t query;                 /* that has no answer yet; 0: none */
    int64_t expires_ms;             /* of `login`; HF_NEVER: it does not */
    int64_t fresh_expires_ms;
    int64_t lifetime_ms;            /* of the latest answer; 0: without an end */
    struct hf_timer login_timer;    /* READY: when to ask again */
    struct hf_request auth;         /* AUTH on the live connection */
    bool is_authenticating;
    bool was_accepted;
    struct hf_error error;
};

/* ---- link.c ---- */

/* hf_link_serve_later - there may be space: LINK-5 at the end of the turn.
 * hf_link_fill_late   - link->error says what there was no more time for;
 *                       nothing, if the link is up, or is not tried.
 * hf_link_count_loss  - of a READY connection; link->error says why.
 * hf_link_attach      - watches the socket of link->stream: its bytes are the
 *                       link's. HF_E_NOMEM, HF_E_SYSTEM: nothing is watched.
 * hf_link_is_up_now   - the connection was greeted: READY.
 * hf_link_failed      - the connection or the attempt has ended; link->error says
 *                       why. */
void hf_link_serve_later(struct hf_link *link);
void hf_link_fill_late(struct hf_link *link);
void hf_link_count_loss(struct hf_link *link);
hf_status hf_link_attach(struct hf_link *link) HF_MUST_CHECK;
void hf_link_is_up_now(struct hf_link *link);
void hf_link_failed(struct hf_link *link);

/* ---- link_probe.c ---- */

/* hf_link_is_doubtful - nothing is in flight: was nothing heard for so long that the
 *                       connection may be dead, and is there something to send?
 * hf_link_probe       - sends PING first. */
bool hf_link_is_doubtful(const struct hf_link *link, int64_t now_ms);
void hf_link_probe(struct hf_link *link);

/* ---- link_rival.c ---- */

/* hf_rival_watch     - the link is READY, a reply is due, nothing was heard since
 *                      quiet_since_ms: opens a rival if it is time. Returns when to
 *                      look again.
 * hf_rival_is_ready  - has the rival been greeted?
 * hf_rival_take_over - it has: its connection is the link's.
 * hf_rival_outlives  - the link's own connection has ended; link->error says why. Is
 *                      the rival being greeted, so that the link waits for it?
 * hf_rival_stop      - closes the rival, if there is one. By the thread that drives
 *                      the loop, or while none does. */
int64_t hf_rival_watch(struct hf_link *link);
bool hf_rival_is_ready(const struct hf_link *link);
void hf_rival_take_over(struct hf_link *link);
bool hf_rival_outlives(struct hf_link *link);
void hf_rival_stop(struct hf_link *link);

/* ---- link_error.c ---- */

/* hf_link_fill_error      - link->error: "ADDRESS: WHAT: WHY"; `why` "": without it.
 * hf_link_fill_not_dialed - why there is no socket. */
void hf_link_fill_error(struct hf_link *link, hf_status status, const char *what,
                        const char *why);
void hf_link_fill_not_dialed(struct hf_link *link);

/* ---- link_login.c ---- */

/* hf_link_login_init, _fini.
 * hf_link_find_login    - LOGIN-1: true: link->login is set; false: wait for the answer,
 *                         or, if link->query is 0, link->no_login says why there is none.
 * hf_link_attempt       - begins one: asks for the login, or dials.
 * hf_link_login_adopt   - with the rival's connection comes its login.
 * hf_link_login_stop    - the connection ends: an AUTH of it is not sent later.
 * hf_link_login_worked  - READY.
 * hf_link_login_refused - by the server. True: for good.
 * hf_link_is_logged_out - LOGIN-4: does this reply say so? */
void hf_link_login_init(struct hf_link *link);
void hf_link_login_fini(struct hf_link *link);
bool hf_link_find_login(struct hf_link *link);
void hf_link_attempt(struct hf_link *link);
void hf_link_login_adopt(struct hf_link *link, struct hf_link *rival);
void hf_link_login_stop(struct hf_link *link);
void hf_link_login_worked(struct hf_link *link);
bool hf_link_login_refused(struct hf_link *link);
bool hf_link_is_logged_out(const struct hf_link *link, struct hf_resp_value reply);

/* ---- link_manner.c ---- */

/* hf_link_best_manner       - of options.protocol.
 * hf_link_learn_from_hangup - LINK-6: the peer has closed the connection in the
 *                             greeting.
 * hf_link_forget_manner     - LINK-6: a READY connection has ended.
 * hf_link_needs_resp2       - LINK-7: is that what this reply means?
 * hf_link_use_resp2         - from now on; the connection is condemned. */
enum hf_greet_manner hf_link_best_manner(const struct hf_link *link);
void hf_link_learn_from_hangup(struct hf_link *link);
void hf_link_forget_manner(struct hf_link *link);
bool hf_link_needs_resp2(const struct hf_link *link, struct hf_resp_value reply);
void hf_link_use_resp2(struct hf_link *link);

/* ---- link_request.c ---- */

/* hf_link_on_overdue - the deadline of this request has passed. */
void hf_link_on_overdue(struct hf_request *request);

/* ---- link_trace.c ---- */

/* Only with options.on_trace:
 *
 * hf_link_trace          - reports this; its address is filled in.
 * hf_link_trace_lost     - the connection, or the attempt, has ended; link->error says why;
 *                          without on_trace it does nothing.
 * hf_link_trace_queued   - a request was queued.
 * hf_link_trace_end      - it has ended.
 * hf_link_trace_greeting - the connection reports what its greeting sends and
 *                          gets.
 * hf_link_trace_late     - is the connection's on_late. */
void hf_link_trace(struct hf_link *link, struct hf_trace trace);
void hf_link_trace_lost(struct hf_link *link);
void hf_link_trace_queued(struct hf_link *link,
                          const struct hf_request *request,
                          const struct hf_resp_arg *argv, size_t argc);
void hf_link_trace_end(const struct hf_request *request,
                       enum hf_outcome outcome, struct hf_resp_value reply);
void hf_link_trace_greeting(struct hf_link *link);
void hf_link_trace_late(void *ctx, uint64_t place, struct hf_resp_value reply);

#endif
