/* The independent witness: questions to a server through hiredis, never
 * through our own parser and sockets. */
#ifndef TEST_WITNESS_H
#define TEST_WITNESS_H

#include <signal.h>

struct redisContext;
struct redisReply;

/* How long a witness waits for an answer. */
#define WITNESS_TIMEOUT_MS 20000

/* witness_connect - a hiredis connection over a Unix socket, named "witness"
 * in CLIENT LIST. `password` NULL: none. NULL if the server cannot be reached.
 * For redisFree(). */
struct redisContext *witness_connect(const char *unix_path,
                                     const char *password);

/* hiredis writes to a connection that the server may have closed. Until witness_written,
 * such a write of this thread ends with an error, not with the process (SIGPIPE). In all
 * other places the signal ends a test: the library must not cause it. */
void witness_writes(sigset_t *before);
void witness_written(const sigset_t *before);

/* witness_text - a reply as one line for free(): strings as they are (NUL as
 * \0), integers in decimal, null as "(nil)", an error as "(error) " and its
 * text, arrays as their elements with one space between, however nested. */
char *witness_text(const struct redisReply *reply);

#endif
