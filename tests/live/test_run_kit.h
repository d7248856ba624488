/* What the tests of the commands share: `holdfast` as a process whose words are
 * awaited, never slept for.
 *
 *     struct process *p = holdfast(server, "run", "--status-fd", "3", "x",
 *                                  "sh", "-c", "echo ready; read go", NULL);
 *     await_line(p, OUT, "ready");
 *     say(p, "go\n");
 *     ck_assert_int_eq(finish(p), 0);
 *
 * Everything awaited fails the test after PATIENCE_MS. */
#ifndef TEST_RUN_KIT_H
#define TEST_RUN_KIT_H

#include <check.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tests/support/one_server.h"

#define PATIENCE_MS 30000

struct process;

/* Its pipes: 1 and 2, and descriptor 3, for --status-fd 3. */
enum stream { OUT = 1, ERR = 2, STATUS = 3 };

/* holdfast - starts it with HOLDFAST_URL of the server (NULL: of none) and the
 *            arguments up to NULL. 0 is a pipe that `say` writes to.
 * holdfast_resp - the same with the program holdfast-resp.
 * start    - any program, argv[0] first.
 * start_deaf - likewise, with a standard error that is full before the first
 *            line and that nobody reads: a pipe or a socket.
 * start_as_init - any program, as PID 1 of a namespace of its own, as in a
 *            container. NULL: this user may not make one.
 * start_on_terminal - on the slave of a pseudo terminal whose other end is
 *            OUT, and what `say` writes to; as the leader of a session. */
struct process *holdfast(struct server *s, ...);
struct process *holdfast_resp(struct server *s, ...);
struct process *start(struct server *s, char *const *argv);
struct process *start_deaf(struct server *s, char *const *argv, bool is_socket);
struct process *start_as_init(struct server *s, char *const *argv);
struct process *start_on_terminal(struct server *s, char *const *argv);

pid_t pid_of(const struct process *p);

/* say        - writes to its standard input. shut - closes that.
 * await_line - reads lines until one contains `part`, which is returned
 *              without its newline, lent until the next call for this process.
 * await_either - as await_line, until a line contains one of two parts: a process that was
 *              stopped at the wrong moment reports the stop instead.
 * await_first - the first line of a stream; NULL: it ended without one.
 * await_end  - until nobody can write to that stream any more; returns what
 *              had not been read, lent likewise.
 * is_ended   - can nobody write to it any more, now?
 * deafen     - closes our end of it. */
void say(struct process *p, const char *text);
void shut(struct process *p);
const char *await_line(struct process *p, enum stream stream,
                       const char *part);
const char *await_either(struct process *p, enum stream stream, const char *part,
                         const char *other);
const char *await_first(struct process *p, enum stream stream);
const char *await_end(struct process *p, enum stream stream);
bool is_ended(struct process *p, enum stream stream);
void deafen(struct process *p, enum stream stream);

/* finish - waits until it has ended; its exit code, or 1000 + signal. */
int finish(struct process *p);

/* The value of a member of a JSON line, as text, lent until the next call. */
const char *member(const char *line, const char *key);

/* await_state - until /proc/PID/stat says that state ('T' stopped, ..).
 * is_dead     - has it ended, reaped or not? */
void await_state(pid_t pid, char state);
bool is_dead(pid_t pid);

/* The server that all tests of a program share.
 * run_suite - for main: runs it, frees it; 77 where there is no server.
 * run_case  - a case of it: the server is empty at each test's start, and no
 *             process is left at its end.
 * run_case_in - likewise, between `begin` and `end` of the whole case. */
int run_suite(Suite *suite);
TCase *run_case(Suite *suite, const char *name);
TCase *run_case_in(Suite *suite, const char *name, void (*begin)(void),
                   void (*end)(void));

/* The end of a shell script with traps: it waits until a signal ends it, and each signal runs
 * its trap. With `read`, a signal that arrives just before the shell blocks runs no trap. */
#define AWAIT_SIGNALS "while :; do sleep 1000 & wait $!; done"

/* Somebody else's lock, as Redisson would write it. */
#define STRANGER "6e3814a1-e847-452b-a982-45baf93a1df2:1"
void hold_by_other(const char *name, int ttl_ms);

#endif
