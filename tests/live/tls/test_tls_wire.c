/* The bytes of TLS against a real server: replies of many records, output that
 * finds no room, a wire that is slow or cut at any byte, a child of a fork. */
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/base/mem.h"
#include "net/link/link.h"
#include "net/wire/tls_context.h"
#include "tests/live/test_tls.h"
#include "tests/support/lateness.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

static const struct way {
    bool is_mutual;
    const char *versions;
} ways[] = {{true, "TLSv1.3"}, {false, "TLSv1.2"}, {false, "TLSv1.3"},
            {true, "TLSv1.2"}};

static struct proxy *proxy;

static void start(const struct way *way)
{
    const char *const args[] = {"--tls-protocols", way->versions, NULL};

    server = tls_server(certs.server, way->is_mutual, args);
    proxy = proxy_start(server_port(server));
}

static void none(void)
{
}

static void stop(void)
{
    proxy_stop(proxy);
    stop_server();
}

/* ---- a link ---- */

static struct hf_tls_context *context;
static struct hf_loop *loop;
static struct hf_link *link_;

static void open_link(const struct way *way, int port, bool thread)
{
    struct hf_tls_options tls = tls_options(way->is_mutual);
    struct hf_loop_options of_loop = {.size = sizeof of_loop, .thread = thread};
    struct hf_link_options o;
    struct hf_error err;

    ck_assert_msg(hf_tls_context_new(&context, &hf_mem_libc, &tls, "127.0.0.1",
                                     &err) == HF_OK,
                  "%s", err.text);
    hf_link_options_init(&o);
    o.url = (struct hf_url){.kind = HF_URL_TLS, .host = "127.0.0.1"};
    o.url.port = (uint16_t)port;
    o.tls = context;
    ck_assert_ok(hf_loop_new(&loop, &of_loop));
    hf_loop_lock(loop);
    ck_assert_ok(hf_link_new(&link_, loop, &o));
    hf_loop_unlock(loop);
}

static void close_link(void)
{
    hf_loop_lock(loop);
    hf_loop_quiesce(loop);
    hf_link_free(link_);
    hf_loop_resume(loop);
    hf_loop_unlock(loop);
    hf_loop_free(loop);
    hf_tls_context_free(context);
}

static struct hf_link_stats stats(void)
{
    struct hf_link_stats s;

    hf_loop_lock(loop);
    hf_link_get_stats(link_, &s);
    hf_loop_unlock(loop);
    return s;
}

/* ---- questions ---- */

struct ask {
    struct hf_request request;
    struct hf_waiter waiter;
    const char *expected;
    size_t len;
    bool is_as_expected;
};

static void on_done(struct hf_request *request, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    struct ask *a = HF_OWNER_OF(request, struct ask, request);
    const char *ptr;
    size_t len;

    a->is_as_expected = outcome == HF_ANSWERED &&
                        hf_resp_bytes(reply, &ptr, &len) == HF_OK &&
                        len == a->len && memcmp(ptr, a->expected, len) == 0;
    hf_waiter_wake(&a->waiter);
}

static void ask(struct ask *a, const struct hf_resp_arg *argv, size_t argc,
                const char *expected, size_t len)
{
    hf_status rc;

    *a = (struct ask){.expected = expected, .len = len};
    hf_loop_lock(loop);
    hf_waiter_init(&a->waiter, loop);
    a->request.done = on_done;
    rc = hf_link_submit(link_, &a->request, argv, argc,
                        hf_loop_now(loop) + 2 * LONG_MS);
    hf_loop_unlock(loop);
    ck_must(rc == HF_OK, "a question is taken");
}

static void answered(struct ask *a)
{
    hf_loop_lock(loop);
    hf_loop_wait(&a->waiter); /* the lock is free after */
    ck_must(a->is_as_expected, "it is answered as it should be");
}

static void ask_get(struct ask *a, const char *key, const char *value,
                    size_t len)
{
    const struct hf_resp_arg argv[] = {{"GET", 3}, {key, strlen(key)}};

    ask(a, argv, 2, value, len);
}

static void ask_set(struct ask *a, const char *key, const char *value,
                    size_t len)
{
    const struct hf_resp_arg argv[] = {
        {"SET", 3}, {key, strlen(key)}, {value, len}};

    ask(a, argv, 3, "OK", 2);
}

static const struct hf_resp_arg a_ping[] = {{"PING", 4}};
#define PING_LEN 14           /* on the wire */

static void ping(void)
{
    struct ask a;

    ask(&a, a_ping, 1, "PONG", 4);
    answered(&a);
}

/* No two stretches of it are the same, nor those of another seed. */
static char *value_new(size_t len, uint32_t seed)
{
    char *value = local_new(len);

    for (size_t i = 0; i < len; i++) {
        seed = seed * 1664525u + 1013904223u;
        value[i] = (char)(seed >> 24);
    }
    return value;
}

/* ---- replies of many records ---- */

#define PIPELINED 20
#define LONG_PIPELINED 3        /* of those of many megabytes */

static const size_t lengths[] = {
    1, 16383, 16384, 16385, 200 * 1024, 1 << 20, 9 << 20};

/* T13: what lies inside OpenSSL wakes nobody. One at a time, so that no later
 * reply pushes it out; then many at once. */
START_TEST(reply_of_any_length_arrives_whole)
{
    const struct way *way = &ways[_i / COUNT(lengths)];
    size_t len = lengths[_i % COUNT(lengths)];
    int count = len > 1 << 20 ? LONG_PIPELINED : PIPELINED;
    char *value = value_new(len, (uint32_t)_i + 1);
    struct ask asks[PIPELINED];

    start(way);
    (void)server_ask(server, "SET v %b", value, len);
    open_link(way, server_port(server), false);
    for (int i = 0; i < 3; i++) {
        ask_get(&asks[0], "v", value, len);
        answered(&asks[0]);
    }
    for (int i = 0; i < count; i++)
        ask_get(&asks[i], "v", value, len);
    for (int i = 0; i < count; i++)
        answered(&asks[i]);
    ck_assert_uint_eq(stats().connects, 1);
    close_link();
    free(value);
}
END_TEST

/* ---- output in few records ---- */

#define RECORD_MAX 16384

static const int batches[] = {1, 2, 100, 2000};

/* Before the loop has a turn, as callers do that come at once. */
static struct ask *ask_at_once(int count)
{
    struct ask *asks = local_new((size_t)count * sizeof *asks);

    hf_loop_lock(loop);
    for (int i = 0; i < count; i++) {
        asks[i] = (struct ask){.expected = "PONG", .len = 4};
        hf_waiter_init(&asks[i].waiter, loop);
        asks[i].request.done = on_done;
        ck_assert_ok(hf_link_submit(link_, &asks[i].request, a_ping, 1,
                                    hf_loop_now(loop) + LONG_MS));
    }
    hf_loop_unlock(loop);
    return asks;
}

/* What TLS adds to so many commands. */
static uint64_t cost_of(int count)
{
    uint64_t before = proxy_count(proxy, PROXY_TO_SERVER, PROXY_PASSED);
    struct ask *asks = ask_at_once(count);

    for (int i = 0; i < count; i++)
        answered(&asks[i]);
    free(asks);
    return proxy_count(proxy, PROXY_TO_SERVER, PROXY_PASSED) - before -
           (uint64_t)count * PING_LEN;
}

/* A flush is sent in as few records as possible, not in one for each command. */
START_TEST(batch_is_as_few_records_as_it_can_be)
{
    const struct way *way = &ways[_i / COUNT(batches)];
    int count = batches[_i % COUNT(batches)];
    uint64_t records, of_one;

    records = (uint64_t)(count * PING_LEN + RECORD_MAX - 1) / RECORD_MAX;
    start(way);
    open_link(way, proxy_port(proxy), false);
    ping();
    of_one = cost_of(1);
    ck_assert_uint_gt(of_one, 0);
    ck_assert_uint_lt(of_one, 64); /* a header, a tag, a nonce */
    ck_assert_uint_eq(cost_of(count), records * of_one);
    close_link();
}
END_TEST

/* ---- output that finds no room ---- */

#define THREADS 8
#define SETS 8
#define SET_LEN (256 * 1024)

struct writer {
    pthread_t thread;
    int number;
    struct ask asks[SETS];
    char keys[SETS][24];
    char *values[SETS];
};

static void *write_much(void *ctx)
{
    struct writer *w = ctx;

    for (int i = 0; i < SETS; i++)
        ask_set(&w->asks[i], w->keys[i], w->values[i], SET_LEN);
    for (int i = 0; i < SETS; i++)
        answered(&w->asks[i]);
    for (int i = 0; i < SETS; i++)
        ask_get(&w->asks[i], w->keys[i], w->values[i], SET_LEN);
    for (int i = 0; i < SETS; i++)
        answered(&w->asks[i]);
    return NULL;
}

static struct writer *writers_start(void)
{
    struct writer *writers = local_new(THREADS * sizeof *writers);

    for (int i = 0; i < THREADS; i++) {
        writers[i].number = i;
        for (int k = 0; k < SETS; k++) {
            writers[i].values[k] =
                value_new(SET_LEN, (uint32_t)(i * SETS + k));
            (void)snprintf(writers[i].keys[k], sizeof writers[i].keys[k],
                           "%d/%d", i, k);
        }
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&writers[i].thread, NULL, write_much,
                                        &writers[i]),
                         0);
    return writers;
}

static void writers_join(struct writer *writers)
{
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(writers[i].thread, NULL);
        for (int k = 0; k < SETS; k++)
            free(writers[i].values[k]);
    }
    free(writers);
}

/* All is queued, and the kernel has taken what it could. */
static void await_standstill(void)
{
    uint64_t before, now = 0;

    do {
        before = now;
        local_rest_us(A_MOMENT_MS * 1000);
        now = stats().bytes_out;
    } while (now != before || stats().requests < THREADS * SETS);
}

/* T15: writes are tried again from a buffer that grows and moves meanwhile. */
START_TEST(output_waits_for_a_stopped_server_and_is_not_spoilt)
{
    const struct way *way = &ways[_i];
    struct writer *writers;

    start(way);
    open_link(way, server_port(server), true);
    ping();
    server_pause(server);
    writers = writers_start();
    await_standstill();
    ck_assert_uint_gt(stats().bytes_out, SET_LEN);
    ck_assert_uint_lt(stats().bytes_out, THREADS * SETS * SET_LEN);
    server_resume(server);
    writers_join(writers);
    ck_assert_uint_eq(stats().connects, 1);
    close_link();
}
END_TEST

/* ---- a goodbye ---- */

/* A peer that says goodbye in the middle of its first reply, in one piece with
 * it, and keeps the socket open. */
#define PARTINGS_MAX 16

struct parting {
    int listener, port;
    int fds[PARTINGS_MAX];
    int count;
    SSL_CTX *ctx;
    pthread_t thread;
};

static void part(SSL_CTX *ctx, int fd)
{
    SSL *ssl = SSL_new(ctx);
    BIO *buffer = BIO_new(BIO_f_buffer());
    char handshake[1000];

    ck_must(ssl && buffer && SSL_set_fd(ssl, fd), "there is a server's end");
    /* The link may be closed meanwhile: it has had its first goodbye then. */
    if (SSL_accept(ssl) != 1 || SSL_read(ssl, handshake, sizeof handshake) <= 0) {
        BIO_free_all(buffer);
        SSL_free(ssl);
        return;
    }
    SSL_set0_wbio(ssl, BIO_push(buffer, BIO_new_socket(fd, BIO_NOCLOSE)));
    (void)SSL_write(ssl, "%7\r\n", 4);
    (void)SSL_shutdown(ssl);
    (void)BIO_flush(buffer);
    SSL_free(ssl);
}

static void *part_from_all(void *ctx)
{
    struct parting *p = ctx;
    struct pollfd poll_fd = {.fd = p->listener, .events = POLLIN};
    sigset_t pipe;
    int fd;

    /* The client may have gone; it must not write so itself, in its own thread. */
    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    while (p->count < PARTINGS_MAX && poll(&poll_fd, 1, -1) == 1) {
        fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            break;
        p->fds[p->count++] = fd;
        part(p->ctx, fd);
    }
    return NULL;
}

static void parting_start(struct parting *p, const struct way *way)
{
    bool is_older = strcmp(way->versions, "TLSv1.2") == 0;

    *p = (struct parting){.ctx = SSL_CTX_new(TLS_server_method())};
    p->listener = local_listen(&p->port);
    ck_must(p->ctx && p->listener >= 0 &&
                SSL_CTX_set_max_proto_version(p->ctx, is_older ? TLS1_2_VERSION
                                                               : 0) &&
                SSL_CTX_use_certificate_file(p->ctx, certs.server,
                                             SSL_FILETYPE_PEM) == 1 &&
                SSL_CTX_use_PrivateKey_file(p->ctx, certs.server,
                                            SSL_FILETYPE_PEM) == 1,
            "there is a server");
    ck_assert_int_eq(pthread_create(&p->thread, NULL, part_from_all, p), 0);
}

static void parting_end(struct parting *p)
{
    (void)shutdown(p->listener, SHUT_RDWR); /* ends its poll */
    (void)pthread_join(p->thread, NULL);
    (void)close(p->listener);
    for (int i = 0; i < p->count; i++)
        (void)close(p->fds[i]);
    SSL_CTX_free(p->ctx);
}

/* The end lies inside OpenSSL, behind the last bytes; nothing more will come on
 * the descriptor. The request stays queued: the next connection may lead to a server. */
START_TEST(close_notify_after_a_reply_is_processed_at_once)
{
    const struct way *way = &ways[_i];
    int64_t end_ms = local_now_ms() + AWAIT_MS;
    struct parting parting;
    struct hf_error err;
    struct ask a;

    parting_start(&parting, way);
    open_link(way, parting.port, true);
    ask(&a, a_ping, 1, "", 0);
    while (stats().failures == 0) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
    hf_loop_lock(loop);
    err = *hf_link_error(link_);
    hf_loop_unlock(loop);
    ck_assert_int_eq(err.status, HF_E_CONNECT);
    ck_assert_msg(strstr(err.text, "closed the connection"), "%s", err.text);
    close_link();
    parting_end(&parting);
}
END_TEST

/* ---- a slow wire ---- */

static const size_t slices[] = {1, 5, 97};

/* T20: a byte a segment, parts of records, several of them at once. */
START_TEST(pieces_of_any_size_will_do)
{
    const struct way *way = &ways[_i / COUNT(slices)];
    char *value = value_new(500, 1);
    struct ask a;

    start(way);
    proxy_slice(proxy, PROXY_TO_CLIENT, slices[_i % COUNT(slices)]);
    proxy_slice(proxy, PROXY_TO_SERVER, slices[_i % COUNT(slices)]);
    open_link(way, proxy_port(proxy), false);
    ask_set(&a, "v", value, 500);
    answered(&a);
    ask_get(&a, "v", value, 500);
    answered(&a);
    ck_assert_uint_eq(stats().connects, 1);
    close_link();
    free(value);
}
END_TEST

/* ---- a wire that is cut ---- */

/* Each byte would take minutes. A prime, and each case begins elsewhere. */
#define STEP 67
#define CUT_WAYS 2              /* the first ones */
#define RECORD_STEP 2
#define RECORD_CUTS_MIN 50

static const struct {
    enum proxy_way way;
    enum proxy_end end;
} cuts[] = {
    {PROXY_TO_SERVER, PROXY_CLOSE},
    {PROXY_TO_SERVER, PROXY_RESET},
    {PROXY_TO_CLIENT, PROXY_CLOSE},
    {PROXY_TO_CLIENT, PROXY_RESET},
};

static struct hf_client *open_client(const struct way *way, int port)
{
    struct hf_tls_options tls = tls_options(way->is_mutual);
    struct hf_client_options o;
    char url[TLS_URL_MAX];

    tls_client_options(&o, url, port, &tls);
    return client_with(&o);
}

/* Whether it fell into the handshake of TLS or of Redis, a request or its reply: the
 * lock is taken once, and given back. */
START_TEST(lock_is_had_wherever_the_connection_is_cut)
{
    const struct way *way = &ways[_i / COUNT(cuts)];
    int cut = _i % COUNT(cuts);
    bool has_cut = true;
    uint64_t at;

    start(way);
    for (at = (uint64_t)_i; has_cut; at += STEP) {
        struct hf_client *client = open_client(way, proxy_port(proxy));
        struct hf_lock *lock = lock_of(client, NAME);

        proxy_cut_after(proxy, cuts[cut].way, at, cuts[cut].end);
        acquire(lock, 1);
        ck_assert_holder(server, lock, 1, 1);
        release(lock, 1);
        ck_assert_str_eq(hash_of(server, NAME), "");
        has_cut = proxy_has_cut(proxy);
        ck_assert_uint_ge(stats_of(client).link.connects, 1);
        hf_client_free(client);
    }
    ck_assert_uint_gt(at, 1000); /* all of a handshake was met */
}
END_TEST

/* ---- a record that is cut ---- */

/* Acquires and releases. Returns how many bytes that took this way. */
static uint64_t take_turn(struct hf_lock *lock, enum proxy_way way)
{
    uint64_t before = proxy_count(proxy, way, PROXY_PASSED);

    acquire(lock, 1);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
    ck_assert_str_eq(hash_of(server, NAME), "");
    return proxy_count(proxy, way, PROXY_PASSED) - before;
}

/* A cut that is not between two records leaves a part of one, which TLS must not deliver:
 * the request has then not been executed, or its reply is not known. Each byte of the
 * records of an open connection, and no byte of a handshake, so each cut costs one
 * connection. */
START_TEST(lock_is_had_wherever_a_record_is_cut)
{
    const struct way *way = &ways[_i % CUT_WAYS];
    int cut = _i / CUT_WAYS;
    struct hf_client *client;
    struct hf_lock *lock;
    uint64_t bytes, count = 0;

    start(way);
    client = open_client(way, proxy_port(proxy));
    lock = lock_of(client, NAME);
    (void)take_turn(lock, cuts[cut].way); /* connects */
    bytes = take_turn(lock, cuts[cut].way);
    for (uint64_t at = 1; at < bytes; at += RECORD_STEP) {
        proxy_cut_after(proxy, cuts[cut].way, at, cuts[cut].end);
        (void)take_turn(lock, cuts[cut].way);
        ck_assert(proxy_has_cut(proxy));
        count++;
    }
    ck_assert_uint_gt(count, RECORD_CUTS_MIN);
    ck_assert_uint_eq(stats_of(client).link.connects, 1 + count);
    hf_client_free(client);
}
END_TEST

/* ---- a child ---- */

static void await_child(pid_t child)
{
    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}

/* Not even a goodbye: a record more, or one of another state, and the server
 * would end the parent's connection. */
START_TEST(child_of_a_fork_sends_nothing)
{
    const struct way *way = &ways[_i];
    struct hf_client *client;
    struct hf_lock *lock;
    uint64_t passed;
    pid_t child;

    start(way);
    client = open_client(way, proxy_port(proxy));
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    passed = proxy_count(proxy, PROXY_TO_SERVER, PROXY_PASSED);
    child = fork();
    if (child == 0) {
        if (hf_lock_release(lock, 1, NULL) != HF_E_FORKED ||
            hf_client_connect(client, NULL) != HF_E_FORKED)
            _exit(1);
        hf_lock_free(lock);
        hf_client_free(client);
        _exit(0);
    }
    await_child(child);
    ck_assert(!proxy_await(proxy, PROXY_TO_SERVER, PROXY_PASSED, passed + 1,
                           A_MOMENT_MS));
    release(lock, 1);
    ck_assert_uint_eq(stats_of(client).link.connects, 1);
    hf_client_free(client);
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "many bytes", none, stop);

    tcase_add_loop_test(c, reply_of_any_length_arrives_whole, 0,
                        COUNT(ways) * COUNT(lengths));
    tcase_add_loop_test(c, batch_is_as_few_records_as_it_can_be, 0,
                        COUNT(ways) * COUNT(batches));
    tcase_add_loop_test(c, output_waits_for_a_stopped_server_and_is_not_spoilt,
                        0, COUNT(ways));
    tcase_add_loop_test(c, close_notify_after_a_reply_is_processed_at_once, 0,
                        COUNT(ways));

    c = live_case(s, "a bad wire", none, stop);
    tcase_add_loop_test(c, pieces_of_any_size_will_do, 0,
                        COUNT(ways) * COUNT(slices));
    tcase_add_loop_test(c, lock_is_had_wherever_a_record_is_cut, 0,
                        CUT_WAYS * COUNT(cuts));
    tcase_add_loop_test(c, lock_is_had_wherever_the_connection_is_cut, 0,
                        CUT_WAYS * COUNT(cuts));

    c = live_case(s, "fork", none, stop);
    tcase_add_loop_test(c, child_of_a_fork_sends_nothing, 0, COUNT(ways));
}

static int run(void)
{
    return live_main("TLS, on the wire", add_cases);
}

int main(void)
{
    return tls_main("TLS, on the wire", run);
}
