/* Whether this process is a child of the one in which an object was made. Each call checks
 * this, so the check must cost nothing: it reads a byte of a page that the kernel wipes in a
 * child. Private to net/. */
#ifndef HF_FORK_H
#define HF_FORK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

struct hf_fork_mark {
    const volatile unsigned char *wiped_page; /* NULL: the system cannot wipe one */
    pid_t pid;
};

/* hf_fork_mark_init     - marks this process as the parent. It cannot fail: without such a
 *                         page the check compares the process id, by a system call.
 * hf_fork_mark_fini     - frees the page, in either process. A mark of zeros is allowed.
 * hf_fork_mark_is_child - returns whether this process is a child of the marked one. */
void hf_fork_mark_init(struct hf_fork_mark *mark);
void hf_fork_mark_fini(struct hf_fork_mark *mark);

static inline bool hf_fork_mark_is_child(const struct hf_fork_mark *mark)
{
    return mark->wiped_page ? *mark->wiped_page == 0 : getpid() != mark->pid;
}

#endif
