/* A pipe, whose bytes mean nothing. See wake_pipe.h. */
/* Tests: tests/test_net_loop_driver.c. */
#include "net/loop/wake_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

hf_status hf_wake_pipe_open(int fd[2])
{
    return pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0 ? HF_E_SYSTEM : HF_OK;
}

void hf_wake_pipe_close(const int fd[2])
{
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0)
            (void)close(fd[i]);
}

/* A full pipe is as good as a byte more in it. */
bool hf_wake_pipe_write(const int fd[2])
{
    return write(fd[1], "", 1) >= 0 || errno == EAGAIN;
}

void hf_wake_pipe_drain(const int fd[2])
{
    char sink[64];

    while (read(fd[0], sink, sizeof sink) > 0)
        continue;
}
