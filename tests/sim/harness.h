/* A harness: a world that a test drives by itself, without a plan. It has servers that
 * know nothing of each other, processes with a client for each of them, and faults
 * that fall on each server, link and process by itself.
 *
 *     harness_begin(&harness, seed, "quorum", 3);
 *     process = harness_process(&harness, 1);
 *     client = harness_client(&harness, process, 0, 3000);
 *     harness_faults(&harness, NEVER);
 *     harness_run(&harness, 60000);
 *     ...
 *     harness_end(&harness);
 *
 * Times are of the world: milliseconds since it began, if not said otherwise. */
#ifndef SIM_HARNESS_H
#define SIM_HARNESS_H

#include <check.h>

#include "tests/sim/server.h"
#include "tests/sim/site.h"

#define HARNESS_SECOND INT64_C(1000000)
#define HARNESS_FAULTS_MS 60000      /* faults begin before that */
#define HARNESS_CALM_MS 60000         /* and then there are none */
#define HARNESS_WATCHDOG_MS 3000      /* the longest lease, too */
#define HARNESS_REQUEST_MS 1000
#define HARNESS_FAULTS_MAX 24
#define HARNESS_PROCESSES_MAX 8
#define HARNESS_PARTIES_MAX 4

/* Does a server that dies come back without its data? */
enum harness_forgetting {
    HARNESS_KEEPS,
    HARNESS_STAYS_AWAY,           /* it forgets, and is away for longer than any lease */
    HARNESS_FORGETS_AT_ONCE
};

struct harness_fault {
    struct harness *harness;
    struct event event;
    int what;
    struct server *server;
    struct link *link;
    struct process *process;
    enum way way;
    int64_t for_us;
    bool is_over;
};

struct harness_down {
    int faults;                 /* that keep the server down */
    bool forgets;
};

struct harness {
    struct sim sim;
    struct plan plan;
    struct site site;
    struct run_result result;
    uint64_t dice;
    struct process *processes[HARNESS_PROCESSES_MAX];
    size_t processes_count;
    struct harness_fault faults[HARNESS_FAULTS_MAX];
    struct harness_down down[SITE_SERVERS_MAX];
    uint64_t granted_late[HARNESS_PARTIES_MAX];   /* how often, to each party */
    char violation[300];        /* the first one; "": none */
};

/* harness_begin   - the world, and `servers` of them, up. At most one at a time.
 * harness_end     - after all clients were freed.
 * harness_draw    - 0 to sides - 1. harness_now_us - the world's time.
 * harness_violate - notes it, with the party's number. */
void harness_begin(struct harness *t, uint64_t seed, const char *stream, int servers);
void harness_end(struct harness *t);
int64_t harness_draw(struct harness *t, int64_t sides);
int64_t harness_now_us(const struct harness *t);
void harness_violate(struct harness *t, const char *property, int party);

/* harness_process - number N is named "cN"; its clock is off and runs at a rate of its
 *                 own.
 * harness_safe_until_us - the true time at which safe_ms from now have passed on the clock of
 *                 the process; 0 if safe_ms is 0.
 * harness_client  - of that process, at server `index`, driven by the world. */
struct process *harness_process(struct harness *t, int number);
int64_t harness_safe_until_us(const struct process *process, int64_t safe_ms);
struct hf_client *harness_client(struct harness *t, struct process *process, int index);

/* harness_faults - draws them, once all processes are there. They begin within
 *                HARNESS_FAULTS_MS.
 * harness_run    - until then.
 * harness_granted - notes that this party, from 0, was granted what it asked for.
 * harness_check_granted - P5: each of so many was in the second minute of calm. What
 *                faults have left has ended in the first. */
void harness_faults(struct harness *t, enum harness_forgetting forgetting);
void harness_run(struct harness *t, int64_t until_ms);
void harness_granted(struct harness *t, int party);
void harness_check_granted(struct harness *t, int parties);

/* harness_check_free - P6: no key of this name is left on any server. */
void harness_check_free(struct harness *t, const char *name);

/* harness_run_seeds - each of the worlds that the environment wants ("1..300" in
 *              `variable`), or else the first HARNESS_SEEDS. Fails the test with the
 *              first violation. Returns how many there were.
 * harness_case - with time for them. */
#ifdef __SANITIZE_ADDRESS__
#define HARNESS_SEEDS 10          /* each costs three times as much */
#else
#define HARNESS_SEEDS 40
#endif
long long harness_run_seeds(struct harness *t, const char *variable,
                            void (*one)(uint64_t seed, enum harness_forgetting forgetting),
                            enum harness_forgetting forgetting);
TCase *harness_case(Suite *suite, const char *name, const char *variable);

#endif
