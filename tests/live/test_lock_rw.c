/* The read-write lock: readers hold it together, a writer alone. WIRE 12. */
#include "tests/live/test_lock_ways.h"
#include "tests/support/one_server.h"
#include "tests/support/rw_steps.h"

#define RW_CHANNEL "redisson_rwlock:{" NAME "}"

/* Nobody is woken by a poll in time: only a message does. */
#define SLOW_WATCHDOG_MS 60000

static struct hf_client *client;
static struct hf_lock *reads, *writes;  /* the sides of one lock */

static struct hf_lock *side(struct hf_client *of, enum hf_lock_kind kind,
                            const char *name)
{
    struct hf_lock *new = NULL;

    ck_assert_ok(hf_lock_new_kind(&new, of, kind, name, strlen(name), NULL));
    return new;
}

static void open_with(int64_t watchdog_ms)
{
    client = client_timed(server_port(server), watchdog_ms, 5000);
    reads = side(client, HF_KIND_READ, NAME);
    writes = side(client, HF_KIND_WRITE, NAME);
}

static void start(void)
{
    start_server();
    open_with(SLOW_WATCHDOG_MS);
}

static void start_renewing(void)
{
    start_server();
    open_with(STEADY_WATCHDOG_MS);
}

static void stop(void)
{
    hf_client_free(client);
    stop_server();
}

static void ck_assert_mode(const char *mode)
{
    ck_assert_str_eq(server_ask(server, "HGET " NAME " mode"), mode);
}

static void ck_assert_free(void)
{
    ck_assert_str_eq(server_ask(server, "KEYS *"), "");
}

static void call_side(struct call *call, struct hf_lock *of, int64_t owner)
{
    struct hf_acquire_options o = acquire_options(owner);

    call_acquire(call, of, &o);
}

static const char *owner_of(struct hf_lock *of, int64_t owner)
{
    static char texts[2][HF_OWNER_TEXT_MAX];
    static int next;

    return hf_lock_owner_text(of, owner, texts[next++ % 2]);
}

static void ck_assert_count(struct hf_lock *of, int64_t owner, const char *count)
{
    ck_assert_str_eq(server_ask(server, "HGET " NAME " %s",
                                owner_of(of, owner)),
                     count);
}

/* ---- what the server keeps ---- */

/* A player of the contract's steps whose hands are the library's. */
static struct hf_lock *player_side(const char *verb)
{
    return strstr(verb, "read") ? reads : writes;
}

static const char *act(struct rw_player *p, const char *verb, long lease_ms)
{
    static char texts[4][HF_OWNER_TEXT_MAX];
    struct hf_lock *lock = player_side(verb);
    struct hf_acquire_options o = acquire_options(p->thread);
    char *texts_of = texts[2 * (p->thread - 1)];
    hf_status rc;

    o.wait_ms = 0;
    o.lease_ms = lease_ms;
    if (strncmp(verb, "un", 2) == 0)
        rc = hf_lock_release(lock, p->thread, NULL);
    else
        rc = hf_lock_acquire(lock, &o, NULL);
    if (hf_lock_hold_count(lock, p->thread, &(int64_t){0}, NULL) == HF_OK &&
        *owner_of(lock, p->thread)) {
        char *text = texts_of + (lock == writes ? HF_OWNER_TEXT_MAX : 0);

        (void)strcpy(text, owner_of(lock, p->thread));
        *(lock == writes ? &p->writer : &p->owner) = text;
    }
    return rc == HF_OK ? "ok" : "no";
}

/* The last table forces, after which a client has holds that are lost. */
START_TEST(each_step_leaves_the_state_of_the_contract)
{
    struct rw_player players[2];

    for (int i = 0; i < 2; i++)
        players[i] = (struct rw_player){.owner = "nobody",
                                        .writer = "nobody:write",
                                        .times = 1,
                                        .act = act,
                                        .server = server,
                                        .name = NAME,
                                        .thread = i + 1};
    rw_play(&rw_tables[_i], players);
}
END_TEST

/* ---- who is inside together ---- */

START_TEST(readers_hold_it_together)
{
    struct hf_client *other = client_to(server_port(server));
    struct hf_lock *theirs = side(other, HF_KIND_READ, NAME);
    struct hf_lock_info info;

    acquire(reads, 1);
    acquire(reads, 2);
    acquire(theirs, 1);
    ck_assert_ok(hf_lock_inspect(reads, &info, NULL));
    ck_assert_int_eq(info.kind, HF_KIND_READ);
    ck_assert_int_eq(info.holders, 3);
    ck_assert_status(try_acquire(writes, 3, NULL), HF_TIMEOUT);
    release(reads, 1);
    release(theirs, 1);
    ck_assert_status(try_acquire(writes, 3, NULL), HF_TIMEOUT);
    release(reads, 2);
    ck_assert_free();
    acquire(writes, 3);
    release(writes, 3);
    hf_client_free(other);
}
END_TEST

START_TEST(writer_is_alone)
{
    struct hf_client *other = client_to(server_port(server));
    struct hf_lock *their_reads = side(other, HF_KIND_READ, NAME);
    struct hf_lock *their_writes = side(other, HF_KIND_WRITE, NAME);
    struct hf_lock_info info;

    acquire(writes, 1);
    ck_assert_status(try_acquire(reads, 2, NULL), HF_TIMEOUT);
    ck_assert_status(try_acquire(writes, 2, NULL), HF_TIMEOUT);
    ck_assert_status(try_acquire(their_reads, 1, NULL), HF_TIMEOUT);
    ck_assert_status(try_acquire(their_writes, 1, NULL), HF_TIMEOUT);
    ck_assert_ok(hf_lock_inspect(reads, &info, NULL));
    ck_assert_int_eq(info.kind, HF_KIND_WRITE);
    ck_assert_str_eq(info.holder, owner_of(writes, 1));
    release(writes, 1);
    ck_assert_free();
    hf_client_free(other);
}
END_TEST

START_TEST(both_sides_reenter)
{
    struct hf_lock *lock = _i ? writes : reads;

    acquire(lock, 1);
    acquire(lock, 1);
    ck_assert_count(lock, 1, "2");
    release(lock, 1);
    ck_assert_count(lock, 1, "1");
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    release(lock, 1);
    ck_assert_free();
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
}
END_TEST

/* ---- one owner on both sides ---- */

START_TEST(writer_reads_and_becomes_a_reader)
{
    acquire(writes, 1);
    acquire(reads, 1);
    ck_assert_mode("write");
    ck_assert_str_eq(server_ask(server, "HLEN " NAME), "3");
    release(writes, 1);
    ck_assert_mode("read");
    acquire(reads, 2);
    release(reads, 1);
    release(reads, 2);
    ck_assert_free();
}
END_TEST

/* It would wait for itself, behind those who wait for it. */
START_TEST(writer_that_reads_does_not_stand_in_line)
{
    struct call call;

    acquire(writes, 1);
    call_side(&call, _i ? writes : reads, 2);
    await_subscribers(server, RW_CHANNEL, 1);
    acquire(reads, 1);
    release(reads, 1);
    ck_assert(!call_is_done(&call));
    release(writes, 1);
    ck_assert_ok(call_await(&call));
}
END_TEST

static const int64_t waits[] = {0, LONG_MS, HF_FOREVER};

START_TEST(reader_that_is_to_write_is_refused_at_once)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err;

    o.wait_ms = waits[_i];
    acquire(reads, 1);
    ck_assert_status(hf_lock_acquire(writes, &o, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "as a read lock"));
    ck_assert_count(reads, 1, "1");
    release(reads, 1);
    acquire(writes, 1);
    release(writes, 1);
}
END_TEST

/* ---- waking ---- */

static const struct {
    enum hf_lock_kind holds, waits;
    bool is_one_client;
} pairs[] = {
    {HF_KIND_READ, HF_KIND_WRITE, true},  {HF_KIND_WRITE, HF_KIND_READ, true},
    {HF_KIND_WRITE, HF_KIND_WRITE, true}, {HF_KIND_READ, HF_KIND_WRITE, false},
    {HF_KIND_WRITE, HF_KIND_READ, false}, {HF_KIND_WRITE, HF_KIND_WRITE, false},
};

START_TEST(release_wakes_whoever_waits)
{
    struct hf_client *there =
        pairs[_i].is_one_client
            ? client
            : client_timed(server_port(server), SLOW_WATCHDOG_MS, 5000);
    struct hf_lock *held = side(client, pairs[_i].holds, NAME);
    struct hf_lock *wanted = side(there, pairs[_i].waits, NAME);
    struct call call;

    acquire(held, 1);
    call_side(&call, wanted, 2);
    await_subscribers(server, RW_CHANNEL, 1);
    ck_assert(!call_is_done(&call));
    release(held, 1);
    ck_assert_ok(call_await(&call));
    release(wanted, 2);
    ck_assert_free();
    if (there != client)
        hf_client_free(there);
}
END_TEST

#define CROWD 20

START_TEST(writer_that_leaves_wakes_all_readers)
{
    struct hf_client *other =
        client_timed(server_port(server), SLOW_WATCHDOG_MS, 5000);
    struct hf_lock *theirs = side(other, HF_KIND_READ, NAME);
    struct call calls[CROWD];

    acquire(writes, 1);
    if (_i) /* it reads, and goes on reading */
        acquire(reads, 1);
    for (int i = 0; i < CROWD; i++)
        call_side(&calls[i], i % 2 ? reads : theirs, 10 + i);
    await_subscribers(server, RW_CHANNEL, 2);
    release(writes, 1);
    for (int i = 0; i < CROWD; i++)
        ck_assert_ok(call_await(&calls[i]));
    ck_assert_str_eq(server_ask(server, "HLEN " NAME), _i ? "22" : "21");
    hf_client_free(other);
}
END_TEST

START_TEST(line_is_first_come_first_served)
{
    struct call writer, reader;

    acquire(reads, 1);
    call_side(&writer, writes, 2);
    await_subscribers(server, RW_CHANNEL, 1);
    call_side(&reader, reads, 3);
    acquire(reads, 1); /* a re-entry is in nobody's way */
    ck_assert_uint_eq(stats_of(client).waiters, 2);
    release(reads, 1);
    release(reads, 1);
    ck_assert_ok(call_await(&writer));
    ck_assert(!call_is_done(&reader));
    release(writes, 2);
    ck_assert_ok(call_await(&reader));
    release(reads, 3);
}
END_TEST

START_TEST(writer_that_gives_up_lets_readers_in)
{
    struct hf_cancel cancel;
    struct hf_acquire_options o = acquire_options(2);
    struct call writer, calls[3];

    hf_cancel_init(&cancel, client);
    o.cancel = &cancel;
    acquire(reads, 1);
    call_acquire(&writer, writes, &o);
    await_subscribers(server, RW_CHANNEL, 1);
    for (int i = 0; i < 3; i++)
        call_side(&calls[i], reads, 10 + i);
    hf_cancel_fire(&cancel);
    ck_assert_status(call_await(&writer), HF_CANCELLED);
    for (int i = 0; i < 3; i++)
        ck_assert_ok(call_await(&calls[i]));
}
END_TEST

/* ---- the watchdog ---- */

#define HOLDERS 30

START_TEST(many_read_holds_are_renewed)
{
    struct hf_lock *of[2] = {reads, side(client, HF_KIND_READ, "an{other}")};
    struct diary diary, idle;
    struct hf_acquire_options o = diary_options(&diary, 1);

    acquire_for(reads, 1000, LONG_MS * 100); /* of a longer lease */
    for (int i = 1; i <= HOLDERS; i++) {
        struct hf_lock *lock = of[i % 2];

        o.owner = i;
        ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    }
    o = diary_options(&idle, 1000);
    ck_assert_ok(hf_lock_acquire(side(client, HF_KIND_WRITE, "third"), &o,
                                 NULL));
    note_await(&diary.note, &diary.renewals, 7 * HOLDERS, "renewals");
    note_await(&idle.note, &idle.renewals, 7, "renewals of the writer");
    ck_assert_int_eq(diary.losses + idle.losses, 0);
    ck_assert_int_gt(server_ask_int(server, "PTTL " NAME), LONG_MS * 99);
    for (int i = 1; i <= HOLDERS; i++) {
        ck_assert_int_gt(hf_lock_safe_ms(of[i % 2], i), 0);
        ck_assert_int_gt(server_ask_int(server, "PTTL %s:%s:rwlock_timeout:1",
                                        i % 2 ? "an{other}" : "{" NAME "}",
                                        owner_of(of[i % 2], i)),
                         0);
    }
    ck_assert_uint_lt(stats_of(client).renewal_requests,
                      stats_of(client).renewals);
}
END_TEST

START_TEST(loss_is_told_to_its_side)
{
    struct diary reader, writer;
    struct hf_acquire_options o = diary_options(&writer, 1);

    ck_assert_ok(hf_lock_acquire(writes, &o, NULL));
    o = diary_options(&reader, 1);
    ck_assert_ok(hf_lock_acquire(reads, &o, NULL));
    (void)server_ask(server, "HDEL " NAME " %s",
                     owner_of(_i ? writes : reads, 1));
    ck_assert_int_eq(diary_await_loss(_i ? &writer : &reader), HF_LOST_TAKEN);
    ck_assert_int_eq((_i ? &reader : &writer)->losses, 0);
    ck_assert_status(try_acquire(_i ? writes : reads, 1, NULL), HF_LOST);
    ck_assert_status(hf_lock_release(_i ? writes : reads, 1, NULL), HF_LOST);
    release(_i ? reads : writes, 1);
}
END_TEST

/* ---- */

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "sides", start, stop);

    tcase_add_loop_test(c, each_step_leaves_the_state_of_the_contract, 0,
                        rw_tables_count - 1);
    tcase_add_test(c, readers_hold_it_together);
    tcase_add_test(c, writer_is_alone);
    tcase_add_loop_test(c, both_sides_reenter, 0, 2);
    tcase_add_test(c, writer_reads_and_becomes_a_reader);
    tcase_add_loop_test(c, writer_that_reads_does_not_stand_in_line, 0, 2);
    tcase_add_loop_test(c, reader_that_is_to_write_is_refused_at_once, 0,
                        COUNT(waits));
    c = live_case(suite, "waking", start, stop);
    tcase_add_loop_test(c, release_wakes_whoever_waits, 0, COUNT(pairs));
    tcase_add_loop_test(c, writer_that_leaves_wakes_all_readers, 0, 2);
    tcase_add_test(c, line_is_first_come_first_served);
    tcase_add_test(c, writer_that_gives_up_lets_readers_in);
    c = live_case(suite, "watchdog", start_renewing, stop);
    tcase_add_test(c, many_read_holds_are_renewed);
    tcase_add_loop_test(c, loss_is_told_to_its_side, 0, 2);
}

int main(void)
{
    return live_main("lock_rw", add);
}
