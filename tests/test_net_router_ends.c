/* How a router in a cluster begins and ends: seeds of all kinds, commands that are
 * cancelled or freed wherever they are, memory that runs out. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lock/script/call.h"
#include "net/route/server.h"
#include "tests/support/lateness.h"
#include "tests/support/router_kit.h"
#include "tests/support/suite.h"

#define SHORT_MS 1000           /* a deadline that is meant to pass */

/* ---- seeds (C2) ---- */

static bool bad_node_3(void *ctx, const struct nodes_ask *a, char *reply)
{
    const char *text = ctx;

    if (a->node != 3 || !request_matches(a->request, "CLUSTER ..."))
        return false;
    (void)strcpy(reply, text);
    return true;
}

#define NO_CLUSTER "-ERR This instance has cluster support disabled\r\n"
static const char *const bad_answers[] = {
    "", NO_CLUSTER, "*0\r\n", ":1\r\n", "$-1\r\n", "+OK\r\n",
    "-LOADING Redis is loading the dataset in memory\r\n",
    "*1\r\n*3\r\n:5\r\n:4\r\n*0\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n",
};
#define BAD (int)(sizeof bad_answers / sizeof *bad_answers)

/* `bad` is what a seed answers to CLUSTER. */
static void begin_bad(const char *bad)
{
    prepare(NULL);
    nodes_stop(nodes);
    nodes = nodes_start(4, bad_node_3, (void *)bad);
    nodes_map(nodes, all_of_0, 1);
    add_seed(nodes_port(nodes, 3));
}

START_TEST(a_good_seed_after_a_bad_one_is_found)
{
    begin_bad(bad_answers[_i]);
    nodes_down(nodes, 2, true);
    add_seed(nodes_port(nodes, 2));
    add_seed(nodes_port(nodes, 0));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask_for(5, QUICK_MS), "node 0");
    end();
}
END_TEST

START_TEST(a_bad_seed_alone_is_an_error_by_the_deadline)
{
    int64_t began_ms = local_now_ms();
    const char *text;

    begin_bad(bad_answers[_i]);
    ck_assert_int_eq(open_router(NULL), HF_OK);
    text = ask_for(5, SHORT_MS);
    ck_assert_msg(strncmp(text, "(unsent) ", 9) == 0 &&
                      strstr(text, "127.0.0.1:") && strlen(text) > 28,
                  "%s", text);
    ck_assert_within(began_ms, SHORT_MS + QUICK_MS);
    end();
}
END_TEST

/* What nobody can mend by waiting is not waited for. */
START_TEST(no_cluster_is_reported_at_once)
{
    int64_t began_ms = local_now_ms();
    const char *text;

    begin_bad(NO_CLUSTER);
    add_seed(nodes_port(nodes, 3));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    text = ask(5);
    ck_assert_msg(strstr(text, "cluster support disabled; is this a single "
                               "server? Its URL is redis://"),
                  "%s", text);
    ck_assert_within(began_ms, QUICK_MS);
    end();
}
END_TEST

/* Node 3 names node 1, and is the seed behind one that is down. */
START_TEST(a_command_that_is_sent_once_tries_every_seed)
{
    prepare(NULL);
    nodes_map(nodes, all_of_1, 1);
    nodes_down(nodes, 2, true);
    add_seed(nodes_port(nodes, 2));
    add_seed(nodes_port(nodes, 3));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    asks_once = true;
    ck_assert_str_eq(ask(5), "node 1");
    end();
}
END_TEST

/* Row 0: nobody can say the way. Row 1: the master of the slot is down, and what is
 * sent to others is not concerned. */
START_TEST(a_command_that_is_sent_once_ends_with_the_first_attempt)
{
    const char *text;

    if (_i == 0) {
        begin(NULL, all_of_0, 1);
        add_seed(nodes_port(nodes, 2));
        nodes_down(nodes, 2, true);
        nodes_down(nodes, 0, true);
    } else {
        begin(NULL, halves, 2);
        nodes_down(nodes, 1, true);
    }
    asks_once = true;
    text = ask(HF_SLOTS - 1);
    ck_assert_msg(strncmp(text, "(unsent) 127.0.0.1:", 19) == 0 &&
                      strstr(text, "Connection refused"),
                  "%s", text);
    ck_assert(_i == 0 || strcmp(ask(0), "node 0") == 0);
    end();
}
END_TEST

START_TEST(a_cluster_that_starts_later_is_waited_for)
{
    static struct ask a;

    begin(NULL, all_of_0, 1);
    nodes_down(nodes, 0, true);
    ck_assert_int_eq(start(&a, 5, LONG_MS), HF_OK);
    drive_for(SHORT_MS);
    nodes_down(nodes, 0, false);
    ck_assert_str_eq(answer_of(&a), "node 0");
    end();
}
END_TEST

/* ---- ends ---- */

/* Where a command can be: the way is not known, a slot has nobody, a link is not
 * up, it is full, the answer is to come, ASKING stands in front. */
enum place { LOST, NOBODY, DIALING, FULL, SENT, ASKED, PLACES };

static bool silent(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    reply[0] = '\0';
    if (a->node == 0 && is_get(a) && said_by[0])
        (void)sprintf(reply, said_by[0], nodes_port(nodes, 1));
    return is_get(a);
}

static void put(struct ask *a, enum place place)
{
    static const struct nodes_range none[] = {{1, 1, 0}};

    say(place == ASKED ? "-ASK 5 127.0.0.1:%d\r\n" : NULL, NULL);
    prepare(silent);
    nodes_map(nodes, place == NOBODY ? none : halves, place == NOBODY ? 1 : 2);
    add_seed(nodes_port(nodes, 0));
    if (place == FULL)
        options.link.requests_max = 3;
    nodes_down(nodes, 0, place == LOST);
    nodes_down(nodes, 1, place == DIALING);
    ck_assert_int_eq(open_router(NULL), HF_OK);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(start(&a[i], place == DIALING ? 9000 : 5, LONG_MS),
                         HF_OK);
    if (place == SENT || place == FULL)
        drive_until_received(0, "GET a");
    else if (place == ASKED)
        drive_until_received(1, "GET a");
    else
        drive_for(50);
}

/* ROUTE-1: A command that was cancelled is in no list, and does not end. */
START_TEST(a_command_can_be_cancelled_wherever_it_is)
{
    static struct ask a[5];

    put(a, (enum place)_i);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(cancel(&a[i]), _i == SENT || _i == ASKED ||
                                                (_i == FULL && i < 3)
                                            ? HF_UNKNOWN
                                            : HF_UNSENT);
    end();
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(a[i].ended, 0);
}
END_TEST

START_TEST(a_router_that_is_freed_ends_its_commands)
{
    static struct ask a[5];

    put(a, (enum place)_i);
    free_router();
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(a[i].ended, 1);
        ck_assert_int_eq(strncmp(a[i].text, "(un", 3), 0);
    }
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    nodes_stop(nodes);
}
END_TEST

/* ---- memory ---- */

static int received_by(struct ask *a)
{
    hf_status rc = start(a, 5, QUICK_MS);

    return rc == HF_OK ? (answer_of(a), HF_OK) : rc;
}

/* Without memory a command fails, or is late; afterwards all is well. */
START_TEST(any_allocation_may_fail)
{
    static struct ask a;
    bool has_failed = true;

    for (uint64_t n = 1; has_failed; n++) {
        hf_status rc;

        say("-MOVED 5 127.0.0.1:%d\r\n", "-ASK 5 127.0.0.1:%d\r\n");
        begin(importing, all_of_0, 1);
        memory_fail_at(&memory, n);
        rc = received_by(&a);
        ck_assert_msg(rc == HF_OK || rc == HF_E_NOMEM, "%d", rc);
        has_failed = memory_has_failed(&memory);
        memory_fail_at(&memory, 0);
        ck_assert_int_eq(received_by(&a), HF_OK);
        ck_assert_str_eq(a.text, "node 1");
        end();
    }
}
END_TEST

static TCase *case_seeds(void)
{
    TCase *c = tcase_create("seeds");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, a_good_seed_after_a_bad_one_is_found, 0, BAD);
    tcase_add_loop_test(c, a_bad_seed_alone_is_an_error_by_the_deadline, 0,
                        BAD);
    tcase_add_test(c, no_cluster_is_reported_at_once);
    tcase_add_test(c, a_command_that_is_sent_once_tries_every_seed);
    tcase_add_loop_test(c,
                        a_command_that_is_sent_once_ends_with_the_first_attempt,
                        0, 2);
    tcase_add_test(c, a_cluster_that_starts_later_is_waited_for);
    return c;
}

static TCase *case_ends(void)
{
    TCase *c = tcase_create("ends");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, a_command_can_be_cancelled_wherever_it_is, 0,
                        PLACES);
    tcase_add_loop_test(c, a_router_that_is_freed_ends_its_commands, 0,
                        PLACES);
    return c;
}

static TCase *case_memory(void)
{
    TCase *c = tcase_create("memory");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, any_allocation_may_fail);
    return c;
}

int main(void)
{
    Suite *s = suite_create("router, ends");

    suite_add_tcase(s, case_seeds());
    suite_add_tcase(s, case_ends());
    suite_add_tcase(s, case_memory());
    return suite_run(s);
}
