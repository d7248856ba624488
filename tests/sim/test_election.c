/* Leader elections in the simulated world: candidates of several processes, two in
 * one of them, compete for one lock on one server; now and then one leaves and joins
 * again. Checked: at most one candidate believes that it leads (P1), a leader is deposed
 * before another one is elected (P2), callbacks alternate (ELECT-1), leaving ends (P7),
 * there is a leader soon after the faults (P5), and no hold remains (P6).
 *
 * ELECTION_SEEDS=1..5000 runs these seeds instead of the first few. */
#include <string.h>

#include "lock/election.h"
#include "tests/sim/harness.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define PROCESSES 3
#define PARTIES 4               /* the last one shares its client with another */
#define NAME "leader"
/* The pause of the kind, a lease that expires, and slow replies. */
#define SOON_MS 40000

struct party {
    struct process *process;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_election *election;   /* NULL: it is not a candidate */
    struct event next;          /* what it does by itself */
    bool leads;                 /* on_elected was called */
    bool is_busy;               /* it joins or leaves */
    int64_t until_us;           /* what it believes, in true time; 0: nothing */
};

static struct harness harness;
static struct party parties[PARTIES];
static bool they_leave;         /* without a reason, now and then */
static bool is_ending;          /* who leads leaves, and stays away */
static int64_t leader_seen_us;  /* until when one believes, or did */
static uint64_t operations, elected, deposed;

static int64_t draw(int64_t sides)
{
    return harness_draw(&harness, sides);
}

static void violate(const char *property, const struct party *p)
{
    harness_violate(&harness, property, (int)(p - parties));
}

/* ---- beliefs ---- */

static void look(struct party *p)
{
    int64_t safe =
        p->election ? hf_election_safe_ms(p->election) : INT64_MIN;

    p->until_us = harness_safe_until_us(p->process, safe);
    if (p->until_us > 0 && p->until_us > leader_seen_us)
        leader_seen_us = p->until_us;
    for (int i = 0; i < PARTIES && p->until_us > 0; i++)
        if (&parties[i] != p && parties[i].until_us > harness_now_us(&harness))
            violate("P1: two believe", p);
}

static void on_turn(void *ctx)
{
    const struct process *process = ctx;

    for (int i = 0; i < PARTIES; i++)
        if (parties[i].process == process)
            look(&parties[i]);
}

/* ---- callbacks of a candidate ---- */

static void on_elected(void *ctx, struct hf_election *election)
{
    struct party *p = ctx;

    operations++;
    elected++;
    if (p->leads)
        violate("elected twice", p);
    if (hf_election_safe_ms(election) <= 0)
        violate("elected, and not safe", p);
    for (int i = 0; i < PARTIES; i++)
        if (parties[i].leads && !process_is_suspended(parties[i].process))
            violate("P2: elected, and another was not deposed", p);
    p->leads = true;
    look(p);
}

static void on_deposed(void *ctx, struct hf_election *election,
                       enum hf_lost reason)
{
    struct party *p = ctx;

    (void)reason;
    operations++;
    deposed++;
    if (!p->leads)
        violate("deposed, and it did not lead", p);
    if (hf_election_safe_ms(election) != INT64_MIN)
        violate("deposed, and it believes", p);
    p->leads = false;
}

/* ---- what it does ---- */

static void act_after(struct party *p, int64_t ms)
{
    world_after(harness.sim.world, &p->next, ms * 1000);
}

static void join(struct party *p)
{
    struct hf_election_options o = {
        .size = sizeof o,
        .on_elected = on_elected, .on_deposed = on_deposed, .ctx = p};

    operations++;
    must(hf_election_join(&p->election, p->lock, &o, NULL) == HF_OK);
}

/* It waits for the server, and the world continues. */
static void leave(struct party *p)
{
    struct hf_election *election = p->election;

    p->leads = false;
    p->election = NULL;         /* no longer queried */
    p->until_us = 0;
    p->is_busy = true;
    (void)hf_election_leave(election, NULL);
    p->is_busy = false;
    operations++;
}

static void change(void *ctx)
{
    struct party *p = ctx;

    if (!p->election)
        join(p);
    else if (is_ending ? p->leads : they_leave)
        leave(p);
}

static void act(void *ctx)
{
    struct party *p = ctx;

    if (process_is_suspended(p->process) || p->is_busy) {
        act_after(p, 10);
        return;
    }
    process_call(p->process, change, p);
    if (!is_ending)
        act_after(p, p->election ? draw(20000) : draw(2000));
    else if (p->election)
        act_after(p, 1000);
}

/* ---- one world ---- */

static enum hf_lock_kind draw_kind(void)
{
    static const enum hf_lock_kind kinds[] = {
        HF_KIND_PLAIN, HF_KIND_FENCED, HF_KIND_NONREENTRANT, HF_KIND_FAIR,
        HF_KIND_VALUE, HF_KIND_WRITE};

    return kinds[draw(sizeof kinds / sizeof *kinds)];
}

static void open_party(int i, enum hf_lock_kind kind)
{
    struct party *p = &parties[i];

    *p = (struct party){.next = {.happen = act, .ctx = p}};
    if (i < PROCESSES) {
        p->process = harness_process(&harness, i + 1);
        process_on_turn(p->process, on_turn, p->process);
        p->client = harness_client(&harness, p->process, 0);
    } else {
        p->process = parties[0].process;
        p->client = parties[0].client;
    }
    (void)process_enter(p->process);
    must(hf_lock_new_kind(&p->lock, p->client, kind, NAME, strlen(NAME), NULL) ==
         HF_OK);
    (void)process_enter(NULL);
    act_after(p, draw(1000));
}

static void close_party(int i)
{
    struct party *p = &parties[i];

    (void)process_enter(p->process);
    hf_lock_free(p->lock);
    if (i < PROCESSES)
        hf_client_free(p->client);
    (void)process_enter(NULL);
}

/* Each second of the calm: who led when? */
static void check_calm(void)
{
    int64_t end_ms = HARNESS_FAULTS_MS + 2 * HARNESS_CALM_MS;

    for (int64_t ms = HARNESS_FAULTS_MS; ms < end_ms; ms += 1000) {
        harness_run(&harness, ms);
        if (ms > HARNESS_FAULTS_MS + SOON_MS &&
            harness_now_us(&harness) - leader_seen_us > SOON_MS * 1000)
            violate("P5: there is no leader, and no fault", &parties[0]);
    }
}

static void check_end(void)
{
    for (int i = 0; i < PARTIES; i++) {
        if (parties[i].election)
            violate("P5: it is a candidate, and is never elected", &parties[i]);
        if (parties[i].is_busy)
            violate("P7: leaving does not end", &parties[i]);
    }
    harness_check_free(&harness, NAME);
}

/* All are candidates, and each leader leaves: so each is elected. */
static void end_all(void)
{
    is_ending = true;
    for (int i = 0; i < PARTIES; i++)
        act_after(&parties[i], 0);
    harness_run(&harness, HARNESS_FAULTS_MS + 4 * HARNESS_CALM_MS);
}

static void run_world(uint64_t seed, enum harness_forgetting forgetting)
{
    enum hf_lock_kind kind;

    harness_begin(&harness, seed, "election", 1);
    is_ending = false;
    leader_seen_us = 0;
    they_leave = draw(2);
    kind = draw_kind();
    for (int i = 0; i < PARTIES; i++)
        open_party(i, kind);
    harness_faults(&harness, forgetting);
    check_calm();
    end_all();
    check_end();
    for (int i = PARTIES - 1; i >= 0; i--)
        close_party(i);
    harness_end(&harness);
}

/* ---- an error long ago ---- */

static unsigned errors;

static void on_trouble(void *ctx, struct hf_election *election,
                       const struct hf_error *err)
{
    (void)ctx, (void)election;
    must(err->status == HF_E_SERVER);
    errors++;
}

static void pass(int64_t ms)
{
    world_run(harness.sim.world, harness_now_us(&harness) + ms * 1000);
}

/* The name is used for something else: the server refuses each acquire. */
static void occupy(bool is_occupied)
{
    struct server *s = harness.site.servers[0];

    if (is_occupied)
        server_say(s, 3, (const char *[]){"SET", NAME, "1"});
    else
        server_say(s, 2, (const char *[]){"DEL", NAME});
}

static void stand_alone(struct party *p)
{
    struct hf_election_options o = {.size = sizeof o, .on_elected = on_elected,
                                    .on_deposed = on_deposed,
                                    .on_trouble = on_trouble,
                                    .ctx = p};

    errors = 0;
    (void)process_enter(p->process);
    must(hf_election_join(&p->election, p->lock, &o, NULL) == HF_OK);
    (void)process_enter(NULL);
}

static void leave_now(void *ctx)
{
    leave(ctx);
}

static void on_leave(void *ctx)
{
    struct party *p = ctx;

    process_call(p->process, leave_now, p);
}

static void leave_alone(struct party *p)
{
    p->next.happen = on_leave;
    act_after(p, 0);
    pass(2000);
    must(!p->election && !p->is_busy);
}

/* The other one leads, and the first one waits for it: the server replies. */
static void lead_before(struct party *p, struct party *other)
{
    occupy(false);
    stand_alone(other);
    pass(200);
    must(other->leads);
    pass(60000);
    must(!p->leads);
}

/* ---- the tests ---- */

/* ELECT-5. An error comes after the server was well for a minute. */
START_TEST(the_pause_after_an_error_is_short_again_once_the_server_replied)
{
    harness_begin(&harness, 1, "pause", 1);
    is_ending = false;
    for (int i = 0; i < 2; i++) {
        open_party(i, HF_KIND_PLAIN);
        world_cancel(harness.sim.world, &parties[i].next);
    }
    occupy(true);
    stand_alone(&parties[0]);
    pass(50000);
    ck_assert_uint_ge(errors, 4);
    lead_before(&parties[0], &parties[1]);
    occupy(true);
    leave_alone(&parties[1]);
    pass(6000);
    ck_assert_uint_ge(errors, 1);
    occupy(false);
    pass(9000);
    ck_assert(parties[0].leads);
    leave_alone(&parties[0]);
    for (int i = 1; i >= 0; i--)
        close_party(i);
    harness_end(&harness);
}
END_TEST

static const enum harness_forgetting forgettings[] = {HARNESS_KEEPS,
                                                      HARNESS_STAYS_AWAY};

START_TEST(one_candidate_leads_at_a_time)
{
    long long worlds;

    operations = elected = deposed = 0;
    worlds = harness_run_seeds(&harness, "ELECTION_SEEDS", run_world, forgettings[_i]);
    printf("%lld worlds, %llu operations, %llu elected, %llu deposed\n", worlds,
           (unsigned long long)operations,
           (unsigned long long)elected, (unsigned long long)deposed);
    ck_assert_uint_gt(elected, 0);
    ck_assert_uint_gt(deposed, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: elections");
    TCase *c = harness_case(s, "elections", "ELECTION_SEEDS");

    tcase_add_test(
        c, the_pause_after_an_error_is_short_again_once_the_server_replied);
    tcase_add_loop_test(c, one_candidate_leads_at_a_time, 0, 2);
    return suite_run(s);
}
