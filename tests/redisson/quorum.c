/* Quorums beside Redisson's RedLock of the same members. All are on one server
 * here, of which each member has a client of its own, as a quorum wants. */
#include "tests/redisson/both.h"

#define MEMBERS 3
#define THEIRS "quorum quorum:a+quorum:b+quorum:c"

static const char *const names[MEMBERS] = {"quorum:a", "quorum:b", "quorum:c"};

static struct hf_client *clients[MEMBERS];
static struct hf_lock *members[MEMBERS];
static struct hf_quorum *quorum;

static void open_member(int i)
{
    struct hf_client_options options;
    char url[SERVER_URL_MAX];

    hf_client_options_init(&options);
    options.url = server_url(server, url);
    options.watchdog_ms = OUR_WATCHDOG_MS;
    ck_assert_int_eq(hf_client_new(&clients[i], &options, NULL), HF_OK);
    ck_assert_int_eq(hf_lock_new(&members[i], clients[i], names[i],
                                 strlen(names[i]), NULL), HF_OK);
}

static void start_quorum(void)
{
    for (int i = 0; i < MEMBERS; i++)
        open_member(i);
    ck_assert_int_eq(hf_quorum_new(&quorum, members, MEMBERS, NULL), HF_OK);
}

static void stop_quorum(void)
{
    hf_quorum_free(quorum);
    for (int i = 0; i < MEMBERS; i++) {
        hf_lock_free(members[i]);
        hf_client_free(clients[i]);
    }
}

static hf_status quorum_within(int64_t wait_ms)
{
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.wait_ms = wait_ms;
    o.allow_same_server = true;
    return hf_quorum_acquire(quorum, &o, NULL);
}

static void release_quorum(void)
{
    ck_assert_int_eq(hf_quorum_release(quorum, hf_owner_thread(), NULL), HF_OK);
}

START_TEST(their_redlock_excludes_our_quorum)
{
    ck_assert_java("ok", 1, "acquire " THEIRS);
    ck_assert_int_eq(quorum_within(0), HF_TIMEOUT);
    driver_tell(java, 1, "unlock " THEIRS);
    ck_assert_int_eq(quorum_within(TOLD_MS), HF_OK);
    ck_assert_told("ok", 1);
    release_quorum();
}
END_TEST

START_TEST(our_quorum_excludes_their_redlock)
{
    ck_assert_int_eq(quorum_within(0), HF_OK);
    ck_assert_java("false", 1, "try " THEIRS);
    driver_tell(java, 1, "acquire " THEIRS);
    ck_assert_waits(1);
    release_quorum();
    ck_assert_told("ok", 1);
    ck_assert_java("ok", 1, "unlock " THEIRS);
}
END_TEST

/* One member of three is somebody's: a vote less, for either side. */
START_TEST(most_of_the_members_are_enough_for_both_sides)
{
    struct hf_lock *lock = lock_on(HF_KIND_PLAIN, names[_i]);

    ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
    ck_assert_java("true", 1, "try " THEIRS);
    ck_assert_int_eq(quorum_within(0), HF_TIMEOUT);
    driver_tell(java, 1, "unlock " THEIRS);
    ck_assert_int_eq(quorum_within(TOLD_MS), HF_OK);
    ck_assert_told("ok", 1);
    ck_assert_java("false", 1, "try " THEIRS);
    release_quorum();
    release(lock);
    hf_lock_free(lock);
}
END_TEST

/* Read, add, write, without any atomicity but the quorum's. */
#define ADDS 30

START_TEST(both_sides_add_up)
{
    server_ask(server, "SET sum 0");
    driver_tell(java, 1, "add " THEIRS " sum %d", ADDS);
    for (int i = 0; i < ADDS; i++) {
        long long sum;

        ck_assert_int_eq(quorum_within(DRIVER_MS), HF_OK);
        sum = atoll(server_ask(server, "GET sum"));
        server_ask(server, "SET sum %lld", sum + 1);
        release_quorum();
    }
    ck_assert_str_eq(driver_answer(java, 1, DRIVER_MS), "ok");
    ck_assert_int_eq(atoi(server_ask(server, "GET sum")), 2 * ADDS);
}
END_TEST

TCase *quorum_case(void)
{
    TCase *tc = both_case("quorum");

    tcase_add_checked_fixture(tc, start_quorum, stop_quorum);
    tcase_add_test(tc, their_redlock_excludes_our_quorum);
    tcase_add_test(tc, our_quorum_excludes_their_redlock);
    tcase_add_loop_test(tc, most_of_the_members_are_enough_for_both_sides, 0,
                        MEMBERS);
    tcase_add_test(tc, both_sides_add_up);
    return tc;
}
