/* What locks are on a real server, as Redisson would see it (WIRE 8): acquired,
 * released, asked for and forced, under any name; in RESP3 and RESP2, with the
 * background thread and without. */
#include "lock/scope.h"
#include "tests/live/lock/test_lock_one.h"
#include "tests/support/feed.h"
#include "tests/support/lua_client.h"

/* ---- acquire, release ---- */

START_TEST(an_acquired_lock_is_stored_as_redisson_stores_it)
{
    char text[HF_OWNER_TEXT_MAX], expected[HF_OWNER_TEXT_MAX];

    open_client(&ways[_i]);
    ck_assert_ok(hf_lock_acquire(lock, NULL, NULL));
    ck_assert_str_eq(server_ask(server, "TYPE " NAME), "hash");
    ck_assert_holder(server, lock, hf_owner_thread(), 1);
    ck_assert_int_le(pttl(), 30000);
    ck_assert_int_gt(pttl(), 30000 - LONG_MS);
    ck_assert_str_eq(server_ask(server, "KEYS *"), NAME); /* and nothing else */
    (void)hf_lock_owner_text(lock, hf_owner_thread(), text);
    (void)snprintf(expected, sizeof expected, "%s:%lld",
                   hf_client_uuid(client), (long long)hf_owner_thread());
    ck_assert_int_eq(strncmp(text, expected, strlen(expected)), 0);
    ck_assert_uint_eq(strlen(text), strlen(expected) + 10);
    ck_assert_ok(hf_lock_release(lock, hf_owner_thread(), NULL));
    ck_assert_str_eq(server_ask(server, "KEYS *"), "");
    close_client();
}
END_TEST

START_TEST(a_release_publishes_0_once)
{
    struct feed *feed = feed_open(server, "PSUBSCRIBE *");

    open_client(&ways[_i]);
    acquire(lock, 1);
    acquire(lock, 1);
    release(lock, 1);
    release(lock, 1);
    ck_assert_str_eq(feed_next(feed, AWAIT_MS)->text,
                     "pmessage * " CHANNEL " 0");
    ck_assert_ptr_null(feed_next(feed, 0));
    feed_close(feed);
    close_client();
}
END_TEST

START_TEST(an_owner_may_acquire_again_and_releases_as_often)
{
    char first[HF_OWNER_TEXT_MAX], text[HF_OWNER_TEXT_MAX];
    int64_t count;

    open_client(&ways[_i]);
    for (int n = 1; n <= 5; n++) {
        acquire(lock, 7);
        ck_assert_holder(server, lock, 7, n);
        (void)hf_lock_owner_text(lock, 7, n == 1 ? first : text);
    }
    ck_assert_str_eq(first, text); /* one hold keeps one number */
    for (int n = 4; n >= 1; n--) {
        release(lock, 7);
        ck_assert_holder(server, lock, 7, n);
        ck_assert_ok(hf_lock_hold_count(lock, 7, &count, NULL));
        ck_assert_int_eq(count, n);
    }
    release(lock, 7);
    ck_assert_str_eq(hash_of(server, NAME), "");
    close_client();
}
END_TEST

/* Design 11 a: a late request of one hold cannot touch the next one. */
START_TEST(each_hold_of_an_owner_has_a_number_of_its_own)
{
    char first[HF_OWNER_TEXT_MAX], second[HF_OWNER_TEXT_MAX];

    open_client(&ways[_i]);
    acquire(lock, 7);
    (void)hf_lock_owner_text(lock, 7, first);
    release(lock, 7);
    acquire(lock, 7);
    (void)hf_lock_owner_text(lock, 7, second);
    release(lock, 7);
    ck_assert_str_ne(first, second);
    ck_assert_str_eq(hf_lock_owner_text(lock, 7, first), "");
    close_client();
}
END_TEST

static const int64_t owners[] = {
    1,         1234567890123, INT64_MAX,
    INT64_MIN, -(INT64_C(1) << 48) - 1, -(INT64_C(1) << 48) - 2,
};

static void *release_elsewhere(void *owner)
{
    release(lock, *(const int64_t *)owner);
    return NULL;
}

START_TEST(any_number_except_the_reserved_ones_is_an_owner)
{
    int64_t owner = owners[_i];
    pthread_t thread;

    open_client(&ways[0]);
    acquire(lock, owner);
    ck_assert_holder(server, lock, owner, 1);
    ck_assert_status(try_acquire(lock, owner ^ 2, NULL), HF_TIMEOUT);
    ck_assert_int_eq(
        pthread_create(&thread, NULL, release_elsewhere, &owner), 0);
    (void)pthread_join(thread, NULL);
    ck_assert_str_eq(hash_of(server, NAME), "");
    close_client();
}
END_TEST

static void *new_thread_number(void *out)
{
    *(int64_t *)out = hf_owner_thread();
    return NULL;
}

START_TEST(new_owners_exclude_each_other)
{
    int64_t given[4] = {hf_owner_thread(), hf_owner_new(), hf_owner_new()};
    pthread_t thread;

    (void)pthread_create(&thread, NULL, new_thread_number, &given[3]);
    (void)pthread_join(thread, NULL);
    open_client(&ways[0]);
    for (int i = 0; i < 4; i++) {
        acquire(lock, given[i]);
        for (int j = 0; j < 4; j++)
            ck_assert_status(try_acquire(lock, given[j], NULL),
                             i == j ? HF_OK : HF_TIMEOUT);
        release(lock, given[i]);
        release(lock, given[i]);
    }
    close_client();
}
END_TEST

/* Zeroed options, and numbers that only the library gives. */
START_TEST(acquire_without_a_valid_owner_is_refused)
{
    struct hf_acquire_options zeroed = {.wait_ms = 3000};
    struct hf_acquire_options ownerless = {.size = sizeof ownerless, .wait_ms = 3000};
    struct hf_acquire_options o;
    struct hf_error err;
    struct call call;

    open_client(&ways[0]);
    call_init(&call);
    ck_assert_status(hf_lock_acquire(lock, &zeroed, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "struct hf_acquire_options was not initialised"));
    ck_assert_status(hf_lock_acquire(lock, &ownerless, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "owner is 0"));
    ck_assert_status(hf_lock_acquire_async(lock, &zeroed, call_done, &call),
                     HF_E_INVAL);
    ck_assert_status(hf_lock_acquire_async(lock, &ownerless, call_done, &call),
                     HF_E_INVAL);
    ck_assert_status(hf_lock_with(lock, &ownerless, &(struct hf_scope)HF_SCOPE_INIT,
                                  NULL, &err),
                     HF_E_INVAL);
    ck_assert_status(try_acquire(lock, hf_owner_new() - 2, &err), HF_E_INVAL);
    ck_assert_status(try_acquire(lock, -999999999, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "hf_owner_new"));
    ck_assert_status(hf_lock_acquire_async(lock, NULL, call_done, &call),
                     HF_E_INVAL);
    hf_acquire_options_init(&o);
    ck_assert_int_eq(o.owner, hf_owner_thread());
    ck_assert_status(hf_lock_acquire_async(lock, &o, call_done, &call),
                     HF_E_INVAL);
    ck_assert_str_eq(server_ask(server, "KEYS *"), "");
    close_client();
}
END_TEST

/* Two tasks in one thread: the number of each is its own, and releases it. */
START_TEST(two_tasks_of_one_thread_exclude_each_other)
{
    struct hf_acquire_options o;
    struct call first, second;
    int64_t owner = hf_owner_new();

    open_client(&ways[_i]);
    hf_acquire_options_init(&o);
    o.wait_ms = 0;
    o.owner = owner;
    call_acquire(&first, lock, &o);
    ck_assert_status(call_drive(&first, client), HF_OK);
    o.owner = hf_owner_new();
    call_acquire(&second, lock, &o);
    ck_assert_status(call_drive(&second, client), HF_TIMEOUT);
    ck_assert_holder(server, lock, owner, 1);
    call_release(&second, lock, o.owner);
    ck_assert_status(call_drive(&second, client), HF_NOT_OWNER);
    call_release(&first, lock, owner);
    ck_assert_status(call_drive(&first, client), HF_OK);
    ck_assert_str_eq(hash_of(server, NAME), "");
    close_client();
}
END_TEST

START_TEST(a_lease_is_the_ttl_and_a_reentry_or_partial_release_sets_it)
{
    open_client(&ways[_i]);
    acquire_for(lock, 1, 60000);
    ck_assert_int_gt(pttl(), 60000 - LONG_MS);
    acquire_for(lock, 1, 20000);
    ck_assert_int_le(pttl(), 20000);
    ck_assert_int_gt(pttl(), 20000 - LONG_MS);
    (void)server_ask(server, "PERSIST " NAME);
    release(lock, 1);
    ck_assert_int_gt(pttl(), 0);
    ck_assert_int_le(pttl(), 20000);
    ck_assert_int_gt(pttl(), 20000 - LONG_MS);
    release(lock, 1);
    close_client();
}
END_TEST

START_TEST(owner_without_a_hold_cannot_release)
{
    struct hf_error err;

    open_client(&ways[_i]);
    ck_assert_status(hf_lock_release(lock, 1, &err), HF_NOT_OWNER);
    ck_assert_ptr_nonnull(strstr(err.text, NAME));
    acquire(lock, 1);
    ck_assert_status(hf_lock_release(lock, 2, &err), HF_NOT_OWNER);
    ck_assert_int_eq(err.status, HF_NOT_OWNER);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
    ck_assert_status(hf_lock_release(lock, 1, &err), HF_NOT_OWNER);
    close_client();
}
END_TEST

START_TEST(one_try_on_a_held_lock_names_the_holder_after_one_request)
{
    struct hf_error err;
    long long calls;

    open_client(&ways[_i]);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    ck_assert_status(try_acquire(lock, 1, &err), HF_TIMEOUT); /* by text now */
    calls = script_calls(server);
    ck_assert_status(try_acquire(lock, 1, &err), HF_TIMEOUT);
    ck_assert_int_eq(script_calls(server), calls + 1);
    ck_assert_int_eq(err.status, HF_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(err.text, LUA_HOLDER));
    ck_assert_ptr_nonnull(strstr(err.text, NAME));
    ck_assert_str_eq(server_ask(server, "PUBSUB CHANNELS"), "");
    ck_assert_str_eq(hash_of(server, NAME), LUA_HOLDER " 1");
    close_client();
}
END_TEST

START_TEST(an_uncontended_pair_is_two_commands)
{
    uint64_t before;

    open_client(&ways[_i]);
    acquire(lock, 1);
    release(lock, 1); /* the scripts are known now */
    before = stats_of(client).link.requests;
    acquire(lock, 1);
    release(lock, 1);
    ck_assert_uint_eq(stats_of(client).link.requests, before + 2);
    close_client();
}
END_TEST

/* ---- asking ---- */

START_TEST(inspection_matches_the_server)
{
    struct hf_lock_info info;
    char text[HF_OWNER_TEXT_MAX];
    int64_t ms, count;
    bool yes;

    open_client(&ways[_i]);
    acquire(lock, 5);
    acquire(lock, 5);
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert(info.is_locked);
    ck_assert_str_eq(info.holder, hf_lock_owner_text(lock, 5, text));
    ck_assert_uint_eq(info.holder_len, strlen(text));
    ck_assert_int_eq(info.hold_count, 2);
    ck_assert_int_le(info.ttl_ms, 30000);
    ck_assert_int_gt(info.ttl_ms, 30000 - LONG_MS);
    ck_assert_ok(hf_lock_is_locked(lock, &yes, NULL));
    ck_assert(yes);
    ck_assert_ok(hf_lock_remaining_ms(lock, &ms, NULL));
    ck_assert_int_gt(ms, 30000 - LONG_MS);
    ck_assert_ok(hf_lock_is_held_by(lock, 5, &yes, NULL));
    ck_assert(yes);
    ck_assert_ok(hf_lock_hold_count(lock, 5, &count, NULL));
    ck_assert_int_eq(count, 2);
    ck_assert_ok(hf_lock_is_held_by(lock, 6, &yes, NULL));
    ck_assert(!yes);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 5), 30000 - LONG_MS);
    ck_assert_int_eq(hf_lock_safe_ms(lock, 6), INT64_MIN);
    release(lock, 5);
    release(lock, 5);
    close_client();
}
END_TEST

START_TEST(a_free_lock_is_seen_as_free)
{
    struct hf_lock_info info;
    int64_t ms, count;
    bool yes;

    open_client(&ways[_i]);
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert(!info.is_locked);
    ck_assert_int_eq(info.ttl_ms, -2);
    ck_assert_int_eq(info.hold_count, 0);
    ck_assert_str_eq(info.holder, "");
    ck_assert_ok(hf_lock_is_locked(lock, &yes, NULL));
    ck_assert(!yes);
    ck_assert_ok(hf_lock_remaining_ms(lock, &ms, NULL));
    ck_assert_int_eq(ms, -2);
    ck_assert_ok(hf_lock_is_held_by(lock, 5, &yes, NULL));
    ck_assert(!yes);
    ck_assert_ok(hf_lock_hold_count(lock, 5, &count, NULL));
    ck_assert_int_eq(count, 0);
    close_client();
}
END_TEST

/* Locks that others made: what they look like. */
static const struct {
    const char *question;       /* that makes it */
    const char *holder;
    int64_t count, ttl_ms;
} strangers[] = {
    {"HSET " NAME " " LUA_HOLDER " 3", LUA_HOLDER, 3, -1},
    {"HSET " NAME " mode write " LUA_HOLDER ":write 2", LUA_HOLDER ":write", 2,
     -1},
    {"HSET " NAME " mode read", "", 0, -1},
};

START_TEST(inspection_of_a_lock_of_another_client_matches_the_server)
{
    struct hf_lock_info info;
    struct hf_error err = {0};

    open_client(&ways[0]);
    (void)server_ask(server, strangers[_i].question);
    ck_assert_msg(hf_lock_inspect(lock, &info, &err) == HF_OK, "%s", err.text);
    ck_assert(info.is_locked);
    ck_assert_str_eq(info.holder, strangers[_i].holder);
    ck_assert_int_eq(info.hold_count, strangers[_i].count);
    ck_assert_int_eq(info.ttl_ms, strangers[_i].ttl_ms);
    ck_assert_status(try_acquire(lock, 1, &err), HF_TIMEOUT);
    close_client();
}
END_TEST

/* 130 readers and more: the server no longer keeps the fields in order. */
START_TEST(a_read_lock_of_many_is_one_wherever_the_server_looks)
{
    struct hf_lock_info info;
    struct hf_error err;

    open_client(&ways[0]);
    (void)server_ask(server, "HSET " NAME " mode read");
    for (int i = 0; i < 700; i++)
        (void)server_ask(server, "HSET " NAME " " LUA_HOLDER "%d 1", i);
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert_int_eq(info.kind, HF_KIND_READ);
    ck_assert_int_eq(info.holders, 700);
    ck_assert_int_eq(info.hold_count, 1);
    ck_assert_status(try_acquire(lock, 1, &err), HF_TIMEOUT);
    ck_assert_status(hf_lock_force_release(lock, NULL, 0, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "read-write lock"));
    ck_assert_str_eq(server_ask(server, "HLEN " NAME), "701");
    close_client();
}
END_TEST

/* An empty owner is nobody, not everybody. */
START_TEST(forced_release_of_an_invalid_owner_is_refused)
{
    static const struct {
        const char *text;
        size_t len;
    } nobodies[] = {{"", 0}, {"x", 1}, {LUA_HOLDER "\0", sizeof LUA_HOLDER}};
    struct hf_error err;
    struct call call;

    open_client(&ways[0]);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    for (int i = 0; i < 3; i++) {
        ck_assert_status(hf_lock_force_release(lock, nobodies[i].text,
                                               nobodies[i].len, &err),
                         HF_E_INVAL);
        ck_assert_ptr_nonnull(strstr(err.text, "invalid owner"));
        ck_assert_status(hf_lock_force_release_async(lock, nobodies[i].text,
                                                     nobodies[i].len,
                                                     call_done, &call),
                         HF_E_INVAL);
    }
    ck_assert_str_eq(server_ask(server, "HGET " NAME " " LUA_HOLDER), "1");
    close_client();
}
END_TEST

/* ---- force ---- */

/* A count of 18 digits is the greatest that a client reads. */
static const struct {
    const char *count;
    bool is_lock;
} counts[] = {{"1", true},
              {"100000000000000000", true},
              {"999999999999999999", true},
              {"1000000000000000000", false},
              {"9223372036854775808", false},
              {"0000000000000000001", false}};

START_TEST(force_frees_no_hash_with_a_count_beyond_18_digits)
{
    struct hf_error err = {0};
    bool is_lock = counts[_i].is_lock;

    open_client(&ways[0]);
    (void)server_ask(server, "HSET " NAME " " LUA_HOLDER " %s",
                     counts[_i].count);
    ck_assert_status(hf_lock_force_release(lock, NULL, 0, &err),
                     is_lock ? HF_OK : HF_E_SERVER);
    ck_assert_int_eq(strstr(err.text, "is not a lock") != NULL, !is_lock);
    ck_assert_str_eq(server_ask(server, "EXISTS " NAME), is_lock ? "0" : "1");
    close_client();
}
END_TEST

START_TEST(force_frees_any_holder_and_notifies_the_channel)
{
    struct feed *feed = feed_open(server, "SUBSCRIBE " CHANNEL);

    open_client(&ways[_i]);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    ck_assert_ok(hf_lock_force_release(lock, NULL, 0, NULL));
    ck_assert_str_eq(hash_of(server, NAME), "");
    ck_assert_str_eq(feed_next(feed, AWAIT_MS)->text, "message " CHANNEL " 0");
    ck_assert_status(hf_lock_force_release(lock, NULL, 0, NULL), HF_NOT_OWNER);
    ck_assert_ptr_null(feed_next(feed, 0));
    feed_close(feed);
    close_client();
}
END_TEST

START_TEST(force_with_a_holder_frees_only_from_that_one)
{
    struct hf_error err;

    open_client(&ways[_i]);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    ck_assert_status(hf_lock_force_release(lock, LUA_HOLDER_2,
                                           strlen(LUA_HOLDER_2), &err),
                     HF_NOT_OWNER);
    ck_assert_ptr_nonnull(strstr(err.text, NAME));
    ck_assert_str_eq(hash_of(server, NAME), LUA_HOLDER " 1");
    ck_assert_ok(
        hf_lock_force_release(lock, LUA_HOLDER, strlen(LUA_HOLDER), NULL));
    ck_assert_str_eq(hash_of(server, NAME), "");
    close_client();
}
END_TEST

/* The server does not know the scripts, so the question goes out twice: the
 * second time long after the call has returned. */
START_TEST(force_without_blocking_does_not_need_the_holders_text_any_more)
{
    char holder[] = LUA_HOLDER;
    struct call call;

    open_client(&ways[_i]);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    call_init(&call);
    ck_assert_ok(hf_lock_force_release_async(lock, holder, strlen(holder),
                                             call_done, &call));
    memset(holder, 'x', sizeof holder);
    ck_assert_status(call_drive(&call, client), HF_OK);
    ck_assert_str_eq(hash_of(server, NAME), "");
    close_client();
}
END_TEST

START_TEST(a_forced_holder_learns_of_it_when_it_releases)
{
    open_client(&ways[_i]);
    acquire(lock, 1);
    ck_assert_ok(hf_lock_force_release(lock, NULL, 0, NULL));
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    close_client();
}
END_TEST

START_TEST(a_reentry_does_not_restore_a_lost_hold)
{
    struct hf_acquire_options o;
    struct diary diary;

    open_client(&ways[0]);
    o = diary_options(&diary, 1);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    (void)server_ask(server, "DEL " NAME);
    if (_i == 1)
        (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    ck_assert_status(hf_lock_acquire(lock, &o, NULL), HF_LOST);
    ck_assert_int_eq(diary_await_loss(&diary),
                     _i == 1 ? HF_REASON_TAKEN : HF_REASON_DELETED);
    ck_assert_str_eq(hash_of(server, NAME), _i == 1 ? LUA_HOLDER " 1" : "");
    ck_assert_status(hf_lock_acquire(lock, &o, NULL), HF_LOST);
    ck_assert_int_eq(hf_lock_safe_ms(lock, 1), INT64_MIN);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    ck_assert_int_eq(diary.losses, 1);
    close_client();
}
END_TEST

/* ---- names ---- */

#define BYTES(text) text, sizeof text - 1

static char long_name[HF_LOCK_NAME_MAX + 1];

static const struct {
    const char *name;
    size_t len;
} names[] = {
    {BYTES("x")},
    {BYTES("a name with spaces, 100 % of them")},
    {BYTES("shop{eu}lock")},
    {BYTES("{")},
    {BYTES("}")},
    {BYTES("a{b")},
    {BYTES("a}b{")},
    {BYTES("{}x")},
    {BYTES("a\0b")},
    {BYTES("\0")},
    {BYTES("\r\n*1\r\n$8\r\nFLUSHALL\r\n")},
    {BYTES("\xff\xfe\x80")},
    {BYTES("schl\xc3\xbcssel")},
    {BYTES("mode")},
    {long_name, HF_LOCK_NAME_MAX},
};

static const char *exists(const char *name, size_t len)
{
    return server_ask(server, "EXISTS %b", name, len);
}

/* Taken, contended, passed on by a message, released: to us and to Redisson. */
START_TEST(any_bytes_are_a_name)
{
    const char *name = names[_i].name;
    size_t len = names[_i].len, given_len;
    struct hf_acquire_options o = acquire_options(2);
    struct hf_lock *named;
    struct call waiter;

    memset(long_name, 'n', sizeof long_name);
    open_client(&ways[0]);
    named = lock_named(client, name, len);
    ck_assert_mem_eq(hf_lock_name(named, &given_len), name, len);
    ck_assert_uint_eq(given_len, len);
    ck_assert_int_eq(hf_lock_name(named, NULL)[len], '\0');
    acquire(named, 1);
    ck_assert_str_eq(exists(name, len), "1");
    ck_assert_str_ne(lua_acquire(server, name, len, LUA_HOLDER, 9000), "(nil)");
    release(named, 1);
    ck_assert_str_eq(exists(name, len), "0");

    ck_assert_str_eq(lua_acquire(server, name, len, LUA_HOLDER, 60000),
                     "(nil)");
    call_acquire(&waiter, named, &o);
    while (strcmp(server_ask(server, "PUBSUB CHANNELS"), "") == 0)
        local_poll_rest();
    ck_assert_str_eq(lua_release(server, name, len, LUA_HOLDER, 30000), "1");
    ck_assert_status(call_await(&waiter), HF_OK);
    release(named, 2);
    ck_assert_str_eq(exists(name, len), "0");
    hf_lock_free(named);
    close_client();
}
END_TEST

START_TEST(a_name_has_one_byte_at_least_and_64_kib_at_most)
{
    struct hf_lock *none = NULL;
    struct hf_error err = {0};

    open_client(&ways[0]);
    ck_assert_status(hf_lock_new(&none, client, "", 0, &err), HF_E_INVAL);
    ck_assert_str_ne(err.text, "");
    ck_assert_status(hf_lock_new(&none, client, long_name,
                                 HF_LOCK_NAME_MAX + 1, &err),
                     HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "65536"));
    ck_assert_ptr_null(none);
    close_client();
}
END_TEST

START_TEST(handles_on_one_name_share_everything)
{
    struct hf_lock *twin;

    open_client(&ways[0]);
    twin = lock_of(client, NAME);
    acquire(lock, 1);
    acquire(twin, 1);
    ck_assert_holder(server, twin, 1, 2);
    release(lock, 1);
    hf_lock_free(lock); /* holds go on */
    lock = lock_of(client, NAME);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
    hf_lock_free(twin);
    close_client();
}
END_TEST

START_TEST(thousands_of_names_are_kept_apart)
{
    struct hf_lock *many[3000];
    char name[20];

    open_client(&ways[0]);
    for (int i = 0; i < COUNT(many); i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        many[i] = lock_of(client, name);
    }
    for (int i = 0; i < COUNT(many); i += 100)
        acquire(many[i], i + 1);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), COUNT(many) / 100);
    ck_assert_uint_eq(stats_of(client).holds, COUNT(many) / 100);
    for (int i = 0; i < COUNT(many); i += 100)
        release(many[i], i + 1);
    for (int i = 0; i < COUNT(many); i++)
        hf_lock_free(many[i]);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
    close_client();
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "acquire and release", start_server, stop_server);

    add_in_all_ways(c, an_acquired_lock_is_stored_as_redisson_stores_it);
    add_in_all_ways(c, a_release_publishes_0_once);
    add_in_all_ways(c, an_owner_may_acquire_again_and_releases_as_often);
    add_in_all_ways(c, each_hold_of_an_owner_has_a_number_of_its_own);
    tcase_add_loop_test(c, any_number_except_the_reserved_ones_is_an_owner, 0,
                        COUNT(owners));
    tcase_add_test(c, new_owners_exclude_each_other);
    tcase_add_test(c, acquire_without_a_valid_owner_is_refused);
    add_in_all_ways(c, two_tasks_of_one_thread_exclude_each_other);
    add_in_all_ways(c, a_lease_is_the_ttl_and_a_reentry_or_partial_release_sets_it);
    add_in_all_ways(c, owner_without_a_hold_cannot_release);
    add_in_all_ways(c, one_try_on_a_held_lock_names_the_holder_after_one_request);
    add_in_all_ways(c, an_uncontended_pair_is_two_commands);

    c = live_case(s, "asking and force", start_server, stop_server);
    add_in_all_ways(c, inspection_matches_the_server);
    add_in_all_ways(c, a_free_lock_is_seen_as_free);
    tcase_add_loop_test(c, inspection_of_a_lock_of_another_client_matches_the_server, 0,
                        COUNT(strangers));
    tcase_add_test(c, a_read_lock_of_many_is_one_wherever_the_server_looks);
    tcase_add_test(c, forced_release_of_an_invalid_owner_is_refused);
    tcase_add_loop_test(c, force_frees_no_hash_with_a_count_beyond_18_digits, 0,
                        COUNT(counts));
    add_in_all_ways(c, force_frees_any_holder_and_notifies_the_channel);
    add_in_all_ways(c, force_with_a_holder_frees_only_from_that_one);
    add_in_all_ways(c, force_without_blocking_does_not_need_the_holders_text_any_more);
    add_in_all_ways(c, a_forced_holder_learns_of_it_when_it_releases);
    tcase_add_loop_test(c, a_reentry_does_not_restore_a_lost_hold, 0, 2);

    c = live_case(s, "names", start_server, stop_server);
    tcase_add_loop_test(c, any_bytes_are_a_name, 0, COUNT(names));
    tcase_add_test(c, a_name_has_one_byte_at_least_and_64_kib_at_most);
    tcase_add_test(c, handles_on_one_name_share_everything);
    tcase_add_test(c, thousands_of_names_are_kept_apart);
}

int main(void)
{
    return live_main("lock", add_cases);
}
