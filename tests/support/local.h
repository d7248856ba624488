/* Functions for the other helpers: the clock, loopback sockets, memory. Threads: any. */
#ifndef TEST_LOCAL_H
#define TEST_LOCAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* local_now_ms - returns CLOCK_BOOTTIME in milliseconds, as hf_clock_ms does, so that times of
 * a helper can be compared with times of the library. */
int64_t local_now_ms(void);

/* local_rest_us   - sleeps for `us` microseconds. Only to keep events apart that would otherwise
 *                   coincide.
 * local_poll_rest - sleeps between two polls of a state that cannot be awaited: for a
 *                   millisecond, and for 5 after 20 polls in succession, because other tests
 *                   need the processor. */
void local_rest_us(int64_t us);
void local_poll_rest(void);

/* local_new  - returns zeroed memory, for free(). Never NULL: without memory the test fails.
 * local_copy - returns a copy of a text, in the same way. */
void *local_new(size_t size);
char *local_copy(const char *text);

/* local_reserve    - reserves port *port of 127.0.0.1 until this process ends; 0: a free
 *                    port, which is written to *port. Only a program that binds with
 *                    SO_REUSEADDR, as servers do, can listen there, and no other call
 *                    reserves it. Connections are refused while no program listens.
 *                    False: the port is in use.
 * local_listen     - a listening, non-blocking socket on a free port of
 *                    127.0.0.1, which is written to *port and stays reserved after the
 *                    socket is closed; -1: errno has the reason.
 * local_listen_once - the same, but the port is free after the socket is closed: for tests
 *                    that need hundreds of ports, and whose clients end before that.
 * local_dead_port  - returns a port of 127.0.0.1 on which no program listens while this
 *                    process runs; 0: there is none.
 * local_prepare    - makes a connection non-blocking and TCP_NODELAY.
 * local_close      - closes so that the other side reads all we wrote and then
 *                    the end (FIN): unread bytes, which would turn the end into
 *                    a reset, are read and forgotten.
 * local_reset      - closes so that the other side sees a reset (RST).
 * Both take -1 and do nothing. */
bool local_reserve(int *port);
int local_listen(int *port);
int local_listen_once(int *port);
int local_dead_port(void);
void local_prepare(int fd);
void local_close(int fd);
void local_reset(int fd);

/* local_cond_init - a condition whose waits are not moved by a clock's step.
 * local_cond_wait - as pthread_cond_wait; false once deadline_ms has passed. */
void local_cond_init(pthread_cond_t *cond);
bool local_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                     int64_t deadline_ms);

/* How long to rest between two small writes that are to arrive as two. Nothing
 * can promise that; 100 us are enough for a reader that waits in poll(2). */
#define LOCAL_SLICE_REST_US 100

#endif
