/* The callback on_wait. Private to lock/. */
#ifndef HF_ON_WAIT_H
#define HF_ON_WAIT_H

#include "lock/record/records.h"

/* hf_on_wait_post - posts on_wait, once for each operation. */
void hf_on_wait_post(struct hf_op *op, const struct hf_lock_info *info);

/* hf_on_wait_log_refusal - logs that a call continues to wait after a temporary refusal. It logs
 *   the first one of a series, because a wait may last forever. */
void hf_on_wait_log_refusal(const struct hf_op *op,
                            const struct hf_wait_answers *answers, hf_status status);

/* hf_on_wait_cancel - prevents the call of on_wait, unless it has begun. */
void hf_on_wait_cancel(struct hf_op *op);

#endif
