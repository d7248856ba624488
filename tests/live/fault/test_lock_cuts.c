/* The connection ends behind each byte of what a waiter and the watchdog say
 * and hear: of the try, the subscription, the message and the second try; of
 * the renewal. Nobody notices: the waiter has the lock, the holder keeps it,
 * and the count on the server is exact. (Of acquire, re-entry and release:
 * lock_late.) Source: design 4, 11. */
#include "tests/live/test_lock.h"
#include "tests/support/lua_client.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

/* A way of cutting, and how many bytes are skipped from cut to cut. */
struct way {
    enum proxy_way way;
    enum proxy_end end;
    int protocol;
    uint64_t step;
};

static const struct way ways[] = {
    {PROXY_TO_SERVER, PROXY_CLOSE, 3, 1}, {PROXY_TO_CLIENT, PROXY_CLOSE, 3, 1},
    {PROXY_TO_SERVER, PROXY_RESET, 3, 5}, {PROXY_TO_CLIENT, PROXY_RESET, 3, 3},
    {PROXY_TO_SERVER, PROXY_CLOSE, 2, 7}, {PROXY_TO_CLIENT, PROXY_CLOSE, 2, 5},
};

/* Many at once, each with a lock, a client and a proxy of its own: what is
 * awaited is time. Each has a share of the bytes. */
#define MANY 80

static struct one {
    struct proxy *proxy;
    struct hf_client *client;
    struct hf_lock *lock;
    struct diary diary;
    struct call call;
    char name[24], channel[64];
} ones[MANY];

static void open_client(struct one *one, int i, int protocol)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, proxy_port(one->proxy));
    o.protocol = protocol;
    o.watchdog_ms = STEADY_WATCHDOG_MS;
    one->client = client_with(&o);
    (void)snprintf(one->name, sizeof one->name, "one:%d", i);
    (void)snprintf(one->channel, sizeof one->channel,
                   "redisson_lock__channel:{%s}", one->name);
    one->lock = lock_of(one->client, one->name);
    ck_assert_ok(hf_client_connect(one->client, NULL));
}

static void open_all(int protocol)
{
    for (int i = 0; i < MANY; i++) {
        ones[i].proxy = proxy_start(server_port(server));
        open_client(&ones[i], i, protocol);
    }
}

static void close_all(void)
{
    for (int i = 0; i < MANY; i++) {
        ck_assert_uint_eq(stats_of(ones[i].client).holds, 0);
        ck_assert_uint_eq(stats_of(ones[i].client).waiters, 0);
        hf_client_free(ones[i].client);
        proxy_stop(ones[i].proxy);
    }
}

static uint64_t passed(const struct one *one, enum proxy_way way)
{
    return proxy_count(one->proxy, way, PROXY_PASSED);
}

/* ---- releasing ---- */

/* CALL-2: the server has forgotten the script, and no request is wasted on finding that out. */
START_TEST(a_release_that_is_sent_again_contains_its_script)
{
    struct one *one = &ones[0];

    one->proxy = proxy_start(server_port(server));
    open_client(one, 0, 3);
    acquire(one->lock, 1);
    release(one->lock, 1);
    acquire(one->lock, 1);
    proxy_hold(one->proxy, PROXY_TO_SERVER, true);
    call_release(&one->call, one->lock, 1);
    ck_assert(proxy_await(one->proxy, PROXY_TO_SERVER, PROXY_KEPT, 1, LONG_MS));
    (void)server_ask(server, "SCRIPT FLUSH");
    (void)server_ask(server, "CONFIG RESETSTAT");
    proxy_cut(one->proxy, PROXY_CLOSE);
    proxy_hold(one->proxy, PROXY_TO_SERVER, false);
    ck_assert_status(call_await(&one->call), HF_OK);
    ck_assert_ptr_null(strstr(server_ask(server, "INFO commandstats"), "cmdstat_evalsha:"));
    ck_assert_int_eq(server_ask_int(server, "EXISTS %s", one->name), 0);
    hf_client_free(one->client);
    proxy_stop(one->proxy);
}
END_TEST

/* ---- waiting ---- */

static void begin_to_wait(struct one *one)
{
    struct hf_acquire_options o = acquire_options(1);

    ck_assert_str_eq(lua_acquire(server, one->name, strlen(one->name),
                                 LUA_HOLDER, 60000),
                     "(nil)");
    call_acquire(&one->call, one->lock, &o);
}

/* The other gives it up. Its TTL would be a minute: what wakes the waiter is
 * the message, or its own looking again. */
static void stop_waiting(struct one *one)
{
    ck_assert_status(call_await(&one->call), HF_OK);
    ck_assert_holder(server, one->lock, 1, 1);
    release(one->lock, 1);
    ck_assert_str_eq(hash_of(server, one->name), "");
}

static void wait_all(int count)
{
    for (int i = 0; i < count; i++)
        begin_to_wait(&ones[i]);
    for (int i = 0; i < count; i++) {
        await_subscribers(server, ones[i].channel, 1);
        ck_assert_str_eq(lua_release(server, ones[i].name,
                                     strlen(ones[i].name), LUA_HOLDER, 60000),
                         "1");
    }
    for (int i = 0; i < count; i++)
        stop_waiting(&ones[i]);
}

/* How many bytes go that way in one wait. */
static uint64_t bytes_of_a_wait(const struct way *way)
{
    uint64_t before;

    wait_all(1); /* the scripts are known from here on */
    before = passed(&ones[0], way->way);
    wait_all(1);
    return passed(&ones[0], way->way) - before;
}

/* A client that has seen no misfortune yet connects anew in no time. */
static void renew_clients(int protocol)
{
    for (int i = 0; i < MANY; i++) {
        hf_client_free(ones[i].client);
        open_client(&ones[i], i, protocol);
    }
}

START_TEST(a_waiter_does_not_notice_a_cut_after_any_byte)
{
    const struct way *way = &ways[_i];
    uint64_t bytes;

    open_all(way->protocol);
    bytes = bytes_of_a_wait(way);
    ck_assert_uint_gt(bytes, 150);
    for (uint64_t n = 0; n < bytes; n += MANY * way->step) {
        renew_clients(way->protocol);
        for (uint64_t i = 0; i < MANY; i++)
            proxy_cut_after(ones[i].proxy, way->way, n + i * way->step,
                            way->end);
        wait_all(MANY);
    }
    close_all();
    server_await(server, AWAIT_MS, "", "PUBSUB CHANNELS");
}
END_TEST

/* ---- renewal ---- */

/* The safe moment never lies behind what the server keeps (G1); whatever was
 * cut, the next tick renews. */
static void ck_assert_kept(struct one *one, int renewals)
{
    note_await(&one->diary.note, &one->diary.renewals, renewals, "a renewal");
    ck_assert_int_gt(ck_assert_safe_before_ttl(server, one->lock, 1), 0);
    ck_assert_holder(server, one->lock, 1, 1);
    ck_assert_int_eq(note_read(&one->diary.note, &one->diary.losses), 0);
}

static void hold_all(void)
{
    for (int i = 0; i < MANY; i++) {
        struct hf_acquire_options o = diary_options(&ones[i].diary, 1);

        ck_assert_ok(hf_lock_acquire(ones[i].lock, &o, NULL));
    }
}

/* A round: each is cut once, and renewed twice. Returns how many were cut. */
static int cut_all(const struct way *way, uint64_t first)
{
    int before[MANY], struck = 0;

    for (uint64_t i = 0; i < MANY; i++) {
        before[i] = note_read(&ones[i].diary.note, &ones[i].diary.renewals);
        proxy_cut_after(ones[i].proxy, way->way, first + i * way->step,
                        way->end);
    }
    for (int i = 0; i < MANY; i++) {
        ck_assert_kept(&ones[i], before[i] + 2);
        struck += proxy_has_cut(ones[i].proxy);
    }
    return struck;
}

/* More bytes than there are: a request has about 190, its answer about 90. */
static const uint64_t renewal_bytes[] = {240, 120};

START_TEST(a_renewal_does_not_notice_a_cut_after_any_byte)
{
    const struct way *way = &ways[_i];
    uint64_t bytes = renewal_bytes[way->way == PROXY_TO_CLIENT];
    int struck = 0;

    open_all(way->protocol);
    hold_all();
    for (uint64_t n = 0; n < bytes; n += MANY * way->step)
        struck += cut_all(way, n);
    ck_assert_int_gt(struck, (int)(bytes / way->step) / 2);
    for (int i = 0; i < MANY; i++) {
        release(ones[i].lock, 1);
        ck_assert_str_eq(hash_of(server, ones[i].name), "");
    }
    close_all();
}
END_TEST

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "cuts", start_server, stop_server);

    tcase_set_timeout(c, 120);
    tcase_add_test(c, a_release_that_is_sent_again_contains_its_script);
    tcase_add_loop_test(c, a_waiter_does_not_notice_a_cut_after_any_byte, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, a_renewal_does_not_notice_a_cut_after_any_byte, 0,
                        4);
}

int main(void)
{
    return live_main("lock, cuts", add_cases);
}
