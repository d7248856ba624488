/* A trial: a world that a test plays by itself, without a plan. It has servers that
 * know nothing of each other, processes with a client for each of them, and faults
 * that fall on each server, link and process by itself.
 *
 *     trial_begin(&trial, seed, "quorum", 3);
 *     process = trial_process(&trial, 1);
 *     client = trial_client(&trial, process, 0, 3000);
 *     trial_faults(&trial, NEVER);
 *     trial_run(&trial, 60000);
 *     ...
 *     trial_end(&trial);
 *
 * Times are of the world: milliseconds since it began, if not said otherwise. */
#ifndef SIM_TRIAL_H
#define SIM_TRIAL_H

#include <check.h>

#include "tests/sim/server.h"
#include "tests/sim/site.h"

#define TRIAL_SECOND INT64_C(1000000)
#define TRIAL_TROUBLE_MS 60000      /* faults begin before that */
#define TRIAL_CALM_MS 60000         /* and then there are none */
#define TRIAL_WATCHDOG_MS 3000      /* the longest lease, too */
#define TRIAL_REQUEST_MS 1000
#define TRIAL_FAULTS_MAX 24
#define TRIAL_PROCESSES_MAX 8
#define TRIAL_PARTIES_MAX 4

/* Does a server that dies come back without its data? */
enum trial_forgetting {
    TRIAL_KEEPS,
    TRIAL_STAYS_AWAY,           /* it forgets, and is away for longer than any lease */
    TRIAL_FORGETS_AT_ONCE
};

struct trial_fault {
    struct trial *trial;
    struct event event;
    int what;
    struct server *server;
    struct link *link;
    struct process *process;
    enum way way;
    int64_t for_us;
    bool is_over;
};

struct trial_down {
    int faults;                 /* that keep the server down */
    bool forgets;
};

struct trial {
    struct sim sim;
    struct plan plan;
    struct site site;
    struct play_result result;
    uint64_t dice;
    struct process *processes[TRIAL_PROCESSES_MAX];
    size_t processes_count;
    struct trial_fault faults[TRIAL_FAULTS_MAX];
    struct trial_down down[SITE_SERVERS_MAX];
    uint64_t granted_late[TRIAL_PARTIES_MAX];   /* how often, to each party */
    char violation[300];        /* the first one; "": none */
};

/* trial_begin   - the world, and `servers` of them, up. At most one at a time.
 * trial_end     - after all clients were freed.
 * trial_draw    - 0 to sides - 1. trial_now_us - the world's time.
 * trial_violate - notes it, with the party's number. */
void trial_begin(struct trial *t, uint64_t seed, const char *stream, int servers);
void trial_end(struct trial *t);
int64_t trial_draw(struct trial *t, int64_t sides);
int64_t trial_now_us(const struct trial *t);
void trial_violate(struct trial *t, const char *property, int party);

/* trial_process - number N is named "cN"; its clock is off and runs at a rate of its
 *                 own.
 * trial_until_us - when so many ms from now on its clock are over; 0: they are none.
 * trial_client  - of that process, at server `index`, driven by the world. */
struct process *trial_process(struct trial *t, int number);
int64_t trial_until_us(const struct process *process, int64_t safe_ms);
struct hf_client *trial_client(struct trial *t, struct process *process, int index);

/* trial_faults - draws them, once all processes are there. They begin within
 *                TRIAL_TROUBLE_MS.
 * trial_run    - until then.
 * trial_granted - notes that this party, from 0, was granted what it asked for.
 * trial_check_granted - P5: each of so many was in the second minute of calm. What
 *                faults have left has ended in the first. */
void trial_faults(struct trial *t, enum trial_forgetting forgetting);
void trial_run(struct trial *t, int64_t until_ms);
void trial_granted(struct trial *t, int party);
void trial_check_granted(struct trial *t, int parties);

/* trial_check_free - P6: no key of this name is left on any server. */
void trial_check_free(struct trial *t, const char *name);

/* trial_play - each of the worlds that the environment wants ("1..300" in
 *              `variable`), or else the first TRIAL_SEEDS. Fails the test with the
 *              first violation. Returns how many there were.
 * trial_case - with time for them. */
#ifdef __SANITIZE_ADDRESS__
#define TRIAL_SEEDS 10          /* each costs three times as much */
#else
#define TRIAL_SEEDS 40
#endif
long long trial_play(struct trial *t, const char *variable,
                     void (*one)(uint64_t seed, enum trial_forgetting forgetting),
                     enum trial_forgetting forgetting);
TCase *trial_case(Suite *suite, const char *name, const char *variable);

#endif
