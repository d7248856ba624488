/* The state of a lock of any kind, for `status`, `watch` and `unlock`. */
#ifndef CLI_INSPECT_ANY_H
#define CLI_INSPECT_ANY_H

#include "cli/base/common.h"

/* How a state is requested, for a caller that does not wait for as long as hf_lock_inspect. */
struct cli_inspector {
    hf_status (*inspect)(struct cli_inspector *by, struct hf_lock *lock,
                         struct hf_lock_info *out, struct hf_error *err);
};

/* cli_inspect_any - reads the state of the lock of that name, with the results of hf_lock_inspect.
 *   *lock, a handle on a plain lock, connected or not, is replaced by a handle of its kind; after
 *   a failure it may be NULL. `by` NULL: with hf_lock_inspect.
 *   For permits, info->holders is the number in use. For a semaphore without permits in use, and
 *   for a counter (a string that is an integer and has no TTL), is_locked is false, the kind is
 *   HF_KIND_PERMIT, and hold_count is the number.
 * cli_inspect_any_or_report - does the same and reports errors. Returns CLI_CONTINUE or
 *   CLI_EXIT_ERROR. */
hf_status cli_inspect_any(struct hf_lock **lock, struct hf_client *client,
                          const char *name, struct cli_inspector *by, struct hf_lock_info *info,
                          struct hf_error *err);
int cli_inspect_any_or_report(struct hf_lock **lock, struct hf_client *client,
                              const char *name, struct hf_lock_info *info);

#endif
