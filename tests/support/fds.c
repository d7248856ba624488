/* Which descriptors are open. */
#include "tests/support/fds.h"

#include <check.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/support/local.h"

#define FDS_MAX 1024
#define LONG_MS 20000         /* longer than any lookup here takes */

static bool is_noted[FDS_MAX];

void fds_note(void)
{
    for (int fd = 0; fd < FDS_MAX; fd++)
        is_noted[fd] = fcntl(fd, F_GETFD) >= 0;
}

/* As "socket:[4711]" or "anon_inode:[eventpoll]". */
static const char *name_of(int fd)
{
    static char name[100];
    char path[40];
    ssize_t len;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    len = readlink(path, name, sizeof name - 1);
    name[len > 0 ? len : 0] = '\0';
    return name;
}

int fds_count(void)
{
    int count = 0;

    for (int fd = 0; fd < FDS_MAX; fd++) {
        int flags = fcntl(fd, F_GETFD);

        if (flags < 0 || is_noted[fd])
            continue;
        count++;
        ck_assert_msg(flags & FD_CLOEXEC, "%d, %s, outlives an exec", fd,
                      name_of(fd));
    }
    return count;
}

void fds_await_none(void)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (fds_count() > 0 && local_now_ms() < end_ms)
        local_poll_rest();
    ck_assert_int_eq(fds_count(), 0);
}
