/* Sets of locks whose members are on one server, by two clients: quorums and
 * multi-locks refuse them, unless that is allowed. */
#include <poll.h>

#include "lock/multi.h"
#include "lock/quorum.h"
#include "tests/live/test_lock.h"

#define SERVERS 2
#define USER "ACL SETUSER plain on >word ~* &* +@all -info"

static struct server *servers[SERVERS];
static struct hf_client *clients[3];
static struct hf_lock *locks[3];
static char line[300];
static pthread_mutex_t line_mutex = PTHREAD_MUTEX_INITIALIZER;

static void start(void)
{
    for (int i = 0; i < SERVERS; i++)
        ck_assert_ptr_nonnull(servers[i] = server_start(NULL));
    line[0] = '\0';
}

static void stop(void)
{
    for (int i = 0; i < 3; i++) {
        hf_client_free(clients[i]);
        clients[i] = NULL;
    }
    for (int i = 0; i < SERVERS; i++)
        server_stop(servers[i]);
}

static void note_line(void *ctx, enum hf_log_level level, const char *text)
{
    (void)ctx, (void)level;
    pthread_mutex_lock(&line_mutex);
    if (strstr(text, "on one server"))
        (void)snprintf(line, sizeof line, "%s", text);
    pthread_mutex_unlock(&line_mutex);
}

static bool has_line(void)
{
    bool has;

    pthread_mutex_lock(&line_mutex);
    has = line[0] != '\0';
    pthread_mutex_unlock(&line_mutex);
    return has;
}

/* Lock `i`, of this name, in that database of the server. Its client is connected: a quorum waits
 * 200 ms for members that are connecting, which a busy machine may need for itself. The simulation
 * has members that connect late (tests/sim/test_quorum.c). */
static void open_lock(int i, int server, int database, const char *name,
                      const char *user)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX + 16];
    size_t len;

    client_options(&o, url, server_port(servers[server]));
    len = strlen(url);
    (void)snprintf(url + len, sizeof url - len, "/%d", database);
    o.user = user;
    o.password = user ? "word" : NULL;
    o.log = note_line;
    clients[i] = client_with(&o);
    connect_patiently(clients[i]);
    locks[i] = lock_of(clients[i], name);
}

static int keys(void)
{
    int found = 0;

    for (int i = 0; i < SERVERS; i++)
        found += (int)server_ask_int(servers[i], "DBSIZE");
    return found;
}

/* A member that grants after the call has ended is released in the background. */
static void await_no_keys(void)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    while (keys() != 0) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
}

static const int64_t waits[] = {0, 1000, HF_FOREVER};

/* The second and the third member: one key, or two of two databases. */
START_TEST(quorum_whose_members_are_on_one_server_is_refused)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err = {0};
    struct hf_quorum *quorum;

    open_lock(0, 0, 0, NAME, NULL);
    open_lock(1, 1, 0, NAME, NULL);
    open_lock(2, 1, _i % 2, NAME, NULL);
    ck_assert_ok(hf_quorum_new(&quorum, locks, 3, NULL));
    o.wait_ms = waits[_i / 2];
    ck_assert_status(hf_quorum_acquire(quorum, &o, &err), HF_E_INVAL);
    ck_assert_msg(strstr(err.text, "on one server") != NULL, "%s", err.text);
    await_no_keys();
    ck_assert_status(hf_quorum_acquire(quorum, &o, &err), HF_E_INVAL);
    await_no_keys();
    o.allow_same_server = true;
    ck_assert_ok(hf_quorum_acquire(quorum, &o, NULL));
    ck_assert_ok(hf_quorum_release(quorum, 1, NULL));
    hf_quorum_free(quorum);
}
END_TEST

START_TEST(quorum_without_settings_of_servers_is_granted_and_logged)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_quorum *quorum;

    (void)server_ask(servers[1], USER);
    open_lock(0, 0, 0, NAME, NULL);
    open_lock(1, 1, 0, NAME, "plain");
    open_lock(2, 1, 1, NAME, "plain");
    ck_assert_ok(hf_quorum_new(&quorum, locks, 3, NULL));
    ck_assert_ok(hf_quorum_acquire(quorum, &o, NULL));
    ck_assert_ok(hf_quorum_release(quorum, 1, NULL));
    for (int i = 0; i < LONG_MS / 10 && !has_line(); i++)
        (void)poll(NULL, 0, 10);
    ck_assert(has_line());
    hf_quorum_free(quorum);
}
END_TEST

START_TEST(multi_lock_of_one_name_twice_on_one_server_is_refused)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err = {0};
    struct hf_multi *multi;

    open_lock(0, 0, 0, NAME, NULL);
    open_lock(1, 0, _i % 2, NAME, NULL);
    ck_assert_ok(hf_multi_new(&multi, locks, 2, NULL));
    o.wait_ms = waits[_i / 2];
    ck_assert_status(hf_multi_acquire(multi, &o, &err), HF_E_INVAL);
    ck_assert_msg(strstr(err.text, "on one server") != NULL, "%s", err.text);
    await_no_keys();
    o.allow_same_server = true;
    o.wait_ms = 0;
    if (_i % 2) {
        ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
        ck_assert_ok(hf_multi_release(multi, 1, NULL));
    } else {
        ck_assert_status(hf_multi_acquire(multi, &o, NULL), HF_TIMEOUT);
    }
    hf_multi_free(multi);
}
END_TEST

START_TEST(multi_lock_of_two_names_may_be_on_one_server)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_multi *multi;

    open_lock(0, 0, 0, "a", NULL);
    open_lock(1, 0, 0, "b", NULL);
    ck_assert_ok(hf_multi_new(&multi, locks, 2, NULL));
    ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
    ck_assert_int_eq(keys(), 2);
    ck_assert_ok(hf_multi_release(multi, 1, NULL));
    hf_multi_free(multi);
}
END_TEST

START_TEST(multi_lock_of_one_name_on_two_servers_is_granted)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_multi *multi;

    open_lock(0, 0, 0, NAME, NULL);
    open_lock(1, 1, 0, NAME, NULL);
    ck_assert_ok(hf_multi_new(&multi, locks, 2, NULL));
    ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
    ck_assert_ok(hf_multi_release(multi, 1, NULL));
    hf_multi_free(multi);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("members on one server");
    TCase *c = tcase_create("one server");

    tcase_add_checked_fixture(c, start, stop);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, quorum_whose_members_are_on_one_server_is_refused, 0,
                        6);
    tcase_add_test(c, quorum_without_settings_of_servers_is_granted_and_logged);
    tcase_add_loop_test(c, multi_lock_of_one_name_twice_on_one_server_is_refused,
                        0, 6);
    tcase_add_test(c, multi_lock_of_two_names_may_be_on_one_server);
    tcase_add_test(c, multi_lock_of_one_name_on_two_servers_is_granted);
    suite_add_tcase(s, c);
    return suite_run(s);
}
