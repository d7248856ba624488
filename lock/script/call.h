/* One script call: EVALSHA, or EVAL if the server does not know the script, with retries
 * until the deadline. Private to lock/.
 *
 * Every script may be executed any number of times, so if the outcome of a request is unknown,
 * it is sent again (design 4). The exception is a forced release without a holder: repeated,
 * it could free the lock of the next holder (must_not_repeat).
 *
 * CALL-1  A master may become a replica after it has executed the script, and before replicas
 *         have confirmed it. It then refuses WAIT, and the new master may lack the change: the
 *         script is sent again, within the deadline. The call fails when WAIT was refused in
 *         this way WAIT_REFUSALS_MAX times, as by replicas that accept writes.
 * CALL-2  A request that follows a redirection contains the text of its script, because the node
 *         to which a slot moves may not know the script. After NOSCRIPT the request would begin
 *         again at the node that replied ASK: two more round trips, which are too many for a
 *         renewal of a short lease. So does a release that is sent again: the server may have
 *         restarted, or may be another one, and a program that ends has little time for it.
 *         (Over a connection that works, NOSCRIPT costs a release one more round trip.) */
#ifndef HF_CALL_H
#define HF_CALL_H

#include "lock/lock.h"
#include "lock/machine/claims.h"
#include "lock/script/declare.h"
#include "lock/script/scripts.h"
#include "net/route/router.h"

/* Arguments that the call fills in before those of the owner: command, script, number of
 * keys. */
#define CALL_HEAD_ARGS 3

struct hf_call {
    /* Set by the owner. */
    const struct hf_script *script;
    struct hf_resp_arg *argv;     /* CALL_HEAD_ARGS free slots, keys, arguments; valid until
                                     `done` */
    size_t argc;
    size_t keys_count;
    const char *expected_echo;    /* the first element that the reply must have */
    size_t expected_echo_len;
    const char *lock_name;        /* the lock's name, for messages; NULL: the call concerns several
                                     locks */
    size_t lock_name_len;
    uint16_t slot;                /* of all keys */
    bool is_never_retried;        /* send it once: no retry, and no EVAL */
    bool only_reads;              /* changes nothing on the server */
    bool must_not_repeat;         /* an unknown outcome ends the call: executed again, it could free
                                     another holder */
    bool repeats_with_eval;       /* send EVAL whenever it is sent again (CALL-2) */
    bool sends_eval;              /* send EVAL at once; set when the server has requested it
                                     (NOSCRIPT) */
    bool *lacks_evalsha;          /* of the client: set when a server does not know EVALSHA; then
                                     EVAL is sent. NULL: not remembered */
    enum hf_derived derived_keys; /* the keys that the script derives. If there are any, the next
                                     two are set */
    struct hf_declare_state *declare_state;
    struct hf_resp_arg declared_hold_count; /* the hold count to reach; "": none */
    bool is_urgent;               /* as in hf_command: gets space before the others */
    bool is_tracked;              /* as in hf_command */
    bool is_replicated;           /* as in hf_command; must not overtake such commands */
    int replicas;                 /* as in hf_command; 0: none. With it: */
    int64_t replicas_timeout_ms;
    int64_t patience_ms;          /* for a call without a deadline: how long it is retried
                                     after the first temporary refusal (PATIENCE-1) */
    struct hf_error *error;       /* filled on failure; NULL: not needed */
    /* [locked] True: replicas must confirm this reply, and `on_replicas` is called instead
     * of `done`. HF_OK: they have confirmed it. HF_UNREPLICATED: too few have, or it is
     * unknown. HF_E_SERVER: WAIT is refused. Except with HF_OK the error is filled. If the
     * server has become a replica, the reply no longer counts, and the call continues as after
     * a lost connection. */
    bool (*must_replicas_confirm)(struct hf_call *call, struct hf_resp_value reply);
    void (*on_replicas)(struct hf_call *call, hf_status status);
    /* [locked] The first temporary refusal of the call: patience_reason and advice are set,
     * and the call is sent again later. NULL: not called. */
    void (*on_put_off)(struct hf_call *call);
    /* [locked] Called once. HF_OK: `reply` is an array that begins with the echo. Otherwise
     * HF_E_*; `may_have_run`: the server may have executed the script, or may still do
     * so. */
    void (*done)(struct hf_call *call, hf_status status,
                 struct hf_resp_value reply);

    /* For the owner to read in `done`. */
    bool may_have_run;
    bool is_repeated;             /* sent again after an unknown outcome */
    bool is_temporary_failure;    /* the failure is temporary: the server is unreachable, silent, or
                                     refuses for now (PATIENCE-1, PATIENCE-2) */
    bool was_redirected_by_ask;   /* the last request was redirected by ASK */
    bool is_under_way;            /* until `done` or `on_replicas` */
    /* From here on hf_call_start writes it: it need not be zeroed. */
    struct hf_sending sending;    /* sent_ms HF_NEVER: it was never sent */
    int64_t first_sent_ms;        /* when it was first sent; HF_NEVER: never */

    /* Used by call.c only. */
    struct hf_loop *loop;
    struct hf_router *router;
    struct hf_timer retry_timer;  /* until the next retry */
    int64_t deadline_ms;
    int replies_without_echo;     /* replies without the echo */
    struct hf_declared_args *declared_args; /* the arguments that are sent instead of argv; or
                                               NULL */
    bool is_listing_holds;        /* `declared_args` is the request that lists the holds */
    int wait_refusals;            /* refusals of WAIT by a new replica: CALL-1 */
    int retry_pause_doublings;    /* of the pause between retries */
    struct hf_command command;
    char patience_reason[100];    /* the last temporary refusal */
    const char *refusal_advice;   /* about it; NULL: none */
    bool is_refusal_by_proxy;     /* that refusal is a proxy's: the outcome is unknown
                                     (PATIENCE-5) */
    char keys_text[HF_RESP_INTEGER_MAX];
};

/* hf_call_start - sends the script; `done` follows if it returns HF_OK. HF_E_NOMEM, or
 *   HF_E_LIMIT (the command is larger than output_max). [locked] */
hf_status hf_call_start(struct hf_call *call, struct hf_loop *loop,
                        struct hf_router *router, int64_t deadline_ms)
    HF_MUST_CHECK;

/* hf_call_start_command - sends a command that is not a script. argv, argc, slot and done must be
 *   set. `done` receives HF_OK for any reply, or HF_E_NOREPLY. Errors as hf_call_start.
 *   [locked] */
hf_status hf_call_start_command(struct hf_call *call, struct hf_loop *loop,
                                struct hf_router *router, int64_t deadline_ms)
    HF_MUST_CHECK;

/* hf_call_cancel - ends it without calling `done`; call->may_have_run is set. [locked] */
void hf_call_cancel(struct hf_call *call);

/* hf_call_was_put_off - returns whether the server sent a temporary refusal (PATIENCE-1). */
static inline bool hf_call_was_put_off(const struct hf_call *call)
{
    return call->patience_reason[0] != '\0';
}

/* hf_call_is_sent - returns whether the request was sent and its reply has not arrived. */
bool hf_call_is_sent(const struct hf_call *call);

#endif
