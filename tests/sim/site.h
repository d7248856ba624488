/* The servers of the deployment of a run, and the links to them. */
#ifndef SIM_SITE_H
#define SIM_SITE_H

#include "tests/sim/server.h"

#define SITE_SERVERS_MAX 12
#define SITE_SHARDS_MAX 7
#define SITE_CLUSTER_MASTERS 3
#define SITE_SEEDS 2
#define SITE_URL_MAX 512
#define SITE_PASSWORD "s%lld" /* %lld: its number */

struct nodes;
struct site_names;
struct sentinels;

struct site {
    struct sim *sim;
    struct server *servers[SITE_SERVERS_MAX];
    size_t count;
    struct server *masters[SITE_SHARDS_MAX];
    size_t shard_count;
    struct sentinels *sentinels; /* NULL: there are none */
    struct nodes *nodes;         /* of a cluster; NULL: not a cluster */
    struct disagree *disagree;   /* where its nodes were; NULL: not a cluster */
    struct site_names *names;    /* of SCENARIO_NAMES; else NULL */
    const struct server *falling; /* a master that is being replaced; NULL: none */
    const struct server *seeds[SITE_SEEDS]; /* in the URL; NULL: there is one server */
    char url[SITE_URL_MAX];
    int64_t one_server_us;       /* until then, two servers may seem to be one */
    int64_t password;            /* the number of the newest one; 0: there is none */
    int64_t known_password;      /* the number of the one that programs receive */
};

/* site_new    - creates all servers, which run. site_free accepts NULL.
 * site_link_all - sets the shapes of all links, after the programs were created.
 * site_forbid - sets the ACL of clients at each server, in ACL words.
 * site_set_password - the same at each server that is not a sentinel.
 * site_url    - writes the URL for client `index` of the program, in SITE_URL_MAX bytes. (Only
 *               with independent servers has a program more than one client.)
 * site_clients - returns the number of clients of a program.
 * site_server - returns a server; `number` modulo the number of servers.
 * site_link   - returns the link from a program to a server.
 * site_shape  - returns the shape of a link without faults.
 * site_lag_us - returns how late replicas receive the writes of their master.
 * site_master - returns the present master of a lock.
 * site_master_of_shard - returns the present master of a shard; modulo the number of shards.
 * site_new_master - `s` is the master of its shard in place of `old`. No sentinel learns of it
 *               before `first_us`; all nodes and sentinels know it at `last_us`.
 * site_publish - returns the command with which Redisson publishes there.
 * site_has_other_seed - returns whether another server than `s` of the URL runs.
 * site_dead_readers, site_keys, site_places - write "freed", "key" and "place" lines of the
 *               masters, as observer_*.
 * site_stray_askings - returns how often ASKING came without its command (model.h).
 * site_places_until - returns when the last place in a queue ends; 0: there is none. */
struct site *site_new(struct sim *sim);
void site_free(struct site *site);
void site_link_all(struct site *site);
void site_link_program(struct site *site, struct program *p);
void site_forbid(struct site *site, const char *acl);
void site_set_password(struct site *site, const char *acl);
void site_url(const struct site *site, int64_t program, size_t index, char *dst,
              size_t size);
size_t site_clients(const struct site *site);
struct server *site_server(const struct site *site, int64_t number);
struct link *site_link(const struct site *site, const struct program *p,
                       const struct server *s);
struct link_shape site_shape(const struct site *site);
const char *site_publish(const struct site *site);
int64_t site_lag_us(const struct site *site);
struct server *site_master(const struct site *site, int64_t lock);
struct server *site_master_of_shard(const struct site *site, int64_t number);
void site_new_master(struct site *site, struct server *s, struct server *old,
                     int64_t first_us, int64_t last_us);
bool site_has_other_seed(const struct site *site, const struct server *s);
void site_dead_readers(struct site *site);
void site_keys(struct site *site);
void site_places(struct site *site);
uint64_t site_stray_askings(const struct site *site);
int64_t site_places_until(struct site *site);
#endif
