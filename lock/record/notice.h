/* Telling that an acquire waits: on_wait. Private to lock/. */
#ifndef HF_NOTICE_H
#define HF_NOTICE_H

#include "lock/record/records.h"

/* hf_notice_wait   - on_wait will be called, once an operation.
 * hf_notice_forget - it is not called any more, unless it has begun. */
void hf_notice_wait(struct hf_op *op, const struct hf_lock_info *info);
void hf_notice_forget(struct hf_op *op);

#endif
