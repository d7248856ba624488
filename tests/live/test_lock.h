/* What the live tests of lock/ share: clients, calls that do not block, and
 * notes of what callbacks said. */
#ifndef TEST_LIVE_LOCK_H
#define TEST_LIVE_LOCK_H

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lock/lock.h"
#include "tests/support/local.h"
#include "tests/support/promise.h"
#include "tests/support/server.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

/* A deadline of the library that a busy machine also meets. */
#define LONG_MS 10000
/* How long a test awaits an event. Less than the TTL of a lock with the default watchdog, so
 * that its expiry is not taken for its release. */
#define AWAIT_MS 20000
/* A request timeout that a call before the fault keeps also on a busy machine. */
#define SET_UP_MS 2000
/* Long enough for what should not happen to happen. */
#define A_MOMENT_MS 100

/* Of a hold that must not be lost, on a machine that may stall for 2 s: it is renewed each
 * 1.5 s. */
#define STEADY_WATCHDOG_MS 4500

/* Of a hold whose end is to be told while the server still has it: a hundredth
 * of it lies between (lock/machine/claims.h). */
#define TOLD_WATCHDOG_MS 3000

#define NAME "order:42"
#define CHANNEL "redisson_lock__channel:{order:42}"

/* ---- clients ---- */

/* NULL, or how to speak TLS: over_tls.sh names a folder for it. */
static inline const struct hf_tls_options *tls_wanted(void)
{
    static struct hf_tls_options tls;
    const char *folder = getenv("HF_TEST_TLS");

    if (!folder)
        return NULL;
    (void)snprintf(tls.ca_file, sizeof tls.ca_file, "%s/ca", folder);
    (void)snprintf(tls.cert_file, sizeof tls.cert_file, "%s/client", folder);
    return &tls;
}

static inline void client_options(struct hf_client_options *o, char *url,
                                  int port)
{
    hf_client_options_init(o);
    o->tls = tls_wanted();
    (void)snprintf(url, SERVER_URL_MAX, "%s://127.0.0.1:%d",
                   o->tls ? "rediss" : "redis", port);
    o->url = url;
}

static inline struct hf_client *client_with(const struct hf_client_options *o)
{
    struct hf_client *client = NULL;
    struct hf_error err = {0};

    ck_assert_msg(hf_client_new(&client, o, &err) == HF_OK, "%s", err.text);
    return client;
}

/* A client with all defaults. */
static inline struct hf_client *client_to(int port)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, port);
    return client_with(&o);
}

/* One whose watchdog and requests have so long. */
static inline struct hf_client *client_timed(int port, int64_t watchdog_ms,
                                             int64_t request_timeout_ms)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, port);
    o.watchdog_ms = watchdog_ms;
    o.request_timeout_ms = request_timeout_ms;
    return client_with(&o);
}

static inline struct hf_client_stats stats_of(struct hf_client *client)
{
    struct hf_client_stats stats;

    hf_client_get_stats(client, &stats);
    return stats;
}

static inline struct hf_lock *lock_named(struct hf_client *client,
                                         const void *name, size_t len)
{
    struct hf_lock *lock = NULL;
    struct hf_error err = {0};

    ck_assert_msg(hf_lock_new(&lock, client, name, len, &err) == HF_OK, "%s",
                  err.text);
    return lock;
}

static inline struct hf_lock *lock_of(struct hf_client *client,
                                      const char *name)
{
    return lock_named(client, name, strlen(name));
}

/* A kind of each script that acquires a lock for an owner. */
static const enum hf_lock_kind lock_kinds[] = {
    HF_KIND_PLAIN, HF_KIND_FAIR, HF_KIND_READ, HF_KIND_WRITE, HF_KIND_VALUE,
    HF_KIND_FENCED, HF_KIND_SPIN};

static inline struct hf_lock *lock_of_kind(struct hf_client *client,
                                           enum hf_lock_kind kind, const char *name)
{
    struct hf_lock *lock = NULL;
    struct hf_error err = {0};

    ck_assert_msg(hf_lock_new_kind(&lock, client, kind, name, strlen(name), &err) == HF_OK,
                  "%s", err.text);
    return lock;
}

/* Until the watchdog of this client has renewed a hold once more. */
static inline void await_next_renewal(struct hf_client *client)
{
    uint64_t renewals = stats_of(client).renewals;
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    while (stats_of(client).renewals == renewals) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
}

/* ---- calls that succeed ---- */

static inline struct hf_acquire_options acquire_options(int64_t owner)
{
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = owner;
    return o;
}

#define ck_assert_ok(call)                                                    \
    do {                                                                      \
        hf_status ok_status = (call);                                         \
        ck_assert_msg(ok_status == HF_OK, #call ": %s",                       \
                      hf_status_name(ok_status));                             \
    } while (0)

#define ck_assert_status(call, expected)                                      \
    do {                                                                      \
        hf_status real_status = (call);                                       \
        ck_assert_msg(real_status == (expected), #call ": %s, not %s",        \
                      hf_status_name(real_status),                            \
                      hf_status_name(expected));                              \
    } while (0)

static inline void acquire(struct hf_lock *lock, int64_t owner)
{
    struct hf_acquire_options o = acquire_options(owner);
    struct hf_error err = {0};
    hf_status rc = hf_lock_acquire(lock, &o, &err);

    ck_assert_msg(rc == HF_OK, "acquire: %s: %s", hf_status_name(rc),
                  err.text);
}

static inline void acquire_for(struct hf_lock *lock, int64_t owner,
                               int64_t lease_ms)
{
    struct hf_acquire_options o = acquire_options(owner);
    struct hf_error err = {0};
    hf_status rc;

    o.lease_ms = lease_ms;
    rc = hf_lock_acquire(lock, &o, &err);
    ck_assert_msg(rc == HF_OK, "acquire: %s: %s", hf_status_name(rc),
                  err.text);
}

static inline hf_status try_acquire(struct hf_lock *lock, int64_t owner,
                                    struct hf_error *err)
{
    struct hf_acquire_options o = acquire_options(owner);

    o.wait_ms = 0;
    return hf_lock_acquire(lock, &o, err);
}

/* Waits until options->wait_ms has expired. If the machine stalled for that time, the call had
 * no reply, and the test waits again. */
static inline void must_time_out(struct hf_lock *lock, const struct hf_acquire_options *options)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;
    hf_status rc;

    do
        rc = hf_lock_acquire(lock, options, NULL);
    while (rc == HF_E_NOREPLY && local_now_ms() < deadline_ms);
    ck_assert_status(rc, HF_TIMEOUT);
}

/* For a client whose request timeout is short because of what its test measures. A
 * busy machine may take longer to connect. */
static inline void connect_patiently(struct hf_client *of)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;
    struct hf_error err = {0};

    while (hf_client_connect(of, &err) < 0)
        ck_assert_msg(local_now_ms() < deadline_ms, "%s", err.text);
}

static inline void release(struct hf_lock *lock, int64_t owner)
{
    struct hf_error err = {0};
    hf_status rc = hf_lock_release(lock, owner, &err);

    ck_assert_msg(rc == HF_OK, "release: %s: %s", hf_status_name(rc),
                  err.text);
}

/* ---- what another thread does, awaited ---- */

struct note {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

static inline void note_init(struct note *n)
{
    (void)pthread_mutex_init(&n->mutex, NULL);
    local_cond_init(&n->changed);
}

static inline void note_add(struct note *n, int *counter)
{
    (void)pthread_mutex_lock(&n->mutex);
    ++*counter;
    (void)pthread_cond_broadcast(&n->changed);
    (void)pthread_mutex_unlock(&n->mutex);
}

static inline int note_read(struct note *n, const int *counter)
{
    int value;

    (void)pthread_mutex_lock(&n->mutex);
    value = *counter;
    (void)pthread_mutex_unlock(&n->mutex);
    return value;
}

/* Until the counter is at least `count`; fails the test after AWAIT_MS. */
static inline void note_await(struct note *n, const int *counter, int count,
                              const char *what)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;
    bool in_time = true;

    (void)pthread_mutex_lock(&n->mutex);
    while (*counter < count && in_time)
        in_time = local_cond_wait(&n->changed, &n->mutex, deadline_ms);
    (void)pthread_mutex_unlock(&n->mutex);
    ck_assert_msg(in_time, "%s did not come in time", what);
}

/* ---- a call that does not block ---- */

struct call {
    struct note note;
    int done;                   /* how often `done` was called */
    hf_status status;
    struct hf_error error;
};

static inline void call_init(struct call *c)
{
    memset(c, 0, sizeof *c);
    note_init(&c->note);
}

static inline void call_done(void *ctx, hf_status status,
                             const struct hf_error *err)
{
    struct call *c = ctx;

    c->status = status;
    if (err)
        c->error = *err;
    note_add(&c->note, &c->done);
}

static inline bool call_is_done(struct call *c)
{
    return note_read(&c->note, &c->done) > 0;
}

/* Its status; fails the test if it does not end, or ends twice. */
static inline hf_status call_await(struct call *c)
{
    note_await(&c->note, &c->done, 1, "the end of a call");
    ck_assert_int_eq(note_read(&c->note, &c->done), 1);
    ck_assert(c->status != HF_OK || c->error.status == HF_OK);
    return c->status;
}

static inline void call_acquire(struct call *c, struct hf_lock *lock,
                                const struct hf_acquire_options *o)
{
    call_init(c);
    ck_assert_ok(hf_lock_acquire_async(lock, o, call_done, c));
}

static inline void call_release(struct call *c, struct hf_lock *lock,
                                int64_t owner)
{
    call_init(c);
    ck_assert_ok(hf_lock_release_async(lock, owner, call_done, c));
}

/* The same, where nobody but the test drives the loop. */
static inline hf_status call_drive(struct call *c, struct hf_client *client)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (!call_is_done(c)) {
        ck_assert_msg(local_now_ms() < deadline_ms, "a call does not end");
        hf_loop_dispatch(hf_client_loop(client), 100);
    }
    return call_await(c);
}

/* ---- what a hold's callbacks say ---- */

struct diary {
    struct note note;
    int waits, renewals, losses;
    struct hf_lock_info info;   /* of the last wait */
    enum hf_lost reason;        /* of the last loss */
    int64_t owner;
    int64_t lost_ms;            /* when on_lost was called */
    int64_t pttl_ms;            /* what the server kept then; -2: nothing */
    int64_t answered_ms;        /* our clock when the server had said so */
    int64_t safe_until_ms;      /* what the last grant promised; 0: not known */
    struct server *server;      /* to be asked in on_lost; NULL: do not */
};

static inline void diary_wait(void *ctx, struct hf_lock *lock,
                              const struct hf_lock_info *info)
{
    struct diary *d = ctx;

    (void)lock;
    ck_assert_uint_eq(info->size, sizeof *info);
    (void)pthread_mutex_lock(&d->note.mutex);
    d->info = *info;
    (void)pthread_mutex_unlock(&d->note.mutex);
    note_add(&d->note, &d->waits);
}

static inline void diary_renewed(void *ctx, struct hf_lock *lock,
                                 int64_t owner)
{
    struct diary *d = ctx;
    int64_t now_ms = local_now_ms();
    int64_t safe_ms = hf_lock_safe_ms(lock, owner);

    (void)pthread_mutex_lock(&d->note.mutex); /* clients have a thread each */
    d->owner = owner;
    d->safe_until_ms = now_ms + safe_ms;
    (void)pthread_mutex_unlock(&d->note.mutex);
    note_add(&d->note, &d->renewals);
}

static inline void diary_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                              enum hf_lost reason)
{
    struct diary *d = ctx;
    size_t len;
    const char *name = hf_lock_name(lock, &len);

    (void)pthread_mutex_lock(&d->note.mutex);
    d->lost_ms = local_now_ms();
    d->reason = reason;
    d->owner = owner;
    (void)pthread_mutex_unlock(&d->note.mutex);
    if (d->server)
        d->pttl_ms = server_ask_int(d->server, "PTTL %b", name, len);
    d->answered_ms = local_now_ms();
    note_add(&d->note, &d->losses);
}

static inline struct hf_acquire_options diary_options(struct diary *d,
                                                      int64_t owner)
{
    struct hf_acquire_options o = acquire_options(owner);

    memset(d, 0, sizeof *d);
    note_init(&d->note);
    o.on_wait = diary_wait;
    o.on_renewed = diary_renewed;
    o.on_lost = diary_lost;
    o.ctx = d;
    return o;
}

/* Acquires, and keeps the promise of the grant unless that of a renewal has
 * come meanwhile. */
static inline void diary_hold(struct diary *d, struct hf_lock *lock,
                              const struct hf_acquire_options *o)
{
    int64_t until_ms;

    ck_assert_ok(hf_lock_acquire(lock, o, NULL));
    until_ms = local_now_ms();
    until_ms += hf_lock_safe_ms(lock, o->owner);
    (void)pthread_mutex_lock(&d->note.mutex);
    if (d->renewals == 0)
        d->safe_until_ms = until_ms;
    (void)pthread_mutex_unlock(&d->note.mutex);
}

static inline enum hf_lost diary_await_loss(struct diary *d)
{
    note_await(&d->note, &d->losses, 1, "on_lost");
    return d->reason;
}

/* A safe moment that is seen so late was slept through (lock/machine/lease.c). */
#define SLEPT_MS 50

/* The safe moment has passed, for this reason; a process that a busy machine
 * did not run then says that instead, if it is true. */
static inline void ck_assert_overdue(struct diary *d, enum hf_lost expected)
{
    enum hf_lost reason = diary_await_loss(d);

    if (reason == HF_REASON_SUSPENDED && d->safe_until_ms != 0)
        ck_assert_int_gt(d->lost_ms, d->safe_until_ms + SLEPT_MS);
    else if (reason != HF_REASON_SUSPENDED)
        ck_assert_int_eq(reason, expected);
}

/* The server did not answer, and that is said. */
static inline void ck_assert_unreached(struct diary *d)
{
    ck_assert_overdue(d, HF_REASON_UNREACHABLE);
}

/* G2: a loss at the safe moment was told while the server still had the lock.
 * If it had not, its answer came after the margin, and the machine did not run
 * one of us: it cannot have let go before. */
static inline void ck_assert_told_before_end(const struct diary *d,
                                             int64_t lease_ms)
{
    ck_assert_int_ne(d->safe_until_ms, 0); /* by diary_hold */
    if (d->pttl_ms < 0)
        ck_assert_int_gt(d->answered_ms, d->safe_until_ms + lease_ms / 100);
}

/* ---- the server's view ---- */

/* "" if the lock is free. */
static inline const char *hash_of(struct server *s, const char *name)
{
    return server_ask(s, "HGETALL %s", name);
}

static inline void ck_assert_holder(struct server *s, struct hf_lock *lock,
                                    int64_t owner, int64_t count)
{
    char text[HF_OWNER_TEXT_MAX], expected[HF_OWNER_TEXT_MAX + 24];
    size_t len;
    const char *name = hf_lock_name(lock, &len);

    (void)hf_lock_owner_text(lock, owner, text);
    ck_assert_str_ne(text, "");
    (void)snprintf(expected, sizeof expected, "%s %lld", text,
                   (long long)count);
    ck_assert_str_eq(server_ask(s, "HGETALL %b", name, len), expected);
}

/* The safe moment, as early as it can have been, is not behind the end of the
 * TTL, as late as that can have been: a pause between the two questions, and a
 * renewal, only widen the gap. Returns what the owner believes to be left. */
static inline int64_t ck_assert_safe_before_ttl(struct server *s,
                                                struct hf_lock *lock,
                                                int64_t owner)
{
    size_t len;
    const char *name = hf_lock_name(lock, &len);
    int64_t asked_ms = local_now_ms();
    int64_t safe_ms = hf_lock_safe_ms(lock, owner);
    int64_t ttl_ms = server_ask_int(s, "PTTL %b", name, len);

    ck_assert_int_le(asked_ms + safe_ms, local_now_ms() + ttl_ms + 1);
    return safe_ms;
}

/* How many calls of scripts there were, ours and the witness's. */
static inline long long script_calls(struct server *s)
{
    const char *stats = server_ask(s, "INFO commandstats");
    const char *eval = strstr(stats, "cmdstat_eval:calls=");
    const char *evalsha = strstr(stats, "cmdstat_evalsha:calls=");

    return (eval ? atoll(strchr(eval, '=') + 1) : 0) +
           (evalsha ? atoll(strchr(evalsha, '=') + 1) : 0);
}

static inline void await_subscribers(struct server *s, const char *channel,
                                     int count)
{
    char expected[200];

    (void)snprintf(expected, sizeof expected, "%s %d", channel, count);
    server_await(s, LONG_MS, expected, "PUBSUB NUMSUB %s", channel);
}

/* ---- a suite's main ---- */

static inline TCase *live_case(Suite *suite, const char *name, void (*setup)(void),
                               void (*teardown)(void))
{
    TCase *c = tcase_create(name);

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    suite_add_tcase(suite, c);
    return c;
}

static inline int live_main(const char *name, void (*add)(Suite *suite))
{
    Suite *suite;

    if (!server_is_installed()) {
        (void)printf("skipped: %s (no server installed)\n", name);
        return 77;
    }
    suite = suite_create(name);
    add(suite);
    return suite_run(suite);
}

/* fork_beside - forks while the thread of the client is at rest: a thread may hold a lock of the
 *   allocator, which the allocator of a sanitizer does not release in the child. */
static inline pid_t fork_beside(struct hf_client *beside)
{
    struct hf_loop *loop = hf_client_loop(beside);
    pid_t pid;

    hf_loop_lock(loop);
    pid = fork();
    if (pid != 0)
        hf_loop_unlock(loop);
    return pid;
}

#endif
