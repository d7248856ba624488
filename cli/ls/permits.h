/* Which of many sorted sets are of semaphores whose permits expire. */
#ifndef CLI_LS_PERMITS_H
#define CLI_LS_PERMITS_H

#include "cli/ls/inspect.h"

/* ls_permits_look - looks at those sorted sets among the names of the page that
 *   are named as Redisson names a semaphore's permits, and puts the semaphores on
 *   the list. Another program may have sorted sets of such names: it is a
 *   semaphore only if the first members are as long as permits are, and if under
 *   the semaphore's name there is a number. Source: WIRE 16. */
void ls_permits_look(struct ls_looking *looking,
                     struct ls_inspection *inspection);

/* ls_permits_names - the names of semaphores whose permits a sorted set of that
 *   name may be, none to two, in the order in which they are likely; they are
 *   parts of the set's name. How many. Pure. Source: WIRE 2.2. */
struct ls_part {
    const char *ptr;
    size_t len;
};
int ls_permits_names(struct ls_part names[2], const char *set, size_t len);

#endif
