/* A callback forks, and the child returns from it, in the simulated world: each
 * callback of a busy client in turn, traces among them, which are called with the
 * loop's lock held. The child must not touch a poller or a socket (process_fork),
 * and makes no further callback. */
#include <string.h>

#include "tests/sim/harness.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define NAMES 3
#define OWNERS 4
#define ROUNDS 6                /* of each owner on each name */
#define LEASE_MS 400            /* of every other hold: its loss is reported */

static struct harness harness;
static struct process *process;
static struct hf_client *client;
static struct user {
    struct hf_lock *lock;
    int64_t owner;
    int rounds;
    bool holds;
    struct event release;
} users[NAMES * OWNERS];
static unsigned calls, fork_at, calls_of_child;
static bool is_child, is_over;

/* In each callback. */
static void called(void)
{
    if (is_over)
        return;
    if (is_child) {
        calls_of_child++;
        return;
    }
    if (++calls != fork_at)
        return;
    is_child = true;
    process_fork(process);
}

/* ---- what the client does ---- */

static void ask(struct user *u);

static void begun(hf_status status)
{
    must(status == HF_OK || (is_child && status == HF_E_FORKED));
}

static void on_released(void *ctx, hf_status status, const struct hf_error *err)
{
    struct user *u = ctx;

    (void)status, (void)err;
    called();
    u->holds = false;
    if (!is_over && ++u->rounds < ROUNDS)
        ask(u);
}

static void release(void *ctx)
{
    struct user *u = ctx;
    struct process *before = process_enter(process);

    if (!is_child)
        begun(hf_lock_release_async(u->lock, u->owner, on_released, u));
    (void)process_enter(before);
}

static void on_granted(void *ctx, hf_status status, const struct hf_error *err)
{
    struct user *u = ctx;

    (void)err;
    called();
    u->holds = status == HF_OK;
    if (!is_over && !is_child)
        world_after(harness.sim.world, &u->release, (u->owner % 3) * 600000);
}

static void on_wait(void *ctx, struct hf_lock *lock,
                    const struct hf_lock_info *info)
{
    (void)ctx, (void)lock, (void)info;
    called();
}

static void on_renewed(void *ctx, struct hf_lock *lock, int64_t owner)
{
    (void)ctx, (void)lock, (void)owner;
    called();
}

static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason)
{
    (void)ctx, (void)lock, (void)owner, (void)reason;
    called();
}

static void ask(struct user *u)
{
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = u->owner;
    o.lease_ms = u->rounds % 2 ? LEASE_MS : 0;
    o.on_wait = on_wait;
    o.on_renewed = on_renewed;
    o.on_lost = on_lost;
    o.ctx = u;
    begun(hf_lock_acquire_async(u->lock, &o, on_granted, u));
}

/* ---- the client ---- */

static void on_log(void *ctx, enum hf_log_level level, const char *line)
{
    (void)ctx, (void)level, (void)line;
    called();
}

static void on_trace(void *ctx, const struct hf_trace *trace)
{
    (void)ctx, (void)trace;
    called();
}

/* The child has returned from hf_loop_dispatch, and ends. */
static void on_turn(void *ctx)
{
    (void)ctx;
    if (is_child)
        process_suspend(process);
}

static void open_client(void)
{
    struct hf_client_options o;
    char url[64];

    (void)snprintf(url, sizeof url, "redis://%s:%d",
                   harness.site.servers[0]->ip, SERVER_PORT);
    hf_client_options_init(&o);
    o.url = url;
    o.thread = false;
    o.watchdog_ms = HARNESS_WATCHDOG_MS / 2;
    o.request_timeout_ms = HARNESS_REQUEST_MS;
    o.log = on_log;
    o.trace = on_trace;
    must(hf_client_new(&client, &o, NULL) == HF_OK);
    process_drive(process, hf_client_loop(client));
    process_on_turn(process, on_turn, NULL);
}

static void begin_users(void)
{
    static const char *const names[NAMES] = {"a", "b", "c"};

    for (int i = 0; i < NAMES * OWNERS; i++) {
        struct user *u = &users[i];

        *u = (struct user){.owner = i / NAMES + 1,
                           .release = {.happen = release, .ctx = u}};
        must(hf_lock_new(&u->lock, client, names[i % NAMES], 1, NULL) == HF_OK);
        ask(u);
        if (is_child)
            return;
    }
}

/* A connection is lost meanwhile, so that there is something to log. */
static void play_once(uint64_t seed)
{
    harness_begin(&harness, seed, "fork", 1);
    calls = calls_of_child = 0;
    is_child = is_over = false;
    process = harness_process(&harness, 1);
    (void)process_enter(process);
    open_client();
    begin_users();
    (void)process_enter(NULL);
    on_turn(NULL);
    harness_run(&harness, 3000);
    link_reset(network_link(harness.sim.world, process,
                            harness.site.servers[0]->listener));
    harness_run(&harness, 20000);
    is_over = true;
    for (int i = 0; i < NAMES * OWNERS; i++)
        world_cancel(harness.sim.world, &users[i].release);
    if (is_child)
        process_unfork(process);
    process_die(process);
    (void)process_enter(process);
    hf_client_free(client);
    (void)process_enter(NULL);
    harness_end(&harness);
}

START_TEST(child_of_any_callback_touches_nothing_and_calls_nothing)
{
    fork_at = 0;
    do {
        fork_at++;
        play_once(1);
        ck_assert_uint_eq(calls_of_child, 0);
    } while (is_child);
    printf("%u callbacks\n", fork_at - 1);
    ck_assert_uint_gt(fork_at, 300);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: fork");
    TCase *c = harness_case(s, "fork", "FORK_SEEDS");

    tcase_add_test(c, child_of_any_callback_touches_nothing_and_calls_nothing);
    return suite_run(s);
}
