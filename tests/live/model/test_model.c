/* The model of a server on trial: the same random commands and scripts go to it
 * and to a real server, and each reply, and each key, must be equal.
 *
 * HF_TRIAL: how many times as many steps as make check has (default 1), and
 * HF_TRIAL_SEED: another beginning. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/script/scripts.h"
#include "tests/live/model/test_model.h"
#include "tests/live/model/test_model_redisson.h"
#include "tests/live/model/test_model_sessions.h"
#include "tests/live/model/test_model_words.h"
#include "tests/support/dice.h"
#include "tests/support/one_server.h"
#include "tests/support/suite.h"

/* Keys are compared, and forgotten, so often. */
#define COMPARE_EACH 8
#define FORGET_EACH 200

static long steps(long n)
{
    const char *times = getenv("HF_TRIAL");

    return n * (times ? atol(times) : 1);
}

static struct pair *pair;

static void start(void)
{
    const char *seed = getenv("HF_TRIAL_SEED");

    if (seed)
        dice_seed = strtoull(seed, NULL, 0) * 2 + 1;
    twins_start(NULL);
    pair = pair_open();
}

static void stop(void)
{
    pair_close(pair);
    twins_stop();
}

static void be_protocol(int protocol)
{
    char hello[16];
    struct words w = {.p = {"HELLO", hello}, .n = {5, 1}, .count = 2};

    (void)sprintf(hello, "%d", protocol);
    pair_ask_type(pair, &w);
}

static void check_now_and_then(long step)
{
    if (step % COMPARE_EACH == 0)
        pair_compare_keys(pair);
    if (step % FORGET_EACH == 0)
        ask(pair, "FLUSHALL");
}

/* ---- commands ---- */

/* What would change the connection is left to the conversations. */
static void ask_command(void)
{
    struct words w = words_of_template(random_command());

    if (strcmp(w.p[0], "multi") != 0 && strcmp(w.p[0], "subscribe") != 0)
        pair_ask(pair, &w);
}

START_TEST(commands_are_answered_as_a_real_server_does)
{
    be_protocol(_i);
    for (long n = steps(2500); n > 0; n--) {
        ask_command();
        check_now_and_then(n);
    }
}
END_TEST

/* ---- scripts ---- */

static const struct {
    const struct hf_script *script;
    const char *call;
} our_scripts[] = {
    {&hf_script_acquire, "1 %l %o %n %t"},
    {&hf_script_acquire, "2 %l %T %o %n %t 0"},
    {&hf_script_acquire, "2 %l %T %o 1 %t 0"},
    {&hf_script_fair_acquire, "3 %l %q %z %o %n %t 300000 225000"},
    {&hf_script_fair_acquire, "3 %l %q %z %o 1 %t 20 15"},
    {&hf_script_fair_acquire, "3 %l %q %z %o %n %t 0 30"},
    {&hf_script_fair_acquire, "4 %l %q %z %T %o %n %t 300000 225000 0"},
    {&hf_script_fair_drop, "3 %l %q %z 123 '' 0 %p %c"},
    {&hf_script_fair_drop, "3 %l %q %z 123 %o 0 %p %c SPUBLISH"},
    {&hf_script_fair_release, "3 %l %q %z %o %n %t 20 30 %p %c"},
    {&hf_script_fair_release, "3 %l %q %z %o 0 %t 300000 225000 %p %c SPUBLISH"},
    {&hf_script_force_release, "3 %l %q %z 123 '' %p %c"},
    {&hf_script_release, "1 %l %o %n %t %p %c"},
    {&hf_script_release, "1 %l %o %n %t %p %c SPUBLISH"},
    {&hf_script_renew, "1 %l %t %o"},
    {&hf_script_renew, "2 %l %k 0 %o %o"},
    {&hf_script_renew, "3 %l %k %k %t %o %o %o"},
    {&hf_script_extend, "1 %l %o 0 %t"},
    {&hf_script_extend, "1 %l %w 0 %t write"},
    {&hf_script_force_release, "1 %l 123 '' %p %c"},
    {&hf_script_force_release, "1 %l 123 %o %p %c"},
    {&hf_script_inspect, "1 %l 123 %o"},
    {&hf_script_inspect, "1 %k 123 %w"},
    {&hf_script_read_acquire, "2 %l %h %o %n %t %w"},
    {&hf_script_read_extend, "2 %l %h %o 0 %t"},
    {&hf_script_read_release, "2 %l %h %o %n %t %p %r"},
    {&hf_script_read_renew, "2 %l %h %t %o"},
    {&hf_script_read_renew, "2 %l %h 0 %o"},
    {&hf_script_rw_force_release, "1 %l 123 '' read %p %r"},
    {&hf_script_rw_force_release, "1 %l 123 %o write %p %r"},
    {&hf_script_permit_acquire, "2 %k %z %o 1 %t"},
    {&hf_script_permit_release, "2 %k %z %o 0 %t %p %c"},
    {&hf_script_permit_renew, "1 %z %t %o"},
    {&hf_script_permit_renew, "2 %z %k 0 %o %o"},
    {&hf_script_permit_renew, "2 %z %k %t %o %o"},
    {&hf_script_permit_extend, "2 %k %z %o 0 %t"},
    {&hf_script_permit_force_release, "2 %k %z 123 '' %p %c"},
    {&hf_script_permit_force_release, "2 %k %z 123 %o %p %c"},
    {&hf_script_permit_inspect, "2 %k %z 123 %o"},
    {&hf_script_permit_read, "2 %k %z 123 ''"},
    {&hf_script_permit_set, "3 %k %z %k 131 2 %t %p %c"},
    {&hf_script_count_set, "2 %k %k 123 5 %t 0 '' %p %c"},
    {&hf_script_count_set, "2 %k %k 123 5 %t %t '' %p %c"},
    {&hf_script_count_set, "2 %k %k 123 2 %t 0 1 %p %c SPUBLISH"},
    {&hf_script_count_read, "1 %k 123 ''"},
    {&hf_script_count_read, "1 %k 123 '' 0"},
    {&hf_script_count_read, "2 %l %T 123 ''"},
    {&hf_script_token_raise, "2 %l %T %o %n 0"},
    {&hf_script_semaphore_acquire, "2 %k %k 123 1 %t"},
    {&hf_script_semaphore_acquire, "2 %k %k 124 3 %t"},
    {&hf_script_semaphore_release, "2 %k %k 125 2 %t '' %p %c"},
    {&hf_script_semaphore_release, "2 %k %k 132 2 %t 1 %p %c"},
    {&hf_script_semaphore_reduce, "2 %k %k 127 2 %t"},
    {&hf_script_semaphore_reduce, "2 %k %k 128 0 %t"},
    {&hf_script_semaphore_delete, "3 %k %z %k 129 1 %t"},
    {&hf_script_semaphore_undo, "2 %k %k 123 0 %t %p %c"},
    {&hf_script_latch_await, "1 %k 123 1 0"},
    {&hf_script_latch_count_down, "2 %k %k 126 1 %t %p %c"},
    {&hf_script_latch_delete, "2 %k %k 130 1 %t 1 %p %c"},
    {&hf_script_value_acquire, "1 %k %o 1 %t"},
    {&hf_script_value_acquire, "2 %k %T %o 1 %t 0"},
    {&hf_script_value_release, "1 %k %o 0 %t"},
    {&hf_script_value_renew, "1 %k %t %o"},
    {&hf_script_value_renew, "2 %k %l 0 %o %o"},
    {&hf_script_value_renew, "3 %k %k %l %t %o %o %o"},
    {&hf_script_value_extend, "1 %k %o 0 %t"},
    {&hf_script_value_force_release, "1 %k 123 ''"},
    {&hf_script_value_force_release, "1 %k 123 %o"},
    {&hf_script_value_inspect, "1 %k 123 %o"},
    {&hf_script_write_acquire, "1 %l %w %n %t"},
    {&hf_script_write_acquire, "2 %l %T %w %n %t 0"},
    {&hf_script_write_release, "1 %l %w %n %t %p %r"},
};

static void empty_quotes(struct words *w)
{
    for (int i = 0; i < w->count; i++)
        if (w->n[i] == 2 && memcmp(w->p[i], "''", 2) == 0)
            w->p[i] = "", w->n[i] = 0;
}

static void ask_ours(void)
{
    size_t i = dice(ROWS(our_scripts));
    const struct hf_script *s = our_scripts[i].script;
    struct words w = words_of_template(our_scripts[i].call);

    empty_quotes(&w);
    if (dice(4))
        words_insert(&w, "EVALSHA", s->sha, 40);
    else
        words_insert(&w, "EVAL", s->text, s->len);
    pair_ask(pair, &w);
}

static void ask_redissons(void)
{
    size_t i = dice(ROWS(redisson_scripts));
    struct words w = words_of_template(redisson_scripts[i].call);

    words_insert(&w, "EVAL", redisson_scripts[i].text,
                 strlen(redisson_scripts[i].text));
    pair_ask(pair, &w);
}

/* Ours and Redisson's by turns, on the same locks. */
START_TEST(scripts_leave_the_same_keys_as_on_a_real_server)
{
    be_protocol(_i);
    for (long n = steps(2500); n > 0; n--) {
        if (dice(2))
            ask_ours();
        else
            ask_redissons();
        check_now_and_then(n);
    }
}
END_TEST

/* ---- replicas of the model ---- */

static struct model *replica;

static void on_stream(void *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    model_set_time(replica, model_now_us(twins_model()));
    model_apply(replica, bytes, len);
}

static bool are_same(struct model_text a, struct model_text b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static void must_be_on_the_replica(void *ctx, const struct model_key *key)
{
    struct model_key copy;
    struct model_text name, value, name_copy, value_copy;

    (void)ctx;
    if (key->is_expired)
        return;
    ck_assert(model_look(replica, 0, key->name.p, key->name.n, &copy));
    ck_assert_int_eq(copy.type, key->type);
    ck_assert_int_eq(copy.expires_ms, key->expires_ms);
    ck_assert_uint_eq(copy.count, key->count);
    for (size_t i = 0; i < key->count; i++) {
        ck_assert(model_at(twins_model(), 0, key->name.p, key->name.n, i, &name,
                           &value));
        ck_assert(model_at(replica, 0, key->name.p, key->name.n, i, &name_copy,
                           &value_copy));
        ck_assert(are_same(name, name_copy));
        ck_assert(are_same(value, value_copy));
    }
}

/* By effects alone: no script is run there. */
START_TEST(replica_of_the_model_has_the_same_keys)
{
    replica = model_new(&(struct model_options){.version = twins_version()});
    model_set_time(replica, model_now_us(twins_model()));
    (void)model_follow(replica, twins_model(), on_stream, NULL);
    for (long n = steps(2000); n > 0; n--) {
        if (dice(2))
            ask_ours();
        else if (dice(2))
            ask_redissons();
        else
            ask_command();
        model_each_key(twins_model(), 0, must_be_on_the_replica, NULL);
        ck_assert_uint_eq(model_key_count(replica, 0),
                          model_key_count(twins_model(), 0));
        if (n % FORGET_EACH == 0)
            ask(pair, "FLUSHALL");
    }
    model_free(replica);
}
END_TEST

START_TEST(small_scripts_are_answered_as_a_real_server_does)
{
    be_protocol(_i);
    for (long n = steps(2000); n > 0; n--) {
        struct words w = words_of_template("2 %k %l %v %t");
        char args[4][256];
        const char *text;

        for (int i = 1; i < w.count; i++) {
            (void)snprintf(args[i - 1], sizeof args[0], "%s", w.p[i]);
            w.p[i] = args[i - 1];
        }
        w.p[0] = "2";
        text = random_lua();
        words_insert(&w, "EVAL", text, strlen(text));
        pair_ask(pair, &w);
        check_now_and_then(n);
    }
}
END_TEST

/* ---- conversations ---- */

static struct pair *other;

/* Both servers run out of memory, or obey another. */
static void be(const char *state)
{
    struct model *m = twins_model();

    if (strcmp(state, "full") == 0)
        (void)server_ask(server, "CONFIG SET maxmemory 1");
    if (strcmp(state, "roomy") == 0)
        (void)server_ask(server, "CONFIG SET maxmemory 0");
    model_set_full(m, strcmp(state, "full") == 0);
    if (strcmp(state, "replica") == 0)
        (void)server_ask(server, "REPLICAOF 127.0.0.1 1"), model_demote(m);
    if (strcmp(state, "master") == 0)
        (void)server_ask(server, "REPLICAOF NO ONE"), model_promote(m);
}

static void play_line(const char *line)
{
    switch (*line) {
    case '~': ask_type(pair, line + 1); break;
    case '2': ask(other, line + 1); break;
    case '!': pair_send(pair, line + 1, strlen(line + 1), 1); break;
    case '-': pair_send(pair, line + 1, strlen(line + 1), 0); break;
    case '?': pair_send(pair, "", 0, 1); break;
    case '@': be(line + 1); break;
    default: ask(pair, line); break;
    }
}

START_TEST(conversations_go_as_with_a_real_server)
{
    const struct session *s = &sessions[_i];

    twins_start(s->password);
    pair = pair_open();
    other = pair_open();
    for (int i = 0; i < SESSION_LINES && s->lines[i]; i++)
        play_line(s->lines[i]);
    pair_must_agree_on_end(pair);
    pair_close(other);
    stop();
}
END_TEST

START_TEST(server_that_is_full_of_clients_reports_it_and_closes)
{
    ask(pair, "CONFIG SET maxclients 1");
    other = pair_open();
    pair_send(other, "", 0, 1);
    ck_assert_ptr_nonnull(strstr(pair_reply(other), "max number of clients"));
    pair_must_agree_on_end(other);
    pair_close(other);
}
END_TEST

/* The script runs on the real server alone: a model's would never end. */
START_TEST(server_that_runs_a_script_for_long_is_busy)
{
    static const char *const lines[] = {
        "GET a", "PING", "EVAL return(1) 0", "INFO", "CLIENT GETNAME", "SUBSCRIBE a",
        "NOSUCH", "GET", "MULTI", "DISCARD", "SCRIPT FLUSH"};

    ask(pair, "CONFIG SET lua-time-limit 1");
    server_run_for_ever();
    model_set_busy(twins_model(), true);
    for (int i = 0; i < ROWS(lines); i++)
        ask(pair, lines[i]);
    ask(pair, "SCRIPT KILL");
    server_await(server, 30000, "PONG", "PING");
    ask(pair, "GET a");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("model");
    TCase *t = tcase_create("trial");

    if (!server_is_installed() || !twins_are_alike()) {
        (void)puts("skipped: no server is installed of which there is a model");
        return 77;
    }
    tcase_set_timeout(t, 3600);
    tcase_add_checked_fixture(t, start, stop);
    tcase_add_loop_test(t, commands_are_answered_as_a_real_server_does, 2, 4);
    tcase_add_loop_test(t,
                        scripts_leave_the_same_keys_as_on_a_real_server,
                        2, 4);
    tcase_add_test(t, replica_of_the_model_has_the_same_keys);
    tcase_add_loop_test(t, small_scripts_are_answered_as_a_real_server_does, 2,
                        4);
    suite_add_tcase(s, t);
    t = tcase_create("conversations");
    if (twins_version() != MODEL_REDIS_6_0) /* they know what came with 7.0 */
        tcase_add_loop_test(t, conversations_go_as_with_a_real_server, 0,
                            ROWS(sessions));
    suite_add_tcase(s, t);
    t = tcase_create("states");
    tcase_add_checked_fixture(t, start, stop);
    tcase_add_test(t, server_that_is_full_of_clients_reports_it_and_closes);
    tcase_add_test(t, server_that_runs_a_script_for_long_is_busy);
    suite_add_tcase(s, t);
    return suite_run(s);
}
