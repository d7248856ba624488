/* The state of a client as text, for a bug report. Part of holdfast (lock.h).
 *
 * Threads, errors: as in lock.h. */
#ifndef HF_DUMP_H
#define HF_DUMP_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* hf_client_dump - describes what the client does at this moment: its locks; their holds,
 *   with the pending requests that may set the TTL (claims); all pending calls, and for a
 *   waiting call the holder that the last reply named; its connections with their requests in
 *   flight; and its timers. It waits only for the loop's lock.
 *   write   called for each line, without a newline, on this thread, before the function
 *           returns. The loop's lock is free meanwhile, so that `write` may block and may
 *           call the library
 *   ctx     passed to `write`
 * The text is for people and changes with each version. It contains names of locks, owners
 * and addresses; it contains no password. It has at most HF_DUMP_MAX bytes: of a client with
 * very many locks the last line says how many lines are missing.
 * Returns HF_OK, HF_E_NOMEM (`write` was not called), HF_E_FORKED. */
#define HF_DUMP_MAX (1u << 20)
HF_API hf_status hf_client_dump(struct hf_client *client,
                                void (*write)(void *ctx, const char *line), void *ctx);

#ifdef __cplusplus
}
#endif

#endif
