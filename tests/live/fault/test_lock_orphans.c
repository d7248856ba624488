/* Orphaned locks: the server grants an acquire whose call has ended, for example because it
 * was cancelled or had no reply. The client releases each one: in the background, by a
 * release that is repeated until the server replies; or when the lock blocks another acquire
 * of this client (design 11; orphan.c: ORPHAN-1 to -4). */
#include <hiredis/hiredis.h>

#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"
#include "tests/support/peer.h"
#include "tests/support/proxy.h"

static struct hf_client *client;
static struct hf_lock *lock;

/* ---- what the client logs ---- */

static struct note log_note;
static int alarms, limits;

static void take_line(void *ctx, enum hf_log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    if (strstr(line, "too many"))
        note_add(&log_note, &limits);
    else if (strstr(line, "abandoned lock"))
        note_add(&log_note, &alarms);
}

/* The most that is released in the background at a time (lock.h). */
#define ORPHANS 16384

static void open_client(int port, const char *user, int64_t request_timeout_ms)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    note_init(&log_note);
    alarms = limits = 0;
    client_options(&o, url, port);
    o.user = user;
    o.request_timeout_ms = request_timeout_ms;
    o.log = take_line;
    client = client_with(&o);
    lock = lock_of(client, NAME);
}

static void ck_assert_no_alarm(void)
{
    ck_assert_int_eq(note_read(&log_note, &alarms), 0);
}

static struct hf_acquire_options one_try(int64_t owner, int64_t lease_ms)
{
    struct hf_acquire_options o = acquire_options(owner);

    o.wait_ms = 0;
    o.lease_ms = lease_ms;
    return o;
}

static void await_orphans(uint64_t count)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (stats_of(client).orphans != count) {
        ck_assert_msg(local_now_ms() < deadline_ms, "%llu orphans, not %llu",
                      (unsigned long long)stats_of(client).orphans,
                      (unsigned long long)count);
        local_poll_rest();
    }
}

/* ---- a scripted server ---- */

static struct peer *peer;

static void nothing(void)
{
}

static void open_peer(const struct peer_step *script, int64_t request_timeout_ms)
{
    peer = peer_start(script);
    open_client(peer_port(peer), NULL, request_timeout_ms);
}

static void close_peer(void)
{
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    hf_client_free(client);
    peer_free(peer);
}

/* A reply that begins with the owner field of the client's hold number `serial`,
 * which the owner of that number has asked for. */
static void set_reply(struct peer_step *step, char *room, size_t size,
                      int elements, int serial, const char *rest)
{
    char text[HF_OWNER_TEXT_MAX];

    (void)snprintf(text, sizeof text, "%s:%d%010d", hf_client_uuid(client),
                   serial, serial);
    step->number = (size_t)snprintf(room, size, "*%d\r\n$%zu\r\n%s\r\n%s",
                                    elements, strlen(text), text, rest);
    step->text = room;
}

#define LEASE 200

static char reply[2][300];

/* The acquire and what follows it find a silent server, for longer than the
 * lease; then the server goes on. */
static struct peer_step silent_for_long[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 order:42 * 1 200"),
    PEER_GONE, PEER_WAIT,
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("* * 1 order:42 * 0 ..."),
    {.verb = PEER_DO_SEND}, PEER_WAIT, PEER_END,
};

static void let_pass(int64_t ms)
{
    int64_t until_ms = local_now_ms() + ms;

    while (local_now_ms() < until_ms)
        local_poll_rest();
}

START_TEST(orphan1_release_is_repeated_until_the_server_replies)
{
    struct hf_acquire_options o = one_try(1, LEASE);

    open_peer(silent_for_long, 100);
    set_reply(&silent_for_long[8], reply[0], sizeof reply[0], 3, 1,
              ":-1\r\n:-2\r\n");
    ck_assert_status(hf_lock_acquire(lock, &o, NULL), HF_E_NOREPLY);
    ck_assert_uint_eq(stats_of(client).orphans, 1);
    let_pass(3 * LEASE);
    ck_assert_uint_eq(stats_of(client).orphans, 1);
    peer_go(peer);
    await_orphans(0);
    ck_assert_no_alarm();
    peer_go(peer);
    close_peer();
}
END_TEST

/* It says that it is loading: whatever it did of what was sent before ends with
 * the lease, counted from there. */
static struct peer_step loading[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 order:42 * 1 1"),
    PEER_GONE,
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("* * 1 order:42 * 0 ..."),
    PEER_SEND("-LOADING the data\r\n"), PEER_WAIT, PEER_END,
};

START_TEST(orphan2_time_counts_from_the_first_answer)
{
    struct hf_acquire_options o = one_try(1, 1);

    open_peer(loading, 100);
    ck_assert_status(hf_lock_acquire(lock, &o, NULL), HF_E_NOREPLY);
    note_await(&log_note, &alarms, 1, "an alarm");
    ck_assert_uint_eq(stats_of(client).orphans, 0);
    peer_go(peer);
    close_peer();
}
END_TEST

/* Of a read-write lock it may last longer than its lease, as long as another's. */
static struct peer_step loading_for_long[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 2 order:42 ..."),
    PEER_GONE,
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("* * 2 order:42 * * 0 ..."),
    PEER_SEND("-LOADING the data\r\n"),
    PEER_EXPECT("* * 2 order:42 * * 0 ..."),
    PEER_SEND("-LOADING the data\r\n"), PEER_GONE, /* REPLACE-3 */
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("* * 2 order:42 * * 0 ..."),
    {.verb = PEER_DO_SEND}, PEER_WAIT, PEER_END,
};

static struct peer_step loading_for_ever[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 2 order:42 ..."),
    PEER_GONE,
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("* * 2 order:42 * * 0 ..."),
    PEER_SEND("-LOADING the data\r\n"), PEER_WAIT, PEER_END,
};

static struct hf_lock *read_lock(void)
{
    struct hf_lock *reader;

    ck_assert_ok(hf_lock_new_kind(&reader, client, HF_KIND_READ, NAME,
                                  strlen(NAME), NULL));
    return reader;
}

START_TEST(orphan2_reader_is_released_however_long_the_server_loads)
{
    struct hf_acquire_options o = one_try(1, 1);
    struct hf_lock *reader;

    open_peer(loading_for_long, 100);
    reader = read_lock();
    set_reply(&loading_for_long[14], reply[0], sizeof reply[0], 3, 1,
              ":-1\r\n:-2\r\n");
    ck_assert_status(hf_lock_acquire(reader, &o, NULL), HF_E_NOREPLY);
    ck_assert_uint_eq(stats_of(client).orphans, 1);
    await_orphans(0);
    ck_assert_no_alarm();
    peer_go(peer);
    close_peer();
}
END_TEST

START_TEST(orphan2_reader_that_is_to_be_released_does_not_keep_its_client)
{
    struct hf_acquire_options o = one_try(1, 1);

    open_peer(loading_for_ever, 100);
    ck_assert_status(hf_lock_acquire(read_lock(), &o, NULL), HF_E_NOREPLY);
    let_pass(2 * LEASE); /* between two questions */
    ck_assert_uint_eq(stats_of(client).orphans, 1);
    peer_go(peer);
    close_peer();
}
END_TEST

/* The first acquire is executed on a connection that ends before its answer. On
 * the next, it is put off, and the second is refused because of it. */
static struct peer_step executed_unheard[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 order:42 * 1 30000"),
    PEER_RESET, PEER_ACCEPT, PEER_WAIT, PEER_HANDSHAKE,
    PEER_EXPECT("EVALSHA * 1 order:42 * 1 30000"),
    PEER_EXPECT("EVALSHA * 1 order:42 * 1 30000"),
    PEER_SEND("-LOADING the data\r\n"), {.verb = PEER_DO_SEND},
    PEER_EXPECT("EVALSHA * 1 order:42 * 1 30000"), {.verb = PEER_DO_SEND},
    PEER_WAIT, PEER_END,
};

START_TEST(orphan3_pending_acquire_is_not_an_orphan)
{
    struct hf_acquire_options o = one_try(1, 0);
    char refused[300];
    struct call first_call, second_call;

    open_peer(executed_unheard, 5000);
    call_acquire(&first_call, lock, &o);
    while (stats_of(client).link.losses == 0)
        local_poll_rest();
    o.owner = 2;
    call_acquire(&second_call, lock, &o);
    (void)snprintf(refused, sizeof refused,
                   ":-1\r\n:30000\r\n$48\r\n%s:10000000001\r\n$1\r\n1\r\n",
                   hf_client_uuid(client));
    set_reply(&executed_unheard[10], reply[0], sizeof reply[0], 5, 2, refused);
    set_reply(&executed_unheard[12], reply[1], sizeof reply[1], 2, 1,
              ":1\r\n");
    peer_go(peer);
    ck_assert_status(call_await(&second_call), HF_TIMEOUT);
    ck_assert_status(call_await(&first_call), HF_OK);
    ck_assert_uint_eq(stats_of(client).orphans, 0);
    ck_assert_uint_eq(stats_of(client).holds, 1);
    peer_go(peer);
    close_peer();
}
END_TEST

/* ---- a real server ---- */

static void stop(void)
{
    hf_client_free(client);
    client = NULL;
    stop_server();
}

/* Makes the server hold `number` for the client, as a late acquire would. */
static void make_orphan(const char *number)
{
    (void)server_ask(server, "HSET " NAME " %s:%s 1", hf_client_uuid(client),
                     number);
    (void)server_ask(server, "PEXPIRE " NAME " 60000");
}

START_TEST(orphan3_waiter_releases_an_orphan)
{
    open_client(server_port(server), NULL, 5000);
    make_orphan("70000000099");
    acquire(lock, 1);
    ck_assert_holder(server, lock, 1, 1);
    ck_assert_uint_eq(stats_of(client).orphans, 0);
    ck_assert_no_alarm();
    release(lock, 1);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

/* One try does not wait for it; the next one finds the lock free. */
START_TEST(orphan3_single_try_releases_an_orphan_for_the_next)
{
    struct hf_error err;

    open_client(server_port(server), NULL, 5000);
    make_orphan("70000000099");
    ck_assert_status(try_acquire(lock, 1, &err), HF_TIMEOUT);
    await_orphans(0);
    ck_assert_status(try_acquire(lock, 1, &err), HF_OK);
}
END_TEST

/* A lock that this client holds, and a lock that another client holds, are not orphaned. */
START_TEST(orphan3_holds_are_not_orphans)
{
    struct hf_client *other = client_to(server_port(server));
    struct hf_lock *of_other = lock_of(other, NAME);

    open_client(server_port(server), NULL, 5000);
    acquire(lock, 1);
    ck_assert_status(try_acquire(lock, 2, NULL), HF_TIMEOUT);
    ck_assert_uint_eq(stats_of(client).orphans, 0);
    ck_assert_status(try_acquire(of_other, 1, NULL), HF_TIMEOUT);
    ck_assert_uint_eq(stats_of(other).orphans, 0);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
    acquire(of_other, 1);
    ck_assert_status(try_acquire(lock, 1, NULL), HF_TIMEOUT);
    ck_assert_uint_eq(stats_of(client).orphans, 0);
    ck_assert_holder(server, of_other, 1, 1);
    hf_client_free(other);
}
END_TEST

/* The lock was lost, and the server has it yet: its owner will release it. */
START_TEST(orphan3_lost_hold_is_not_an_orphan)
{
    struct diary diary;
    struct hf_acquire_options o;

    open_client(server_port(server), NULL, 5000);
    o = diary_options(&diary, 1);
    o.lease_ms = 100;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    (void)server_ask(server, "PERSIST " NAME);
    (void)diary_await_loss(&diary);
    ck_assert_status(try_acquire(lock, 2, NULL), HF_TIMEOUT);
    ck_assert_uint_eq(stats_of(client).orphans, 0);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}
END_TEST

/* May the client kill its predecessor on the server? */
static const char *const rules[] = {
    "ACL SETUSER eve on nopass ~* &* +@all",
    "ACL SETUSER eve on nopass ~* &* +@all -client|kill"};

#define ROUNDS 8

/* "message" of a release, whether it found the lock or not. */
static void await_release(redisContext *ear)
{
    redisReply *message;

    ck_assert_int_eq(redisGetReply(ear, (void **)&message), REDIS_OK);
    freeReplyObject(message);
}

static redisContext *listen_for_releases(void)
{
    redisContext *ear = server_connect(server);
    redisReply *confirmation;

    ck_assert_ptr_nonnull(ear);
    confirmation = redisCommand(ear, "SUBSCRIBE " CHANNEL);
    ck_assert_ptr_nonnull(confirmation);
    freeReplyObject(confirmation);
    return ear;
}

/* The server stands still for longer than the lease: what lies in its buffers is
 * executed, or not, when it goes on. The next who asks has the lock long before
 * it would end. */
START_TEST(server_stopped_for_longer_than_the_lease_keeps_no_orphan)
{
    struct hf_acquire_options o = one_try(1, LEASE);
    redisContext *ear;

    (void)server_ask(server, rules[_i]);
    open_client(server_port(server), "eve", 150);
    ear = listen_for_releases();
    for (int round = 0; round < ROUNDS; round++) {
        connect_patiently(client);
        server_pause(server);
        ck_assert_status(hf_lock_acquire(lock, &o, NULL), HF_E_NOREPLY);
        let_pass(2 * LEASE);
        ck_assert_uint_eq(stats_of(client).orphans, 1);
        server_resume(server);
        await_release(ear);
        await_orphans(0);
    }
    redisFree(ear);
}
END_TEST

/* ---- how many ---- */

#define TOO_MANY 40
/* While nothing is answered, half of what is asked may wait to be sent. */
#define CALLS (2 * (ORPHANS + TOO_MANY))

static struct hf_lock *locks[CALLS];
static struct call calls[CALLS];

static void acquire_unheard(void)
{
    struct hf_acquire_options o = one_try(1, 60000);
    struct hf_cancel cancel;
    char name[16];

    hf_cancel_init(&cancel, client);
    o.cancel = &cancel;
    for (int i = 0; i < CALLS; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        locks[i] = lock_of(client, name);
        call_acquire(&calls[i], locks[i], &o);
    }
    while (server_ask_int(server, "DBSIZE") < ORPHANS + TOO_MANY)
        local_poll_rest();
    hf_cancel_fire(&cancel);
    for (int i = 0; i < CALLS; i++)
        ck_assert_status(call_await(&calls[i]), HF_CANCELLED);
}

START_TEST(orphan4_background_releases_are_bounded)
{
    struct proxy *proxy = proxy_start(server_port(server));

    open_client(proxy_port(proxy), NULL, 60000);
    acquire(lock, 1);
    release(lock, 1);
    proxy_swallow(proxy, PROXY_TO_CLIENT, true);
    acquire_unheard();
    ck_assert_uint_eq(stats_of(client).orphans, ORPHANS);
    note_await(&log_note, &limits, 1, "a line of the limit");
    proxy_cut(proxy, PROXY_RESET);
    proxy_swallow(proxy, PROXY_TO_CLIENT, false);
    await_orphans(0);
    ck_assert_int_ge(server_ask_int(server, "DBSIZE"), TOO_MANY);
    for (int i = ORPHANS; i < ORPHANS + TOO_MANY; i++)
        acquire(locks[i], 1);
    ck_assert_int_eq(note_read(&log_note, &limits), 1);
    ck_assert_no_alarm();
    hf_client_free(client);
    client = NULL;
    proxy_stop(proxy);
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "a scripted server", nothing, nothing);

    tcase_add_test(c, orphan1_release_is_repeated_until_the_server_replies);
    tcase_add_test(c, orphan2_time_counts_from_the_first_answer);
    tcase_add_test(c, orphan2_reader_is_released_however_long_the_server_loads);
    tcase_add_test(c,
                   orphan2_reader_that_is_to_be_released_does_not_keep_its_client);
    tcase_add_test(c, orphan3_pending_acquire_is_not_an_orphan);

    c = live_case(s, "a server", start_server, stop);
    tcase_add_test(c, orphan3_waiter_releases_an_orphan);
    tcase_add_test(c, orphan3_single_try_releases_an_orphan_for_the_next);
    tcase_add_test(c, orphan3_holds_are_not_orphans);
    tcase_add_test(c, orphan3_lost_hold_is_not_an_orphan);
    tcase_add_loop_test(
        c, server_stopped_for_longer_than_the_lease_keeps_no_orphan, 0,
        COUNT(rules));
    tcase_add_test(c, orphan4_background_releases_are_bounded);
}

int main(void)
{
    return live_main("lock, orphans", add_cases);
}
