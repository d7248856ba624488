/* The locks that were found, and how they are printed. */
#ifndef CLI_LS_LIST_H
#define CLI_LS_LIST_H

#include "lock/lock.h"

struct ls_lock {
    char *name;                 /* `len` bytes of any value */
    size_t len;
    struct hf_lock_info info;
};

struct ls_list {                /* zeroed: empty */
    struct ls_lock *locks;
    size_t count, room;
};

/* ls_list_add   - one that is held; copied. HF_E_NOMEM.
 * ls_list_sort  - by name, byte by byte; each name once.
 * ls_list_print - all: as a table for a person, with tabs for a program, or as
 *   JSON. CLI_GO_ON, or CLI_TROUBLE and reported. */
enum ls_form { LS_TABLE, LS_TABS, LS_JSON };
hf_status ls_list_add(struct ls_list *list, const char *name, size_t len,
                      const struct hf_lock_info *info);
void ls_list_sort(struct ls_list *list);
int ls_list_print(const struct ls_list *list, enum ls_form form);
void ls_list_fini(struct ls_list *list);

#endif
