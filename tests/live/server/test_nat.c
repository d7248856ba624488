/* Servers that announce addresses at which a client does not reach them, as behind NAT
 * or in a container's network: real clusters and sentinels, a proxy in front of each
 * server, and ports that nothing listens on. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/base/address_map.h"
#include "net/route/slot.h"
#include "tests/live/test_lock.h"
#include "tests/live/test_run_kit.h"
#include "tests/support/cluster.h"
#include "tests/support/gate.h"
#include "tests/support/proxy.h"
#include "tests/support/sentinels.h"

#define MASTERS 3
#define URL_ROOM 1024

static struct cluster *cluster;
static struct proxy *proxies[MASTERS];
static int announced[MASTERS];  /* ports that refuse connections */
static int holders[MASTERS];    /* the sockets that reserve these */

/* ---- a cluster whose nodes announce ports that refuse ---- */

/* Bound and not listening: connections are refused, and no one else gets it. */
static int reserve_port(int *fd)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof in;

    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(*fd, (struct sockaddr *)&in, len), 0);
    ck_assert_int_eq(getsockname(*fd, (struct sockaddr *)&in, &len), 0);
    return ntohs(in.sin_port);
}

/* All nodes say that it announces this port. */
static void announce(int node, int port)
{
    char part[64];
    int64_t end_ms = local_now_ms() + CLUSTER_PATIENCE_MS;

    ck_assert_str_eq(server_ask(cluster_node(cluster, node),
                                "CONFIG SET cluster-announce-port %d", port), "OK");
    (void)snprintf(part, sizeof part, "127.0.0.1 %d ",
                   port ? port : server_port(cluster_node(cluster, node)));
    for (int i = 0; i < MASTERS; i++)
        while (!strstr(server_ask(cluster_node(cluster, i), "CLUSTER SLOTS"), part)) {
            ck_assert_msg(local_now_ms() < end_ms, "node %d announces %s: %s", node, part,
                          server_ask(cluster_node(cluster, i), "CLUSTER SLOTS"));
            local_poll_rest();
        }
}

static void cluster_setup(void)
{
    cluster = cluster_start(&(struct cluster_options){.masters = MASTERS});
}

static void announce_all(void)
{
    for (int i = 0; i < MASTERS; i++) {
        announced[i] = reserve_port(&holders[i]);
        proxies[i] = proxy_start(server_port(cluster_node(cluster, i)));
        (void)server_ask(cluster_node(cluster, i), "FLUSHALL");
        announce(i, announced[i]);
    }
}

static void announce_none(void)
{
    for (int i = 0; i < MASTERS; i++) {
        announce(i, 0);
        proxy_stop(proxies[i]);
        (void)close(holders[i]);
    }
}

/* A lock at each node is acquired and released through the node's proxy. */
static void must_lock_everywhere(struct hf_client *client)
{
    for (int i = 0, n = 0; i < MASTERS; n++) {
        struct hf_lock *lock;
        char name[32];

        (void)snprintf(name, sizeof name, "nat:%d", n);
        if (hf_slot_of(name, strlen(name)) * MASTERS / HF_SLOTS != i)
            continue;
        lock = lock_of(client, name);
        acquire(lock, 1);
        ck_assert_int_eq((int)server_ask_int(cluster_node(cluster, i),
                                             "EXISTS %s", name), 1);
        release(lock, 1);
        hf_lock_free(lock);
        ck_assert_uint_gt(proxy_accepted(proxies[i]), 0);
        i++;
    }
}

/* One seed: node 0, through its proxy. */
static int put_seed(char url[URL_ROOM])
{
    return snprintf(url, URL_ROOM, "redis+cluster://127.0.0.1:%d",
                    proxy_port(proxies[0]));
}

static void put_map(char url[URL_ROOM])
{
    int len = put_seed(url);

    for (int i = 0; i < MASTERS; i++)
        len += snprintf(url + len, URL_ROOM - (size_t)len,
                        "%cmap=127.0.0.1:%d=localhost:%d", i ? '&' : '?', announced[i],
                        proxy_port(proxies[i]));
}

/* ANNOUNCED-1 */
START_TEST(a_cluster_behind_nat_is_reached_by_the_urls_map)
{
    struct hf_client_options o;
    struct hf_client *client;
    char url[URL_ROOM];

    put_map(url);
    hf_client_options_init(&o);
    o.url = url;
    client = client_with(&o);
    must_lock_everywhere(client);
    hf_client_free(client);
}
END_TEST

static int mapped;              /* calls of the callback */

static void map_address(void *ctx, char host[HF_HOST_MAX + 1], uint16_t *port)
{
    ck_assert_ptr_eq(ctx, announced);
    ck_assert_str_eq(host, "127.0.0.1");
    for (int i = 0; i < MASTERS; i++)
        if (*port == announced[i]) {
            (void)strcpy(host, "localhost");
            *port = (uint16_t)proxy_port(proxies[i]);
            mapped++;
            return;
        }
}

/* ANNOUNCED-1 */
START_TEST(a_cluster_behind_nat_is_reached_by_the_callback)
{
    struct hf_client_options o;
    struct hf_client *client;
    char url[URL_ROOM];

    (void)put_seed(url);
    hf_client_options_init(&o);
    o.url = url;
    o.map_address = map_address;
    o.map_address_ctx = announced;
    mapped = 0;
    client = client_with(&o);
    must_lock_everywhere(client);
    hf_client_free(client);
    ck_assert_int_ge(mapped, MASTERS);
}
END_TEST

/* Until a move is not seen by a client that reads the map meanwhile. */
#define MOVES 10

/* ANNOUNCED-1: MOVED has the announced address, too: the client's map is older than the
 * move. */
START_TEST(a_redirection_behind_nat_is_mapped)
{
    static const char name[] = "nat:moves";
    int slot = hf_slot_of(name, strlen(name));
    int from = slot * MASTERS / HF_SLOTS, to = (from + 1) % MASTERS;
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_lock *lock;
    char url[URL_ROOM];

    put_map(url);
    hf_client_options_init(&o);
    o.url = url;
    client = client_with(&o);
    lock = lock_of(client, name);
    acquire(lock, 1);
    release(lock, 1);
    for (int i = 0; i < 2 || (stats_of(client).route.moved == 0 && i < MOVES); i++) {
        int at = i % 2 == 0 ? to : from;

        cluster_move_begin(cluster, slot, at);
        cluster_move_end(cluster, slot, at);
        acquire(lock, 1);
        ck_assert_int_eq((int)server_ask_int(cluster_node(cluster, at),
                                             "EXISTS %s", name), 1);
        release(lock, 1);
    }
    ck_assert_uint_gt(stats_of(client).route.moved, 0);
    hf_lock_free(lock);
    hf_client_free(client);
}
END_TEST

/* A node that redirects to the address at which it was reached: an old map, or an address
 * that leads to several nodes. Row 0: the next connection leads to the node that serves the
 * slot. Row 1: none does. */
START_TEST(a_node_that_redirects_to_itself_is_reached_again_or_reported)
{
    static const char name[] = "nat:itself";
    static char moved[64];
    static const struct gate_rule rules[] = {{.pattern = "EVALSHA ...", .answer = moved},
                                             {.pattern = "EVAL ...", .answer = moved},
                                             {0}};
    int slot = hf_slot_of(name, strlen(name)), node = slot * MASTERS / HF_SLOTS;
    struct server *good = cluster_node(cluster, node);
    struct gate *gate = gate_start(server_port(good), rules);
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_error err = {0};
    struct hf_lock *lock;
    char url[URL_ROOM];

    (void)snprintf(moved, sizeof moved, "-MOVED %d 127.0.0.1:%d\r\n", slot,
                   proxy_port(proxies[node]));
    for (int i = 0; i < MASTERS; i++)
        announce(i, proxy_port(proxies[i]));
    proxy_lead(proxies[node], gate_port(gate));
    (void)put_seed(url);
    hf_client_options_init(&o);
    o.url = url;
    o.request_timeout_ms = _i ? SET_UP_MS : LONG_MS;
    client = client_with(&o);
    lock = lock_of(client, name);
    ck_assert_msg(hf_lock_connect(lock, &err) == HF_OK, "%s", err.text);
    if (_i == 0) {
        proxy_lead(proxies[node], server_port(good));
        ck_assert_msg(try_acquire(lock, 1, &err) == HF_OK, "%s", err.text);
        ck_assert_holder(good, lock, 1, 1);
        ck_assert_uint_ge(gate_count(gate, 0), 1);
        release(lock, 1);
    } else {
        ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
        ck_assert_msg(strstr(err.text, "MOVED") && strstr(err.text, "the node names itself"),
                      "%s", err.text);
        ck_assert(err.is_temporary);
        ck_assert_uint_ge(gate_count(gate, 0), 2);
    }
    hf_lock_free(lock);
    hf_client_free(client);
    proxy_cut(proxies[node], PROXY_CLOSE);
    gate_stop(gate);
}
END_TEST

/* ---- the command ---- */

static char map_of[MASTERS][64];

static const char *seed_and_maps(void)
{
    static char url[URL_ROOM];

    (void)put_seed(url);
    for (int i = 0; i < MASTERS; i++)
        (void)snprintf(map_of[i], sizeof map_of[i], "127.0.0.1:%d=localhost:%d",
                       announced[i], proxy_port(proxies[i]));
    return url;
}

static struct process *mapped_command(const char *command, const char *name,
                                      const char *then)
{
    return holdfast(NULL, command, "-u", seed_and_maps(), "--map", map_of[0], "--map",
                    map_of[1], "--map", map_of[2], name, then, NULL);
}

/* A name on each node. */
static void name_on(int node, char name[32])
{
    for (int i = 0;; i++) {
        (void)snprintf(name, 32, "nat-%d", i);
        if (hf_slot_of(name, strlen(name)) * MASTERS / HF_SLOTS == node)
            return;
    }
}

START_TEST(run_and_ls_use_the_map)
{
    struct process *holders_of[MASTERS];
    struct process *p;
    char name[MASTERS][32];
    const char *list;

    for (int i = 0; i < MASTERS; i++) {
        name_on(i, name[i]);
        holders_of[i] = mapped_command("run", name[i], "cat");
        server_await(cluster_node(cluster, i), LONG_MS, "1", "EXISTS %s", name[i]);
    }
    p = mapped_command("ls", NULL, NULL);
    list = await_end(p, OUT);
    for (int i = 0; i < MASTERS; i++)
        ck_assert_msg(strstr(list, name[i]) != NULL, "%s is not in: %s", name[i], list);
    ck_assert_int_eq(finish(p), 0);
    for (int i = 0; i < MASTERS; i++) {
        shut(holders_of[i]);
        ck_assert_int_eq(finish(holders_of[i]), 0);
    }
}
END_TEST

START_TEST(doctor_uses_the_map)
{
    struct process *p = mapped_command("doctor", NULL, NULL);

    (void)await_line(p, OUT, "3 of 3 servers reached");
    (void)finish(p); /* these servers keep nothing on disk */
    p = holdfast(NULL, "doctor", "-u", seed_and_maps(), "--connect-timeout", "2s", NULL);
    (void)await_line(p, OUT, "1 of 3 servers reached");
    ck_assert_int_eq(finish(p), 2);
}
END_TEST

/* ---- sentinels ---- */

/* ANNOUNCED-1: The sentinel's announcement is mapped to a proxy: the master gets no
 * connection of the client but the proxy's. */
START_TEST(a_master_that_sentinels_name_is_mapped)
{
    struct sentinels *s =
        sentinels_start(&(struct sentinels_options){.sentinels = 1, .quorum = 1});
    struct server *master = sentinels_server(s, 0);
    struct proxy *proxy = proxy_start(server_port(master));
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_lock *lock;
    char url[URL_ROOM];

    (void)snprintf(url, sizeof url,
                   "redis+sentinel://127.0.0.1:%d/" SENTINELS_NAME
                   "?map=127.0.0.1:%d=localhost:%d",
                   server_port(sentinels_sentinel(s, 0)), server_port(master),
                   proxy_port(proxy));
    hf_client_options_init(&o);
    o.url = url;
    client = client_with(&o);
    lock = lock_of(client, "nat");
    acquire(lock, 1);
    ck_assert_holder(master, lock, 1, 1);
    ck_assert_uint_gt(proxy_accepted(proxy), 0);
    release(lock, 1);
    hf_lock_free(lock);
    hf_client_free(client);
    proxy_stop(proxy);
    sentinels_stop(s);
}
END_TEST

/* The servers' password is not sent to sentinels. */
START_TEST(a_sentinel_that_wants_a_login_is_reported_with_its_option)
{
    static const struct gate_rule rules[] = {
        {.pattern = "HELLO ...", .answer = "-NOAUTH Authentication required.\r\n"}, {0}};
    struct sentinels *s =
        sentinels_start(&(struct sentinels_options){.sentinels = 1, .quorum = 1});
    struct gate *gate = gate_start(server_port(sentinels_sentinel(s, 0)), rules);
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_error err = {0};
    char url[URL_ROOM];

    (void)snprintf(url, sizeof url, "redis+sentinel://:pw@127.0.0.1:%d/" SENTINELS_NAME,
                   gate_port(gate));
    hf_client_options_init(&o);
    o.url = url;
    o.connect_once = true;
    client = client_with(&o);
    ck_assert_int_eq(hf_client_connect(client, &err), HF_E_AUTH);
    ck_assert_ptr_nonnull(strstr(err.text, "sentinel_password"));
    hf_client_free(client);
    gate_stop(gate);
    sentinels_stop(s);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "cluster", announce_all, announce_none);

    tcase_add_unchecked_fixture(c, cluster_setup, NULL);
    tcase_set_timeout(c, 2 * CLUSTER_PATIENCE_MS / 1000);
    tcase_add_test(c, a_cluster_behind_nat_is_reached_by_the_urls_map);
    tcase_add_test(c, a_cluster_behind_nat_is_reached_by_the_callback);
    tcase_add_test(c, a_redirection_behind_nat_is_mapped);
    tcase_add_loop_test(c, a_node_that_redirects_to_itself_is_reached_again_or_reported, 0, 2);
    tcase_add_test(c, run_and_ls_use_the_map);
    tcase_add_test(c, doctor_uses_the_map);
    c = live_case(suite, "sentinels", NULL, NULL);
    tcase_set_timeout(c, 2 * SENTINELS_PATIENCE_MS / 1000);
    tcase_add_test(c, a_master_that_sentinels_name_is_mapped);
    tcase_add_test(c, a_sentinel_that_wants_a_login_is_reported_with_its_option);
}

int main(void)
{
    int rc = live_main("nat", add);

    cluster_stop(cluster);
    return rc;
}
