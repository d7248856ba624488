/* Read-write locks beside Redisson's. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/redisson/both.h"
#include "tests/support/local.h"
#include "tests/support/rw_steps.h"

#define NAME "report"

/* ---- step by step ---- */

/* Who A and B are. Redisson alone shows that the tables are its contract, and
 * not our idea of it. */
enum side { SCRIPTS, LIBRARY, REDISSON };

static const enum side pairs[][2] = {
    {SCRIPTS, REDISSON}, {REDISSON, SCRIPTS},  {LIBRARY, REDISSON},
    {REDISSON, LIBRARY}, {REDISSON, REDISSON}, {LIBRARY, LIBRARY},
};
#define PAIRS ((int)(sizeof pairs / sizeof *pairs))

static const char *redisson_acts(struct rw_party *p, const char *verb,
                                 long lease_ms)
{
    const char *side = strstr(verb, "read") ? "read" : "write";
    const char *answer;

    if (*verb == 'f')
        answer = driver_ask(java, p->thread, "force-unlock %s %s", side, p->name);
    else if (*verb == 'u')
        answer = driver_ask(java, p->thread, "unlock %s %s", side, p->name);
    else
        answer = driver_ask(java, p->thread, "try %s %s %ld", side, p->name,
                            lease_ms);
    return strcmp(answer, "ok") == 0 || strcmp(answer, "true") == 0 ? "ok"
                                                                    : "no";
}

static struct rw_party party_of(enum side who, int thread)
{
    struct rw_party p;

    if (who == SCRIPTS)
        return rw_party_scripts(server, NAME,
                                "6e3814a1-e847-452b-a982-45baf93a1df2:1", 1);
    if (who == LIBRARY)
        return rw_party_library(server, NAME, client, thread);
    p = rw_party_of(server, NAME, driver_ask(java, thread, "owner"),
                    redisson_acts);
    p.thread = thread;
    p.is_redisson = true;
    return p;
}

/* What became of the library's holds whose keys expired: the table's last step
 * does not give them up. */
static void forget_holds(const struct rw_party *p)
{
    enum hf_lock_kind sides[] = {HF_KIND_READ, HF_KIND_WRITE};

    for (int i = 0; i < 2; i++) {
        struct hf_lock *lock = lock_on(sides[i], p->name);

        while (hf_lock_release(lock, p->thread, NULL) != HF_NOT_OWNER)
            ;
        hf_lock_free(lock);
    }
}

START_TEST(read_write_steps_leave_the_same_states)
{
    const enum side *pair = pairs[_i % PAIRS];
    struct rw_party parties[2];

    for (int i = 0; i < 2; i++)
        parties[i] = party_of(pair[i], i + 1);
    rw_run(&rw_tables[_i / PAIRS], parties);
    for (int i = 0; i < 2; i++)
        if (pair[i] == LIBRARY)
            forget_holds(&parties[i]);
    server_ask(server, "FLUSHALL");
}
END_TEST

/* The last table is of force: a client that does not know yet that its hold was
 * forced away goes on as its holder. */
static void add_steps(TCase *tc)
{
    for (int i = 0; i < rw_tables_count * PAIRS; i++) {
        const enum side *pair = pairs[i % PAIRS];

        if (i / PAIRS == rw_tables_count - 1 &&
            (pair[0] == LIBRARY || pair[1] == LIBRARY))
            continue;
        tcase_add_loop_test(tc, read_write_steps_leave_the_same_states, i,
                            i + 1);
    }
}

/* ---- readers beside readers ---- */

static hf_status try_as(struct hf_lock *lock, int64_t owner)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.owner = owner;
    options.wait_ms = 0;
    return hf_lock_acquire(lock, &options, NULL);
}

START_TEST(readers_of_both_sides_read_at_once)
{
    struct hf_lock *read = lock_on(HF_KIND_READ, NAME);
    struct hf_lock *write = lock_on(HF_KIND_WRITE, NAME);

    ck_assert_java("ok", 1, "acquire read " NAME);
    ck_assert_int_eq(acquire_within(read, 0), HF_OK);
    ck_assert_java("true", 2, "try read " NAME);
    ck_assert_int_eq(try_as(read, 7), HF_OK);
    ck_assert_int_eq(try_as(write, 8), HF_TIMEOUT);
    driver_tell(java, 3, "acquire write " NAME);
    ck_assert_java("ok", 1, "unlock read " NAME);
    ck_assert_java("ok", 2, "unlock read " NAME);
    release(read);
    ck_assert_waits(3);
    ck_assert_int_eq(hf_lock_release(read, 7, NULL), HF_OK);
    ck_assert_told("ok", 3);
    ck_assert_java("ok", 3, "unlock write " NAME);
    hf_lock_free(read);
    hf_lock_free(write);
}
END_TEST

START_TEST(our_writer_waits_for_the_last_of_redissons_readers)
{
    struct hf_lock *write = lock_on(HF_KIND_WRITE, NAME);

    ck_assert_java("ok", 1, "acquire read " NAME);
    ck_assert_java("ok", 2, "acquire read " NAME);
    ck_assert_java("ok", 1, "unlock read " NAME);
    ck_assert_int_eq(acquire_within(write, A_MOMENT_MS), HF_TIMEOUT);
    driver_tell(java, 2, "unlock read " NAME);
    ck_assert_int_eq(acquire_within(write, TOLD_MS), HF_OK);
    ck_assert_told("ok", 2);
    release(write);
    hf_lock_free(write);
}
END_TEST

#define READERS 4

START_TEST(our_writer_wakes_all_of_redissons_readers)
{
    struct hf_lock *write = lock_on(HF_KIND_WRITE, NAME);

    ck_assert_int_eq(acquire_within(write, 0), HF_OK);
    for (int i = 1; i <= READERS; i++)
        driver_tell(java, i, "acquire read " NAME);
    for (int i = 1; i <= READERS; i++)
        ck_assert_waits(i);
    release(write);
    for (int i = 1; i <= READERS; i++)
        ck_assert_told("ok", i);
    for (int i = 1; i <= READERS; i++)
        ck_assert_java("ok", i, "unlock read " NAME);
    hf_lock_free(write);
}
END_TEST

/* ---- a writer becomes a reader ---- */

START_TEST(our_downgrade_wakes_redissons_readers)
{
    struct hf_lock *read = lock_on(HF_KIND_READ, NAME);
    struct hf_lock *write = lock_on(HF_KIND_WRITE, NAME);

    ck_assert_int_eq(acquire_within(write, 0), HF_OK);
    ck_assert_int_eq(acquire_within(read, 0), HF_OK);
    driver_tell(java, 1, "acquire read " NAME);
    ck_assert_waits(1);
    release(write);
    ck_assert_told("ok", 1);
    ck_assert_java("false", 2, "try write " NAME);
    ck_assert_java("ok", 1, "unlock read " NAME);
    ck_assert_java("false", 2, "try write " NAME);
    release(read);
    ck_assert_java("true", 2, "try write " NAME);
    ck_assert_java("ok", 2, "unlock write " NAME);
    hf_lock_free(read);
    hf_lock_free(write);
}
END_TEST

/* Of its own, so that nobody else listens. */
#define OTHER "minutes"
#define CHANNEL "redisson_rwlock:{minutes}"

static void *read_once(void *status)
{
    struct hf_lock *read = lock_on(HF_KIND_READ, OTHER);

    *(hf_status *)status = acquire_within(read, TOLD_MS);
    if (*(hf_status *)status == HF_OK)
        *(hf_status *)status = hf_lock_release(read, hf_owner_thread(), NULL);
    hf_lock_free(read);
    return NULL;
}

/* Redisson tells nobody of it: ours asks a third of its watchdog later. */
START_TEST(redissons_downgrade_lets_our_readers_in)
{
    static hf_status status; /* its thread outlives a failed assertion (CK_NOFORK) */
    pthread_t thread;

    status = HF_TIMEOUT;
    ck_assert_java("ok", 1, "acquire write " OTHER);
    ck_assert_java("ok", 1, "acquire read " OTHER);
    ck_assert_int_eq(pthread_create(&thread, NULL, read_once, &status), 0);
    server_await(server, TOLD_MS, CHANNEL " 1", "PUBSUB NUMSUB " CHANNEL);
    ck_assert_java("ok", 1, "unlock write " OTHER);
    (void)pthread_join(thread, NULL);
    ck_assert_int_eq(status, HF_OK);
    ck_assert_java("ok", 1, "unlock read " OTHER);
}
END_TEST

/* ---- force ---- */

START_TEST(force_frees_the_readers_of_both_sides)
{
    struct hf_lock *read = lock_on(HF_KIND_READ, NAME);

    for (int i = 0; i < 2; i++) {
        ck_assert_java("ok", 1, "acquire read " NAME);
        ck_assert_int_eq(acquire_within(read, 0), HF_OK);
        driver_tell(java, 3, "acquire write " NAME);
        ck_assert_waits(3);
        if (i == 0)
            ck_assert_int_eq(hf_lock_force_release(read, NULL, 0, NULL), HF_OK);
        else
            ck_assert_java("true", 2, "force-unlock read " NAME);
        ck_assert_told("ok", 3);
        ck_assert_java("refused", 1, "unlock read " NAME);
        release_lost(read);
        ck_assert_java("ok", 3, "unlock write " NAME);
    }
    hf_lock_free(read);
}
END_TEST

/* ---- renewal ---- */

#define MANY 50

static atomic_int renewals;

static void on_renewed(void *ctx, struct hf_lock *lock, int64_t owner)
{
    (void)ctx;
    (void)lock;
    (void)owner;
    renewals++;
}

static void read_and_count_renewals(struct hf_lock *lock)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.on_renewed = on_renewed;
    for (int n = 0; n < 2; n++)
        ck_assert_int_eq(hf_lock_acquire(lock, &options, NULL), HF_OK);
}

/* Three thirds of the watchdog: without renewals the first hold would have ended. */
START_TEST(many_read_holds_are_renewed)
{
    struct hf_lock *locks[MANY];
    char name[20], key[200], text[HF_OWNER_TEXT_MAX];

    renewals = 0;
    for (int i = 0; i < MANY; i++) {
        (void)sprintf(name, "many:%d", i);
        locks[i] = lock_on(HF_KIND_READ, name);
        read_and_count_renewals(locks[i]);
        ck_assert_java("true", 1, "try read %s 60000", name);
    }
    while (renewals < 4 * MANY)
        local_rest_us(1000);
    for (int i = 0; i < MANY; i++) {
        (void)sprintf(name, "many:%d", i);
        for (int hold = 1; hold <= 2; hold++) {
            (void)sprintf(key, "{%s}:%s:rwlock_timeout:%d", name,
                          hf_lock_owner_text(locks[i], hf_owner_thread(), text),
                          hold);
            ck_assert_int_gt(server_ask_int(server, "PTTL %s", key), 0);
        }
        /* Redisson's lease is longer, and was not made shorter. */
        ck_assert_int_gt(server_ask_int(server, "PTTL %s", name), 20000);
        ck_assert_java("ok", 1, "unlock read %s", name);
        ck_assert_java("false", 2, "try write %s", name);
        release(locks[i]);
        release(locks[i]);
        ck_assert_int_eq(server_ask_int(server, "EXISTS %s", name), 0);
        hf_lock_free(locks[i]);
    }
}
END_TEST

/* Its field stays, for we renew the lock; but its hold key ends. */
START_TEST(reader_of_redissons_that_was_killed_keeps_no_lock)
{
    struct hf_lock *read = lock_on(HF_KIND_READ, NAME);
    struct driver *other = driver_start(server, SHORT_MS);
    char key[200];

    ck_assert_str_eq(driver_ask(other, 1, "acquire read " NAME), "ok");
    (void)snprintf(key, sizeof key, "{" NAME "}:%s:rwlock_timeout:1",
                   driver_ask(other, 1, "owner"));
    ck_assert_int_eq(acquire_within(read, 0), HF_OK);
    /* If the machine was late, Redisson's lease ended before ours began. */
    if (server_ask_int(server, "HLEN " NAME) == 2)
        ck_assert_str_eq(driver_ask(other, 1, "acquire read " NAME), "ok");
    driver_kill(other);
    server_await(server, TOLD_MS, "0", "EXISTS %s", key);
    ck_assert_str_eq(server_ask(server, "HLEN " NAME), "3");
    release(read);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 0);
    driver_stop(other);
    hf_lock_free(read);
}
END_TEST

TCase *read_write_case(void)
{
    TCase *tc = both_case("read-write");

    add_steps(tc);
    tcase_add_test(tc, readers_of_both_sides_read_at_once);
    tcase_add_test(tc, our_writer_waits_for_the_last_of_redissons_readers);
    tcase_add_test(tc, our_writer_wakes_all_of_redissons_readers);
    tcase_add_test(tc, our_downgrade_wakes_redissons_readers);
    tcase_add_test(tc, redissons_downgrade_lets_our_readers_in);
    tcase_add_test(tc, force_frees_the_readers_of_both_sides);
    tcase_add_test(tc, many_read_holds_are_renewed);
    tcase_add_test(tc, reader_of_redissons_that_was_killed_keeps_no_lock);
    return tc;
}
