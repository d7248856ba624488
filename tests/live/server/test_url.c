/* What a URL's options ask for reaches the server, and the caller's own options
 * win over it. */
#include <errno.h>

#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

/* A client of the server, with `query` behind its URL. */
static struct hf_client *client_asking(const char *query,
                                       const struct hf_client_options *options)
{
    struct hf_client_options o = *options;
    char url[SERVER_URL_MAX + 64];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d%s",
                   server_port(server), query);
    o.url = url;
    return client_with(&o);
}

/* ---- who we are ---- */

static const struct {
    const char *query;
    const char *name;          /* the caller's; NULL: none */
    int protocol;              /* likewise; 0 */
    const char *seen;          /* of the client, by the server */
    bool says_hello;
} handshakes[] = {
    {"", NULL, 0, " name=holdfast ", true},
    {"?client_name=of-url", NULL, 0, " name=of-url ", true},
    {"?client_name=of-url", "of-caller", 0, " name=of-caller ", true},
    {"?db=3", NULL, 0, " db=3 ", true},
    {"?protocol=2", NULL, 0, " name=holdfast ", false},
    {"?protocol=3", NULL, 2, " name=holdfast ", false},
    {"?protocol=2", NULL, 3, " name=holdfast ", true},
};

/* A server before 6.0 does not count the HELLO that it refuses. */
static bool counts_hello(void)
{
    return strncmp(server_ask(server, "COMMAND INFO hello"), "hello", 5) == 0;
}

START_TEST(server_receives_the_requested_settings)
{
    struct hf_client_options o;
    struct hf_client *client;
    const char *stats;

    hf_client_options_init(&o);
    o.name = handshakes[_i].name;
    o.protocol = handshakes[_i].protocol;
    client = client_asking(handshakes[_i].query, &o);
    ck_assert_ok(hf_client_connect(client, NULL));
    ck_assert_ptr_nonnull(
        strstr(server_ask(server, "CLIENT LIST"), handshakes[_i].seen));
    stats = server_ask(server, "INFO commandstats");
    ck_assert_int_eq(strstr(stats, "cmdstat_hello:") != NULL,
                     handshakes[_i].says_hello && counts_hello());
    hf_client_free(client);
}
END_TEST

/* ---- how long we wait ---- */

#define SOON_MS 200
#define DEFAULT_MS 5000

/* Either side may say what is soon; the other says what is not. */
static const struct {
    const char *query;
    int64_t connect_ms, request_ms;   /* the caller's; 0: none */
} patience[] = {
    {"?timeout=200ms&connect_timeout=200ms", 0, 0},
    {"?timeout=1m&connect_timeout=2m", SOON_MS, SOON_MS},
};

static struct hf_client *client_patient(int row)
{
    struct hf_client_options o;

    hf_client_options_init(&o);
    o.connect_timeout_ms = patience[row].connect_ms;
    o.request_timeout_ms = patience[row].request_ms;
    return client_asking(patience[row].query, &o);
}

static void ck_assert_soon(int64_t since_ms)
{
    int64_t took_ms = local_now_ms() - since_ms;

    ck_assert_int_ge(took_ms, SOON_MS);
    ck_assert_int_lt(took_ms, DEFAULT_MS);
}

START_TEST(stopped_server_is_abandoned_after_the_timeout)
{
    struct hf_client *client = client_patient(_i);
    struct hf_lock *lock = lock_of(client, NAME);
    int64_t since_ms;

    acquire(lock, 1);
    release(lock, 1);
    server_pause(server);
    since_ms = local_now_ms();
    ck_assert_status(try_acquire(lock, 1, NULL), HF_E_NOREPLY);
    ck_assert_soon(since_ms);
    server_resume(server);
    hf_client_free(client);
}
END_TEST

START_TEST(silent_server_is_abandoned_after_the_connect_timeout)
{
    struct hf_client *client = client_patient(_i);
    int64_t since_ms;

    server_pause(server); /* the kernel still takes connections */
    since_ms = local_now_ms();
    ck_assert_int_lt(hf_client_connect(client, NULL), HF_OK);
    ck_assert_soon(since_ms);
    server_resume(server);
    hf_client_free(client);
}
END_TEST

/* ---- what no server sees ---- */

static hf_status new_client(const char *url, const struct hf_tls_options *tls,
                            struct hf_error *err)
{
    struct hf_client *none = NULL;
    struct hf_client_options o;
    hf_status rc;

    hf_client_options_init(&o);
    o.url = url;
    o.tls = tls;
    rc = hf_client_new(&none, &o, err);
    hf_client_free(none);
    return rc;
}

START_TEST(tls_options_need_a_url_of_tls)
{
    const struct hf_tls_options tls = {.ca_file = "ca.pem"};
    const struct hf_tls_options none = {.ca_file = ""};
    struct hf_error err;

    ck_assert_ok(new_client("redis://h", &none, &err));
    ck_assert_status(new_client("redis://h", &tls, &err), HF_E_INVAL);
    ck_assert_str_eq(err.text, "tls_ca needs TLS, and the URL does not begin with rediss");
}
END_TEST

/* A file of that name would not be found; nobody listens at an abstract one. */
START_TEST(abstract_socket_is_no_file)
{
    struct hf_client *client = NULL;
    struct hf_client_options o;
    struct hf_error err;

    hf_client_options_init(&o);
    o.url = "unix:@holdfast-nobody?connect_timeout=100ms";
    ck_assert_ok(hf_client_new(&client, &o, &err));
    ck_assert_int_lt(hf_client_connect(client, &err), HF_OK);
    ck_assert_msg(strstr(err.text, "unix:@holdfast-nobody: ") &&
                      strstr(err.text, strerror(ECONNREFUSED)),
                  "%s", err.text);
    hf_client_free(client);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "options of a URL", start_server, stop_server);

    tcase_add_loop_test(c, server_receives_the_requested_settings, 0,
                        COUNT(handshakes));
    tcase_add_loop_test(c, stopped_server_is_abandoned_after_the_timeout, 0,
                        COUNT(patience));
    tcase_add_loop_test(c, silent_server_is_abandoned_after_the_connect_timeout,
                        0, COUNT(patience));
    tcase_add_test(c, tls_options_need_a_url_of_tls);
    tcase_add_test(c, abstract_socket_is_no_file);
}

int main(void)
{
    return live_main("options of a URL", add);
}
