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

#define HOST_SIZE sizeof((struct hf_url *)0)->host

struct lookup {
    /* Set before the thread starts. */
    char host[HOST_SIZE];
    uint16_t port;
    int result_pipe[2];

    atomic_int references;
    atomic_bool is_answered;

    /* The thread writes these before it sets is_answered; the loop reads them after that. */
    struct hf_addresses addresses;
    int getaddrinfo_error;       /* getaddrinfo's; 0: found */
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

static uint32_t thread_count_word(uint32_t count)
{
    return (uint32_t)getpid() << COUNT_BITS | count;
}

static uint32_t threads_of_this_process(uint32_t word)
{
    uint32_t count = word % (1u << COUNT_BITS);

    return word == thread_count_word(count) ? count : 0;
}

static bool count_starting_thread(void)
{
    uint32_t word = atomic_load(&threads);
    uint32_t count;

    do {
        count = threads_of_this_process(word);
        if (count == HF_RESOLVE_THREADS_MAX)
            return false;
    } while (
        !atomic_compare_exchange_weak(&threads, &word, thread_count_word(count + 1)));
    return true;
}

static void count_ended_thread(void)
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

static struct lookup *new_lookup(const char *host, uint16_t port)
{
    struct lookup *l = calloc(1, sizeof *l); /* RESOLVE-2 */

    if (!l)
        return NULL;
    strcpy(l->host, host); /* hf_resolve_start has looked at its length */
    l->port = port;
    l->result_pipe[0] = l->result_pipe[1] = -1;
    atomic_init(&l->references, 1);
    atomic_init(&l->is_answered, false);
    return l;
}

static void release_lookup(struct lookup *l)
{
    if (atomic_fetch_sub(&l->references, 1) > 1)
        return;
    for (int i = 0; i < 2; i++)
        if (l->result_pipe[i] >= 0)
            (void)close(l->result_pipe[i]);
    free(l);
}

/* ---- the thread's side ---- */

static void *run_lookup(void *arg)
{
    struct lookup *l = arg;

    errno = 0;
    l->getaddrinfo_error = query_libc(l->host, l->port, 0, &l->addresses);
    l->system_error = errno;
    atomic_store(&l->is_answered, true);
    while (write(l->result_pipe[1], "", 1) < 0 && errno == EINTR)
        continue; /* nothing else can go wrong with an empty pipe (RESOLVE-3) */
    release_lookup(l);
    count_ended_thread();
    return NULL;
}

static int start_detached(struct lookup *l)
{
    pthread_t thread;
    int error = hf_thread_start(&thread, run_lookup, l, NULL);

    if (error == 0)
        (void)pthread_detach(thread);
    return error;
}

static hf_status start_lookup_thread(struct lookup *l)
{
    int error;

    if (!count_starting_thread())
        return HF_E_LIMIT;
    (void)atomic_fetch_add(&l->references, 1);
    error = start_detached(l);
    if (error == 0)
        return HF_OK;
    release_lookup(l);
    count_ended_thread();
    errno = error;
    return error == EAGAIN ? HF_E_NOMEM : HF_E_SYSTEM;
}

/* ---- the loop's side ---- */

static void free_resolve(struct hf_resolve *r)
{
    if (r->io.fd >= 0)
        hf_loop_unwatch(r->loop, &r->io);
    if (r->lookup)
        release_lookup(r->lookup);
    hf_mem_free(hf_loop_mem(r->loop), r, sizeof *r);
}

static const char *lookup_failure_text(const struct lookup *l)
{
    bool lacks_descriptors =
        l->system_error == EMFILE || l->system_error == ENFILE;

    return l->getaddrinfo_error == EAI_SYSTEM || lacks_descriptors ? strerror(l->system_error)
                                                       : gai_strerror(l->getaddrinfo_error);
}

/* Everything except the lookup is freed before the callback is called, because the
 * callback may do anything. */
static void on_lookup_result(struct hf_io *io, int events)
{
    struct hf_resolve *r = HF_OWNER_OF(io, struct hf_resolve, io);
    struct hf_resolve ended = *r;
    struct lookup *l = r->lookup;

    (void)events;
    if (!atomic_load(&l->is_answered))
        return;
    r->lookup = NULL;
    free_resolve(r);
    if (l->getaddrinfo_error == 0)
        ended.done(ended.ctx, &l->addresses, NULL);
    else
        ended.done(ended.ctx, NULL, lookup_failure_text(l));
    release_lookup(l);
}

static hf_status watch_result_pipe(struct hf_resolve *r)
{
    hf_status rc;

    if (pipe2(r->lookup->result_pipe, O_CLOEXEC) < 0)
        return HF_E_SYSTEM;
    r->io.fd = r->lookup->result_pipe[0];
    rc = hf_loop_watch(r->loop, &r->io);
    if (rc < 0)
        r->io.fd = -1; /* not watched */
    return rc;
}

static hf_status begin_lookup(struct hf_resolve *r, const char *host, uint16_t port)
{
    hf_status rc;

    r->lookup = new_lookup(host, port);
    if (!r->lookup)
        return HF_E_NOMEM;
    rc = watch_result_pipe(r);
    return rc < 0 ? rc : start_lookup_thread(r->lookup);
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
    if (strlen(host) >= HOST_SIZE)
        return HF_E_INVAL;
    r = hf_mem_new(hf_loop_mem(loop), sizeof *r);
    if (!r)
        return HF_E_NOMEM;
    *r = (struct hf_resolve){
        .loop = loop,
        .io = {.fd = -1, .events = HF_READ, .ready = on_lookup_result},
        .done = done,
        .ctx = ctx,
    };
    rc = begin_lookup(r, host, port);
    if (rc < 0) {
        why = errno;
        free_resolve(r);
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
        free_resolve(resolve);
}
