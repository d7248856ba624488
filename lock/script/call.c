/* Calling a script, with everything that can come between. See call.h. */
/* Tests: tests/live/fault/test_lock_errors.c, tests/live/fault/test_lock_forged.c,
 *        tests/live/fault/test_lock_cuts.c. */
#include "lock/script/call.h"

#include <stdio.h>
#include <string.h>

#include "lock/script/call_end.h"
#include "lock/script/patience.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/random.h"
#include "net/route/refusal.h"

/* The pause before a retry while a refusal lasts: RETRY_MIN_MS, and a random part of
 * RETRY_SPREAD_MS, so that clients do not retry at the same moment. Both double with the
 * first RETRY_DOUBLINGS retries. */
#define RETRY_MIN_MS 20
#define RETRY_SPREAD_MS 40
#define RETRY_DOUBLINGS 2
/* Replies that do not match their request. After more of them the call fails, because the
 * peer forges replies. */
#define FORGERIES_MAX 3
#define DEMOTIONS_MAX 4   /* CALL-1 */

static void on_reply(struct hf_command *command, enum hf_outcome outcome,
                     struct hf_resp_value reply);
static void on_replicas(struct hf_command *command, enum hf_outcome outcome,
                        struct hf_resp_value reply, uint32_t wanted);
static void on_redirected(struct hf_command *command);
static void on_retry(struct hf_timer *timer);

static const struct hf_resp_value no_reply;

/* ---- trying ---- */

static hf_status send_command(struct hf_call *call)
{
    return hf_router_send(call->router, &call->command);
}

static void use_verb(struct hf_call *call, struct hf_resp_arg *argv)
{
    argv[0] = call->by_text ? (struct hf_resp_arg){"EVAL", 4}
                            : (struct hf_resp_arg){"EVALSHA", 7};
    argv[1] = call->by_text
                  ? (struct hf_resp_arg){call->script->text, call->script->len}
                  : (struct hf_resp_arg){call->script->sha, 40};
}

/* The request that lists holds is another script, which is sent as text anyway. */
static void use_text(struct hf_call *call)
{
    call->by_text = true;
    use_verb(call, call->argv);
    if (call->declared && !call->is_listing)
        use_verb(call, hf_declared_args_argv(call->declared, &(size_t){0}));
}

static void send_again(struct hf_call *call)
{
    hf_status rc;

    if (call->repeats_by_text && !call->is_listing)
        use_text(call); /* CALL-2 */
    if ((rc = send_command(call)) < 0)
        hf_call_end_with_message(call, rc, "cannot send the request again", hf_status_text(rc));
}

/* Sets the arguments that are sent next. Replicas do not have to confirm a request that only
 * lists holds. */
static void use_args(struct hf_call *call)
{
    struct hf_resp_arg *argv = call->argv;
    size_t argc = call->argc;

    if (call->declared)
        argv = hf_declared_args_argv(call->declared, &argc);
    call->command.argv = argv;
    call->command.argc = argc;
    call->command.replicas = call->is_listing ? 0 : call->replicas;
}

static struct hf_declare_request declare_request_of(const struct hf_call *call)
{
    return (struct hf_declare_request){
        .argv = call->argv,
        .argc = call->argc,
        .first_key = CALL_HEAD_ARGS,
        .keys = call->keys,
        .owner = {call->echo, call->echo_len},
        .count = call->declared_count,
        .derives = call->derives,
    };
}

/* Sets the arguments that are sent next if keys must be declared: those of the request that
 * lists the holds, if they are needed. False: no memory. */
static bool use_declared(struct hf_call *call)
{
    const struct hf_declare_request request = declare_request_of(call);

    hf_call_drop_declared(call);
    call->is_listing = call->derives >= HF_DERIVES_OWN;
    call->declared = call->is_listing
                         ? hf_declared_args_for_listing(call->declare_state, &request)
                         : hf_declared_args_new(call->declare_state, &request, no_reply);
    if (!call->declared)
        call->is_listing = false;
    use_args(call);
    return call->declared != NULL;
}

static void command_init(struct hf_call *call,
                         void (*done)(struct hf_command *, enum hf_outcome,
                                      struct hf_resp_value))
{
    use_args(call);
    call->command.slot = call->slot;
    call->command.is_urgent = call->is_urgent;
    call->command.is_never_retried = call->command.is_probe = false;
    call->command.is_tracked = call->is_tracked;
    call->command.is_replicated = call->is_replicated;
    call->command.replicas_timeout_ms = call->replicas_timeout_ms;
    call->command.on_replicas = on_replicas;
    call->command.deadline_ms = call->deadline_ms;
    call->command.redirected = done == on_reply ? on_redirected : NULL;
    call->command.done = done;
}

static hf_status begin_call(struct hf_call *call, struct hf_loop *loop,
                            struct hf_router *router, int64_t deadline_ms,
                            void (*done)(struct hf_command *, enum hf_outcome,
                                         struct hf_resp_value))
{
    hf_status rc;

    call->loop = loop;
    call->router = router;
    call->deadline_ms = deadline_ms;
    call->first_sent_ms = HF_NEVER;
    call->sending = (struct hf_sending){.sent_ms = HF_NEVER};
    call->may_have_run = call->is_repeated = call->is_temporary_failure = false;
    call->forgeries = call->demotions = call->doublings = 0;
    call->patience_reason[0] = '\0';
    call->is_by_proxy = false;
    call->timer = (struct hf_timer){.fire = on_retry};
    command_init(call, done);
    rc = send_command(call);
    call->is_under_way = rc == HF_OK;
    if (rc != HF_OK)
        hf_call_drop_declared(call);
    return rc;
}

hf_status hf_call_start(struct hf_call *call, struct hf_loop *loop,
                        struct hf_router *router, int64_t deadline_ms)
{
    HF_ASSERT(hf_loop_is_locked(loop) && !call->is_under_way);
    HF_ASSERT(call->argc >= CALL_HEAD_ARGS + call->keys && call->done && call->echo_len > 0);
    call->argv[2] = (struct hf_resp_arg){
        call->keys_text,
        hf_resp_format_integer(call->keys_text, (int64_t)call->keys)};
    call->by_text =
        call->by_text || (call->lacks_evalsha && *call->lacks_evalsha);
    use_verb(call, call->argv);
    call->declared = NULL;
    call->is_listing = false;
    if (call->derives != HF_DERIVES_NONE && call->declare_state->is_needed &&
        !use_declared(call))
        return HF_E_NOMEM;
    return begin_call(call, loop, router, deadline_ms, on_reply);
}

static void on_told(struct hf_command *command, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    hf_call_end(HF_OWNER_OF(command, struct hf_call, command),
             outcome == HF_ANSWERED ? HF_OK : HF_E_NOREPLY, reply);
}

hf_status hf_call_start_command(struct hf_call *call, struct hf_loop *loop,
                                struct hf_router *router, int64_t deadline_ms)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    call->declared = NULL;
    call->is_listing = false;
    return begin_call(call, loop, router, deadline_ms, on_told);
}

bool hf_call_is_sent(const struct hf_call *call)
{
    return call->is_under_way && !call->timer.link && !call->is_listing &&
           hf_command_is_sent(&call->command);
}

static void note_sent(struct hf_call *call)
{
    if (call->command.sent_ms == HF_NEVER || call->is_listing)
        return;
    call->sending.sent_ms = call->command.sent_ms;
    call->sending.stream = call->command.stream;
    if (call->first_sent_ms == HF_NEVER)
        call->first_sent_ms = call->sending.sent_ms;
}

void hf_call_cancel(struct hf_call *call)
{
    enum hf_outcome outcome;

    if (!call->is_under_way)
        return; /* perhaps it was never started, and has no loop */
    HF_ASSERT(hf_loop_is_locked(call->loop));
    call->is_under_way = false;
    if (call->timer.link) {
        hf_loop_disarm(call->loop, &call->timer);
    } else {
        outcome = hf_router_cancel(&call->command);
        note_sent(call);
        if (outcome == HF_UNKNOWN && !call->is_listing)
            call->may_have_run = true;
    }
    hf_call_drop_declared(call);
}

/* A request that is sent at the deadline could not be answered in time. */
static void on_retry(struct hf_timer *timer)
{
    struct hf_call *call = HF_OWNER_OF(timer, struct hf_call, timer);

    if (hf_loop_now(call->loop) < call->deadline_ms)
        send_again(call);
    else
        hf_call_end_unanswered(call);
}

/* A server that refuses temporarily is running: from now on the deadline counts. */
static void begin_deadline(struct hf_call *call)
{
    if (call->deadline_ms != HF_NEVER)
        return;
    call->deadline_ms = hf_loop_now(call->loop) + call->patience_ms;
    call->command.deadline_ms = call->deadline_ms;
}

static void note_patience(struct hf_call *call, struct hf_resp_value reply)
{
    const char *ptr;
    size_t len;

    hf_refusal_text(reply, &ptr, &len);
    (void)hf_error_quote(call->patience_reason, sizeof call->patience_reason,
                         ptr, len);
    call->advice = hf_call_advice(call, reply);
    call->is_by_proxy = hf_patience_after_reply(reply) == HF_PATIENCE_RETRIES_LOST;
}

/* Patience, until the deadline and not past it. */
static void try_later(struct hf_call *call, struct hf_resp_value reply)
{
    int64_t when = hf_loop_now(call->loop);
    bool is_first = !hf_call_was_put_off(call);
    uint32_t random;

    begin_deadline(call);
    note_patience(call, reply);
    if (call->is_never_retried || when >= call->deadline_ms) {
        call->is_temporary_failure = true;
        hf_call_end_with_error_reply(call, reply);
        return;
    }
    if (is_first && call->put_off)
        call->put_off(call);
    (void)hf_random_bytes(&random, sizeof random);
    when += (RETRY_MIN_MS + random % RETRY_SPREAD_MS) << call->doublings;
    call->doublings += call->doublings < RETRY_DOUBLINGS;
    hf_command_forget_server(&call->command);
    hf_loop_arm(call->loop, &call->timer,
                when < call->deadline_ms ? when : call->deadline_ms);
}

/* ---- answers ---- */

static void note_stray(struct hf_sending *sending)
{
    bool is_first = sending->unanswered_stream == 0 ||
                    sending->unanswered_stream == sending->stream;

    sending->unanswered_stream = is_first ? sending->stream : HF_STREAM_MANY;
}

static void outcome_unknown(struct hf_call *call)
{
    if (!call->is_listing) {
        call->may_have_run = true;
        note_stray(&call->sending);
    }
    if (call->is_never_retried || call->must_not_repeat ||
        hf_loop_now(call->loop) >= call->deadline_ms) {
        hf_call_end_unanswered(call);
        return;
    }
    call->is_repeated = !call->is_listing || call->is_repeated;
    send_again(call);
}

/* This reply does not belong to our request: the order of replies is wrong, or a script
 * forges replies (faults 0.3). No further reply on this connection is trusted. */
static void reply_without_echo(struct hf_call *call)
{
    if (call->command.replicas)
        (void)hf_router_cancel(&call->command);
    hf_command_condemn(&call->command,
                       "the reply does not match the request");
    if (++call->forgeries < FORGERIES_MAX) {
        outcome_unknown(call);
        return;
    }
    call->may_have_run = !call->is_listing || call->may_have_run;
    hf_call_end_with_message(call, HF_E_PROTOCOL, hf_command_address(&call->command),
             "the reply does not match the request");
}

static bool is_ours(const struct hf_call *call, struct hf_resp_value reply)
{
    struct hf_resp_value first;

    return hf_resp_type(reply) == HF_RESP_ARRAY &&
           hf_resp_element(reply, 0, &first) == HF_OK &&
           hf_resp_is_text(first, call->echo, call->echo_len);
}

/* The script has run, and has not returned what ours return. To send it again would
 * have it return the same. */
static void too_large(struct hf_call *call)
{
    if (call->command.replicas)
        (void)hf_router_cancel(&call->command);
    call->may_have_run = !call->is_listing || call->may_have_run;
    hf_call_end_with_message(call, HF_E_LIMIT, hf_command_address(&call->command),
             "the reply is too large and was skipped");
}

/* ---- keys to declare ---- */

/* DECLARE-1. Returns whether the reply refuses an undeclared key and was handled: the call is
 * sent again, or has ended. The watchdog's renewal is sent once (is_never_retried), and the
 * watchdog sends a new one. */
static bool declare_keys_and_resend(struct hf_call *call, struct hf_resp_value reply)
{
    bool is_first = !call->declared;

    if (call->derives == HF_DERIVES_NONE || call->is_listing ||
        !hf_refusal_is_undeclared(reply))
        return false;
    call->declare_state->is_needed = true;
    if (call->is_never_retried)
        return false;
    if (!use_declared(call))
        hf_call_end_with_message(call, HF_E_NOMEM, "cannot declare its keys",
                 hf_status_text(HF_E_NOMEM));
    else if (is_first)
        send_again(call);
    else
        try_later(call, reply);
    return true;
}

static void holds_listed(struct hf_call *call, struct hf_resp_value reply)
{
    const struct hf_declare_request request = declare_request_of(call);
    struct hf_declared_args *declared =
        hf_declared_args_new(call->declare_state, &request, reply);

    if (!declared) {
        hf_call_end_with_message(call, HF_E_NOMEM, "cannot declare its keys",
                 hf_status_text(HF_E_NOMEM));
        return;
    }
    hf_call_drop_declared(call);
    call->declared = declared;
    use_args(call);
    send_again(call);
}

/* PATIENCE-5. The proxy may send the request to the server later, over any of its connections,
 * so no later reply on our connection shows that the request has ended. */
static void lost_by_proxy(struct hf_call *call, struct hf_resp_value reply)
{
    if (!call->is_listing) {
        call->may_have_run = true;
        call->is_repeated = true;
        call->sending.unanswered_stream = HF_STREAM_MANY;
    }
    if (!call->must_not_repeat) {
        try_later(call, reply);
        return;
    }
    call->is_temporary_failure = call->is_by_proxy = true;
    hf_call_end_with_error_reply(call, reply);
}

static void answered_error(struct hf_call *call, struct hf_resp_value reply)
{
    enum hf_patience patience = hf_patience_after_reply(reply);

    if (declare_keys_and_resend(call, reply))
        return;
    if (call->lacks_evalsha && hf_refusal_is_of_evalsha(reply))
        *call->lacks_evalsha = true;
    if (hf_refusal_needs_eval(reply) && !call->is_never_retried && !call->by_text &&
        !call->is_listing) {
        use_text(call); /* once: after EVAL, the same reply is an error */
        send_again(call);
    } else if (patience == HF_PATIENCE_RETRIES_LOST) {
        lost_by_proxy(call, reply);
    } else if (patience == HF_PATIENCE_RETRIES || call->command.was_put_off) {
        try_later(call, reply);
    } else {
        call->is_by_proxy = false; /* this reply is the server's */
        call->is_temporary_failure = patience == HF_PATIENCE_WAITS;
        hf_call_end_with_error_reply(call, reply);
    }
}

static void reply_received(struct hf_call *call, struct hf_resp_value reply)
{
    if (call->replicas && call->is_for_replicas(call, reply))
        return; /* on_replicas follows */
    if (call->replicas)
        (void)hf_router_cancel(&call->command);
    hf_call_end(call, HF_OK, reply);
}

static void on_reply(struct hf_command *command, enum hf_outcome outcome,
                     struct hf_resp_value reply)
{
    struct hf_call *call = HF_OWNER_OF(command, struct hf_call, command);

    note_sent(call);
    call->is_by_ask = command->is_by_ask;
    if (outcome == HF_UNSENT)
        hf_call_end_unsent(call);
    else if (outcome == HF_UNKNOWN)
        outcome_unknown(call);
    else if (hf_refusal_is_too_large(reply))
        too_large(call);
    else if (hf_resp_is_error(reply))
        answered_error(call, reply);
    else if (!is_ours(call, reply))
        reply_without_echo(call);
    else if (call->is_listing)
        holds_listed(call, reply);
    else
        reply_received(call, reply);
}

/* CALL-2 */
static void on_redirected(struct hf_command *command)
{
    use_text(HF_OWNER_OF(command, struct hf_call, command));
}

/* ---- replicas ---- */

static void end_with_replicas_status(struct hf_call *call, hf_status status)
{
    call->is_under_way = false;
    hf_call_drop_declared(call);
    call->on_replicas(call, status);
}

static void too_few(struct hf_call *call, int64_t count, uint32_t wanted)
{
    char title[HF_CALL_TITLE_MAX];

    hf_error_set(call->error, HF_UNREPLICATED,
                 "%s on %s: %lld of %u replicas have it", hf_call_title(call, title),
                 hf_command_address(&call->command), (long long)count,
                 (unsigned)wanted);
    end_with_replicas_status(call, HF_UNREPLICATED);
}

static void wait_refused(struct hf_call *call, struct hf_resp_value reply)
{
    char words[200];
    const char *ptr = "";
    size_t len = 0;

    if (hf_refusal_is_of_wait_at_replica(reply) && ++call->demotions < DEMOTIONS_MAX) {
        outcome_unknown(call);
        return;
    }
    if (hf_patience_after_reply(reply) == HF_PATIENCE_RETRIES_LOST) {
        lost_by_proxy(call, reply);
        return;
    }
    (void)hf_resp_bytes(reply, &ptr, &len);
    hf_error_set(call->error, HF_E_SERVER, "WAIT on %s: %s",
                 hf_command_address(&call->command),
                 hf_error_quote(words, sizeof words, ptr, len));
    end_with_replicas_status(call, HF_E_SERVER);
}

static void on_replicas(struct hf_command *command, enum hf_outcome outcome,
                        struct hf_resp_value reply, uint32_t wanted)
{
    struct hf_call *call = HF_OWNER_OF(command, struct hf_call, command);
    int64_t count = 0;

    if (outcome == HF_ANSWERED && hf_resp_is_error(reply))
        wait_refused(call, reply);
    else if (outcome == HF_ANSWERED &&
             hf_resp_integer(reply, &count) == HF_OK && count >= wanted)
        end_with_replicas_status(call, HF_OK);
    else
        too_few(call, count, wanted);
}
