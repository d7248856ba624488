/* A server of a few lines, and a program with one lock, in the simulated world. */
#include "tests/sim/world_kit.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/handshake.h"
#include "tests/support/memory.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

/* ---- a server ---- */

static struct tiny {
    struct peer *peer;
    struct handshake handshake;
    char in[65536];
    size_t len;
} pool[64]; /* more than are ever open at once */

static unsigned accepted;
unsigned kit_connections;
unsigned kit_renewals;

static void *tiny_accepted(void *ctx, struct peer *peer)
{
    struct tiny *t = &pool[accepted++ % ROWS(pool)];

    (void)ctx;
    *t = (struct tiny){.peer = peer, .handshake = {.protocol = 2, .id = 1}};
    kit_connections++;
    return t;
}

static void tiny_closed(void *peer_ctx)
{
    (void)peer_ctx;
    kit_connections--;
}

/* The owner is the first of ARGV, except in a renewal, which begins with a lease. */
static size_t answer_script(char *dst, size_t room, const struct request *r)
{
    bool renews = r->argc == 6;
    size_t at = renews ? 5 : 4;
    const char *rest = renews ? "" : r->argc == 7 ? "" : ":0\r\n";
    int first = renews ? 1 : atoi(r->arg[5].ptr);

    kit_renewals += renews;
    return (size_t)snprintf(dst, room, "*%d\r\n$%zu\r\n%.*s\r\n:%d\r\n%s",
                            *rest ? 3 : 2, r->arg[at].len, (int)r->arg[at].len,
                            r->arg[at].ptr, first, rest);
}

static void tiny_answer(struct tiny *t, const struct request *r)
{
    char reply[HANDSHAKE_MAX];
    size_t len = handshake_answer(&t->handshake, r, reply);

    if (len == 0 && strncmp(r->arg[0].ptr, "EVAL", 4) == 0)
        len = answer_script(reply, sizeof reply, r);
    if (len == 0)
        len = (size_t)snprintf(reply, sizeof reply, "+OK\r\n");
    peer_write(t->peer, reply, len);
}

static void tiny_arrived(void *peer_ctx, const char *ptr, size_t len)
{
    static struct request r;
    struct tiny *t = peer_ctx;

    must(t->len + len <= sizeof t->in);
    memcpy(t->in + t->len, ptr, len);
    t->len += len;
    while (request_decode(&r, t->in, t->len) == REQUEST_WHOLE) {
        tiny_answer(t, &r);
        t->len -= r.len;
        memmove(t->in, t->in + r.len, t->len);
    }
}

static const struct listener_calls tiny_calls = {tiny_accepted, tiny_arrived,
                                                 tiny_closed};

/* ---- a client ---- */

struct world *world;
struct listener *listener;
static struct memory memory;

static void on_done(void *ctx, hf_status status, const struct hf_error *err)
{
    struct program *p = ctx;

    (void)err;
    p->status = status;
    p->ended++;
    p->ended_us = world_now_us(world);
}

static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason)
{
    struct program *p = ctx;

    (void)lock;
    ck_assert_int_eq(owner, OWNER);
    p->lost++;
    p->reason = reason;
}

static void start_client(struct program *p, const char *url)
{
    struct hf_client_options options;
    struct hf_error err;

    (void)process_enter(p->process);
    hf_client_options_init(&options);
    options.url = url;
    options.thread = false;
    options.mem = &memory.hook;
    ck_assert_int_eq(hf_client_new(&p->client, &options, &err), HF_OK);
    ck_assert_int_eq(hf_lock_new(&p->lock, p->client, "job", 3, &err), HF_OK);
    process_drive(p->process, hf_client_loop(p->client));
    (void)process_enter(NULL);
}

void program_start(struct program *p, const char *name, const char *url,
                   int ppm)
{
    memset(p, 0, sizeof *p);
    p->process = process_new(world, name, 5000 * SECOND, ppm);
    p->link = network_link(world, p->process, listener);
    start_client(p, url);
}

void program_start_beside(struct program *p, const struct program *first,
                          const char *url)
{
    *p = (struct program){.process = first->process, .link = first->link};
    start_client(p, url);
}

void program_free(struct program *p)
{
    (void)process_enter(p->process);
    hf_client_free(p->client);
    (void)process_enter(NULL);
}

void ask_acquire(struct program *p, int64_t wait_ms)
{
    struct hf_acquire_options options;

    (void)process_enter(p->process);
    hf_acquire_options_init(&options);
    options.owner = OWNER;
    options.wait_ms = wait_ms;
    options.on_lost = on_lost;
    options.ctx = p;
    ck_assert_int_eq(hf_lock_acquire_async(p->lock, &options, on_done, p),
                     HF_OK);
    (void)process_enter(NULL);
}

void ask_release(struct program *p)
{
    struct process *before = process_enter(p->process);

    ck_assert_int_eq(hf_lock_release_async(p->lock, OWNER, on_done, p), HF_OK);
    (void)process_enter(before);
}

int64_t safe_ms(struct program *p)
{
    int64_t ms;

    (void)process_enter(p->process);
    ms = hf_lock_safe_ms(p->lock, OWNER);
    (void)process_enter(NULL);
    return ms;
}

void kit_run(int64_t us)
{
    world_run(world, world_now_us(world) + us);
}

void kit_begin(uint64_t seed)
{
    kit_connections = kit_renewals = 0;
    memory_init(&memory);
    world = world_new(seed);
    listener = network_listen(world, "10.0.0.1", 6379, &tiny_calls, NULL);
}

void kit_free(void)
{
    ck_assert_uint_eq(world_handles(world), 0);
    world_free(world);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

void kit_end(void)
{
    kit_run(SECOND);
    ck_assert_uint_eq(kit_connections, 0);
    kit_free();
}
