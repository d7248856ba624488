/* Loaded before a server (LD_PRELOAD), adds the number of microseconds in the file
 * HF_TORTURE_STEP to its wall clock. The driver changes the number: the clock steps,
 * as when an operator or ntpd sets it. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic(int64_t) *step_us;

static __attribute__((constructor)) void find_step(void)
{
    const char *path = getenv("HF_TORTURE_STEP");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = fd < 0 ? MAP_FAILED
                        : mmap(NULL, sizeof *step_us, PROT_READ, MAP_SHARED, fd, 0);

    if (fd >= 0)
        (void)close(fd);
    if (page != MAP_FAILED)
        step_us = page;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int status = (int)syscall(SYS_clock_gettime, clock, t);
    int64_t us;

    if (status != 0 || clock != CLOCK_REALTIME || !step_us)
        return status;
    us = (int64_t)t->tv_sec * 1000000 + t->tv_nsec / 1000 + atomic_load(step_us);
    t->tv_sec = (time_t)(us / 1000000);
    t->tv_nsec = (long)(us % 1000000) * 1000;
    return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
