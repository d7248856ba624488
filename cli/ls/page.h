/* What all looks at a page of names share. */
#ifndef CLI_LS_LOOKING_H
#define CLI_LS_LOOKING_H

#include "cli/ls/list.h"
#include "cli/ls/ls_options.h"
#include "cli/ls/scan.h"

struct ls_looking {
    struct hf_client *client;
    struct ls_list *list;
    const struct ls_options *options;
    struct ls_scan *scan;       /* of this page */
    hf_status status;
    uint64_t refused;
    struct hf_error refusal;    /* the first */
};

/* ls_looking_wants   - is that name of this type, and does its server still answer?
 * ls_looking_add     - puts it on the list, if its kind is asked for.
 * ls_looking_refused - a server did not let us look into a key.
 * ls_looking_fail    - whatever went wrong with this question about a key of that
 *   source. A key of another type is passed over: it has changed meanwhile. A
 *   server that is away, busy or loading ends its walk. */
bool ls_looking_wants(const struct ls_looking *looking,
                      const struct ls_name *name, enum ls_type type);
void ls_looking_add(struct ls_looking *looking, const struct cli_lock *lock);
void ls_looking_refused(struct ls_looking *looking, const struct hf_error *err);
void ls_looking_fail(struct ls_looking *looking, uint32_t source,
                     const struct ls_question *q);

#endif
