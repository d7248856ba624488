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
#define OTHER "6e3814a1-e847-452b-a982-45baf93a1df2:1"
#define STEP_US 50              /* less than a message needs from the server to a client */

static struct harness harness;
static struct process *process;
static struct hf_client *client;
static struct hf_lock *lock;
static int64_t granted_us;      /* 0: it still waits */

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

static bool has_listener(void)
{
    static const char numsub[] = "PUBSUB NUMSUB " CHANNEL "\r\n";
    struct answer answer = {.len = 0};
    struct model_client *c =
        model_accept(server_turn(harness.site.servers[0]), on_bytes, on_close, &answer);

    must(c != NULL);
    model_feed(c, numsub, strlen(numsub));
    model_hang_up(c);
    server_done(harness.site.servers[0]);
    return strstr(answer.text, ":0\r\n") == NULL;
}

/* ---- the client ---- */

static void run_for(int64_t us)
{
    world_run(harness.sim.world, harness_now_us(&harness) + us);
}

static void on_granted(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx, (void)err;
    must(status == HF_OK);
    granted_us = harness_now_us(&harness);
}

static void begin(const char *url_options)
{
    struct hf_client_options o;
    char url[80];

    harness_begin(&harness, 1, "crowd", 1);
    granted_us = 0;
    process = harness_process(&harness, 1);
    (void)process_enter(process);
    (void)snprintf(url, sizeof url, "redis://10.0.0.1:6379%s", url_options);
    hf_client_options_init(&o);
    o.url = url;
    o.thread = false;
    o.watchdog_ms = 120000;
    must(hf_client_new(&client, &o, NULL) == HF_OK);
    process_drive(process, hf_client_loop(client));
    must(hf_lock_new(&lock, client, NAME, strlen(NAME), NULL) == HF_OK);
    (void)process_enter(NULL);
}

static void end(void)
{
    (void)process_enter(process);
    hf_lock_free(lock);
    hf_client_free(client);
    (void)process_enter(NULL);
    harness_end(&harness);
}

static void begin_to_wait(void)
{
    struct hf_acquire_options o;

    (void)process_enter(process);
    hf_acquire_options_init(&o);
    o.owner = 1;
    must(hf_lock_acquire_async(lock, &o, on_granted, NULL) == HF_OK);
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
    struct model *m;

    begin("?tracking=on");
    m = harness.site.servers[0]->model;
    hold_by_other();
    begin_to_wait();
    while (!has_listener())
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
    ck_assert_int_gt(granted_us, 0);
    end();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: listeners of a channel");
    TCase *c = tcase_create("listeners");

    tcase_add_loop_test(c, pushed_5_only_a_denial_ends_the_requests_for_the_number, 0,
                        ROWS(refusals));
    suite_add_tcase(s, c);
    return suite_run(s);
}
