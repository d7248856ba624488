/* Holds that outlive their process, in the simulated world, as `holdfast acquire`,
 * `renew` and `release` leave and find them: a client takes a lock with a lease, notes
 * the owner and ends; others renew and release by that (lock/by_owner.h). Checked: at
 * no moment do two believe (P1), no loss is reported within a safe time that was
 * reported (P2), each party is granted the lock after the faults (P5), no hold
 * remains (P6), and each step ends (P7).
 *
 * BY_OWNER_SEEDS=1..5000 runs these seeds instead of the first few. */
#include <string.h>

#include "lock/by_owner.h"
#include "lock/permits.h"
#include "tests/sim/harness.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define PARTIES 3
#define NAME "job"
#define LINGER_MS 1000          /* as `holdfast acquire` closes its client */

/* One script of an operator: each step is a process of its own. */
struct party {
    struct process *process;
    struct event next;
    enum hf_lock_kind kind;     /* of what it holds, or held last */
    char owner[HF_OWNER_TEXT_MAX];  /* "": it holds nothing */
    bool asks_back;             /* its release was requested */
    bool is_busy;               /* a step is under way */
    int64_t until_us;           /* what it believes, in true time */
};

/* Of one step. */
struct step {
    struct party *party;
    enum hf_lock_kind kind;
    struct hf_client *client;
    struct hf_lock *lock;
};

static struct harness harness;
static struct party parties[PARTIES];
static enum hf_lock_kind kind;  /* of this world; of a read-write lock both sides */
static bool is_ending;
static uint64_t operations, granted, renewed, gone;

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

/* ---- beliefs ---- */

static bool believes(const struct party *p)
{
    return p->until_us > harness_now_us(&harness);
}

static bool may_share(enum hf_lock_kind a, enum hf_lock_kind b)
{
    return a == HF_KIND_READ && b == HF_KIND_READ;
}

static void believe(struct party *p, int64_t safe_ms)
{
    int64_t until_us = harness_safe_until_us(p->process, safe_ms);

    if (until_us > p->until_us)
        p->until_us = until_us;
    for (int i = 0; i < PARTIES && believes(p); i++)
        if (&parties[i] != p && believes(&parties[i]) &&
            !may_share(p->kind, parties[i].kind))
            violate("P1: two believe", p);
}

static void forget(struct party *p)
{
    *p->owner = '\0';
    p->until_us = 0;
}

/* ---- a step ---- */

static void begin(struct step *s)
{
    s->client = harness_client(&harness, s->party->process, 0);
    must(hf_lock_new_kind(&s->lock, s->client, s->kind, NAME, strlen(NAME), NULL) ==
         HF_OK);
    operations++;
}

/* What it holds stays held. */
static void end(struct step *s)
{
    (void)hf_client_close(s->client, LINGER_MS, NULL, NULL);
    hf_lock_free(s->lock);
    hf_client_free(s->client);
}

static enum hf_lock_kind draw_side(void)
{
    return kind == HF_KIND_WRITE && draw(2) ? HF_KIND_READ : kind;
}

/* An earlier hold of its own that it abandoned has also ended by now. */
static void take(struct step *s)
{
    static const int64_t waits[] = {0, 200, 5000, 20000, 20000};
    struct party *p = s->party;
    struct hf_acquire_options o;
    int64_t safe_ms;
    bool is_new;

    hf_acquire_options_init(&o);
    o.owner = hf_owner_new();
    o.wait_ms = waits[draw(5)];
    o.lease_ms = 300 + draw(HARNESS_WATCHDOG_MS - 300);
    if (kind == HF_KIND_PERMIT && hf_permits_try_set(s->lock, 1, &is_new, NULL) < 0)
        return;
    if (hf_lock_acquire(s->lock, &o, NULL) != HF_OK)
        return;
    granted++;
    safe_ms = hf_lock_safe_ms(s->lock, o.owner);
    if (safe_ms <= 0) {
        (void)hf_lock_release(s->lock, o.owner, NULL);
        return;
    }
    if (believes(p) && !may_share(p->kind, s->kind))
        violate("P1: granted, and it believes in a hold before that", p);
    p->kind = s->kind;
    p->asks_back = false;
    harness_granted(&harness, number_of(p));
    (void)hf_lock_owner_text(s->lock, o.owner, p->owner);
    believe(p, safe_ms);
}

static void learn_of_loss(struct party *p)
{
    gone++;
    if (believes(p) && !p->asks_back)
        violate("P2: it is lost, and was certain to be held", p);
    forget(p);
}

static void renew(struct step *s)
{
    struct party *p = s->party;
    int64_t safe_ms = 0;
    hf_status status = hf_renew_by_owner(s->lock, p->owner, strlen(p->owner),
                                         300 + draw(HARNESS_WATCHDOG_MS - 300),
                                         &safe_ms, NULL);

    if (status == HF_NOT_OWNER) {
        learn_of_loss(p);
    } else if (status == HF_OK) {
        renewed++;
        believe(p, safe_ms);
    }
}

/* It is requested until there is a reply. */
static void give_up(struct step *s)
{
    struct party *p = s->party;
    int64_t until_us = p->until_us;
    hf_status status;

    if (!p->asks_back)
        p->until_us = 0;        /* it stops working before the request */
    status = hf_release_by_owner(s->lock, p->owner, strlen(p->owner), NULL);
    if (status == HF_NOT_OWNER && !p->asks_back) {
        p->until_us = until_us;
        learn_of_loss(p);
    } else if (status == HF_OK || status == HF_NOT_OWNER) {
        forget(p);
    } else {
        p->asks_back = true;
    }
}

static void run_step(void *ctx)
{
    struct party *p = ctx;
    struct step s = {.party = p, .kind = *p->owner ? p->kind : draw_side()};

    p->is_busy = true;
    begin(&s);
    if (!*p->owner)
        take(&s);
    else if (is_ending || p->asks_back || draw(3) == 0)
        give_up(&s);
    else
        renew(&s);
    end(&s);
    if (!is_ending && draw(10) == 0)
        *p->owner = '\0';       /* the script is killed; its lease continues */
    p->is_busy = false;
}

static void act(void *ctx)
{
    struct party *p = ctx;

    if (!process_is_suspended(p->process) && !p->is_busy &&
        (*p->owner || !is_ending))
        process_call(p->process, run_step, p);
    world_after(harness.sim.world, &p->next,
                1000 * (draw(2) ? 10 + draw(300) : draw(4000)));
}

/* ---- one world ---- */

static enum hf_lock_kind draw_kind(void)
{
    static const enum hf_lock_kind kinds[] = {
        HF_KIND_PLAIN, HF_KIND_FENCED, HF_KIND_NONREENTRANT, HF_KIND_SPIN,
        HF_KIND_FAIR, HF_KIND_NONREENTRANT_FAIR, HF_KIND_VALUE, HF_KIND_WRITE,
        HF_KIND_PERMIT};

    return kinds[draw(sizeof kinds / sizeof *kinds)];
}

/* Replies are slow: the safe time counts from the request. */
static void slow_down(const struct party *p)
{
    struct link_shape shape = {.delay_us = draw(150) * 1000};

    link_set_shape(network_link(harness.sim.world, p->process,
                                harness.site.servers[0]->listener),
                   TO_CLIENT, &shape);
}

static void open_party(struct party *p, int number)
{
    *p = (struct party){.next = {.happen = act, .ctx = p}};
    p->process = harness_process(&harness, number);
    if (draw(2))
        slow_down(p);
    world_after(harness.sim.world, &p->next, 1000 * draw(1000));
}

static void check_permits(void *ctx)
{
    struct step s = {.party = ctx, .kind = kind};
    int64_t available = -1;

    begin(&s);
    if (hf_permits_available(s.lock, &available, NULL) < 0 || available != 1)
        violate("P6: a permit is still in use, or too many were released", ctx);
    end(&s);
}

static void check_end(void)
{
    for (int i = 0; i < PARTIES; i++) {
        world_cancel(harness.sim.world, &parties[i].next);
        if (*parties[i].owner || parties[i].is_busy)
            violate("P7: a step does not end, or a hold", &parties[i]);
    }
    if (kind != HF_KIND_PERMIT)
        harness_check_free(&harness, NAME);
    else
        process_call(parties[0].process, check_permits, &parties[0]);
    harness_run(&harness, HARNESS_FAULTS_MS + 4 * HARNESS_CALM_MS);
}

static void run_world(uint64_t seed, enum harness_forgetting forgetting)
{
    harness_begin(&harness, seed, "by owner", 1);
    is_ending = false;
    kind = draw_kind();
    for (int i = 0; i < PARTIES; i++)
        open_party(&parties[i], i + 1);
    harness_faults(&harness, forgetting);
    harness_run(&harness, HARNESS_FAULTS_MS + 2 * HARNESS_CALM_MS);
    harness_check_granted(&harness, PARTIES);
    is_ending = true;
    harness_run(&harness, HARNESS_FAULTS_MS + 3 * HARNESS_CALM_MS);
    check_end();
    harness_end(&harness);
}

/* ---- the tests ---- */

static const enum harness_forgetting forgettings[] = {HARNESS_KEEPS,
                                                      HARNESS_STAYS_AWAY};

START_TEST(hold_lasts_as_long_as_safe_ms_reported)
{
    long long worlds;

    operations = granted = renewed = gone = 0;
    worlds = harness_run_seeds(&harness, "BY_OWNER_SEEDS", run_world, forgettings[_i]);
    printf("%lld worlds, %llu operations, %llu granted, %llu renewed, %llu gone\n",
           worlds, (unsigned long long)operations, (unsigned long long)granted,
           (unsigned long long)renewed, (unsigned long long)gone);
    ck_assert_uint_gt(granted, 0);
    ck_assert_uint_gt(renewed, 0);
    ck_assert_uint_gt(gone, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: by owner");
    TCase *c = harness_case(s, "by owner", "BY_OWNER_SEEDS");

    tcase_add_loop_test(c, hold_lasts_as_long_as_safe_ms_reported,
                        0, 2);
    return suite_run(s);
}
