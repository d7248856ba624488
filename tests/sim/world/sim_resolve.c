/* In place of net/wire/resolve.c: names that the world knows (network_name). As
 * there, the answer comes by a descriptor that the loop watches. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "net/base/mem.h"
#include "net/base/url.h"
#include "net/loop/loop.h"
#include "net/loop/wake_pipe.h"
#include "net/wire/resolve.h"
#include "tests/sim/world/inner.h"

struct hf_resolve {
    struct hf_loop *loop;
    struct hf_io io;
    int pipe[2];
    struct name_query query;
    char host[sizeof((struct hf_url *)0)->host];
    uint16_t port;
    void (*done)(void *ctx, const struct hf_addresses *found,
                 const char *why_not);
    void *ctx;
};

static bool add(struct hf_addresses *out, const char *ip, uint16_t port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct hf_address *a = &out->list[out->count];

    if (inet_pton(AF_INET, ip, &in.sin_addr) != 1)
        return false;
    memset(a, 0, sizeof *a);
    memcpy(&a->storage, &in, sizeof in);
    a->len = sizeof in;
    out->count++;
    return true;
}

bool hf_resolve_literal(const char *host, uint16_t port,
                        struct hf_addresses *out)
{
    out->count = 0;
    return add(out, host, port);
}

/* ---- the answer ---- */

static void on_answer(void *ctx)
{
    struct hf_resolve *r = ctx;

    (void)hf_wake_pipe_write(r->pipe);
}

static void resolve_free(struct hf_resolve *r)
{
    world_cancel(the_world, &r->query.answer);
    hf_list_remove(&r->query.node);
    if (r->io.fd >= 0)
        hf_loop_unwatch(r->loop, &r->io);
    hf_wake_pipe_close(r->pipe);
    hf_mem_free(hf_loop_mem(r->loop), r, sizeof *r);
}

static void look_up(const struct hf_resolve *r, struct hf_addresses *found)
{
    const char *ips[HF_ADDRESSES_MAX];
    size_t count = network_lookup(the_world, r->host, ips, HF_ADDRESSES_MAX);

    found->count = 0;
    for (size_t i = 0; i < count; i++)
        must(add(found, ips[i], r->port));
}

/* It is freed before the caller is told: the caller may do anything. */
static void on_ready(struct hf_io *io, int events)
{
    struct hf_resolve *r = HF_OWNER_OF(io, struct hf_resolve, io);
    struct hf_resolve asked = *r;
    struct hf_addresses found = {.count = 0};

    (void)events;
    if (the_world->network.names_are == NAMES_FOUND)
        look_up(r, &found);
    resolve_free(r);
    if (found.count > 0)
        asked.done(asked.ctx, &found, NULL);
    else
        asked.done(asked.ctx, NULL, "Name or service not known");
}

/* ---- the question ---- */

static hf_status watch(struct hf_resolve *r)
{
    hf_status rc = hf_wake_pipe_open(r->pipe);

    if (rc < 0)
        return rc;
    r->io.fd = r->pipe[0];
    rc = hf_loop_watch(r->loop, &r->io);
    if (rc < 0)
        r->io.fd = -1; /* not watched */
    return rc;
}

hf_status hf_resolve_start(struct hf_resolve **out, struct hf_loop *loop,
                           const char *host, uint16_t port,
                           void (*done)(void *ctx,
                                        const struct hf_addresses *found,
                                        const char *why_not),
                           void *ctx)
{
    struct hf_resolve *r = hf_mem_new(hf_loop_mem(loop), sizeof *r);
    hf_status rc;

    if (!r)
        return HF_E_NOMEM;
    must(strlen(host) < sizeof r->host);
    strcpy(r->host, host);
    r->loop = loop;
    r->port = port;
    r->done = done;
    r->ctx = ctx;
    r->pipe[0] = r->pipe[1] = -1;
    r->io = (struct hf_io){.fd = -1, .events = HF_READ, .ready = on_ready};
    r->query.answer = (struct event){.happen = on_answer, .ctx = r};
    hf_list_init(&r->query.node);
    rc = watch(r);
    if (rc < 0) {
        resolve_free(r);
        return rc;
    }
    network_query(the_world, &r->query);
    *out = r;
    return HF_OK;
}

void hf_resolve_cancel(struct hf_resolve *r)
{
    if (r)
        resolve_free(r);
}
