/* Programs with clocks of their own. */
#include <stdio.h>
#include <string.h>

#include "net/loop/loop_inner.h"
#include "tests/sim/world/connection.h"
#include "tests/sim/world/inner.h"

#define MILLION 1000000

/* A program that begins again under its name is another one. */
static void name_stream(char *dst, size_t room, const struct world *w,
                        const char *name)
{
    int count = 1;

    for (struct hf_list *l = w->processes.next; l != &w->processes; l = l->next)
        count += strcmp(HF_OWNER_OF(l, struct process, node)->name, name) == 0;
    (void)snprintf(dst, room, "process %s %d", name, count);
}

struct process *process_new(struct world *w, const char *name,
                            int64_t offset_us, int ppm)
{
    struct process *p = must_alloc(sizeof *p);
    char stream[64];

    memset(p, 0, sizeof *p);
    p->world = w;
    (void)snprintf(p->name, sizeof p->name, "%s", name);
    name_stream(stream, sizeof stream, w, p->name);
    hf_list_init(&p->pollers);
    hf_list_push(&w->processes, &p->node);
    p->dice = dice_stream(w->seed, stream);
    p->ppm = ppm;
    p->since_us = WORLD_BEGIN_US;
    p->clock_us = offset_us;
    p->clock_us = process_clock_us(p);
    p->since_us = w->now_us;
    return p;
}

void process_on_turn(struct process *p, void (*fn)(void *ctx), void *ctx)
{
    p->on_turn = fn;
    p->on_turn_ctx = ctx;
}

void process_before_write(struct process *p, void (*fn)(void *ctx), void *ctx)
{
    p->before_write = fn;
    p->before_write_ctx = ctx;
}

const char *process_name(const struct process *p)
{
    return p->name;
}

struct process *process_enter(struct process *p)
{
    struct process *before = the_world->current;

    the_world->current = p;
    return before;
}

void process_call(struct process *p, void (*fn)(void *ctx), void *ctx)
{
    struct process *before = process_enter(p);

    fiber_start(fn, ctx);
    (void)process_enter(before);
}

/* What its clock has moved when true time has moved by `us`. In two parts: the
 * product of a year would not fit. */
static int64_t clock_span(int64_t us, int ppm)
{
    int64_t rate = MILLION + ppm;

    return us / MILLION * rate + us % MILLION * rate / MILLION;
}

int64_t process_clock_us(const struct process *p)
{
    return p->clock_us + clock_span(p->world->now_us - p->since_us, p->ppm);
}

static int64_t true_span(int64_t us, int ppm)
{
    int64_t rate = MILLION + ppm;
    int64_t span = us / rate * MILLION + us % rate * MILLION / rate;

    while (clock_span(span, ppm) < us)
        span++;
    return span;
}

int64_t process_true_us(const struct process *p, int64_t clock_us)
{
    if (clock_us <= p->clock_us)
        return p->since_us;
    return p->since_us + true_span(clock_us - p->clock_us, p->ppm);
}

static struct poller *first_poller(struct process *p)
{
    return HF_OWNER_OF(p->pollers.next, struct poller, node);
}

static struct poller *next_poller(struct poller *poller)
{
    return HF_OWNER_OF(poller->node.next, struct poller, node);
}

void process_set_rate(struct process *p, int ppm)
{
    struct poller *poller;

    p->clock_us = process_clock_us(p);
    p->since_us = p->world->now_us;
    p->ppm = ppm;
    for (poller = first_poller(p); &poller->node != &p->pollers;
         poller = next_poller(poller))
        if (poller->due.place)
            poller_arm(poller, poller->due_clock_us);
}

/* Its pollers are looked at, now that the process has changed. */
static void queue_all(struct process *p)
{
    struct poller *poller;

    for (poller = first_poller(p); &poller->node != &p->pollers;
         poller = next_poller(poller))
        world_queue(poller);
}

void process_drive(struct process *p, struct hf_loop *loop)
{
    struct poller *poller = HF_OWNER_OF(handle_of(hf_loop_fd(loop)),
                                        struct poller, handle);

    must(poller->process == p);
    poller->loop = loop;
    (void)hf_loop_timeout(loop); /* once at first: from now on it calls us */
    poller_arm(poller, process_clock_us(p)); /* WORLD-4: its first timeout */
}

void process_suspend(struct process *p)
{
    p->is_suspended = true;
}

void process_resume(struct process *p)
{
    p->is_suspended = false;
    queue_all(p);
}

bool process_is_suspended(const struct process *p)
{
    return p->is_suspended;
}

void process_die(struct process *p)
{
    p->is_dead = true;
    p->is_suspended = false; /* what is freed in it may have to wait */
    connections_of_dead(p);
}

bool process_is_dead(const struct process *p)
{
    return p->is_dead;
}

/* ---- a child ---- */

static void set_marks(struct process *p, unsigned char mark)
{
    struct poller *poller;

    for (poller = first_poller(p); &poller->node != &p->pollers;
         poller = next_poller(poller))
        if (poller->loop)
            *(unsigned char *)(size_t)poller->loop->fork_mark.wiped_page = mark;
}

void process_fork(struct process *p)
{
    p->is_child = true;
    set_marks(p, 0);
}

/* What a child leaves undone: its turn, and the loop's lock. */
static void end_turn(struct hf_loop *loop)
{
    loop->has_driver = loop->is_in_turn = loop->is_running_tasks = false;
    (void)pthread_mutex_trylock(&loop->mutex); /* held, or not */
    (void)pthread_mutex_unlock(&loop->mutex);
}

void process_unfork(struct process *p)
{
    struct poller *poller;

    p->is_child = false;
    set_marks(p, 1);
    for (poller = first_poller(p); &poller->node != &p->pollers;
         poller = next_poller(poller))
        if (poller->loop)
            end_turn(poller->loop);
}
