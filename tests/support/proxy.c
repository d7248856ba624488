/* The proxy: one thread, poll(2), and under one mutex all that it knows. The
 * thread gives the mutex up only to wait, and no socket blocks, so that a
 * control is in force as soon as its caller has had the mutex.
 *
 * A pair is a client's connection and ours to the server. Its two flows are
 * queues of chunks: what one read gave, and when. */
#include "tests/support/proxy.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "resp/base.h"
#include "tests/support/local.h"

#define READ_MAX 65536          /* bytes a read */
#define WAYS 2
#define NO_CUT UINT64_MAX

struct chunk {
    struct hf_list node;
    int64_t arrived_ms;
    size_t at;                  /* the first byte that has not passed */
    size_t len;
    char bytes[];
};

struct flow {
    struct hf_list chunks;
    size_t kept;                /* bytes in them */
    bool is_ended;              /* the source has said its last */
    bool is_shut;               /* and we have passed that on */
    bool is_blocked;            /* the kernel took no more at the last try */
};

/* fd[way] is where that way leads to: fd[PROXY_TO_CLIENT] is the client's. */
struct pair {
    struct hf_list node;
    int fd[WAYS];
    struct flow flow[WAYS];
    bool is_dead;               /* both closed; freed at the turn's end */
    bool is_forgotten;
};

struct control {
    int delay_ms;
    size_t slice;               /* 0: whole */
    bool is_held;
    bool is_swallowed;
    uint64_t cut_after;         /* bytes that may still pass; NO_CUT: all */
    enum proxy_end cut_end;
    uint64_t passed;
    uint64_t dropped;
};

struct proxy {
    /* Set once. */
    int port;
    int listener;
    int wake;                   /* an eventfd: a control has changed */
    pthread_t thread;
    /* The thread only. */
    struct pollfd watched[2 + WAYS * PROXY_PAIRS_MAX];
    char bytes[READ_MAX];
    /* Under `mutex`. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;     /* counts, at each turn */
    struct hf_list pairs;
    int server_port;
    size_t pair_count;
    size_t accepted;
    struct control control[WAYS];
    bool has_cut;
    bool is_stopping;
};

static enum proxy_way back(enum proxy_way way)
{
    return way == PROXY_TO_SERVER ? PROXY_TO_CLIENT : PROXY_TO_SERVER;
}

static struct pair *pair_at(struct hf_list *node)
{
    return HF_OWNER_OF(node, struct pair, node);
}

static struct chunk *first_chunk(const struct flow *f)
{
    if (hf_list_is_empty(&f->chunks))
        return NULL;
    return HF_OWNER_OF(f->chunks.next, struct chunk, node);
}

/* ---- pairs --------------------------------------------------------------- */

static void drop_chunk(struct flow *f, struct chunk *chunk)
{
    f->kept -= chunk->len - chunk->at;
    hf_list_remove(&chunk->node);
    free(chunk);
}

static void drop_all(struct proxy *p, struct pair *pair, enum proxy_way way)
{
    struct flow *f = &pair->flow[way];
    struct chunk *chunk;

    p->control[way].dropped += f->kept;
    while ((chunk = first_chunk(f)))
        drop_chunk(f, chunk);
}

/* The server always sees an orderly end: a reset might make its kernel throw
 * away what has passed. */
static void end_pair(struct proxy *p, struct pair *pair, enum proxy_end end)
{
    if (pair->is_dead)
        return;
    drop_all(p, pair, PROXY_TO_SERVER);
    drop_all(p, pair, PROXY_TO_CLIENT);
    local_close(pair->fd[PROXY_TO_SERVER]);
    if (end == PROXY_RESET)
        local_reset(pair->fd[PROXY_TO_CLIENT]);
    else
        local_close(pair->fd[PROXY_TO_CLIENT]);
    pair->is_dead = true;
}

/* A connection to the server that is under way; -1: refused at once. */
static int connect_server(const struct proxy *p)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)p->server_port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    local_prepare(fd);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ||
        errno == EINPROGRESS)
        return fd;
    (void)close(fd);
    return -1;
}

static void add_pair(struct proxy *p, int client, int server)
{
    struct pair *pair = local_new(sizeof *pair);

    pair->fd[PROXY_TO_CLIENT] = client;
    pair->fd[PROXY_TO_SERVER] = server;
    hf_list_init(&pair->flow[PROXY_TO_SERVER].chunks);
    hf_list_init(&pair->flow[PROXY_TO_CLIENT].chunks);
    hf_list_push(&p->pairs, &pair->node);
    p->pair_count++;
}

static void accept_client(struct proxy *p)
{
    int client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    int server;

    if (client < 0)
        return;
    p->accepted++;
    local_prepare(client);
    server = p->pair_count < PROXY_PAIRS_MAX ? connect_server(p) : -1;
    if (server < 0)
        local_reset(client);
    else
        add_pair(p, client, server);
}

static void free_dead_pairs(struct proxy *p)
{
    struct hf_list *node, *next;

    for (node = p->pairs.next; node != &p->pairs; node = next) {
        next = node->next;
        if (!pair_at(node)->is_dead)
            continue;
        hf_list_remove(node);
        free(pair_at(node));
        p->pair_count--;
    }
}

/* ---- flows --------------------------------------------------------------- */

static bool has_room(const struct flow *f)
{
    return !f->is_ended && f->kept < PROXY_QUEUE_MAX;
}

static void keep(struct flow *f, const char *bytes, size_t len, int64_t now_ms)
{
    struct chunk *chunk = local_new(sizeof *chunk + len);

    memcpy(chunk->bytes, bytes, len);
    chunk->len = len;
    chunk->arrived_ms = now_ms;
    f->kept += len;
    hf_list_push(&f->chunks, &chunk->node);
}

static void read_some(struct proxy *p, struct pair *pair, enum proxy_way way,
                      int64_t now_ms)
{
    ssize_t n = recv(pair->fd[back(way)], p->bytes, READ_MAX, 0);

    if (n > 0)
        keep(&pair->flow[way], p->bytes, (size_t)n, now_ms);
    else if (n == 0 || (pair->is_forgotten && errno == ECONNRESET))
        pair->flow[way].is_ended = true;
    else if (errno != EAGAIN && errno != EINTR)
        end_pair(p, pair, PROXY_RESET);
}

/* How many bytes of the chunk may go in one write. */
static size_t share(const struct control *c, const struct chunk *chunk)
{
    size_t n = chunk->len - chunk->at;

    if (c->slice > 0 && n > c->slice)
        n = c->slice;
    if (n > c->cut_after)
        n = (size_t)c->cut_after;
    return n;
}

static void strike(struct proxy *p, struct pair *pair, struct control *c)
{
    c->cut_after = NO_CUT;
    p->has_cut = true;
    end_pair(p, pair, c->cut_end);
}

static void count_passed(struct proxy *p, struct pair *pair, enum proxy_way way,
                         struct chunk *chunk, size_t n)
{
    struct flow *f = &pair->flow[way];
    struct control *c = &p->control[way];

    c->passed += n;
    chunk->at += n;
    f->kept -= n;
    if (chunk->at == chunk->len)
        drop_chunk(f, chunk);
    if (c->cut_after == NO_CUT)
        return;
    c->cut_after -= n;
    if (c->cut_after == 0)
        strike(p, pair, c);
}

/* One write, of what is due. False: nothing more can pass this turn. */
static bool pass_some(struct proxy *p, struct pair *pair, enum proxy_way way,
                      int64_t now_ms)
{
    struct control *c = &p->control[way];
    struct flow *f = &pair->flow[way];
    struct chunk *chunk = first_chunk(f);
    ssize_t n;

    if (!chunk || now_ms < chunk->arrived_ms + c->delay_ms)
        return false;
    if (c->cut_after == 0) {
        strike(p, pair, c);
        return false;
    }
    n = send(pair->fd[way], chunk->bytes + chunk->at, share(c, chunk),
             MSG_NOSIGNAL);
    if (n < 0) {
        f->is_blocked = errno == EAGAIN;
        if (!f->is_blocked && errno != EINTR)
            end_pair(p, pair, PROXY_RESET);
        return false;
    }
    count_passed(p, pair, way, chunk, (size_t)n);
    return !pair->is_dead && c->slice == 0;
}

/* Passes on the source's end behind its last byte. */
static void pass_end(struct proxy *p, struct pair *pair, enum proxy_way way)
{
    struct flow *f = &pair->flow[way];

    if (pair->is_dead || !f->is_ended || f->kept > 0 || f->is_shut)
        return;
    (void)shutdown(pair->fd[way], SHUT_WR); /* not connected: error below */
    f->is_shut = true;
    if (pair->flow[back(way)].is_shut)
        end_pair(p, pair, PROXY_CLOSE);
}

static void pass(struct proxy *p, struct pair *pair, enum proxy_way way,
                 int64_t now_ms)
{
    struct control *c = &p->control[way];

    pair->flow[way].is_blocked = false;
    if (c->is_swallowed || pair->is_forgotten)
        drop_all(p, pair, way);
    if (c->is_held || pair->is_forgotten)
        return;
    while (!pair->is_dead && pass_some(p, pair, way, now_ms))
        ;
    pass_end(p, pair, way);
}

/* ---- the thread ---------------------------------------------------------- */

static void watch(struct proxy *p, nfds_t i, int fd, short events)
{
    p->watched[i].fd = events ? fd : -1; /* or else POLLHUP would spin us */
    p->watched[i].events = events;
    p->watched[i].revents = 0;
}

/* What this end is of interest for: its bytes, or its room. */
static short interest(const struct pair *pair, enum proxy_way end)
{
    short in = has_room(&pair->flow[back(end)]) ? POLLIN : 0;
    short out = pair->flow[end].is_blocked ? POLLOUT : 0;

    return (short)(in | out);
}

static nfds_t watch_all(struct proxy *p)
{
    nfds_t count = 2;

    watch(p, 0, p->wake, POLLIN);
    watch(p, 1, p->listener, POLLIN);
    for (struct hf_list *l = p->pairs.next; l != &p->pairs; l = l->next) {
        struct pair *pair = pair_at(l);

        for (enum proxy_way end = 0; end < WAYS; end++)
            watch(p, count++, pair->fd[end], interest(pair, end));
    }
    return count;
}

/* When the flow wants to be looked at again without any event, in
 * microseconds from now; INT64_MAX: not at all. */
static int64_t flow_rest_us(const struct control *c, const struct flow *f,
                            int64_t now_ms)
{
    const struct chunk *chunk = first_chunk(f);
    int64_t left_ms;

    if (!chunk || c->is_held || f->is_blocked)
        return INT64_MAX;
    left_ms = chunk->arrived_ms + c->delay_ms - now_ms;
    return left_ms > 0 ? left_ms * 1000 : LOCAL_SLICE_REST_US;
}

static int64_t rest_us(struct proxy *p)
{
    int64_t now_ms = local_now_ms();
    int64_t least = INT64_MAX;

    for (struct hf_list *l = p->pairs.next; l != &p->pairs; l = l->next) {
        for (enum proxy_way way = 0; way < WAYS; way++) {
            int64_t us = flow_rest_us(&p->control[way], &pair_at(l)->flow[way],
                                      now_ms);

            if (us < least)
                least = us;
        }
    }
    return least;
}

/* Waits for an event, with the mutex free. */
static void await_event(struct proxy *p)
{
    nfds_t count = watch_all(p);
    int64_t us = rest_us(p);
    struct timespec rest = {(time_t)(us / 1000000),
                            (long)(us % 1000000) * 1000};
    eventfd_t ignored;

    (void)pthread_mutex_unlock(&p->mutex);
    (void)ppoll(p->watched, count, us == INT64_MAX ? NULL : &rest, NULL);
    (void)eventfd_read(p->wake, &ignored);
    (void)pthread_mutex_lock(&p->mutex);
}

/* Between watch_all and here no pair has come or gone: only this thread adds
 * them and frees them. */
static void read_all(struct proxy *p, int64_t now_ms)
{
    nfds_t i = 2;

    for (struct hf_list *l = p->pairs.next; l != &p->pairs; l = l->next) {
        struct pair *pair = pair_at(l);

        for (enum proxy_way end = 0; end < WAYS; end++, i++)
            if (!pair->is_dead && p->watched[i].revents &&
                has_room(&pair->flow[back(end)]))
                read_some(p, pair, back(end), now_ms);
    }
}

static void pass_all(struct proxy *p, int64_t now_ms)
{
    for (struct hf_list *l = p->pairs.next; l != &p->pairs; l = l->next)
        for (enum proxy_way way = 0; way < WAYS; way++)
            if (!pair_at(l)->is_dead)
                pass(p, pair_at(l), way, now_ms);
}

static void *run(void *arg)
{
    struct proxy *p = arg;
    int64_t now_ms;

    (void)pthread_mutex_lock(&p->mutex);
    while (!p->is_stopping) {
        await_event(p);
        now_ms = local_now_ms();
        read_all(p, now_ms);
        pass_all(p, now_ms);
        free_dead_pairs(p);
        if (p->watched[1].revents)
            accept_client(p);
        (void)pthread_cond_broadcast(&p->changed);
    }
    (void)pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* ---- the test's side ----------------------------------------------------- */

struct proxy *proxy_start(int server_port)
{
    struct proxy *p = local_new(sizeof *p);

    p->server_port = server_port;
    p->listener = local_listen(&p->port);
    p->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    hf_list_init(&p->pairs);
    p->control[PROXY_TO_SERVER].cut_after = NO_CUT;
    p->control[PROXY_TO_CLIENT].cut_after = NO_CUT;
    (void)pthread_mutex_init(&p->mutex, NULL);
    local_cond_init(&p->changed);
    if (p->listener < 0 || p->wake < 0 ||
        pthread_create(&p->thread, NULL, run, p) != 0)
        ck_abort_msg("no proxy: %s", strerror(errno));
    return p;
}

static void lock(struct proxy *p)
{
    (void)pthread_mutex_lock(&p->mutex);
}

/* Lets the thread see what has changed. */
static void unlock_and_wake(struct proxy *p)
{
    (void)pthread_mutex_unlock(&p->mutex);
    (void)eventfd_write(p->wake, 1); /* fails only after 2^64 calls */
}

static void end_all(struct proxy *p, enum proxy_end end)
{
    for (struct hf_list *l = p->pairs.next; l != &p->pairs; l = l->next)
        end_pair(p, pair_at(l), end);
}

void proxy_stop(struct proxy *p)
{
    if (!p)
        return;
    lock(p);
    p->is_stopping = true;
    unlock_and_wake(p);
    (void)pthread_join(p->thread, NULL);
    end_all(p, PROXY_RESET);
    free_dead_pairs(p);
    (void)close(p->listener);
    (void)close(p->wake);
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->mutex);
    free(p);
}

int proxy_port(const struct proxy *p)
{
    return p->port;
}

void proxy_lead(struct proxy *p, int server_port)
{
    pthread_mutex_lock(&p->mutex);
    p->server_port = server_port;
    pthread_mutex_unlock(&p->mutex);
}

void proxy_delay(struct proxy *p, enum proxy_way way, int delay_ms)
{
    lock(p);
    p->control[way].delay_ms = delay_ms;
    unlock_and_wake(p);
}

void proxy_slice(struct proxy *p, enum proxy_way way, size_t slice)
{
    lock(p);
    p->control[way].slice = slice;
    unlock_and_wake(p);
}

void proxy_hold(struct proxy *p, enum proxy_way way, bool is_held)
{
    lock(p);
    p->control[way].is_held = is_held;
    unlock_and_wake(p);
}

void proxy_swallow(struct proxy *p, enum proxy_way way, bool is_swallowed)
{
    lock(p);
    p->control[way].is_swallowed = is_swallowed;
    unlock_and_wake(p);
}

void proxy_cut(struct proxy *p, enum proxy_end end)
{
    lock(p);
    end_all(p, end);
    unlock_and_wake(p);
}

void proxy_cut_after(struct proxy *p, enum proxy_way way, uint64_t count,
                     enum proxy_end end)
{
    lock(p);
    p->control[PROXY_TO_SERVER].cut_after = NO_CUT;
    p->control[PROXY_TO_CLIENT].cut_after = NO_CUT;
    p->control[way].cut_after = count;
    p->control[way].cut_end = end;
    p->has_cut = false;
    unlock_and_wake(p);
}

void proxy_forget(struct proxy *p)
{
    lock(p);
    for (struct hf_list *l = p->pairs.next; l != &p->pairs; l = l->next)
        pair_at(l)->is_forgotten = true;
    unlock_and_wake(p);
}

bool proxy_has_cut(struct proxy *p)
{
    bool has_cut;

    lock(p);
    has_cut = p->has_cut;
    (void)pthread_mutex_unlock(&p->mutex);
    return has_cut;
}

/* Under `mutex`. */
static uint64_t count_now(struct proxy *p, enum proxy_way way,
                          enum proxy_counter counter)
{
    uint64_t kept = 0;

    switch (counter) {
    case PROXY_PASSED:
        return p->control[way].passed;
    case PROXY_DROPPED:
        return p->control[way].dropped;
    case PROXY_KEPT:
        break;
    }
    for (struct hf_list *l = p->pairs.next; l != &p->pairs; l = l->next)
        kept += pair_at(l)->flow[way].kept;
    return kept;
}

uint64_t proxy_count(struct proxy *p, enum proxy_way way,
                     enum proxy_counter counter)
{
    uint64_t count;

    lock(p);
    count = count_now(p, way, counter);
    (void)pthread_mutex_unlock(&p->mutex);
    return count;
}

bool proxy_await(struct proxy *p, enum proxy_way way,
                 enum proxy_counter counter, uint64_t count, int timeout_ms)
{
    int64_t deadline_ms = local_now_ms() + timeout_ms;
    bool is_there;

    lock(p);
    while (count_now(p, way, counter) < count)
        if (!local_cond_wait(&p->changed, &p->mutex, deadline_ms))
            break;
    is_there = count_now(p, way, counter) >= count;
    (void)pthread_mutex_unlock(&p->mutex);
    return is_there;
}

size_t proxy_accepted(struct proxy *p)
{
    size_t accepted;

    lock(p);
    accepted = p->accepted;
    (void)pthread_mutex_unlock(&p->mutex);
    return accepted;
}
