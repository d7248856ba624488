/* Operations of any verb: how they begin, send their requests, and end. All functions:
 * [locked]. Private to lock/. */
#ifndef HF_OP_H
#define HF_OP_H

#include "lock/record/tally_add.h"

/* hf_op_begin - adds the operation to the client. HF_E_LIMIT, HF_E_CLOSED. */
hf_status hf_op_begin(struct hf_op *op) HF_MUST_CHECK;

/* hf_op_alloc - allocates an operation that no caller waits for, followed by `room` bytes.
 *   NULL: no memory. */
struct hf_op *hf_op_alloc(const struct hf_lock *lock,
                          size_t room) HF_MUST_CHECK;

/* hf_op_begin_background - begins an operation in memory of hf_op_alloc, which may be NULL
 *   and which the operation frees. NULL: the memory was NULL, or hf_op_begin failed; then it
 *   was freed. */
struct hf_op *hf_op_begin_background(struct hf_op *op, struct hf_lock *lock,
                                     const struct hf_verb *verb) HF_MUST_CHECK;

/* hf_op_new_background - does both. */
struct hf_op *hf_op_new_background(struct hf_lock *lock,
                                   const struct hf_verb *verb, size_t room)
    HF_MUST_CHECK;

/* hf_op_finish - reports the status to the caller. The operation must not be used after this.
 *   Its error, if there is one, must be filled before. */
void hf_op_finish(struct hf_op *op, hf_status status);

/* hf_op_want_replicas - call it before hf_op_call_script. If the client's replicas must confirm
 *   locks, a reply that `is_for_replicas` accepts waits for them, and `on_replicas` is called
 *   instead of `done` (call.h). */
void hf_op_want_replicas(struct hf_op *op,
                         bool (*is_for_replicas)(struct hf_call *,
                                                 struct hf_resp_value),
                         void (*on_replicas)(struct hf_call *, hf_status));

/* hf_op_call_script - calls the script of the lock's kind. `echo` is the beginning of its reply. If
 *   the call cannot start, `done` receives the error. */
void hf_op_call_script(struct hf_op *op, enum hf_step step, struct hf_bytes echo,
                       int64_t deadline_ms,
                       void (*done)(struct hf_call *, hf_status,
                                    struct hf_resp_value));

/* hf_op_cancel - ends the operation with `status`, in any state. True: the server may have
 *   executed its request. */
bool hf_op_cancel(struct hf_op *op, hf_status status);

/* hf_op_deadline - returns the deadline of a request that is sent now: the request timeout, or
 *   the end of the wait if that is earlier. */
int64_t hf_op_deadline(const struct hf_op *op);

/* hf_op_arm_due - arms op->timer for op->wait.due_ms. */
void hf_op_arm_due(struct hf_op *op);

/* hf_op_read_answer - reads the reply into op->answer: done, with op->wanted_hold_count, or not
 *   held. False: the script does not send such a reply. */
bool hf_op_read_answer(struct hf_op *op, struct hf_resp_value reply);

/* hf_op_log_unsent_notification - logs, once a minute, that the notification of waiters was not
 *   sent, if op->answer says so. The request itself was executed. */
void hf_op_log_unsent_notification(struct hf_op *op);

/* hf_op_note_outcome - reports the outcome of the call to the lease of op->hold: the server has
 *   not executed it and never will, or may have. */
void hf_op_note_outcome(struct hf_op *op);

/* hf_op_fail_unexpected_reply - fills the error for a reply that begins with the echo, but that the
 *   script does not send. Returns HF_E_PROTOCOL. The effect of the request is unknown. */
hf_status hf_op_fail_unexpected_reply(struct hf_op *op);

/* hf_op_fail_late - fills the error of a call whose last grant arrived with too little of its
 *   lease left. Returns HF_E_NOREPLY. */
hf_status hf_op_fail_late(struct hf_op *op);

/* hf_op_replace_status - replaces the status of the error by one that says what is known; its text
 *   remains. Returns `status`. */
hf_status hf_op_replace_status(struct hf_op *op, hf_status status);

/* hf_status_is_unknown_outcome - returns whether the status itself says that the outcome is
 *   unknown. */
bool hf_status_is_unknown_outcome(hf_status status);

/* hf_op_failure_status - returns the status of a request that failed. If `may_have_run`, an earlier
 *   copy of the request may have been executed, and a refusal of the last copy says nothing
 *   about it: HF_E_NOREPLY, with the text of the refusal. */
hf_status hf_op_failure_status(struct hf_op *op, hf_status status, bool may_have_run);

/* hf_op_is_housekeeping - returns whether it is housekeeping: no caller requested it, and it may be
 *   lost. */
bool hf_op_is_housekeeping(const struct hf_op *op);

/* hf_client_count_calls - returns the number of pending operations that are not housekeeping. */
uint32_t hf_client_count_calls(const struct hf_client *client);

/* hf_client_check_call_limit - HF_E_LIMIT: waiters_max calls are pending, those of label.h
 *   included. */
hf_status hf_client_check_call_limit(const struct hf_client *client, struct hf_error *err);

/* hf_client_is_idle - returns whether no operation, SUBSCRIBE or UNSUBSCRIBE is pending. */
bool hf_client_is_idle(const struct hf_client *client);

/* hf_client_note_idle - an operation or command has ended: wakes the thread in
 *   hf_client_close if that was the last one. */
void hf_client_note_idle(struct hf_client *client);

#endif
