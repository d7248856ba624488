/* Names of keys that locks have beside their own. */
/* Tests: tests/test_cli_ls.c. */
#include "cli/ls/key_names.h"

#include <string.h>

static bool has_prefix(const char *name, size_t len, const char *prefix)
{
    size_t prefix_len = strlen(prefix);

    return len > prefix_len && memcmp(name, prefix, prefix_len) == 0;
}

static bool has_suffix(const char *name, size_t len, const char *suffix)
{
    size_t suffix_len = strlen(suffix);

    return len > suffix_len &&
           memcmp(name + len - suffix_len, suffix, suffix_len) == 0;
}

bool ls_key_is_auxiliary(const char *name, size_t len)
{
    size_t digits = 0;

    while (digits < len && (unsigned)name[len - digits - 1] - (unsigned)'0' <= 9)
        digits++;
    return has_prefix(name, len, "redisson_lock_token:") ||
           has_prefix(name, len, "redisson_unlock_latch:") ||
           has_suffix(name, len, ":holdfast_answer") ||
           (digits > 0 && has_suffix(name, len - digits, ":rwlock_timeout:"));
}
