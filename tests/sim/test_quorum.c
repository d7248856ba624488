/* Quorums in the simulated world: servers that know nothing of each other, and
 * parties of which each has a client for each of them. Faults affect
 * each server and each link separately. Checked: at no moment do two parties
 * believe (P1), a loss is reported before another party is granted the quorum (P2), calls
 * end (P7), a party is granted it after the faults (P5), and no hold remains (P6).
 *
 * QUORUM_SEEDS=1..5000 runs these seeds instead of the first few, except in the last test. */
#include <string.h>

#include "lock/quorum.h"
#include "tests/sim/harness.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define PARTIES 3
#define OWNER 7
#define NAME "job"

struct party {
    struct process *process;
    struct hf_client *clients[HF_QUORUM_MAX];
    struct hf_quorum *quorum;
    struct event next;          /* what it does by itself */
    enum { RESTS, ASKS, HOLDS, GIVES } state;
    bool is_told;               /* on_lost was called */
    hf_status status;           /* of its last acquire */
    int64_t lease_ms;           /* requested; 0: the watchdog's */
    int64_t until_us;           /* what it believes, in true time; 0: nothing */
};

static struct harness harness;
static enum hf_lock_kind kind;  /* of the members */
static bool keeps_data;         /* servers do, and so their counters */
static int64_t last_token;      /* of the last grant */
static struct party parties[PARTIES];
static bool is_ending;
static bool is_faultless;       /* nothing goes wrong in this world */
static uint64_t operations, doubles;

static int64_t draw(int64_t sides)
{
    return harness_draw(&harness, sides);
}

static void violate(const char *property, int party)
{
    harness_violate(&harness, property, party);
}

/* ---- beliefs ---- */

static int number_of(const struct party *p)
{
    return (int)(p - parties);
}

static void look(struct party *p)
{
    int64_t safe_ms = hf_quorum_safe_ms(p->quorum, OWNER);

    p->until_us = harness_safe_until_us(p->process, safe_ms);
    for (int i = 0; i < PARTIES && p->until_us > 0; i++) {
        if (&parties[i] == p || parties[i].until_us <= harness_now_us(&harness))
            continue;
        doubles++;
        violate("P1: two believe", number_of(p));
    }
}

static void on_turn(void *ctx)
{
    struct party *p = ctx;

    if (p->quorum)
        look(p);
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
    if (p->state != HOLDS || p->is_told)
        violate("a loss that is none", number_of(p));
    p->is_told = true;
    act_after(p, draw(200));
}

static void check_others(const struct party *p)
{
    for (int i = 0; i < PARTIES; i++)
        if (&parties[i] != p && parties[i].state == HOLDS &&
            !parties[i].is_told &&
            !process_is_suspended(parties[i].process)) {
            doubles++;
            violate("P2: granted before on_lost of another party", number_of(p));
        }
}

/* With a lease, half of it is left (quorum.h). */
static void check_granted(const struct party *p)
{
    int64_t safe_ms = hf_quorum_safe_ms(p->quorum, OWNER);

    if (safe_ms <= 0 || safe_ms < p->lease_ms / 2)
        violate("granted, and not safe", number_of(p));
}

/* The tokens of grants grow, on whichever majority. */
static void check_token(const struct party *p)
{
    int64_t token = hf_quorum_token(p->quorum, OWNER);

    if ((token > 0) != ((kind & HF_WITH_TOKEN) != 0))
        violate("P9: a token, or none", number_of(p));
    if (token > 0 && token <= last_token && keeps_data)
        violate("P9: the token of a later grant is not greater", number_of(p));
    last_token = token;
}

static void on_acquired(void *ctx, hf_status status, const struct hf_error *err)
{
    struct party *p = ctx;

    operations++;
    p->status = status;
    if (is_faultless && status < 0 && status != HF_TIMEOUT &&
        status != HF_CANCELLED)
        violate(err ? err->text : "P8: a call does not begin", number_of(p));
    if (status == HF_OK) {
        check_granted(p);
        check_others(p);
        check_token(p);
        p->state = HOLDS;
        harness_granted(&harness, number_of(p));
        act_after(p, draw(4) ? draw(300) : draw(8000));
    } else {
        p->state = RESTS;
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

static void ask(struct party *p)
{
    static const int64_t waits[] = {0, 200, 5000, 20000, 20000};
    struct hf_acquire_options o;
    hf_status rc;

    hf_acquire_options_init(&o);
    o.owner = OWNER;
    o.wait_ms = !is_faultless ? waits[draw(5)] : draw(4) ? 700 + draw(3000) : 0;
    o.lease_ms = p->lease_ms = draw(4) ? 0 : 500 + draw(HARNESS_WATCHDOG_MS - 500);
    o.max_hold_ms = draw(8) ? 0 : 200 + draw(8000);
    o.on_lost = on_lost;
    o.ctx = p;
    p->is_told = false;
    p->state = ASKS;
    rc = hf_quorum_acquire_async(p->quorum, &o, on_acquired, p);
    if (rc < 0)
        on_acquired(p, rc, NULL);
    else if (draw(10) == 0)
        act_after(p, draw(1000)); /* it is cancelled then */
}

static void act(void *ctx)
{
    struct party *p = ctx;
    struct process *before;
    hf_status rc;

    if (process_is_suspended(p->process)) {
        act_after(p, 10);
        return;
    }
    before = process_enter(p->process);
    if (p->state == RESTS && !is_ending) {
        ask(p);
    } else if (p->state == ASKS) {
        hf_quorum_cancel(p->quorum, OWNER);
    } else if (p->state == HOLDS) {
        p->state = GIVES;
        rc = hf_quorum_release_async(p->quorum, OWNER, on_released, p);
        if (rc < 0)
            on_released(p, rc, NULL);
    }
    look(p);
    (void)process_enter(before);
}

/* ---- one world ---- */

static struct hf_lock *open_member(struct party *p, int i)
{
    struct hf_lock *lock;

    p->clients[i] = harness_client(&harness, p->process, i);
    must(hf_lock_new_kind(&lock, p->clients[i], kind, NAME, strlen(NAME), NULL) ==
         HF_OK);
    return lock;
}

/* Half of them with tokens. */
static void choose_kind(void)
{
    kind = (harness.plan.head.seed & 1) ? HF_KIND_PLAIN : HF_KIND_VALUE;
    if (harness.plan.head.seed & 4)
        kind |= HF_WITH_TOKEN;
    last_token = 0;
}

/* Half of the worlds have one order of members for all. */
static void open_party(struct party *p)
{
    struct hf_lock *members[HF_QUORUM_MAX];
    int count = (int)harness.site.count;
    int first = (harness.plan.head.seed & 2) ? 0 : number_of(p);

    *p = (struct party){.next = {.happen = act, .ctx = p}};
    p->process = harness_process(&harness, number_of(p) + 1);
    process_on_turn(p->process, on_turn, p);
    (void)process_enter(p->process);
    for (int i = 0; i < count; i++)
        members[(i + first) % count] = open_member(p, i);
    must(hf_quorum_new(&p->quorum, members, (size_t)count, NULL) == HF_OK);
    (void)process_enter(NULL);
    act_after(p, draw(1000));
}

static void close_party(struct party *p)
{
    struct hf_quorum *quorum = p->quorum;

    (void)process_enter(p->process);
    p->quorum = NULL;
    hf_quorum_free(quorum);
    for (size_t i = 0; i < harness.site.count; i++)
        hf_client_free(p->clients[i]);
    (void)process_enter(NULL);
}

static void check_end(void)
{
    for (int i = 0; i < PARTIES; i++)
        if (parties[i].state != RESTS)
            violate("P7: a call does not end, or a hold", i);
    harness_check_free(&harness, NAME);
}

static void run_world(uint64_t seed, enum harness_forgetting forgetting)
{
    harness_begin(&harness, seed, "quorum", seed % 7 < 3 ? 3 : 5);
    choose_kind();
    keeps_data = forgetting == HARNESS_KEEPS;
    is_ending = false;
    for (int i = 0; i < PARTIES; i++)
        open_party(&parties[i]);
    harness_faults(&harness, forgetting);
    harness_run(&harness, HARNESS_FAULTS_MS + 2 * HARNESS_CALM_MS);
    harness_check_granted(&harness, PARTIES);
    is_ending = true;
    harness_run(&harness, HARNESS_FAULTS_MS + 3 * HARNESS_CALM_MS);
    check_end();
    for (int i = 0; i < PARTIES; i++)
        close_party(&parties[i]);
    harness_end(&harness);
}

/* ---- P8: a free majority is granted, whatever happened before ---- */

#define ROUNDS 12
#define SQUATTER_OWNER 9
#define RECOVERY_MS 20000       /* longer than any pause between two connects */
#define ANSWER_BOUND_MS 1000    /* a call that is granted ends within this time */

static struct party *const squatter = &parties[PARTIES - 1];
static uint64_t refusals, waits_ms;

static void pass(int64_t ms)
{
    world_run(harness.sim.world, harness_now_us(&harness) + ms * 1000);
}

static struct link *link_of(const struct party *p, int server)
{
    return network_link(harness.sim.world, p->process,
                        harness.site.servers[server]->listener);
}

/* The number of the first server, of `count`, of a minority. */
static int draw_minority(int *count)
{
    *count = (int)draw((int64_t)harness.site.count / 2 + 1);
    return (int)draw((int64_t)harness.site.count);
}

static struct hf_lock *member_at(const struct party *p, int server)
{
    int first = (harness.plan.head.seed & 2) ? 0 : number_of(p);

    return hf_quorum_member(p->quorum,
                            (size_t)(server + first) % harness.site.count);
}

static void begin_call(struct party *p, int64_t wait_ms)
{
    struct process *before = process_enter(p->process);
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = OWNER;
    o.wait_ms = wait_ms;
    o.on_lost = on_lost;
    o.ctx = p;
    p->lease_ms = 0;
    p->is_told = false;
    p->state = ASKS;
    must(hf_quorum_acquire_async(p->quorum, &o, on_acquired, p) == HF_OK);
    (void)process_enter(before);
}

/* What the party does next: it cancels the call, or releases what it holds. */
static void end_round(struct party *p)
{
    act(p);
    pass(5000);
    world_cancel(harness.sim.world, &p->next);
    must(p->state == RESTS);
}

/* A minority is unreachable for the party while it acquires and releases. */
static void play_outage(struct party *p)
{
    int count, first = draw_minority(&count);
    enum way way = draw(2) ? TO_SERVER : TO_CLIENT;
    bool is_held = draw(2);

    for (int i = 0; i < count; i++) {
        struct link *link = link_of(p, (first + i) % (int)harness.site.count);

        link_set_door(link, DOOR_IGNORES);
        if (is_held)
            link_hold(link, way, true);
        else
            link_reset(link);
    }
    begin_call(p, draw(2) ? 5000 : 0);
    pass(2000 + draw(4000));
    end_round(p);
    for (int i = 0; i < count; i++) {
        struct link *link = link_of(p, (first + i) % (int)harness.site.count);

        link_set_door(link, DOOR_OPEN);
        link_hold(link, way, false);
    }
    pass(RECOVERY_MS);
}

/* Each way of each link has a delay of its own. */
static void draw_delays(const struct party *p)
{
    for (int i = 0; i < (int)harness.site.count; i++) {
        struct link_shape shape = {.delay_us = 50 + draw(2) * draw(60000)};

        link_set_shape(link_of(p, i), TO_SERVER, &shape);
        link_set_shape(link_of(p, i), TO_CLIENT, &shape);
    }
}

static void on_squatted(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx, (void)err;
    must(status == HF_OK);
}

static void squat(int server, bool takes)
{
    struct process *before = process_enter(squatter->process);
    struct hf_lock *lock = member_at(squatter, server);
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = SQUATTER_OWNER;
    must((takes ? hf_lock_acquire_async(lock, &o, on_squatted, NULL)
                : hf_lock_release_async(lock, SQUATTER_OWNER, on_squatted, NULL)) ==
         HF_OK);
    (void)process_enter(before);
}

static void squat_on(int first, int count, bool takes)
{
    for (int i = 0; i < count; i++)
        squat((first + i) % (int)harness.site.count, takes);
    pass(500);
}

/* The call ends, granted, while others hold a minority. */
static void play_free_round(struct party *p)
{
    static const int64_t waits[] = {0, 1000, 1000, 5000, HF_FOREVER};
    int count, first = draw_minority(&count);
    int64_t begun_us = harness_now_us(&harness);

    begin_call(p, waits[draw(5)]); /* its replies may come late */
    pass(draw(100));
    end_round(p);
    squat_on(first, count, true);
    begun_us = harness_now_us(&harness);
    begin_call(p, waits[draw(5)]);
    for (int i = 0; i < ANSWER_BOUND_MS / 5 && p->state == ASKS; i++)
        pass(5);
    waits_ms += (uint64_t)(harness_now_us(&harness) - begun_us) / 1000;
    if (p->state == ASKS || p->status != HF_OK) {
        refusals++;
        violate("P8: not granted although a majority is free", number_of(p));
    }
    end_round(p);
    squat_on(first, count, false);
}

/* Parties contend over links of different lengths, with waits of any length. */
static void play_faultless_world(uint64_t seed, enum harness_forgetting forgetting)
{
    (void)forgetting;
    harness_begin(&harness, seed, "faultless", seed % 7 < 3 ? 3 : 5);
    choose_kind();
    keeps_data = true;
    is_ending = false;
    is_faultless = true;
    for (int i = 0; i < PARTIES; i++) {
        open_party(&parties[i]);
        draw_delays(&parties[i]);
    }
    harness_run(&harness, HARNESS_FAULTS_MS);
    is_ending = true;
    harness_run(&harness, 2 * HARNESS_FAULTS_MS);
    check_end();
    for (int i = 0; i < PARTIES; i++)
        close_party(&parties[i]);
    harness_end(&harness);
    is_faultless = false;
}

static void play_free_world(uint64_t seed, enum harness_forgetting forgetting)
{
    (void)forgetting;
    harness_begin(&harness, seed, "free", seed % 7 < 3 ? 3 : 5);
    choose_kind();
    keeps_data = true;
    is_ending = true;
    for (int i = 0; i < PARTIES; i++)
        open_party(&parties[i]);
    pass(2000);
    for (int i = 0; i < ROUNDS; i++) {
        struct party *p = &parties[draw(PARTIES - 1)];

        if (draw(2))
            play_outage(p);
        draw_delays(p);
        play_free_round(p);
    }
    check_end();
    for (int i = 0; i < PARTIES; i++)
        close_party(&parties[i]);
    harness_end(&harness);
}

/* ---- the tests ---- */

static void run_all(enum harness_forgetting forgetting)
{
    long long worlds;

    operations = 0;
    worlds = harness_run_seeds(&harness, "QUORUM_SEEDS", run_world, forgetting);
    printf("%lld worlds, %llu operations\n", worlds,
           (unsigned long long)operations);
    ck_assert_uint_gt(operations, 0);
}

START_TEST(one_believes_at_a_time_on_servers_that_keep_their_data)
{
    run_all(HARNESS_KEEPS);
}
END_TEST

START_TEST(restarted_servers_that_stay_down_for_the_longest_lease_are_safe)
{
    run_all(HARNESS_STAYS_AWAY);
}
END_TEST

/* What docs/quorum.md does not promise, is seen not to be so. */
START_TEST(servers_that_restart_empty_at_once_permit_two_holders)
{
    doubles = 0;
    for (uint64_t seed = 1; seed <= 400 && doubles == 0; seed++)
        run_world(seed, HARNESS_FORGETS_AT_ONCE);
    ck_assert_uint_gt(doubles, 0);
}
END_TEST

/* Nothing goes wrong while the call is under way; members may have failed before. */
START_TEST(a_free_majority_is_granted_at_once_whatever_happened_before)
{
    long long worlds;

    refusals = waits_ms = 0;
    worlds = harness_run_seeds(&harness, "QUORUM_SEEDS", play_free_world, HARNESS_KEEPS);
    printf("%lld worlds, %llu ms to a grant on average\n", worlds,
           (unsigned long long)waits_ms / (unsigned long long)(worlds * ROUNDS));
    ck_assert_uint_eq(refusals, 0);
}
END_TEST

START_TEST(no_call_fails_without_a_fault)
{
    operations = 0;
    (void)harness_run_seeds(&harness, "QUORUM_SEEDS", play_faultless_world, HARNESS_KEEPS);
    ck_assert_uint_gt(operations, 0);
}
END_TEST

/* ---- two members on one server ---- */

static hf_status shared_status;
static char shared_text[HF_ERROR_TEXT_MAX];

static void on_shared(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx;
    shared_status = status;
    (void)snprintf(shared_text, sizeof shared_text, "%s", err->text);
}

static void acquire_shared(struct party *p, int64_t wait_ms, bool is_allowed)
{
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.owner = OWNER;
    o.wait_ms = wait_ms;
    o.allow_same_server = is_allowed;
    shared_status = HF_CANCELLED;
    (void)process_enter(p->process);
    must(hf_quorum_acquire_async(p->quorum, &o, on_shared, NULL) == HF_OK);
    (void)process_enter(NULL);
    pass(1000);
}

/* Of three members, the second and the third one are on one server, which one of
 * them may reach late. */
static void open_sharing(struct party *p, int64_t delay_us)
{
    static const int server_of[] = {0, 1, 1};
    struct link_shape shape = {.delay_us = delay_us};
    struct hf_lock *members[3];

    *p = (struct party){.process = harness_process(&harness, 1)};
    link_set_shape(link_of(p, 1), TO_CLIENT, &shape);
    for (int i = 0; i < 3; i++) {
        p->clients[i] = harness_client(&harness, p->process, server_of[i]);
        (void)process_enter(p->process);
        must(hf_lock_new(&members[i], p->clients[i], NAME, strlen(NAME), NULL) ==
             HF_OK);
        must(i < 2 ||
             hf_quorum_new(&p->quorum, members, 3, NULL) == HF_OK);
        (void)process_enter(NULL);
    }
}

START_TEST(two_members_on_one_server_are_refused_unless_that_is_allowed)
{
    static const int64_t waits[] = {0, 5000, HF_FOREVER};
    struct party *p = &parties[0];

    harness_begin(&harness, 1, "shared", 2);
    open_sharing(p, _i < 3 ? 50 : 20000);
    acquire_shared(p, waits[_i % 3], false);
    ck_assert_int_eq(shared_status, HF_E_INVAL);
    ck_assert_msg(strstr(shared_text, "on one server: 10.0.0.2:6379 and "
                                      "10.0.0.2:6379") != NULL,
                  "%s", shared_text);
    harness_check_free(&harness, NAME);
    ck_assert_str_eq(harness.violation, "");
    acquire_shared(p, waits[_i % 3], true);
    ck_assert_int_eq(shared_status, HF_OK);
    (void)process_enter(p->process);
    must(hf_quorum_release_async(p->quorum, OWNER, on_shared, NULL) == HF_OK);
    (void)process_enter(NULL);
    pass(3000);
    (void)process_enter(p->process);
    hf_quorum_free(p->quorum);
    p->quorum = NULL;
    for (int i = 0; i < 3; i++)
        hf_client_free(p->clients[i]);
    (void)process_enter(NULL);
    harness_end(&harness);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: quorums");
    TCase *c = harness_case(s, "quorums", "QUORUM_SEEDS");

    tcase_add_test(c, one_believes_at_a_time_on_servers_that_keep_their_data);
    tcase_add_test(
        c, restarted_servers_that_stay_down_for_the_longest_lease_are_safe);
    tcase_add_test(c, servers_that_restart_empty_at_once_permit_two_holders);
    tcase_add_test(
        c, a_free_majority_is_granted_at_once_whatever_happened_before);
    tcase_add_loop_test(
        c, two_members_on_one_server_are_refused_unless_that_is_allowed, 0, 6);
    tcase_add_test(c, no_call_fails_without_a_fault);
    return suite_run(s);
}
