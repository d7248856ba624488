/* Refuses those who write under a lock that has passed to others: each comes with
 * its fencing token (hf_lock_token), and whoever has a smaller one than the
 * resource has seen is late. docs/fencing.md */
#ifndef FENCE_H
#define FENCE_H

#include <stdbool.h>
#include <stdint.h>

/* The whole check, for a resource in memory. Keep a mutex from before it until
 * the resource is written. 0 is no token. */
static inline bool fence_admits(int64_t *seen, int64_t token)
{
    if (token < 1 || token < *seen)
        return false;
    *seen = token;
    return true;
}

/* For a resource that processes of one machine share: a file has the greatest
 * token. Each thread opens a descriptor of its own.
 * fence_open  - makes the file if there is none; a descriptor, or -1.
 * fence_enter - may this token write? If so, nobody else enters until
 *               fence_leave. If not: ESTALE (late), or what is wrong.
 * fence_leave - the write is done. A process that ends leaves, too. */
int fence_open(const char *path);
bool fence_enter(int fd, int64_t token);
void fence_leave(int fd);

#endif
