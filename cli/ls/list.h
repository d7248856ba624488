/* The list of locks that were found. */
#ifndef CLI_LS_LIST_H
#define CLI_LS_LIST_H

#include "cli/base/lock_words.h"

/* A place in the queue of a fair lock. */
struct ls_waiter {
    size_t lock_index;          /* its index in a sorted list */
    uint32_t place;             /* from 1 */
    size_t owner_len;
    char owner[192];            /* "uuid:number", cut to 191 bytes. Ends in NUL */
    char label[HF_LABEL_MAX + 1];   /* "": none, or it was not read */
};

struct ls_list {                /* zeroed: empty */
    struct cli_lock *locks;
    size_t locks_count, locks_capacity;
    struct ls_waiter *waiters;  /* of a sorted list, by lock and place */
    size_t waiters_count, waiters_capacity;
};

/* ls_list_add   - adds a copy of the lock and its name. HF_E_NOMEM.
 * ls_list_sort  - sorts by name, byte by byte, and removes duplicate names: of a counter and a
 *   semaphore with permits in use, the semaphore remains.
 * ls_list_find  - returns the lock of that name in a sorted list; NULL: there is none.
 * ls_list_add_waiter - adds a copy of the waiter, in any order; ls_list_sort_waiters sorts them.
 *   HF_E_NOMEM.
 * ls_list_print - prints the list as a table for a person, with tabs for a program, or as JSON;
 *   `is_long`: with the label of the holder as the last column. Each lock is followed by a line
 *   for each of its waiters.
 *   Returns CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the error. */
enum ls_form { LS_TABLE, LS_TABS, LS_JSON };
hf_status ls_list_add(struct ls_list *list, const struct cli_lock *lock);
void ls_list_sort(struct ls_list *list);
const struct cli_lock *ls_list_find(const struct ls_list *list, const char *name,
                                    size_t len);
hf_status ls_list_add_waiter(struct ls_list *list, const struct ls_waiter *waiter);
void ls_list_sort_waiters(struct ls_list *list);
int ls_list_print(const struct ls_list *list, enum ls_form form, bool is_long);
void ls_list_fini(struct ls_list *list);

#endif
