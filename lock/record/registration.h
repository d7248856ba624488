/* The second channel of the waiters of a lock: TURN-3 (channel.h). Private to lock/. [locked]
 *
 * A client subscribes to it while it waits for a lock whose channel has many listeners. The
 * messages that it receives there are ignored: the server's number of its subscribers is the
 * number of such clients. hf_kind_has_waiters_channel (kind.h) says which kinds have it. */
#ifndef HF_REGISTRATION_H
#define HF_REGISTRATION_H

#include "lock/record/records.h"

/* hf_registration_begin - subscribes for the queue, if many listen to its channel, it listens
 *   itself, and is not registered. `lock`: that of its first waiter. Without memory the queue
 *   remains unregistered, and so it does for its lifetime if the server denies the subscription
 *   (an ACL, or no such command).
 * hf_registration_end   - unsubscribes, if it is registered. */
void hf_registration_begin(struct hf_wait_queue *line, const struct hf_lock *lock);
void hf_registration_end(struct hf_wait_queue *line);

/* hf_registration_channel - writes the name of the second channel, which is REGISTRATION_EXTRA
 *   bytes longer than that of the first one. Returns its length. */
#define REGISTRATION_EXTRA (sizeof KIND_WAITERS_SUFFIX - 1)
size_t hf_registration_channel(char *dst, struct hf_bytes channel);

#endif
