/* The semaphore: permits that nobody owns, each taken and given back once. WIRE
 * 15. */
#include "lock/latch.h"
#include "lock/script/scripts.h"
#include "lock/semaphore.h"

#include <stdatomic.h>

#include "tests/live/test_acl.h"
#include "tests/support/lateness.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

#define POOL "pool"
#define CHANNEL_OF_POOL "redisson_sc:{pool}"
/* Sooner than a waiter would ask by itself. */
#define TOLD_MS 2000

static struct hf_client *client, *other;
static struct hf_semaphore *pool, *pool_of_other;

static struct hf_semaphore *semaphore_of(struct hf_client *of, const char *name)
{
    struct hf_semaphore *new = NULL;

    ck_assert_ok(hf_semaphore_new(&new, of, name, strlen(name), NULL));
    return new;
}

static void start(void)
{
    start_server();
    client = client_timed(server_port(server), 60000, 5000);
    other = client_timed(server_port(server), 60000, 5000);
    pool = semaphore_of(client, POOL);
    pool_of_other = semaphore_of(other, POOL);
}

static void stop(void)
{
    hf_client_free(client);
    hf_client_free(other);
    stop_server();
}

static struct hf_client *eves_client(const char *rule, int64_t request_timeout_ms)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX], text[100];

    (void)snprintf(text, sizeof text, "ACL SETUSER eve on nopass %s", rule);
    (void)server_ask(server, text);
    client_options(&o, url, server_port(server));
    o.user = "eve";
    o.password = "any";
    o.request_timeout_ms = request_timeout_ms;
    o.connect_timeout_ms = 2000;
    return client_with(&o);
}

static void set_permits(int64_t permits)
{
    (void)server_ask(server, "SET " POOL " %lld", (long long)permits);
}

static void take(struct hf_semaphore *of, int64_t permits)
{
    ck_assert_ok(hf_semaphore_acquire(of, permits, HF_FOREVER, NULL, NULL));
}

static void give(struct hf_semaphore *of, int64_t permits)
{
    ck_assert_ok(hf_semaphore_release(of, permits, NULL));
}

static hf_status try_take(struct hf_semaphore *of, int64_t permits)
{
    return hf_semaphore_acquire(of, permits, 0, NULL, NULL);
}

static void call_take(struct call *call, struct hf_semaphore *of,
                      int64_t permits, int64_t wait_ms,
                      struct hf_cancel *cancel)
{
    call_init(call);
    ck_assert_ok(hf_semaphore_acquire_async(of, permits, wait_ms, cancel,
                                            call_done, call));
}

static void await_listeners(int count)
{
    await_subscribers(server, CHANNEL_OF_POOL, count);
}

#define ck_assert_available(expected)                                         \
    ck_assert_str_eq(server_ask(server, "GET " POOL), #expected)

/* Nothing but the semaphore is left. */
static void await_no_answers(void)
{
    server_await(server, LONG_MS, POOL, "KEYS *");
}

/* ---- one call ---- */

/* It is that of Redisson's trySetPermits(permits, ttl): no call changes it. */
START_TEST(semaphore_expires_with_its_ttl)
{
    bool was_set = false;
    int64_t taken;

    ck_assert_ok(hf_semaphore_try_set_permits_ttl(pool, 3, 60000, &was_set, NULL));
    ck_assert(was_set);
    ck_assert_ok(hf_semaphore_try_set_permits_ttl(pool_of_other, 3, 1000, &was_set, NULL));
    ck_assert(!was_set);
    take(pool, 2);
    ck_assert_ok(hf_semaphore_release(pool, 1, NULL));
    ck_assert_ok(hf_semaphore_reduce(pool, 1, NULL, NULL));
    ck_assert_ok(hf_semaphore_drain(pool, &taken, NULL));
    ck_assert_int_eq(taken, 1);
    ck_assert_int_gt(server_ask_int(server, "PTTL " POOL), 1000);
    (void)server_ask(server, "PEXPIRE " POOL " 1");
    server_await(server, LONG_MS, "0", "EXISTS " POOL);
    ck_assert_status(hf_semaphore_acquire(pool, 1, 0, NULL, NULL), HF_TIMEOUT);
}
END_TEST

static const int64_t no_ttls[] = {0, -1, HF_SPAN_MAX_MS + 1};

START_TEST(invalid_ttl_is_refused)
{
    bool was_set = false;
    struct call call;

    ck_assert_status(hf_semaphore_try_set_permits_ttl(pool, 3, no_ttls[_i], &was_set, NULL),
                     HF_E_INVAL);
    call_init(&call);
    ck_assert_status(hf_semaphore_try_set_permits_ttl_async(pool, 3, no_ttls[_i], &was_set,
                                                            call_done, &call), HF_E_INVAL);
    ck_assert_ok(hf_semaphore_try_set_permits_ttl_async(pool, 3, 60000, &was_set, call_done,
                                                        &call));
    ck_assert_ok(call_await(&call));
    ck_assert(was_set);
    ck_assert_int_gt(server_ask_int(server, "PTTL " POOL), 1000);
}
END_TEST

START_TEST(permits_are_set_once)
{
    bool was_set = false;
    int64_t available = -1;

    ck_assert_ok(hf_semaphore_available(pool, &available, NULL));
    ck_assert_int_eq(available, 0);
    was_set = true;
    ck_assert_ok(hf_semaphore_inspect(pool, &available, &was_set, NULL));
    ck_assert_int_eq(available, 0);
    ck_assert(!was_set);
    ck_assert_ok(hf_semaphore_try_set_permits(pool, 3, &was_set, NULL));
    ck_assert(was_set);
    ck_assert_ok(hf_semaphore_try_set_permits(pool_of_other, 9, &was_set, NULL));
    ck_assert(!was_set);
    ck_assert_ok(hf_semaphore_available(pool_of_other, &available, NULL));
    ck_assert_int_eq(available, 3);
    ck_assert_available(3);
    set_permits(0);
    ck_assert_ok(hf_semaphore_inspect(pool, &available, &was_set, NULL));
    ck_assert_int_eq(available, 0);
    ck_assert(was_set);
    ck_assert_ok(hf_semaphore_inspect(pool, &available, NULL, NULL));
    await_no_answers();
}
END_TEST

START_TEST(permits_are_acquired_all_or_none)
{
    set_permits(3);
    ck_assert_status(try_take(pool, 4), HF_TIMEOUT);
    ck_assert_available(3);
    ck_assert_ok(try_take(pool, 2));
    ck_assert_status(try_take(pool, 2), HF_TIMEOUT);
    ck_assert_ok(try_take(pool_of_other, 1));
    ck_assert_available(0);
    give(pool, 3); /* also what the other took */
    ck_assert_available(3);
    await_no_answers();
}
END_TEST

START_TEST(release_makes_a_semaphore_that_is_not_there)
{
    ck_assert_status(try_take(pool, 1), HF_TIMEOUT);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " POOL), 0);
    give(pool, 2);
    ck_assert_available(2);
    await_no_answers();
}
END_TEST

static int64_t drain(struct hf_semaphore *of)
{
    int64_t taken = -1;

    ck_assert_ok(hf_semaphore_drain(of, &taken, NULL));
    return taken;
}

START_TEST(permits_are_removed_also_below_0)
{
    ck_assert_int_eq(drain(pool), 0);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " POOL), 0);
    set_permits(3);
    ck_assert_ok(hf_semaphore_reduce(pool, 2, NULL, NULL));
    ck_assert_available(1);
    ck_assert_ok(hf_semaphore_reduce(pool_of_other, 5, NULL, NULL));
    ck_assert_available(-4);
    ck_assert_int_eq(drain(pool), 0);
    ck_assert_available(-4);
    ck_assert_status(try_take(pool, 1), HF_TIMEOUT);
    give(pool, 6);
    ck_assert_int_eq(drain(pool_of_other), 2);
    ck_assert_available(0);
    await_no_answers();
}
END_TEST

/* Neither the one nor the other creates a semaphore, and both say so. */
START_TEST(semaphore_that_does_not_exist_is_not_changed)
{
    bool existed = true;

    ck_assert_ok(hf_semaphore_reduce(pool, 2, &existed, NULL));
    ck_assert(!existed);
    existed = true;
    ck_assert_ok(hf_semaphore_release_if_exists(pool, 2, &existed, NULL));
    ck_assert(!existed);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " POOL), 0);
    set_permits(3);
    ck_assert_ok(hf_semaphore_release_if_exists(pool, 2, &existed, NULL));
    ck_assert(existed);
    existed = false;
    ck_assert_ok(hf_semaphore_reduce(pool_of_other, 1, &existed, NULL));
    ck_assert(existed);
    ck_assert_available(4);
    await_no_answers();
}
END_TEST

START_TEST(waiter_is_woken_by_what_is_added)
{
    struct call call;

    set_permits(0);
    call_take(&call, pool_of_other, 2, HF_FOREVER, NULL);
    await_listeners(1);
    ck_assert_ok(hf_semaphore_release_if_exists(pool, 2, NULL, NULL));
    ck_assert_ok(call_await(&call));
    ck_assert_available(0);
}
END_TEST

/* Nothing else is deleted: the key of another program, or of another name. */
START_TEST(deleted_semaphore_can_be_set_again)
{
    bool was_deleted = true, was_set = false;

    ck_assert_ok(hf_semaphore_delete(pool, &was_deleted, NULL));
    ck_assert(!was_deleted);
    set_permits(3);
    (void)server_ask(server, "SET {" POOL "}:timeout 1");
    ck_assert_ok(hf_semaphore_delete(pool_of_other, &was_deleted, NULL));
    ck_assert(was_deleted);
    server_await(server, LONG_MS, "{" POOL "}:timeout", "KEYS *");
    ck_assert_ok(hf_semaphore_try_set_permits(pool, 2, &was_set, NULL));
    ck_assert(was_set);
    ck_assert_ok(hf_semaphore_delete(pool, NULL, NULL));
    ck_assert_int_eq(server_ask_int(server, "EXISTS " POOL), 0);
}
END_TEST

/* Permits with owners have the same count. Those that have expired end with it: they would be
 * added to the next semaphore of that name. */
START_TEST(semaphore_with_expirable_permits_in_use_is_not_deleted)
{
    struct hf_acquire_options options;
    struct hf_lock *permit;
    struct hf_error err = {0};
    bool was_deleted = true;

    hf_acquire_options_init(&options);
    options.owner = 1;
    options.lease_ms = LONG_MS;
    ck_assert_ok(hf_lock_new_kind(&permit, client, HF_KIND_PERMIT, POOL, strlen(POOL), NULL));
    set_permits(2);
    ck_assert_ok(hf_lock_acquire(permit, &options, NULL));
    (void)server_ask(server, "DECR " POOL);
    (void)server_ask(server, "ZADD {" POOL "}:timeout 1 expired");
    ck_assert_status(hf_semaphore_delete(pool_of_other, &was_deleted, &err), HF_IN_USE);
    ck_assert(!was_deleted);
    ck_assert_ptr_nonnull(strstr(err.text, "expirable permits of this name are in use: 1"));
    ck_assert_str_eq(server_ask(server, "GET " POOL), "0");
    ck_assert_ok(hf_lock_release(permit, 1, NULL));
    ck_assert_int_eq(server_ask_int(server, "ZCARD {" POOL "}:timeout"), 1);
    ck_assert_ok(hf_semaphore_delete(pool_of_other, &was_deleted, NULL));
    ck_assert(was_deleted);
    server_await(server, LONG_MS, "", "KEYS *");
    hf_lock_free(permit);
}
END_TEST

START_TEST(ttl_of_redissons_is_kept)
{
    (void)server_ask(server, "SET " POOL " 3 PX 60000");
    take(pool, 1);
    give(pool, 1);
    ck_assert_ok(hf_semaphore_reduce(pool, 1, NULL, NULL));
    ck_assert_int_eq(drain(pool), 2);
    ck_assert_int_gt(server_ask_int(server, "PTTL " POOL), 0);
}
END_TEST

START_TEST(numbers_and_waits_out_of_range_are_refused)
{
    static const int64_t numbers[] = {-1, 0, HF_PERMITS_MAX + 1, INT64_MAX};
    struct hf_error err;
    bool was_set;

    for (int i = 0; i < COUNT(numbers); i++) {
        ck_assert_status(
            hf_semaphore_acquire(pool, numbers[i], 0, NULL, &err), HF_E_INVAL);
        ck_assert_status(hf_semaphore_release(pool, numbers[i], &err),
                         HF_E_INVAL);
        ck_assert_status(hf_semaphore_reduce(pool, numbers[i], NULL, &err), HF_E_INVAL);
    }
    ck_assert_status(hf_semaphore_try_set_permits(pool, -1, &was_set, &err),
                     HF_E_INVAL);
    ck_assert_status(hf_semaphore_acquire(pool, 1, -2, NULL, &err), HF_E_INVAL);
    ck_assert_status(
        hf_semaphore_acquire(pool, 1, HF_SPAN_MAX_MS + 1, NULL, &err),
        HF_E_INVAL);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " POOL), 0);
}
END_TEST

START_TEST(name_is_checked)
{
    struct hf_semaphore *none = NULL;
    struct hf_error err;

    ck_assert_status(hf_semaphore_new(&none, client, "", 0, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "semaphore's name"));
    ck_assert_ptr_null(none);
    hf_semaphore_free(NULL);
}
END_TEST

static const char *const others_data[] = {"HSET " POOL " a b", "SET " POOL " x",
                                          "RPUSH " POOL " 5"};

START_TEST(key_that_is_not_a_semaphore_is_left_alone)
{
    struct hf_error err;
    const char *dump;
    int64_t out;

    (void)server_ask(server, others_data[_i]);
    dump = server_ask(server, "DUMP " POOL);
    ck_assert_status(hf_semaphore_acquire(pool, 1, HF_FOREVER, NULL, &err),
                     HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, POOL));
    ck_assert_status(hf_semaphore_release(pool, 1, &err), HF_E_SERVER);
    ck_assert_int_lt(hf_semaphore_available(pool, &out, &err), 0);
    ck_assert_str_eq(server_ask(server, "DUMP " POOL), dump);
    await_no_answers();
}
END_TEST

/* What the client does by itself: deleting answers that nobody needs. */
START_TEST(no_call_is_under_way_when_all_have_ended)
{
    struct hf_client_closed closed;
    struct hf_client_options o;
    struct hf_semaphore *of;
    struct hf_error err = {0};
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.waiters_max = (uint32_t)_i + 1;
    hf_client_free(other);
    other = client_with(&o);
    of = semaphore_of(other, POOL);
    set_permits(5);
    for (int i = 0; i < 20; i++) {
        take(of, 1);
        ck_assert_uint_eq(stats_of(other).waiters, 0);
        give(of, 1);
    }
    await_no_answers();
    take(of, 1);
    ck_assert_msg(hf_client_close(other, 0, &closed, &err) == HF_OK, "%s",
                  err.text);
    ck_assert_uint_eq(closed.cancelled + closed.unknown, 0);
}
END_TEST

/* ---- waiting ---- */

START_TEST(release_elsewhere_wakes_a_waiter)
{
    struct hf_error err = {0};
    struct call call;
    int64_t from_ms;

    set_permits(0);
    call_take(&call, pool, 2, HF_FOREVER, NULL);
    await_listeners(1);
    give(pool_of_other, 1);
    ck_assert_status(hf_semaphore_acquire(pool_of_other, 2, SET_UP_MS, NULL, &err),
                     HF_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(err.text, "semaphore '" POOL "': timed out"));
    ck_assert(!call_is_done(&call));
    give(pool_of_other, 1);
    from_ms = local_now_ms();
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_within(from_ms, TOLD_MS);
    ck_assert_available(0);
    await_listeners(0);
    await_no_answers();
}
END_TEST

/* 17 and more would be a crowd's number, were it a lock's message. */
START_TEST(message_may_be_any_number)
{
    struct call call;
    int64_t from_ms;

    set_permits(0);
    call_take(&call, pool, 1, HF_FOREVER, NULL);
    await_listeners(1);
    from_ms = local_now_ms();
    give(pool_of_other, _i == 0 ? 1000 : HF_PERMITS_MAX);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_within(from_ms, TOLD_MS);
}
END_TEST

START_TEST(one_release_wakes_as_many_as_it_serves)
{
    struct call here[3], there[3];

    set_permits(0);
    for (int i = 0; i < COUNT(here); i++) {
        call_take(&here[i], pool, 1, HF_FOREVER, NULL);
        call_take(&there[i], pool_of_other, 1, HF_FOREVER, NULL);
    }
    await_listeners(2);
    give(pool, COUNT(here) + COUNT(there));
    for (int i = 0; i < COUNT(here); i++) {
        ck_assert_status(call_await(&here[i]), HF_OK);
        ck_assert_status(call_await(&there[i]), HF_OK);
    }
    ck_assert_available(0);
    await_no_answers();
}
END_TEST

START_TEST(permits_that_are_set_wake_waiters)
{
    struct call call;
    bool was_set;
    int64_t from_ms;

    call_take(&call, pool, 1, HF_FOREVER, NULL);
    await_listeners(1);
    from_ms = local_now_ms();
    ck_assert_ok(hf_semaphore_try_set_permits(pool_of_other, 1, &was_set, NULL));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_within(from_ms, TOLD_MS);
}
END_TEST

/* Where Redisson would wait for ever. */
START_TEST(message_that_never_comes_costs_seconds)
{
    struct call call;

    set_permits(0);
    call_take(&call, pool, 1, HF_FOREVER, NULL);
    await_listeners(1);
    set_permits(1);
    ck_assert_status(call_await(&call), HF_OK);
}
END_TEST

/* Where it may not subscribe, it asks each second; but not for what is given here. */
START_TEST(local_release_serves_a_waiter_without_messages)
{
    struct hf_client *deaf = eves_client("~* &* +@all -subscribe", LONG_MS);
    struct hf_semaphore *of = semaphore_of(deaf, POOL);
    struct call call;
    int64_t from_ms;

    set_permits(0);
    call_take(&call, of, 1, HF_FOREVER, NULL);
    local_rest_us(A_MOMENT_MS * 1000);
    from_ms = local_now_ms();
    give(of, 1);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_within(from_ms, 500);
    hf_client_free(deaf);
}
END_TEST

/* COUNT-3: One that holds permits and wants one more does not wait behind a great wish
 * that only its own release can fulfil. */
START_TEST(fewer_permits_go_before_more)
{
    struct call great, small;

    set_permits(2);
    take(pool, 1);
    call_take(&great, pool, 2, HF_FOREVER, NULL);
    await_listeners(1);
    call_take(&small, pool, 1, HF_FOREVER, NULL);
    ck_assert_status(call_await(&small), HF_OK);
    ck_assert(!call_is_done(&great));
    give(pool, 2);
    ck_assert_status(call_await(&great), HF_OK);
    ck_assert_available(0);
}
END_TEST

START_TEST(equal_wishes_are_served_in_their_order)
{
    struct call calls[5];

    set_permits(0);
    for (int i = 0; i < COUNT(calls); i++)
        call_take(&calls[i], pool, 2, HF_FOREVER, NULL);
    await_listeners(1);
    for (int i = 0; i < COUNT(calls); i++) {
        give(pool_of_other, 2);
        ck_assert_status(call_await(&calls[i]), HF_OK);
        for (int j = i + 1; j < COUNT(calls); j++)
            ck_assert(!call_is_done(&calls[j]));
    }
}
END_TEST

START_TEST(wait_ends_by_its_time_a_cancel_or_the_close)
{
    struct hf_client_closed closed;
    struct hf_cancel cancel;
    struct call timed, cancelled, closing;

    set_permits(0);
    hf_cancel_init(&cancel, client);
    call_take(&timed, pool, 1, SET_UP_MS, NULL);
    call_take(&cancelled, pool, 1, HF_FOREVER, &cancel);
    call_take(&closing, pool, 1, HF_FOREVER, NULL);
    ck_assert_status(call_await(&timed), HF_TIMEOUT);
    hf_cancel_fire(&cancel);
    ck_assert_status(call_await(&cancelled), HF_CANCELLED);
    ck_assert_status(
        hf_semaphore_acquire(pool, 1, HF_FOREVER, &cancel, NULL),
        HF_CANCELLED);
    ck_assert_ok(hf_client_close(client, LONG_MS, &closed, NULL));
    ck_assert_status(call_await(&closing), HF_E_CLOSED);
    ck_assert_status(try_take(pool, 1), HF_E_CLOSED);
    give(pool_of_other, 1);
    ck_assert_available(1);
}
END_TEST

/* ---- without blocking ---- */

START_TEST(calls_without_blocking_return_the_same)
{
    struct call call;
    bool was_set = false;
    int64_t available = 0;

    call_init(&call);
    ck_assert_ok(hf_semaphore_try_set_permits_async(pool, 4, &was_set,
                                                    call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert(was_set);
    call_take(&call, pool, 3, 0, NULL);
    ck_assert_status(call_await(&call), HF_OK);
    call_take(&call, pool, 3, 0, NULL);
    ck_assert_status(call_await(&call), HF_TIMEOUT);
    call_init(&call);
    ck_assert_ok(hf_semaphore_release_async(pool, 1, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    call_init(&call);
    ck_assert_ok(
        hf_semaphore_available_async(pool, &available, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_int_eq(available, 2);
    call_init(&call);
    ck_assert_ok(hf_semaphore_reduce_async(pool, 3, NULL, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_available(-1);
    call_init(&call);
    ck_assert_ok(hf_semaphore_release_if_exists_async(pool, 4, &was_set, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert(was_set);
    call_init(&call);
    ck_assert_ok(hf_semaphore_drain_async(pool, &available, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_int_eq(available, 3);
    call_init(&call);
    ck_assert_ok(hf_semaphore_inspect_async(pool, &available, &was_set, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_int_eq(available, 0);
    ck_assert(was_set);
    call_init(&call);
    was_set = false;
    ck_assert_ok(hf_semaphore_delete_async(pool, &was_set, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert(was_set);
    ck_assert_status(hf_semaphore_reduce_async(pool, 0, NULL, call_done, &call),
                     HF_E_INVAL);
    ck_assert_status(hf_semaphore_acquire_async(pool, 0, 0, NULL, call_done,
                                                &call),
                     HF_E_INVAL);
    ck_assert_status(hf_semaphore_release_async(pool, 0, call_done, &call),
                     HF_E_INVAL);
    ck_assert_status(hf_semaphore_try_set_permits_async(pool, -1, &was_set,
                                                        call_done, &call),
                     HF_E_INVAL);
}
END_TEST

/* ---- many ---- */

#define THREADS 8
#define TURNS 200
#define PERMITS 3

static atomic_int inside, most_inside;

static void *take_turns(void *arg)
{
    struct hf_semaphore *of = arg;

    for (int i = 0; i < TURNS; i++) {
        int now;

        take(of, 1);
        now = atomic_fetch_add(&inside, 1) + 1;
        if (now > atomic_load(&most_inside))
            atomic_store(&most_inside, now);
        atomic_fetch_sub(&inside, 1);
        give(of, 1);
    }
    return NULL;
}

START_TEST(no_more_are_inside_than_there_are_permits)
{
    pthread_t threads[THREADS];

    set_permits(PERMITS);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_turns,
                                        i % 2 ? pool : pool_of_other),
                         0);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    ck_assert_int_le(atomic_load(&most_inside), PERMITS);
    ck_assert_int_ge(atomic_load(&most_inside), 1);
    ck_assert_available(3);
    await_no_answers();
}
END_TEST

/* ---- a bad network ---- */

/* ---- a semaphore behind a proxy, which may hold replies back ---- */

static struct proxy *proxy;
static struct hf_client *cut_client;
static struct hf_semaphore *cut;

static void open_cut(int64_t request_timeout_ms)
{
    proxy = proxy_start(server_port(server));
    cut_client = client_timed(proxy_port(proxy), 60000, request_timeout_ms);
    cut = semaphore_of(cut_client, POOL);
}

static void close_cut(void)
{
    hf_client_free(cut_client);
    proxy_stop(proxy);
}

static const struct {
    enum proxy_way way;
    enum proxy_end end;
} cuts[] = {
    {PROXY_TO_SERVER, PROXY_CLOSE},
    {PROXY_TO_CLIENT, PROXY_CLOSE},
    {PROXY_TO_CLIENT, PROXY_RESET},
};

static uint64_t passed(enum proxy_way way)
{
    return proxy_count(proxy, way, PROXY_PASSED);
}

/* The connection ends behind each byte of an acquire and a release. Both are done
 * once: an answer that was lost is asked for again. */
START_TEST(cut_anywhere_each_call_counts_once)
{
    enum proxy_way way = cuts[_i].way;
    uint64_t bytes;

    open_cut(5000);
    set_permits(5);
    take(cut, 2);
    give(cut, 2);
    bytes = passed(way);
    take(cut, 2);
    give(cut, 2);
    bytes = passed(way) - bytes;
    for (uint64_t n = 0; n <= bytes; n += 7) {
        proxy_cut_after(proxy, way, n, cuts[_i].end);
        take(cut, 2);
        ck_assert_available(3);
        give(cut, 2);
        ck_assert_available(5);
        proxy_cut_after(proxy, way, UINT64_MAX, cuts[_i].end);
    }
    close_cut();
}
END_TEST

/* The same behind each byte of a reduction, what is added, a drain and a deletion. */
START_TEST(cut_anywhere_each_change_counts_once)
{
    enum proxy_way way = cuts[_i].way;
    uint64_t bytes = 0;

    open_cut(5000);
    for (uint64_t n = 0; n <= bytes; n += 7) {
        uint64_t before = passed(way);
        bool was_deleted = false;

        set_permits(5);
        if (bytes > 0)
            proxy_cut_after(proxy, way, n, cuts[_i].end);
        ck_assert_ok(hf_semaphore_reduce(cut, 2, NULL, NULL));
        ck_assert_available(3);
        ck_assert_ok(hf_semaphore_release_if_exists(cut, 1, NULL, NULL));
        ck_assert_int_eq(drain(cut), 4);
        ck_assert_ok(hf_semaphore_delete(cut, &was_deleted, NULL));
        ck_assert(was_deleted);
        proxy_cut_after(proxy, way, UINT64_MAX, cuts[_i].end);
        if (bytes == 0)
            bytes = passed(way) - before;
    }
    close_cut();
}
END_TEST

/* No answer comes in time: what was taken after all is given back in the
 * background, and what was to be given is given once. */
START_TEST(unknown_outcome_is_settled_in_the_background)
{
    struct hf_error err;

    open_cut(SET_UP_MS);
    set_permits(5);
    take(cut, 2);
    give(cut, 1); /* the server knows both scripts */
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    if (_i == 0)
        ck_assert_status(hf_semaphore_acquire(cut, 2, 0, NULL, &err),
                         HF_E_NOREPLY);
    else
        ck_assert_status(hf_semaphore_release(cut, 1, &err), HF_E_NOREPLY);
    server_await(server, LONG_MS, _i == 0 ? "2" : "5", "GET " POOL);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    server_await(server, LONG_MS, _i == 0 ? "4" : "5", "GET " POOL);
    ck_assert_ok(hf_client_close(cut_client, LONG_MS, NULL, NULL));
    ck_assert_str_eq(server_ask(server, "GET " POOL), _i == 0 ? "4" : "5");
    close_cut();
}
END_TEST

static hf_status add_or_reduce(int row, struct hf_error *err)
{
    return row == 0 ? hf_semaphore_reduce(cut, 1, NULL, err)
                    : hf_semaphore_release_if_exists(cut, 1, NULL, err);
}

/* Nor does a change count twice that the client repeats. */
START_TEST(unknown_change_is_repeated_in_the_background)
{
    struct hf_error err;
    const char *after = _i == 0 ? "3" : "7";

    open_cut(SET_UP_MS);
    set_permits(5);
    ck_assert_ok(add_or_reduce(_i, NULL));
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    ck_assert_status(add_or_reduce(_i, &err), HF_E_NOREPLY);
    server_await(server, LONG_MS, after, "GET " POOL);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    ck_assert_ok(hf_client_close(cut_client, LONG_MS, NULL, NULL));
    ck_assert_str_eq(server_ask(server, "GET " POOL), after);
    close_cut();
}
END_TEST

START_TEST(full_server_returns_permits_when_it_has_memory)
{
    struct call call;

    open_cut(SET_UP_MS);
    set_permits(5);
    take(cut, 1);
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    call_take(&call, cut, 2, 0, NULL);
    server_await(server, LONG_MS, "2", "GET " POOL);
    (void)server_ask(server, "CONFIG SET maxmemory 1");
    ck_assert_status(call_await(&call), HF_E_NOREPLY);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    ck_assert_status(hf_semaphore_release(cut, 1, NULL), HF_E_SERVER);
    ck_assert_available(2);
    (void)server_ask(server, "CONFIG SET maxmemory 0");
    server_await(server, LONG_MS, "4", "GET " POOL);
    close_cut();
}
END_TEST

/* COUNT-2: The undoing overtakes the acquire, or comes twice. */
START_TEST(request_that_was_undone_no_longer_acquires)
{
    static const char *const words =
        "EVAL %s 2 " POOL " {" POOL "}:q:holdfast_answer q %s 60000 PUBLISH c";
    const char *take_text = hf_script_semaphore_acquire.text;
    const char *undo_text = hf_script_semaphore_undo.text;

    set_permits(5);
    ck_assert_str_eq(server_ask(server, words, undo_text, "0"), "q 0");
    ck_assert_str_eq(server_ask(server, words, take_text, "2"), "q -1 -1");
    ck_assert_available(5);
    (void)server_ask(server, "DEL {" POOL "}:q:holdfast_answer");
    ck_assert_str_eq(server_ask(server, words, take_text, "2"), "q 2");
    ck_assert_str_eq(server_ask(server, words, take_text, "2"), "q 2");
    ck_assert_available(3);
    ck_assert_str_eq(server_ask(server, words, undo_text, "0"), "q 0 5");
    ck_assert_str_eq(server_ask(server, words, undo_text, "0"), "q 0");
    ck_assert_str_eq(server_ask(server, words, take_text, "2"), "q -1 -1");
    ck_assert_available(5);
}
END_TEST

/* It was deleted while permits were out: it is not made anew by what gives up. */
START_TEST(undoing_makes_no_semaphore)
{
    static const char *const words =
        "EVAL %s 2 " POOL " {" POOL "}:q:holdfast_answer q %s 60000 PUBLISH c";

    set_permits(5);
    (void)server_ask(server, words, hf_script_semaphore_acquire.text, "2");
    (void)server_ask(server, "DEL " POOL);
    (void)server_ask(server, words, hf_script_semaphore_undo.text, "0");
    ck_assert_int_eq(server_ask_int(server, "EXISTS " POOL), 0);
}
END_TEST

/* May the client kill its predecessor on the server? If not, the acquire may be
 * executed after its undoing. */
static const char *const rules[] = {"~* &* +@all", "~* &* +@all -client|kill"};

/* Those of the past are gone, and what lay in their buffers is executed or
 * forgotten. */
static void await_one_connection(void)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;
    const char *list;

    do {
        list = server_ask(server, "CLIENT LIST");
        ck_assert_msg(local_now_ms() < end_ms, "old connections stay: %s", list);
        list = strstr(list, "user=eve");
    } while (list && strstr(list + 1, "user=eve"));
}

/* COUNT-2: The acquire lies in the buffer of a server that was stopped: it is executed
 * after its caller has given up, or never. */
START_TEST(acquire_that_is_executed_late_takes_nothing_for_long)
{
    struct hf_client *hasty = eves_client(rules[_i], 150);
    struct hf_semaphore *of = semaphore_of(hasty, POOL);

    set_permits(5);
    connect_patiently(hasty);
    take(of, 1);
    for (int i = 0; i < 12; i++) {
        connect_patiently(hasty);
        server_pause(server);
        local_rest_us(2000);
        ck_assert_int_lt(try_take(of, 1), 0);
        server_resume(server);
        connect_patiently(hasty);
        await_one_connection();
        server_await(server, LONG_MS, "4", "GET " POOL);
    }
    ck_assert_ok(hf_client_close(hasty, LONG_MS, NULL, NULL));
    ck_assert_available(4);
    hf_client_free(hasty);
}
END_TEST

START_TEST(permits_that_too_few_replicas_have_are_released)
{
    struct hf_client_options o;
    struct hf_client *careful;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.replicas = 1;
    o.replicas_timeout_ms = 100;
    careful = client_with(&o);
    set_permits(3);
    ck_assert_status(try_take(semaphore_of(careful, POOL), 2), HF_UNREPLICATED);
    server_await(server, LONG_MS, "3", "GET " POOL);
    ck_assert_ok(hf_client_close(careful, LONG_MS, NULL, NULL));
    ck_assert_available(3);
    hf_client_free(careful);
}
END_TEST

/* Who wants fewer permits enters the line before one that asks once more when its
 * own time has come. Both are asking when the server does not know us any more. */
START_TEST(refused_password_ends_a_pending_request)
{
    struct call many, few;

    open_cut(30000);
    set_permits(0);
    call_take(&many, cut, 5, HF_FOREVER, NULL);
    await_listeners(1);
    local_rest_us(A_MOMENT_MS * 1000);
    call_take(&few, cut, 1, HF_FOREVER, NULL);
    local_rest_us(A_MOMENT_MS * 1000);
    (void)server_ask(server, "ACL SETUSER witness on nopass ~* &* +@all");
    (void)server_ask(server, "CONFIG SET requirepass secret");
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    proxy_cut(proxy, PROXY_CLOSE);
    local_rest_us(4000 * 1000); /* each has asked */
    ck_assert(!call_is_done(&many) && !call_is_done(&few));
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    ck_assert_status(call_await(&few), HF_E_AUTH);
    ck_assert_status(call_await(&many), HF_E_AUTH);
    local_rest_us(A_MOMENT_MS * 1000);
    ck_assert_status(try_take(cut, 1), HF_E_AUTH);
    close_cut();
}
END_TEST

START_TEST(waiter_outlives_its_server)
{
    struct call call;

    set_permits(0);
    call_take(&call, pool, 1, HF_FOREVER, NULL);
    await_listeners(1);
    server_kill(server);
    local_rest_us(A_MOMENT_MS * 1000);
    ck_assert(!call_is_done(&call));
    server_restart(server);
    set_permits(1);
    ck_assert_status(call_await(&call), HF_OK);
}
END_TEST

/* ---- rights ---- */

static void use_semaphore(struct hf_client *of, struct hf_client *waits)
{
    struct hf_semaphore *giver = semaphore_of(of, POOL);
    struct hf_semaphore *taker = semaphore_of(waits, POOL);
    struct call call;
    int64_t available;
    bool was_set;

    ck_assert_ok(hf_semaphore_try_set_permits(giver, 1, &was_set, NULL));
    take(giver, 1);
    call_take(&call, taker, 1, HF_FOREVER, NULL);
    await_listeners(1);
    give(giver, 1);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_ok(hf_semaphore_available(giver, &available, NULL));
    ck_assert_ok(hf_semaphore_reduce(giver, 1, NULL, NULL));
    ck_assert_ok(hf_semaphore_drain(giver, &available, NULL));
    ck_assert_ok(hf_semaphore_delete(giver, NULL, NULL));
}

static void use_latch(struct hf_client *of, struct hf_client *waits)
{
    struct hf_latch *counted, *awaited;
    struct call call;
    int64_t count;
    bool was_set;

    ck_assert_ok(hf_latch_new(&counted, of, "doors", 5, NULL));
    ck_assert_ok(hf_latch_new(&awaited, waits, "doors", 5, NULL));
    ck_assert_ok(hf_latch_try_set_count(counted, 1, &was_set, NULL));
    call_init(&call);
    ck_assert_ok(
        hf_latch_await_async(awaited, HF_FOREVER, NULL, call_done, &call));
    await_subscribers(server, "redisson_countdownlatch__channel__{doors}", 1);
    ck_assert_ok(hf_latch_count_down(counted, NULL));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_ok(hf_latch_count(counted, &count, NULL));
    ck_assert_ok(hf_latch_try_set_count(counted, 1, &was_set, NULL));
    ck_assert_ok(hf_latch_delete(counted, NULL, NULL));
}

START_TEST(they_work_with_the_rights_that_the_readme_names)
{
    struct hf_client *giver, *taker;

    acl_make_user(server, "--for semaphore --for latch");
    giver = acl_client(server, 3, 0, 0);
    taker = acl_client(server, 3, 0, 0);
    use_semaphore(giver, taker);
    use_latch(giver, taker);
    ck_assert_no_denial(server, "semaphores and latches");
    hf_client_free(giver);
    hf_client_free(taker);
}
END_TEST

/* ---- */

static void add_all(Suite *suite)
{
    TCase *c = live_case(suite, "calls", start, stop);

    tcase_add_test(c, permits_are_set_once);
    tcase_add_test(c, semaphore_expires_with_its_ttl);
    tcase_add_loop_test(c, invalid_ttl_is_refused, 0, COUNT(no_ttls));
    tcase_add_test(c, permits_are_acquired_all_or_none);
    tcase_add_test(c, release_makes_a_semaphore_that_is_not_there);
    tcase_add_test(c, permits_are_removed_also_below_0);
    tcase_add_test(c, semaphore_that_does_not_exist_is_not_changed);
    tcase_add_test(c, waiter_is_woken_by_what_is_added);
    tcase_add_test(c, deleted_semaphore_can_be_set_again);
    tcase_add_test(c, semaphore_with_expirable_permits_in_use_is_not_deleted);
    tcase_add_test(c, ttl_of_redissons_is_kept);
    tcase_add_test(c, numbers_and_waits_out_of_range_are_refused);
    tcase_add_test(c, name_is_checked);
    tcase_add_loop_test(c, no_call_is_under_way_when_all_have_ended, 0, 2);
    tcase_add_loop_test(c, key_that_is_not_a_semaphore_is_left_alone, 0,
                        COUNT(others_data));
    tcase_add_test(c, calls_without_blocking_return_the_same);
    c = live_case(suite, "waits", start, stop);
    tcase_add_test(c, release_elsewhere_wakes_a_waiter);
    tcase_add_loop_test(c, message_may_be_any_number, 0, 2);
    tcase_add_test(c, one_release_wakes_as_many_as_it_serves);
    tcase_add_test(c, permits_that_are_set_wake_waiters);
    tcase_add_test(c, message_that_never_comes_costs_seconds);
    tcase_add_test(c, local_release_serves_a_waiter_without_messages);
    tcase_add_test(c, fewer_permits_go_before_more);
    tcase_add_test(c, equal_wishes_are_served_in_their_order);
    tcase_add_test(c, wait_ends_by_its_time_a_cancel_or_the_close);
    c = live_case(suite, "faults", start, stop);
    tcase_add_test(c, no_more_are_inside_than_there_are_permits);
    tcase_add_test(c, they_work_with_the_rights_that_the_readme_names);
    tcase_add_loop_test(c, cut_anywhere_each_call_counts_once, 0, COUNT(cuts));
    tcase_add_loop_test(c, cut_anywhere_each_change_counts_once, 0, COUNT(cuts));
    tcase_add_loop_test(c, unknown_outcome_is_settled_in_the_background, 0, 2);
    tcase_add_loop_test(c, unknown_change_is_repeated_in_the_background, 0, 2);
    tcase_add_test(c, request_that_was_undone_no_longer_acquires);
    tcase_add_test(c, undoing_makes_no_semaphore);
    tcase_add_loop_test(c, acquire_that_is_executed_late_takes_nothing_for_long,
                        0, COUNT(rules));
    tcase_add_test(c, full_server_returns_permits_when_it_has_memory);
    tcase_add_test(c, permits_that_too_few_replicas_have_are_released);
    tcase_add_test(c, waiter_outlives_its_server);
    tcase_add_test(c, refused_password_ends_a_pending_request);
}

int main(void)
{
    return live_main("semaphore", add_all);
}
