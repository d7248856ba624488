/* Telling that an acquire waits: on_wait. Private to lock/. */
#ifndef HF_NOTICE_H
#define HF_NOTICE_H

#include "lock/record/records.h"

/* hf_notice_wait   - on_wait will be called, once an operation.
 * hf_notice_refusal - logs that a call waits on after a temporary refusal: the
 *                    first of a series, because a wait may last for ever.
 * hf_notice_forget - it is not called any more, unless it has begun. */
void hf_notice_wait(struct hf_op *op, const struct hf_lock_info *info);
void hf_notice_refusal(const struct hf_op *op,
                       const struct hf_wait_answers *answers, hf_status status);
void hf_notice_forget(struct hf_op *op);

#endif
