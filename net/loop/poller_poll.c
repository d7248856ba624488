/* Waiting for descriptors with poll(2), where there is no epoll. */
/* Tests: tests/test_net_loop.c, tests/test_net_faults.c. */
#include <poll.h>
#include <string.h>

#include "net/base/mem.h"
#include "net/loop/poller.h"

/* When to look again for memory to watch all descriptors. */
#define RETRY_SOON_MS 10
#define SLOTS_MAX (1u << 20) /* more descriptors than any process has */

static short to_poll_events(int events)
{
    return (short)((events & HF_READ ? POLLIN : 0) |
                   (events & HF_WRITE ? POLLOUT : 0));
}

static int from_poll_events(short events)
{
    if (events & (POLLERR | POLLHUP | POLLNVAL))
        return HF_READ | HF_WRITE;
    return (events & POLLIN ? HF_READ : 0) | (events & POLLOUT ? HF_WRITE : 0);
}

hf_status hf_poller_init(struct hf_poller *p, const struct hf_mem *mem)
{
    memset(p, 0, sizeof *p);
    p->mem = mem;
    p->fd = p->outer_fd = p->outer_signal_fd = -1;
    return HF_OK;
}

/* poll(2) has no descriptor for a set of others, so an outer event loop cannot wait for
 * it. */
hf_status hf_poller_open_outer(struct hf_poller *p)
{
    (void)p;
    return HF_OK;
}

void hf_poller_signal_outer(struct hf_poller *p)
{
    (void)p;
}

void hf_poller_clear_outer(struct hf_poller *p)
{
    (void)p;
}

static void free_list(const struct hf_mem *mem, struct hf_poller_list *l)
{
    hf_mem_free(mem, l->slots, l->slots_capacity * sizeof *l->slots);
    hf_mem_free(mem, l->keys, l->keys_capacity * sizeof *l->keys);
}

static bool grow_list(const struct hf_mem *mem, struct hf_poller_list *l,
                      size_t want)
{
    return hf_mem_grow(mem, &l->slots, &l->slots_capacity, sizeof *l->slots, want,
                       SLOTS_MAX) &&
           hf_mem_grow(mem, &l->keys, &l->keys_capacity, sizeof *l->keys, want,
                       SLOTS_MAX);
}

static uint32_t find_in_list(const struct hf_poller_list *l, int fd)
{
    uint32_t i = 0;

    while (i < l->count && l->slots[i].fd != fd)
        i++;
    return i;
}

void hf_poller_fini(struct hf_poller *p)
{
    free_list(p->mem, &p->watched_list);
    free_list(p->mem, &p->waiting_copy);
}

hf_status hf_poller_add(struct hf_poller *p, int fd, int events, uint32_t key)
{
    struct hf_poller_list *l = &p->watched_list;

    if (!grow_list(p->mem, l, (size_t)l->count + 1))
        return HF_E_NOMEM;
    l->slots[l->count] = (struct pollfd){.fd = fd, .events = to_poll_events(events)};
    l->keys[l->count++] = key;
    return HF_OK;
}

void hf_poller_change(struct hf_poller *p, int fd, int events, uint32_t key)
{
    uint32_t i = find_in_list(&p->watched_list, fd);

    (void)key; /* stays what it was */
    if (i < p->watched_list.count)
        p->watched_list.slots[i].events = to_poll_events(events);
}

void hf_poller_remove(struct hf_poller *p, int fd)
{
    struct hf_poller_list *l = &p->watched_list;
    uint32_t i = find_in_list(l, fd);

    if (i == l->count)
        return;
    l->count--;
    l->slots[i] = l->slots[l->count];
    l->keys[i] = l->keys[l->count];
}

static uint32_t smaller_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The list may change while we wait, so poll(2) is given a copy of it. Without
 * memory for all of it, of its first part. */
void hf_poller_prepare(struct hf_poller *p)
{
    struct hf_poller_list *l = &p->waiting_copy;

    (void)grow_list(p->mem, l, p->watched_list.count);
    l->count =
        smaller_of(p->watched_list.count, smaller_of(l->slots_capacity, l->keys_capacity));
    p->is_copy_incomplete = l->count < p->watched_list.count;
    if (l->count == 0)
        return;
    memcpy(l->slots, p->watched_list.slots, l->count * sizeof *l->slots);
    memcpy(l->keys, p->watched_list.keys, l->count * sizeof *l->keys);
}

int hf_poller_wait(struct hf_poller *p, struct hf_poller_event *events,
                   int timeout_ms, int64_t now_ms)
{
    const struct hf_poller_list *l = &p->waiting_copy;
    int filled = 0;

    (void)now_ms;
    if (p->is_copy_incomplete && (timeout_ms < 0 || timeout_ms > RETRY_SOON_MS))
        timeout_ms = RETRY_SOON_MS;
    if (poll(l->slots, l->count, timeout_ms) <= 0)
        return 0; /* EINTR too: the loop looks at the time and comes back */
    for (uint32_t i = 0; i < l->count && filled < POLLER_BATCH; i++) {
        if (!l->slots[i].revents)
            continue;
        events[filled].key = l->keys[i];
        events[filled++].events = from_poll_events(l->slots[i].revents);
    }
    return filled;
}
