/* Finds the sorted sets that belong to semaphores with expirable permits. */
#ifndef CLI_LS_PERMITS_H
#define CLI_LS_PERMITS_H

#include "cli/ls/inspect.h"

/* ls_permits_find - reads the sorted sets of the page that have the name of a semaphore's
 *   permits, and adds the semaphores to the list. Another program may have sorted sets with
 *   such names: it is a semaphore only if the first members have the length of permits and the
 *   semaphore's key contains a number. Source: WIRE 16. */
void ls_permits_find(struct ls_page *page,
                     struct ls_inspection *inspection);

/* ls_permits_names - sets the names of the semaphores to which a sorted set of that name may
 *   belong, the likelier first, and returns their number, 0 to 2. They are parts of the set's
 *   name. Pure. Source: WIRE 2.2. */
struct ls_name_part {
    const char *ptr;
    size_t len;
};
int ls_permits_names(struct ls_name_part names[2], const char *set, size_t len);

#endif
