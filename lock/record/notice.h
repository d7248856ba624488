/* The callback on_wait. Private to lock/. */
#ifndef HF_NOTICE_H
#define HF_NOTICE_H

#include "lock/record/records.h"

/* hf_notice_wait - posts on_wait, once for each operation. */
void hf_notice_wait(struct hf_op *op, const struct hf_lock_info *info);

/* hf_notice_refusal - logs that a call continues to wait after a temporary refusal. It logs
 *   the first one of a series, because a wait may last forever. */
void hf_notice_refusal(const struct hf_op *op,
                       const struct hf_wait_answers *answers, hf_status status);

/* hf_notice_forget - prevents the call of on_wait, unless it has begun. */
void hf_notice_forget(struct hf_op *op);

#endif
