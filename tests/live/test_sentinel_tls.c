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

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "sentinel_tls", NULL, NULL);

    tcase_add_loop_test(c, all_of_it_may_be_over_tls, 2, 4);
}

static int run(void)
{
    return live_main("sentinel over TLS", add);
}

int main(void)
{
    return tls_main("sentinel over TLS", run);
}
