/* Error replies. */
#ifndef HF_REFUSAL_H
#define HF_REFUSAL_H

#include "resp/resp.h"

/* hf_refusal_words - what an error says, without what Redis before 7 puts in
 *                    front of a script's ("ERR Error running script (...").
 *                    Lent as the reply; "" if that is no error, or if
 *                    there is none (all zeros).
 * hf_refusal_is    - is `code` ("READONLY") what these words begin with?
 * hf_refusal_is_by_acl - the user lacks a command, key or channel: for a command
 *                    (NOPERM) or within a script, in the words of any version of
 *                    Redis or Valkey. All are pure. */
void hf_refusal_words(struct hf_resp_value reply, const char **ptr,
                      size_t *len);
bool hf_refusal_is(struct hf_resp_value reply, const char *code);
bool hf_refusal_is_by_acl(struct hf_resp_value reply);

/* hf_refusal_is_of_evalsha - the server does not have EVALSHA, in whatever words; not
 *                    if the ACL forbids it.
 * hf_refusal_wants_text - the same, or NOSCRIPT: EVAL may succeed. Both are pure. */
bool hf_refusal_is_of_evalsha(struct hf_resp_value reply);
bool hf_refusal_wants_text(struct hf_resp_value reply);

/* hf_refusal_is_too_large - the reply was too large and was skipped: the server has
 * executed the command, and what it replied is not known. */
bool hf_refusal_is_too_large(struct hf_resp_value reply);

#endif
