/* Loaded before a server (LD_PRELOAD), gives it the clock of a test: see
 * one_clock.h. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic(int64_t) *told_us;

static __attribute__((constructor)) void find_clock(void)
{
    const char *path = getenv("HF_TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = fd < 0 ? MAP_FAILED
                        : mmap(NULL, sizeof *told_us, PROT_READ, MAP_SHARED, fd, 0);

    if (fd >= 0)
        (void)close(fd);
    if (page != MAP_FAILED)
        told_us = page;
}

/* 0: nobody says; the machine's. */
static int64_t clock_us(void)
{
    return told_us ? atomic_load(told_us) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int64_t us = clock == CLOCK_REALTIME ? clock_us() : 0;

    if (us == 0)
        return (int)syscall(SYS_clock_gettime, clock, t);
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

/* The thread of jemalloc waits until a time that it computes by gettimeofday. While the clock of
 * the test is behind or ahead of the machine's, that time is over at once or never comes: so the
 * wait lasts as long as the two times differ by the clock of the test. */
int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    struct timespec shown, deadline;

    (void)clock_gettime(CLOCK_REALTIME, &shown);
    (void)clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += until->tv_sec - shown.tv_sec;
    deadline.tv_nsec += until->tv_nsec - shown.tv_nsec;
    if (deadline.tv_nsec < 0) {
        deadline.tv_sec--;
        deadline.tv_nsec += 1000000000;
    } else if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_sec++;
        deadline.tv_nsec -= 1000000000;
    }
    return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &deadline);
}
