/* The router in a cluster, against scripted nodes: redirections, maps that change,
 * seeds of all kinds. Each node answers every command with its name, so that the
 * reply says where it went.
 * Sources: CLUSTER; RESP-CONFORMANCE 5; faults.md 3.1. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lock/call.h"
#include "net/net.h"
#include "net/route/server.h"
#include "tests/support/local.h"
#include "tests/support/memory.h"
#include "tests/support/nodes.h"
#include "tests/support/promise.h"
#include "tests/support/suite.h"

#define LONG_MS 30000
#define SHORT_MS 1000           /* a deadline that is meant to pass */
#define QUICK_MS 2000           /* "at once", on a machine with much to do */
#define MANY 1000
#define HOPS 5

static struct memory memory;
static struct hf_loop *loop;
static struct hf_router *router;
static struct hf_seeds seeds;
static struct hf_router_options options;
static struct nodes *nodes;

static const struct nodes_range all_of_0[] = {{0, 16383, 0}};
static const struct nodes_range all_of_1[] = {{0, 16383, 1}};
static const struct nodes_range halves[] = {{0, 8191, 0}, {8192, 16383, 1}};

/* ---- a router ---- */

static void add_seed(int port)
{
    (void)strcpy(seeds.list[seeds.count].host, "127.0.0.1");
    seeds.list[seeds.count++].port = (uint16_t)port;
}

static void prepare(nodes_answer *answer)
{
    nodes = nodes_start(4, answer, NULL);
    memset(&seeds, 0, sizeof seeds);
    seeds.topology = HF_CLUSTER;
    options = (struct hf_router_options){.seeds = &seeds};
    hf_link_options_init(&options.link);
    options.link.connect_timeout_ms = LONG_MS;
    options.link.silence_ms = LONG_MS;
    options.link.backoff_min_ms = 1;
    options.link.backoff_max_ms = 20;
    memory_init(&memory);
}

static hf_status open_router(struct hf_error *err)
{
    struct hf_loop_options of_loop = {.mem = &memory.hook};

    ck_assert_int_eq(hf_loop_new(&loop, &of_loop), HF_OK);
    return hf_router_new(&router, loop, &options, err);
}

/* To nodes that say `ranges`; the first is the seed. */
static void begin(nodes_answer *answer, const struct nodes_range *ranges,
                  int count)
{
    struct hf_error err;

    prepare(answer);
    nodes_map(nodes, ranges, count);
    add_seed(nodes_port(nodes, 0));
    ck_assert_int_eq(open_router(&err), HF_OK);
}

static void free_router(void)
{
    hf_loop_lock(loop);
    hf_loop_quiesce(loop);
    hf_router_free(router);
    hf_loop_resume(loop);
    hf_loop_unlock(loop);
    hf_loop_free(loop);
}

static void end(void)
{
    free_router();
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    nodes_stop(nodes);
}

static struct hf_router_counts counts(void)
{
    struct hf_router_counts now;

    hf_loop_lock(loop);
    hf_router_counts(router, &now);
    hf_loop_unlock(loop);
    return now;
}

/* ---- commands ---- */

struct ask {
    struct hf_command command;
    struct hf_resp_arg argv[2];
    struct hf_waiter waiter;
    int ended;
    char text[HF_ERROR_TEXT_MAX + 16];
    char address[64];
};

static void on_done(struct hf_command *c, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    static const char *const outcomes[] = {
        [HF_UNSENT] = "(unsent)", [HF_UNKNOWN] = "(unknown)"};
    struct ask *a = HF_OWNER_OF(c, struct ask, command);
    const char *ptr = "";
    size_t len = 0;

    must(a->ended++ == 0, "a command ends once");
    (void)snprintf(a->address, sizeof a->address, "%s",
                   hf_command_address(c));
    if (outcome == HF_ANSWERED) {
        (void)hf_resp_bytes(reply, &ptr, &len);
        (void)snprintf(a->text, sizeof a->text, "%.*s", (int)len, ptr);
    } else {
        (void)snprintf(a->text, sizeof a->text, "%s %s", outcomes[outcome],
                       hf_command_error(c)->text);
    }
    hf_waiter_wake(&a->waiter);
}

static bool asks_once;          /* of the commands to come */

static hf_status start(struct ask *a, int slot, int timeout_ms)
{
    hf_status rc;

    memset(a, 0, sizeof *a);
    a->command.is_once = asks_once;
    a->argv[0] = (struct hf_resp_arg){"GET", 3};
    a->argv[1] = (struct hf_resp_arg){"a", 1};
    a->command.argv = a->argv;
    a->command.argc = 2;
    a->command.slot = (uint16_t)slot;
    a->command.done = on_done;
    hf_loop_lock(loop);
    hf_waiter_init(&a->waiter, loop);
    a->command.deadline_ms = hf_loop_now(loop) + timeout_ms;
    rc = hf_router_send(router, &a->command);
    hf_loop_unlock(loop);
    return rc;
}

static const char *answer_of(struct ask *a)
{
    hf_loop_lock(loop);
    hf_loop_wait(&a->waiter);
    return a->text;
}

static const char *ask_for(int slot, int timeout_ms)
{
    static struct ask a;

    must(start(&a, slot, timeout_ms) == HF_OK, "a command is taken");
    return answer_of(&a);
}

static const char *ask(int slot)
{
    return ask_for(slot, LONG_MS);
}

/* What had left when its node went is asked again. */
static const char *ask_again(int slot)
{
    const char *text = ask(slot);

    return strncmp(text, "(unknown)", 9) == 0 ? ask(slot) : text;
}

static enum hf_outcome cancel(struct ask *a)
{
    enum hf_outcome outcome;

    hf_loop_lock(loop);
    outcome = hf_router_cancel(&a->command);
    hf_loop_unlock(loop);
    return outcome;
}

static void drive(int ms)
{
    int64_t end_ms = local_now_ms() + ms;

    while (local_now_ms() < end_ms)
        hf_loop_dispatch(loop, 5);
}

static void drive_until_received(int node, const char *text)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (nodes_count(nodes, node, text) == 0) {
        must(local_now_ms() < end_ms, "what is awaited comes");
        hf_loop_dispatch(loop, 5);
    }
}

/* ---- where a command goes ---- */

/* So long without an answer, and others are asked for the way (discover.c). */
#define LOOK_MS 250

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

static bool is_get(const struct nodes_ask *a)
{
    return request_matches(a->request, "GET ...");
}

/* What nodes answer to a GET; "%d" is node 1's port. */
static const char *said_by[4];

static bool says(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (!is_get(a) || !said_by[a->node] || a->is_asking)
        return false;
    (void)sprintf(reply, said_by[a->node], nodes_port(nodes, 1));
    return true;
}

static void say(const char *of_0, const char *of_1)
{
    memset(said_by, 0, sizeof said_by);
    said_by[0] = of_0;
    said_by[1] = of_1;
}

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

/* C6. */
START_TEST(a_thousand_moved_ask_for_the_way_twice_at_most)
{
    static struct ask many[MANY];

    say("-MOVED 5 127.0.0.1:%d\r\n", NULL);
    begin(says, all_of_0, 1);
    ck_assert_str_eq(ask(5), "node 1");
    drive(500);
    ck_assert_int_eq((int)counts().refreshes, 2); /* asked for again */
    nodes_map(nodes, all_of_0, 1);
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(start(&many[i], 1 + i, LONG_MS), HF_OK);
    for (int i = 0; i < MANY; i++)
        ck_assert_str_eq(answer_of(&many[i]), "node 1");
    drive(500);
    ck_assert_int_ge((int)counts().moved, MANY);
    ck_assert_int_le((int)counts().refreshes, 4);
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
START_TEST(moved_to_a_host_that_is_not_known_asks_for_the_way)
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

/* Node 1 has the key, but not the slot. */
static bool importing(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (!is_get(a) || (a->node == 1 && a->is_asking))
        return false;
    (void)sprintf(reply,
                  a->node == 0 ? "-ASK 5 127.0.0.1:%d\r\n"
                               : "-ERR a command without ASKING\r\n",
                  nodes_port(nodes, 1));
    return true;
}

/* C8. */
START_TEST(ask_is_followed_behind_asking_and_not_learned)
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
    if (!request_matches(a->request, "EVALSHA ..."))
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
START_TEST(a_call_outlives_the_server_that_asked_for_patience)
{
    static struct hf_resp_arg argv[CALL_HEAD + 3];
    static struct hf_call call;
    static struct hf_error error;
    struct hf_server *server;

    begin(loading, all_of_0, 1);
    argv[CALL_HEAD] = argv[CALL_HEAD + 1] = argv[CALL_HEAD + 2] =
        (struct hf_resp_arg){"a", 1};
    call = (struct hf_call){.script = &hf_script_inspect, .argv = argv,
        .argc = CALL_HEAD + 3, .keys = 1, .slot = 5, .echo = "a",
        .echo_len = 1, .subject = "a", .subject_len = 1, .error = &error,
        .done = on_called};
    hf_loop_lock(loop);
    ck_assert_int_eq(hf_call_start(&call, loop, router,
                                   hf_loop_now(loop) + LONG_MS), HF_OK);
    hf_loop_unlock(loop);
    while (!call.timer.link)
        hf_loop_dispatch(loop, 1);
    hf_loop_lock(loop);
    hf_loop_quiesce(loop);
    server = hf_server_find(router, "127.0.0.1",
                            (uint16_t)nodes_port(nodes, 1), false);
    ck_assert_ptr_nonnull(server);
    hf_server_free(server); /* as on_sweep does */
    call.deadline_ms = hf_loop_now(loop);
    hf_loop_resume(loop);
    hf_loop_unlock(loop);
    while (!call_ended)
        hf_loop_dispatch(loop, 5);
    ck_assert_int_eq(call_status, HF_E_SERVER);
    end();
}
END_TEST

START_TEST(asking_and_its_command_stand_side_by_side_for_any_number)
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
    drive(100);
    ck_assert_int_eq(nodes_count(nodes, 1, "ASKING"), 0);
    ck_assert_int_eq(nodes_count(nodes, 1, "GET a"), 0);
    end();
}

START_TEST(a_cancelled_command_leaves_no_asking_behind)
{
    must_leave_no_asking(true);
}
END_TEST

START_TEST(a_command_at_its_deadline_leaves_no_asking_behind)
{
    must_leave_no_asking(false);
}
END_TEST

/* ---- maps ---- */

/* The others know better than node 0, which is behind the times. */
static bool late(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (a->node != 0 || !request_matches(a->request, "CLUSTER ..."))
        return false;
    if (request_matches(a->request, "CLUSTER INFO"))
        (void)strcpy(reply, "$63\r\ncluster_state:ok\r\n"
                            "cluster_current_epoch:1\r\ncluster_my_epoch:1\r\n"
                            "\r\n");
    else
        (void)sprintf(reply,
                      "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n"
                      ":%d\r\n$6\r\nnode-0\r\n",
                      nodes_port(nodes, 0));
    return true;
}

/* MAP-2: node 0, asked while node 1 is lost, does not undo what that had said, for
 * node 2 says the same. */
START_TEST(a_map_that_is_older_than_ours_is_not_taken)
{
    static struct ask a;

    prepare(late);
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 7);
    add_seed(nodes_port(nodes, 1));
    add_seed(nodes_port(nodes, 0));
    add_seed(nodes_port(nodes, 2));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(5), "node 1");
    nodes_down(nodes, 1, true);
    (void)ask_for(5, SHORT_MS); /* perhaps it had left */
    ck_assert_int_eq(start(&a, 5, LONG_MS), HF_OK);
    drive_until_received(0, "CLUSTER SLOTS");
    drive_until_received(2, "CLUSTER SLOTS");
    drive(50);
    nodes_down(nodes, 1, false);
    ck_assert_str_eq(answer_of(&a), "node 1");
    ck_assert_int_eq(nodes_count(nodes, 0, "GET a"), 0);
    end();
}
END_TEST

START_TEST(a_server_that_has_left_the_map_is_freed)
{
    begin(NULL, halves, 2);
    ck_assert_str_eq(ask(0), "node 0");
    ck_assert_str_eq(ask(9000), "node 1");
    ck_assert_int_eq((int)counts().servers, 2);
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    nodes_down(nodes, 0, true);
    ck_assert_str_eq(ask_again(0), "node 1");
    drive(1500);
    ck_assert_int_eq((int)counts().servers, 1);
    nodes_down(nodes, 0, false);
    nodes_map(nodes, all_of_0, 1); /* and is made again */
    nodes_epoch(nodes, 3);
    nodes_down(nodes, 1, true);
    ck_assert_str_eq(ask_again(0), "node 0");
    end();
}
END_TEST

/* The only seed is gone, and the only one that we ever spoke to: the rest of its
 * map is asked, too. */
START_TEST(whoever_is_left_of_a_map_is_asked_for_the_way)
{
    begin(NULL, halves, 2);
    ck_assert_str_eq(ask(0), "node 0");
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    nodes_down(nodes, 0, true);
    ck_assert_str_eq(ask_again(0), "node 1");
    end();
}
END_TEST

static bool silent_0(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    reply[0] = '\0';
    return a->node == 0 && is_get(a);
}

/* DISCOVER-6: it is up, and says nothing. ROUTE-3: nor is its answer awaited any more. */
START_TEST(a_silent_server_is_a_reason_to_ask_others)
{
    static struct ask a;
    int64_t began_ms;

    begin(silent_0, (struct nodes_range[]){{0, 99, 0}, {100, 199, 1}}, 2);
    ck_assert_int_eq(start(&a, 0, LONG_MS), HF_OK);
    drive_until_received(0, "GET a");
    began_ms = local_now_ms();
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    ck_assert_int_eq(strncmp(answer_of(&a), "(unknown)", 9), 0);
    ck_assert_int_lt(local_now_ms() - began_ms, QUICK_MS);
    ck_assert_str_eq(ask(0), "node 1");
    end();
}
END_TEST

static void drive_until_received_times(int node, const char *text, int times)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (nodes_count(nodes, node, text) < times) {
        must(local_now_ms() < end_ms, "what is awaited comes");
        hf_loop_dispatch(loop, 5);
    }
}

/* Node 0 stops, and the others tell an older map, which may not be adopted while
 * node 0 may have a better one. */
static void begin_stopped(struct ask *a, int connect_timeout_ms)
{
    prepare(NULL);
    options.link.connect_timeout_ms = connect_timeout_ms;
    nodes_map(nodes, halves, 2);
    nodes_epoch(nodes, 5);
    add_seed(nodes_port(nodes, 0));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(0), "node 0");
    nodes_pause(nodes, 0, true);
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 4);
    ck_assert_int_eq(start(a, 0, 3 * LONG_MS), HF_OK);
}

/* ROUND-5. The silent server's own deadline is far away. */
START_TEST(others_are_asked_again_while_a_server_is_silent)
{
    static struct ask a;

    begin_stopped(&a, 3 * LONG_MS);
    drive_until_received_times(1, "CLUSTER SLOTS", 3);
    ck_assert_int_eq(nodes_count(nodes, 1, "GET a"), 0);
    nodes_epoch(nodes, 6);
    ck_assert_int_eq(strncmp(answer_of(&a), "(unknown)", 9), 0); /* ROUTE-3 */
    ck_assert_str_eq(ask(0), "node 1");
    end();
}
END_TEST

/* ROUND-3. */
START_TEST(a_worse_map_is_adopted_when_a_server_is_silent_for_long)
{
    static struct ask a;

    begin_stopped(&a, SHORT_MS);
    ck_assert_int_eq(strncmp(answer_of(&a), "(unknown)", 9), 0);
    ck_assert_str_eq(ask(0), "node 1");
    end();
}
END_TEST

static void drive_until_sent(const struct ask *a)
{
    int64_t end_ms = local_now_ms() + LONG_MS;
    bool is_sent = false;

    while (!is_sent) {
        must(local_now_ms() < end_ms, "a command is sent");
        hf_loop_dispatch(loop, 5);
        hf_loop_lock(loop);
        is_sent = hf_command_is_sent(&a->command);
        hf_loop_unlock(loop);
    }
}

static void drive_until_maps(uint64_t count)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (counts().maps < count) {
        must(local_now_ms() < end_ms, "a map is adopted");
        hf_loop_dispatch(loop, 5);
    }
}

static const struct nodes_range most_of_0[] = {{0, 99, 0}, {100, 16383, 1}};
static const struct nodes_range least_of_0[] = {{0, 9, 0}, {10, 16383, 1}};

/* ROUTE-5. The silent server is still the master of other slots, so that its answer is
 * waited for. */
START_TEST(an_answer_of_a_former_master_is_an_unknown_outcome)
{
    static struct ask a, of_its_own;

    begin(NULL, most_of_0, 2);
    ck_assert_str_eq(ask(50), "node 0");
    nodes_pause(nodes, 0, true);
    ck_assert_int_eq(start(&a, 50, LONG_MS), HF_OK);
    ck_assert_int_eq(start(&of_its_own, 5, LONG_MS), HF_OK);
    drive_until_sent(&of_its_own);
    nodes_map(nodes, least_of_0, 2);
    nodes_epoch(nodes, 2);
    drive_until_maps(2);
    nodes_pause(nodes, 0, false);
    ck_assert_str_eq(answer_of(&of_its_own), "node 0");
    ck_assert_int_eq(strncmp(answer_of(&a), "(unknown)", 9), 0);
    ck_assert_int_eq(nodes_count(nodes, 0, "GET a"), 3);
    ck_assert_str_eq(ask(50), "node 1");
    end();
}
END_TEST

/* ROUTE-5. The map names the source of a slot that is on the move: not the node that
 * was named by ASK. */
START_TEST(an_answer_behind_asking_counts_whatever_the_map_says)
{
    static struct ask a;

    begin(importing, (struct nodes_range[]){{0, 9, 0}, {10, 99, 2}}, 2);
    nodes_pause(nodes, 1, true);
    ck_assert_int_eq(start(&a, 5, LONG_MS), HF_OK);
    drive_until_received(0, "GET a");
    nodes_map(nodes, (struct nodes_range[]){{0, 9, 0}, {10, 199, 2}}, 2);
    nodes_epoch(nodes, 2);
    drive_until_maps(2);
    nodes_pause(nodes, 1, false);
    ck_assert_str_eq(answer_of(&a), "node 1");
    end();
}
END_TEST

START_TEST(a_slot_that_nobody_serves_is_an_error_that_says_so)
{
    static const struct nodes_range part[] = {{0, 99, 0}};
    const char *text;

    begin(NULL, part, 1);
    text = ask_for(100, SHORT_MS);
    ck_assert_msg(strstr(text, "(unsent)") && strstr(text, "slot 100"), "%s",
                  text);
    ck_assert_str_eq(ask(99), "node 0");
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    ck_assert_str_eq(ask(100), "node 1"); /* found without a MOVED */
    end();
}
END_TEST

/* ---- subscriptions on their way ---- */

#define CHANGES_MAX 16

/* What the owner of a subscription is told: '+' is live, '-' is not. */
struct listener {
    struct hf_subscription subscription;
    char changes[CHANGES_MAX];
    int count;
};

static void on_change(struct hf_subscription *s, bool is_live)
{
    struct listener *l = HF_OWNER_OF(s, struct listener, subscription);

    must(l->count < CHANGES_MAX - 1, "changes come to an end");
    l->changes[l->count++] = is_live ? '+' : '-';
}

static void on_message(struct hf_subscription *s, const char *ptr, size_t len)
{
    (void)s;
    (void)ptr;
    (void)len;
}

static void listen_at(struct listener *l, int slot, bool is_sharded)
{
    hf_status rc;

    memset(l, 0, sizeof *l);
    l->subscription = (struct hf_subscription){.channel = "c",
                                               .channel_len = 1,
                                               .on_message = on_message,
                                               .on_change = on_change,
                                               .is_sharded = is_sharded};
    hf_loop_lock(loop);
    rc = hf_router_listen(router, &l->subscription, (uint16_t)slot);
    hf_loop_unlock(loop);
    ck_assert_int_eq(rc, HF_OK);
}

/* Until it is live for the n-th time. */
static void drive_until_live(const struct listener *l, int n)
{
    int64_t end_ms = local_now_ms() + LONG_MS;
    int lives = 0;

    while (lives < n) {
        must(local_now_ms() < end_ms, "a subscription becomes live");
        hf_loop_dispatch(loop, 5);
        lives = 0;
        for (int i = 0; i < l->count; i++)
            lives += l->changes[i] == '+';
    }
}

static void unlisten(struct listener *l)
{
    hf_loop_lock(loop);
    hf_router_unlisten(&l->subscription);
    hf_loop_unlock(loop);
}

/* A push that names the channel, for each of the four commands. */
static bool confirms(void *ctx, const struct nodes_ask *a, char *reply)
{
    static const char *const kinds[][2] = {{"SUBSCRIBE c", "subscribe"},
                                           {"SSUBSCRIBE c", "ssubscribe"},
                                           {"UNSUBSCRIBE c", "unsubscribe"},
                                           {"SUNSUBSCRIBE c", "sunsubscribe"}};

    for (int i = 0; i < 4; i++)
        if (request_matches(a->request, kinds[i][0])) {
            (void)sprintf(reply, ">3\r\n$%zu\r\n%s\r\n$1\r\nc\r\n:1\r\n",
                          strlen(kinds[i][1]), kinds[i][1]);
            return true;
        }
    return says(ctx, a, reply);
}

static const char *const subscribes[] = {"SUBSCRIBE c", "SSUBSCRIBE c"};

/* Both servers are there all the time: nobody but the map says that what comes
 * in between is heard by nobody. */
START_TEST(the_owner_of_a_subscription_is_told_that_it_has_moved)
{
    static struct listener l;

    say("-MOVED 5 127.0.0.1:%d\r\n", NULL);
    begin(confirms, all_of_0, 1);
    listen_at(&l, 5, _i == 1);
    drive_until_live(&l, 1);
    ck_assert_int_eq(nodes_count(nodes, 0, subscribes[_i]), 1);
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    ck_assert_str_eq(ask(5), "node 1"); /* and so the map is asked for */
    drive_until_live(&l, 2);
    ck_assert_int_eq(nodes_count(nodes, 1, subscribes[_i]), 1);
    ck_assert_str_eq(l.changes, "+-+");
    unlisten(&l);
    end();
}
END_TEST

/* By the first node, once, though the map goes on to name it. */
static bool refuses_once(void *ctx, const struct nodes_ask *a, char *reply)
{
    static int refusals;

    if (request_matches(a->request, "SSUBSCRIBE c") && refusals == 0) {
        (void)sprintf(reply, "-MOVED 5 127.0.0.1:%d\r\n",
                      nodes_port(nodes, 1));
        refusals++;
        return true;
    }
    return confirms(ctx, a, reply);
}

/* The slot came back before the map was asked for. */
START_TEST(a_subscription_that_was_refused_is_tried_again_at_the_same_node)
{
    static struct listener l;

    say(NULL, NULL);
    begin(refuses_once, all_of_0, 1);
    listen_at(&l, 5, true);
    drive_until_live(&l, 1);
    ck_assert_str_eq(l.changes, "-+");
    ck_assert_int_eq(nodes_count(nodes, 0, "SSUBSCRIBE c"), 2);
    ck_assert_int_eq(nodes_count(nodes, 1, "SSUBSCRIBE c"), 0);
    unlisten(&l);
    end();
}
END_TEST

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

START_TEST(a_good_seed_behind_a_bad_one_is_found)
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
    ck_assert_int_lt(local_now_ms() - began_ms, SHORT_MS + QUICK_MS);
    end();
}
END_TEST

/* What nobody can mend by waiting is not waited for. */
START_TEST(no_cluster_is_said_at_once)
{
    int64_t began_ms = local_now_ms();
    const char *text;

    begin_bad(NO_CLUSTER);
    add_seed(nodes_port(nodes, 3));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    text = ask(5);
    ck_assert_msg(strstr(text, "cluster support disabled"), "%s", text);
    ck_assert_int_lt(local_now_ms() - began_ms, QUICK_MS);
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

START_TEST(a_cluster_that_is_not_there_yet_is_waited_for)
{
    static struct ask a;

    begin(NULL, all_of_0, 1);
    nodes_down(nodes, 0, true);
    ck_assert_int_eq(start(&a, 5, LONG_MS), HF_OK);
    drive(SHORT_MS);
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
        drive(50);
}

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

static TCase *new_case(Suite *s, const char *name)
{
    TCase *c = tcase_create(name);

    tcase_set_timeout(c, 60);
    suite_add_tcase(s, c);
    return c;
}

static Suite *suite(void)
{
    Suite *s = suite_create("router");
    TCase *c = new_case(s, "ways");

    tcase_add_test(c, a_command_goes_to_the_node_of_its_slot);

    c = new_case(s, "MOVED");
    tcase_add_test(c, moved_is_followed_and_learned);
    tcase_add_test(c, a_thousand_moved_ask_for_the_way_twice_at_most);
    tcase_add_test(c, a_circle_of_moved_ends_after_five_hops);
    tcase_add_test(c, moved_without_a_host_is_to_the_same_host);
    tcase_add_test(c, moved_to_a_host_that_is_not_known_asks_for_the_way);
    tcase_add_test(c, moved_to_an_ipv6_host_is_followed_there);
    tcase_add_loop_test(c, other_errors_are_the_callers, 0,
                        (int)(sizeof no_redirections /
                              sizeof *no_redirections));

    c = new_case(s, "ASK");
    tcase_add_test(c, ask_is_followed_behind_asking_and_not_learned);
    tcase_add_test(c, asking_and_its_command_stand_side_by_side_for_any_number);
    tcase_add_test(c, a_cancelled_command_leaves_no_asking_behind);
    tcase_add_test(c, a_command_at_its_deadline_leaves_no_asking_behind);

    c = new_case(s, "maps");
    tcase_add_test(c, a_map_that_is_older_than_ours_is_not_taken);
    tcase_add_test(c, a_server_that_has_left_the_map_is_freed);
    tcase_add_test(c, a_call_outlives_the_server_that_asked_for_patience);
    tcase_add_test(c, whoever_is_left_of_a_map_is_asked_for_the_way);
    tcase_add_test(c, a_silent_server_is_a_reason_to_ask_others);
    tcase_add_test(c, others_are_asked_again_while_a_server_is_silent);
    tcase_add_test(c,
                   a_worse_map_is_adopted_when_a_server_is_silent_for_long);
    tcase_add_test(c, an_answer_of_a_former_master_is_an_unknown_outcome);
    tcase_add_test(c, an_answer_behind_asking_counts_whatever_the_map_says);
    tcase_add_test(c, a_slot_that_nobody_serves_is_an_error_that_says_so);

    c = new_case(s, "subscriptions");
    tcase_add_loop_test(
        c, the_owner_of_a_subscription_is_told_that_it_has_moved, 0, 2);
    tcase_add_test(
        c, a_subscription_that_was_refused_is_tried_again_at_the_same_node);

    c = new_case(s, "seeds");
    tcase_add_loop_test(c, a_good_seed_behind_a_bad_one_is_found, 0, BAD);
    tcase_add_loop_test(c, a_bad_seed_alone_is_an_error_by_the_deadline, 0,
                        BAD);
    tcase_add_test(c, no_cluster_is_said_at_once);
    tcase_add_test(c, a_command_that_is_sent_once_tries_every_seed);
    tcase_add_loop_test(c,
                        a_command_that_is_sent_once_ends_with_the_first_attempt,
                        0, 2);
    tcase_add_test(c, a_cluster_that_is_not_there_yet_is_waited_for);

    c = new_case(s, "ends");
    tcase_add_loop_test(c, a_command_can_be_cancelled_wherever_it_is, 0,
                        PLACES);
    tcase_add_loop_test(c, a_router_that_is_freed_ends_its_commands, 0,
                        PLACES);

    c = new_case(s, "memory");
    tcase_add_test(c, any_allocation_may_fail);
    return s;
}

int main(void)
{
    return suite_run(suite());
}
