/* HF_WITH_TOKEN: each exclusive kind has fencing tokens, of one counter. WIRE 10. */
#include "lock/token.h"
#include "tests/live/test_lock_ways.h"
#include "tests/support/one_server.h"

#define TOKEN "redisson_lock_token:{order:42}"
#define HOUR_MS 3600000

static const struct {
    enum hf_lock_kind kind;
    bool reenters;
} kinds[] = {
    {HF_KIND_PLAIN, true},          {HF_KIND_NONREENTRANT, false},
    {HF_KIND_FAIR, true},           {HF_KIND_NONREENTRANT_FAIR, false},
    {HF_KIND_SPIN, true},           {HF_KIND_WRITE, true},
    {HF_KIND_VALUE, false},         {HF_KIND_FENCED, true},
};

static struct hf_client *client;

static struct hf_lock *lock_with(enum hf_lock_kind kind)
{
    struct hf_lock *new = NULL;

    ck_assert_ok(hf_lock_new_kind(&new, client, kind, NAME,
                                  strlen(NAME), NULL));
    return new;
}

static void start(void)
{
    start_server();
    client = client_to(server_port(server));
}

static void stop(void)
{
    hf_client_free(client);
    stop_server();
}

static void start_with_retention(void)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    start_server();
    way_options(&o, url, server_port(server), &ways[0]);
    o.token_retention_ms = HOUR_MS;
    client = client_with(&o);
}

static int64_t acquire_token(struct hf_lock *of, int64_t owner)
{
    acquire(of, owner);
    return hf_lock_token(of, owner);
}

/* ---- grants ---- */

START_TEST(each_grant_has_the_next_token)
{
    struct hf_lock *lock = lock_with(kinds[_i].kind | HF_WITH_TOKEN);

    for (int64_t token = 1; token <= 4; token++) {
        ck_assert_int_eq(acquire_token(lock, token), token);
        ck_assert_int_eq(atoll(server_ask(server, "GET " TOKEN)), token);
        ck_assert_status(try_acquire(lock, 99, NULL), HF_TIMEOUT);
        release(lock, token);
    }
    ck_assert_str_eq(server_ask(server, "PTTL " TOKEN), "-1");
    ck_assert_str_eq(server_ask(server, "KEYS *"), TOKEN);
}
END_TEST

START_TEST(reentry_keeps_the_token)
{
    struct hf_lock *lock = lock_with(kinds[_i].kind | HF_WITH_TOKEN);

    ck_assert_int_eq(acquire_token(lock, 1), 1);
    if (kinds[_i].reenters) {
        ck_assert_int_eq(acquire_token(lock, 1), 1);
        release(lock, 1);
    } else {
        ck_assert_status(try_acquire(lock, 1, NULL), HF_E_INVAL);
    }
    ck_assert_int_eq(hf_lock_token(lock, 1), 1);
    ck_assert_str_eq(server_ask(server, "GET " TOKEN), "1");
    release(lock, 1);
}
END_TEST

START_TEST(without_the_flag_there_is_no_token)
{
    struct hf_lock *lock = lock_with(kinds[_i].kind);

    ck_assert_int_eq(acquire_token(lock, 1),
                     kinds[_i].kind == HF_KIND_FENCED);
    release(lock, 1);
}
END_TEST

START_TEST(counter_of_another_type_acquires_nothing)
{
    struct hf_lock *lock = lock_with(kinds[_i].kind | HF_WITH_TOKEN);

    (void)server_ask(server, "LPUSH " TOKEN " 7");
    ck_assert_status(try_acquire(lock, 1, NULL), HF_E_SERVER);
    ck_assert_str_eq(server_ask(server, "KEYS *"), TOKEN);
}
END_TEST

START_TEST(next_waiter_has_the_next_token)
{
    struct hf_lock *lock = lock_with(kinds[_i].kind | HF_WITH_TOKEN);
    struct hf_acquire_options o = acquire_options(2);
    struct call call;

    ck_assert_int_eq(acquire_token(lock, 1), 1);
    call_acquire(&call, lock, &o);
    ck_assert(!call_is_done(&call));
    release(lock, 1);
    ck_assert_ok(call_await(&call));
    ck_assert_int_eq(hf_lock_token(lock, 2), 2);
    release(lock, 2);
}
END_TEST

/* What two kinds of one name, both with tokens, do: they exclude each other. */
START_TEST(kinds_share_the_counter)
{
    struct hf_lock *fair = lock_with(HF_KIND_FAIR | HF_WITH_TOKEN);
    struct hf_lock *spin = lock_with(HF_KIND_SPIN | HF_WITH_TOKEN);

    ck_assert_int_eq(acquire_token(fair, 1), 1);
    ck_assert_status(try_acquire(spin, 2, NULL), HF_TIMEOUT);
    release(fair, 1);
    ck_assert_int_eq(acquire_token(spin, 2), 2);
    release(spin, 2);
}
END_TEST

START_TEST(sharer_has_no_token)
{
    static const unsigned shared[] = {HF_KIND_READ, HF_KIND_PERMIT, HF_KIND_MULTI,
                                 HF_KIND_NONE, 99};
    struct hf_lock *lock;
    struct hf_error err;

    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        ck_assert_status(
            hf_lock_new_kind(&lock, client,
                             (enum hf_lock_kind)(shared[i] | HF_WITH_TOKEN),
                             NAME, strlen(NAME), &err),
            HF_E_INVAL);
}
END_TEST

START_TEST(writer_with_a_token_also_reads)
{
    struct hf_lock *writer = lock_with(HF_KIND_WRITE | HF_WITH_TOKEN);
    struct hf_lock *reader = lock_with(HF_KIND_READ);

    ck_assert_int_eq(acquire_token(writer, 1), 1);
    acquire(reader, 1);
    ck_assert_status(try_acquire(reader, 2, NULL), HF_TIMEOUT);
    release(writer, 1);
    acquire(reader, 2);
    ck_assert_status(try_acquire(writer, 1, NULL), HF_E_INVAL);
    release(reader, 2);
    release(reader, 1);
    ck_assert_int_eq(acquire_token(writer, 2), 2);
    release(writer, 2);
}
END_TEST

static int64_t latest(struct hf_lock *of)
{
    int64_t token = -1;

    ck_assert_ok(hf_token_latest(of, &token, NULL));
    return token;
}

START_TEST(latest_is_anybodys)
{
    struct hf_lock *lock = lock_with(kinds[_i].kind | HF_WITH_TOKEN);
    struct hf_lock *fenced = lock_with(HF_KIND_FENCED);

    ck_assert_int_eq(latest(lock), 0);
    acquire(lock, 1);
    ck_assert_int_eq(latest(lock), 1);
    ck_assert_int_eq(latest(fenced), 1);
    release(lock, 1);
    (void)server_ask(server, "SET " TOKEN " 9007199254740993");
    ck_assert_int_eq(latest(lock), INT64_C(9007199254740993));
    (void)server_ask(server, "SET " TOKEN " x");
    ck_assert_status(hf_token_latest(lock, &(int64_t){0}, NULL),
                     HF_E_SERVER);
}
END_TEST

START_TEST(lock_without_tokens_has_no_latest)
{
    int64_t token;

    ck_assert_status(
        hf_token_latest(lock_with(HF_KIND_PLAIN), &token, NULL), HF_E_INVAL);
    ck_assert_status(
        hf_token_latest(lock_with(HF_KIND_READ), &token, NULL), HF_E_INVAL);
}
END_TEST

/* ---- retention ---- */

START_TEST(counter_ends_after_the_last_grant)
{
    struct hf_lock *lock = lock_with(kinds[_i].kind | HF_WITH_TOKEN);

    acquire(lock, 1);
    release(lock, 1);
    ck_assert_int_gt(server_ask_int(server, "PTTL " TOKEN), HOUR_MS - 60000);
    ck_assert_int_le(server_ask_int(server, "PTTL " TOKEN), HOUR_MS);
    (void)server_ask(server, "PEXPIRE " TOKEN " 60000");
    acquire(lock, 1);
    ck_assert_int_gt(server_ask_int(server, "PTTL " TOKEN), HOUR_MS - 60000);
    release(lock, 1);
}
END_TEST

START_TEST(new_counter_continues_above_the_old_one)
{
    struct hf_lock *lock = lock_with(kinds[_i].kind | HF_WITH_TOKEN);
    int64_t before = 0, token;

    for (int i = 0; i < 50; i++) {
        token = acquire_token(lock, 1);
        ck_assert_int_gt(token, before);
        before = token;
        if (i % 3 == 0) /* also while it is held */
            (void)server_ask(server, "DEL " TOKEN);
        release(lock, 1);
        if (i % 5 == 0)
            (void)server_ask(server, "DEL " TOKEN);
    }
    ck_assert_int_lt(token, INT64_C(1) << 53);
}
END_TEST

START_TEST(existing_counter_continues)
{
    struct hf_lock *lock = lock_with(HF_KIND_FENCED);

    (void)server_ask(server, "SET " TOKEN " 41");
    ck_assert_int_eq(acquire_token(lock, 1), 42);
    release(lock, 1);
}
END_TEST

START_TEST(short_retention_is_refused)
{
    static const int64_t refused[] = {-1, 1, HF_TOKEN_RETENTION_LEAST_MS - 1,
                                      HF_SPAN_MAX_MS + 1};
    struct hf_client_options o;
    struct hf_client *none;

    hf_client_options_init(&o);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        o.token_retention_ms = refused[i];
        ck_assert_status(hf_client_new(&none, &o, NULL), HF_E_INVAL);
    }
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "grants", start, stop);

    tcase_add_loop_test(c, each_grant_has_the_next_token, 0, COUNT(kinds));
    tcase_add_loop_test(c, reentry_keeps_the_token, 0, COUNT(kinds));
    tcase_add_loop_test(c, without_the_flag_there_is_no_token, 0, COUNT(kinds));
    tcase_add_loop_test(c, counter_of_another_type_acquires_nothing, 0,
                        COUNT(kinds));
    tcase_add_loop_test(c, next_waiter_has_the_next_token, 0, COUNT(kinds));
    tcase_add_test(c, kinds_share_the_counter);
    tcase_add_loop_test(c, latest_is_anybodys, 0, COUNT(kinds));
    tcase_add_test(c, lock_without_tokens_has_no_latest);
    tcase_add_test(c, sharer_has_no_token);
    tcase_add_test(c, writer_with_a_token_also_reads);
    c = live_case(suite, "retention", start_with_retention, stop);
    tcase_add_loop_test(c, counter_ends_after_the_last_grant, 0, COUNT(kinds));
    tcase_add_loop_test(c, new_counter_continues_above_the_old_one, 0,
                        COUNT(kinds));
    tcase_add_test(c, existing_counter_continues);
    tcase_add_test(c, short_retention_is_refused);
}

int main(void)
{
    return live_main("lock_tokens", add);
}
