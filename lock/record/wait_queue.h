/* The queue of waiters for a lock: which waiter is first, when it sends its request, and the
 * subscriptions that notify the queue of releases. Private to lock/. */
#ifndef HF_WAIT_QUEUE_H
#define HF_WAIT_QUEUE_H

#include "lock/record/records.h"

/* hf_wait_queue_first - returns the only waiter that sends requests (WAIT-1), or NULL. The
 *   queue may be NULL. */
struct hf_op *hf_wait_queue_first(const struct hf_wait_queue *line);

/* hf_wait_queue_second - returns the second waiter, or NULL. The queue must not be
 *   empty. */
struct hf_op *hf_wait_queue_second(const struct hf_wait_queue *line);

/* hf_wait_queue_assign - sets op->queue: the queue of its lock, or a queue for this call alone
 *   if it has a place in a queue on the server. False: no memory. */
bool hf_wait_queue_assign(struct hf_op *op) HF_MUST_CHECK;

/* hf_wait_queue_name_channel - names the channel of the call's own queue after the call's hold. */
void hf_wait_queue_name_channel(struct hf_op *op);

/* hf_wait_queue_unassign - the call has ended and is in no queue; frees a queue of its own. */
void hf_wait_queue_unassign(struct hf_op *op);

/* hf_wait_queue_enter - adds the call in order of arrival, so mostly at the end; waiters for
 *   more permits follow those for fewer. True: it is the first. */
bool hf_wait_queue_enter(struct hf_op *op);

/* hf_wait_queue_leave - removes the call, if it is in the queue. The next waiter sends its
 *   request; an empty queue ends its subscriptions. */
void hf_wait_queue_leave(struct hf_op *op);

/* hf_wait_queue_wake_first - this client may have released the lock: the first waiter sends
 *   its request (WAIT-6). The queue may be NULL. */
void hf_wait_queue_wake_first(struct hf_wait_queue *line);

/* hf_wait_queue_may_be_tracked - returns whether an acquire of this call is tracked (TRACK-8),
 *                                except in a crowd.
 * hf_wait_queue_is_tracked     - returns whether it is, also in a crowd (PUSHED-4). */
bool hf_wait_queue_may_be_tracked(const struct hf_op *op);
bool hf_wait_queue_is_tracked(const struct hf_op *op);

/* hf_wait_queue_pushed - a push reported the key of the queue's locks. The queue may be
 *   NULL. */
void hf_wait_queue_pushed(struct hf_wait_queue *line);

/* hf_wait_queue_listen, hf_wait_queue_stop_listening - begin and end the subscriptions of the
 *   queue. */
void hf_wait_queue_listen(struct hf_wait_queue *line);
void hf_wait_queue_stop_listening(struct hf_wait_queue *line);

/* hf_wait_queue_release_begins - the call `op`, which may free the lock, will be sent. */
void hf_wait_queue_release_begins(struct hf_op *op);

/* hf_wait_queue_release_ended - that call has ended. `heard` is the number of subscribers that
 *   received its notification; < 0: unknown. If it is called again for `op`, it has no
 *   effect. */
void hf_wait_queue_release_ended(struct hf_op *op, int64_t heard);

#endif
