/* The fair lock: its waiters are granted in the order in which the server heard
 * of them. WIRE 11. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/route/slot.h"
#include "tests/live/test_acl.h"
#include "tests/live/test_lock_ways.h"
#include "tests/support/cluster.h"
#include "tests/support/lateness.h"
#include "tests/support/one_server.h"

#define QUEUE "redisson_lock_queue:{order:42}"
#define ANOTHER "01234567-89ab-cdef-0123-456789abcdef:1"
#define PLACES "redisson_lock_timeout:{order:42}"

static struct hf_client *client;
static struct hf_lock *lock;

static struct hf_lock *fair(struct hf_client *of, const char *name)
{
    struct hf_lock *new = NULL;

    ck_assert_ok(
        hf_lock_new_kind(&new, of, HF_KIND_FAIR, name, strlen(name), NULL));
    return new;
}

static void start(void)
{
    start_server();
    client = client_to(server_port(server));
    lock = fair(client, NAME);
}

static void stop(void)
{
    hf_client_free(client);
    stop_server();
}

static long long server_now_ms(void)
{
    long long s = 0, us = 0;

    ck_assert_int_eq(sscanf(server_ask(server, "TIME"), "%lld %lld", &s, &us),
                     2);
    return s * 1000 + us / 1000;
}

/* Until when the place at `index` is honoured. */
static long long place(int index)
{
    const char *answer =
        server_ask(server, "ZRANGE " PLACES " %d %d WITHSCORES", index, index);

    ck_assert_ptr_nonnull(strchr(answer, ' '));
    return atoll(strchr(answer, ' '));
}

/* How many waiters listen, each on its channel. */
static void await_listeners(int count)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;
    int found;

    do {
        const char *at = server_ask(server, "PUBSUB CHANNELS " CHANNEL ":*");

        found = 0;
        while ((at = strstr(at, CHANNEL))) {
            found++;
            at++;
        }
    } while (found != count && local_now_ms() < deadline_ms);
    ck_assert_int_eq(found, count);
}

static void await_queue(int length)
{
    char expected[20];

    (void)snprintf(expected, sizeof expected, "%d", length);
    server_await(server, LONG_MS, expected, "LLEN " QUEUE);
    server_await(server, LONG_MS, expected, "ZCARD " PLACES);
}

static void ck_assert_no_trace(void)
{
    await_queue(0);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}

/* Stands in the queue, behind all who came before, on return. */
static void queue_up(struct call *call, struct hf_lock *on, int64_t owner,
                     int64_t wait_ms)
{
    struct hf_acquire_options o = acquire_options(owner);
    int before = (int)server_ask_int(server, "LLEN " QUEUE);

    o.wait_ms = wait_ms;
    call_acquire(call, on, &o);
    await_queue(before + 1);
}

/* ---- alone ---- */

START_TEST(alone_it_is_as_a_plain_one)
{
    struct hf_client_options o;
    struct hf_lock_info info;
    char url[SERVER_URL_MAX];

    way_options(&o, url, server_port(server), &ways[_i]);
    hf_client_free(client);
    client = client_with(&o);
    lock = fair(client, NAME);
    acquire(lock, 1);
    ck_assert_holder(server, lock, 1, 1);
    acquire(lock, 1);
    ck_assert_holder(server, lock, 1, 2);
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert_int_eq(info.kind, HF_KIND_PLAIN); /* nobody waits */
    ck_assert_status(try_acquire(lock, 2, NULL), HF_TIMEOUT);
    release(lock, 1);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
    ck_assert_no_trace();
}
END_TEST

START_TEST(it_is_renewed)
{
    struct diary diary;
    struct hf_acquire_options o;

    hf_client_free(client);
    client = client_timed(server_port(server), STEADY_WATCHDOG_MS, 5000);
    lock = fair(client, NAME);
    o = diary_options(&diary, 1);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    note_await(&diary.note, &diary.renewals, 2, "renewals");
    ck_assert_int_eq(diary.losses, 0);
    release(lock, 1);
}
END_TEST

/* ---- the queue ---- */

/* FAIR-1, FAIR-3: As in the example of the contract, but for the TTL: each place is
 * kept until the one before it ends, and for its own time; a grant and a departure
 * bring the others forward. */
START_TEST(state_is_redissons)
{
    struct call calls[3];
    struct hf_lock_info info;
    long long first, second, third, now;

    acquire_for(lock, 1, 20000);
    now = server_now_ms();
    queue_up(&calls[0], lock, 2, HF_FOREVER);
    queue_up(&calls[1], lock, 3, 10000);
    queue_up(&calls[2], lock, 4, 7000);
    first = place(0);
    second = place(1);
    third = place(2);
    ck_assert_int_ge(first, now + 30000);
    ck_assert_int_le(first, server_now_ms() + 30000);
    ck_assert_int_ge(second, now + 50000); /* a third of 30 s more than it waits */
    ck_assert_int_le(second, first + 20000); /* the first may have asked again */
    ck_assert_int_eq(third, second + 17000);
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert_int_eq(info.kind, HF_KIND_FAIR);
    ck_assert_int_eq(info.holders, 1);
    ck_assert_int_eq(info.waiters, 3);
    release(lock, 1);
    ck_assert_ok(call_await(&calls[0]));
    ck_assert_holder(server, lock, 2, 1);
    await_queue(2);
    ck_assert_int_ge(place(0), now + 22500); /* as may have asked just now */
    ck_assert_int_le(place(0), server_now_ms() + 22500);
    release(lock, 2);
    ck_assert_ok(call_await(&calls[1]));
    release(lock, 3);
    ck_assert_ok(call_await(&calls[2]));
    release(lock, 4);
    ck_assert_no_trace();
}
END_TEST

/* Its place is 12 s, its floor 15 s: the watchdog's time is 30 s. */
START_TEST(a_short_wait_that_ends_leaves_the_others_time_for_a_request)
{
    struct call call;
    long long behind;

    acquire(lock, 1);
    queue_up(&call, lock, 2, 2000);
    behind = place(0) + 3000;
    (void)server_ask(server, "RPUSH " QUEUE " " ANOTHER);
    (void)server_ask(server, "ZADD " PLACES " %lld " ANOTHER, behind);
    ck_assert_status(call_await(&call), HF_TIMEOUT);
    await_queue(1);
    ck_assert_int_eq(place(0), behind);
    (void)server_ask(server, "DEL " QUEUE " " PLACES);
    release(lock, 1);
}
END_TEST

/* FAIR-1 */
START_TEST(head_is_notified_on_its_own_channel_at_once)
{
    struct call call;
    int64_t since_ms;

    acquire(lock, 1);
    queue_up(&call, lock, 2, HF_FOREVER);
    await_listeners(1);
    since_ms = local_now_ms();
    release(lock, 1);
    ck_assert_ok(call_await(&call));
    ck_assert_within(since_ms, 1000); /* a look: 10 s */
    release(lock, 2);
    await_listeners(0);
    ck_assert_no_trace();
}
END_TEST

START_TEST(force_release_notifies_the_head)
{
    struct call call;

    acquire(lock, 1);
    queue_up(&call, lock, 2, HF_FOREVER);
    await_listeners(1);
    ck_assert_ok(hf_lock_force_release(lock, NULL, 0, NULL));
    ck_assert_ok(call_await(&call));
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    release(lock, 2);
    ck_assert_no_trace();
}
END_TEST

START_TEST(nonreentrant_form_refuses_its_owner_and_shares_the_queue)
{
    struct hf_lock *once = NULL;
    struct call calls[2];

    ck_assert_ok(hf_lock_new_kind(&once, client, HF_KIND_NONREENTRANT_FAIR,
                                  NAME, strlen(NAME), NULL));
    acquire(once, 1);
    ck_assert_status(try_acquire(once, 1, NULL), HF_E_INVAL);
    ck_assert_holder(server, once, 1, 1);
    queue_up(&calls[0], lock, 2, HF_FOREVER);
    queue_up(&calls[1], once, 3, HF_FOREVER);
    release(once, 1);
    ck_assert_ok(call_await(&calls[0]));
    ck_assert(!call_is_done(&calls[1]));
    release(lock, 2);
    ck_assert_ok(call_await(&calls[1]));
    release(once, 3);
    ck_assert_no_trace();
}
END_TEST

START_TEST(one_try_does_not_overtake)
{
    struct hf_error err;

    (void)server_ask(server, "RPUSH " QUEUE " " ANOTHER);
    (void)server_ask(server, "ZADD " PLACES " 99999999999999 " ANOTHER);
    ck_assert_status(try_acquire(lock, 1, &err), HF_TIMEOUT);
    await_queue(1);
    (void)server_ask(server, "ZADD " PLACES " 1 " ANOTHER);
    ck_assert_ok(try_acquire(lock, 1, &err)); /* its time was over */
    await_queue(0);
    release(lock, 1);
}
END_TEST

START_TEST(calls_of_one_owner_become_one_hold)
{
    struct call calls[2];

    acquire(lock, 1);
    queue_up(&calls[0], lock, 2, HF_FOREVER);
    queue_up(&calls[1], lock, 2, HF_FOREVER);
    release(lock, 1);
    ck_assert_ok(call_await(&calls[0]));
    ck_assert_ok(call_await(&calls[1]));
    ck_assert_holder(server, lock, 2, 2);
    await_queue(0);
    release(lock, 2);
    release(lock, 2);
    ck_assert_no_trace();
}
END_TEST

START_TEST(these_rights_are_enough)
{
    struct call calls[3];

    acl_make_user(server, "--for fair --name " NAME);
    hf_client_free(client);
    client = acl_client(server, 3, 0, 0);
    lock = fair(client, NAME);
    acquire(lock, 1);
    queue_up(&calls[0], lock, 2, HF_FOREVER);
    queue_up(&calls[1], lock, 3, SET_UP_MS);
    queue_up(&calls[2], lock, 4, HF_FOREVER);
    ck_assert_status(call_await(&calls[1]), HF_TIMEOUT);
    ck_assert_ok(hf_lock_force_release(lock, NULL, 0, NULL));
    ck_assert_ok(call_await(&calls[0]));
    release(lock, 2);
    ck_assert_ok(call_await(&calls[2]));
    release(lock, 4);
    ck_assert_no_trace();
    ck_assert_no_denial(server, "fair locks");
}
END_TEST

/* ---- leaving ---- */

/* FAIR-4 */
START_TEST(waiter_that_times_out_leaves)
{
    struct call calls[2];

    acquire(lock, 1);
    queue_up(&calls[0], lock, 2, SET_UP_MS);
    queue_up(&calls[1], lock, 3, HF_FOREVER);
    ck_assert_status(call_await(&calls[0]), HF_TIMEOUT);
    await_queue(1);
    release(lock, 1);
    ck_assert_ok(call_await(&calls[1]));
    release(lock, 3);
    ck_assert_no_trace();
}
END_TEST

START_TEST(waiter_that_is_cancelled_leaves)
{
    struct hf_acquire_options o = acquire_options(2);
    struct hf_cancel cancel;
    struct call call;

    hf_cancel_init(&cancel, client);
    o.cancel = &cancel;
    acquire(lock, 1);
    call_acquire(&call, lock, &o);
    await_queue(1);
    hf_cancel_fire(&cancel);
    ck_assert_status(call_await(&call), HF_CANCELLED);
    await_queue(0);
    release(lock, 1);
    ck_assert_no_trace();
}
END_TEST

START_TEST(client_that_closes_leaves)
{
    struct hf_client *other = client_to(server_port(server));
    struct hf_client_closed closed;
    struct call call;

    acquire(lock, 1);
    queue_up(&call, fair(other, NAME), 2, HF_FOREVER);
    ck_assert_ok(hf_client_close(other, LONG_MS, &closed, NULL));
    ck_assert_status(call_await(&call), HF_E_CLOSED);
    ck_assert_int_eq(server_ask_int(server, "LLEN " QUEUE), 0);
    hf_client_free(other);
    release(lock, 1);
    ck_assert_no_trace();
}
END_TEST

/* It asks the server for nothing; its places are dead ones. */
START_TEST(client_is_freed_while_it_waits)
{
    struct hf_client *other = client_to(server_port(server));
    struct hf_lock *theirs = fair(other, NAME);
    struct call calls[3];

    acquire(lock, 1);
    for (int i = 0; i < 3; i++)
        queue_up(&calls[i], theirs, 2 + i / 2, HF_FOREVER);
    await_listeners(3);
    hf_client_free(other);
    for (int i = 0; i < 3; i++)
        ck_assert_status(call_await(&calls[i]), HF_E_CLOSED);
    await_listeners(0);
    release(lock, 1);
}
END_TEST

/* FAIR-5: A place that no call of ours has, since the server executed an acquire late:
 * who is refused because of it gives it up. */
START_TEST(orphan_at_the_head_is_removed)
{
    struct call calls[1];
    char head[HF_OWNER_TEXT_MAX];

    hf_client_free(client);
    client = client_timed(server_port(server), STEADY_WATCHDOG_MS, 5000);
    lock = fair(client, NAME);
    acquire(lock, 1);
    queue_up(&calls[0], lock, 2, HF_FOREVER);
    (void)snprintf(head, sizeof head, "%s:77", hf_client_uuid(client));
    (void)server_ask(server, "LPUSH " QUEUE " %s", head);
    (void)server_ask(server, "ZADD " PLACES " 99999999999999 %s", head);
    release(lock, 1);
    ck_assert_ok(call_await(&calls[0]));
    release(lock, 2);
    ck_assert_no_trace();
}
END_TEST

/* ---- order ---- */

#define WAITERS 40

/* In a process of its own: waits, one behind the other, for `owner` times two
 * and more. Says by the list "order" in which turn each came. */
static void wait_elsewhere(int to_child, int to_parent, int port)
{
    struct hf_client *own = client_to(port);
    struct hf_lock *mine = fair(own, NAME);
    static struct call calls[WAITERS];
    char byte;

    for (int i = 0; i < WAITERS / 2; i++) {
        struct hf_acquire_options o = acquire_options(100 + 2 * i + 1);

        if (read(to_child, &byte, 1) != 1)
            _exit(1);
        call_acquire(&calls[i], mine, &o);
    }
    for (int i = 0; i < WAITERS / 2; i++) {
        if (call_await(&calls[i]) != HF_OK)
            _exit(1);
        if (write(to_parent, "x", 1) != 1 || read(to_child, &byte, 1) != 1)
            _exit(1);
        release(mine, 100 + 2 * i + 1);
    }
    _exit(0);
}

START_TEST(order_holds_across_processes)
{
    static struct call calls[WAITERS];
    int down[2], up[2], status;
    char byte;
    pid_t pid;

    acquire(lock, 1);
    ck_assert_int_eq(pipe(down), 0);
    ck_assert_int_eq(pipe(up), 0);
    if ((pid = fork_beside(client)) == 0)
        wait_elsewhere(down[0], up[1], server_port(server));
    for (int i = 0; i < WAITERS; i++) {
        if (i % 2 == 0) {
            queue_up(&calls[i], lock, 100 + i, HF_FOREVER);
        } else {
            ck_assert_int_eq(write(down[1], "q", 1), 1);
            await_queue(i + 1);
        }
    }
    release(lock, 1);
    for (int i = 0; i < WAITERS; i++) {
        if (i % 2 == 0) {
            ck_assert_ok(call_await(&calls[i]));
            ck_assert_holder(server, lock, 100 + i, 1);
            release(lock, 100 + i);
        } else {
            ck_assert_int_eq(read(up[0], &byte, 1), 1);
            ck_assert_int_eq(write(down[1], "r", 1), 1);
        }
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_no_trace();
}
END_TEST

/* ---- who dies ---- */

static pid_t wait_and_die(int64_t watchdog_ms)
{
    int before = (int)server_ask_int(server, "LLEN " QUEUE);
    pid_t pid = fork_beside(client);

    if (pid == 0) {
        struct hf_client *own =
            client_timed(server_port(server), watchdog_ms, 5000);
        struct hf_acquire_options o = acquire_options(1);

        (void)!hf_lock_acquire(fair(own, NAME), &o, NULL);
        _exit(1);
    }
    await_queue(before + 1);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    return pid;
}

/* A server that was emptied while the lock's slot moved has one key, and not the
 * other. */
START_TEST(head_without_a_time_gets_one)
{
    struct hf_acquire_options o = acquire_options(1);

    server_ask(server, "RPUSH " QUEUE " " ANOTHER);
    o.wait_ms = LONG_MS;
    o.lease_ms = 500;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    ck_assert_int_eq(hf_lock_release(lock, 1, NULL), HF_OK);
    ck_assert_no_trace();
}
END_TEST

START_TEST(times_without_a_queue_are_deleted)
{
    server_ask(server, "ZADD " PLACES " 99999999999999 " ANOTHER);
    acquire(lock, 1);
    release(lock, 1);
    ck_assert_no_trace();
}
END_TEST

static const char *const foreign_places[] = {"SET " PLACES " mine",
                                             "HSET " PLACES " a b",
                                             "RPUSH " PLACES " mine"};

START_TEST(key_of_another_type_for_the_places_is_left_alone)
{
    (void)server_ask(server, foreign_places[_i]);
    ck_assert_status(try_acquire(lock, 1, NULL), HF_E_SERVER);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " PLACES), 1);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 0);
    (void)server_ask(server, "DEL " PLACES);
}
END_TEST

/* It would stand there twice. */
START_TEST(waiter_without_its_time_is_in_the_queue_once)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;

    acquire(lock, 2);
    o.wait_ms = LONG_MS;
    call_acquire(&call, lock, &o);
    await_queue(1);
    server_ask(server, "DEL " PLACES);
    release(lock, 2);
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 1);
    ck_assert_no_trace();
}
END_TEST

/* Whatever the lease was of the one that it waited for. */
START_TEST(dead_head_costs_its_own_time)
{
    struct hf_client *next =
        client_timed(server_port(server), STEADY_WATCHDOG_MS, 5000);
    long long until_ms;
    struct call call;

    acquire_for(lock, 1, 3600000);
    (void)wait_and_die(3000);
    until_ms = place(0);
    queue_up(&call, fair(next, NAME), 2, HF_FOREVER); /* asks each second */
    release(lock, 1);
    ck_assert_int_le(until_ms, server_now_ms() + 3000);
    ck_assert_ok(call_await(&call));
    ck_assert_int_ge(server_now_ms(), until_ms);
    ck_assert_int_lt(server_now_ms(), until_ms + 5000); /* not the hour */
    release(fair(next, NAME), 2);
    hf_client_free(next);
    ck_assert_no_trace();
}
END_TEST

/* With places of a second, the lock is held until none of the first is left: who
 * asks keeps its place. */
START_TEST(place_of_a_living_waiter_outlasts_a_long_hold)
{
    struct hf_client *others[3];
    struct call calls[3];
    long long first_end_ms;

    hf_client_free(client);
    client = client_timed(server_port(server), STEADY_WATCHDOG_MS, 5000);
    lock = fair(client, NAME);
    acquire(lock, 1);
    for (int i = 0; i < 3; i++) {
        others[i] = client_timed(server_port(server), 1000, 5000);
        queue_up(&calls[i], fair(others[i], NAME), 2, HF_FOREVER);
    }
    first_end_ms = place(2);
    server_await(server, AWAIT_MS, "3", "ZCOUNT " PLACES " (%lld +inf",
                 first_end_ms);
    ck_assert_status(try_acquire(lock, 3, NULL), HF_TIMEOUT); /* drops heads */
    await_queue(3);
    release(lock, 1);
    ck_assert_ok(call_await(&calls[0]));
    ck_assert(!call_is_done(&calls[1]));
    ck_assert_int_gt(place(0), server_now_ms());
    ck_assert_int_gt(place(1), server_now_ms());
    release(fair(others[0], NAME), 2);
    ck_assert_status(try_acquire(lock, 3, NULL), HF_TIMEOUT); /* not its turn */
    ck_assert_ok(call_await(&calls[1]));
    release(fair(others[1], NAME), 2);
    ck_assert_status(try_acquire(lock, 3, NULL), HF_TIMEOUT);
    ck_assert_ok(call_await(&calls[2]));
    for (int i = 0; i < 3; i++)
        hf_client_free(others[i]);
}
END_TEST

START_TEST(holder_that_dies_leaves_it_to_the_head)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call calls[2];
    pid_t pid = fork_beside(client);

    if (pid == 0) {
        struct hf_client *own = client_to(server_port(server));

        o.lease_ms = 700;
        _exit(hf_lock_acquire(fair(own, NAME), &o, NULL) == HF_OK ? pause()
                                                                  : 1);
    }
    server_await(server, LONG_MS, "1", "EXISTS " NAME);
    queue_up(&calls[0], lock, 2, HF_FOREVER);
    queue_up(&calls[1], lock, 3, HF_FOREVER);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_ok(call_await(&calls[0]));
    ck_assert(!call_is_done(&calls[1]));
    release(lock, 2);
    ck_assert_ok(call_await(&calls[1]));
    release(lock, 3);
    ck_assert_no_trace();
}
END_TEST

/* ---- clusters ---- */

START_TEST(queue_moves_with_its_slot)
{
    struct cluster *c =
        cluster_start(&(struct cluster_options){.masters = 2});
    int slot = hf_slot_of(NAME, strlen(NAME));
    struct hf_acquire_options o = acquire_options(2);
    struct hf_client_options options;
    struct call calls[2];
    char url[100];
    int to;

    ck_assert_ptr_nonnull(c);
    hf_client_options_init(&options);
    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d",
                   server_port(cluster_node(c, 0)));
    options.url = url;
    client = client_with(&options);
    lock = fair(client, NAME);
    to = 1 - cluster_owner(c, slot);
    for (int moves = 0; moves < 2; moves++) {
        acquire(lock, 1);
        o.owner = 2;
        call_acquire(&calls[0], lock, &o);
        server_await(cluster_node(c, cluster_owner(c, slot)), AWAIT_MS, "1",
                     "LLEN " QUEUE);
        o.owner = 3;
        call_acquire(&calls[1], lock, &o);
        server_await(cluster_node(c, cluster_owner(c, slot)), AWAIT_MS, "2",
                     "LLEN " QUEUE);
        if (moves == 1) {
            cluster_move_begin(c, slot, to);
            (void)cluster_move_keys(c, slot, to, 10);
            cluster_move_end(c, slot, to);
        }
        release(lock, 1);
        ck_assert_ok(call_await(&calls[0]));
        ck_assert(!call_is_done(&calls[1]));
        release(lock, 2);
        ck_assert_ok(call_await(&calls[1]));
        release(lock, 3);
    }
    hf_client_free(client);
    cluster_stop(c);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "alone", start, stop);

    tcase_add_loop_test(c, alone_it_is_as_a_plain_one, 0, COUNT(ways));
    tcase_add_test(c, it_is_renewed);
    c = live_case(suite, "queue", start, stop);
    tcase_add_test(c, state_is_redissons);
    tcase_add_test(c, a_short_wait_that_ends_leaves_the_others_time_for_a_request);
    tcase_add_test(c, head_is_notified_on_its_own_channel_at_once);
    tcase_add_test(c, force_release_notifies_the_head);
    tcase_add_test(c,
                   nonreentrant_form_refuses_its_owner_and_shares_the_queue);
    tcase_add_test(c, one_try_does_not_overtake);
    tcase_add_test(c, calls_of_one_owner_become_one_hold);
    tcase_add_test(c, these_rights_are_enough);
    c = live_case(suite, "leaving", start, stop);
    tcase_add_test(c, waiter_that_times_out_leaves);
    tcase_add_test(c, waiter_that_is_cancelled_leaves);
    tcase_add_test(c, client_that_closes_leaves);
    tcase_add_test(c, client_is_freed_while_it_waits);
    tcase_add_test(c, orphan_at_the_head_is_removed);
    c = live_case(suite, "order", start, stop);
    tcase_add_test(c, order_holds_across_processes);
    c = live_case(suite, "death", start, stop);
    tcase_add_test(c, head_without_a_time_gets_one);
    tcase_add_test(c, times_without_a_queue_are_deleted);
    tcase_add_loop_test(c, key_of_another_type_for_the_places_is_left_alone, 0,
                        COUNT(foreign_places));
    tcase_add_test(c, waiter_without_its_time_is_in_the_queue_once);
    tcase_add_test(c, dead_head_costs_its_own_time);
    tcase_add_test(c, place_of_a_living_waiter_outlasts_a_long_hold);
    tcase_add_test(c, holder_that_dies_leaves_it_to_the_head);
    c = live_case(suite, "cluster", NULL, NULL);
    tcase_add_test(c, queue_moves_with_its_slot);
}

int main(void)
{
    return live_main("lock_fair", add);
}
