/* The reply that a request receives in place of a reply that was too large and was skipped.
 * It is an error reply, so that code that does not know it treats it as a refusal. But the
 * server has executed the command. */
#ifndef HF_TOO_LARGE_H
#define HF_TOO_LARGE_H

#include "resp/resp.h"

/* hf_too_large_reply - returns that reply, which is in static memory. */
struct hf_resp_value hf_too_large_reply(void);

/* hf_is_too_large_reply - returns whether this is that reply. No reply of a server is. */
bool hf_is_too_large_reply(struct hf_resp_value reply);

#endif
