/* holdfast in an event loop of your own: libevent. What is done there under a
 * lock is in job.c.
 *
 *     cc -o loop_event loop_event.c job.c \
 *         $(pkg-config --cflags --libs holdfast libevent)
 *     loop_event [URL [WATCHDOG_MS [RENEWALS]]]
 *
 * 1  When hf_loop_fd is readable, call hf_loop_dispatch, which makes the
 *    callbacks. Not with EV_ET: it handles a batch at a time.
 * 2  When the time that hf_loop_timeout gave is over, call it as well. Ask for
 *    that time after each dispatch. One event, not EV_PERSIST, is both.
 * 3  Never block: call what ends in _async, and return soon from callbacks and
 *    from work of your own. Meanwhile nothing is renewed. */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "job.h"

static const struct timeval tick = {.tv_usec = 50000};

static struct job job;
static struct event *theirs, *ticks, *interrupt, *terminate;

static void must(bool is_so, const char *what)
{
    if (is_so)
        return;
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

static void await_theirs(void)
{
    int ms = hf_loop_timeout(job.loop);
    struct timeval timeout = {ms / 1000, ms % 1000 * 1000};

    must(event_add(theirs, ms < 0 ? NULL : &timeout) == 0, "event_add");
}

static void on_theirs(evutil_socket_t fd, short events, void *arg)
{
    (void)fd;
    (void)events;
    (void)arg;
    hf_loop_dispatch(job.loop, 0);
    await_theirs();
}

static void on_tick(evutil_socket_t fd, short events, void *arg)
{
    (void)fd;
    (void)events;
    (void)arg;
    job.ticks++;
}

/* What is asked of holdfast out here, and cannot wait for the time that it
 * gave, makes hf_loop_fd readable. */
static void on_signal(evutil_socket_t number, short events, void *arg)
{
    (void)number;
    (void)events;
    (void)arg;
    job_stop(&job);
}

static struct event *add(struct event_base *base, evutil_socket_t fd,
                         short events, event_callback_fn callback,
                         const struct timeval *each)
{
    struct event *event = event_new(base, fd, events, callback, NULL);

    must(event && event_add(event, each) == 0, "event_new");
    return event;
}

static void run(struct event_base *base)
{
    ticks = add(base, -1, EV_PERSIST, on_tick, &tick);
    interrupt = add(base, SIGINT, EV_SIGNAL | EV_PERSIST, on_signal, NULL);
    terminate = add(base, SIGTERM, EV_SIGNAL | EV_PERSIST, on_signal, NULL);
    theirs = event_new(base, hf_loop_fd(job.loop), EV_READ, on_theirs, NULL);
    must(theirs != NULL, "event_new");
    await_theirs();
    while (!job.is_over)
        must(event_base_loop(base, EVLOOP_ONCE) == 0, "event_base_loop");
    event_free(theirs);         /* before job_close closes its fd */
    event_free(terminate);
    event_free(interrupt);
    event_free(ticks);
}

int main(int argc, char **argv)
{
    struct event_base *base = event_base_new();

    must(base != NULL, "event_base_new");
    job_open(&job, argc, argv);
    if (!job.is_over)
        run(base);
    event_base_free(base);
    libevent_global_shutdown();
    return job_close(&job);
}
