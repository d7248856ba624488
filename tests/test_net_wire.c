/* A wire, to peers that the test plays itself: on a listening socket's backlog
 * one is connected before anybody accepts. Over TLS and to real servers:
 * tests/live/cli/test_resp_check.c, test_tls_refused.c. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/base/mem.h"
#include "net/net.h"
#include "net/wire/wire.h"
#include "tests/support/fds.h"
#include "tests/support/local.h"
#include "tests/support/memory.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define LONG_MS 20000         /* longer than anything here takes */
#define SHORT_MS 50           /* for what does not come */
#define IN_MAX (1u << 20)
#define MANY (32u << 20)      /* more than sockets hold, and half of it too */

static struct hf_url url;
static struct hf_wire_options options;
static struct hf_wire *wire;
static struct hf_error error;
static int listener = -1, peer = -1;

static int64_t in(int ms)
{
    return hf_clock_ms() + ms;
}

static void set_up(void)
{
    int port;

    listener = local_listen(&port);
    ck_assert_int_ge(listener, 0);
    memset(&url, 0, sizeof url);
    (void)strcpy(url.host, "127.0.0.1");
    url.port = (uint16_t)port;
    options = (struct hf_wire_options){.url = &url, .input_max = IN_MAX};
}

static void tear_down(void)
{
    hf_wire_close(wire);
    local_close(peer);
    (void)close(listener);
}

/* The last that came: those before gave up. */
static void take_peer(void)
{
    int fd;

    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        local_close(peer);
        peer = fd;
    }
    ck_assert_int_ge(peer, 0);
}

static void meet(void)
{
    ck_assert_int_eq(hf_wire_open(&wire, &options, in(LONG_MS), &error), HF_OK);
    take_peer();
}

static void ck_assert_came(const char *expected)
{
    size_t len;
    const char *bytes = hf_wire_received(wire, &len);

    ck_assert_uint_eq(len, strlen(expected));
    ck_assert(len == 0 || memcmp(bytes, expected, len) == 0);
}

/* ---- bytes ---- */

START_TEST(bytes_come_and_go_as_they_are)
{
    static const char sent[] = "*0\r\n\0?";
    char got[sizeof sent];

    meet();
    ck_assert_came("");
    ck_assert_int_eq(hf_wire_send(wire, sent, sizeof sent, in(LONG_MS)), HF_OK);
    ck_assert_int_eq(recv(peer, got, sizeof got, MSG_WAITALL), sizeof got);
    ck_assert_mem_eq(got, sent, sizeof sent);
    ck_assert_int_eq(send(peer, "+OK\r\n", 5, 0), 5);
    ck_assert_int_eq(hf_wire_read(wire, in(LONG_MS)), HF_OK);
    ck_assert_came("+OK\r\n");
    ck_assert_int_eq(send(peer, "-no", 3, 0), 3);
    ck_assert_int_eq(hf_wire_read(wire, in(LONG_MS)), HF_OK);
    ck_assert_came("+OK\r\n-no");
    hf_wire_drop(wire, 5);
    ck_assert_came("-no");
    hf_wire_drop(wire, 3);
    ck_assert_came("");
}
END_TEST

/* Says all it has to say before it listens. */
static void *talk_first(void *arg)
{
    char *bytes = local_new(MANY);
    size_t sent = 0, heard = 0;
    ssize_t n;

    (void)arg;
    while (sent < MANY / 2 && (n = send(peer, bytes, MANY / 2 - sent, 0)) > 0)
        sent += (size_t)n;
    while (heard < MANY && (n = recv(peer, bytes, MANY, 0)) > 0)
        heard += (size_t)n;
    must(sent == MANY / 2 && heard == MANY);
    free(bytes);
    return NULL;
}

/* BYTES-2, BYTES-1 */
START_TEST(neither_side_waits_for_the_other_to_read)
{
    char *bytes = local_new(MANY);
    pthread_t thread;
    size_t len;

    options.input_max = MANY;
    meet();
    ck_assert_int_eq(pthread_create(&thread, NULL, talk_first, NULL), 0);
    ck_assert_int_eq(hf_wire_send(wire, bytes, MANY, in(LONG_MS)), HF_OK);
    while ((void)hf_wire_received(wire, &len), len < MANY / 2)
        ck_assert_int_eq(hf_wire_read(wire, in(LONG_MS)), HF_OK);
    (void)pthread_join(thread, NULL);
    ck_assert_uint_eq(len, MANY / 2);
    free(bytes);
}
END_TEST

/* ---- limits ---- */

START_TEST(silence_is_over_at_the_deadline)
{
    int64_t deadline_ms;

    meet();
    deadline_ms = in(SHORT_MS);
    ck_assert_int_eq(hf_wire_read(wire, deadline_ms), HF_E_NOREPLY);
    ck_assert_int_ge(hf_clock_ms(), deadline_ms);
    ck_assert_str_eq(hf_wire_error(wire)->text,
                     "the server does not answer in time");
    ck_assert_int_eq(hf_wire_read(wire, deadline_ms), HF_E_NOREPLY);
    ck_assert_int_eq(send(peer, "a", 1, 0), 1);
    ck_assert_int_eq(hf_wire_read(wire, in(LONG_MS)), HF_OK);
    ck_assert_came("a");
}
END_TEST

START_TEST(peer_that_does_not_read_is_abandoned)
{
    char *bytes = local_new(MANY);
    int64_t deadline_ms;

    meet();
    deadline_ms = in(SHORT_MS);
    ck_assert_int_eq(hf_wire_send(wire, bytes, MANY, deadline_ms),
                     HF_E_NOREPLY);
    ck_assert_int_ge(hf_clock_ms(), deadline_ms);
    free(bytes);
}
END_TEST

START_TEST(bytes_without_end_are_refused)
{
    char *bytes = local_new(IN_MAX);
    hf_status rc = HF_OK;
    size_t len = 0;

    meet();
    local_prepare(peer);
    while (rc == HF_OK) {
        (void)!send(peer, bytes, IN_MAX, MSG_NOSIGNAL);
        rc = hf_wire_read(wire, in(LONG_MS));
    }
    ck_assert_int_eq(rc, HF_E_LIMIT);
    (void)hf_wire_received(wire, &len);
    ck_assert_uint_gt(len, IN_MAX / 2);
    ck_assert_uint_le(len, IN_MAX);
    free(bytes);
}
END_TEST

/* ---- ends ---- */

START_TEST(end_is_reported_after_the_last_bytes)
{
    meet();
    ck_assert_int_eq(send(peer, "-ERR\r\n", 6, 0), 6);
    local_close(peer);
    peer = -1;
    while (hf_wire_read(wire, in(LONG_MS)) == HF_OK)
        ;
    ck_assert_came("-ERR\r\n");
    ck_assert_int_eq(hf_wire_error(wire)->status, HF_E_CONNECT);
    ck_assert_str_eq(hf_wire_error(wire)->text,
                     "the server closed the connection");
    ck_assert_int_eq(hf_wire_send(wire, "a", 1, in(LONG_MS)), HF_E_CONNECT);
}
END_TEST

START_TEST(refused_connection_is_an_error_with_the_address)
{
    char expected[100];

    (void)close(listener);
    listener = -1;
    (void)snprintf(expected, sizeof expected,
                   "127.0.0.1:%u: cannot connect: Connection refused",
                   (unsigned)url.port);
    ck_assert_int_eq(hf_wire_open(&wire, &options, in(LONG_MS), &error),
                     HF_E_CONNECT);
    ck_assert_str_eq(error.text, expected);
    ck_assert_ptr_null(wire);
}
END_TEST

/* It accepts, and that is all. */
START_TEST(handshake_ends_at_the_deadline)
{
    struct hf_tls_options tls = {.is_unverified = true};
    int64_t deadline_ms;

    ck_assert_int_eq(hf_tls_context_new(&options.tls, &hf_mem_libc, &tls,
                                        url.host, &error),
                     HF_OK);
    deadline_ms = in(1000); /* time enough to connect */
    ck_assert_int_eq(hf_wire_open(&wire, &options, deadline_ms, &error),
                     HF_E_CONNECT);
    ck_assert_int_ge(hf_clock_ms(), deadline_ms);
    ck_assert_ptr_nonnull(strstr(error.text, "did not finish the TLS "
                                             "handshake in time"));
    hf_tls_context_free(options.tls);
}
END_TEST

/* ---- what it holds ---- */

/* Was an allocation made to fail? */
static bool has_failed_without_memory(unsigned n)
{
    struct memory memory;
    bool has_failed;
    hf_status rc;

    memory_init(&memory);
    memory_fail_at(&memory, n);
    options.mem = &memory.hook;
    rc = hf_wire_open(&wire, &options, in(LONG_MS), &error);
    if (rc == HF_OK) {
        take_peer();
        (void)fcntl(peer, F_SETFD, FD_CLOEXEC);
        ck_assert_int_eq(send(peer, "a", 1, 0), 1);
        rc = hf_wire_read(wire, in(LONG_MS));
        ck_assert_int_ge(fds_count(), 2); /* the socket, what wakes the loop */
    }
    has_failed = memory_has_failed(&memory);
    ck_assert(rc == HF_OK || has_failed); /* poll(2) may have tried again */
    hf_wire_close(wire);
    wire = NULL;
    local_close(peer);
    peer = -1;
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    return has_failed;
}

START_TEST(each_allocation_may_fail_and_nothing_is_left)
{
    unsigned n = 1;

    fds_note();
    while (has_failed_without_memory(n)) {
        n++;
        fds_await_none();
    }
    ck_assert_uint_gt(n, 3);
    fds_await_none();
}
END_TEST

/* ---- */

int main(void)
{
    Suite *s = suite_create("net/wire");
    TCase *c = tcase_create("wire");

    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, bytes_come_and_go_as_they_are);
    tcase_add_test(c, neither_side_waits_for_the_other_to_read);
    tcase_add_test(c, silence_is_over_at_the_deadline);
    tcase_add_test(c, peer_that_does_not_read_is_abandoned);
    tcase_add_test(c, bytes_without_end_are_refused);
    tcase_add_test(c, end_is_reported_after_the_last_bytes);
    tcase_add_test(c, refused_connection_is_an_error_with_the_address);
    if (hf_tls_library())
        tcase_add_test(c, handshake_ends_at_the_deadline);
    tcase_add_test(c, each_allocation_may_fail_and_nothing_is_left);
    suite_add_tcase(s, c);
    return suite_run(s);
}
