/* The value lock: SET NX PX on the server, and compare and delete. Others who do
 * likewise are played by their commands; tests/others/ has them themselves. */
#include "tests/live/test_lock.h"
#include "tests/support/lateness.h"

/* What redis-py writes for a holder. */
#define THEIRS "8d4c9e0cd2f711ef9a1b0242ac120002"
/* The longest pause of a waiter is 128 ms (WAIT-9). */
#define IN_TIME_MS 1000

static struct server *server;
static struct hf_client *client, *other;
static struct hf_lock *lock, *theirs;   /* of one name, in two clients */

static struct hf_lock *value_lock_of(struct hf_client *of, const char *name)
{
    struct hf_lock *new = NULL;

    ck_assert_ok(hf_lock_new_kind(&new, of, HF_KIND_VALUE, name, strlen(name),
                                  NULL));
    return new;
}

static void start(void)
{
    server = server_start(NULL);
    ck_assert_ptr_nonnull(server);
    client = client_timed(server_port(server), STEADY_WATCHDOG_MS, 5000);
    other = client_timed(server_port(server), STEADY_WATCHDOG_MS, 5000);
    lock = value_lock_of(client, NAME);
    theirs = value_lock_of(other, NAME);
}

static void stop(void)
{
    hf_client_free(client);
    hf_client_free(other);
    server_stop(server);
}

static void others_acquire(void)
{
    ck_assert_str_eq(
        server_ask(server, "SET " NAME " " THEIRS " NX PX 60000"), "OK");
}

static bool exists(void)
{
    return server_ask_int(server, "EXISTS " NAME) == 1;
}

/* ---- what it is on the server ---- */

START_TEST(it_is_a_string_with_the_owner_and_a_ttl)
{
    char text[HF_OWNER_TEXT_MAX];

    acquire(lock, 1);
    ck_assert_str_eq(server_ask(server, "TYPE " NAME), "string");
    ck_assert_str_eq(server_ask(server, "GET " NAME),
                     hf_lock_owner_text(lock, 1, text));
    ck_assert_int_gt(server_ask_int(server, "PTTL " NAME), 0);
    ck_assert_int_le(server_ask_int(server, "PTTL " NAME), STEADY_WATCHDOG_MS);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    ck_assert_str_eq(server_ask(server, "SET " NAME " " THEIRS " NX PX 9"),
                     "(nil)");
    release(lock, 1);
    ck_assert(!exists());
}
END_TEST

START_TEST(a_lease_is_the_ttl_and_is_not_renewed)
{
    acquire_for(lock, 1, 30000);
    ck_assert_int_gt(server_ask_int(server, "PTTL " NAME), 20000);
    ck_assert_int_le(server_ask_int(server, "PTTL " NAME), 30000);
    release(lock, 1);
}
END_TEST

START_TEST(inspection_describes_our_lock)
{
    char text[HF_OWNER_TEXT_MAX];
    struct hf_lock_info info;
    int64_t count;
    bool is_held;

    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert(!info.is_locked);
    ck_assert_int_eq(info.ttl_ms, -2);
    acquire(lock, 1);
    ck_assert_ok(hf_lock_inspect(theirs, &info, NULL));
    ck_assert(info.is_locked);
    ck_assert_int_eq(info.kind, HF_KIND_VALUE);
    ck_assert_int_eq(info.holders, 1);
    ck_assert_int_eq(info.hold_count, 1);
    ck_assert_str_eq(info.holder, hf_lock_owner_text(lock, 1, text));
    ck_assert_ok(hf_lock_is_held_by(lock, 1, &is_held, NULL));
    ck_assert(is_held);
    ck_assert_ok(hf_lock_hold_count(lock, 1, &count, NULL));
    ck_assert_int_eq(count, 1);
    release(lock, 1);
}
END_TEST

START_TEST(inspection_describes_the_lock_of_another_program)
{
    struct hf_lock_info info;

    others_acquire();
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert(info.is_locked);
    ck_assert_int_eq(info.kind, HF_KIND_VALUE);
    ck_assert_int_eq(info.holders, 1);
    ck_assert_str_eq(info.holder, THEIRS);
    ck_assert_int_gt(info.ttl_ms, 50000);
    (void)server_ask(server, "SET " NAME " 17"); /* without a TTL */
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert_int_eq(info.ttl_ms, -1);
    ck_assert_str_eq(info.holder, "17");
}
END_TEST

/* ---- it excludes ---- */

START_TEST(two_owners_exclude_each_other)
{
    struct hf_error err;

    acquire(lock, 1);
    ck_assert_status(try_acquire(lock, 2, &err), HF_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(err.text, "is held by"));
    ck_assert_status(try_acquire(theirs, 1, NULL), HF_TIMEOUT);
    ck_assert_status(hf_lock_release(theirs, 1, NULL), HF_NOT_OWNER);
    release(lock, 1);
    acquire(theirs, 1);
    ck_assert_status(try_acquire(lock, 1, NULL), HF_TIMEOUT);
    release(theirs, 1);
}
END_TEST

START_TEST(a_value_of_another_program_excludes_us)
{
    struct hf_error err;

    others_acquire();
    ck_assert_status(try_acquire(lock, 1, &err), HF_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(err.text, THEIRS));
    ck_assert_str_eq(server_ask(server, "GET " NAME), THEIRS);
    (void)server_ask(server, "DEL " NAME);
    acquire(lock, 1);
    release(lock, 1);
}
END_TEST

START_TEST(an_owner_that_holds_it_is_refused_at_once)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err;

    acquire(lock, 1);
    ck_assert_status(hf_lock_acquire(lock, &o, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "value lock"));
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    release(lock, 1);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
}
END_TEST

/* Redisson's locks are hashes: neither takes the other for its own. */
static const enum hf_lock_kind hashes[] = {
    HF_KIND_PLAIN, HF_KIND_FENCED, HF_KIND_FAIR, HF_KIND_READ, HF_KIND_WRITE,
    HF_KIND_SPIN};

START_TEST(a_lock_of_another_kind_is_an_error)
{
    struct hf_lock *hash = NULL;
    struct hf_lock_info info;
    struct hf_error err;

    ck_assert_ok(hf_lock_new_kind(&hash, client, hashes[_i], NAME, strlen(NAME),
                                  NULL));
    acquire(hash, 1);
    ck_assert_status(try_acquire(lock, 2, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "WRONGTYPE"));
    ck_assert_status(hf_lock_inspect(lock, &info, NULL), HF_E_SERVER);
    ck_assert_status(hf_lock_force_release(lock, NULL, 0, NULL), HF_E_SERVER);
    release(hash, 1);
    acquire(lock, 1);
    ck_assert_status(try_acquire(hash, 2, &err), HF_E_SERVER);
    release(lock, 1);
}
END_TEST

/* ---- waiting ---- */

/* What frees it, and tells nobody. */
static void free_by_release(void)
{
    release(lock, 1);
}

static void free_by_others(void)
{
    (void)server_ask(server, "DEL " NAME);
}

static void free_by_ttl(void)
{
    (void)server_ask(server, "PEXPIRE " NAME " 50");
}

static const struct {
    bool is_ours;
    void (*frees)(void);
} ends[] = {
    {true, free_by_release}, {false, free_by_others}, {false, free_by_ttl}};

START_TEST(a_waiter_sees_the_end_of_a_hold)
{
    struct hf_acquire_options o = acquire_options(2);
    struct call calls[2];
    int64_t freed_ms;

    if (ends[_i].is_ours)
        acquire(lock, 1);
    else
        others_acquire();
    call_acquire(&calls[0], theirs, &o);
    call_acquire(&calls[1], lock, &o);
    local_rest_us(A_MOMENT_MS * 1000);
    ck_assert(!call_is_done(&calls[0]) && !call_is_done(&calls[1]));
    ck_assert_str_eq(server_ask(server, "PUBSUB CHANNELS *" NAME "*"), "");
    ends[_i].frees();
    freed_ms = local_now_ms();
    while (!call_is_done(&calls[0]) && !call_is_done(&calls[1]))
        local_poll_rest();
    ck_assert_within(freed_ms, IN_TIME_MS);
    _i = call_is_done(&calls[0]) ? 0 : 1;
    ck_assert_status(call_await(&calls[_i]), HF_OK);
    release(_i == 0 ? theirs : lock, 2);
    ck_assert_status(call_await(&calls[1 - _i]), HF_OK);
    release(_i == 0 ? lock : theirs, 2);
}
END_TEST

START_TEST(calls_of_one_client_are_granted_as_they_came)
{
    struct call calls[6];

    others_acquire();
    for (int i = 0; i < COUNT(calls); i++) {
        struct hf_acquire_options o = acquire_options(10 + i);

        call_acquire(&calls[i], lock, &o);
    }
    free_by_others();
    for (int i = 0; i < COUNT(calls); i++) {
        ck_assert_status(call_await(&calls[i]), HF_OK);
        for (int j = i + 1; j < COUNT(calls); j++)
            ck_assert(!call_is_done(&calls[j]));
        release(lock, 10 + i);
    }
}
END_TEST

START_TEST(a_wait_ends_in_time_or_when_cancelled)
{
    struct hf_acquire_options o = acquire_options(2);
    struct hf_cancel cancel;
    struct call call;

    others_acquire();
    o.wait_ms = 200;
    must_time_out(lock, &o);
    hf_cancel_init(&cancel, client);
    o.wait_ms = HF_FOREVER;
    o.cancel = &cancel;
    call_acquire(&call, lock, &o);
    hf_cancel_fire(&cancel);
    ck_assert_status(call_await(&call), HF_CANCELLED);
    ck_assert_str_eq(server_ask(server, "GET " NAME), THEIRS);
}
END_TEST

/* A user who may use no channel at all. */
START_TEST(it_speaks_on_no_channel)
{
    struct hf_acquire_options o = acquire_options(2);
    struct hf_client_options options;
    char url[SERVER_URL_MAX];
    struct hf_lock *mute;
    struct hf_client *user;

    if (strcmp(server_ask(server, "ACL SETUSER mute on >secret ~* +@all "
                                  "resetchannels"),
               "OK") != 0)
        return; /* Redis 6.0 */
    client_options(&options, url, server_port(server));
    options.user = "mute";
    options.password = "secret";
    user = client_with(&options);
    mute = value_lock_of(user, NAME);
    others_acquire();
    o.wait_ms = 1000;
    must_time_out(mute, &o);
    ck_assert_ok(hf_lock_force_release(mute, NULL, 0, NULL));
    ck_assert_ok(hf_lock_acquire(mute, &o, NULL));
    release(mute, 2);
    ck_assert_str_eq(server_ask(server, "ACL LOG"), "");
    hf_client_free(user);
}
END_TEST

/* ---- renewed and lost ---- */

START_TEST(holds_are_renewed_beside_others)
{
    struct hf_lock *second = value_lock_of(client, "second");
    struct hf_lock *plain = lock_of(client, "plain");
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    acquire(second, 1);
    acquire(plain, 1);
    note_await(&diary.note, &diary.renewals, 3, "renewals");
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    ck_assert_int_gt(hf_lock_safe_ms(second, 1), 0);
    ck_assert_int_gt(hf_lock_safe_ms(plain, 1), 0);
    ck_assert_int_eq(diary.losses, 0);
    release(lock, 1);
    release(second, 1);
    release(plain, 1);
}
END_TEST

static const struct {
    const char *command;
    enum hf_lost reason;
} losses[] = {
    {"DEL " NAME, HF_REASON_DELETED},
    {"SET " NAME " " THEIRS " PX 60000", HF_REASON_TAKEN},
    {"HSET %s other 1", HF_REASON_TAKEN},
};

START_TEST(a_loss_is_reported_by_the_next_renewal)
{
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    if (strchr(losses[_i].command, '%'))
        (void)server_ask(server, "DEL " NAME);
    (void)server_ask(server, losses[_i].command, NAME);
    note_await(&diary.note, &diary.losses, 1, "the loss");
    ck_assert_int_eq(diary.reason, losses[_i].reason);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_int_eq(exists(), losses[_i].reason == HF_REASON_TAKEN);
}
END_TEST

START_TEST(a_release_keeps_a_value_of_another_program)
{
    acquire_for(lock, 1, 30000);
    (void)server_ask(server, "SET " NAME " " THEIRS " PX 60000");
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_str_eq(server_ask(server, "GET " NAME), THEIRS);
}
END_TEST

/* ---- by force ---- */

START_TEST(force_frees_it_for_any_holder)
{
    ck_assert_status(hf_lock_force_release(lock, NULL, 0, NULL), HF_NOT_OWNER);
    others_acquire();
    ck_assert_ok(hf_lock_force_release(lock, NULL, 0, NULL));
    ck_assert(!exists());
    acquire(lock, 1);
    ck_assert_ok(hf_lock_force_release(theirs, NULL, 0, NULL));
    ck_assert(!exists());
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
}
END_TEST

START_TEST(force_frees_it_if_the_named_one_holds_it)
{
    char text[HF_OWNER_TEXT_MAX];

    acquire(lock, 1);
    ck_assert_status(hf_lock_force_release(lock, THEIRS, strlen(THEIRS), NULL),
                     HF_NOT_OWNER);
    ck_assert(exists());
    (void)hf_lock_owner_text(lock, 1, text);
    ck_assert_ok(hf_lock_force_release(theirs, text, strlen(text), NULL));
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    others_acquire();
    ck_assert_ok(hf_lock_force_release(lock, THEIRS, strlen(THEIRS), NULL));
    ck_assert(!exists());
}
END_TEST

START_TEST(force_names_a_holder_of_1_to_191_bytes)
{
    char holder[192];

    memset(holder, 'x', sizeof holder);
    ck_assert_status(hf_lock_force_release(lock, "", 0, NULL), HF_E_INVAL);
    ck_assert_status(hf_lock_force_release(lock, holder, 192, NULL),
                     HF_E_INVAL);
    ck_assert_status(hf_lock_force_release(lock, holder, 191, NULL),
                     HF_NOT_OWNER);
    (void)server_ask(server, "SET " NAME " %b", holder, (size_t)191);
    ck_assert_ok(hf_lock_force_release(lock, holder, 191, NULL));
    ck_assert(!exists());
}
END_TEST

/* No program writes so long a holder: it may be a page, or a picture. */
static const size_t odd_sizes[] = {0, 192};

START_TEST(force_leaves_a_string_that_no_holder_would_write)
{
    char text[192];
    struct hf_error err;

    memset(text, 'x', sizeof text);
    (void)server_ask(server, "SET " NAME " %b", text, odd_sizes[_i]);
    ck_assert_status(hf_lock_force_release(lock, NULL, 0, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot be a holder"));
    ck_assert(exists());
    ck_assert_status(try_acquire(lock, 1, NULL), HF_TIMEOUT);
}
END_TEST

/* ---- what is left behind ---- */

/* The client has no hold of it, as after an answer that never came. */
START_TEST(an_orphan_of_ours_is_released)
{
    struct hf_acquire_options o = acquire_options(2);
    char text[HF_OWNER_TEXT_MAX];

    acquire(lock, 1);
    (void)hf_lock_owner_text(lock, 1, text);
    release(lock, 1);
    (void)server_ask(server, "SET " NAME " %s PX 60000", text);
    o.wait_ms = LONG_MS;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    release(lock, 2);
}
END_TEST

static void add_all(Suite *suite)
{
    TCase *c = live_case(suite, "value", start, stop);

    tcase_add_test(c, it_is_a_string_with_the_owner_and_a_ttl);
    tcase_add_test(c, a_lease_is_the_ttl_and_is_not_renewed);
    tcase_add_test(c, inspection_describes_our_lock);
    tcase_add_test(c, inspection_describes_the_lock_of_another_program);
    tcase_add_test(c, two_owners_exclude_each_other);
    tcase_add_test(c, a_value_of_another_program_excludes_us);
    tcase_add_test(c, an_owner_that_holds_it_is_refused_at_once);
    tcase_add_loop_test(c, a_lock_of_another_kind_is_an_error, 0,
                        COUNT(hashes));
    tcase_add_loop_test(c, a_waiter_sees_the_end_of_a_hold, 0, COUNT(ends));
    tcase_add_test(c, calls_of_one_client_are_granted_as_they_came);
    tcase_add_test(c, a_wait_ends_in_time_or_when_cancelled);
    tcase_add_test(c, it_speaks_on_no_channel);
    tcase_add_test(c, a_release_keeps_a_value_of_another_program);
    tcase_add_test(c, force_frees_it_for_any_holder);
    tcase_add_test(c, force_frees_it_if_the_named_one_holds_it);
    tcase_add_test(c, force_names_a_holder_of_1_to_191_bytes);
    tcase_add_loop_test(c, force_leaves_a_string_that_no_holder_would_write, 0,
                        COUNT(odd_sizes));
    tcase_add_test(c, an_orphan_of_ours_is_released);
    c = live_case(suite, "renewals", start, stop);
    tcase_add_test(c, holds_are_renewed_beside_others);
    tcase_add_loop_test(c, a_loss_is_reported_by_the_next_renewal, 0,
                        COUNT(losses));
}

int main(void)
{
    return live_main("lock, value", add_all);
}
