/* Waiting for room on a full link, against scripted peers: who waits is served
 * in the order in which he came, and is told if he never will be. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/link/link.h"
#include "net/net.h"
#include "tests/support/dice.h"
#include "tests/support/local.h"
#include "tests/support/memory.h"
#include "tests/support/peer.h"
#include "tests/support/promise.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/suite.h"

#define LONG_MS 10000
#define WAITERS 8
#define SMALL 40              /* bytes of a command; more than its frame */
#define OUTPUT_MAX 200

static struct memory memory;
static struct hf_loop *loop;
static struct hf_link *link_;
static struct hf_link_options options;

static char trace[200];       /* under the lock: who was told what */

/* Somebody who asks "ECHO x ---...", with his letter, of so many bytes. */
struct asker {
    char letter;
    size_t bytes;             /* of the whole command */
    struct hf_space_waiter room;
    struct hf_request request;
    int deadline_ms;          /* of the request, from when it is taken; 0: none */
    struct asker *drops;      /* whom he makes give up when he is told */
};

static struct asker askers[WAITERS];

static void tell(const char *format, char letter)
{
    size_t len = strlen(trace);

    (void)snprintf(trace + len, sizeof trace - len, format, letter);
}

static void on_done(struct hf_request *request, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    struct asker *a = HF_OWNER_OF(request, struct asker, request);

    (void)reply;
    tell(outcome == HF_ANSWERED ? " %c=" : outcome == HF_UNSENT ? " %c!"
                                                                : " %c?",
         a->letter);
}

static hf_status submit(struct asker *a)
{
    char padding[OUTPUT_MAX];
    struct hf_resp_arg argv[3] = {{"ECHO", 4}, {&a->letter, 1}, {padding, 0}};

    (void)memset(padding, '-', sizeof padding);
    while (hf_resp_command_size(argv, 3) < a->bytes)
        argv[2].len++;
    a->request.done = on_done;
    return hf_link_submit(link_, &a->request, argv, 3,
                          a->deadline_ms ? hf_loop_now(loop) + a->deadline_ms
                                         : HF_NEVER);
}

static void on_room(struct hf_space_waiter *room, hf_status status)
{
    struct asker *a = HF_OWNER_OF(room, struct asker, room);

    if (status < 0) {
        tell(status == HF_E_CLOSED ? " %c closed" : " %c refused", a->letter);
        return;
    }
    tell(" %c", a->letter);
    if (a->drops)
        hf_link_stop_awaiting_space(&a->drops->room);
    ck_assert_int_eq(submit(a), HF_OK);
}

static struct asker *asker(int i, size_t bytes)
{
    struct asker *a = &askers[i];

    memset(a, 0, sizeof *a);
    a->letter = (char)('a' + i);
    a->bytes = bytes;
    a->room.on_ready = on_room;
    hf_list_init(&a->room.node);
    return a;
}

static struct asker *taken(int i, size_t bytes)
{
    struct asker *a = asker(i, bytes);

    ck_assert_int_eq(submit(a), HF_OK);
    return a;
}

static struct asker *waiting(int i, size_t bytes)
{
    struct asker *a = asker(i, bytes);

    ck_assert_int_eq(hf_link_await_space(link_, &a->room, bytes), HF_OK);
    return a;
}

/* The lock is held until it is driven. */
static void open_link(int port)
{
    struct hf_loop_options of_loop = {.size = sizeof of_loop, .mem = &memory.hook};

    memory_init(&memory);
    trace[0] = '\0';
    hf_link_options_init(&options);
    options.url = (struct hf_url){
        .kind = HF_URL_TCP, .host = "127.0.0.1", .port = (uint16_t)port};
    options.backoff_min_ms = 1;
    options.backoff_max_ms = 20;
    options.output_max = OUTPUT_MAX;
    ck_assert_int_eq(hf_loop_new(&loop, &of_loop), HF_OK);
    hf_loop_lock(loop);
    ck_assert_int_eq(hf_link_new(&link_, loop, &options), HF_OK);
}

static void free_link(void)
{
    hf_loop_quiesce(loop);
    hf_link_free(link_);
    hf_loop_resume(loop);
    hf_loop_unlock(loop);
    hf_loop_free(loop);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

/* Until the trace is as expected; locked before and after. */
static void drive_until_trace(const char *expected)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (strcmp(trace, expected) != 0 && local_now_ms() < end_ms) {
        hf_loop_unlock(loop);
        hf_loop_dispatch(loop, 5);
        hf_loop_lock(loop);
    }
    ck_assert_str_eq(trace, expected);
}

static void end_with_peer(struct peer *peer)
{
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    free_link();
    peer_free(peer);
}

/* ---- order ---- */

#define ANSWER(letters) \
    PEER_EXPECT("ECHO " letters " ..."), PEER_SEND("+ok\r\n")

/* Both answers in one write, so that they come in one read. */
#define ANSWER_BOTH(a, b)                                                     \
    PEER_EXPECT("ECHO " a " ..."), PEER_EXPECT("ECHO " b " ..."),             \
        PEER_SEND("+ok\r\n+ok\r\n")

static const struct peer_step in_order[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, ANSWER_BOTH("a", "b"), ANSWER_BOTH("c", "d"),
    ANSWER_BOTH("e", "f"), PEER_END};

/* The same link, bounded by a number of requests. */
static void bound_requests(int max)
{
    hf_loop_quiesce(loop);
    hf_link_free(link_);
    options.output_max = 64u << 20;
    options.requests_max = (uint32_t)max;
    ck_assert_int_eq(hf_link_new(&link_, loop, &options), HF_OK);
    hf_loop_resume(loop);
}

/* LINK-5: By number, two at a time. */
START_TEST(space_is_assigned_in_order)
{
    struct peer *peer = peer_start(in_order);

    open_link(peer_port(peer));
    bound_requests(2);
    (void)taken(0, SMALL);
    (void)taken(1, SMALL);
    ck_assert(!hf_link_has_space_waiters(link_));
    for (int i = 2; i < 6; i++)
        (void)waiting(i, SMALL);
    ck_assert(hf_link_has_space_waiters(link_));
    ck_assert_int_eq(submit(asker(7, SMALL)), HF_E_LIMIT);
    drive_until_trace(" a= b= c d c= d= e f e= f=");
    ck_assert(!hf_link_has_space_waiters(link_));
    end_with_peer(peer);
}
END_TEST

/* In bytes. The small ones would fit at once, but one who needs much would then
 * wait for ever. */
START_TEST(great_one_is_not_passed_by_small_ones)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_WAIT, PEER_HANDSHAKE, ANSWER("a"), ANSWER("b"),
        ANSWER("c"), ANSWER("d"), PEER_END};
    struct peer *peer = peer_start(script);
    struct hf_link_stats stats;

    open_link(peer_port(peer));
    (void)taken(0, OUTPUT_MAX - SMALL);
    (void)waiting(1, OUTPUT_MAX);
    (void)waiting(2, SMALL);
    (void)waiting(3, SMALL);
    hf_loop_unlock(loop);
    hf_loop_dispatch(loop, 5);
    hf_loop_lock(loop);
    ck_assert_str_eq(trace, "");
    hf_link_get_stats(link_, &stats);
    ck_assert_uint_eq(stats.queued, 1);
    peer_go(peer);
    drive_until_trace(" b c d a= b= c= d=");
    end_with_peer(peer);
}
END_TEST

START_TEST(urgent_ones_go_first_and_in_their_order)
{
    struct peer *peer;
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, ANSWER("a"), ANSWER("d"), ANSWER("e"),
        ANSWER("b"), ANSWER("c"), PEER_END};

    peer = peer_start(script);
    open_link(peer_port(peer));
    bound_requests(1);
    (void)taken(0, SMALL);
    (void)waiting(1, SMALL);
    (void)waiting(2, SMALL);
    for (int i = 3; i < 5; i++) {
        struct asker *a = asker(i, SMALL);

        a->room.is_urgent = true;
        ck_assert_int_eq(hf_link_await_space(link_, &a->room, a->bytes), HF_OK);
    }
    drive_until_trace(" a= d d= e e= b b= c c=");
    end_with_peer(peer);
}
END_TEST

/* ---- giving up ---- */

START_TEST(waiter_that_leaves_is_not_notified_and_delays_no_other)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_WAIT, PEER_HANDSHAKE, ANSWER("a"), ANSWER("c"),
        PEER_END};
    struct peer *peer = peer_start(script);
    struct asker *great;

    open_link(peer_port(peer));
    (void)taken(0, OUTPUT_MAX - SMALL);
    great = waiting(1, OUTPUT_MAX);
    (void)waiting(2, SMALL);
    hf_link_stop_awaiting_space(&great->room);
    hf_link_stop_awaiting_space(&great->room); /* once more does nothing */
    drive_until_trace(" c");
    peer_go(peer);
    drive_until_trace(" c a= c=");
    end_with_peer(peer);
}
END_TEST

/* Nothing else happens that could make the link look who is next: the lock is
 * given up and taken again. */
START_TEST(waiter_that_leaves_makes_the_next_one_the_first)
{
    struct asker *great;

    open_link(local_dead_port());
    (void)taken(0, OUTPUT_MAX - SMALL);
    great = waiting(1, OUTPUT_MAX);
    (void)waiting(2, SMALL);
    hf_loop_unlock(loop);
    hf_loop_lock(loop);
    ck_assert_str_eq(trace, "");
    hf_link_stop_awaiting_space(&great->room);
    ck_assert_str_eq(trace, ""); /* not from within the call */
    hf_loop_unlock(loop);
    hf_loop_lock(loop);
    ck_assert_str_eq(trace, " c");
    free_link();
}
END_TEST

/* One who is told may take another's wish back: the next one's, or the last's. */
START_TEST(notified_waiter_may_remove_others)
{
    open_link(local_dead_port());
    bound_requests(4);
    taken(0, SMALL)->deadline_ms = 0;
    (void)waiting(1, SMALL);
    (void)waiting(2, SMALL);
    (void)waiting(3, SMALL);
    askers[1].drops = &askers[2];
    drive_until_trace(" b d");
    trace[0] = '\0';
    free_link();
    ck_assert_str_eq(trace, " a! b! d!");
}
END_TEST

/* ---- room comes by itself ---- */

/* Nobody listens: the requests in the queue are given up at their deadline. */
START_TEST(deadline_of_another_makes_room)
{
    struct asker *a;

    open_link(local_dead_port());
    a = asker(0, OUTPUT_MAX);
    a->deadline_ms = 20;
    ck_assert_int_eq(submit(a), HF_OK);
    waiting(1, SMALL)->deadline_ms = 20;
    drive_until_trace(" a! b b!");
    free_link();
}
END_TEST

START_TEST(cancelled_request_makes_room)
{
    struct asker *a;

    open_link(local_dead_port());
    a = taken(0, OUTPUT_MAX);
    (void)waiting(1, SMALL);
    ck_assert_int_eq(hf_link_cancel(&a->request), HF_UNSENT);
    drive_until_trace(" b");
    free_link();
}
END_TEST

START_TEST(lost_connection_makes_room)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a ..."), PEER_CLOSE,
        PEER_ACCEPT, PEER_HANDSHAKE, ANSWER("b"), PEER_END};
    struct peer *peer = peer_start(script);

    open_link(peer_port(peer));
    bound_requests(1);
    (void)taken(0, SMALL);
    (void)waiting(1, SMALL);
    drive_until_trace(" a? b b=");
    end_with_peer(peer);
}
END_TEST

/* ---- never ---- */

START_TEST(too_large_for_the_link_is_refused_at_once)
{
    struct asker *a;

    open_link(local_dead_port());
    a = asker(0, OUTPUT_MAX + 1);
    ck_assert_int_eq(hf_link_await_space(link_, &a->room, OUTPUT_MAX + 1),
                     HF_E_LIMIT);
    ck_assert(!hf_link_has_space_waiters(link_));
    (void)waiting(1, OUTPUT_MAX);
    drive_until_trace(" b");
    free_link();
}
END_TEST

START_TEST(freed_link_ends_all_waiters)
{
    open_link(local_dead_port());
    (void)taken(0, OUTPUT_MAX);
    (void)waiting(1, SMALL);
    (void)waiting(2, SMALL);
    free_link();
    ck_assert_str_eq(trace, " a! b closed c closed");
}
END_TEST

START_TEST(refused_link_ends_all_waiters)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_SEND("HTTP/1.1 400 Bad Request\r\n"), PEER_END};
    struct peer *peer = peer_start(script);

    open_link(peer_port(peer));
    (void)taken(0, OUTPUT_MAX);
    (void)waiting(1, SMALL);
    (void)waiting(2, SMALL);
    drive_until_trace(" a! b refused c refused");
    ck_assert(hf_link_is_refused(link_));
    end_with_peer(peer);
}
END_TEST

/* ---- any life ---- */

#define CROWD 100
#define STEPS 60000
#define CHAOS_SEED 20261121u

/* Each asks again and again: at once if he can, else when he is told; some are
 * cancelled, some have deadlines, and the connection is cut now and then. */
struct person {
    struct hf_space_waiter room;
    struct hf_request request;
    enum { RESTS, WAITS, ASKS } state;
    bool is_urgent;
    size_t len;
    uint64_t ticket;          /* of those that wait: who came first */
};

static struct person crowd[CROWD];
static uint64_t tickets, served, told;

static void person_done(struct hf_request *request, enum hf_outcome outcome,
                        struct hf_resp_value reply)
{
    struct person *p = HF_OWNER_OF(request, struct person, request);

    (void)reply;
    ck_must(p->state == ASKS, "who is answered has asked");
    p->state = RESTS;
    told += outcome == HF_ANSWERED;
}

static size_t person_command(const struct person *p,
                             struct hf_resp_arg argv[2])
{
    static const char padding[OUTPUT_MAX];

    argv[0] = (struct hf_resp_arg){"ECHO", 4};
    argv[1] = (struct hf_resp_arg){padding, p->len};
    return hf_resp_command_size(argv, 2);
}

static hf_status person_submit(struct person *p)
{
    struct hf_resp_arg argv[2];
    hf_status rc;

    (void)person_command(p, argv);
    p->request.done = person_done;
    rc = hf_link_submit(link_, &p->request, argv, 2,
                        dice(4) ? HF_NEVER : hf_loop_now(loop) + (int)dice(20));
    if (rc == HF_OK)
        p->state = ASKS;
    return rc;
}

static void person_ready(struct hf_space_waiter *room, hf_status status)
{
    struct person *p = HF_OWNER_OF(room, struct person, room);

    ck_must(p->state == WAITS, "who is told has waited");
    p->state = RESTS;
    if (status == HF_E_CLOSED)
        return;
    ck_must(status == HF_OK, "this link is not refused");
    ck_must(p->is_urgent || p->ticket >= served, "first come, first served");
    if (!p->is_urgent)
        served = p->ticket;
    if (dice(10)) /* some do not want it any more */
        ck_must(person_submit(p) == HF_OK, "there is room for who is told so");
}

static void person_acts(struct person *p)
{
    struct hf_resp_arg argv[2];

    if (p->state == WAITS && dice(10) == 0) {
        hf_link_stop_awaiting_space(&p->room);
        p->state = RESTS;
    } else if (p->state == ASKS && dice(10) == 0) {
        (void)hf_link_cancel(&p->request);
        p->state = RESTS;
    } else if (p->state == RESTS) {
        p->len = dice(OUTPUT_MAX / 2);
        p->is_urgent = dice(10) == 0;
        if (!hf_link_has_space_waiters(link_) && person_submit(p) == HF_OK)
            return;
        p->room.on_ready = person_ready;
        p->room.is_urgent = p->is_urgent;
        p->ticket = ++tickets;
        p->state = WAITS;
        ck_must(hf_link_await_space(link_, &p->room, person_command(p, argv)) ==
                    HF_OK,
                "each may wait");
    }
}

static bool all_rest(void)
{
    for (int i = 0; i < CROWD; i++)
        if (crowd[i].state != RESTS)
            return false;
    return true;
}

/* A server that hangs up on every handshake, and has never done else, is refused:
 * not what is meant here. */
static bool was_connected(void)
{
    struct hf_link_stats stats;

    hf_link_get_stats(link_, &stats);
    return stats.connects > 0;
}

/* LINK-5: In the end each has had his turn: nobody is forgotten in the line. */
START_TEST(no_waiter_remains_in_random_orders)
{
    struct server *server = server_start(NULL);
    struct proxy *proxy = proxy_start(server_port(server));
    int64_t end_ms;

    dice_seed = CHAOS_SEED + (unsigned)_i;
    open_link(proxy_port(proxy));
    if (_i)
        bound_requests(4);
    for (int i = 0; i < CROWD; i++)
        hf_list_init(&crowd[i].room.node);
    for (int i = 0; i < STEPS; i++) {
        person_acts(&crowd[dice(CROWD)]);
        if (dice(10) == 0) {
            bool is_cut = was_connected() && dice(300) == 0;

            hf_loop_unlock(loop);
            hf_loop_dispatch(loop, dice(4) ? 0 : 1);
            if (is_cut)
                proxy_cut(proxy, dice(2) ? PROXY_RESET : PROXY_CLOSE);
            hf_loop_lock(loop);
        }
    }
    end_ms = local_now_ms() + LONG_MS;
    while (!all_rest()) {
        ck_must(local_now_ms() < end_ms, "everybody has his turn");
        hf_loop_unlock(loop);
        hf_loop_dispatch(loop, 5);
        hf_loop_lock(loop);
    }
    (void)printf("%llu waited, %llu answers\n", (unsigned long long)tickets,
                 (unsigned long long)told);
    ck_assert_uint_gt(tickets, 1000);
    ck_assert_uint_gt(told, 200);
    free_link();
    proxy_stop(proxy);
    server_stop(server);
}
END_TEST

/* ---- */

int main(void)
{
    Suite *s = suite_create("net, room");
    TCase *c = tcase_create("room");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, space_is_assigned_in_order);
    tcase_add_test(c, great_one_is_not_passed_by_small_ones);
    tcase_add_test(c, urgent_ones_go_first_and_in_their_order);
    tcase_add_test(c, waiter_that_leaves_is_not_notified_and_delays_no_other);
    tcase_add_test(c, waiter_that_leaves_makes_the_next_one_the_first);
    tcase_add_test(c, notified_waiter_may_remove_others);
    tcase_add_test(c, deadline_of_another_makes_room);
    tcase_add_test(c, cancelled_request_makes_room);
    tcase_add_test(c, lost_connection_makes_room);
    tcase_add_test(c, too_large_for_the_link_is_refused_at_once);
    tcase_add_test(c, freed_link_ends_all_waiters);
    tcase_add_test(c, refused_link_ends_all_waiters);
    if (server_is_installed())
        tcase_add_loop_test(c, no_waiter_remains_in_random_orders, 0, 2);
    else
        (void)printf("skipped: nobody_is_left_waiting.. (no server)\n");
    suite_add_tcase(s, c);
    return suite_run(s);
}
