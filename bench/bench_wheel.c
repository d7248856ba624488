/* The wheel beside libuv's heap and a plain binary heap: ns per timer for arm,
 * push later, cancel and expire, and our share of theirs.
 *
 *     bench_wheel [rounds]        (needs libuv1-dev; linked with -luv)
 *
 * Each round runs every contestant once, one after the other, so that what the
 * machine does meanwhile meets them all; the median of the rounds is printed. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <uv.h>

#include "net/base/mem.h"
#include "net/loop/wheel.h"
#include "net/net.h"
#include "tests/support/dice.h"

#define SPAN_MS 60000
#define LATER_MS 30000
#define ROUNDS_MAX 99

enum step { ARM, LATER, CANCEL, BY_MS, AT_ONCE, STEP_COUNT };
static const char *const step_names[STEP_COUNT] = {
    "arm", "push later", "cancel", "expire, 1 ms steps", "expire, all at once"};

/* The work that each implementation must do. */
static size_t count;
static uint32_t *due_ms; /* when each timer is due, from 0 */
static uint32_t *order;  /* in which they are cancelled */
static size_t fired;

static void stop_if(bool is_wrong, const char *what)
{
    if (!is_wrong)
        return;
    fprintf(stderr, "bench_wheel: %s\n", what);
    exit(EXIT_FAILURE);
}

static void *array(size_t size)
{
    void *ptr = calloc(count, size);

    stop_if(!ptr, "out of memory");
    return ptr;
}

static void deal(void)
{
    for (size_t i = 0; i < count; i++) {
        due_ms[i] = 1 + (uint32_t)dice(SPAN_MS);
        order[i] = (uint32_t)i;
    }
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = dice(i + 1);
        uint32_t swap = order[i];

        order[i] = order[j];
        order[j] = swap;
    }
}

/* ---- ours ---- */

static struct hf_wheel *wheel;
static struct hf_timer *wheel_timers;

static void wheel_fire(struct hf_timer *timer)
{
    (void)timer;
    fired++;
}

static void wheel_open(void)
{
    wheel = calloc(1, sizeof *wheel);
    wheel_timers = array(sizeof *wheel_timers);
    stop_if(!wheel, "out of memory");
    hf_wheel_init(wheel, &hf_mem_libc, 0);
    for (size_t i = 0; i < count; i++)
        wheel_timers[i].fire = wheel_fire;
}

static void wheel_close(void)
{
    hf_wheel_fini(wheel);
    free(wheel);
    free(wheel_timers);
}

static void wheel_arm(void)
{
    for (size_t i = 0; i < count; i++)
        hf_wheel_arm(wheel, &wheel_timers[i], due_ms[i]);
}

static void wheel_later(void)
{
    for (size_t i = 0; i < count; i++)
        hf_wheel_arm(wheel, &wheel_timers[i], due_ms[i] + LATER_MS);
}

static void wheel_cancel(void)
{
    for (size_t i = 0; i < count; i++)
        hf_wheel_cancel(wheel, &wheel_timers[order[i]]);
}

static void wheel_to(int64_t now_ms)
{
    struct hf_timer *timer;

    hf_wheel_advance(wheel, now_ms);
    while ((timer = hf_wheel_pop(wheel)))
        timer->fire(timer);
}

static void wheel_steps(void)
{
    for (int64_t now_ms = 1; now_ms <= SPAN_MS; now_ms++)
        wheel_to(now_ms);
}

static void wheel_at_once(void)
{
    wheel_to(SPAN_MS);
}

/* ---- a plain binary heap of times and timers ---- */

struct heap_timer {
    size_t place; /* from 1; 0: not in the heap */
    void (*fire)(struct heap_timer *timer);
};

struct heap_entry {
    int64_t due_ms;
    struct heap_timer *timer;
};

static struct heap_entry *heap; /* from 1 */
static size_t heap_count;
static struct heap_timer *heap_timers;

static void heap_fire(struct heap_timer *timer)
{
    (void)timer;
    fired++;
}

static void heap_put(size_t place, struct heap_entry e)
{
    heap[place] = e;
    e.timer->place = place;
}

static void heap_up(size_t place, struct heap_entry e)
{
    for (; place > 1 && heap[place / 2].due_ms > e.due_ms; place /= 2)
        heap_put(place, heap[place / 2]);
    heap_put(place, e);
}

static void heap_down(size_t place, struct heap_entry e)
{
    for (size_t child; (child = place * 2) <= heap_count; place = child) {
        if (child < heap_count && heap[child + 1].due_ms < heap[child].due_ms)
            child++;
        if (heap[child].due_ms >= e.due_ms)
            break;
        heap_put(place, heap[child]);
    }
    heap_put(place, e);
}

static void heap_remove(struct heap_timer *timer)
{
    size_t place = timer->place;
    struct heap_entry last = heap[heap_count--];

    timer->place = 0;
    if (last.timer == timer)
        return;
    if (place > 1 && heap[place / 2].due_ms > last.due_ms)
        heap_up(place, last);
    else
        heap_down(place, last);
}

static void heap_open(void)
{
    heap = calloc(count + 1, sizeof *heap);
    stop_if(!heap, "out of memory");
    heap_timers = array(sizeof *heap_timers);
    heap_count = 0;
    for (size_t i = 0; i < count; i++)
        heap_timers[i].fire = heap_fire;
}

static void heap_close(void)
{
    free(heap);
    free(heap_timers);
}

static void heap_arm(void)
{
    for (size_t i = 0; i < count; i++)
        heap_up(++heap_count, (struct heap_entry){due_ms[i], &heap_timers[i]});
}

static void heap_later(void)
{
    for (size_t i = 0; i < count; i++)
        heap_down(heap_timers[i].place,
                  (struct heap_entry){(int64_t)due_ms[i] + LATER_MS,
                                      &heap_timers[i]});
}

static void heap_cancel(void)
{
    for (size_t i = 0; i < count; i++)
        heap_remove(&heap_timers[order[i]]);
}

static void heap_to(int64_t now_ms)
{
    while (heap_count > 0 && heap[1].due_ms <= now_ms) {
        struct heap_timer *timer = heap[1].timer;

        heap_remove(timer);
        timer->fire(timer);
    }
}

static void heap_steps(void)
{
    for (int64_t now_ms = 1; now_ms <= SPAN_MS; now_ms++)
        heap_to(now_ms);
}

static void heap_at_once(void)
{
    heap_to(SPAN_MS);
}

/* ---- libuv ---- */

static uv_loop_t libuv;
static uv_timer_t *libuv_timers;

static void libuv_fire(uv_timer_t *timer)
{
    (void)timer;
    fired++;
}

/* Its clock cannot be turned by hand, so it starts in the past: by the time
 * that uv_run looks at the real clock, every timer is due. */
static void libuv_open(void)
{
    stop_if(uv_loop_init(&libuv) != 0, "uv_loop_init");
    libuv.time -= 4 * SPAN_MS;
    libuv_timers = array(sizeof *libuv_timers);
    for (size_t i = 0; i < count; i++)
        (void)uv_timer_init(&libuv, &libuv_timers[i]);
}

static void libuv_close(void)
{
    for (size_t i = 0; i < count; i++)
        uv_close((uv_handle_t *)&libuv_timers[i], NULL);
    (void)uv_run(&libuv, UV_RUN_DEFAULT);
    (void)uv_loop_close(&libuv);
    free(libuv_timers);
}

static void libuv_arm(void)
{
    for (size_t i = 0; i < count; i++)
        (void)uv_timer_start(&libuv_timers[i], libuv_fire, due_ms[i], 0);
}

static void libuv_later(void)
{
    for (size_t i = 0; i < count; i++)
        (void)uv_timer_start(&libuv_timers[i], libuv_fire, due_ms[i] + LATER_MS,
                             0);
}

static void libuv_cancel(void)
{
    for (size_t i = 0; i < count; i++)
        (void)uv_timer_stop(&libuv_timers[order[i]]);
}

static void libuv_at_once(void)
{
    (void)uv_run(&libuv, UV_RUN_NOWAIT);
}

/* ---- measuring ---- */

static const struct contestant {
    const char *name;
    void (*open)(void);
    void (*close)(void);
    void (*steps[STEP_COUNT])(void); /* NULL: it cannot */
} contestants[] = {
    {"wheel",
     wheel_open,
     wheel_close,
     {wheel_arm, wheel_later, wheel_cancel, wheel_steps, wheel_at_once}},
    {"binary heap",
     heap_open,
     heap_close,
     {heap_arm, heap_later, heap_cancel, heap_steps, heap_at_once}},
    {"libuv",
     libuv_open,
     libuv_close,
     {libuv_arm, libuv_later, libuv_cancel, NULL, libuv_at_once}},
};
#define CONTESTANTS (sizeof contestants / sizeof *contestants)

static double results[CONTESTANTS][STEP_COUNT][ROUNDS_MAX];

static double ns(void (*step)(void))
{
    struct timespec from, to;

    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    step();
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 +
            (double)(to.tv_nsec - from.tv_nsec)) /
           (double)count;
}

/* Expiring is measured on timers that were armed once and not pushed. */
static double expire_ns(const struct contestant *c, enum step step)
{
    double spent;

    if (!c->steps[step])
        return 0;
    fired = 0;
    c->open();
    c->steps[ARM]();
    spent = ns(c->steps[step]);
    stop_if(fired != count, "not every timer fired");
    c->close();
    return spent;
}

static void play(size_t who, size_t round)
{
    const struct contestant *c = &contestants[who];

    c->open();
    c->steps[ARM](); /* once untimed: the pages are there, timers unarmed */
    c->steps[CANCEL]();
    for (enum step s = ARM; s <= CANCEL; s++)
        results[who][s][round] = ns(c->steps[s]);
    c->close();
    for (enum step s = BY_MS; s <= AT_ONCE; s++)
        results[who][s][round] = expire_ns(c, s);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(size_t who, size_t step, size_t rounds)
{
    double *r = results[who][step];

    qsort(r, rounds, sizeof *r, by_size);
    return r[rounds / 2];
}

static void report(size_t rounds)
{
    printf("\n%zu timers, median of %zu rounds, ns per timer"
           " (wheel's share of it)\n", count, rounds);
    for (size_t s = 0; s < STEP_COUNT; s++) {
        double ours = median(0, s, rounds);

        printf("%-20s  wheel %.1f", step_names[s], ours);
        for (size_t who = 1; who < CONTESTANTS; who++) {
            double theirs = median(who, s, rounds);

            if (contestants[who].steps[s])
                printf("  %s %.1f (%.3f)", contestants[who].name, theirs,
                       ours / theirs);
        }
        printf("\n");
    }
}

static void measure(size_t timers, size_t rounds)
{
    count = timers;
    due_ms = array(sizeof *due_ms);
    order = array(sizeof *order);
    for (size_t round = 0; round < rounds; round++) {
        deal();
        for (size_t who = 0; who < CONTESTANTS; who++)
            play(who, round);
    }
    report(rounds);
    free(due_ms);
    free(order);
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? (size_t)atoi(argv[1]) : 11;

    stop_if(rounds < 1 || rounds > ROUNDS_MAX, "rounds: 1 to 99");
    printf("bytes per timer: wheel %zu, binary heap %zu, libuv %zu\n",
           sizeof(struct hf_timer),
           sizeof(struct heap_timer) + sizeof(struct heap_entry),
           sizeof(uv_timer_t));
    measure(10000, rounds);
    measure(100000, rounds);
    measure(1000000, (rounds + 2) / 3);
    return EXIT_SUCCESS;
}
