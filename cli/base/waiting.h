/* Reports to a person that a lock is held and the command waits for it. */
#ifndef CLI_WAITING_H
#define CLI_WAITING_H

#include "lock/lock.h"

/* cli_waiting_say - prints who holds the lock and its TTL, as a step (cli_verbose). That a lock
 *   has no TTL, and so never expires, is a note (cli_warn).
 *   quoted  the name of the lock, from cli_quote
 *   info    as on_wait reports it; of a semaphore, the holder is "" */
void cli_waiting_say(const char *quoted, const struct hf_lock_info *info);

#endif
