/* More locks are abandoned than a client releases in the background (ORPHAN-4).
 *
 * The server is stopped while a client sends more acquires than ORPHANS_MAX, and the client
 * cancels all of them. When the server continues, it grants all. The client releases ORPHANS_MAX
 * of these locks. It has forgotten the others: their leases end, or the client finds them when it
 * requests them again (ORPHAN-3). */
#include <string.h>

#include "lock/lock.h"
#include "tests/sim/harness.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define ORPHANS_MAX 16384
#define FORGOTTEN 100
#define LOCKS (ORPHANS_MAX + FORGOTTEN)
#define LEASE_MS 20000
#define OUTPUT_MAX (64u << 20)

static struct harness harness;
static struct process *process;
static struct hf_client *client;
static struct hf_lock *first, *locks[LOCKS];
static unsigned cancelled, warnings;
static hf_status last;

static void on_log(void *ctx, enum hf_log_level level, const char *line)
{
    (void)ctx, (void)level;
    warnings += strstr(line, "too many background releases") != NULL;
}

static void open_client(void)
{
    struct hf_client_options o;
    char url[64];

    (void)snprintf(url, sizeof url, "redis://%s:%d", harness.site.servers[0]->ip, SERVER_PORT);
    hf_client_options_init(&o);
    o.url = url;
    o.thread = false;
    o.watchdog_ms = LEASE_MS;
    o.request_timeout_ms = LEASE_MS;
    o.output_max = OUTPUT_MAX;
    o.log = on_log;
    must(hf_client_new(&client, &o, NULL) == HF_OK);
    process_drive(process, hf_client_loop(client));
    must(hf_lock_new(&first, client, "first", 5, NULL) == HF_OK);
    for (int i = 0; i < LOCKS; i++) {
        char name[16];
        int len = snprintf(name, sizeof name, "n%d", i);

        must(hf_lock_new(&locks[i], client, name, (size_t)len, NULL) == HF_OK);
    }
}

static void begin(void)
{
    struct process *before;

    cancelled = warnings = 0;
    harness_begin(&harness, 1, "orphans", 1);
    process = harness_process(&harness, 1);
    before = process_enter(process);
    open_client();
    (void)process_enter(before);
}

static void end(void)
{
    struct process *before = process_enter(process);

    for (int i = 0; i < LOCKS; i++)
        hf_lock_free(locks[i]);
    hf_lock_free(first);
    hf_client_free(client);
    (void)process_enter(before);
    harness_end(&harness);
}

static void on_cancelled(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx, (void)err;
    cancelled += status == HF_CANCELLED;
}

static void acquire(struct hf_lock *lock, int64_t owner, struct hf_cancel *cancel, hf_done *done)
{
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = owner;
    o.lease_ms = LEASE_MS;
    o.wait_ms = 0;
    o.cancel = cancel;
    must(hf_lock_acquire_async(lock, &o, done, NULL) == HF_OK);
}

static void abandon_all(void)
{
    struct process *before = process_enter(process);
    struct hf_cancel cancel;

    hf_cancel_init(&cancel, client);
    for (int i = 0; i < LOCKS; i++)
        acquire(locks[i], 1, &cancel, on_cancelled);
    (void)process_enter(before);
    harness_run(&harness, 2000); /* all is sent */
    before = process_enter(process);
    hf_cancel_fire(&cancel);
    (void)process_enter(before);
}

static void on_last(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx, (void)err;
    last = status;
}

/* What a request of another owner returns, within half a second. */
static hf_status request(struct hf_lock *lock, int64_t now_ms)
{
    struct process *before = process_enter(process);

    last = HF_E_NOREPLY;
    acquire(lock, 2, NULL, on_last);
    (void)process_enter(before);
    harness_run(&harness, now_ms + 500);
    return last;
}

/* On the server; *one is one of them. */
static int count_held(struct hf_lock **one)
{
    int count = 0;

    for (int i = 0; i < LOCKS; i++) {
        char name[16];
        int len = snprintf(name, sizeof name, "n%d", i);

        if (!model_look(server_turn(harness.site.servers[0]), 0, name, (size_t)len,
                        &(struct model_key){0}))
            continue;
        *one = locks[i];
        count++;
    }
    return count;
}

START_TEST(locks_abandoned_beyond_the_bound_are_found_or_expire)
{
    struct hf_lock *forgotten = NULL;

    begin();
    ck_assert_int_eq(request(first, 0), HF_OK); /* the server has the script from now on */
    server_freeze(harness.site.servers[0], true);
    abandon_all();
    harness_run(&harness, 3000);
    ck_assert_uint_eq(cancelled, LOCKS);
    ck_assert_uint_eq(warnings, 1);
    server_freeze(harness.site.servers[0], false);
    harness_run(&harness, 5000);
    ck_assert_int_eq(count_held(&forgotten), FORGOTTEN);
    ck_assert_int_eq(request(forgotten, 5000), HF_TIMEOUT); /* its client: not by a hold */
    ck_assert_int_eq(request(forgotten, 5500), HF_OK);
    harness_run(&harness, 6000 + 2 * LEASE_MS);
    ck_assert_int_eq(count_held(&forgotten), 0);
    end();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: orphaned locks");
    TCase *t = tcase_create("bound");

    tcase_add_test(t, locks_abandoned_beyond_the_bound_are_found_or_expire);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return suite_run(s);
}
