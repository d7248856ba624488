/* Requests that are awaited at most until a time, whatever the server does. A request that has no
 * reply then stays pending until the client is freed, and no further one is sent. */
#ifndef CLI_TIMED_H
#define CLI_TIMED_H

#include "cli/lock/inspect_any.h"
#include "lock/label.h"

struct cli_timed {
    struct cli_inspector inspector; /* for cli_inspect_any: returns HF_CANCELLED after
                                       deadline_ms */
    struct hf_loop *loop;       /* of the client; without a thread */
    int64_t deadline_ms;        /* HF_NEVER: the request timeout alone counts */

    bool is_pending;            /* at deadline_ms, a request had no reply */
    hf_status status;
    struct hf_error error;
    struct hf_lock_info info;
    char label[HF_LABEL_MAX + 1];
};

#define CLI_TIMED_INIT {.inspector = {.inspect = cli_timed_inspect}, .deadline_ms = HF_NEVER}

/* cli_timed_inspect - as hf_lock_inspect; `by` is the member of a cli_timed, which must be valid
 *                     until the client is freed.
 * cli_timed_label   - as cli_label_read. */
hf_status cli_timed_inspect(struct cli_inspector *by, struct hf_lock *lock,
                            struct hf_lock_info *out, struct hf_error *err);
void cli_timed_label(struct cli_timed *t, struct hf_client *client,
                     const struct hf_lock_info *info, char dst[HF_LABEL_MAX + 1]);

#endif
