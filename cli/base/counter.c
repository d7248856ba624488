/* A counter's text: the number of a semaphore or a latch, or another program's. */
/* Tests: tests/live/cli/test_run_status.c, tests/live/cli/test_ls.c. */
#include "cli/base/counter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text must be exactly the decimal form of its value: no plus sign, no leading
 * zero, no space, and not too large. */
bool cli_counter_read(const char *text, size_t len, int64_t *out)
{
    char copy[24], again[24];

    if (len < 1 || len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    *out = strtoll(copy, NULL, 10);
    (void)snprintf(again, sizeof again, "%" PRId64, *out);
    return strlen(again) == len && memcmp(again, text, len) == 0;
}
