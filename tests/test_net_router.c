/* The router in a cluster: where a command goes, and redirections.
 * Source: CLUSTER. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lock/script/call.h"
#include "net/route/server.h"
#include "tests/support/router_kit.h"
#include "tests/support/suite.h"

#define SHORT_MS 1000           /* a deadline that is meant to pass */
#define MANY 1000
#define HOPS 5

/* ---- where a command goes ---- */

/* So long without an answer, and others are asked for the way (discover.c). */
#define LOOK_MS 250
/* So far apart are two rounds of asking (discover.c). */
#define REFRESH_MIN_MS 100

START_TEST(a_command_goes_to_the_node_of_its_slot)
{
    int64_t began_ms = local_now_ms();

    begin(NULL, halves, 2);
    ck_assert_str_eq(ask(0), "node 0");
    ck_assert_str_eq(ask(8191), "node 0");
    ck_assert_str_eq(ask(8192), "node 1");
    ck_assert_str_eq(ask(16383), "node 1");
    /* Once, unless a busy machine ran a node so late. */
    ck_assert_int_le((int64_t)counts().refreshes,
                     1 + (local_now_ms() - began_ms) / LOOK_MS);
    ck_assert_int_eq((int)counts().moved, 0);
    end();
}
END_TEST

/* ---- MOVED ---- */

/* DISCOVER-1 */
START_TEST(moved_is_followed_and_learned)
{
    say("-MOVED 5 127.0.0.1:%d\r\n", NULL);
    begin(says, all_of_0, 1);
    ck_assert_str_eq(ask(5), "node 1");
    ck_assert_str_eq(ask(5), "node 1");
    ck_assert_int_eq(nodes_count(nodes, 0, "GET a"), 1);
    ck_assert_int_eq((int)counts().moved, 1);
    end();
}
END_TEST

static bool has_refreshed_twice(void)
{
    return counts().refreshes == 2;
}

/* C6. Once more at the end, and in between as often as may be: a busy
 * machine takes longer for a thousand. Maps that come meanwhile deny what MOVED said:
 * an answer behind them is not believed (ROUTE-5). */
START_TEST(a_thousand_moved_replies_cause_two_rounds_at_most)
{
    static struct ask many[MANY];
    int64_t began_ms;
    int most, followed = 0;

    say("-MOVED 5 127.0.0.1:%d\r\n", NULL);
    begin(says, all_of_0, 1);
    ck_assert_str_eq(ask(5), "node 1");
    drive_until(has_refreshed_twice); /* asked for again */
    drive_for(500);
    ck_assert_int_eq((int)counts().refreshes, 2);
    nodes_map(nodes, all_of_0, 1);
    began_ms = local_now_ms();
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(start(&many[i], 1 + i, LONG_MS), HF_OK);
    for (int i = 0; i < MANY; i++)
        if (strcmp(answer_of(&many[i]), "node 1") != 0)
            ck_assert_str_eq(many[i].text, "(unknown) ");
        else
            followed++;
    ck_assert_int_gt(followed, 0); /* how many depends on the machine */
    most = 4 + (int)((local_now_ms() - began_ms) / REFRESH_MIN_MS);
    drive_for(500);
    ck_assert_int_ge((int)counts().moved, MANY);
    ck_assert_int_le((int)counts().refreshes, most);
    end();
}
END_TEST

static bool circle(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (!is_get(a))
        return false;
    (void)sprintf(reply, "-MOVED 5 127.0.0.1:%d\r\n",
                  nodes_port(nodes, 1 - a->node));
    return true;
}

/* C7: the reply is the caller's; with the address that it came from, it names
 * both. */
START_TEST(a_circle_of_moved_ends_after_five_hops)
{
    static struct ask a;
    char expected[64];

    begin(circle, all_of_0, 1);
    ck_assert_int_eq(start(&a, 5, LONG_MS), HF_OK);
    (void)sprintf(expected, "MOVED 5 127.0.0.1:%d", nodes_port(nodes, 0));
    ck_assert_str_eq(answer_of(&a), expected);
    (void)sprintf(expected, "127.0.0.1:%d", nodes_port(nodes, 1));
    ck_assert_str_eq(a.address, expected);
    ck_assert_int_eq(nodes_count(nodes, -1, "GET a"), HOPS + 1);
    end();
}
END_TEST

/* RESP-CONFORMANCE 5: an empty host is the one that was asked. */
START_TEST(moved_without_a_host_is_to_the_same_host)
{
    say("-MOVED 5 :%d\r\n", NULL);
    begin(says, all_of_0, 1);
    ck_assert_str_eq(ask(5), "node 1");
    end();
}
END_TEST

static bool says_question_mark(void *ctx, const struct nodes_ask *a,
                               char *reply)
{
    if (!is_get(a) || a->node != 0)
        return false;
    (void)ctx;
    (void)sprintf(reply, "-MOVED 5 ?:%d\r\n", nodes_port(nodes, 1));
    return true;
}

/* The map is asked for instead; by then it is another. */
START_TEST(moved_to_an_unknown_host_begins_a_round)
{
    static struct ask a;

    begin(says_question_mark, all_of_0, 1);
    ck_assert_int_eq(start(&a, 5, LONG_MS), HF_OK);
    drive_until_received(0, "GET a");
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    ck_assert_str_eq(answer_of(&a), "node 1");
    end();
}
END_TEST

START_TEST(moved_to_an_ipv6_host_is_followed_there)
{
    const char *text;

    say("-MOVED 5 ::1:%d\r\n", NULL);
    begin(says, all_of_0, 1);
    text = ask_for(5, SHORT_MS); /* nobody listens there */
    ck_assert_msg(strncmp(text, "(unsent)", 8) == 0 && strstr(text, "[::1]"),
                  "%s", text);
    end();
}
END_TEST

static const char *const no_redirections[] = {
    "-MOVED 16384 127.0.0.1:%d\r\n", "-MOVED 5 127.0.0.1:0\r\n",
    "-MOVED 5 [::1]:%d\r\n", "-MOVED 5\r\n", "-ASKING 5 127.0.0.1:%d\r\n",
    "-TRYAGAIN it is on the move\r\n", "-CLUSTERDOWN Hash slot not served\r\n",
};

START_TEST(other_errors_are_the_callers)
{
    say(no_redirections[_i], NULL);
    begin(says, all_of_0, 1);
    ck_assert_int_eq(strncmp(ask(5), no_redirections[_i] + 1, 4), 0);
    ck_assert_int_eq(nodes_count(nodes, -1, "GET a"), 1);
    end();
}
END_TEST

/* ---- ASK ---- */

/* C8. */
START_TEST(ask_is_followed_after_asking_and_not_stored)
{
    begin(importing, all_of_0, 1);
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(ask(5), "node 1");
    ck_assert_int_eq(nodes_count(nodes, 0, "GET a"), 3);
    ck_assert_int_eq((int)counts().asked, 3);
    ck_assert_int_eq((int)counts().moved, 0);
    end();
}
END_TEST

static bool loading(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (!request_matches(a->request, a->node == 0 ? "EVALSHA ..." : "EVAL ..."))
        return false;
    (void)sprintf(reply, a->node == 0 ? "-ASK 5 127.0.0.1:%d\r\n"
                                      : "-LOADING patience\r\n",
                  nodes_port(nodes, 1));
    return true;
}

static hf_status call_status;
static bool call_ended;

static void on_called(struct hf_call *call, hf_status status,
                      struct hf_resp_value reply)
{
    (void)call;
    (void)reply;
    call_status = status;
    call_ended = true;
}

/* Whoever asked for patience is swept before the next try, which is too late. */
START_TEST(a_call_outlives_the_server_that_refused_temporarily)
{
    static struct hf_resp_arg argv[CALL_HEAD_ARGS + 3];
    static struct hf_call call;
    static struct hf_error error;
    struct hf_server *server;

    begin(loading, all_of_0, 1);
    argv[CALL_HEAD_ARGS] = argv[CALL_HEAD_ARGS + 1] = argv[CALL_HEAD_ARGS + 2] =
        (struct hf_resp_arg){"a", 1};
    call = (struct hf_call){.script = &hf_script_inspect, .argv = argv,
        .argc = CALL_HEAD_ARGS + 3, .keys_count = 1, .slot = 5, .expected_echo = "a",
        .expected_echo_len = 1, .lock_name = "a", .lock_name_len = 1, .error = &error,
        .done = on_called};
    lock();
    ck_assert_int_eq(hf_call_start(&call, loop, router,
                                   hf_loop_now(loop) + LONG_MS), HF_OK);
    unlock();
    while (!call.retry_timer.link)
        hf_loop_dispatch(loop, 1);
    lock();
    hf_loop_quiesce(loop);
    server = hf_server_find(router, "127.0.0.1",
                            (uint16_t)nodes_port(nodes, 1), false);
    ck_assert_ptr_nonnull(server);
    hf_server_free(server); /* as on_sweep_timer does */
    call.deadline_ms = hf_loop_now(loop);
    hf_loop_resume(loop);
    unlock();
    while (!call_ended)
        hf_loop_dispatch(loop, 5);
    ck_assert_int_eq(call_status, HF_E_SERVER);
    end();
}
END_TEST

static bool importing_and_busy(void *ctx, const struct nodes_ask *a,
                               char *reply)
{
    (void)ctx;
    if (request_matches(a->request, "ASKING"))
        (void)strcpy(reply, "-BUSY a script is running\r\n");
    else if (is_get(a))
        (void)sprintf(reply, "-%s 5 127.0.0.1:%d\r\n",
                      a->node == 0 ? "ASK" : "MOVED",
                      nodes_port(nodes, a->node == 0));
    else
        return false;
    return true;
}

/* What comes behind it is sent back, and would go to and fro. */
START_TEST(a_temporary_refusal_of_asking_does_not_redirect_back)
{
    static struct ask a;

    begin(importing_and_busy, all_of_0, 1);
    ck_assert_int_eq(start(&a, 5, LONG_MS), HF_OK);
    ck_assert_ptr_nonnull(strstr(answer_of(&a), "MOVED 5"));
    ck_must(a.command.is_error_temporary, "who asked knows that it will pass");
    ck_assert_uint_eq(counts().asked, 1);
    ck_assert_uint_eq(counts().moved, 0);
    end();
}
END_TEST

static bool is_itself(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (!is_get(a))
        return false;
    (void)sprintf(reply, "-MOVED 5 127.0.0.1:%d\r\n", nodes_port(nodes, a->node));
    return true;
}

/* It is not followed, and its owner knows that a retry may help. */
START_TEST(a_node_that_redirects_to_itself_is_retried)
{
    static struct ask a;

    begin(is_itself, all_of_0, 1);
    ck_assert_int_eq(start(&a, 5, LONG_MS), HF_OK);
    ck_assert_ptr_nonnull(strstr(answer_of(&a), "MOVED 5"));
    ck_must(a.command.is_error_temporary, "who asked knows that it will pass");
    ck_must(a.command.was_redirected_to_itself, "and why");
    ck_assert_uint_eq(counts().moved, 0);
    ck_assert_int_eq(nodes_count(nodes, 0, "GET a"), 1);
    end();
}
END_TEST

/* ROUTE-4 */
START_TEST(asking_precedes_its_command_for_any_number)
{
    static struct ask many[64];

    begin(importing, all_of_0, 1);
    for (int i = 0; i < 64; i++)
        ck_assert_int_eq(start(&many[i], 5, LONG_MS), HF_OK);
    for (int i = 0; i < 64; i++)
        ck_assert_str_eq(answer_of(&many[i]), "node 1");
    ck_assert_int_eq(nodes_count(nodes, 1, "ASKING"), 64);
    ck_assert_int_eq(nodes_count(nodes, 1, "GET a"), 64);
    end();
}
END_TEST

static bool has_been_asked(void)
{
    return counts().asked > 0;
}

/* While node 1 is not there the pair waits in its link. What was given up leaves
 * nothing behind, which would make of the next command an asking one. */
static void must_leave_no_asking(bool is_cancelled)
{
    static struct ask a;

    begin(importing, all_of_0, 1);
    nodes_down(nodes, 1, true);
    ck_assert_int_eq(start(&a, 5, is_cancelled ? LONG_MS : SHORT_MS), HF_OK);
    while (!has_been_asked())
        hf_loop_dispatch(loop, 5);
    if (is_cancelled)
        ck_assert_int_eq(cancel(&a), HF_UNSENT);
    else
        ck_assert_int_eq(strncmp(answer_of(&a), "(unsent)", 8), 0);
    nodes_down(nodes, 1, false);
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    said_by[0] = NULL;
    drive_for(100);
    ck_assert_int_eq(nodes_count(nodes, 1, "ASKING"), 0);
    ck_assert_int_eq(nodes_count(nodes, 1, "GET a"), 0);
    end();
}

/* ROUTE-4 */
START_TEST(a_cancelled_command_leaves_no_asking)
{
    must_leave_no_asking(true);
}
END_TEST

START_TEST(a_command_at_its_deadline_leaves_no_asking)
{
    must_leave_no_asking(false);
}
END_TEST

static TCase *case_ways(void)
{
    TCase *c = tcase_create("ways");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, a_command_goes_to_the_node_of_its_slot);
    return c;
}

static TCase *case_moved(void)
{
    TCase *c = tcase_create("MOVED");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, moved_is_followed_and_learned);
    tcase_add_test(c, a_thousand_moved_replies_cause_two_rounds_at_most);
    tcase_add_test(c, a_circle_of_moved_ends_after_five_hops);
    tcase_add_test(c, moved_without_a_host_is_to_the_same_host);
    tcase_add_test(c, moved_to_an_unknown_host_begins_a_round);
    tcase_add_test(c, moved_to_an_ipv6_host_is_followed_there);
    tcase_add_loop_test(c, other_errors_are_the_callers, 0,
                        (int)(sizeof no_redirections /
                              sizeof *no_redirections));
    return c;
}

static TCase *case_ask(void)
{
    TCase *c = tcase_create("ASK");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, ask_is_followed_after_asking_and_not_stored);
    tcase_add_test(c, a_call_outlives_the_server_that_refused_temporarily);
    tcase_add_test(c, a_temporary_refusal_of_asking_does_not_redirect_back);
    tcase_add_test(c, a_node_that_redirects_to_itself_is_retried);
    tcase_add_test(c, asking_precedes_its_command_for_any_number);
    tcase_add_test(c, a_cancelled_command_leaves_no_asking);
    tcase_add_test(c, a_command_at_its_deadline_leaves_no_asking);
    return c;
}

int main(void)
{
    Suite *s = suite_create("router");

    suite_add_tcase(s, case_ways());
    suite_add_tcase(s, case_moved());
    suite_add_tcase(s, case_ask());
    return suite_run(s);
}
