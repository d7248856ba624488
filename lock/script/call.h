/* One script called on the server: EVALSHA, EVAL where it is not known, again
 * where that is safe, until the deadline. Private to lock/.
 *
 * Every script of ours may run any number of times, so an unknown outcome is
 * made known by asking again (design 4). The exception is a forced release without
 * a holder: repeated, it could free the next one (must_not_repeat). */
#ifndef HF_CALL_H
#define HF_CALL_H

#include "lock/lock.h"
#include "lock/machine/claims.h"
#include "lock/script/scripts.h"
#include "net/route/router.h"

/* Slots that a call fills in before the owner's arguments: verb, script, number
 * of keys. */
#define CALL_HEAD 3

struct hf_call {
    /* Set by the owner. */
    const struct hf_script *script;
    struct hf_resp_arg *argv;     /* CALL_HEAD free slots, keys, arguments; all
                                     of it stays until `done` */
    size_t argc;
    size_t keys;
    const char *echo;             /* what the reply's first element must be */
    size_t echo_len;
    const char *subject;          /* the lock's name, for messages; NULL: many
                                     locks' */
    size_t subject_len;
    uint16_t slot;                /* of all keys */
    bool is_once;                 /* ask once: neither again nor by text */
    bool only_reads;              /* changes nothing on the server */
    bool must_not_repeat;         /* an unknown outcome ends it: run again, it could
                                     free another holder */
    bool by_text;                 /* send the script's text at once; set when it
                                     was sent because the server asked for it */
    bool *lacks_evalsha;          /* of the client: set when a server does not know
                                     EVALSHA; then scripts are sent as text. NULL:
                                     not remembered */
    bool is_urgent;               /* as hf_command's: it has room before the
                                     others */
    bool is_replicated;           /* as hf_command's; must not overtake those */
    int replicas;                 /* as hf_command's; 0: none. With it: */
    int64_t replicas_timeout_ms;
    int64_t patience_ms;          /* of a call without a deadline: for how long
                                     it is asked again from the first time on
                                     that the server asks for patience */
    struct hf_error *error;       /* filled on failure; NULL: nobody reads it */
    /* [locked] Must replicas confirm this reply? Then `acknowledged` is called
     * instead of `done`. HF_OK: they have confirmed it. HF_UNREPLICATED: too
     * few have, or nobody can say. HF_E_SERVER: WAIT is refused. But for HF_OK
     * the error is filled. */
    bool (*is_for_replicas)(struct hf_call *call, struct hf_resp_value reply);
    void (*acknowledged)(struct hf_call *call, hf_status status);
    /* [locked] Once. HF_OK: `reply` is an array that begins with the echo.
     * Else HF_E_*, and `may_have_run` says whether the server may have done it
     * or may do it yet. */
    void (*done)(struct hf_call *call, hf_status status,
                 struct hf_resp_value reply);

    /* For the owner to read in `done`. */
    bool may_have_run;
    bool is_repeated;             /* asked again after an unknown outcome */
    bool is_passing;              /* it failed, and might not later: the server
                                     is unreachable, silent, or refuses for now
                                     (PATIENCE-1, PATIENCE-2) */
    bool is_by_ask;               /* the last try was sent by ASK */
    bool is_under_way;            /* until `done` or `acknowledged` */
    /* From here on written by hf_call_start: it need not be zeroed. */
    struct hf_sending sending;    /* sent_ms HF_NEVER: it never was */
    int64_t first_sent_ms;        /* when the first try was; HF_NEVER: none */

    /* The call's own. */
    struct hf_loop *loop;
    struct hf_router *router;
    struct hf_timer timer;        /* before the next try */
    int64_t deadline_ms;
    int forgeries;
    int doublings;                /* of the pause between retries */
    struct hf_command command;
    char patience_reason[100];    /* why the server last asked for patience */
    const char *advice;           /* on that; NULL: none */
    char keys_text[HF_RESP_INTEGER_MAX];
};

/* hf_call_start  - HF_OK: `done` follows. HF_E_NOMEM, HF_E_LIMIT (too great for
 *                  the link, ever): it does not.
 * hf_call_tell   - likewise, of a command that is no script: argv, argc, slot
 *                  and done are set. `done` is told HF_OK, whatever the answer
 *                  was, or HF_E_NOREPLY.
 * hf_call_cancel - ends it without `done`; call->may_have_run is set.
 * [locked] */
hf_status hf_call_start(struct hf_call *call, struct hf_loop *loop,
                        struct hf_router *router, int64_t deadline_ms)
    HF_MUST_CHECK;
hf_status hf_call_tell(struct hf_call *call, struct hf_loop *loop,
                       struct hf_router *router, int64_t deadline_ms)
    HF_MUST_CHECK;
void hf_call_cancel(struct hf_call *call);

/* hf_call_was_put_off - the server asked for patience (PATIENCE-1), at least once. */
static inline bool hf_call_was_put_off(const struct hf_call *call)
{
    return call->patience_reason[0] != '\0';
}

/* hf_call_is_sent - bytes of it have left, and the answer is still to come. */
bool hf_call_is_sent(const struct hf_call *call);

#endif
