/* The clock of servers: see one_clock.h. */
#include "tests/support/one_clock.h"

#include <check.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>


static _Atomic(int64_t) *told_us;
static char clock_path[64];     /* as another process sees it */

static void map_clock(void)
{
    void *page = MAP_FAILED;
    int fd = memfd_create("holdfast-clock", MFD_CLOEXEC);

    if (fd >= 0 && ftruncate(fd, sizeof *told_us) == 0)
        page = mmap(NULL, sizeof *told_us, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        ck_abort_msg("no clock: %s", strerror(errno));
    (void)snprintf(clock_path, sizeof clock_path, "/proc/%ld/fd/%d",
                   (long)getpid(), fd);
    told_us = page;
}

struct server *server_start_with_clock(const char *const *extra_args)
{
    char *library = realpath(HF_BUILD "/tests/support/server_clock.so", NULL);
    struct server *server;

    ck_assert_ptr_nonnull(library);
    if (!told_us)
        map_clock();
    (void)setenv("HF_TEST_CLOCK", clock_path, 1);
    (void)setenv("LD_PRELOAD", library, 1);
    server = server_start(extra_args);
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("HF_TEST_CLOCK");
    free(library);
    return server;
}

void server_clock_set(int64_t unix_us)
{
    atomic_store(told_us, unix_us);
}
