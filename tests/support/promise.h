/* A promise that fails the running test, saying which it was, if it does not
 * hold. In place of ck_assert, which leaves a note in a file at each call: too
 * slow for what is asked millions of times, and not for threads. */
#ifndef TEST_PROMISE_H
#define TEST_PROMISE_H

#include <check.h>
#include <stdbool.h>

static inline void ck_must(bool holds, const char *promise)
{
    if (!holds)
        ck_abort_msg("broken: %s", promise);
}

#endif
