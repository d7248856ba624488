/* Servers and proxies of make chaos. */
#include "tests/soak/chaos_place.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/soak/chaos_sets.h"
#include "tests/support/local.h"

/* Sentinels allow no other failover before twice their failover timeout is over. */
#define FAILOVER_MS 2000

#define HOSTS 3
#define HOSTS_PATIENCE_MS 30000

static void add(struct place *p, struct server *server, bool has_data)
{
    ck_assert_ptr_nonnull(server);
    ck_assert_int_lt(p->proxied_count, PLACE_PROXIED_MAX);
    for (int side = 0; side < PLACE_SIDES; side++)
        p->proxies[p->proxied_count][side] = proxy_start(server_port(server));
    p->proxied[p->proxied_count++] = server;
    if (has_data)
        p->servers[p->server_count++] = server;
}

/* What it has written to its file it has again after a restart. */
static const char *const keeps_data[] = {"--appendonly", "yes", "--appendfsync",
                                         "always", NULL};

static void start_standalone(struct place *p)
{
    p->standalone = server_start(keeps_data);
    add(p, p->standalone, true);
    (void)snprintf(p->url, sizeof p->url, "redis://127.0.0.1:%d",
                   server_port(p->standalone));
}

static void start_sentinels(struct place *p)
{
    p->sentinels = sentinels_start(
        &(struct sentinels_options){.replicas = 2,
                                    .sentinels = 3,
                                    .failover_timeout_ms = FAILOVER_MS});
    ck_assert_ptr_nonnull(p->sentinels);
    for (int i = 0; i < 3; i++)
        add(p, sentinels_server(p->sentinels, i), true);
    for (int i = 0; i < 3; i++)
        add(p, sentinels_sentinel(p->sentinels, i), false);
    (void)snprintf(p->url, sizeof p->url,
                   "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/"
                   SENTINELS_NAME,
                   server_port(p->proxied[3]), server_port(p->proxied[4]),
                   server_port(p->proxied[5]));
}

static void start_cluster(struct place *p)
{
    char *to = p->url + sprintf(p->url, "redis+cluster://");

    p->cluster = cluster_start(
        &(struct cluster_options){.masters = 3, .replicas = 1});
    ck_assert_ptr_nonnull(p->cluster);
    for (int i = 0; i < cluster_count(p->cluster); i++) {
        add(p, cluster_node(p->cluster, i), true);
        to += sprintf(to, "%s127.0.0.1:%d", i ? "," : "",
                      server_port(cluster_node(p->cluster, i)));
    }
}

static void start_independent(struct place *p)
{
    char *to = p->url;

    p->is_independent = true;
    for (int i = 0; i < CHAOS_SETS_SERVERS; i++) {
        add(p, server_start(keeps_data), true);
        to += sprintf(to, "%sredis://127.0.0.1:%d", i ? " " : "",
                      server_port(p->servers[i]));
    }
    (void)server_ask(p->servers[0], "SET " CHAOS_SETS_SEMAPHORE " %d",
                     CHAOS_SETS_PERMITS);
}

/* ---- a master and its replicas, which an operator looks after ---- */

static struct server *host_master(const struct place *p)
{
    return p->servers[p->master];
}

static bool is_replica(const struct place *p, int i)
{
    return i != p->master && server_is_running(p->servers[i]);
}

static void await_data(struct server *s)
{
    server_await(s, HOSTS_PATIENCE_MS, "up", "EVAL %s 0",
                 "return redis.call('info','replication'):match"
                 "('master_link_status:(%a+)')");
}

void place_follow(struct place *p, int server)
{
    const char *answer;

    if (!p->is_hosts || server == p->master)
        return;
    answer = server_ask(p->servers[server], "REPLICAOF 127.0.0.1 %d",
                        server_port(host_master(p)));
    ck_assert_msg(strncmp(answer, "OK", 2) == 0, "REPLICAOF: %s", answer); /* "OK Already ..." */
    await_data(p->servers[server]);
}

static void follow_all(struct place *p)
{
    for (int i = 0; i < p->server_count; i++)
        if (is_replica(p, i))
            place_follow(p, i);
}

static int most_advanced(const struct place *p)
{
    long long most = -1;
    int best = -1;

    for (int i = 0; i < p->server_count; i++) {
        long long offset =
            is_replica(p, i)
                ? server_ask_int(p->servers[i], "EVAL %s 0",
                                 "return tonumber(redis.call('info','replication'):match"
                                 "('slave_repl_offset:(%d+)'))")
                : -1;

        if (offset > most) {
            most = offset;
            best = i;
        }
    }
    return best;
}

void place_promote(struct place *p)
{
    p->master = most_advanced(p);
    ck_assert_str_eq(server_ask(host_master(p), "REPLICAOF NO ONE"), "OK");
    follow_all(p);
}

void place_switch(struct place *p)
{
    struct server *old = host_master(p);

    p->master = most_advanced(p);
    ck_assert_str_eq(server_ask(old, "FAILOVER TO 127.0.0.1 %d", server_port(host_master(p))),
                     "OK");
    server_await(host_master(p), HOSTS_PATIENCE_MS, "master", "EVAL %s 0",
                 "return redis.call('info','replication'):match('role:(%a+)')");
    follow_all(p);
}

static void start_hosts(struct place *p)
{
    static const char *const args[] = {"--repl-diskless-sync-delay", "0", NULL};
    char *to = p->url + sprintf(p->url, "redis://");

    p->is_hosts = true;
    for (int i = 0; i < HOSTS; i++) {
        add(p, server_start(args), true);
        to += sprintf(to, "%s127.0.0.1:%d", i ? "," : "", server_port(p->servers[i]));
    }
    follow_all(p);
}

struct place *place_start(const char *name)
{
    struct place *p = local_new(sizeof *p);

    p->name = name;
    if (strcmp(name, "sentinel") == 0)
        start_sentinels(p);
    else if (strcmp(name, "cluster") == 0)
        start_cluster(p);
    else if (strcmp(name, "independent") == 0)
        start_independent(p);
    else if (strcmp(name, "hosts") == 0)
        start_hosts(p);
    else
        start_standalone(p);
    return p;
}

void place_stop(struct place *p)
{
    for (int i = 0; i < p->proxied_count; i++)
        for (int side = 0; side < PLACE_SIDES; side++)
            proxy_stop(p->proxies[i][side]);
    for (int i = 0; (p->is_independent || p->is_hosts) && i < p->server_count; i++)
        server_stop(p->servers[i]);
    server_stop(p->standalone);
    sentinels_stop(p->sentinels);
    cluster_stop(p->cluster);
    free(p);
}

int place_master(struct place *p, const char *lock)
{
    if (p->cluster)
        return cluster_owner_of(p->cluster, lock);
    if (p->is_independent)
        return (int)(chaos_now_us() % p->server_count);
    if (p->is_hosts)
        return p->master;
    return p->sentinels ? sentinels_master(p->sentinels) : 0;
}

void place_mend(struct place *p)
{
    for (int i = 0; i < p->proxied_count; i++)
        if (!server_pid(p->proxied[i]))
            server_restart(p->proxied[i]);
        else
            server_resume(p->proxied[i]);
    if (p->is_hosts)
        follow_all(p);
    if (p->cluster)
        cluster_mend(p->cluster);
    if (p->sentinels)
        sentinels_await_master(p->sentinels, sentinels_master(p->sentinels));
}

char *place_port(const struct place *p, int proxied, int side)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%d=%d", server_port(p->proxied[proxied]),
                   proxy_port(p->proxies[proxied][side]));
    return local_copy(text);
}
