/* In place of net/loop/wake_pipe.c: a descriptor that is readable or is not.
 * Both ends are the same one. */
#include <stdlib.h>

#include "net/loop/wake_pipe.h"
#include "tests/sim/world/inner.h"

struct wake_pipe {
    struct handle handle;
    bool is_full;
};

static struct wake_pipe *pipe_of(const int fd[2])
{
    return HF_OWNER_OF(handle_of(fd[0]), struct wake_pipe, handle);
}

static int ready(const struct handle *h)
{
    const struct wake_pipe *p = (const void *)h; /* its first field */

    return p->is_full ? HF_READ : 0;
}

hf_status hf_wake_pipe_open(int fd[2])
{
    struct wake_pipe *p = must_alloc(sizeof *p);

    p->is_full = false;
    handle_open(&p->handle, ready);
    fd[0] = fd[1] = p->handle.fd;
    return HF_OK;
}

void hf_wake_pipe_close(const int fd[2])
{
    struct wake_pipe *p;

    if (fd[0] < 0)
        return;
    p = pipe_of(fd);
    handle_close(&p->handle);
    free(p);
}

bool hf_wake_pipe_write(const int fd[2])
{
    struct wake_pipe *p = pipe_of(fd);

    p->is_full = true;
    handle_changed(&p->handle);
    return true;
}

void hf_wake_pipe_drain(const int fd[2])
{
    pipe_of(fd)->is_full = false;
}
