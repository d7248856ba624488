/* The machine of a round, in every order of events: three servers, each of which
 * answers, fails or says nothing, with a map that changes at any moment. All
 * states that can be reached are visited, in steps of STEP_MS. From each of them
 * any set of servers may be the one that knows better, while the others have
 * fallen silent for ever.
 * Rules: round.h. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/net.h"
#include "net/route/round.h"
#include "tests/support/promise.h"
#include "tests/support/suite.h"

#define SERVERS 3
#define EVERYBODY ((1u << SERVERS) - 1)
#define STEP_MS 50
#define PATIENCE_MS 1000
#define NOW_MS 100000
/* Silence ends one round; the next begins after a pause, and asks two servers in
 * vain before it asks the one that knows. */
#define FOLLOWED_MS                                                           \
    (HF_ROUND_SILENCE_MS + HF_ROUND_PAUSE_MAX_MS + SERVERS +                  \
     (SERVERS - 1) * HF_ROUND_STAGGER_MS + 2 * STEP_MS)

/* Sets of servers are bits. Time stands still: what is due moves. */
struct world {
    struct hf_round round;
    int64_t next_ms;            /* while no round runs: when one begins */
    unsigned asked;             /* in this round */
    unsigned under_way;
    unsigned heard;             /* in this round */
    int64_t heard_ms;           /* the last answer or failure */
};

/* ---- the caller's part ---- */

static unsigned count_of(unsigned set)
{
    unsigned count = 0;

    for (; set; set &= set - 1)
        count++;
    return count;
}

static void ask_next(struct world *w)
{
    unsigned left = EVERYBODY & ~w->asked & ~w->under_way;
    unsigned next = left & -left;

    if (!next) {
        hf_round_nobody_left(&w->round, NOW_MS);
        return;
    }
    w->asked |= next;
    w->under_way |= next;
    hf_round_queried(&w->round, NOW_MS);
}

static void check_again(const struct world *w)
{
    int64_t pause_ms = w->round.due_ms - NOW_MS;

    int64_t left_ms = w->round.silent_since_ms + PATIENCE_MS - NOW_MS;

    ck_must(w->under_way && w->round.has_worse_map && !w->round.is_settled,
            "ROUND-5: others are silent");
    ck_must(NOW_MS - w->heard_ms >= HF_ROUND_SILENCE_MS, "ROUND-4");
    ck_must(pause_ms >= HF_ROUND_PAUSE_MS || pause_ms == left_ms,
            "ROUND-5: it does not go on at once");
    ck_must(pause_ms <= HF_ROUND_PAUSE_MAX_MS + SERVERS && pause_ms <= left_ms,
            "ROUND-5: it goes on soon");
}

/* `since_ms`: of the silence, before the end of the round cleared it. */
static void check_end(const struct world *w, int64_t since_ms)
{
    bool is_patience_over =
        since_ms != HF_NEVER && NOW_MS - since_ms >= PATIENCE_MS;

    if (w->round.has_worse_map)
        ck_must(!w->under_way || w->round.is_settled || is_patience_over, "ROUND-3");
    ck_must(!w->under_way || w->heard, "ROUND-6: silence alone ends no round");
    ck_must(!w->under_way || NOW_MS - w->heard_ms >= HF_ROUND_SILENCE_MS,
            "ROUND-4");
}

static void act_when_due(struct world *w)
{
    int64_t since_ms = w->round.silent_since_ms;

    if (!w->round.is_running)
        w->asked = w->heard = 0;
    switch (hf_round_step(&w->round, NOW_MS)) {
    case HF_ROUND_QUERY:
        ask_next(w);
        break;
    case HF_ROUND_RETRY:
        check_again(w);
        w->next_ms = w->round.due_ms;
        break;
    case HF_ROUND_ADOPT_BEST:
        check_end(w, since_ms);
        w->next_ms = NOW_MS + HF_ROUND_PAUSE_MS;
        break;
    case HF_ROUND_WAIT:
        break;
    case HF_ROUND_ADOPT:
        ck_must(false, "ROUND-2: time alone takes no map");
    }
}

static int64_t due_ms(const struct world *w)
{
    return w->round.is_running ? w->round.due_ms : w->next_ms;
}

static void act(struct world *w)
{
    while (due_ms(w) <= NOW_MS)
        act_when_due(w);
}

/* The same, `ms` later. */
static void pass(struct world *w, int64_t ms)
{
    struct hf_round *r = &w->round;

    if (r->due_ms != HF_NEVER)
        r->due_ms -= ms;
    if (r->silent_since_ms != HF_NEVER)
        r->silent_since_ms -= ms;
    w->next_ms -= ms;
    w->heard_ms -= ms;
    act(w);
}

static bool answer(struct world *w, unsigned server, enum hf_round_answer what)
{
    enum hf_round_action action;

    w->under_way &= ~server;
    w->heard |= server;
    w->heard_ms = NOW_MS;
    hf_round_probe_ended(&w->round);
    action = hf_round_answered(&w->round, NOW_MS, what);
    ck_must((action == HF_ROUND_ADOPT) == (what <= HF_ROUND_BETTER), "ROUND-2");
    if (action == HF_ROUND_ADOPT) { /* as discover.c does */
        for (; w->under_way; w->under_way &= w->under_way - 1)
            hf_round_probe_ended(&w->round);
        w->next_ms = NOW_MS + HF_ROUND_PAUSE_MS;
    }
    act(w);
    return action == HF_ROUND_ADOPT;
}

static void fail_probe(struct world *w, unsigned server)
{
    w->under_way &= ~server;
    w->heard |= server;
    w->heard_ms = NOW_MS;
    hf_round_probe_ended(&w->round);
    hf_round_failed(&w->round, NOW_MS);
    act(w);
}

/* ---- what holds in every state ---- */

static void check(const struct world *w)
{
    const struct hf_round *r = &w->round;

    ck_must(r->pending_probes == count_of(w->under_way), "probes are counted");
    if (r->is_running && r->due_ms == HF_NEVER)
        ck_must(!w->heard && w->under_way && r->are_all_queried, "ROUND-6");
    if (r->is_running && r->due_ms != HF_NEVER)
        ck_must(r->due_ms - NOW_MS <= HF_ROUND_STAGGER_MS ||
                    r->due_ms - NOW_MS <= HF_ROUND_SILENCE_MS,
                "ROUND-1, ROUND-4: the next step is soon");
}

/* These know better from now on, and answer at the next step; the others never
 * do. */
static void check_followed(struct world w, unsigned knowing)
{
    int64_t ms = 0;

    for (; ms <= FOLLOWED_MS; ms += STEP_MS) {
        unsigned next = w.under_way & knowing;

        if (next && answer(&w, next & -next, HF_ROUND_BETTER))
            return;
        pass(&w, STEP_MS);
    }
    ck_abort_msg("servers %x know better, and are not heard", knowing);
}

/* ---- all states ---- */

#define STATES_MAX (1u << 20)

static struct world *states;
static uint64_t *keys;          /* a hash table: 0 is free */
static unsigned state_count;

/* What tells one state from another: all times are in reach of NOW_MS. */
static uint64_t key_of(const struct world *w)
{
    const struct hf_round *r = &w->round;
    uint64_t due = r->due_ms == HF_NEVER ? 255 : (uint64_t)(r->due_ms - NOW_MS);
    uint64_t since = 511, flags;

    if (r->silent_since_ms != HF_NEVER)
        since = (uint64_t)(NOW_MS - r->silent_since_ms) / STEP_MS;
    if (!r->is_running)
        due = (uint64_t)(w->next_ms - NOW_MS);
    flags = (uint64_t)(r->is_running | r->are_all_queried << 1 | r->has_reply_or_failure << 2 |
                       r->has_worse_map << 3 | r->is_settled << 4);
    return 1 | flags << 1 | (uint64_t)w->asked << 6 |
           (uint64_t)w->under_way << 9 | (uint64_t)w->heard << 12 |
           (since < 511 ? since : 511) << 15 | due << 24 |
           (uint64_t)(NOW_MS - w->heard_ms) << 40 | (uint64_t)r->retried_rounds << 56;
}

static void visit(const struct world *w)
{
    uint64_t key = key_of(w), at = key * 0x9E3779B97F4A7C15u >> 43;

    for (; keys[at]; at = (at + 1) % (2 * STATES_MAX))
        if (keys[at] == key)
            return;
    ck_must(state_count < STATES_MAX, "the states are finite");
    keys[at] = key;
    states[state_count++] = *w;
}

/* Past the end of patience nothing is new. */
static void clip(struct world *w)
{
    struct hf_round *r = &w->round;

    if (r->silent_since_ms != HF_NEVER &&
        NOW_MS - r->silent_since_ms > PATIENCE_MS)
        r->silent_since_ms = NOW_MS - PATIENCE_MS;
    if (NOW_MS - w->heard_ms > HF_ROUND_SILENCE_MS)
        w->heard_ms = NOW_MS - HF_ROUND_SILENCE_MS;
}

static void visit_next(struct world w)
{
    check(&w);
    clip(&w);
    visit(&w);
}

static void visit_answers(const struct world *from, unsigned server)
{
    struct world w;

    for (int what = HF_ROUND_SAME; what <= HF_ROUND_SETTLED; what++) {
        w = *from;
        (void)answer(&w, server, (enum hf_round_answer)what);
        visit_next(w);
    }
    w = *from;
    fail_probe(&w, server);
    visit_next(w);
}

static void expand(const struct world *from)
{
    struct world later = *from;

    for (unsigned server = 1; server < EVERYBODY; server <<= 1)
        if (from->under_way & server)
            visit_answers(from, server);
    pass(&later, STEP_MS);
    visit_next(later);
    for (unsigned knowing = 1; knowing <= EVERYBODY; knowing++)
        check_followed(*from, knowing);
}

static const int64_t staggers_ms[] = {HF_ROUND_STAGGER_MS, 0};

START_TEST(a_server_that_knows_better_is_heard_soon_in_every_order_of_events)
{
    struct world first = {.next_ms = NOW_MS};

    states = calloc(STATES_MAX, sizeof *states);
    keys = calloc(2 * STATES_MAX, sizeof *keys);
    ck_assert(states && keys);
    hf_round_init(&first.round, PATIENCE_MS, staggers_ms[_i]);
    act(&first);
    visit_next(first);
    for (unsigned i = 0; i < state_count; i++)
        expand(&states[i]);
    ck_assert_uint_gt(state_count, 1000); /* or nothing was tried */
    free(states);
    free(keys);
}
END_TEST

/* ROUND-3: one server of three says nothing for ever, and the others know of
 * nothing as good as the map in force: a cluster that was made anew. */
START_TEST(a_worse_map_is_adopted_when_patience_is_over)
{
    struct world w = {.next_ms = NOW_MS};
    int64_t ms = 0;

    hf_round_init(&w.round, PATIENCE_MS, HF_ROUND_STAGGER_MS);
    act(&w);
    for (;;) {
        unsigned next = w.under_way & ~1u;

        if (next)
            (void)answer(&w, next & -next, HF_ROUND_WORSE);
        else
            ms += STEP_MS;
        if (!w.round.is_running && w.round.due_ms == HF_NEVER)
            break; /* ADOPT_BEST: all else goes on */
        if (!next)
            pass(&w, STEP_MS);
        ck_must(ms < 2 * PATIENCE_MS, "patience ends");
    }
    ck_assert_int_ge(ms, PATIENCE_MS);
}
END_TEST

/* ---- by example ---- */

static void ask_servers(struct hf_round *r, int count, int64_t now_ms)
{
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(hf_round_step(r, now_ms), HF_ROUND_QUERY);
        hf_round_queried(r, now_ms);
    }
    hf_round_nobody_left(r, now_ms);
}

static void answer_worse(struct hf_round *r, int64_t now_ms)
{
    hf_round_probe_ended(r);
    ck_assert_int_eq(hf_round_answered(r, now_ms, HF_ROUND_WORSE),
                     HF_ROUND_WAIT);
}

/* ROUND-1. */
START_TEST(next_server_is_queried_after_the_stagger_or_at_once_after_a_reply)
{
    struct hf_round r;

    hf_round_init(&r, PATIENCE_MS, HF_ROUND_STAGGER_MS);
    ck_assert_int_eq(hf_round_step(&r, NOW_MS), HF_ROUND_QUERY);
    hf_round_queried(&r, NOW_MS);
    ck_assert_int_eq(r.due_ms, NOW_MS + HF_ROUND_STAGGER_MS);
    answer_worse(&r, NOW_MS + 10);
    ck_assert_int_eq(r.due_ms, NOW_MS + 10);
    ck_assert_int_eq(hf_round_step(&r, NOW_MS + 10), HF_ROUND_QUERY);
}
END_TEST

/* ROUND-5. A large cluster is asked less often. */
START_TEST(round_after_silence_begins_a_millisecond_later_for_each_server)
{
    const int64_t end_ms = NOW_MS + HF_ROUND_SILENCE_MS;

    for (int count = 2; count <= 9; count++) {
        struct hf_round r;

        hf_round_init(&r, PATIENCE_MS, HF_ROUND_STAGGER_MS);
        ask_servers(&r, count, NOW_MS);
        answer_worse(&r, NOW_MS);
        ck_assert_int_eq(hf_round_step(&r, end_ms - 1), HF_ROUND_WAIT);
        ck_assert_int_eq(hf_round_step(&r, end_ms), HF_ROUND_RETRY);
        ck_assert_int_eq(r.due_ms, end_ms + HF_ROUND_PAUSE_MS + count);
    }
}
END_TEST

/* ROUND-5, and a better map makes the pause short again. */
START_TEST(pause_doubles_up_to_its_maximum)
{
    static const int64_t pauses[] = {100, 200, 400, 800, 1000, 1000};
    int64_t now_ms = NOW_MS;
    struct hf_round r;

    hf_round_init(&r, 60000, HF_ROUND_STAGGER_MS);
    ck_assert_int_eq(hf_round_step(&r, now_ms), HF_ROUND_QUERY);
    hf_round_queried(&r, now_ms);
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        if (i > 0)
            ck_assert_int_eq(hf_round_step(&r, now_ms), HF_ROUND_QUERY);
        hf_round_queried(&r, now_ms); /* the first server never replies */
        hf_round_nobody_left(&r, now_ms);
        answer_worse(&r, now_ms);
        now_ms += HF_ROUND_SILENCE_MS;
        ck_assert_int_eq(hf_round_step(&r, now_ms), HF_ROUND_RETRY);
        ck_assert_int_eq(r.due_ms - now_ms - r.queried_servers, pauses[i]);
        now_ms = r.due_ms;
    }
    hf_round_probe_ended(&r);
    ck_assert_int_eq(hf_round_answered(&r, now_ms, HF_ROUND_BETTER), HF_ROUND_ADOPT);
    ck_assert_uint_eq(r.retried_rounds, 0);
}
END_TEST

/* Two servers, one of which is silent for ever: the state in the second round,
 * with a worse map of the other. The first ended at NOW_MS. */
static struct hf_round in_second_round(void)
{
    struct hf_round r;
    int64_t begin_ms;

    hf_round_init(&r, PATIENCE_MS, HF_ROUND_STAGGER_MS);
    ask_servers(&r, 2, NOW_MS - HF_ROUND_SILENCE_MS);
    answer_worse(&r, NOW_MS - HF_ROUND_SILENCE_MS);
    ck_assert_int_eq(hf_round_step(&r, NOW_MS), HF_ROUND_RETRY);
    begin_ms = r.due_ms;
    ask_servers(&r, 1, begin_ms);
    return r;
}

/* ROUND-3. */
START_TEST(patience_ends_in_its_last_millisecond)
{
    struct hf_round early = in_second_round(), late;

    answer_worse(&early, early.silent_since_ms + HF_ROUND_PAUSE_MS + 2);
    late = early;
    ck_assert_int_eq(hf_round_step(&early, NOW_MS + PATIENCE_MS - 1),
                     HF_ROUND_RETRY);
    ck_assert_int_eq(hf_round_step(&late, NOW_MS + PATIENCE_MS),
                     HF_ROUND_ADOPT_BEST);
}
END_TEST

/* ROUND-3: the last of the replies counts. */
START_TEST(settled_map_is_adopted_though_one_is_silent)
{
    for (int is_last = 0; is_last < 2; is_last++) {
        struct hf_round r;

        hf_round_init(&r, PATIENCE_MS, 0);
        ask_servers(&r, 3, NOW_MS);
        for (int i = 0; i < 2; i++) {
            hf_round_probe_ended(&r);
            ck_assert_int_eq(hf_round_answered(&r, NOW_MS,
                                               i == is_last ? HF_ROUND_SETTLED
                                                            : HF_ROUND_WORSE),
                             HF_ROUND_WAIT);
        }
        ck_assert_int_eq(hf_round_step(&r, NOW_MS + HF_ROUND_SILENCE_MS - 1),
                         HF_ROUND_WAIT);
        ck_assert_int_eq(hf_round_step(&r, NOW_MS + HF_ROUND_SILENCE_MS),
                         is_last ? HF_ROUND_ADOPT_BEST : HF_ROUND_RETRY);
    }
}
END_TEST

/* ROUND-5 is for a worse map that was heard in this very round. */
START_TEST(round_ends_when_all_others_failed_and_one_is_silent)
{
    struct hf_round r = in_second_round();

    hf_round_probe_ended(&r);
    hf_round_failed(&r, NOW_MS + 500);
    ck_assert_int_eq(hf_round_step(&r, NOW_MS + 500 + HF_ROUND_SILENCE_MS),
                     HF_ROUND_ADOPT_BEST);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("net_round");
    TCase *c = tcase_create("rounds");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(
        c, a_server_that_knows_better_is_heard_soon_in_every_order_of_events, 0, 2);
    tcase_add_test(c, a_worse_map_is_adopted_when_patience_is_over);
    tcase_add_test(
        c, next_server_is_queried_after_the_stagger_or_at_once_after_a_reply);
    tcase_add_test(
        c, round_after_silence_begins_a_millisecond_later_for_each_server);
    tcase_add_test(c, pause_doubles_up_to_its_maximum);
    tcase_add_test(c, patience_ends_in_its_last_millisecond);
    tcase_add_test(c, settled_map_is_adopted_though_one_is_silent);
    tcase_add_test(c,
                   round_ends_when_all_others_failed_and_one_is_silent);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return suite_run(suite());
}
