/* Both sides, once for all tests (CK_NOFORK). */
#include "tests/redisson/both.h"

struct hf_client *client;
struct driver *java;

static void start(void)
{
    struct hf_client_options options;
    struct hf_error err;
    char url[SERVER_URL_MAX];

    start_server();
    java = driver_start(server, THEIR_WATCHDOG_MS);
    hf_client_options_init(&options);
    options.url = server_url(server, url);
    options.watchdog_ms = OUR_WATCHDOG_MS;
    ck_assert_msg(hf_client_new(&client, &options, &err) == HF_OK, "%s",
                  err.text);
}

static void stop(void)
{
    hf_client_free(client);
    driver_stop(java);
    stop_server();
}

/* Neither side leaves a subscription. */
static void await_silence(void)
{
    server_await(server, TOLD_MS, "", "PUBSUB CHANNELS redisson_*");
}

TCase *both_case(const char *name)
{
    TCase *tc = tcase_create(name);

    tcase_add_unchecked_fixture(tc, start, stop);
    tcase_add_checked_fixture(tc, NULL, await_silence);
    tcase_set_timeout(tc, getenv("HF_FAIR_GRANTS") ? 3600 : 120);
    return tc;
}

struct hf_lock *lock_on(enum hf_lock_kind kind, const char *name)
{
    struct hf_lock *lock = NULL;

    ck_assert_int_eq(hf_lock_new_kind(&lock, client, kind, name, strlen(name),
                                      NULL),
                     HF_OK);
    return lock;
}

hf_status acquire_within(struct hf_lock *lock, int64_t wait_ms)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.wait_ms = wait_ms;
    return hf_lock_acquire(lock, &options, NULL);
}

void acquire_for(struct hf_lock *lock, int64_t lease_ms)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.lease_ms = lease_ms;
    ck_assert_int_eq(hf_lock_acquire(lock, &options, NULL), HF_OK);
}

void release(struct hf_lock *lock)
{
    ck_assert_int_eq(hf_lock_release(lock, hf_owner_thread(), NULL), HF_OK);
}

void release_lost(struct hf_lock *lock)
{
    ck_assert_int_eq(hf_lock_release(lock, hf_owner_thread(), NULL), HF_LOST);
}

void ck_assert_told(const char *expected, int thread)
{
    const char *answer = driver_answer(java, thread, TOLD_MS);

    ck_assert_msg(answer != NULL, "Redisson was not woken");
    ck_assert_str_eq(answer, expected);
}

void ck_assert_waits(int thread)
{
    ck_assert_msg(driver_answer(java, thread, A_MOMENT_MS) == NULL,
                  "Redisson is inside, too");
}
