/* Error replies. */
#ifndef HF_REFUSAL_H
#define HF_REFUSAL_H

#include "resp/resp.h"

/* hf_refusal_text - returns the text of an error reply, without the prefix of Redis before
 *                    7 for an error of a script ("ERR Error running script (..."). It is
 *                    valid as long as the reply; "" for another reply or none (all zeros).
 * hf_refusal_is    - returns whether this text begins with `code` ("READONLY").
 * hf_refusal_is_by_acl - returns whether the ACL forbids a command, key or channel, in the
 *                    message of any version of Redis or Valkey: for a command (NOPERM) or
 *                    within a script. All are pure. */
void hf_refusal_text(struct hf_resp_value reply, const char **ptr,
                     size_t *len);
bool hf_refusal_is(struct hf_resp_value reply, const char *code);
bool hf_refusal_is_by_acl(struct hf_resp_value reply);

/* hf_refusal_is_unknown - returns whether the server does not know the command or its
 *                    subcommand, in the message of any version of Redis or Valkey. Pure. */
bool hf_refusal_is_unknown(struct hf_resp_value reply);

/* hf_refusal_is_of_wait_at_replica - returns whether WAIT was refused because the server has
 *                    become a replica, before WAIT or while it was pending. Pure. */
bool hf_refusal_is_of_wait_at_replica(struct hf_resp_value reply);

/* hf_refusal_is_of_evalsha - returns whether the server does not have EVALSHA, with any
 *                    message; false if the ACL forbids it.
 * hf_refusal_is_of_eval - returns whether the error names EVAL, as those of services that do
 *                    not permit it.
 * hf_refusal_needs_eval - returns whether EVAL may succeed after EVALSHA: it is missing, or
 *                    NOSCRIPT. All are pure. */
bool hf_refusal_is_of_evalsha(struct hf_resp_value reply);
bool hf_refusal_is_of_eval(struct hf_resp_value reply);
bool hf_refusal_needs_eval(struct hf_resp_value reply);

/* hf_refusal_is_undeclared - returns whether the server refuses a key that a script uses and
 * the request does not declare (Dragonfly). Pure. */
bool hf_refusal_is_undeclared(struct hf_resp_value reply);

/* hf_refusal_is_too_large - returns whether the reply was too large and was skipped. The
 * server has executed the command, and its reply is unknown. */
bool hf_refusal_is_too_large(struct hf_resp_value reply);

#endif
