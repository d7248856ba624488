/* Acquires and releases locks as fast as the server replies, and measures it.
 *
 * A worker is a client with a connection of its own and one owner. Each has at most one request
 * under way, and all are driven by one loop.
 *
 *     IDLE -acquire-> WAITING -granted-> HELD -release-> RELEASING -done-> IDLE
 *
 * Rules
 * LOAD-1  In LOAD_OWN each worker has a lock of its own; in LOAD_SHARED all have the same. Each
 *         releases it when it is granted, and acquires it again when it is released.
 * LOAD-2  In LOAD_HANDOVER all workers use one lock. It is released when all others wait for it,
 *         so that each grant is a hand-over; and its last holder waits again when another worker
 *         has been granted the lock, so that it does not get it back at once.
 * LOAD-3  At the end of the time, after `pairs_max` pairs, after an error and after a signal no
 *         worker acquires again; waiting acquires are cancelled and held locks are released. The
 *         load has ended when all workers are idle. */
#ifndef CLI_BENCH_LOAD_H
#define CLI_BENCH_LOAD_H

#include "cli/base/wait.h"
#include "cli/bench/names.h"
#include "cli/bench/samples.h"

#define BENCH_CLIENTS_MAX 64

enum bench_load_form { LOAD_OWN, LOAD_SHARED, LOAD_HANDOVER };

struct bench_load;

struct bench_worker {
    struct bench_load *load;
    struct hf_client *client;
    struct hf_lock *own_lock, *shared_lock;
    char own_name[BENCH_OWN_MAX];

    /* Of the load that runs. */
    struct hf_lock *current_lock;
    enum { WORKER_IDLE, WORKER_WAITING, WORKER_HELD, WORKER_RELEASING } state;
    bool has_waited;            /* the server has refused its request: another holds the lock */
    int64_t owner;
    struct hf_cancel cancel;
    int64_t acquire_begun_us, granted_us, released_us;
};

struct bench_load {             /* zeroed, except `wait` */
    struct cli_wait *wait;      /* its loop, and the signals */
    size_t workers_count;       /* of workers */
    struct bench_worker workers[BENCH_CLIENTS_MAX];

    /* Of the load that runs. */
    enum bench_load_form form;
    size_t active_workers;      /* workers that take part: the first of them */
    size_t pairs_max;
    size_t pairs;               /* that are complete */
    bool must_end;              /* LOAD-3 */
    struct bench_worker *last_holder; /* the worker that has released the shared lock last */
    struct hf_timer timer;
    struct hf_task task;
    int64_t begun_us, ended_us;
    struct hf_error error;
    struct bench_samples acquires, releases, acquires_and_releases, handovers;
};

/* What was measured. */
struct bench_result {
    struct bench_times acquires, releases, acquires_and_releases, handovers;
    double pairs_per_second;    /* of all workers; 0: none was complete */
};

/* bench_load_open  - opens `workers_count` clients, and with them locks of `kind` whose names are
 *   derived from `name` (names.h). Nothing is held yet. Returns CLI_CONTINUE, or CLI_EXIT_ERROR
 *   after reporting the error.
 * bench_load_run   - runs the first `active` workers until end_ms or `pairs_max` pairs. Returns as
 *   bench_load_open, also after a signal (wait->signal).
 * bench_load_close - closes the clients. Below HF_OK: a lock may stay until its TTL expires, as
 *   cli_close_reason says. */
struct bench_plan {
    const struct cli_common *common;
    enum hf_lock_kind kind;
    const char *name;
    size_t workers_count;
};
int bench_load_open(struct bench_load *load, const struct bench_plan *plan);
int bench_load_run(struct bench_load *load, enum bench_load_form form, size_t active,
                   size_t pairs_max, int64_t end_ms, struct bench_result *out);
hf_status bench_load_close(struct bench_load *load);

#endif
