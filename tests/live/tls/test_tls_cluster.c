/* A cluster over mutual TLS whose certificates and CA are replaced: the client reads its files
 * again (hf_client_reload), for the connections to all nodes. */
#include "net/route/slot.h"
#include "tests/live/test_tls.h"
#include "tests/live/test_run_kit.h"
#include "tests/support/cluster.h"

#define MASTERS 3

static struct cluster *cluster;
static char ca[CERTS_PATH_MAX + 16], client_cert[CERTS_PATH_MAX + 16];

/* The client's files. Nothing that was trusted before is trusted after the second call. */
static void place_files(const char *from_ca, const char *from_client)
{
    (void)snprintf(ca, sizeof ca, "%s/cluster_ca", certs.folder);
    (void)snprintf(client_cert, sizeof client_cert, "%s/cluster_client", certs.folder);
    certs_copy(from_ca, ca);
    certs_copy(from_client, client_cert);
}

static struct server *node(int number)
{
    return cluster_node(cluster, number);
}

/* For the bus, a node is also a client of the others. */
#define TLS_NODE(ca, server, client)                                                       \
    "--port", "0", "--tls-port", SERVER_PORT, "--tls-cluster", "yes", "--tls-replication", \
        "yes", "--tls-auth-clients", "yes", "--tls-ca-cert-file", (ca), "--tls-cert-file", \
        (server), "--tls-key-file", (server), "--tls-client-cert-file", (client),          \
        "--tls-client-key-file", (client)

static void start_cluster(void)
{
    const char *const args[] = {TLS_NODE(certs.ca, certs.server, certs.client), NULL};

    cluster = cluster_start(&(struct cluster_options){.masters = MASTERS, .args = args});
}

/* In one command: each part alone would not fit the others. */
static void give_new_certificates(struct server *s)
{
    ck_assert_str_eq(server_ask(s,
                                "CONFIG SET tls-ca-cert-file %s tls-cert-file %s tls-key-file %s "
                                "tls-client-cert-file %s tls-client-key-file %s",
                                certs.other_ca, certs.stranger, certs.stranger,
                                certs.client_other, certs.client_other),
                     "OK");
}

/* A name whose slot `number` serves at the beginning. */
static void name_on(int number, char name[32])
{
    for (int i = 0;; i++) {
        (void)snprintf(name, 32, "tls:%d", i);
        if (hf_slot_of(name, strlen(name)) * MASTERS / HF_SLOTS == number)
            return;
    }
}

static struct hf_client *open_client(void)
{
    struct hf_tls_options tls = {.ca_file = ""};
    struct hf_client_options o;
    char url[TLS_URL_MAX];

    (void)snprintf(tls.ca_file, sizeof tls.ca_file, "%s", ca);
    (void)snprintf(tls.cert_file, sizeof tls.cert_file, "%s", client_cert);
    hf_client_options_init(&o);
    (void)snprintf(url, sizeof url, "rediss+cluster://127.0.0.1:%d?tls_sni=localhost",
                   server_port(node(0)));
    o.url = url;
    o.tls = &tls;
    o.watchdog_ms = STEADY_WATCHDOG_MS;
    return client_with(&o);
}

static struct {
    struct hf_lock *lock;
    struct diary diary;
} holds[MASTERS];

static void hold_on_each(struct hf_client *client)
{
    char name[32];

    for (int i = 0; i < MASTERS; i++) {
        struct hf_acquire_options o = diary_options(&holds[i].diary, 1);

        name_on(i, name);
        holds[i].lock = lock_of(client, name);
        ck_assert_ok(hf_lock_acquire(holds[i].lock, &o, NULL));
    }
}

static void replace_certificates(void)
{
    place_files(certs.other_ca, certs.client_other);
    for (int i = 0; i < MASTERS; i++)
        give_new_certificates(node(i));
}

static void kill_connections(void)
{
    for (int i = 0; i < MASTERS; i++)
        server_kill_connections(node(i));
}

static void must_be_renewed(void)
{
    for (int i = 0; i < MASTERS; i++) {
        struct diary *d = &holds[i].diary;
        int renewals = note_read(&d->note, &d->renewals);

        note_await(&d->note, &d->renewals, renewals + 2, "renewals over new connections");
        ck_assert_int_eq(note_read(&d->note, &d->losses), 0);
    }
}

/* A fourth master, which has never had other certificates. */
static struct server *add_node(void)
{
    const char *const args[] = {
        TLS_NODE(certs.other_ca, certs.stranger, certs.client_other),
        "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", NULL};
    struct server *added = server_start(args);

    ck_assert_ptr_nonnull(added);
    ck_assert_str_eq(server_ask(added, "CLUSTER MEET 127.0.0.1 %d", server_port(node(0))), "OK");
    server_await(added, CLUSTER_PATIENCE_MS, "4", "EVAL %s 0",
                 "return redis.call('cluster', 'info'):match('cluster_known_nodes:(%d+)')");
    return added;
}

/* Of a free lock. Nodes refuse until they know the new one. A message of the former owner, which
 * is on its way, must not take the slot back: the epoch of the new owner is greater. */
static void move_slot(const char *name, struct server *to)
{
    char id[64];
    int slot = hf_slot_of(name, strlen(name));

    (void)snprintf(id, sizeof id, "%s", server_ask(to, "CLUSTER MYID"));
    (void)server_ask(to, "CLUSTER BUMPEPOCH");
    server_await(to, CLUSTER_PATIENCE_MS, "OK", "CLUSTER SETSLOT %d NODE %s", slot, id);
    for (int i = 0; i < MASTERS; i++)
        server_await(node(i), CLUSTER_PATIENCE_MS, "OK", "CLUSTER SETSLOT %d NODE %s", slot, id);
}

START_TEST(holds_on_all_nodes_outlive_new_certificates_and_new_nodes_have_them)
{
    struct hf_client *client;
    struct server *added;
    struct hf_lock *lock;

    start_cluster();
    place_files(certs.ca, certs.client);
    client = open_client();
    hold_on_each(client);
    replace_certificates();
    ck_assert_ok(hf_client_reload(client, NULL));
    kill_connections();
    must_be_renewed();
    added = add_node();
    lock = lock_of(client, "moved");
    move_slot("moved", added);
    acquire(lock, 1);
    ck_assert_int_eq((int)server_ask_int(added, "EXISTS moved"), 1);
    release(lock, 1);
    for (int i = 0; i < MASTERS; i++)
        release(holds[i].lock, 1);
    hf_client_free(client);
    server_stop(added);
    cluster_stop(cluster);
}
END_TEST

/* The files of before do not let the client in: the test above shows the reload. */
START_TEST(holds_are_lost_if_the_files_are_not_read_again)
{
    struct hf_client *client;

    start_cluster();
    place_files(certs.ca, certs.client);
    client = open_client();
    hold_on_each(client);
    replace_certificates();
    kill_connections();
    for (int i = 0; i < MASTERS; i++)
        note_await(&holds[i].diary.note, &holds[i].diary.losses, 1, "a loss");
    hf_client_free(client);
    cluster_stop(cluster);
}
END_TEST

/* ---- the command ---- */

#define ARG(text) ((char *)(text))

/* Holds NAME until it is told "go". */
static struct process *start_holder(char *name)
{
    static char url[TLS_URL_MAX];
    char *const argv[] = {ARG("setsid"), ARG(HF_BUILD "/holdfast"), ARG("run"), ARG("-v"),
                          ARG("--ttl"), ARG("6s"), ARG("--status-fd"), ARG("3"), ARG("-u"), url,
                          ARG("--tls-ca"), ca, ARG("--tls-cert"), client_cert, name, ARG("--"),
                          ARG("sh"), ARG("-c"), ARG("trap : HUP; echo up; "
                              "while [ \"$go\" != go ]; do read go; done"),
                          NULL};
    struct process *p;

    (void)snprintf(url, sizeof url, "rediss+cluster://127.0.0.1:%d?tls_sni=localhost",
                   server_port(node(0)));
    p = start(NULL, argv);
    (void)await_line(p, OUT, "up");
    return p;
}

/* Row 0: without SIGHUP. Row 1: the node of the lock, and then another one that the command was
 * not connected to, are reached with the new files. */
START_TEST(hold_of_the_command_outlives_new_certificates_of_all_nodes_after_hup)
{
    struct process *p;
    char name[32];
    bool is_told = _i == 1;

    start_cluster();
    place_files(certs.ca, certs.client);
    name_on(1, name);
    p = start_holder(name);
    replace_certificates();
    if (is_told) {
        ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
        (void)await_line(p, ERR, "new connections use the files as they are now");
    }
    kill_connections();
    if (is_told) {
        (void)await_line(p, STATUS, "\"renewed\"");
        (void)await_line(p, STATUS, "\"renewed\"");
        cluster_move(cluster, hf_slot_of(name, strlen(name)), 2);
        (void)await_line(p, STATUS, "\"renewed\"");
        (void)await_line(p, STATUS, "\"renewed\"");
        ck_assert_int_eq((int)server_ask_int(node(2), "EXISTS %s", name), 1);
        say(p, "go\n");
    } else {
        (void)await_line(p, STATUS, "\"lost\"");
    }
    ck_assert_int_eq(finish(p), is_told ? 0 : 122);
    cluster_stop(cluster);
}
END_TEST

static int run(void)
{
    Suite *suite = suite_create("tls/cluster");
    TCase *c = tcase_create("new certificates");

    tcase_set_timeout(c, 2 * CLUSTER_PATIENCE_MS / 1000);
    tcase_add_test(c, holds_on_all_nodes_outlive_new_certificates_and_new_nodes_have_them);
    tcase_add_test(c, holds_are_lost_if_the_files_are_not_read_again);
    tcase_add_loop_test(
        c, hold_of_the_command_outlives_new_certificates_of_all_nodes_after_hup, 0, 2);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}

int main(void)
{
    return tls_main("tls/cluster", run);
}
