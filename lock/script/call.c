/* Calling a script, with everything that can come between. See call.h. */
/* Tests: tests/live/fault/test_lock_errors.c, tests/live/fault/test_lock_forged.c,
 *        tests/live/fault/test_lock_cuts.c. */
#include "lock/script/call.h"

#include <stdio.h>
#include <string.h>

#include "lock/script/missing.h"
#include "lock/script/patience.h"
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
/* Bytes for the names of a script and a lock in messages; longer ones are cut. */
#define TITLE_MAX 140

static void on_reply(struct hf_command *command, enum hf_outcome outcome,
                     struct hf_resp_value reply);
static void on_acknowledged(struct hf_command *command, enum hf_outcome outcome,
                            struct hf_resp_value reply, uint32_t wanted);
static void on_retry(struct hf_timer *timer);

#define NAMES_ITSELF                                                           \
    "the node names itself: it redirects to the address at which it was reached; " \
    "a failover, or nodes that announce wrong addresses (cluster-announce-ip)"

static const char *advice_on(const struct hf_call *call, struct hf_resp_value reply)
{
    return call->command.names_itself ? NAMES_ITSELF : hf_patience_advice(reply);
}

/* ---- ending ---- */

static void drop_declared(struct hf_call *call)
{
    hf_declared_free(call->declared);
    call->declared = NULL;
    call->is_listing = false;
}

static void end_call(struct hf_call *call, hf_status status,
                     struct hf_resp_value reply)
{
    call->is_under_way = false;
    drop_declared(call);
    call->done(call, status, reply);
}

static const struct hf_resp_value no_reply;

/* "acquire of 'report'"; "renew". */
static const char *title_of(const struct hf_call *call, char dst[TITLE_MAX])
{
    char name[100];

    if (call->subject)
        (void)snprintf(dst, TITLE_MAX, "%s of '%s'", call->script->title,
                       hf_error_quote(name, sizeof name, call->subject,
                                      call->subject_len));
    else
        (void)snprintf(dst, TITLE_MAX, "%s", call->script->title);
    return dst;
}

static void end_with(struct hf_call *call, hf_status status, const char *what,
                     const char *why)
{
    char title[TITLE_MAX];

    hf_error_set(call->error, status, "%s: %s%s%s", title_of(call, title), what,
                 why ? ": " : "", why ? why : "");
    if (call->error)
        call->error->is_temporary = status == HF_E_SERVER && call->is_passing;
    end_call(call, status, no_reply);
}

/* The server's words, and what to do about them. */
static void end_with_words(struct hf_call *call, const char *words,
                           const char *advice, struct hf_resp_value reply)
{
    char title[TITLE_MAX];

    hf_error_set(call->error, HF_E_SERVER, "%s on %s: %s%s%s%s",
                 title_of(call, title), hf_command_address(&call->command),
                 words,
                 advice ? " (" : "", advice ? advice : "", advice ? ")" : "");
    if (call->error)
        call->error->is_temporary = call->is_passing;
    end_call(call, HF_E_SERVER, reply);
}

static void end_with_error_reply(struct hf_call *call,
                                 struct hf_resp_value reply)
{
    char words[220], missing[HF_MISSING_ADVICE_MAX];
    const char *advice = hf_missing_advice(call->script, reply, missing);
    const char *ptr;
    size_t len;

    hf_refusal_words(reply, &ptr, &len);
    end_with_words(call, hf_error_quote(words, sizeof words, ptr, len),
                   advice ? advice : advice_on(call, reply), reply);
}

/* That an earlier request had no reply does not make this one a sent one. */
static hf_status status_of(const struct hf_error *why)
{
    return why->status == HF_E_NOREPLY ? HF_E_CONNECT : why->status;
}

static void end_unanswered(struct hf_call *call)
{
    const struct hf_error *why = hf_command_error(&call->command);

    call->is_passing = call->patience_reason[0] || call->may_have_run ||
                       status_of(why) == HF_E_CONNECT || why->status == HF_OK ||
                       hf_loop_now(call->loop) >= call->deadline_ms;
    if (call->patience_reason[0]) /* the reason it gave all along */
        end_with_words(call, call->patience_reason, call->advice, no_reply);
    else if (call->may_have_run)
        end_with(call, HF_E_NOREPLY,
                 why->status != HF_OK ? why->text
                                      : hf_command_address(&call->command),
                 call->only_reads ? "no reply in time"
                 : call->must_not_repeat
                     ? "no reply; the server may have executed it, or may do so "
                       "later: check the lock before you retry"
                     : "no reply in time; the server may have executed it");
    else if (why->status != HF_OK)
        end_with(call, status_of(why), why->text, NULL);
    else
        end_with(call, HF_E_CONNECT, hf_command_address(&call->command),
                 "not connected in time");
}

/* For example, while another request waits for a reply that does not come. */
static void end_without_room(struct hf_call *call)
{
    const struct hf_error *why = hf_command_error(&call->command);

    call->is_passing = true;
    end_with(call, HF_E_CONNECT,
             why->status != HF_OK ? why->text
                                  : hf_command_address(&call->command),
             "not sent in time: the output queue was full");
}

static void end_unsent(struct hf_call *call)
{
    if (call->command.output_was_full && !call->patience_reason[0] &&
        !call->may_have_run)
        end_without_room(call);
    else
        end_unanswered(call);
}

/* ---- trying ---- */

static hf_status send_command(struct hf_call *call)
{
    return hf_router_send(call->router, &call->command);
}

static void send_again(struct hf_call *call)
{
    hf_status rc = send_command(call);

    if (rc < 0)
        end_with(call, rc, "cannot ask again", hf_status_text(rc));
}

static void use_verb(struct hf_call *call, struct hf_resp_arg *argv)
{
    argv[0] = call->by_text ? (struct hf_resp_arg){"EVAL", 4}
                            : (struct hf_resp_arg){"EVALSHA", 7};
    argv[1] = call->by_text
                  ? (struct hf_resp_arg){call->script->text, call->script->len}
                  : (struct hf_resp_arg){call->script->sha, 40};
}

/* Sets the arguments that are sent next. Replicas do not have to confirm a request that only
 * lists holds. */
static void use_args(struct hf_call *call)
{
    struct hf_resp_arg *argv = call->argv;
    size_t argc = call->argc;

    if (call->declared)
        argv = hf_declared_argv(call->declared, &argc);
    call->command.argv = argv;
    call->command.argc = argc;
    call->command.replicas = call->is_listing ? 0 : call->replicas;
}

static struct hf_declares declares_of(const struct hf_call *call)
{
    return (struct hf_declares){
        .argv = call->argv,
        .argc = call->argc,
        .first_key = CALL_HEAD,
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
    const struct hf_declares request = declares_of(call);

    drop_declared(call);
    call->is_listing = call->derives >= HF_DERIVES_OWN;
    call->declared = call->is_listing
                         ? hf_declared_list(call->declaring, &request)
                         : hf_declared_new(call->declaring, &request, no_reply);
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
    call->command.is_once = false;
    call->command.is_tracked = call->is_tracked;
    call->command.is_replicated = call->is_replicated;
    call->command.replicas_timeout_ms = call->replicas_timeout_ms;
    call->command.acknowledged = on_acknowledged;
    call->command.deadline_ms = call->deadline_ms;
    call->command.done = done;
}

static hf_status begin(struct hf_call *call, struct hf_loop *loop,
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
    call->may_have_run = call->is_repeated = call->is_passing = false;
    call->forgeries = call->demotions = call->doublings = 0;
    call->patience_reason[0] = '\0';
    call->timer = (struct hf_timer){.fire = on_retry};
    command_init(call, done);
    rc = send_command(call);
    call->is_under_way = rc == HF_OK;
    if (rc != HF_OK)
        drop_declared(call);
    return rc;
}

hf_status hf_call_start(struct hf_call *call, struct hf_loop *loop,
                        struct hf_router *router, int64_t deadline_ms)
{
    call->argv[2] = (struct hf_resp_arg){
        call->keys_text,
        hf_resp_format_integer(call->keys_text, (int64_t)call->keys)};
    call->by_text =
        call->by_text || (call->lacks_evalsha && *call->lacks_evalsha);
    use_verb(call, call->argv);
    call->declared = NULL;
    call->is_listing = false;
    if (call->derives != HF_DERIVES_NONE && call->declaring->is_needed &&
        !use_declared(call))
        return HF_E_NOMEM;
    return begin(call, loop, router, deadline_ms, on_reply);
}

static void on_told(struct hf_command *command, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    end_call(HF_OWNER_OF(command, struct hf_call, command),
             outcome == HF_ANSWERED ? HF_OK : HF_E_NOREPLY, reply);
}

hf_status hf_call_tell(struct hf_call *call, struct hf_loop *loop,
                       struct hf_router *router, int64_t deadline_ms)
{
    call->declared = NULL;
    call->is_listing = false;
    return begin(call, loop, router, deadline_ms, on_told);
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
        return;
    call->is_under_way = false;
    if (call->timer.link) {
        hf_loop_disarm(call->loop, &call->timer);
    } else {
        outcome = hf_router_cancel(&call->command);
        note_sent(call);
        if (outcome == HF_UNKNOWN && !call->is_listing)
            call->may_have_run = true;
    }
    drop_declared(call);
}

/* A request that is sent at the deadline could not be answered in time. */
static void on_retry(struct hf_timer *timer)
{
    struct hf_call *call = HF_OWNER_OF(timer, struct hf_call, timer);

    if (hf_loop_now(call->loop) < call->deadline_ms)
        send_again(call);
    else
        end_unanswered(call);
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

    hf_refusal_words(reply, &ptr, &len);
    (void)hf_error_quote(call->patience_reason, sizeof call->patience_reason,
                         ptr, len);
    call->advice = advice_on(call, reply);
}

/* Patience, until the deadline and not past it. */
static void try_later(struct hf_call *call, struct hf_resp_value reply)
{
    int64_t when = hf_loop_now(call->loop);
    uint32_t random;

    begin_deadline(call);
    note_patience(call, reply);
    if (call->is_once || when >= call->deadline_ms) {
        call->is_passing = true;
        end_with_error_reply(call, reply);
        return;
    }
    (void)hf_random(&random, sizeof random);
    when += (RETRY_MIN_MS + random % RETRY_SPREAD_MS) << call->doublings;
    call->doublings += call->doublings < RETRY_DOUBLINGS;
    hf_command_part(&call->command);
    hf_loop_arm(call->loop, &call->timer,
                when < call->deadline_ms ? when : call->deadline_ms);
}

/* ---- answers ---- */

static void note_stray(struct hf_sending *sending)
{
    bool is_first = sending->stray == 0 || sending->stray == sending->stream;

    sending->stray = is_first ? sending->stream : HF_STREAM_MANY;
}

static void unknown(struct hf_call *call)
{
    if (!call->is_listing) {
        call->may_have_run = true;
        note_stray(&call->sending);
    }
    if (call->is_once || call->must_not_repeat ||
        hf_loop_now(call->loop) >= call->deadline_ms) {
        end_unanswered(call);
        return;
    }
    call->is_repeated = !call->is_listing || call->is_repeated;
    send_again(call);
}

/* This reply does not belong to our request: the order of replies is wrong, or a script
 * forges replies (faults 0.3). No further reply on this connection is trusted. */
static void forged(struct hf_call *call)
{
    if (call->command.replicas)
        (void)hf_router_cancel(&call->command);
    hf_command_condemn(&call->command,
                       "the reply does not match the request");
    if (++call->forgeries < FORGERIES_MAX) {
        unknown(call);
        return;
    }
    call->may_have_run = !call->is_listing || call->may_have_run;
    end_with(call, HF_E_PROTOCOL, hf_command_address(&call->command),
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
    end_with(call, HF_E_LIMIT, hf_command_address(&call->command),
             "the reply is too large and was skipped");
}

/* ---- keys to declare ---- */

/* DECLARE-1. Returns whether the reply refuses an undeclared key and was handled: the call is
 * sent again, or has ended. The watchdog's renewal is sent once (is_once), and the watchdog
 * sends a new one. */
static bool declares(struct hf_call *call, struct hf_resp_value reply)
{
    bool is_first = !call->declared;

    if (call->derives == HF_DERIVES_NONE || call->is_listing ||
        !hf_refusal_is_undeclared(reply))
        return false;
    call->declaring->is_needed = true;
    if (call->is_once)
        return false;
    if (!use_declared(call))
        end_with(call, HF_E_NOMEM, "cannot declare its keys",
                 hf_status_text(HF_E_NOMEM));
    else if (is_first)
        send_again(call);
    else
        try_later(call, reply);
    return true;
}

static void listed(struct hf_call *call, struct hf_resp_value reply)
{
    const struct hf_declares request = declares_of(call);
    struct hf_declared *declared = hf_declared_new(call->declaring, &request, reply);

    if (!declared) {
        end_with(call, HF_E_NOMEM, "cannot declare its keys",
                 hf_status_text(HF_E_NOMEM));
        return;
    }
    drop_declared(call);
    call->declared = declared;
    use_args(call);
    send_again(call);
}

static void answered_error(struct hf_call *call, struct hf_resp_value reply)
{
    if (declares(call, reply))
        return;
    if (call->lacks_evalsha && hf_refusal_is_of_evalsha(reply))
        *call->lacks_evalsha = true;
    if (hf_refusal_wants_text(reply) && !call->is_once && !call->by_text &&
        !call->is_listing) {
        call->by_text = true; /* once: after EVAL, the same reply is an error */
        use_verb(call, call->argv);
        if (call->declared)
            use_verb(call, hf_declared_argv(call->declared, &(size_t){0}));
        send_again(call);
    } else if (hf_patience_with(reply) == HF_RETRIES ||
               call->command.was_put_off) {
        try_later(call, reply);
    } else {
        call->is_passing = hf_patience_with(reply) == HF_WAITS_ON;
        end_with_error_reply(call, reply);
    }
}

static void answered(struct hf_call *call, struct hf_resp_value reply)
{
    if (call->replicas && call->is_for_replicas(call, reply))
        return; /* on_acknowledged follows */
    if (call->replicas)
        (void)hf_router_cancel(&call->command);
    end_call(call, HF_OK, reply);
}

static void on_reply(struct hf_command *command, enum hf_outcome outcome,
                     struct hf_resp_value reply)
{
    struct hf_call *call = HF_OWNER_OF(command, struct hf_call, command);

    note_sent(call);
    call->is_by_ask = command->is_by_ask;
    if (outcome == HF_UNSENT)
        end_unsent(call);
    else if (outcome == HF_UNKNOWN)
        unknown(call);
    else if (hf_refusal_is_too_large(reply))
        too_large(call);
    else if (hf_resp_is_error(reply))
        answered_error(call, reply);
    else if (!is_ours(call, reply))
        forged(call);
    else if (call->is_listing)
        listed(call, reply);
    else
        answered(call, reply);
}

/* ---- replicas ---- */

static void acknowledge(struct hf_call *call, hf_status status)
{
    call->is_under_way = false;
    drop_declared(call);
    call->acknowledged(call, status);
}

static void too_few(struct hf_call *call, int64_t count, uint32_t wanted)
{
    char title[TITLE_MAX];

    hf_error_set(call->error, HF_UNREPLICATED,
                 "%s on %s: %lld of %u replicas have it", title_of(call, title),
                 hf_command_address(&call->command), (long long)count,
                 (unsigned)wanted);
    acknowledge(call, HF_UNREPLICATED);
}

static void wait_refused(struct hf_call *call, struct hf_resp_value reply)
{
    char words[200];
    const char *ptr = "";
    size_t len = 0;

    if (hf_refusal_is_of_wait_at_replica(reply) && ++call->demotions < DEMOTIONS_MAX) {
        unknown(call);
        return;
    }
    (void)hf_resp_bytes(reply, &ptr, &len);
    hf_error_set(call->error, HF_E_SERVER, "WAIT on %s: %s",
                 hf_command_address(&call->command),
                 hf_error_quote(words, sizeof words, ptr, len));
    acknowledge(call, HF_E_SERVER);
}

static void on_acknowledged(struct hf_command *command, enum hf_outcome outcome,
                            struct hf_resp_value reply, uint32_t wanted)
{
    struct hf_call *call = HF_OWNER_OF(command, struct hf_call, command);
    int64_t count = 0;

    if (outcome == HF_ANSWERED && hf_resp_is_error(reply))
        wait_refused(call, reply);
    else if (outcome == HF_ANSWERED &&
             hf_resp_integer(reply, &count) == HF_OK && count >= wanted)
        acknowledge(call, HF_OK);
    else
        too_few(call, count, wanted);
}
