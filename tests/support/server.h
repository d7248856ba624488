/* A real Redis or Valkey server that the test owns: on a free loopback port
 * and a Unix socket, keeping nothing on disk, gone with the test in whatever
 * way that ends (see keeper.h).
 *
 * Whatever cannot be done fails the running test (ck_abort_msg), with the tail
 * of the server's log where that helps; nothing here returns an error.
 *
 * Fork: a server may be started in a test, in a checked fixture, or in an
 * unchecked fixture in libcheck's parent process; every function works from
 * all of them. What a forked test does to the parent's server lasts.
 * Threads: any; questions to one server are asked one at a time. */
#ifndef TEST_SERVER_H
#define TEST_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct redisContext;
struct server;

/* server_start - starts the program named by the environment's HF_TEST_SERVER,
 * or else redis-server, and waits until it is ready.
 *   extra_args  more of its command line, ending in NULL, behind ours, so that
 *               they win; NULL: none. Copied. A "--requirepass" among them is
 *               what the witness uses; SERVER_PORT is its port ("--port", "0",
 *               "--tls-port", SERVER_PORT).
 *   A "--sentinel" among them makes it a sentinel (see sentinels.h), with a
 *   configuration file in its folder.
 * NULL if the program is not installed: then the test must say "skipped".
 * The command line asks for DEBUG, too, unless the server is too old to have
 * to be asked (before Redis 7).
 *
 * server_stop - nothing is left after: no process, no folder. Its port stays reserved and
 * refuses connections until this process ends. Takes NULL.
 *
 * server_is_installed - is there such a program? For a suite's main, which says
 * "skipped" and leaves the cases out that need a server: a libcheck test that
 * merely returns would count as passed. Cost: a start and a stop. */
#define SERVER_PORT "PORT"
struct server *server_start(const char *const *extra_args);
bool server_is_installed(void);
void server_stop(struct server *s);

/* server_pause   - SIGSTOP: connections are still accepted by the kernel, up to
 *                  the backlog; nothing is answered. Has stopped on return.
 * server_resume  - SIGCONT.
 * server_kill    - SIGKILL. Is dead on return: connections are refused, and no other
 *                  program gets its port.
 * server_restart - killed if need be, and ready again on return, at the same
 *                  port and path, with the same command line. What it held is
 *                  lost unless extra_args made it keep it ("--appendonly",
 *                  "yes": its folder stays). */
void server_pause(struct server *s);
void server_resume(struct server *s);
void server_kill(struct server *s);
void server_restart(struct server *s);

/* server_pid is 0 while no server runs. server_is_running: neither killed nor
 * paused. Texts are lent until server_stop. */
pid_t server_pid(struct server *s);
bool server_is_running(struct server *s);
int server_port(const struct server *s);
const char *server_unix_path(const struct server *s);
const char *server_folder(const struct server *s);

/* server_url - "redis://127.0.0.1:PORT", without any password. Returns buf. */
#define SERVER_URL_MAX 32
char *server_url(const struct server *s, char buf[SERVER_URL_MAX]);

/* server_ask - asks through hiredis (whose format this is: %s, %b with pointer
 * and length, %d, %lld; spaces part arguments) on a connection of its own over
 * the Unix socket, which a test sees as "witness" in CLIENT LIST. The answer
 * as witness_text gives it; an error reply is an answer, too. Lent until
 * SERVER_ANSWERS more questions or server_stop.
 * Fails the test if there is no answer within WITNESS_TIMEOUT_MS.
 *
 * server_ask_int - the same; fails the test if the answer is no integer.
 *
 * server_await - asks again, each millisecond, until the answer is `expected`;
 * fails the test, with the last answer, after `timeout_ms`. */
#define SERVER_ANSWERS 32
const char *server_ask(struct server *s, const char *format, ...);
long long server_ask_int(struct server *s, const char *format, ...);
void server_await(struct server *s, int timeout_ms, const char *expected,
                  const char *format, ...);

/* server_kill_connections - the ordinary and the subscribed ones, but for the
 * witness's and those of replicas; in one turn of the server, so that none that
 * comes back is hit again. */
void server_kill_connections(struct server *s);

/* server_connect - one more hiredis connection like the witness's, for the
 * caller's redisFree(); NULL if it cannot be made. */
struct redisContext *server_connect(struct server *s);

#endif
