/* Scripts of which one command is refused, each by each: an error leaves every number
 * as it was, and the call can be made again. (Design 14; WIRE 15 to 17.) */
#include "lock/latch.h"
#include "lock/permits.h"
#include "lock/semaphore.h"
#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

#define POOL "pool"

/* What scripts of permits, semaphores and latches call. */
static const char *const rights[] = {
    "decrby", "del",   "exists",        "get",  "incrby", "set",
    "time",   "zadd",  "zcard",         "zcount", "zrange", "zrangebyscore",
    "zrem",   "zscore", "pexpire",      "pttl", "publish",
};

static struct hf_client *client;

static void open_client(void)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    (void)snprintf(url, sizeof url, "redis://eve:pw@127.0.0.1:%d",
                   server_port(server));
    ck_assert_ok(hf_client_new(&client, &o, NULL));
}

/* Whatever it does in the background is over. */
static void close_client(void)
{
    ck_assert_ok(hf_client_close(client, LONG_MS, NULL, NULL));
    hf_client_free(client);
    client = NULL;
}

/* ---- what is called ---- */

static hf_status take_permit(void)
{
    struct hf_lock *permit;
    hf_status rc;

    ck_assert_ok(hf_lock_new_kind(&permit, client, HF_KIND_PERMIT, POOL,
                                  strlen(POOL), NULL));
    rc = try_acquire(permit, 1, NULL);
    hf_lock_free(permit);
    return rc;
}

static hf_status force_permits(void)
{
    struct hf_lock *permit;
    hf_status rc;

    ck_assert_ok(hf_lock_new_kind(&permit, client, HF_KIND_PERMIT, POOL,
                                  strlen(POOL), NULL));
    rc = hf_lock_force_release(permit, NULL, 0, NULL);
    hf_lock_free(permit);
    return rc;
}

static hf_status take_two(void)
{
    struct hf_semaphore *pool;
    hf_status rc;

    ck_assert_ok(hf_semaphore_new(&pool, client, POOL, strlen(POOL), NULL));
    rc = hf_semaphore_acquire(pool, 2, 0, NULL, NULL);
    hf_semaphore_free(pool);
    return rc;
}

static hf_status give_two(void)
{
    struct hf_semaphore *pool;
    hf_status rc;

    ck_assert_ok(hf_semaphore_new(&pool, client, POOL, strlen(POOL), NULL));
    rc = hf_semaphore_release(pool, 2, NULL);
    hf_semaphore_free(pool);
    return rc;
}

static hf_status set_pool(void)
{
    struct hf_semaphore *pool;
    bool was_set = false;
    hf_status rc;

    ck_assert_ok(hf_semaphore_new(&pool, client, POOL, strlen(POOL), NULL));
    rc = hf_semaphore_try_set_permits(pool, 2, &was_set, NULL);
    hf_semaphore_free(pool);
    return rc;
}

static hf_status count_down(void)
{
    struct hf_latch *latch;
    hf_status rc;

    ck_assert_ok(hf_latch_new(&latch, client, POOL, strlen(POOL), NULL));
    rc = hf_latch_count_down(latch, NULL);
    hf_latch_free(latch);
    return rc;
}

#define OUT "{" POOL "}:timeout"
#define TWO_OUT "ZADD " OUT " %s 0123456789abcdef %s fedcba9876543210"
#define NEVER "922337203685477"

static const struct {
    const char *number;         /* at first; NULL: there is no key */
    const char *ends;           /* of two permits that are out; NULL: none is */
    hf_status (*act)(void);
    int done;                   /* by how much the number changes, permits that
                                   are out included */
} calls[] = {
    {"0", "1000", take_permit, 0},      /* they have lapsed */
    {"-3", "1000", take_permit, 0},     /* and are not enough */
    {"1", NEVER, take_permit, 0},
    {"0", NEVER, force_permits, 0},
    {"3", NULL, take_two, -2},
    {"3", NULL, give_two, 2},
    {"1", NULL, count_down, -1},
    {"2", NULL, count_down, -1},
    {NULL, NULL, set_pool, 2},
    {NULL, NULL, give_two, 2},
};

/* ---- the test ---- */

static void set_up(size_t call)
{
    (void)server_ask(server, "FLUSHALL");
    if (calls[call].number)
        (void)server_ask(server, "SET " POOL " %s", calls[call].number);
    if (calls[call].ends)
        (void)server_ask(server, TWO_OUT, calls[call].ends, calls[call].ends);
}

static long long number(void)
{
    return server_ask_int(server, "EVAL %s 0",
                          "return (redis.call('get', '" POOL "') or 0) + "
                          "redis.call('zcard', '" OUT "')");
}

static void refuse(size_t call, const char *right)
{
    long long before, change = calls[call].done;
    hf_status rc;

    set_up(call);
    before = number();
    (void)server_ask(server, "ACL SETUSER eve -%s", right);
    open_client();
    rc = calls[call].act();
    close_client();
    (void)server_ask(server, "ACL SETUSER eve +%s", right);
    ck_assert_msg(number() == before + (rc == HF_OK ? change : 0),
                  "without %s: %s, and %lld became %lld", right, hf_status_name(rc),
                  before, number());
    open_client();
    if (rc == HF_E_SERVER) {
        rc = calls[call].act();
        ck_assert_msg(rc == HF_OK || rc == HF_TIMEOUT, "after %s: %s", right,
                      hf_status_name(rc));
        ck_assert_int_eq(number(), before + (rc == HF_OK ? change : 0));
    }
    close_client();
}

START_TEST(command_that_is_refused_loses_and_makes_nothing)
{
    (void)server_ask(server, "ACL SETUSER eve on >pw ~* +@all");
    (void)server_ask(server, "ACL SETUSER eve &*");
    for (size_t i = 0; i < COUNT(rights); i++)
        refuse((size_t)_i, rights[i]);
}
END_TEST

static void add(Suite *s)
{
    TCase *c = live_case(s, "halfway", start_server, stop_server);

    tcase_add_loop_test(c, command_that_is_refused_loses_and_makes_nothing, 0,
                        COUNT(calls));
}

int main(void)
{
    return live_main("scripts that are refused halfway", add);
}
