/* What many holds and many masters cost, in the simulated world: the number of script calls, and
 * the time until a failover is noticed. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/masters.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define WATCHDOG_MS 30000
#define THIRD_US (WATCHDOG_MS / 3 * INT64_C(1000))
#define SLOTS_USED 100
#define HOLDS 1200
#define MANY_HOLDS 5000 /* more than ALIGNED_FROM_HOLDS */
#define CROWDED 3200            /* WATCHDOG-6: 32 calls */

static struct harness harness;
static struct masters masters;
static struct process *process;
static struct hf_client *client;
static int grants;

static bool lacks_batches;      /* no memory for a renewal, which takes more than this */
#define LEAST_BATCH 1000

static void *resize(void *ctx, void *ptr, size_t old, size_t size)
{
    (void)ctx, (void)old;
    if (lacks_batches && size >= LEAST_BATCH)
        return NULL;
    if (size > 0)
        return realloc(ptr, size);
    free(ptr);
    return NULL;
}

static const struct hf_mem scarce = {.resize = resize};

static void run_for(int64_t us)
{
    world_run(harness.sim.world, harness_now_us(&harness) + us);
}

static void on_granted(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx, (void)err;
    if (status == HF_E_CLOSED)
        return;
    must(status == HF_OK);
    grants++;
}

static void begin_client(const char *url)
{
    struct hf_client_options o;

    process = harness_process(&harness, 1);
    grants = 0;
    (void)process_enter(process);
    hf_client_options_init(&o);
    o.url = url;
    o.mem = &scarce;
    o.thread = false;
    o.watchdog_ms = WATCHDOG_MS;
    o.request_timeout_ms = 20000;
    must(hf_client_new(&client, &o, NULL) == HF_OK);
    process_drive(process, hf_client_loop(client));
    (void)process_enter(NULL);
}

static void end_client(void)
{
    (void)process_enter(process);
    hf_client_free(client);
    (void)process_enter(NULL);
}

static void hold_for(enum hf_lock_kind kind, const char *name, int64_t lease_ms)
{
    struct hf_acquire_options o;
    struct hf_lock *lock;

    (void)process_enter(process);
    must(hf_lock_new_kind(&lock, client, kind, name, strlen(name), NULL) == HF_OK);
    hf_acquire_options_init(&o);
    o.owner = 1;
    o.lease_ms = lease_ms;
    must(hf_lock_acquire_async(lock, &o, on_granted, NULL) == HF_OK);
    hf_lock_free(lock);
    (void)process_enter(NULL);
}

static void hold(enum hf_lock_kind kind, const char *name)
{
    hold_for(kind, name, 0);
}

/* Of a third of the lease, after the scripts became known to the servers. */
static void count_renewals(uint64_t *renewals, uint64_t *commands)
{
    struct hf_client_stats a, b;

    run_for(2 * THIRD_US);
    hf_client_get_stats(client, &a);
    run_for(THIRD_US);
    hf_client_get_stats(client, &b);
    *renewals = b.renewals - a.renewals;
    *commands = b.renewal_requests - a.renewal_requests;
}

static uint64_t most_renewals_in_a_tick(void)
{
    struct hf_client_stats a, b;
    uint64_t most = 0;

    hf_client_get_stats(client, &a);
    for (int tick = 0; tick < 16; tick++, a = b) {
        run_for(THIRD_US / 16);
        hf_client_get_stats(client, &b);
        most = b.renewals - a.renewals > most ? b.renewals - a.renewals : most;
    }
    return most;
}

/* WATCHDOG-5, in the order in which slots follow each other least. */
START_TEST(watchdog_5_holds_of_one_slot_are_renewed_by_one_call)
{
    uint64_t renewals, commands;
    char name[32];

    masters_begin(&masters, &harness, 3, false);
    begin_client(masters_url());
    for (int i = 0; i < HOLDS; i++) {
        (void)snprintf(name, sizeof name, "{tag%d}lock%d", (i + i / SLOTS_USED) % SLOTS_USED, i);
        hold(HF_KIND_PLAIN, name);
    }
    count_renewals(&renewals, &commands);
    ck_assert_int_eq(grants, HOLDS);
    ck_assert_uint_eq(renewals, HOLDS);
    ck_assert_uint_le(commands, SLOTS_USED);
    ck_assert_uint_le(most_renewals_in_a_tick(), HOLDS / 2); /* they are spread over four turns */
    end_client();
    masters_end(&masters);
}
END_TEST

/* WATCHDOG-5: after a switch, each hold that the watchdog renews is followed by one that it does
 * not renew, for which a look is sent. */
START_TEST(watchdog_5_looks_and_renewals_are_not_mixed)
{
    struct hf_client_stats a, b;
    char name[32];
    int number = 0;

    masters_begin(&masters, &harness, 3, false);
    begin_client(masters_url());
    do
        (void)snprintf(name, sizeof name, "{tag%d}", number++);
    while (masters_of(&masters, name) != 0);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof name, "{tag%d}lock%d", number - 1, i);
        hold_for(HF_KIND_PLAIN, name, i % 2 ? 60000 : 0);
    }
    run_for(1000000);
    ck_assert_int_eq(grants, 200);
    server_take_down(masters.servers[0]);
    hf_client_get_stats(client, &a);
    masters_promote(&masters);
    run_for(3000000);
    hf_client_get_stats(client, &b);
    ck_assert_uint_eq(b.renewals - a.renewals, 100);
    ck_assert_uint_le(b.renewal_requests - a.renewal_requests, 4);
    end_client();
    masters_end(&masters);
}
END_TEST

/* A server executes no script call with too many bytes of names. */
START_TEST(names_of_a_call_have_16_kib)
{
    uint64_t renewals, commands;
    char name[1001];

    harness_begin(&harness, 1, "masters", 1);
    begin_client("redis://10.0.0.1:6379");
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "%01000d", i);
        hold(HF_KIND_PLAIN, name);
    }
    count_renewals(&renewals, &commands);
    ck_assert_uint_eq(renewals, 100);
    ck_assert_uint_ge(commands, 100 * 1000 / (16 << 10));
    end_client();
    harness_end(&harness);
}
END_TEST

/* WATCHDOG-5, with kinds whose renewals are different scripts. First renewals are spread over four
 * turns, and each turn has a call of each script. */
START_TEST(watchdog_5_kinds_that_alternate_are_renewed_together)
{
    static const enum hf_lock_kind kinds[] = {HF_KIND_PLAIN, HF_KIND_READ, HF_KIND_VALUE};
    uint64_t renewals, commands;
    char name[32];

    harness_begin(&harness, 1, "masters", 1);
    begin_client("redis://10.0.0.1:6379");
    for (int i = 0; i < HOLDS; i++) {
        (void)snprintf(name, sizeof name, "lock%d", i);
        hold(kinds[i % 3], name);
    }
    count_renewals(&renewals, &commands);
    ck_assert_int_eq(grants, HOLDS);
    ck_assert_uint_eq(renewals, HOLDS);
    ck_assert_uint_le(commands, 4 * 3 + HOLDS / 100);
    end_client();
    harness_end(&harness);
}
END_TEST

/* Acquires one hold every 2 ms, for a third of the lease. */
static void hold_many_over_time(int slots)
{
    char name[32];

    for (int i = 0; i < MANY_HOLDS; i++) {
        (void)snprintf(name, sizeof name, "{tag%d}lock%d", i * 7 % slots, i);
        hold(HF_KIND_PLAIN, name);
        run_for(THIRD_US / MANY_HOLDS);
    }
}

/* WATCHDOG-6 */
START_TEST(watchdog_6_holds_of_one_slot_are_renewed_together_whenever_they_were_acquired)
{
    uint64_t renewals, commands;

    masters_begin(&masters, &harness, 3, false);
    begin_client(masters_url());
    hold_many_over_time(SLOTS_USED);
    count_renewals(&renewals, &commands);
    ck_assert_int_eq(grants, MANY_HOLDS);
    ck_assert_uint_eq(renewals, MANY_HOLDS);
    ck_assert_uint_le(commands, SLOTS_USED);
    end_client();
    masters_end(&masters);
}
END_TEST

/* Without memory for a batch, all holds that are due are renewed a tick later, or two. */
START_TEST(holds_whose_batch_has_no_memory_are_renewed_soon)
{
    struct hf_client_stats s;
    char name[32];

    masters_begin(&masters, &harness, 3, false);
    begin_client(masters_url());
    for (int i = 0; i < HOLDS; i++) {
        (void)snprintf(name, sizeof name, "{tag%d}lock%d", i % SLOTS_USED, i);
        hold(HF_KIND_PLAIN, name);
    }
    run_for(THIRD_US / 2);
    lacks_batches = true;
    run_for(THIRD_US / 2 + THIRD_US / 8);
    hf_client_get_stats(client, &s);
    ck_assert_uint_eq(s.renewals, 0);
    lacks_batches = false;
    run_for(THIRD_US / 8);
    hf_client_get_stats(client, &s);
    ck_assert_uint_eq(s.renewals, HOLDS);
    end_client();
    masters_end(&masters);
}
END_TEST

/* WATCHDOG-6: holds that fill batches are not moved; of the others, less than a batch of each of
 * the 16 turns. */
START_TEST(watchdog_6_many_holds_of_one_slot_are_not_renewed_in_one_turn)
{
    uint64_t renewals, commands;

    masters_begin(&masters, &harness, 3, false);
    begin_client(masters_url());
    hold_many_over_time(1);
    count_renewals(&renewals, &commands);
    ck_assert_uint_eq(renewals, MANY_HOLDS);
    ck_assert_uint_ge(commands, MANY_HOLDS / 100);
    ck_assert_uint_le(commands, MANY_HOLDS / 100 + 16);
    ck_assert_uint_le(most_renewals_in_a_tick(), MANY_HOLDS / 16 + 16 * 100);
    end_client();
    masters_end(&masters);
}
END_TEST

/* WATCHDOG-6: holds that are acquired slowly are few in each turn, and all of them move to the time
 * of their slot, until it is crowded. */
START_TEST(watchdog_6_a_slot_that_grows_slowly_is_not_renewed_in_one_turn)
{
    char name[32];

    masters_begin(&masters, &harness, 3, false);
    begin_client(masters_url());
    hold_many_over_time(SLOTS_USED);
    for (int i = 0; i < MANY_HOLDS; i++) {
        (void)snprintf(name, sizeof name, "{slow}lock%d", i);
        hold(HF_KIND_PLAIN, name);
        run_for(THIRD_US / 16 / 50);
    }
    run_for(THIRD_US);
    ck_assert_uint_le(most_renewals_in_a_tick(), CROWDED + 2 * MANY_HOLDS / 16 + SLOTS_USED);
    end_client();
    masters_end(&masters);
}
END_TEST

static const struct {
    int masters;
    bool is_silent;
} failovers[] = {{3, false}, {3, true}, {100, false}, {100, true}};

/* A call that waits for a master that failed is granted by its successor soon after the promotion,
 * whatever the number of masters (DISCOVER-6). */
START_TEST(discover_6_time_to_notice_a_failover_does_not_grow_with_the_masters)
{
    char name[32];
    int number = 0;

    masters_begin(&masters, &harness, failovers[_i].masters, false);
    begin_client(masters_url());
    do
        (void)snprintf(name, sizeof name, "lock%d", number++);
    while (masters_of(&masters, name) != 0);
    run_for(1000000);
    if (failovers[_i].is_silent)
        server_lose_power(masters.servers[0]);
    else
        server_take_down(masters.servers[0]);
    hold(HF_KIND_PLAIN, name);
    run_for(5000000);
    masters_promote(&masters);
    run_for(1100000); /* the longest pause between two rounds, and a round */
    ck_assert_int_eq(grants, 1);
    end_client();
    masters_end(&masters);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: many masters");
    TCase *c = tcase_create("masters");

    tcase_add_test(c, watchdog_5_holds_of_one_slot_are_renewed_by_one_call);
    tcase_add_test(c, watchdog_5_looks_and_renewals_are_not_mixed);
    tcase_add_test(c, names_of_a_call_have_16_kib);
    tcase_add_test(c, watchdog_5_kinds_that_alternate_are_renewed_together);
    tcase_add_test(c, watchdog_6_holds_of_one_slot_are_renewed_together_whenever_they_were_acquired);
    tcase_add_test(c, holds_whose_batch_has_no_memory_are_renewed_soon);
    tcase_add_test(c, watchdog_6_a_slot_that_grows_slowly_is_not_renewed_in_one_turn);
    tcase_add_test(c, watchdog_6_many_holds_of_one_slot_are_not_renewed_in_one_turn);
    tcase_add_loop_test(c, discover_6_time_to_notice_a_failover_does_not_grow_with_the_masters, 0,
                        sizeof failovers / sizeof *failovers);
    suite_add_tcase(s, c);
    return suite_run(s);
}
