/* The handshake of one connection, as a pure machine: it receives replies and returns
 * the commands to send. Private to net/.
 *
 *   HELLO -ok-----------------+------------------------> READY
 *     |                       |                         ^ ^
 *     +-refused--> RESP2 -ok--+-predecessor--> KILL ----+ |
 *                                                         |
 *   BARE -------------------------------------------------+
 *
 * HELLO    HELLO 3 [AUTH user password], SETTINGS
 * RESP2    [AUTH [user] password], CLIENT ID, SETTINGS
 * BARE     [AUTH [user] password], [SELECT n], PING
 * SETTINGS [SELECT n], [CLIENT TRACKING ON OPTIN NOLOOP], INFO server,
 *          [CLIENT SETNAME name], CLIENT SETINFO (twice). TRACKING is sent with RESP3
 *          only. After any error reply, except to SELECT, the connection does without.
 * KILL     CLIENT KILL ID predecessor. It prevents that the server executes requests
 *          of the lost connection, which may still be in its socket buffer, after
 *          those of this one. It is sent only if the run_id shows that the server is
 *          the same process; in another process the id belongs to another client.
 *
 * The commands of a step are sent together, so that a handshake takes one round trip,
 * and KILL a second one. The next step, or READY, follows the last reply of a step.
 * If HELLO is refused, the replies to its SETTINGS have no effect. The commands of
 * SETTINGS change nothing but their own connection: the server may execute them before
 * it has accepted the login.
 *
 * HELLO counts as refused after any error reply, because proxies and servers without
 * HELLO use different messages. Exceptions: WRONGPASS; NOAUTH if no password was sent;
 * and temporary errors (LOADING, BUSY, MASTERDOWN, too many clients).
 *
 * Some proxies (twemproxy) close the connection when they receive a command that they
 * do not support. LINK-6 describes which mode the next attempt uses. The handshake
 * BARE reads no client id and no run_id: after the loss of such a connection, its
 * pending requests cannot be stopped.
 *
 * Sources: RESP "Client handshake"; redis.io CLIENT KILL; design 11. */
#ifndef HF_HANDSHAKE_H
#define HF_HANDSHAKE_H

#include "net/base/login.h"
#include "net/net.h"

#define HANDSHAKE_OUTPUT_MAX (1u << 18) /* longer than any step: a login has up to 64 KiB */
#define RUN_ID_MAX 64

/* The last READY connection to the same server, for KILL. */
struct hf_predecessor {
    int64_t client_id;            /* its client id; 0: none */
    char run_id[RUN_ID_MAX];      /* of its server; "": unknown, so KILL is not sent */
};

enum hf_handshake_mode { HANDSHAKE_RESP3, HANDSHAKE_RESP2, HANDSHAKE_BARE };

enum hf_handshake_result { HANDSHAKE_MORE, HANDSHAKE_READY, HANDSHAKE_FAILED };

struct hf_handshake {
    /* Set by the owner before hf_handshake_start. */
    const struct hf_mem *mem;
    struct hf_login *login;       /* NULL: none. Borrowed until the next start */
    uint32_t database;
    const char *client_name;
    enum hf_handshake_mode mode;
    bool probes_with_ping_first;  /* begins with PING: if the server replies to it and then closes
                                     the connection, the next command was the reason */
    bool wants_tracking;          /* CLIENT TRACKING, with RESP3 */
    struct hf_predecessor *predecessor;   /* read, and replaced when READY */
    /* Tracing; NULL: none. on_command receives the command with its password;
     * is_secret: the reply may contain that password. */
    void (*on_command)(void *ctx, const struct hf_resp_arg *argv, size_t argc);
    void (*on_reply)(void *ctx, struct hf_resp_value reply, bool is_secret);
    void *ctx;

    /* Results. */
    int protocol;
    bool is_tracking;             /* the server accepted CLIENT TRACKING */
    bool has_closed_predecessor;  /* the server confirmed that the predecessor is closed */
    bool is_failure_final;        /* FAILED: a retry would fail in the same way */
    struct hf_error error;
    bool has_answered;            /* the server replied to any command */
    bool uses_default_user;       /* the server refused the user, and accepted the password for the
                                     default user */

    /* Used by handshake.c only. */
    bool checks_if_login_needed;  /* the next reply shows whether the default user has a password:
                                     only then is it tried */
    enum hf_handshake_fallback {  /* of the replies to this step: */
        HANDSHAKE_NO_FALLBACK,
        HANDSHAKE_FALLBACK_RESP2, /* no effect; RESP2 follows, because HELLO was refused */
        HANDSHAKE_FALLBACK_DEFAULT_USER /* no effect; the default user follows */
    } fallback;
    bool has_pending_first_ping;     /* the PING of probes_with_ping_first is pending */
    int64_t client_id;
    char run_id[RUN_ID_MAX];
    uint8_t expected_commands[8];    /* the commands that have no reply yet, in order */
    uint32_t bytes_after_command[8]; /* bytes of the step that follow each of these */
    uint8_t expected_count;
    uint8_t next_expected;
    char *output;                    /* allocated while it contains bytes */
    uint32_t output_capacity;
    size_t output_len;               /* the owner sends output[0..len), sets it 0 */
};

/* hf_handshake_start - writes the first commands to `output`. HF_E_NOMEM: there is no
 *                  handshake. */
hf_status hf_handshake_start(struct hf_handshake *g);

/* hf_handshake_reply - processes one reply. HANDSHAKE_MORE: it expects further replies, and may
 *                  have written commands to `output`. HANDSHAKE_READY: the handshake has
 *                  ended. HANDSHAKE_FAILED: `error` and is_failure_final are set. */
enum hf_handshake_result hf_handshake_reply(struct hf_handshake *g,
                                            struct hf_resp_value reply);

/* hf_handshake_awaited_command - returns the command to which the next reply belongs, for
 *                    messages. */
const char *hf_handshake_awaited_command(const struct hf_handshake *g);

/* hf_handshake_awaited_is_sent - returns whether the command to which the next reply belongs was
 *                     sent completely: a step may be sent, and replied to, in parts. */
bool hf_handshake_awaited_is_sent(const struct hf_handshake *g);

/* hf_handshake_wrote - `n` bytes of the output were sent. */
void hf_handshake_wrote(struct hf_handshake *g, size_t n);

/* hf_handshake_wipe - overwrites all passwords in memory, and frees the output. */
void hf_handshake_wipe(struct hf_handshake *g);

#endif
