/* A user who has exactly the rights that `holdfast doctor --acl` prints: every verb of
 * every kind works, the server refuses nothing (ACL LOG), and all of the rights are
 * used. */
#include "tests/live/test_run_kit.h"

#include "lock/latch.h"
#include "lock/permits.h"
#include "lock/semaphore.h"
#include "lock/token.h"
#include "tests/live/test_acl.h"

#define WATCHDOG_MS STEADY_WATCHDOG_MS

static struct hf_client *holder, *waiter;

/* The options of doctor for a name (NULL: none is given) and a use. */
static const char *options_of(const char *name, const char *use)
{
    static char options[200];

    (void)snprintf(options, sizeof options, "%s%s%s%s%s", name ? "--name '" : "",
                   name ? name : "", name ? "' " : "", use ? "--for " : "",
                   use ? use : "");
    return options;
}

static void make_user(const char *name, const char *use)
{
    acl_make_user(server, options_of(name, use));
}

static struct hf_client *client_of_user(int protocol)
{
    return acl_client(server, protocol, WATCHDOG_MS, 0);
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
        local_poll_rest();
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
    (void)server_ask(server, "RPUSH redisson_lock_queue:{%s} other", name);
    (void)server_ask(server, "ZADD redisson_lock_timeout:{%s} 9e12 other", name);
    ck_assert_ok(hf_lock_inspect(a, &info, NULL));
    ck_assert(info.is_locked);
    ck_assert_int_eq(info.waiters, 1);
    ck_assert_int_gt(info.first_place_ms, 0);
    (void)server_ask(server, "DEL redisson_lock_queue:{%s} redisson_lock_timeout:{%s}",
                     name, name);
    ck_assert_ok(hf_lock_force_release(a, NULL, 0, NULL));
    ck_assert_status(hf_lock_release(a, 1, NULL), HF_LOST);
    hf_lock_free(a);
}

/* A new connection would end the one before it on the server. */
static void come_back(const char *name)
{
    struct hf_lock *a = lock_of(holder, name);

    (void)server_ask(server, "CLIENT KILL USER " ACL_USER);
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
    ck_assert_no_denial(server, "all but a lost connection");
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

/* After a lost connection CLIENT KILL is tried, and only that is refused. */
static void ck_assert_kill_is_denied(void)
{
    const char *log = server_ask(server, "ACL LOG");

    ck_assert_ptr_nonnull(strstr(log, "object client"));
    for (const char *at = log; (at = strstr(at, "object ")); at++)
        ck_assert_int_eq(strncmp(at, "object client", 13), 0);
}

START_TEST(locks_work_with_the_least_rights)
{
    int row = _i / 2;

    make_user(names[row].name, NULL);
    do_all(names[row].used, 2 + _i % 2);
    ck_assert_kill_is_denied();
}
END_TEST

START_TEST(with_kill_a_lost_connection_is_ended)
{
    ck_assert_ptr_null(strstr(acl_rule(server, ""), "client|kill"));
    acl_make_user(server, "--with-kill");
    do_all("order:42", 2 + _i);
    ck_assert_no_denial(server, "a lost connection");
}
END_TEST

/* No rule can have any: any byte will do there. */
START_TEST(a_name_with_white_space_has_a_rule)
{
    struct hf_lock *lock;

    make_user("a b\tc", NULL);
    holder = client_of_user(3);
    lock = lock_of(holder, "a b\tc");
    acquire(lock, 1);
    release(lock, 1);
    ck_assert_no_denial(server, "a name with white space");
    hf_client_free(holder);
}
END_TEST

START_TEST(the_rights_for_one_lock_are_for_no_other)
{
    struct hf_client *client;
    struct hf_error err;
    struct hf_lock *lock;

    make_user("order:42", NULL);
    client = client_of_user(3);
    lock = lock_of(client, "order:43");
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
    hf_client_free(client);
}
END_TEST

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

/* Rights that a test like these cannot use: PING is sent to a server that is silent,
 * the others take back what was done where an answer could not be kept, or repair. */
static bool is_for_trouble(const char *right, const char *more)
{
    return strcmp(right, "ping") == 0 || strcmp(right, "client|setname") == 0 ||
           strstr(more, right) != NULL;
}

/* Every right that was printed is used; `more`: those that only trouble needs. */
static void ck_assert_all_used(const char *options, const char *more)
{
    static char rule[2048];
    char *state;

    (void)snprintf(rule, sizeof rule, "%s", acl_rule(server, options));
    for (char *word = strtok_r(rule, " ", &state); word;
         word = strtok_r(NULL, " ", &state))
        if (*word == '+' && !is_for_trouble(word + 1, more))
            ck_assert_msg(is_used(word + 1), "%s is of no use", word);
}

START_TEST(all_of_the_rights_are_used)
{
    acl_make_user(server, "--with-kill");
    (void)server_ask(server, "CONFIG RESETSTAT");
    (void)server_ask(server, "SCRIPT FLUSH");
    do_all("order:42", 2);
    ck_assert_all_used("--with-kill", "");
}
END_TEST

/* ---- other kinds ---- */

static const struct {
    const char *use, *option;   /* of doctor --for, of run */
    int freed;                  /* exit code of `unlock`: it frees no permits */
} uses[] = {
    {NULL, "--connect-timeout=5s", 0}, /* no kind of its own */
    {"fair", "--fair", 0},
    {"shared", "--shared", 0},
    {"exclusive", "--exclusive", 0},
    {"fenced", "--fenced", 0},
    {"value", "--value", 0},
    {"permits", "--permits=1", 125},
};

static const char *user_url(void)
{
    static char url[64];

    (void)snprintf(url, sizeof url, "redis://" ACL_USER ":" ACL_PASSWORD "@127.0.0.1:%d",
                   server_port(server));
    return url;
}

/* `holdfast run` as that user. A command that is held, a second run that waits
 * for it, one that gives up, and `unlock` by force: each step of a kind. */
static struct process *run_as_user(const char *option, const char *wait,
                                   const char *command)
{
    return holdfast(NULL, "run", "-u", user_url(), "--ttl", "4500ms", "-w", wait, option,
                    "order:42", "-c", command, NULL);
}

static int unlock_as_user(const char *name)
{
    return finish(holdfast(NULL, "unlock", "-u", user_url(), "--force", "-y", name, NULL));
}

static int status_as_user(const char *name)
{
    return finish(holdfast(NULL, "status", "-u", user_url(), name, NULL));
}

static void watch_as_user(const char *name)
{
    ck_assert_int_eq(finish(holdfast(NULL, "watch", "-u", user_url(), "--every", "50ms",
                                     "--for", "1s", name, NULL)), 0);
    ck_assert_no_denial(server, "watch");
}

/* Only a writer keeps a reader out. */
static const char *keeper_of(const char *option)
{
    return strcmp(option, "--shared") == 0 ? "--exclusive" : option;
}

static void use_run(const char *option, int freed)
{
    struct process *first, *second;

    first = run_as_user(keeper_of(option), "0", "echo held; read x");
    await_line(first, OUT, "held");
    ck_assert_int_eq(finish(run_as_user(option, "100ms", "true")), 75);
    second = run_as_user(option, "20s", "echo held; read x");
    local_rest_us(1700000); /* longer than the TTL: renewed */
    ck_assert_int_eq(status_as_user("order:42"), 0);
    say(first, "\n");
    ck_assert_int_eq(finish(first), 0);
    await_line(second, OUT, "held");
    ck_assert_no_denial(server, "run");
    watch_as_user("order:42");
    ck_assert_int_eq(unlock_as_user("order:42"), freed);
    ck_assert_no_denial(server, "unlock");
    if (freed != 0)
        say(second, "\n");
    ck_assert_int_eq(finish(second), freed == 0 ? 122 : 0);
}

static const char *acquire_as_user(const char *option)
{
    static char handle[200];
    struct process *p = holdfast(NULL, "acquire", "-u", user_url(), "--lease", "9s",
                                 option, "order:42", NULL);

    (void)snprintf(handle, sizeof handle, "%s", await_line(p, OUT, " "));
    *strchr(handle, ' ') = '\0';
    ck_assert_int_eq(finish(p), 0);
    ck_assert_no_denial(server, "acquire");
    return handle;
}

static void use_handle(const char *option)
{
    const char *handle = acquire_as_user(option);

    ck_assert_int_eq(finish(holdfast(NULL, "renew", "-u", user_url(), "--lease", "10s",
                                     "order:42", handle, NULL)), 0);
    ck_assert_no_denial(server, "renew");
    ck_assert_int_eq(status_as_user("order:42"), 0);
    ck_assert_no_denial(server, "status");
    ck_assert_int_eq(finish(holdfast(NULL, "release", "-u", user_url(), "order:42",
                                     handle, NULL)), 0);
    ck_assert_no_denial(server, "release");
    ck_assert_int_eq(status_as_user("order:42"), 1);
    ck_assert_no_denial(server, "status of a free lock");
}

static void use_fence(void)
{
    ck_assert_int_eq(finish(holdfast(NULL, "fence", "-u", user_url(), "order:42",
                                     NULL)), 0);
    ck_assert_int_eq(finish(holdfast(NULL, "fence", "-u", user_url(), "order:42",
                                     "check", "1", NULL)), 1);
    ck_assert_no_denial(server, "fence");
}

START_TEST(command_uses_a_kind_with_its_least_rights)
{
    const char *use = uses[_i / 2].use, *option = uses[_i / 2].option;

    make_user(_i % 2 ? "order:42" : NULL, use);
    use_run(option, uses[_i / 2].freed);
    use_handle(option);
    if (use && strcmp(use, "fenced") == 0)
        use_fence();
}
END_TEST

/* What the command does with a semaphore or a latch: it looks. */
START_TEST(command_looks_at_numbers_with_their_least_rights)
{
    static const char *const kinds[] = {"semaphore", "latch", "permits", "value"};

    make_user(_i % 2 ? "order:42" : NULL, kinds[_i / 2]);
    (void)server_ask(server, "SET order:42 3");
    ck_assert_int_eq(status_as_user("order:42"), 1);
    ck_assert_no_denial(server, "status");
    watch_as_user("order:42");
    ck_assert_int_eq(unlock_as_user("order:42"), 1);
    ck_assert_no_denial(server, "unlock");
}
END_TEST

/* A run that is long enough to store its label; who waits, and who looks, reads it. */
START_TEST(command_uses_labels_with_their_least_rights)
{
    struct process *first, *second;

    (void)unsetenv("HOLDFAST_LABEL");
    make_user(_i ? "order:42" : NULL, "label");
    (void)server_ask(server, "CONFIG RESETSTAT");
    first = run_as_user("--label=night shift", "0", "echo held; read x");
    await_line(first, OUT, "held");
    second = run_as_user("-v", "1500ms", "true");
    await_line(second, ERR, "(night shift)");
    ck_assert_int_eq(finish(second), 75);
    ck_assert_int_eq(status_as_user("order:42"), 0);
    watch_as_user("order:42");
    say(first, "\n");
    ck_assert_int_eq(finish(first), 0);
    ck_assert_no_denial(server, "run");
    use_handle("-v");
    ck_assert(is_used("get") && is_used("set"));
}
END_TEST

START_TEST(a_kind_is_refused_without_its_rights)
{
    make_user(NULL, NULL);
    ck_assert_int_eq(finish(run_as_user(uses[_i].option, "0", "true")), 125);
}
END_TEST

/* A fair lock also needs rights to its queue. A call that does not wait enters no queue, so it has
 * nothing to release; the release of a place in the queue is refused, and is no silence. */
START_TEST(refused_release_is_not_called_silence)
{
    struct process *p;
    const char *said;

    make_user(NULL, NULL);
    p = run_as_user("--fair", _i ? "10s" : "0", "true");
    ck_assert_int_eq(finish(p), 125);
    said = await_end(p, ERR);
    ck_assert_msg(strstr(said, "the ACL of this user lacks") && !strstr(said, "does not reply"), "%s", said);
    ck_assert_msg((strstr(said, "the server refuses the release: order:42 may stay locked") !=
                   NULL) == (_i == 1), "%s", said);
}
END_TEST

START_TEST(close_reports_a_refused_release)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_client_closed closed;
    struct hf_error err;
    struct hf_lock *lock;

    make_user(NULL, NULL);
    holder = client_of_user(3);
    ck_assert_ok(hf_lock_new_kind(&lock, holder, HF_KIND_FAIR, "x", 1, NULL));
    o.wait_ms = 1000;
    ck_assert_status(hf_lock_acquire(lock, &o, NULL), HF_E_SERVER);
    ck_assert_status(hf_client_close(holder, 500, &closed, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "refused background releases: 1"));
    ck_assert_uint_eq(closed.cancelled + closed.unknown, 1);
    hf_lock_free(lock);
    hf_client_free(holder);
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
        local_poll_rest();
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
    holder = acl_client(server, 3, WATCHDOG_MS, 3600000);
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
    local_rest_us(100000); /* it expires */
    acquire(permit, 2);
    release(permit, 2);
    ck_assert_status(hf_lock_release(permit, 1, NULL), HF_LOST);
    hf_lock_free(permit);
}

/* A wait that is given up takes back what it may have been granted. */
/* Whoever waits has subscribed. */
static void await_listener(void)
{
    server_await(server, AWAIT_MS, "1", "EVAL %s 0",
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

static void use_fair(const char *name)
{
    struct hf_lock *a, *b;
    struct hf_acquire_options o = acquire_options(2), hasty = acquire_options(3);
    struct call call, leaves;

    hasty.wait_ms = SET_UP_MS;
    ck_assert_ok(hf_lock_new_kind(&a, holder, HF_KIND_FAIR, name, strlen(name), NULL));
    ck_assert_ok(hf_lock_new_kind(&b, waiter, HF_KIND_FAIR, name, strlen(name), NULL));
    acquire(a, 1);
    acquire(a, 1);
    release(a, 1);
    call_acquire(&leaves, b, &hasty);
    local_rest_us(50000);
    call_acquire(&call, b, &o);
    ck_assert_status(call_await(&leaves), HF_TIMEOUT);
    ck_assert_ok(hf_lock_force_release(a, NULL, 0, NULL));
    ck_assert_ok(call_await(&call));
    ck_assert_status(hf_lock_release(a, 1, NULL), HF_LOST);
    release(b, 2);
    hf_lock_free(a);
    hf_lock_free(b);
    use_lock(name, HF_KIND_NONREENTRANT_FAIR);
    use_lock(name, HF_KIND_FAIR);
}

static void use_sides(const char *name)
{
    struct hf_lock *read, *write;

    ck_assert_ok(hf_lock_new_kind(&read, holder, HF_KIND_READ, name, strlen(name),
                                  NULL));
    ck_assert_ok(hf_lock_new_kind(&write, holder, HF_KIND_WRITE, name, strlen(name),
                                  NULL));
    acquire(write, 1);
    acquire(write, 1);
    acquire(read, 1);
    acquire(read, 1);
    release(write, 1);
    release(write, 1);
    acquire(read, 2);
    release(read, 1);
    release(read, 1);
    ck_assert_ok(hf_lock_force_release(read, NULL, 0, NULL));
    ck_assert_status(hf_lock_release(read, 2, NULL), HF_LOST);
    hf_lock_free(read);
    hf_lock_free(write);
    use_lock(name, HF_KIND_WRITE);
}

static void use_fenced(const char *name)
{
    struct hf_lock *lock;
    int64_t latest;

    ck_assert_ok(hf_lock_new_kind(&lock, holder, HF_KIND_FENCED, name, strlen(name),
                                  NULL));
    acquire(lock, 1);
    acquire(lock, 1);
    release(lock, 1);
    release(lock, 1);
    ck_assert_ok(hf_token_latest(lock, &latest, NULL));
    ck_assert_int_eq(latest, 1);
    hf_lock_free(lock);
    use_lock(name, HF_KIND_FENCED);
}

static void use_plain(const char *name)
{
    use_lock(name, HF_KIND_PLAIN);
    use_lock(name, HF_KIND_NONREENTRANT);
}

/* `status` of a number, whatever it is. */
static void look_at_number(const char *name)
{
    (void)server_ask(server, "DEL %s", name);
    (void)server_ask(server, "SET %s 3", name);
    ck_assert_int_eq(status_as_user(name), 1);
}

/* `trouble`: rights that are only needed to take back what was done where an answer
 * could not be kept, or to repair. */
static const struct {
    const char *use;
    void (*do_all)(const char *name);
    const char *trouble;
    bool is_string;
} libraries[] = {
    {NULL, use_plain, "", false},
    {"spin", use_spin, "", false},
    {"multi", use_plain, "", false},
    {"fair", use_fair, "", false},
    {"shared", use_sides, "", false},
    {"fenced", use_fenced, "decr", false},
    {"retention", use_retention, "decr", false},
    {"value", use_value, "", true},
    {"permits", use_permits, "", true},
    {"semaphore", use_semaphore, "", true},
    {"latch", use_latch, "incrby", true},
};

/* With the rights for all names and for this one alone, by RESP2 and by RESP3. No
 * right is there that nothing needs, and none is missing. */
START_TEST(library_uses_a_kind_with_its_least_rights)
{
    int row = _i / 4;
    const char *name = _i % 2 ? "order:42" : NULL;

    make_user(name, libraries[row].use);
    (void)server_ask(server, "CONFIG RESETSTAT");
    (void)server_ask(server, "SCRIPT FLUSH");
    holder = client_of_user(2 + _i / 2 % 2);
    waiter = client_of_user(2 + _i / 2 % 2);
    hold_and_hand_over("order:42");
    look_and_free_by_force("order:42");
    libraries[row].do_all("order:42");
    if (libraries[row].is_string)
        look_at_number("order:42");
    hf_client_free(holder);
    hf_client_free(waiter);
    ck_assert_no_denial(server, libraries[row].use ? libraries[row].use : "plain");
    ck_assert_all_used(options_of(name, libraries[row].use), libraries[row].trouble);
}
END_TEST

/* A plain lock's rights, on each of the servers; with a token those of `retention`,
 * for counters that differ are raised. */
static const struct {
    const char *use, *option;
} quorums[] = {{"quorum", "--connect-timeout=5s"}, {"retention", "--fenced"}};

START_TEST(run_takes_a_quorum_with_its_least_rights)
{
    struct server *all[3] = {server, server_start(NULL), server_start(NULL)};
    char urls[3][64];
    struct process *p;

    for (int i = 0; i < 3; i++) {
        (void)snprintf(urls[i], sizeof urls[i],
                       "redis://app:PASSWORD@127.0.0.1:%d", server_port(all[i]));
        acl_make_user(all[i], options_of("order:42", quorums[_i].use));
        (void)server_ask(all[i], "SET redisson_lock_token:{order:42} %d", 10 * i);
    }
    p = holdfast(NULL, "run", "--quorum", quorums[_i].option, "-u", urls[0], "-u",
                 urls[1], "-u", urls[2], "--ttl=4500ms", "order:42", "sleep", "1", NULL);
    ck_assert_int_eq(finish(p), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_no_denial(all[i], "run --quorum");
        ck_assert_int_eq(server_ask_int(all[i], "EXISTS order:42"), 0);
    }
    server_stop(all[1]);
    server_stop(all[2]);
}
END_TEST

START_TEST(ls_lists_with_its_least_rights)
{
    struct process *p;

    make_user(NULL, "ls");
    hold_by_other("order:42", 60000);
    (void)server_ask(server, "RPUSH redisson_lock_queue:{order:42} other");
    (void)server_ask(server, "SET pool 1");
    (void)server_ask(server, "SET report someone PX 60000");
    (void)server_ask(server, "ZADD {pool}:timeout 922337203685477 "
                             "0123456789abcdef");
    p = holdfast(NULL, "ls", "-u", user_url(), "--kind=all", "--waiters", NULL);
    ck_assert_int_eq(finish(p), 0);
    (void)await_line(p, OUT, "order:42\tfair\t");
    (void)await_line(p, OUT, "\t1\tother\t-");
    (void)await_line(p, OUT, "pool\tpermit\t-\t1\t");
    ck_assert_no_denial(server, "ls");
    make_user(NULL, NULL);
    ck_assert_int_eq(finish(holdfast(NULL, "ls", "-u", user_url(), NULL)), 125);
}
END_TEST

/* No server is there: it is not known whether Redis 7.0 is to take the rule, and the
 * second command is for the others. */
START_TEST(unknown_server_gets_two_commands)
{
    struct process *p = holdfast(NULL, "doctor", "--acl", "-u", "redis://127.0.0.1:1",
                                 NULL);
    const char *line = await_line(p, OUT, "ACL SETUSER app reset ");
    char first[2048];

    (void)snprintf(first, sizeof first, "%s", line);
    ck_assert_ptr_null(strstr(first, "setinfo"));
    ck_assert_ptr_nonnull(await_line(p, OUT, "ACL SETUSER app +client|setinfo"));
    ck_assert_ptr_nonnull(await_line(p, ERR, "version is unknown"));
    ck_assert_int_eq(finish(p), 0);
    if (strstr(server_ask(server, "INFO server"), "redis_version:6.0"))
        return;
    acl_set(server, first);
}
END_TEST

START_TEST(an_unknown_use_is_refused)
{
    struct process *p = holdfast(NULL, "doctor", "--acl", "--for", "x", NULL);

    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "fair, shared"));
    ck_assert_int_eq(finish(holdfast(NULL, "doctor", "--for", "ls", NULL)), 125);
    ck_assert_int_eq(finish(holdfast(NULL, "doctor", "--with-kill", NULL)), 125);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock, least rights");
    TCase *c = run_case(s, "rights");

    /* Labels are not stored or read, unless a test is about them. */
    (void)setenv("HOLDFAST_LABEL", "", 1);
    tcase_add_loop_test(c, locks_work_with_the_least_rights, 0,
                        2 * COUNT(names));
    tcase_add_loop_test(c, with_kill_a_lost_connection_is_ended, 0, 2);
    tcase_add_test(c, a_name_with_white_space_has_a_rule);
    tcase_add_test(c, the_rights_for_one_lock_are_for_no_other);
    tcase_add_test(c, all_of_the_rights_are_used);
    tcase_add_loop_test(c, command_uses_a_kind_with_its_least_rights, 0,
                        2 * COUNT(uses));
    tcase_add_loop_test(c, command_uses_labels_with_their_least_rights, 0, 2);
    tcase_add_loop_test(c, command_looks_at_numbers_with_their_least_rights, 0, 8);
    tcase_add_loop_test(c, a_kind_is_refused_without_its_rights, 1, COUNT(uses));
    tcase_add_loop_test(c, refused_release_is_not_called_silence, 0, 2);
    tcase_add_test(c, close_reports_a_refused_release);
    tcase_add_loop_test(c, library_uses_a_kind_with_its_least_rights, 0,
                        4 * COUNT(libraries));
    tcase_add_loop_test(c, run_takes_a_quorum_with_its_least_rights, 0,
                        ROWS(quorums));
    tcase_add_test(c, ls_lists_with_its_least_rights);
    tcase_add_test(c, unknown_server_gets_two_commands);
    tcase_add_test(c, an_unknown_use_is_refused);
    return run_suite(s);
}
