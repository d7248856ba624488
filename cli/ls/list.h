/* The locks that were found, and how they are printed. */
#ifndef CLI_LS_LIST_H
#define CLI_LS_LIST_H

#include "cli/base/lock_words.h"

struct ls_list {                /* zeroed: empty */
    struct cli_lock *locks;
    size_t count, room;
};

/* ls_list_add   - copied, its name too. HF_E_NOMEM.
 * ls_list_sort  - by name, byte by byte; each name once: of a counter and a
 *   semaphore whose permits are out, the semaphore.
 * ls_list_find  - in a sorted list; NULL: no such name.
 * ls_list_print - all: as a table for a person, with tabs for a program, or as
 *   JSON. CLI_CONTINUE, or CLI_EXIT_ERROR and reported. */
enum ls_form { LS_TABLE, LS_TABS, LS_JSON };
hf_status ls_list_add(struct ls_list *list, const struct cli_lock *lock);
void ls_list_sort(struct ls_list *list);
const struct cli_lock *ls_list_find(const struct ls_list *list, const char *name,
                                    size_t len);
int ls_list_print(const struct ls_list *list, enum ls_form form);
void ls_list_fini(struct ls_list *list);

#endif
