/* What a program of a run keeps, for program.c (its client and owners) and
 * operations.c (what it does with them). Private to these two. */
#ifndef SIM_PROGRAM_INNER_H
#define SIM_PROGRAM_INNER_H

#include "tests/sim/call.h"
#include "tests/sim/program.h"

#define RETRY_US 10000 /* what cannot be done now is tried again */

#define QUERIES 64 /* for credentials, without an answer */

struct query {
    struct program *program;
    uint64_t id; /* 0: none */
    struct event event;
};

#define FREED_KEPT 64   /* blocks, the last ones */

struct freed {
    void *ptr;
    size_t size;
};

/* Killed, closing or stopped: nothing of it runs, or a call blocks. */
#define PROGRAM_IS_BUSY(p)                                                              \
    ((p)->is_dead || (p)->is_closing || (p)->is_freeing || (p)->leaving > 0 ||          \
     process_is_suspended((p)->process))

struct program {
    struct sim *sim;
    int64_t index;
    struct process *process;
    int64_t ppm; /* the rate of its clock */
    struct hf_client *client; /* the first one */
    struct hf_client *clients[PLAN_MEMBERS_MAX]; /* of independent servers, one of each */
    size_t client_count;
    struct hf_lock *locks[PLAN_LOCKS_MAX][2];
    struct hf_semaphore *semaphores[PLAN_LOCKS_MAX]; /* with the names of expirable permits */
    struct hf_lock *members[PLAN_LOCKS_MAX][PLAN_MEMBERS_MAX]; /* of quorums */
    struct hf_quorum *quorums[PLAN_LOCKS_MAX];
    struct hf_multi *multis[PLAN_LOCKS_MAX];
    size_t leaving; /* candidates */
    struct owner *owners; /* of this client */
    struct call *calls;   /* all that there ever were */
    struct event resume, recover, kill;
    bool is_dead;      /* killed, and not there again */
    int64_t dead_ms;   /* how long */
    bool is_in_turn;   /* it is stopped within one: its loop is locked */
    int64_t stall_ms, stall_callback_ms; /* 0: it is not to be stopped */
    bool is_closing, is_freeing;
    int64_t close_ms;  /* -1: it is freed without */
    int64_t starve_in; /* allocations; 0: none fails */
    struct hf_mem mem;
    size_t bytes;      /* that the client has of it */
    struct freed freed[FREED_KEPT];
    size_t freed_count;
    char password[24];
    struct query queries[QUERIES];
};

/* program_owner          - the one that an operation names; made when first
 *                          asked for.
 * program_new_owner      - of that lock, side and number.
 * program_watch_queues   - as which of its calls stand in queues of servers.
 * program_open_client    - a new client, with a handle of each lock.
 * program_end_sets       - its sets and elections end, before the client is freed.
 * program_free_client    - frees it, with its owners: "died".
 * program_replace_client - closes it, with close_ms to run dry (-1: does not),
 *                          frees it, and opens another; the world continues
 *                          meanwhile, and this function may return before. */
/* program_call           - creates a call. Without an owner: NULL.
 * program_release        - creates the call of a release, which begins now.
 * program_began          - ends a call that failed to begin: nothing was done, whatever the
 *                          failure.
 * program_ended          - the end of a call that changes nothing here. */
struct call *program_call(struct program *p, struct owner *o, enum history_op op);
struct call *program_release(struct owner *o);
void program_began(struct call *c, hf_status status, hf_done *done);
void program_ended(void *ctx, hf_status status, const struct hf_error *err);
struct owner *program_owner(struct program *p, const struct plan_op *op);
struct owner *program_new_owner(struct program *p, int64_t lock, int64_t side,
                                int64_t number);
void program_watch_queues(struct program *p);
void program_open_client(struct program *p);
void program_end_sets(struct program *p);
void program_free_client(struct program *p);
void program_replace_client(struct program *p, int64_t close_ms);

#endif
