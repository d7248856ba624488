/* The handshake of one connection, as a pure machine: it returns the commands to
 * send and takes the replies. Private to net/.
 *
 *   HELLO -ok------------------+-> SETTLE -+------------------> READY
 *     |                        |           |                    ^ ^
 *     +-refused--> RESP2 -ok---+           +-predecessor-> KILL-+ |
 *                                                                 |
 *   BARE ---------------------------------------------------------+
 *
 * HELLO    HELLO 3 [AUTH user password]
 * RESP2    [AUTH [user] password], CLIENT ID
 * BARE     [AUTH [user] password], [SELECT n], PING
 * SETTLE   [CLIENT SETNAME name], CLIENT SETINFO (twice), [SELECT n],
 *          INFO server
 * KILL     CLIENT KILL ID predecessor: bytes that a lost connection left in the
 *          server's socket buffer must not be executed after ours. Only if the
 *          server is the same process (its run_id), else the id is somebody's.
 *
 * A refused HELLO is any error reply except WRONGPASS, NOAUTH if no password was
 * sent, and temporary errors (LOADING, BUSY, MASTERDOWN, too many clients):
 * proxies and servers that have no HELLO say so in words of their own.
 *
 * Some proxies (twemproxy) close the connection at a command that they do not
 * have. The owner chooses the manner of the next attempt (LINK-6).
 * A connection that was greeted BARE has no client id and no run_id: after it is
 * lost, its commands that are still under way cannot be stopped.
 *
 * Sources: RESP "Client handshake"; redis.io CLIENT KILL; design 11. */
#ifndef HF_GREET_H
#define HF_GREET_H

#include "net/base/login.h"
#include "net/net.h"

#define GREET_OUTPUT_MAX (1u << 18) /* every step fits: all parts are bounded */
#define RUN_ID_MAX 64

/* What one connection learns for the next one to the same server. */
struct hf_predecessor {
    int64_t id;                   /* of the last READY connection; 0: none */
    char run_id[RUN_ID_MAX];      /* "": not known, so nobody is killed */
};

enum hf_greet_manner { GREET_RESP3, GREET_RESP2, GREET_BARE };

enum hf_greet_answer { GREET_MORE, GREET_READY, GREET_FAILED };

struct hf_greeting {
    /* Set by the owner before hf_greet_start. */
    const struct hf_mem *mem;
    struct hf_login *login;       /* NULL: none. Borrowed until the next start */
    uint32_t database;
    const char *client_name;
    enum hf_greet_manner manner;
    bool is_careful;              /* PING first: if its reply comes and the
                                     connection is closed then, the next command
                                     was the reason */
    struct hf_predecessor *predecessor;   /* kept up to date */
    /* Tracing; NULL: none. A command with its password; a reply, and
     * whether its words may hold that. */
    void (*on_command)(void *ctx, const struct hf_resp_arg *argv, size_t argc);
    void (*on_reply)(void *ctx, struct hf_resp_value reply, bool is_secret);
    void *ctx;

    /* Results. */
    int protocol;
    bool has_killed;              /* the server confirmed that the predecessor is
                                     gone */
    bool is_final;                /* FAILED: trying again will not help */
    struct hf_error error;
    bool has_answered;            /* any command of this greeting */
    bool is_default_user;         /* the server refused the user: it logged in the
                                     default user, who has the same password */

    /* Its own. */
    bool is_checking;             /* whether it may be: the default user needs one */
    bool is_probing;              /* by that PING */
    int64_t id;
    char run_id[RUN_ID_MAX];
    uint8_t expected[8];          /* what the replies to come answer */
    uint32_t behind[8];           /* bytes of the step behind each of these */
    uint8_t expected_count;
    uint8_t next;
    char *output;                 /* allocated while it holds bytes */
    uint32_t output_room;
    size_t output_len;            /* the owner sends output[0..len), sets it 0 */
};

/* hf_greet_start - HF_E_NOMEM: there is no greeting.
 * hf_greet_reply - the next reply. */
hf_status hf_greet_start(struct hf_greeting *g);
enum hf_greet_answer hf_greet_reply(struct hf_greeting *g,
                                    struct hf_resp_value reply);

/* hf_greet_awaited - the command to which the next reply belongs, for messages. */
const char *hf_greet_awaited(const struct hf_greeting *g);

/* hf_greet_is_asked - has the question left to which the next reply belongs? A
 * step may leave in pieces, and be answered in pieces. */
bool hf_greet_is_asked(const struct hf_greeting *g);

/* hf_greet_wrote - so many bytes of the output were sent.
 * hf_greet_wipe  - no secret stays in memory: frees the output. */
void hf_greet_wrote(struct hf_greeting *g, size_t n);
void hf_greet_wipe(struct hf_greeting *g);

#endif
