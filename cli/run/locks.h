/* What a round locks: a lock; several as one (--multi); or one on several
 * servers, of which most are enough (--quorum). */
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
    size_t count;
    struct hf_multi *multi;     /* NULL: it is none */
    struct hf_quorum *quorum;   /* the same */
    struct hf_cancel cancel;
    bool allow_same_server;
};

/* cli_locks_open  - the clients, on this loop, and the locks. Servers are
 *   connected, but for those of a quorum. CLI_CONTINUE, or CLI_EXIT_ERROR and
 *   reported; both are for cli_locks_free.
 * cli_locks_close - within so long: as hf_client_close. False: a request has no
 *   answer, so that a server may keep a lock until its TTL ends. cli_locks_free - takes
 *   one that is all zero. */
int cli_locks_open(struct cli_locks *locks, struct hf_loop *loop,
                   const struct cli_run_options *run,
                   const struct cli_common *common);
bool cli_locks_close(struct cli_locks *locks, int64_t linger_ms);
void cli_locks_free(struct cli_locks *locks);

/* cli_locks_reload - reads the TLS files again, for new connections to each server. What
 *   fails is reported, and the earlier contents stay. */
void cli_locks_reload(struct cli_locks *locks);

/* cli_locks_acquire - as hf_lock_acquire_async; `options` without a cancel.
 * cli_locks_cancel  - ends that. cli_locks_release, cli_locks_safe_ms - as the
 *   calls of lock.h.
 * cli_locks_token   - the fencing token of what is held: of the quorum, else of the
 *   first lock; 0: it has none.
 * cli_locks_owner   - as hf_lock_owner_text, of one that is held.
 * cli_locks_address - of that lock's server, for messages. */
hf_status cli_locks_acquire(struct cli_locks *locks,
                            struct hf_acquire_options *options, hf_done *done,
                            void *ctx);
void cli_locks_cancel(struct cli_locks *locks, int64_t owner);
hf_status cli_locks_release(struct cli_locks *locks, int64_t owner,
                            hf_done *done, void *ctx);
int64_t cli_locks_token(const struct cli_locks *locks, int64_t owner);
int64_t cli_locks_safe_ms(const struct cli_locks *locks, int64_t owner);
const char *cli_locks_address(const struct cli_locks *locks,
                              const struct hf_lock *lock);
void cli_locks_owner(const struct cli_locks *locks, int64_t owner,
                     char dst[HF_OWNER_TEXT_MAX]);

#endif
