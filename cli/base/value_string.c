/* What a string may be. */
/* Tests: tests/live/cli/test_run_status.c. */
#include "cli/base/value_string.h"

#include "cli/base/counter.h"

enum cli_string_kind cli_string_classify(const char *text, size_t len, int64_t ttl_ms,
                                         int64_t *number)
{
    if (len == 0)
        return CLI_STRING_EMPTY;
    if (len > CLI_HOLDER_MAX)
        return CLI_STRING_LONG;
    if (ttl_ms >= 0)
        return CLI_STRING_LOCK;
    return cli_counter_read(text, len, number) ? CLI_STRING_COUNTER
                                               : CLI_STRING_UNTIMED;
}
