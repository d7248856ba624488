/* TLS that does not come about: each reason is one clear line, in time, of the
 * library and of the command (exit code 125, nothing was run); the password
 * stands in no line, and has not left us. */
#include "tests/live/test_run_kit.h"
#include "tests/live/test_tls.h"
#include "tests/support/fds.h"
#include "tests/support/lateness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PASSWORD "not-for-everybody"

/* Time limits that are to pass, and how late is still in time; and what is at
 * once, though the limit is far. */
#define LIMIT_MS 1500
#define LATE_MS 4000            /* less than the default of 5 s would take */
#define AT_ONCE_MS 3000
#define NO_LIMIT_MS 30000

/* ---- a peer that never finishes a handshake ---- */

enum habit { SILENT, DRIPPING, ALIEN };

/* It says nothing; or the beginning of a server's handshake, in a record of 16
 * KiB, a byte at a time; or at once something of another protocol. What it
 * hears is kept. */
struct dawdler {
    enum habit habit;
    int listener;
    int port;
    int stop[2];
    pthread_t thread;
    size_t len;
    char heard[65536];
};

#define DRIP_MS 20

static void drip(int fd, size_t count)
{
    static const char start[] = "\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03";
    char c = count < sizeof start - 1 ? start[count] : 'x';

    (void)send(fd, &c, 1, MSG_NOSIGNAL); /* gone: found by reading */
}

static int take_in(struct dawdler *d)
{
    static const char words[] = "-ERR unknown command\r\n";
    int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd >= 0 && d->habit == ALIEN)
        (void)send(fd, words, sizeof words - 1, MSG_NOSIGNAL);
    return fd;
}

static void hear(struct dawdler *d, int *fd)
{
    ssize_t n = recv(*fd, d->heard + d->len, sizeof d->heard - d->len, 0);

    if (n > 0) {
        d->len += (size_t)n;
        return;
    }
    (void)close(*fd);
    *fd = -1;
}

/* One connection after the other. */
static void *dawdle(void *ctx)
{
    struct dawdler *d = ctx;
    struct pollfd fds[] = {{.fd = d->stop[0], .events = POLLIN},
                           {.fd = d->listener, .events = POLLIN}};
    size_t dripped = 0;
    int fd = -1;

    for (;;) {
        fds[1].fd = fd >= 0 ? fd : d->listener;
        (void)poll(fds, 2, d->habit == DRIPPING ? DRIP_MS : -1);
        if (fds[0].revents)
            break;
        if (fd < 0 && fds[1].revents) {
            fd = take_in(d);
            dripped = 0;
        } else if (fds[1].revents) {
            hear(d, &fd);
        }
        if (fd >= 0 && d->habit == DRIPPING)
            drip(fd, dripped++);
    }
    if (fd >= 0)
        (void)close(fd);
    return NULL;
}

static struct dawdler *dawdler_start(enum habit habit)
{
    struct dawdler *d = local_new(sizeof *d);

    d->habit = habit;
    d->listener = local_listen(&d->port);
    ck_assert_int_ge(d->listener, 0);
    ck_assert_int_eq(pipe2(d->stop, O_CLOEXEC), 0);
    ck_assert_int_eq(pthread_create(&d->thread, NULL, dawdle, d), 0);
    return d;
}

/* What it heard was TLS, and a password was not in it. */
static void dawdler_end(struct dawdler *d)
{
    (void)close(d->stop[1]);
    (void)pthread_join(d->thread, NULL);
    ck_assert_uint_gt(d->len, 0);
    ck_assert_int_eq(d->heard[0], 0x16);
    ck_assert_ptr_null(memmem(d->heard, d->len, PASSWORD, strlen(PASSWORD)));
    ck_assert_ptr_null(memmem(d->heard, d->len, "HELLO", 5));
    (void)close(d->listener);
    (void)close(d->stop[0]);
    free(d);
}

/* ---- reasons ---- */

#define AT(field) offsetof(struct certs, field)

enum peer_kind { TLS, MUTUAL, PLAIN, STOPPED, DAWDLER };

static const struct reason {
    enum peer_kind kind;
    enum habit habit;           /* of a dawdler */
    size_t cert;                /* the server's, in struct certs; 0: `server` */
    const char *server_args[5];
    const char *host;           /* NULL: localhost */
    bool is_plain;              /* we speak redis:// */
    size_t ca, crl, own;        /* files of ours, in struct certs; 0: not given,
                                   but for `ca`: the usual */
    const char *query;          /* more of the URL's; NULL: none */
    hf_status status;
    const char *words[3];
    bool is_late;               /* after LIMIT_MS, not at once */
} reasons[] = {
    {.cert = AT(expired), .status = HF_E_TLS,
     .words = {"has expired", "subject CN=expired"}},
    {.cert = AT(early), .status = HF_E_TLS, .words = {"is not valid yet"}},
    {.cert = AT(cn_other), .status = HF_E_TLS,
     .words = {"is not for localhost; it holds DNS:other.test"}},
    {.cert = AT(dns_address), .host = "127.0.0.1", .status = HF_E_TLS,
     .words = {"is not for 127.0.0.1"}},
    {.query = "tls_sni=db.other.test", .status = HF_E_TLS,
     .words = {"is not for db.other.test"}},
    {.cert = AT(stranger), .status = HF_E_TLS,
     .words = {"is signed by a CA that is not trusted here (tls_ca)",
               "issuer CN=another CA"}},
    {.ca = AT(other_ca), .status = HF_E_TLS, .words = {"not trusted here"}},
    {.cert = AT(self_signed), .status = HF_E_TLS, .words = {"is self-signed"}},
    {.cert = AT(for_clients), .status = HF_E_TLS, .words = {"key usage"}},
    {.cert = AT(revoked), .crl = AT(crl), .status = HF_E_TLS,
     .words = {"was revoked"}},

    {.kind = MUTUAL, .status = HF_E_TLS,
     .words = {"the server wants a client certificate (tls_cert, tls_key)"}},
    {.kind = MUTUAL, .server_args = {"--tls-protocols", "TLSv1.2"},
     .status = HF_E_TLS,
     .words = {"the server wants a client certificate (tls_cert, tls_key)"}},
    {.kind = MUTUAL, .own = AT(client_other), .status = HF_E_TLS,
     .words = {"the server does not accept our certificate (tls_cert)"}},

    {.server_args = {"--tls-protocols", "TLSv1.1", "--tls-ciphers",
                     "DEFAULT@SECLEVEL=0"},
     .status = HF_E_TLS, .words = {"no version of TLS in common"}},
    {.kind = DAWDLER, .habit = ALIEN, .status = HF_E_TLS,
     .words = {"does not speak TLS here; use redis://"}},
    {.is_plain = true, .is_late = true, .status = HF_E_CONNECT,
     .words = {"is this a TLS port (rediss://)"}},

    /* Redis waits for the end of a line. The random bytes of the handshake may
     * contain one (those of OpenSSL 3.5, which are many, nearly always do); then
     * Redis answers at once, with an error (is_answered). */
    {.kind = PLAIN, .is_late = true, .status = HF_E_CONNECT,
     .words = {"did not finish the TLS handshake in time; is this a plain port "
               "(redis://)?"}},
    {.kind = STOPPED, .is_late = true, .status = HF_E_CONNECT,
     .words = {"did not finish the TLS handshake in time"}},
    {.kind = DAWDLER, .habit = SILENT, .is_late = true, .status = HF_E_CONNECT,
     .words = {"did not finish the TLS handshake in time"}},
    {.kind = DAWDLER, .habit = DRIPPING, .is_late = true,
     .status = HF_E_CONNECT,
     .words = {"did not finish the TLS handshake in time"}},

    {.query = "tls_crl=/nowhere/crl.pem", .status = HF_E_TLS,
     .words = {"tls_crl /nowhere/crl.pem: No such file or directory"}},
    {.ca = AT(nothing), .status = HF_E_TLS,
     .words = {"tls_ca ", "nothing: no CA certificate in it"}},
    {.own = AT(client_locked), .query = "tls_key_password=wrong",
     .status = HF_E_TLS, .words = {"tls_key_password is wrong"}},
    {.own = AT(client_locked), .status = HF_E_TLS,
     .words = {"the key is encrypted: give tls_key_password"}},
    {.own = AT(client), .query = "tls_key=/nowhere/key.pem",
     .status = HF_E_TLS,
     .words = {"tls_key /nowhere/key.pem: No such file or directory"}},
};

static const char *path_at(size_t offset)
{
    return (const char *)&certs + offset;
}

static struct server *peer;     /* NULL: a dawdler */
static struct dawdler *dawdler;
static char url[TLS_URL_MAX];

static void add(const char *before, const char *text)
{
    size_t len = strlen(url);

    (void)snprintf(url + len, sizeof url - len, "%s%s", before, text);
}

static void add_file(const char *before, size_t offset)
{
    if (offset)
        add(before, path_at(offset));
}

static void make_url(const struct reason *r, int port)
{
    (void)snprintf(url, sizeof url, "%s://:" PASSWORD "@%s:%d?",
                   r->is_plain ? "redis" : "rediss",
                   r->host ? r->host : "localhost", port);
    (void)snprintf(url + strlen(url), sizeof url - strlen(url),
                   "connect_timeout=%dms&timeout=%dms",
                   r->is_late ? LIMIT_MS : NO_LIMIT_MS,
                   r->is_late ? 2 * LIMIT_MS : NO_LIMIT_MS);
    if (!r->is_plain)
        add_file("&tls_ca=", r->ca ? r->ca : AT(ca));
    add_file("&tls_crl=", r->crl);
    add_file("&tls_cert=", r->own);
    if (r->query)
        add("&", r->query);
}

static struct server *peer_of(const struct reason *r)
{
    static const char *const plain[] = {"--requirepass", PASSWORD, NULL};
    const char *args[8] = {"--requirepass", PASSWORD};

    if (r->kind == PLAIN)
        return server_start(plain);
    for (size_t i = 0; i < 4; i++)
        args[2 + i] = r->server_args[i];
    return tls_server(path_at(r->cert ? r->cert : AT(server)),
                      r->kind == MUTUAL, args);
}

static void set_up(const struct reason *r)
{
    peer = NULL;
    dawdler = NULL;
    if (r->kind == DAWDLER) {
        dawdler = dawdler_start(r->habit);
        make_url(r, dawdler->port);
        return;
    }
    peer = peer_of(r);
    if (r->kind == STOPPED)
        server_pause(peer);
    make_url(r, server_port(peer));
}

/* The clients have gone, and what they sent is executed. */
static void await_clients_gone(void)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    while (!strstr(server_ask(peer, "INFO clients"), "connected_clients:1\r")) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
}

/* T24: no HELLO of ours has come, and no AUTH but the witness's. */
static void tear_down(const struct reason *r)
{
    const char *stats;

    if (dawdler) {
        dawdler_end(dawdler);
        return;
    }
    if (r->kind == STOPPED)
        server_resume(peer);
    await_clients_gone();
    stats = server_ask(peer, "INFO commandstats");
    ck_assert_msg(!strstr(stats, "cmdstat_hello"), "%s", stats);
    ck_assert_msg(strstr(stats, "cmdstat_auth:calls=1,") != NULL, "%s", stats);
    server_stop(peer);
}

/* ---- the two that are told ---- */

/* A plain server found the end of a line in the handshake and answered it. */
static bool is_answered(const struct reason *r, const char *text)
{
    return r->kind == PLAIN &&
           strstr(text, "the server does not speak TLS here; use redis://");
}

static void ck_assert_clear(const struct reason *r, const char *text)
{
    for (const char *const *word = r->words; *word; word++)
        ck_assert_msg(is_answered(r, text) || strstr(text, *word),
                      "not '%s': %s", *word, text);
    ck_assert_msg(!strstr(text, PASSWORD), "%s", text);
    ck_assert_msg(!strchr(text, '\n'), "%s", text);
}

static void ck_assert_in_time(const struct reason *r, int64_t since_ms,
                              int64_t limit_ms)
{
    int64_t took_ms = local_now_ms() - since_ms;

    if (r->is_late) {
        if (r->kind != PLAIN && !r->is_plain) /* `status` does not wait */
            ck_assert_int_ge(took_ms, limit_ms);
        ck_assert_within(since_ms, limit_ms + LATE_MS);
    } else {
        ck_assert_within(since_ms, AT_ONCE_MS);
    }
}

static hf_status connect_client(struct hf_error *err)
{
    struct hf_client_options o;
    struct hf_client *client = NULL;
    hf_status rc;

    hf_client_options_init(&o);
    o.url = url;
    rc = hf_client_new(&client, &o, err);
    if (rc == HF_OK)
        rc = hf_client_connect(client, err);
    (void)fds_count(); /* they end with an exec */
    hf_client_free(client);
    return rc;
}

/* It waits for ever, for another holder; not for a server that is none. Its
 * limit is that of a request, in which there is time to connect twice. */
static hf_status acquire_lock(struct hf_error *err)
{
    struct hf_client_options o;
    struct hf_client *client = NULL;
    hf_status rc;

    hf_client_options_init(&o);
    o.url = url;
    rc = hf_client_new(&client, &o, err);
    if (rc == HF_OK)
        rc = hf_lock_acquire(lock_of(client, NAME), NULL, err);
    (void)fds_count();
    hf_client_free(client);
    return rc;
}

static const struct {
    hf_status (*make)(struct hf_error *err);
    int64_t limit_ms;
} calls[] = {{connect_client, LIMIT_MS}, {acquire_lock, 2 * LIMIT_MS}};

START_TEST(library_reports_why)
{
    const struct reason *r = &reasons[_i];
    struct hf_error err = {0};
    int64_t since_ms;

    set_up(r);
    for (int i = 0; i < COUNT(calls); i++) {
        hf_status rc;

        fds_note();
        since_ms = local_now_ms();
        rc = calls[i].make(&err);
        ck_assert_status(rc, is_answered(r, err.text) ? HF_E_TLS : r->status);
        fds_await_none();
        ck_assert_in_time(r, since_ms, calls[i].limit_ms);
        ck_assert_int_eq(err.status, rc);
        ck_assert_clear(r, err.text);
    }
    tear_down(r);
}
END_TEST

/* The line without its newline; it is the only one. */
static const char *only_line(struct process *p)
{
    static char line[2048];
    const char *text = await_end(p, ERR);
    size_t len = strlen(text);

    ck_assert_uint_gt(len, 0);
    ck_assert_uint_lt(len, sizeof line);
    ck_assert_msg(text[len - 1] == '\n', "%s", text);
    (void)snprintf(line, sizeof line, "%.*s", (int)(len - 1), text);
    return line;
}

static void ck_assert_fails(const struct reason *r, struct process *p)
{
    const char *line;

    ck_assert_int_eq(finish(p), 125);
    line = only_line(p);
    ck_assert_msg(strncmp(line, "holdfast: ", 10) == 0 ||
                      strncmp(line, "holdfast-resp: ", 15) == 0,
                  "%s", line);
    ck_assert_clear(r, line);
    ck_assert_str_eq(await_end(p, OUT), ""); /* nothing was run */
}

START_TEST(command_reports_why_with_code_125)
{
    const struct reason *r = &reasons[_i];
    int64_t since_ms;

    set_up(r);
    since_ms = local_now_ms();
    ck_assert_fails(
        r, holdfast(NULL, "run", "-u", url, "x", "--", "echo", "run", NULL));
    ck_assert_in_time(r, since_ms, LIMIT_MS);
    since_ms = local_now_ms();
    ck_assert_fails(r, holdfast(NULL, "status", "-u", url, "x", NULL));
    ck_assert_in_time(r, since_ms, LIMIT_MS);
    since_ms = local_now_ms();
    ck_assert_fails(r, holdfast_resp(NULL, "check", "-u", url, NULL));
    ck_assert_in_time(r, since_ms, LIMIT_MS);
    tear_down(r);
}
END_TEST

/* ---- the command, when all is well ---- */

START_TEST(command_runs_over_mutual_tls)
{
    struct server *s = tls_server(certs.server, true, NULL);
    struct process *p;

    (void)snprintf(url, sizeof url, "rediss://localhost:%d", server_port(s));
    p = holdfast(s, "run", "-u", url, "--tls-ca", certs.ca, "--tls-cert",
                 certs.client_cert, "--tls-key", certs.client_key, "x", "--",
                 "sh", "-c", "echo held; read go", NULL);
    (void)await_line(p, OUT, "held");
    ck_assert_str_eq(server_ask(s, "EXISTS x"), "1");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, ERR), "");
    ck_assert_str_eq(server_ask(s, "EXISTS x"), "0");
    server_stop(s);
}
END_TEST

/* T8: said once, whatever is shown otherwise; -q is for who knows it. */
START_TEST(command_warns_of_an_unverified_server)
{
    static const char *const levels[] = {"-v", "--json", "-q"};
    static const char words[] = "is not checked (tls_verify=no)";
    struct server *s = tls_server(certs.stranger, false, NULL);
    bool is_quiet = strcmp(levels[_i], "-q") == 0;
    const char *said;
    struct process *p;

    (void)snprintf(url, sizeof url, "rediss://localhost:%d?tls_verify=no",
                   server_port(s));
    p = holdfast(s, "status", levels[_i], "-u", url, "x", NULL);
    ck_assert_int_eq(finish(p), 1);
    said = strstr(await_end(p, ERR), words);
    ck_assert_int_eq(!said, is_quiet);
    ck_assert(!said || !strstr(said + 1, words));
    p = holdfast_resp(s, "check", levels[_i], "-u", url, NULL);
    (void)await_end(p, OUT); /* JSON is more than a pipe takes */
    ck_assert_int_le(finish(p), 1);
    ck_assert_int_eq(!strstr(await_end(p, ERR), words), is_quiet);
    server_stop(s);
}
END_TEST

/* ---- the checks of a server ---- */

static const struct {
    bool is_mutual;
    const char *args[3];
} checked[] = {
    {false, {NULL}},
    {true, {NULL}},
    {true, {"--tls-protocols", "TLSv1.2"}},
};

/* The rows up to the verdict: what behind it may name a key or a number that
 * is new each time. */
static char *check_at(struct server *s, const char *where,
                      const char *const *tls)
{
    struct process *p =
        holdfast_resp(s, "check", "--json", "-u", where, tls[0], tls[1],
                 tls[2], tls[3], NULL);
    char *text = local_copy(await_end(p, OUT)), *to = text;

    ck_assert_int_le(finish(p), 1);
    ck_assert_str_eq(await_end(p, ERR), "");
    for (char *row = strtok(text, "\n"); row; row = strtok(NULL, "\n")) {
        char *end = strstr(row, ",\"expected\"");
        size_t len = end ? (size_t)(end - row) : 0;

        memmove(to, row, len);
        to += len;
    }
    *to = '\0';
    return text;
}

/* Connections that come and go, on which a server is asked all there is. */
START_TEST(checks_are_the_same_over_tls)
{
    static const char *const none[] = {NULL, NULL, NULL, NULL};
    const char *const own[] = {"--tls-ca", certs.ca, "--tls-cert",
                               certs.client};
    struct server *s = tls_server(certs.server, checked[_i].is_mutual,
                                  checked[_i].args);
    char *plain, *tls;

    (void)snprintf(url, sizeof url, "unix://%s", server_unix_path(s));
    plain = check_at(s, url, none);
    (void)snprintf(url, sizeof url, "rediss://localhost:%d", server_port(s));
    tls = check_at(s, url, own);
    ck_assert_uint_gt(strlen(plain), 10000);
    ck_assert_str_eq(plain, tls);
    free(plain);
    free(tls);
    server_stop(s);
}
END_TEST

/* ---- */

static int run(void)
{
    Suite *suite = suite_create("TLS, refused");
    TCase *c = run_case(suite, "reasons");

    tcase_add_loop_test(c, library_reports_why, 0, COUNT(reasons));
    tcase_add_loop_test(c, command_reports_why_with_code_125, 0, COUNT(reasons));

    c = run_case(suite, "the command");
    tcase_add_test(c, command_runs_over_mutual_tls);
    tcase_add_loop_test(c, command_warns_of_an_unverified_server, 0, 3);
    tcase_add_loop_test(c, checks_are_the_same_over_tls, 0, COUNT(checked));
    return run_suite(suite);
}

int main(void)
{
    return tls_main("TLS, refused", run);
}
