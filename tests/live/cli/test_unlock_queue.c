/* Places in a fair lock's queue, as an operator meets them: `status` and `ls` report
 * those that keep a free lock from others, `unlock --queue` removes those of dead
 * waiters. */
#include <string.h>
#include <time.h>

#include "tests/live/test_acl.h"
#include "tests/live/test_run_kit.h"
#include "tests/support/gate.h"

#define DEAD "6e3814a1-e847-452b-a982-45baf93a1df2:7"
#define DEAD2 "6e3814a1-e847-452b-a982-45baf93a1df2:8"
#define QUEUE(name) "redisson_lock_queue:{" name "}"
#define TIMES(name) "redisson_lock_timeout:{" name "}"

/* A waiter that died: its place is kept for so long. */
static void leave_place(const char *queue, const char *times, const char *waiter,
                        int64_t left_ms)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)server_ask(server, "RPUSH %s %s", queue, waiter);
    (void)server_ask(server, "ZADD %s %lld %s", times,
                     (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 +
                         (long long)left_ms, waiter);
}

static void leave_two(void)
{
    leave_place(QUEUE("x"), TIMES("x"), DEAD, 90000);
    leave_place(QUEUE("x"), TIMES("x"), DEAD2, 100000);
}

/* Returns what a finished command has printed on that stream. */
static const char *says(struct process *p, int code, enum stream stream)
{
    ck_assert_int_eq(finish(p), code);
    return await_end(p, stream);
}

static void ck_assert_part(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part), "no '%s' in: %s", part, text);
}

/* ---- what is reported ---- */

START_TEST(status_of_a_free_lock_reports_its_places)
{
    const char *line;
    struct process *p;

    leave_two();
    line = says(holdfast(server, "status", "x", NULL), 1, OUT);
    ck_assert_part(line, "x: free, but 2 waiters are queued, the first until 20");
    ck_assert_part(line, " s from now (" DEAD ")\n");
    p = holdfast(server, "status", "--json", "x", NULL);
    line = await_line(p, OUT, "");
    ck_assert_part(line, "\"held\":false,\"waiters\":2,\"kind\":\"fair\","
                         "\"first_waiter\":\"" DEAD "\",\"first_place_ms\":8");
    ck_assert_int_eq(finish(p), 1);
}
END_TEST

START_TEST(ls_lists_a_free_lock_with_places)
{
    const char *text;

    leave_two();
    hold_by_other("held", 60000);
    leave_place(QUEUE("held"), TIMES("held"), DEAD, 90000);
    leave_place(QUEUE("over"), TIMES("over"), DEAD, -1000); /* the next drops it */
    text = says(holdfast(server, "ls", NULL), 0, OUT);
    ck_assert_str_eq(strchr(text, '\n') + 1, "x\tfair\t-\t-\t-\t-2\t2\t-\n");
    ck_assert_part(text, "held\tfair\t" STRANGER);
    text = says(holdfast(server, "ls", "--json", "x*", NULL), 0, OUT);
    ck_assert_part(text, "{\"name\":\"x\",\"held\":false,\"waiters\":2,\"kind\":\"fair\"");
    ck_assert_str_eq(says(holdfast(server, "ls", "y*", NULL), 0, OUT), "");
    ck_assert_str_eq(says(holdfast(server, "ls", "--kind=plain", "x", NULL), 0, OUT), "");
}
END_TEST

/* "x" and "{x}" have one queue: it is that of the lock that is held. */
START_TEST(ls_gives_a_queue_to_the_lock_that_is_held)
{
    leave_two();
    hold_by_other("{x}", 60000);
    ck_assert_part(says(holdfast(server, "ls", NULL), 0, OUT), "{x}\tfair\t" STRANGER);
    ck_assert_ptr_null(strstr(says(holdfast(server, "ls", NULL), 0, OUT), "\nx\t"));
    (void)server_ask(server, "DEL {x}");
    ck_assert_str_eq(says(holdfast(server, "ls", NULL), 0, OUT),
                     "x\tfair\t-\t-\t-\t-2\t2\t-\n");
}
END_TEST

/* The ACL covers the lock's key, and not its queue's. */
START_TEST(status_reports_that_the_queue_is_not_visible)
{
    char url[100];
    const char *text;

    acl_make_user(server, "--name x");
    (void)server_ask(server, "ACL SETUSER app resetkeys ~x");
    (void)snprintf(url, sizeof url, "redis://app:PASSWORD@127.0.0.1:%d",
                   server_port(server));
    leave_two();
    text = says(holdfast(NULL, "status", "-u", url, "x", NULL), 1, OUT);
    ck_assert_part(text, "x: free, its wait queue cannot be read (ACL");
    hold_by_other("x", 60000);
    text = says(holdfast(NULL, "status", "-u", url, "x", NULL), 0, OUT);
    ck_assert_part(text, "x: held by " STRANGER);
    ck_assert_part(text, ", its wait queue cannot be read (ACL");
    text = says(holdfast(NULL, "status", "--json", "-u", url, "x", NULL), 0, OUT);
    ck_assert_part(text, "\"kind\":\"plain\"");
    ck_assert_part(text, "\"unseen\":\"waiters\"");
}
END_TEST

/* The server refuses keys that a script derives: the queue's are declared. */
START_TEST(server_that_refuses_derived_keys_shows_the_queue)
{
    struct gate *gate = gate_start(server_port(server), gate_strict);
    char url[100];
    struct process *p;

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", gate_port(gate));
    leave_two();
    ck_assert_part(says(holdfast(NULL, "status", "-u", url, "x", NULL), 1, OUT),
                   "x: free, but 2 waiters are queued, the first until 20");
    ck_assert_part(says(holdfast(NULL, "ls", "-u", url, NULL), 0, OUT),
                   "x\tfair\t-\t-\t-\t-2\t2\t-\n");
    hold_by_other("x", 60000);
    ck_assert_part(says(holdfast(NULL, "status", "-u", url, "x", NULL), 0, OUT),
                   "waiters in its queue: 2");
    p = holdfast(NULL, "unlock", "-u", url, "x", "--queue", "--force", "-y", NULL);
    ck_assert_part(says(p, 0, OUT), "x: places removed from the queue: 2\n");
    ck_assert_int_eq(server_ask_int(server, "EXISTS " QUEUE("x")), 0);
    p = holdfast(NULL, "unlock", "-u", url, "x", "--queue", NULL);
    ck_assert_part(says(p, 0, OUT), "x: held, its wait queue is empty");
    gate_stop(gate);
}
END_TEST

/* ---- what is removed ---- */

static void ck_assert_places(int count)
{
    ck_assert_int_eq(server_ask_int(server, "LLEN " QUEUE("x")), count);
    ck_assert_int_eq(server_ask_int(server, "ZCARD " TIMES("x")), count);
}

START_TEST(queue_is_shown_and_not_changed_without_force)
{
    struct process *p;

    leave_two();
    ck_assert_part(says(holdfast(server, "unlock", "x", "--queue", NULL), 1, OUT),
                   "x: free, 2 waiters are queued, the first until 20");
    ck_assert_places(2);
    p = holdfast(server, "unlock", "x", "--queue", "--force", NULL);
    ck_assert_part(says(p, 125, ERR), "add -y");
    ck_assert_places(2);
    p = holdfast(server, "unlock", "x", "--force", "-y", NULL);
    ck_assert_part(says(p, 1, ERR), "it is free, but 2 waiters are queued, the first until");
    ck_assert_places(2);
    ck_assert_part(says(holdfast(server, "unlock", "y", "--queue", NULL), 0, OUT),
                   "y: free, its wait queue is empty");
}
END_TEST

START_TEST(force_removes_places_of_the_dead)
{
    struct process *p;

    leave_two();
    (void)server_ask(server, "ZADD " TIMES("x") " +inf " DEAD);
    p = holdfast(server, "unlock", "x", "--queue", "--force", "-y", NULL);
    ck_assert_part(says(p, 0, OUT), "x: places removed from the queue: 2\n");
    ck_assert_places(0);
    ck_assert_int_eq(finish(holdfast(server, "run", "--fair", "-n", "x", "true", NULL)), 0);
    leave_two();
    p = holdfast(server, "unlock", "--json", "x", "--queue", "--force", "-y", NULL);
    ck_assert_part(says(p, 0, OUT), "\"removed\":2}\n");
    ck_assert_places(0);
}
END_TEST

/* As a server's clock that was once ahead leaves it. */
START_TEST(force_on_a_free_lock_shortens_a_far_place)
{
    struct process *p;

    (void)server_ask(server, "RPUSH " QUEUE("x") " " DEAD);
    (void)server_ask(server, "ZADD " TIMES("x") " %s " DEAD, _i ? "+inf" : "9e14");
    p = holdfast(server, "unlock", "x", "--force", "-y", NULL);
    ck_assert_part(says(p, 1, ERR), "it is free, but 1 waiter is queued, the first until 20");
    p = holdfast(server, "run", "--fair", "-w", "25s", "x", "true", NULL);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* The holder and a waiter that listens keep what they have. */
START_TEST(force_keeps_holder_and_live_waiters)
{
    struct process *holder, *waiter, *p;

    holder = holdfast(server, "run", "--fair", "x", "-c", "echo held; read x", NULL);
    await_line(holder, OUT, "held");
    leave_two();
    waiter = holdfast(server, "run", "--fair", "x", "-c", "echo held", NULL);
    server_await(server, PATIENCE_MS, "3", "LLEN " QUEUE("x"));
    p = holdfast(server, "unlock", "x", "--queue", "--force", "-y", NULL);
    ck_assert_part(says(p, 0, OUT), "x: places removed from the queue: 2\n");
    ck_assert_places(1);
    ck_assert_int_eq(server_ask_int(server, "EXISTS x"), 1);
    p = holdfast(server, "unlock", "x", "--queue", "--force", "-y", NULL);
    ck_assert_part(says(p, 1, ERR), "all waiters in the queue listen");
    say(holder, "\n");
    ck_assert_int_eq(finish(holder), 0);
    await_line(waiter, OUT, "held");
    ck_assert_int_eq(finish(waiter), 0);
}
END_TEST

START_TEST(owner_names_one_place)
{
    struct process *p;

    leave_two();
    p = holdfast(server, "unlock", "x", "--queue", "--owner", DEAD, NULL);
    ck_assert_part(says(p, 0, OUT), "x: places removed from the queue: 1\n");
    ck_assert_str_eq(server_ask(server, "LINDEX " QUEUE("x") " 0"), DEAD2);
    p = holdfast(server, "unlock", "x", "--queue", "--owner", DEAD, NULL);
    ck_assert_part(says(p, 1, ERR), "that waiter is not in the queue");
    ck_assert_places(1);
    p = holdfast(server, "unlock", "x", "--queue", "--owner", DEAD, "--force", "-y", NULL);
    ck_assert_int_eq(finish(p), 125);
}
END_TEST

/* ---- a queue that another program wrote ---- */

START_TEST(head_that_is_not_an_owner_is_described_as_that)
{
    struct process *p;

    leave_place(QUEUE("x"), TIMES("x"), "visits", 90000);
    p = holdfast(server, "run", "--fair", "-n", "x", "true", NULL);
    ck_assert_part(says(p, 125, ERR), "'x' is free, but the first place in its queue is "
                                      "'visits', which is not an owner of a lock");
    ck_assert_ptr_null(strstr(await_end(p, ERR), "in this hash"));
    ck_assert_part(says(holdfast(server, "status", "x", NULL), 1, OUT), "(visits)\n");
    p = holdfast(server, "unlock", "x", "--queue", "--force", "-y", NULL);
    ck_assert_part(says(p, 0, OUT), "x: places removed from the queue: 1\n");
    ck_assert_int_eq(finish(holdfast(server, "run", "--fair", "-n", "x", "true", NULL)), 0);
}
END_TEST

/* A hash that is not a lock is still described as a hash. */
START_TEST(hash_of_another_program_stays_a_hash)
{
    (void)server_ask(server, "HSET x visits 1");
    ck_assert_part(says(holdfast(server, "run", "--fair", "-n", "x", "true", NULL), 125,
                        ERR), "unexpected field 'visits' in this hash");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast unlock --queue");
    TCase *c = run_case(s, "queue");

    tcase_add_test(c, status_of_a_free_lock_reports_its_places);
    tcase_add_test(c, ls_lists_a_free_lock_with_places);
    tcase_add_test(c, ls_gives_a_queue_to_the_lock_that_is_held);
    tcase_add_test(c, status_reports_that_the_queue_is_not_visible);
    tcase_add_test(c, server_that_refuses_derived_keys_shows_the_queue);
    tcase_add_test(c, queue_is_shown_and_not_changed_without_force);
    tcase_add_test(c, force_removes_places_of_the_dead);
    tcase_add_loop_test(c, force_on_a_free_lock_shortens_a_far_place, 0, 2);
    tcase_add_test(c, force_keeps_holder_and_live_waiters);
    tcase_add_test(c, owner_names_one_place);
    tcase_add_test(c, head_that_is_not_an_owner_is_described_as_that);
    tcase_add_test(c, hash_of_another_program_stays_a_hash);
    return run_suite(s);
}
