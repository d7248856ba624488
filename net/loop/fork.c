/* The mark that a child does not have. See fork.h. */
/* Tests: tests/test_net_loop_thread.c. */
#include "net/loop/fork.h"

#include <sys/mman.h>

#define MARK 1                  /* any but 0, which is what a wiped page holds */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

#ifdef MADV_WIPEONFORK
/* Since Linux 4.14. The page is also wiped in children of the child. */
static bool is_wiped_in_children(void *page)
{
    return madvise(page, page_size(), MADV_WIPEONFORK) == 0;
}
#else
static bool is_wiped_in_children(void *page)
{
    (void)page;
    return false;
}
#endif

void hf_fork_mark_init(struct hf_fork_mark *mark)
{
    void *page = mmap(NULL, page_size(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    mark->pid = getpid();
    mark->wiped_page = NULL;
    if (page == MAP_FAILED)
        return;
    if (!is_wiped_in_children(page)) {
        (void)munmap(page, page_size());
        return;
    }
    *(unsigned char *)page = MARK;
    mark->wiped_page = page;
}

void hf_fork_mark_fini(struct hf_fork_mark *mark)
{
    if (mark->wiped_page)
        (void)munmap((void *)(size_t)mark->wiped_page, page_size());
    mark->wiped_page = NULL;
}
