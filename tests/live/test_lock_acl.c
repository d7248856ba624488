/* A user who has exactly the rights that `holdfast doctor --acl` prints: all that
 * a lock does works, and all of the rights are used. */
#include "tests/live/test_run_kit.h"

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
static void make_user(const char *rule)
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
    ck_assert_str_eq(server_ask(server, plain), "OK");
}

static struct hf_client *client_of_user(int protocol)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.user = "app";
    o.password = "PASSWORD";
    o.protocol = protocol;
    o.watchdog_ms = WATCHDOG_MS;
    return client_with(&o);
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
} uses[] = {
    {"fair", "--fair"},
    {"shared", "--shared"},
    {"exclusive", "--exclusive"},
    {"fenced", "--fenced"},
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

static void use_kind(const char *option)
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
    unlock_as_user();
    ck_assert_int_eq(finish(second), 122);
}

START_TEST(run_takes_a_kind_with_its_least_rights)
{
    const char *name = _i % 2 ? "order:42" : NULL;

    make_user(rule_of(name, uses[_i / 2].use));
    (void)server_ask(server, "ACL LOG RESET");
    use_kind(uses[_i / 2].option);
    ck_assert_ptr_null(strstr(server_ask(server, "ACL LOG"), "\"command\""));
}
END_TEST

START_TEST(a_kind_is_refused_without_its_rights)
{
    make_user(rule_for(NULL));
    ck_assert_int_eq(finish(run_as_user(uses[_i].option, "0", "true")), 125);
}
END_TEST

START_TEST(ls_lists_with_its_least_rights)
{
    make_user(rule_of(NULL, "ls"));
    hold_by_other("order:42", 60000);
    ck_assert_int_eq(finish(holdfast(NULL, "ls", "-u", user_url(), NULL)), 0);
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
    tcase_add_test(c, the_rights_for_one_lock_are_for_no_other);
    tcase_add_test(c, all_of_the_rights_are_used);
    tcase_add_loop_test(c, run_takes_a_kind_with_its_least_rights, 0,
                        2 * COUNT(uses));
    tcase_add_loop_test(c, a_kind_is_refused_without_its_rights, 0,
                        COUNT(uses));
    tcase_add_test(c, ls_lists_with_its_least_rights);
    tcase_add_test(c, an_unknown_use_is_refused);
    return run_suite(s);
}
