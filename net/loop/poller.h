/* Waiting for descriptors: one file per system call, chosen by the build
 * (EVENTS=epoll or poll). Private to net/. */
#ifndef HF_POLLER_H
#define HF_POLLER_H

#include "net/net.h"

#define POLLER_BATCH 64   /* events of one wait; further ones wait for the next turn */

struct hf_poller_event {
    uint32_t key;
    int events;                  /* HF_READ, HF_WRITE */
};

/* A poller's memory is the caller's; `mem` is borrowed. add, change and remove
 * may be called while another thread waits; a change made with poll(2) is seen
 * by the next wait, so the loop wakes its driver after one. */
struct hf_poller {
    const struct hf_mem *mem;
    int fd;                      /* epoll; -1 with poll(2) */
    int outer_fd;                /* what another event loop watches: `fd`, or a
                                    set of it and `call_fd`; -1 with poll(2) */
    int call_fd;                 /* -1: nobody is to be called */
    bool is_called;
    int timer_fd;                /* epoll: of long waits; -1: there is none */
    int64_t armed_ms;            /* when it goes off, or went */
    struct hf_poller_list {      /* poll(2): descriptors and their keys */
        struct pollfd *slots;
        uint32_t *keys;
        uint32_t count;
        uint32_t slots_room;
        uint32_t keys_room;
    } watched, waiting;          /* what is; a copy, while it waits */
    bool is_cut;                 /* the copy: there was no memory for all */
};

hf_status hf_poller_init(struct hf_poller *p, const struct hf_mem *mem)
    HF_MUST_CHECK;
void hf_poller_fini(struct hf_poller *p);
hf_status hf_poller_add(struct hf_poller *p, int fd, int events, uint32_t key)
    HF_MUST_CHECK;
void hf_poller_change(struct hf_poller *p, int fd, int events, uint32_t key);
void hf_poller_remove(struct hf_poller *p, int fd);

/* hf_poller_open_outer - before the first event: outer_fd can be made readable
 *                        without waking hf_poller_wait. Does
 *                        nothing with poll(2). HF_E_SYSTEM
 * hf_poller_call       - does so; hf_poller_uncall takes it back. Both under
 *                        the loop's lock. */
hf_status hf_poller_open_outer(struct hf_poller *p) HF_MUST_CHECK;
void hf_poller_call(struct hf_poller *p);
void hf_poller_uncall(struct hf_poller *p);

/* hf_poller_prepare - under the loop's lock, before hf_poller_wait, which is
 * called without it and answers how many of `events` it filled. It may come
 * back early, with none. */
void hf_poller_prepare(struct hf_poller *p);
int hf_poller_wait(struct hf_poller *p, struct hf_poller_event *events,
                   int timeout_ms, int64_t now_ms);

#endif
