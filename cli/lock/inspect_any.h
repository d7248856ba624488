/* What stands under a name: `status`, `watch` and `unlock` take locks of any kind. */
#ifndef CLI_LOOK_UP_H
#define CLI_LOOK_UP_H

#include "cli/base/common.h"

/* cli_look    - how the lock of that name stands; *lock, a handle of a plain one,
 *   connected or not, is replaced by one of its kind.
 *   Of permits, info->holders are out. Of a semaphore of which none is out, or of
 *   a counter (a string that is an integer and has no TTL), nothing is locked, the
 *   kind is HF_KIND_PERMIT, and hold_count is that number.
 *   As hf_lock_inspect. After a failure *lock may be NULL.
 * cli_look_up - likewise. CLI_CONTINUE, or CLI_EXIT_ERROR and reported. */
hf_status cli_look(struct hf_lock **lock, struct hf_client *client,
                   const char *name, struct hf_lock_info *info,
                   struct hf_error *err);
int cli_look_up(struct hf_lock **lock, struct hf_client *client,
                const char *name, struct hf_lock_info *info);

#endif
