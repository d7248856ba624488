/* Turn kit. */
#include <check.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/loop/loop_inner.h"
#include "tests/support/turn_kit.h"

char trace[256];
unsigned waits;
struct pair pairs[PAIRS];
struct hf_waiter sleeper;
struct alarm alarm_of_sleeper = {.waiter = &sleeper};

void setup_with(bool thread)
{
    open_loop(thread);
    trace[0] = '\0';
}

void setup(void)
{
    setup_with(false);
}

void setup_thread(void)
{
    setup_with(true);
}

void teardown(void)
{
    close_loop();
}

void tell(char what)
{
    size_t len = strlen(trace);

    ck_must(len + 1 < sizeof trace, "the trace is short");
    trace[len] = what;
    trace[len + 1] = '\0';
}

void await(bool (*is_so)(void))
{
    int64_t end_ms = local_now_ms() + LONG_MS;
    bool it_is;

    for (;;) {
        lock();
        it_is = is_so();
        unlock();
        if (it_is)
            return;
        ck_must(local_now_ms() < end_ms, "what is awaited comes");
        local_rest_us(100);
    }
}

bool something_happened(void)
{
    return trace[0] != '\0';
}

bool driver_sleeps(void)
{
    return loop->has_driver && loop->driver_sleeps_until_ms != NOBODY_SLEEPS;
}

void ring(struct hf_timer *timer)
{
    struct alarm *a = HF_OWNER_OF(timer, struct alarm, timer);

    a->fired++;
    a->fired_ms = hf_loop_now(loop);
    if (a->letter)
        tell(a->letter);
    if (a->waiter)
        hf_waiter_wake(a->waiter);
}

void set(struct alarm *a, int64_t in_ms)
{
    a->timer.fire = ring;
    hf_loop_arm(loop, &a->timer, hf_loop_now(loop) + in_ms);
}

void wait_ms(int64_t ms)
{
    struct hf_waiter w;
    struct alarm a = {.waiter = &w};

    lock();
    hf_waiter_init(&w, loop);
    set(&a, ms);
    waits++;
    hf_loop_wait(&w);
    ck_must(a.fired == 1, "a caller returns when it was woken, and then alone");
}

void run_job(struct hf_task *task)
{
    struct job *j = HF_OWNER_OF(task, struct job, task);

    tell(j->letter);
    if (j->withdraws)
        hf_loop_unpost(loop, &j->withdraws->task);
    if (j->posts)
        hf_loop_post(loop, &j->posts->task);
}

void post(struct job *j, char letter)
{
    hf_task_init(&j->task, run_job);
    j->letter = letter;
    hf_loop_post(loop, &j->task);
}

void drain(struct hf_io *io, int events)
{
    struct pair *p = HF_OWNER_OF(io, struct pair, io);
    char c;

    p->events |= events;
    p->told++;
    if (events & HF_READ)
        (void)read(io->fd, &c, 1);
}

void pair_open(struct pair *p, int events)
{
    int fds[2];

    ck_assert_int_eq(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
        0);
    *p = (struct pair){.io = {.fd = fds[0], .events = events, .ready = drain},
                       .other = fds[1]};
    ck_assert_int_eq(hf_loop_watch(loop, &p->io), HF_OK);
}

void pair_close(struct pair *p)
{
    hf_loop_unwatch(loop, &p->io);
    (void)close(p->io.fd);
    (void)close(p->other);
}

int look(struct pair *p)
{
    int events;

    p->events = 0;
    hf_loop_dispatch(loop, 0);
    events = p->events;
    return events;
}

void *sleep_well(void *arg)
{
    lock();
    hf_waiter_init(&sleeper, loop);
    waits++;
    hf_loop_wait(&sleeper);
    return arg;
}

bool one_waits(void)
{
    return waits == 1 && driver_sleeps();
}

void start_callers(pthread_t threads[], void *(*call)(void *))
{
    for (uintptr_t i = 0; i < CALLERS; i++)
        (void)pthread_create(&threads[i], NULL, call, (void *)(i + 1));
}

void join_callers(pthread_t threads[])
{
    for (int i = 0; i < CALLERS; i++)
        (void)pthread_join(threads[i], NULL);
}

void *call_some_times(void *arg)
{
    for (int i = 0; i < 50; i++)
        wait_ms(i % 3);
    return arg;
}
