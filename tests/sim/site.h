/* The servers of a run, as its deployment wants them, and the links to them.
 */
#ifndef SIM_SITE_H
#define SIM_SITE_H

#include "tests/sim/server.h"

#define SITE_SERVERS_MAX 12
#define SITE_SHARDS_MAX 7
#define SITE_CLUSTER_MASTERS 3
#define SITE_SEEDS 2
#define SITE_URL_MAX 256
#define SITE_PASSWORD "s%lld" /* by its number */

struct nodes;
struct sentinels;

struct site {
    struct sim *sim;
    struct server *servers[SITE_SERVERS_MAX];
    size_t count;
    struct server *masters[SITE_SHARDS_MAX];
    size_t shard_count;
    struct sentinels *sentinels; /* NULL: there are none */
    struct nodes *nodes;         /* of a cluster; NULL: it is none */
    const struct server *falling; /* a master that is being replaced; NULL */
    const struct server *seeds[SITE_SEEDS]; /* in the URL; NULL: one that is alone */
    char url[SITE_URL_MAX];
    int64_t password;            /* the number of the newest one; 0: there is none */
    int64_t known_password;      /* that programs are given */
};

/* site_new    - all of them up. site_free takes NULL.
 * site_link_all - after the programs were made: how their links are.
 * site_forbid - what clients may not do: ACL words, at each server.
 * site_set_password - ACL words, at each server that is not a sentinel.
 * site_url    - where the client of a program begins: SITE_URL_MAX bytes. Of independent
 *               servers: client `index` of the program.
 * site_clients - how many clients a program has.
 * site_server - any number names one.
 * site_link   - from a program to it.
 * site_shape  - how a link is while nothing disturbs it.
 * site_lag_us - how long news takes from a master to its replicas.
 * site_master - who decides about a lock now; site_master_of_shard - about a
 *               shard: any number names one.
 * site_new_master - of its shard, in place of `old`: no sentinel knows it before
 *               `first_us`; nodes and sentinels know it by `last_us`.
 * site_publish - with what Redisson publishes messages there.
 * site_has_other_seed - does one run, but for `s`, that the URL names?
 * site_dead_readers, site_keys, site_places - "freed", "key" and "place" lines of the
 *               masters: as observer_*.
 * site_places_until - when the last place in a queue is over; 0: there is none. */
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
int64_t site_places_until(struct site *site);
#endif
