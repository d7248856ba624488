/* Which error replies are temporary: one table for all calls. Private to lock/. The
 * table "What ends a call" in lock.h is the contract for users.
 *
 * PATIENCE-1  HF_AFTER_ERROR_REPEAT_REQUEST: this server, or another one at its address, will serve
 *             soon. The call repeats its request until its deadline. Then
 *             HF_AFTER_ERROR_WAIT_GOES_ON applies.
 * PATIENCE-2  HF_AFTER_ERROR_WAIT_GOES_ON: the server executed nothing, and the refusal ends by
 *             itself or an operator ends it. The request ends with the error. A wait
 *             continues if the server has answered it before (WAIT-7). A background
 *             release is repeated (ORPHAN-2).
 * PATIENCE-3  HF_AFTER_ERROR_AWAIT_RIGHTS: an operator must grant rights. Every call ends with
 *             the error, except background releases of permits, counts, places in a
 *             queue, and writers that also read (ORPHAN-2), and changes of a count that are
 *             repeated in the background (COUNT-4).
 * PATIENCE-4  HF_AFTER_ERROR_END_CALL: a retry would receive the same reply. The call ends with the
 *             error.
 * PATIENCE-5  HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY: a proxy cannot reach the server, or lost its
 *             connection to it. The server may have executed the request, or may still do so. The
 *             call repeats it as after HF_AFTER_ERROR_REPEAT_REQUEST. The connection stays: the
 *             proxy may have other servers, which reply to other requests. */
#ifndef HF_PATIENCE_H
#define HF_PATIENCE_H

#include <stdbool.h>

#include "net/net.h"

enum hf_after_error {
    HF_AFTER_ERROR_END_CALL,
    HF_AFTER_ERROR_AWAIT_RIGHTS,
    HF_AFTER_ERROR_WAIT_GOES_ON,
    HF_AFTER_ERROR_REPEAT_REQUEST,
    HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY
};

/* hf_after_error_reply - returns how a call continues after this reply: HF_AFTER_ERROR_END_CALL if
 *   the reply is not an error, or is absent (all zeros). */
enum hf_after_error hf_after_error_reply(struct hf_resp_value reply);

/* hf_error_needs_rights - returns whether an operator must grant rights first: the server
 *   refused the user, or this reply is HF_AFTER_ERROR_AWAIT_RIGHTS. */
bool hf_error_needs_rights(hf_status status, struct hf_resp_value reply);

/* hf_advice_for_error - returns what a person can do about this error reply; NULL if there is no
 *   advice. These functions are pure. */
const char *hf_advice_for_error(struct hf_resp_value reply);

#endif
