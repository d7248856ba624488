/* Credentials that change: the callback that the client asks before each connection, its
 * answers now, later, twice, never; passwords that are rotated under holds; AUTH on a
 * live connection before they expire. */
#include <unistd.h>

#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

#define USER "app"
#define RIGHTS "~* &* +@all"
#define ROTATIONS 50
#define HOLDS 100

/* ---- a program that knows passwords ---- */

static struct vault {
    pthread_mutex_t mutex;
    const char *user, *password;
    int64_t expires_in_ms;
    hf_status status;           /* what the callback returns */
    const char *why;
    uint64_t id;                /* of the last query */
    struct note note;
    int queries, auths, lines, losses;
    bool was_refused;
    char line[512];
} vault;

static hf_status ask_vault(void *ctx, const struct hf_credentials_query *query,
                           struct hf_credentials *out, struct hf_error *err)
{
    struct vault *v = ctx;
    hf_status rc;

    (void)pthread_mutex_lock(&v->mutex);
    rc = v->status;
    out->user = v->user;
    out->password = v->password;
    out->expires_in_ms = v->expires_in_ms;
    v->id = query->id;
    v->was_refused = query->was_refused;
    if (v->why)
        (void)snprintf(err->text, sizeof err->text, "%s", v->why);
    (void)pthread_mutex_unlock(&v->mutex);
    note_add(&v->note, &v->queries);
    return rc;
}

static void see_auth(void *ctx, const struct hf_trace *trace)
{
    struct vault *v = ctx;

    if (trace->kind == HF_TRACE_QUEUED && trace->argv[0].len == 4 &&
        memcmp(trace->argv[0].ptr, "AUTH", 4) == 0)
        note_add(&v->note, &v->auths);
}

static void take_line(void *ctx, enum hf_log_level level, const char *line)
{
    struct vault *v = ctx;

    (void)level;
    if (!strstr(line, "default user"))
        return;
    (void)snprintf(v->line, sizeof v->line, "%s", line);
    note_add(&v->note, &v->lines);
}

static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner, enum hf_lost why)
{
    (void)lock;
    (void)owner;
    (void)why;
    note_add(&((struct vault *)ctx)->note, &((struct vault *)ctx)->losses);
}

static void set_password(const char *password)
{
    (void)pthread_mutex_lock(&vault.mutex);
    vault.password = password;
    (void)pthread_mutex_unlock(&vault.mutex);
}

static void set_status(hf_status status)
{
    (void)pthread_mutex_lock(&vault.mutex);
    vault.status = status;
    (void)pthread_mutex_unlock(&vault.mutex);
}

static uint64_t last_query(void)
{
    uint64_t id;

    (void)pthread_mutex_lock(&vault.mutex);
    id = vault.id;
    (void)pthread_mutex_unlock(&vault.mutex);
    return id;
}

static void start(void)
{
    memset(&vault, 0, sizeof vault);
    (void)pthread_mutex_init(&vault.mutex, NULL);
    note_init(&vault.note);
    vault.user = USER;
    vault.password = "one";
    start_server();
    (void)server_ask(server, "ACL SETUSER " USER " reset on >one " RIGHTS);
}

static struct hf_client *open_client(int port)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, port);
    o.credentials = ask_vault;
    o.credentials_ctx = &vault;
    o.trace = see_auth;
    o.trace_ctx = &vault;
    o.log = take_line;
    o.log_ctx = &vault;
    o.watchdog_ms = STEADY_WATCHDOG_MS;
    return client_with(&o);
}

static void answer(struct hf_client *client, const char *password, hf_status expected)
{
    const struct hf_credentials c = {
        .size = sizeof c, .user = USER, .password = password};

    ck_assert_status(hf_client_answer_credentials(client, last_query(), &c, NULL),
                     expected);
}

/* ---- answers ---- */

START_TEST(answer_at_once_logs_in)
{
    struct hf_client *client = open_client(server_port(server));

    acquire(lock_of(client, NAME), 1);
    ck_assert_str_eq(server_ask(server, "EXISTS " NAME), "1");
    ck_assert(!vault.was_refused);
    hf_client_free(client);
}
END_TEST

static void *connect_it(void *ctx)
{
    struct hf_error err = {0};

    ck_assert_msg(hf_client_connect(ctx, &err) == HF_OK, "%s", err.text);
    return NULL;
}

/* And a second answer to the same query, or one without its size, is refused and harms
 * nothing. */
START_TEST(answer_may_come_later_from_any_thread_and_counts_once)
{
    const struct hf_credentials unsized = {.user = USER, .password = "one"};
    struct hf_client *client;
    pthread_t thread;

    vault.status = HF_CREDENTIALS_LATER;
    client = open_client(server_port(server));
    ck_assert_int_eq(pthread_create(&thread, NULL, connect_it, client), 0);
    note_await(&vault.note, &vault.queries, 1, "a query");
    ck_assert_status(hf_client_answer_credentials(client, last_query(), &unsized, NULL),
                     HF_E_INVAL);
    answer(client, "one", HF_OK);
    answer(client, "wrong", HF_E_INVAL);
    (void)pthread_join(thread, NULL);
    answer(client, "one", HF_E_INVAL);
    ck_assert_int_eq(note_read(&vault.note, &vault.queries), 1);
    hf_client_free(client);
}
END_TEST

/* LOGIN-1: The wait ends with the connect timeout, and a late answer is used. */
START_TEST(query_without_an_answer_ends_the_attempt_and_a_late_answer_counts)
{
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_error err = {0};
    char url[SERVER_URL_MAX];

    vault.status = HF_CREDENTIALS_LATER;
    client_options(&o, url, server_port(server));
    o.credentials = ask_vault;
    o.credentials_ctx = &vault;
    o.connect_timeout_ms = 200;
    client = client_with(&o);
    ck_assert_status(hf_client_connect(client, &err), HF_E_CONNECT);
    ck_assert_msg(strstr(err.text, "no credentials: the callback has not answered"),
                  "%s", err.text);
    ck_assert_int_eq(note_read(&vault.note, &vault.queries), 1);
    answer(client, "one", HF_OK);
    acquire(lock_of(client, NAME), 1);
    ck_assert_int_eq(note_read(&vault.note, &vault.queries), 1);
    hf_client_free(client);
}
END_TEST

START_TEST(answer_after_close_is_harmless)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_client *client;
    struct call c;

    vault.status = HF_CREDENTIALS_LATER;
    client = open_client(server_port(server));
    call_acquire(&c, lock_of(client, NAME), &o);
    note_await(&vault.note, &vault.queries, 1, "a query");
    (void)hf_client_close(client, 0, NULL, NULL);
    (void)hf_client_answer_credentials(client, last_query(), NULL, "too late");
    hf_client_free(client);
}
END_TEST

/* The callback's words are in the error; the next query may have an answer. */
START_TEST(refusal_is_temporary_and_reports_why)
{
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_error err = {0};
    char url[SERVER_URL_MAX];

    vault.status = HF_E_SYSTEM;
    vault.why = "the vault is sealed";
    client_options(&o, url, server_port(server));
    o.credentials = ask_vault;
    o.credentials_ctx = &vault;
    o.connect_once = true;
    client = client_with(&o);
    ck_assert_status(hf_client_connect(client, &err), HF_E_CONNECT);
    ck_assert_msg(strstr(err.text, "no credentials: the vault is sealed"), "%s", err.text);
    set_status(HF_OK);
    acquire(lock_of(client, NAME), 1);
    hf_client_free(client);
}
END_TEST

static const struct {
    const char *rule;           /* of the user; `%s`: the password */
    size_t len;
    bool is_later;
} lengths[] = {{"nopass", 0, false}, {"nopass", 0, true}, {">%s", HF_LOGIN_MAX, false},
               {">%s", HF_LOGIN_MAX, true}};

START_TEST(password_has_0_bytes_to_64_KiB)
{
    static char password[HF_LOGIN_MAX + 1], rule[HF_LOGIN_MAX + 64];
    struct hf_client *client;
    pthread_t thread;

    memset(password, 'p', lengths[_i].len);
    (void)snprintf(rule, sizeof rule, lengths[_i].len ? ">%s" : "nopass", password);
    (void)server_ask(server, "ACL SETUSER " USER " resetpass %s", rule);
    vault.password = password;
    vault.status = lengths[_i].is_later ? HF_CREDENTIALS_LATER : HF_OK;
    client = open_client(server_port(server));
    ck_assert_int_eq(pthread_create(&thread, NULL, connect_it, client), 0);
    note_await(&vault.note, &vault.queries, 1, "a query");
    if (lengths[_i].is_later)
        answer(client, password, HF_OK);
    (void)pthread_join(thread, NULL);
    hf_client_free(client);
}
END_TEST

START_TEST(longer_password_is_refused)
{
    static char password[HF_LOGIN_MAX + 2];
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_error err = {0};
    char url[SERVER_URL_MAX];

    memset(password, 'p', sizeof password - 1);
    vault.password = password;
    client_options(&o, url, server_port(server));
    o.credentials = ask_vault;
    o.credentials_ctx = &vault;
    o.connect_once = true;
    client = client_with(&o);
    ck_assert_status(hf_client_connect(client, &err), HF_E_CONNECT);
    ck_assert_ptr_nonnull(strstr(err.text, "the password is longer than 65536 bytes"));
    hf_client_free(client);
}
END_TEST

/* ---- refused by the server ---- */

/* LOGIN-2 */
START_TEST(same_refused_password_twice_is_final_unless_one_was_accepted)
{
    struct hf_client *client;
    struct hf_error err = {0};

    vault.password = "wrong";
    client = open_client(server_port(server));
    ck_assert_status(hf_client_connect(client, &err), HF_E_AUTH);
    ck_assert_ptr_nonnull(strstr(err.text, "WRONGPASS"));
    ck_assert(vault.was_refused);
    ck_assert_int_eq(note_read(&vault.note, &vault.queries), 2);
    hf_client_free(client);
}
END_TEST

static void acquire_with_note(struct hf_lock *lock)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err = {0};

    o.on_lost = on_lost;
    o.ctx = &vault;
    ck_assert_msg(hf_lock_acquire(lock, &o, &err) == HF_OK, "%s", err.text);
}

/* The program knows the new password only after the server has refused the old one, and a
 * renewal works after each rotation. */
START_TEST(rotations_lose_no_hold)
{
    static char passwords[ROTATIONS][24];
    struct hf_client *client = open_client(server_port(server));
    struct hf_lock *locks[HOLDS];
    char name[32];

    for (int i = 0; i < HOLDS; i++) {
        (void)snprintf(name, sizeof name, "hold:%d", i);
        locks[i] = lock_of(client, name);
        acquire_with_note(locks[i]);
    }
    for (int i = 0; i < ROTATIONS; i++) {
        int queries = note_read(&vault.note, &vault.queries);

        (void)snprintf(passwords[i], sizeof passwords[i], "secret-%d", i);
        (void)server_ask(server, "ACL SETUSER " USER " resetpass >%s", passwords[i]);
        if (i % 2)
            set_password(passwords[i]);
        (void)server_ask(server, "CLIENT KILL USER " USER);
        note_await(&vault.note, &vault.queries, queries + 1, "a query");
        set_password(passwords[i]);
        acquire(lock_of(client, "each"), 1);
        release(lock_of(client, "each"), 1);
    }
    ck_assert_int_eq(note_read(&vault.note, &vault.losses), 0);
    for (int i = 0; i < HOLDS; i++)
        release(locks[i], 1);
    hf_client_free(client);
}
END_TEST

/* ---- a live connection ---- */

START_TEST(credentials_that_expire_are_replaced_on_the_live_connection)
{
    struct hf_client *client;

    vault.expires_in_ms = 400;
    client = open_client(server_port(server));
    acquire_with_note(lock_of(client, NAME));
    note_await(&vault.note, &vault.auths, 2, "AUTH");
    ck_assert_uint_eq(stats_of(client).link.connects, 1);
    ck_assert_int_eq(note_read(&vault.note, &vault.losses), 0);
    release(lock_of(client, NAME), 1);
    hf_client_free(client);
}
END_TEST

/* In RESP2 a connection with subscriptions allows no AUTH: it is replaced, and
 * the waiter that listens on it is served. */
START_TEST(subscribed_connection_of_resp2_is_replaced)
{
    struct hf_acquire_options a = acquire_options(2);
    struct hf_client_options o;
    struct hf_client *client, *other;
    char url[SERVER_URL_MAX];
    struct call waiter;
    int queries;

    vault.expires_in_ms = 400;
    other = client_to(server_port(server));
    acquire(lock_of(other, NAME), 1);
    client_options(&o, url, server_port(server));
    o.credentials = ask_vault;
    o.credentials_ctx = &vault;
    o.protocol = 2;
    client = client_with(&o);
    call_acquire(&waiter, lock_of(client, NAME), &a);
    note_await(&vault.note, &vault.queries, 2, "queries of both connections");
    queries = note_read(&vault.note, &vault.queries);
    note_await(&vault.note, &vault.queries, queries + 6, "queries of both connections");
    release(lock_of(other, NAME), 1);
    ck_assert_status(call_await(&waiter), HF_OK);
    hf_client_free(client);
    hf_client_free(other);
}
END_TEST

/* ---- a user that the server refuses ---- */

START_TEST(placeholder_for_a_user_is_reported)
{
    struct hf_client *client;

    (void)server_ask(server, "CONFIG SET requirepass one");
    vault.user = "ap";
    client = open_client(server_port(server));
    acquire(lock_of(client, NAME), 1);
    note_await(&vault.note, &vault.lines, 1, "a line");
    ck_assert_msg(strstr(vault.line, "refused the user 'ap'"), "%s", vault.line);
    hf_client_free(client);
}
END_TEST

/* ACL LOAD: Redis 7.0 closes all connections, also those of users that did not change. */
START_TEST(a_hold_and_a_waiter_outlast_acl_load)
{
    char path[] = "/tmp/holdfast-acl-XXXXXX", url[SERVER_URL_MAX];
    const char *const args[] = {"--aclfile", path, NULL};
    int fd = mkstemp(path);
    struct hf_acquire_options waits = acquire_options(2);
    struct hf_client_options o;
    struct hf_client *app;
    struct diary d;
    struct hf_acquire_options holds = diary_options(&d, 1);
    struct server *s;
    struct call call;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_gt(dprintf(fd, "user default on nopass " RIGHTS "\n"
                                 "user " USER " on >pw " RIGHTS "\n"), 0);
    (void)close(fd);
    ck_assert_ptr_nonnull(s = server_start(args));
    client_options(&o, url, server_port(s));
    o.user = USER;
    o.password = "pw";
    o.watchdog_ms = STEADY_WATCHDOG_MS;
    app = client_with(&o);
    ck_assert_ok(hf_lock_acquire(lock_of(app, NAME), &holds, NULL));
    call_acquire(&call, lock_of(app, NAME), &waits);
    await_subscribers(s, CHANNEL, 1);
    for (int i = 0; i < 3; i++) {
        (void)server_ask(s, "ACL LOAD");
        await_next_renewal(app);
    }
    ck_assert(!call_is_done(&call));
    ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
    release(lock_of(app, NAME), 1);
    ck_assert_status(call_await(&call), HF_OK);
    hf_client_free(app);
    server_stop(s);
    (void)unlink(path);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "credentials", start, stop_server);

    tcase_add_test(c, answer_at_once_logs_in);
    tcase_add_test(c, answer_may_come_later_from_any_thread_and_counts_once);
    tcase_add_test(c, query_without_an_answer_ends_the_attempt_and_a_late_answer_counts);
    tcase_add_test(c, answer_after_close_is_harmless);
    tcase_add_test(c, refusal_is_temporary_and_reports_why);
    tcase_add_loop_test(c, password_has_0_bytes_to_64_KiB, 0, COUNT(lengths));
    tcase_add_test(c, longer_password_is_refused);
    tcase_add_test(c, same_refused_password_twice_is_final_unless_one_was_accepted);
    tcase_add_test(c, rotations_lose_no_hold);
    tcase_add_test(c, credentials_that_expire_are_replaced_on_the_live_connection);
    tcase_add_test(c, subscribed_connection_of_resp2_is_replaced);
    tcase_add_test(c, placeholder_for_a_user_is_reported);
    tcase_add_test(c, a_hold_and_a_waiter_outlast_acl_load);
}

int main(void)
{
    return live_main("credentials", add);
}
