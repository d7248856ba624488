/* Re-entry: an owner acquires again what it holds. Private to lock/. */
#ifndef HF_REENTRY_H
#define HF_REENTRY_H

#include "lock/record/records.h"

/* hf_reentry_start - acquires again what the owner of `op` holds. */
void hf_reentry_start(struct hf_op *op, struct hf_hold *held);

/* hf_reentry_end - ends an operation on its owner's hold, which remains. */
void hf_reentry_end(struct hf_op *op, hf_status status);

/* hf_reentry_refuse_lost - returns HF_LOST; the error says what the owner must do. */
hf_status hf_reentry_refuse_lost(struct hf_op *op, const struct hf_hold *hold);

/* hf_reentry_cancel - ends a re-entry. */
void hf_reentry_cancel(struct hf_op *op, hf_status status);

/* hf_reentry_fail_deadlock - writes the error of a call that would wait for its own owner. */
hf_status hf_reentry_fail_deadlock(struct hf_op *op, const struct hf_hold *held);

#endif
