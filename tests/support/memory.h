/* An allocator for the library's hook (struct hf_mem) that counts, checks and
 * fails on demand. It makes the rare happen always: new memory is full of
 * rubbish, a resized block always moves, a freed one is really freed, so that
 * the sanitizers see who still looks at it.
 *
 *     memory_init(&m);
 *     memory_fail_at(&m, n);
 *     ... use &m.hook ...
 *     ck_assert_pstr_eq(memory_fini(&m), NULL);
 *
 * All allocation failures of a piece of code are had by n = 1, 2, ... until
 * memory_has_failed says false. */
#ifndef TEST_MEMORY_H
#define TEST_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resp/base.h"

#define MEMORY_COMPLAINT_MAX 160

struct memory_counts {
    uint64_t asked;             /* calls that asked for more, failed ones too */
    uint64_t failed;            /* of these, those that were made to fail */
    size_t live_blocks;
    size_t live_bytes;
    size_t peak_bytes;
};

struct memory {
    struct hf_mem hook;         /* give its address to the library */
    pthread_mutex_t mutex;
    /* Under `mutex`. */
    struct hf_list blocks;
    struct memory_counts counts;
    uint64_t fail_at;           /* compared with counts.asked; 0: never */
    const char *secret;         /* NULL: none */
    char complaint[MEMORY_COMPLAINT_MAX]; /* the first one; "": none */
};

/* memory_init - the struct must not move until memory_fini.
 * memory_fini - frees what is left. NULL if every block had been freed and each
 *               call kept the hook's contract (`old` was the block's size), or
 *               else what was wrong, in *m, until *m is gone or used again.
 * A call with a pointer that is no live block ends the process: abort(3). */
void memory_init(struct memory *m);
const char *memory_fini(struct memory *m);

/* memory_fail_at - the n-th call from now that asks for more, from 1, returns
 *                  NULL; 0: none does. Shrinking and freeing never fail.
 * memory_has_failed - has it?
 * memory_counts - as of now. Threads: any, all of it. */
void memory_fail_at(struct memory *m, uint64_t n);

/* memory_secret - a block that is freed, or moved away from, with these bytes in it is a
 *                 complaint. Borrowed; NULL: none. */
void memory_secret(struct memory *m, const char *secret);

bool memory_has_failed(struct memory *m);
struct memory_counts memory_counts(struct memory *m);

#endif
