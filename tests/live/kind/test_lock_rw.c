/* The read-write lock: readers hold it together, a writer alone. WIRE 12. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/live/test_lock_ways.h"
#include "tests/support/cluster.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"
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

/* The last table forces, after which a client has holds that are lost. */
START_TEST(each_step_leaves_the_state_of_the_contract)
{
    struct rw_party parties[2];

    for (int i = 0; i < 2; i++)
        parties[i] = rw_party_library(server, NAME, client, i + 1);
    rw_run(&rw_tables[_i], parties);
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

/* RW-3: It would wait for itself, behind those who wait for it. */
START_TEST(writer_that_reads_does_not_wait)
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

/* RW-4 */
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

START_TEST(release_wakes_its_waiters)
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

/* Also of readers, whose field looks like a plain lock's. */
START_TEST(waiter_receives_the_side_that_holds_it)
{
    struct hf_lock *held = _i ? writes : reads;
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 2);
    struct call call;

    acquire(held, 1);
    call_acquire(&call, writes, &o);
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    ck_assert_int_eq(diary.info.kind, _i ? HF_KIND_WRITE : HF_KIND_READ);
    ck_assert_str_eq(diary.info.holder, owner_of(held, 1));
    release(held, 1);
    ck_assert_ok(call_await(&call));
    release(writes, 2); /* before the diary goes */
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

START_TEST(readers_enter_when_a_waiting_writer_leaves)
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

/* Two calls of one owner cross: it would wait for itself, behind the other. */
START_TEST(reader_that_its_own_writer_excludes_does_not_wait)
{
    struct hf_client_options o;
    struct hf_acquire_options at_once = acquire_options(1);
    char url[SERVER_URL_MAX];
    struct call writer, reader, other;

    at_once.wait_ms = 0;
    way_options(&o, url, server_port(server), &(struct way){3, false});
    hf_client_free(client);
    client = client_with(&o);
    reads = side(client, HF_KIND_READ, NAME);
    writes = side(client, HF_KIND_WRITE, NAME);
    acquire(writes, 1); /* connects */
    release(writes, 1);
    call_acquire(&writer, writes, &at_once);
    call_side(&reader, reads, 1);
    call_side(&other, writes, 2);
    ck_assert_ok(call_drive(&writer, client));
    ck_assert_ok(call_drive(&reader, client));
    ck_assert(!call_is_done(&other));
    release(writes, 1);
    release(reads, 1);
    ck_assert_ok(call_drive(&other, client));
    release(writes, 2);
}
END_TEST

/* The server grants both, as it would to two readers: one hold counts both, also
 * where they join the owner's write hold. */
START_TEST(reads_of_one_owner_that_cross_are_one_hold)
{
    struct hf_client_options o;
    struct hf_acquire_options at_once = acquire_options(1);
    char url[SERVER_URL_MAX];
    struct call calls[2];

    at_once.wait_ms = _i % 2 ? HF_FOREVER : 0;
    way_options(&o, url, server_port(server), &(struct way){3, false});
    hf_client_free(client);
    client = client_with(&o);
    reads = side(client, HF_KIND_READ, NAME);
    writes = side(client, HF_KIND_WRITE, NAME);
    acquire(_i / 2 ? writes : reads, _i / 2 ? 1 : 9); /* connects, and stays */
    for (int i = 0; i < 2; i++)
        call_acquire(&calls[i], reads, &at_once);
    for (int i = 0; i < 2; i++)
        ck_assert_ok(call_drive(&calls[i], client));
    ck_assert_count(reads, 1, "2");
    release(reads, 1);
    ck_assert_count(reads, 1, "1");
    release(reads, 1);
    ck_assert_int_eq(hf_lock_safe_ms(reads, 1), INT64_MIN);
    release(_i / 2 ? writes : reads, _i / 2 ? 1 : 9);
    ck_assert_free();
}
END_TEST

/* The writer's reader came while the writer itself waited, and stands behind
 * another's writer, who waits for this one. */
START_TEST(reader_whose_writer_is_granted_leaves_the_line)
{
    struct hf_client *elsewhere = client_to(server_port(server));
    struct hf_lock *theirs = side(elsewhere, HF_KIND_WRITE, NAME);
    struct call writer, other, reader, third;

    acquire(theirs, 9);
    call_side(&writer, writes, 1);
    await_subscribers(server, RW_CHANNEL, 1);
    call_side(&other, writes, 2);
    call_side(&reader, reads, 1);
    call_side(&third, reads, 3);
    ck_assert_uint_eq(stats_of(client).waiters, 4);
    release(theirs, 9);
    ck_assert_ok(call_await(&writer));
    ck_assert_ok(call_await(&reader));
    ck_assert(!call_is_done(&other));
    ck_assert(!call_is_done(&third));
    release(writes, 1);
    release(reads, 1);
    ck_assert_ok(call_await(&other));
    release(writes, 2);
    ck_assert_ok(call_await(&third));
    release(reads, 3);
    ck_assert_free();
    hf_client_free(elsewhere);
}
END_TEST

/* Likewise a writer whose reader is granted: it would wait for itself. */
START_TEST(writer_whose_reader_is_granted_is_refused_at_once)
{
    struct hf_client *elsewhere = client_to(server_port(server));
    struct hf_lock *theirs = side(elsewhere, HF_KIND_WRITE, NAME);
    struct call writer, other, reader;

    acquire(theirs, 9);
    call_side(&reader, reads, 1);
    await_subscribers(server, RW_CHANNEL, 1);
    call_side(&other, writes, 2);
    call_side(&writer, writes, 1);
    release(theirs, 9);
    ck_assert_ok(call_await(&reader));
    ck_assert_status(call_await(&writer), HF_E_INVAL);
    ck_assert(!call_is_done(&other));
    release(reads, 1);
    ck_assert_ok(call_await(&other));
    release(writes, 2);
    hf_client_free(elsewhere);
}
END_TEST

/* ---- the watchdog ---- */

#define HOLDERS 30

START_TEST(many_read_holds_are_renewed)
{
    struct hf_lock *of[2] = {reads, side(client, HF_KIND_READ, "an{other}")};
    static struct diary diary, idle; /* told also when the client is freed */
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
    ck_assert_int_gt(server_ask_int(server, "PTTL " NAME), LONG_MS * 95);
    for (int i = 1; i <= HOLDERS; i++) {
        ck_assert_int_gt(hf_lock_safe_ms(of[i % 2], i), 0);
        ck_assert_int_gt(server_ask_int(server, "PTTL %s:%s:rwlock_timeout:1",
                                        i % 2 ? "an{other}" : "{" NAME "}",
                                        owner_of(of[i % 2], i)),
                         0);
    }
    ck_assert_uint_lt(stats_of(client).renewal_requests,
                      stats_of(client).renewals);
    for (int i = 1; i <= HOLDERS; i++)
        release(of[i % 2], i);
    release(side(client, HF_KIND_WRITE, "third"), 1000);
}
END_TEST

/* The writer's lease is shorter, and is renewed; the reader's is not. */
START_TEST(renewal_of_one_side_leaves_the_other_its_lease)
{
    static struct diary diary; /* told also when the client is freed */
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_lock *longer = _i ? writes : reads;

    if (_i)
        acquire_for(writes, 1, LONG_MS * 100);
    ck_assert_ok(hf_lock_acquire(_i ? reads : writes, &o, NULL));
    if (!_i)
        acquire_for(reads, 1, LONG_MS * 100);
    note_await(&diary.note, &diary.renewals, 2, "renewals");
    ck_assert_int_gt(ck_assert_safe_before_ttl(server, longer, 1),
                     LONG_MS * 95);
    ck_assert_int_eq(diary.losses, 0);
}
END_TEST

START_TEST(loss_is_reported_to_its_side)
{
    struct diary reader, writer;
    struct hf_acquire_options o = diary_options(&writer, 1);

    ck_assert_ok(hf_lock_acquire(writes, &o, NULL));
    o = diary_options(&reader, 1);
    ck_assert_ok(hf_lock_acquire(reads, &o, NULL));
    (void)server_ask(server, "HDEL " NAME " %s",
                     owner_of(_i ? writes : reads, 1));
    ck_assert_int_eq(diary_await_loss(_i ? &writer : &reader), HF_REASON_TAKEN);
    ck_assert_int_eq((_i ? &reader : &writer)->losses, 0);
    ck_assert_status(try_acquire(_i ? writes : reads, 1, NULL), HF_LOST);
    ck_assert_status(hf_lock_release(_i ? writes : reads, 1, NULL), HF_LOST);
    release(_i ? reads : writes, 1);
}
END_TEST

/* ---- ends ---- */

START_TEST(force_frees_its_side_alone)
{
    struct hf_lock *held = _i ? writes : reads, *other = _i ? reads : writes;
    struct hf_error err;
    struct call call;

    acquire(held, 1);
    ck_assert_status(hf_lock_force_release(other, NULL, 0, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "a read-write lock"));
    ck_assert_count(held, 1, "1");
    call_side(&call, other, 2);
    await_subscribers(server, RW_CHANNEL, 1);
    ck_assert_ok(hf_lock_force_release(held, NULL, 0, NULL));
    ck_assert_ok(call_await(&call));
    ck_assert_status(hf_lock_release(held, 1, NULL), HF_LOST);
    ck_assert_status(hf_lock_force_release(held, NULL, 0, NULL), HF_E_SERVER);
    ck_assert_count(other, 2, "1");
    release(other, 2);
    ck_assert_status(hf_lock_force_release(held, NULL, 0, NULL), HF_NOT_OWNER);
}
END_TEST

START_TEST(lease_that_ends_lets_the_waiter_in)
{
    struct hf_lock *held = _i ? writes : reads, *other = _i ? reads : writes;

    acquire_for(held, 1, 200);
    acquire(other, 2);
    ck_assert_status(hf_lock_release(held, 1, NULL), HF_LOST);
    ck_assert_count(other, 2, "1");
    release(other, 2);
}
END_TEST

/* A process that reads until it is killed. */
static void read_elsewhere_and_die(int64_t lease_ms)
{
    int out[2];
    char byte = 0;
    pid_t pid;

    ck_assert_int_eq(pipe(out), 0);
    if ((pid = fork_beside(client)) == 0) {
        struct hf_client *own = client_to(server_port(server));

        acquire_for(side(own, HF_KIND_READ, NAME), 1, lease_ms);
        _exit(write(out[1], &byte, 1) == 1 ? pause() : 1);
    }
    ck_assert_int_eq(read(out[0], &byte, 1), 1);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    (void)close(out[0]);
    (void)close(out[1]);
}

START_TEST(reader_that_is_killed_is_in_nobodys_way)
{
    acquire(reads, 1);
    read_elsewhere_and_die(200);
    ck_assert_str_eq(server_ask(server, "HLEN " NAME), "3");
    server_await(server, AWAIT_MS, "2", "DBSIZE"); /* its hold key ends */
    ck_assert_str_eq(server_ask(server, "HLEN " NAME), "3");
    release(reads, 1);
    ck_assert_free();
}
END_TEST

/* ---- answers that are lost ---- */

START_TEST(requests_are_repeated_without_harm)
{
    struct proxy *p = proxy_start(server_port(server));
    struct hf_client *far = client_to(proxy_port(p));
    struct hf_lock *lock =
        side(far, _i ? HF_KIND_WRITE : HF_KIND_READ, NAME);

    acquire(lock, 9); /* scripts are known, and the connection is there */
    release(lock, 9);
    for (int count = 1; count <= 2; count++) {
        proxy_cut_after(p, PROXY_TO_CLIENT, 0, PROXY_RESET);
        acquire(lock, 1);
        ck_assert(proxy_has_cut(p));
        ck_assert_count(lock, 1, count == 1 ? "1" : "2");
    }
    for (int count = 1; count >= 0; count--) {
        proxy_cut_after(p, PROXY_TO_CLIENT, 0, PROXY_RESET);
        release(lock, 1);
        ck_assert(proxy_has_cut(p));
    }
    ck_assert_free();
    hf_client_free(far);
    proxy_stop(p);
}
END_TEST

/* Read by another, the lock is not free when the repeated release finds nothing. */
START_TEST(release_beside_another_reader_is_repeated_without_harm)
{
    struct proxy *p = proxy_start(server_port(server));
    struct hf_client *far = client_to(proxy_port(p));
    struct hf_lock *lock = side(far, HF_KIND_READ, NAME);

    acquire(reads, 1);
    acquire(lock, 1);
    proxy_cut_after(p, PROXY_TO_CLIENT, 0, PROXY_RESET);
    release(lock, 1);
    ck_assert(proxy_has_cut(p));
    ck_assert_count(reads, 1, "1");
    ck_assert_str_eq(server_ask(server, "HLEN " NAME), "2");
    release(reads, 1);
    ck_assert_free();
    hf_client_free(far);
    proxy_stop(p);
}
END_TEST

/* ---- late orphans ---- */

static const struct {
    const char *mode, *suffix;
    enum hf_lock_kind asks;
} orphans[] = {
    {"read", "", HF_KIND_WRITE},
    {"write", ":write", HF_KIND_READ},
    {"write", ":write", HF_KIND_WRITE},
};

START_TEST(orphan_is_released_on_its_side)
{
    struct hf_client *own = client_to(server_port(server));
    struct hf_lock *lock = side(own, orphans[_i].asks, NAME);

    (void)server_ask(server, "HSET " NAME " mode %s %s:70000000099%s 1",
                     orphans[_i].mode, hf_client_uuid(own), orphans[_i].suffix);
    (void)server_ask(server, "PEXPIRE " NAME " 600000");
    if (!*orphans[_i].suffix)
        (void)server_ask(server, "SET {" NAME "}:%s:70000000099:"
                         "rwlock_timeout:1 1 PX 600000", hf_client_uuid(own));
    acquire(lock, 1);
    ck_assert_count(lock, 1, "1");
    release(lock, 1);
    ck_assert_free();
    hf_client_free(own);
}
END_TEST

/* One name should have one kind; a hold of the other kind is not an orphan. */
START_TEST(hold_is_not_an_orphan_for_a_plain_lock_of_its_name)
{
    struct hf_lock *held = _i ? writes : reads;

    acquire(held, 1);
    ck_assert_status(try_acquire(lock_of(client, NAME), 2, NULL), HF_TIMEOUT);
    ck_assert_uint_eq(stats_of(client).orphans, 0);
    ck_assert_count(held, 1, "1");
    release(held, 1);
}
END_TEST

/* ---- many ---- */

#define CONTENDERS 8
#define TURNS 60

static _Atomic int reading, writing, written;

static void take_turn(struct hf_lock *own[2], int64_t owner, bool is_writer)
{
    struct hf_acquire_options o = acquire_options(owner);
    bool is_locked;
    int inside;

    ck_must(hf_lock_acquire(own[is_writer], &o, NULL) == HF_OK, "acquired");
    inside = atomic_fetch_add(is_writer ? &writing : &reading, 1);
    ck_must(is_writer ? inside == 0 && reading == 0 : writing == 0, "alone");
    ck_must(hf_lock_is_locked(own[1], &is_locked, NULL) == HF_OK && is_locked,
            "locked"); /* and a round trip inside */
    ck_must(is_writer ? reading == 0 && writing == 1 : writing == 0, "still");
    written += is_writer;
    atomic_fetch_sub(is_writer ? &writing : &reading, 1);
    ck_must(hf_lock_release(own[is_writer], owner, NULL) == HF_OK, "released");
}

static void *contend(void *client_of_mine)
{
    struct hf_lock *own[2] = {NULL, NULL};
    int64_t owner = hf_owner_thread();

    for (int i = 0; i < 2; i++)
        ck_must(hf_lock_new_kind(&own[i], client_of_mine,
                                 i ? HF_KIND_WRITE : HF_KIND_READ, NAME,
                                 strlen(NAME), NULL) == HF_OK,
                "a handle");
    for (int i = 0; i < TURNS; i++)
        take_turn(own, owner, (i + owner) % 3 == 0);
    return NULL;
}

START_TEST(writers_are_alone_and_readers_are_not)
{
    struct hf_client *clients[2] = {client, client_to(server_port(server))};
    pthread_t threads[CONTENDERS];

    for (int i = 0; i < CONTENDERS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, contend, clients[i % 2]), 0);
    for (int i = 0; i < CONTENDERS; i++)
        (void)pthread_join(threads[i], NULL);
    ck_assert_int_eq(written, CONTENDERS * TURNS / 3);
    ck_assert_free();
    hf_client_free(clients[1]);
}
END_TEST

/* ---- the ways of using a client ---- */

START_TEST(each_way_of_using_a_client_has_both_sides)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];
    struct hf_lock_info info;

    way_options(&o, url, server_port(server), &ways[_i]);
    hf_client_free(client);
    client = client_with(&o);
    reads = side(client, HF_KIND_READ, NAME);
    writes = side(client, HF_KIND_WRITE, NAME);
    acquire(writes, 1);
    acquire(reads, 1);
    release(writes, 1);
    ck_assert_ok(hf_lock_inspect(writes, &info, NULL));
    ck_assert_int_eq(info.kind, HF_KIND_READ);
    release(reads, 1);
    ck_assert_free();
}
END_TEST

/* ---- clusters ---- */

static const char *const names[] = {"order:42", "shop{eu}lock"};

START_TEST(cluster_serves_both_sides)
{
    struct cluster *c = cluster_start(&(struct cluster_options){.masters = 3});
    struct hf_client_options o;
    char url[100];

    ck_assert_ptr_nonnull(c);
    hf_client_options_init(&o);
    o.watchdog_ms = STEADY_WATCHDOG_MS;
    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d",
                   server_port(cluster_node(c, 0)));
    o.url = url;
    client = client_with(&o);
    for (int i = 0; i < COUNT(names); i++) {
        struct diary diary;
        struct hf_acquire_options renewed = diary_options(&diary, 1);
        struct call call;

        reads = side(client, HF_KIND_READ, names[i]);
        writes = side(client, HF_KIND_WRITE, names[i]);
        ck_assert_ok(hf_lock_acquire(reads, &renewed, NULL));
        acquire(reads, 2);
        note_await(&diary.note, &diary.renewals, 2, "renewals");
        call_side(&call, writes, 3);
        release(reads, 1);
        release(reads, 2);
        ck_assert_ok(call_await(&call));
        ck_assert_status(try_acquire(reads, 1, NULL), HF_TIMEOUT);
        release(writes, 3);
    }
    hf_client_free(client);
    cluster_stop(c);
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
    tcase_add_loop_test(c, writer_that_reads_does_not_wait, 0, 2);
    tcase_add_loop_test(c, reader_that_is_to_write_is_refused_at_once, 0,
                        COUNT(waits));
    c = live_case(suite, "waking", start, stop);
    tcase_add_loop_test(c, release_wakes_its_waiters, 0, COUNT(pairs));
    tcase_add_loop_test(c, waiter_receives_the_side_that_holds_it, 0, 2);
    tcase_add_loop_test(c, writer_that_leaves_wakes_all_readers, 0, 2);
    tcase_add_test(c, line_is_first_come_first_served);
    tcase_add_test(c, readers_enter_when_a_waiting_writer_leaves);
    tcase_add_test(
        c, reader_that_its_own_writer_excludes_does_not_wait);
    tcase_add_loop_test(c, reads_of_one_owner_that_cross_are_one_hold, 0, 4);
    tcase_add_test(c, reader_whose_writer_is_granted_leaves_the_line);
    tcase_add_test(c, writer_whose_reader_is_granted_is_refused_at_once);
    c = live_case(suite, "watchdog", start_renewing, stop);
    tcase_add_test(c, many_read_holds_are_renewed);
    tcase_add_loop_test(c, renewal_of_one_side_leaves_the_other_its_lease, 0, 2);
    tcase_add_loop_test(c, loss_is_reported_to_its_side, 0, 2);
    c = live_case(suite, "ends", start, stop);
    tcase_add_loop_test(c, force_frees_its_side_alone, 0, 2);
    tcase_add_loop_test(c, lease_that_ends_lets_the_waiter_in, 0, 2);
    tcase_add_test(c, reader_that_is_killed_is_in_nobodys_way);
    tcase_add_loop_test(c, requests_are_repeated_without_harm, 0, 2);
    tcase_add_test(c, release_beside_another_reader_is_repeated_without_harm);
    tcase_add_loop_test(c, orphan_is_released_on_its_side, 0, COUNT(orphans));
    tcase_add_loop_test(c, hold_is_not_an_orphan_for_a_plain_lock_of_its_name, 0, 2);
    c = live_case(suite, "many", start, stop);
    tcase_add_test(c, writers_are_alone_and_readers_are_not);
    tcase_add_loop_test(c, each_way_of_using_a_client_has_both_sides, 0,
                        COUNT(ways));
    c = live_case(suite, "cluster", NULL, NULL);
    tcase_add_test(c, cluster_serves_both_sides);
}

int main(void)
{
    return live_main("lock_rw", add);
}
