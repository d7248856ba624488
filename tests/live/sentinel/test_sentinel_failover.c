/* Failovers, by real sentinels, of locks that are held and waited for: the client
 * follows, what the new master knows goes on, what it does not know is reported,
 * and nothing is written to the old one any more (faults S5 to S8, S10).
 *
 * A failover takes seconds, so that each is had by a crowd: clients of RESP3, of
 * RESP2, one that may not hear what sentinels tell, and `holdfast run`. */
#include <hiredis/hiredis.h>

#include "tests/live/test_run_kit.h"
#include "tests/live/test_sentinel.h"
#include "tests/support/feed.h"
#include "tests/support/lua_client.h"
#include "tests/support/peer.h"
#include "tests/support/witness.h"

/* After the switch: a second, and what a loaded machine may take. Typical is a
 * hundredth of that; HF_TEST_TELL shows it. */
#define FOLLOW_MS 3000
/* Who is not told asks each second or so, when the connection has ended. */
#define FOLLOW_UNTOLD_MS 5000
/* Calls and holds outlive a failover of a busy machine. */
#define REQUEST_TIMEOUT 15000
#define WATCHDOG 12000

enum { RESP3, RESP2, UNTOLD, CLIENTS };

static const char *const names[CLIENTS] = {"resp3", "resp2", "untold"};

/* A call, and when it ended. */
struct timed {
    struct call call;
    int64_t ended_ms;
};

struct one {
    struct hf_client *client;
    struct watch watch;
    struct hf_lock *kept;       /* held all the time */
    struct hf_lock *forgotten;  /* held, and no replica knows of it */
    struct hf_lock *leased;     /* likewise, with a lease of its own */
    struct hf_lock *wanted;     /* another holds it */
    struct hf_lock *fresh;      /* asked for when the master is gone */
    struct diary of_kept, of_forgotten, of_leased;
    struct timed wanting, asking;
};

static struct one crowd[CLIENTS];
static struct feed *feeds[SENTINELS];
static int old_master, new_master;
static int64_t switched_ms;     /* as the first sentinel told */

static struct server *server_at(int index)
{
    return sentinels_server(sentinels, index);
}

static void timed_done(void *ctx, hf_status status, const struct hf_error *err)
{
    struct timed *t = ctx;

    t->ended_ms = local_now_ms();
    call_done(&t->call, status, err);
}

static void begin(struct timed *t, struct hf_lock *lock)
{
    struct hf_acquire_options o = acquire_options(1);

    call_init(&t->call);
    ck_assert_ok(hf_lock_acquire_async(lock, &o, timed_done, t));
}

static void await_ok(struct timed *t)
{
    hf_status rc = call_await(&t->call);

    ck_assert_msg(rc == HF_OK, "%s: %s", hf_status_name(rc),
                  t->call.error.text);
}

/* ---- the crowd ---- */

static struct hf_lock *lock_for(int i, const char *what)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%s:%s", what, names[i]);
    return lock_of(crowd[i].client, name);
}

/* Lent until the next one is asked for. */
static const char *name_of(const struct hf_lock *lock)
{
    static char text[64];
    size_t len;
    const char *name = hf_lock_name(lock, &len);

    (void)snprintf(text, sizeof text, "%.*s", (int)len, name);
    return text;
}

static void let_other_hold(struct hf_lock *lock)
{
    const char *name = name_of(lock);

    (void)lua_acquire(server_at(old_master), name, strlen(name), LUA_HOLDER,
                      60000);
}

static void free_other(struct hf_lock *lock)
{
    const char *name = name_of(lock);

    (void)lua_force_release(server_at(new_master), name, strlen(name));
}

static void await_on_replicas(struct hf_lock *lock)
{
    for (int i = 0; i <= REPLICAS; i++)
        server_await(server_at(i), LONG_MS, "1", "EXISTS %s",
                     name_of(lock));
}

/* As if its master had died before it could tell its replicas. */
static void forget_on_replicas(struct hf_lock *lock)
{
    await_on_replicas(lock);
    for (int i = 0; i <= REPLICAS; i++) {
        if (i == old_master)
            continue;
        (void)server_ask(server_at(i), "CONFIG SET replica-read-only no");
        ck_assert_str_eq(
            server_ask(server_at(i), "DEL %s", name_of(lock)), "1");
        (void)server_ask(server_at(i), "CONFIG SET replica-read-only yes");
    }
}

/* The user of UNTOLD hears nothing. */
static void open_client(int i)
{
    struct one *c = &crowd[i];
    char url[URL_ROOM];
    struct hf_client_options o =
        sentinel_options(url_of(url, SENTINELS), i == RESP2 ? 2 : 3);

    if (i == UNTOLD)
        (void)strcat(url, "?sentinel_user=deaf&sentinel_password=x");
    o.watchdog_ms = WATCHDOG;
    o.request_timeout_ms = REQUEST_TIMEOUT;
    watch_with(&o, &c->watch);
    c->client = client_with(&o);
    c->kept = lock_for(i, "kept");
    c->forgotten = lock_for(i, "forgotten");
    c->leased = lock_for(i, "leased");
    c->wanted = lock_for(i, "wanted");
    c->fresh = lock_for(i, "fresh");
}

static void join(int i)
{
    struct one *c = &crowd[i];
    struct hf_acquire_options o;

    open_client(i);
    o = diary_options(&c->of_kept, 1);
    ck_assert_ok(hf_lock_acquire(c->kept, &o, NULL));
    o = diary_options(&c->of_forgotten, 1);
    ck_assert_ok(hf_lock_acquire(c->forgotten, &o, NULL));
    o = diary_options(&c->of_leased, 1);
    o.lease_ms = 10 * WATCHDOG;
    ck_assert_ok(hf_lock_acquire(c->leased, &o, NULL));
    let_other_hold(c->wanted);
    begin(&c->wanting, c->wanted);
    note_await(&c->watch.note, &c->watch.asked, 1, "a question");
    await_on_replicas(c->kept);
    await_on_replicas(c->wanted);
    forget_on_replicas(c->forgotten);
    forget_on_replicas(c->leased);
}

static void listen_to_sentinels(void)
{
    for (int i = 0; i < SENTINELS; i++) {
        (void)server_ask(sentinels_sentinel(sentinels, i),
                         "ACL SETUSER deaf on >x resetchannels +@all");
        feeds[i] = feed_open(sentinels_sentinel(sentinels, i),
                             "SUBSCRIBE +switch-master");
    }
    old_master = sentinels_master(sentinels);
}

static void gather(void)
{
    listen_to_sentinels();
    for (int i = 0; i < CLIENTS; i++)
        join(i);
}

static void listen_no_more(void)
{
    for (int i = 0; i < SENTINELS; i++)
        feed_close(feeds[i]);
}

static void part(void)
{
    for (int i = 0; i < CLIENTS; i++)
        hf_client_free(crowd[i].client);
    listen_no_more();
}

/* ---- after a failover ---- */

static void await_switch(void)
{
    switched_ms = INT64_MAX;
    for (int i = 0; i < SENTINELS; i++) {
        int64_t at_ms =
            feed_await(feeds[i], SENTINELS_PATIENCE_MS, SENTINELS_NAME)->at_ms;

        switched_ms = at_ms < switched_ms ? at_ms : switched_ms;
    }
    new_master = sentinels_master(sentinels);
    ck_assert_int_ne(new_master, old_master);
}

static void tell(int i)
{
    if (getenv("HF_TEST_TELL"))
        (void)fprintf(stderr, "%s: %lld ms after the switch\n", names[i],
                      (long long)(crowd[i].asking.ended_ms - switched_ms));
}

/* The lock that was asked for is had at the new master. */
static void must_be_served(int i)
{
    struct one *c = &crowd[i];

    await_ok(&c->asking);
    ck_assert_holder(server_at(new_master), c->fresh, 1, 1);
}

/* Asked for while there was none, it is had soon. */
static void must_follow(int i)
{
    int allowed_ms = i == UNTOLD ? FOLLOW_UNTOLD_MS : FOLLOW_MS;

    must_be_served(i);
    tell(i);
    ck_assert_int_lt(crowd[i].asking.ended_ms - switched_ms, allowed_ms);
}

/* A waiter has it when it is released at the new master. */
static void must_be_woken(int i)
{
    struct one *c = &crowd[i];
    char channel[100];

    (void)snprintf(channel, sizeof channel, "redisson_lock__channel:{%s}",
                   name_of(c->wanted));
    await_subscribers(server_at(new_master), channel, 1);
    ck_assert(!call_is_done(&c->wanting.call));
    free_other(c->wanted);
    await_ok(&c->wanting);
    ck_assert_holder(server_at(new_master), c->wanted, 1, 1);
}

/* At once, whether it is renewed or has a lease of its own (S8). */
static void must_be_lost(int i)
{
    struct one *c = &crowd[i];
    int allowed_ms = i == UNTOLD ? FOLLOW_UNTOLD_MS : FOLLOW_MS;

    ck_assert_int_eq(diary_await_loss(&c->of_forgotten), HF_REASON_DELETED);
    ck_assert_int_lt(c->of_forgotten.lost_ms - switched_ms, allowed_ms);
    ck_assert_status(hf_lock_release(c->forgotten, 1, NULL), HF_LOST);
    ck_assert_int_eq(diary_await_loss(&c->of_leased), HF_REASON_DELETED);
    ck_assert_int_lt(c->of_leased.lost_ms - switched_ms, allowed_ms);
    ck_assert_status(hf_lock_release(c->leased, 1, NULL), HF_LOST);
}

static void must_be_kept(int i)
{
    struct one *c = &crowd[i];

    ck_assert_holder(server_at(new_master), c->kept, 1, 1);
    ck_assert_int_eq(note_read(&c->of_kept.note, &c->of_kept.losses), 0);
    acquire(c->kept, 1);
    ck_assert_holder(server_at(new_master), c->kept, 1, 2);
    release(c->kept, 1);
    release(c->kept, 1);
}

/* What those who were told do once more, while the old master listens. */
static void work_a_little(void)
{
    for (int i = 0; i < UNTOLD; i++)
        for (int k = 0; k < 5; k++) {
            release(crowd[i].fresh, 1);
            acquire(crowd[i].fresh, 1);
        }
}

/* Of those who were told: the witness comes from "unix:", replicas and sentinels
 * know no scripts, and who was not told renews there. What a stopped server found
 * in its sockets was executed before MONITOR was. */
static void must_hear_nothing(struct feed *monitor)
{
    const struct feed_event *event;

    while ((event = feed_next(monitor, A_MOMENT_MS)))
        ck_assert_msg(strstr(event->text, "unix:") ||
                          strstr(event->text, ":untold\"") ||
                          !(strstr(event->text, "\"EVAL") ||
                            strstr(event->text, "\"SUBSCRIBE\" \"redisson")),
                      "the old master is told: %s", event->text);
    feed_close(monitor);
}

/* ---- a master that dies ---- */

/* A sentinel that is behind the times, for a while: it names the old one. */
static struct peer *stale_sentinel(void)
{
    static char reply[64];
    static struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE,
        PEER_EXPECT("SENTINEL SENTINELS " SENTINELS_NAME), PEER_SEND("*0\r\n"),
        PEER_EXPECT("SENTINEL GET-MASTER-ADDR-BY-NAME " SENTINELS_NAME),
        {.verb = PEER_DO_SEND, .text = reply}, PEER_END};
    char port[16];
    int digits = snprintf(port, sizeof port, "%d",
                          server_port(server_at(old_master)));

    script[COUNT(script) - 2].number =
        (size_t)snprintf(reply, sizeof reply,
                         "*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%s\r\n", digits,
                         port);
    return peer_start(script);
}

/* S7: two masters, and a lock that is granted twice: nothing here can know. But
 * a master that wants a replica's word refuses; and the resource, if it checks
 * a token. */
static void two_masters_grant_twice(void)
{
    struct peer *stale = stale_sentinel();
    int port = peer_port(stale);
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_error error;
    struct hf_lock *lock;
    char url[URL_ROOM];

    url_of_ports(url, &port, 1, SENTINELS_NAME);
    o = sentinel_options(url, 3);
    client = client_with(&o);
    lock = lock_of(client, name_of(crowd[RESP3].fresh));
    (void)server_ask(server_at(old_master), "CONFIG SET min-replicas-to-write 1");
    ck_assert_status(try_acquire(lock, 1, &error), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(error.text, "NOREPLICAS"));
    (void)server_ask(server_at(old_master), "CONFIG SET min-replicas-to-write 0");
    ck_assert_ok(try_acquire(lock, 1, NULL));
    ck_assert_holder(server_at(new_master), crowd[RESP3].fresh, 1, 1);
    ck_assert_holder(server_at(old_master), lock, 1, 1);
    hf_client_free(client);
    peer_free(stale);
}

static struct process *run_job(void)
{
    char url[URL_ROOM];
    struct process *p =
        holdfast(NULL, "run", "-u", url_of(url, SENTINELS), "--ttl", "12s",
                 "-v", "job", "sh", "-c", "echo up; read go; exit 7", NULL);

    (void)await_line(p, OUT, "up");
    return p;
}

static void end_job(struct process *p)
{
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 7);
    ck_assert_str_eq(hash_of(server_at(new_master), "job"), "");
    if (getenv("HF_TEST_TELL"))
        (void)fprintf(stderr, "%s", await_end(p, ERR));
}

START_TEST(a_dead_master_is_followed)
{
    struct process *p;

    gather();
    p = run_job();
    server_kill(server_at(old_master));
    for (int i = 0; i < CLIENTS; i++)
        begin(&crowd[i].asking, crowd[i].fresh);
    await_switch();
    for (int i = 0; i < CLIENTS; i++)
        must_follow(i);
    for (int i = 0; i < CLIENTS; i++)
        must_be_woken(i);
    end_job(p);
    server_restart(server_at(old_master));
    two_masters_grant_twice();
    for (int i = 0; i < CLIENTS; i++)
        must_be_lost(i);
    for (int i = 0; i < CLIENTS; i++)
        must_be_kept(i);
    part();
}
END_TEST

/* ---- a master that stands still, and comes back ---- */

START_TEST(a_silent_master_is_followed_and_left_alone)
{
    struct feed *monitor;

    gather();
    server_pause(server_at(old_master));
    for (int i = 0; i < UNTOLD; i++)
        begin(&crowd[i].asking, crowd[i].fresh);
    await_switch();
    for (int i = 0; i < UNTOLD; i++)
        must_follow(i);
    hf_client_free(crowd[UNTOLD].client); /* silence is the end of its patience */
    crowd[UNTOLD].client = NULL;
    server_resume(server_at(old_master));
    monitor = feed_open(server_at(old_master), "MONITOR");
    work_a_little();
    for (int i = 0; i < UNTOLD; i++)
        must_be_woken(i);
    must_hear_nothing(monitor);
    for (int i = 0; i < UNTOLD; i++)
        must_be_kept(i);
    part();
}
END_TEST

/* For 8 s sentinels let a master that lives be one. */
static void demote(void)
{
    ck_assert_str_eq(server_ask(server_at(old_master), "REPLICAOF 127.0.0.1 %d",
                                server_port(server_at(new_master))),
                     "OK");
}

/* What the old master has becomes what the new one has. */
static void must_be_replaced(const struct hf_lock *lock)
{
    char expected[200];

    (void)snprintf(expected, sizeof expected, "%s",
                   hash_of(server_at(new_master), name_of(lock)));
    server_await(server_at(old_master), LONG_MS, expected, "HGETALL %s",
                 name_of(lock));
}

static void await_scripts(struct server *s, long long count)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    while (script_calls(s) < count) {
        ck_assert_msg(local_now_ms() < end_ms, "no script is executed");
        local_poll_rest();
    }
}

/* While the master is stopped, a call asks for a free lock, gives up, and has it
 * released in the background; another one asks for another lock; and a held lock
 * is released. The master finds these four in its sockets when it continues.
 * Meanwhile the new master has answered them, and another owner holds what was
 * released. */
START_TEST(late_requests_of_a_stopped_master_do_no_harm)
{
    struct one *c = &crowd[RESP3];
    struct hf_lock *dropped, *given_up, *of_other;
    struct hf_acquire_options o;
    struct call releasing, giving_up;
    long long scripts;

    listen_to_sentinels();
    open_client(RESP3);
    dropped = lock_of(c->client, "dropped");
    of_other = lock_of(c->client, "dropped");
    given_up = lock_of(c->client, "given up");
    o = diary_options(&c->of_kept, 1);
    ck_assert_ok(hf_lock_acquire(c->kept, &o, NULL));
    acquire(dropped, 1);
    await_on_replicas(c->kept);
    await_on_replicas(dropped);
    scripts = script_calls(server_at(old_master));
    server_pause(server_at(old_master));
    o = acquire_options(1);
    o.wait_ms = A_MOMENT_MS;
    call_acquire(&giving_up, given_up, &o);
    ck_assert_status(call_await(&giving_up), HF_E_NOREPLY);
    begin(&c->asking, c->fresh);
    call_release(&releasing, dropped, 1);
    await_switch();
    await_ok(&c->asking);
    ck_assert_status(call_await(&releasing), HF_OK);
    acquire(of_other, 2);
    server_resume(server_at(old_master));
    await_scripts(server_at(old_master), scripts + 4);
    ck_assert_holder(server_at(new_master), c->kept, 1, 1);
    ck_assert_holder(server_at(new_master), c->fresh, 1, 1);
    ck_assert_holder(server_at(new_master), of_other, 2, 1);
    server_await(server_at(new_master), LONG_MS, "", "HGETALL %s",
                 "given up");
    demote();
    must_be_replaced(c->kept);
    must_be_replaced(c->fresh);
    must_be_replaced(of_other);
    must_be_replaced(given_up);
    ck_assert_int_eq(note_read(&c->of_kept.note, &c->of_kept.losses), 0);
    release(c->kept, 1);
    release(c->fresh, 1);
    release(of_other, 2);
    hf_client_free(c->client);
    listen_no_more();
}
END_TEST

/* ---- a stopped master that continues before the sentinels report its successor ---- */

#define SHORT_TTL 3000          /* a failover takes about two thirds of it */
#define WAKES_MS 600            /* after the promotion */

struct believer {
    struct hf_client *client;
    struct hf_lock *lock;
    struct diary diary;
    struct timed acquiring;
};

static void open_believer(struct believer *b)
{
    char url[URL_ROOM];
    struct hf_client_options o =
        sentinel_options(url_of(url, SENTINELS), 3);

    o.watchdog_ms = SHORT_TTL;
    o.request_timeout_ms = REQUEST_TIMEOUT;
    b->client = client_with(&o);
    b->lock = lock_of(b->client, "believed");
}

/* By a connection of its own: a sentinel that promotes a server closes its clients. */
static bool is_promoted(int index)
{
    redisContext *c =
        index == old_master ? NULL : server_connect(server_at(index));
    redisReply *reply;
    sigset_t before;
    bool is;

    witness_writes(&before);
    reply = c ? redisCommand(c, "ROLE") : NULL;
    witness_written(&before);
    is = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
              strcmp(reply->element[0]->str, "master") == 0;

    if (reply)
        freeReplyObject(reply);
    if (c)
        redisFree(c);
    return is;
}

static void await_promotion(void)
{
    int64_t end_ms = local_now_ms() + SENTINELS_PATIENCE_MS;

    for (int i = 0; !is_promoted(i); i = (i + 1) % (REPLICAS + 1)) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
}

/* The longest that both believed, as far as looks each millisecond show it. */
static int64_t watch_believers(struct believer *one, struct believer *other,
                               int64_t until_ms)
{
    int64_t since_ms = 0, longest_ms = 0;

    while (local_now_ms() < until_ms) {
        int64_t now_ms = local_now_ms();
        bool do_both = hf_lock_safe_ms(one->lock, 1) > 0 &&
                       hf_lock_safe_ms(other->lock, 1) > 0;

        since_ms = do_both ? (since_ms ? since_ms : now_ms) : 0;
        if (do_both && now_ms - since_ms + 1 > longest_ms)
            longest_ms = now_ms - since_ms + 1;
        local_rest_us(1000);
    }
    return longest_ms;
}

static const int stops_ms[] = {700, 900, 950}; /* after a renewal */

START_TEST(an_old_master_that_continues_convinces_no_holder)
{
    struct believer holder = {0}, waiter = {0};
    struct hf_acquire_options o;
    int64_t both_ms, stopped_ms, promoted_ms;

    listen_to_sentinels();
    open_believer(&holder);
    open_believer(&waiter);
    o = diary_options(&holder.diary, 1);
    ck_assert_ok(hf_lock_acquire(holder.lock, &o, NULL));
    begin(&waiter.acquiring, waiter.lock);
    note_await(&holder.diary.note, &holder.diary.renewals, 2, "a renewal");
    await_on_replicas(holder.lock);
    local_rest_us(stops_ms[_i] * 1000);
    server_pause(server_at(old_master));
    stopped_ms = local_now_ms();
    await_promotion();
    promoted_ms = local_now_ms();
    both_ms = watch_believers(&holder, &waiter, local_now_ms() + WAKES_MS);
    server_resume(server_at(old_master));
    both_ms += watch_believers(&holder, &waiter, local_now_ms() + 2 * SHORT_TTL);
    await_switch();
    if (getenv("HF_TEST_TELL"))
        (void)fprintf(stderr, "stopped %d ms after a renewal, replaced %lld ms "
                              "later, reported %lld ms later: both believed for "
                              "%lld ms; %d losses\n", stops_ms[_i],
                      (long long)(promoted_ms - stopped_ms),
                      (long long)(switched_ms - stopped_ms), (long long)both_ms,
                      note_read(&holder.diary.note, &holder.diary.losses));
    ck_assert_msg(both_ms == 0, "both believed for %lld ms", (long long)both_ms);
    hf_client_free(holder.client);
    hf_client_free(waiter.client);
    listen_no_more();
}
END_TEST

/* ---- a master that is demoted (S10) ---- */

static void pause_sentinels(bool stand_still)
{
    for (int i = 0; i < SENTINELS; i++)
        (stand_still ? server_pause : server_resume)(sentinels_sentinel(sentinels, i));
}

/* Demotes the old master. On a busy machine the sentinels may have demoted it before, and closed
 * the connections of its clients: this one then found the new master without a refusal. */
static void must_be_refused(struct one *untold)
{
    bool is_master;

    pause_sentinels(true);
    is_master = strcmp(server_ask(server_at(old_master), "EVAL %s 0", "return redis.call('role')[1]"),
                       "master") == 0;
    demote();
    begin(&untold->asking, untold->fresh);
    if (is_master)
        note_await(&untold->watch.note, &untold->watch.refused, 1, "a refusal");
    pause_sentinels(false);
}

/* Those who were told have left before; who was not meets -READONLY. */
START_TEST(a_demoted_master_is_left_alone)
{
    struct one *untold = &crowd[UNTOLD];
    struct feed *monitor;

    gather();
    (void)sentinels_failover(sentinels);
    await_switch();
    for (int i = 0; i < UNTOLD; i++)
        note_await(&crowd[i].watch.note, &crowd[i].watch.asked, 2, "a question");
    monitor = feed_open(server_at(old_master), "MONITOR");
    for (int i = 0; i < UNTOLD; i++)
        begin(&crowd[i].asking, crowd[i].fresh);
    for (int i = 0; i < UNTOLD; i++)
        must_be_served(i);
    work_a_little();
    must_hear_nothing(monitor);
    must_be_refused(untold);
    must_be_served(UNTOLD);
    for (int i = 0; i < CLIENTS; i++)
        must_be_woken(i);
    for (int i = 0; i < CLIENTS; i++)
        must_be_kept(i);
    part();
}
END_TEST

/* ---- */

static void set_up(void)
{
    sentinels = sentinels_start(&(struct sentinels_options){
        .replicas = REPLICAS, .sentinels = SENTINELS});
}

/* A master is replaced within two thirds of SHORT_TTL. */
static void set_up_hasty(void)
{
    sentinels = sentinels_start(&(struct sentinels_options){
        .replicas = REPLICAS, .sentinels = SENTINELS, .down_after_ms = 500});
}

static void tear_down(void)
{
    sentinels_stop(sentinels);
}

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "failover", set_up, tear_down);

    tcase_add_test(c, a_dead_master_is_followed);
    tcase_add_test(c, a_silent_master_is_followed_and_left_alone);
    tcase_add_test(c, late_requests_of_a_stopped_master_do_no_harm);
    tcase_add_test(c, a_demoted_master_is_left_alone);
    c = live_case(suite, "continues", set_up_hasty, tear_down);
    tcase_add_loop_test(c, an_old_master_that_continues_convinces_no_holder, 0,
                        (int)COUNT(stops_ms));
}

int main(void)
{
    return live_main("sentinel failover", add);
}
