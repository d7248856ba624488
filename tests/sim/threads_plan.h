/* Plans of test_threads: what several threads do with one client, or with a client of each of two
 * or three servers. */
#ifndef SIM_THREADS_PLAN_H
#define SIM_THREADS_PLAN_H

#include <stdio.h>

#include "lock/lock.h"

#define THREADS_CALLERS_MAX 4
#define THREADS_OPS_MAX 8
#define THREADS_LOCKS 2
#define THREADS_FAULTS_MAX 3
#define THREADS_SERVERS_MAX 3

/* Who drives the client's loop beside blocked callers. */
enum threads_mode { BACKGROUND, DISPATCHER, CALLERS_ALONE, THREADS_MODES };

enum threads_verb { ACQUIRE, ACQUIRE_ASYNC, INSPECT, REST, CANCEL, CLOSE, THREADS_VERBS };

struct threads_op {
    enum threads_verb verb;
    int lock;
    int64_t wait_ms;            /* HF_FOREVER: no end */
    int64_t us;                 /* how long the lock is held, or the caller rests */
    int whom;                   /* the caller whose wait is cancelled */
};

struct threads_fault {
    int64_t at_ms, for_ms;      /* for_ms 0: connections are dropped */
    int server;
};

struct threads_plan {
    uint64_t seed;
    enum threads_mode mode;
    int servers;                /* 1; 2: the second lock is on the second server; 3: the first
                                   lock is a quorum of three, and the second lock is on the
                                   second server */
    enum hf_lock_kind kinds[THREADS_LOCKS];
    int64_t stall_us, stay;
    int callers, op_counts[THREADS_CALLERS_MAX];
    struct threads_op ops[THREADS_CALLERS_MAX][THREADS_OPS_MAX];
    int fault_count;
    struct threads_fault faults[THREADS_FAULTS_MAX];
};

/* threads_plan_draw  - draws the plan of this seed.
 * threads_plan_write - writes it as text, a line for each operation and each fault.
 * threads_plan_read  - reads what threads_plan_write wrote; other lines are skipped.
 * threads_plan_shrink - leaves operations and faults out as long as `fails` is true of the
 *                  rest, of its seed or of one of a few others. */
void threads_plan_draw(struct threads_plan *plan, uint64_t seed);
void threads_plan_write(FILE *file, const struct threads_plan *plan);
void threads_plan_read(struct threads_plan *plan, FILE *file);
void threads_plan_shrink(struct threads_plan *plan,
                         bool (*fails)(struct threads_plan *plan));

#endif
