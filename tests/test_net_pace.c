/* A link does not wear anybody out: how soon it asks a server again that only
 * hangs up, and how much it reads in one turn of one that never stops. The
 * clock stands still unless the test moves it, servers are moved by the test,
 * and a peer that never stops is made up.
 *
 * The linker puts the wrappers below in place of what the library calls
 * (Makefile: --wrap). Rule LINK-4 of net/link/link.c. */
#include <check.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "net/link/link.h"
#include "net/net.h"
#include "tests/support/executor.h"
#include "tests/support/memory.h"
#include "tests/support/suite.h"

/* ---- what the library is told ---- */

static int64_t now_ms;
static int connects;          /* attempts */
static bool is_library;       /* it is the library that calls */

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    if (id != CLOCK_BOOTTIME) /* libcheck's */
        return __real_clock_gettime(id, t);
    t->tv_sec = (time_t)(now_ms / 1000);
    t->tv_nsec = (long)(now_ms % 1000) * 1000000;
    return 0;
}

int __real_connect(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
    connects++;
    return __real_connect(fd, address, len);
}

#define PUSH ">2\r\n+more\r\n+and more\r\n"
#define PUSH_LEN (sizeof PUSH - 1)
#define FLOOD_READS_MAX 64    /* a turn; net/link/link.c */

static struct {
    int fd;                   /* where it never ends; -1: nowhere */
    unsigned reads;           /* in this turn */
    size_t len;               /* bytes so far */
    int last_fd;              /* that the library has read */
} flood = {.fd = -1};

static ssize_t pour(char *dst, size_t room)
{
    if (++flood.reads > FLOOD_READS_MAX)
        ck_abort_msg("one connection has read %u times in a turn",
                     flood.reads);
    for (size_t i = 0; i < room; i++)
        dst[i] = PUSH[flood.len++ % PUSH_LEN];
    return (ssize_t)room;
}

ssize_t __real_recv(int fd, void *ptr, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *ptr, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *ptr, size_t len, int flags)
{
    if (is_library)
        flood.last_fd = fd;
    return fd == flood.fd ? pour(ptr, len) : __real_recv(fd, ptr, len, flags);
}

/* ---- links and servers ---- */

#define MIN_MS 10
#define MAX_MS 1000

enum row { OK, MUTE };

static const struct executor_row replies[] = {
    [OK] = EXECUTOR_ROW("+OK\r\n"), [MUTE] = EXECUTOR_ROW("")};

struct pair {
    struct executor server;
    struct hf_link *link;
    struct hf_request request;
    bool is_asked;
    enum hf_outcome outcome;      /* of the last one */
};

static struct memory memory;
static struct hf_loop *loop;
static struct pair first, second;

static void open_loop(void)
{
    struct hf_loop_options of_loop = {.size = sizeof of_loop, .mem = &memory.hook};

    now_ms = 1000000;
    connects = 0;
    memory_init(&memory);
    ck_assert_int_eq(hf_loop_new(&loop, &of_loop), HF_OK);
}

static void open_pair(struct pair *p)
{
    struct hf_link_options o;

    ck_assert(executor_open(&p->server, replies, ROWS(replies)));
    hf_link_options_init(&o);
    o.url = (struct hf_url){.kind = HF_URL_TCP, .host = "127.0.0.1"};
    o.url.port = (uint16_t)p->server.port;
    o.backoff_min_ms = MIN_MS;
    o.backoff_max_ms = MAX_MS;
    hf_loop_lock(loop);
    ck_assert_int_eq(hf_link_new(&p->link, loop, &o), HF_OK);
    hf_link_want(p->link, true);
    hf_loop_unlock(loop);
}

static void close_pair(struct pair *p)
{
    hf_loop_lock(loop);
    hf_link_free(p->link);
    hf_loop_unlock(loop);
    p->link = NULL;
    executor_close(&p->server);
}

static void close_loop(void)
{
    hf_loop_free(loop);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

static void serve(struct pair *p)
{
    if (p->link && !executor_turn(&p->server)) /* ck_assert is slow */
        ck_abort_msg("the server was asked what nobody asks");
}

static void turn(void)
{
    flood.reads = 0;
    is_library = true;
    hf_loop_dispatch(loop, 0);
    is_library = false;
    serve(&first);
    serve(&second);
}

static void on_done(struct hf_request *request, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    struct pair *p = HF_OWNER_OF(request, struct pair, request);

    (void)reply;
    p->is_asked = false;
    p->outcome = outcome;
}

static void ask(struct pair *p, enum row row)
{
    const struct hf_resp_arg argv[] = {{"DO", 2}, {row == OK ? "0" : "1", 1}};
    hf_status rc;

    p->is_asked = true;
    p->request.done = on_done;
    hf_loop_lock(loop);
    rc = hf_link_submit(p->link, &p->request, argv, 2, HF_NEVER);
    hf_loop_unlock(loop);
    ck_assert_int_eq(rc, HF_OK);
}

static void await_answer(struct pair *p)
{
    ask(p, OK);
    while (p->is_asked)
        turn();
    ck_assert_int_eq(p->outcome, HF_ANSWERED);
}

static struct hf_link_stats stats_of(const struct pair *p)
{
    struct hf_link_stats stats;

    hf_loop_lock(loop);
    hf_link_get_stats(p->link, &stats);
    hf_loop_unlock(loop);
    return stats;
}

static bool is_up(const struct pair *p)
{
    bool it_is;

    hf_loop_lock(loop);
    it_is = hf_link_is_up(p->link);
    hf_loop_unlock(loop);
    return it_is;
}

/* ---- a server that hangs up ---- */

enum { ROUNDS = 12 };         /* MIN_MS doubles seven times to be MAX_MS */

enum when { ACCEPTED, SPOKEN_TO, HANDSHAKE_DONE, ASKED, ANSWERED };

/* All that is no answer. An end in the handshake with nothing answered has one more handshake
 * in the same attempt, with PING first (LINK-6). */
static const struct {
    enum when when;
    bool is_reset;
    bool has_second;            /* another handshake follows at once */
} ends[] = {
    {ACCEPTED, false, true},
    {ACCEPTED, true, false},    /* the attempt ends before the handshake */
    {SPOKEN_TO, false, true},
    {SPOKEN_TO, true, true},
    {HANDSHAKE_DONE, false, false},
    {HANDSHAKE_DONE, true, false},
    {ASKED, false, false},
    {ASKED, true, false},
};

/* Of the connection to come. */
static void plan(enum when when, bool is_reset)
{
    struct executor_plan *next = &first.server.next;

    *next = executor_plan_none();
    next->is_reset = is_reset;
    if (when == ACCEPTED || when == SPOKEN_TO)
        next->in_max = when == SPOKEN_TO ? 1 : 0; /* of its bytes */
}

static uint64_t count_ends(void)
{
    struct hf_link_stats stats = stats_of(&first);

    return stats.losses + stats.failures;
}

static void await_question(void)
{
    unsigned before = first.server.executed[MUTE];

    ask(&first, MUTE);
    while (first.server.executed[MUTE] == before)
        turn();
}

/* Until the connection that is being made has been lost. No time passes. */
static void lose(enum when when)
{
    uint64_t before = count_ends();

    while (when >= HANDSHAKE_DONE && !is_up(&first))
        turn();
    if (when == ASKED)
        await_question();
    if (when == ANSWERED)
        await_answer(&first);
    if (when >= HANDSHAKE_DONE)
        executor_end(&first.server);
    while (count_ends() == before)
        turn();
}

/* Lets time pass until there is the next attempt: how much? */
static int64_t rest_ms(void)
{
    int before = connects;
    int64_t start_ms = now_ms;

    for (; connects == before; now_ms++) {
        ck_assert_int_le(now_ms - start_ms, 2 * MAX_MS);
        turn();
    }
    return now_ms - start_ms;
}

/* Behind the n-th end without an answer; at most a half is taken off. */
static void check_rest(int64_t ms, int n)
{
    int64_t full_ms = (int64_t)MIN_MS << n;

    if (full_ms > MAX_MS)
        full_ms = MAX_MS;
    ck_assert_int_ge(ms, full_ms / 2);
    ck_assert_int_le(ms, full_ms + 2); /* an attempt begins in two turns */
}

/* Behind an end after which the attempt goes on. */
static void check_no_rest(int64_t ms)
{
    ck_assert_int_le(ms, 2);
}

/* A connection that is accepted, or whose handshake succeeds, does not shorten the pauses.
 * The second handshake comes once, and not again with each attempt. */
START_TEST(server_that_only_closes_connections_is_tried_less_often)
{
    open_loop();
    open_pair(&first);
    plan(ends[_i].when, ends[_i].is_reset);
    (void)rest_ms();
    if (ends[_i].has_second) {
        lose(ends[_i].when);
        plan(ends[_i].when, ends[_i].is_reset);
        check_no_rest(rest_ms());
    }
    for (int n = 0; n < ROUNDS; n++) {
        lose(ends[_i].when);
        plan(ends[_i].when, ends[_i].is_reset);
        check_rest(rest_ms(), n);
    }
    close_pair(&first);
    close_loop();
}
END_TEST

/* An answer is one: it begins anew. */
START_TEST(server_that_has_answered_is_tried_soon)
{
    open_loop();
    open_pair(&first);
    (void)rest_ms();
    for (int i = 0; i < ROUNDS; i++) {
        lose(HANDSHAKE_DONE);
        (void)rest_ms();
    }
    lose(ANSWERED);
    check_rest(rest_ms(), 0);
    lose(HANDSHAKE_DONE);
    check_rest(rest_ms(), 1);
    close_pair(&first);
    close_loop();
}
END_TEST

/* ---- a server that never stops ---- */

#define ANSWERS 50

static int fired;

static void on_timer(struct hf_timer *timer)
{
    (void)timer;
    fired++;
}

static void arm(struct hf_timer *timer)
{
    timer->fire = on_timer;
    hf_loop_lock(loop);
    hf_loop_arm(loop, timer, now_ms + 1);
    hf_loop_unlock(loop);
}

/* More than a turn can read is there to be read in each turn. What it says is
 * heard; a timer fires at its time, and the other link has its answers. */
START_TEST(flood_over_one_connection_does_not_delay_others)
{
    struct hf_timer timer = {0};
    int answers = 0;

    open_loop();
    open_pair(&first);
    await_answer(&first);
    flood.fd = flood.last_fd;
    open_pair(&second);
    await_answer(&second);
    ask(&first, OK); /* so that there is something to read, and stays so */
    for (int i = 1; answers < ANSWERS; i++) {
        arm(&timer);
        now_ms++;
        if (!second.is_asked)
            ask(&second, OK);
        turn();
        answers += !second.is_asked;
        ck_assert_int_eq(fired, i);
    }
    ck_assert_uint_gt(flood.len, 0);
    ck_assert_uint_eq(stats_of(&first).pushes, flood.len / PUSH_LEN);
    close_pair(&first);
    close_pair(&second);
    close_loop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net, pace");
    TCase *c = tcase_create("pace");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, server_that_only_closes_connections_is_tried_less_often, 0,
                        ROWS(ends));
    tcase_add_test(c, server_that_has_answered_is_tried_soon);
    tcase_add_test(c, flood_over_one_connection_does_not_delay_others);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
