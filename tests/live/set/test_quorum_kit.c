/* Five servers and two parties. See test_quorum_kit.h. */
#include "tests/live/set/test_quorum_kit.h"

#include "tests/support/one_clock.h"

struct server *servers[SERVERS];
struct party here, there;

void party_open(struct party *p, enum hf_lock_kind kind, int first)
{
    struct hf_error err = {0};

    for (int i = 0; i < SERVERS; i++) {
        int port = server_port(servers[(first + i) % SERVERS]);

        p->clients[i] = client_timed(port, WATCHDOG_MS, TIMEOUT_MS);
        ck_assert_ok(hf_lock_new_kind(&p->locks[i], p->clients[i], kind, NAME,
                                      NAME_LEN, NULL));
    }
    ck_assert_msg(hf_quorum_new(&p->quorum, p->locks, SERVERS, &err) == HF_OK,
                  "%s", err.text);
}

void party_close(struct party *p)
{
    hf_quorum_free(p->quorum);
    for (int i = 0; i < SERVERS; i++)
        hf_client_free(p->clients[i]);
}

void start_with(int settable)
{
    for (int i = 0; i < SERVERS; i++)
        ck_assert_ptr_nonnull(
            servers[i] = i < settable ? server_start_with_clock(NULL)
                                      : server_start(NULL));
    party_open(&here, HF_KIND_PLAIN, 0);
    party_open(&there, HF_KIND_PLAIN, 0);
}

void start(void)
{
    start_with(0);
}

void stop(void)
{
    party_close(&here);
    party_close(&there);
    for (int i = 0; i < SERVERS; i++)
        server_stop(servers[i]);
}

hf_status take(struct party *p, int64_t owner, int64_t wait_ms,
               struct hf_error *err)
{
    struct hf_acquire_options o = acquire_options(owner);

    o.wait_ms = wait_ms;
    return hf_quorum_acquire(p->quorum, &o, err);
}

void ck_assert_taken(struct party *p, int64_t owner)
{
    struct hf_error err = {0};
    hf_status rc = take(p, owner, LONG_MS, &err);

    ck_assert_msg(rc == HF_OK, "%s: %s", hf_status_name(rc), err.text);
    ck_assert_int_gt(hf_quorum_safe_ms(p->quorum, owner), 0);
}

void ck_assert_given(struct party *p, int64_t owner)
{
    struct hf_error err = {0};
    hf_status rc = hf_quorum_release(p->quorum, owner, &err);

    ck_assert_msg(rc == HF_OK, "%s: %s", hf_status_name(rc), err.text);
    ck_assert_int_eq(hf_quorum_safe_ms(p->quorum, owner), INT64_MIN);
}

void await_keys(int first, int count, const char *exists)
{
    for (int i = first; i < first + count; i++)
        server_await(servers[i], LONG_MS, exists, "EXISTS " NAME);
}

void each(int first, int count, void (*does)(struct server *))
{
    for (int i = first; i < first + count; i++)
        does(servers[i]);
}
