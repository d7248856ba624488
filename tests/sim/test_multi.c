/* Multi-locks in the simulated world: parties that each have a client for each of
 * one to three servers take sets of four names, in any order, beside others that take
 * one of them. Checked: at no moment do two parties believe in sets that overlap (P1),
 * a loss is reported before another party is granted the lock (P2), a set that is granted
 * has every member on its server, the first loss is the loss of all members, calls end
 * (P7), each party is granted its set after the faults (P5), and no hold remains (P6).
 *
 * MULTI_SEEDS=1..5000 runs these seeds instead of the first few. */
#include <string.h>

#include "lock/multi.h"
#include "tests/sim/harness.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define PARTIES 4
#define SERVERS_MAX 3
#define OWNER 7
#define NAMES 4

static const char *const names[NAMES] = {"a", "b", "c", "d"};

struct party {
    struct process *process;
    struct hf_client *clients[SERVERS_MAX];
    struct hf_lock *locks[NAMES];
    struct hf_multi *multi;     /* of the last call; NULL: it was for one lock */
    struct hf_lock *single;     /* that one */
    unsigned set;               /* the names that it requests, or holds: bits */
    int64_t owner;
    struct hf_cancel cancel;
    struct event next;          /* what it does by itself */
    enum { RESTS, ASKS, HOLDS, GIVES } state;
    bool is_told;               /* on_lost was called */
    hf_status status;           /* of its last acquire */
    int64_t lease_ms;           /* requested; 0: the watchdog's */
    int64_t until_us;           /* what it believes, in true time; 0: nothing */
};

static struct harness harness;
static struct party parties[PARTIES];
static enum hf_lock_kind kinds[NAMES];
static bool is_ending;
static bool is_faultless;       /* nothing goes wrong in this world */
static uint64_t operations, losses;

static int64_t draw(int64_t sides)
{
    return harness_draw(&harness, sides);
}

static int number_of(const struct party *p)
{
    return (int)(p - parties);
}

static void violate(const char *property, const struct party *p)
{
    harness_violate(&harness, property, number_of(p));
}

static int server_of(int name)
{
    return name % (int)harness.site.count;
}

/* ---- beliefs ---- */

static int64_t safe_ms(const struct party *p)
{
    if (p->multi)
        return hf_multi_safe_ms(p->multi, p->owner);
    return p->single ? hf_lock_safe_ms(p->single, p->owner) : INT64_MIN;
}

static void look(struct party *p)
{
    int64_t safe = safe_ms(p);

    p->until_us = harness_safe_until_us(p->process, safe);
    for (int i = 0; i < PARTIES && p->until_us > 0; i++)
        if (&parties[i] != p && parties[i].until_us > harness_now_us(&harness) &&
            (parties[i].set & p->set))
            violate("P1: two believe", p);
}

static void on_turn(void *ctx)
{
    look(ctx);
}

/* ---- what a party does ---- */

static void act_after(struct party *p, int64_t ms)
{
    world_after(harness.sim.world, &p->next, ms * 1000);
}

static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason)
{
    struct party *p = ctx;

    (void)lock, (void)owner, (void)reason;
    if ((p->state != HOLDS && p->state != GIVES) || p->is_told)
        violate("a loss without a hold, or reported twice", p);
    if (safe_ms(p) != INT64_MIN)
        violate("one is lost, and the set is not", p);
    p->is_told = true;
    losses++;
    if (p->state == HOLDS)
        act_after(p, draw(200));
}

static void check_others(const struct party *p)
{
    for (int i = 0; i < PARTIES; i++)
        if (&parties[i] != p && (parties[i].set & p->set) &&
            parties[i].state == HOLDS && !parties[i].is_told &&
            !process_is_suspended(parties[i].process))
            violate("P2: granted before on_lost of another party", p);
}

/* So says its server: by a field, or as the value. */
static bool is_held_by(const struct party *p, int name)
{
    struct model *model = server_turn(harness.site.servers[server_of(name)]);
    struct model_text field, value;
    char owner[HF_OWNER_TEXT_MAX];
    struct model_key key;

    (void)hf_lock_owner_text(p->locks[name], OWNER, owner);
    if (!model_look(model, 0, names[name], 1, &key) || key.is_expired)
        return false;
    if (kinds[name] != HF_KIND_VALUE)
        return model_field(model, 0, names[name], 1, owner, &value);
    return model_at(model, 0, names[name], 1, 0, &field, &value) &&
           value.n == strlen(owner) &&
           memcmp(value.p, owner, value.n) == 0;
}

/* With a lease, half of it is left (multi.h); of one lock it may be less. */
static void check_granted(const struct party *p)
{
    int64_t safe = safe_ms(p);

    if (safe <= 0 || (p->multi && safe < p->lease_ms / 2 - 1))
        violate("granted, and not safe", p);
    for (int i = 0; i < NAMES; i++)
        if ((p->set & (1u << i)) && !is_held_by(p, i))
            violate("granted, and a member is not held", p);
}

static void on_acquired(void *ctx, hf_status status, const struct hf_error *err)
{
    struct party *p = ctx;

    operations++;
    p->status = status;
    if (is_faultless && status < 0 && status != HF_TIMEOUT &&
        status != HF_CANCELLED)
        violate(err ? err->text : "P8: a call does not begin", p);
    p->state = status == HF_OK ? HOLDS : RESTS;
    if (status == HF_OK) {
        check_granted(p);
        check_others(p);
        harness_granted(&harness, number_of(p));
        act_after(p, draw(4) ? draw(300) : draw(8000));
    } else {
        act_after(p, draw(500));
    }
    look(p);
}

static void on_released(void *ctx, hf_status status, const struct hf_error *err)
{
    struct party *p = ctx;

    (void)status, (void)err;
    operations++;
    p->state = RESTS;
    act_after(p, draw(500));
}

/* ---- requests ---- */

/* Where nothing goes wrong, it is enough for a round trip to each server. */
static int64_t least_lease_ms(void)
{
    return is_faultless ? 2000 : 500;
}

static struct hf_acquire_options options_of(struct party *p)
{
    static const int64_t waits[] = {0, 200, 5000, 20000, 20000, HF_FOREVER};
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = OWNER;
    o.wait_ms = !is_faultless ? waits[draw(6)] : draw(6) ? 700 + draw(6000) : 0;
    o.lease_ms = p->lease_ms =
        draw(4) ? 0 : least_lease_ms() + draw(HARNESS_WATCHDOG_MS - least_lease_ms());
    o.max_hold_ms = draw(8) ? 0 : 200 + draw(8000);
    o.on_lost = on_lost;
    o.ctx = p;
    if (harness.site.count == 1) {
        hf_cancel_init(&p->cancel, p->clients[0]);
        o.cancel = &p->cancel;
    }
    return o;
}

/* Two or more, in any order: the multi-lock has one of its own. */
static size_t draw_members(struct party *p, struct hf_lock *members[NAMES])
{
    size_t count = 2 + (size_t)draw(NAMES - 1);
    int order[NAMES] = {0, 1, 2, 3};

    p->set = 0;
    for (size_t i = 0; i < count; i++) {
        size_t other = i + (size_t)draw(NAMES - (int64_t)i);
        int name = order[other];

        order[other] = order[i];
        p->set |= 1u << name;
        members[i] = p->locks[name];
    }
    return count;
}

static hf_status ask_for_several(struct party *p,
                                 const struct hf_acquire_options *o)
{
    struct hf_lock *members[NAMES];
    size_t count = draw_members(p, members);

    must(hf_multi_new(&p->multi, members, count, NULL) == HF_OK);
    return hf_multi_acquire_async(p->multi, o, on_acquired, p);
}

static hf_status ask_for_one(struct party *p, const struct hf_acquire_options *o)
{
    int name = (int)draw(NAMES);

    p->set = 1u << name;
    p->single = p->locks[name];
    return hf_lock_acquire_async(p->single, o, on_acquired, p);
}

static void ask(struct party *p)
{
    struct hf_acquire_options o = options_of(p);
    hf_status rc;

    hf_multi_free(p->multi);
    p->multi = NULL;
    p->single = NULL;
    p->is_told = false;
    p->state = ASKS;
    rc = draw(4) ? ask_for_several(p, &o) : ask_for_one(p, &o);
    if (rc < 0)
        on_acquired(p, rc, NULL);
    else if (o.cancel && draw(8) == 0)
        act_after(p, draw(1000)); /* it is cancelled then */
}

static void give_up(struct party *p)
{
    hf_status rc;

    p->state = GIVES;
    rc = p->multi ? hf_multi_release_async(p->multi, p->owner, on_released, p)
                  : hf_lock_release_async(p->single, p->owner, on_released, p);
    if (rc < 0)
        on_released(p, rc, NULL);
}

static void act(void *ctx)
{
    struct party *p = ctx;
    struct process *before;

    if (process_is_suspended(p->process)) {
        act_after(p, 10);
        return;
    }
    before = process_enter(p->process);
    if (p->state == RESTS && !is_ending)
        ask(p);
    else if (p->state == ASKS)
        hf_cancel_fire(&p->cancel);
    else if (p->state == HOLDS)
        give_up(p);
    look(p);
    (void)process_enter(before);
}

/* ---- one world ---- */

static void draw_kinds(void)
{
    static const enum hf_lock_kind all[] = {
        HF_KIND_PLAIN, HF_KIND_PLAIN, HF_KIND_NONREENTRANT, HF_KIND_FAIR,
        HF_KIND_VALUE, HF_KIND_WRITE, HF_KIND_FENCED,       HF_KIND_SPIN};

    for (int i = 0; i < NAMES; i++)
        kinds[i] = all[draw(sizeof all / sizeof *all)];
}

static void open_party(struct party *p)
{
    *p = (struct party){.next = {.happen = act, .ctx = p}, .owner = OWNER};
    p->process = harness_process(&harness, number_of(p) + 1);
    process_on_turn(p->process, on_turn, p);
    for (size_t i = 0; i < harness.site.count; i++)
        p->clients[i] = harness_client(&harness, p->process, (int)i);
    (void)process_enter(p->process);
    for (int i = 0; i < NAMES; i++)
        must(hf_lock_new_kind(&p->locks[i], p->clients[server_of(i)], kinds[i],
                              names[i], 1, NULL) == HF_OK);
    (void)process_enter(NULL);
    act_after(p, draw(1000));
}

static void close_party(struct party *p)
{
    (void)process_enter(p->process);
    hf_multi_free(p->multi);
    p->multi = NULL;
    p->single = NULL;
    for (int i = 0; i < NAMES; i++)
        hf_lock_free(p->locks[i]);
    for (size_t i = 0; i < harness.site.count; i++)
        hf_client_free(p->clients[i]);
    (void)process_enter(NULL);
}

static void check_end(void)
{
    for (int i = 0; i < PARTIES; i++)
        if (parties[i].state != RESTS)
            violate("P7: a call does not end, or a hold", &parties[i]);
    for (int i = 0; i < NAMES; i++)
        harness_check_free(&harness, names[i]);
}

static void run_world(uint64_t seed, enum harness_forgetting forgetting)
{
    harness_begin(&harness, seed, "multi", 1 + (int)(seed % SERVERS_MAX));
    is_ending = false;
    draw_kinds();
    for (int i = 0; i < PARTIES; i++)
        open_party(&parties[i]);
    harness_faults(&harness, forgetting);
    harness_run(&harness, HARNESS_FAULTS_MS + 2 * HARNESS_CALM_MS);
    harness_check_granted(&harness, PARTIES);
    is_ending = true;
    harness_run(&harness, HARNESS_FAULTS_MS + 4 * HARNESS_CALM_MS);
    check_end();
    for (int i = 0; i < PARTIES; i++)
        close_party(&parties[i]);
    harness_end(&harness);
}

/* ---- P8: nothing goes wrong ---- */

static void pass(int64_t ms)
{
    world_run(harness.sim.world, harness_now_us(&harness) + ms * 1000);
}

/* Each way of each link has a delay of its own. */
static void draw_delays(const struct party *p)
{
    for (size_t i = 0; i < harness.site.count; i++) {
        struct link *link = network_link(harness.sim.world, p->process,
                                         harness.site.servers[i]->listener);
        struct link_shape shape = {.delay_us = 50 + draw(2) * draw(60000)};

        link_set_shape(link, TO_SERVER, &shape);
        link_set_shape(link, TO_CLIENT, &shape);
    }
}

/* All members are free, whatever the calls before have left. */
static void take_alone(struct party *p)
{
    static const int64_t waits[] = {0, 1000, 5000, HF_FOREVER};
    struct process *before = process_enter(p->process);
    struct hf_acquire_options o = options_of(p);

    hf_multi_free(p->multi);
    p->multi = NULL;
    p->single = NULL;
    p->is_told = false;
    p->state = ASKS;
    o.wait_ms = waits[draw(4)];
    o.lease_ms = p->lease_ms = 0;
    o.max_hold_ms = 0; /* the members are granted one after the other, which may take longer */
    must(ask_for_several(p, &o) == HF_OK);
    (void)process_enter(before);
    pass(1500);
    if (p->state == ASKS || p->status != HF_OK)
        violate("P8: not granted although all members are free", p);
    act(p);
    pass(5000);
    world_cancel(harness.sim.world, &p->next);
}

static void play_faultless_world(uint64_t seed, enum harness_forgetting forgetting)
{
    (void)forgetting;
    harness_begin(&harness, seed, "faultless", 1 + (int)(seed % SERVERS_MAX));
    is_ending = false;
    is_faultless = true;
    draw_kinds();
    for (int i = 0; i < PARTIES; i++) {
        open_party(&parties[i]);
        draw_delays(&parties[i]);
    }
    harness_run(&harness, HARNESS_FAULTS_MS);
    is_ending = true;
    harness_run(&harness, 2 * HARNESS_FAULTS_MS);
    check_end();
    for (int i = 0; i < PARTIES; i++)
        take_alone(&parties[i]);
    for (int i = 0; i < PARTIES; i++)
        close_party(&parties[i]);
    harness_end(&harness);
    is_faultless = false;
}

/* ---- one name on several servers, in opposite orders ---- */

#define DUELS 10
#define DUEL_SERVERS 2
#define DUEL_MS 20000           /* several rounds */
#define DUEL_MEAN_MS 3500       /* to the first grant: the first patience, mostly */

static int64_t duel_ms;         /* to the first grant, of all duels of a world */

/* Both parties are of one process: their clocks and links are the same, so that only
 * chance can keep them from doing the same at the same moment. */
static void open_duellist(struct party *p, struct process *process)
{
    struct hf_lock *members[DUEL_SERVERS];

    *p = (struct party){.next = {.happen = act, .ctx = p}, .process = process};
    p->set = 1u << NAMES;       /* they exclude each other */
    for (int i = 0; i < DUEL_SERVERS; i++) {
        int server = p == &parties[0] ? i : DUEL_SERVERS - 1 - i;

        p->clients[server] = harness_client(&harness, process, server);
        (void)process_enter(process);
        must(hf_lock_new(&p->locks[i], p->clients[server], names[0], 1, NULL) ==
             HF_OK);
        (void)process_enter(NULL);
        members[i] = p->locks[i];
    }
    must(hf_multi_new(&p->multi, members, DUEL_SERVERS, NULL) == HF_OK);
}

static void duel(void)
{
    struct process *before = process_enter(parties[0].process);

    for (int i = 0; i < 2; i++) {
        struct party *p = &parties[i];
        struct hf_acquire_options o;

        hf_acquire_options_init(&o);
        o.owner = p->owner = OWNER + i;
        p->lease_ms = 0;
        p->status = HF_TIMEOUT;
        p->state = ASKS;
        must(hf_multi_acquire_async(p->multi, &o, on_acquired, p) == HF_OK);
    }
    (void)process_enter(before);
    for (; parties[0].state == ASKS && parties[1].state == ASKS; duel_ms += 10)
        pass(10);
    pass(DUEL_MS);
    for (int i = 0; i < 2; i++)
        if (parties[i].status != HF_OK)
            violate("P5: they take each other's members again and again",
                    &parties[i]);
}

static void close_duellist(struct party *p)
{
    (void)process_enter(p->process);
    hf_multi_free(p->multi);
    for (int i = 0; i < DUEL_SERVERS; i++)
        hf_lock_free(p->locks[i]);
    for (int i = 0; i < DUEL_SERVERS; i++)
        hf_client_free(p->clients[i]);
    *p = (struct party){.state = RESTS};
    (void)process_enter(NULL);
}

static void play_duels(uint64_t seed, enum harness_forgetting forgetting)
{
    struct process *process;

    (void)forgetting;
    harness_begin(&harness, seed, "duel", DUEL_SERVERS);
    is_ending = true;
    duel_ms = 0;
    process = harness_process(&harness, 1);
    for (int i = 0; i < 2; i++)
        open_duellist(&parties[i], process);
    for (int i = 0; i < DUELS && !*harness.violation; i++)
        duel();
    if (duel_ms > DUELS * DUEL_MEAN_MS)
        violate("P5: they begin their rounds at the same moments", &parties[0]);
    for (int i = 0; i < 2; i++)
        close_duellist(&parties[i]);
    harness_end(&harness);
}

/* ---- the tests ---- */

static const enum harness_forgetting forgettings[] = {HARNESS_KEEPS,
                                                      HARNESS_STAYS_AWAY};

START_TEST(sets_exclude_each_other_under_faults)
{
    long long worlds;

    operations = losses = 0;
    worlds = harness_run_seeds(&harness, "MULTI_SEEDS", run_world, forgettings[_i]);
    printf("%lld worlds, %llu operations, %llu losses\n", worlds,
           (unsigned long long)operations, (unsigned long long)losses);
    ck_assert_uint_gt(losses, 0);
}
END_TEST

/* Parties contend over links of different lengths, with waits of any length. */
START_TEST(no_call_fails_without_a_fault)
{
    operations = 0;
    (void)harness_run_seeds(&harness, "MULTI_SEEDS", play_faultless_world, HARNESS_KEEPS);
    ck_assert_uint_gt(operations, 0);
}
END_TEST

START_TEST(opposite_orders_back_off_at_random)
{
    (void)harness_run_seeds(&harness, "MULTI_SEEDS", play_duels, HARNESS_KEEPS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: multi-locks");
    TCase *c = harness_case(s, "multi-locks", "MULTI_SEEDS");

    tcase_add_test(c, no_call_fails_without_a_fault);
    tcase_add_test(c, opposite_orders_back_off_at_random);
    tcase_add_loop_test(c, sets_exclude_each_other_under_faults, 0, 2);
    return suite_run(s);
}
