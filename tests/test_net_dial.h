/* What the tests of dialing share: sockets that listen, one who dials, and the
 * loop in which he does. */
#ifndef TEST_NET_DIAL_H
#define TEST_NET_DIAL_H

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/loop/loop.h"
#include "net/wire/dial.h"
#include "tests/support/local.h"
#include "tests/support/memory.h"

#define LONG_MS 20000         /* longer than anything here takes */
#define FDS_MAX 256
#define PLACES_MAX 8

/* ---- places ---- */

/* A descriptor for each; a hole has one more for what fills it. */
static struct {
    int fds[PLACES_MAX];
    int count;
    uint16_t port;
} places;

static inline void keep(int fd)
{
    ck_assert_int_ge(fd, 0);
    ck_assert_int_lt(places.count, PLACES_MAX);
    places.fds[places.count++] = fd;
}

/* ---- descriptors ---- */

static inline int count_fds(void)
{
    int count = 0;

    for (int fd = 0; fd < FDS_MAX; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* A lookup's pipe may be closed by its thread, a moment later. */
static inline void await_fds(int count)
{
    int64_t until = hf_clock_ms() + LONG_MS;

    while (count_fds() != count && hf_clock_ms() < until)
        local_poll_rest();
    ck_assert_int_eq(count_fds(), count);
}

/* ---- one who dials ---- */

struct caller {
    struct hf_dial dial;
    struct hf_url url;
    struct hf_waiter waiter;
    int calls;
    int fd;
    int64_t done_ms;
    bool redials;                 /* in `done`, once */
    char error[HF_ERROR_TEXT_MAX];
};

static struct memory memory;
static struct hf_loop *loop;

static inline void on_done(struct hf_dial *dial, int fd)
{
    struct caller *c = HF_OWNER_OF(dial, struct caller, dial);

    c->calls++;
    c->fd = fd;
    c->done_ms = hf_clock_ms();
    if (fd < 0)
        (void)hf_dial_error(dial, c->error, sizeof c->error);
    if (c->redials)
        hf_dial_start(dial);
    c->redials = false;
    hf_waiter_wake(&c->waiter);
}

static inline void open_loop(bool thread)
{
    struct hf_loop_options options = {.size = sizeof options, .mem = &memory.hook, .thread = thread};

    memory_init(&memory);
    ck_assert_int_eq(hf_loop_new(&loop, &options), HF_OK);
}

static inline void close_loop(void)
{
    hf_loop_free(loop);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

/* Of the heap: who looks at one that is gone, is seen by the sanitizer. */
static inline struct caller *new_caller(const char *host)
{
    struct caller *c = local_new(sizeof *c);

    c->url = (struct hf_url){.kind = HF_URL_TCP, .port = places.port};
    (void)strcpy(c->url.host, host);
    c->fd = -1;
    hf_waiter_init(&c->waiter, loop);
    hf_dial_init(&c->dial, loop, &c->url, on_done);
    return c;
}

static inline void start(struct caller *c)
{
    c->calls = 0;
    hf_loop_lock(loop);
    hf_dial_start(&c->dial);
    ck_assert_int_eq(c->calls, 0);
    hf_loop_unlock(loop);
}

static inline void drive_until_done(struct caller *c)
{
    int64_t until = hf_clock_ms() + LONG_MS;

    while (c->calls == 0 && hf_clock_ms() < until)
        hf_loop_dispatch(loop, 100);
    ck_assert_int_eq(c->calls, 1);
}

static inline void close_socket(struct caller *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
}

#endif
