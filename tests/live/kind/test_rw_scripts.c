/* The scripts of the read-write lock, called as the library will call them.
 * Each table of steps leaves the states of WIRE 12; what is ours alone stands
 * below them. (tests/redisson runs the same tables with Redisson.) */
#include "net/route/slot.h"
#include "tests/live/test_lock.h"
#include "tests/support/cluster.h"
#include "tests/support/feed.h"
#include "tests/support/one_server.h"
#include "tests/support/rw_steps.h"

#define A "6e3814a1-e847-452b-a982-45baf93a1df2:1"
#define B "0c1d2e3f-a0b1-42c3-94d5-e6f708192a3b:12345678901234567"
#define LEASE_MS 100000

static struct rw_party parties[2];

static void begin(const char *name, int times)
{
    parties[0] = rw_party_scripts(server, name, A, times);
    parties[1] = rw_party_scripts(server, name, B, times);
}

static void start(void)
{
    start_server();
    begin(NAME, 1);
}

START_TEST(steps_leave_the_states_of_the_contract)
{
    rw_run(&rw_tables[_i], parties);
}
END_TEST

static const char *const names[] = {"order:42", "shop{eu}lock", "{a}{b}",
                                    "x}y"};

/* RW-1 */
START_TEST(names_have_braces_or_not)
{
    begin(names[_i], 1);
    rw_run(&rw_tables[0], parties);
    begin(names[_i], 1);
    rw_run(&rw_tables[3], parties); /* a writer that reads */
}
END_TEST

START_TEST(requests_that_are_repeated_change_nothing)
{
    begin(NAME, 3);
    rw_run(&rw_tables[_i], parties);
}
END_TEST

/* ---- what is ours alone ---- */

/* "A read 100": it succeeds. */
static void does(const char *step)
{
    struct rw_party *p = &parties[*step - 'A'];
    char verb[20];
    long s = 0;

    ck_assert_int_ge(sscanf(step, "%*c %19s %ld", verb, &s), 1);
    ck_assert_msg(strcmp(p->act(p, verb, s * 1000), "ok") == 0, "%s", step);
}

static void ck_assert_state(const char *expected)
{
    ck_assert_str_eq(rw_state(parties), expected);
}

static const char *read_acquire(const char *owner, int count)
{
    struct rw_party p = rw_party_scripts(server, NAME, owner, 1);

    return rw_script(server, "read_acquire", "2 %s %s %s %d %d %s:write", NAME,
                     rw_hold_key(&p, 0), owner, count, LEASE_MS, owner);
}

static const char *read_release(const char *owner, int count)
{
    struct rw_party p = rw_party_scripts(server, NAME, owner, 1);

    return rw_script(server, "read_release", "2 %s %s %s %d %d PUBLISH %s",
                     NAME, rw_hold_key(&p, 0), owner, count, LEASE_MS,
                     rw_channel(NAME));
}

static const char *write_acquire(const char *owner, int count)
{
    return rw_script(server, "write_acquire", "1 %s %s:write %d %d", NAME,
                     owner, count, LEASE_MS);
}

static const char *write_release(const char *owner, int count)
{
    return rw_script(server, "write_release", "1 %s %s:write %d %d PUBLISH %s",
                     NAME, owner, count, LEASE_MS, rw_channel(NAME));
}

START_TEST(refusal_names_the_holder)
{
    char expected[200];

    does("A read 100");
    (void)server_ask(server, "PERSIST " NAME);
    (void)sprintf(expected, "%s:write -1 -1 %s 1 read 38 1", B, A);
    ck_assert_str_eq(write_acquire(B, 1), expected);
    (void)server_ask(server, "DEL " NAME);
    begin(NAME, 1);
    does("A write 100");
    does("A write 100");
    does("A read 100");
    (void)server_ask(server, "PERSIST " NAME);
    (void)sprintf(expected, "%s -1 -1 %s:write 2 write 44 1", B, A);
    ck_assert_str_eq(read_acquire(B, 1), expected);
}
END_TEST

/* Whichever field comes first. */
START_TEST(refusal_names_the_writer_and_not_its_read_hold)
{
    (void)server_ask(server, "HSET " NAME " mode write " A " 3 " A ":write 2");
    ck_assert_str_eq(read_acquire(B, 1), B " -1 -1 " A ":write 2 write 44 1");
    ck_assert_str_eq(write_acquire(B, 1), B ":write -1 -1 " A ":write 2 write 44 1");
}
END_TEST

START_TEST(write_field_counts_only_while_it_is_written)
{
    (void)server_ask(server, "HSET " NAME " mode read " A ":write 1");
    ck_assert_str_eq(write_acquire(A, 2), A ":write -1 -1 " A ":write 1 read 44 1");
    ck_assert_str_eq(write_release(A, 0), A ":write -1 -1");
}
END_TEST

START_TEST(lost_hold_is_not_taken_again_by_a_reentry)
{
    ck_assert_str_eq(read_acquire(A, 2), A " -1 -2    0 0");
    ck_assert_str_eq(write_acquire(A, 2), A ":write -1 -2    0 0");
    ck_assert_state("free");
    does("B read 100");
    (void)server_ask(server, "PERSIST " NAME);
    ck_assert_str_eq(read_acquire(A, 2), A " -1 -1 " B " 1 read 54 1");
}
END_TEST

START_TEST(plain_lock_of_the_name_is_respected)
{
    (void)server_ask(server, "HSET " NAME " " A " 1");
    ck_assert_str_eq(read_acquire(B, 1), B " -1 -1 " A " 1  38 1");
    ck_assert_str_eq(write_acquire(B, 1), B ":write -1 -1 " A " 1  38 1");
    ck_assert_str_eq(read_acquire(A, 1), A " -1 -1 " A " 1  38 1");
    ck_assert_str_eq(read_release(A, 0), A " -1 -1");
    ck_assert_str_eq(hash_of(server, NAME), A " 1");
}
END_TEST

START_TEST(other_type_of_key_is_an_error_and_stays)
{
    (void)server_ask(server, "SET " NAME " value");
    ck_assert_ptr_nonnull(strstr(read_acquire(A, 1), "WRONGTYPE"));
    ck_assert_ptr_nonnull(strstr(write_acquire(A, 1), "WRONGTYPE"));
    ck_assert_ptr_nonnull(strstr(read_release(A, 0), "WRONGTYPE"));
    ck_assert_ptr_nonnull(strstr(write_release(A, 0), "WRONGTYPE"));
    ck_assert_str_eq(server_ask(server, "KEYS *"), NAME);
    ck_assert_str_eq(server_ask(server, "GET " NAME), "value");
}
END_TEST

/* The witness itself may not set TTLs by PEXPIRE any more. */
START_TEST(error_acquires_nothing)
{
    if (_i == 1)
        does("B read 100");
    (void)server_ask(server, "ACL SETUSER default -pexpire");
    ck_assert_ptr_nonnull(
        strstr(rw_script(server, "read_acquire", "2 %s %s %s 1 %d %s:write",
                         NAME, rw_hold_key(&parties[0], 0), A, 2 * LEASE_MS, A),
               "(error)"));
    ck_assert_state(_i == 1 ? "read 100, B1 B:1=100" : "free");
    if (_i == 0)
        ck_assert_ptr_nonnull(strstr(write_acquire(A, 1), "(error)"));
    ck_assert_state(_i == 1 ? "read 100, B1 B:1=100" : "free");
}
END_TEST

/* ---- TTLs ---- */

START_TEST(read_hold_survives_the_writers_shorter_lease)
{
    does("A write 100");
    does("A write 100");
    does("A read 400");
    does("A unwrite");
    ck_assert_state("write 400, A!1 A1 A:1=400");
    (void)server_ask(server, "PEXPIRE " NAME " 100000"); /* a renewal */
    does("A unwrite");
    ck_assert_state("read 400, A1 A:1=400");
}
END_TEST

START_TEST(writer_keeps_its_lease_when_its_read_holds_go)
{
    does("A write 300");
    does("A read 100");
    does("A read 200");
    does("A unread");
    ck_assert_state("write 300, A!1 A1 A:1=200");
}
END_TEST

START_TEST(remaining_read_hold_has_its_lease)
{
    does("A read 100");
    ck_assert_str_eq(server_ask(server, "DEL %s", rw_hold_key(&parties[0], 1)),
                     "1");
    does("A read 200");
    (void)server_ask(server, "PEXPIRE " NAME " 100000"); /* by Redisson */
    does("A unread");
    ck_assert_state("read 200, A1 A:1=200");
}
END_TEST

START_TEST(ttl_stays_where_a_writers_hold_key_is_missing)
{
    does("A write 300");
    does("A write 100");
    does("A read 100");
    (void)server_ask(server, "DEL %s", rw_hold_key(&parties[0], 1));
    does("A unwrite");
    ck_assert_state("write 400, A!1 A1");
    does("A unwrite");
    ck_assert_state("read 400, A1");
}
END_TEST

START_TEST(downgrade_leaves_the_ttl_of_the_read_holds)
{
    does("A write 100");
    does("A read 100");
    does("A write 300");
    does("A unwrite");
    ck_assert_state("write 300, A!1 A1 A:1=100");
    does("A unwrite");
    ck_assert_state("read 100, A1 A:1=100");
}
END_TEST

START_TEST(holder_with_a_monstrous_count_is_alive)
{
    does("A read 100");
    (void)server_ask(server, "HSET " NAME " " B " 1000000000000");
    (void)server_ask(server, "PEXPIRE " NAME " 300000");
    does("A unread");
    ck_assert_state("read 300, B1000000000000");
}
END_TEST

/* Its own count, which another program has written: the server is not kept busy
 * by a hold key for each. */
START_TEST(release_of_a_monstrous_count_ends_at_once)
{
    does("A read 100");
    does("B read 300");
    (void)server_ask(server, "HSET " NAME " " A " 1000000000000");
    does("A unread");
    ck_assert_state("read 300, B1 B:1=300");
}
END_TEST

/* ---- renewal ---- */

static const char *renew(long lease_ms)
{
    return rw_script(server, "read_renew",
                     "6 %s %s %s %s %s {other}:x:rwlock_timeout %ld %s %s %s",
                     NAME, rw_hold_key(&parties[0], 0), NAME,
                     rw_hold_key(&parties[1], 0), "other", lease_ms, A, B, "x");
}

START_TEST(renewal_prolongs_ones_own_holds_and_shortens_no_others)
{
    does("A read 100");
    does("A read 100");
    does("B read 400");
    ck_assert_str_eq(rw_script(server, "read_renew", "2 %s %s %d %s", NAME,
                               rw_hold_key(&parties[0], 0), 3 * LEASE_MS, A),
                     A " 1");
    ck_assert_state("read 400, A2 A:1=300 A:2=300, B1 B:1=400");
    ck_assert_str_eq(renew(5 * LEASE_MS), A " 1 1 0");
    ck_assert_state("read 500, A2 A:1=500 A:2=500, B1 B:1=500");
}
END_TEST

START_TEST(renewal_names_missing_holds_and_renews_the_others)
{
    does("A read 100");
    (void)server_ask(server, "SET other value");
    ck_assert_str_eq(renew(2 * LEASE_MS), A " 1 -1 -1");
    ck_assert_state("read 200, A1 A:1=200");
    (void)server_ask(server, "DEL " NAME " other");
    ck_assert_str_eq(renew(2 * LEASE_MS), A " 0 0 0");
    (void)server_ask(server, "HSET " NAME " mode read " A " x");
    does("B read 100");
    ck_assert_str_eq(renew(2 * LEASE_MS), A " -1 1 0");
}
END_TEST

START_TEST(renewal_makes_a_lost_hold_key_again)
{
    does("A read 100");
    does("A read 100");
    (void)server_ask(server, "DEL %s %s", rw_hold_key(&parties[0], 1),
                     rw_hold_key(&parties[0], 2));
    ck_assert_str_eq(renew(2 * LEASE_MS), A " 1 -1 0");
    ck_assert_state("read 200, A2 A:2=200");
}
END_TEST

/* ---- wake-ups ---- */

struct waking {
    const char *first; /* step before, or NULL */
    bool is_write;
    const char *payload; /* "": none */
};

static const struct waking wakings[] = {
    {NULL, false, "0"},         {NULL, true, "1"},
    {"B read 100", false, ""},  {"B read 100", true, ""},
    {"B write 100", false, ""}, {"B write 100", true, ""},
};

/* A request of the wake's own comes behind it, so that silence is seen. */
START_TEST(release_of_a_free_lock_also_wakes_waiters)
{
    const struct waking *w = &wakings[_i];
    struct feed *feed = feed_open(server, "SUBSCRIBE %s", rw_channel(NAME));
    char expected[200];

    if (w->first)
        does(w->first);
    else /* what is not the last hold wakes nobody */
        ck_assert_ptr_nonnull(strstr(
            w->is_write ? write_release(A, 1) : read_release(A, 1), " -1 -2"));
    ck_assert_ptr_nonnull(
        strstr(w->is_write ? write_release(A, 0) : read_release(A, 0), " -1 "));
    (void)server_ask(server, "PUBLISH %s last", rw_channel(NAME));
    for (const char *payload = *w->payload ? w->payload : "last"; payload;
         payload = payload == w->payload ? "last" : NULL) {
        (void)sprintf(expected, "message %s %s", rw_channel(NAME), payload);
        ck_assert_str_eq(feed_next(feed, AWAIT_MS)->text, expected);
    }
    feed_close(feed);
}
END_TEST

/* ---- force ---- */

static const char *force(const char *holder, const char *side)
{
    return rw_script(server, "rw_force_release", "1 %s q %s %s PUBLISH %s",
                     NAME, holder, side, rw_channel(NAME));
}

START_TEST(force_frees_only_the_named_holder)
{
    ck_assert_str_eq(force("", "read"), "q -1 -2");
    does("A read 100");
    ck_assert_ptr_nonnull(strstr(force(B, "read"), "q -1 "));
    ck_assert_str_eq(force("", "write"), "q -3");
    does("B read 100");
    ck_assert_str_eq(force(B, "read"), "q -5 2");
    does("B unread");
    ck_assert_str_eq(force(A, "read"), "q 0 0");
    begin(NAME, 1);
    does("A write 100");
    ck_assert_str_eq(force("", "read"), "q -3");
    ck_assert_ptr_nonnull(strstr(force(B ":write", "write"), "q -1 "));
    ck_assert_str_eq(force(A ":write", "write"), "q 0 0");
}
END_TEST

static const char *const strangers[] = {
    "HSET " NAME " " A " 1",
    "HSET " NAME " mode read total 7",
    "HSET " NAME " mode read " A " seven",
    "HSET " NAME " mode read " A ":write:12 1",
    "HSET " NAME " mode dark " A " 1",
};

START_TEST(force_leaves_alone_a_key_that_is_not_a_read_write_lock)
{
    (void)server_ask(server, strangers[_i]);
    ck_assert_str_eq(force("", "read"), "q -2");
    ck_assert_str_eq(force("", "write"), "q -2");
    ck_assert_str_eq(server_ask(server, "EXISTS " NAME), "1");
}
END_TEST

START_TEST(force_knows_transactions)
{
    (void)server_ask(server, "HSET " NAME " mode write " A
                             ":write:0123456789abcdef0123456789abcdef 1 " A
                             ":0123456789abcdef0123456789abcdef 1");
    ck_assert_str_eq(force("", "write"), "q 0 0");
}
END_TEST

/* ---- clusters ---- */

static struct cluster *cluster;

static void start_cluster(void)
{
    cluster = cluster_start(&(struct cluster_options){.masters = 2});
    ck_assert_ptr_nonnull(cluster);
    server = cluster_node(cluster, cluster_owner_of(cluster, NAME));
    begin(NAME, 1);
}

static void stop_cluster(void)
{
    cluster_stop(cluster);
}

/* The prefix is no key, so one of the two is missing: Redis 6 sends it to the
 * other node, later ones say that it may try again. */
static bool is_asked_again(const char *answer)
{
    return strstr(answer, "TRYAGAIN") || strstr(answer, "ASK");
}

/* Of two readers' hold keys none has moved yet: A does not take B for dead. */
START_TEST(request_for_a_moving_slot_is_repeated)
{
    int slot = hf_slot_of(NAME, strlen(NAME));
    int from = cluster_owner(cluster, slot);
    struct server *target = cluster_node(cluster, 1 - from);
    char sha[41];

    does("A read 100");
    does("B read 100");
    cluster_move_begin(cluster, slot, 1 - from);
    ck_assert(is_asked_again(read_release(A, 0)));
    ck_assert_str_eq(server_ask(server, "MIGRATE 127.0.0.1 %d " NAME " 0 5000",
                                server_port(target)),
                     "OK");
    ck_assert(is_asked_again(read_release(A, 0)));
    (void)snprintf(sha, sizeof sha, "%s",
                   rw_script_load(target, "read_release"));
    (void)server_ask(target, "ASKING");
    ck_assert_ptr_nonnull(strstr(
        server_ask(target, "EVALSHA %s 2 %s %s %s 0 1000 PUBLISH %s", sha, NAME,
                   rw_hold_key(&parties[0], 0), A, rw_channel(NAME)),
        "TRYAGAIN"));
    (void)cluster_move_keys(cluster, slot, 1 - from, 10);
    cluster_move_end(cluster, slot, 1 - from);
    server = parties[0].server = parties[1].server = target;
    does("A unread");
    ck_assert_state("read 100, B1 B:1=100");
}
END_TEST

/* Sharded subscribers do not hear what is published plainly. */
START_TEST(last_release_is_published_both_ways)
{
    struct feed *sharded, *plain;

    if (strstr(server_ask(server, "PUBSUB SHARDNUMSUB"), "(error)"))
        return; /* before Redis 7 there is one way */
    sharded = feed_open(server, "SSUBSCRIBE %s", rw_channel(NAME));
    plain = feed_open(server, "SUBSCRIBE %s", rw_channel(NAME));
    does("A read 100");
    ck_assert_str_eq(
        rw_script(server, "read_release", "2 %s %s %s 0 1 SPUBLISH %s PUBLISH",
                  NAME, rw_hold_key(&parties[0], 0), A, rw_channel(NAME)),
        A " 0 1");
    (void)feed_await(sharded, AWAIT_MS, " 0");
    (void)feed_await(plain, AWAIT_MS, " 0");
    ck_assert_ptr_nonnull(strstr(write_acquire(A, 1), " 1"));
    ck_assert_str_eq(rw_script(server, "write_release",
                               "1 %s %s:write 0 1 SPUBLISH %s PUBLISH", NAME, A,
                               rw_channel(NAME)),
                     A ":write 0 1");
    (void)feed_await(sharded, AWAIT_MS, " 1");
    (void)feed_await(plain, AWAIT_MS, " 1");
    feed_close(sharded);
    feed_close(plain);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "contract", start, stop_server);

    tcase_add_loop_test(c, steps_leave_the_states_of_the_contract, 0,
                        rw_tables_count);
    tcase_add_loop_test(c, names_have_braces_or_not, 0, COUNT(names));
    tcase_add_loop_test(c, requests_that_are_repeated_change_nothing, 0,
                        rw_tables_count);
    c = live_case(suite, "ours", start, stop_server);
    tcase_add_test(c, refusal_names_the_holder);
    tcase_add_test(c, refusal_names_the_writer_and_not_its_read_hold);
    tcase_add_test(c, write_field_counts_only_while_it_is_written);
    tcase_add_test(c, lost_hold_is_not_taken_again_by_a_reentry);
    tcase_add_test(c, plain_lock_of_the_name_is_respected);
    tcase_add_test(c, other_type_of_key_is_an_error_and_stays);
    tcase_add_loop_test(c, error_acquires_nothing, 0, 2);
    tcase_add_test(c, read_hold_survives_the_writers_shorter_lease);
    tcase_add_test(c, writer_keeps_its_lease_when_its_read_holds_go);
    tcase_add_test(c, remaining_read_hold_has_its_lease);
    tcase_add_test(c, ttl_stays_where_a_writers_hold_key_is_missing);
    tcase_add_test(c, downgrade_leaves_the_ttl_of_the_read_holds);
    tcase_add_test(c, holder_with_a_monstrous_count_is_alive);
    tcase_add_test(c, release_of_a_monstrous_count_ends_at_once);
    tcase_add_test(c, renewal_prolongs_ones_own_holds_and_shortens_no_others);
    tcase_add_test(c, renewal_names_missing_holds_and_renews_the_others);
    tcase_add_test(c, renewal_makes_a_lost_hold_key_again);
    tcase_add_loop_test(c,
                        release_of_a_free_lock_also_wakes_waiters,
                        0, COUNT(wakings));
    tcase_add_test(c, force_frees_only_the_named_holder);
    tcase_add_loop_test(c, force_leaves_alone_a_key_that_is_not_a_read_write_lock, 0,
                        COUNT(strangers));
    tcase_add_test(c, force_knows_transactions);
    c = live_case(suite, "cluster", start_cluster, stop_cluster);
    tcase_add_test(c, request_for_a_moving_slot_is_repeated);
    tcase_add_test(c, last_release_is_published_both_ways);
}

int main(void)
{
    return live_main("rw_scripts", add);
}
