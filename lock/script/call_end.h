/* How a script call ends. Private to call*.c; all are [locked]. */
#ifndef HF_CALL_END_H
#define HF_CALL_END_H

#include "lock/script/call.h"

/* Bytes for the names of a script and a lock in messages; longer ones are cut. */
#define HF_CALL_TITLE_MAX 140

/* hf_call_drop_declared - forgets the arguments that declare keys. */
void hf_call_drop_declared(struct hf_call *call);

/* hf_call_end - calls `done`. The next four functions fill the error and do the same. */
static inline void hf_call_end(struct hf_call *call, hf_status status, struct hf_resp_value reply)
{
    call->is_under_way = false;
    if (call->declared_args)
        hf_call_drop_declared(call);
    call->done(call, status, reply);
}

/* hf_call_end_with_message - the message is the title, `what` and, if it is not NULL, `why`. */
void hf_call_end_with_message(struct hf_call *call, hf_status status, const char *what,
                              const char *why);

/* hf_call_end_with_error_reply - the message has the server's words and what to do about them. */
void hf_call_end_with_error_reply(struct hf_call *call, struct hf_resp_value reply);

/* hf_call_end_unanswered - the last request had no reply, or the deadline has passed. */
void hf_call_end_unanswered(struct hf_call *call);

/* hf_call_end_unsent - the last request was not sent. */
void hf_call_end_unsent(struct hf_call *call);

/* hf_call_title - writes the title of a message into `dst` and returns it: "acquire of
 *   'report'", or "renew" if the call concerns several locks. */
const char *hf_call_title(const struct hf_call *call, char dst[HF_CALL_TITLE_MAX]);

/* hf_call_advice - returns what to do about an error reply; NULL if there is no advice. */
const char *hf_call_advice(const struct hf_call *call, struct hf_resp_value reply);

#endif
