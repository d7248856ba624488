/* Pushes about watched locks: the server reports each change of their keys (CLIENT TRACKING), so
 * that `holdfast watch` need not poll.
 *
 *     cli_pushes_arm(p, i)       before each look at lock i
 *     cli_pushes_take(p, i)      has it changed since?
 *
 * A key is reported once, so it is armed again before each look: a change after that is not
 * missed. RESP2, a server or proxy without tracking, and a user without the right to CLIENT
 * TRACKING do not arm; the caller polls. */
#ifndef CLI_WATCH_PUSHES_H
#define CLI_WATCH_PUSHES_H

#include "cli/base/common.h"

struct cli_pushes;

/* cli_pushes_open - prepares a connection of its own for `count` locks, on this loop, which has no
 *                   thread. Returns CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the error;
 *                   call cli_pushes_free in both cases.
 * cli_pushes_free - NULL is allowed.
 * cli_pushes_arm  - arms a lock, whose name is borrowed, and waits for the reply, at most until
 *                   until_ms. False: its changes are not reported.
 * cli_pushes_take - returns whether the lock may have changed since it was armed, once. `p` may be
 *                   NULL. */
int cli_pushes_open(struct cli_pushes **out, struct hf_loop *loop,
                    const struct cli_common *common, size_t count);
void cli_pushes_free(struct cli_pushes *p);
bool cli_pushes_arm(struct cli_pushes *p, size_t i, const char *name, int64_t until_ms);
bool cli_pushes_take(struct cli_pushes *p, size_t i);

#endif
