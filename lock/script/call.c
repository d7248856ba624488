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
#define REPLIES_WITHOUT_ECHO_MAX 3
#define WAIT_REFUSALS_MAX 4 /* CALL-1 */

static void on_command_done(struct hf_command *command, enum hf_outcome outcome,
                            struct hf_resp_value reply);
static void on_replicas_answered(struct hf_command *command, enum hf_outcome outcome,
                                 struct hf_resp_value reply, uint32_t wanted);
static void on_command_redirected(struct hf_command *command);
static void on_retry_timer(struct hf_timer *timer);

static const struct hf_resp_value no_reply;

/* ---- trying ---- */

static hf_status send_command(struct hf_call *call)
{
    return hf_router_send(call->router, &call->command);
}

static void put_eval_or_evalsha(struct hf_call *call, struct hf_resp_arg *argv)
{
    argv[0] = call->sends_eval ? (struct hf_resp_arg){"EVAL", 4}
                            : (struct hf_resp_arg){"EVALSHA", 7};
    argv[1] = call->sends_eval
                  ? (struct hf_resp_arg){call->script->text, call->script->len}
                  : (struct hf_resp_arg){call->script->sha, 40};
}

/* The request that lists holds is another script, which is sent as text anyway. */
static void switch_to_eval(struct hf_call *call)
{
    call->sends_eval = true;
    put_eval_or_evalsha(call, call->argv);
    if (call->declared_args && !call->is_listing_holds)
        put_eval_or_evalsha(call, hf_declared_args_argv(call->declared_args, &(size_t){0}));
}

static void send_call_again(struct hf_call *call)
{
    hf_status rc;

    if (call->repeats_with_eval && !call->is_listing_holds)
        switch_to_eval(call); /* CALL-2 */
    if ((rc = send_command(call)) < 0)
        hf_call_end_with_message(call, rc, "cannot send the request again", hf_status_text(rc));
}

/* Sets the arguments that are sent next. Replicas do not have to confirm a request that only
 * lists holds. */
static void set_command_args(struct hf_call *call)
{
    struct hf_resp_arg *argv = call->argv;
    size_t argc = call->argc;

    if (call->declared_args)
        argv = hf_declared_args_argv(call->declared_args, &argc);
    call->command.argv = argv;
    call->command.argc = argc;
    call->command.replicas = call->is_listing_holds ? 0 : call->replicas;
}

static struct hf_declare_request make_declare_request(const struct hf_call *call)
{
    return (struct hf_declare_request){
        .argv = call->argv,
        .argc = call->argc,
        .first_key = CALL_HEAD_ARGS,
        .keys_count = call->keys_count,
        .owner_field = {call->expected_echo, call->expected_echo_len},
        .wanted_hold_count = call->declared_hold_count,
        .derived_keys = call->derived_keys,
    };
}

/* Sets the arguments that are sent next if keys must be declared: those of the request that
 * lists the holds, if they are needed. False: no memory. */
static bool set_command_args_with_declared_keys(struct hf_call *call)
{
    const struct hf_declare_request request = make_declare_request(call);

    hf_call_drop_declared(call);
    call->is_listing_holds = call->derived_keys >= HF_DERIVES_OWN;
    call->declared_args = call->is_listing_holds
                         ? hf_declared_args_for_listing(call->declare_state, &request)
                         : hf_declared_args_new(call->declare_state, &request, no_reply);
    if (!call->declared_args)
        call->is_listing_holds = false;
    set_command_args(call);
    return call->declared_args != NULL;
}

static void init_command(struct hf_call *call,
                         void (*done)(struct hf_command *, enum hf_outcome,
                                      struct hf_resp_value))
{
    set_command_args(call);
    call->command.slot = call->slot;
    call->command.is_urgent = call->is_urgent;
    call->command.is_never_retried = call->command.is_probe = false;
    call->command.is_tracked = call->is_tracked;
    call->command.is_replicated = call->is_replicated;
    call->command.replicas_timeout_ms = call->replicas_timeout_ms;
    call->command.on_replicas = on_replicas_answered;
    call->command.deadline_ms = call->deadline_ms;
    call->command.on_redirected = done == on_command_done ? on_command_redirected : NULL;
    call->command.done = done;
}

static hf_status begin_script_call(struct hf_call *call, struct hf_loop *loop,
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
    call->replies_without_echo = call->wait_refusals = call->retry_pause_doublings = 0;
    call->patience_reason[0] = '\0';
    call->is_refusal_by_proxy = false;
    call->retry_timer = (struct hf_timer){.fire = on_retry_timer};
    init_command(call, done);
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
    HF_ASSERT(call->argc >= CALL_HEAD_ARGS + call->keys_count && call->done &&
              call->expected_echo_len > 0);
    call->argv[2] = (struct hf_resp_arg){
        call->keys_text,
        hf_resp_format_integer(call->keys_text, (int64_t)call->keys_count)};
    call->sends_eval =
        call->sends_eval || (call->lacks_evalsha && *call->lacks_evalsha);
    put_eval_or_evalsha(call, call->argv);
    call->declared_args = NULL;
    call->is_listing_holds = false;
    if (call->derived_keys != HF_DERIVES_NONE && call->declare_state->must_declare &&
        !set_command_args_with_declared_keys(call))
        return HF_E_NOMEM;
    return begin_script_call(call, loop, router, deadline_ms, on_command_done);
}

static void on_direct_reply(struct hf_command *command, enum hf_outcome outcome,
                            struct hf_resp_value reply)
{
    hf_call_end(HF_OWNER_OF(command, struct hf_call, command),
             outcome == HF_ANSWERED ? HF_OK : HF_E_NOREPLY, reply);
}

hf_status hf_call_start_command(struct hf_call *call, struct hf_loop *loop,
                                struct hf_router *router, int64_t deadline_ms)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    call->declared_args = NULL;
    call->is_listing_holds = false;
    return begin_script_call(call, loop, router, deadline_ms, on_direct_reply);
}

bool hf_call_is_sent(const struct hf_call *call)
{
    return call->is_under_way && !call->retry_timer.link && !call->is_listing_holds &&
           hf_command_is_sent(&call->command);
}

static void record_sending(struct hf_call *call)
{
    if (call->command.sent_ms == HF_NEVER || call->is_listing_holds)
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
    if (call->retry_timer.link) {
        hf_loop_disarm(call->loop, &call->retry_timer);
    } else {
        outcome = hf_router_cancel(&call->command);
        record_sending(call);
        if (outcome == HF_UNKNOWN && !call->is_listing_holds)
            call->may_have_run = true;
    }
    hf_call_drop_declared(call);
}

/* A request that is sent at the deadline could not be answered in time. */
static void on_retry_timer(struct hf_timer *timer)
{
    struct hf_call *call = HF_OWNER_OF(timer, struct hf_call, retry_timer);

    if (hf_loop_now(call->loop) < call->deadline_ms)
        send_call_again(call);
    else
        hf_call_end_unanswered(call);
}

/* A server that refuses temporarily is running: from now on the deadline counts. */
static void begin_deadline_of_patience(struct hf_call *call)
{
    if (call->deadline_ms != HF_NEVER)
        return;
    call->deadline_ms = hf_loop_now(call->loop) + call->patience_ms;
    call->command.deadline_ms = call->deadline_ms;
}

static void record_temporary_refusal(struct hf_call *call, struct hf_resp_value reply)
{
    const char *ptr;
    size_t len;

    hf_refusal_text(reply, &ptr, &len);
    (void)hf_error_quote(call->patience_reason, sizeof call->patience_reason,
                         ptr, len);
    call->refusal_advice = hf_call_advice(call, reply);
    call->is_refusal_by_proxy = hf_after_error_reply(reply) == HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY;
}

/* Patience, until the deadline and not past it. */
static void retry_later(struct hf_call *call, struct hf_resp_value reply)
{
    int64_t when = hf_loop_now(call->loop);
    bool is_first = !hf_call_was_put_off(call);
    uint32_t random;

    begin_deadline_of_patience(call);
    record_temporary_refusal(call, reply);
    if (call->is_never_retried || when >= call->deadline_ms) {
        call->is_temporary_failure = true;
        hf_call_end_with_error_reply(call, reply);
        return;
    }
    if (is_first && call->on_put_off)
        call->on_put_off(call);
    (void)hf_random_bytes(&random, sizeof random);
    when += (RETRY_MIN_MS + random % RETRY_SPREAD_MS) << call->retry_pause_doublings;
    call->retry_pause_doublings += call->retry_pause_doublings < RETRY_DOUBLINGS;
    hf_command_forget_server(&call->command);
    hf_loop_arm(call->loop, &call->retry_timer,
                when < call->deadline_ms ? when : call->deadline_ms);
}

/* ---- answers ---- */

static void record_unanswered_stream(struct hf_sending *sending)
{
    bool is_first = sending->unanswered_stream == 0 ||
                    sending->unanswered_stream == sending->stream;

    sending->unanswered_stream = is_first ? sending->stream : HF_STREAM_MANY;
}

static void handle_unknown_outcome(struct hf_call *call)
{
    if (!call->is_listing_holds) {
        call->may_have_run = true;
        record_unanswered_stream(&call->sending);
    }
    if (call->is_never_retried || call->must_not_repeat ||
        hf_loop_now(call->loop) >= call->deadline_ms) {
        hf_call_end_unanswered(call);
        return;
    }
    call->is_repeated = !call->is_listing_holds || call->is_repeated;
    send_call_again(call);
}

/* This reply does not belong to our request: the order of replies is wrong, or a script
 * forges replies (faults 0.3). No further reply on this connection is trusted. */
static void handle_reply_without_echo(struct hf_call *call)
{
    if (call->command.replicas)
        (void)hf_router_cancel(&call->command);
    hf_command_condemn(&call->command,
                       "the reply does not match the request");
    if (++call->replies_without_echo < REPLIES_WITHOUT_ECHO_MAX) {
        handle_unknown_outcome(call);
        return;
    }
    call->may_have_run = !call->is_listing_holds || call->may_have_run;
    hf_call_end_with_message(call, HF_E_PROTOCOL, hf_command_address(&call->command),
             "the reply does not match the request");
}

static bool has_reply_echo(const struct hf_call *call, struct hf_resp_value reply)
{
    struct hf_resp_value first;

    return hf_resp_type(reply) == HF_RESP_ARRAY &&
           hf_resp_element(reply, 0, &first) == HF_OK &&
           hf_resp_is_text(first, call->expected_echo, call->expected_echo_len);
}

/* The script has run, and has not returned what ours return. To send it again would
 * have it return the same. */
static void handle_too_large_reply(struct hf_call *call)
{
    if (call->command.replicas)
        (void)hf_router_cancel(&call->command);
    call->may_have_run = !call->is_listing_holds || call->may_have_run;
    hf_call_end_with_message(call, HF_E_LIMIT, hf_command_address(&call->command),
             "the reply is too large and was skipped");
}

/* ---- keys to declare ---- */

/* DECLARE-1. Returns whether the reply refuses an undeclared key and was handled: the call is
 * sent again, or has ended. The watchdog's renewal is sent once (is_never_retried), and the
 * watchdog sends a new one. */
static bool declare_keys_and_resend(struct hf_call *call, struct hf_resp_value reply)
{
    bool is_first = !call->declared_args;

    if (call->derived_keys == HF_DERIVES_NONE || call->is_listing_holds ||
        !hf_refusal_is_undeclared(reply))
        return false;
    call->declare_state->must_declare = true;
    if (call->is_never_retried)
        return false;
    if (!set_command_args_with_declared_keys(call))
        hf_call_end_with_message(call, HF_E_NOMEM, "cannot declare its keys",
                 hf_status_text(HF_E_NOMEM));
    else if (is_first)
        send_call_again(call);
    else
        retry_later(call, reply);
    return true;
}

static void handle_list_of_holds(struct hf_call *call, struct hf_resp_value reply)
{
    const struct hf_declare_request request = make_declare_request(call);
    struct hf_declared_args *declared =
        hf_declared_args_new(call->declare_state, &request, reply);

    if (!declared) {
        hf_call_end_with_message(call, HF_E_NOMEM, "cannot declare its keys",
                 hf_status_text(HF_E_NOMEM));
        return;
    }
    hf_call_drop_declared(call);
    call->declared_args = declared;
    set_command_args(call);
    send_call_again(call);
}

/* PATIENCE-5. The proxy may send the request to the server later, over any of its connections,
 * so no later reply on our connection shows that the request has ended. */
static void handle_loss_by_proxy(struct hf_call *call, struct hf_resp_value reply)
{
    if (!call->is_listing_holds) {
        call->may_have_run = true;
        call->is_repeated = true;
        call->sending.unanswered_stream = HF_STREAM_MANY;
    }
    if (!call->must_not_repeat) {
        retry_later(call, reply);
        return;
    }
    call->is_temporary_failure = call->is_refusal_by_proxy = true;
    hf_call_end_with_error_reply(call, reply);
}

static void handle_error_reply(struct hf_call *call, struct hf_resp_value reply)
{
    enum hf_after_error after = hf_after_error_reply(reply);

    if (declare_keys_and_resend(call, reply))
        return;
    if (call->lacks_evalsha && hf_refusal_is_of_evalsha(reply))
        *call->lacks_evalsha = true;
    if (hf_refusal_needs_eval(reply) && !call->is_never_retried && !call->sends_eval &&
        !call->is_listing_holds) {
        switch_to_eval(call); /* once: after EVAL, the same reply is an error */
        send_call_again(call);
    } else if (after == HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY) {
        handle_loss_by_proxy(call, reply);
    } else if (after == HF_AFTER_ERROR_REPEAT_REQUEST || call->command.is_error_temporary) {
        retry_later(call, reply);
    } else {
        call->is_refusal_by_proxy = false; /* this reply is the server's */
        call->is_temporary_failure = after == HF_AFTER_ERROR_WAIT_GOES_ON;
        hf_call_end_with_error_reply(call, reply);
    }
}

static void handle_reply(struct hf_call *call, struct hf_resp_value reply)
{
    if (call->replicas && call->must_replicas_confirm(call, reply))
        return; /* on_replicas_answered follows */
    if (call->replicas)
        (void)hf_router_cancel(&call->command);
    hf_call_end(call, HF_OK, reply);
}

static void on_command_done(struct hf_command *command, enum hf_outcome outcome,
                            struct hf_resp_value reply)
{
    struct hf_call *call = HF_OWNER_OF(command, struct hf_call, command);

    record_sending(call);
    call->was_redirected_by_ask = command->was_redirected_by_ask;
    if (outcome == HF_UNSENT)
        hf_call_end_unsent(call);
    else if (outcome == HF_UNKNOWN)
        handle_unknown_outcome(call);
    else if (hf_refusal_is_too_large(reply))
        handle_too_large_reply(call);
    else if (hf_resp_is_error(reply))
        handle_error_reply(call, reply);
    else if (!has_reply_echo(call, reply))
        handle_reply_without_echo(call);
    else if (call->is_listing_holds)
        handle_list_of_holds(call, reply);
    else
        handle_reply(call, reply);
}

/* CALL-2 */
static void on_command_redirected(struct hf_command *command)
{
    switch_to_eval(HF_OWNER_OF(command, struct hf_call, command));
}

/* ---- replicas ---- */

static void end_with_replicas_status(struct hf_call *call, hf_status status)
{
    call->is_under_way = false;
    hf_call_drop_declared(call);
    call->on_replicas(call, status);
}

static void end_with_too_few_replicas(struct hf_call *call, int64_t count, uint32_t wanted)
{
    char title[HF_CALL_TITLE_MAX];

    hf_error_set(call->error, HF_UNREPLICATED,
                 "%s on %s: %lld of %u replicas have it", hf_call_title(call, title),
                 hf_command_address(&call->command), (long long)count,
                 (unsigned)wanted);
    end_with_replicas_status(call, HF_UNREPLICATED);
}

static void handle_refused_wait(struct hf_call *call, struct hf_resp_value reply)
{
    char words[200];
    const char *ptr = "";
    size_t len = 0;

    if (hf_refusal_is_of_wait_at_replica(reply) && ++call->wait_refusals < WAIT_REFUSALS_MAX) {
        handle_unknown_outcome(call);
        return;
    }
    if (hf_after_error_reply(reply) == HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY) {
        handle_loss_by_proxy(call, reply);
        return;
    }
    (void)hf_resp_bytes(reply, &ptr, &len);
    hf_error_set(call->error, HF_E_SERVER, "WAIT on %s: %s",
                 hf_command_address(&call->command),
                 hf_error_quote(words, sizeof words, ptr, len));
    end_with_replicas_status(call, HF_E_SERVER);
}

static void on_replicas_answered(struct hf_command *command, enum hf_outcome outcome,
                                 struct hf_resp_value reply, uint32_t wanted)
{
    struct hf_call *call = HF_OWNER_OF(command, struct hf_call, command);
    int64_t count = 0;

    if (outcome == HF_ANSWERED && hf_resp_is_error(reply))
        handle_refused_wait(call, reply);
    else if (outcome == HF_ANSWERED &&
             hf_resp_integer(reply, &count) == HF_OK && count >= wanted)
        end_with_replicas_status(call, HF_OK);
    else
        end_with_too_few_replicas(call, count, wanted);
}
