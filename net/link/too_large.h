/* The reply that a request gets in place of one that was too large to keep and was
 * skipped: an error reply, so that code that does not know it treats it as a refusal.
 * But the server has executed the command. */
#ifndef HF_TOO_LARGE_H
#define HF_TOO_LARGE_H

#include "resp/resp.h"

/* hf_too_large    - that reply. Static memory.
 * hf_is_too_large - is it that? No reply of a server is. */
struct hf_resp_value hf_too_large(void);
bool hf_is_too_large(struct hf_resp_value reply);

#endif
