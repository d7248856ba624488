/* Two names with one channel: Redisson puts braces around a name without braces,
 * so that "x" and "{x}" have the channel "PREFIX:{x}". A release of either must
 * wake its waiter, whatever becomes of the other. Source: WIRE 2.2. */
#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

/* A waiter that hears nothing looks after 10 s. */
#define SOON_MS 2000

struct name {
    const char *text;
    size_t len;
};
#define NAME_OF(text) {text, sizeof(text) - 1}

static const struct name pairs[][2] = {
    {NAME_OF("x"), NAME_OF("{x}")},
    {NAME_OF("two words"), NAME_OF("{two words}")},
    {NAME_OF("nul\0byte"), NAME_OF("{nul\0byte}")},
    {NAME_OF("line\nfeed"), NAME_OF("{line\nfeed}")},
    {NAME_OF("\xc3\xbc\xe2\x82\xac"), NAME_OF("{\xc3\xbc\xe2\x82\xac}")},
    {NAME_OF("x}y"), NAME_OF("{x}y}")},
    {NAME_OF("}"), NAME_OF("{}}")},
};

/* Each pair once, and the first with each kind whose waiters are woken by the
 * name's channel. */
static const enum hf_lock_kind kinds[] = {HF_KIND_NONREENTRANT, HF_KIND_FENCED,
                                          HF_KIND_WRITE, HF_KIND_READ};
#define CASES (COUNT(pairs) + COUNT(kinds))

static struct hf_client *holder, *waiter;
static struct hf_lock *held[2], *wanted[2];
static struct call calls[2];
static struct hf_cancel cancels[2];

static struct hf_lock *lock_of_name(struct hf_client *client,
                                    enum hf_lock_kind kind,
                                    const struct name *name)
{
    struct hf_lock *lock = NULL;

    ck_assert_ok(hf_lock_new_kind(&lock, client, kind, name->text, name->len,
                                  NULL));
    return lock;
}

static void await_waiter(int i)
{
    struct hf_acquire_options o = acquire_options(1);

    hf_cancel_init(&cancels[i], waiter);
    o.cancel = &cancels[i];
    call_acquire(&calls[i], wanted[i], &o);
    local_rest_us(A_MOMENT_MS * 1000); /* time to subscribe */
}

static void begin(int row)
{
    const struct name *pair = pairs[row < COUNT(pairs) ? row : 0];
    enum hf_lock_kind kind =
        row < COUNT(pairs) ? HF_KIND_PLAIN : kinds[row - COUNT(pairs)];
    enum hf_lock_kind held_kind = kind == HF_KIND_READ ? HF_KIND_WRITE : kind;

    holder = client_to(server_port(server));
    waiter = client_to(server_port(server));
    for (int i = 0; i < 2; i++) {
        held[i] = lock_of_name(holder, held_kind, &pair[i]);
        wanted[i] = lock_of_name(waiter, kind, &pair[i]);
        acquire(held[i], 1);
    }
    for (int i = 0; i < 2; i++)
        await_waiter(i);
}

static void end(void)
{
    for (int i = 0; i < 2; i++) {
        hf_lock_free(held[i]);
        hf_lock_free(wanted[i]);
    }
    hf_client_free(waiter);
    hf_client_free(holder);
}

static void ck_assert_woken(int i)
{
    int64_t released_ms;

    release(held[i], 1);
    released_ms = local_now_ms();
    ck_assert_int_eq(call_await(&calls[i]), HF_OK);
    ck_assert_int_lt(local_now_ms() - released_ms, SOON_MS);
    release(wanted[i], 1);
}

START_TEST(release_wakes_the_waiter_of_either_name)
{
    int i = _i % 2;

    begin(_i / 2);
    ck_assert_woken(i);
    ck_assert_woken(1 - i);
    end();
}
END_TEST

START_TEST(waiter_is_woken_after_that_of_the_other_name_has_left)
{
    int i = _i % 2;

    begin(_i / 2);
    hf_cancel_fire(&cancels[i]);
    ck_assert_int_eq(call_await(&calls[i]), HF_CANCELLED);
    local_rest_us(A_MOMENT_MS * 1000); /* time to unsubscribe */
    ck_assert_woken(1 - i);
    release(held[i], 1);
    end();
}
END_TEST

/* The server sends nothing when no name is waited for. */
START_TEST(channel_is_left_with_the_last_waiter)
{
    begin(0);
    for (int i = 0; i < 2; i++) {
        hf_cancel_fire(&cancels[i]);
        ck_assert_int_eq(call_await(&calls[i]), HF_CANCELLED);
    }
    await_subscribers(server, "redisson_lock__channel:{x}", 0);
    for (int i = 0; i < 2; i++)
        release(held[i], 1);
    end();
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "one channel", start_server, stop_server);

    tcase_add_loop_test(c, release_wakes_the_waiter_of_either_name, 0,
                        2 * CASES);
    tcase_add_loop_test(c, waiter_is_woken_after_that_of_the_other_name_has_left,
                        0, 2 * CASES);
    tcase_add_test(c, channel_is_left_with_the_last_waiter);
}

int main(void)
{
    return live_main("lock/channels", add);
}
