/* The lease as a pure machine: rules CLAIM-1 to CLAIM-4 by example, and then
 * every order of events of a few commands on two links, against a server that
 * does what a server may do. No clock, no random numbers. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/claims.h"
#include "tests/support/promise.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

#define WATCHDOG 3000
#define START INT64_C(1000000)
#define MAIN 1                  /* streams */
#define OTHER 2

/* ---- by example ---- */

static struct hf_sending sent(int64_t ms, uint64_t stream)
{
    return (struct hf_sending){.sent_ms = ms, .stream = stream};
}

static int64_t end_of(int64_t since_ms, int64_t lease_ms)
{
    return since_ms + lease_ms - hf_claims_drift_ms(lease_ms);
}

static void ask(struct hf_claims *l, int64_t ms, int64_t lease_ms)
{
    hf_claims_ask(l, CLAIM_BY_CALL, START + ms, lease_ms);
}

static void answer(struct hf_claims *l, int64_t ms, uint64_t stream)
{
    struct hf_sending how = sent(START + ms, stream);

    hf_claims_answered(l, CLAIM_BY_CALL, &how);
}

static void end_unknown(struct hf_claims *l, uint64_t stream)
{
    struct hf_sending how = sent(0, stream);

    hf_claims_unknown(l, CLAIM_BY_CALL, &how);
}

static void renewal(struct hf_claims *l, int64_t ms)
{
    hf_claims_ask(l, CLAIM_BY_RENEWAL, START + ms, WATCHDOG);
}

static void renewed(struct hf_claims *l, int64_t ms, uint64_t stream)
{
    struct hf_sending how = sent(START + ms, stream);

    hf_claims_answered(l, CLAIM_BY_RENEWAL, &how);
}

static struct hf_claims granted(int64_t lease_ms)
{
    struct hf_claims l;

    hf_claims_init(&l);
    ask(&l, 0, lease_ms);
    answer(&l, 0, MAIN);
    return l;
}

static const struct {
    int64_t lease_ms, drift_ms;
} margins[] = {
    {1, 2}, {99, 2}, {100, 3}, {3000, 32}, {30000, 302},
    {INT64_C(1000000000000), INT64_C(10000000002)},
};

START_TEST(the_margin_is_a_hundredth_and_two_milliseconds)
{
    ck_assert_int_eq(hf_claims_drift_ms(margins[_i].lease_ms),
                     margins[_i].drift_ms);
}
END_TEST

START_TEST(nothing_is_safe_before_the_first_grant)
{
    struct hf_claims l;

    hf_claims_init(&l);
    ck_assert_int_eq(l.end_ms, INT64_MIN);
    ask(&l, 0, WATCHDOG);
    ck_assert_int_eq(l.end_ms, INT64_MIN);
    end_unknown(&l, MAIN);
    ck_assert_int_eq(l.end_ms, INT64_MIN);
}
END_TEST

START_TEST(claim_1_a_shorter_lease_counts_from_the_moment_it_is_handed_out)
{
    struct hf_claims l = granted(60000);

    ask(&l, 10, 500);
    ck_assert_int_eq(l.end_ms, end_of(START + 10, 500));
    hf_claims_refused(&l, CLAIM_BY_CALL);
    ck_assert_int_eq(l.end_ms, end_of(START, 60000));
}
END_TEST

START_TEST(claim_1_a_renewal_that_cuts_a_longer_lease_counts_too)
{
    struct hf_claims l = granted(60000);
    struct hf_sending how = sent(0, MAIN);

    renewal(&l, 10);
    ck_assert_int_eq(l.end_ms, end_of(START + 10, WATCHDOG));
    hf_claims_unknown(&l, CLAIM_BY_RENEWAL, &how);
    ck_assert_int_eq(l.end_ms, end_of(START + 10, WATCHDOG));
}
END_TEST

/* Two links: which of the two was executed last, nobody knows. */
START_TEST(claim_2_an_older_renewals_answer_does_not_lengthen_a_newer_lease)
{
    struct hf_claims l = granted(WATCHDOG);

    renewal(&l, 100);
    ask(&l, 200, 500);
    answer(&l, 200, OTHER);
    renewed(&l, 100, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 200, 500));
}
END_TEST

START_TEST(claim_3_what_comes_later_counts_from_what_was_answered)
{
    struct hf_claims l = granted(WATCHDOG);

    ask(&l, 100, 500);
    end_unknown(&l, OTHER);
    renewal(&l, 300);
    renewed(&l, 300, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 300, 500));
}
END_TEST

START_TEST(claim_4_an_answer_on_the_same_stream_ends_an_unknown_claim)
{
    struct hf_claims l = granted(WATCHDOG);

    ask(&l, 100, 500);
    end_unknown(&l, MAIN);
    renewal(&l, 300);
    renewed(&l, 300, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 300, WATCHDOG));
}
END_TEST

START_TEST(claim_4_on_one_stream_the_later_answer_counts)
{
    struct hf_claims l = granted(WATCHDOG);

    ask(&l, 100, 500);
    renewal(&l, 150);
    answer(&l, 100, MAIN);
    renewed(&l, 150, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 150, WATCHDOG));
}
END_TEST

/* The renewal was handed out while the call was under way: it may stand before
 * it in the stream. */
/* Of two streams the claims are merged in the last place: an answer on either of
 * them proves nothing of the other's. */
START_TEST(claim_4_merged_claims_of_two_streams_are_ended_by_no_answer)
{
    struct hf_claims l = granted(60000);

    for (uint64_t i = 0; i <= CLAIM_UNKNOWNS; i++) {
        ask(&l, 10, i == CLAIM_UNKNOWNS - 1 ? 500 : 50000);
        end_unknown(&l, OTHER + i);
    }
    ask(&l, 20, 60000);
    answer(&l, 20, OTHER + CLAIM_UNKNOWNS);
    ck_assert_int_eq(l.shortest_ms, 500);
    ck_assert_int_eq(l.end_ms, end_of(START + 20, 500));
}
END_TEST

START_TEST(call_that_was_never_sent_is_no_claim)
{
    struct hf_claims l = granted(60000);

    ask(&l, 10, 500);
    end_unknown(&l, 0);
    ck_assert_int_eq(l.end_ms, end_of(START, 60000));
}
END_TEST

START_TEST(claim_4_not_if_it_was_handed_out_before_the_other_had_ended)
{
    struct hf_claims l = granted(WATCHDOG);

    renewal(&l, 50);
    ask(&l, 100, 500);
    end_unknown(&l, MAIN);
    renewed(&l, 50, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 100, 500));
}
END_TEST

START_TEST(claim_4_a_stray_sending_stays_a_claim_though_the_call_was_answered)
{
    struct hf_claims l = granted(WATCHDOG);
    struct hf_sending how = sent(START + 200, OTHER);

    ask(&l, 100, 500);
    how.stray = MAIN;
    hf_claims_answered(&l, CLAIM_BY_CALL, &how);
    renewal(&l, 300);
    renewed(&l, 300, OTHER);
    ck_assert_int_eq(l.end_ms, end_of(START + 300, 500));
    ask(&l, 400, WATCHDOG);
    answer(&l, 400, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 400, WATCHDOG));
}
END_TEST

/* More unknown claims than there are places: together they are as short as the
 * shortest, and no answer ends them. */
START_TEST(claims_that_are_merged_lose_nothing)
{
    struct hf_claims l = granted(WATCHDOG);

    for (int i = 0; i < 5; i++) {
        ask(&l, i, 500 + 100 * i);
        end_unknown(&l, (uint64_t)(10 + i));
    }
    renewal(&l, 100);
    renewed(&l, 100, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 100, 500));
    ask(&l, 200, WATCHDOG);
    answer(&l, 200, 10);
    ck_assert_int_eq(l.end_ms, end_of(START + 200, 600));
}
END_TEST

/* ---- every order ---- */

/* The world: commands are handed out, wait in the queue of a connection, are
 * executed in its order, and answered in it. A call may give up waiting for its
 * answer. A connection may be cut: what was on it is sent again on the next one,
 * or its call ends; what was not executed is dead, if the next one could kill its
 * predecessor, or may be executed at any later time. */
#define COMMANDS_MAX 6
#define SENDINGS_MAX (2 * COMMANDS_MAX)
#define LINKS 2

enum fate { QUEUED, EXECUTED, OVER, ASTRAY };

struct sending {
    uint8_t command, link, fate;
    uint8_t sent;               /* the time */
};

struct command {
    uint8_t by, lease, asked;
    uint8_t is_under_way;
    uint64_t stray;
};

struct world {
    struct hf_claims claims;
    int64_t server_until_ms;    /* when the server lets go as things stand */
    uint8_t now;
    uint8_t count, sendings, cuts;
    uint8_t streams;            /* numbers given so far */
    uint8_t stream[LINKS];
    struct command commands[COMMANDS_MAX];
    struct sending sending[SENDINGS_MAX];
};

/* One is shorter than the watchdog's, one longer; a pause makes the later short
 * one end after the earlier long one. */
static const int64_t leases[] = {WATCHDOG, 1000, 4000};
#define PAUSE_MS 2500

/* How far to go: everything with few commands, more of them with less. */
static const struct scope {
    int commands;
    int pauses;
    int cuts;
    bool is_split;              /* calls on one link, renewals on the other, as
                                   with replicas; else both on either */
} scopes[] = {
    {2, 2, 1, false},
    {3, 1, 1, false},
    {4, 1, 0, true},
};

static struct scope scope;

static int64_t clock_of(uint8_t time)
{
    return START + time * PAUSE_MS;
}

/* P1: at no instant may the hold be believed when the server could have let go.
 * If nothing else happens, it is believed until end_ms. */
static void check(const struct world *w)
{
    must(w->claims.end_ms <= w->server_until_ms,
         "the hold is believed longer than the server keeps it");
}

static struct command *under_way(struct world *w, enum hf_claim_by by)
{
    for (uint8_t i = 0; i < w->count; i++)
        if (w->commands[i].is_under_way && w->commands[i].by == by)
            return &w->commands[i];
    return NULL;
}

static void put(struct world *w, uint8_t command, uint8_t link)
{
    w->sending[w->sendings++] =
        (struct sending){command, link, QUEUED, w->now};
}

/* The first sending on a link that is as wanted; those behind it wait. */
static struct sending *first_on(struct world *w, uint8_t link, enum fate fate)
{
    for (uint8_t i = 0; i < w->sendings; i++) {
        struct sending *s = &w->sending[i];

        if (s->link != link || s->fate == OVER || s->fate == ASTRAY)
            continue;
        if (s->fate == fate)
            return s;
        if (fate == EXECUTED)
            return NULL;
    }
    return NULL;
}

static void execute(struct world *w, struct sending *s, enum fate then)
{
    w->server_until_ms =
        clock_of(w->now) + leases[w->commands[s->command].lease];
    s->fate = (uint8_t)then;
}

static void deliver(struct world *w, struct sending *s)
{
    struct command *c = &w->commands[s->command];
    struct hf_sending how = {clock_of(s->sent), w->stream[s->link], c->stray};

    s->fate = OVER;
    if (!c->is_under_way)
        return; /* a late reply is dropped */
    c->is_under_way = false;
    hf_claims_answered(&w->claims, (enum hf_claim_by)c->by, &how);
}

static uint8_t link_of(const struct world *w, const struct command *c)
{
    for (uint8_t i = w->sendings; i-- > 0;)
        if (&w->commands[w->sending[i].command] == c)
            return w->sending[i].link;
    return 0;
}

static void give_up(struct world *w, struct command *c, uint64_t stream)
{
    struct hf_sending how = {0, stream, c->stray};

    c->is_under_way = false;
    hf_claims_unknown(&w->claims, (enum hf_claim_by)c->by, &how);
}

/* Every unanswered command of the link is sent again, or ends (a renewal is sent
 * once). */
static void cut(struct world *w, uint8_t link, bool is_killed, bool is_repeated)
{
    uint8_t before = w->sendings;
    uint64_t stream = w->stream[link];

    if (!is_killed)
        w->stream[link] = ++w->streams;
    w->cuts++;
    for (uint8_t i = 0; i < before; i++) {
        struct sending *s = &w->sending[i];
        struct command *c = &w->commands[s->command];

        if (s->link != link || s->fate == OVER || s->fate == ASTRAY)
            continue;
        s->fate = s->fate == EXECUTED || is_killed ? OVER : ASTRAY;
        if (!c->is_under_way)
            continue;
        if (is_repeated && c->by == CLAIM_BY_CALL) {
            c->stray = stream;
            put(w, s->command, link);
        } else {
            give_up(w, c, stream);
        }
    }
}

/* ---- states that were seen ---- */

static uint32_t seen_room;
static uint64_t *seen;
static uint32_t seen_count;

/* How many of the lease's events came before `step`, of those that are still
 * looked at: their order decides, not their numbers. */
static uint64_t rank(const struct hf_claims *l, uint32_t step)
{
    uint64_t n = step > l->answered_step;

    for (int i = 0; i < CLAIM_BYS; i++)
        n += l->asked[i].lease_ms > 0 && step > l->asked[i].step;
    for (int i = 0; i < CLAIM_UNKNOWNS; i++)
        n += l->unknown[i].lease_ms > 0 && step > l->unknown[i].step;
    return n;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t hash_of_claims(const struct hf_claims *l)
{
    uint64_t h = mix((uint64_t)l->proved_ms, (uint64_t)l->answered_ms);

    h = mix(mix(h, l->answered_stream), rank(l, l->answered_step));
    for (int i = 0; i < CLAIM_BYS; i++)
        if (l->asked[i].lease_ms > 0)
            h = mix(mix(mix(h, (uint64_t)i + 1),
                        (uint64_t)l->asked[i].lease_ms << 40 ^
                            (uint64_t)l->asked[i].since_ms),
                    rank(l, l->asked[i].step));
    for (int i = 0; i < CLAIM_UNKNOWNS; i++)
        if (l->unknown[i].lease_ms > 0)
            h = mix(mix(mix(mix(h, (uint64_t)i + 9), l->unknown[i].stream),
                        (uint64_t)l->unknown[i].lease_ms << 40 ^
                            (uint64_t)l->unknown[i].since_ms),
                    rank(l, l->unknown[i].step));
    return h;
}

/* Of all that can still matter, and of nothing else. */
static uint64_t hash_of(const struct world *w)
{
    uint64_t h = mix(hash_of_claims(&w->claims), (uint64_t)w->server_until_ms);

    h = mix(h, (uint64_t)w->now << 24 | w->count << 16 | w->cuts << 8);
    h = mix(h, (uint64_t)w->stream[0] << 16 | w->stream[1] << 8 | w->streams);
    for (uint8_t i = 0; i < w->sendings; i++) {
        const struct sending *s = &w->sending[i];
        const struct command *c = &w->commands[s->command];

        if (s->fate == OVER)
            continue;
        h = mix(h, (uint64_t)s->link << 32 | s->fate << 24 | s->sent << 16 |
                       c->by << 12 | c->lease << 8 | c->is_under_way);
        h = mix(h, c->stray);
    }
    return h ? h : 1;
}

static bool is_new(const struct world *w)
{
    uint64_t h = hash_of(w);
    uint32_t at = (uint32_t)(h >> 12) & (seen_room - 1);

    for (; seen[at]; at = (at + 1) & (seen_room - 1))
        if (seen[at] == h)
            return false;
    must(++seen_count < seen_room / 4 * 3, "(the table of states is full)");
    seen[at] = h;
    return true;
}

static void go_on(const struct world *from);

static void hand_out(const struct world *from, enum hf_claim_by by,
                     uint8_t lease, uint8_t link)
{
    struct world w = *from;

    w.commands[w.count] = (struct command){(uint8_t)by, lease, w.now, 1, 0};
    put(&w, w.count++, link);
    hf_claims_ask(&w.claims, by, clock_of(w.now), leases[lease]);
    go_on(&w);
}

static void hand_out_all(const struct world *from)
{
    struct world w = *from;

    if (w.count == scope.commands)
        return;
    for (uint8_t link = 0; link < LINKS; link++) {
        if (!under_way(&w, CLAIM_BY_RENEWAL) && (link == 0 || !scope.is_split))
            hand_out(from, CLAIM_BY_RENEWAL, 0, link);
        for (uint8_t lease = 0; lease < COUNT(leases); lease++)
            if (!under_way(&w, CLAIM_BY_CALL) && (link == 1 || !scope.is_split))
                hand_out(from, CLAIM_BY_CALL, lease, link);
    }
}

static void on_links(const struct world *from)
{
    for (uint8_t link = 0; link < LINKS; link++) {
        struct world w = *from;
        struct sending *s;

        if ((s = first_on(&w, link, QUEUED))) {
            execute(&w, s, EXECUTED);
            go_on(&w);
        }
        w = *from;
        if ((s = first_on(&w, link, EXECUTED))) {
            deliver(&w, s);
            go_on(&w);
        }
        for (int how = 0; how < 4 && from->cuts < scope.cuts; how++) {
            w = *from;
            cut(&w, link, how & 1, how & 2);
            go_on(&w);
        }
    }
}

static void go_astray(const struct world *from)
{
    for (uint8_t i = 0; i < from->sendings; i++) {
        struct world w = *from;

        if (w.sending[i].fate != ASTRAY)
            continue;
        execute(&w, &w.sending[i], OVER);
        go_on(&w);
    }
}

static void give_up_all(const struct world *from)
{
    for (int by = 0; by < CLAIM_BYS; by++) {
        struct world w = *from;
        struct command *c = under_way(&w, (enum hf_claim_by)by);

        if (!c)
            continue;
        give_up(&w, c, w.stream[link_of(&w, c)]);
        go_on(&w);
    }
}

static void pass_time(const struct world *from)
{
    struct world w = *from;

    if (w.now == scope.pauses)
        return;
    w.now++;
    go_on(&w);
}

/* A hold whose end has come is lost for good: nothing is believed any more. */
static void go_on(const struct world *w)
{
    check(w);
    if (w->claims.end_ms <= clock_of(w->now) || !is_new(w))
        return;
    hand_out_all(w);
    on_links(w);
    go_astray(w);
    give_up_all(w);
    pass_time(w);
}

/* An acquire, granted at START with each of the leases, and commands behind it.
 * LEASE_COMMANDS=N in the environment tries N in each scope, and says how many
 * states that were; LEASE_SCOPE=I tries one scope alone. */
START_TEST(in_no_order_is_a_hold_believed_longer_than_the_server_keeps_it)
{
    const char *wish = getenv("LEASE_COMMANDS"), *only = getenv("LEASE_SCOPE");
    struct world w;

    if (only && atoi(only) != _i / COUNT(leases))
        return;
    scope = scopes[_i / COUNT(leases)];
    if (wish)
        scope.commands = atoi(wish);
    must(scope.commands >= 1 && scope.commands <= COMMANDS_MAX,
         "LEASE_COMMANDS is 1 to 6");
    memset(&w, 0, sizeof w);
    w.claims = granted(leases[_i % COUNT(leases)]);
    w.server_until_ms = START + leases[_i % COUNT(leases)];
    w.stream[0] = MAIN;
    w.stream[1] = OTHER;
    w.streams = OTHER;
    seen_count = 0;
    seen_room = wish ? 1u << 29 : 1u << 23;
    seen = calloc(seen_room, sizeof *seen);
    must(seen != NULL, "(no memory for the table of states)");
    go_on(&w);
    must(seen_count > 10000, "many states were seen");
    if (wish)
        fprintf(stderr, "%u states\n", seen_count);
    free(seen);
}
END_TEST

/* ---- */

int main(void)
{
    Suite *s = suite_create("lock/claims");
    TCase *rules = tcase_create("rules"), *orders = tcase_create("orders");

    tcase_add_loop_test(rules, the_margin_is_a_hundredth_and_two_milliseconds,
                        0, COUNT(margins));
    tcase_add_test(rules, nothing_is_safe_before_the_first_grant);
    tcase_add_test(
        rules, claim_1_a_shorter_lease_counts_from_the_moment_it_is_handed_out);
    tcase_add_test(rules,
                   claim_1_a_renewal_that_cuts_a_longer_lease_counts_too);
    tcase_add_test(
        rules,
        claim_2_an_older_renewals_answer_does_not_lengthen_a_newer_lease);
    tcase_add_test(rules,
                   claim_3_what_comes_later_counts_from_what_was_answered);
    tcase_add_test(rules,
                   claim_4_an_answer_on_the_same_stream_ends_an_unknown_claim);
    tcase_add_test(rules, claim_4_on_one_stream_the_later_answer_counts);
    tcase_add_test(rules,
                   claim_4_merged_claims_of_two_streams_are_ended_by_no_answer);
    tcase_add_test(rules, call_that_was_never_sent_is_no_claim);
    tcase_add_test(
        rules, claim_4_not_if_it_was_handed_out_before_the_other_had_ended);
    tcase_add_test(
        rules,
        claim_4_a_stray_sending_stays_a_claim_though_the_call_was_answered);
    tcase_add_test(rules, claims_that_are_merged_lose_nothing);
    suite_add_tcase(s, rules);
    tcase_set_timeout(orders, 3600);
    tcase_add_loop_test(
        orders, in_no_order_is_a_hold_believed_longer_than_the_server_keeps_it,
        0, COUNT(scopes) * COUNT(leases));
    suite_add_tcase(s, orders);
    return suite_run(s);
}
