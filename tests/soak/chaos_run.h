/* One run of make chaos: a place, its watches, the workers, and the lines of the
 * history that are the driver's own. */
#ifndef CHAOS_RUN_H
#define CHAOS_RUN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "tests/soak/chaos_place.h"
#include "tests/soak/chaos_watch.h"

#define RUN_WORKERS 6               /* at a time */
#define RUN_PATIENTS 3              /* behind them, when nothing fails any more */
#define RUN_ALL (RUN_WORKERS + RUN_PATIENTS)
#define RUN_GUARDED 3               /* runs of "holdfast run" at a time */
#define RUN_CLIENTS_MAX 4096        /* one after the other */
#define RUN_PERMITS_LOST 3          /* at most, with a worker of sets that is killed: of
                                       its call, and of those in the background */

struct run_worker {
    pid_t pid;                      /* 0: none */
    unsigned client;                /* c1.. */
    int in, out;                    /* its stdin and stdout */
    bool is_stopped;
};

struct run {
    struct place *place;
    char folder[64];
    uint64_t seed;
    struct watch *watches[PLACE_SERVERS_MAX];
    struct run_worker workers[RUN_ALL];
    struct run_worker guarded[RUN_GUARDED];
    unsigned clients;               /* so far */
    int kills;                      /* of workers, so far */
    FILE *lines;                    /* of the driver */
};

/* run_line   - a line of the history, at this moment: "w fault what=...".
 * run_path   - a file of the run's folder. Returns dst.
 * run_start  - the worker at place `i`, anew. run_stop, run_go, run_kill: suspends,
 *              continues, kills it (-9). run_close: lets it close its client.
 * run_order  - a byte to each of all, and waits until each has answered `answer`;
 *              false after `timeout_ms`. */
#define RUN_PATH_ROOM 128
void run_line(struct run *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *run_path(const struct run *r, const char *name, unsigned number,
               char dst[RUN_PATH_ROOM]);
void run_start(struct run *r, int i);
void run_stop(struct run *r, int i);
void run_go(struct run *r, int i);
void run_kill(struct run *r, int i);
void run_close(struct run *r, int i);
bool run_order(struct run *r, char order, const char *answer, int timeout_ms);

#endif
