/* What hf_client_dump says of a client: its locks, holds, waiters, connections, timers. */
#include "lock/dump.h"
#include "net/base/dump.h"
#include "net/base/mem.h"
#include "tests/live/test_lock.h"
#include "tests/support/memory.h"
#include "tests/support/one_server.h"

#define MANY 7000               /* locks with names that are shown in 150 bytes */
#define PLENTY 200              /* more allocations than a dump makes */

static char text[HF_DUMP_MAX + 1000];
static size_t text_len;
static struct hf_client *client;

/* The loop's lock is free: it may call the library. */
static void put_line(void *ctx, const char *line)
{
    ck_assert_ptr_eq(ctx, client);
    ck_assert_ptr_null(strchr(line, '\n'));
    (void)stats_of(client);
    text_len += (size_t)snprintf(text + text_len, sizeof text - text_len, "%s\n", line);
    ck_assert_uint_lt(text_len, sizeof text);
}

static hf_status dump(void)
{
    text_len = 0;
    text[0] = '\0';
    return hf_client_dump(client, put_line, client);
}

static void ck_assert_has(const char *part)
{
    ck_assert_ok(dump());
    ck_assert_msg(strstr(text, part), "\"%s\" is not in:\n%s", part, text);
}

static void await_text(const char *part)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    do {
        ck_assert_ok(dump());
        ck_assert_msg(local_now_ms() < deadline_ms, "\"%s\" is not in:\n%s", part, text);
    } while (!strstr(text, part));
}

static struct hf_lock *open_client(const char *name)
{
    client = client_timed(server_port(server), 30000, LONG_MS);
    return lock_of(client, name);
}

START_TEST(idle_client_shows_its_connection)
{
    (void)open_client(NAME);
    ck_assert_ok(hf_client_connect(client, NULL));
    ck_assert_has(hf_client_uuid(client));
    ck_assert_has(": locks 1, holds 0, operations 0 (");
    ck_assert_has(": ready, RESP3, ");
    ck_assert_has(", requests in flight 0, requests queued 0, ");
    ck_assert_has("watchdog timeout 30000 ms");
    ck_assert_has("lock 'order:42': plain lock, slot 0, holds 0");
    ck_assert_has("loop: timers ");
    hf_client_free(client);
}
END_TEST

START_TEST(hold_and_waiter_are_shown)
{
    struct hf_lock *lock = open_client("odd\nname");
    struct hf_acquire_options o = acquire_options(2);
    struct call waiter;
    char holder[100];

    acquire(lock, 1);
    call_acquire(&waiter, lock, &o);
    await_text("waits: awaits a release");
    ck_assert_has("lock 'odd\\x0aname': ");
    ck_assert_has("hold of owner 1 (");
    ck_assert_has("): held, count 1, safe until: in ");
    ck_assert_has("next renewal: in ");
    ck_assert_has("queue: waiters 1, subscribed");
    (void)snprintf(holder, sizeof holder, "holder in the last reply: %s:", hf_client_uuid(client));
    ck_assert_has(holder);
    ck_assert_has("    timer: in ");
    ck_assert_has("operation: acquire 'odd\\x0aname' by owner 2");
    release(lock, 1);
    ck_assert_status(call_await(&waiter), HF_OK);
    ck_assert_has("hold of owner 2 (");
    hf_client_free(client);
}
END_TEST

START_TEST(request_without_a_reply_is_shown_with_its_claim)
{
    struct hf_lock *lock = open_client(NAME);
    struct hf_acquire_options o = acquire_options(1);
    struct call reentry;

    acquire(lock, 1);
    o.lease_ms = 60000;
    server_pause(server);
    call_acquire(&reentry, lock, &o);
    await_text(", requests in flight 1, ");
    ck_assert_has("request in flight: sent ");
    ck_assert_has("command EVAL");
    ck_assert_has(", slot 0: queued or sent, sent: ");
    ck_assert_has("claim of a call without a reply: sent ");
    ck_assert_has(", TTL 60000 ms");
    ck_assert_has("request: first sent: ");
    server_resume(server);
    ck_assert_status(call_await(&reentry), HF_OK);
    ck_assert_has("): held, count 2, ");
    hf_client_free(client);
}
END_TEST

START_TEST(error_is_shown_and_no_password)
{
    static const char secret[] = "Sesame-open-1";
    struct hf_client_options o;
    char url[SERVER_URL_MAX + 32];

    hf_client_options_init(&o);
    (void)snprintf(url, sizeof url, "redis://:%s@127.0.0.1:%d", secret,
                   server_port(server));
    (void)server_ask(server, "CONFIG SET requirepass other");
    o.url = url;
    o.tls = tls_wanted();
    client = client_with(&o);
    ck_assert_int_lt(hf_client_connect(client, NULL), 0);
    ck_assert_has("last error: ");
    ck_assert_ptr_null(strstr(text, secret));
    hf_client_free(client);
}
END_TEST

START_TEST(text_has_a_limit_and_counts_missing_lines)
{
    char name[151];

    (void)open_client(NAME);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "%0150d", i);
        (void)lock_of(client, name);
    }
    ck_assert_has("... lines left out: ");
    ck_assert_uint_le(text_len, HF_DUMP_MAX + 100);
    hf_client_free(client);
}
END_TEST

/* Nothing is written after a gap, and so no line is formatted then. */
START_TEST(lines_after_the_first_one_that_is_left_out_are_counted_only)
{
    struct hf_dump d = {.mem = &hf_mem_libc, .text_max = 20};

    hf_dump_line(&d, 1, "first");
    hf_dump_line(&d, 0, "%s", "one that is too long");
    hf_dump_line(&d, 0, "x");
    ck_assert_str_eq(d.text, "  first");
    ck_assert_uint_eq(d.text_len, sizeof "  first");
    ck_assert_uint_eq(d.lines_left_out, 2);
    hf_dump_fini(&d);
}
END_TEST

START_TEST(without_memory_nothing_is_written)
{
    static struct memory memory;
    struct hf_client_options o;
    char url[SERVER_URL_MAX];
    hf_status rc = HF_E_NOMEM;

    memory_init(&memory);
    client_options(&o, url, server_port(server));
    o.mem = &memory.hook;
    client = client_with(&o);
    acquire(lock_of(client, NAME), 1);
    for (int n = 1; rc != HF_OK; n++) {
        ck_assert_int_lt(n, PLENTY);
        memory_fail_at(&memory, (uint64_t)n);
        rc = dump();
        if (rc != HF_OK) {
            ck_assert_status(rc, HF_E_NOMEM);
            ck_assert_uint_eq(text_len, 0);
        }
    }
    memory_fail_at(&memory, 0);
    hf_client_free(client);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}
END_TEST

static void add(Suite *s)
{
    TCase *c = tcase_create("dump");

    tcase_add_checked_fixture(c, start_server, stop_server);
    tcase_add_test(c, idle_client_shows_its_connection);
    tcase_add_test(c, hold_and_waiter_are_shown);
    tcase_add_test(c, request_without_a_reply_is_shown_with_its_claim);
    tcase_add_test(c, error_is_shown_and_no_password);
    tcase_add_test(c, text_has_a_limit_and_counts_missing_lines);
    tcase_add_test(c, lines_after_the_first_one_that_is_left_out_are_counted_only);
    tcase_add_test(c, without_memory_nothing_is_written);
    suite_add_tcase(s, c);
}

int main(void)
{
    return live_main("dump", add);
}
