/* Is this a child of the process in which something was made? Asked at every
 * call, so it must cost nothing: a byte in a page that the kernel wipes in a
 * child. Private to net/. */
#ifndef HF_FORK_H
#define HF_FORK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

struct hf_fork_mark {
    const volatile unsigned char *page;   /* NULL: the system has none such */
    pid_t pid;
};

/* hf_fork_mark_init - in the parent; cannot fail: without such a page the pid
 *                     is asked for, which is a system call.
 * hf_fork_mark_fini - in either. One that is all zeros is left alone. */
void hf_fork_mark_init(struct hf_fork_mark *mark);
void hf_fork_mark_fini(struct hf_fork_mark *mark);

static inline bool hf_fork_mark_is_child(const struct hf_fork_mark *mark)
{
    return mark->page ? *mark->page == 0 : getpid() != mark->pid;
}

#endif
