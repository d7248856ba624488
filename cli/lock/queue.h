/* Implements `holdfast unlock --queue`: the places of waiters in the queue of a fair lock. */
#ifndef CLI_QUEUE_H
#define CLI_QUEUE_H

#include "cli/base/common.h"

struct cli_queue_plan {
    const struct cli_common *common;
    const char *name, *quoted;  /* the lock's, and for messages */
    const char *owner;          /* whose place; NULL: those of dead waiters */
    bool is_forced;             /* without it and without an owner: only show them */
    bool is_confirmed;          /* no confirmation is needed */
};

/* cli_queue_clear - shows the places, and removes those that the plan names: of one
 *   waiter, or of all that do not listen on their channel. Returns the exit code. */
int cli_queue_clear(const struct cli_queue_plan *plan, struct hf_client *client);

#endif
