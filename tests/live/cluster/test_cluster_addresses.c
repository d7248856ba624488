/* A real cluster whose nodes announce addresses that are missing or cannot be reached. Its nodes
 * do not count each other as failed: an address that is wrong is also wrong for the other nodes. */
#include "net/route/slot.h"
#include "tests/live/test_lock.h"
#include "tests/support/cluster.h"

#define MASTERS 3
#define NODE_TIMEOUT_MS 600000
#define NOWHERE "127.0.0.2" /* servers listen on 127.0.0.1 alone */

static struct cluster *cluster;

static void cluster_setup(void)
{
    cluster = cluster_start(&(struct cluster_options){.masters = MASTERS,
                                                      .node_timeout_ms = NODE_TIMEOUT_MS});
}

static int port_of(int node)
{
    return server_port(cluster_node(cluster, node));
}

static bool set(int node, const char *name, const char *value)
{
    return strcmp(server_ask(cluster_node(cluster, node), "CONFIG SET %s %s", name, value),
                  "OK") == 0;
}

static void set_all(const char *name, const char *value)
{
    for (int i = 0; i < MASTERS; i++)
        (void)set(i, name, value);
}

static void reset(void)
{
    set_all("cluster-preferred-endpoint-type", "ip");
    set_all("cluster-announce-hostname", "");
    set_all("cluster-announce-ip", "");
    cluster_await_agreement(cluster);
}

static struct hf_client *client_of(const char *query)
{
    struct hf_client_options o;
    char url[200];

    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d%s", port_of(0), query);
    hf_client_options_init(&o);
    o.url = url;
    return client_with(&o);
}

/* A name whose slot `node` serves at the beginning. */
static void name_on(int node, char name[32])
{
    for (int i = 0;; i++) {
        (void)snprintf(name, 32, "address:%d", i);
        if (hf_slot_of(name, strlen(name)) * MASTERS / HF_SLOTS == node)
            return;
    }
}

static void must_lock_at(struct hf_client *client, int owner, const char *name)
{
    struct hf_lock *lock = lock_of(client, name);

    acquire(lock, 1);
    ck_assert_int_eq((int)server_ask_int(cluster_node(cluster, owner), "EXISTS %s", name), 1);
    release(lock, 1);
    hf_lock_free(lock);
}

/* ---- nodes without an address ---- */

static const struct {
    const char *type, *hostname;
} endpoints[] = {
    {"unknown-endpoint", ""},          /* null, and MOVED to "" */
    {"hostname", ""},                  /* "?" */
    {"hostname", "node.nowhere.invalid"}, /* a name that cannot be resolved */
};

/* Also a redirection: the client's map is older than the move. */
START_TEST(node_without_an_address_is_reached_where_it_was)
{
    struct hf_client *client;
    char name[32];
    int slot, to = 2;

    set_all("cluster-announce-hostname", endpoints[_i].hostname);
    if (!set(0, "cluster-preferred-endpoint-type", endpoints[_i].type)) {
        (void)puts("skipped: this server has no preferred endpoints");
        return;
    }
    set_all("cluster-preferred-endpoint-type", endpoints[_i].type);
    client = client_of("");
    for (int i = 0; i < MASTERS; i++) {
        name_on(i, name);
        must_lock_at(client, i, name);
    }
    name_on(1, name);
    slot = hf_slot_of(name, strlen(name));
    for (int i = 0; i < 2; i++) {
        cluster_move_begin(cluster, slot, to);
        cluster_move_end(cluster, slot, to);
        must_lock_at(client, to, name);
        to = 1;
    }
    hf_client_free(client);
}
END_TEST

/* ---- an address that cannot be reached ---- */

/* All nodes know the address of node 1 that it announces. */
static void announce(const char *ip)
{
    char part[64];
    int64_t end_ms = local_now_ms() + CLUSTER_PATIENCE_MS;

    ck_assert(set(1, "cluster-announce-ip", ip));
    (void)snprintf(part, sizeof part, "%s %d ", ip, port_of(1));
    for (int i = 0; i < MASTERS; i++)
        while (!strstr(server_ask(cluster_node(cluster, i), "CLUSTER SLOTS"), part)) {
            ck_assert_msg(local_now_ms() < end_ms, "node %d does not know %s", i, part);
            local_poll_rest();
        }
}

START_TEST(unreachable_ip_is_reported_or_replaced_by_the_map_option)
{
    struct hf_client *client = client_of("?map=" NOWHERE "=127.0.0.1");
    struct hf_error err = {0};
    struct hf_lock *lock;
    char name[32], announcer[64];

    announce(NOWHERE);
    name_on(1, name);
    must_lock_at(client, 1, name);
    hf_client_free(client);
    client = client_of("?timeout=2s");
    lock = lock_of(client, name);
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_CONNECT);
    (void)snprintf(announcer, sizeof announcer, "127.0.0.1:%d announced this address",
                   port_of(0));
    ck_assert_msg(strstr(err.text, NOWHERE) && strstr(err.text, announcer) &&
                      strstr(err.text, "--map"),
                  "%s", err.text);
    name_on(0, name);
    must_lock_at(client, 0, name);
    hf_lock_free(lock);
    hf_client_free(client);
}
END_TEST

static const char slots_reads[] =
    "return tonumber(redis.call('info', 'commandstats'):match('cluster|slots:calls=(%d+)') or 0)";

static long long maps_read(void)
{
    long long sum = 0;

    for (int i = 0; i < MASTERS; i++)
        sum += server_ask_int(cluster_node(cluster, i), "EVAL %s 0", slots_reads);
    return sum;
}

/* The client reads the map, because it has lost its connection to another node. */
static void must_read_the_map(struct hf_client *client)
{
    int64_t end_ms = local_now_ms() + CLUSTER_PATIENCE_MS;
    long long before = maps_read();
    char name[32];

    name_on(0, name);
    server_kill_connections(cluster_node(cluster, 0));
    must_lock_at(client, 0, name);
    while (maps_read() == before) {
        ck_assert_msg(local_now_ms() < end_ms, "no map was read");
        local_poll_rest();
    }
    must_lock_at(client, 0, name); /* the round has ended, mostly */
}

START_TEST(working_connection_is_kept_when_its_node_announces_an_unreachable_ip)
{
    struct hf_client *client = client_of("?timeout=2s");
    char name[32];

    name_on(1, name);
    must_lock_at(client, 1, name);
    announce(NOWHERE);
    for (int i = 0; i < 3; i++) {
        must_read_the_map(client);
        must_lock_at(client, 1, name);
    }
    hf_client_free(client);
}
END_TEST

/* The hold is renewed over a new connection, at the mapped address. */
START_TEST(hold_outlives_an_address_that_becomes_unreachable)
{
    struct hf_client *client = client_of("?map=" NOWHERE "=127.0.0.1");
    struct hf_lock *lock;
    char name[32];
    int64_t first;

    name_on(1, name);
    lock = lock_of(client, name);
    acquire(lock, 1);
    announce(NOWHERE);
    (void)server_ask(cluster_node(cluster, 1), "CLIENT KILL TYPE normal SKIPME yes");
    first = server_ask_int(cluster_node(cluster, 1), "PEXPIRE %s 12000", name);
    ck_assert_int_eq((int)first, 1);
    for (int64_t end_ms = local_now_ms() + CLUSTER_PATIENCE_MS;
         server_ask_int(cluster_node(cluster, 1), "PTTL %s", name) <= 12000;) {
        ck_must(local_now_ms() < end_ms, "the hold is renewed");
        local_poll_rest();
    }
    release(lock, 1);
    hf_lock_free(lock);
    hf_client_free(client);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "addresses", NULL, reset);

    tcase_add_unchecked_fixture(c, cluster_setup, NULL);
    tcase_set_timeout(c, 2 * CLUSTER_PATIENCE_MS / 1000);
    tcase_add_loop_test(c, node_without_an_address_is_reached_where_it_was, 0,
                        sizeof endpoints / sizeof *endpoints);
    tcase_add_test(c, unreachable_ip_is_reported_or_replaced_by_the_map_option);
    tcase_add_test(c, working_connection_is_kept_when_its_node_announces_an_unreachable_ip);
    tcase_add_test(c, hold_outlives_an_address_that_becomes_unreachable);
}

int main(void)
{
    int rc = live_main("addresses", add);

    cluster_stop(cluster);
    return rc;
}
