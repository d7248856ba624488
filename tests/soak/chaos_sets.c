/* A process of make chaos that takes sets of locks, and what has no owner, on servers
 * that know nothing of each other: a quorum on all of them, a multi-lock and its members,
 * an election, a semaphore and latches on the first.
 *
 *     chaos_sets SOURCE HISTORY SEED "URL URL ..." REPLICAS busy|patient [PORT=PROXY...]
 *
 *     chaos_sets act SOURCE HISTORY SEED
 *
 * Arguments and orders are those of chaos_worker. It writes what it asked, what it was
 * told and what it believed; and what is wrong in itself, as "bad ...". A patient one
 * runs when nothing fails: each of its calls must succeed.
 *
 * Blocking calls, a thread for each part, and one that reads the beliefs. A belief is
 * until the time before it was read plus what the library promised, and is never taken
 * back, except by a release: what was promised must hold.
 *
 * "act": the command of a "holdfast run", which believes as long as it lives. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "holdfast.h"
#include "tests/soak/chaos_network.h"
#include "tests/soak/chaos_sets.h"
#include "tests/support/dice.h"

#define MEMBERS 2                   /* of the multi-lock */
#define QUORUM_OWNERS 2
#define LATCH 3                     /* the count of each latch */
/* Beyond the time of a call: members are asked and released one after the other, and the
 * machine is busy. */
#define DUE_US 20000000
#define PATIENT_MS 15000
#define SAMPLE_US 5000
#define LINE_ROOM 400
#define QUIET_MS 40000              /* what goes on in the background ends by then */

static struct {
    const char *source;
    int history;
    struct hf_client *clients[CHAOS_SETS_SERVERS];
    int servers;
    struct hf_quorum *quorum;
    struct hf_multi *multi;
    struct hf_lock *members[MEMBERS], *votes[CHAOS_SETS_SERVERS];
    struct hf_semaphore *semaphore;
    struct hf_election *election;
    atomic_bool is_quiet;
    atomic_ulong calls;
    atomic_int deposed;
    bool is_patient;
    int64_t late_us;                /* the bug "sets" (HF_CHAOS_BUG) */
} w;

static int64_t now_ms(void)
{
    return chaos_now_us() / 1000;
}

static void rest_us(int64_t us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    (void)nanosleep(&t, NULL);
}

/* ---- the history ---- */

/* In one write, so that a process that is killed leaves whole lines. */
static void say(int64_t us, const char *format, ...)
{
    char line[LINE_ROOM];
    int len = snprintf(line, sizeof line, "%" PRId64 " %s ", us, w.source);
    va_list args;

    va_start(args, format);
    len += vsnprintf(line + len, sizeof line - (size_t)len - 1, format, args);
    va_end(args);
    line[len++] = '\n';
    if (write(w.history, line, (size_t)len) != len)
        abort(); /* without a history there is nothing to judge */
}

static void bad(const char *what, hf_status status, const struct hf_error *err)
{
    say(chaos_now_us(), "bad %s: %s: %s", what, hf_status_name(status),
        err && err->status == status ? err->text : "");
}

static unsigned long ask(const char *op, const char *lock, int owner, int64_t wait_ms)
{
    unsigned long call = atomic_fetch_add(&w.calls, 1) + 1;
    int64_t us = chaos_now_us();

    say(us,
        "ask call=%lu op=%s lock=%s kind=plain owner=%s:%d wait=%" PRId64
        " due=%" PRId64,
        call, op, lock, w.source, owner, wait_ms, us + wait_ms * 1000 + DUE_US);
    return call;
}

static void ended(unsigned long call, hf_status status, int64_t token)
{
    char text[40] = "";

    if (token > 0)
        (void)snprintf(text, sizeof text, " token=%" PRId64, token);
    say(chaos_now_us(), "end call=%lu status=%s%s", call, hf_status_name(status), text);
}

/* ---- beliefs ---- */

/* One owner's, in one lock: what is promised for it. */
struct belief {
    const char *lock;
    int owner;
    int64_t (*safe_ms)(int owner);
    pthread_mutex_t mutex;          /* of what follows */
    bool is_held;
    int64_t until_us;
};

static int64_t quorum_safe(int owner)
{
    return hf_quorum_safe_ms(w.quorum, owner);
}

static int64_t multi_safe(int owner)
{
    return hf_multi_safe_ms(w.multi, owner);
}

static int64_t member_safe(int owner)
{
    return hf_lock_safe_ms(w.members[0], owner);
}

static int64_t election_safe(int owner)
{
    (void)owner;
    return hf_election_safe_ms(w.election);
}

#define MULTI_OWNER 11
#define MEMBER_OWNER 12
#define LEADER 13

static struct belief beliefs[] = {
    {CHAOS_SETS_QUORUM, 1, quorum_safe, PTHREAD_MUTEX_INITIALIZER, false, 0},
    {CHAOS_SETS_QUORUM, 2, quorum_safe, PTHREAD_MUTEX_INITIALIZER, false, 0},
    {CHAOS_SETS_MEMBER "0", MULTI_OWNER, multi_safe, PTHREAD_MUTEX_INITIALIZER, false, 0},
    {CHAOS_SETS_MEMBER "1", MULTI_OWNER, multi_safe, PTHREAD_MUTEX_INITIALIZER, false, 0},
    {CHAOS_SETS_MEMBER "0", MEMBER_OWNER, member_safe, PTHREAD_MUTEX_INITIALIZER, false, 0},
    {CHAOS_SETS_LEADER, LEADER, election_safe, PTHREAD_MUTEX_INITIALIZER, false, 0},
};

#define BELIEFS (sizeof beliefs / sizeof *beliefs)

static void say_safe(struct belief *b, int64_t us, int64_t until_us)
{
    say(us, "safe lock=%s kind=plain owner=%s:%d until=%" PRId64, b->lock, w.source,
        b->owner, until_us);
    b->until_us = until_us;
}

static void sample(struct belief *b)
{
    int64_t us = chaos_now_us(), until_us, safe_ms;

    pthread_mutex_lock(&b->mutex);
    safe_ms = b->is_held ? b->safe_ms(b->owner) : 0;
    until_us = us + safe_ms * 1000;
    if (safe_ms > 0 && until_us > b->until_us + 2000)
        say_safe(b, us, until_us);
    pthread_mutex_unlock(&b->mutex);
}

/* From now on `owner` believes, or acts no longer. */
static void believe(int owner, bool is_held)
{
    for (size_t i = 0; i < BELIEFS; i++) {
        struct belief *b = &beliefs[i];

        if (b->owner != owner)
            continue;
        pthread_mutex_lock(&b->mutex);
        b->is_held = is_held;
        if (!is_held && b->until_us > chaos_now_us())
            say_safe(b, chaos_now_us(), w.late_us ? chaos_now_us() + w.late_us : 0);
        if (!is_held)
            b->until_us = 0;
        pthread_mutex_unlock(&b->mutex);
        sample(b);
    }
}

static void *sample_all(void *ctx)
{
    for (;;) {
        for (size_t i = 0; i < BELIEFS; i++)
            sample(&beliefs[i]);
        rest_us(SAMPLE_US);
    }
    return ctx;
}

/* ---- one thread's life ---- */

struct life {
    int owner;
    uint64_t seed;
    void (*once)(struct life *l);
};

static void rest(struct life *l, int64_t most_ms)
{
    rest_us((int64_t)dice_of(&l->seed, (uint64_t)most_ms * 1000));
}

static int64_t any_wait(struct life *l)
{
    return w.is_patient ? PATIENT_MS : (int64_t)dice_of(&l->seed, 2000);
}

static struct hf_acquire_options wish(struct life *l)
{
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = l->owner;
    o.wait_ms = any_wait(l);
    if (dice_of(&l->seed, 4) == 0)
        o.lease_ms = 400 + (int64_t)dice_of(&l->seed, 3000);
    return o;
}

/* Calls of a patient process must succeed. */
static void check(const char *what, hf_status status, const struct hf_error *err)
{
    if (w.is_patient && status != HF_OK)
        bad(what, status, err);
}

/* One hold in thirty is longer than the lease. */
static void hold(struct life *l)
{
    believe(l->owner, true);
    rest(l, w.is_patient || dice_of(&l->seed, 30) ? 150 : 5000);
    believe(l->owner, false);
}

static void take_quorum(struct life *l)
{
    struct hf_acquire_options o = wish(l);
    unsigned long call = ask("acquire", CHAOS_SETS_QUORUM, l->owner, o.wait_ms);
    struct hf_error err;
    hf_status rc = hf_quorum_acquire(w.quorum, &o, &err);

    ended(call, rc, rc == HF_OK ? hf_quorum_token(w.quorum, l->owner) : 0);
    check("acquire of a quorum", rc, &err);
    if (rc != HF_OK)
        return;
    hold(l);
    call = ask("release", CHAOS_SETS_QUORUM, l->owner, 0);
    rc = hf_quorum_release(w.quorum, l->owner, &err);
    ended(call, rc, 0);
}

static void take_multi(struct life *l)
{
    struct hf_acquire_options o = wish(l);
    unsigned long call = ask("acquire", CHAOS_SETS_MULTI, l->owner, o.wait_ms);
    struct hf_error err;
    hf_status rc = hf_multi_acquire(w.multi, &o, &err);

    ended(call, rc, 0);
    check("acquire of a multi-lock", rc, &err);
    if (rc != HF_OK)
        return;
    hold(l);
    call = ask("release", CHAOS_SETS_MULTI, l->owner, 0);
    rc = hf_multi_release(w.multi, l->owner, &err);
    ended(call, rc, 0);
}

static void take_member(struct life *l)
{
    struct hf_acquire_options o = wish(l);
    unsigned long call = ask("acquire", CHAOS_SETS_MEMBER "0", l->owner, o.wait_ms);
    struct hf_error err;
    hf_status rc = hf_lock_acquire(w.members[0], &o, &err);

    ended(call, rc, 0);
    check("acquire of a member", rc, &err);
    if (rc == HF_OK) {
        hold(l);
        call = ask("release", CHAOS_SETS_MEMBER "0", l->owner, 0);
        rc = hf_lock_release(w.members[0], l->owner, &err);
        ended(call, rc, 0);
    }
    rest(l, 200);
}

/* ---- the election ---- */

static void on_deposed(void *ctx, struct hf_election *election, enum hf_lost reason)
{
    (void)ctx, (void)election, (void)reason;
    atomic_fetch_add(&w.deposed, 1);
}

/* A candidate is one for a while; a leader leaves by itself. */
static void stand(struct life *l)
{
    struct hf_election_options o = {.size = sizeof o, .on_deposed = on_deposed};
    int64_t until_ms = now_ms() + 200 + (int64_t)dice_of(&l->seed, 1500);
    struct hf_election *election = w.election;
    struct hf_lock *lock = NULL;
    unsigned long call;

    if (hf_lock_new_kind(&lock, w.clients[0], HF_KIND_PLAIN, CHAOS_SETS_LEADER,
                         strlen(CHAOS_SETS_LEADER), NULL) < 0 ||
        hf_election_join(&election, lock, &o, NULL) < 0)
        abort();
    w.election = election;
    hf_lock_free(lock);
    believe(LEADER, true);
    while (now_ms() < until_ms)
        rest_us(5000);
    believe(LEADER, false);
    call = ask("release", CHAOS_SETS_LEADER, LEADER, 0);
    ended(call, hf_election_leave(election, NULL), 0);
}

/* ---- the semaphore ---- */

static void give_permit(void)
{
    unsigned long call = ask("release", CHAOS_SETS_SEMAPHORE, 0, 0);
    hf_status rc;

    do /* what was not done is tried again; what is unknown is repeated by the client */
        rc = hf_semaphore_release(w.semaphore, 1, NULL);
    while (rc == HF_E_SERVER || rc == HF_E_AUTH || rc == HF_E_LIMIT);
    ended(call, rc, 0);
}

static void take_permit(struct life *l)
{
    int64_t wait_ms = any_wait(l);
    unsigned long call = ask("acquire", CHAOS_SETS_SEMAPHORE, 0, wait_ms);
    struct hf_error err;
    hf_status rc = hf_semaphore_acquire(w.semaphore, 1, wait_ms, NULL, &err);

    ended(call, rc, 0);
    check("acquire of a permit", rc, &err);
    if (rc == HF_OK || rc == HF_UNREPLICATED) {
        rest(l, 100);
        give_permit();
    }
    rest(l, 100);
}

/* ---- latches ---- */

struct awaiting {
    struct hf_latch *latch;
    int64_t wait_ms;
    atomic_bool may_open;           /* the last count down was begun */
    bool is_known;                  /* each of them was counted */
};

static void *await_latch(void *ctx)
{
    struct awaiting *a = ctx;
    unsigned long call = ask("await", CHAOS_SETS_LATCH, 0, a->wait_ms);
    struct hf_error err;
    hf_status rc = hf_latch_await(a->latch, a->wait_ms, NULL, &err);

    if (rc == HF_OK && !atomic_load(&a->may_open))
        bad("a latch opened before its count was down", rc, &err);
    if (rc == HF_TIMEOUT && a->is_known)
        bad("a latch did not open", rc, &err);
    ended(call, rc, 0);
    return NULL;
}

/* False: it is not known to be counted. */
static bool count_down(struct hf_latch *latch)
{
    hf_status rc;

    do
        rc = hf_latch_count_down(latch, NULL);
    while (rc == HF_E_SERVER || rc == HF_E_AUTH || rc == HF_E_LIMIT);
    return rc == HF_OK;
}

static bool is_set(struct hf_latch *latch)
{
    bool was_set = false;
    int tries = 0;
    hf_status rc;

    do
        rc = hf_latch_try_set_count(latch, LATCH, &was_set, NULL);
    while (rc != HF_OK && tries++ < 20);
    return rc == HF_OK; /* or by a try whose outcome was unknown */
}

static void use_latch(struct life *l)
{
    static atomic_int numbers;
    struct awaiting a = {.wait_ms = PATIENT_MS * 2, .is_known = true};
    char name[100];
    pthread_t thread;

    (void)snprintf(name, sizeof name, CHAOS_SETS_LATCH "%s:%d", w.source,
                   atomic_fetch_add(&numbers, 1));
    if (hf_latch_new(&a.latch, w.clients[0], name, strlen(name), NULL) < 0)
        abort();
    if (is_set(a.latch) && pthread_create(&thread, NULL, await_latch, &a) == 0) {
        rest(l, 300);
        for (int i = 0; i < LATCH; i++) {
            if (i == LATCH - 1)
                atomic_store(&a.may_open, true);
            if (!count_down(a.latch))
                a.is_known = false;
        }
        (void)pthread_join(thread, NULL);
    }
    hf_latch_free(a.latch);
    rest(l, 500);
}

/* ---- all of it ---- */

static struct life lives[] = {
    {1, 0, take_quorum}, {2, 0, take_quorum},        {MULTI_OWNER, 0, take_multi},
    {MEMBER_OWNER, 0, take_member}, {LEADER, 0, stand}, {0, 0, take_permit},
    {0, 0, use_latch},
};

#define LIVES (sizeof lives / sizeof *lives)

static void *live(void *ctx)
{
    struct life *l = ctx;

    while (!atomic_load(&w.is_quiet)) {
        l->once(l);
        rest(l, 60);
    }
    return NULL;
}

static void open_client(int i, const char *url)
{
    struct hf_client_options o;

    hf_client_options_init(&o);
    o.url = url;
    o.name = "chaos";
    o.watchdog_ms = CHAOS_WATCHDOG_MS;
    /* A patient call must succeed, also on a machine with much else to do. */
    o.request_timeout_ms = w.is_patient ? PATIENT_MS : CHAOS_REQUEST_MS;
    if (hf_client_new(&w.clients[i], &o, NULL) < 0 ||
        hf_lock_new_kind(&w.votes[i], w.clients[i], HF_KIND_FENCED, CHAOS_SETS_QUORUM,
                         strlen(CHAOS_SETS_QUORUM), NULL) < 0)
        abort();
}

static void open_sets(void)
{
    for (int i = 0; i < MEMBERS; i++) {
        char name[] = CHAOS_SETS_MEMBER "0";

        name[sizeof name - 2] = (char)('0' + i);
        if (hf_lock_new_kind(&w.members[i], w.clients[0], HF_KIND_PLAIN, name,
                             strlen(name), NULL) < 0)
            abort();
    }
    if (hf_quorum_new(&w.quorum, w.votes, (size_t)w.servers, NULL) < 0 ||
        hf_multi_new(&w.multi, w.members, MEMBERS, NULL) < 0 ||
        hf_semaphore_new(&w.semaphore, w.clients[0], CHAOS_SETS_SEMAPHORE,
                         strlen(CHAOS_SETS_SEMAPHORE), NULL) < 0)
        abort();
}

static void open_all(char *urls)
{
    for (char *at = strtok(urls, " "); at; at = strtok(NULL, " "))
        open_client(w.servers++, at);
    open_sets();
    say(chaos_now_us(), "start id=%s", hf_client_uuid(w.clients[0]));
}

static bool is_done(void)
{
    for (int i = 0; i < w.servers; i++) {
        struct hf_client_stats stats;

        hf_client_get_stats(w.clients[i], &stats);
        if (stats.orphans > 0 || stats.holds > 0)
            return false;
    }
    return true;
}

/* What goes on in the background ends, too. */
static void be_quiet(pthread_t *threads)
{
    int64_t until_ms = now_ms() + QUIET_MS;

    atomic_store(&w.is_quiet, true);
    for (size_t i = 0; i < LIVES; i++)
        (void)pthread_join(threads[i], NULL);
    while (!is_done() && now_ms() < until_ms)
        rest_us(10000);
    if (!is_done())
        bad("holds or releases are left", HF_OK, NULL);
    (void)!write(STDOUT_FILENO, "idle\n", 5);
}

static void obey(pthread_t *threads)
{
    char order;

    while (read(STDIN_FILENO, &order, 1) == 1)
        if (order == 'q')
            be_quiet(threads);
        else
            (void)!write(STDOUT_FILENO, "said\n", 5);
}

/* ---- a command that holdfast guards ---- */

static volatile sig_atomic_t is_terminated;

static void on_sigterm(int number)
{
    (void)number;
    is_terminated = true;
}

/* That it was alive, and believed: `since_us` to `until_us`. */
static void say_alive(int64_t since_us, int64_t until_us)
{
    say(since_us, "safe lock=" CHAOS_SETS_RUN " kind=plain owner=%s:1 until=%" PRId64,
        w.source, until_us);
}

/* What is said has been: no line claims a moment before that moment has passed, for the
 * next command may begin as soon as this one has ended. The last CHAOS_SETS_GRACE_US are
 * said by one that ends in order, and not by one that is killed. */
static void act_until(int64_t end_us)
{
    int64_t us = chaos_now_us(), said_us = us;

    while (us < end_us && !is_terminated) {
        rest_us(SAMPLE_US);
        us = chaos_now_us();
        if (us - CHAOS_SETS_GRACE_US > said_us) {
            say_alive(said_us, us - CHAOS_SETS_GRACE_US);
            said_us = us - CHAOS_SETS_GRACE_US;
        }
    }
    say_alive(said_us, chaos_now_us());
}

static int act(char **argv)
{
    uint64_t seed = strtoull(argv[4], NULL, 10) | 1;
    int64_t us = chaos_now_us();

    (void)signal(SIGTERM, on_sigterm);
    w.source = argv[2];
    w.history = open(argv[3], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (w.history < 0)
        return 2;
    say(us - 1, "start id=00000000-0000-0000-0000-%012d", (int)getpid());
    act_until(us + (int64_t)dice_of(&seed, dice_of(&seed, 6) ? 1000000 : 8000000));
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[LIVES], sampler;
    uint64_t seed;

    if (argc == 5 && strcmp(argv[1], CHAOS_SETS_ACT) == 0)
        return act(argv);
    if (argc < 7)
        return 2;
    w.source = argv[1];
    w.history = open(argv[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    seed = strtoull(argv[3], NULL, 10) | 1;
    if (w.history < 0)
        return 2;
    w.is_patient = strcmp(argv[6], "patient") == 0;
    network_ports(argv + 7, argc - 7);
    if (getenv("HF_CHAOS_BUG"))
        w.late_us = CHAOS_BELIEF_MS * 1000;
    open_all(argv[4]);
    for (size_t i = 0; i < LIVES; i++) {
        lives[i].seed = dice_bits(&seed);
        if (pthread_create(&threads[i], NULL, live, &lives[i]) != 0)
            return 2;
    }
    if (pthread_create(&sampler, NULL, sample_all, NULL) != 0)
        return 2;
    obey(threads);
    for (int i = 0; i < w.servers; i++)
        (void)hf_client_close(w.clients[i], CHAOS_REQUEST_MS, NULL, NULL);
    _exit(0); /* the sampler reads what would be freed */
}
