/* Locks over TLS and mutual TLS, in RESP3 and RESP2: what works in plain works
 * here, also when connections, servers and certificates come and go. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/live/test_tls.h"
#include "tests/support/fds.h"
#include "tests/support/one_server.h"

#define LOST_SOON_MS 1500
#define KILLS 10
#define THREADS 16

static const struct way {
    int protocol;
    bool is_mutual;
    bool is_older;              /* TLS 1.2 alone */
} ways[] = {
    {3, false, false}, {2, false, false}, {3, true, false}, {2, true, false},
    {3, false, true},  {2, true, true},
};

static void start_tls_server(const struct way *way)
{
    static const char *const older[] = {"--tls-protocols", "TLSv1.2", NULL};

    server = tls_server(certs.server, way->is_mutual,
                        way->is_older ? older : NULL);
}

static void none(void)
{
}

static struct hf_client *open_client(const struct way *way,
                                     int64_t watchdog_ms)
{
    struct hf_tls_options tls = tls_options(way->is_mutual);
    struct hf_client_options o;
    char url[TLS_URL_MAX];

    tls_client_options(&o, url, server_port(server), &tls);
    o.protocol = way->protocol;
    o.watchdog_ms = watchdog_ms;
    return client_with(&o);
}

static struct hf_link_stats link_stats(struct hf_client *client)
{
    return stats_of(client).link;
}

/* ---- holding ---- */

START_TEST(lock_is_taken_held_and_released)
{
    const struct way *way = &ways[_i];
    struct hf_client *client;
    struct hf_lock *lock;

    start_tls_server(way);
    client = open_client(way, STEADY_WATCHDOG_MS);
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    acquire(lock, 1);
    ck_assert_holder(server, lock, 1, 2);
    release(lock, 1);
    release(lock, 1);
    ck_assert_str_eq(hash_of(server, NAME), "");
    ck_assert_uint_eq(link_stats(client).connects, 1);
    ck_assert_uint_eq(link_stats(client).resumed, 0);
    hf_client_free(client);
}
END_TEST

/* By the message, for the holder's TTL is longer than we would wait. In RESP2
 * that comes by a second connection, with the same context. */
START_TEST(waiter_is_woken_by_the_release)
{
    const struct way *way = &ways[_i];
    struct hf_client *holder, *waiter;
    struct hf_acquire_options o = acquire_options(2);
    struct hf_lock *held, *wanted;
    struct call call;

    start_tls_server(way);
    holder = open_client(way, 6 * LONG_MS);
    waiter = open_client(way, 6 * LONG_MS);
    held = lock_of(holder, NAME);
    wanted = lock_of(waiter, NAME);
    acquire(held, 1);
    call_acquire(&call, wanted, &o);
    await_subscribers(server, CHANNEL, 1);
    ck_assert(!call_is_done(&call));
    release(held, 1);
    ck_assert_ok(call_await(&call));
    ck_assert_holder(server, wanted, 2, 1);
    release(wanted, 2);
    hf_client_free(holder);
    hf_client_free(waiter);
}
END_TEST

START_TEST(hold_is_renewed_until_it_is_released)
{
    const struct way *way = &ways[_i];
    static struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_client *client;
    struct hf_lock *lock;

    start_tls_server(way);
    client = open_client(way, STEADY_WATCHDOG_MS);
    lock = lock_of(client, NAME);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    note_await(&diary.note, &diary.renewals, 2, "the second renewal");
    ck_assert_holder(server, lock, 1, 1);
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    release(lock, 1);
    hf_client_free(client);
}
END_TEST

START_TEST(hold_is_lost_when_the_server_stops)
{
    const struct way *way = &ways[_i];
    static struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_client *client;
    struct hf_lock *lock;

    start_tls_server(way);
    client = open_client(way, LOST_SOON_MS);
    lock = lock_of(client, NAME);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    note_await(&diary.note, &diary.renewals, 1, "a renewal");
    server_pause(server);
    ck_assert_unreached(&diary);
    server_resume(server);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    hf_client_free(client);
}
END_TEST

/* ---- connections that end ---- */

START_TEST(killed_connection_returns_and_resumes_its_session)
{
    const struct way *way = &ways[_i];
    struct hf_client *client;
    struct hf_link_stats stats;
    struct hf_lock *lock;

    start_tls_server(way);
    (void)server_ask(server, "PING"); /* by a connection that stays */
    fds_note();
    client = open_client(way, 30000);
    lock = lock_of(client, NAME);
    for (int i = 0; i < KILLS; i++) {
        acquire(lock, 1);
        server_kill_connections(server);
        release(lock, 1); /* by the next one */
    }
    stats = link_stats(client);
    ck_assert_uint_eq(stats.connects, KILLS + 1);
    ck_assert_uint_eq(stats.resumed, KILLS);
    ck_assert_int_ge(fds_count(), 2);
    hf_client_free(client);
    fds_await_none();
}
END_TEST

/* ---- certificates that change ---- */

/* As an operator does: other content at the same place, and "read it again". */
static void rotate(const char *path, const char *cert)
{
    certs_copy(cert, path);
    ck_assert_str_eq(server_ask(server, "CONFIG SET tls-cert-file %s", path),
                     "OK");
}

struct load {
    struct hf_client *client;
    const bool *stops;
    pthread_t thread;
    int number;
    int pairs;
};

static void *lock_and_unlock(void *ctx)
{
    struct load *load = ctx;
    struct hf_lock *lock = lock_of(load->client, NAME);

    while (!__atomic_load_n(load->stops, __ATOMIC_SEQ_CST)) {
        struct hf_acquire_options o = acquire_options(load->number);

        ck_must(hf_lock_acquire(lock, &o, NULL) == HF_OK, "it is acquired");
        ck_must(hf_lock_release(lock, load->number, NULL) == HF_OK,
                "it is released");
        __atomic_add_fetch(&load->pairs, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void await_pairs(struct load *load, int more)
{
    int until = __atomic_load_n(&load->pairs, __ATOMIC_SEQ_CST) + more;
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    while (__atomic_load_n(&load->pairs, __ATOMIC_SEQ_CST) < until) {
        ck_must(local_now_ms() < end_ms, "locks are taken and given back");
        local_poll_rest();
    }
}

/* What a new connection comes to; `name` is whom we take the server for. */
static hf_status visit(const struct way *way, const char *name,
                       struct hf_error *err)
{
    struct hf_tls_options tls = tls_options(way->is_mutual);
    struct hf_client_options o;
    struct hf_client *client;
    char url[TLS_URL_MAX];
    hf_status rc;

    (void)snprintf(tls.server_name, sizeof tls.server_name, "%s", name);
    tls_client_options(&o, url, server_port(server), &tls);
    client = client_with(&o);
    rc = hf_client_connect(client, err);
    hf_client_free(client);
    return rc;
}

/* Of the certificates that come in turn, one alone holds that name. */
static void ck_assert_shown(const struct way *way, const char *cert)
{
    ck_assert_status(visit(way, "localhost", NULL), HF_OK);
    ck_assert_status(visit(way, "db.example.test", NULL),
                     cert == certs.server ? HF_OK : HF_E_TLS);
}

static void start_with_copy(const struct way *way, char *path, size_t room)
{
    start_tls_server(way);
    (void)snprintf(path, room, "%s/live", server_folder(server));
    certs_copy(certs.server, path);
    (void)server_ask(server, "CONFIG SET tls-cert-file %s tls-key-file %s",
                     path, path);
}

static void start_loads(struct load loads[THREADS], struct hf_client *client,
                        const bool *stops)
{
    for (int i = 0; i < THREADS; i++) {
        loads[i] = (struct load){.client = client, .stops = stops};
        loads[i].number = i + 1;
        (void)pthread_create(&loads[i].thread, NULL, lock_and_unlock,
                             &loads[i]);
    }
}

static void stop_loads(struct load loads[THREADS], bool *stops)
{
    __atomic_store_n(stops, true, __ATOMIC_SEQ_CST);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(loads[i].thread, NULL);
}

/* Who is connected notices nothing, and who comes is shown the new one; killed
 * connections come back with it, and no caller sees that, either. */
START_TEST(certificate_is_rotated_under_load)
{
    const char *const turns[] = {certs.chained, certs.server, certs.brief};
    const struct way *way = &ways[_i];
    struct load loads[THREADS];
    struct hf_client *client;
    char path[CERTS_PATH_MAX + 16];
    bool stops = false;

    start_with_copy(way, path, sizeof path);
    client = open_client(way, 30000);
    start_loads(loads, client, &stops);
    for (int i = 0; i < COUNT(turns); i++) {
        await_pairs(&loads[i], 10);
        rotate(path, turns[i]);
        await_pairs(&loads[i], 10);
        ck_assert_shown(way, turns[i]);
        server_kill_connections(server);
    }
    await_pairs(&loads[0], 10);
    stop_loads(loads, &stops);
    ck_assert_uint_eq(link_stats(client).connects, COUNT(turns) + 1);
    hf_client_free(client);
}
END_TEST

/* The callers go on over the connection that they have. When that is killed they
 * are told why: the first, perhaps, that its request may have been executed, for
 * it left by the connection that ended; all others that there is none. When the
 * certificate is good again, so is the client. */
START_TEST(certificate_is_rotated_to_one_that_is_not_trusted)
{
    static const char untrusted[] =
        "the server's certificate is signed by a CA that is not trusted here";
    const struct way *way = &ways[_i];
    struct load loads[THREADS];
    struct hf_client *client;
    struct hf_lock *lock;
    char path[CERTS_PATH_MAX + 16];
    struct hf_error err;
    bool stops = false;

    start_with_copy(way, path, sizeof path);
    client = open_client(way, 30000);
    start_loads(loads, client, &stops);
    await_pairs(&loads[0], 10);
    rotate(path, certs.stranger);
    await_pairs(&loads[1], 10);
    ck_assert_status(visit(way, "localhost", &err), HF_E_TLS);
    ck_assert_ptr_nonnull(strstr(err.text, untrusted));
    await_pairs(&loads[2], 10);
    stop_loads(loads, &stops);
    ck_assert_uint_eq(link_stats(client).connects, 1);

    server_kill_connections(server);
    lock = lock_of(client, NAME);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_lt(hf_lock_acquire(lock, NULL, &err), 0);
        ck_assert_ptr_nonnull(strstr(err.text, untrusted));
    }
    ck_assert_status(err.status, HF_E_TLS);
    rotate(path, certs.server);
    acquire(lock, 1);
    release(lock, 1);
    hf_client_free(client);
}
END_TEST

/* ---- files that are read again ---- */

/* The files of one client and one server, with contents that change. */
static struct live_files {
    char ca[CERTS_PATH_MAX + 16], server[CERTS_PATH_MAX + 16],
        client[CERTS_PATH_MAX + 16];
} live;

static void place_files(bool is_first)
{
    (void)snprintf(live.ca, sizeof live.ca, "%s/live_ca", certs.folder);
    (void)snprintf(live.server, sizeof live.server, "%s/live_server", certs.folder);
    (void)snprintf(live.client, sizeof live.client, "%s/live_client", certs.folder);
    certs_copy(is_first ? certs.ca : certs.other_ca, live.ca);
    certs_copy(is_first ? certs.server : certs.stranger, live.server);
    certs_copy(is_first ? certs.client : certs.client_other, live.client);
}

/* A server that keeps its data when it is started again. */
static void start_server_of_files(void)
{
    const char *const args[] = {"--tls-ca-cert-file", live.ca, "--appendonly", "yes",
                                "--appendfsync", "always", NULL};

    place_files(true);
    server = tls_server(live.server, true, args);
}

static struct hf_client *client_of_files(int64_t watchdog_ms)
{
    struct hf_tls_options tls = {.ca_file = ""};
    struct hf_client_options o;
    char url[TLS_URL_MAX];

    (void)snprintf(tls.ca_file, sizeof tls.ca_file, "%s", live.ca);
    (void)snprintf(tls.cert_file, sizeof tls.cert_file, "%s", live.client);
    tls_client_options(&o, url, server_port(server), &tls);
    o.watchdog_ms = watchdog_ms;
    return client_with(&o);
}

/* The CA, the server's certificate and the client's are all replaced, and the server is
 * started again: nothing that was trusted before is trusted after. */
START_TEST(hold_outlives_new_certificates_if_the_files_are_read_again)
{
    static struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);
    bool reads_again = _i == 1;
    struct hf_client *client;
    struct hf_lock *lock;
    int renewals;

    start_server_of_files();
    client = client_of_files(reads_again ? STEADY_WATCHDOG_MS : LOST_SOON_MS);
    lock = lock_of(client, NAME);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    place_files(false);
    server_restart(server);
    if (reads_again) {
        ck_assert_ok(hf_client_reload(client, NULL));
        renewals = note_read(&diary.note, &diary.renewals);
        note_await(&diary.note, &diary.renewals, renewals + 2, "renewals afterwards");
        ck_assert_holder(server, lock, 1, 1);
        ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
        release(lock, 1);
    } else {
        ck_assert_unreached(&diary);
    }
    hf_client_free(client);
}
END_TEST

static const struct {
    const char *file;           /* the one that is spoiled */
    size_t with;                /* its new contents; 0: it is removed */
    const char *says;
} spoiled[] = {
    {live.ca, 0, "tls_ca %s: No such file or directory"},
    {live.ca, offsetof(struct certs, nothing), "tls_ca %s: no CA certificate in it"},
    {live.client, 0, "tls_cert %s: No such file or directory"},
    {live.client, offsetof(struct certs, client_cert),
     "tls_cert %s: no private key for the certificate"},
    {live.client, offsetof(struct certs, client_locked),
     "tls_cert %s: the key is encrypted: give tls_key_password"},
};

START_TEST(file_that_cannot_be_used_leaves_all_as_it_was)
{
    const char *file = spoiled[_i].file;
    char says[CERTS_PATH_MAX + 200];
    struct hf_client *client;
    struct hf_error err = {0};

    start_server_of_files();
    client = client_of_files(STEADY_WATCHDOG_MS);
    acquire(lock_of(client, NAME), 1);
    if (spoiled[_i].with)
        certs_copy((const char *)&certs + spoiled[_i].with, file);
    else
        ck_assert_int_eq(unlink(file), 0);
    ck_assert_status(hf_client_reload(client, &err), HF_E_TLS);
    (void)snprintf(says, sizeof says, spoiled[_i].says, file);
    ck_assert_msg(strncmp(err.text, says, strlen(says)) == 0, "%s", err.text);
    server_kill_connections(server);
    release(lock_of(client, NAME), 1);
    place_files(true);
    ck_assert_ok(hf_client_reload(client, NULL));
    hf_client_free(client);
}
END_TEST

START_TEST(key_of_another_certificate_is_refused)
{
    struct hf_tls_options tls = tls_options(false);
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_error err = {0};
    char url[TLS_URL_MAX];

    start_server_of_files();
    certs_copy(certs.client_key, live.client);
    (void)snprintf(tls.cert_file, sizeof tls.cert_file, "%s", certs.client_cert);
    (void)snprintf(tls.key_file, sizeof tls.key_file, "%s", live.client);
    tls_client_options(&o, url, server_port(server), &tls);
    client = client_with(&o);
    ck_assert_ok(hf_client_connect(client, NULL));
    certs_copy(certs.server, live.client);
    ck_assert_status(hf_client_reload(client, &err), HF_E_TLS);
    ck_assert_ptr_nonnull(strstr(err.text, "no private key for the certificate"));
    ck_assert_ptr_nonnull(strstr(err.text, "mismatch"));
    server_kill_connections(server);
    acquire(lock_of(client, NAME), 1);
    hf_client_free(client);
}
END_TEST

/* While 16 threads use the client. */
START_TEST(files_are_read_again_under_load)
{
    struct load loads[THREADS];
    struct hf_client *client;
    bool stops = false;

    start_server_of_files();
    client = client_of_files(30000);
    start_loads(loads, client, &stops);
    for (int i = 0; i < 3; i++) {
        await_pairs(&loads[i], 10);
        ck_assert_ok(hf_client_reload(client, NULL));
        await_pairs(&loads[i], 10);
        ck_assert_uint_eq(link_stats(client).connects, (uint64_t)i + 1);
        server_kill_connections(server);
        await_pairs(&loads[i], 10);
    }
    stop_loads(loads, &stops);
    ck_assert_uint_eq(link_stats(client).resumed, 0);
    hf_client_free(client);
}
END_TEST

static void *reload_thread(void *client)
{
    ck_assert_ok(hf_client_reload(client, NULL));
    return NULL;
}

/* The first call still waits for the old CA, whose file others cannot open because of a lease,
 * when the second one has read and exchanged all new files. */
START_TEST(files_that_were_read_later_stay_in_force)
{
    static struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_client *client;
    struct hf_lock *lock;
    pthread_t first;
    int fd;

    start_server_of_files();
    client = client_of_files(STEADY_WATCHDOG_MS);
    lock = lock_of(client, NAME);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    fd = hung_file(live.ca);
    if (fd < 0)
        return;
    ck_assert_int_eq(pthread_create(&first, NULL, reload_thread, client), 0);
    hung_file_await(fd);
    ck_assert_int_eq(unlink(live.ca), 0);
    place_files(false);
    ck_assert_ok(hf_client_reload(client, NULL));
    (void)close(fd);
    ck_assert_int_eq(pthread_join(first, NULL), 0);
    server_restart(server);
    release(lock, 1); /* over a new connection */
    hf_client_free(client);
}
END_TEST

START_TEST(client_without_tls_has_no_files)
{
    struct hf_client *client = client_to(1);

    ck_assert_ok(hf_client_reload(client, NULL));
    hf_client_free(client);
}
END_TEST

/* ---- any certificate will do ---- */

static struct note warned;
static int warnings;
static char warning[400];

static void note_line(void *ctx, enum hf_log_level level, const char *line)
{
    (void)ctx;
    if (level != HF_LOG_WARNING)
        return;
    (void)snprintf(warning, sizeof warning, "%s", line);
    note_add(&warned, &warnings);
}

/* T8: it works, and is not silent about it. */
START_TEST(unverified_client_reports_it_once)
{
    struct hf_tls_options tls = {.is_unverified = _i == 0};
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_lock *lock;
    char url[TLS_URL_MAX];

    note_init(&warned);
    server = tls_server(_i == 0 ? certs.stranger : certs.server, false, NULL);
    if (_i > 0)
        tls = tls_options(false);
    tls_client_options(&o, url, server_port(server), &tls);
    o.log = note_line;
    client = client_with(&o);
    ck_assert_ok(hf_client_connect(client, NULL));
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    release(lock, 1);
    hf_client_free(client); /* tells what is to be told */
    ck_assert_int_eq(note_read(&warned, &warnings), _i == 0);
    if (_i == 0)
        ck_assert_ptr_nonnull(strstr(warning, "tls_verify=no"));
}
END_TEST

/* ---- a key of its own ---- */

START_TEST(encrypted_key_is_opened_by_its_password)
{
    struct hf_tls_options tls = tls_options(false);
    struct hf_client_options o;
    struct hf_client *client;
    char url[TLS_URL_MAX];

    server = tls_server(certs.server, true, NULL);
    (void)snprintf(tls.cert_file, sizeof tls.cert_file, "%s",
                   certs.client_locked);
    (void)snprintf(tls.key_password, sizeof tls.key_password, "%s",
                   CERTS_PASSWORD);
    tls_client_options(&o, url, server_port(server), &tls);
    client = client_with(&o);
    acquire(lock_of(client, NAME), 1);
    hf_client_free(client);
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "holding", none, stop_server);

    tcase_add_loop_test(c, lock_is_taken_held_and_released, 0, COUNT(ways));
    tcase_add_loop_test(c, waiter_is_woken_by_the_release, 0, COUNT(ways));
    tcase_add_loop_test(c, hold_is_renewed_until_it_is_released, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, hold_is_lost_when_the_server_stops, 0,
                        COUNT(ways));

    c = live_case(s, "connections that end", none, stop_server);
    tcase_add_loop_test(c, killed_connection_returns_and_resumes_its_session,
                        0, COUNT(ways));

    c = live_case(s, "certificates", none, stop_server);
    tcase_add_loop_test(c, certificate_is_rotated_under_load, 0, COUNT(ways));
    tcase_add_loop_test(c, certificate_is_rotated_to_one_that_is_not_trusted, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, hold_outlives_new_certificates_if_the_files_are_read_again, 0,
                        2);
    tcase_add_loop_test(c, file_that_cannot_be_used_leaves_all_as_it_was, 0,
                        COUNT(spoiled));
    tcase_add_test(c, key_of_another_certificate_is_refused);
    tcase_add_test(c, files_are_read_again_under_load);
    tcase_add_test(c, files_that_were_read_later_stay_in_force);
    tcase_add_test(c, client_without_tls_has_no_files);
    tcase_add_loop_test(c, unverified_client_reports_it_once, 0, 2);
    tcase_add_test(c, encrypted_key_is_opened_by_its_password);
}

static int run(void)
{
    return live_main("TLS", add_cases);
}

int main(void)
{
    return tls_main("TLS", run);
}
