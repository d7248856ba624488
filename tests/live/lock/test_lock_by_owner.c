/* Holds of processes that are gone are renewed and released by their owner's text
 * (lock/by_owner.h), of each kind. */
#include "lock/by_owner.h"

#include "lock/permits.h"
#include "tests/live/test_lock_ways.h"
#include "tests/support/one_server.h"
#include "tests/support/peer.h"
#include "tests/support/proxy.h"

#define MINUTE_MS 60000
#define HOUR_MS 3600000
#define STRANGER "0123abcd-0123-4567-89ab-0123456789ab:7"

static const enum hf_lock_kind kinds[] = {
    HF_KIND_PLAIN, HF_KIND_FAIR,          HF_KIND_NONREENTRANT,
    HF_KIND_SPIN,  HF_KIND_NONREENTRANT_FAIR, HF_KIND_VALUE,
    HF_KIND_WRITE, HF_KIND_READ,          HF_KIND_PERMIT,
};

static struct hf_client *client;
static char owner[HF_OWNER_TEXT_MAX];   /* of what is left behind */

static struct hf_lock *lock_in(struct hf_client *of, enum hf_lock_kind kind)
{
    struct hf_lock *new = NULL;
    bool is_new;

    ck_assert_ok(hf_lock_new_kind(&new, of, kind, NAME, strlen(NAME), NULL));
    if (kind == HF_KIND_PERMIT)
        ck_assert_ok(hf_permits_try_set(new, 1, &is_new, NULL));
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

/* Of a client that has ended. */
static void leave_held(enum hf_lock_kind kind, int times)
{
    struct hf_client *gone = client_to(server_port(server));
    struct hf_lock *lock = lock_in(gone, kind);

    for (int i = 0; i < times; i++)
        acquire_for(lock, 1, MINUTE_MS);
    (void)hf_lock_owner_text(lock, 1, owner);
    hf_lock_free(lock);
    hf_client_free(gone);
}

static hf_status renew(struct hf_lock *lock, int64_t lease_ms, int64_t *safe_ms)
{
    return hf_renew_by_owner(lock, owner, strlen(owner), lease_ms, safe_ms, NULL);
}

static hf_status renew_for_an_hour(struct hf_lock *lock)
{
    return renew(lock, HOUR_MS, NULL);
}

static hf_status give_up(struct hf_lock *lock)
{
    return hf_release_by_owner(lock, owner, strlen(owner), NULL);
}

/* How long the server keeps the hold. */
static int64_t left_ms(struct hf_lock *lock)
{
    struct hf_lock_info info;

    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    return info.ttl_ms;
}

/* ---- renew ---- */

START_TEST(a_renewal_makes_it_last_longer)
{
    struct hf_lock *lock = lock_in(client, kinds[_i]);
    int64_t safe_ms = 0;

    leave_held(kinds[_i], 1);
    ck_assert_ok(renew(lock, HOUR_MS, &safe_ms));
    ck_assert_int_gt(safe_ms, MINUTE_MS);
    ck_assert_int_lt(safe_ms, HOUR_MS);
    ck_assert_int_gt(left_ms(lock), HOUR_MS - MINUTE_MS);
    ck_assert_ok(give_up(lock));
    ck_assert_int_eq(left_ms(lock), -2);
    hf_lock_free(lock);
}
END_TEST

/* A full server refuses scripts that begin with what needs memory. */
START_TEST(a_full_server_renews_and_releases)
{
    struct hf_lock *lock = lock_in(client, kinds[_i]);

    leave_held(kinds[_i], 1);
    (void)server_ask(server, "CONFIG SET maxmemory 1");
    ck_assert_ok(renew(lock, HOUR_MS, NULL));
    ck_assert_ok(renew(lock, MINUTE_MS, NULL));
    ck_assert_ok(give_up(lock));
    ck_assert_int_eq(left_ms(lock), -2);
    hf_lock_free(lock);
}
END_TEST

START_TEST(permit_that_never_ends_has_the_longest_safe_time)
{
    struct hf_lock *lock = lock_in(client, HF_KIND_PERMIT);
    int64_t safe_ms = 0;

    leave_held(HF_KIND_PERMIT, 1);
    (void)server_ask(server, "EVAL %s 1 {" NAME "}:timeout",
                     "return redis.call('zadd', KEYS[1], 922337203685477, "
                     "redis.call('zrange', KEYS[1], 0, 0)[1])");
    ck_assert_ok(renew(lock, MINUTE_MS, &safe_ms));
    ck_assert_int_eq(safe_ms, HF_SPAN_MAX_MS);
    ck_assert_int_eq(left_ms(lock), -1);
    hf_lock_free(lock);
}
END_TEST

/* Also when it comes late: what is left counts. */
START_TEST(a_renewal_never_makes_it_shorter)
{
    struct hf_lock *lock = lock_in(client, kinds[_i]);
    int64_t safe_ms = 0;

    leave_held(kinds[_i], 1);
    ck_assert_ok(renew(lock, HOUR_MS, NULL));
    ck_assert_ok(renew(lock, 100, &safe_ms));
    ck_assert_int_gt(safe_ms, MINUTE_MS);
    ck_assert_int_gt(left_ms(lock), HOUR_MS - MINUTE_MS);
    ck_assert_ok(give_up(lock));
    hf_lock_free(lock);
}
END_TEST

static const enum hf_lock_kind reentrant[] = {
    HF_KIND_PLAIN, HF_KIND_FAIR, HF_KIND_SPIN, HF_KIND_WRITE, HF_KIND_READ,
};

START_TEST(renewal_and_release_are_of_every_acquisition)
{
    struct hf_lock *lock = lock_in(client, reentrant[_i]);
    int64_t safe_ms = 0;

    leave_held(reentrant[_i], 3);
    ck_assert_ok(renew(lock, HOUR_MS, &safe_ms));
    ck_assert_int_gt(safe_ms, MINUTE_MS);
    if (reentrant[_i] == HF_KIND_READ)
        for (int i = 1; i <= 3; i++)
            ck_assert_int_gt(server_ask_int(server,
                                            "PTTL {" NAME
                                            "}:%s:rwlock_timeout:%d",
                                            owner, i), MINUTE_MS);
    ck_assert_ok(give_up(lock));
    ck_assert_str_eq(server_ask(server, "KEYS *"), "");
    hf_lock_free(lock);
}
END_TEST

START_TEST(renewal_leaves_a_lock_without_ttl_alone)
{
    struct hf_lock *lock = lock_in(client, HF_KIND_PLAIN);
    int64_t safe_ms = 0;

    leave_held(HF_KIND_PLAIN, 1);
    (void)server_ask(server, "PERSIST " NAME);
    ck_assert_ok(renew(lock, 1000, &safe_ms));
    ck_assert_int_eq(safe_ms, HF_SPAN_MAX_MS);
    ck_assert_int_eq(left_ms(lock), -1);
    ck_assert_ok(give_up(lock));
    hf_lock_free(lock);
}
END_TEST

/* ---- nobody, and others ---- */

START_TEST(stranger_can_neither_renew_nor_release)
{
    const char *stranger =
        kinds[_i] == HF_KIND_WRITE ? STRANGER ":write" : STRANGER;
    struct hf_lock *lock = lock_in(client, kinds[_i]);
    int64_t safe_ms = 77, before_ms;
    struct hf_error err;

    (void)strcpy(owner, stranger);
    ck_assert_status(renew(lock, HOUR_MS, &safe_ms), HF_NOT_OWNER);
    ck_assert_status(give_up(lock), HF_NOT_OWNER);
    leave_held(kinds[_i], 1);
    before_ms = left_ms(lock);
    ck_assert_status(hf_renew_by_owner(lock, stranger, strlen(stranger),
                                       HOUR_MS, &safe_ms, &err),
                     HF_NOT_OWNER);
    ck_assert_ptr_nonnull(strstr(err.text, NAME));
    ck_assert_status(hf_release_by_owner(lock, stranger, strlen(stranger),
                                         NULL), HF_NOT_OWNER);
    ck_assert_int_le(left_ms(lock), before_ms);
    ck_assert_int_gt(left_ms(lock), 0);
    ck_assert_int_eq(safe_ms, 77);
    ck_assert_ok(give_up(lock));
    ck_assert_status(give_up(lock), HF_NOT_OWNER);
    hf_lock_free(lock);
}
END_TEST

START_TEST(another_reader_stays)
{
    struct hf_lock *lock = lock_in(client, HF_KIND_READ);

    leave_held(HF_KIND_READ, 1);
    acquire(lock, 2);
    ck_assert_ok(renew(lock, HOUR_MS, NULL));
    ck_assert_ok(give_up(lock));
    ck_assert_int_gt(hf_lock_safe_ms(lock, 2), 0);
    ck_assert_int_le(left_ms(lock), MINUTE_MS);
    release(lock, 2);
    ck_assert_str_eq(server_ask(server, "KEYS *"), "");
    hf_lock_free(lock);
}
END_TEST

/* What the server has: the same for all that is a hash with one owner. */
enum form { HASH, READ, WRITE, VALUE, PERMIT };

static enum form form_of(enum hf_lock_kind kind)
{
    switch (kind) {
    case HF_KIND_READ:
        return READ;
    case HF_KIND_WRITE:
        return WRITE;
    case HF_KIND_VALUE:
        return VALUE;
    case HF_KIND_PERMIT:
        return PERMIT;
    default:
        return HASH;
    }
}

/* But for what an acquire of a permit leaves to its own, later DEL. */
#define KEYS_THAT_STAY                                                        \
    "local keys = redis.call('KEYS', '*[^r]') table.sort(keys) "              \
    "return table.concat(keys, ' ')"      /* not "...:holdfast_answer" */

static void all_there_is(char dst[500])
{
    (void)snprintf(dst, 500, "%s ",
                   server_ask(server, "EVAL %s 0", KEYS_THAT_STAY));
    (void)snprintf(dst + strlen(dst), 500 - strlen(dst), "%s",
                   server_ask(server, "TYPE " NAME));
}

static void ask_by_another_kind(enum hf_lock_kind asked)
{
    struct hf_lock *lock;
    hf_status rc;

    ck_assert_ok(hf_lock_new_kind(&lock, client, asked, NAME, strlen(NAME),
                                  NULL));
    rc = renew(lock, HOUR_MS, NULL);
    ck_assert(rc == HF_NOT_OWNER || rc == HF_E_SERVER || rc == HF_E_INVAL);
    rc = give_up(lock);
    ck_assert(rc == HF_NOT_OWNER || rc == HF_E_SERVER || rc == HF_E_INVAL);
    hf_lock_free(lock);
}

/* Nor does the hold: somebody may believe in it, or in another one. */
START_TEST(a_handle_of_another_kind_changes_nothing)
{
    enum hf_lock_kind held = kinds[_i];
    struct hf_lock *right = lock_in(client, held);
    char before[500], after[500];

    leave_held(held, 1);
    all_there_is(before);
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (form_of(kinds[i]) != form_of(held))
            ask_by_another_kind(kinds[i]);
    all_there_is(after);
    ck_assert_str_eq(after, before);
    ck_assert_int_le(left_ms(right), MINUTE_MS);
    ck_assert_ok(give_up(right));
    hf_lock_free(right);
}
END_TEST

START_TEST(other_readers_stay_whatever_the_handle)
{
    struct hf_lock *lock = lock_in(client, HF_KIND_READ);
    struct hf_lock *plain = lock_in(client, HF_KIND_PLAIN);

    leave_held(HF_KIND_READ, 1);
    acquire(lock, 2);
    ck_assert_status(give_up(plain), HF_E_SERVER);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 2), 0);
    ck_assert_int_gt(left_ms(lock), 0);
    ck_assert_ok(give_up(lock));
    release(lock, 2);
    hf_lock_free(plain);
    hf_lock_free(lock);
}
END_TEST

/* A plain release would not wake its head. */
START_TEST(a_queue_is_not_left_asleep_by_a_plain_handle)
{
    struct hf_lock *fair = lock_in(client, HF_KIND_FAIR);
    struct hf_lock *plain = lock_in(client, HF_KIND_PLAIN);
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 5);
    struct call call;

    leave_held(HF_KIND_FAIR, 1);
    call_acquire(&call, fair, &o);
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    ck_assert_status(give_up(plain), HF_E_SERVER);
    ck_assert_ok(give_up(fair));
    ck_assert_ok(call_await(&call));
    release(fair, 5);
    hf_lock_free(plain);
    hf_lock_free(fair);
}
END_TEST

/* Not even its TTL. */
START_TEST(a_count_that_is_no_number_is_no_hold)
{
    struct hf_lock *lock = lock_in(client, HF_KIND_PLAIN);

    (void)strcpy(owner, STRANGER);
    (void)server_ask(server, "HSET " NAME " " STRANGER " abc");
    (void)server_ask(server, "PEXPIRE " NAME " 60000");
    ck_assert_status(renew(lock, HOUR_MS, NULL), HF_NOT_OWNER);
    ck_assert_int_le(server_ask_int(server, "PTTL " NAME), MINUTE_MS);
    hf_lock_free(lock);
}
END_TEST

/* Its own client would go on to believe in it. */
START_TEST(an_owner_of_this_client_is_refused)
{
    struct hf_lock *lock = lock_in(client, kinds[_i]);
    struct hf_error err;

    acquire(lock, 1);
    (void)hf_lock_owner_text(lock, 1, owner);
    ck_assert_status(renew(lock, HOUR_MS, NULL), HF_E_INVAL);
    ck_assert_status(hf_release_by_owner(lock, owner, strlen(owner), &err),
                     HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "an owner of this client"));
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    release(lock, 1);
    hf_lock_free(lock);
}
END_TEST

static const struct {
    const char *text;
    size_t len;
} nobodies[] = {{NULL, 0}, {"", 0}, {"nonsense", 8}, {STRANGER, 36},
                {STRANGER STRANGER, sizeof STRANGER STRANGER - 1}};

START_TEST(invalid_owner_is_refused)
{
    struct hf_lock *lock = lock_in(client, HF_KIND_PLAIN);
    const char *text = nobodies[_i].text;
    size_t len = nobodies[_i].len;
    struct hf_error err;

    ck_assert_status(hf_renew_by_owner(lock, text, len, 1000, NULL, &err),
                     HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "uuid:number"));
    ck_assert_status(hf_release_by_owner(lock, text, len, &err), HF_E_INVAL);
    ck_assert_status(hf_release_by_owner_async(lock, text, len, call_done, NULL),
                     HF_E_INVAL);
    hf_lock_free(lock);
}
END_TEST

START_TEST(lease_of_nothing_or_too_long_is_refused)
{
    struct hf_lock *lock = lock_in(client, HF_KIND_PLAIN);

    (void)strcpy(owner, STRANGER);
    ck_assert_status(renew(lock, 0, NULL), HF_E_INVAL);
    ck_assert_status(renew(lock, -1, NULL), HF_E_INVAL);
    ck_assert_status(renew(lock, HF_SPAN_MAX_MS + 1, NULL), HF_E_INVAL);
    ck_assert_status(hf_renew_by_owner_async(lock, owner, strlen(owner), 0, NULL,
                                             call_done, NULL), HF_E_INVAL);
    hf_lock_free(lock);
}
END_TEST

/* A value lock's holder may be redis-py's. */
START_TEST(any_text_holds_a_value_lock)
{
    struct hf_lock *lock = lock_in(client, HF_KIND_VALUE);

    (void)server_ask(server, "SET " NAME " token PX 60000");
    (void)strcpy(owner, "token");
    ck_assert_ok(renew(lock, HOUR_MS, NULL));
    ck_assert_int_gt(left_ms(lock), MINUTE_MS);
    ck_assert_ok(give_up(lock));
    ck_assert_str_eq(server_ask(server, "KEYS *"), "");
    hf_lock_free(lock);
}
END_TEST

static const char *const foreign[] = {"SET " NAME " text", "RPUSH " NAME " a",
                                      "SADD " NAME " a", "ZADD " NAME " 1 a"};

START_TEST(another_programs_key_is_left_alone)
{
    struct hf_lock *lock = lock_in(client, HF_KIND_PLAIN);
    char before[300];

    (void)strcpy(owner, STRANGER);
    (void)server_ask(server, foreign[_i]);
    (void)strcpy(before, server_ask(server, "DUMP " NAME));
    ck_assert_status(renew(lock, HOUR_MS, NULL), HF_E_SERVER);
    ck_assert_status(give_up(lock), HF_E_SERVER);
    ck_assert_str_eq(server_ask(server, "DUMP " NAME), before);
    ck_assert_str_eq(server_ask(server, "PTTL " NAME), "-1");
    hf_lock_free(lock);
}
END_TEST

/* ---- who waits ---- */

/* Long before the lease ends; a spin or value lock's asks by itself. */
START_TEST(a_release_lets_a_waiter_in)
{
    struct hf_lock *lock = lock_in(client, kinds[_i]), *waiting;
    struct hf_client *other = client_to(server_port(server));
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 5);
    struct call call;

    leave_held(kinds[_i], 1);
    waiting = lock_in(other, kinds[_i] == HF_KIND_READ ? HF_KIND_WRITE
                                                       : kinds[_i]);
    call_acquire(&call, waiting, &o);
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    ck_assert_ok(give_up(lock));
    ck_assert_ok(call_await(&call));
    ck_assert_int_eq(diary.losses, 0);
    release(waiting, 5);
    hf_lock_free(waiting);
    hf_lock_free(lock);
    hf_client_free(other);
}
END_TEST

/* ---- without blocking, and without an answer ---- */

START_TEST(it_has_a_call_without_blocking)
{
    struct hf_lock *lock = lock_in(client, kinds[_i]);
    struct call call;
    int64_t safe_ms = 0;

    leave_held(kinds[_i], 1);
    call_init(&call);
    ck_assert_ok(hf_renew_by_owner_async(lock, owner, strlen(owner), HOUR_MS,
                                         &safe_ms, call_done, &call));
    ck_assert_ok(call_await(&call));
    ck_assert_int_gt(safe_ms, MINUTE_MS);
    call_init(&call);
    ck_assert_ok(hf_release_by_owner_async(lock, owner, strlen(owner), call_done,
                                           &call));
    ck_assert_ok(call_await(&call));
    ck_assert_int_eq(left_ms(lock), -2);
    hf_lock_free(lock);
}
END_TEST

/* With its connection. Asked again, a renewal is done once more; and a release
 * cannot tell whose it was. */
static const struct {
    hf_status (*ask)(struct hf_lock *lock);
    hf_status answer;
    const char *exists;
} twice[] = {{renew_for_an_hour, HF_OK, "1"}, {give_up, HF_E_NOREPLY, "0"}};

START_TEST(a_request_whose_reply_is_lost_is_repeated)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_client *far = client_to(proxy_port(proxy));
    struct hf_lock *lock = lock_in(far, HF_KIND_PLAIN);

    (void)strcpy(owner, STRANGER);
    ck_assert_status(twice[_i].ask(lock), HF_NOT_OWNER); /* it has the script */
    leave_held(HF_KIND_PLAIN, 1);
    proxy_cut_after(proxy, PROXY_TO_CLIENT, 0, PROXY_CLOSE);
    ck_assert_status(twice[_i].ask(lock), twice[_i].answer);
    ck_assert(proxy_has_cut(proxy));
    ck_assert_str_eq(server_ask(server, "EXISTS " NAME), twice[_i].exists);
    hf_lock_free(lock);
    hf_client_free(far);
    proxy_stop(proxy);
}
END_TEST

/* The first copy may have been executed. */
static struct peer_step refused_copy[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA ..."), PEER_RESET,
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA ..."),
    PEER_SEND("-OOM no memory is left\r\n"), PEER_WAIT, PEER_END,
};

START_TEST(a_refusal_of_a_repeated_request_leaves_the_outcome_unknown)
{
    struct peer *peer = peer_start(refused_copy);
    struct hf_client *far = client_to(peer_port(peer));
    struct hf_lock *lock = lock_of(far, NAME);
    struct hf_error err;

    ck_assert_status(_i ? hf_release_by_owner(lock, STRANGER, strlen(STRANGER), &err)
                        : hf_renew_by_owner(lock, STRANGER, strlen(STRANGER),
                                            HOUR_MS, NULL, &err),
                     HF_E_NOREPLY);
    ck_assert_ptr_nonnull(strstr(err.text, "OOM"));
    peer_go(peer);
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    hf_lock_free(lock);
    hf_client_free(far);
    peer_free(peer);
}
END_TEST

/* What is safe is counted from the sending. */
START_TEST(an_answer_that_is_late_leaves_less)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_client *far = client_to(proxy_port(proxy));
    struct hf_lock *lock = lock_in(far, HF_KIND_PLAIN);
    int64_t safe_ms = 0;

    leave_held(HF_KIND_PLAIN, 1);
    ck_assert_int_gt(left_ms(lock), 0);
    (void)server_ask(server, "PEXPIRE " NAME " 1000");
    proxy_delay(proxy, PROXY_TO_CLIENT, 300);
    ck_assert_ok(renew(lock, 1000, &safe_ms));
    ck_assert_int_le(safe_ms, 700);
    hf_lock_free(lock);
    hf_client_free(far);
    proxy_stop(proxy);
}
END_TEST

static void add(Suite *s)
{
    TCase *c = live_case(s, "renew", start, stop);

    tcase_add_loop_test(c, a_renewal_makes_it_last_longer, 0, COUNT(kinds));
    tcase_add_loop_test(c, a_renewal_never_makes_it_shorter, 0, COUNT(kinds));
    tcase_add_loop_test(c, renewal_and_release_are_of_every_acquisition, 0,
                        COUNT(reentrant));
    tcase_add_test(c, renewal_leaves_a_lock_without_ttl_alone);
    tcase_add_loop_test(c, a_full_server_renews_and_releases, 0, COUNT(kinds));
    tcase_add_test(c, permit_that_never_ends_has_the_longest_safe_time);
    c = live_case(s, "others", start, stop);
    tcase_add_loop_test(c, stranger_can_neither_renew_nor_release, 0,
                        COUNT(kinds));
    tcase_add_test(c, another_reader_stays);
    tcase_add_loop_test(c, a_handle_of_another_kind_changes_nothing, 0,
                        COUNT(kinds));
    tcase_add_test(c, other_readers_stay_whatever_the_handle);
    tcase_add_test(c, a_queue_is_not_left_asleep_by_a_plain_handle);
    tcase_add_test(c, a_count_that_is_no_number_is_no_hold);
    tcase_add_loop_test(c, an_owner_of_this_client_is_refused, 0, COUNT(kinds));
    tcase_add_loop_test(c, invalid_owner_is_refused, 0, COUNT(nobodies));
    tcase_add_test(c, lease_of_nothing_or_too_long_is_refused);
    tcase_add_test(c, any_text_holds_a_value_lock);
    tcase_add_loop_test(c, another_programs_key_is_left_alone, 0,
                        COUNT(foreign));
    c = live_case(s, "calls", start, stop);
    tcase_add_loop_test(c, a_release_lets_a_waiter_in, 0, COUNT(kinds));
    tcase_add_loop_test(c, it_has_a_call_without_blocking, 0, COUNT(kinds));
    tcase_add_loop_test(c, a_request_whose_reply_is_lost_is_repeated, 0,
                        COUNT(twice));
    tcase_add_loop_test(c, a_refusal_of_a_repeated_request_leaves_the_outcome_unknown,
                        0, 2);
    tcase_add_test(c, an_answer_that_is_late_leaves_less);
}

int main(void)
{
    return live_main("by owner", add);
}
