/* Locks at a master that sentinels name, while that stays the same: how it is
 * found, whatever is wrong with a sentinel, and what is said if it is not (faults
 * S1, S2, S4, S7, S10 to S14). */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/live/test_run_kit.h"
#include "tests/live/test_sentinel.h"
#include "tests/support/fds.h"
#include "tests/support/lateness.h"
#include "tests/support/lua_client.h"
#include "tests/support/memory.h"

/* "At once": much sooner than what a connection may take here. */
#define AT_ONCE_MS 10000
#define PATIENT_MS 30000
#define PLENTY 2000             /* more than any scene allocates */

static const int protocols[] = {3, 2};

static void take_and_give_back(struct hf_client *client, struct server *master)
{
    struct hf_lock *lock = lock_of(client, NAME);

    acquire(lock, 1);
    ck_assert_holder(master, lock, 1, 1);
    release(lock, 1);
    ck_assert_str_eq(hash_of(master, NAME), "");
    hf_lock_free(lock);
}

/* ---- finding it ---- */

START_TEST(a_lock_is_taken_at_the_master)
{
    struct hf_client *client = client_of(SENTINELS, protocols[_i]);

    ck_assert_ok(hf_client_connect(client, NULL));
    take_and_give_back(client, master_now());
    ck_assert_ptr_nonnull(
        strstr(hf_client_address(client), "master '" SENTINELS_NAME "' of"));
    hf_client_free(client);
}
END_TEST

START_TEST(a_waiter_is_woken_by_a_message)
{
    struct hf_client *client = client_of(SENTINELS, protocols[_i]);
    struct hf_lock *lock = lock_of(client, NAME);
    struct hf_acquire_options o = acquire_options(1);
    struct call call;

    (void)lua_acquire(master_now(), NAME, strlen(NAME), LUA_HOLDER, 60000);
    call_acquire(&call, lock, &o);
    await_subscribers(master_now(), CHANNEL, 1);
    (void)lua_force_release(master_now(), NAME, strlen(NAME));
    ck_assert_ok(call_await(&call));
    release(lock, 1);
    hf_client_free(client);
}
END_TEST

/* S1: dead, silent, none, with another password; then a good one. */
START_TEST(bad_sentinels_in_front_of_a_good_one_do_not_matter)
{
    struct server *silent = server_start(NULL), *none = server_start(NULL);
    struct server *locked = server_start(
        (const char *const[]){"--requirepass", "another", NULL});
    int ports[] = {local_dead_port(), server_port(silent), server_port(none),
                   server_port(locked),
                   server_port(sentinels_sentinel(sentinels, 1))};
    char url[URL_ROOM];
    struct hf_client_options o;
    struct hf_client *client;
    int64_t began_ms = local_now_ms();

    server_pause(silent);
    url_of_ports(url, ports, COUNT(ports), SENTINELS_NAME);
    o = sentinel_options(url, protocols[_i]);
    o.connect_timeout_ms = o.request_timeout_ms = PATIENT_MS;
    client = client_with(&o);
    take_and_give_back(client, master_now());
    ck_assert_within(began_ms, AT_ONCE_MS);
    hf_client_free(client);
    server_stop(silent);
    server_stop(none);
    server_stop(locked);
}
END_TEST

/* ---- not finding it (S2) ---- */

static hf_status connect_to(const char *url, int protocol,
                            struct hf_error *error)
{
    struct hf_client_options o = sentinel_options(url, protocol);
    struct hf_client *client;
    hf_status rc;

    o.connect_timeout_ms = 3000;
    client = client_with(&o);
    rc = hf_client_connect(client, error);
    hf_client_free(client);
    return rc;
}

static void must_say(const struct hf_error *error, const char *part)
{
    ck_assert_msg(strstr(error->text, part), "%s, without: %s", error->text,
                  part);
}

START_TEST(a_name_that_no_sentinel_knows_is_reported_at_once)
{
    char url[URL_ROOM], *name = strrchr(url_of(url, SENTINELS), '/');
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_error error;
    int64_t began_ms = local_now_ms();

    (void)strcpy(name, "/nobody");
    o = sentinel_options(url, protocols[_i]);
    o.connect_timeout_ms = PATIENT_MS;
    client = client_with(&o);
    ck_assert_status(hf_client_connect(client, &error), HF_E_INVAL);
    must_say(&error, "the sentinels do not know 'nobody'");
    ck_assert_within(began_ms, AT_ONCE_MS);
    hf_client_free(client);
}
END_TEST

/* And one that is not there does not drown it. */
START_TEST(a_name_is_unknown_though_a_sentinel_is_dead)
{
    int ports[] = {local_dead_port(),
                   server_port(sentinels_sentinel(sentinels, 0)),
                   local_dead_port()};
    struct hf_error error;
    char url[URL_ROOM];

    url_of_ports(url, ports, COUNT(ports), "nobody");
    ck_assert_status(connect_to(url, protocols[_i], &error), HF_E_INVAL);
    must_say(&error, "the sentinels do not know 'nobody'");
}
END_TEST

START_TEST(sentinels_that_are_not_there_are_reported)
{
    int ports[] = {local_dead_port(), local_dead_port()};
    struct hf_error error;
    char url[URL_ROOM];

    url_of_ports(url, ports, COUNT(ports), SENTINELS_NAME);
    ck_assert_status(connect_to(url, protocols[_i], &error), HF_E_CONNECT);
    must_say(&error, "Connection refused");
}
END_TEST

START_TEST(a_server_that_is_not_a_sentinel_is_reported)
{
    int port = server_port(master_now());
    struct hf_error error;
    char url[URL_ROOM];

    url_of_ports(url, &port, 1, SENTINELS_NAME);
    ck_assert_status(connect_to(url, protocols[_i], &error), HF_E_SERVER);
    must_say(&error, "unknown command");
}
END_TEST

START_TEST(a_wrong_password_of_sentinels_is_reported)
{
    struct server *locked = server_start(
        (const char *const[]){"--sentinel", "--requirepass", "x", NULL});
    int port = server_port(locked);
    struct hf_error error;
    char url[URL_ROOM];

    url_of_ports(url, &port, 1, SENTINELS_NAME);
    ck_assert_status(connect_to(url, protocols[_i], &error), HF_E_AUTH);
    (void)strcat(url, "?sentinel_password=wrong");
    ck_assert_status(connect_to(url, protocols[_i], &error), HF_E_AUTH);
    ck_assert_ptr_null(strstr(error.text, "wrong"));
    server_stop(locked);
}
END_TEST

/* ---- asked again (S4, S10) ---- */

/* Killed as sentinels do to those who are connected to a master that is none any
 * more. */
START_TEST(each_new_connection_queries_the_sentinels)
{
    char url[URL_ROOM];
    struct hf_client_options o =
        sentinel_options(url_of(url, SENTINELS), protocols[_i]);
    struct hf_client *client;
    struct watch watch;

    watch_with(&o, &watch);
    client = client_with(&o);
    take_and_give_back(client, master_now());
    for (int i = 0; i < 3; i++) {
        int asked = note_read(&watch.note, &watch.asked);

        server_kill_connections(master_now());
        note_await(&watch.note, &watch.asked, asked + 1, "a question");
        take_and_give_back(client, master_now());
    }
    hf_client_free(client);
}
END_TEST

/* ---- sentinels that go (S11, S14) ---- */

static void kill_sentinels(int from)
{
    for (int i = from; i < SENTINELS; i++)
        server_kill(sentinels_sentinel(sentinels, i));
}

static void revive_sentinels(void)
{
    for (int i = 0; i < SENTINELS; i++)
        if (!server_is_running(sentinels_sentinel(sentinels, i)))
            server_restart(sentinels_sentinel(sentinels, i));
}

START_TEST(without_sentinels_a_connection_works_on)
{
    char url[URL_ROOM];
    struct hf_client_options o =
        sentinel_options(url_of(url, SENTINELS), protocols[_i]);
    struct hf_acquire_options a;
    struct hf_client *client;
    struct hf_lock *lock;
    struct diary diary;
    struct server *master = master_now();

    o.watchdog_ms = STEADY_WATCHDOG_MS;
    client = client_with(&o);
    lock = lock_of(client, "kept");
    a = diary_options(&diary, 1);
    ck_assert_ok(hf_lock_acquire(lock, &a, NULL));
    kill_sentinels(0);
    note_await(&diary.note, &diary.renewals, 2, "renewals");
    take_and_give_back(client, master);
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    release(lock, 1);
    ck_assert_uint_eq(stats_of(client).holds, 0);
    hf_client_free(client);
    revive_sentinels();
}
END_TEST

/* And when they are back, so is the lock. */
START_TEST(without_sentinels_nothing_is_found_and_that_is_reported)
{
    char url[URL_ROOM];
    struct hf_client_options o =
        sentinel_options(url_of(url, SENTINELS), protocols[_i]);
    struct hf_error error;
    struct hf_client *client;
    struct hf_lock *lock;

    o.request_timeout_ms = SET_UP_MS;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    release(lock, 1);
    kill_sentinels(1);
    server_kill(sentinels_sentinel(sentinels, 0));
    (void)server_ask(sentinels_server(sentinels, 0),
                     "CLIENT KILL TYPE normal SKIPME yes");
    (void)try_acquire(lock, 1, &error); /* that one may have been sent */
    ck_assert_status(try_acquire(lock, 1, &error), HF_E_CONNECT);
    must_say(&error, "Connection refused");
    revive_sentinels();
    while (try_acquire(lock, 1, &error) < 0)
        ck_assert_int_eq(error.status, HF_E_CONNECT);
    release(lock, 1);
    hf_client_free(client);
}
END_TEST

START_TEST(sentinels_that_others_name_are_also_queried)
{
    struct hf_client *client = client_of(1, protocols[_i]);

    take_and_give_back(client, master_now());
    server_kill(sentinels_sentinel(sentinels, 0));
    server_kill_connections(master_now());
    take_and_give_back(client, master_now());
    hf_client_free(client);
    revive_sentinels();
}
END_TEST

/* ---- who is refused at the master ---- */

/* S7: what a master can be told, so that one that is left behind grants
 * nothing. */
START_TEST(a_master_without_enough_replicas_may_refuse)
{
    struct hf_client *client = client_of(SENTINELS, protocols[_i]);
    struct hf_lock *lock = lock_of(client, NAME);
    struct hf_error error;

    (void)server_ask(master_now(), "CONFIG SET min-replicas-to-write %d",
                     REPLICAS + 1);
    ck_assert_status(try_acquire(lock, 1, &error), HF_E_SERVER);
    must_say(&error, "NOREPLICAS");
    (void)server_ask(master_now(), "CONFIG SET min-replicas-to-write 0");
    hf_client_free(client);
}
END_TEST

/* ---- a sentinel and a server of the test's own (S13) ---- */

struct couple {
    struct server *master;
    struct server *sentinel;
};

/* `host` is how the sentinel calls it. */
static struct couple couple_start(const char *const *master_args,
                                  const char *const *sentinel_args,
                                  const char *host)
{
    struct couple c = {server_start(master_args), server_start(sentinel_args)};

    (void)server_ask(c.sentinel, "SENTINEL CONFIG SET resolve-hostnames yes");
    (void)server_ask(c.sentinel, "SENTINEL CONFIG SET announce-hostnames yes");
    ck_assert_str_eq(server_ask(c.sentinel, "SENTINEL MONITOR %s %s %d 1",
                                SENTINELS_NAME, host, server_port(c.master)),
                     "OK");
    return c;
}

static void couple_stop(struct couple *c)
{
    server_stop(c->sentinel);
    server_stop(c->master);
}

static void use(struct couple *c, const char *url, int protocol)
{
    struct hf_client_options o = sentinel_options(url, protocol);
    struct hf_client *client;

    client = client_with(&o);
    take_and_give_back(client, c->master);
    hf_client_free(client);
}

START_TEST(names_and_addresses_of_ipv6_are_found)
{
    static const char *const hosts[] = {"localhost", "::1"};
    static const char *const args[] = {"--bind", "127.0.0.1", "::1", NULL};
    static const char *const sentinel[] = {"--bind", "127.0.0.1", "::1",
                                           "--sentinel", NULL};
    struct couple c = couple_start(args, sentinel, hosts[_i % COUNT(hosts)]);
    char url[URL_ROOM];

    ck_assert_msg(strncmp(server_ask(c.sentinel,
                                     "SENTINEL GET-MASTER-ADDR-BY-NAME %s",
                                     SENTINELS_NAME),
                          hosts[_i % COUNT(hosts)],
                          strlen(hosts[_i % COUNT(hosts)])) == 0,
                  "the sentinel names an address");
    (void)snprintf(url, sizeof url, "redis+sentinel://%s:%d/%s",
                   _i % COUNT(hosts) ? "[::1]" : "localhost",
                   server_port(c.sentinel), SENTINELS_NAME);
    use(&c, url, protocols[_i / COUNT(hosts)]);
    couple_stop(&c);
}
END_TEST

/* What docs/sentinel.md says that a user needs, here and there. */
START_TEST(sentinels_have_a_user_of_their_own)
{
    static const char *const master[] = {"--requirepass", "a master's", NULL};
    struct couple c = couple_start(
        master, (const char *const[]){"--sentinel", NULL}, "127.0.0.1");
    char url[URL_ROOM];

    (void)server_ask(c.sentinel, "SENTINEL SET %s auth-pass %s",
                     SENTINELS_NAME, "a master's");
    ck_assert_str_eq(
        server_ask(c.sentinel,
                   "ACL SETUSER asker on >%s resetchannels &+switch-master "
                   "-@all +@connection +subscribe +unsubscribe +info "
                   "+sentinel|sentinels +sentinel|get-master-addr-by-name",
                   "a sentinel's"),
        "OK");
    ck_assert_str_eq(
        server_ask(c.sentinel, "ACL SETUSER default resetpass >other"), "OK");
    (void)snprintf(url, sizeof url,
                   "redis+sentinel://:a%%20master's@127.0.0.1:%d/%s?sentinel_"
                   "user=asker&sentinel_password=a%%20sentinel's",
                   server_port(c.sentinel), SENTINELS_NAME);
    use(&c, url, protocols[_i]);
    couple_stop(&c);
}
END_TEST

/* ---- its end ---- */

START_TEST(a_child_of_a_fork_queries_no_sentinel)
{
    struct hf_client *client = client_of(SENTINELS, protocols[_i]);
    struct hf_lock *lock = lock_of(client, NAME);
    int status;
    pid_t child;

    acquire(lock, 1);
    child = fork();
    if (child == 0) {
        bool is_good = try_acquire(lock, 2, NULL) == HF_E_FORKED &&
                       hf_client_connect(client, NULL) == HF_E_FORKED;

        hf_client_free(client);
        _exit(is_good ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_holder(master_now(), lock, 1, 1);
    release(lock, 1);
    hf_client_free(client);
}
END_TEST

static void begin(struct call *call, struct hf_lock *lock)
{
    struct hf_acquire_options o = acquire_options(1);

    call_acquire(call, lock, &o);
}

/* While it asks those who do not answer. */
START_TEST(a_client_that_looks_for_the_master_can_be_closed_and_freed)
{
    struct server *silent = server_start(NULL);
    int ports[] = {server_port(silent), local_dead_port()};
    struct hf_client_closed closed;
    struct hf_client_options o;
    struct hf_client *client;
    struct memory memory;
    struct call calls[2];
    char url[URL_ROOM];

    server_pause(silent);
    url_of_ports(url, ports, COUNT(ports), SENTINELS_NAME);
    for (int way = 0; way < 4; way++) {
        struct hf_lock *lock;

        memory_init(&memory);
        o = sentinel_options(url, protocols[way % 2]);
        o.mem = &memory.hook;
        client = client_with(&o);
        lock = lock_of(client, NAME);
        begin(&calls[0], lock);
        begin(&calls[1], lock);
        if (way < 2) {
            (void)hf_client_close(client, 50, &closed, NULL);
            ck_assert_status(call_await(&calls[0]), HF_E_CLOSED);
            ck_assert_uint_eq(closed.cancelled, 2);
        }
        hf_client_free(client);
        ck_assert_status(call_await(&calls[0]), HF_E_CLOSED);
        ck_assert_pstr_eq(memory_fini(&memory), NULL);
    }
    server_stop(silent);
}
END_TEST

/* What is out of memory says so, or that it could not reach the master. */
static bool is_honest(hf_status rc)
{
    return rc == HF_OK || rc == HF_E_NOMEM || rc == HF_E_NOREPLY ||
           rc == HF_E_CONNECT;
}

static void use_once(struct hf_lock *lock)
{
    hf_status rc = hf_lock_acquire(lock, NULL, NULL);

    ck_assert_msg(is_honest(rc), "%s", hf_status_name(rc));
    if (rc == HF_OK)
        ck_assert(is_honest(hf_lock_release(lock, hf_owner_thread(), NULL)));
}

static void be_found(const struct hf_client_options *o, struct memory *memory,
                     int n)
{
    struct hf_client *client;
    struct hf_lock *lock;
    hf_status rc;

    memory_fail_at(memory, (uint64_t)n);
    rc = hf_client_new(&client, o, NULL);
    ck_assert(is_honest(rc));
    if (rc < 0)
        return;
    rc = hf_lock_new(&lock, client, NAME, strlen(NAME), NULL);
    ck_assert(is_honest(rc));
    if (rc == HF_OK)
        use_once(lock);
    hf_client_free(client);
}

static void be_found_again(const struct hf_client_options *o,
                           struct memory *memory, int n)
{
    struct hf_client *client = client_with(o);
    struct hf_lock *lock = lock_of(client, NAME);

    use_once(lock);
    memory_fail_at(memory, (uint64_t)n);
    (void)server_ask(master_now(), "CLIENT KILL TYPE normal SKIPME yes");
    use_once(lock);
    hf_client_free(client);
}

START_TEST(each_allocation_may_fail)
{
    struct server *master = master_now();
    char url[URL_ROOM];
    struct hf_client_options o =
        sentinel_options(url_of(url, SENTINELS), protocols[_i % 2]);
    struct memory memory;
    bool has_failed = true;
    int n;

    o.thread = _i % 4 < 2;
    o.mem = &memory.hook;
    o.request_timeout_ms = 3000;
    (void)server_ask(master, "PING");
    (void)master_now();
    fds_note();
    for (n = 1; has_failed && n < PLENTY; n++) {
        memory_init(&memory);
        (_i < 4 ? be_found : be_found_again)(&o, &memory, n);
        has_failed = memory_has_failed(&memory);
        ck_assert_pstr_eq(memory_fini(&memory), NULL);
        fds_await_none();
        server_await(master, LONG_MS, "0", "EXISTS " NAME);
    }
    ck_assert_int_gt(n, 5);
    ck_assert_int_lt(n, PLENTY);
}
END_TEST

/* ---- the command ---- */

static struct process *run(const char *url)
{
    return holdfast(NULL, "run", "-u", url, "--connect-timeout", "400ms", "x",
                    "echo", "never", NULL);
}

/* With a line that says so, and without the command. */
static void must_end(struct process *p, const char *why)
{
    char words[1000];

    ck_assert_int_eq(finish(p), 125);
    (void)snprintf(words, sizeof words, "%s", await_end(p, ERR));
    ck_assert_msg(strstr(words, why), "%s, without: %s", words, why);
    ck_assert_str_eq(await_end(p, OUT), "");
}

START_TEST(the_command_prints_the_errors_of_the_sentinels)
{
    char url[URL_ROOM], *name = strrchr(url_of(url, SENTINELS), '/');
    int port = local_dead_port();

    (void)strcpy(name, "/nobody");
    must_end(run(url), "the sentinels do not know 'nobody'");
    url_of_ports(url, &port, 1, SENTINELS_NAME);
    must_end(run(url), "Connection refused");
}
END_TEST

/* ---- no quorum (S12): the last, for its master comes back empty ---- */

START_TEST(without_a_quorum_the_deadline_is_kept)
{
    char url[URL_ROOM], expected[64];
    struct server *master = master_now();
    struct hf_client_options o =
        sentinel_options(url_of(url, SENTINELS), protocols[_i]);
    struct hf_error error;
    struct hf_client *client;
    struct hf_lock *lock;

    o.request_timeout_ms = SET_UP_MS;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    release(lock, 1);
    kill_sentinels(1);
    server_kill(master);
    (void)try_acquire(lock, 1, &error); /* that one may have been sent */
    ck_assert_status(try_acquire(lock, 1, &error), HF_E_CONNECT);
    (void)snprintf(expected, sizeof expected,
                   "names the master 127.0.0.1:%d: ", server_port(master));
    must_say(&error, expected);
    must_end(run(url), expected);
    server_restart(master);
    while (try_acquire(lock, 1, &error) < 0)
        ck_assert_int_eq(error.status, HF_E_CONNECT);
    release(lock, 1);
    hf_client_free(client);
    revive_sentinels();
}
END_TEST

/* ---- */

static void set_up(void)
{
    sentinels = sentinels_start(&(struct sentinels_options){
        .replicas = REPLICAS, .sentinels = SENTINELS});
}

static void tear_down(void)
{
    sentinels_stop(sentinels);
}

static void add(Suite *suite)
{
    TCase *c = tcase_create("sentinel");

    suite_add_tcase(suite, c);
    tcase_add_unchecked_fixture(c, set_up, tear_down);
    tcase_add_checked_fixture(c, revive_sentinels, NULL); /* of a test that failed */
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, a_lock_is_taken_at_the_master, 0, 2);
    tcase_add_loop_test(c, a_waiter_is_woken_by_a_message, 0, 2);
    tcase_add_loop_test(c, bad_sentinels_in_front_of_a_good_one_do_not_matter,
                        0, 2);
    tcase_add_loop_test(c, a_name_that_no_sentinel_knows_is_reported_at_once, 0, 2);
    tcase_add_loop_test(c, a_name_is_unknown_though_a_sentinel_is_dead, 0, 2);
    tcase_add_loop_test(c, sentinels_that_are_not_there_are_reported, 0, 2);
    tcase_add_loop_test(c, a_server_that_is_not_a_sentinel_is_reported, 0, 2);
    tcase_add_loop_test(c, a_wrong_password_of_sentinels_is_reported, 0, 2);
    tcase_add_loop_test(c, each_new_connection_queries_the_sentinels, 0, 2);
    tcase_add_loop_test(c, a_master_without_enough_replicas_may_refuse, 0, 2);
    tcase_add_loop_test(c, names_and_addresses_of_ipv6_are_found, 0, 4);
    tcase_add_loop_test(c, sentinels_have_a_user_of_their_own, 0, 2);
    tcase_add_loop_test(c, a_child_of_a_fork_queries_no_sentinel, 0, 2);
    tcase_add_test(c,
                   a_client_that_looks_for_the_master_can_be_closed_and_freed);
    tcase_add_loop_test(c, each_allocation_may_fail, 0, 6);
    tcase_add_test(c, the_command_prints_the_errors_of_the_sentinels);
    tcase_add_loop_test(c, without_sentinels_a_connection_works_on, 0, 2);
    tcase_add_loop_test(
        c, without_sentinels_nothing_is_found_and_that_is_reported, 0, 2);
    tcase_add_loop_test(c, sentinels_that_others_name_are_also_queried, 0, 2);
    tcase_add_loop_test(c, without_a_quorum_the_deadline_is_kept, 0, 2);
}

int main(void)
{
    return live_main("sentinel", add);
}
