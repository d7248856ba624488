/* holdfast in an event loop of your own: plain epoll(7). What is done there
 * under a lock is in job.c.
 *
 *     cc -o loop_epoll loop_epoll.c job.c \
 *         $(pkg-config --cflags --libs holdfast)
 *     loop_epoll [URL [WATCHDOG_MS [RENEWALS]]]
 *
 * 1  When hf_loop_fd is readable, call hf_loop_dispatch, which makes the
 *    callbacks. Level-triggered, for it handles a batch at a time.
 * 2  When the time that hf_loop_timeout gave is over, call it as well. Ask for
 *    that time after each dispatch; here: before each wait.
 * 3  Never block: call what ends in _async, and return soon from callbacks and
 *    from work of your own. Meanwhile nothing is renewed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "job.h"

#define TICK_NS 50000000        /* 50 ms */

static int must(long rc, const char *what)
{
    if (rc >= 0)
        return (int)rc;
    perror(what);
    exit(1);
}

static int open_ticks(void)
{
    struct itimerspec each = {{0, TICK_NS}, {0, TICK_NS}};
    int fd = must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd");

    must(timerfd_settime(fd, 0, &each, NULL), "timerfd");
    return fd;
}

static int open_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    must(sigprocmask(SIG_BLOCK, &set, NULL), "sigprocmask");
    return must(signalfd(-1, &set, SFD_CLOEXEC), "signalfd");
}

static void drain(int fd)
{
    char sink[sizeof(struct signalfd_siginfo)];

    must(read(fd, sink, sizeof sink), "read");
}

static void watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

static void run(struct job *job)
{
    int epoll = must(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    int theirs = hf_loop_fd(job->loop);
    int ticks = open_ticks(), signals = open_signals();
    struct epoll_event event;
    int fd;

    watch(epoll, theirs);
    watch(epoll, ticks);
    watch(epoll, signals);
    while (!job->is_over) {
        fd = epoll_wait(epoll, &event, 1, hf_loop_timeout(job->loop)) > 0
                 ? event.data.fd
                 : -1;
        if (fd == theirs || hf_loop_timeout(job->loop) == 0)
            hf_loop_dispatch(job->loop, 0);
        if (fd == ticks || fd == signals)
            drain(fd);
        job->ticks += fd == ticks;
        if (fd == signals)
            job_stop(job);
    }
    close(signals);
    close(ticks);
    close(epoll);
}

int main(int argc, char **argv)
{
    struct job job = {0};

    job_open(&job, argc, argv);
    if (!job.is_over)
        run(&job);
    return job_close(&job);
}
