/* The scripted peer: a thread that carries out a table, one step after the
 * other, on sockets that never block longer than the step may last. */
#include "tests/support/peer.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/handshake.h"
#include "tests/support/local.h"
#include "tests/support/request.h"

#define COMPLAINT_MAX 1024
#define READ_ROOM 65536

struct connection {
    int fd;                     /* -1: ended by the script */
    bool has_reply;
    bool is_over;               /* the client has closed or reset it */
    struct handshake handshake;
    char *bytes;                /* read and not yet taken */
    size_t len;
    size_t room;
};

struct peer {
    /* Set once. */
    const struct peer_step *steps;
    int port;
    int go;                     /* an eventfd that counts peer_go calls */
    pthread_t thread;
    /* The peer's thread only, while it runs. */
    int listener;
    const struct peer_step *step;
    int64_t deadline_ms;        /* of the step */
    struct connection connections[PEER_CONNECTIONS_MAX];
    size_t connection_count;
    struct connection *current; /* NULL: none yet */
    struct request request;     /* the one being looked at: big */
    char complaint[COMPLAINT_MAX]; /* "": none */
    /* The test's. */
    bool is_joined;
    /* Under `mutex`. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_finished;
    char **received;
    size_t received_count;
};

static const char *const verb_names[] = {
    [PEER_DO_END] = "END",
    [PEER_DO_ACCEPT] = "ACCEPT",
    [PEER_DO_TURN_TO] = "TURN_TO",
    [PEER_DO_HANDSHAKE] = "HANDSHAKE",
    [PEER_DO_EXPECT] = "EXPECT",
    [PEER_DO_SEND] = "SEND",
    [PEER_DO_SEND_SLOWLY] = "SEND_SLOWLY",
    [PEER_DO_CLOSE] = "CLOSE",
    [PEER_DO_RESET] = "RESET",
    [PEER_DO_GONE] = "GONE",
    [PEER_DO_WAIT] = "WAIT",
    [PEER_DO_HOLD] = "HOLD",
};

/* ---- what the test can see ----------------------------------------------- */

/* What the step is, for a complaint: "step 3 (EXPECT GET *): ". */
static int name_step(const struct peer *p, char *dst, size_t room)
{
    const struct peer_step *step = p->step;
    bool has_pattern = step->verb == PEER_DO_EXPECT;

    return snprintf(dst, room, "step %td (%s%s%.200s): ", step - p->steps,
                    verb_names[step->verb], has_pattern ? " " : "",
                    has_pattern ? step->text : "");
}

/* Keeps the first complaint; returns false, for `return`. */
static bool complain(struct peer *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool complain(struct peer *p, const char *format, ...)
{
    va_list args;
    int len;

    if (p->complaint[0])
        return false;
    len = name_step(p, p->complaint, sizeof p->complaint);
    va_start(args, format);
    (void)vsnprintf(p->complaint + len, sizeof p->complaint - (size_t)len,
                    format, args);
    va_end(args);
    return false;
}

/* Takes `text`. */
static void note_received(struct peer *p, char *text)
{
    size_t count;

    (void)pthread_mutex_lock(&p->mutex);
    count = p->received_count + 1;
    p->received = realloc(p->received, count * sizeof *p->received);
    if (!p->received)
        abort(); /* without memory there is no test */
    p->received[p->received_count] = text;
    p->received_count = count;
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->mutex);
}

/* ---- bytes --------------------------------------------------------------- */

/* Writes all of it, waiting where the client does not read. */
static bool write_all(struct peer *p, struct connection *c, const char *ptr,
                      size_t len)
{
    while (len > 0) {
        struct pollfd writable = {.fd = c->fd, .events = POLLOUT};
        int64_t left_ms = p->deadline_ms - local_now_ms();
        ssize_t n = send(c->fd, ptr, len, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return complain(p, "the client has gone: %s", strerror(errno));
        if (n >= 0) {
            ptr += n;
            len -= (size_t)n;
        } else if (left_ms <= 0) {
            return complain(p, "the client does not read");
        } else {
            (void)poll(&writable, 1, (int)left_ms);
        }
    }
    return true;
}

static void make_room(struct connection *c)
{
    if (c->room - c->len >= READ_ROOM)
        return;
    c->room = c->room * 2 + READ_ROOM;
    c->bytes = realloc(c->bytes, c->room);
    if (!c->bytes)
        abort(); /* without memory there is no test */
}

static void read_some(struct connection *c)
{
    ssize_t n;

    make_room(c);
    n = recv(c->fd, c->bytes + c->len, READ_ROOM, 0);
    if (n > 0)
        c->len += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        c->is_over = true;
}

/* Forgets the first `len` bytes. */
static void drop_bytes(struct connection *c, size_t len)
{
    c->len -= len;
    memmove(c->bytes, c->bytes + len, c->len);
}

static enum request_state look(struct peer *p, struct connection *c)
{
    return request_decode(&p->request, c->bytes, c->len);
}

/* ---- handshakes ----------------------------------------------------------- */

/* Does the present step, or the one after PEER_HANDSHAKE, want this very handshake command for
 * itself? */
static bool is_expected(struct peer *p, const struct connection *c)
{
    const struct peer_step *step = p->step + (p->step->verb == PEER_DO_HANDSHAKE);

    return step->verb == PEER_DO_EXPECT && c == p->current && step->text[0] != '*' &&
           step->text[0] != '.' && request_matches(&p->request, step->text);
}

/* Answers the handshake commands that stand first among the bytes. */
static bool answer_handshakes(struct peer *p, struct connection *c)
{
    char answer[HANDSHAKE_MAX];
    size_t len;

    while (c->has_reply && look(p, c) == REQUEST_WHOLE && !is_expected(p, c)) {
        len = handshake_answer(&c->handshake, &p->request, answer);
        if (len == 0)
            break;
        if (!write_all(p, c, answer, len))
            return false;
        drop_bytes(c, p->request.len);
    }
    return true;
}

/* ---- waiting ------------------------------------------------------------- */

enum { WANT_GO = 1, WANT_BYTES = 2 };

static bool is_readable(const struct connection *c)
{
    return c->fd >= 0 && !c->is_over && c->len < PEER_INPUT_MAX;
}

/* Waits for what is wanted until there is some of it; takes in bytes and
 * answers handshakes. False with a complaint at the step's deadline. */
static bool await_some(struct peer *p, int wanted)
{
    struct pollfd watched[1 + PEER_CONNECTIONS_MAX];
    int64_t left_ms = p->deadline_ms - local_now_ms();

    watched[0].fd = wanted & WANT_GO ? p->go : -1;
    watched[0].events = POLLIN;
    for (size_t i = 0; i < p->connection_count; i++) {
        struct connection *c = &p->connections[i];

        watched[1 + i].fd = wanted & WANT_BYTES && is_readable(c) ? c->fd : -1;
        watched[1 + i].events = POLLIN;
    }
    if (left_ms <= 0)
        return complain(p, "it did not come in %d ms", PEER_STEP_MS);
    (void)poll(watched, 1 + p->connection_count, (int)left_ms);
    for (size_t i = 0; i < p->connection_count; i++) {
        if (watched[1 + i].fd < 0 || !watched[1 + i].revents)
            continue;
        read_some(&p->connections[i]);
        if (!answer_handshakes(p, &p->connections[i]))
            return false;
    }
    return true;
}

/* ---- steps --------------------------------------------------------------- */

static bool do_accept(struct peer *p)
{
    struct pollfd listener = {.fd = p->listener, .events = POLLIN};
    struct connection *c = &p->connections[p->connection_count];
    int64_t left_ms;

    if (p->connection_count == PEER_CONNECTIONS_MAX)
        return complain(p, "more than %d connections", PEER_CONNECTIONS_MAX);
    while ((c->fd = accept(p->listener, NULL, NULL)) < 0) {
        left_ms = p->deadline_ms - local_now_ms();
        if (left_ms <= 0)
            return complain(p, "nobody has connected");
        (void)poll(&listener, 1, (int)left_ms);
    }
    local_prepare(c->fd);
    p->connection_count++;
    c->handshake.protocol = 2;
    c->handshake.id = (unsigned)p->connection_count;
    p->current = c;
    return true;
}

static bool do_turn_to(struct peer *p)
{
    if (p->step->number < 1 || p->step->number > p->connection_count)
        return complain(p, "there is no connection %zu", p->step->number);
    p->current = &p->connections[p->step->number - 1];
    return true;
}

/* Takes the request that was looked at, if it is the right one. */
static bool take_expected(struct peer *p)
{
    char *text = request_text(&p->request);

    if (!request_matches(&p->request, p->step->text)) {
        (void)complain(p, "there came: %s", text);
        free(text);
        return false;
    }
    note_received(p, text);
    drop_bytes(p->current, p->request.len);
    return true;
}

static bool do_expect(struct peer *p)
{
    struct connection *c = p->current;

    for (;;) {
        if (!answer_handshakes(p, c))
            return false;
        switch (look(p, c)) {
        case REQUEST_WHOLE:
            return take_expected(p);
        case REQUEST_BROKEN:
            return complain(p, "what came is no request");
        case REQUEST_MORE:
            break;
        }
        if (c->is_over)
            return complain(p, "the client has gone");
        if (!await_some(p, WANT_BYTES))
            return false;
    }
}

static bool do_send_slowly(struct peer *p)
{
    for (size_t i = 0; i < p->step->number; i++) {
        if (!write_all(p, p->current, p->step->text + i, 1))
            return false;
        local_rest_us(LOCAL_SLICE_REST_US);
    }
    return true;
}

static bool do_end_connection(struct peer *p, void (*end)(int fd))
{
    end(p->current->fd);
    p->current->fd = -1;
    return true;
}

static bool do_await_gone(struct peer *p)
{
    while (!p->current->is_over)
        if (!await_some(p, WANT_BYTES))
            return false;
    return true;
}

static bool do_await_go(struct peer *p, int wanted)
{
    eventfd_t one;

    while (eventfd_read(p->go, &one) < 0)
        if (!await_some(p, wanted))
            return false;
    return true;
}

static bool has_connection(struct peer *p)
{
    return p->current && p->current->fd >= 0;
}

static bool perform(struct peer *p)
{
    switch (p->step->verb) {
    case PEER_DO_ACCEPT:
        return do_accept(p);
    case PEER_DO_TURN_TO:
        return do_turn_to(p);
    case PEER_DO_WAIT:
        return do_await_go(p, WANT_GO | WANT_BYTES);
    case PEER_DO_HOLD:
        return do_await_go(p, WANT_GO);
    default:
        break;
    }
    if (!has_connection(p))
        return complain(p, "there is no connection");
    switch (p->step->verb) {
    case PEER_DO_HANDSHAKE:
        p->current->has_reply = true;
        return answer_handshakes(p, p->current);
    case PEER_DO_EXPECT:
        return do_expect(p);
    case PEER_DO_SEND:
        return write_all(p, p->current, p->step->text, p->step->number);
    case PEER_DO_SEND_SLOWLY:
        return do_send_slowly(p);
    case PEER_DO_CLOSE:
        return do_end_connection(p, local_close);
    case PEER_DO_RESET:
        return do_end_connection(p, local_reset);
    case PEER_DO_GONE:
        return do_await_gone(p);
    default:
        return complain(p, "there is no such step");
    }
}

static void close_all(struct peer *p)
{
    local_close(p->listener);
    p->listener = -1;
    for (size_t i = 0; i < p->connection_count; i++) {
        local_close(p->connections[i].fd);
        p->connections[i].fd = -1;
    }
}

static void *run(void *arg)
{
    struct peer *p = arg;
    bool is_good = true;

    for (p->step = p->steps; is_good && p->step->verb; p->step++) {
        p->deadline_ms = local_now_ms() + PEER_STEP_MS;
        is_good = perform(p);
    }
    if (!is_good)
        close_all(p);
    (void)pthread_mutex_lock(&p->mutex);
    p->is_finished = true;
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* ---- the test's side ----------------------------------------------------- */

struct peer *peer_start(const struct peer_step *steps)
{
    struct peer *p = local_new(sizeof *p);

    p->steps = steps;
    p->listener = local_listen(&p->port);
    p->go = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
    (void)pthread_mutex_init(&p->mutex, NULL);
    local_cond_init(&p->changed);
    if (p->listener < 0 || p->go < 0 ||
        pthread_create(&p->thread, NULL, run, p) != 0)
        ck_abort_msg("no scripted peer: %s", strerror(errno));
    return p;
}

const char *peer_finish(struct peer *p)
{
    if (!p->is_joined)
        (void)pthread_join(p->thread, NULL);
    p->is_joined = true;
    return p->complaint[0] ? p->complaint : NULL;
}

void peer_free(struct peer *p)
{
    if (!p)
        return;
    (void)peer_finish(p);
    close_all(p);
    (void)close(p->go);
    for (size_t i = 0; i < p->connection_count; i++)
        free(p->connections[i].bytes);
    for (size_t i = 0; i < p->received_count; i++)
        free(p->received[i]);
    free(p->received);
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->mutex);
    free(p);
}

int peer_port(const struct peer *p)
{
    return p->port;
}

void peer_go(struct peer *p)
{
    (void)eventfd_write(p->go, 1); /* fails only after 2^64 calls */
}

const char *peer_received(struct peer *p, size_t index)
{
    const char *text = NULL;

    (void)pthread_mutex_lock(&p->mutex);
    if (index < p->received_count)
        text = p->received[index];
    (void)pthread_mutex_unlock(&p->mutex);
    return text;
}

size_t peer_received_count(struct peer *p)
{
    size_t count;

    (void)pthread_mutex_lock(&p->mutex);
    count = p->received_count;
    (void)pthread_mutex_unlock(&p->mutex);
    return count;
}

bool peer_await(struct peer *p, size_t count)
{
    int64_t deadline_ms = local_now_ms() + PEER_STEP_MS;
    bool is_there;

    (void)pthread_mutex_lock(&p->mutex);
    while (p->received_count < count && !p->is_finished)
        if (!local_cond_wait(&p->changed, &p->mutex, deadline_ms))
            break;
    is_there = p->received_count >= count;
    (void)pthread_mutex_unlock(&p->mutex);
    return is_there;
}
