/* Name lookup: getaddrinfo in a thread, so that no other thread waits for it.
 *
 *   hf_resolve   the side of the loop: the caller, the watched descriptor
 *   lookup       shared by both sides: the request, the result, a pipe
 *
 * RESOLVE-1  The thread uses only its lookup. getaddrinfo cannot be interrupted, so it may
 *            return long after the loop and the caller were freed.
 * RESOLVE-2  The side that drops a lookup last frees it. Its memory is allocated by malloc: the
 *            allocator of the loop may have been freed by then, and must not be called from a
 *            thread.
 * RESOLVE-3  Both ends of the pipe stay open as long as the lookup, so that a write never raises
 *            SIGPIPE. A byte is written, because closing our end would have no effect while a
 *            forked child has a copy of it. */
/* Tests: tests/test_net_resolve.c. */
#include "net/wire/resolve.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/base/assert.h"
#include "net/base/mem.h"
#include "net/base/thread.h"
#include "net/base/url.h"
#include "net/loop/loop.h"

#define HOST_ROOM sizeof((struct hf_url *)0)->host

struct lookup {
    /* Set before the thread starts. */
    char host[HOST_ROOM];
    uint16_t port;
    int pipe[2];

    atomic_int holders;
    atomic_bool is_answered;

    /* The thread writes these before it sets is_answered; the loop reads them after that. */
    struct hf_addresses found;
    int error;                   /* getaddrinfo's; 0: found */
    int system_error;            /* errno, with EAI_SYSTEM */
};

struct hf_resolve {
    struct hf_loop *loop;
    struct hf_io io;
    struct lookup *lookup;
    void (*done)(void *ctx, const struct hf_addresses *found,
                 const char *why_not);
    void *ctx;
};

/* ---- how many threads there are ---- */

/* The process that counts (no kernel's numbers need more than 24 bits) and its
 * threads, in one word: a forked child has none of its parent's threads, and
 * must not inherit their number. */
#define COUNT_BITS 8
static_assert(HF_RESOLVE_THREADS_MAX < 1 << COUNT_BITS, "their number fits");

static _Atomic uint32_t threads;

static uint32_t counted(uint32_t count)
{
    return (uint32_t)getpid() << COUNT_BITS | count;
}

static uint32_t threads_of_us(uint32_t word)
{
    uint32_t count = word % (1u << COUNT_BITS);

    return word == counted(count) ? count : 0;
}

static bool thread_may_start(void)
{
    uint32_t word = atomic_load(&threads);
    uint32_t count;

    do {
        count = threads_of_us(word);
        if (count == HF_RESOLVE_THREADS_MAX)
            return false;
    } while (
        !atomic_compare_exchange_weak(&threads, &word, counted(count + 1)));
    return true;
}

static void thread_is_over(void)
{
    (void)atomic_fetch_sub(&threads, 1);
}

/* ---- addresses ---- */

static void set_port(struct sockaddr_storage *storage, uint16_t port)
{
    if (storage->ss_family == AF_INET)
        ((struct sockaddr_in *)storage)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)storage)->sin6_port = htons(port);
}

static void collect_addresses(struct hf_addresses *out, const struct addrinfo *info,
                              uint16_t port)
{
    out->count = 0;
    for (; info && out->count < HF_ADDRESSES_MAX; info = info->ai_next) {
        struct hf_address *a = &out->list[out->count];

        if (info->ai_family != AF_INET && info->ai_family != AF_INET6)
            continue;
        memset(a, 0, sizeof *a);
        memcpy(&a->storage, info->ai_addr, info->ai_addrlen);
        a->len = info->ai_addrlen;
        set_port(&a->storage, port);
        out->count++;
    }
}

/* No AI_ADDRCONFIG: it hides ::1 where the only other network is IPv4. What
 * has no route is sorted last (RFC 6724) and fails at once. */
static int query_libc(const char *host, uint16_t port, int flags,
               struct hf_addresses *out)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = flags};
    struct addrinfo *info;
    int error = getaddrinfo(host, NULL, &hints, &info);

    if (error != 0)
        return error;
    collect_addresses(out, info, port);
    freeaddrinfo(info);
    return out->count > 0 ? 0 : EAI_NONAME;
}

bool hf_resolve_literal(const char *host, uint16_t port,
                        struct hf_addresses *out)
{
    return query_libc(host, port, AI_NUMERICHOST, out) == 0;
}

/* ---- the lookup, shared ---- */

static struct lookup *lookup_new(const char *host, uint16_t port)
{
    struct lookup *l = calloc(1, sizeof *l); /* RESOLVE-2 */

    if (!l)
        return NULL;
    strcpy(l->host, host); /* hf_resolve_start has looked at its length */
    l->port = port;
    l->pipe[0] = l->pipe[1] = -1;
    atomic_init(&l->holders, 1);
    atomic_init(&l->is_answered, false);
    return l;
}

static void lookup_drop(struct lookup *l)
{
    if (atomic_fetch_sub(&l->holders, 1) > 1)
        return;
    for (int i = 0; i < 2; i++)
        if (l->pipe[i] >= 0)
            (void)close(l->pipe[i]);
    free(l);
}

/* ---- the thread's side ---- */

static void *lookup_run(void *arg)
{
    struct lookup *l = arg;

    errno = 0;
    l->error = query_libc(l->host, l->port, 0, &l->found);
    l->system_error = errno;
    atomic_store(&l->is_answered, true);
    while (write(l->pipe[1], "", 1) < 0 && errno == EINTR)
        continue; /* nothing else can go wrong with an empty pipe (RESOLVE-3) */
    lookup_drop(l);
    thread_is_over();
    return NULL;
}

static int start_detached(struct lookup *l)
{
    pthread_t thread;
    int error = hf_thread_start(&thread, lookup_run, l, NULL);

    if (error == 0)
        (void)pthread_detach(thread);
    return error;
}

static hf_status lookup_start(struct lookup *l)
{
    int error;

    if (!thread_may_start())
        return HF_E_LIMIT;
    (void)atomic_fetch_add(&l->holders, 1);
    error = start_detached(l);
    if (error == 0)
        return HF_OK;
    lookup_drop(l);
    thread_is_over();
    errno = error;
    return error == EAGAIN ? HF_E_NOMEM : HF_E_SYSTEM;
}

/* ---- the loop's side ---- */

static void resolve_free(struct hf_resolve *r)
{
    if (r->io.fd >= 0)
        hf_loop_unwatch(r->loop, &r->io);
    if (r->lookup)
        lookup_drop(r->lookup);
    hf_mem_free(hf_loop_mem(r->loop), r, sizeof *r);
}

static const char *why_not(const struct lookup *l)
{
    bool lacks_descriptors =
        l->system_error == EMFILE || l->system_error == ENFILE;

    return l->error == EAI_SYSTEM || lacks_descriptors ? strerror(l->system_error)
                                                       : gai_strerror(l->error);
}

/* Everything except the lookup is freed before the callback is called, because the
 * callback may do anything. */
static void on_answer(struct hf_io *io, int events)
{
    struct hf_resolve *r = HF_OWNER_OF(io, struct hf_resolve, io);
    struct hf_resolve ended = *r;
    struct lookup *l = r->lookup;

    (void)events;
    if (!atomic_load(&l->is_answered))
        return;
    r->lookup = NULL;
    resolve_free(r);
    if (l->error == 0)
        ended.done(ended.ctx, &l->found, NULL);
    else
        ended.done(ended.ctx, NULL, why_not(l));
    lookup_drop(l);
}

static hf_status watch_result_pipe(struct hf_resolve *r)
{
    hf_status rc;

    if (pipe2(r->lookup->pipe, O_CLOEXEC) < 0)
        return HF_E_SYSTEM;
    r->io.fd = r->lookup->pipe[0];
    rc = hf_loop_watch(r->loop, &r->io);
    if (rc < 0)
        r->io.fd = -1; /* not watched */
    return rc;
}

static hf_status begin_lookup(struct hf_resolve *r, const char *host, uint16_t port)
{
    hf_status rc;

    r->lookup = lookup_new(host, port);
    if (!r->lookup)
        return HF_E_NOMEM;
    rc = watch_result_pipe(r);
    return rc < 0 ? rc : lookup_start(r->lookup);
}

hf_status hf_resolve_start(struct hf_resolve **out, struct hf_loop *loop,
                           const char *host, uint16_t port,
                           void (*done)(void *ctx,
                                        const struct hf_addresses *found,
                                        const char *why_not),
                           void *ctx)
{
    struct hf_resolve *r;
    hf_status rc;
    int why;

    HF_ASSERT(hf_loop_is_locked(loop));
    if (strlen(host) >= HOST_ROOM)
        return HF_E_INVAL;
    r = hf_mem_new(hf_loop_mem(loop), sizeof *r);
    if (!r)
        return HF_E_NOMEM;
    *r = (struct hf_resolve){
        .loop = loop,
        .io = {.fd = -1, .events = HF_READ, .ready = on_answer},
        .done = done,
        .ctx = ctx,
    };
    rc = begin_lookup(r, host, port);
    if (rc < 0) {
        why = errno;
        resolve_free(r);
        errno = why;
        return rc;
    }
    *out = r;
    return HF_OK;
}

void hf_resolve_cancel(struct hf_resolve *resolve)
{
    HF_ASSERT(!resolve || hf_loop_is_locked(resolve->loop));
    if (resolve)
        resolve_free(resolve);
}
