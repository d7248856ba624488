/* What loop_epoll.c, loop_uv.c and loop_event.c have in common: work that is
 * done while "order:42" is held. All of it is calls that do not block and the
 * callbacks that answer them; the loop is theirs. */
#ifndef JOB_H
#define JOB_H

#include <holdfast/holdfast.h>
#include <stdbool.h>

struct job {
    struct hf_client *client;
    struct hf_loop *loop;       /* the client's, to be driven */
    struct hf_lock *lock;
    struct hf_cancel cancel;
    int64_t owner;              /* who holds it, and gives it back */
    int renewals;               /* to come before the release */
    unsigned ticks;             /* the work that was done */
    bool is_held;
    bool is_over;               /* leave the loop, and call job_close */
    int exit_code;
};

/* job_open  - requests the lock: [URL [WATCHDOG_MS [RENEWALS]]]. Released
 *             when it was renewed so often (1; 0: it is not).
 * job_stop  - gives the wait or the lock up; it is over when that is done.
 * job_close - answers the program's exit code. */
void job_open(struct job *job, int argc, char **argv);
void job_stop(struct job *job);
int job_close(struct job *job);

#endif
