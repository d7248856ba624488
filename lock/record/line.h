/* The line of waiters for a lock: which waiter is first, when it sends its request, and the
 * subscriptions that notify the line of releases. Private to lock/. */
#ifndef HF_LINE_H
#define HF_LINE_H

#include "lock/record/records.h"

/* hf_line_first        - returns the only waiter that sends requests (WAIT-1), or NULL.
 * hf_line_behind_first - returns the second waiter, or NULL. The line must not be empty.
 * hf_line_own          - for kinds whose waiters queue on the server: creates a line for
 *                        this call alone. False: no memory.
 * hf_line_name         - names the channel of that line after the call's hold.
 * hf_line_disown       - frees that line; the call has ended and is in no line.
 * hf_line_enter        - adds the call in order of arrival, so mostly at the end; waiters
 *                        for more permits follow those for fewer. True: it is the first.
 * hf_line_leave        - removes the call, if it is in the line. The next waiter sends its
 *                        request; an empty line ends its subscriptions.
 * hf_line_wake_first   - this client may have released the lock: the first waiter sends
 *                        its request (WAIT-6).
 * hf_line_listen, hf_line_stop_listening - begin and end its subscriptions.
 * hf_line_freeing      - a call that may free the lock will be sent.
 * hf_line_freed        - that call has ended. `heard` is the number of subscribers that
 *                        received its notification; < 0: unknown. A second call has no
 *                        effect. */
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
