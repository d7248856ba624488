/* The end of a call: its status and its message. See call_end.h. */
/* Tests: tests/live/fault/test_lock_errors.c, tests/live/server/test_proxy_words.c. */
#include "lock/script/call_end.h"

#include <stdio.h>

#include "lock/script/missing_command.h"
#include "lock/script/patience.h"
#include "net/base/error.h"
#include "net/route/refusal.h"

#define NAMES_ITSELF                                                           \
    "the node names itself: it redirects to the address at which it was reached; " \
    "a failover, or nodes that announce wrong addresses (cluster-announce-ip)"

const char *hf_call_advice(const struct hf_call *call, struct hf_resp_value reply)
{
    return call->command.was_redirected_to_itself ? NAMES_ITSELF : hf_advice_for_error(reply);
}

void hf_call_drop_declared(struct hf_call *call)
{
    hf_declared_args_free(call->declared_args);
    call->declared_args = NULL;
    call->is_listing_holds = false;
}

static const struct hf_resp_value no_reply;

/* "acquire of 'report'"; "renew". */
const char *hf_call_title(const struct hf_call *call, char dst[HF_CALL_TITLE_MAX])
{
    char name[100];

    if (call->lock_name)
        (void)snprintf(dst, HF_CALL_TITLE_MAX, "%s of '%s'", call->script->verb_title,
                       hf_error_quote(name, sizeof name, call->lock_name,
                                      call->lock_name_len));
    else
        (void)snprintf(dst, HF_CALL_TITLE_MAX, "%s", call->script->verb_title);
    return dst;
}

void hf_call_end_with_message(struct hf_call *call, hf_status status, const char *what,
                              const char *why)
{
    char title[HF_CALL_TITLE_MAX];

    hf_error_set(call->error, status, "%s: %s%s%s", hf_call_title(call, title), what,
                 why ? ": " : "", why ? why : "");
    if (call->error)
        call->error->is_temporary = status == HF_E_SERVER && call->is_temporary_failure;
    hf_call_end(call, status, no_reply);
}

/* The message has the server's words and what to do about them. */
static void end_with_error_text(struct hf_call *call, const char *words,
                                const char *advice, struct hf_resp_value reply)
{
    hf_status status = call->is_refusal_by_proxy ? HF_E_NOREPLY : HF_E_SERVER;
    char title[HF_CALL_TITLE_MAX];

    hf_error_set(call->error, status, "%s on %s: %s%s%s%s",
                 hf_call_title(call, title), hf_command_address(&call->command),
                 words,
                 advice ? " (" : "", advice ? advice : "", advice ? ")" : "");
    if (call->error)
        call->error->is_temporary = status == HF_E_SERVER && call->is_temporary_failure;
    hf_call_end(call, status, reply);
}

void hf_call_end_with_error_reply(struct hf_call *call, struct hf_resp_value reply)
{
    char words[220], missing[HF_MISSING_ADVICE_MAX];
    const char *advice = hf_missing_command_advice(call->script, reply, missing);
    const char *ptr;
    size_t len;

    hf_refusal_text(reply, &ptr, &len);
    end_with_error_text(call, hf_error_quote(words, sizeof words, ptr, len),
                        advice ? advice : hf_call_advice(call, reply), reply);
}

/* HF_E_NOREPLY would be about an earlier request; this one was not sent. */
static hf_status status_of_unsent_request(const struct hf_error *why)
{
    return why->status == HF_E_NOREPLY ? HF_E_CONNECT : why->status;
}

void hf_call_end_unanswered(struct hf_call *call)
{
    const struct hf_error *why = hf_command_error(&call->command);

    call->is_temporary_failure = call->patience_reason[0] || call->may_have_run ||
                       status_of_unsent_request(why) == HF_E_CONNECT || why->status == HF_OK ||
                       hf_loop_now(call->loop) >= call->deadline_ms;
    if (call->patience_reason[0]) /* the server's reason for each refusal */
        end_with_error_text(call, call->patience_reason, call->refusal_advice, no_reply);
    else if (call->may_have_run)
        hf_call_end_with_message(call, HF_E_NOREPLY,
                                 why->status != HF_OK ? why->text
                                              : hf_command_address(&call->command),
                                 call->only_reads ? "no reply in time"
                                 : call->must_not_repeat
                             ? "no reply; the server may have executed it, or may do so "
                               "later: check the lock before you retry"
                             : "no reply in time; the server may have executed it");
    else if (why->status != HF_OK)
        hf_call_end_with_message(call, status_of_unsent_request(why), why->text, NULL);
    else
        hf_call_end_with_message(call, HF_E_CONNECT, hf_command_address(&call->command),
                                 "not connected in time");
}

/* For example, because the server does not reply to earlier requests. */
static void end_for_full_output(struct hf_call *call)
{
    const struct hf_error *why = hf_command_error(&call->command);

    call->is_temporary_failure = true;
    hf_call_end_with_message(call, HF_E_CONNECT,
                             why->status != HF_OK ? why->text
                                          : hf_command_address(&call->command),
                             "not sent in time: the output queue was full");
}

void hf_call_end_unsent(struct hf_call *call)
{
    if (call->command.was_output_full && !call->patience_reason[0] &&
        !call->may_have_run)
        end_for_full_output(call);
    else
        hf_call_end_unanswered(call);
}
