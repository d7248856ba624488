/* Waiting for descriptors with epoll(7).
 *
 * A long wait ends by a timer of its own, which is a descriptor like the others: it is set for a
 * deadline once, and not started and stopped with every wait (150 ns of the 3,100 of a single
 * command), and it also counts while the machine sleeps, so that the wait ends as soon as the
 * machine wakes up. */
/* Tests: tests/test_net_loop.c, tests/test_net_faults.c. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "net/loop/poller.h"

#define SHORT_WAIT_MS 10         /* not worth a timer */
#define TIMER_KEY UINT64_MAX     /* no descriptor's: those have 32 bits */

static uint32_t to_epoll_events(int events)
{
    return (events & HF_READ ? EPOLLIN | EPOLLRDHUP : 0u) |
           (events & HF_WRITE ? EPOLLOUT : 0u);
}

static int from_epoll_events(uint32_t events)
{
    if (events & (EPOLLERR | EPOLLHUP))
        return HF_READ | HF_WRITE;
    return (events & (EPOLLIN | EPOLLRDHUP) ? HF_READ : 0) |
           (events & EPOLLOUT ? HF_WRITE : 0);
}

static int control_epoll(struct hf_poller *p, int verb, int fd, int events,
                         uint64_t key)
{
    struct epoll_event e = {.events = to_epoll_events(events), .data.u64 = key};

    return epoll_ctl(p->fd, verb, fd, &e);
}

/* Without this timer, each wait has its timeout. */
static void open_timer(struct hf_poller *p)
{
    p->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (p->timer_fd < 0)
        return;
    if (control_epoll(p, EPOLL_CTL_ADD, p->timer_fd, HF_READ, TIMER_KEY) == 0)
        return;
    (void)close(p->timer_fd);
    p->timer_fd = -1;
}

hf_status hf_poller_init(struct hf_poller *p, const struct hf_mem *mem)
{
    memset(p, 0, sizeof *p);
    p->mem = mem;
    p->timer_fd = p->outer_signal_fd = p->outer_fd = -1;
    p->fd = epoll_create1(EPOLL_CLOEXEC);
    if (p->fd < 0)
        return HF_E_SYSTEM;
    p->outer_fd = p->fd;
    open_timer(p);
    p->timer_expires_ms = INT64_MIN;
    return HF_OK;
}

static void close_fd_if_open(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

void hf_poller_fini(struct hf_poller *p)
{
    if (p->outer_fd != p->fd)
        close_fd_if_open(p->outer_fd);
    close_fd_if_open(p->outer_signal_fd);
    close_fd_if_open(p->timer_fd);
    close_fd_if_open(p->fd);
    p->outer_fd = p->outer_signal_fd = p->timer_fd = p->fd = -1;
}

/* ---- the other event loop ---- */

static bool add_to_outer(struct hf_poller *p, int fd)
{
    struct epoll_event e = {.events = EPOLLIN};

    return epoll_ctl(p->outer_fd, EPOLL_CTL_ADD, fd, &e) == 0;
}

/* A set around ours: a byte in a pipe of our own set would be read by a blocked
 * caller that waits there, and the other event loop would sleep on. */
hf_status hf_poller_open_outer(struct hf_poller *p)
{
    p->outer_signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    p->outer_fd = epoll_create1(EPOLL_CLOEXEC);
    if (p->outer_signal_fd < 0 || p->outer_fd < 0 || !add_to_outer(p, p->fd) ||
        !add_to_outer(p, p->outer_signal_fd))
        return HF_E_SYSTEM;
    return HF_OK;
}

void hf_poller_signal_outer(struct hf_poller *p)
{
    uint64_t once = 1;

    if (p->is_outer_signalled || p->outer_signal_fd < 0)
        return;
    p->is_outer_signalled = write(p->outer_signal_fd, &once, sizeof once) == sizeof once;
}

void hf_poller_clear_outer(struct hf_poller *p)
{
    uint64_t times;

    if (p->is_outer_signalled)
        (void)!read(p->outer_signal_fd, &times, sizeof times);
    p->is_outer_signalled = false;
}

/* ---- descriptors ---- */

hf_status hf_poller_add(struct hf_poller *p, int fd, int events, uint32_t key)
{
    if (control_epoll(p, EPOLL_CTL_ADD, fd, events, key) == 0)
        return HF_OK;
    return errno == ENOMEM ? HF_E_NOMEM : HF_E_SYSTEM;
}

/* Changing or removing a descriptor can only fail if it was closed, and then the kernel
 * has removed it. */
void hf_poller_change(struct hf_poller *p, int fd, int events, uint32_t key)
{
    (void)control_epoll(p, EPOLL_CTL_MOD, fd, events, key);
}

void hf_poller_remove(struct hf_poller *p, int fd)
{
    (void)control_epoll(p, EPOLL_CTL_DEL, fd, 0, 0);
}

void hf_poller_prepare(struct hf_poller *p)
{
    (void)p; /* the kernel keeps the list */
}

static bool set_timer(struct hf_poller *p, int timeout_ms)
{
    struct itimerspec t = {
        .it_value = {.tv_sec = timeout_ms / 1000,
                     .tv_nsec = (long)(timeout_ms % 1000) * 1000000}};

    return timerfd_settime(p->timer_fd, 0, &t, NULL) == 0;
}

/* What is left for epoll to measure. One that goes off too early does no harm,
 * and is set anew then. */
static int short_timeout_or_timer(struct hf_poller *p, int timeout_ms, int64_t now_ms)
{
    int64_t until_ms = now_ms + timeout_ms;

    if (timeout_ms <= SHORT_WAIT_MS || p->timer_fd < 0)
        return timeout_ms;
    if (p->timer_expires_ms > now_ms && p->timer_expires_ms <= until_ms)
        return -1;
    if (!set_timer(p, timeout_ms))
        return timeout_ms;
    p->timer_expires_ms = until_ms;
    return -1;
}

static void drain_timer(struct hf_poller *p)
{
    uint64_t times;

    (void)!read(p->timer_fd, &times, sizeof times); /* how often: once */
    p->timer_expires_ms = INT64_MIN;
}

int hf_poller_wait(struct hf_poller *p, struct hf_poller_event *events,
                   int timeout_ms, int64_t now_ms)
{
    struct epoll_event got[POLLER_BATCH];
    int n = epoll_wait(p->fd, got, POLLER_BATCH,
                       short_timeout_or_timer(p, timeout_ms, now_ms));
    int filled = 0;

    for (int i = 0; i < n; i++) { /* n < 0: EINTR, the loop comes back */
        if (got[i].data.u64 == TIMER_KEY) {
            drain_timer(p);
            continue;
        }
        events[filled].key = got[i].data.u32;
        events[filled++].events = from_epoll_events(got[i].events);
    }
    return filled;
}
