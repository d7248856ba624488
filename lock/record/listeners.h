/* How many clients listen to the channel of a lock: PUSHED-5 (channel.h). Private to lock/. */
#ifndef HF_LISTENERS_H
#define HF_LISTENERS_H

#include "lock/record/records.h"

/* hf_listeners_count - an acquire of `op` follows. If it may be tracked, and the listeners were not
 *                      counted a short time before, requests their number in the same write.
 *                      No caller waits for the reply. */
void hf_listeners_count(const struct hf_op *op);

#endif
