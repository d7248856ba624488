/* A scripted peer: a server of our own, in a thread, on a free loopback port,
 * that says what a table tells it and complains of what it did not expect.
 *
 *     static const struct peer_step script[] = {
 *         PEER_ACCEPT, PEER_HANDSHAKE,
 *         PEER_EXPECT("SET key * NX"), PEER_SEND("+O"), PEER_WAIT, PEER_RESET,
 *         PEER_ACCEPT, PEER_HANDSHAKE,
 *         PEER_EXPECT("GET ..."), PEER_SEND("$-1\r\n"),
 *         PEER_END
 *     };
 *     struct peer *peer = peer_start(script);
 *     ... the client talks to 127.0.0.1, peer_port(peer) ...
 *     ck_assert_pstr_eq(peer_finish(peer), NULL);
 *     ck_assert_str_eq(peer_received(peer, 0), "SET key v NX");
 *     peer_free(peer);
 *
 * Each step has PEER_STEP_MS. The first that fails ends the script: all
 * connections and the listening socket are closed, so that the client need not
 * wait, and the complaint is kept. After a script's good end everything stays
 * open, silent, until peer_free.
 *
 * Belongs to the process that started it: a thread does not survive a fork. */
#ifndef TEST_PEER_H
#define TEST_PEER_H

#include <stdbool.h>
#include <stddef.h>

struct peer;

#define PEER_STEP_MS 5000
#define PEER_CONNECTIONS_MAX 16       /* over the whole script */
#define PEER_INPUT_MAX (32u << 20)    /* bytes of a connection, not yet taken */

enum peer_verb {
    PEER_DO_END,
    PEER_DO_ACCEPT,
    PEER_DO_TURN_TO,
    PEER_DO_HANDSHAKE,
    PEER_DO_EXPECT,
    PEER_DO_SEND,
    PEER_DO_SEND_SLOWLY,
    PEER_DO_CLOSE,
    PEER_DO_RESET,
    PEER_DO_GONE,
    PEER_DO_WAIT,
    PEER_DO_HOLD
};

/* Tables are made of the macros below (only a macro can stand in a static
 * table; "" makes sure that what is sent is a literal, whose length is known);
 * a script computed at run time fills the fields itself. */
struct peer_step {
    enum peer_verb verb;
    const char *text;                 /* EXPECT: pattern. SEND: bytes */
    size_t number;                    /* SEND: how many. TURN_TO: which */
};

/* PEER_ACCEPT      awaits the next connection, which becomes the current one,
 *                  the one that the following steps are about. Earlier ones
 *                  stay open.
 * PEER_TURN_TO(n)  the n-th accepted connection, from 1, is the current one.
 * PEER_HANDSHAKE       from now on, whenever the peer reads, handshake commands of
 *                  the current connection are answered as a server would (HELLO
 *                  3 and 2, AUTH, CLIENT.., SELECT, INFO; the client id is the
 *                  connection's number). An EXPECT whose first word names such
 *                  a command gets it all the same. Takes no time itself: to
 *                  await the end of a handshake, EXPECT what follows it, or
 *                  WAIT.
 * PEER_EXPECT(p)   reads one command of the current connection and compares it
 *                  with the pattern (see request_matches). Only these commands
 *                  count as executed and are in peer_received.
 * PEER_SEND(b)     writes bytes, a string literal, which may contain NULs.
 * PEER_SEND_SLOWLY(b)  a write for each byte, with a rest in between.
 * PEER_CLOSE       ends the current connection orderly (FIN): what was sent can
 *                  still be read by the client. Unexecuted commands are lost.
 * PEER_RESET       ends it with a reset (RST).
 * PEER_GONE        awaits that the client closes the current connection.
 * PEER_WAIT        awaits peer_go. Meanwhile all that comes is read.
 * PEER_HOLD        awaits peer_go and reads nothing, so that the client's
 *                  writes fill the kernel's buffers (some MB) and stop. */
#define PEER_END {.verb = PEER_DO_END}
#define PEER_ACCEPT {.verb = PEER_DO_ACCEPT}
#define PEER_TURN_TO(n) {.verb = PEER_DO_TURN_TO, .number = (n)}
#define PEER_HANDSHAKE {.verb = PEER_DO_HANDSHAKE}
#define PEER_EXPECT(pattern) {.verb = PEER_DO_EXPECT, .text = (pattern)}
#define PEER_SEND(b) \
    {.verb = PEER_DO_SEND, .text = "" b, .number = sizeof("" b) - 1}
#define PEER_SEND_SLOWLY(b) \
    {.verb = PEER_DO_SEND_SLOWLY, .text = "" b, .number = sizeof("" b) - 1}
#define PEER_CLOSE {.verb = PEER_DO_CLOSE}
#define PEER_RESET {.verb = PEER_DO_RESET}
#define PEER_GONE {.verb = PEER_DO_GONE}
#define PEER_WAIT {.verb = PEER_DO_WAIT}
#define PEER_HOLD {.verb = PEER_DO_HOLD}

/* peer_start  - `steps` end in PEER_END and are borrowed until peer_free.
 *               Fails the test if there is no port.
 * peer_finish - waits for the script's end (it ends: each step has its time).
 *               NULL if all went as written, or else the complaint, lent until
 *               peer_free. May be called again.
 * peer_free   - finishes first. Takes NULL. */
struct peer *peer_start(const struct peer_step *steps);
const char *peer_finish(struct peer *p);
void peer_free(struct peer *p);

int peer_port(const struct peer *p);

/* peer_go - ends one WAIT or HOLD: the present one, or else the next. */
void peer_go(struct peer *p);

/* peer_received - the index-th executed command (request_text), from 0, over
 *                 all connections; NULL: there were not so many. Lent until
 *                 peer_free. Handshakes that were answered are not among them.
 * peer_await    - until `count` commands have been executed; false if that
 *                 does not happen in PEER_STEP_MS or the script ends first. */
const char *peer_received(struct peer *p, size_t index);
size_t peer_received_count(struct peer *p);
bool peer_await(struct peer *p, size_t count);

#endif
