/* A mark that a fork wipes out. See fork_mark.h. */
#include <sys/mman.h>
#include <unistd.h>

#include "net/fork_mark.h"

#ifdef MADV_WIPEONFORK

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static const volatile bool *page_new(void)
{
    bool *page = mmap(NULL, page_size(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, page_size(), MADV_WIPEONFORK) < 0) {
        (void)munmap(page, page_size());
        return NULL;
    }
    *page = true;
    return page;
}

static void page_free(const volatile bool *page)
{
    if (page)
        (void)munmap((void *)page, page_size());
}

#else

static const volatile bool *page_new(void)
{
    return NULL;
}

static void page_free(const volatile bool *page)
{
    (void)page;
}

#endif

void hf_fork_mark_init(struct hf_fork_mark *mark)
{
    mark->pid = getpid();
    mark->page = page_new();
}

void hf_fork_mark_fini(struct hf_fork_mark *mark)
{
    page_free(mark->page);
    mark->page = NULL;
}

bool hf_fork_mark_is_child(const struct hf_fork_mark *mark)
{
    return mark->page ? !*mark->page : getpid() != mark->pid;
}
