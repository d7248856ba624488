/* In place of net/loop/poller_*.c: descriptors of this world, level-triggered.
 * Each wait begins with another one: which comes first is chance, as in a
 * kernel. A wait for something that is not there runs the world (WORLD-5). */
#include <stdlib.h>
#include <string.h>

#include "net/loop/poller.h"
#include "tests/sim/world/inner.h"

static struct poller *poller_of(const struct hf_poller *p)
{
    return HF_OWNER_OF(handle_of(p->fd), struct poller, handle);
}

static int no_events(const struct handle *h)
{
    (void)h;
    return 0;
}

static void on_due(void *ctx)
{
    struct poller *p = ctx;

    p->is_due = true;
    world_queue(p);
}

/* ---- new, free ---- */

hf_status hf_poller_init(struct hf_poller *out, const struct hf_mem *mem)
{
    struct poller *p = must_alloc(sizeof *p);

    must(the_world->current);
    memset(p, 0, sizeof *p);
    p->process = the_world->current;
    p->due = (struct event){.happen = on_due, .ctx = p};
    hf_list_init(&p->queued);
    hf_list_push(&p->process->pollers, &p->node);
    handle_open(&p->handle, no_events);
    memset(out, 0, sizeof *out);
    out->mem = mem;
    out->fd = out->outer_fd = p->handle.fd;
    out->outer_signal_fd = out->timer_fd = -1;
    return HF_OK;
}

void hf_poller_fini(struct hf_poller *out)
{
    struct poller *p;

    if (out->fd < 0)
        return;
    p = poller_of(out);
    for (uint32_t i = 0; i < p->count; i++)
        p->watches[i].handle->poller = NULL;
    world_cancel(the_world, &p->due);
    hf_list_remove(&p->queued);
    hf_list_remove(&p->node);
    handle_close(&p->handle);
    free(p->watches);
    free(p);
    out->fd = out->outer_fd = -1;
}

/* ---- what is watched ---- */

static struct watch *find(struct poller *p, int fd)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->watches[i].handle->fd == fd)
            return &p->watches[i];
    return NULL;
}

void poller_forget(struct handle *handle)
{
    struct poller *p = handle->poller;

    for (uint32_t i = 0; p && i < p->count; i++)
        if (p->watches[i].handle == handle)
            p->watches[i--] = p->watches[--p->count];
    handle->poller = NULL;
}

hf_status hf_poller_add(struct hf_poller *out, int fd, int events,
                        uint32_t key)
{
    struct poller *p = poller_of(out);
    struct handle *h = handle_of(fd);

    process_owns(p->process);
    must(!h->poller);
    must_grow(&p->watches, &p->room, sizeof *p->watches, p->count);
    p->watches[p->count++] =
        (struct watch){.handle = h, .events = events, .key = key};
    h->poller = p;
    handle_changed(h);
    return HF_OK;
}

void hf_poller_change(struct hf_poller *out, int fd, int events, uint32_t key)
{
    struct watch *watch = find(poller_of(out), fd);

    process_owns(poller_of(out)->process);
    must(watch && watch->key == key);
    watch->events = events;
    handle_changed(watch->handle);
}

void hf_poller_remove(struct hf_poller *out, int fd)
{
    struct poller *p = poller_of(out);
    struct watch *watch = find(p, fd);
    struct watch *end = p->watches + p->count;

    process_owns(p->process);
    must(watch);
    watch->handle->poller = NULL;
    memmove(watch, watch + 1, (size_t)(end - watch - 1) * sizeof *watch);
    p->count--;
}

/* ---- the other event loop: the world ---- */

hf_status hf_poller_open_outer(struct hf_poller *p)
{
    (void)p;
    return HF_OK;
}

void hf_poller_signal_outer(struct hf_poller *out)
{
    struct poller *p = poller_of(out);

    p->is_called = true;
    world_queue(p);
}

void hf_poller_clear_outer(struct hf_poller *out)
{
    poller_of(out)->is_called = false;
}

/* ---- waiting ---- */

static int events_of(const struct watch *watch)
{
    int ready = watch->handle->ready(watch->handle);

    return ready & IS_BROKEN ? HF_READ | HF_WRITE : ready & watch->events;
}

static bool has_events(const struct poller *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (events_of(&p->watches[i]))
            return true;
    return false;
}

bool poller_is_ready(const struct poller *p)
{
    return p->is_due || p->is_called || has_events(p);
}

void poller_arm(struct poller *p, int64_t clock_us)
{
    p->due_clock_us = clock_us;
    world_at(the_world, &p->due, process_true_us(p->process, clock_us));
}

static int gather(struct poller *p, struct hf_poller_event *events)
{
    uint32_t from = p->waits++;
    int n = 0;
    int got;

    for (uint32_t i = 0; i < p->count && n < POLLER_BATCH; i++) {
        const struct watch *watch = &p->watches[(from + i) % p->count];

        got = events_of(watch);
        if (!got)
            continue;
        events[n].key = watch->key;
        events[n++].events = got;
    }
    return n;
}

/* Also in a process that is gone: what is freed there waits for nobody else. */
bool poller_may_go_on(const struct poller *p)
{
    return !p->process->is_suspended && (p->is_due || has_events(p));
}

/* WORLD-5 */
static void let_others_go_on(struct poller *p)
{
    if (p->fiber)
        fiber_park();
    else
        must(world_step(the_world, INT64_MAX)); /* else it sleeps for ever */
}

static void sleep_in(struct poller *p, int timeout_ms, int64_t now_ms)
{
    struct process *before;

    if (p->loop)
        process_had_turn(p->process); /* the one that the call took before */
    before = process_enter(NULL);
    must(!p->is_waiting);
    p->is_waiting = true;
    p->fiber = fiber_now();
    p->is_due = false;
    if (timeout_ms < 0)
        world_cancel(the_world, &p->due);
    else
        poller_arm(p, (now_ms + timeout_ms) * 1000);
    while (!poller_may_go_on(p))
        let_others_go_on(p);
    p->is_waiting = false;
    if (p->loop)
        poller_arm(p, process_clock_us(p->process)); /* driven again, if it is */
    (void)process_enter(before);
}

void hf_poller_prepare(struct hf_poller *p)
{
    (void)p;
}

int hf_poller_wait(struct hf_poller *out, struct hf_poller_event *events,
                   int timeout_ms, int64_t now_ms)
{
    struct poller *p = poller_of(out);

    process_owns(p->process);
    if (timeout_ms != 0 && !has_events(p))
        sleep_in(p, timeout_ms, now_ms);
    return gather(p, events);
}
