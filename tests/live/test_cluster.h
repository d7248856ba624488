/* What the live tests of clusters share: one cluster of three masters, each
 * with a replica, for all tests of a program; clients of it; names that lie
 * where a test wants them. */
#ifndef TEST_LIVE_CLUSTER_H
#define TEST_LIVE_CLUSTER_H

#include "net/route/slot.h"
#include "tests/live/test_lock.h"
#include "tests/support/cluster.h"

#define MASTERS 3
#define NODES (2 * MASTERS)
#define CLUSTER_URL_MAX 400
/* By a deadline of half a second, on a busy machine, and not by the request
 * timeout of 5 s. */
#define IN_TIME_MS 4000

static struct cluster *cluster;
static int protocol = 3;        /* of the clients to come */

/* Some commands are since Redis 7. */
static inline bool has_sharded(void)
{
    return !strstr(server_ask(cluster_node(cluster, 0),
                              "PUBSUB SHARDNUMSUB"),
                   "(error)");
}

/* ---- clients ---- */

/* By one node alone. */
static inline char *cluster_seed(char url[CLUSTER_URL_MAX], int port)
{
    (void)sprintf(url, "%s+cluster://127.0.0.1:%d",
                  tls_wanted() ? "rediss" : "redis", port);
    return url;
}

/* `options`: "sharded=off", or "". */
static inline char *cluster_url(char url[CLUSTER_URL_MAX], const char *options)
{
    char *to = url + sprintf(url, "%s+cluster://",
                             tls_wanted() ? "rediss" : "redis");

    for (int i = 0; i < NODES; i++)
        to += sprintf(to, "%s127.0.0.1:%d", i ? "," : "",
                      server_port(cluster_node(cluster, i)));
    (void)sprintf(to, "?protocol=%d%s%s", protocol, *options ? "&" : "",
                  options);
    return url;
}

/* What clients say of themselves goes to stderr, if HF_TEST_LOG is set. */
static inline void cluster_log(void *ctx, enum hf_log_level level,
                               const char *line)
{
    (void)ctx;
    (void)level;
    if (getenv("HF_TEST_LOG"))
        (void)fprintf(stderr, "%lld %s\n", (long long)local_now_ms(), line);
}

static inline void cluster_options(struct hf_client_options *o,
                                   char url[CLUSTER_URL_MAX])
{
    hf_client_options_init(o);
    o->url = cluster_url(url, "");
    o->tls = tls_wanted();
    o->log = cluster_log;
}

static inline struct hf_client *cluster_client(const char *options)
{
    struct hf_client_options o;
    char url[CLUSTER_URL_MAX];

    cluster_options(&o, url);
    (void)cluster_url(url, options);
    return client_with(&o);
}

/* One that knows the way, and has a link to every master. */
static inline struct hf_client *cluster_client_at_home(const char *options);

/* ---- names ---- */

/* "lock:N", the first from *n on that lies with this node; *n is the next. */
static inline char *name_at(int node, int *n, char name[32])
{
    for (int tries = 0; tries < 1000; tries++) {
        (void)sprintf(name, "lock:%d", (*n)++);
        if (cluster_owner(cluster, hf_slot_of(name, strlen(name))) == node)
            return name;
    }
    ck_abort_msg("node %d has no slots", node);
    return NULL;
}

static inline int slot_of(const char *name)
{
    return hf_slot_of(name, strlen(name));
}

static inline struct server *server_of(const char *name)
{
    return cluster_node(cluster, cluster_owner_of(cluster, name));
}

static inline struct hf_client *cluster_client_at_home(const char *options)
{
    struct hf_client *client = cluster_client(options);
    char name[32];
    int n = 0;

    for (int node = 0; node < NODES; node++) {
        struct hf_lock *lock;

        if (cluster_owner(cluster, 0) != node &&
            cluster_owner(cluster, HF_SLOTS / 2) != node &&
            cluster_owner(cluster, HF_SLOTS - 1) != node)
            continue;
        lock = lock_of(client, name_at(node, &n, name));
        acquire(lock, 1);
        release(lock, 1);
        hf_lock_free(lock);
    }
    return client;
}

/* ---- the cluster ---- */

/* Each of the first MASTERS nodes is a master again. */
static inline void cluster_restore(void)
{
    cluster_mend(cluster);
    for (int i = 0; i < MASTERS; i++)
        if (cluster_owner(cluster, HF_SLOTS * i / MASTERS + 1) != i)
            cluster_failover(cluster, i, "");
}

/* One that is not in step with its master takes nobody's place. */
static inline void await_replica(struct server *s)
{
    int64_t end_ms = local_now_ms() + CLUSTER_PATIENCE_MS;

    while (!strstr(server_ask(s, "INFO replication"),
                   "master_link_status:up")) {
        ck_assert_msg(local_now_ms() < end_ms, "a replica is not in step");
        local_poll_rest();
    }
}

/* Nothing that an earlier test has failed to remove. */
static inline void cluster_clean(void)
{
    cluster_restore();
    for (int i = MASTERS; i < NODES; i++)
        await_replica(cluster_node(cluster, i));
    for (int i = 0; i < NODES; i++)
        (void)server_ask(cluster_node(cluster, i), "FLUSHALL");
}

static inline void cluster_setup_test(void)
{
    protocol = 3;
    cluster_clean();
}

static inline void cluster_setup_test_resp2(void)
{
    protocol = 2;
    cluster_clean();
}

/* In the process that forks the tests, once. */
static inline void cluster_setup(void)
{
    if (!cluster)
        cluster = cluster_start(
            &(struct cluster_options){.masters = MASTERS, .replicas = 1});
}

static inline TCase *cluster_case(Suite *suite, const char *name, bool is_resp2)
{
    TCase *c = live_case(
        suite, name, is_resp2 ? cluster_setup_test_resp2 : cluster_setup_test,
        NULL);

    tcase_add_unchecked_fixture(c, cluster_setup, NULL);
    tcase_set_timeout(c, 2 * CLUSTER_PATIENCE_MS / 1000);
    return c;
}

static inline int cluster_main(const char *name, void (*add)(Suite *suite))
{
    int rc = live_main(name, add);

    cluster_stop(cluster);
    return rc;
}

#endif
