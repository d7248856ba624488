/* How many clients listen to the channel of a lock: PUSHED-5 (channel.h). Private to lock/. */
#ifndef HF_LISTENERS_H
#define HF_LISTENERS_H

#include "lock/record/records.h"

/* hf_listeners_request_count - requests the number of listeners, if that is due (PUSHED-5), in the
 *                      same write as an acquire of this waiter, if one follows. No caller waits for
 *                      the reply. */
void hf_listeners_request_count(const struct hf_op *acquire);

#endif
