/* The client's records of its holds. Private to lock/.
 *
 * Which operation acts on the hold:
 *
 *   IDLE      -hf_hold_begin_op-> SERVING
 *   SERVING   -hf_hold_end_op-> IDLE; RESERVED if an operation is pending
 *   RESERVED  -resume_op_on_hold-> IDLE       that operation starts again, and enters
 *             -hf_hold_end_op-> as SERVING    it was cancelled before it started
 *   any       -hf_hold_free-> (removed)
 *
 * Its renewal, or look (lease.h decides when):
 *
 *   RESTING   -queue_renewal_or_look-> DUE
 *   DUE       -fill_batch_with_due_holds-> BATCHED    renew.c
 *   DUE, BATCHED  -cancel_pending_look-> RESTING    a renewal is due, and this was a look
 *   BATCHED   -on_batch_answered-> RESTING    renew.c
 *   any       -hf_hold_stop_renewal-> RESTING
 *
 * What is true in each state (hold_ok):
 * IDLE      hold->work->acting_op is NULL; no operation is pending, unless one is being resumed
 * SERVING   hold->work->acting_op is the operation; others are in work->waiting_ops
 * RESERVED  the same; the timer of work->acting_op is armed and calls resume_op_on_hold
 * DUE       it is in client->due_holds, its renewal or look is pending, and it is not lost
 * BATCHED   hold->work->batch contains it. A freed hold is in this state, and in no list
 * A lost hold is in no list of renewals, and its timer is not armed.
 *
 * HOLD-1  A hold serves one operation at a time. The others wait in work->waiting_ops, and start
 *         in the order in which they came.
 * HOLD-2  on_lost is called before this client releases the lock because of max_hold_ms. */
#ifndef HF_HOLD_H
#define HF_HOLD_H

#include "lock/record/hold_work.h"

/* hf_hold_new - creates a hold for the first request of `op`, with its field and key and
 *   without a lease. NULL: no memory. (by_owner.c replaces the field and key by those of
 *   another owner.) */
struct hf_hold *hf_hold_new(struct hf_op *op) HF_MUST_CHECK;

/* hf_hold_lose - the hold is lost: reports it. It returns false if it was lost before. */
bool hf_hold_lose(struct hf_hold *hold, enum hf_lost reason);

/* hf_hold_has_on_lost - returns whether this is its on_lost, and sets *ctx to its context. */
bool hf_hold_has_on_lost(const struct hf_hold *hold,
                         void (*on_lost)(void *, struct hf_lock *, int64_t, enum hf_lost),
                         const void **ctx);

/* hf_hold_free_spare - frees the memory that is kept for the next acquires. */
void hf_hold_free_spare(struct hf_client *client);

/* hf_hold_free - frees the hold and removes it from every list; it does not change
 *   client->holds_count. Its memory remains until its batch ends. NULL is allowed. */
void hf_hold_free(struct hf_hold *hold);

/* hf_hold_finish_request - ends an operation whose hold was created only for its request,
 *   and frees that hold, if there is one. */
void hf_hold_finish_request(struct hf_op *op, hf_status status);

/* hf_hold_commit - the multi-lock holds all of its members: this hold is no longer provisional. */
void hf_hold_commit(struct hf_hold *hold);

/* hf_hold_remove_callbacks - removes the callbacks of the holds of `whose`, because the object that
 *   they belong to will be freed. */
void hf_hold_remove_callbacks(struct hf_lock *lock,
                              bool (*is_whose)(const struct hf_hold *, const void *whose),
                              const void *whose);

/* hf_hold_report_lost - the hold is lost: ends its renewal, and posts on_lost or logs the loss. */
void hf_hold_report_lost(struct hf_hold *hold);

/* hf_hold_report_renewed - posts on_renewed, if there is one. */
void hf_hold_report_renewed(struct hf_hold *hold);

/* hf_hold_begin_op - returns whether `op` may act on the hold now, which is open. If not, it is
 *   started again after the operations before it have left. */
bool hf_hold_begin_op(struct hf_hold *hold, struct hf_op *op);

/* hf_hold_end_op - ends the turn of an operation, and starts the next one. It frees the hold
 *   if `is_gone`. */
void hf_hold_end_op(struct hf_hold *hold, bool is_gone);

/* hf_hold_abandon_op - the client is closed: the hold serves no operation. Pending ones do not
 *   start. */
void hf_hold_abandon_op(struct hf_hold *hold);

/* hf_hold_free_memory - frees the memory of a hold to which no renewal points. */
void hf_hold_free_memory(struct hf_hold *hold);

/* hf_hold_stop_renewal - prevents further renewals. The reply to one that was sent is
 * ignored, and on_renewed is not called. */
void hf_hold_stop_renewal(struct hf_hold *hold);

#endif
