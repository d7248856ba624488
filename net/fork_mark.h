/* Are we in a child of the process that made this? Asked at the door of every
 * call, so without a system call: a page that the kernel empties in a child
 * (MADV_WIPEONFORK, Linux 4.14); where there is none, getpid(2). Private to
 * net/. */
#ifndef HF_FORK_MARK_H
#define HF_FORK_MARK_H

#include <stdbool.h>
#include <sys/types.h>

struct hf_fork_mark {
    pid_t pid;
    const volatile bool *page;   /* NULL: there is none */
};

/* hf_fork_mark_init - cannot fail: at worst, asking costs a system call.
 * hf_fork_mark_fini - also in a child; takes one that is all zeros. */
void hf_fork_mark_init(struct hf_fork_mark *mark);
void hf_fork_mark_fini(struct hf_fork_mark *mark);
bool hf_fork_mark_is_child(const struct hf_fork_mark *mark);

#endif
