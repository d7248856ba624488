/* In place of net/base/thread.c and of what pthread.h and semaphore.h do: threads that
 * run one at a time. See sim_threads.h. */
#include "tests/sim/world/sim_threads.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <string.h>

#include "net/base/thread.h"
#include "tests/sim/world/inner.h"

#define OBJECTS_MAX 128
/* A condition wakes a thread without a signal in one of so many steps. */
#define SPURIOUS 256
/* After so many steps at one time, the threads are waiting for each other in a circle. */
#define STEPS_AT_ONCE_MAX 200000u

enum state { IS_NEW, IS_READY, ON_MUTEX, ON_CONDITION, ON_SEMAPHORE, SLEEPS, JOINS,
             RUNS /* or waits in the poller */, IS_OVER };

struct thread {
    char name[16];
    void (*run)(void *ctx);
    void *(*run_library)(void *arg);
    void *ctx;
    struct fiber *fiber;
    enum state state;
    struct object *object;      /* the mutex or semaphore that it waits for */
    struct object *condition;
    struct thread *joined;
    struct event alarm;
    bool has_timed_out;
    int error;                  /* its errno */
};

/* A mutex, condition or semaphore of the library. */
struct object {
    const void *address;        /* NULL: unused */
    const struct thread *owner; /* of a mutex; NULL: it is free */
    int count;                  /* of a semaphore */
    int number;
};

static struct thread threads[THREADS_MAX];
static int threads_count;
static struct object objects[OBJECTS_MAX];
static int objects_made;
static struct threads_options options;
static struct world *world;
static struct process *process;
static void (*watch)(void);
static uint64_t dice_of_threads;

static bool draw_one_of(int64_t sides)
{
    return dice_of(&dice_of_threads, (uint64_t)sides) == 0;
}

static struct thread *self(void)
{
    struct fiber *f = fiber_now();

    for (int i = 0; f && i < threads_count; i++)
        if (threads[i].fiber == f && threads[i].state != IS_OVER)
            return &threads[i];
    return NULL;
}

/* ---- the story ---- */

void threads_tell(const char *format, ...)
{
    const struct thread *t = self();
    va_list args;

    if (!options.story)
        return;
    (void)fprintf(options.story, "%11.6f  %-10s  ",
                  (double)(world_now_us(world) - WORLD_BEGIN_US) / 1e6,
                  t ? t->name : "world");
    va_start(args, format);
    (void)vfprintf(options.story, format, args);
    va_end(args);
    (void)fputc('\n', options.story);
}

static const char *what_it_awaits(const struct thread *t)
{
    switch (t->state) {
    case IS_NEW:
    case IS_READY:
        return "may run";
    case ON_MUTEX:
        return "mutex";
    case ON_CONDITION:
        return "condition";
    case ON_SEMAPHORE:
        return "semaphore";
    case SLEEPS:
        return "sleeps";
    case JOINS:
        return "end of a thread";
    case RUNS:
        return "poller";
    default:
        return "over";
    }
}

void threads_list(char *dst, size_t room)
{
    size_t len = 0;

    *dst = '\0';
    for (int i = 0; i < threads_count && len < room; i++)
        len += (size_t)snprintf(dst + len, room - len, "%s%s: %s", i ? ", " : "",
                                threads[i].name, what_it_awaits(&threads[i]));
}

/* ---- objects ---- */

static struct object *find_object(const void *address)
{
    for (int i = 0; i < OBJECTS_MAX; i++)
        if (objects[i].address == address)
            return &objects[i];
    return NULL;
}

static struct object *object_of(const void *address)
{
    struct object *o = find_object(address);

    if (o)
        return o;
    o = find_object(NULL);
    must(o);
    *o = (struct object){.address = address, .number = ++objects_made};
    return o;
}

static void forget_object(const void *address)
{
    struct object *o = find_object(address);

    if (o)
        *o = (struct object){0};
}

/* ---- who runs ---- */

static bool may_run(const struct thread *t)
{
    switch (t->state) {
    case IS_NEW:
    case IS_READY:
        return true;
    case ON_MUTEX:
        return !t->object->owner;
    case ON_SEMAPHORE:
        return t->object->count > 0;
    case JOINS:
        return t->joined->state == IS_OVER;
    default:
        return false;
    }
}

/* It has what it waited for. */
static void take(struct thread *t)
{
    if (t->state == ON_MUTEX)
        t->object->owner = t;
    else if (t->state == ON_SEMAPHORE)
        t->object->count--;
    t->state = RUNS;
}

/* By the thread itself, in the state that says what it waits for. */
static void park(struct thread *t)
{
    if (may_run(t) && !draw_one_of(options.stay + 1)) {
        take(t);
        return;
    }
    t->error = errno;
    fiber_park();
    errno = t->error;
}

static void yield(void)
{
    struct thread *t = self();

    t->state = IS_READY;
    park(t);
}

static void body(void *ctx)
{
    struct thread *t = ctx;

    t->fiber = fiber_now();
    if (t->run_library)
        (void)t->run_library(t->ctx);
    else
        t->run(t->ctx);
    t->state = IS_OVER;
}

static void resume(struct thread *t)
{
    struct process *before = process_enter(process);
    bool is_new = t->state == IS_NEW;

    take(t);
    if (is_new)
        fiber_start(body, t);
    else
        fiber_resume(t->fiber);
    (void)process_enter(before);
}

static struct thread *draw_thread(void)
{
    struct thread *ready[THREADS_MAX];
    uint64_t count = 0;

    for (int i = 0; i < threads_count; i++)
        if (may_run(&threads[i]))
            ready[count++] = &threads[i];
    return count ? ready[dice_of(&dice_of_threads, count)] : NULL;
}

/* ---- conditions ---- */

static void leave_condition(struct thread *t)
{
    world_cancel(world, &t->alarm);
    t->condition = NULL;
    t->state = ON_MUTEX;
}

static struct thread *draw_waiting(const struct object *condition)
{
    struct thread *waiting[THREADS_MAX];
    uint64_t count = 0;

    for (int i = 0; i < threads_count; i++)
        if (threads[i].state == ON_CONDITION &&
            (!condition || threads[i].condition == condition))
            waiting[count++] = &threads[i];
    return count ? waiting[dice_of(&dice_of_threads, count)] : NULL;
}

static void on_alarm(void *ctx)
{
    struct thread *t = ctx;

    t->has_timed_out = true;
    if (t->state == ON_CONDITION)
        leave_condition(t);
    else
        t->state = IS_READY;
}

static void wake_without_signal(void)
{
    struct thread *t = draw_waiting(NULL);

    if (t)
        leave_condition(t);
}

/* ---- running ---- */

static bool step(int64_t until_us)
{
    struct thread *t;

    if (draw_one_of(SPURIOUS))
        wake_without_signal();
    t = draw_thread();
    if (t && draw_one_of(4) && world_step(world, world_now_us(world) + options.stall_us))
        return true;
    if (t) {
        resume(t);
        return true;
    }
    return world_now_us(world) < until_us && world_step(world, until_us);
}

static bool are_over(void)
{
    for (int i = 0; i < threads_count; i++)
        if (threads[i].state != IS_OVER)
            return false;
    return true;
}

bool threads_run(int64_t until_us)
{
    int64_t then_us = world_now_us(world);
    unsigned steps = 0;

    while (!are_over()) {
        if (!step(until_us) || ++steps > STEPS_AT_ONCE_MAX)
            return false;
        if (world_now_us(world) != then_us)
            steps = 0;
        then_us = world_now_us(world);
        if (watch)
            watch();
    }
    return true;
}

void threads_begin(struct world *w, struct process *p, const struct threads_options *o)
{
    world = w;
    process = p;
    options = *o;
    dice_of_threads = dice_stream(o->seed, "threads");
    watch = NULL;
    threads_count = objects_made = 0;
    memset(threads, 0, sizeof threads);
    memset(objects, 0, sizeof objects);
}

void threads_end(void)
{
    must(are_over());
    threads_count = 0;
}

void threads_watch(void (*fn)(void))
{
    watch = fn;
}

static struct thread *start(const char *name)
{
    struct thread *t = &threads[threads_count];

    must(threads_count < THREADS_MAX);
    *t = (struct thread){.state = IS_NEW, .alarm = {.happen = on_alarm, .ctx = t}};
    (void)snprintf(t->name, sizeof t->name, "%s", name);
    threads_count++;
    return t;
}

int threads_start(const char *name, void (*run)(void *ctx), void *ctx)
{
    struct thread *t = start(name);

    t->run = run;
    t->ctx = ctx;
    return (int)(t - threads);
}

void threads_sleep(int64_t us)
{
    struct thread *t = self();

    t->state = SLEEPS;
    world_after(world, &t->alarm, us);
    park(t);
}

void threads_join(int number)
{
    struct thread *t = self();

    t->state = JOINS;
    t->joined = &threads[number];
    park(t);
}

/* ---- in place of net/base/thread.c ---- */

int hf_thread_start(pthread_t *thread, void *(*run)(void *), void *arg, sigset_t *before)
{
    struct thread *t = start("background");

    if (before)
        (void)sigemptyset(before);
    t->run_library = run;
    t->ctx = arg;
    *thread = (pthread_t)(t - threads + 1);
    yield();
    return 0;
}

/* By the clock of the process. */
struct timespec hf_thread_deadline(int64_t ms)
{
    int64_t us = process_clock_us(process) + ms * 1000;

    return (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
}

/* ---- in place of the system's calls. Outside of threads nothing waits. ---- */

int __wrap_pthread_join(pthread_t thread, void **value);
int __wrap_pthread_join(pthread_t thread, void **value)
{
    (void)value;
    threads_join((int)thread - 1);
    return 0;
}

pthread_t __wrap_pthread_self(void);
pthread_t __wrap_pthread_self(void)
{
    const struct thread *t = self();

    return t ? (pthread_t)(t - threads + 1) : 0;
}

int __wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *how);
int __wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *how)
{
    (void)how;
    must(!find_object(m) || !find_object(m)->owner);
    forget_object(m);
    return 0;
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *m);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *m)
{
    const struct object *o = find_object(m);

    must(!o || !o->owner);
    for (int i = 0; i < threads_count; i++)
        must(!o || threads[i].object != o || threads[i].state != ON_MUTEX);
    forget_object(m);
    return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    struct thread *t = self();

    if (!t)
        return 0;
    t->object = object_of(m);
    must(t->object->owner != t);
    t->state = ON_MUTEX;
    park(t);
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    const struct thread *t = self();
    struct object *o;

    if (!t)
        return 0;
    o = object_of(m);
    must(o->owner == t);
    o->owner = NULL;
    yield();
    return 0;
}

int __wrap_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *how);
int __wrap_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *how)
{
    (void)how;
    forget_object(c);
    return 0;
}

int __wrap_pthread_cond_destroy(pthread_cond_t *c);
int __wrap_pthread_cond_destroy(pthread_cond_t *c)
{
    must(!find_object(c) || !draw_waiting(find_object(c)));
    forget_object(c);
    return 0;
}

/* Its mutex is free from here on, until the thread runs again. */
static void wait_on(pthread_cond_t *c, pthread_mutex_t *m)
{
    struct thread *t = self();

    t->condition = object_of(c);
    t->object = object_of(m);
    must(t->object->owner == t);
    t->object->owner = NULL;
    t->state = ON_CONDITION;
    t->has_timed_out = false;
    threads_tell("waits for condition %d", t->condition->number);
    park(t);
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    wait_on(c, m);
    return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until)
{
    struct thread *t = self();

    world_at(world, &t->alarm,
             process_true_us(process, until->tv_sec * 1000000 + until->tv_nsec / 1000));
    wait_on(c, m);
    return t->has_timed_out ? ETIMEDOUT : 0;
}

int __wrap_pthread_cond_signal(pthread_cond_t *c);
int __wrap_pthread_cond_signal(pthread_cond_t *c)
{
    struct thread *t = draw_waiting(object_of(c));

    if (t)
        leave_condition(t);
    threads_tell("signals condition %d%s%s", object_of(c)->number, t ? ": " : "",
                 t ? t->name : "");
    yield();
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *c);
int __wrap_pthread_cond_broadcast(pthread_cond_t *c)
{
    struct thread *t;

    if (!self())
        return 0;
    while ((t = draw_waiting(object_of(c))))
        leave_condition(t);
    yield();
    return 0;
}

int __wrap_sem_init(sem_t *s, int shared, unsigned value);
int __wrap_sem_init(sem_t *s, int shared, unsigned value)
{
    (void)shared;
    must(!find_object(s));
    object_of(s)->count = (int)value;
    return 0;
}

int __wrap_sem_destroy(sem_t *s);
int __wrap_sem_destroy(sem_t *s)
{
    must(find_object(s));
    forget_object(s);
    return 0;
}

int __wrap_sem_post(sem_t *s);
int __wrap_sem_post(sem_t *s)
{
    must(find_object(s)); /* THREADS-3 */
    find_object(s)->count++;
    threads_tell("posts semaphore %d", find_object(s)->number);
    yield();
    return 0;
}

int __wrap_sem_wait(sem_t *s);
int __wrap_sem_wait(sem_t *s)
{
    struct thread *t = self();

    t->object = find_object(s);
    must(t->object);
    t->state = ON_SEMAPHORE;
    threads_tell("waits for semaphore %d", t->object->number);
    park(t);
    return 0;
}
