/* Numbers for what the library takes for descriptors. They begin above those of
 * real ones, and the smallest is given first, as a kernel does: a number that is
 * used after it was closed soon names something else. */
#include "tests/sim/world/inner.h"

#define FIRST 1000

void handle_open(struct handle *h, int (*ready)(const struct handle *))
{
    struct world *w = the_world;
    uint32_t i = 0;

    while (i < w->handles_room && w->handles[i])
        i++;
    if (i == w->handles_room) {
        must_grow(&w->handles, &w->handles_room, sizeof(struct handle *), i);
        for (uint32_t new = i; new < w->handles_room; new++)
            w->handles[new] = NULL;
    }
    w->handles[i] = h;
    w->handles_open++;
    *h = (struct handle){.fd = FIRST + (int)i, .ready = ready};
}

void handle_close(struct handle *h)
{
    must(handle_of(h->fd) == h);
    the_world->handles[h->fd - FIRST] = NULL;
    the_world->handles_open--;
    h->fd = -1;
}

struct handle *handle_of(int fd)
{
    must(fd >= FIRST && (uint32_t)(fd - FIRST) < the_world->handles_room);
    must(the_world->handles[fd - FIRST]);
    return the_world->handles[fd - FIRST];
}

void handle_changed(struct handle *h)
{
    if (h->poller)
        world_queue(h->poller);
}
