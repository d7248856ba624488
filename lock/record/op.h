/* Operations, whatever their kind: how they begin, ask and end. Private to
 * lock/. */
#ifndef HF_OP_H
#define HF_OP_H

#include "lock/record/records.h"

/* hf_op_begin  - counts it in; HF_E_LIMIT, HF_E_CLOSED.
 * hf_op_memory - for one that nobody waits for, and `room` bytes behind it.
 *                NULL: there is none.
 * hf_op_begin_background - in such memory, which may be NULL, and which it frees
 *                itself. NULL: that was NULL, or hf_op_begin refused it; then
 *                it is free.
 * hf_op_new_background - both.
 * hf_op_finish - tells the caller; the operation is gone after. error, if
 *                any, is filled already.
 * hf_op_want_replicas - before hf_op_call: if the client has replicas confirm locks,
 *                a reply that `is_for_replicas` accepts waits for them, and
 *                `acknowledged` is called instead of `done` (call.h).
 * hf_op_call   - calls the script of the lock's kind. `echo`: what its reply
 *                begins with. A failure to start is told to `done`. */
hf_status hf_op_begin(struct hf_op *op) HF_MUST_CHECK;
struct hf_op *hf_op_memory(const struct hf_lock *lock,
                           size_t room) HF_MUST_CHECK;
struct hf_op *hf_op_begin_background(struct hf_op *op, struct hf_lock *lock,
                                     const struct hf_verb *verb) HF_MUST_CHECK;
struct hf_op *hf_op_new_background(struct hf_lock *lock,
                                   const struct hf_verb *verb, size_t room)
    HF_MUST_CHECK;
void hf_op_finish(struct hf_op *op, hf_status status);
void hf_op_want_replicas(struct hf_op *op,
                         bool (*is_for_replicas)(struct hf_call *,
                                                 struct hf_resp_value),
                         void (*acknowledged)(struct hf_call *, hf_status));
void hf_op_call(struct hf_op *op, enum hf_step step, struct hf_bytes echo,
                int64_t deadline_ms,
                void (*done)(struct hf_call *, hf_status,
                             struct hf_resp_value));

/* hf_op_cancel - ends it with `status`, whatever it waits for. True: the server
 * may have done what was asked. */
bool hf_op_cancel(struct hf_op *op, hf_status status);

/* hf_op_deadline - of a call that is sent now: not after the end of the wait.
 * hf_op_arm_due  - op->timer fires at op->wait.due_ms. */
int64_t hf_op_deadline(const struct hf_op *op);
void hf_op_arm_due(struct hf_op *op);

/* hf_op_read_answer - reads it into op->answer: done, with op->count, or not
 * held. False: the script cannot give that.
 * hf_op_log_note    - op->answer says that the message for waiters was not sent: logs
 * it, once a minute. What was requested is done all the same. */
bool hf_op_read_answer(struct hf_op *op, struct hf_resp_value reply);
void hf_op_log_note(struct hf_op *op);

/* hf_op_note_outcome - what became of the call, for the lease of op->hold: the server
 * has not executed it and never will, or may have. */
void hf_op_note_outcome(struct hf_op *op);

/* hf_op_odd_reply - for a reply that begins with our echo, but that the script
 * cannot give: fills the error, returns HF_E_PROTOCOL. What the server has done
 * is unknown. */
hf_status hf_op_odd_reply(struct hf_op *op);

/* hf_op_restate - the error keeps its text, with a status that says what is known:
 * returned.
 * hf_op_is_unknown - does the status itself say that the outcome is unknown?
 * hf_op_failure - the status of a request that failed. If `may_have_run`, an earlier copy
 * of the request may have been executed, and a refusal of the last copy tells nothing
 * about it: HF_E_NOREPLY, with the text of the refusal. */
hf_status hf_op_restate(struct hf_op *op, hf_status status);
bool hf_op_is_unknown(hf_status status);
hf_status hf_op_failure(struct hf_op *op, hf_status status, bool may_have_run);

/* hf_op_is_chore  - nobody asked for it, and nothing is lost with it.
 * hf_client_calls - what was asked for, and is under way. */
bool hf_op_is_chore(const struct hf_op *op);
uint32_t hf_client_calls(const struct hf_client *client);

/* hf_client_is_quiet   - is no operation and no (un)subscription under way?
 * hf_client_note_quiet - something has ended: if that was all that the closer
 *                        waits for, it is woken. */
bool hf_client_is_quiet(const struct hf_client *client);
void hf_client_note_quiet(struct hf_client *client);

#endif
