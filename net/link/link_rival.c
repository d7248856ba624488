/* A second connection beside a connection, or an attempt to connect, that is silent.
 *
 *     (none) -silence of suspect_ms-> RIVAL -handshake ended first-> replaces the connection
 *        ^                              |
 *        +--- reply on the connection --+
 *
 * LINK-8  While a reply is due, silence of suspect_ms opens a rival: a link of its own, whose
 *         predecessor is the silent connection. Messages do not end the silence, because the
 *         connection may be dead only in the direction to the server. The handshake of the
 *         rival shows that the server replies, and closes the old connection there (CLIENT
 *         KILL): requests that are still in transit on it are never executed. Then requests
 *         in flight end UNKNOWN, and the link uses the socket of the rival.
 *             One rival exists at a time, and it uses backoff like any link. If the last
 *         reply took longer than suspect_ms, the next silence may last twice as long as that
 *         reply took, at most 2 * suspect_ms. Each rival that replaces the
 *         connection doubles the time, up to silence_ms, until a reply takes less than
 *         suspect_ms: some servers and proxies reply to handshakes at once, and to requests
 *         late or not at all (CLIENT PAUSE).
 *             Each connection takes a random quarter off the time, so that clients whose
 *         connections died together do not open rivals together.
 *             A request that must not be repeated ends UNKNOWN like any other, though its
 *         reply might still come: the rival has closed its connection at the server, and
 *         renewals on the same connection cannot wait for it.
 *             A rival and its link share one query for credentials: the rival begins with
 *         the link's query or unused credentials, and returns its own when it is closed.
 * LINK-10 An attempt to connect (TCP, TLS, HELLO) that makes no progress for suspect_ms
 *         while requests are queued also gets a rival. The connection whose handshake ends
 *         first is used, and the other one is closed. The first attempt keeps its whole
 *         time, because the server may only be slow.
 *             An attempt of any rival that makes no progress for suspect_ms is replaced by
 *         another one. The time doubles with each of them, up to connect_timeout_ms. So a
 *         link has at most two attempts at a time, and a server that does not reply gets few
 *         of them: 5 in 5 s, if suspect_ms is 300. */
/* Tests: tests/test_net_link_rival.c, tests/live/fault/test_silence.c. */
#include <stdio.h>
#include <string.h>

#include "net/base/error.h"
#include "net/base/assert.h"
#include "net/base/mem.h"
#include "net/base/moment.h"
#include "net/link/link_inner.h"

#define PATIENCE_DOUBLINGS_MAX 16 /* so that the shift cannot overflow */

/* ---- when ---- */

static int64_t patience_before_rival_ms(const struct hf_link *link)
{
    int64_t ms = link->options.suspect_ms;
    int64_t slow_ms = 2 * (int64_t)(link->conn.last_latency_us / 1000);
    unsigned doublings = link->unhelpful_rivals;

    if (slow_ms > ms)
        ms = hf_min_ms(slow_ms, 2 * ms);
    ms <<= doublings < PATIENCE_DOUBLINGS_MAX ? doublings : PATIENCE_DOUBLINGS_MAX;
    if (ms >= link->options.silence_ms) /* no rival: the connection ends then */
        return ms;
    return ms - ms / 4 * link->suspect_jitter / 256;
}

/* ---- the rival ---- */

/* In its next turn: here the rival is on the stack. */
static void wake_link_timer(struct hf_link *link)
{
    hf_loop_arm(link->loop, &link->timer, hf_loop_now(link->loop));
}

static void on_rival_change(void *ctx, bool is_up)
{
    if (is_up)
        wake_link_timer(ctx);
}

static bool has_attempt_begun(const struct hf_link *link)
{
    return link->state != HF_LINK_HANDSHAKE || link->stream.fd >= 0;
}

static void on_rival_failure(void *ctx)
{
    struct hf_link *link = ctx;

    if (link->state == HF_LINK_READY || has_attempt_begun(link))
        return;
    link->attempt_until_ms = hf_loop_now(link->loop); /* it waits for the rival alone */
    wake_link_timer(link);
}

static void set_rival_options(struct hf_link_options *o, const struct hf_link *link)
{
    *o = link->options;
    o->predecessor = link->conn.predecessor;
    o->suspect_ms = o->idle_check_ms = 0;
    o->backoff_min_ms = link->options.suspect_ms;
    o->backoff_max_ms = link->options.silence_ms;
    o->on_change = on_rival_change;
    o->on_failure = on_rival_failure;
    o->on_push = NULL;
    o->on_push_lost = NULL;
    o->announced_by = link->announced_by[0] ? link->announced_by : NULL;
    o->ctx = (void *)link;
}

static void open_rival(struct hf_link *link)
{
    struct hf_link_options options;

    set_rival_options(&options, link);
    if (hf_link_new(&link->rival, link->loop, &options) < 0)
        link->rival = NULL; /* later, maybe */
    explicit_bzero(&options.url, sizeof options.url);
    if (!link->rival)
        return;
    link->rival->conn.stream = link->conn.stream; /* of which it may be the second heir */
    hf_link_login_move(link->rival, link);
    hf_conn_handshake(&link->rival->conn)->mode =
        hf_conn_handshake(&link->conn)->mode;
    link->rival->used_best_mode = link->used_best_mode;
    link->rival->is_replaced = link->is_replaced;
    hf_dial_adopt(&link->rival->dial, &link->dial);
    link->rival->rival_attempt_ms = link->options.suspect_ms;
    hf_link_want(link->rival, true);
}

int64_t hf_rival_open_if_silent(struct hf_link *link)
{
    int64_t due_ms = link->reply_silent_since_ms + patience_before_rival_ms(link);

    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (link->options.suspect_ms == 0 || link->rival ||
        hf_conn_is_skipping(&link->conn))
        return HF_NEVER;
    if (hf_loop_now(link->loop) < due_ms)
        return due_ms;
    open_rival(link);
    return HF_NEVER;
}

/* LINK-10 */
int64_t hf_rival_for_attempt_due_ms(const struct hf_link *link)
{
    int64_t ms = link->options.suspect_ms;

    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (ms == 0 || link->rival || hf_conn_queued(&link->conn) == 0 ||
        link->state == HF_LINK_FETCHING || !has_attempt_begun(link))
        return HF_NEVER;
    return hf_link_progress_ms(link) + ms - ms / 4 * link->suspect_jitter / 256;
}

void hf_rival_open_for_attempt(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (hf_loop_now(link->loop) < hf_rival_for_attempt_due_ms(link))
        return;
    open_rival(link);
    if (!link->rival) /* no memory: suspect_ms later */
        link->last_received_ms = hf_loop_now(link->loop);
}

void hf_rival_note_reply(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (link->conn.last_latency_us / 1000 < link->options.suspect_ms)
        link->unhelpful_rivals = 0;
}

bool hf_rival_is_ready(const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return link->rival && hf_link_is_up(link->rival);
}

/* Its connections are counted where they become the link's. */
static void add_stats_of_rival(struct hf_link *link, const struct hf_link *rival)
{
    struct hf_link_stats stats;

    hf_link_get_stats(rival, &stats);
    stats.connects = stats.losses = 0;
    hf_link_stats_add(hf_conn_counters(&link->conn), &stats);
}

void hf_rival_stop(struct hf_link *link)
{
    struct hf_link *rival = link->rival;

    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (!rival)
        return;
    link->rival = NULL;
    hf_link_login_move(link, rival);
    hf_link_login_resume(link);
    add_stats_of_rival(link, rival);
    hf_link_free(rival);
}

/* ---- the address of both ---- */

/* A race that runs may be one for the ip of before. */
void hf_link_set_ip(struct hf_link *link, const char *ip)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (strcmp(link->options.url.ip, ip) == 0)
        return;
    (void)snprintf(link->options.url.ip, sizeof link->options.url.ip, "%s", ip);
    if (link->rival)
        hf_link_set_ip(link->rival, ip);
    if (link->state == HF_LINK_DIALING && !link->dial.pending_lookup) {
        hf_dial_stop(&link->dial);
        hf_link_dial(link);
    }
}

/* ---- taking over ---- */

/* link->error says why. */
static void close_first_connection(struct hf_link *link)
{
    link->unhelpful_rivals++;
    hf_link_count_loss(link);
    hf_loop_unwatch(link->loop, &link->io);
    hf_stream_close(&link->stream, true);
    hf_link_set_state(link, HF_LINK_HANDSHAKE);
    link->attempt_until_ms = hf_loop_now(link->loop) + link->options.connect_timeout_ms;
    hf_loop_arm(link->loop, &link->timer, link->attempt_until_ms);
    hf_link_login_stop(link);
    hf_conn_close(&link->conn);
    hf_link_serve_space_later(link);
    if (link->options.on_change)
        link->options.on_change(link->options.ctx, false);
}

/* A handshake that failed also had replies. */
static bool has_rival_replied(const struct hf_link *rival)
{
    return hf_link_is_up(rival) ||
           (rival->state == HF_LINK_HANDSHAKE && rival->conn.handshake.has_answered);
}

/* The server closes the silent connection before or after it replies to CLIENT KILL. */
bool hf_rival_outlives(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (link->state != HF_LINK_READY || !link->rival || !has_rival_replied(link->rival))
        return false;
    close_first_connection(link);
    if (hf_rival_is_ready(link))
        wake_link_timer(link); /* it was, before the connection ended */
    return true;
}

/* The rival was faster. */
static void end_own_attempt(struct hf_link *link)
{
    hf_link_name_late_step(link);
    hf_link_count_end(link);
    hf_dial_stop(&link->dial);
    if (link->stream.fd >= 0)
        hf_loop_unwatch(link->loop, &link->io);
    hf_stream_close(&link->stream, true);
    hf_conn_close(&link->conn);
}

static void adopt_rival_connection(struct hf_link *link, struct hf_link *rival)
{
    hf_loop_unwatch(link->loop, &rival->io);
    hf_conn_adopt(&link->conn, &rival->conn);
    link->conn.stream = rival->conn.stream;
    hf_link_login_adopt(link, rival);
    hf_dial_adopt(&link->dial, &rival->dial);
    link->stream = rival->stream;
    link->attempt_number = rival->attempt_number;
    link->last_received_ms = rival->last_received_ms;
    link->reply_silent_since_ms = rival->reply_silent_since_ms;
    rival->stream = (struct hf_stream){.fd = -1};
    hf_link_set_state(rival, HF_LINK_IDLE);
    add_stats_of_rival(link, rival);
    hf_link_free(rival);
}

void hf_rival_take_over(struct hf_link *link)
{
    struct hf_link *rival = link->rival;

    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (link->state == HF_LINK_READY) {
        (void)hf_error_set(&link->error, HF_E_NOREPLY,
                           "%s: the connection was silent, and the server answers "
                           "on a new one",
                           link->address);
        close_first_connection(link);
    } else if (has_attempt_begun(link)) {
        end_own_attempt(link);
    }
    link->rival = NULL;
    adopt_rival_connection(link, rival);
    if (hf_link_watch_socket(link) == HF_OK) {
        hf_link_become_ready(link);
        return;
    }
    hf_stream_close(&link->stream, true);
    (void)hf_error_set(&link->error, HF_E_NOMEM,
                       "%s: out of memory while connecting", link->address);
    hf_link_failed(link);
}
