/* From a URL to a connected socket, over loopback: its many IPv4 addresses are
 * as many hosts, which share a port. Sources: RFC 8305; faults X1, X5, X12. */
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/resource.h>

#include "net/loop/loop_inner.h"
#include "tests/support/fds.h"
#include "tests/support/names.h"
#include "tests/support/suite.h"
#include "tests/test_net_dial.h"

#define QUICK_MS 2000         /* "at once", on a machine with much to do */
#define BACKLOG 64            /* nobody accepts */

/* Where nobody listens; where what comes is dropped; where it is taken. */
#define DEAD "127.0.0.2"
#define DEAD2 "127.0.0.3"
#define HOLE "127.0.0.4"
#define HOLE2 "127.0.0.5"
#define HOLE3 "127.0.0.6"
#define GOOD "127.0.0.7"
#define MULTICAST "224.0.0.1" /* where TCP has no way to */

static const struct name names[] = {
    {"good.test", .addresses = GOOD},
    {"hole-good.test", .addresses = HOLE " " GOOD},
    {"holes.test", .addresses = HOLE " " HOLE2 " " HOLE3},
    {"holes-good.test", .addresses = HOLE " " HOLE2 " " HOLE3 " " GOOD},
    {"dead-good.test", .addresses = DEAD " " GOOD},
    {"dead-hole.test", .addresses = DEAD " " HOLE},
    {"hole-dead.test", .addresses = HOLE " " DEAD},
    {"dead-dead.test", .addresses = DEAD " " DEAD2},
    {"nowhere-good.test", .addresses = MULTICAST " ff02::1 " GOOD},
    {"six-good.test", .addresses = "::1 " GOOD},
    {"slow.test", .addresses = GOOD, .is_slow = true},
    {"nobody.test", .error = EAI_NONAME},
};

/* ---- hosts ---- */

static struct hf_address address_of(const char *host)
{
    struct hf_addresses found;

    ck_assert(hf_resolve_literal(host, places.port, &found));
    return found.list[0];
}

static int try_listen(const char *host, int backlog)
{
    struct hf_address a = address_of(host);
    int fd = socket(a.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&a.storage, a.len) == 0 &&
        listen(fd, backlog) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* The first takes a free port, and the others the same of theirs. */
static int open_place(const char *host, int backlog)
{
    int fd = try_listen(host, backlog);
    struct sockaddr_in in;
    socklen_t len = sizeof in;

    keep(fd);
    if (places.port == 0) {
        ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
        places.port = ntohs(in.sin_port);
    }
    return fd;
}

/* A backlog that is full drops what comes. Room for none is room for one. */
static int open_hole(const char *host)
{
    int fd = open_place(host, 0);
    struct hf_address a = address_of(host);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    keep(client);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&a.storage, a.len), 0);
    return fd;
}

static void open_places(void)
{
    (void)open_place(GOOD, BACKLOG);
    (void)open_hole(HOLE);
    (void)open_hole(HOLE2);
    (void)open_hole(HOLE3);
}

static bool has_ipv6(void)
{
    int fd = try_listen("::1", 1);

    if (fd >= 0)
        (void)close(fd);
    else
        (void)puts("skipped: no ::1 here");
    return fd >= 0;
}

/* ---- more of one who dials ---- */

static void stop(struct caller *c)
{
    hf_loop_lock(loop);
    hf_dial_stop(&c->dial);
    hf_loop_unlock(loop);
}

static void drive_for(int ms)
{
    int64_t until = hf_clock_ms() + ms;
    int64_t now;

    while ((now = hf_clock_ms()) < until)
        hf_loop_dispatch(loop, (int)(until - now));
}

/* Until so many have started, of which so many have not failed. */
static void drive_until_racing(struct caller *c, unsigned started,
                               unsigned running)
{
    const struct hf_race *race = &c->dial.race;
    int64_t until = hf_clock_ms() + LONG_MS;

    while ((race->started_count != started || race->running_count != running) &&
           hf_clock_ms() < until)
        hf_loop_dispatch(loop, 20);
    ck_assert_uint_eq(race->started_count, started);
    ck_assert_uint_eq(race->running_count, running);
}

static const char *peer_of(int fd)
{
    static char host[NI_MAXHOST];
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;

    ck_assert_int_eq(getpeername(fd, (struct sockaddr *)&peer, &len), 0);
    ck_assert_int_eq(getnameinfo((struct sockaddr *)&peer, len, host,
                                 sizeof host, NULL, 0, NI_NUMERICHOST), 0);
    return host;
}

/* ---- whom it reaches, and when ---- */

static const struct {
    const char *host;
    const char *peer;             /* NULL: none */
    const char *error;
    int least_ms;
} calls[] = {
    {GOOD, GOOD, NULL, 0},
    {"good.test", GOOD, NULL, 0},
    {"dead-good.test", GOOD, NULL, 0},
    {"nowhere-good.test", GOOD, NULL, 0},
    {"hole-good.test", GOOD, NULL, RACE_DELAY_MS},
    {"holes-good.test", GOOD, NULL, 3 * RACE_DELAY_MS},
    {DEAD, NULL, "cannot connect: Connection refused", 0},
    {MULTICAST, NULL, "cannot connect: Network is unreachable", 0},
    {"dead-dead.test", NULL,
     "cannot connect: " DEAD ": Connection refused; " DEAD2
     ": Connection refused", 0},
    {"nobody.test", NULL, "cannot resolve the name: Name or service not known",
     0},
};

START_TEST(first_that_is_connected_wins_and_the_others_are_closed)
{
    struct caller *c;
    int64_t start_ms;
    int before;

    open_places();
    open_loop(false);
    before = count_fds();
    c = new_caller(calls[_i].host);
    start_ms = hf_clock_ms();
    start(c);
    drive_until_done(c);
    ck_assert_int_eq(c->fd >= 0, calls[_i].peer != NULL);
    ck_assert_int_ge(c->done_ms - start_ms, calls[_i].least_ms);
    ck_assert_int_lt(c->done_ms - start_ms, calls[_i].least_ms + QUICK_MS);
    if (c->fd >= 0)
        ck_assert_str_eq(peer_of(c->fd), calls[_i].peer);
    else
        ck_assert_str_eq(c->error, calls[_i].error);
    await_fds(before + (c->fd >= 0));
    close_socket(c);
    free(c);
    close_loop();
}
END_TEST

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof value;

    ck_assert_int_eq(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

/* A peer that vanishes is noticed after 30 s, and not at the first sign of life
 * that is lost on the way. */
START_TEST(socket_is_as_a_lock_needs_it)
{
    struct caller *c;
    int idle, interval, count;

    open_places();
    open_loop(false);
    c = new_caller(GOOD);
    start(c);
    drive_until_done(c);
    ck_assert(fcntl(c->fd, F_GETFL) & O_NONBLOCK);
    ck_assert(fcntl(c->fd, F_GETFD) & FD_CLOEXEC);
    ck_assert_int_eq(option(c->fd, IPPROTO_TCP, TCP_NODELAY), 1);
    ck_assert_int_eq(option(c->fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    idle = option(c->fd, IPPROTO_TCP, TCP_KEEPIDLE);
    interval = option(c->fd, IPPROTO_TCP, TCP_KEEPINTVL);
    count = option(c->fd, IPPROTO_TCP, TCP_KEEPCNT);
    ck_assert_int_ge(count, 3);
    ck_assert_int_le(idle + count * interval, 30);
    ck_assert_int_eq(option(c->fd, IPPROTO_TCP, TCP_USER_TIMEOUT),
                     1000 * (idle + count * interval));
    close_socket(c);
    free(c);
    close_loop();
}
END_TEST

/* The connection that comes too late for its first packet: the kernel sends
 * another after a second. */
START_TEST(slow_one_wins_when_the_others_have_failed)
{
    struct caller *c;
    int hole;

    (void)open_place(GOOD, BACKLOG);
    hole = open_hole(HOLE);
    open_loop(false);
    c = new_caller("hole-dead.test");
    start(c);
    drive_for(RACE_DELAY_MS + 100);
    ck_assert_int_eq(c->calls, 0);
    (void)close(accept(hole, NULL, NULL));
    drive_until_done(c);
    ck_assert_str_eq(peer_of(c->fd), HOLE);
    close_socket(c);
    free(c);
    close_loop();
}
END_TEST

START_TEST(one_may_fail_late)
{
    struct caller *c;

    open_places();
    open_loop(false);
    c = new_caller(HOLE);
    start(c);
    drive_until_racing(c, 1, 1);
    (void)close(places.fds[1]);
    places.fds[1] = -1;
    drive_until_done(c);
    ck_assert_int_eq(c->fd, -1);
    ck_assert_str_eq(c->error, "cannot connect: Connection refused");
    free(c);
    close_loop();
}
END_TEST

/* ---- what is remembered ---- */

/* ::1 is the resolver's choice, and works from the second time on. Who has found
 * the other address good stays there; who has not, has tried both in vain. */
START_TEST(address_that_worked_is_first_the_next_time)
{
    struct caller *c;

    open_places();
    if (!has_ipv6())
        return;
    open_loop(false);
    c = new_caller("six-good.test");
    start(c);
    drive_until_done(c);
    ck_assert_str_eq(peer_of(c->fd), GOOD);
    close_socket(c);
    if (_i)
        hf_dial_worked(&c->dial);
    (void)open_place("::1", 1);
    start(c);
    drive_until_done(c);
    ck_assert_str_eq(peer_of(c->fd), _i ? GOOD : "::1");
    close_socket(c);
    free(c);
    close_loop();
}
END_TEST

START_TEST(short_timeout_is_shared_by_two_addresses)
{
    struct caller *c;

    open_places();
    open_loop(false);
    c = new_caller("hole-good.test");
    start(c);
    drive_until_racing(c, 1, 1);
    stop(c);
    start(c);
    drive_until_done(c);
    ck_assert_str_eq(peer_of(c->fd), GOOD);
    ck_assert_uint_eq(c->dial.race.started_count, 1);
    close_socket(c);
    free(c);
    close_loop();
}
END_TEST

START_TEST(done_may_dial_again)
{
    struct caller *c;
    int before;

    open_places();
    open_loop(false);
    before = count_fds();
    c = new_caller(DEAD);
    c->redials = true;
    start(c);
    drive_until_done(c);
    c->calls = 0;
    drive_until_done(c);
    ck_assert_str_eq(c->error, "cannot connect: Connection refused");
    await_fds(before);
    free(c);
    close_loop();
}
END_TEST

/* ---- the owner's deadline ---- */

static const struct {
    const char *host;
    unsigned started, running;    /* to be awaited */
    const char *error;
} deadlines[] = {
    {GOOD, 0, 0, "cannot connect in time"},
    {HOLE, 1, 1, "cannot connect in time"},
    {"holes.test", 3, 3, "cannot connect in time"},
    {"dead-hole.test", 2, 1,
     "cannot connect in time: " DEAD ": Connection refused"},
};

START_TEST(stopped_dial_leaves_nothing_and_reports_how_far_it_came)
{
    char text[HF_ERROR_TEXT_MAX];
    struct caller *c;
    int before;

    open_places();
    open_loop(false);
    before = count_fds();
    c = new_caller(deadlines[_i].host);
    stop(c);
    start(c);
    if (deadlines[_i].started > 0)
        drive_until_racing(c, deadlines[_i].started, deadlines[_i].running);
    ck_assert_str_eq(hf_dial_error(&c->dial, text, sizeof text),
                     deadlines[_i].error);
    stop(c);
    await_fds(before);
    ck_assert_int_eq(c->calls, 0);
    free(c);
    drive_for(50);
    close_loop();
}
END_TEST

/* Nobody can stop the resolver: its thread ends when it may. */
START_TEST(hanging_lookup_does_not_delay_others)
{
    char text[HF_ERROR_TEXT_MAX];
    struct caller *c, *other;
    int before;

    open_places();
    fds_note();
    open_loop(false);
    before = count_fds();
    c = new_caller("slow.test");
    other = new_caller("good.test");
    start(c);
    names_await_hanging(1);
    ck_assert_int_ge(fds_count(), 4); /* two pipes: each ends with an exec */
    start(other);
    drive_until_done(other);
    close_socket(other);
    ck_assert_str_eq(hf_dial_error(&c->dial, text, sizeof text),
                     "cannot resolve the name in time");
    stop(c);
    free(c);
    free(other);
    names_open();
    await_fds(before);
    close_loop();
}
END_TEST

START_TEST(text_that_is_too_long_is_cut)
{
    char text[24];
    struct caller *c;

    open_places();
    open_loop(false);
    c = new_caller(DEAD);
    start(c);
    drive_until_done(c);
    ck_assert_str_eq(hf_dial_error(&c->dial, text, sizeof text),
                     "cannot connect: Connect");
    free(c);
    close_loop();
}
END_TEST

/* ---- what runs out ---- */

static struct rlimit leave_no_descriptors(void)
{
    struct rlimit old, none;
    int fd = dup(0);              /* the lowest that is free */

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    (void)close(fd);
    none = old;
    none.rlim_cur = (rlim_t)fd;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    return old;
}

static const struct {
    const char *host;
    const char *error;
} without_descriptors[] = {
    {GOOD, "cannot connect: Too many open files"},
    {"good.test", "cannot resolve the name: Too many open files"},
};

START_TEST(without_descriptors_it_reports_it_and_recovers)
{
    struct rlimit old;
    struct caller *c;

    open_places();
    open_loop(false);
    c = new_caller(without_descriptors[_i].host);
    old = leave_no_descriptors();
    start(c);
    drive_until_done(c);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    ck_assert_str_eq(c->error, without_descriptors[_i].error);
    start(c);
    drive_until_done(c);
    ck_assert_str_eq(peer_of(c->fd), GOOD);
    close_socket(c);
    free(c);
    close_loop();
}
END_TEST

/* The second has no socket; the first goes on. */
START_TEST(last_descriptor_is_enough)
{
    char text[HF_ERROR_TEXT_MAX];
    struct rlimit old;
    struct caller *c;
    int hole, before;

    (void)open_place(GOOD, BACKLOG);
    hole = open_hole(HOLE);
    open_loop(false);
    before = count_fds();
    c = new_caller("hole-good.test");
    start(c);
    drive_until_racing(c, 1, 1);
    await_fds(before + 1);
    old = leave_no_descriptors();
    drive_until_racing(c, 2, 1);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    ck_assert_str_eq(hf_dial_error(&c->dial, text, sizeof text),
                     "cannot connect in time: " GOOD ": Too many open files");
    (void)close(accept(hole, NULL, NULL));
    drive_until_done(c);
    ck_assert_str_eq(peer_of(c->fd), HOLE);
    close_socket(c);
    free(c);
    close_loop();
}
END_TEST

static const char *const hosts_without_memory[] = {GOOD, "good.test",
                                                   "dead-good.test"};

/* True: an allocation failed. In a new loop, which has no room for a socket. */
static bool dial_without_memory(const char *host, unsigned n)
{
    struct caller *c;
    bool has_failed;

    open_loop(false);
    memory_fail_at(&memory, n);
    c = new_caller(host);
    start(c);
    drive_until_done(c);
    has_failed = memory_has_failed(&memory);
    if (c->fd >= 0)
        ck_assert_str_eq(peer_of(c->fd), GOOD);
    else
        ck_assert(has_failed && strstr(c->error, ": out of memory"));
    ck_assert_ptr_eq(loop->watched[loop->wake_io.index].io, &loop->wake_io);
    close_socket(c);
    free(c);
    close_loop();
    return has_failed;
}

START_TEST(any_allocation_may_fail)
{
    int before;
    unsigned n = 1;

    open_places();
    before = count_fds();
    while (dial_without_memory(hosts_without_memory[_i], n)) {
        n++;
        await_fds(before);
    }
    ck_assert_uint_gt(n, 1);
}
END_TEST

/* ---- threads ---- */

#define CALLERS 24

/* By the loop's own thread, while ours starts them all. */
START_TEST(many_dial_at_once)
{
    static const char *const hosts[] = {GOOD, "dead-good.test",
                                        "hole-good.test", "dead-dead.test"};
    struct caller *callers[CALLERS];
    int before;

    open_places();
    open_loop(true);
    before = count_fds();
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = new_caller(hosts[i % 4]);
        start(callers[i]);
    }
    for (int i = 0; i < CALLERS; i++) {
        hf_loop_lock(loop);
        hf_loop_wait(&callers[i]->waiter);
        ck_assert_int_eq(callers[i]->calls, 1);
        ck_assert_int_eq(callers[i]->fd >= 0, i % 4 < 3);
        close_socket(callers[i]);
    }
    hf_loop_lock(loop);
    hf_loop_quiesce(loop);
    for (int i = 0; i < CALLERS; i++)
        free(callers[i]);
    hf_loop_resume(loop);
    hf_loop_unlock(loop);
    await_fds(before);
    close_loop();
}
END_TEST

static TCase *case_tcp(void)
{
    TCase *c = tcase_create("TCP");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c,
                        first_that_is_connected_wins_and_the_others_are_closed,
                        0, ROWS(calls));
    tcase_add_test(c, socket_is_as_a_lock_needs_it);
    tcase_add_test(c, slow_one_wins_when_the_others_have_failed);
    tcase_add_test(c, one_may_fail_late);
    tcase_add_loop_test(c, address_that_worked_is_first_the_next_time, 0, 2);
    tcase_add_test(c, short_timeout_is_shared_by_two_addresses);
    tcase_add_test(c, done_may_dial_again);
    tcase_add_test(c, many_dial_at_once);
    return c;
}

static TCase *case_ends(void)
{
    TCase *c = tcase_create("deadlines and limits");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, stopped_dial_leaves_nothing_and_reports_how_far_it_came,
                        0, ROWS(deadlines));
    tcase_add_test(c, hanging_lookup_does_not_delay_others);
    tcase_add_test(c, text_that_is_too_long_is_cut);
    tcase_add_loop_test(c, without_descriptors_it_reports_it_and_recovers, 0,
                        ROWS(without_descriptors));
    tcase_add_test(c, last_descriptor_is_enough);
    tcase_add_loop_test(c, any_allocation_may_fail, 0,
                        ROWS(hosts_without_memory));
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/dial");

    names_are(names, sizeof names / sizeof *names);
    suite_add_tcase(s, case_tcp());
    suite_add_tcase(s, case_ends());
    return suite_run(s);
}
