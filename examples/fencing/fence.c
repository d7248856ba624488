/* A fence around what processes of one machine share. See fence.h. */
#include "fence.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

int fence_open(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/* An empty file has seen none. Half a number is an error, not a small one. */
static bool has_read(int fd, int64_t *seen)
{
    ssize_t n = pread(fd, seen, sizeof *seen, 0);

    if (n > 0 && n < (ssize_t)sizeof *seen)
        errno = EIO;
    return n == 0 || n == (ssize_t)sizeof *seen;
}

/* On the disk before the resource is touched: a crash does not forget it. */
static bool has_kept(int fd, int64_t seen)
{
    return pwrite(fd, &seen, sizeof seen, 0) == (ssize_t)sizeof seen &&
           fdatasync(fd) == 0;
}

static bool has_admitted(int fd, int64_t token)
{
    int64_t seen = 0, before;

    if (!has_read(fd, &seen))
        return false;
    before = seen;
    if (fence_admits(&seen, token))
        return seen == before || has_kept(fd, seen);
    errno = ESTALE;
    return false;
}

bool fence_enter(int fd, int64_t token)
{
    int error;

    while (flock(fd, LOCK_EX) < 0)
        if (errno != EINTR)
            return false;
    if (has_admitted(fd, token))
        return true;
    error = errno;
    fence_leave(fd);
    errno = error;
    return false;
}

void fence_leave(int fd)
{
    (void)flock(fd, LOCK_UN);
}
