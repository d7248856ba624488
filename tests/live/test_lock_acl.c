/* A user who has exactly the rights that `holdfast doctor --acl` prints: all that
 * a lock does works, and all of the rights are used. */
#include "tests/live/test_run_kit.h"

#include "lock/latch.h"
#include "lock/permits.h"
#include "lock/semaphore.h"
#include "lock/token.h"
#include "tests/live/test_lock.h"

#define WATCHDOG_MS 1500

static struct hf_client *holder, *waiter;

/* ---- the user ---- */

/* What doctor says, for redis-cli; lent until the next call. `use`: of --for;
 * NULL: without it. */
static const char *rule_of(const char *name, const char *use)
{
    const char *for_use = use ? "--for" : NULL;
    struct process *p = name ? holdfast(NULL, "doctor", "--acl", "--name", name,
                                        for_use, use, NULL)
                             : holdfast(NULL, "doctor", "--acl", for_use, use,
                                        NULL);
    const char *line = await_line(p, OUT, "ACL SETUSER");
    static char rule[1024];

    (void)snprintf(rule, sizeof rule, "%s", line);
    ck_assert_int_eq(finish(p), 0);
    return rule;
}

static const char *rule_for(const char *name)
{
    return rule_of(name, NULL);
}

static bool knows_channels(void)
{
    return !strstr(server_ask(server, "INFO server"), "redis_version:6.0");
}

/* As redis-cli would send it: words, within quotation marks or not. */
static void make_user_on(struct server *of, const char *rule)
{
    static char plain[1024];
    char *to = plain;

    for (const char *word = rule; *word;) {
        size_t len = strcspn(word, " ");
        size_t quotes = *word == '"';
        bool is_channel = word[quotes] == '&' ||
                          strncmp(word, "resetchannels", 13) == 0;

        if (!is_channel || knows_channels())
            to += sprintf(to, "%.*s ", (int)(len - 2 * quotes), word + quotes);
        word += len + (word[len] == ' ');
    }
    to[-1] = '\0';
    ck_assert_str_eq(server_ask(of, plain), "OK");
}

static void make_user(const char *rule)
{
    make_user_on(server, rule);
}

/* `retention_ms`: of tokens; 0: they stay. */
static struct hf_client *client_of_user_keeping(int protocol,
                                                int64_t retention_ms)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.user = "app";
    o.password = "PASSWORD";
    o.protocol = protocol;
    o.watchdog_ms = WATCHDOG_MS;
    o.token_retention_ms = retention_ms;
    return client_with(&o);
}

static struct hf_client *client_of_user(int protocol)
{
    return client_of_user_keeping(protocol, 0);
}

/* ---- what locks do ---- */

/* Held, again and less, renewed; another waits, and is woken by the message. */
static void hold_and_hand_over(const char *name)
{
    struct hf_lock *a = lock_of(holder, name), *b = lock_of(waiter, name);
    struct hf_acquire_options o = acquire_options(2);
    struct diary diary;
    struct call call;
    char channel[100];

    (void)snprintf(channel, sizeof channel, "redisson_lock__channel:{%s}",
                   name);
    diary_options(&diary, 1);
    acquire(a, 1);
    acquire(a, 1);
    call_acquire(&call, b, &o);
    await_subscribers(server, channel, 1);
    while (stats_of(holder).renewals == 0)
        local_rest_us(1000);
    release(a, 1);
    release(a, 1);
    ck_assert_ok(call_await(&call));
    await_subscribers(server, channel, 0);
    release(b, 2);
    hf_lock_free(a);
    hf_lock_free(b);
}

static void look_and_free_by_force(const char *name)
{
    struct hf_lock *a = lock_of(holder, name);
    struct hf_lock_info info;

    acquire(a, 1);
    ck_assert_ok(hf_lock_inspect(a, &info, NULL));
    ck_assert(info.is_locked);
    ck_assert_ok(hf_lock_force_release(a, NULL, 0, NULL));
    ck_assert_status(hf_lock_release(a, 1, NULL), HF_LOST);
    hf_lock_free(a);
}

/* A new connection ends the one before it on the server. */
static void come_back(const char *name)
{
    struct hf_lock *a = lock_of(holder, name);

    (void)server_ask(server, "CLIENT KILL USER app");
    acquire(a, 1);
    release(a, 1);
    hf_lock_free(a);
}

static void do_all(const char *name, int protocol)
{
    holder = client_of_user(protocol);
    waiter = client_of_user(protocol);
    ck_assert_ok(hf_client_connect(holder, NULL));
    hold_and_hand_over(name);
    look_and_free_by_force(name);
    come_back(name);
    hf_client_free(holder);
    hf_client_free(waiter);
}

/* ---- tests ---- */

/* The names: all; one; one with a hash tag; one with what patterns are made of. */
static const struct {
    const char *name;           /* NULL: none is given to doctor */
    const char *used;
} names[] = {
    {NULL, "order:42"},
    {"order:42", "order:42"},
};

START_TEST(locks_work_with_the_least_rights)
{
    int row = _i / 2;

    make_user(rule_for(names[row].name));
    (void)server_ask(server, "ACL LOG RESET");
    do_all(names[row].used, 2 + _i % 2);
}
END_TEST

/* No rule can have any: any byte will do there. */
START_TEST(a_name_with_white_space_has_a_rule)
{
    struct hf_lock *lock;

    make_user(rule_for("a b\tc"));
    holder = client_of_user(3);
    lock = lock_of(holder, "a b\tc");
    acquire(lock, 1);
    release(lock, 1);
    hf_client_free(holder);
}
END_TEST

START_TEST(the_rights_for_one_lock_are_for_no_other)
{
    struct hf_client *client;
    struct hf_error err;
    struct hf_lock *lock;

    make_user(rule_for("order:42"));
    client = client_of_user(3);
    lock = lock_of(client, "order:43");
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
    hf_client_free(client);
}
END_TEST

/* Without one of them something is refused: ACL LOG knows what. */
static const char *const rights[] = {
    "eval",      "evalsha",     "exists",    "hexists",     "hget",
    "hset",      "hlen",        "hscan",     "pexpire",     "pttl",
    "del",       "publish",     "subscribe", "unsubscribe", "info",
    "client|id", "client|kill",
};

static bool is_used(const char *right)
{
    const char *stats = server_ask(server, "INFO commandstats");
    char key[40];

    (void)snprintf(key, sizeof key, "cmdstat_%s:", right);
    if (strstr(stats, key))
        return true;
    *strchrnul(key, '|') = '\0'; /* Redis 6 counts no subcommands */
    return strchr(right, '|') && strstr(stats, key);
}

START_TEST(all_of_the_rights_are_used)
{
    make_user(rule_for(NULL));
    (void)server_ask(server, "CONFIG RESETSTAT");
    (void)server_ask(server, "SCRIPT FLUSH");
    do_all("order:42", 2);
    for (size_t i = 0; i < sizeof rights / sizeof *rights; i++)
        ck_assert_msg(is_used(rights[i]), "+%s is of no use", rights[i]);
}
END_TEST

/* ---- other kinds ---- */

static const struct {
    const char *use, *option;   /* of doctor --for, of run */
    bool is_kept;               /* `unlock` is not tried: it frees no permits, and
                                   looks for them before it sees a value lock */
} uses[] = {
    {"fair", "--fair", false},
    {"shared", "--shared", false},
    {"exclusive", "--exclusive", false},
    {"fenced", "--fenced", false},
    {"value", "--value", true},
    {"permits", "--permits=1", true},
};

static const char *user_url(void)
{
    static char url[64];

    (void)snprintf(url, sizeof url, "redis://app:PASSWORD@127.0.0.1:%d",
                   server_port(server));
    return url;
}

/* `holdfast run` as that user. A command that is held, a second run that waits
 * for it, one that gives up, and `unlock` by force: each step of a kind. */
static struct process *run_as_user(const char *option, const char *wait,
                                   const char *command)
{
    return holdfast(NULL, "run", "-u", user_url(), "--ttl", "600ms", "-w", wait, option,
                    "order:42", "-c", command, NULL);
}

static void unlock_as_user(void)
{
    ck_assert_int_eq(finish(holdfast(NULL, "unlock", "-u", user_url(), "--force", "-y",
                                     "order:42", NULL)), 0);
}

/* Only a writer keeps a reader out. */
static const char *keeper_of(const char *option)
{
    return strcmp(option, "--shared") == 0 ? "--exclusive" : option;
}

static void use_kind(const char *option, bool is_kept)
{
    struct process *first, *second;

    first = run_as_user(keeper_of(option), "0", "echo held; read x");
    await_line(first, OUT, "held");
    ck_assert_int_eq(finish(run_as_user(option, "100ms", "true")), 75);
    second = run_as_user(option, "20s", "echo held; read x");
    local_rest_us(800000); /* longer than the TTL: renewed */
    say(first, "\n");
    ck_assert_int_eq(finish(first), 0);
    await_line(second, OUT, "held");
    if (is_kept)
        say(second, "\n");
    else
        unlock_as_user();
    ck_assert_int_eq(finish(second), is_kept ? 0 : 122);
}

START_TEST(run_takes_a_kind_with_its_least_rights)
{
    const char *name = _i % 2 ? "order:42" : NULL;

    make_user(rule_of(name, uses[_i / 2].use));
    (void)server_ask(server, "ACL LOG RESET");
    use_kind(uses[_i / 2].option, uses[_i / 2].is_kept);
    ck_assert_ptr_null(strstr(server_ask(server, "ACL LOG"), "\"command\""));
}
END_TEST

START_TEST(a_kind_is_refused_without_its_rights)
{
    make_user(rule_for(NULL));
    ck_assert_int_eq(finish(run_as_user(uses[_i].option, "0", "true")), 125);
}
END_TEST

/* ---- what only the library does ---- */

/* The lock is taken, renewed, looked at, waited for, handed over, and freed by
 * force. Owners are of both clients. */
static void use_lock(const char *name, enum hf_lock_kind kind)
{
    struct hf_acquire_options o = acquire_options(2);
    struct hf_lock *a, *b;
    struct hf_lock_info info;
    struct call call;

    ck_assert_ok(hf_lock_new_kind(&a, holder, kind, name, strlen(name), NULL));
    ck_assert_ok(hf_lock_new_kind(&b, waiter, kind, name, strlen(name), NULL));
    acquire(a, 1);
    call_acquire(&call, b, &o);
    while (stats_of(holder).renewals == 0)
        local_rest_us(1000);
    release(a, 1);
    ck_assert_ok(call_await(&call));
    ck_assert_ok(hf_lock_inspect(a, &info, NULL));
    ck_assert(info.is_locked);
    ck_assert_ok(hf_lock_force_release(a, NULL, 0, NULL));
    ck_assert_status(hf_lock_release(b, 2, NULL), HF_LOST);
    hf_lock_free(a);
    hf_lock_free(b);
}

static void use_value(const char *name)
{
    use_lock(name, HF_KIND_VALUE);
}

static void use_spin(const char *name)
{
    use_lock(name, HF_KIND_SPIN);
}

static void use_retention(const char *name)
{
    struct hf_lock *lock;
    int64_t latest;

    hf_client_free(holder);
    holder = client_of_user_keeping(3, 3600000);
    ck_assert_ok(hf_lock_new_kind(&lock, holder, HF_KIND_FENCED, name,
                                  strlen(name), NULL));
    for (int i = 0; i < 2; i++) {
        acquire(lock, 1);
        acquire(lock, 1);
        release(lock, 1);
        release(lock, 1);
    }
    ck_assert_ok(hf_token_latest(lock, &latest, NULL));
    use_lock(name, HF_KIND_FENCED);
    hf_lock_free(lock);
}

static void use_permits(const char *name)
{
    struct hf_lock *permit;
    int64_t available;
    bool was_set;

    ck_assert_ok(hf_lock_new_kind(&permit, holder, HF_KIND_PERMIT, name,
                                  strlen(name), NULL));
    ck_assert_ok(hf_permits_try_set(permit, 1, &was_set, NULL));
    ck_assert_ok(hf_permits_available(permit, &available, NULL));
    ck_assert_int_eq(available, 1);
    use_lock(name, HF_KIND_PERMIT);
    acquire_for(permit, 1, 50);
    local_rest_us(100000); /* it lapses */
    acquire(permit, 2);
    release(permit, 2);
    ck_assert_status(hf_lock_release(permit, 1, NULL), HF_LOST);
    hf_lock_free(permit);
}

/* A wait that is given up takes back what it may have been granted. */
/* Whoever waits has subscribed. */
static void await_listener(void)
{
    server_await(server, LONG_MS, "1", "EVAL %s 0",
                 "return #redis.call('pubsub', 'channels')");
}

static void use_semaphore(const char *name)
{
    struct hf_semaphore *pool, *pool_of_waiter;
    struct hf_cancel cancel;
    int64_t available;
    bool was_set;
    struct call call;

    ck_assert_ok(hf_semaphore_new(&pool, holder, name, strlen(name), NULL));
    ck_assert_ok(hf_semaphore_new(&pool_of_waiter, waiter, name, strlen(name),
                                  NULL));
    ck_assert_ok(hf_semaphore_try_set_permits(pool, 1, &was_set, NULL));
    ck_assert_ok(hf_semaphore_acquire(pool, 1, 0, NULL, NULL));
    hf_cancel_init(&cancel, waiter);
    for (int i = 0; i < 2; i++) {
        call_init(&call);
        ck_assert_ok(hf_semaphore_acquire_async(pool_of_waiter, 1, HF_FOREVER,
                                                &cancel, call_done, &call));
        await_listener();
        if (i == 0) {
            ck_assert_ok(hf_semaphore_release(pool, 1, NULL));
            ck_assert_ok(call_await(&call));
        }
    }
    hf_cancel_fire(&cancel);
    ck_assert_status(call_await(&call), HF_CANCELLED);
    ck_assert_ok(hf_semaphore_available(pool, &available, NULL));
    ck_assert_int_eq(available, 0);
    hf_semaphore_free(pool);
    hf_semaphore_free(pool_of_waiter);
}

static void use_latch(const char *name)
{
    struct hf_latch *latch, *latch_of_waiter;
    int64_t count;
    bool was_set;
    struct call call;

    ck_assert_ok(hf_latch_new(&latch, holder, name, strlen(name), NULL));
    ck_assert_ok(hf_latch_new(&latch_of_waiter, waiter, name, strlen(name),
                              NULL));
    ck_assert_ok(hf_latch_try_set_count(latch, 2, &was_set, NULL));
    call_init(&call);
    ck_assert_ok(hf_latch_await_async(latch_of_waiter, HF_FOREVER, NULL,
                                      call_done, &call));
    ck_assert_ok(hf_latch_count_down(latch, NULL));
    ck_assert_ok(hf_latch_count(latch, &count, NULL));
    ck_assert_int_eq(count, 1);
    await_listener();
    ck_assert_ok(hf_latch_count_down(latch, NULL));
    ck_assert_ok(call_await(&call));
    hf_latch_free(latch);
    hf_latch_free(latch_of_waiter);
}

/* `more`: what each needs beside the rights for plain locks; and how many rights it
 * needs only where an answer could not be kept, to undo what was done. */
static const struct {
    const char *use;
    void (*do_all)(const char *name);
    const char *more[12];
    int to_undo;
} libraries[] = {
    {"value", use_value, {"getrange", "strlen", "set"}, 0},
    {"spin", use_spin, {NULL}, 0},
    {"retention", use_retention, {"incr", "get", "time", "set"}, 0},
    {"permits", use_permits,
     {"get", "set", "incrby", "decrby", "time", "zadd", "zrem", "zscore",
      "zrange", "zrangebyscore", "zcard", "zcount"}, 0},
    {"semaphore", use_semaphore, {"get", "set", "incrby", "decrby"}, 0},
    {"latch", use_latch, {"get", "set", "decrby"}, 1},
};

/* With the rights for all names and for this one alone, by RESP2 and by RESP3. No
 * right is there that nothing needs, and none is missing. */
START_TEST(library_uses_a_kind_with_its_least_rights)
{
    int row = _i / 4;

    make_user(rule_of(_i % 2 ? "order:42" : NULL, libraries[row].use));
    (void)server_ask(server, "ACL LOG RESET");
    (void)server_ask(server, "CONFIG RESETSTAT");
    holder = client_of_user(2 + _i / 2 % 2);
    waiter = client_of_user(2 + _i / 2 % 2);
    libraries[row].do_all("order:42");
    hf_client_free(holder);
    hf_client_free(waiter);
    ck_assert_ptr_null(strstr(server_ask(server, "ACL LOG"), "NOPERM"));
    ck_assert_ptr_null(strstr(server_ask(server, "ACL LOG"), "\"command\""));
    ck_assert_ptr_null(strstr(server_ask(server, "ACL LOG"), "\"channel\""));
    for (int i = 0; i < 12 && libraries[row].more[i]; i++)
        ck_assert_msg(is_used(libraries[row].more[i]), "+%s is of no use",
                      libraries[row].more[i]);
}
END_TEST

/* What is printed for a use is what the table above has, and a channel or keys. */
START_TEST(no_right_is_printed_that_is_not_tried)
{
    int plain = 0, rights_of_use = 0, tried = 0;
    const char *const *more = libraries[_i].more;

    for (const char *at = rule_for("x"); (at = strchr(at, '+')); at++)
        plain++;
    for (const char *at = rule_of("x", libraries[_i].use);
         (at = strchr(at, '+')); at++)
        rights_of_use++;
    while (tried < 12 && more[tried])
        tried++;
    ck_assert_int_eq(rights_of_use - plain, tried + libraries[_i].to_undo);
}
END_TEST

/* A plain lock's rights, on each of the servers. */
START_TEST(run_takes_a_quorum_with_its_least_rights)
{
    struct server *all[3] = {server, server_start(NULL), server_start(NULL)};
    char urls[3][64];
    struct process *p;

    for (int i = 0; i < 3; i++) {
        (void)snprintf(urls[i], sizeof urls[i],
                       "redis://app:PASSWORD@127.0.0.1:%d", server_port(all[i]));
        make_user_on(all[i], rule_of("order:42", "quorum"));
        (void)server_ask(all[i], "ACL LOG RESET");
    }
    p = holdfast(NULL, "run", "--quorum", "-u", urls[0], "-u", urls[1], "-u",
                 urls[2], "--ttl=2s", "order:42", "sleep", "1", NULL);
    ck_assert_int_eq(finish(p), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_null(strstr(server_ask(all[i], "ACL LOG"), "\"command\""));
        ck_assert_int_eq(server_ask_int(all[i], "EXISTS order:42"), 0);
    }
    server_stop(all[1]);
    server_stop(all[2]);
}
END_TEST

START_TEST(ls_lists_with_its_least_rights)
{
    struct process *p;

    make_user(rule_of(NULL, "ls"));
    (void)server_ask(server, "ACL LOG RESET");
    hold_by_other("order:42", 60000);
    (void)server_ask(server, "RPUSH redisson_lock_queue:{order:42} other");
    (void)server_ask(server, "SET pool 1");
    (void)server_ask(server, "ZADD {pool}:timeout 922337203685477 "
                             "0123456789abcdef");
    p = holdfast(NULL, "ls", "-u", user_url(), "--kind=all", NULL);
    ck_assert_int_eq(finish(p), 0);
    (void)await_line(p, OUT, "order:42\tfair\t");
    (void)await_line(p, OUT, "pool\tpermit\t-\t1\t");
    ck_assert_ptr_null(strstr(server_ask(server, "ACL LOG"), "\"command\""));
    make_user(rule_for(NULL));
    ck_assert_int_eq(finish(holdfast(NULL, "ls", "-u", user_url(), NULL)), 125);
}
END_TEST

START_TEST(an_unknown_use_is_refused)
{
    struct process *p = holdfast(NULL, "doctor", "--acl", "--for", "x", NULL);

    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "fair, shared"));
    ck_assert_int_eq(finish(holdfast(NULL, "doctor", "--for", "ls", NULL)), 125);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock, least rights");
    TCase *c = run_case(s, "rights");

    tcase_add_loop_test(c, locks_work_with_the_least_rights, 0,
                        2 * COUNT(names));
    tcase_add_test(c, a_name_with_white_space_has_a_rule);
    tcase_add_test(c, the_rights_for_one_lock_are_for_no_other);
    tcase_add_test(c, all_of_the_rights_are_used);
    tcase_add_loop_test(c, run_takes_a_kind_with_its_least_rights, 0,
                        2 * COUNT(uses));
    tcase_add_loop_test(c, a_kind_is_refused_without_its_rights, 0,
                        COUNT(uses));
    tcase_add_loop_test(c, library_uses_a_kind_with_its_least_rights, 0,
                        4 * COUNT(libraries));
    tcase_add_loop_test(c, no_right_is_printed_that_is_not_tried, 0,
                        COUNT(libraries));
    tcase_add_test(c, run_takes_a_quorum_with_its_least_rights);
    tcase_add_test(c, ls_lists_with_its_least_rights);
    tcase_add_test(c, an_unknown_use_is_refused);
    return run_suite(s);
}
