/* The state of a link, which the files link*.c share. Private to net/link. All functions:
 * [locked] */
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
    HF_LINK_FETCHING,
    HF_LINK_DIALING,
    HF_LINK_SECURING,
    HF_LINK_HANDSHAKE,
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
    struct hf_io io;                /* watches the socket */
    struct hf_timer timer;          /* end of this attempt or of BACKOFF, or the next check for
                                       silence */
    int64_t attempt_until_ms;       /* end of this attempt */
    uint64_t attempt_number;        /* hf_link_attempt_number */
    int64_t rival_attempt_ms;       /* of a rival: the silence that ends its attempt (LINK-10);
                                       otherwise 0 */
    struct hf_deadlines deadlines;             /* of the requests */
    struct hf_turn_hook turn_end_hook;
    struct hf_dial dial;
    struct hf_space_queue space_queue;         /* waiters for space */
    unsigned consecutive_failures;   /* consecutive failed attempts and connections that ended
                                        soon */
    bool has_answered_since_ready;   /* a reply after the handshake, since READY */
    int64_t last_received_ms;        /* when bytes last arrived, or were first expected; of an
                                        attempt: when it last made progress */
    int64_t reply_silent_since_ms;   /* the same, except messages while a reply is due */
    int64_t silence_check_ms;        /* time until the next check for silence */
    struct hf_link *rival;           /* LINK-8, LINK-10; NULL: none */
    unsigned unhelpful_rivals;       /* that took over since the last reply that took less than
                                        suspect_ms */
    uint8_t suspect_jitter;          /* of this connection: LINK-8 */
    struct hf_request probe_request; /* LINK-9 */
    int last_protocol;               /* of the last READY connection; 0: none */
    bool used_best_mode;             /* LINK-6: the handshake used the best mode */
    bool has_unread_tls_bytes;       /* TLS has bytes that were not read; the timer is due */
    bool is_wanted;
    bool reconnects_once;       /* hf_link_reconnect_once */
    bool is_replaced;               /* hf_link_replace was called, and not hf_link_note_serving
                                       since */
    bool is_failure_final;          /* a retry would fail in the same way */

    /* link_login.c */
    struct hf_login *login;             /* of this connection, or of the next one */
    struct hf_login *next_login;        /* credentials that were not used yet */
    struct hf_login *refused_login;     /* by the server since it last accepted one; NULL: none */
    bool has_next_login;                /* `fresh` is set; it may be NULL */
    struct hf_error no_login_error;     /* why there are no credentials; HF_OK: not known */
    uint64_t pending_credentials_query; /* the pending query for credentials; 0: none */
    int64_t login_expires_ms;           /* of `login`; HF_NEVER: it does not expire */
    int64_t login_renewal_ms;           /* LOGIN-3: when `login` must be replaced; or HF_NEVER */
    int64_t next_login_expires_ms;
    int64_t login_received_ms;          /* when it came, also after it is in use */
    int64_t login_lifetime_ms;          /* of the latest credentials; 0: without an end */
    struct hf_timer login_timer;        /* READY: when to query credentials again */
    struct hf_request auth_request;     /* AUTH on the READY connection */
    bool is_authenticating;
    bool was_login_accepted;
    struct hf_error error;
};

/* ---- link_state.c ---- */

/* hf_link_ok - returns whether the facts of the link's state hold: its socket, its timer, its
 *   handshake and its rival. For HF_ASSERT, at the beginning of each event. */
bool hf_link_ok(const struct hf_link *link);

/* hf_link_set_state - sets the state; nothing else does. */
void hf_link_set_state(struct hf_link *link, enum hf_link_state state);

/* hf_link_become_ready - the handshake has ended: the state is READY. A rival is closed. */
void hf_link_become_ready(struct hf_link *link);

/* ---- link.c ---- */

/* hf_link_serve_space_later - there may be space in the output: LINK-5 at the end of the turn. */
void hf_link_serve_space_later(struct hf_link *link);

/* hf_link_name_late_step - writes to link->error which step took too long. It does nothing if the
 *   link is READY or does not try to connect. */
void hf_link_name_late_step(struct hf_link *link);

/* hf_link_watch_socket - watches the socket of link->stream. HF_E_NOMEM, HF_E_SYSTEM: it is not
 *   watched. */
hf_status hf_link_watch_socket(struct hf_link *link) HF_MUST_CHECK;

/* hf_link_failed - the connection or the attempt has ended; link->error has the reason. */
void hf_link_failed(struct hf_link *link);

/* hf_link_close - ends the connection or the attempt: IDLE. Requests in flight end UNKNOWN. */
void hf_link_close(struct hf_link *link);

/* ---- link_attempt.c ---- */

/* hf_link_attempt - begins an attempt to connect: queries the credentials, or dials. */
void hf_link_attempt(struct hf_link *link);

/* hf_link_dial - begins to dial, from the beginning (hf_link_attempt_number). */
void hf_link_dial(struct hf_link *link);

/* hf_link_back_off - the next attempt follows after a pause, which doubles each time. */
void hf_link_back_off(struct hf_link *link);

/* hf_link_arm_attempt_timer - sets the timer for an attempt: its end, or the next check for
 *   silence (LINK-10). */
void hf_link_arm_attempt_timer(struct hf_link *link);

/* hf_link_progress_ms - returns when the attempt last made progress (LINK-10). */
int64_t hf_link_progress_ms(const struct hf_link *link);

/* hf_link_on_attempt_timer - the timer of an attempt has fired. */
void hf_link_on_attempt_timer(struct hf_link *link);

/* ---- link_probe.c ---- */

/* hf_link_is_doubtful - returns whether requests are queued and nothing arrived for
 *   idle_check_ms, so that the connection may be dead. Nothing may be in flight. */
static inline bool hf_link_is_doubtful(const struct hf_link *link, int64_t now_ms)
{
    return link->options.idle_check_ms > 0 &&
           now_ms - link->last_received_ms >= link->options.idle_check_ms &&
           link->state == HF_LINK_READY && hf_conn_queued(&link->conn) > 0 &&
           !hf_loop_forked(link->loop);
}

/* hf_link_probe - sends PING before the queued requests. */
void hf_link_probe(struct hf_link *link);

/* ---- link_rival.c ---- */

/* hf_rival_note_reply - a request had a reply: after a fast one the next rival may come as
 *   soon as the first one. */
void hf_rival_note_reply(struct hf_link *link);

/* hf_rival_open_if_silent - opens a rival if nothing arrived for long enough. The link must be
 *   READY, with a reply due and nothing received since quiet_since_ms. Returns when to call it
 *   again. */
int64_t hf_rival_open_if_silent(struct hf_link *link);

/* hf_rival_for_attempt_due_ms - returns when a rival of this attempt to connect is due if the
 *   attempt makes no progress until then; HF_NEVER: none is due, or there is one. */
int64_t hf_rival_for_attempt_due_ms(const struct hf_link *link);

/* hf_rival_open_for_attempt - opens that rival if it is due. */
void hf_rival_open_for_attempt(struct hf_link *link);

/* hf_rival_is_ready - returns whether the handshake of the rival has ended. */
bool hf_rival_is_ready(const struct hf_link *link);

/* hf_rival_take_over - replaces the connection of the link, or its attempt to connect, by the
 *   connection of the rival, which must be ready. */
void hf_rival_take_over(struct hf_link *link);

/* hf_rival_outlives - the connection of the link has ended; link->error has the reason.
 *   Returns whether the rival is in its handshake, so that the link waits for it. */
bool hf_rival_outlives(struct hf_link *link);

/* hf_rival_stop - closes the rival, if there is one. Only the thread that drives the loop may
 *   call it, or any thread while none does. */
void hf_rival_stop(struct hf_link *link);

/* ---- link_error.c ---- */

/* hf_link_fill_error - writes "ADDRESS: WHAT: WHY" to link->error. `why` may be "". */
void hf_link_fill_error(struct hf_link *link, hf_status status, const char *what,
                        const char *why);

/* hf_link_fill_not_dialed - writes to link->error why no socket was connected. */
void hf_link_fill_not_dialed(struct hf_link *link);

/* ---- link_login.c ---- */

/* hf_link_login_init - begins without credentials. */
void hf_link_login_init(struct hf_link *link);

/* hf_link_login_fini - frees the credentials. */
void hf_link_login_fini(struct hf_link *link);

/* hf_link_find_login - LOGIN-1. True: link->login is set. False: the query is pending, or, if
 *   link->pending_credentials_query is 0, there are no credentials and link->no_login_error has the
 *   reason. */
bool hf_link_find_login(struct hf_link *link);

/* hf_link_login_move - moves to `to` the query of `from` that has no answer, and the
 *   credentials that no connection uses: LINK-8. */
void hf_link_login_move(struct hf_link *to, struct hf_link *from);

/* hf_link_login_resume - after hf_link_login_move from a rival that is stopped: replaces
 *   the login (LOGIN-3) if that waited for a query that the rival had. */
void hf_link_login_resume(struct hf_link *link);

/* hf_link_login_adopt - takes the login of the rival together with its connection. */
void hf_link_login_adopt(struct hf_link *link, struct hf_link *rival);

/* hf_link_login_stop - the connection ends: a pending AUTH is not sent later. */
void hf_link_login_stop(struct hf_link *link);

/* hf_link_login_worked - the server accepted the login: READY. */
void hf_link_login_worked(struct hf_link *link);

/* hf_link_login_refused - the server refused the login. Returns true if a retry would fail in
 *   the same way. */
bool hf_link_login_refused(struct hf_link *link);

/* hf_link_is_logged_out - returns whether this reply says that the connection is no longer
 *   logged in (LOGIN-4). */
bool hf_link_is_logged_out(const struct hf_link *link, struct hf_resp_value reply);

/* ---- link_handshake_mode.c ---- */

/* hf_link_best_handshake_mode - returns the best mode that options.last_protocol permits. */
enum hf_handshake_mode hf_link_best_handshake_mode(const struct hf_link *link);

/* hf_link_learn_from_hangup - LINK-6: the peer closed the connection during the handshake.
 *   It returns whether the next handshake is a different one. */
bool hf_link_learn_from_hangup(struct hf_link *link);

/* hf_link_forget_handshake_mode - LINK-6: a READY connection has ended. */
void hf_link_forget_handshake_mode(struct hf_link *link);

/* hf_link_check_error_reply - condemns the connection if this error reply shows that it is no
 *   longer logged in, or that the peer needs RESP2 (LINK-7), which is used from the next one on. */
void hf_link_check_error_reply(struct hf_link *link, struct hf_resp_value error);

/* ---- link_request.c ---- */

/* hf_link_on_overdue - the deadline of this request has passed. */
void hf_link_on_overdue(struct hf_request *request);

/* ---- link_stats.c ---- */

/* hf_link_count_loss - counts the loss of a READY connection; link->error has the reason. */
void hf_link_count_loss(struct hf_link *link);

/* hf_link_count_end - counts the end of a connection or of an attempt to connect. */
void hf_link_count_end(struct hf_link *link);

/* ---- link_trace.c: called only if options.on_trace is set, unless noted ---- */

/* hf_link_trace - fills in the address and calls on_trace. */
void hf_link_trace(struct hf_link *link, struct hf_trace trace);

/* hf_link_trace_lost - traces the end of a connection or an attempt, with link->error. It does
 *   nothing without on_trace. */
void hf_link_trace_lost(struct hf_link *link);

/* hf_link_trace_queued - traces that a request was queued. */
void hf_link_trace_queued(struct hf_link *link,
                          const struct hf_request *request,
                          const struct hf_resp_arg *argv, size_t argc);

/* hf_link_trace_end - traces the end of a request. */
void hf_link_trace_end(const struct hf_request *request,
                       enum hf_outcome outcome, struct hf_resp_value reply);

/* hf_link_set_handshake_trace - lets the connection trace its handshake. */
void hf_link_set_handshake_trace(struct hf_link *link);

/* hf_link_trace_late - the on_late_reply of the connection. */
void hf_link_trace_late(void *ctx, uint64_t place, struct hf_resp_value reply);

#endif
