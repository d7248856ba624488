/* Queues of fair locks, which stay while a lock is free. */
#ifndef CLI_LS_QUEUES_H
#define CLI_LS_QUEUES_H

#include "cli/ls/list.h"
#include "cli/ls/permits.h"

/* ls_queue_names - the names of locks whose queue a list of that name may be, none to
 *   two; they are parts of the list's name. How many. Pure. Source: WIRE 2.2.
 * ls_queue_is_asked_for - does the pattern of the options fit that lock's name?
 * ls_queue_drop_twins - of a sorted list: "x" and "{x}" have the same queue. A free lock
 *   whose twin is held is not waited for; of two that are free, "x" stays. */
int ls_queue_names(struct ls_part names[2], const char *key, size_t len);
bool ls_queue_is_asked_for(const struct ls_looking *looking,
                           const struct ls_part *name);
void ls_queue_drop_twins(struct ls_list *list);

#endif
