/* The order of fair locks beside Redisson's, over a thousand grants, and behind a dead
 * waiter. What the server did is read from MONITOR: who came into the queue, and who
 * was granted, in the server's order. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/redisson/both.h"
#include "tests/redisson/monitor.h"

#define NAME "fair:order"
#define QUEUE "redisson_lock_queue:{" NAME "}"
#define PLACES "redisson_lock_timeout:{" NAME "}"

/* ---- a thousand grants ---- */

#define THREADS 5               /* of each side */
#define TIMES 100               /* that each of them has the lock */
#define GRANTS (2 * THREADS * TIMES)
#define WAITERS_MAX (2 * THREADS)

struct order {
    char waiting[WAITERS_MAX][MONITOR_OWNER_ROOM];
    int count;
    int grants, from_queue, popped, handed_over;
    int popped_nothing;         /* Redisson's grants in an empty queue */
    char last[MONITOR_OWNER_ROOM];
};

static void take_arrival(struct order *o, const char *owner)
{
    ck_assert_int_lt(o->count, WAITERS_MAX);
    (void)strcpy(o->waiting[o->count++], owner);
}

static void take_grant(struct order *o, const char *owner)
{
    o->grants++;
    o->handed_over += *o->last && strncmp(o->last, owner, 36) != 0;
    (void)strcpy(o->last, owner);
    if (o->count == 0) {
        o->popped_nothing += owner[36] == ':' && owner[37] != '-';
        return;
    }
    if (strcmp(o->waiting[0], owner) != 0)
        monitor_tail();
    ck_assert_msg(strcmp(o->waiting[0], owner) == 0,
                  "grant %d is of %s, but %s came first", o->grants, owner,
                  o->waiting[0]);
    o->from_queue++;
    memmove(o->waiting[0], o->waiting[1], (size_t)--o->count * MONITOR_OWNER_ROOM);
}

static void take_line(void *ctx, const char *line)
{
    struct order *o = ctx;
    char owner[MONITOR_OWNER_ROOM];

    if (monitor_is(line, "\"rpush\" \"" QUEUE "\"", owner))
        take_arrival(o, owner);
    else if (monitor_is(line, "\"hset\" \"" NAME "\"", owner))
        take_grant(o, owner);
    else if (monitor_is(line, "\"lpop\" \"" QUEUE "\"", owner))
        o->popped++;
}

/* Returns NULL, or `lock` if that cannot be done. */
static void *add_ours(void *lock)
{
    char text[32];

    for (int i = 0; i < TIMES; i++) {
        if (hf_lock_acquire(lock, NULL, NULL) != HF_OK)
            return lock;
        (void)snprintf(text, sizeof text, "%s", server_ask(server, "GET sum"));
        server_ask(server, "SET sum %ld", atol(text) + 1);
        if (hf_lock_release(lock, hf_owner_thread(), NULL) != HF_OK)
            return lock;
    }
    return NULL;
}

static void await_waiters(int count)
{
    char expected[12];

    (void)snprintf(expected, sizeof expected, "%d", count);
    server_await(server, TOLD_MS, expected, "LLEN " QUEUE);
}

START_TEST(a_thousand_grants_are_in_the_order_of_arrival)
{
    struct hf_lock *lock = lock_on(HF_KIND_FAIR, NAME);
    struct order order = {0};
    pthread_t threads[THREADS];
    void *trouble;

    server_ask(server, "SET sum 0");
    monitor_begin();
    ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
    for (int i = 0; i < THREADS; i++) {
        driver_tell(java, i + 1, "add fair " NAME " sum %d", TIMES);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, add_ours, lock), 0);
    }
    await_waiters(2 * THREADS);
    release(lock);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_str_eq(driver_answer(java, i + 1, DRIVER_MS), "ok");
        ck_assert_int_eq(pthread_join(threads[i], &trouble), 0);
        ck_assert_ptr_null(trouble);
    }
    monitor_end(take_line, &order);
    (void)printf("fair: %d grants, %d of them waited for, %d from one side to "
                 "the other\n",
                 order.grants, order.from_queue, order.handed_over);
    ck_assert_int_eq(atol(server_ask(server, "GET sum")), GRANTS);
    ck_assert_int_eq(order.grants, GRANTS + 1);
    ck_assert_int_eq(order.count, 0);
    /* No place was dropped. */
    ck_assert_int_eq(order.popped, order.from_queue + order.popped_nothing);
    ck_assert_int_ge(order.from_queue, GRANTS / 2);
    server_await(server, TOLD_MS, "0", "EXISTS " NAME " " QUEUE " " PLACES);
    hf_lock_free(lock);
}
END_TEST

/* ---- behind a dead waiter ---- */

/* docs/kinds.md: a dead waiter of holdfast keeps its place for its own time, here the
 * watchdog's, one of Redisson from when the TTL ends that the lock had when it came. From
 * then on the next one is served when it asks: Redisson's all the time, one of holdfast
 * four times a second. */
#define HELD_MS 2000
#define DEAD_WAIT_MS 1500
#define ASK_MS 250
/* A busy machine. */
#define SLACK_MS 1000
#define ROUNDED_MS 5

static void exec_waiter(void)
{
    char url[SERVER_URL_MAX], wait[16], ttl[16];

    server_url(server, url);
    (void)snprintf(wait, sizeof wait, "%dms", DEAD_WAIT_MS);
    (void)snprintf(ttl, sizeof ttl, "%dms", DEAD_WAIT_MS); /* no more than that */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl(HF_BUILD "/holdfast", "holdfast", "run", "-q", "-u", url, "--fair",
          "--wait", wait, "--ttl", ttl, NAME, "true", NULL);
    _exit(127);
}

static void kill_waiter_of_ours(struct hf_lock *lock)
{
    pid_t pid;

    acquire_for(lock, HELD_MS);
    if ((pid = fork()) == 0)
        exec_waiter();
    ck_assert_int_gt(pid, 0);
    await_waiters(1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void kill_waiter_of_redisson(struct hf_lock *lock)
{
    struct driver *other = driver_start(server, THEIR_WATCHDOG_MS);

    /* Ready to ask: it has loaded what it needs. */
    ck_assert_str_eq(driver_ask(other, 1, "wait fair %s:0 10", NAME), "true");
    ck_assert_str_eq(driver_ask(other, 1, "unlock fair %s:0", NAME), "ok");
    acquire_for(lock, HELD_MS);
    driver_tell(other, 1, "wait fair " NAME " %d", DEAD_WAIT_MS);
    await_waiters(1);
    driver_kill(other);
    driver_stop(other);
}

static void *acquire_and_release(void *lock)
{
    if (acquire_within(lock, TOLD_MS) != HF_OK)
        return lock;
    return hf_lock_release(lock, hf_owner_thread(), NULL) == HF_OK ? NULL : lock;
}

/* The lock is released as soon as they wait, so it is free while the dead one's place
 * is honoured. */
static void serve_redisson(struct hf_lock *lock)
{
    driver_tell(java, 1, "acquire fair " NAME);
    await_waiters(2);
    (void)hf_lock_release(lock, hf_owner_thread(), NULL);
    ck_assert_told("ok", 1);
    ck_assert_java("ok", 1, "unlock fair " NAME);
}

static void serve_ours(struct hf_lock *lock)
{
    pthread_t thread;
    void *trouble;

    ck_assert_int_eq(
        pthread_create(&thread, NULL, acquire_and_release, lock), 0);
    await_waiters(2);
    (void)hf_lock_release(lock, hf_owner_thread(), NULL);
    ck_assert_int_eq(pthread_join(thread, &trouble), 0);
    ck_assert_ptr_null(trouble);
}

struct grants {
    int64_t ms[4];
    int count;
};

static void note_grant(void *ctx, const char *line)
{
    struct grants *g = ctx;
    char owner[MONITOR_OWNER_ROOM];

    if (!monitor_is(line, "\"hset\" \"" NAME "\"", owner))
        return;
    ck_assert_int_lt(g->count, 4);
    g->ms[g->count++] = monitor_ms(line);
}

static int64_t head_until_ms(void)
{
    const char *answer = server_ask(server, "ZRANGE " PLACES " 0 0 WITHSCORES");

    ck_assert_ptr_nonnull(strchr(answer, ' '));
    return atoll(strchr(answer, ' '));
}

START_TEST(next_waiter_is_served_when_the_place_of_a_dead_one_ends)
{
    struct hf_lock *lock = lock_on(HF_KIND_FAIR, NAME);
    bool dead_is_ours = _i / 2 == 0, next_is_ours = _i % 2 == 0;
    struct grants grants = {0};
    int64_t until_ms, promised_ms;

    monitor_begin();
    (dead_is_ours ? kill_waiter_of_ours : kill_waiter_of_redisson)(lock);
    until_ms = head_until_ms();
    (next_is_ours ? serve_ours : serve_redisson)(lock);
    monitor_end(note_grant, &grants);
    ck_assert_int_eq(grants.count, 2);
    promised_ms = grants.ms[0] + (dead_is_ours ? 0 : HELD_MS) + DEAD_WAIT_MS;
    (void)printf("fair: %s waiter dies, %s is next, %" PRId64
                 " ms after the end of its place\n",
                 dead_is_ours ? "our" : "Redisson's",
                 next_is_ours ? "ours" : "Redisson's",
                 grants.ms[1] - until_ms);
    ck_assert_int_le(until_ms, promised_ms + (dead_is_ours ? HELD_MS : ROUNDED_MS));
    /* Redisson's own clock, from before it asks. */
    ck_assert_int_ge(until_ms,
                     promised_ms - (dead_is_ours ? ROUNDED_MS : SLACK_MS));
    ck_assert_int_ge(grants.ms[1], until_ms);
    ck_assert_int_le(grants.ms[1], until_ms + ASK_MS + SLACK_MS);
    server_await(server, TOLD_MS, "0", "EXISTS " NAME " " QUEUE " " PLACES);
    hf_lock_free(lock);
}
END_TEST

TCase *fair_order_case(void)
{
    TCase *tc = both_case("fair-order");

    tcase_add_test(tc, a_thousand_grants_are_in_the_order_of_arrival);
    tcase_add_loop_test(
        tc, next_waiter_is_served_when_the_place_of_a_dead_one_ends, 0, 4);
    return tc;
}
