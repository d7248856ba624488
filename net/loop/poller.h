/* Waits for events of descriptors. There is one file for each system call, which the build
 * chooses (EVENTS=epoll or poll). poll(2) is for processes in which a filter of system calls
 * forbids epoll; it also shows, because all tests of the loop run with both, that the loop does
 * not depend on a detail of epoll. Private to net/. */
#ifndef HF_POLLER_H
#define HF_POLLER_H

#include "net/net.h"

#define POLLER_BATCH 64   /* events of one wait; the next turn handles further ones */

struct hf_poller_event {
    uint32_t key;
    int events;                  /* HF_READ, HF_WRITE */
};

/* A field of the loop; `mem` is borrowed. hf_poller_add, _change and _remove may be called while
 * another thread waits. With poll(2) a change has effect in the next wait, so the loop wakes
 * its driver after a change. */
struct hf_poller {
    const struct hf_mem *mem;
    int fd;                      /* epoll; -1 with poll(2) */
    int outer_fd;                /* what an outer event loop watches: `fd`, or a set of it and
                                    `call_fd`; -1 with poll(2) */
    int outer_signal_fd;         /* wakes the outer loop; -1: there is none */
    bool is_outer_signalled;
    int timer_fd;                /* epoll: for long waits; -1: there is none */
    int64_t timer_expires_ms;    /* when timer_fd expires, or has expired */
    struct hf_poller_list {      /* poll(2): descriptors and their keys */
        struct pollfd *slots;
        uint32_t *keys;
        uint32_t count;
        uint32_t slots_capacity;
        uint32_t keys_capacity;
    } watched_list, waiting_copy; /* the present list; its copy during a wait */
    bool is_copy_incomplete;     /* there was no memory to copy all of it */
};

/* hf_poller_init   - opens a poller that watches nothing. HF_E_SYSTEM, HF_E_NOMEM.
 * hf_poller_fini   - closes it.
 * hf_poller_add    - watches `fd` for `events`, which are reported with `key`.
 * hf_poller_change - watches a watched descriptor for other events.
 * hf_poller_remove - no longer watches the descriptor. */
hf_status hf_poller_init(struct hf_poller *p, const struct hf_mem *mem)
    HF_MUST_CHECK;
void hf_poller_fini(struct hf_poller *p);
hf_status hf_poller_add(struct hf_poller *p, int fd, int events, uint32_t key)
    HF_MUST_CHECK;
void hf_poller_change(struct hf_poller *p, int fd, int events, uint32_t key);
void hf_poller_remove(struct hf_poller *p, int fd);

/* hf_poller_open_outer - prepares outer_fd so that hf_poller_signal_outer can make it readable
 *                        without waking hf_poller_wait. Called before the first event; with poll(2)
 *                        it does nothing. HF_E_SYSTEM.
 * hf_poller_signal_outer       - makes outer_fd readable. Under the loop's lock.
 * hf_poller_clear_outer     - ends this. Under the loop's lock. */
hf_status hf_poller_open_outer(struct hf_poller *p) HF_MUST_CHECK;
void hf_poller_signal_outer(struct hf_poller *p);
void hf_poller_clear_outer(struct hf_poller *p);

/* hf_poller_prepare - is called under the loop's lock before each hf_poller_wait.
 * hf_poller_wait    - waits, without the lock, and returns the number of `events` that it has
 *                     filled. It may return early with none. */
void hf_poller_prepare(struct hf_poller *p);
int hf_poller_wait(struct hf_poller *p, struct hf_poller_event *events,
                   int timeout_ms, int64_t now_ms);

#endif
