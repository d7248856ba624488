/* A lock as programs read it: what `status` and `ls` print alike. */
#ifndef CLI_LOCK_WORDS_H
#define CLI_LOCK_WORDS_H

#include "lock/lock.h"

/* cli_kind_word - "plain", "fair", "read", ...: it never changes.
 * cli_lock_json - prints how the lock of that name stands, as a JSON object on a
 *                 line. CLI_GO_ON, or CLI_TROUBLE and reported. */
const char *cli_kind_word(enum hf_lock_kind kind);
int cli_lock_json(const char *name, size_t len,
                  const struct hf_lock_info *info);

#endif
