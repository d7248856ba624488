/* System calls that fail: each kind at its first, second, .. call, in a short
 * life of a link (connect, ask, lose the connection, connect anew, ask, close),
 * with each error that it can have; and all the time. There is always an
 * outcome, true of what the server did; after it the link works; no descriptor
 * and no byte of memory is left.
 *
 * The linker puts the wrappers below in place of what the library calls
 * (Makefile: --wrap). They fail where the test says so, and only while it is
 * the library that calls. Source: faults X5. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/link/link.h"
#include "net/net.h"
#include "tests/support/executor.h"
#include "tests/support/local.h"
#include "tests/support/memory.h"
#include "tests/support/suite.h"

#define LONG_MS 10000         /* longer than anything here takes */

/* ---- calls that fail ---- */

enum call {
    SOCKET, CONNECT, SETSOCKOPT, GETSOCKOPT, GETSOCKNAME, GETPEERNAME, RECV,
    SEND, CLOSE, READ, WRITE, PIPE, CREATE_POLLER, POLL_ADD, POLL, THREAD, CALLS
};

/* Only the test's thread is asked for; a thread that resolves a name is not. */
static _Thread_local bool is_library;

static struct {
    enum call call;
    int error;
    unsigned at;                      /* the n-th call fails; 0: by `every` */
    unsigned every;                   /* each n-th call fails; 0: none */
    unsigned count;                   /* calls so far */
    bool has_failed;
} fault;

static size_t one_byte;               /* 1: reads and writes move one byte */
static bool is_stormy;                /* recv and send block 2 times of 3 */
static uint32_t storm;                /* the dice */

static bool fails(enum call call)
{
    bool it_does;

    if (!is_library || call != fault.call)
        return false;
    fault.count++;
    it_does = fault.at ? fault.count == fault.at
                       : fault.every && fault.count % fault.every == 0;
    if (it_does)
        errno = fault.error;
    fault.has_failed = fault.has_failed || it_does;
    return it_does;
}

static bool blocks(void)
{
    storm = storm * 1664525u + 1013904223u;
    if (!is_library || !is_stormy || (storm >> 16) % 3 == 0)
        return false;
    errno = EAGAIN;
    return true;
}

static size_t piece(size_t len)
{
    return is_library && one_byte ? one_byte : len;
}

#define WRAP(type, name, call, params, args) \
    type __real_##name params;               \
    type __wrap_##name params;               \
    type __wrap_##name params                \
    {                                        \
        return fails(call) ? -1 : __real_##name args; \
    }

WRAP(int, socket, SOCKET, (int domain, int type, int protocol),
     (domain, type, protocol))
WRAP(int, connect, CONNECT,
     (int fd, const struct sockaddr *address, socklen_t len),
     (fd, address, len))
WRAP(int, setsockopt, SETSOCKOPT,
     (int fd, int level, int name, const void *value, socklen_t len),
     (fd, level, name, value, len))
WRAP(int, getsockopt, GETSOCKOPT,
     (int fd, int level, int name, void *value, socklen_t *len),
     (fd, level, name, value, len))
WRAP(int, getsockname, GETSOCKNAME,
     (int fd, struct sockaddr *address, socklen_t *len), (fd, address, len))
WRAP(int, getpeername, GETPEERNAME,
     (int fd, struct sockaddr *address, socklen_t *len), (fd, address, len))
WRAP(ssize_t, read, READ, (int fd, void *ptr, size_t len), (fd, ptr, len))
WRAP(ssize_t, write, WRITE, (int fd, const void *ptr, size_t len),
     (fd, ptr, len))
WRAP(int, pipe2, PIPE, (int fds[2], int flags), (fds, flags))
WRAP(int, epoll_create1, CREATE_POLLER, (int flags), (flags))
WRAP(int, epoll_wait, POLL,
     (int fd, struct epoll_event *events, int max, int timeout),
     (fd, events, max, timeout))

WRAP(int, poll, POLL, (struct pollfd * fds, nfds_t count, int timeout),
     (fds, count, timeout))

ssize_t __real_recv(int fd, void *ptr, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *ptr, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *ptr, size_t len, int flags)
{
    return fails(RECV) || blocks() ? -1
                                   : __real_recv(fd, ptr, piece(len), flags);
}

ssize_t __real_send(int fd, const void *ptr, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *ptr, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *ptr, size_t len, int flags)
{
    return fails(SEND) || blocks() ? -1
                                   : __real_send(fd, ptr, piece(len), flags);
}

/* The descriptor is gone all the same: close(2), "Dealing with error
 * returns". */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int rc = __real_close(fd);

    return fails(CLOSE) ? -1 : rc;
}

/* Only what adds can fail (epoll_ctl(2)). */
int __real_epoll_ctl(int fd, int verb, int of, struct epoll_event *event);
int __wrap_epoll_ctl(int fd, int verb, int of, struct epoll_event *event);
int __wrap_epoll_ctl(int fd, int verb, int of, struct epoll_event *event)
{
    return verb == EPOLL_CTL_ADD && fails(POLL_ADD)
               ? -1
               : __real_epoll_ctl(fd, verb, of, event);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *), void *arg)
{
    return fails(THREAD) ? fault.error
                         : __real_pthread_create(thread, attr, run, arg);
}

/* ---- a life ---- */

static const struct executor_row replies[] = {
    EXECUTOR_ROW("$5\r\nfirst\r\n"), EXECUTOR_ROW("$6\r\nsecond\r\n"),
    EXECUTOR_ROW("$5\r\nthird\r\n")};
static const char *const texts[] = {"first", "second", "third"};
enum { COUNT = sizeof replies / sizeof *replies };

static struct memory memory;
static struct hf_loop *loop;
static struct hf_link *link_;
static struct executor executor;

struct ask {
    struct hf_request request;
    int row;
    int ends;                         /* how often `done` was called */
    enum hf_outcome outcome;
};

static void on_done(struct hf_request *request, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    struct ask *a = HF_OWNER_OF(request, struct ask, request);

    a->ends++;
    a->outcome = outcome;
    if (outcome == HF_ANSWERED)
        ck_assert(
            hf_resp_is_text(reply, texts[a->row], strlen(texts[a->row])));
}

static void turn(void)
{
    is_library = true;
    hf_loop_dispatch(loop, 0);
    is_library = false;
    if (!executor_turn(&executor)) /* ck_assert is slow */
        ck_abort_msg("the server was asked what nobody asks");
}

static enum hf_outcome ask(int row, int timeout_ms)
{
    char number[8];
    int len = snprintf(number, sizeof number, "%d", row);
    struct hf_resp_arg argv[] = {{"DO", 2}, {number, (size_t)len}};
    struct ask a = {.request.done = on_done, .row = row};
    hf_status rc;

    is_library = true;
    hf_loop_lock(loop);
    rc = hf_link_submit(link_, &a.request, argv, 2,
                        hf_loop_now(loop) + timeout_ms);
    hf_loop_unlock(loop);
    is_library = false;
    ck_assert_int_eq(rc, HF_OK);
    while (a.ends == 0) /* at its deadline at the latest */
        turn();
    ck_assert_int_eq(a.ends, 1);
    return a.outcome;
}

/* Asks until there is an answer: after a fault that is over, within three. What
 * was said of each try is what was done. */
static void ask_patiently(int row)
{
    unsigned unknown = 0;
    enum hf_outcome outcome;
    int tries = 0;

    executor.executed[row] = 0;
    do {
        ck_assert_int_lt(tries++, 3);
        outcome = ask(row, LONG_MS);
        unknown += outcome == HF_UNKNOWN;
    } while (outcome != HF_ANSWERED);
    ck_assert_uint_ge(executor.executed[row], 1);
    ck_assert_uint_le(executor.executed[row], 1 + unknown);
}

static hf_status open_link(const char *host)
{
    struct hf_loop_options of_loop = {.size = sizeof of_loop, .mem = &memory.hook};
    struct hf_link_options o;
    hf_status rc;

    hf_link_options_init(&o);
    o.url = (struct hf_url){.kind = HF_URL_TCP};
    o.url.port = (uint16_t)executor.port;
    (void)strcpy(o.url.host, host);
    o.backoff_min_ms = o.backoff_max_ms = 0;
    is_library = true;
    rc = hf_loop_new(&loop, &of_loop);
    if (rc == HF_OK) {
        hf_loop_lock(loop);
        rc = hf_link_new(&link_, loop, &o);
        hf_loop_unlock(loop);
    }
    is_library = false;
    return rc;
}

static void close_link(void)
{
    is_library = true;
    hf_loop_lock(loop);
    hf_link_free(link_);
    hf_loop_unlock(loop);
    hf_loop_free(loop);
    is_library = false;
}

static int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

/* The first connection breaks in the middle of an answer. */
#define IN_THE_FIRST_ANSWER 150

/* False: there was not even a loop. */
static bool live(const char *host)
{
    hf_status rc;

    memory_init(&memory);
    ck_assert(executor_open(&executor, replies, COUNT));
    executor.next.out_max = IN_THE_FIRST_ANSWER;
    rc = open_link(host);
    ck_assert(rc == HF_OK || rc == HF_E_SYSTEM || rc == HF_E_NOMEM);
    if (rc == HF_OK) {
        for (int row = 0; row < COUNT; row++)
            ask_patiently(row);
        ck_assert(executor.has_broken || fault.has_failed);
        close_link();
    }
    executor_close(&executor);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    return rc == HF_OK;
}

/* ---- each call, each error, the n-th time ---- */

#define ERRORS_MAX 8

static const struct {
    enum call call;
    const char *host;
    int errors[ERRORS_MAX];
} faults[] = {
    {SOCKET, "127.0.0.1",
     {EMFILE, ENFILE, ENOBUFS, ENOMEM, EACCES, EAFNOSUPPORT, EPROTONOSUPPORT}},
    {CONNECT, "127.0.0.1",
     {ENETUNREACH, EHOSTUNREACH, ECONNREFUSED, ETIMEDOUT,
      EADDRNOTAVAIL /* no port is left */, EACCES, EINTR, ENOBUFS}},
    {CONNECT, "127.0.0.1", {EAGAIN, EPERM, EADDRINUSE, EISCONN}},
    {SETSOCKOPT, "127.0.0.1", {ENOPROTOOPT, ENOMEM, EINVAL}},
    {GETSOCKOPT, "127.0.0.1", {ENOBUFS, ENOMEM}},
    {GETSOCKNAME, "127.0.0.1", {ENOBUFS}},
    {GETPEERNAME, "127.0.0.1", {ENOTCONN, ENOBUFS}},
    {RECV, "127.0.0.1",
     {EINTR, EAGAIN, ECONNRESET, ETIMEDOUT, ENOMEM, ENOBUFS, EIO,
      EHOSTUNREACH}},
    {SEND, "127.0.0.1",
     {EINTR, EAGAIN, ECONNRESET, EPIPE, ENOBUFS, ENOMEM, EPERM, ETIMEDOUT}},
    {CLOSE, "127.0.0.1", {EINTR, EIO}},
    {READ, "localhost", {EINTR, EAGAIN}},
    {WRITE, "localhost", {EINTR, EAGAIN}},
    {PIPE, "localhost", {EMFILE, ENFILE}},
    {CREATE_POLLER, "127.0.0.1", {EMFILE, ENFILE, ENOMEM}},
    {POLL_ADD, "localhost", {ENOMEM, ENOSPC}},
    {POLL, "localhost", {EINTR}},
    {THREAD, "localhost", {EAGAIN, ENOMEM}},
};

static void fail_at(enum call call, int error, unsigned at)
{
    memset(&fault, 0, sizeof fault);
    fault.call = call;
    fault.error = error;
    fault.at = at;
}

/* A lookup that was given up ends in its own time, and its descriptors with
 * it. */
static void await_descriptors(int count)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (count_descriptors() != count && local_now_ms() < end_ms)
        local_poll_rest();
    ck_assert_int_eq(count_descriptors(), count);
}

START_TEST(call_may_fail_once_at_any_moment)
{
    const int *error = faults[_i].errors;
    int descriptors;

    fail_at(CALLS, 0, 0);
    ck_assert(live(faults[_i].host));
    descriptors = count_descriptors();
    for (; error < faults[_i].errors + ERRORS_MAX && *error; error++) {
        unsigned n = 1;

        do {
            fail_at(faults[_i].call, *error, n++);
            (void)live(faults[_i].host);
            await_descriptors(descriptors);
        } while (fault.has_failed);
    }
}
END_TEST

/* ---- all the time ---- */

static const struct {
    enum call call;
    int error;
    unsigned every;
} habits[] = {
    {RECV, EINTR, 2}, {SEND, EINTR, 2},   {POLL, EINTR, 2},
    {RECV, EAGAIN, 2}, {SEND, EAGAIN, 2}, {SEND, ENOBUFS, 2},
    {READ, EINTR, 2}, {WRITE, EAGAIN, 2}, {CONNECT, ENETUNREACH, 2},
    {SETSOCKOPT, ENOPROTOOPT, 1}, {CLOSE, EINTR, 1}, {CALLS, 0, 0},
};

/* Each, with bytes one by one, and in a storm of EAGAIN. */
START_TEST(repeated_failures_are_not_noticed)
{
    for (int way = 0; way < 4; way++) {
        fail_at(habits[_i].call, habits[_i].error, 0);
        fault.every = habits[_i].every;
        one_byte = way & 1;
        is_stormy = way & 2;
        ck_assert(live("127.0.0.1"));
        ck_assert(fault.has_failed || habits[_i].call > POLL ||
                  habits[_i].call == READ || habits[_i].call == WRITE);
    }
}
END_TEST

/* ---- for ever ---- */

static const struct {
    enum call call;
    int error;
    const char *host;
} curses[] = {
    {SOCKET, EMFILE, "127.0.0.1"},
    {SOCKET, ENOBUFS, "127.0.0.1"},
    {CONNECT, ENETUNREACH, "127.0.0.1"},
    {CONNECT, EADDRNOTAVAIL, "127.0.0.1"},
    {PIPE, EMFILE, "localhost"},
    {THREAD, EAGAIN, "localhost"},
    {POLL_ADD, ENOSPC, "127.0.0.1"},
};

/* It ends at its deadline, unsent, and the error says what the system said (a
 * thread's and a poller's: that there is no memory). When it is over, the link
 * works. */
START_TEST(permanent_failures_are_reported)
{
    const char *says = strerror(curses[_i].error);
    enum hf_outcome outcome;
    struct hf_error e;

    fail_at(CALLS, 0, 0);
    memory_init(&memory);
    ck_assert(executor_open(&executor, replies, COUNT));
    ck_assert_int_eq(open_link(curses[_i].host), HF_OK);
    fail_at(curses[_i].call, curses[_i].error, 0);
    fault.every = 1;
    outcome = ask(0, 30);
    ck_assert_int_eq(outcome, fault.has_failed ? HF_UNSENT : HF_ANSWERED);
    if (!fault.has_failed) /* poll(2) knows no such call */
        ck_assert_int_eq(curses[_i].call, POLL_ADD);
    hf_loop_lock(loop);
    e = *hf_link_error(link_);
    hf_loop_unlock(loop);
    ck_assert_int_eq(e.status, fault.has_failed ? HF_E_CONNECT : HF_OK);
    if (curses[_i].call < PIPE)
        ck_assert_msg(strstr(e.text, says) != NULL, "%s", e.text);
    (void)printf("%s\n", e.text);
    fail_at(CALLS, 0, 0);
    ask_patiently(1);
    close_link();
    executor_close(&executor);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net, faults");
    TCase *c = tcase_create("system calls");

    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, call_may_fail_once_at_any_moment, 0, ROWS(faults));
    tcase_add_loop_test(c, repeated_failures_are_not_noticed, 0,
                        ROWS(habits));
    tcase_add_loop_test(c, permanent_failures_are_reported, 0, ROWS(curses));
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
