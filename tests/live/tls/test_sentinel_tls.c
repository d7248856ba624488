/* Sentinels and their master over TLS, and over nothing else (faults S13). */
#include "tests/live/test_tls.h"

/* A server, or a sentinel, that speaks TLS to others, too. */
static struct server *one(const char *kind, const char *value)
{
    return tls_server(certs.server, false,
                      (const char *const[]){"--tls-replication", "yes", kind,
                                            value, NULL});
}

START_TEST(all_of_it_may_be_over_tls)
{
    struct hf_tls_options tls = tls_options(false);
    struct server *master = one("--databases", "4");
    struct server *sentinel = one("--sentinel", NULL);
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_lock *lock;
    char url[TLS_URL_MAX];

    ck_assert_str_eq(server_ask(sentinel, "SENTINEL MONITOR main 127.0.0.1 %d 1",
                                server_port(master)),
                     "OK");
    hf_client_options_init(&o);
    (void)snprintf(url, sizeof url, "rediss+sentinel://localhost:%d/main/3",
                   server_port(sentinel));
    o.url = url;
    o.tls = &tls;
    o.protocol = _i;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    ck_assert_ptr_nonnull(strstr(server_ask(master, "INFO keyspace"), "db3:"));
    release(lock, 1);
    hf_client_free(client);
    server_stop(sentinel);
    server_stop(master);
}
END_TEST

/* Hosts without sentinels. */
START_TEST(a_promoted_replica_is_used_over_tls)
{
    struct hf_tls_options tls = tls_options(false);
    struct server *master = one("--repl-diskless-sync-delay", "0");
    struct server *replica = one("--repl-diskless-sync-delay", "0");
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_lock *lock;
    char url[TLS_URL_MAX];

    ck_assert_str_eq(server_ask(replica, "REPLICAOF 127.0.0.1 %d", server_port(master)),
                     "OK");
    hf_client_options_init(&o);
    (void)snprintf(url, sizeof url, "rediss://localhost:%d,localhost:%d",
                   server_port(replica), server_port(master));
    o.url = url;
    o.tls = &tls;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    ck_assert_str_eq(server_ask(master, "EXISTS " NAME), "1");
    server_await(replica, LONG_MS, "1", "EXISTS " NAME);
    ck_assert_str_eq(server_ask(replica, "REPLICAOF NO ONE"), "OK");
    ck_assert_str_eq(server_ask(master, "REPLICAOF 127.0.0.1 %d", server_port(replica)),
                     "OK");
    release(lock, 1);
    ck_assert_str_eq(server_ask(replica, "EXISTS " NAME), "0");
    hf_lock_free(lock);
    hf_client_free(client);
    server_stop(replica);
    server_stop(master);
}
END_TEST

/* ---- TLS at one of them ---- */

static const struct {
    bool is_master_tls, is_sentinel_tls;
    const char *url, *says;     /* NULL: it works */
} mixed[] = {
    {true, false, "rediss+sentinel://localhost:%d/main/0?sentinel_tls=no", NULL},
    {false, true, "redis+sentinel://localhost:%d/main/0?sentinel_tls=yes", NULL},
    {true, false, "rediss+sentinel://localhost:%d/main/0", "sentinel_tls=no"},
    {false, true, "redis+sentinel://localhost:%d/main/0", "sentinel_tls=yes"},
    {true, false, "redis+sentinel://localhost:%d/main/0",
     "rediss+sentinel:// with sentinel_tls=no is for a master with TLS"},
};

static struct server *plain(const char *kind, const char *value)
{
    return server_start((const char *const[]){kind, value, NULL});
}

/* A client with these options takes a lock, or (`says`: not NULL) reports these words. */
static void must_connect(struct hf_client_options *o, const char *says)
{
    struct hf_error err = {0};
    struct hf_client *client;

    o->connect_timeout_ms = says ? 3000 : 10000;
    client = client_with(o);
    if (says) {
        ck_assert(hf_client_connect(client, &err) < 0);
        ck_assert_msg(strstr(err.text, says) != NULL, "%s", err.text);
    } else {
        acquire(lock_of(client, NAME), 1);
        release(lock_of(client, NAME), 1);
    }
    hf_client_free(client);
}

/* The sentinel cannot reach the master itself, and names it nevertheless. */
START_TEST(tls_may_be_at_the_master_or_at_the_sentinels_alone)
{
    bool is_master_tls = mixed[_i].is_master_tls;
    struct hf_tls_options tls = tls_options(false);
    struct server *master =
        is_master_tls ? one("--databases", "4") : plain("--databases", "4");
    struct server *sentinel =
        mixed[_i].is_sentinel_tls ? one("--sentinel", NULL) : plain("--sentinel", NULL);
    struct hf_client_options o;
    char url[TLS_URL_MAX];

    ck_assert_str_eq(server_ask(sentinel, "SENTINEL MONITOR main 127.0.0.1 %d 1",
                                server_port(master)),
                     "OK");
    hf_client_options_init(&o);
    (void)snprintf(url, sizeof url, mixed[_i].url, server_port(sentinel));
    o.url = url;
    o.tls = strstr(url, "rediss") || strstr(url, "=yes") ? &tls : NULL;
    must_connect(&o, mixed[_i].says);
    server_stop(sentinel);
    server_stop(master);
}
END_TEST

/* ---- an address that the certificate does not contain ---- */

static const struct {
    const char *query;          /* %d: the master's port */
    const char *says;           /* NULL: it works */
} unnamed[] = {
    {"", "is not for 127.0.0.1"},
    {"", "; tls_sni=NAME in the URL checks another name, --map FROM=TO uses another address"},
    {"?tls_sni=localhost", NULL},
    {"?map=127.0.0.1:%d%%3Dlocalhost:%d", NULL},
};

/* The sentinel names the master by its IP address, and the certificate holds only its name. */
START_TEST(master_of_a_certificate_without_its_address_is_reached_by_its_name)
{
    struct hf_tls_options tls = tls_options(false);
    struct server *master = tls_server(certs.cn_only, false, NULL);
    struct server *sentinel = one("--sentinel", NULL);
    struct hf_client_options o;
    char url[TLS_URL_MAX];
    int len;

    ck_assert_str_eq(server_ask(sentinel, "SENTINEL MONITOR main 127.0.0.1 %d 1",
                                server_port(master)),
                     "OK");
    hf_client_options_init(&o);
    len = snprintf(url, sizeof url, "rediss+sentinel://localhost:%d/main/0",
                   server_port(sentinel));
    (void)snprintf(url + len, sizeof url - (size_t)len, unnamed[_i].query, server_port(master),
                   server_port(master));
    o.url = url;
    o.tls = &tls;
    must_connect(&o, unnamed[_i].says);
    server_stop(sentinel);
    server_stop(master);
}
END_TEST

/* ---- files that are read again ---- */

/* The certificates of the master and of the sentinel are replaced by those of another CA. */
START_TEST(hold_at_the_master_of_sentinels_outlives_new_files)
{
    struct server *master, *sentinel;
    struct hf_tls_options tls = tls_options(false);
    char ca[CERTS_PATH_MAX + 16], cert[CERTS_PATH_MAX + 16], url[TLS_URL_MAX];
    static struct diary diary;
    struct hf_acquire_options held = diary_options(&diary, 1);
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_error err = {0};

    (void)snprintf(ca, sizeof ca, "%s/again_ca", certs.folder);
    (void)snprintf(cert, sizeof cert, "%s/again_server", certs.folder);
    certs_copy(certs.ca, ca);
    certs_copy(certs.server, cert);
    master = tls_server(cert, false, (const char *const[]){"--appendonly", "yes",
                                                           "--appendfsync", "always", NULL});
    sentinel = tls_server(cert, false, (const char *const[]){"--sentinel",
                                                             "--tls-replication", "yes", NULL});
    ck_assert_str_eq(server_ask(sentinel, "SENTINEL MONITOR main 127.0.0.1 %d 1",
                                server_port(master)),
                     "OK");
    (void)snprintf(tls.ca_file, sizeof tls.ca_file, "%s", ca);
    hf_client_options_init(&o);
    (void)snprintf(url, sizeof url,
                   "rediss+sentinel://localhost:%d/main?map=127.0.0.1=localhost",
                   server_port(sentinel)); /* the stranger's certificate has that name */
    o.url = url;
    o.tls = &tls;
    o.watchdog_ms = 3 * STEADY_WATCHDOG_MS;
    client = client_with(&o);
    ck_assert_ok(hf_lock_acquire(lock_of(client, NAME), &held, NULL));
    certs_copy(certs.other_ca, ca);
    certs_copy(certs.stranger, cert);
    ck_assert_msg(hf_client_reload(client, &err) == HF_OK, "%s", err.text);
    server_restart(master);
    server_restart(sentinel);
    ck_assert_ptr_nonnull(server_ask(sentinel, "SENTINEL MONITOR main 127.0.0.1 %d 1",
                                     server_port(master)));
    note_await(&diary.note, &diary.renewals, 1, "a renewal");
    release(lock_of(client, NAME), 1);
    hf_client_free(client);
    server_stop(sentinel);
    server_stop(master);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "sentinel_tls", NULL, NULL);

    tcase_add_loop_test(c, all_of_it_may_be_over_tls, 2, 4);
    tcase_add_test(c, a_promoted_replica_is_used_over_tls);
    tcase_add_loop_test(c, master_of_a_certificate_without_its_address_is_reached_by_its_name, 0,
                        COUNT(unnamed));
    tcase_add_loop_test(c, tls_may_be_at_the_master_or_at_the_sentinels_alone, 0, 5);
    tcase_add_test(c, hold_at_the_master_of_sentinels_outlives_new_files);
}

static int run(void)
{
    return live_main("sentinel over TLS", add);
}

int main(void)
{
    return tls_main("sentinel over TLS", run);
}
