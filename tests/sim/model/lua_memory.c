/* The memory of the interpreter: small blocks come from lists of free ones, because
 * scripts make and drop many. See script.h. */
#include "tests/sim/model/script.h"

#include <lua5.1/lauxlib.h>
#include <stdlib.h>

#define STEP 16
#define SMALL 256                     /* larger blocks are malloc's */
#define CHUNK 65536

struct block {
    struct block *next;
};

static struct block *unused[SMALL / STEP + 1];
static struct block *chunks;          /* freed when the interpreter is closed */
static char *fresh, *fresh_end;

static size_t class_of(size_t size)
{
    return (size + STEP - 1) / STEP;
}

static bool add_chunk(void)
{
    struct block *chunk = malloc(CHUNK);

    if (!chunk)
        return false;
    chunk->next = chunks;
    chunks = chunk;
    fresh = (char *)chunk + STEP;
    fresh_end = (char *)chunk + CHUNK;
    return true;
}

static void *take(size_t size)
{
    size_t class = class_of(size);
    struct block *b = unused[class];

    if (b) {
        unused[class] = b->next;
        return b;
    }
    if ((size_t)(fresh_end - fresh) < class * STEP && !add_chunk())
        return NULL;
    b = (struct block *)fresh;
    fresh += class * STEP;
    return b;
}

static void drop(void *ptr, size_t size)
{
    struct block *b = ptr;

    if (size > SMALL) {
        free(ptr);
    } else if (ptr) {
        b->next = unused[class_of(size)];
        unused[class_of(size)] = b;
    }
}

static void *resize(void *ctx, void *ptr, size_t old, size_t size)
{
    void *other;

    (void)ctx;
    if (size == 0) {
        drop(ptr, old);
        return NULL;
    }
    if (ptr && (old > SMALL ? size > SMALL : class_of(old) == class_of(size)))
        return old > SMALL ? realloc(ptr, size) : ptr;
    other = size > SMALL ? malloc(size) : take(size);
    if (other && ptr) {
        memcpy(other, ptr, old < size ? old : size);
        drop(ptr, old);
    }
    return other;
}

lua_State *md_lua_new(void)
{
    return lua_newstate(resize, NULL);
}

void md_lua_close(lua_State *L)
{
    lua_close(L);
    while (chunks) {
        struct block *next = chunks->next;

        free(chunks);
        chunks = next;
    }
    memset(unused, 0, sizeof unused);
    fresh = fresh_end = NULL;
}
