/* Which label is shown to a person who waits (cli/base/wait_report.h). The loop has no thread, so
 * replies arrive when the test lets them. */
#include "cli/base/wait_report.h"
#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

#define FIRST "6e3814a1-e847-452b-a982-45baf93a1df2"
#define SECOND "00000000-0000-0000-0000-000000000002"

static struct hf_loop *loop;
static struct hf_client *client;
static struct hf_lock *lock;
static struct cli_wait_report waiting;

static void begin(void)
{
    struct hf_loop_options of_loop = {.size = sizeof of_loop, .thread = false};
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    start_server();
    ck_assert_ok(hf_loop_new(&loop, &of_loop));
    client_options(&o, url, server_port(server));
    o.loop = loop;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    ck_assert_ok(hf_client_connect(client, NULL));
    cli_wait_report_init(&waiting, loop, true);
    (void)server_ask(server, "SET holdfast_label:" FIRST " first");
    (void)server_ask(server, "SET holdfast_label:" SECOND " second");
}

static void end(void)
{
    cli_wait_report_end(&waiting);
    hf_client_free(client);
    hf_loop_free(loop);
    stop_server();
}

static void wait_for(const char *uuid)
{
    struct hf_lock_info info = {.size = sizeof info, .is_locked = true, .ttl_ms = 1000};

    info.holder_len = info.holder_full_len =
        (size_t)snprintf(info.holder, sizeof info.holder, "%s:1", uuid);
    cli_wait_report_begin(&waiting, client, lock, &info);
}

static void await_replies(void)
{
    while (waiting.is_reading_label)
        hf_loop_dispatch(loop, -1);
}

START_TEST(each_holder_has_its_label)
{
    wait_for(FIRST);
    await_replies();
    ck_assert_str_eq(waiting.label, "first");
    wait_for(SECOND);
    await_replies();
    ck_assert_str_eq(waiting.label, "second");
}
END_TEST

/* The holder has changed when the label of the former one arrives. */
START_TEST(a_late_label_is_not_that_of_the_next_holder)
{
    wait_for(FIRST);
    wait_for(SECOND);
    await_replies();
    ck_assert_str_ne(waiting.label, "first");
    wait_for(SECOND);
    await_replies();
    ck_assert_str_eq(waiting.label, "second");
}
END_TEST

/* The call that waited has ended when it arrives, and the next one has begun. */
START_TEST(a_late_label_is_not_that_of_the_next_call)
{
    wait_for(FIRST);
    cli_wait_report_end(&waiting);
    ck_assert_str_eq(waiting.label, "");
    wait_for(SECOND);
    await_replies();
    ck_assert_str_ne(waiting.label, "first");
}
END_TEST

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "label", begin, end);

    tcase_add_test(c, each_holder_has_its_label);
    tcase_add_test(c, a_late_label_is_not_that_of_the_next_holder);
    tcase_add_test(c, a_late_label_is_not_that_of_the_next_call);
}

int main(void)
{
    return live_main("waiting", add_cases);
}
