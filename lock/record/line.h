/* The line of waiters for a lock: which is first, when it is told to ask
 * again, and the subscriptions by which the line hears of releases. Private to
 * lock/. */
#ifndef HF_LINE_H
#define HF_LINE_H

#include "lock/record/records.h"

/* hf_line_first        - the only one that asks (WAIT-1); NULL: nobody waits.
 * hf_line_behind_first - NULL: there is none. The line is not empty.
 * hf_line_own          - where each waiter of a kind asks for itself, one line
 *                        for each: this call's is made. False: no memory.
 * hf_line_name         - its channel, after the call's hold.
 * hf_line_disown       - the call has ended, and stands in no line.
 * hf_line_enter        - in the order in which calls came, so mostly at its
 *                        end; waiters for more permits behind those for
 *                        fewer. True: it is the first.
 * hf_line_leave        - also of one that stands in none. The next one asks; a
 *                        line that is empty then ends its subscriptions.
 * hf_line_wake_first   - this client may have released the lock: the first in
 *                        line asks (WAIT-6).
 * hf_line_listen, hf_line_stop_listening - its subscriptions.
 * hf_line_freeing      - a call that may free the lock is about to be sent.
 * hf_line_freed        - that call has ended. `heard`: how many subscribers its
 *                        message had; < 0: unknown. A second call does
 *                        nothing. */
struct hf_op *hf_line_first(const struct hf_line *line);
struct hf_op *hf_line_behind_first(const struct hf_line *line);
bool hf_line_own(struct hf_op *op) HF_MUST_CHECK;
void hf_line_name(struct hf_op *op);
void hf_line_disown(struct hf_op *op);
bool hf_line_enter(struct hf_op *op);
void hf_line_leave(struct hf_op *op);
void hf_line_wake_first(struct hf_line *line);
void hf_line_listen(struct hf_line *line);
void hf_line_stop_listening(struct hf_line *line);
void hf_line_freeing(struct hf_op *op);
void hf_line_freed(struct hf_op *op, int64_t heard);

#endif
