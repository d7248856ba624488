/* Where make chaos takes place: real servers, and a proxy for each of them and each
 * of two sides; the workers of one side go through its proxies. */
#ifndef CHAOS_PLACE_H
#define CHAOS_PLACE_H

#include "tests/support/cluster.h"
#include "tests/support/proxy.h"
#include "tests/support/sentinels.h"

#define PLACE_SERVERS_MAX 8
#define PLACE_PROXIED_MAX 12        /* sentinels, too */
#define PLACE_SIDES 2

struct place {
    const char *name;
    struct server *standalone;      /* one of these three, or none of them */
    struct sentinels *sentinels;
    struct cluster *cluster;
    bool is_independent;            /* for sets of locks: no server knows another one */
    bool is_hosts;                  /* a master and its replicas without sentinels */
    int master;                     /* of these */
    struct server *servers[PLACE_SERVERS_MAX];      /* those that have data */
    int server_count;
    struct server *proxied[PLACE_PROXIED_MAX];      /* servers first */
    struct proxy *proxies[PLACE_PROXIED_MAX][PLACE_SIDES];
    int proxied_count;
    char url[512];
};

/* place_start  - "standalone", "sentinel", "cluster", "independent" or "hosts".
 * place_promote - hosts: the replica with the most data becomes the master, as by an operator
 *                after the master was lost. place_switch - by FAILOVER, without a loss.
 * place_follow - hosts: the server becomes a replica of the master, and has its data.
 * place_master - of a lock's name, as servers say at present: its number. Of independent
 *                servers: any.
 * place_mend   - all servers run, and agree.
 * place_port   - "PORT=PROXY", of a server and a side; for free(). */
struct place *place_start(const char *name);
void place_stop(struct place *p);
void place_promote(struct place *p);
void place_switch(struct place *p);
void place_follow(struct place *p, int server);
int place_master(struct place *p, const char *lock);
void place_mend(struct place *p);
char *place_port(const struct place *p, int proxied, int side);

#endif
