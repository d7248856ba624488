/* The fenced lock: each grant has a token, greater than all before. WIRE 10. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/route/slot.h"
#include "tests/live/test_lock_ways.h"
#include "tests/support/cluster.h"
#include "tests/support/one_server.h"
#include "tests/support/rw_steps.h"

#define TOKEN "redisson_lock_token:{order:42}"

static struct hf_client *client;
static struct hf_lock *lock;

static struct hf_lock *fenced(struct hf_client *of, const char *name)
{
    struct hf_lock *new = NULL;

    ck_assert_ok(
        hf_lock_new_kind(&new, of, HF_KIND_FENCED, name, strlen(name), NULL));
    return new;
}

static void start(void)
{
    start_server();
    client = client_timed(server_port(server), STEADY_WATCHDOG_MS, 5000);
    lock = fenced(client, NAME);
}

static void stop(void)
{
    hf_client_free(client);
    stop_server();
}

static int64_t acquire_token(struct hf_lock *of, int64_t owner)
{
    acquire(of, owner);
    return hf_lock_token(of, owner);
}

/* ---- what comes with a grant ---- */

START_TEST(each_grant_has_the_next_token)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    way_options(&o, url, server_port(server), &ways[_i]);
    hf_client_free(client);
    client = client_with(&o);
    lock = fenced(client, NAME);
    for (int64_t token = 1; token <= 4; token++) {
        ck_assert_int_eq(acquire_token(lock, 1), token);
        ck_assert_int_eq(atoll(server_ask(server, "GET " TOKEN)), token);
        release(lock, 1);
    }
}
END_TEST

START_TEST(state_is_redissons)
{
    acquire(lock, 1);
    ck_assert_holder(server, lock, 1, 1);
    ck_assert_str_eq(server_ask(server, "GET " TOKEN), "1");
    ck_assert_str_eq(server_ask(server, "PTTL " TOKEN), "-1");
    ck_assert_int_gt(server_ask_int(server, "PTTL " NAME), 0);
    release(lock, 1);
    ck_assert_str_eq(server_ask(server, "KEYS *"), TOKEN);
}
END_TEST

static const char *const counters[][2] = {
    {"plain", "redisson_lock_token:{plain}"},
    {"shop{eu}lock", "redisson_lock_token:shop{eu}lock"},
    {"x}y", "redisson_lock_token:{x}y}"},
};

START_TEST(counter_has_redissons_name)
{
    struct hf_lock *named = fenced(client, counters[_i][0]);

    ck_assert_int_eq(acquire_token(named, 1), 1);
    ck_assert_str_eq(server_ask(server, "GET %s", counters[_i][1]), "1");
    release(named, 1);
}
END_TEST

START_TEST(reentry_keeps_the_token)
{
    ck_assert_int_eq(acquire_token(lock, 1), 1);
    ck_assert_int_eq(acquire_token(lock, 1), 1);
    ck_assert_holder(server, lock, 1, 2);
    release(lock, 1);
    ck_assert_int_eq(hf_lock_token(lock, 1), 1);
    ck_assert_str_eq(server_ask(server, "GET " TOKEN), "1");
    release(lock, 1);
}
END_TEST

START_TEST(token_is_its_holds_alone)
{
    struct hf_lock *plain = lock_of(client, "plain");

    ck_assert_int_eq(hf_lock_token(lock, 1), 0);
    acquire(lock, 1);
    ck_assert_int_eq(hf_lock_token(lock, 1), 1);
    ck_assert_int_eq(hf_lock_token(lock, 2), 0);
    release(lock, 1);
    ck_assert_int_eq(hf_lock_token(lock, 1), 0);
    acquire(plain, 1); /* with the memory of the hold that was */
    ck_assert_int_eq(hf_lock_token(plain, 1), 0);
    release(plain, 1);
}
END_TEST

START_TEST(lost_hold_keeps_its_token_until_it_is_released)
{
    acquire(lock, 1);
    (void)server_ask(server, "DEL " NAME);
    (void)server_ask(server, "INCRBY " TOKEN " 5");
    ck_assert_status(try_acquire(lock, 1, NULL), HF_LOST);
    ck_assert_int_eq(hf_lock_token(lock, 1), 1);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_int_eq(hf_lock_token(lock, 1), 0);
    ck_assert_int_eq(acquire_token(lock, 1), 7);
}
END_TEST

/* As a client asks whose answer was lost. */
START_TEST(request_that_is_repeated_has_the_same_token)
{
    const char *const format = "2 " NAME " " TOKEN " %s %d 30000 0";
    const char *sha = rw_script_load(server, "acquire");
    char command[200];

    (void)snprintf(command, sizeof command, "EVALSHA %s %s", sha, format);
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(server_ask(server, command, "x:1", 1), "x:1 1 1");
    ck_assert_str_eq(server_ask(server, command, "x:1", 2), "x:1 2");
    ck_assert_ptr_nonnull(
        strstr(server_ask(server, command, "x:2", 1), "x:2 -1 "));
    ck_assert_str_eq(server_ask(server, "GET " TOKEN), "1");
    (void)server_ask(server, "DEL " NAME);
    (void)server_ask(server, "SET " TOKEN " 9007199254740992");
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(server_ask(server, command, "x:1", 1),
                         "x:1 1 9007199254740993");
}
END_TEST

/* ---- tokens only grow ---- */

START_TEST(refusal_takes_no_token)
{
    acquire(lock, 1);
    ck_assert_status(try_acquire(lock, 2, NULL), HF_TIMEOUT);
    ck_assert_str_eq(server_ask(server, "GET " TOKEN), "1");
    release(lock, 1);
    ck_assert_int_eq(acquire_token(lock, 2), 2);
}
END_TEST

/* Lua's numbers are doubles: from 2^53 on, INCR's answer is not exact there. */
static const int64_t far[] = {(INT64_C(1) << 53) - 2, (INT64_C(1) << 53) - 1,
                              INT64_C(1) << 53, (INT64_C(1) << 53) + 1,
                              999999999999999996, INT64_MAX - 4};

START_TEST(counter_below_0_is_an_error_and_nothing_is_acquired)
{
    struct hf_error err;

    (void)server_ask(server, "SET " TOKEN " -5");
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "is below 0"));
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 0);
}
END_TEST

START_TEST(tokens_are_exact_beyond_the_integers_of_lua)
{
    (void)server_ask(server, "SET " TOKEN " %lld", (long long)far[_i]);
    for (int64_t token = far[_i] + 1; token <= far[_i] + 3; token++) {
        ck_assert_int_eq(acquire_token(lock, 1), token);
        ck_assert_int_eq(atoll(server_ask(server, "GET " TOKEN)), token);
        release(lock, 1);
    }
}
END_TEST

START_TEST(force_release_keeps_the_counter)
{
    acquire(lock, 1);
    ck_assert_ok(hf_lock_force_release(lock, NULL, 0, NULL));
    ck_assert_int_eq(acquire_token(lock, 2), 2);
}
END_TEST

START_TEST(expiry_keeps_the_counter)
{
    acquire_for(lock, 1, 100);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
    ck_assert_int_eq(acquire_token(lock, 2), 2);
}
END_TEST

/* A process that holds the lock until it is killed. */
static pid_t hold_elsewhere(int64_t *token)
{
    int out[2];
    pid_t pid;

    ck_assert_int_eq(pipe(out), 0);
    if ((pid = fork_beside(client)) == 0) {
        struct hf_client *own = client_to(server_port(server));
        struct hf_lock *held = fenced(own, NAME);

        acquire_for(held, 1, 300);
        *token = hf_lock_token(held, 1);
        _exit(write(out[1], token, sizeof *token) == sizeof *token ? pause()
                                                                   : 1);
    }
    (void)close(out[1]);
    ck_assert_int_eq(read(out[0], token, sizeof *token), sizeof *token);
    (void)close(out[0]);
    return pid;
}

START_TEST(holder_that_is_killed_has_the_smaller_token)
{
    int64_t before = 0, theirs;

    for (int i = 0; i < 3; i++) {
        pid_t pid = hold_elsewhere(&theirs);
        int64_t ours;

        ck_assert_int_gt(theirs, before);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        ours = acquire_token(lock, 1);
        ck_assert_int_gt(ours, theirs);
        release(lock, 1);
        before = ours;
    }
}
END_TEST

START_TEST(tokens_continue_after_a_kill_of_a_persistent_server)
{
    static const char *const args[] = {"--appendonly", "yes", "--appendfsync",
                                       "always", NULL};
    int64_t token;

    hf_client_free(client);
    stop_server();
    start_server_with(args);
    client = client_to(server_port(server));
    lock = fenced(client, NAME);
    for (int64_t before = 0; before < 3; before = token) {
        token = acquire_token(lock, 1);
        ck_assert_int_gt(token, before);
        release(lock, 1);
        server_kill(server);
        server_restart(server);
    }
}
END_TEST

/* ---- what the counter may be ---- */

START_TEST(counter_of_another_type_acquires_nothing)
{
    struct hf_error err;

    (void)server_ask(server, _i ? "SET " TOKEN " seven" : "LPUSH " TOKEN " 7");
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
    ck_assert_str_eq(server_ask(server, "EXISTS " NAME), "0");
    ck_assert_uint_eq(stats_of(client).holds, 0);
}
END_TEST

/* ---- many ---- */

#define CONTENDERS 6
#define TURNS 30

static int64_t last_token;      /* inside the lock */

static void *contend(void *client_of_mine)
{
    struct hf_acquire_options o = acquire_options(hf_owner_thread());
    struct hf_lock *own = NULL;

    ck_must(hf_lock_new_kind(&own, client_of_mine, HF_KIND_FENCED, NAME,
                             strlen(NAME), NULL) == HF_OK,
            "a handle");
    for (int i = 0; i < TURNS; i++) {
        ck_must(hf_lock_acquire(own, &o, NULL) == HF_OK, "acquired");
        ck_must(hf_lock_token(own, o.owner) > last_token, "a greater token");
        last_token = hf_lock_token(own, o.owner);
        ck_must(hf_lock_release(own, o.owner, NULL) == HF_OK, "released");
    }
    hf_lock_free(own);
    return NULL;
}

START_TEST(tokens_grow_in_the_order_of_the_holds)
{
    struct hf_client *clients[2] = {client, client_to(server_port(server))};
    pthread_t threads[CONTENDERS];

    last_token = 0;
    for (int i = 0; i < CONTENDERS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, contend, clients[i % 2]), 0);
    for (int i = 0; i < CONTENDERS; i++)
        (void)pthread_join(threads[i], NULL);
    ck_assert_int_eq(last_token, CONTENDERS * TURNS);
    hf_client_free(clients[1]);
}
END_TEST

/* ---- beside others ---- */

/* Not a thing to do: the plain lock's holds have no token. */
START_TEST(plain_lock_of_the_name_excludes_it_and_wakes_it)
{
    struct hf_lock *plain = lock_of(client, NAME);
    struct hf_acquire_options o = acquire_options(2);
    struct call call;

    acquire(plain, 1);
    call_acquire(&call, lock, &o);
    await_subscribers(server, CHANNEL, 1);
    ck_assert(!call_is_done(&call));
    release(plain, 1);
    ck_assert_ok(call_await(&call));
    ck_assert_int_eq(hf_lock_token(lock, 2), 1);
}
END_TEST

START_TEST(it_is_renewed)
{
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    note_await(&diary.note, &diary.renewals, 2, "renewals");
    ck_assert_int_eq(diary.losses, 0);
    ck_assert_int_eq(hf_lock_token(lock, 1), 1);
    release(lock, 1);
}
END_TEST

/* ---- clusters ---- */

START_TEST(token_continues_after_its_slot_moved)
{
    struct cluster *c =
        cluster_start(&(struct cluster_options){.masters = 2});
    int slot = hf_slot_of(NAME, strlen(NAME));
    struct hf_client_options o;
    struct call call;
    char url[100];
    int from, to;

    ck_assert_ptr_nonnull(c);
    hf_client_options_init(&o);
    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d",
                   server_port(cluster_node(c, 0)));
    o.url = url;
    client = client_with(&o);
    lock = fenced(client, NAME);
    ck_assert_int_eq(acquire_token(lock, 1), 1);
    release(lock, 1);
    from = cluster_owner(c, slot);
    to = 1 - from;
    cluster_move_begin(c, slot, to);
    call_acquire(&call, lock, &(struct hf_acquire_options){
                                  .size = sizeof(struct hf_acquire_options),
                                  .owner = 1, .wait_ms = LONG_MS});
    (void)cluster_move_keys(c, slot, to, 10);
    cluster_move_end(c, slot, to);
    ck_assert_ok(call_await(&call));
    ck_assert_int_eq(hf_lock_token(lock, 1), 2);
    release(lock, 1);
    hf_client_free(client);
    cluster_stop(c);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "grants", start, stop);

    tcase_add_loop_test(c, each_grant_has_the_next_token, 0, COUNT(ways));
    tcase_add_test(c, state_is_redissons);
    tcase_add_loop_test(c, counter_has_redissons_name, 0, COUNT(counters));
    tcase_add_test(c, reentry_keeps_the_token);
    tcase_add_test(c, token_is_its_holds_alone);
    tcase_add_test(c, lost_hold_keeps_its_token_until_it_is_released);
    tcase_add_test(c, request_that_is_repeated_has_the_same_token);
    c = live_case(suite, "growth", start, stop);
    tcase_add_test(c, refusal_takes_no_token);
    tcase_add_test(c, counter_below_0_is_an_error_and_nothing_is_acquired);
    tcase_add_loop_test(c, tokens_are_exact_beyond_the_integers_of_lua, 0,
                        COUNT(far));
    tcase_add_test(c, force_release_keeps_the_counter);
    tcase_add_test(c, expiry_keeps_the_counter);
    tcase_add_test(c, holder_that_is_killed_has_the_smaller_token);
    tcase_add_test(c, tokens_continue_after_a_kill_of_a_persistent_server);
    tcase_add_test(c, tokens_grow_in_the_order_of_the_holds);
    c = live_case(suite, "others", start, stop);
    tcase_add_loop_test(c, counter_of_another_type_acquires_nothing, 0, 2);
    tcase_add_test(c, plain_lock_of_the_name_excludes_it_and_wakes_it);
    tcase_add_test(c, it_is_renewed);
    c = live_case(suite, "cluster", NULL, NULL);
    tcase_add_test(c, token_continues_after_its_slot_moved);
}

int main(void)
{
    return live_main("lock_fenced", add);
}
