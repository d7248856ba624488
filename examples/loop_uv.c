/* holdfast in an event loop of your own: libuv. What is done there under a lock
 * is in job.c.
 *
 *     cc -o loop_uv loop_uv.c job.c \
 *         $(pkg-config --cflags --libs holdfast libuv)
 *     loop_uv [URL [WATCHDOG_MS [RENEWALS]]]
 *
 * 1  When hf_loop_fd is readable (uv_poll_t), call hf_loop_dispatch; that makes
 *    the callbacks.
 * 2  When the time that hf_loop_timeout gave is over (uv_timer_t), call it as
 *    well. Ask for that time before each wait (uv_prepare_t).
 * 3  Never block: call what ends in _async, and return soon from callbacks and
 *    from work of your own. Meanwhile nothing is renewed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "job.h"

#define TICK_MS 50

static struct job job;
static uv_timer_t due, ticks;
static uv_signal_t interrupt, terminate;
static uv_prepare_t prepare;
static uv_poll_t theirs;

static void must(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, uv_strerror(rc));
    exit(1);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)poll;
    (void)status;
    (void)events;
    hf_loop_dispatch(job.loop, 0);
}

static void on_due(uv_timer_t *timer)
{
    (void)timer;
    hf_loop_dispatch(job.loop, 0);
}

static void before_wait(uv_prepare_t *handle)
{
    int timeout = hf_loop_timeout(job.loop);

    if (job.is_over)
        uv_stop(handle->loop);
    if (timeout < 0)
        must(uv_timer_stop(&due), "uv_timer_stop");
    else
        must(uv_timer_start(&due, on_due, (uint64_t)timeout, 0),
             "uv_timer_start");
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    job.ticks++;
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)handle;
    (void)number;
    job_stop(&job);
}

static void start(uv_loop_t *loop)
{
    uv_timer_init(loop, &due);
    uv_timer_init(loop, &ticks);
    uv_prepare_init(loop, &prepare);
    must(uv_poll_init(loop, &theirs, hf_loop_fd(job.loop)), "uv_poll_init");
    must(uv_signal_init(loop, &interrupt), "uv_signal_init");
    must(uv_signal_init(loop, &terminate), "uv_signal_init");
    must(uv_prepare_start(&prepare, before_wait), "uv_prepare_start");
    must(uv_poll_start(&theirs, UV_READABLE, on_readable), "uv_poll_start");
    must(uv_timer_start(&ticks, on_tick, TICK_MS, TICK_MS), "uv_timer_start");
    must(uv_signal_start(&interrupt, on_signal, SIGINT), "uv_signal_start");
    must(uv_signal_start(&terminate, on_signal, SIGTERM), "uv_signal_start");
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    uv_close(handle, NULL);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();

    job_open(&job, argc, argv);
    if (!job.is_over) {
        start(loop);
        uv_run(loop, UV_RUN_DEFAULT);
        uv_walk(loop, close_handle, NULL);
        uv_run(loop, UV_RUN_DEFAULT); /* before job_close closes its fd */
    }
    must(uv_loop_close(loop), "uv_loop_close");
    return job_close(&job);
}
