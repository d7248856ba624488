/* Waiting for descriptors with epoll(7). */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "net/poller.h"

static uint32_t to_epoll(int events)
{
    return (events & HF_READ ? EPOLLIN | EPOLLRDHUP : 0u) |
           (events & HF_WRITE ? EPOLLOUT : 0u);
}

static int from_epoll(uint32_t events)
{
    if (events & (EPOLLERR | EPOLLHUP))
        return HF_READ | HF_WRITE;
    return (events & (EPOLLIN | EPOLLRDHUP) ? HF_READ : 0) |
           (events & EPOLLOUT ? HF_WRITE : 0);
}

hf_status hf_poller_init(struct hf_poller *p, const struct hf_mem *mem)
{
    memset(p, 0, sizeof *p);
    p->mem = mem;
    p->fd = epoll_create1(EPOLL_CLOEXEC);
    return p->fd < 0 ? HF_E_SYSTEM : HF_OK;
}

void hf_poller_fini(struct hf_poller *p)
{
    if (p->fd >= 0)
        (void)close(p->fd);
    p->fd = -1;
}

static int control(struct hf_poller *p, int verb, int fd, int events,
                   uint32_t key)
{
    struct epoll_event e = {.events = to_epoll(events), .data.u32 = key};

    return epoll_ctl(p->fd, verb, fd, &e);
}

hf_status hf_poller_add(struct hf_poller *p, int fd, int events, uint32_t key)
{
    if (control(p, EPOLL_CTL_ADD, fd, events, key) == 0)
        return HF_OK;
    return errno == ENOMEM ? HF_E_NOMEM : HF_E_SYSTEM;
}

/* Changing or removing what was added cannot fail but for a closed fd, which
 * the kernel has removed by itself. */
void hf_poller_change(struct hf_poller *p, int fd, int events, uint32_t key)
{
    (void)control(p, EPOLL_CTL_MOD, fd, events, key);
}

void hf_poller_remove(struct hf_poller *p, int fd)
{
    (void)control(p, EPOLL_CTL_DEL, fd, 0, 0);
}

void hf_poller_prepare(struct hf_poller *p)
{
    (void)p; /* the kernel keeps the list */
}

int hf_poller_wait(struct hf_poller *p, struct hf_poller_event *events,
                   int timeout_ms)
{
    struct epoll_event got[POLLER_BATCH];
    int n = epoll_wait(p->fd, got, POLLER_BATCH, timeout_ms);

    for (int i = 0; i < n; i++) {
        events[i].key = got[i].data.u32;
        events[i].events = from_epoll(got[i].events);
    }
    return n < 0 ? 0 : n; /* EINTR: the loop looks at the time and comes back */
}
