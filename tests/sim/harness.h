/* A harness: a simulated world that a test drives itself, without a plan. It has
 * independent servers, processes with a client for each of the servers, and faults of each
 * server, link and process.
 *
 *     harness_begin(&harness, seed, "quorum", 3);
 *     process = harness_process(&harness, 1);
 *     client = harness_client(&harness, process, 0, 3000);
 *     harness_faults(&harness, NEVER);
 *     harness_run(&harness, 60000);
 *     ...
 *     harness_end(&harness);
 *
 * Unless noted otherwise, times are milliseconds since the world began. */
#ifndef SIM_HARNESS_H
#define SIM_HARNESS_H

#include <check.h>

#include "tests/sim/server.h"
#include "tests/sim/site.h"

#define HARNESS_SECOND INT64_C(1000000)
#define HARNESS_FAULTS_MS 60000       /* all faults begin before this time */
#define HARNESS_CALM_MS 60000         /* the time without faults that follows */
#define HARNESS_WATCHDOG_MS 3000      /* also the longest lease */
#define HARNESS_REQUEST_MS 1000
#define HARNESS_FAULTS_MAX 24
#define HARNESS_PROCESSES_MAX 8
#define HARNESS_PARTIES_MAX 4

/* What a server that dies does with its data. */
enum harness_forgetting {
    HARNESS_KEEPS,
    HARNESS_STAYS_AWAY,           /* loses it, and restarts after the longest lease */
    HARNESS_FORGETS_AT_ONCE       /* loses it, and restarts at once */
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
    int faults;                 /* the number of faults that keep the server down */
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
    char violation[300];        /* the first violation; "": none */
};

/* harness_begin   - creates the world with `servers` running servers. At most one world exists
 *                   at a time.
 * harness_end     - frees the world, after all clients were freed.
 * harness_draw    - returns a random number from 0 to sides - 1.
 * harness_now_us  - returns the time of the world, in us.
 * harness_violate - notes a violation of the property by this party. */
void harness_begin(struct harness *t, uint64_t seed, const char *stream, int servers);
void harness_end(struct harness *t);
int64_t harness_draw(struct harness *t, int64_t sides);
int64_t harness_now_us(const struct harness *t);
void harness_violate(struct harness *t, const char *property, int party);

/* harness_process - creates process "cN" for number N. Its clock has an offset and a rate of
 *                   its own.
 * harness_safe_until_us - returns the true time at which safe_ms from now have passed on the
 *                   clock of the process; 0 if safe_ms is 0.
 * harness_client  - creates a client of that process for server `index`; the world drives it. */
struct process *harness_process(struct harness *t, int number);
int64_t harness_safe_until_us(const struct process *process, int64_t safe_ms);
struct hf_client *harness_client(struct harness *t, struct process *process, int index);

/* harness_faults - draws the faults, after all processes were created. They begin within
 *                  HARNESS_FAULTS_MS.
 * harness_run    - runs the world until this time.
 * harness_granted - notes that the request of this party (numbered from 0) was granted.
 * harness_check_granted - P5: each party was granted a request in the second minute without
 *                  faults. In the first minute, the consequences of faults end. */
void harness_faults(struct harness *t, enum harness_forgetting forgetting);
void harness_run(struct harness *t, int64_t until_ms);
void harness_granted(struct harness *t, int party);
void harness_check_granted(struct harness *t, int parties);

/* harness_check_free - P6: no server has a key of this name. */
void harness_check_free(struct harness *t, const char *name);

/* harness_run_seeds - calls `one` for each seed of the environment variable `variable`
 *              ("1..300"), or by default for the first HARNESS_SEEDS seeds. Fails the test at
 *              the first violation. Returns the number of seeds.
 * harness_case - creates a test case with enough time for these seeds. */
#ifdef __SANITIZE_ADDRESS__
#define HARNESS_SEEDS 10          /* each of them takes three times as long */
#else
#define HARNESS_SEEDS 40
#endif
long long harness_run_seeds(struct harness *t, const char *variable,
                            void (*one)(uint64_t seed, enum harness_forgetting forgetting),
                            enum harness_forgetting forgetting);
TCase *harness_case(Suite *suite, const char *name, const char *variable);

#endif
