/* A Redisson process that the test drives (Driver.java has the language).
 *
 *     struct driver *java = driver_start(server, 30000);
 *     ck_assert_str_eq(driver_ask(java, 1, "acquire lock order:42"), "ok");
 *     driver_tell(java, 2, "acquire lock order:42");     it waits
 *     ck_assert_ptr_null(driver_answer(java, 2, 200));
 *     driver_kill(java);
 *
 * Whatever cannot be done fails the test. It ends with the test's process. The
 * environment names its folder (HF_REDISSON) and the kinds of locks that it has
 * (HF_REDISSON_KINDS): see run.sh.
 * Threads: one at a time. */
#ifndef TEST_REDISSON_DRIVER_H
#define TEST_REDISSON_DRIVER_H

#include <stdbool.h>

struct driver;
struct server;

/* A JVM on a loaded machine is slow to start and slow to answer. */
#define DRIVER_MS 60000
#define DRIVER_THREADS 8        /* of the other side, numbered from 1 */

/* driver_has    - a kind of locks: "fenced".
 * driver_start  - ready on return; lockWatchdogTimeout is `watchdog_ms`.
 * driver_run    - another program that speaks this language, found as execvp
 *                 does; its first line is "ready".
 * driver_stop   - its input ends, and it. Takes NULL.
 * driver_kill   - SIGKILL; is dead on return. driver_stop follows.
 * driver_tell   - "VERB KIND NAME ..." to that thread.
 * driver_answer - the thread's next answer, lent until the one after; NULL:
 *                 none within `ms`.
 * driver_ask    - both. */
bool driver_has(const char *kind);
struct driver *driver_start(struct server *s, int watchdog_ms);
struct driver *driver_run(const char *const argv[]);
void driver_stop(struct driver *d);
void driver_kill(struct driver *d);
void driver_tell(struct driver *d, int thread, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *driver_answer(struct driver *d, int thread, int ms);
const char *driver_ask(struct driver *d, int thread, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
