/* Scripted nodes: one thread, one poll(2), a table of connections. */
#include "tests/support/nodes.h"

#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/handshake.h"
#include "tests/support/local.h"

#define CONNECTIONS_MAX 256
#define RANGES_MAX 64
#define READ_ROOM (1u << 20)

struct connection {
    int fd;                     /* -1: free */
    int node;
    bool is_asking;
    bool is_mute;               /* an answer was left out: no other may come */
    struct handshake handshake;
    char *bytes;
    size_t len;
};

struct received {
    int node;
    char *text;
};

struct nodes {
    /* Set once. */
    int count;
    nodes_answer *answer;
    void *ctx;
    int ports[NODES_MAX];
    int ends[2];                /* a byte: look again */
    pthread_t thread;
    /* The thread's. */
    int listeners[NODES_MAX];
    bool is_deaf[NODES_MAX];        /* its listener refuses connections */
    struct connection connections[CONNECTIONS_MAX];
    struct request request;
    char reply[NODES_REPLY_MAX];
    unsigned ids;
    /* Under `mutex`. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned wanted, applied;   /* changes */
    bool is_over;
    bool is_down[NODES_MAX];
    bool is_paused[NODES_MAX];
    int epoch;
    struct nodes_range ranges[RANGES_MAX];
    int range_count;
    struct received *received;
    size_t received_count;
};

/* ---- answers ---- */

static void say_info(struct nodes *n)
{
    char text[100];
    int len = snprintf(text, sizeof text,
                       "cluster_state:ok\r\ncluster_current_epoch:%d\r\n"
                       "cluster_my_epoch:1\r\n",
                       n->epoch);

    (void)sprintf(n->reply, "$%d\r\n%s\r\n", len, text);
}

static void say_slots(struct nodes *n)
{
    char *to = n->reply + sprintf(n->reply, "*%d\r\n", n->range_count);

    for (int i = 0; i < n->range_count; i++) {
        const struct nodes_range *r = &n->ranges[i];

        to += sprintf(to,
                      "*3\r\n:%d\r\n:%d\r\n*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n"
                      "$%d\r\nnode-%d\r\n",
                      r->from, r->to, n->ports[r->node], r->node < 10 ? 6 : 7, r->node);
    }
}

static void say_own(struct nodes *n, const struct nodes_ask *ask)
{
    const struct request *r = ask->request;

    if (request_matches(r, "CLUSTER INFO"))
        say_info(n);
    else if (request_matches(r, "CLUSTER SLOTS"))
        say_slots(n);
    else if (request_matches(r, "PUBSUB ..."))
        (void)strcpy(n->reply, "*0\r\n");
    else if (request_matches(r, "ASKING"))
        (void)strcpy(n->reply, "+OK\r\n");
    else
        (void)sprintf(n->reply, "+node %d\r\n", ask->node);
}

static void note(struct nodes *n, int node, const struct request *r)
{
    n->received = realloc(n->received,
                          (n->received_count + 1) * sizeof *n->received);
    if (!n->received)
        abort(); /* without memory there is no test */
    n->received[n->received_count++] =
        (struct received){node, request_text(r)};
}

static void send_all(int fd, const char *ptr, size_t len)
{
    while (len > 0) {
        ssize_t done = send(fd, ptr, len, MSG_NOSIGNAL);
        struct pollfd writable = {.fd = fd, .events = POLLOUT};

        if (done < 0 && errno != EAGAIN)
            return; /* the client has gone */
        if (done < 0)
            (void)poll(&writable, 1, 100);
        else
            ptr += done, len -= (size_t)done;
    }
}

static void answer_one(struct nodes *n, struct connection *c)
{
    struct nodes_ask ask = {.node = c->node,
                            .protocol = c->handshake.protocol,
                            .is_asking = c->is_asking,
                            .request = &n->request};
    size_t len = handshake_answer(&c->handshake, &n->request, n->reply);

    if (len == 0) {
        note(n, c->node, &n->request);
        if (!n->answer || !n->answer(n->ctx, &ask, n->reply))
            say_own(n, &ask);
        len = strlen(n->reply);
    }
    c->is_asking = request_matches(&n->request, "ASKING");
    c->is_mute = c->is_mute || len == 0;
    if (!c->is_mute)
        send_all(c->fd, n->reply, len);
}

/* ---- sockets ---- */

static void close_connection(struct connection *c)
{
    local_close(c->fd);
    free(c->bytes);
    memset(c, 0, sizeof *c);
    c->fd = -1;
}

static void take_in(struct nodes *n, int node)
{
    int fd = accept(n->listeners[node], NULL, NULL);

    if (fd < 0)
        return;
    local_prepare(fd);
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        if (n->connections[i].fd < 0) {
            n->connections[i] = (struct connection){
                .fd = fd,
                .node = node,
                .bytes = local_new(READ_ROOM),
                .handshake = {.protocol = 2, .id = ++n->ids}};
            return;
        }
    local_reset(fd);
}

static void hear(struct nodes *n, struct connection *c)
{
    ssize_t got = read(c->fd, c->bytes + c->len, READ_ROOM - c->len);
    size_t at = 0;

    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        close_connection(c);
        return;
    }
    c->len += got > 0 ? (size_t)got : 0;
    while (request_decode(&n->request, c->bytes + at, c->len - at) ==
           REQUEST_WHOLE) {
        at += n->request.len;
        answer_one(n, c);
    }
    memmove(c->bytes, c->bytes + at, c->len - at);
    c->len -= at;
}

/* Bound to *port; 0: to any that is free. */
static int bound(int *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)*port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1;

    ck_assert_int_ge(fd, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, len), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

/* A socket that was bound to a port by its number keeps it while it does not listen, so
 * that nobody else gets it; the first socket finds the number. */
static int listener(int *port)
{
    int finder = bound(port), fd = bound(port);

    (void)close(finder);
    ck_assert_int_eq(listen(fd, CONNECTIONS_MAX), 0);
    return fd;
}

static void apply_down(struct nodes *n)
{
    for (int i = 0; i < n->count; i++) {
        if (n->is_down[i] == n->is_deaf[i])
            continue;
        n->is_deaf[i] = n->is_down[i];
        if (n->is_deaf[i] ? shutdown(n->listeners[i], SHUT_RD)
                          : listen(n->listeners[i], CONNECTIONS_MAX))
            abort();
    }
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        if (n->connections[i].fd >= 0 && n->is_down[n->connections[i].node])
            close_connection(&n->connections[i]);
}

/* Whom to read from: -1 for what is free, or paused. */
static int fd_of(struct nodes *n, const struct connection *c)
{
    int fd;

    (void)pthread_mutex_lock(&n->mutex);
    fd = c->fd >= 0 && n->is_paused[c->node] ? -1 : c->fd;
    (void)pthread_mutex_unlock(&n->mutex);
    return fd;
}

static void turn(struct nodes *n)
{
    struct pollfd all[1 + NODES_MAX + CONNECTIONS_MAX];
    char byte[16];

    all[0] = (struct pollfd){.fd = n->ends[0], .events = POLLIN};
    for (int i = 0; i < NODES_MAX; i++)
        all[1 + i] = (struct pollfd){
            .fd = i < n->count && !n->is_deaf[i] ? n->listeners[i] : -1, .events = POLLIN};
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        all[1 + NODES_MAX + i] =
            (struct pollfd){.fd = fd_of(n, &n->connections[i]),
                            .events = POLLIN};
    (void)poll(all, 1 + NODES_MAX + CONNECTIONS_MAX, -1);
    (void)pthread_mutex_lock(&n->mutex);
    if (all[0].revents)
        (void)!read(n->ends[0], byte, sizeof byte);
    apply_down(n);
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        if (all[1 + NODES_MAX + i].revents && n->connections[i].fd >= 0 &&
            !n->is_paused[n->connections[i].node])
            hear(n, &n->connections[i]);
    for (int i = 0; i < n->count; i++)
        if (all[1 + i].revents && !n->is_deaf[i])
            take_in(n, i);
    n->applied = n->wanted;
    (void)pthread_cond_broadcast(&n->changed);
    (void)pthread_mutex_unlock(&n->mutex);
}

static bool is_over(struct nodes *n)
{
    bool is;

    (void)pthread_mutex_lock(&n->mutex);
    is = n->is_over;
    (void)pthread_mutex_unlock(&n->mutex);
    return is;
}

static void *run(void *arg)
{
    while (!is_over(arg))
        turn(arg);
    return NULL;
}

/* ---- the test's ---- */

struct nodes *nodes_start(int count, nodes_answer *answer, void *ctx)
{
    struct nodes *n = local_new(sizeof *n);

    n->count = count;
    n->answer = answer;
    n->ctx = ctx;
    n->epoch = 1;
    (void)pthread_mutex_init(&n->mutex, NULL);
    (void)pthread_cond_init(&n->changed, NULL);
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        n->connections[i].fd = -1;
    for (int i = 0; i < count; i++)
        n->listeners[i] = listener(&n->ports[i]);
    ck_assert_int_eq(pipe(n->ends), 0);
    ck_assert_int_eq(pthread_create(&n->thread, NULL, run, n), 0);
    return n;
}

static void look_again(struct nodes *n)
{
    (void)!write(n->ends[1], "", 1);
}

void nodes_stop(struct nodes *n)
{
    if (!n)
        return;
    (void)pthread_mutex_lock(&n->mutex);
    n->is_over = true;
    (void)pthread_mutex_unlock(&n->mutex);
    look_again(n);
    (void)pthread_join(n->thread, NULL);
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        if (n->connections[i].fd >= 0)
            close_connection(&n->connections[i]);
    for (int i = 0; i < n->count; i++)
        (void)close(n->listeners[i]);
    for (size_t i = 0; i < n->received_count; i++)
        free(n->received[i].text);
    free(n->received);
    (void)close(n->ends[0]);
    (void)close(n->ends[1]);
    free(n);
}

int nodes_port(const struct nodes *n, int node)
{
    return n->ports[node];
}

void nodes_map(struct nodes *n, const struct nodes_range *ranges, int count)
{
    ck_assert_int_le(count, RANGES_MAX);
    (void)pthread_mutex_lock(&n->mutex);
    memcpy(n->ranges, ranges, (size_t)count * sizeof *ranges);
    n->range_count = count;
    (void)pthread_mutex_unlock(&n->mutex);
}

void nodes_epoch(struct nodes *n, int epoch)
{
    (void)pthread_mutex_lock(&n->mutex);
    n->epoch = epoch;
    (void)pthread_mutex_unlock(&n->mutex);
}

static void change(struct nodes *n, bool *what, bool is)
{
    (void)pthread_mutex_lock(&n->mutex);
    *what = is;
    n->wanted++;
    look_again(n);
    while (n->applied != n->wanted)
        (void)pthread_cond_wait(&n->changed, &n->mutex);
    (void)pthread_mutex_unlock(&n->mutex);
}

void nodes_down(struct nodes *n, int node, bool is_down)
{
    change(n, &n->is_down[node], is_down);
}

void nodes_pause(struct nodes *n, int node, bool is_paused)
{
    change(n, &n->is_paused[node], is_paused);
}

/* Patterns are of whole words, and the text of what came is in words, too. */
static bool text_matches(const char *text, const char *pattern)
{
    size_t len = strlen(pattern);

    if (len >= 3 && strcmp(pattern + len - 3, "...") == 0)
        return strncmp(text, pattern, len - 3) == 0;
    return strcmp(text, pattern) == 0;
}

int nodes_count(struct nodes *n, int node, const char *pattern)
{
    int count = 0;

    (void)pthread_mutex_lock(&n->mutex);
    for (size_t i = 0; i < n->received_count; i++)
        count += (node < 0 || n->received[i].node == node) &&
                 text_matches(n->received[i].text, pattern);
    (void)pthread_mutex_unlock(&n->mutex);
    return count;
}
