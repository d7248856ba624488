/* The clock of a server: see one_clock.h. */
#include "tests/support/one_clock.h"

#include <check.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/one_server.h"

static _Atomic(int64_t) *told_us;

static void map_clock(char *path)
{
    void *page = MAP_FAILED;
    int fd = mkstemp(path);

    if (fd >= 0 && ftruncate(fd, sizeof *told_us) == 0)
        page = mmap(NULL, sizeof *told_us, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        ck_abort_msg("no clock %s: %s", path, strerror(errno));
    (void)close(fd);
    told_us = page;
}

void start_server_with_clock(const char *const *extra_args)
{
    const char *tmp = getenv("TMPDIR");
    char path[200], *library = realpath(HF_BUILD "/tests/support/server_clock.so", NULL);

    ck_assert_ptr_nonnull(library);
    (void)snprintf(path, sizeof path, "%s/holdfast-clock-XXXXXX", tmp ? tmp : "/tmp");
    map_clock(path);
    (void)setenv("HF_TEST_CLOCK", path, 1);
    (void)setenv("LD_PRELOAD", library, 1);
    start_server_with(extra_args);
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("HF_TEST_CLOCK");
    (void)unlink(path);
    free(library);
}

void server_clock_set(int64_t unix_us)
{
    atomic_store(told_us, unix_us);
}
