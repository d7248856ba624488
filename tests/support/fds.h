/* Which descriptors are open: that nothing is left, and nothing outlives an
 * exec.
 *
 *     fds_note();
 *     ... what opens and closes ...
 *     ck_assert_int_eq(fds_count(), 0);
 */
#ifndef TEST_FDS_H
#define TEST_FDS_H

/* fds_note  - those that are open now are not to be counted.
 * fds_count - those opened since that still are. Fails the test, naming what it
 *             is, if one of them would outlive an exec.
 * Threads: one. A descriptor above 1023 is not seen. */
void fds_note(void);
int fds_count(void);

#endif
