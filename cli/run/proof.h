/* The proof that a run is inside another. The environment of a command, which
 * describes its lock, is inherited through sudo(8) and ssh(1) also where nothing
 * else is: so a run inside sends the outer run its end of the notice (HOLDFAST_FD),
 * a pipe that only processes of the outer run's command have. The outer run compares
 * it with its own end, and replies whether it holds the lock.
 *
 *   server  the outer run's socket, in the abstract namespace of unix(7)
 *   proof   the other side: a request and its reply */
#ifndef CLI_RUN_PROOF_H
#define CLI_RUN_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/lock.h"
#include "net/net.h"

#define CLI_PROOF_ADDRESS_MAX 16 /* an address as text, and a 0 */

/* Returns whether this run holds that lock for that owner. Sets *token to its token, or 0. */
typedef bool cli_proof_holds(void *ctx, const char *name, size_t len,
                             const char *owner, int64_t *token);

struct cli_proof_server {
    struct hf_loop *loop;
    struct hf_io io;            /* fd -1: closed */
    bool has_call;              /* noted in a turn of the loop */
    int notice_fd;              /* our end of the notice; borrowed */
    cli_proof_holds *holds_lock;
    void *ctx;
    char address[CLI_PROOF_ADDRESS_MAX]; /* "": there is none, and no run inside */
};

/* cli_proof_server_open  - opens the socket. Without a socket or memory its address is empty.
 * cli_proof_server_after_turn  - replies to received queries. Call it after each hf_loop_dispatch.
 * cli_proof_server_close - closes it; also if it is closed, or all zero with io.fd -1. */
void cli_proof_server_open(struct cli_proof_server *server, struct hf_loop *loop, int notice_fd,
                           cli_proof_holds *holds, void *ctx);
void cli_proof_server_after_turn(struct cli_proof_server *server);
void cli_proof_server_close(struct cli_proof_server *server);

enum cli_proven { CLI_PROOF_PENDING, CLI_PROOF_HELD, CLI_PROOF_NONE };

struct cli_proof {
    struct hf_loop *loop;
    struct hf_io io;            /* the reply; fd -1: none is awaited */
    struct hf_timer timer;
    bool is_due;                /* noted in a turn of the loop */
    bool is_sent;
    int64_t until_ms;
    int notice_fd, passed_fd;   /* sent with the request */
    char address[CLI_PROOF_ADDRESS_MAX];
    char owner[HF_OWNER_TEXT_MAX];
    const char *name;
    size_t name_len;
};

/* cli_proof_begin - sends the request to that address: that we have `notice_fd`, for that lock
 *                   and owner. All pointers are borrowed until cli_proof_end.
 * cli_proof_look  - returns the result. Call it after each hf_loop_dispatch. HELD: *token is
 *                   the token, or 0. NONE: the outer run denies it, or does not reply.
 * cli_proof_end   - ends the request. Also if there is none. */
void cli_proof_begin(struct cli_proof *proof, struct hf_loop *loop,
                     const char *address, int notice_fd);
enum cli_proven cli_proof_look(struct cli_proof *proof, int64_t *token);
void cli_proof_end(struct cli_proof *proof);

#endif
