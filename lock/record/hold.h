/* The client's records of its holds. Private to lock/. */
#ifndef HF_HOLD_H
#define HF_HOLD_H

#include "lock/record/records.h"

/* hf_hold_new - creates a hold for the first request of `op`, with its field and key and
 *   without a lease. NULL: no memory. (by_owner.c replaces the field and key by those of
 *   another owner.) */
struct hf_hold *hf_hold_new(struct hf_op *op) HF_MUST_CHECK;

/* hf_hold_free - frees the hold and removes it from every list; it does not change
 *   client->holds. Its memory remains until its batch ends. NULL is allowed. */
void hf_hold_free(struct hf_hold *hold);

/* hf_hold_finish_request - ends an operation whose hold was created only for its request,
 *   and frees that hold, if there is one. */
void hf_hold_finish_request(struct hf_op *op, hf_status status);

/* hf_hold_commit - the multi-lock holds all of its members: this hold is no longer provisional. */
void hf_hold_commit(struct hf_hold *hold);

/* hf_hold_silence - removes the callbacks of the holds of `whose`, because the object that
 *   they belong to will be freed. */
void hf_hold_silence(struct hf_lock *lock,
                     bool (*is_whose)(const struct hf_hold *, const void *whose),
                     const void *whose);

/* hf_hold_rearm - sets the timer after a change of the lease. */
void hf_hold_rearm(struct hf_hold *hold);

/* hf_hold_tell_lost - the hold is lost: ends its renewal, and posts on_lost or logs the loss. */
void hf_hold_tell_lost(struct hf_hold *hold);

/* hf_hold_tell_renewed - posts on_renewed, if there is one. */
void hf_hold_tell_renewed(struct hf_hold *hold);

/* hf_hold_begin_op - returns whether `op` may act on the hold now. If not, it is started
 *   again after the operations before it have left. */
bool hf_hold_begin_op(struct hf_hold *hold, struct hf_op *op);

/* hf_hold_end_op - ends the turn of an operation, and starts the next one. It frees the hold
 *   if `is_gone`. */
void hf_hold_end_op(struct hf_hold *hold, bool is_gone);

/* hf_hold_drop - frees the memory of a hold to which no renewal points. */
void hf_hold_drop(struct hf_hold *hold);

/* hf_hold_stop_renewal - prevents further renewals. The reply to one that was sent is
 * ignored, and on_renewed is not called. */
void hf_hold_stop_renewal(struct hf_hold *hold);

#endif
