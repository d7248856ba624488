/* Queues of fair locks, which may exist while a lock is free. */
#ifndef CLI_LS_QUEUES_H
#define CLI_LS_QUEUES_H

#include "cli/ls/list.h"
#include "cli/ls/permits.h"

/* ls_queue_names - sets the names of the locks whose queue may be a list of that name, and
 *   returns their number, 0 to 2. They are parts of the list's name. Pure. Source: WIRE 2.2.
 * ls_queue_is_wanted - returns whether the pattern of the options matches that lock's name.
 * ls_queue_drop_twins - removes duplicates from a sorted list, because "x" and "{x}" have the
 *   same queue: a free lock whose twin is held has no waiters; of two free locks, "x"
 *   remains. */
int ls_queue_names(struct ls_name_part names[2], const char *key, size_t len);
bool ls_queue_is_wanted(const struct ls_page *page,
                        const struct ls_name_part *name);
void ls_queue_drop_twins(struct ls_list *list);

#endif
