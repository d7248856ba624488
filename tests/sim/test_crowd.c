/* Listeners of a lock's channel, in the simulated world: how soon a waiter among them is granted
 * a lock that becomes free, and how a waiter learns their number (lock/machine/channel.h,
 * PUSHED-5). The listeners are connections that have subscribed and do nothing else. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/harness.h"
#include "tests/sim/model/model.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define NAME "job"
#define CHANNEL "redisson_lock__channel:{" NAME "}"
#define WAITERS CHANNEL ":waiters"
#define OTHER "6e3814a1-e847-452b-a982-45baf93a1df2:1"
#define STEP_US 50              /* less than a message needs from the server to a client */

#define CLIENTS_MAX 201
#define WATCHDOG_MS 120000

struct party {
    struct hf_client *client;
    struct hf_lock *lock;
    int64_t granted_us;         /* 0: it still waits */
};

static struct harness harness;
static struct process *process; /* of all clients */
static struct party parties[CLIENTS_MAX];
static int party_count;
static int grants;              /* since the last release */

/* ---- the server ---- */

static void say(int argc, const char *const *argv)
{
    server_say(harness.site.servers[0], argc, argv);
}

static void hold_by_other(void)
{
    say(4, (const char *[]){"HSET", NAME, OTHER, "1"});
    say(3, (const char *[]){"PEXPIRE", NAME, "900000"});
}

/* A push to the clients that are tracked. */
static void touch(void)
{
    say(3, (const char *[]){"PEXPIRE", NAME, "900000"});
}

struct answer {
    char text[200];
    size_t len;
};

static void on_bytes(void *ctx, const char *bytes, size_t len)
{
    struct answer *answer = ctx;

    if (!answer || answer->len + len >= sizeof answer->text)
        return;
    memcpy(answer->text + answer->len, bytes, len);
    answer->text[answer->len += len] = '\0';
}

static void on_close(void *ctx)
{
    (void)ctx;
}

static bool has_listener(const char *channel)
{
    char numsub[100];
    struct answer answer = {.len = 0};
    struct model_client *c =
        model_accept(server_turn(harness.site.servers[0]), on_bytes, on_close, &answer);

    must(c != NULL);
    (void)snprintf(numsub, sizeof numsub, "PUBSUB NUMSUB %s\r\n", channel);
    model_feed(c, numsub, strlen(numsub));
    model_hang_up(c);
    server_done(harness.site.servers[0]);
    return strstr(answer.text, ":0\r\n") == NULL;
}

/* Connections that subscribe. The model frees them. */
static void add_listeners(int count)
{
    static const char subscribe[] = "SUBSCRIBE " CHANNEL "\r\n";

    for (int i = 0; i < count; i++) {
        struct model_client *c =
            model_accept(server_turn(harness.site.servers[0]), on_bytes, on_close, NULL);

        must(c != NULL);
        model_feed(c, subscribe, strlen(subscribe));
        server_done(harness.site.servers[0]);
    }
}

/* ---- clients ---- */

static void run_for(int64_t us)
{
    world_run(harness.sim.world, harness_now_us(&harness) + us);
}

static void on_granted(void *ctx, hf_status status, const struct hf_error *err)
{
    struct party *party = ctx;

    (void)err;
    must(status == HF_OK || status == HF_E_CLOSED);
    if (status != HF_OK)
        return;
    party->granted_us = harness_now_us(&harness);
    grants++;
}

static void begin(void)
{
    harness_begin(&harness, 1, "crowd", 1);
    process = harness_process(&harness, 1);
    party_count = grants = 0;
}

static struct party *add_client(const char *url_options)
{
    struct party *party = &parties[party_count++];
    struct hf_client_options o;
    char url[80];

    must(party_count <= CLIENTS_MAX);
    *party = (struct party){.granted_us = 0};
    (void)process_enter(process);
    (void)snprintf(url, sizeof url, "redis://10.0.0.1:6379%s", url_options);
    hf_client_options_init(&o);
    o.url = url;
    o.thread = false;
    o.watchdog_ms = WATCHDOG_MS;
    must(hf_client_new(&party->client, &o, NULL) == HF_OK);
    process_drive(process, hf_client_loop(party->client));
    must(hf_lock_new(&party->lock, party->client, NAME, strlen(NAME), NULL) == HF_OK);
    (void)process_enter(NULL);
    return party;
}

static void end(void)
{
    (void)process_enter(process);
    for (int i = 0; i < party_count; i++) {
        hf_lock_free(parties[i].lock);
        hf_client_free(parties[i].client);
    }
    (void)process_enter(NULL);
    harness_end(&harness);
}

static void begin_to_wait(struct party *party)
{
    struct hf_acquire_options o;

    (void)process_enter(process);
    hf_acquire_options_init(&o);
    o.owner = 1;
    party->granted_us = 0;
    must(hf_lock_acquire_async(party->lock, &o, on_granted, party) == HF_OK);
    (void)process_enter(NULL);
}

static void on_released(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx, (void)err;
    must(status == HF_OK);
}

static void release(struct party *party)
{
    (void)process_enter(process);
    grants = 0;
    must(hf_lock_release_async(party->lock, 1, on_released, NULL) == HF_OK);
    (void)process_enter(NULL);
}

/* ---- counting the listeners ---- */

static int counts;              /* requests for the number of listeners that were refused */

static void on_error(void *ctx, struct model *m, const struct model_error *e)
{
    (void)ctx, (void)m;
    counts += strcmp(e->command, "pubsub") == 0 || strcmp(e->command, "numsub") == 0 ||
              strstr(e->text, "unknown command 'PUBSUB'") != NULL ||
              strstr(e->text, "unknown command `PUBSUB`") != NULL;
}

static void hide(struct model *m, bool is_hidden)
{
    model_hide(m, is_hidden ? "pubsub" : NULL);
}

/* Each is the reply to the first request for the number of listeners. */
static const struct {
    const char *name;
    void (*set)(struct model *m, bool is_wrong);
    const char *acl[2];
    bool is_repeated;           /* by the next acquire, two seconds later */
} refusals[] = {
    {"BUSY", model_set_busy, {NULL}, true},
    {"unknown command", hide, {NULL}, false},
    {"NOPERM", NULL, {"SETUSER default -pubsub", "SETUSER default +pubsub"}, false},
};

static void refuse(struct model *m, int row, bool is_wrong)
{
    if (refusals[row].set)
        refusals[row].set(m, is_wrong);
    else
        must(model_acl(m, refusals[row].acl[!is_wrong]));
}

/* From the confirmation of the subscription until half a second later; then a push causes the
 * next acquire, and the server does not know PUBSUB. */
START_TEST(pushed_5_only_a_denial_ends_the_requests_for_the_number)
{
    const struct model_observer observer = {.on_error = on_error};
    struct party *waiter;
    struct model *m;

    begin();
    waiter = add_client("?tracking=on");
    m = harness.site.servers[0]->model;
    hold_by_other();
    begin_to_wait(waiter);
    while (!has_listener(CHANNEL))
        run_for(STEP_US);
    model_observe(m, &observer);
    counts = 0;
    refuse(m, _i, true);
    run_for(500000);
    refuse(m, _i, false);
    ck_assert_int_eq(counts, 1);
    run_for(2000000);
    model_hide(m, "pubsub");
    touch();
    run_for(100000);
    ck_assert_msg(counts == 1 + refusals[_i].is_repeated, "%s: %d requests", refusals[_i].name,
                  counts);
    say(2, (const char *[]){"DEL", NAME});
    run_for(100000);
    ck_assert_int_gt(waiter->granted_us, 0);
    end();
}
END_TEST

/* ---- few that wait, and many that listen ---- */

#define SOON_US 40000           /* its turn (TURN-1: 17 ms), and some round trips */
#define ROUNDS 4

static const struct {
    const char *name, *url_options;
    int waiters, listeners_before, listeners_behind;
} few[] = {
    {"one, and 100 before it", "", 1, 100, 0},
    {"one, and 1000 before it", "", 1, 1000, 0},
    {"one, and 1000 after it", "", 1, 0, 1000},
    {"five, and 300 before them", "", 5, 300, 0},
    {"five, and 300 around them", "", 5, 10, 290},
    {"one, and 1000 before it, tracked", "?tracking=on", 1, 1000, 0},
    {"one, and 1000 after it, tracked", "?tracking=on", 1, 0, 1000},
    {"one in RESP2, and 1000 before it", "?protocol=2", 1, 1000, 0},
};

/* PUSHED-4: one that waits among many listeners is tracked. */
START_TEST(turn_3_one_that_waits_is_woken_by_a_push)
{
    struct party *waiter;

    begin();
    hold_by_other();
    add_listeners(1000 * (1 - _i));
    waiter = add_client("?tracking=on");
    begin_to_wait(waiter);
    run_for(1000000);
    add_listeners(1000 * _i);
    for (int round = 0; round < 3; round++) { /* its own request counts the listeners */
        touch();
        run_for(5000000);
    }
    say(2, (const char *[]){"DEL", NAME});
    run_for(SOON_US);
    ck_assert_int_gt(waiter->granted_us, 0);
    end();
}
END_TEST

static struct party *last_granted(void)
{
    struct party *last = &parties[0];

    for (int i = 1; i < party_count; i++)
        if (parties[i].granted_us > last->granted_us)
            last = &parties[i];
    return last;
}

/* The first client holds the lock, and releases it; then whoever was granted it. */
START_TEST(turn_3_one_of_few_that_wait_is_granted_soon)
{
    struct party *holder;

    begin();
    holder = add_client("");
    begin_to_wait(holder);
    run_for(1000000);
    add_listeners(few[_i].listeners_before);
    for (int i = 0; i < few[_i].waiters; i++)
        begin_to_wait(add_client(few[_i].url_options));
    run_for(1000000);
    add_listeners(few[_i].listeners_behind);
    for (int round = 0; round < ROUNDS; round++) {
        release(holder);
        run_for(SOON_US);
        ck_assert_msg(grants == 1, "%s: round %d: %d grants", few[_i].name, round, grants);
        begin_to_wait(holder);
        holder = last_granted();
        run_for(5000000);
    }
    end();
}
END_TEST

/* ---- a registration that is refused ---- */

static int denials;             /* of SUBSCRIBE, by the ACL */

static void on_denial(void *ctx, struct model *m, const struct model_error *e)
{
    (void)ctx, (void)m;
    denials += e->is_refusal && strcmp(e->command, "subscribe") == 0;
}

static void await_commands(const struct model *m)
{
    uint64_t done = model_commands_done(m);

    while (model_commands_done(m) == done)
        run_for(STEP_US);
}

/* From the handshake of the next connection on, the server refuses commands for a while. */
START_TEST(turn_3_a_client_registers_again_after_a_temporary_refusal)
{
    struct server *server;

    begin();
    server = harness.site.servers[0];
    hold_by_other();
    add_listeners(100);
    begin_to_wait(add_client(""));
    run_for(1000000);
    ck_assert(has_listener(WAITERS));
    model_close_all(server_turn(server));
    server_done(server);
    for (int i = 0; i < 2; i++) /* the handshake; the end of the lost connection */
        await_commands(server->model);
    model_set_busy(server->model, true);
    run_for(500000);
    model_set_busy(server->model, false);
    ck_assert(!has_listener(WAITERS));
    run_for(3000000);
    ck_assert(has_listener(WAITERS));
    end();
}
END_TEST

/* The ACL permits the channel of the lock alone. */
START_TEST(turn_3_a_client_that_may_not_register_tries_once)
{
    const struct model_observer observer = {.on_error = on_denial};
    struct model *m;

    begin();
    m = harness.site.servers[0]->model;
    must(model_acl(m, "SETUSER default resetchannels &" CHANNEL));
    model_observe(m, &observer);
    denials = 0;
    hold_by_other();
    add_listeners(100);
    begin_to_wait(add_client(""));
    run_for(5000000);
    ck_assert_int_eq(denials, 1);
    ck_assert(has_listener(CHANNEL));
    end();
}
END_TEST

/* ---- a crowd ---- */

#define CROWD 200

static int scripts;

static void on_script(void *ctx, struct model *m, const struct model_script *script)
{
    (void)ctx, (void)m, (void)script;
    scripts++;
}

static const struct {
    const char *name;
    int64_t begin_us;           /* between two clients */
    int listeners;              /* before them */
} crowds[] = {
    {"at once", 0, 0},
    {"one after the other", 3000, 0},
    {"one after the other, beside listeners", 3000, 500},
};

/* TURN-2 and TURN-3: the release, and the requests of a crowd. About 5 are expected within 10 ms,
 * and 45 within a second. */
START_TEST(turn_3_crowd_of_clients_that_wait_sends_few_requests)
{
    const struct model_observer observer = {.on_script = on_script};
    struct party *holder;

    begin();
    holder = add_client("");
    begin_to_wait(holder);
    run_for(1000000);
    add_listeners(crowds[_i].listeners);
    for (int i = 0; i < CROWD; i++) {
        begin_to_wait(add_client(""));
        run_for(crowds[_i].begin_us);
    }
    run_for(5000000);
    model_observe(harness.site.servers[0]->model, &observer);
    for (int round = 0; round < ROUNDS; round++) {
        scripts = 0;
        release(holder);
        run_for(10000);
        ck_assert_msg(scripts <= 1 + (round ? 16 : 32), "%s: round %d: %d scripts in 10 ms", crowds[_i].name,
                      round, scripts);
        run_for(990000);
        ck_assert_msg(scripts <= 1 + 80, "%s: round %d: %d scripts in a second",
                      crowds[_i].name, round, scripts);
        ck_assert_int_eq(grants, 1);
        holder = last_granted();
        run_for(2500000);
    }
    end();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: listeners of a channel");
    TCase *c = tcase_create("listeners");

    tcase_add_loop_test(c, pushed_5_only_a_denial_ends_the_requests_for_the_number, 0,
                        ROWS(refusals));
    tcase_add_loop_test(c, turn_3_one_of_few_that_wait_is_granted_soon, 0, ROWS(few));
    tcase_add_loop_test(c, turn_3_one_that_waits_is_woken_by_a_push, 0, 2);
    tcase_add_test(c, turn_3_a_client_registers_again_after_a_temporary_refusal);
    tcase_add_test(c, turn_3_a_client_that_may_not_register_tries_once);
    tcase_add_loop_test(c, turn_3_crowd_of_clients_that_wait_sends_few_requests, 0,
                        ROWS(crowds));
    suite_add_tcase(s, c);
    return suite_run(s);
}
