/* The world's clockwork: events, and whose turn it is. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world/inner.h"

/* So many events and turns while time stands still: they never end. */
#define STEPS_AT_ONCE_MAX 1000000u

struct world *the_world;

void must_grow(void *ptr, uint32_t *room, size_t size, size_t count)
{
    void **array = ptr;

    if (count < *room)
        return;
    *room = *room ? *room * 2 : 16;
    *array = realloc(*array, *room * size);
    must(*array);
}

/* ---- the heap of events ---- */

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_us < b->at_us ||
           (a->at_us == b->at_us && a->serial < b->serial); /* WORLD-2 */
}

static void put(struct world *w, uint32_t place, struct event *e)
{
    w->heap[place] = e;
    e->place = place;
}

static void sift_up(struct world *w, struct event *e, uint32_t place)
{
    while (place > 1 && is_before(e, w->heap[place / 2])) {
        put(w, place, w->heap[place / 2]);
        place /= 2;
    }
    put(w, place, e);
}

static void sift_down(struct world *w, struct event *e, uint32_t place)
{
    uint32_t child;

    while ((child = place * 2) <= w->heap_count) {
        if (child < w->heap_count &&
            is_before(w->heap[child + 1], w->heap[child]))
            child++;
        if (!is_before(w->heap[child], e))
            break;
        put(w, place, w->heap[child]);
        place = child;
    }
    put(w, place, e);
}

void world_cancel(struct world *w, struct event *e)
{
    uint32_t place = e->place;
    struct event *last;

    if (place == 0)
        return;
    e->place = 0;
    last = w->heap[w->heap_count--];
    if (last == e)
        return;
    if (place > 1 && is_before(last, w->heap[place / 2]))
        sift_up(w, last, place);
    else
        sift_down(w, last, place);
}

void world_at(struct world *w, struct event *e, int64_t at_us)
{
    world_cancel(w, e);
    e->at_us = at_us > w->now_us ? at_us : w->now_us;
    e->serial = ++w->serial;
    must_grow(&w->heap, &w->heap_room, sizeof *w->heap, w->heap_count + 1);
    sift_up(w, e, ++w->heap_count);
}

void world_after(struct world *w, struct event *e, int64_t us)
{
    world_at(w, e, w->now_us + us);
}

/* ---- turns ---- */

void world_queue(struct poller *p)
{
    if (hf_list_is_empty(&p->queued))
        hf_list_push(&the_world->ready, &p->queued);
}

/* A timeout of the loop as a moment on its process' clock. */
static void arm_timeout(struct poller *p, int timeout_ms)
{
    int64_t now_ms = process_clock_us(p->process) / 1000;

    if (timeout_ms < 0)
        world_cancel(the_world, &p->due);
    else
        poller_arm(p, (now_ms + timeout_ms) * 1000);
}

static bool may_be_resumed(const struct poller *p)
{
    return p->is_waiting && p->fiber && poller_may_go_on(p);
}

/* Beside a call that sleeps in the poller, a dispatch only makes callbacks. */
static bool may_be_dispatched(const struct poller *p)
{
    return p->loop && process_is_on(p->process) &&
           (p->is_waiting ? p->is_called : poller_is_ready(p));
}

static void dispatch(struct poller *p)
{
    int timeout_ms;

    if (!p->is_waiting)
        p->is_due = false;
    hf_loop_dispatch(p->loop, 0);
    process_had_turn(p->process);
    timeout_ms = hf_loop_timeout(p->loop);
    if (!p->is_waiting)
        arm_timeout(p, timeout_ms);
    if (may_be_resumed(p) || may_be_dispatched(p))
        world_queue(p);
}

static void take_turn(struct world *w, struct poller *p)
{
    struct process *before = process_enter(p->process);

    w->counts.turns++;
    if (may_be_dispatched(p))
        dispatch(p);
    else
        fiber_resume(p->fiber);
    (void)process_enter(before);
}

static void happen(struct world *w)
{
    struct event *e = w->heap[1];
    struct process *before = process_enter(NULL);

    world_cancel(w, e);
    if (e->at_us > w->now_us)
        w->steps_at_once = 0;
    w->now_us = e->at_us;
    w->counts.events++;
    e->happen(e->ctx);
    (void)process_enter(before);
}

static struct poller *next_ready(struct world *w)
{
    while (!hf_list_is_empty(&w->ready)) {
        struct poller *p =
            HF_OWNER_OF(w->ready.next, struct poller, queued);

        hf_list_remove(&p->queued);
        if (may_be_resumed(p) || may_be_dispatched(p))
            return p;
    }
    return NULL;
}

bool process_has_turns(const struct process *process)
{
    struct hf_list *ready = &process->world->ready;

    for (struct hf_list *at = ready->next; at != ready; at = at->next) {
        const struct poller *p = HF_OWNER_OF(at, struct poller, queued);

        if (p->process == process && may_be_dispatched(p))
            return true;
    }
    return false;
}

bool world_step(struct world *w, int64_t until_us)
{
    struct poller *p = next_ready(w);

    must(++w->steps_at_once < STEPS_AT_ONCE_MAX);
    if (p) {
        take_turn(w, p);
        return true;
    }
    if (w->heap_count == 0 || w->heap[1]->at_us > until_us)
        return false;
    happen(w);
    return true;
}

void world_run(struct world *w, int64_t until_us)
{
    w->is_stopped = false;
    while (!w->is_stopped && world_step(w, until_us))
        continue;
    if (!w->is_stopped && w->now_us < until_us)
        w->now_us = until_us;
    w->is_stopped = false;
}

void world_stop(struct world *w)
{
    w->is_stopped = true;
}

/* ---- the world ---- */

struct world *world_new(uint64_t seed)
{
    struct world *w = must_alloc(sizeof *w);

    must(!the_world);
    memset(w, 0, sizeof *w);
    w->seed = seed;
    w->now_us = WORLD_BEGIN_US;
    hf_list_init(&w->ready);
    hf_list_init(&w->processes);
    the_world = w;
    network_init(w);
    return w;
}

static void free_processes(struct world *w)
{
    while (!hf_list_is_empty(&w->processes)) {
        struct process *p =
            HF_OWNER_OF(w->processes.next, struct process, node);

        must(hf_list_is_empty(&p->pollers)); /* its clients were freed */
        hf_list_remove(&p->node);
        free(p);
    }
}

void world_free(struct world *w)
{
    if (!w)
        return;
    network_fini(w);
    free_processes(w);
    fiber_free_spares();
    free(w->handles);
    free(w->heap);
    free(w);
    the_world = NULL;
}

uint64_t world_seed(const struct world *w)
{
    return w->seed;
}

int64_t world_now_us(const struct world *w)
{
    return w->now_us;
}

unsigned world_handles(const struct world *w)
{
    return w->handles_open;
}

struct world_counts world_counts(const struct world *w)
{
    return w->counts;
}
