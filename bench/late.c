/* Makes each wake-up expensive, as on many virtual machines, if it is loaded into a benchmark
 * and its server (LD_PRELOAD): a process whose threads all slept for longer than
 * LATE_AFTER_US (30) uses the processor for LATE_US (60) when it continues. Such a machine
 * needs that time to wake an idle processor, and polls for a while before the processor is
 * idle. Use it where client and server have a processor each (2cpu). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static atomic_int awake;              /* threads that do not wait */
static _Atomic(int64_t) idle_since;   /* when the last of them began to, in ns */
static int64_t late_ns = 60000, after_ns = 30000;
static pthread_key_t at_thread_end;
static _Thread_local int is_counted;

/* ---- what the library has ---- */

static int (*real_epoll_wait)(int, struct epoll_event *, int, int);
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_recv)(int, void *, size_t, int);
static int (*real_sem_wait)(sem_t *);
static int (*real_cond_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*real_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *,
                                  const struct timespec *);
static int (*real_nanosleep)(const struct timespec *, struct timespec *);
static int (*real_join)(pthread_t, void **);

static int64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void thread_ends(void *unused)
{
    (void)unused;
    atomic_fetch_sub(&awake, 1);
}

/* dlsym finds the oldest of several versions. On machines that glibc came to
 * later, there is only one. */
static void find(void *pointer, const char *name, const char *version)
{
    void *found = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

    *(void **)pointer = found ? found : dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void begin(void)
{
    const char *late = getenv("LATE_US"), *after = getenv("LATE_AFTER_US");

    (void)pthread_key_create(&at_thread_end, thread_ends);
    late_ns = late ? atoll(late) * 1000 : late_ns;
    after_ns = after ? atoll(after) * 1000 : after_ns;
    find(&real_epoll_wait, "epoll_wait", NULL);
    find(&real_read, "read", NULL);
    find(&real_recv, "recv", NULL);
    find(&real_sem_wait, "sem_wait", NULL);
    find(&real_cond_wait, "pthread_cond_wait", "GLIBC_2.3.2");
    find(&real_cond_timedwait, "pthread_cond_timedwait", "GLIBC_2.3.2");
    find(&real_nanosleep, "nanosleep", NULL);
    find(&real_join, "pthread_join", NULL);
}

/* ---- falling asleep, waking up ---- */

static void falls_asleep(void)
{
    if (!is_counted) {
        is_counted = 1;
        atomic_fetch_add(&awake, 1);
        (void)pthread_setspecific(at_thread_end, &awake);
    }
    if (atomic_fetch_sub(&awake, 1) == 1)
        idle_since = now_ns();
}

/* A bench's own pauses are free. */
static void wakes_up(int is_late)
{
    int64_t now = now_ns();

    if (atomic_fetch_add(&awake, 1) > 0 || !is_late ||
        now - idle_since <= after_ns)
        return;
    while (now_ns() < now + late_ns)
        continue;
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
    int n = real_epoll_wait(fd, events, max, 0);

    if (n != 0 || timeout == 0)
        return n;
    falls_asleep();
    n = real_epoll_wait(fd, events, max, timeout);
    wakes_up(1);
    return n;
}

static int would_wait(int fd, int flags)
{
    return errno == EAGAIN && !(flags & MSG_DONTWAIT) &&
           !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
    ssize_t n = real_recv(fd, buf, len, flags | MSG_DONTWAIT);

    if (n >= 0 || !would_wait(fd, flags))
        return n;
    falls_asleep();
    n = real_recv(fd, buf, len, flags);
    wakes_up(1);
    return n;
}

ssize_t read(int fd, void *buf, size_t len)
{
    ssize_t n = real_recv(fd, buf, len, MSG_DONTWAIT);

    if (n >= 0)
        return n;
    if (errno != EAGAIN)
        return real_read(fd, buf, len); /* no socket */
    return recv(fd, buf, len, 0);
}

int sem_wait(sem_t *sem)
{
    int rc = sem_trywait(sem);

    if (rc == 0)
        return 0;
    falls_asleep();
    rc = real_sem_wait(sem);
    wakes_up(1);
    return rc;
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    int rc;

    falls_asleep();
    rc = real_cond_wait(cond, mutex);
    wakes_up(1);
    return rc;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    int rc;

    falls_asleep();
    rc = real_cond_timedwait(cond, mutex, until);
    wakes_up(1);
    return rc;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    int rc;

    falls_asleep();
    rc = real_nanosleep(time, left);
    wakes_up(0);
    return rc;
}

int pthread_join(pthread_t thread, void **result)
{
    int rc;

    falls_asleep();
    rc = real_join(thread, result);
    wakes_up(0);
    return rc;
}
