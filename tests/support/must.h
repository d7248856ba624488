/* A promise that ends the program, saying which it was, if it does not hold:
 * for fuzzers, and for checks that they share with tests. */
#ifndef TEST_MUST_H
#define TEST_MUST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define must(promise) must_hold((promise), #promise, __FILE__, __LINE__)

static inline void must_hold(bool holds, const char *promise, const char *file,
                             int line)
{
    if (holds)
        return;
    (void)fprintf(stderr, "%s:%d: not so: %s\n", file, line, promise);
    abort();
}

/* malloc, which must not fail, of exactly so many bytes: a sanitizer sees who
 * looks behind them. */
static inline void *must_alloc(size_t size)
{
    void *ptr = malloc(size);

    must(ptr || size == 0);
    return ptr;
}

#endif
