/* A link over TLS, where bytes that have arrived may not be visible at the descriptor. */
#include <check.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/link/link_inner.h"
#include "net/wire/tls_openssl.h"
#include "tests/support/certs.h"
#include "tests/support/handshake.h"
#include "tests/support/link_kit.h"
#include "tests/support/suite.h"
#include "tests/support/tls_peer.h"

#define SILENCE_MS 200
#define BYTES (64 * 16384)      /* READS_MAX of link.c, and the room of each read */
#define TURNS 1000              /* more than the network takes */
#define MESSAGE ">2\r\n+message\r\n+................................\r\n"

static struct certs certs;
static struct tls_peer tls_peer;
static struct hf_tls_context *context;
static int listener;

/* ---- a link and its server ---- */

static int listen_at_loopback(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;

    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(listener, 4), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    return ntohs(at.sin_port);
}

static void open_tls_link(void)
{
    struct hf_tls_options of_tls = {0};
    struct hf_error error;

    (void)strcpy(of_tls.ca_file, certs.ca);
    tls_peer_init(&tls_peer, &(struct tls_peer_options){.cert = certs.server});
    memory_init(&memory);
    ck_assert_int_eq(hf_tls_context_new(&context, &memory.hook, &of_tls, "localhost",
                                        &error), HF_OK);
    prepare(listen_at_loopback());
    options.tls = context;
    options.silence_ms = SILENCE_MS;
    open_with(&memory.hook, false);
}

static void close_tls_link(void)
{
    free_link();
    hf_tls_context_free(context);
    tls_peer_fini(&tls_peer);
    (void)close(listener);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

static void turn(int64_t *end_ms, const char *what)
{
    drive_on(end_ms, what);
    tls_peer_turn(&tls_peer);
}

static void accept_link(void)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    tls_peer_accept(&tls_peer, fd);
}

/* Takes one command that has arrived, if there is one. Returns its length. */
static size_t answer_handshake(struct handshake *g, size_t from)
{
    char reply[HANDSHAKE_MAX];
    struct request r;
    size_t len;

    if (request_decode(&r, tls_peer.heard + from, tls_peer.heard_len - from) != REQUEST_WHOLE)
        return 0;
    len = handshake_answer(g, &r, reply);
    if (len > 0)
        tls_peer_say(&tls_peer, reply, len);
    return r.len;
}

/* The link is up. Returns how much it has said. */
static size_t handshake_of_link(void)
{
    struct handshake g = {.protocol = 2, .id = 1};
    size_t heard = 0;

    want(true);
    hf_loop_dispatch(loop, 0);
    accept_link();
    for (int64_t end_ms = 0; !is_up();) {
        heard += answer_handshake(&g, heard);
        turn(&end_ms, "the link is up");
    }
    want(false);
    return heard;
}

/* As many bytes as one turn of the link reads, in records of the greatest size: nearly all of
 * the last one. The message that is not complete takes room, so a part of that record is left,
 * and it is inside OpenSSL. */
static void say_messages(void)
{
    static char bytes[BYTES];

    for (size_t len = 0; len < BYTES; len++)
        bytes[len] = MESSAGE[len % (sizeof MESSAGE - 1)];
    tls_peer_say(&tls_peer, bytes, sizeof bytes);
}

/* Returns whether the kernel keeps all these bytes until the link reads them. */
static bool has_large_buffer(void)
{
    int fd = link_->stream.fd, room = 4 * BYTES;
    socklen_t len = sizeof room;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, &len), 0);
    return room >= 4 * BYTES;
}

/* ---- tests ---- */

/* LINK-3: The rest of the last record is read by the timer of the link, which watches for
 * silence after that. */
START_TEST(silence_after_a_long_turn_ends_the_connection)
{
    struct ask a;
    size_t heard;

    open_tls_link();
    heard = handshake_of_link();
    if (!has_large_buffer()) {
        (void)printf("skipped: net.core.rmem_max is too small for this test\n");
        close_tls_link();
        return;
    }
    start(&a, "ECHO a", -1);
    for (int64_t end_ms = 0; tls_peer.heard_len <= heard;)
        turn(&end_ms, "the request");
    say_messages();
    for (int i = 0; i < TURNS; i++)
        tls_peer_turn(&tls_peer);
    for (int64_t end_ms = 0; !a.text[0];)
        turn(&end_ms, "the silence is noticed");
    ck_assert_str_eq(a.text, "(unknown)");
    close_tls_link();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("net/link over TLS");
    TCase *c = tcase_create("link");

    tcase_add_test(c, silence_after_a_long_turn_ends_the_connection);
    tcase_set_timeout(c, 60);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    int rc;

    certs_make(&certs, NULL);
    rc = suite_run(suite());
    certs_remove(&certs);
    return rc;
}
