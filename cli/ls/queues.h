/* How many wait for fair locks. */
#ifndef CLI_LS_QUEUES_H
#define CLI_LS_QUEUES_H

#include "cli/ls/looking.h"

/* ls_queues_look - fills in the waiters of the fair locks on the list, from number
 *   `first` on. A queue whose server does not say leaves them unknown.
 * Source: WIRE 11. */
void ls_queues_look(struct ls_looking *looking, size_t first);

#endif
