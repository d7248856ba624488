/* Classifies a string as a value lock, a counter or another string, for status, ls, unlock and
 * watch. */
#ifndef CLI_VALUE_STRING_H
#define CLI_VALUE_STRING_H

#include <stddef.h>
#include <stdint.h>

/* The longest text that counts as a holder: the size of the field in hf_lock_info. */
#define CLI_HOLDER_MAX 191

enum cli_string_kind {
    CLI_STRING_LOCK,            /* a value lock, as other programs' strings with a
                                   TTL look */
    CLI_STRING_COUNTER,         /* a number without a TTL */
    CLI_STRING_UNTIMED,         /* any other text without a TTL: it keeps a value lock
                                   from being taken, and may not be one */
    CLI_STRING_EMPTY,           /* not a lock, whatever its TTL */
    CLI_STRING_LONG             /* the same; no holder is longer */
};

/* cli_string_classify - classifies a string that exists. `text` has its first bytes, at least 21 or
 *   all; `len` is its length on the server; ttl_ms < 0: it has no TTL. Sets *number for a
 *   counter. Pure. */
enum cli_string_kind cli_string_classify(const char *text, size_t len, int64_t ttl_ms,
                                         int64_t *number);

#endif
