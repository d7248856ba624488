/* `holdfast ls --waiters` against real servers: listeners of each kind of lock, the queue of a
 * fair lock with its labels, servers that refuse, a cluster. */
#include "tests/live/test_run_kit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cluster.h"
#include "tests/support/suite.h"

#define WAITER_1 "0e3814a1-e847-452b-a982-45baf93a1df2:2"
#define UUID_2 "1e3814a1-e847-452b-a982-45baf93a1df2"
#define WAITER_2 UUID_2 ":3"

/* ---- what it says ---- */

static char listed[65536];
static char said[4096];

static int ls_at(const char *url, const char *option, const char *more)
{
    struct process *p = holdfast(NULL, "ls", "-u", url, "--waiters", option, more, NULL);
    int code = finish(p);

    (void)snprintf(listed, sizeof listed, "%s", await_end(p, OUT));
    (void)snprintf(said, sizeof said, "%s", await_end(p, ERR));
    return code;
}

static int ls(const char *option, const char *more)
{
    char url[SERVER_URL_MAX];

    return ls_at(server_url(server, url), option, more);
}

/* ---- listeners ---- */

/* A key that the others hold, the words of a waiter, and the channel that it listens to. */
static const struct {
    const char *held[3], *option, *channel, *kind;
} kinds[] = {
    {{"HSET x " STRANGER " 1"}, "-v", "redisson_lock__channel:{x}", "plain"},
    {{"HSET x mode write " STRANGER ":write 1"}, "--shared", "redisson_rwlock:{x}", "write"},
    {{"SET x 0", "ZADD {x}:timeout 99999999999999 0123456789012345"}, "--permits=1",
     "redisson_sc:{x}", "permit"},
};

static void make_held(const char *const held[3])
{
    for (int i = 0; i < 3 && held[i]; i++)
        (void)server_ask(server, held[i]);
}

static struct process *wait_for_x(const char *option)
{
    return holdfast(server, "run", option, "x", "true", NULL);
}

static void await_listeners(struct server *s, const char *command, const char *channel, int count)
{
    char expected[16];

    (void)snprintf(expected, sizeof expected, "%d", count);
    server_await(s, PATIENCE_MS, expected, "EVAL %s 0 %s %s",
                 "return redis.call('pubsub', ARGV[1], ARGV[2])[2]", command, channel);
}

static void end_waiter(struct process *p)
{
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
}

START_TEST(waiters_of_each_kind_are_counted_by_their_subscriptions)
{
    struct process *first, *second;

    make_held(kinds[_i].held);
    ck_assert_int_eq(ls("--json", NULL), 0);
    ck_assert_str_eq(member(listed, "kind"), kinds[_i].kind);
    ck_assert_str_eq(member(listed, "listeners"), "0");
    first = wait_for_x(kinds[_i].option);
    second = wait_for_x(kinds[_i].option);
    await_listeners(server, "NUMSUB", kinds[_i].channel, 2);
    ck_assert_int_eq(ls("--json", NULL), 0);
    ck_assert_str_eq(member(listed, "listeners"), "2");
    end_waiter(first);
    end_waiter(second);
}
END_TEST

/* Nobody can tell a semaphore from a latch: the listeners of both are counted. */
START_TEST(waiters_of_a_counter_are_counted)
{
    struct process *p;

    (void)server_ask(server, "SET x 1");
    p = holdfast(server, "latch", "x", "wait", NULL);
    await_listeners(server, "NUMSUB", "redisson_countdownlatch__channel__{x}", 1);
    ck_assert_int_eq(ls("--kind=counter", NULL), 0);
    ck_assert_str_eq(listed, "x\tcounter\t-\t-\t-\t-1\t1\t1\n");
    (void)server_ask(server, "DEL x");
    (void)server_ask(server, "PUBLISH redisson_countdownlatch__channel__{x} 0");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* Value locks are polled: the server knows of no waiter. */
START_TEST(what_the_server_cannot_count_is_not_shown)
{
    (void)server_ask(server, "SET v 0123456789abcdef0123456789abcdef PX 60000");
    ck_assert_int_eq(ls("--kind=value", "--json"), 0);
    ck_assert_ptr_null(strstr(listed, "listeners"));
}
END_TEST

START_TEST(without_the_option_nothing_is_added)
{
    struct process *p;
    char url[SERVER_URL_MAX];

    hold_by_other("x", 60000);
    (void)server_ask(server, "HSET f " STRANGER " 1");
    (void)server_ask(server, "RPUSH redisson_lock_queue:{f} " WAITER_1);
    p = holdfast(NULL, "ls", "-u", server_url(server, url), "--json", NULL);
    ck_assert_ptr_null(strstr(await_line(p, OUT, "\"f\""), "place"));
    ck_assert_ptr_null(strstr(await_line(p, OUT, "\"x\""), "listeners"));
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* ---- queues ---- */

static void queue_for(const char *name, int waiters)
{
    (void)server_ask(server, "HSET %s " STRANGER " 1", name);
    (void)server_ask(server, "EVAL %s 0 %s %d",
                     "for i = 1, tonumber(ARGV[2]) do redis.call('rpush', "
                     "'redisson_lock_queue:{' .. ARGV[1] .. '}', "
                     "'0e3814a1-e847-452b-a982-45baf93a1df2:' .. i) end",
                     name, waiters);
}

START_TEST(queue_of_a_fair_lock_is_listed_with_labels)
{
    (void)server_ask(server, "HSET x " STRANGER " 1");
    (void)server_ask(server, "RPUSH redisson_lock_queue:{x} " WAITER_2 " " WAITER_1);
    (void)server_ask(server, "SET holdfast_label:" UUID_2 " web3 PX 60000");
    hold_by_other("y", 60000);
    ck_assert_int_eq(ls(NULL, NULL), 0);
    ck_assert_msg(strstr(listed, "x\tfair\t" STRANGER "\t1\t1\t-1\t2\t-\n"
                                 "\t1\t" WAITER_2 "\tweb3\n"
                                 "\t2\t" WAITER_1 "\t-\n"
                                 "y\tplain\t"), "%s", listed);
    ck_assert_int_eq(ls("--json", "x"), 0);
    ck_assert_msg(strstr(listed, "\"waiters\":2}\n"
                                 "{\"name\":\"x\",\"place\":1,\"waiter\":\"" WAITER_2
                                 "\",\"label\":\"web3\"}\n"
                                 "{\"name\":\"x\",\"place\":2,\"waiter\":\"" WAITER_1 "\"}\n"),
                  "%s", listed);
}
END_TEST

static int lines(void)
{
    int n = 0;

    for (const char *at = listed; (at = strchr(at, '\n')); at++)
        n++;
    return n;
}

/* The number is that of all, and the first hundred are named. */
START_TEST(long_queue_is_cut)
{
    queue_for("x", 101);
    ck_assert_int_eq(ls("--json", NULL), 0);
    ck_assert_str_eq(member(listed, "waiters"), "101");
    ck_assert_int_eq(lines(), 1 + 100);
    ck_assert_ptr_nonnull(strstr(listed, "\"place\":100,"));
}
END_TEST

/* More than a batch: every lock has its own waiters. */
START_TEST(each_of_many_locks_has_its_own)
{
    char part[128];

    (void)server_ask(server, "EVAL %s 0",
                     "for i = 1, 270 do redis.call('hset', 'k' .. i, '" STRANGER "', 1) "
                     "if i % 2 == 0 then redis.call('rpush', 'redisson_lock_queue:{k' .. i .. '}', "
                     "'" UUID_2 ":' .. i) end end");
    ck_assert_int_eq(ls(NULL, NULL), 0);
    ck_assert_int_eq(lines(), 270 + 135);
    for (int i = 1; i <= 270; i++) {
        if (i % 2 == 0)
            (void)snprintf(part, sizeof part,
                           "k%d\tfair\t" STRANGER "\t1\t1\t-1\t1\t-\n\t1\t" UUID_2 ":%d\t-\n", i,
                           i);
        else
            (void)snprintf(part, sizeof part, "k%d\tplain\t" STRANGER "\t1\t1\t-1\t0\t-\n", i);
        ck_assert_msg(strstr(listed, part), "no %s", part);
    }
}
END_TEST

/* ---- refusals ---- */

START_TEST(waiters_that_may_not_be_read_are_reported)
{
    static char text[256];

    hold_by_other("x", 60000);
    (void)server_ask(server, "ACL SETUSER u on >secret ~* &* +@all -pubsub");
    (void)snprintf(text, sizeof text, "redis://u:secret@127.0.0.1:%d", server_port(server));
    ck_assert_int_eq(ls_at(text, "--json", NULL), 125);
    ck_assert_ptr_null(strstr(listed, "listeners"));
    ck_assert_str_eq(member(listed, "held"), "true");
    ck_assert_msg(strstr(said, "locks whose waiters are unknown: 1, the first: ") &&
                      strstr(said, "PUBSUB"), "%s", said);
    (void)server_ask(server, "ACL DELUSER u");
}
END_TEST

START_TEST(time_limit_also_ends_the_count)
{
    (void)server_ask(server, "EVAL %s 0",
                     "for i = 1, 600 do redis.call('hset', 'k' .. i, '" STRANGER "', 1) end");
    ck_assert_int_eq(ls("--time=1ms", "--json"), 1);
    ck_assert_msg(strstr(said, "the list is incomplete: --time was reached"), "%s", said);
}
END_TEST

/* ---- a cluster ---- */

static struct cluster *cluster;

static void start_cluster(void)
{
    cluster = cluster_start(&(struct cluster_options){.masters = 3});
}

static void stop_cluster(void)
{
    cluster_stop(cluster);
}

static const char *cluster_url(void)
{
    static char text[128];

    (void)snprintf(text, sizeof text, "redis+cluster://127.0.0.1:%d",
                   server_port(cluster_node(cluster, 0)));
    return text;
}

/* A client listens at the master of the slot, on a sharded channel if there are such. */
START_TEST(waiters_are_counted_at_the_master_of_the_slot)
{
    struct server *of = cluster_node(cluster, cluster_owner_of(cluster, "x"));
    struct process *p;

    (void)server_ask(of, "HSET x " STRANGER " 1");
    p = holdfast(NULL, "run", "-u", cluster_url(), "-v", "x", "true", NULL);
    (void)await_line(p, ERR, "waiting");
    server_await(of, PATIENCE_MS, "1", "EVAL %s 0 redisson_lock__channel:{x}",
                 "local ok = redis.pcall('pubsub', 'shardnumsub', ARGV[1]) "
                 "return (ok[2] or 0) + redis.call('pubsub', 'numsub', ARGV[1])[2]");
    ck_assert_int_eq(ls_at(cluster_url(), "--json", NULL), 0);
    ck_assert_str_eq(member(listed, "listeners"), "1");
    end_waiter(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast ls --waiters");
    TCase *c = run_case(s, "listeners");

    tcase_add_loop_test(c, waiters_of_each_kind_are_counted_by_their_subscriptions, 0,
                        ROWS(kinds));
    tcase_add_test(c, waiters_of_a_counter_are_counted);
    tcase_add_test(c, what_the_server_cannot_count_is_not_shown);
    tcase_add_test(c, without_the_option_nothing_is_added);

    c = run_case(s, "queues");
    tcase_add_test(c, queue_of_a_fair_lock_is_listed_with_labels);
    tcase_add_test(c, long_queue_is_cut);
    tcase_add_test(c, each_of_many_locks_has_its_own);

    c = run_case(s, "trouble");
    tcase_add_test(c, waiters_that_may_not_be_read_are_reported);
    tcase_add_test(c, time_limit_also_ends_the_count);

    c = run_case_in(s, "cluster", start_cluster, stop_cluster);
    tcase_add_test(c, waiters_are_counted_at_the_master_of_the_slot);
    return run_suite(s);
}
