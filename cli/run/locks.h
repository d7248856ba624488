/* The locks of a round: one lock; several as one (--multi); or one on a majority of several
 * servers (--quorum). */
#ifndef CLI_RUN_LOCKS_H
#define CLI_RUN_LOCKS_H

#include "cli/base/common.h"
#include "cli/run/run_options.h"
#include "lock/multi.h"
#include "lock/quorum.h"

struct cli_locks {
    struct hf_client *clients[HF_QUORUM_MAX];
    size_t clients_count;
    struct hf_lock *locks[HF_MULTI_MAX];    /* the first one is of NAME */
    size_t locks_count;
    struct hf_multi *multi;     /* NULL: it is none */
    struct hf_quorum *quorum;   /* the same */
    struct hf_cancel cancel;
    bool allow_same_server;
    bool is_refused_for_now;    /* the server refused the connection temporarily */
};

/* cli_locks_open  - opens the clients, on this loop, and the locks, and connects to the servers
 *   (not to those of a quorum). Returns CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the
 *   error. Call cli_locks_free in both cases.
 * cli_locks_close - closes the clients within this time, as hf_client_close. Below HF_OK: a request
 *   has no reply, or was refused, so that a server may keep a lock until its TTL ends.
 * cli_locks_free - frees them; also if all is zero. */
int cli_locks_open(struct cli_locks *locks, struct hf_loop *loop,
                   const struct cli_run_options *run,
                   const struct cli_common *common);
hf_status cli_locks_close(struct cli_locks *locks, int64_t linger_ms);
void cli_locks_free(struct cli_locks *locks);

/* cli_locks_dump - appends the dump of each client (hf_client_dump) to this file, which is
 *   created if it does not exist. Errors are reported. */
void cli_locks_dump(struct cli_locks *locks, const char *path);

/* cli_locks_reload - reads the TLS files again, for new connections to each server. Errors are
 *   reported, and the earlier contents remain in use. */
void cli_locks_reload(struct cli_locks *locks);

/* cli_locks_acquire - does as hf_lock_acquire_async; `options` without a cancel.
 * cli_locks_cancel  - cancels it.
 * cli_locks_release, cli_locks_safe_ms - do as the calls of lock.h.
 * cli_locks_token   - returns the fencing token of the quorum or of the first lock; 0: none.
 * cli_locks_owner   - does as hf_lock_owner_text, for a lock that is held.
 * cli_locks_client  - returns the client of that lock. */
hf_status cli_locks_acquire(struct cli_locks *locks,
                            struct hf_acquire_options *options, hf_done *done,
                            void *ctx);
void cli_locks_cancel(struct cli_locks *locks, int64_t owner);
hf_status cli_locks_release(struct cli_locks *locks, int64_t owner,
                            hf_done *done, void *ctx);
int64_t cli_locks_token(const struct cli_locks *locks, int64_t owner);
int64_t cli_locks_safe_ms(const struct cli_locks *locks, int64_t owner);
struct hf_client *cli_locks_client(const struct cli_locks *locks,
                                   const struct hf_lock *lock);
void cli_locks_owner(const struct cli_locks *locks, int64_t owner,
                     char dst[HF_OWNER_TEXT_MAX]);

#endif
