/* An allocator that counts, checks and fails on demand. Each block is preceded
 * by a header that says how big it is; all blocks are in one list. */
#include "tests/support/memory.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/local.h"

/* Marks a live block; a dead one loses it. */
#define LIVE 0x6d656d6f7279u

/* What fresh memory is full of: as a pointer or a length, it fails at once. */
#define RUBBISH 0xA5

struct block {
    alignas(max_align_t) struct hf_list node;
    size_t size;
    uint64_t mark;
};

static void complain(struct memory *m, const char *what, size_t told,
                     size_t real)
{
    if (m->complaint[0])
        return; /* the first one tells most */
    (void)snprintf(m->complaint, sizeof m->complaint,
                   "%s: %zu instead of %zu (after %llu calls)", what, told,
                   real, (unsigned long long)m->counts.asked);
}

static struct block *block_of(void *ptr)
{
    struct block *b = (struct block *)ptr - 1;

    if (b->mark == LIVE)
        return b;
    (void)fprintf(stderr, "memory: %p is no live block\n", ptr);
    abort();
}

static void *block_new(struct memory *m, size_t size)
{
    struct block *b = local_new(sizeof *b + size);

    b->size = size;
    b->mark = LIVE;
    memset(b + 1, RUBBISH, size);
    hf_list_push(&m->blocks, &b->node);
    m->counts.live_blocks++;
    m->counts.live_bytes += size;
    if (m->counts.live_bytes > m->counts.peak_bytes)
        m->counts.peak_bytes = m->counts.live_bytes;
    return b + 1;
}

static void block_free(struct memory *m, struct block *b)
{
    if (m->secret && memmem(b + 1, b->size, m->secret, strlen(m->secret)))
        complain(m, "a block was freed with the secret in it", b->size, 0);
    m->counts.live_blocks--;
    m->counts.live_bytes -= b->size;
    hf_list_remove(&b->node);
    b->mark = 0;
    free(b);
}

/* A call that asks for more: counted, and perhaps the one to fail. */
static bool is_refused(struct memory *m)
{
    m->counts.asked++;
    if (m->counts.asked != m->fail_at)
        return false;
    m->counts.failed++;
    return true;
}

static void *move(struct memory *m, struct block *old, size_t size)
{
    void *moved = block_new(m, size);

    memcpy(moved, old + 1, old->size < size ? old->size : size);
    block_free(m, old);
    return moved;
}

static void *resize_locked(struct memory *m, void *ptr, size_t old, size_t size)
{
    struct block *b;

    if (!ptr && size == 0) {
        complain(m, "neither a block nor a size", size, 1);
        return NULL;
    }
    if (!ptr)
        return is_refused(m) ? NULL : block_new(m, size);
    b = block_of(ptr);
    if (b->size != old)
        complain(m, "the old size was told wrong", old, b->size);
    if (size == 0) {
        block_free(m, b);
        return NULL;
    }
    if (size > b->size && is_refused(m))
        return NULL;
    return move(m, b, size);
}

static void *resize(void *ctx, void *ptr, size_t old, size_t size)
{
    struct memory *m = ctx;
    void *result;

    (void)pthread_mutex_lock(&m->mutex);
    result = resize_locked(m, ptr, old, size);
    (void)pthread_mutex_unlock(&m->mutex);
    return result;
}

void memory_init(struct memory *m)
{
    memset(m, 0, sizeof *m);
    m->hook.resize = resize;
    m->hook.ctx = m;
    hf_list_init(&m->blocks);
    (void)pthread_mutex_init(&m->mutex, NULL);
}

const char *memory_fini(struct memory *m)
{
    if (m->counts.live_blocks > 0)
        complain(m, "blocks were not freed", m->counts.live_blocks, 0);
    while (!hf_list_is_empty(&m->blocks))
        block_free(m, HF_OWNER_OF(m->blocks.next, struct block, node));
    (void)pthread_mutex_destroy(&m->mutex);
    return m->complaint[0] ? m->complaint : NULL;
}

void memory_secret(struct memory *m, const char *secret)
{
    (void)pthread_mutex_lock(&m->mutex);
    m->secret = secret;
    (void)pthread_mutex_unlock(&m->mutex);
}

void memory_fail_at(struct memory *m, uint64_t n)
{
    (void)pthread_mutex_lock(&m->mutex);
    m->fail_at = n > 0 ? m->counts.asked + n : 0;
    (void)pthread_mutex_unlock(&m->mutex);
}

bool memory_has_failed(struct memory *m)
{
    bool has_failed;

    (void)pthread_mutex_lock(&m->mutex);
    has_failed = m->fail_at > 0 && m->counts.asked >= m->fail_at;
    (void)pthread_mutex_unlock(&m->mutex);
    return has_failed;
}

struct memory_counts memory_counts(struct memory *m)
{
    struct memory_counts counts;

    (void)pthread_mutex_lock(&m->mutex);
    counts = m->counts;
    (void)pthread_mutex_unlock(&m->mutex);
    return counts;
}
