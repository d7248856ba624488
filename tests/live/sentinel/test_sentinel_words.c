/* What real sentinels say, read (S2, S3, S9, S14): a master, two replicas and
 * three sentinels serve all tests. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/route/sentinel_words.h"
#include "tests/support/feed.h"
#include "tests/support/local.h"
#include "tests/support/reply.h"
#include "tests/support/sentinels.h"
#include "tests/support/suite.h"

#define REPLICAS 2
#define SENTINELS 3

static struct sentinels *sentinels;

static struct reply ask(struct server *s, int protocol, const char *command)
{
    return reply_from(s, protocol, command);
}

/* Not every sentinel has HELLO: that of Redis 6.0 does not. */
static int newest_protocol(void)
{
    struct reply reply = ask(sentinels_sentinel(sentinels, 0), 3, "HELLO 3");
    int newest = hf_resp_is_error(reply.value) ? 2 : 3;

    reply_fini(&reply);
    return newest;
}

static hf_status read_master(struct hf_endpoint *a, int sentinel, int protocol,
                             const char *command)
{
    struct reply reply =
        ask(sentinels_sentinel(sentinels, sentinel), protocol, command);
    struct hf_error error;
    hf_status rc = hf_sentinel_master_read(a, reply.value, &error);

    reply_fini(&reply);
    return rc;
}

START_TEST(every_sentinel_knows_the_master)
{
    int port = server_port(
        sentinels_server(sentinels, sentinels_master(sentinels)));
    struct hf_endpoint a;

    for (int i = 0; i < SENTINELS; i++)
        for (int protocol = 2; protocol <= newest_protocol(); protocol++) {
            ck_assert_int_eq(
                read_master(&a, i, protocol,
                            "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster"),
                HF_OK);
            ck_assert_str_eq(a.host, "127.0.0.1");
            ck_assert_int_eq(a.port, port);
        }
}
END_TEST

START_TEST(an_unknown_name_is_not_a_failure_of_the_sentinel)
{
    struct hf_endpoint a;

    for (int protocol = 2; protocol <= newest_protocol(); protocol++)
        ck_assert_int_eq(read_master(&a, 0, protocol,
                                     "SENTINEL GET-MASTER-ADDR-BY-NAME none"),
                         HF_E_INVAL);
}
END_TEST

START_TEST(a_server_is_no_sentinel)
{
    struct reply reply = ask(sentinels_server(sentinels, 0), 2,
                             "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
    struct hf_error error;
    struct hf_endpoint a;

    ck_assert_int_eq(hf_sentinel_master_read(&a, reply.value, &error),
                     HF_E_SERVER);
    reply_fini(&reply);
}
END_TEST

static bool has_port(const struct hf_sentinel_list *list, int port)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->sentinels[i].port == port)
            return true;
    return false;
}

START_TEST(every_sentinel_knows_all_others)
{
    struct hf_sentinel_list list;
    struct hf_error error;

    for (int i = 0; i < SENTINELS; i++)
        for (int protocol = 2; protocol <= newest_protocol(); protocol++) {
            struct reply reply =
                ask(sentinels_sentinel(sentinels, i), protocol,
                    "SENTINEL SENTINELS mymaster");

            ck_assert_int_eq(
                hf_sentinel_list_read(&list, reply.value, &error), HF_OK);
            reply_fini(&reply);
            ck_assert_uint_eq(list.count, SENTINELS - 1);
            for (int j = 0; j < SENTINELS; j++)
                ck_assert_int_eq(
                    has_port(&list, server_port(sentinels_sentinel(
                                        sentinels, j))),
                    i != j);
        }
}
END_TEST

static struct hf_role role_of(struct server *s, int protocol)
{
    struct reply reply = ask(s, protocol, "ROLE");
    struct hf_error error;
    struct hf_role role;

    ck_assert_int_eq(hf_role_read(&role, reply.value, &error), HF_OK);
    reply_fini(&reply);
    return role;
}

START_TEST(every_server_has_its_role)
{
    int master = sentinels_master(sentinels);
    int port = server_port(sentinels_server(sentinels, master));

    for (int protocol = 2; protocol <= newest_protocol(); protocol++) {
        for (int i = 0; i <= REPLICAS; i++) {
            struct hf_role role =
                role_of(sentinels_server(sentinels, i), protocol);

            ck_assert_int_eq(role.kind, i == master ? HF_ROLE_MASTER
                                                    : HF_ROLE_REPLICA);
            ck_assert_uint_eq(role.connected_replicas, i == master ? REPLICAS : 0);
            ck_assert_int_eq(role.has_data_of_master, i != master);
            if (i != master)
                ck_assert_int_eq(role.master.port, port);
        }
        ck_assert_int_eq(
            role_of(sentinels_sentinel(sentinels, 0), protocol).kind,
            HF_ROLE_SENTINEL);
    }
}
END_TEST

/* The message behind "message +switch-master ". */
static void must_tell(const char *event, int old_port, int new_port)
{
    struct hf_text message = {event + strlen("message +switch-master "), 0};
    struct hf_switch_master s;

    message.len = strlen(message.ptr);
    ck_assert_msg(hf_switch_master_read(&s, message), "%s", event);
    ck_assert(hf_text_is(s.master_name, SENTINELS_NAME));
    ck_assert_int_eq(s.old_master.port, old_port);
    ck_assert_int_eq(s.new_master.port, new_port);
}

START_TEST(a_master_that_changes_is_reported)
{
    int old = sentinels_master(sentinels);
    struct feed *feed = feed_open(sentinels_sentinel(sentinels, 1),
                                  "SUBSCRIBE +switch-master");
    int new = sentinels_failover(sentinels);

    ck_assert_int_ne(old, new);
    must_tell(feed_await(feed, 10000, "+switch-master")->text,
              server_port(sentinels_server(sentinels, old)),
              server_port(sentinels_server(sentinels, new)));
    feed_close(feed);
}
END_TEST

START_TEST(a_dead_master_is_followed_by_a_replica)
{
    int old = sentinels_master(sentinels), new = old;
    int64_t deadline_ms = local_now_ms() + SENTINELS_PATIENCE_MS;

    server_kill(sentinels_server(sentinels, old));
    while ((new = sentinels_view(sentinels, 0)) == old) {
        ck_assert_int_lt(local_now_ms(), deadline_ms);
        local_rest_us(10000);
    }
    sentinels_await_master(sentinels, new);
    ck_assert_int_eq(
        role_of(sentinels_server(sentinels, new), 2).kind, HF_ROLE_MASTER);
}
END_TEST

/* ---- */

static void start(void)
{
    sentinels = sentinels_start(&(struct sentinels_options){
        .replicas = REPLICAS, .sentinels = SENTINELS});
}

static void stop(void)
{
    sentinels_stop(sentinels);
}

static Suite *suite(void)
{
    Suite *s = suite_create("sentinel_words");
    TCase *c = tcase_create("words");

    tcase_add_unchecked_fixture(c, start, stop);
    tcase_set_timeout(c, 2 * SENTINELS_PATIENCE_MS / 1000);
    tcase_add_test(c, every_sentinel_knows_the_master);
    tcase_add_test(c, an_unknown_name_is_not_a_failure_of_the_sentinel);
    tcase_add_test(c, a_server_is_no_sentinel);
    tcase_add_test(c, every_sentinel_knows_all_others);
    tcase_add_test(c, every_server_has_its_role);
    tcase_add_test(c, a_master_that_changes_is_reported);
    tcase_add_test(c, a_dead_master_is_followed_by_a_replica);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    if (!server_is_installed()) {
        (void)puts("skipped: no server is installed");
        return 77;
    }
    return suite_run(suite());
}
