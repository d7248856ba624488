/* Another tenant of the server, in the simulated world: it writes values, fields,
 * places of queues and messages of 33 MB, which is more than a client reads of one
 * reply, under names that a client of ours looks at and waits for. Watched: the
 * connection that all locks share is never lost, no hold is (P2), each call ends in
 * time (P7), and a waiter is woken by a message that it cannot read (P5).
 *
 * TENANT_SEEDS=1..500: these worlds, instead of the first few. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/harness.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define LARGE (33 << 20)
#define HELD_MS 900000
#define FREED_MS 40000          /* when the lock of the waiter becomes free */
#define END_MS 60000
#define WAKES_MS 500
#define CALLS 8
#define SEEDS 3                 /* a world has a dozen times 33 MB */

#define OTHER "6e3814a1-e847-452b-a982-45baf93a1df2:1"
#define AWAITED "awaited"
#define CHANNEL "redisson_lock__channel:{" AWAITED "}"

static const struct {
    const char *name;
    enum hf_lock_kind kind;
} looked_at[] = {
    {"value", HF_KIND_VALUE}, {"hash", HF_KIND_PLAIN}, {"count", HF_KIND_PLAIN},
    {"queue", HF_KIND_FAIR},  {"mode", HF_KIND_READ},  {"mode", HF_KIND_WRITE},
};

/* One of our calls: `info` is of an inspection. */
struct call {
    struct hf_lock *lock;
    struct hf_lock_info info;
    int64_t begun_us;           /* 0: it is free */
};

static struct harness harness;
static struct process *process;
static struct hf_client *client;
static struct hf_lock *ours, *awaited;
static struct event tenant, looking;
static struct call calls[CALLS];
static char *large;
static int64_t granted_us;
static unsigned losses;
static uint64_t writes, looks;
static int64_t asked;

/* ---- the tenant ---- */

static void say(int argc, const char *const *argv)
{
    server_say(harness.site.servers[0], argc, argv);
}

static void write_something(void)
{
    switch (harness_draw(&harness, 6)) {
    case 0:
        say(3, (const char *[]){"SET", "value", large});
        break;
    case 1:
        say(4, (const char *[]){"HSET", "hash", large, "1"});
        break;
    case 2:
        say(4, (const char *[]){"HSET", "count", OTHER, large});
        break;
    case 3:
        say(3, (const char *[]){"RPUSH", "redisson_lock_queue:{queue}", large});
        break;
    case 4:
        say(6, (const char *[]){"HSET", "mode", "mode", large, OTHER, "1"});
        break;
    default:
        say(3, (const char *[]){"PUBLISH", CHANNEL, large});
    }
}

static void on_tenant(void *ctx)
{
    (void)ctx;
    if (writes++ % 4 == 3)
        say(6, (const char *[]){"DEL", "value", "hash", "count", "mode",
                                "redisson_lock_queue:{queue}"});
    else
        write_something();
    world_after(harness.sim.world, &tenant, (2000 + harness_draw(&harness, 4000)) * 1000);
}

static void free_awaited(void *ctx)
{
    (void)ctx;
    say(2, (const char *[]){"DEL", AWAITED});
    say(3, (const char *[]){"PUBLISH", CHANNEL, large});
}

/* ---- our client ---- */

static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason)
{
    (void)ctx, (void)lock, (void)owner, (void)reason;
    losses++;
}

static void on_looked(void *ctx, hf_status status, const struct hf_error *err)
{
    struct call *call = ctx;
    int64_t took_us = harness_now_us(&harness) - call->begun_us;

    (void)err;
    looks++;
    if (took_us > 2 * HARNESS_REQUEST_MS * 1000)
        harness_violate(&harness, "P7: a call has ended late", (int)(call - calls));
    if (status != HF_OK && status != HF_TIMEOUT && status != HF_E_SERVER)
        harness_violate(&harness, hf_status_name(status), (int)(call - calls));
    if (call->info.holder_len > 191)
        harness_violate(&harness, "a text that was not cut", (int)(call - calls));
    hf_lock_free(call->lock);
    call->begun_us = 0;
}

static void look(struct call *call)
{
    size_t i = (size_t)harness_draw(&harness, ROWS(looked_at));
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = 100 + ++asked; /* a lease of 50 ms ends as a loss */
    o.wait_ms = 0;
    o.lease_ms = 50;
    *call = (struct call){.begun_us = harness_now_us(&harness)};
    must(hf_lock_new_kind(&call->lock, client, looked_at[i].kind, looked_at[i].name,
                          strlen(looked_at[i].name), NULL) == HF_OK);
    if (harness_draw(&harness, 2))
        must(hf_lock_inspect_async(call->lock, &call->info, on_looked, call) == HF_OK);
    else
        must(hf_lock_acquire_async(call->lock, &o, on_looked, call) == HF_OK);
}

static void on_look(void *ctx)
{
    struct process *before = process_enter(process);

    (void)ctx;
    for (int i = 0; i < CALLS; i++)
        if (calls[i].begun_us == 0) {
            look(&calls[i]);
            break;
        }
    (void)process_enter(before);
    world_after(harness.sim.world, &looking, (200 + harness_draw(&harness, 800)) * 1000);
}

static void on_granted(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx, (void)err;
    must(status == HF_OK);
    granted_us = harness_now_us(&harness);
}

static void acquire_ours(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx, (void)err;
    must(status == HF_OK);
}

/* In RESP2, in every other world: then messages come over another connection. */
static void open_client(int protocol)
{
    struct hf_client_options o;

    hf_client_options_init(&o);
    o.url = "redis://10.0.0.1:6379";
    o.thread = false;
    o.protocol = protocol;
    o.watchdog_ms = HARNESS_WATCHDOG_MS;
    o.request_timeout_ms = HARNESS_REQUEST_MS;
    must(hf_client_new(&client, &o, NULL) == HF_OK);
    process_drive(process, hf_client_loop(client));
}

static void begin_client(int protocol)
{
    struct hf_acquire_options o;

    (void)process_enter(process);
    open_client(protocol);
    must(hf_lock_new(&ours, client, "ours", 4, NULL) == HF_OK);
    must(hf_lock_new(&awaited, client, AWAITED, strlen(AWAITED), NULL) == HF_OK);
    hf_acquire_options_init(&o);
    o.owner = 1;
    o.on_lost = on_lost;
    must(hf_lock_acquire_async(ours, &o, acquire_ours, NULL) == HF_OK);
    o.wait_ms = HF_FOREVER;
    must(hf_lock_acquire_async(awaited, &o, on_granted, NULL) == HF_OK);
    (void)process_enter(NULL);
}

static void check_all(void)
{
    struct hf_client_stats stats;

    (void)process_enter(process);
    hf_client_get_stats(client, &stats);
    if (stats.link.losses > 0)
        harness_violate(&harness, "a connection was lost", (int)stats.link.losses);
    if (losses > 0 || hf_lock_safe_ms(ours, 1) <= 0)
        harness_violate(&harness, "P2: a hold was lost", (int)losses);
    if (granted_us == 0 || granted_us > sim_us(FREED_MS + WAKES_MS))
        harness_violate(&harness, "P5: a waiter was not woken", 0);
    (void)process_enter(NULL);
}

static void end_client(void)
{
    (void)process_enter(process);
    hf_lock_free(ours);
    hf_lock_free(awaited);
    hf_client_free(client);
    (void)process_enter(NULL);
}

static void run_world(uint64_t seed, enum harness_forgetting forgetting)
{
    static struct event freed;

    (void)forgetting;
    harness_begin(&harness, seed, "tenant", 1);
    granted_us = losses = 0;
    memset(calls, 0, sizeof calls);
    process = harness_process(&harness, 1);
    say(4, (const char *[]){"HSET", AWAITED, OTHER, "1"});
    say(3, (const char *[]){"PEXPIRE", AWAITED, "900000"});
    begin_client(seed % 2 ? 3 : 2);
    tenant = (struct event){.happen = on_tenant};
    looking = (struct event){.happen = on_look};
    freed = (struct event){.happen = free_awaited};
    world_after(harness.sim.world, &tenant, 1000000);
    world_after(harness.sim.world, &looking, 1100000);
    world_at(harness.sim.world, &freed, sim_us(FREED_MS));
    harness_run(&harness, END_MS);
    check_all();
    world_cancel(harness.sim.world, &tenant);
    world_cancel(harness.sim.world, &looking);
    harness_run(&harness, END_MS + 5000);
    end_client();
    harness_end(&harness);
}

START_TEST(large_keys_of_another_tenant_cost_our_locks_nothing)
{
    long long worlds;

    large = malloc(LARGE + 1);
    ck_assert_ptr_nonnull(large);
    memset(large, 'x', LARGE);
    large[LARGE] = '\0';
    worlds = harness_run_seeds(&harness, "TENANT_SEEDS", run_world, HARNESS_KEEPS);
    printf("%lld worlds, %llu writes, %llu looks\n", worlds,
           (unsigned long long)writes, (unsigned long long)looks);
    ck_assert_uint_gt(looks, 100);
    free(large);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: another tenant");
    TCase *c = harness_case(s, "tenant", "TENANT_SEEDS");
    char seeds[32];

    (void)snprintf(seeds, sizeof seeds, "1..%d", SEEDS);
    (void)setenv("TENANT_SEEDS", seeds, 0);
    tcase_add_test(c, large_keys_of_another_tenant_cost_our_locks_nothing);
    return suite_run(s);
}
