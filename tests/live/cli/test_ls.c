/* `holdfast ls` against real servers: each kind of lock among what is none, the
 * limits, a user without the right, a cluster, sentinels. */
#include "tests/live/test_run_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lock/latch.h"
#include "lock/lock.h"
#include "lock/permits.h"
#include "lock/semaphore.h"
#include "tests/support/cluster.h"
#include "tests/support/sentinels.h"
#include "tests/support/suite.h"

#define OTHER STRANGER
#define ANOTHER "0e3814a1-e847-452b-a982-45baf93a1df2:2"
#define URL_MAX 256

/* ---- what it says ---- */

static char listed[65536];      /* standard output of the last run */
static char said[4096];         /* and standard error */

/* Up to three words more; NULL: none. Returns the exit code. */
static int ls(const char *url, const char *a, const char *b, const char *c)
{
    struct process *p = holdfast(NULL, "ls", "-u", url, a, b, c, NULL);
    int code = finish(p);

    (void)snprintf(listed, sizeof listed, "%s", await_end(p, OUT));
    (void)snprintf(said, sizeof said, "%s", await_end(p, ERR));
    return code;
}

static const char *url(void)
{
    static char text[SERVER_URL_MAX];

    return server_url(server, text);
}

#define ck_assert_lists(part)                                                 \
    ck_assert_msg(strstr(listed, part), "no '%s' in: %s", part, listed)
#define ck_assert_says(part)                                                  \
    ck_assert_msg(strstr(said, part), "no '%s' in: %s", part, said)

static int lines(void)
{
    int n = 0;

    for (const char *at = listed; (at = strchr(at, '\n')); at++)
        n++;
    return n;
}

/* The line that begins with these words, as JSON. */
static const char *line_of(const char *name)
{
    static char line[1024];
    char begin[256];
    const char *at;

    (void)snprintf(begin, sizeof begin, "{\"name\":\"%s\",", name);
    at = strstr(listed, begin);
    ck_assert_msg(at, "no %s in: %s", name, listed);
    (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}

/* ---- locks ---- */

static struct hf_client *client;

static void open_client(void)
{
    struct hf_client_options o;

    hf_client_options_init(&o);
    o.url = url();
    ck_assert_int_eq(hf_client_new(&client, &o, NULL), HF_OK);
}

static void close_client(void)
{
    hf_client_free(client);
}

/* Takes it for owner 1 so often. Returns the owner's field, lent. */
static const char *take(enum hf_lock_kind kind, const char *name, int times)
{
    static char text[HF_OWNER_TEXT_MAX];
    struct hf_acquire_options o;
    struct hf_lock *lock;

    hf_acquire_options_init(&o);
    o.owner = 1;
    ck_assert_int_eq(
        hf_lock_new_kind(&lock, client, kind, name, strlen(name), NULL),
        HF_OK);
    for (int i = 0; i < times; i++)
        ck_assert_int_eq(hf_lock_acquire(lock, &o, NULL), HF_OK);
    return hf_lock_owner_text(lock, 1, text);
}

/* What the server calls each of the kinds that can be taken. */
static const struct {
    enum hf_lock_kind kind;
    int times;
    const char *word;
} kinds[] = {
    {HF_KIND_PLAIN, 2, "plain"},        {HF_KIND_NONREENTRANT, 1, "plain"},
    {HF_KIND_FENCED, 1, "plain"},       {HF_KIND_READ, 1, "read"},
    {HF_KIND_WRITE, 2, "write"},
};

START_TEST(lock_that_holdfast_holds_is_listed)
{
    char owner[HF_OWNER_TEXT_MAX], count[8];
    const char *line;

    (void)snprintf(owner, sizeof owner, "%s",
                   take(kinds[_i].kind, "x", kinds[_i].times));
    (void)snprintf(count, sizeof count, "%d", kinds[_i].times);
    ck_assert_int_eq(ls(url(), "--json", NULL, NULL), 0);
    ck_assert_int_eq(lines(), 1);
    line = line_of("x");
    ck_assert_str_eq(member(line, "held"), "true");
    ck_assert_str_eq(member(line, "kind"), kinds[_i].word);
    ck_assert_str_eq(member(line, "owner"), owner);
    ck_assert_str_eq(member(line, "holders"), "1");
    ck_assert_str_eq(member(line, "hold_count"), count);
    ck_assert_int_gt(atoi(member(line, "ttl_ms")), 20000);
    ck_assert_int_le(atoi(member(line, "ttl_ms")), 60000);
}
END_TEST

#define UUID "6e3814a1-e847-452b-a982-45baf93a1df2" /* of STRANGER */

/* Several locks of one client, and one of a client without a label. The keys of labels are not
 * listed, also if they look like value locks. */
START_TEST(labels_are_listed)
{
    (void)server_ask(server, "SET holdfast_label:" UUID " web3 PX 60000");
    (void)take(HF_KIND_PLAIN, "mine", 1);
    for (int i = 0; i < 40; i++) {
        char name[8];

        (void)snprintf(name, sizeof name, "x%d", i);
        hold_by_other(name, 60000);
    }
    (void)server_ask(server, "CONFIG RESETSTAT");
    ck_assert_int_eq(ls(url(), "--json", "--kind", "all"), 0);
    ck_assert_int_eq(lines(), 41);
    ck_assert_str_eq(member(line_of("x0"), "label"), "web3");
    ck_assert_str_eq(member(line_of("x39"), "label"), "web3");
    ck_assert_ptr_null(strstr(line_of("mine"), "label"));
    ck_assert_ptr_nonnull(strstr(server_ask(server, "INFO commandstats"),
                                 "cmdstat_get:calls=2,"));
    ck_assert_int_eq(ls(url(), "--long", "x7", NULL), 0);
    ck_assert_ptr_nonnull(strstr(listed, "\t-\tweb3\n"));
    ck_assert_int_eq(ls(url(), "x7", NULL, NULL), 0);
    ck_assert_ptr_null(strstr(listed, "web3"));
}
END_TEST

/* On a terminal of this width. `has`: what is printed; `lacks`: what is not. */
static const struct {
    const char *setting, *command, *has, *lacks;
} terminals[] = {
    {"stty cols 300; export TERM=xterm", "ls", "\033[1mNAME", "\033[33m"},
    {"stty cols 300; export TERM=xterm", "ls", "LABEL", "\t"},
    {"stty cols 300; export TERM=xterm", "ls", "WAITERS", "\t"},
    {"stty cols 70; export TERM=xterm", "ls", "HOLDER", "WAITERS"},
    {"stty cols 60; export TERM=xterm", "ls", "TTL", "KIND"},
    {"stty cols 70; export TERM=xterm", "ls --long", "LABEL", "\t"},
    {"stty cols 300; export TERM=dumb", "ls", "NAME", "\033"},
    {"stty cols 300; unset TERM", "ls", "NAME", "\033"},
    {"stty cols 300; export TERM=xterm NO_COLOR=1", "ls", "NAME", "\033"},
    {"stty cols 300; export TERM=xterm NO_COLOR=", "ls", "\033[1m", "\t"},
};

START_TEST(the_table_fits_its_terminal)
{
    char script[300];
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", script, NULL};
    struct process *p;
    const char *table;

    (void)snprintf(script, sizeof script, "%s; exec " HF_BUILD "/holdfast %s",
                   terminals[_i].setting, terminals[_i].command);
    (void)server_ask(server, "SET holdfast_label:" UUID " web3 PX 60000");
    hold_by_other("x", 60000);
    p = start_on_terminal(server, argv);
    ck_assert_int_eq(finish(p), 0);
    table = await_end(p, OUT);
    ck_assert_msg(strstr(table, terminals[_i].has), "%s", table);
    ck_assert_msg(!strstr(table, terminals[_i].lacks), "%s", table);
}
END_TEST

/* As Redisson writes them. */
static const struct {
    const char *made[2];
    const char *line;
} foreign[] = {
    {{"HSET x " OTHER " 3"}, "x\tplain\t" OTHER "\t1\t3\t-1\t-\t-\n"},
    {{"HSET x mode read " OTHER " 1 " ANOTHER " 1"},
     "x\tread\t" OTHER "\t2\t1\t-1\t-\t-\n"},
    {{"HSET x mode write " OTHER ":write 2"},
     "x\twrite\t" OTHER ":write\t1\t2\t-1\t-\t-\n"},
    {{"HSET x " OTHER " 1", "RPUSH redisson_lock_queue:{x} " ANOTHER},
     "x\tfair\t" OTHER "\t1\t1\t-1\t1\t-\n"},
    {{"HSET x AAAAAAAAAAAAAAAAAAAAAA " OTHER " AAAAAAAAAAAAAAAAAAAAAA:" OTHER
      ":lock_count 1"},
     "x\tmulti\t" OTHER "\t1\t-\t-1\t-\t-\n"},
};

START_TEST(lock_that_redisson_holds_is_listed)
{
    for (int i = 0; i < 2 && foreign[_i].made[i]; i++)
        (void)server_ask(server, foreign[_i].made[i]);
    ck_assert_int_eq(ls(url(), NULL, NULL, NULL), 0);
    ck_assert_str_eq(listed, foreign[_i].line);
}
END_TEST

START_TEST(waiters_of_a_fair_lock_are_counted)
{
    (void)server_ask(server, "HSET {a}b " OTHER " 1");
    for (int i = 0; i < 3; i++)
        (void)server_ask(server, "RPUSH redisson_lock_queue:{a}b " OTHER "%d",
                         i);
    ck_assert_int_eq(ls(url(), "--kind=fair", NULL, NULL), 0);
    ck_assert_str_eq(listed, "{a}b\tfair\t" OTHER "\t1\t1\t-1\t3\t-\n");
    ck_assert_int_eq(ls(url(), "--kind=plain", NULL, NULL), 0);
    ck_assert_str_eq(listed, "");
}
END_TEST

/* ---- permits, semaphores, latches, value locks ---- */

static struct hf_lock *permits_of(const char *name, int64_t permits)
{
    struct hf_lock *lock;
    bool was_set;

    ck_assert_int_eq(hf_lock_new_kind(&lock, client, HF_KIND_PERMIT, name,
                                      strlen(name), NULL), HF_OK);
    ck_assert_int_eq(hf_permits_try_set(lock, permits, &was_set, NULL), HF_OK);
    return lock;
}

static void take_permit(struct hf_lock *lock, int64_t owner)
{
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = owner;
    ck_assert_int_eq(hf_lock_acquire(lock, &o, NULL), HF_OK);
}

START_TEST(permits_that_are_out_are_listed)
{
    struct hf_lock *pool = permits_of("pool", 5);
    const char *line;

    ck_assert_int_eq(ls(url(), NULL, NULL, NULL), 0);
    ck_assert_str_eq(listed, "");
    take_permit(pool, 1);
    take_permit(pool, 2);
    take_permit(permits_of("shop{eu}", 1), 1);
    take_permit(permits_of("a{b", 1), 1); /* two slots: a cluster would not have it */
    ck_assert_int_eq(ls(url(), "--json", NULL, NULL), 0);
    ck_assert_int_eq(lines(), 3);
    line = line_of("pool");
    ck_assert_str_eq(member(line, "kind"), "permit");
    ck_assert_str_eq(member(line, "held"), "true");
    ck_assert_str_eq(member(line, "holders"), "2");
    ck_assert_str_eq(member(line, "available"), "3");
    ck_assert_int_gt(atoi(member(line, "ttl_ms")), 20000);
    ck_assert_str_eq(member(line_of("shop{eu}"), "available"), "0");
    ck_assert_int_eq(ls(url(), "p*l", NULL, NULL), 0);
    ck_assert_lists("pool\tpermit\t-\t2\t-\t2");
    ck_assert_lists("\t-\t3\n");
    ck_assert_int_eq(lines(), 1);
}
END_TEST

/* Redisson's permits: 16 bytes, and one that never lapses. What has lapsed is left
 * over: it is taken out by the next who acquires. */
START_TEST(permits_of_redisson_are_listed)
{
    (void)server_ask(server, "SET pool 2");
    (void)server_ask(server, "ZADD {pool}:timeout 922337203685477 %b 1 %b",
                     "0123456789abcde\xff", (size_t)16, "lapsed permit 12",
                     (size_t)16);
    ck_assert_int_eq(ls(url(), NULL, NULL, NULL), 0);
    ck_assert_str_eq(listed, "pool\tpermit\t-\t1\t-\t-1\t-\t3\n");
    ck_assert_int_eq(ls(url(), "--kind=all", NULL, NULL), 0);
    ck_assert_str_eq(listed, "pool\tpermit\t-\t1\t-\t-1\t-\t3\n");
}
END_TEST

/* What differs from a semaphore's permits in one thing each. */
static const char *const no_permits[][2] = {
    {"SET pool 2", "ZADD {pool}:timeout 922337203685477 job:12"},
    {"SET pool 2", "ZADD {pool}:timeout 922337203685477 0123456789abcdef "
                   "922337203685477 0123456789abcdefg"},
    {"SET pool two", "ZADD {pool}:timeout 922337203685477 0123456789abcdef"},
    {"DEL pool", "ZADD {pool}:timeout 922337203685477 0123456789abcdef"},
    {"SADD pool 2", "ZADD {pool}:timeout 922337203685477 0123456789abcdef"},
    {"SET pool 2", "ZADD pool:timeout 922337203685477 0123456789abcdef"},
    {"SET pool 2", "ZADD {pool}:timeouts 922337203685477 0123456789abcdef"},
    {"SET pool 9223372036854775807", /* more than a number has room for */
     "ZADD {pool}:timeout 922337203685477 0123456789abcdef"},
    {"SET pool 2", "SADD {pool}:timeout 0123456789abcdef"},
    {"SET pool 2", "ZADD {pool}:timeout 1 0123456789abcdef"}, /* lapsed */
};

START_TEST(sets_of_other_programs_are_no_permits)
{
    (void)server_ask(server, no_permits[_i][0]);
    (void)server_ask(server, no_permits[_i][1]);
    ck_assert_int_eq(ls(url(), NULL, NULL, NULL), 0);
    ck_assert_str_eq(listed, "");
    ck_assert_str_eq(said, "");
}
END_TEST

static void make_semaphore(const char *name, int64_t permits)
{
    struct hf_semaphore *semaphore;
    bool was_set;

    ck_assert_int_eq(hf_semaphore_new(&semaphore, client, name, strlen(name),
                                      NULL), HF_OK);
    ck_assert_int_eq(hf_semaphore_try_set_permits(semaphore, permits, &was_set, NULL),
                     HF_OK);
    hf_semaphore_free(semaphore);
}

static void make_latch(const char *name, int64_t count)
{
    struct hf_latch *latch;
    bool was_set;

    ck_assert_int_eq(hf_latch_new(&latch, client, name, strlen(name), NULL),
                     HF_OK);
    ck_assert_int_eq(hf_latch_try_set_count(latch, count, &was_set, NULL),
                     HF_OK);
    hf_latch_free(latch);
}

/* Nothing tells them from an application's counter: they are listed, as such, only
 * if asked for; and what stands beside them is not. */
START_TEST(semaphores_and_latches_are_listed_as_counters_if_requested)
{
    static const char *const others[] = {
        "SET float 1.5", "SET text seven", "SET empty ''", "SET padded 07",
        "SET long 123456789012345678901", "RPUSH list 7", "HSET hash f 7",
        "SET redisson_lock_token:{x} 7", "SET ends 7 PX 60000"};

    make_semaphore("pool", 7);
    make_latch("done", 3);
    (void)server_ask(server, "SET visits 12");
    for (int i = 0; i < ROWS(others); i++)
        (void)server_ask(server, others[i]);
    ck_assert_int_eq(ls(url(), NULL, NULL, NULL), 0);
    ck_assert_str_eq(listed, "");
    ck_assert_int_eq(ls(url(), "--kind=counter", NULL, NULL), 0);
    ck_assert_str_eq(listed, "done\tcounter\t-\t-\t-\t-1\t-\t3\n"
                             "pool\tcounter\t-\t-\t-\t-1\t-\t7\n"
                             "visits\tcounter\t-\t-\t-\t-1\t-\t12\n");
    ck_assert_int_eq(ls(url(), "--kind=counter", "--json", "pool"), 0);
    ck_assert_str_eq(listed, "{\"name\":\"pool\",\"held\":false,"
                             "\"kind\":\"counter\",\"count\":7}\n");
}
END_TEST

START_TEST(value_locks_are_listed_if_requested)
{
    char owner[HF_OWNER_TEXT_MAX], long_value[193];

    (void)snprintf(owner, sizeof owner, "%s", take(HF_KIND_VALUE, "x", 1));
    (void)take(HF_KIND_READ, "shared", 1);      /* has a key of its own */
    make_semaphore("pool", 7);                  /* has an answer */
    memset(long_value, 'a', sizeof long_value - 1);
    long_value[192] = '\0';
    (void)server_ask(server, "SET cache %s PX 60000", long_value);
    (void)server_ask(server, "SET edge %b PX 60000", long_value, (size_t)191);
    (void)server_ask(server, "SET none %b PX 60000", "", (size_t)0);
    (void)server_ask(server, "SET setting text");
    (void)server_ask(server, "SET theirs 0f5e PX 60000");
    ck_assert_int_eq(ls(url(), NULL, NULL, NULL), 0);
    ck_assert_int_eq(lines(), 1);
    ck_assert_int_eq(ls(url(), "--kind=value", "--json", NULL), 0);
    ck_assert_int_eq(lines(), 3);
    ck_assert_str_eq(member(line_of("x"), "owner"), owner);
    ck_assert_str_eq(member(line_of("x"), "kind"), "value");
    ck_assert_int_gt(atoi(member(line_of("x"), "ttl_ms")), 20000);
    ck_assert_str_eq(member(line_of("theirs"), "owner"), "0f5e");
    (void)line_of("edge");
}
END_TEST

/* ---- among other keys ---- */

/* Hashes that resemble locks, and other types under names of locks' keys. */
static const char *const no_locks[] = {
    "HSET cart visits 12",
    "HSET settings mode dark",
    "HSET both mode dark visits 12",
    "HSET pages page:12 5",
    "HSET odd " OTHER " red",
    "HSET none " OTHER " 0",
    "SET redisson_lock_token:{x} 7",
    "RPUSH redisson_lock_queue:{z} " OTHER,
    "ZADD redisson_lock_timeout:{z} 1 " OTHER,
    "SADD set " OTHER,
    "SET visits 12",
    "SET {visits}:timeout 12",
    "SET session " OTHER " PX 600000",
    "ZADD {cart}:timeout 1 " OTHER,
    "ZADD scores 1 0123456789abcdef",
};

START_TEST(keys_that_are_not_locks_are_skipped_and_unchanged)
{
    char before[256];

    for (int i = 0; i < ROWS(no_locks); i++)
        (void)server_ask(server, no_locks[i]);
    hold_by_other("x", 60000);
    (void)server_ask(server, "CONFIG RESETSTAT");
    (void)snprintf(before, sizeof before, "%s",
                   server_ask(server, "DEBUG DIGEST-VALUE cart odd none"));
    ck_assert_int_eq(ls(url(), NULL, NULL, NULL), 0);
    ck_assert_int_eq(lines(), 1);
    ck_assert_lists("x\tplain\t" OTHER "\t1\t1\t5");
    ck_assert_str_eq(server_ask(server, "DEBUG DIGEST-VALUE cart odd none"),
                     before);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), ROWS(no_locks) + 1);
    ck_assert_ptr_null(
        strstr(server_ask(server, "INFO commandstats"), "cmdstat_keys"));
}
END_TEST

/* SCAN-3: Names of 64 KiB, members, fields and values of 20 MB: none is read whole, and
 * what is a lock is found among them. */
START_TEST(large_keys_of_other_programs_hide_no_lock)
{
    ck_assert_str_eq(server_ask(server, "EVAL %s 0",
        "for i = 1, 200 do redis.call('set', i .. ('n'):rep(65000), 'text') end "
        "local x = ('x'):rep(20000000) "
        "redis.call('set', 'string', x, 'px', 9e6) redis.call('set', 'counter', x) "
        "redis.call('hset', 'hash', x, 1) redis.call('hset', 'value', 'f', x) "
        "redis.call('zadd', '{set}:timeout', 9e14, x) redis.call('set', 'set', 1) "
        "redis.call('hset', 'held', '" OTHER "', 1) "
        "return redis.call('pexpire', 'held', 9e6)"), "1");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ls(url(), i ? "--kind=value" : NULL, NULL, NULL), 0);
        ck_assert_str_eq(said, "");
        ck_assert_int_eq(lines(), i ? 0 : 1);
        ck_assert_lists(i ? "" : "held");
    }
    ck_assert_int_eq(ls(url(), "--kind=counter", NULL, NULL), 0);
    ck_assert_str_eq(said, "");
    ck_assert_lists("set\tcounter");
}
END_TEST

START_TEST(nothing_held_is_an_empty_whole_list)
{
    ck_assert_int_eq(ls(url(), NULL, NULL, NULL), 0);
    ck_assert_str_eq(listed, "");
    ck_assert_int_eq(ls(url(), "--json", NULL, NULL), 0);
    ck_assert_str_eq(listed, "");
}
END_TEST

static void hold_many(int count)
{
    for (int i = 0; i < count; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "l:%03d", i);
        hold_by_other(name, 60000);
    }
}

START_TEST(locks_are_found_among_ten_thousand_keys_each_once)
{
    char name[16];
    const char *at = listed;

    (void)server_ask(server, "DEBUG POPULATE 10000 key");
    hold_many(200);
    ck_assert_int_eq(ls(url(), "--rate=1000000", NULL, NULL), 0);
    ck_assert_int_eq(lines(), 200);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof name, "l:%03d\t", i);
        ck_assert_int_eq(strncmp(at, name, strlen(name)), 0);
        at = strchr(at, '\n') + 1;
    }
    ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(pattern_picks_names)
{
    hold_by_other("deploy:1", 60000);
    hold_by_other("deploy:2", 60000);
    hold_by_other("report", 60000);
    ck_assert_int_eq(ls(url(), "deploy:*", NULL, NULL), 0);
    ck_assert_int_eq(lines(), 2);
    ck_assert_int_eq(ls(url(), "--", "report", NULL), 0);
    ck_assert_int_eq(lines(), 1);
    ck_assert_int_eq(ls(url(), "deploy:[2-9]", NULL, NULL), 0);
    ck_assert_int_eq(lines(), 1);
    ck_assert_int_eq(ls(url(), "x*", NULL, NULL), 0);
    ck_assert_int_eq(lines(), 0);
}
END_TEST

/* A terminal must not obey a name. */
START_TEST(odd_bytes_in_names_are_escaped)
{
    (void)server_ask(server, "HSET %b " OTHER " 1", "a\tb\n\033[2J\xff\0z",
                     (size_t)11);
    ck_assert_int_eq(ls(url(), NULL, NULL, NULL), 0);
    ck_assert_lists("a\\x09b\\x0a\\x1b[2J\\xff\\x00z\tplain\t");
    ck_assert_int_eq(ls(url(), "--json", NULL, NULL), 0);
    ck_assert_lists("{\"name\":\"a\\u0009b\\u000a\\u001b[2J\\\\xff\\u0000z\","
                    "\"escaped\":true,\"held\":true,");
}
END_TEST

START_TEST(terminal_has_a_table)
{
    char *argv[] = {(char *)HF_BUILD "/holdfast", (char *)"ls", NULL};
    struct process *p;

    hold_by_other("x", 60000);
    p = start_on_terminal(server, argv);
    (void)await_line(p, OUT, "NAME  KIND   HOLDER");
    (void)await_line(p, OUT, "x     plain  " OTHER "  1        1      5");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

START_TEST(quiet_list_has_only_a_code)
{
    hold_by_other("x", 60000);
    (void)server_ask(server, "DEBUG POPULATE 5000 key");
    ck_assert_int_eq(ls(url(), "-q", NULL, NULL), 0);
    ck_assert_str_eq(listed, "");
    ck_assert_int_eq(ls(url(), "-q", "--limit=1000", NULL), 1);
    ck_assert_str_eq(listed, "");
    ck_assert_str_eq(said, "");
}
END_TEST

/* ---- limits ---- */

START_TEST(list_that_a_limit_ended_is_reported_as_incomplete)
{
    (void)server_ask(server, "DEBUG POPULATE 10000 key");
    hold_many(100);
    ck_assert_int_eq(ls(url(), "--limit=3000", NULL, NULL), 1);
    ck_assert_int_lt(lines(), 100);
    ck_assert_says("the list is incomplete: --limit was reached; keys read: about 3000\n");
    ck_assert_int_eq(ls(url(), "--time=300ms", "--rate=2000", NULL), 1);
    ck_assert_int_lt(lines(), 100);
    ck_assert_says("the list is incomplete: --time was reached; keys read: about ");
    ck_assert_int_eq(ls(url(), "--time=1m", "--limit=50000", NULL), 0);
    ck_assert_int_eq(lines(), 100);
    ck_assert_str_eq(said, "");
}
END_TEST

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Three pages of 1000 keys at least, so two pauses of half a second. */
START_TEST(pace_is_kept)
{
    int64_t begun_ms = now_ms();

    (void)server_ask(server, "DEBUG POPULATE 3000 key");
    ck_assert_int_eq(ls(url(), "--rate=2000", NULL, NULL), 0);
    ck_assert_int_ge(now_ms() - begun_ms, 1000);
}
END_TEST

/* ---- rights, and servers that are not there ---- */

#define RIGHTS \
    "+info +ping +client +eval +evalsha +exists +hget +hlen +hscan +pttl +llen"

static const char *url_of_user(const char *rights)
{
    static char text[URL_MAX];
    char command[256];

    (void)snprintf(command, sizeof command, "ACL SETUSER app reset on >pw %s",
                   rights);
    ck_assert_str_eq(server_ask(server, command), "OK");
    (void)snprintf(text, sizeof text, "redis://app:pw@127.0.0.1:%d",
                   server_port(server));
    return text;
}

START_TEST(missing_right_to_scan_is_reported)
{
    hold_by_other("x", 60000);
    ck_assert_int_eq(ls(url_of_user("~* " RIGHTS), NULL, NULL, NULL), 125);
    ck_assert_says("SCAN: NOPERM");
    ck_assert_says("(the ACL of this user lacks that command)");
    ck_assert_int_eq(ls(url_of_user("~* +scan " RIGHTS), NULL, NULL, NULL), 0);
    ck_assert_int_eq(lines(), 1);
}
END_TEST

/* SCAN names keys that the user may not read. */
START_TEST(hash_that_may_not_be_read_makes_the_list_not_whole)
{
    const char *u = url_of_user("~app:* +scan " RIGHTS);

    hold_by_other("app:x", 60000);
    hold_by_other("y", 60000);
    ck_assert_int_eq(ls(u, "--json", NULL, NULL), 125);
    ck_assert_int_eq(lines(), 1);
    (void)line_of("app:x");
    ck_assert_says("keys that could not be inspected: 1, the first: ");
    ck_assert_says("NOPERM");
    ck_assert_int_eq(ls(u, "app:*", NULL, NULL), 0);
    ck_assert_int_eq(lines(), 1);
}
END_TEST

/* What it takes to look at permits: said once for all that lack it. */
START_TEST(missing_right_to_read_permits_is_reported)
{
    const char *u = url_of_user("~* +scan " RIGHTS);

    (void)server_ask(server, "SET pool 1");
    (void)server_ask(server,
                     "ZADD {pool}:timeout 922337203685477 0123456789abcdef");
    hold_by_other("x", 60000);
    ck_assert_int_eq(ls(u, NULL, NULL, NULL), 125);
    ck_assert_int_eq(lines(), 1);
    ck_assert_says("keys that could not be inspected: ");
    ck_assert_says("GETRANGE: NOPERM");
    ck_assert_int_eq(ls(u, "--kind=plain", NULL, NULL), 0);
    u = url_of_user("~* +scan +getrange +zrange +zcard +zcount +zscore +time "
                    RIGHTS);
    ck_assert_int_eq(ls(u, NULL, NULL, NULL), 0);
    ck_assert_int_eq(lines(), 2);
    ck_assert_int_eq(ls(u, "--kind=all", NULL, NULL), 0);
    ck_assert_int_eq(lines(), 2);
}
END_TEST

START_TEST(missing_server_is_an_error)
{
    ck_assert_int_eq(ls("redis://127.0.0.1:1", NULL, NULL, NULL), 125);
    ck_assert_says("127.0.0.1:1: cannot connect");
    ck_assert_str_eq(listed, "");
}
END_TEST

START_TEST(silent_server_is_abandoned)
{
    char text[URL_MAX];

    (void)snprintf(text, sizeof text, "%s?timeout=200ms", url());
    server_pause(server);
    ck_assert_int_eq(ls(text, "--connect-timeout=200ms", NULL, NULL), 125);
    ck_assert_says("holdfast: 127.0.0.1:");
    server_resume(server);
}
END_TEST

START_TEST(databases_resp2_and_unix_sockets_are_listed_alike)
{
    char text[URL_MAX];

    (void)snprintf(text, sizeof text, "unix://%s?protocol=2",
                   server_unix_path(server));
    hold_by_other("x", 60000);
    ck_assert_int_eq(ls(text, NULL, NULL, NULL), 0);
    ck_assert_int_eq(lines(), 1);
    (void)snprintf(text, sizeof text, "%s/3", url());
    ck_assert_int_eq(ls(text, NULL, NULL, NULL), 0);
    ck_assert_int_eq(lines(), 0);
    (void)server_ask(server, "MOVE x 3");
    ck_assert_int_eq(ls(text, NULL, NULL, NULL), 0);
    ck_assert_int_eq(lines(), 1);
}
END_TEST

/* SCAN-2: A connection that breaks between two pages may have been a restart. */
START_TEST(lost_connection_makes_the_list_doubtful)
{
    struct process *p;

    (void)server_ask(server, "DEBUG POPULATE 3000 key");
    hold_by_other("x", 60000);
    (void)server_ask(server, "CONFIG RESETSTAT");
    p = holdfast(server, "ls", "--rate=1000", NULL);
    server_await(server, PATIENCE_MS, "1", "EVAL %s 0", /* a second page */
                 "return tonumber(redis.call('info', 'commandstats')"
                 ":match('cmdstat_scan:calls=(%d+)') or 0) > 4 and 1 or 0");
    server_kill_connections(server);
    ck_assert_int_eq(finish(p), 1);
    (void)await_line(p, ERR, "the list may be incomplete: a connection was lost");
    (void)await_line(p, OUT, "x\tplain\t");
}
END_TEST

/* ---- a cluster ---- */

#define MASTERS 3
#define LOCKS 60

static struct cluster *cluster;

static void start_cluster(void)
{
    cluster = cluster_start(
        &(struct cluster_options){.masters = MASTERS, .replicas = 1});
}

static void stop_cluster(void)
{
    cluster_stop(cluster);
}

static const char *cluster_url(const char *options)
{
    static char text[URL_MAX];

    (void)snprintf(text, sizeof text,
                   "redis+cluster://127.0.0.1:%d,127.0.0.1:%d%s",
                   server_port(cluster_node(cluster, 0)),
                   server_port(cluster_node(cluster, 1)), options);
    return text;
}

static void hold_in_cluster(void)
{
    for (int i = 0; i < LOCKS; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "l:%02d", i);
        (void)server_ask(cluster_node(cluster, cluster_owner_of(cluster, name)),
                         "HSET %s " OTHER " 1", name);
    }
}

START_TEST(locks_of_all_masters_are_listed)
{
    hold_in_cluster();
    (void)server_ask(cluster_node(cluster, 2), "DEBUG POPULATE 10000 key");
    ck_assert_int_eq(ls(cluster_url(""), "-v", NULL, NULL), 0);
    ck_assert_int_eq(lines(), LOCKS);
    ck_assert_int_eq(strncmp(listed, "l:00\tplain\t" OTHER
                             "\t1\t1\t-1\t-\t-\nl:01\t",
                             strlen("l:00\tplain\t" OTHER
                                    "\t1\t1\t-1\t-\t-\nl:01\t")), 0);
    ck_assert_says("servers: 3,");
    ck_assert_int_eq(ls(cluster_url(""), "l:0*", NULL, NULL), 0);
    ck_assert_int_eq(lines(), 10);
}
END_TEST

static void empty_cluster(void)
{
    for (int i = 0; i < MASTERS; i++)
        (void)server_ask(cluster_node(cluster, i), "FLUSHALL");
}

START_TEST(each_kind_is_found_on_each_master)
{
    empty_cluster();
    for (int i = 0; i < 20; i++) {
        char name[16];
        struct server *of;

        (void)snprintf(name, sizeof name, "n:%02d", i);
        of = cluster_node(cluster, cluster_owner_of(cluster, name));
        (void)server_ask(of, "SET %s 3", name);
        (void)server_ask(of, "ZADD {%s}:timeout 922337203685477 "
                             "0123456789abcdef", name);
        (void)server_ask(of, "SET {%s}:value me PX 60000", name);
        (void)server_ask(of, "SET {%s}:count 7", name);
        (void)server_ask(of, "HSET {%s}:fair " OTHER " 1", name);
        (void)server_ask(of, "RPUSH redisson_lock_queue:{%s}:fair " ANOTHER,
                         name);
    }
    ck_assert_int_eq(ls(cluster_url(""), NULL, NULL, NULL), 0);
    ck_assert_int_eq(lines(), 40);
    ck_assert_lists("n:00\tpermit\t-\t1\t-\t-1\t-\t3\n");
    ck_assert_lists("{n:19}:fair\tfair\t" OTHER "\t1\t1\t-1\t1\t-\n");
    ck_assert_int_eq(ls(cluster_url(""), "--kind=all", NULL, NULL), 0);
    ck_assert_int_eq(lines(), 80);
    ck_assert_lists("{n:19}:count\tcounter\t-\t-\t-\t-1\t-\t7\n");
    ck_assert_lists("{n:00}:value\tvalue\tme\t1\t1\t5");
    ck_assert_int_eq(ls(cluster_url(""), "--kind=all", "*:value", NULL), 0);
    ck_assert_int_eq(lines(), 20);
    ck_assert_int_eq(ls(cluster_url(""), "--kind=permit", "n:1?", NULL), 0);
    ck_assert_int_eq(lines(), 10);
    empty_cluster();
}
END_TEST

START_TEST(limit_is_of_all_masters_together)
{
    (void)server_ask(cluster_node(cluster, 2), "DEBUG POPULATE 10000 key");
    ck_assert_int_eq(ls(cluster_url(""), "--limit=3000", NULL, NULL), 1);
    ck_assert_says("--limit was reached; keys read: about 3000");
}
END_TEST

START_TEST(url_of_one_node_is_refused)
{
    char text[SERVER_URL_MAX];

    ck_assert_int_eq(ls(server_url(cluster_node(cluster, 1), text), NULL, NULL,
                        NULL), 125);
    ck_assert_says("use a redis+cluster:// URL");
}
END_TEST

/* Whether a cluster goes on when some of its slots have no server. */
static void need_all_slots(const char *answer)
{
    for (int i = 0; i < 2; i++)
        (void)server_ask(cluster_node(cluster, i),
                         "CONFIG SET cluster-require-full-coverage %s", answer);
}

/* The last of the cluster: it is not mended. A cluster that is down as a whole
 * still answers SCAN, but lets nobody look into a hash. */
START_TEST(master_that_is_away_does_not_hide_the_others)
{
    hold_in_cluster();
    need_all_slots("no");
    server_kill(cluster_node(cluster, cluster_replica(cluster, 2, 0)));
    server_kill(cluster_node(cluster, 2));
    ck_assert_int_eq(ls(cluster_url(""), NULL, NULL, NULL), 125);
    ck_assert_says("cannot connect");
    ck_assert_int_gt(lines(), 0);
    ck_assert_int_lt(lines(), LOCKS);
    need_all_slots("yes");
    cluster_await_state(cluster, 0, "fail");
    cluster_await_state(cluster, 1, "fail");
    ck_assert_int_eq(ls(cluster_url("?timeout=1500ms"), NULL, NULL, NULL), 125);
    ck_assert_says("CLUSTERDOWN");
    ck_assert_ptr_null(strstr(said, "could not be inspected"));
}
END_TEST

/* ---- sentinels ---- */

static struct sentinels *sentinels;

static void start_sentinels(void)
{
    sentinels = sentinels_start(
        &(struct sentinels_options){.replicas = 1, .sentinels = 3});
}

static void stop_sentinels(void)
{
    sentinels_stop(sentinels);
}

START_TEST(locks_of_the_master_are_listed)
{
    char text[URL_MAX];

    (void)snprintf(text, sizeof text, "redis+sentinel://127.0.0.1:%d/%s",
                   server_port(sentinels_sentinel(sentinels, 0)),
                   SENTINELS_NAME);
    for (int i = 0; i < 2; i++) {
        struct server *master =
            sentinels_server(sentinels, sentinels_master(sentinels));

        (void)server_ask(master, "HSET x:%d " OTHER " 1", i);
        ck_assert_int_eq(ls(text, NULL, NULL, NULL), 0);
        ck_assert_lists(i ? "x:1\tplain\t" : "x:0\tplain\t");
        (void)sentinels_failover(sentinels);
    }
}
END_TEST

/* SCAN-1: The new master does not know the cursor of the former one. */
START_TEST(list_ends_when_its_master_is_replaced)
{
    struct server *master = sentinels_server(sentinels, sentinels_master(sentinels));
    struct process *p;
    char text[URL_MAX];

    (void)snprintf(text, sizeof text, "redis+sentinel://127.0.0.1:%d/%s",
                   server_port(sentinels_sentinel(sentinels, 0)), SENTINELS_NAME);
    (void)server_ask(master, "DEBUG POPULATE 60000 key");
    (void)server_ask(master, "CONFIG RESETSTAT");
    p = holdfast(NULL, "ls", "-u", text, "--rate=1000", NULL);
    server_await(master, PATIENCE_MS, "1", "EVAL %s 0", /* a second page */
                 "return tonumber(redis.call('info', 'commandstats')"
                 ":match('cmdstat_scan:calls=(%d+)') or 0) > 4 and 1 or 0");
    (void)sentinels_failover(sentinels);
    ck_assert_int_eq(finish(p), 125);
    (void)await_line(p, ERR, " replaced it while its keys were read; run ls again");
}
END_TEST

/* ---- all of it ---- */

int main(void)
{
    Suite *s = suite_create("holdfast ls");
    TCase *c = run_case(s, "kinds");

    tcase_add_checked_fixture(c, open_client, close_client);
    tcase_add_loop_test(c, lock_that_holdfast_holds_is_listed, 0, ROWS(kinds));
    tcase_add_test(c, labels_are_listed);
    tcase_add_loop_test(c, the_table_fits_its_terminal, 0, ROWS(terminals));
    tcase_add_loop_test(c, lock_that_redisson_holds_is_listed, 0,
                        ROWS(foreign));

    tcase_add_test(c, waiters_of_a_fair_lock_are_counted);
    tcase_add_test(c, permits_that_are_out_are_listed);
    tcase_add_test(c, permits_of_redisson_are_listed);
    tcase_add_loop_test(c, sets_of_other_programs_are_no_permits, 0,
                        ROWS(no_permits));
    tcase_add_test(c,
                   semaphores_and_latches_are_listed_as_counters_if_requested);
    tcase_add_test(c, value_locks_are_listed_if_requested);

    c = run_case(s, "list");
    tcase_add_test(c, keys_that_are_not_locks_are_skipped_and_unchanged);
    tcase_add_test(c, large_keys_of_other_programs_hide_no_lock);
    tcase_add_test(c, nothing_held_is_an_empty_whole_list);
    tcase_add_test(c, locks_are_found_among_ten_thousand_keys_each_once);
    tcase_add_test(c, pattern_picks_names);
    tcase_add_test(c, odd_bytes_in_names_are_escaped);
    tcase_add_test(c, terminal_has_a_table);
    tcase_add_test(c, quiet_list_has_only_a_code);
    tcase_add_test(c, databases_resp2_and_unix_sockets_are_listed_alike);

    c = run_case(s, "limits");
    tcase_add_test(c, list_that_a_limit_ended_is_reported_as_incomplete);
    tcase_add_test(c, pace_is_kept);

    c = run_case(s, "trouble");
    tcase_add_test(c, missing_right_to_scan_is_reported);
    tcase_add_test(c, hash_that_may_not_be_read_makes_the_list_not_whole);
    tcase_add_test(c, missing_right_to_read_permits_is_reported);
    tcase_add_test(c, missing_server_is_an_error);
    tcase_add_test(c, silent_server_is_abandoned);
    tcase_add_test(c, lost_connection_makes_the_list_doubtful);

    c = run_case_in(s, "cluster", start_cluster, stop_cluster);
    tcase_add_test(c, locks_of_all_masters_are_listed);
    tcase_add_test(c, each_kind_is_found_on_each_master);
    tcase_add_test(c, limit_is_of_all_masters_together);
    tcase_add_test(c, url_of_one_node_is_refused);
    tcase_add_test(c, master_that_is_away_does_not_hide_the_others);

    c = run_case_in(s, "sentinels", start_sentinels, stop_sentinels);
    tcase_add_test(c, locks_of_the_master_are_listed);
    tcase_add_test(c, list_ends_when_its_master_is_replaced);
    return run_suite(s);
}
