/* Which descriptors are open: that nothing is left, and nothing outlives an
 * exec.
 *
 *     fds_note();
 *     ... what opens and closes ...
 *     fds_await_none();
 */
#ifndef TEST_FDS_H
#define TEST_FDS_H

/* fds_note       - those that are open now are not to be counted.
 * fds_count      - those opened since that still are. Fails the test, naming
 *                  what it is, if one of them would outlive an exec.
 * fds_await_none - until there are none; fails the test if that never comes. A
 *                  name's lookup that nobody waits for any more has its own
 *                  thread, which closes what the system's resolver opened.
 * Threads: one. A descriptor above 1023 is not seen. */
void fds_note(void);
int fds_count(void);
void fds_await_none(void);

#endif
