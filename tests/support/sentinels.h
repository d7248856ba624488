/* Real sentinels that the test owns, and the servers that they watch.
 *
 *     struct sentinels *s = sentinels_start(&(struct sentinels_options){
 *         .replicas = 2, .sentinels = 3});
 *     server_kill(sentinels_server(s, sentinels_master(s)));
 *     sentinels_await_master(s, 1);
 *     ...
 *     sentinels_stop(s);
 *
 * Servers are numbered: the first master is 0, its replicas follow. Stop,
 * continue, kill and restart servers and sentinels with what server.h has. A
 * master that is restarted comes back as one, for the 10 s or so that sentinels
 * take to make it a replica (S7).
 *
 * Whatever cannot be done within SENTINELS_PATIENCE_MS fails the test; nothing
 * here returns an error. Fork: as of server.h.
 * Cost: a start takes 2 to 3 s: sentinels send HELLO to each other that rarely. */
#ifndef TEST_SENTINELS_H
#define TEST_SENTINELS_H

#include "tests/support/server.h"

#define SENTINELS_MAX 16            /* of sentinels, of servers */
#define SENTINELS_PATIENCE_MS 60000
#define SENTINELS_NAME "mymaster"   /* what they call the master */

struct sentinels;

struct sentinels_options {
    int replicas;
    int sentinels;
    int quorum;                     /* 0: more than half of them */
    int down_after_ms;              /* 0: 1000 */
    int failover_timeout_ms;        /* 0: 3000. For twice that after a failover
                                       there is no other of the same master */
    const char *const *server_args; /* more for the command lines, as in */
    const char *const *sentinel_args;/* server_start; NULL: none */
};

/* sentinels_start - on return every sentinel knows the master, its replicas and
 *   all other sentinels, and each replica has the master's data. NULL: no
 *   server is installed; then the test must say "skipped".
 * sentinels_stop  - nothing is left. Takes NULL. */
struct sentinels *sentinels_start(const struct sentinels_options *options);
void sentinels_stop(struct sentinels *s);

struct server *sentinels_server(const struct sentinels *s, int index);
struct server *sentinels_sentinel(const struct sentinels *s, int index);

/* sentinels_view   - which server the sentinel `index` takes for the master;
 *                    -1: none of ours.
 * sentinels_master - as the first sentinel that runs says.
 * sentinels_await_master - until all sentinels that run say so, and it says
 *                    itself that it is one.
 * sentinels_failover - SENTINEL FAILOVER, by which no master need be down;
 *                    until all agree on another one. Returns that. */
int sentinels_view(struct sentinels *s, int index);
int sentinels_master(struct sentinels *s);
void sentinels_await_master(struct sentinels *s, int server);
int sentinels_failover(struct sentinels *s);

#endif
