/* A mixed soak: processes of holdfast and of Redisson take, hold and give back what
 * one server has, at random; some of them are killed and replaced.
 *
 * Each process marks what it does by a script of the same server, which appends a
 * line to the list "soak:log". So the lines are in the server's order, and each says
 * what the server itself had of the lock at that moment:
 *
 *     US start  CLIENT 0    -    -    UUID  -     -     ...
 *     US ask    CLIENT CALL KIND NAME OWNER WAIT  -     ...     before it asks
 *     US miss   CLIENT CALL KIND NAME OWNER -     -     ...     its wait is over
 *     US enter  CLIENT CALL KIND NAME OWNER LEASE TOKEN ...     it is inside
 *     US leave  CLIENT CALL KIND NAME OWNER LEASE -     ...     it is not, any more,
 *     US left   CLIENT CALL KIND NAME OWNER -     -     ...     and has released
 *     US gone   CLIENT CALL KIND NAME OWNER -     -     ...     or it had ended before
 *     US died   CLIENT 0    -    -    -     -     -     ...     killed, and gone
 *     US rest   CLIENT 0    KIND NAME -     -     -     ...     it holds this yet
 *     US buried CLIENT 0    -    -    -     -     -     ...     and no more
 *
 * and of each line, for ...: PTTL MINE OTHERS FIELD.
 * LEASE is in ms, 0: the watchdog renews. PTTL, MINE and OTHERS
 * are the server's: how long the hold stays, how often the owner has it, how many
 * others have a part of the lock that excludes it; FIELD: under which name. Of
 * permits MINE is how many are out, of them and of semaphores OTHERS is how many are
 * available.
 * An owner that enters with a lease of SOAK_SHORT_MS does not release. */
#ifndef TEST_REDISSON_SOAK_H
#define TEST_REDISSON_SOAK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lock/lock.h"

#define SOAK_WATCHDOG_MS 6000
#define SOAK_LEASE_MS 2000
#define SOAK_SHORT_MS 300
#define SOAK_FAIR_WAIT_MS 1600  /* the longest for a fair lock */
#define SOAK_THREADS 3
/* Dead waiters in the fair lock's queue: no process is killed while there would be
 * more. */
#define SOAK_DEAD_MAX (SOAK_THREADS + 1)
#define SOAK_PERMITS 3
#define SOAK_SEMAPHORE 2

/* What is there. A semaphore's permit that a dead process had is gone for good, so
 * only those that are never killed use it: it stands last. */
#define SOAK_THINGS(X)                                                        \
    X("plain", "plain:0", HF_KIND_PLAIN)                                      \
    X("plain", "plain:1", HF_KIND_PLAIN)                                      \
    X("fair", "fair:0", HF_KIND_FAIR)                                         \
    X("fenced", "fenced:0", HF_KIND_FENCED)                                   \
    X("nonreentrant", "nonreentrant:0", HF_KIND_NONREENTRANT)                 \
    X("spin", "spin:0", HF_KIND_SPIN)                                         \
    X("read", "rw:0", HF_KIND_READ)                                           \
    X("write", "rw:0", HF_KIND_WRITE)                                         \
    X("permit", "permit:0", HF_KIND_PERMIT)                                   \
    X("semaphore", "semaphore:0", HF_KIND_PLAIN) /* no lock: no kind */

struct soak_thing {
    const char *kind, *name;
    enum hf_lock_kind lock_kind;
};

static const struct soak_thing soak_things[] = {
#define SOAK_THING(kind, name, lock_kind) {kind, name, lock_kind},
    SOAK_THINGS(SOAK_THING)
#undef SOAK_THING
};
#define SOAK_THINGS_COUNT ((int)(sizeof soak_things / sizeof *soak_things))

/* ---- a process ---- */

int soak_worker(int argc, char **argv);

/* ---- the history ---- */

/* What became of the lines, for a summary. */
struct soak_counts {
    unsigned long lines, grants, handed_over, expired, misses, lost;
    unsigned long of_kind[2][16];   /* [0]: holdfast's, by the thing's number */
    int64_t longest_us, longest_fair_us, longest_rw_us, longest_pool_us;
};

/* soak_history_new  - the judge's lines go to `folder`/history, -fair and -rw.
 * soak_history_line - takes in a line of the log; `is_java`: by the client's number.
 * soak_history_end  - judges what only then is certain, says on stdout what is wrong;
 *                     returns how much that is, and frees it. */
struct soak_history;
struct soak_history *soak_history_new(const char *folder);
void soak_history_line(struct soak_history *h, const char *line);
unsigned long soak_history_end(struct soak_history *h, struct soak_counts *out);

/* A client's number is even if it is Redisson's. */
#define SOAK_IS_JAVA(client) ((client) % 2 == 0)

#endif
