/* A connection that reconnects by itself: connects the pure machine (conn.c) with sockets, time
 * and name lookup. The diagram is in link.h.
 *
 * LINK-1  Only the driving thread closes a socket. If a caller's write fails, the reader detects
 *         it.
 * LINK-2  Queued bytes are written when at least as much is queued as is in flight. So under
 *         load two batches alternate, and a single request never waits (performance, 6). After
 *         each read this is checked again.
 * LINK-3  While anything is in flight, silence of silence_ms closes the connection, because the
 *         peer has failed. The deadline of a request ends only that request.
 *         The bytes of a value that is skipped (CONN-8) count as silence: the replies after it
 *         are as late as those of a silent server.
 * LINK-4  A failed attempt is retried with backoff while requests wait or the link is wanted. A
 *         refusal that a retry cannot change fails all queued requests at once.
 * LINK-5  Waiters for space are served at the end of each turn in which space may have become
 *         available, before anything is written.
 *
 * LINK-6 and LINK-7: link_handshake_mode.c. LINK-8 and LINK-10: link_rival.c. LINK-9: link_probe.c.
 * */
/* Tests: tests/test_net_link_connect.c, tests/test_net_link_request.c,
 *        tests/test_net_cuts.c. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/base/error.h"
#include "net/base/assert.h"
#include "net/base/mem.h"
#include "net/base/moment.h"
#include "net/base/random.h"
#include "net/link/link_inner.h"

#define READS_MAX 64            /* reads of 16 KiB or more in one turn, so that one
                                   connection cannot occupy the loop */

static void end_connection(struct hf_link *link, bool is_final);
static void read_available_bytes(struct hf_link *link);

/* ---- options, new, free ---- */

void hf_link_options_init(struct hf_link_options *options)
{
    memset(options, 0, sizeof *options);
    options->protocol = 3;
    options->connect_timeout_ms = 5000;
    options->silence_ms = 5000;
    options->listen_ms = 3000; /* with silence_ms, a dead subscription is found in 8 s */
    options->backoff_min_ms = 10;
    options->backoff_max_ms = 1000;
    options->output_max = 64u << 20;
    options->requests_max = 1u << 20;
    options->reply_max = 1u << 30;
}

static void on_turn_end(struct hf_turn_hook *turn);
static void on_dialed(struct hf_dial *dial, int fd);
static void on_socket_ready(struct hf_io *io, int events);
static void on_link_timer(struct hf_timer *timer);

/* ---- what the connection reports ---- */

static void on_push(void *ctx, struct hf_resp_value push)
{
    struct hf_link *link = ctx;

    if (link->options.on_trace)
        hf_link_trace(link,
                      (struct hf_trace){.kind = HF_TRACE_PUSH, .reply = push});
    if (link->options.on_push)
        link->options.on_push(link->options.ctx, push);
}

static void on_push_lost(void *ctx)
{
    struct hf_link *link = ctx;

    if (link->options.on_push_lost)
        link->options.on_push_lost(link->options.ctx);
}

static void on_request_end(void *ctx, struct hf_request *request,
                           enum hf_outcome outcome, struct hf_resp_value reply)
{
    struct hf_link *link = ctx;

    if (outcome == HF_ANSWERED && hf_resp_is_error(reply))
        hf_link_check_error_reply(link, reply);
    if (outcome == HF_ANSWERED && hf_conn_is_condemned(&link->conn) &&
        !link->conn.delivers_despite_error) {
        outcome = HF_UNKNOWN; /* its owner retries, on the next connection */
        reply = (struct hf_resp_value){0};
    }
    hf_deadlines_forget(&link->deadlines, request);
    link->has_answered_since_ready = link->has_answered_since_ready || outcome == HF_ANSWERED;
    if (link->unhelpful_rivals > 0 && outcome == HF_ANSWERED)
        hf_rival_note_reply(link);
    if (link->options.on_trace)
        hf_link_trace_end(request, outcome, reply);
    request->done(request, outcome, reply);
}

static void set_up_conn(struct hf_link *link)
{
    struct hf_conn_options options = {
        .mem = hf_loop_mem(link->loop),
        .output_max = link->options.output_max,
        .requests_max = link->options.requests_max,
        .reply_max = link->options.reply_max,
        .is_subscriber = link->options.is_subscriber,
        .predecessor = link->options.predecessor,
        .on_push = on_push,
        .on_push_lost = on_push_lost,
        .on_request_end = on_request_end,
        .ctx = link,
    };
    struct hf_handshake *handshake = hf_conn_handshake(&link->conn);

    if (link->options.on_trace)
        options.on_late_reply = hf_link_trace_late;
    hf_conn_init(&link->conn, &options);
    if (link->options.on_trace)
        hf_link_set_handshake_trace(link);
    handshake->login = link->login;
    handshake->database = link->options.url.database;
    handshake->mode = hf_link_best_handshake_mode(link);
    handshake->wants_tracking = link->options.wants_tracking;
    handshake->client_name =
        link->options.client_name ? link->client_name : NULL;
}

hf_status hf_link_new(struct hf_link **out, struct hf_loop *loop,
                      const struct hf_link_options *options)
{
    struct hf_link *link;

    if (hf_loop_forked(loop))
        return HF_E_FORKED;
    link = hf_mem_new(hf_loop_mem(loop), sizeof *link);
    if (!link)
        return HF_E_NOMEM;
    link->loop = loop;
    link->options = *options;
    link->stream.fd = -1;
    link->timer.fire = on_link_timer;
    link->silence_check_ms = options->suspect_ms > 0
                        ? hf_min_ms(options->silence_ms,
                                    options->suspect_ms - options->suspect_ms / 4)
                        : options->silence_ms;
    hf_deadlines_init(&link->deadlines, loop, hf_link_on_overdue);
    hf_dial_init(&link->dial, loop, &link->options.url, on_dialed);
    if (options->client_name)
        strncpy(link->client_name, options->client_name, HF_CLIENT_NAME_MAX);
    hf_turn_hook_init(&link->turn_end_hook, on_turn_end);
    hf_space_queue_init(&link->space_queue);
    hf_link_login_init(link);
    (void)hf_url_address(&link->options.url, link->address,
                         sizeof link->address);
    if (options->announced_by)
        (void)snprintf(link->announced_by, sizeof link->announced_by, "%s",
                       options->announced_by);
    link->options.announced_by = NULL; /* lent for this call */
    set_up_conn(link);
    *out = link;
    return HF_OK;
}

static void close_socket(struct hf_link *link)
{
    hf_rival_stop(link);
    hf_dial_stop(&link->dial);
    if (link->stream.fd >= 0)
        hf_loop_unwatch(link->loop, &link->io);
    hf_stream_close(&link->stream, !hf_loop_forked(link->loop));
    hf_loop_disarm(link->loop, &link->timer);
    hf_loop_disarm(link->loop, &link->login_timer);
}

void hf_link_free(struct hf_link *link)
{
    if (!link)
        return;
    HF_ASSERT(hf_loop_is_locked(link->loop));
    close_socket(link);
    link->is_wanted = link->reconnects_once = false;
    hf_conn_close(&link->conn);
    hf_conn_fail_queued(&link->conn);
    hf_space_queue_fail(&link->space_queue, HF_E_CLOSED);
    hf_loop_cancel_turn_end(link->loop, &link->turn_end_hook);
    hf_deadlines_fini(&link->deadlines);
    hf_conn_fini(&link->conn);
    hf_link_login_fini(link);
    explicit_bzero(&link->options.url, sizeof link->options.url);
    hf_mem_free(hf_loop_mem(link->loop), link, sizeof *link);
}

/* ---- going up ---- */

static bool is_connecting(const struct hf_link *link)
{
    return link->state >= HF_LINK_FETCHING && link->state <= HF_LINK_HANDSHAKE;
}

void hf_link_serve_space_later(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (!hf_space_queue_is_empty(&link->space_queue))
        hf_loop_at_turn_end(link->loop, &link->turn_end_hook);
}

static void watch_socket_events(struct hf_link *link, bool has_output)
{
    hf_loop_rewatch(link->loop, &link->io,
                    hf_stream_wanted_events(&link->stream, has_output));
}

static void flush_output(struct hf_link *link)
{
    bool was_idle = hf_conn_in_flight(&link->conn) == 0;
    int64_t now = hf_loop_now(link->loop);
    const char *ptr;
    size_t len;
    long n;

    if (was_idle && hf_link_is_doubtful(link, now))
        hf_link_probe(link);
    len = hf_conn_output(&link->conn, hf_loop_now_us(link->loop), &ptr);
    if (len == 0 || hf_loop_forked(link->loop))
        return; /* in a child the parent writes them */
    if (was_idle)
        link->last_received_ms = link->reply_silent_since_ms = now;
    if (link->state == HF_LINK_READY && !link->has_unread_tls_bytes)
        hf_loop_arm(link->loop, &link->timer,
                    link->reply_silent_since_ms + link->silence_check_ms);
    n = hf_stream_write(&link->stream, ptr, len);
    hf_conn_counters(&link->conn)->writes++;
    if (n > 0) {
        hf_conn_counters(&link->conn)->bytes_out += (uint64_t)n;
        hf_conn_wrote(&link->conn, (size_t)n);
        hf_link_serve_space_later(link);
    }
    /* A failed write is found again by reading (LINK-1), at once where no
     * descriptor will say so. */
    watch_socket_events(link, n < (long)len);
    if (n < 0 && hf_stream_has_more(&link->stream))
        hf_loop_arm(link->loop, &link->timer, now);
}

static void begin_handshake(struct hf_link *link)
{
    hf_link_set_state(link, HF_LINK_HANDSHAKE);
    if (hf_conn_open(&link->conn) < 0) {
        hf_link_fill_error(link, HF_E_NOMEM, hf_conn_handshake(&link->conn)->error.text, "");
        end_connection(link, false);
        return;
    }
    flush_output(link);
}

/* The handshake of TLS: nothing of ours is sent before the peer has passed the
 * checks. Plain text has none. */
static void continue_tls_handshake(struct hf_link *link)
{
    hf_status rc = hf_stream_start(&link->stream);

    link->last_received_ms = hf_loop_now(link->loop);
    if (rc == HF_OK) {
        hf_conn_counters(&link->conn)->resumed +=
            hf_stream_is_resumed(&link->stream);
        begin_handshake(link);
        if (link->options.tls) /* bytes that TLS read with it are not visible at the
                                  descriptor */
            read_available_bytes(link);
    } else if (rc == HF_RESP_MORE) {
        watch_socket_events(link, false);
    } else {
        hf_link_fill_error(link, rc, link->stream.error.text, "");
        end_connection(link, rc == HF_E_TLS);
    }
}

hf_status hf_link_watch_socket(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    link->io = (struct hf_io){
        .fd = link->stream.fd, .events = HF_READ, .ready = on_socket_ready};
    return hf_loop_watch(link->loop, &link->io);
}

static void on_dialed(struct hf_dial *dial, int fd)
{
    struct hf_link *link = HF_OWNER_OF(dial, struct hf_link, dial);

    HF_ASSERT(hf_link_ok(link));
    if (fd < 0) {
        hf_link_fill_not_dialed(link);
        end_connection(link, false);
        return;
    }
    if (hf_stream_open(&link->stream, fd, link->options.tls) == HF_OK &&
        hf_link_watch_socket(link) == HF_OK) {
        hf_link_set_state(link, HF_LINK_SECURING);
        continue_tls_handshake(link);
        return;
    }
    hf_stream_close(&link->stream, false);
    hf_link_fill_error(link, HF_E_NOMEM, "out of memory while connecting", "");
    end_connection(link, false);
}

/* ---- going down ---- */

static bool is_connection_needed(const struct hf_link *link)
{
    return link->is_wanted || link->reconnects_once || hf_conn_queued(&link->conn) > 0;
}

void hf_link_close(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    hf_link_count_end(link);
    close_socket(link);
    hf_link_set_state(link, HF_LINK_IDLE);
    hf_link_login_stop(link);
    hf_conn_close(&link->conn);
}

/* The attempt, or the connection, has ended; link->error says why. */
static void end_connection(struct hf_link *link, bool is_final)
{
    bool was_up = link->state == HF_LINK_READY;

    hf_link_close(link);
    link->is_failure_final = is_final;
    if (is_final) {
        hf_conn_fail_queued(&link->conn);
        hf_space_queue_fail(&link->space_queue, link->error.status);
    }
    hf_link_serve_space_later(link);
    if (link->state == HF_LINK_IDLE && is_connection_needed(link))
        hf_link_back_off(link);
    if (link->options.on_change && was_up)
        link->options.on_change(link->options.ctx, false);
    if (link->options.on_failure && !was_up)
        link->options.on_failure(link->options.ctx);
}

void hf_link_failed(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    end_connection(link, false);
}

/* LINK-6: the same attempt goes on over a new connection, at once. */
static void repeat_handshake(struct hf_link *link)
{
    hf_link_close(link);
    hf_link_serve_space_later(link);
    if (link->state == HF_LINK_IDLE && is_connection_needed(link)) {
        hf_link_set_state(link, HF_LINK_BACKOFF);
        hf_loop_arm(link->loop, &link->timer, hf_loop_now(link->loop));
    }
}

/* This is as temporary as a refused connection: the server of a proxy is down. */
static void end_closed_by_peer(struct hf_link *link)
{
    const struct hf_error *why = &link->stream.error;
    char text[2 * HF_ERROR_TEXT_MAX];

    if (link->state != HF_LINK_HANDSHAKE || why->status == HF_E_TLS) {
        hf_link_fill_error(link, why->status, why->text, "");
        if (!hf_rival_outlives(link))
            end_connection(link, link->state == HF_LINK_HANDSHAKE);
        return;
    }
    (void)snprintf(text, sizeof text, "%s before it answered %s%s", why->text,
                   hf_handshake_awaited_command(hf_conn_handshake(&link->conn)),
                   link->options.tls ? ""
                                     : "; is the server behind a proxy down, is "
                                       "this a TLS port (rediss://), or not Redis?");
    hf_link_fill_error(link, why->status, text, "");
    if (hf_link_learn_from_hangup(link))
        repeat_handshake(link);
    else
        end_connection(link, false);
}

static void end_after_conn_error(struct hf_link *link, hf_status status)
{
    struct hf_error why = link->conn.error;
    bool is_final = link->state == HF_LINK_HANDSHAKE &&
                    (status == HF_E_PROTOCOL || status == HF_E_LIMIT ||
                     hf_conn_handshake(&link->conn)->is_failure_final);

    if (link->state == HF_LINK_HANDSHAKE && status == HF_E_AUTH)
        is_final = hf_link_login_refused(link);
    if (status == HF_E_AUTH && !is_final && *link->options.was_accepted)
        status = HF_E_CONNECT; /* for now, as a server that is away */
    hf_link_fill_error(link, status, why.text, "");
    link->error.is_temporary = why.is_temporary;
    end_connection(link, is_final);
}

/* ---- events ---- */

/* The rest is read in the next turn, so that a peer that never stops sending delays no
 * other link and no timer. */
static void schedule_rest_of_read(struct hf_link *link)
{
    link->has_unread_tls_bytes = hf_stream_has_more(&link->stream);
    if (link->has_unread_tls_bytes) /* no descriptor will say so */
        hf_loop_arm(link->loop, &link->timer, hf_loop_now(link->loop));
}

/* LINK-8: a message, or a part of one, does not show that what was sent has arrived. */
static bool brought_only_messages(const struct hf_conn *conn, uint64_t first, uint64_t pushes)
{
    bool is_message = conn->in_len > 0 ? *conn->in == '>' : conn->stats.pushes > pushes;

    return is_message && conn->first == first && hf_conn_in_flight(conn) > 0;
}

static void record_received_bytes(struct hf_link *link, bool was_skipping)
{
    if (!was_skipping)
        link->reply_silent_since_ms = hf_loop_now(link->loop);
    if (link->state == HF_LINK_READY && link->rival && !hf_rival_is_ready(link)) {
        hf_rival_stop(link);
        hf_loop_arm(link->loop, &link->timer, link->reply_silent_since_ms + link->silence_check_ms);
    }
}

/* Reads all that has come, so that one write can answer it. */
static void read_available_bytes(struct hf_link *link)
{
    struct hf_conn *conn = &link->conn;
    uint64_t first = conn->first, pushes = conn->stats.pushes;
    unsigned reads = 0;
    bool was_skipping;
    hf_status rc;
    size_t room;
    char *ptr;
    long n;

    link->has_unread_tls_bytes = false;
    if (hf_loop_forked(link->loop))
        return; /* a trace callback has forked: the parent reads */
    do {
        room = hf_conn_input(&link->conn, &ptr);
        if (room == 0) {
            hf_link_fill_error(link, HF_E_NOMEM, "out of memory while reading", "");
            end_connection(link, false);
            return;
        }
        n = hf_stream_read(&link->stream, ptr, room);
        hf_conn_counters(&link->conn)->reads++;
        if (n < 0) {
            end_closed_by_peer(link);
            return;
        }
        if (n == 0)
            break;
        hf_conn_counters(&link->conn)->bytes_in += (uint64_t)n;
        was_skipping = hf_conn_is_skipping(conn);
        if (!was_skipping)
            link->last_received_ms = hf_loop_now(link->loop);
        rc = hf_conn_received(conn, (size_t)n, hf_loop_now_us(link->loop));
        if (rc < 0) {
            end_after_conn_error(link, rc);
            return;
        }
        if (!brought_only_messages(conn, first, pushes))
            record_received_bytes(link, was_skipping);
    } while (++reads < READS_MAX && !hf_loop_forked(link->loop) &&
             ((size_t)n == room || hf_stream_has_more(&link->stream)));
    if (reads == READS_MAX)
        schedule_rest_of_read(link);
    if (link->state == HF_LINK_HANDSHAKE && link->conn.state == HF_CONN_READY)
        hf_link_become_ready(link);
    if (link->state == HF_LINK_HANDSHAKE)
        flush_output(link);
    if (link->options.tls) /* this read may wait for room to write */
        watch_socket_events(link, hf_conn_has_output(&link->conn));
    hf_loop_at_turn_end(link->loop, &link->turn_end_hook);
}

/* Through TLS a read may wait for room to write and a write for something to
 * read: both are tried, whatever has come. */
static void on_socket_ready(struct hf_io *io, int events)
{
    struct hf_link *link = HF_OWNER_OF(io, struct hf_link, io);

    HF_ASSERT(hf_link_ok(link));
    if (link->state == HF_LINK_SECURING) {
        continue_tls_handshake(link);
        return;
    }
    if (events & HF_WRITE ||
        (link->options.tls && hf_conn_has_output(&link->conn)))
        flush_output(link);
    if (events & HF_READ || link->options.tls)
        read_available_bytes(link);
}

/* LINK-3, LINK-8, or condemned from outside of a read (LINK-1). */
static void check_for_silence(struct hf_link *link)
{
    int64_t until = link->last_received_ms + link->options.silence_ms;

    if (hf_conn_is_condemned(&link->conn)) {
        end_connection(link, false);
    } else if (hf_rival_is_ready(link)) {
        hf_rival_take_over(link);
    } else if (hf_conn_in_flight(&link->conn) > 0 &&
               hf_loop_now(link->loop) < until) {
        hf_loop_arm(link->loop, &link->timer,
                    hf_min_ms(until, hf_rival_open_if_silent(link)));
    } else if (hf_conn_in_flight(&link->conn) > 0) {
        hf_link_fill_error(link, HF_E_NOREPLY, "the server does not answer", "");
        end_connection(link, false);
    } else {
        hf_conn_shrink(&link->conn); /* nothing was sent for look_ms */
    }
}

/* Reads the bytes that schedule_rest_of_read postponed. It used the timer that watches the attempt,
 * or silence (LINK-3): when all is read, the timer is set for that again. */
static void read_postponed_bytes(struct hf_link *link)
{
    read_available_bytes(link);
    if (link->has_unread_tls_bytes)
        return;
    if (link->state == HF_LINK_HANDSHAKE)
        hf_link_arm_attempt_timer(link);
    else if (link->state == HF_LINK_READY)
        check_for_silence(link);
}

static void on_link_timer(struct hf_timer *timer)
{
    struct hf_link *link = HF_OWNER_OF(timer, struct hf_link, timer);
    bool is_open =
        link->state == HF_LINK_HANDSHAKE || link->state == HF_LINK_READY;

    if (is_open && hf_stream_has_more(&link->stream)) {
        read_postponed_bytes(link);
    } else if (link->state == HF_LINK_READY) {
        check_for_silence(link);
    } else if (hf_rival_is_ready(link)) {
        hf_rival_take_over(link);
    } else if (link->state == HF_LINK_FETCHING && link->has_next_login) {
        hf_link_attempt(link);
    } else if (link->state == HF_LINK_FETCHING && link->pending_credentials_query == 0) {
        hf_link_fill_error(link, link->no_login_error.status, link->no_login_error.text, "");
        end_connection(link, false);
    } else if (link->state == HF_LINK_BACKOFF && is_connection_needed(link)) {
        hf_link_attempt(link);
    } else if (link->state == HF_LINK_BACKOFF) {
        hf_link_set_state(link, HF_LINK_IDLE);
    } else {
        hf_link_on_attempt_timer(link);
    }
}

/* LINK-5 and LINK-2, at the end of a turn. Bytes that the kernel did not take
 * wait for it. */
static void on_turn_end(struct hf_turn_hook *turn)
{
    struct hf_link *link = HF_OWNER_OF(turn, struct hf_link, turn_end_hook);

    HF_ASSERT(hf_link_ok(link));
    if (!hf_space_queue_is_empty(&link->space_queue))
        hf_space_queue_serve(&link->space_queue, &link->conn);
    if (link->state == HF_LINK_IDLE && is_connection_needed(link))
        hf_link_attempt(link);
    else if (is_connecting(link) && hf_rival_for_attempt_due_ms(link) < link->timer.due_ms)
        hf_link_arm_attempt_timer(link); /* the attempt began before the request was queued */
    if (link->state == HF_LINK_READY && link->conn.unwritten_bytes == 0 &&
        hf_conn_queued(&link->conn) >= hf_conn_in_flight(&link->conn))
        flush_output(link);
}
