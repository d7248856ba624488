/* The order of a fair lock beside waiters that stay, time out, are cancelled and are
 * killed: threads of holdfast and of Redisson. What the server did is read from MONITOR. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "tests/redisson/both.h"
#include "tests/redisson/monitor.h"
#include "tests/support/lateness.h"

#define NAME "fair:mix"
#define QUEUE "redisson_lock_queue:{" NAME "}"
#define PLACES "redisson_lock_timeout:{" NAME "}"

/* ---- what the server did ---- */

/* The watchdog's time is 30 s / 20, so the longest hold is that of 90 s. */
#define MIX_WATCHDOG_MS 1500
#define MIX_LONGEST_MS 4500
#define MIX_THREADS 3           /* of each side */
#define MIX_WAITERS 64
/* HF_FAIR_GRANTS asks for more. */
#define MIX_GRANTS 240

struct mix {
    char waiting[MIX_WAITERS][MONITOR_OWNER_ROOM];
    int64_t came_ms[MIX_WAITERS];
    int64_t ends_ms[MIX_WAITERS];       /* of its wait, if it is Redisson's */
    int64_t last_ms[MIX_WAITERS];       /* the server received its last acquire */
    int count, grants, from_queue, left, dropped, late, silent;
    int64_t now_ms, wait_ends_ms, popped_ends_ms, popped_came_ms, popped_ms, popped_last_ms;
    char popped[MONITOR_OWNER_ROOM];    /* by a grant, or because it was stale */
    char granted[MONITOR_OWNER_ROOM];   /* and not popped yet */
    char killed[4][40];                 /* the UUIDs of processes */
    int kills, unguarded;
    bool popped_unguarded;
    char theirs[40];                    /* the UUID of Redisson's process */
};

static bool is_killed(const struct mix *m, const char *owner)
{
    for (int i = 0; i < m->kills; i++)
        if (strncmp(owner, m->killed[i], 36) == 0)
            return true;
    return false;
}

static bool is_ours(const struct mix *m, const char *owner)
{
    return strncmp(owner, m->theirs, 36) != 0 && !is_killed(m, owner);
}

/* docs/kinds.md: the order is certain while a waiter of holdfast waits. Without one, a
 * grant of Redisson takes its whole wait off the places behind it, and then Redisson drops
 * a live waiter with a short wait. */
static bool is_unguarded(const struct mix *m, const char *popped)
{
    for (int i = 0; i < m->count; i++)
        if (is_ours(m, m->waiting[i]))
            return false;
    return !is_ours(m, popped);
}

/* A waiter of holdfast has a place for the watchdog's time after its last acquire. It
 * sends one in each third of that; a late machine may not. */
static bool is_silent(const struct mix *m)
{
    return is_ours(m, m->popped) && m->popped_ms - m->popped_last_ms >= MIX_WATCHDOG_MS;
}

/* A place that was popped and not granted: its waiter must be dead. */
static void settle_popped(struct mix *m)
{
    bool is_dead = is_killed(m, m->popped) || m->popped_ms >= m->popped_ends_ms ||
                   m->popped_unguarded || is_silent(m);

    if (!*m->popped)
        return;
    if (!is_dead)
        monitor_tail();
    ck_assert_msg(is_dead,
                  "after %d grants, %s has lost its place, %" PRId64 " ms after it came, "
                  "%" PRId64 " ms before the end of its wait",
                  m->grants, m->popped, m->popped_ms - m->popped_came_ms,
                  m->popped_ends_ms - m->popped_ms);
    if (is_killed(m, m->popped))
        m->dropped++;
    else if (m->popped_ms >= m->popped_ends_ms)
        m->late++;
    else if (is_silent(m))
        m->silent++;
    else
        m->unguarded++;
    *m->popped = '\0';
}

static void take_out(struct mix *m, int i, char *into)
{
    if (into)
        (void)strcpy(into, m->waiting[i]);
    m->popped_ends_ms = m->ends_ms[i];
    m->popped_came_ms = m->came_ms[i];
    m->popped_last_ms = m->last_ms[i];
    m->popped_ms = m->now_ms;
    m->count--;
    memmove(m->waiting[i], m->waiting[i + 1],
            (size_t)(m->count - i) * MONITOR_OWNER_ROOM);
    memmove(&m->came_ms[i], &m->came_ms[i + 1],
            (size_t)(m->count - i) * sizeof m->came_ms[0]);
    memmove(&m->last_ms[i], &m->last_ms[i + 1],
            (size_t)(m->count - i) * sizeof m->last_ms[0]);
    memmove(&m->ends_ms[i], &m->ends_ms[i + 1],
            (size_t)(m->count - i) * sizeof m->ends_ms[0]);
}

static void mix_leaves(struct mix *m, const char *owner)
{
    for (int i = 0; i < m->count; i++)
        if (strcmp(m->waiting[i], owner) == 0) {
            take_out(m, i, NULL);
            m->left++;
            return;
        }
}

/* holdfast writes the hold first, Redisson takes the place first. */
static void mix_granted(struct mix *m, const char *owner)
{
    m->grants++;
    if (strcmp(m->popped, owner) == 0) {
        m->from_queue++;
        *m->popped = '\0';
        return;
    }
    settle_popped(m);
    (void)strcpy(m->granted, owner);
}

static void mix_popped(struct mix *m)
{
    settle_popped(m);
    if (m->count == 0)
        return;
    take_out(m, 0, m->popped);
    m->popped_unguarded = is_unguarded(m, m->popped);
    if (strcmp(m->popped, m->granted) == 0) {
        m->from_queue++;
        *m->popped = *m->granted = '\0';
    }
}

/* Redisson's acquire: KEYS, lease, owner, wait, its clock when it began. Others have no
 * wait there. Its place lasts at least for the wait, by that clock: on a late machine the
 * server receives it much later. */
static void see_wait(struct mix *m, const char *line)
{
    static const char keys[] = "\"" QUEUE "\" \"" PLACES "\" ";
    const char *at = strstr(line, keys);
    long long wait_ms, began_ms;

    m->now_ms = monitor_ms(line);
    if (!at)
        return;
    m->wait_ends_ms = INT64_MAX;
    if (sscanf(at + strlen(keys), "\"%*d\" \"%*[^\"]\" \"%lld\" \"%lld\"", &wait_ms,
               &began_ms) == 2 &&
        began_ms > m->now_ms - 1000000)
        m->wait_ends_ms = began_ms + wait_ms;
}

/* holdfast's acquire: KEYS, owner, hold count to reach. */
static void see_acquire(struct mix *m, const char *line)
{
    char owner[MONITOR_OWNER_ROOM];

    if (!monitor_is(line, "\"" QUEUE "\" \"" PLACES "\"", owner) ||
        !strstr(line, "\" \"1\" \""))
        return;
    for (int i = 0; i < m->count; i++)
        if (strcmp(m->waiting[i], owner) == 0)
            m->last_ms[i] = m->now_ms;
}

static void mix_line(void *ctx, const char *line)
{
    struct mix *m = ctx;
    char owner[MONITOR_OWNER_ROOM];

    if (strstr(line, "that-is-all") || line[0] == 'O') /* OK */
        return;
    see_wait(m, line);
    see_acquire(m, line);
    if (monitor_is(line, "\"rpush\" \"" QUEUE "\"", owner)) {
        settle_popped(m);
        ck_assert_int_lt(m->count, MIX_WAITERS - 1);
        m->came_ms[m->count] = m->last_ms[m->count] = m->now_ms;
        m->ends_ms[m->count] = m->wait_ends_ms;
        (void)strcpy(m->waiting[m->count++], owner);
    } else if (monitor_is(line, "\"hset\" \"" NAME "\"", owner)) {
        mix_granted(m, owner);
    } else if (monitor_is(line, "\"lrem\" \"" QUEUE "\" \"0\"", owner) ||
               monitor_is(line, "\"lrem\" \"" QUEUE "\" \"1\"", owner)) {
        mix_leaves(m, owner);
    } else if (monitor_is(line, "\"lpop\" \"" QUEUE "\"", owner)) {
        mix_popped(m);
    }
}

/* ---- threads of holdfast ---- */

/* A hold is renewed after a third of its TTL. A machine that is late by the rest loses it. */
#define MIX_LATE_MS (MIX_WATCHDOG_MS - MIX_WATCHDOG_MS / 3)
/* The place of a dead waiter lasts that much longer than the hold before it. */
#define DEAD_WAIT_MS 5000
/* The longest time that a thread needs to end after a failed test. */
#define MIX_JOIN_S 90

struct turns {
    struct hf_client *client;
    struct hf_lock *lock;
    int times, lost, unanswered;
    atomic_llong late_ms;       /* of the machine, when the hold was lost; or -1 */
    char trouble[sizeof(struct hf_error) + 100]; /* the first unexpected status */
    struct hf_cancel cancel;
    pthread_t thread;
    bool is_running;
};

/* Static: after a failed assertion the test's stack frame no longer exists, and its
 * threads still run (CK_NOFORK). */
static struct turns mixers[MIX_THREADS];
static atomic_bool mix_stop;

static void note_trouble(struct turns *t, int turn, const char *verb, hf_status rc,
                         const struct hf_error *err)
{
    if (!*t->trouble)
        (void)snprintf(t->trouble, sizeof t->trouble,
                       "turn %d: %s: %s (%s); the machine was late by %lld ms", turn,
                       verb, hf_status_text(rc), rc < 0 ? err->text : "",
                       (long long)lateness_ms(local_now_ms() - MIX_WATCHDOG_MS));
}

static void note_late(struct turns *t)
{
    if (atomic_load(&t->late_ms) < 0)
        atomic_store(&t->late_ms, lateness_ms(local_now_ms() - MIX_WATCHDOG_MS));
}

static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner, enum hf_lost reason)
{
    (void)lock, (void)owner, (void)reason;
    note_late(ctx);
}

static void *cancel_soon(void *ctx)
{
    usleep(3000);
    hf_cancel_fire(ctx);
    return NULL;
}

static hf_status acquire_cancelled(struct turns *t, struct hf_acquire_options *o,
                                   struct hf_error *err)
{
    pthread_t canceller;
    hf_status rc;

    hf_cancel_init(&t->cancel, t->client);
    o->cancel = &t->cancel;
    (void)pthread_create(&canceller, NULL, cancel_soon, &t->cancel);
    rc = hf_lock_acquire(t->lock, o, err);
    (void)pthread_join(canceller, NULL);
    return rc;
}

/* From 1 to 50 ms, or forever. */
static int64_t wait_ms_of(int turn)
{
    return turn % 8 == 3 ? 1 + turn % 50 : HF_FOREVER;
}

static hf_status mix_acquire(struct turns *t, int turn, struct hf_error *err)
{
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.on_lost = on_lost;
    o.ctx = t;
    if (turn % 8 == 3)
        o.wait_ms = wait_ms_of(turn);
    return turn % 8 == 6 ? acquire_cancelled(t, &o, err)
                         : hf_lock_acquire(t->lock, &o, err);
}

/* Only a late machine may lose a hold. */
static void mix_release(struct turns *t, int turn)
{
    struct hf_error err;
    hf_status rc = hf_lock_release(t->lock, hf_owner_thread(), &err);

    if (rc == HF_OK)
        return;
    note_late(t);
    if (rc == HF_LOST && atomic_load(&t->late_ms) >= MIX_LATE_MS)
        t->lost++;
    else
        note_trouble(t, turn, "release", rc, &err);
}

/* A short wait ends with HF_E_NOREPLY if the server has not answered within it, as that
 * of a busy machine may. */
static void mix_refused(struct turns *t, int turn, hf_status rc, const struct hf_error *err)
{
    bool is_short = turn % 8 == 3;

    if ((rc == HF_TIMEOUT && is_short) || (rc == HF_CANCELLED && turn % 8 == 6))
        return;
    if (rc == HF_E_NOREPLY && is_short)
        t->unanswered++;
    else
        note_trouble(t, turn, "acquire", rc, err);
}

static void *mix_ours(void *ctx)
{
    struct turns *t = ctx;

    for (int i = 0; i < t->times && !mix_stop; i++) {
        struct hf_error err;
        hf_status rc;

        atomic_store(&t->late_ms, -1);
        rc = mix_acquire(t, i, &err);
        if (rc == HF_OK) {
            usleep(i % 50 == 30 ? MIX_LONGEST_MS * 1000 : (useconds_t)(i % 4) * 1000);
            mix_release(t, i);
        } else {
            mix_refused(t, i, rc, &err);
        }
    }
    return NULL;
}

static struct hf_client *mix_client(void)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];
    struct hf_client *made;

    hf_client_options_init(&o);
    o.url = server_url(server, url);
    o.watchdog_ms = MIX_WATCHDOG_MS;
    ck_assert_int_eq(hf_client_new(&made, &o, NULL), HF_OK);
    return made;
}

static void mix_begin(struct turns *t, int times)
{
    *t = (struct turns){.times = times, .client = mix_client()};
    ck_assert_int_eq(hf_lock_new_kind(&t->lock, t->client, HF_KIND_FAIR, NAME,
                                      strlen(NAME), NULL),
                     HF_OK);
    ck_assert_int_eq(pthread_create(&t->thread, NULL, mix_ours, t), 0);
    t->is_running = true;
}

static void mix_join(struct turns *t)
{
    (void)pthread_join(t->thread, NULL);
    t->is_running = false;
    hf_lock_free(t->lock);
    hf_client_free(t->client);
}

/* The teardown of each test: threads that a failed assertion left are joined before the
 * next test begins, or before the server stops. */
static void join_left_threads(void)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += MIX_JOIN_S;
    mix_stop = true;
    for (int i = 0; i < MIX_THREADS; i++) {
        if (!mixers[i].is_running)
            continue;
        if (pthread_timedjoin_np(mixers[i].thread, NULL, &until) != 0) {
            (void)fprintf(stderr, "%s failed, and its thread %d does not end: %s\n",
                          "order_is_kept_beside_waiters_that_leave_and_die", i,
                          mixers[i].trouble);
            _exit(EXIT_FAILURE);
        }
        mixers[i].is_running = false;
    }
}

/* The waiter has a place in the queue, or the lock. */
static void await_arrival(const char *owner)
{
    int64_t deadline_ms = local_now_ms() + TOLD_MS;

    while (*server_ask(server, "ZSCORE " PLACES " %s", owner) == '(' && /* nil */
           strcmp(server_ask(server, "HEXISTS " NAME " %s", owner), "1") != 0) {
        ck_assert_msg(local_now_ms() < deadline_ms, "%s does not come", owner);
        local_rest_us(1000);
    }
}

/* `other`, a process of Redisson's, is killed while one of its threads waits: the second
 * one to be granted, as neither releases the lock. */
static void kill_some(struct mix *m, struct driver *other)
{
    char owners[2][MONITOR_OWNER_ROOM];

    for (int i = 0; i < 2; i++) {
        ck_assert_str_eq(driver_ask(other, i + 1, "acquire fair " NAME ":%d", i), "ok");
        (void)snprintf(owners[i], sizeof owners[i], "%s",
                       driver_ask(other, i + 1, "owner"));
    }
    (void)snprintf(m->killed[m->kills++], sizeof m->killed[0], "%.36s", owners[0]);
    for (int thread = 1; thread <= 2; thread++)
        driver_tell(other, thread, "wait fair " NAME " %d", DEAD_WAIT_MS);
    for (int i = 0; i < 2; i++)
        await_arrival(owners[i]);
    driver_kill(other);
    driver_stop(other);
}

/* All of them, before the first assertion about them. */
static struct turns mix_join_all(void)
{
    struct turns sum = {0};

    for (int i = 0; i < MIX_THREADS; i++) {
        mix_join(&mixers[i]);
        sum.lost += mixers[i].lost;
        sum.unanswered += mixers[i].unanswered;
    }
    for (int i = 0; i < MIX_THREADS; i++)
        ck_assert_str_eq(mixers[i].trouble, "");
    return sum;
}

static int lost_of(const char *answer)
{
    char *end;
    long lost = answer ? strtol(answer, &end, 10) : -1;

    ck_assert_msg(lost >= 0 && end != answer && !*end, "Redisson: %s", answer);
    return (int)lost;
}

/* ---- the test ---- */

START_TEST(order_is_kept_beside_waiters_that_leave_and_die)
{
    const char *wanted = getenv("HF_FAIR_GRANTS");
    int grants = wanted ? atoi(wanted) : MIX_GRANTS;
    struct driver *theirs = driver_start(server, MIX_WATCHDOG_MS);
    struct driver *other = driver_start(server, MIX_WATCHDOG_MS);
    static struct mix m;
    struct turns sum;
    int times = grants / (2 * MIX_THREADS), theirs_lost = 0;

    m = (struct mix){.count = 0};
    (void)snprintf(m.theirs, sizeof m.theirs, "%.36s", driver_ask(theirs, 1, "owner"));
    mix_stop = false;
    monitor_begin();
    for (int i = 0; i < MIX_THREADS; i++) {
        mix_begin(&mixers[i], times);
        driver_tell(theirs, i + 1, "mix fair " NAME " %d %d", times, MIX_LONGEST_MS);
    }
    kill_some(&m, other);
    sum = mix_join_all();
    for (int i = 0; i < MIX_THREADS; i++)
        theirs_lost += lost_of(driver_answer(theirs, i + 1, 1000000));
    monitor_end(mix_line, &m);
    (void)printf("fair: %d grants, %d of them waited for, %d left, %d of the dead "
                 "dropped, %d at the end of their wait, %d while none of holdfast waited, "
                 "no others; late machine: %d holds lost, %d of Redisson's, %d places of "
                 "holdfast, %d waits without an answer\n",
                 m.grants, m.from_queue, m.left, m.dropped, m.late, m.unguarded, sum.lost,
                 theirs_lost, m.silent, sum.unanswered);
    ck_assert_int_ge(m.grants, grants / 2);
    ck_assert_int_ge(m.dropped, 1);
    ck_assert_int_le(theirs_lost + m.silent, grants / 100); /* a late machine */
    ck_assert_int_le(sum.unanswered, grants / 8 / 4); /* of our short waits, half */
    driver_stop(theirs);
    server_ask(server, "DEL " QUEUE " " PLACES);
}
END_TEST

TCase *fair_mix_case(void)
{
    TCase *tc = both_case("fair-mix");

    tcase_add_checked_fixture(tc, NULL, join_left_threads);
    tcase_add_test(tc, order_is_kept_beside_waiters_that_leave_and_die);
    return tc;
}
