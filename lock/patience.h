/* How patient a call is with an error reply: one table for all calls. Private to
 * lock/. Its contract for users is the table "What ends a call" in lock.h.
 *
 * PATIENCE-1  HF_RETRIES: the server, or another one at its address, will serve
 *             soon. The call repeats its request until its deadline; then it ends
 *             as with HF_WAITS_ON.
 * PATIENCE-2  HF_WAITS_ON: time or an operator ends it, and nothing was done. The
 *             call ends with the error, but a wait goes on after it (WAIT-7), and a
 *             background release is repeated.
 * PATIENCE-3  HF_WAITS_FOR_RIGHTS: an operator ends it. A background release of a
 *             permit, a count or a place is repeated (ORPHAN-2).
 * PATIENCE-4  HF_ENDS: a retry would have the same reply. */
#ifndef HF_PATIENCE_H
#define HF_PATIENCE_H

#include "resp/resp.h"

enum hf_patience { HF_ENDS, HF_WAITS_FOR_RIGHTS, HF_WAITS_ON, HF_RETRIES };

/* hf_patience_with - an error reply; HF_ENDS if it is not an error or is absent
 *                    (all zeros).
 * hf_patience_advice - what a person can do about it; NULL: not known. Both are
 *                    pure. */
enum hf_patience hf_patience_with(struct hf_resp_value reply);
const char *hf_patience_advice(struct hf_resp_value reply);

#endif
