/* Which address is tried when: races in a world where time is a number. A race
 * is written as text, and so is what came of it:
 *
 *     "6a. 6b-40 4c+30"        addresses in the resolver's order: family, name,
 *                              and what becomes of it: + connected, - failed
 *                              after so many ms, . no answer, ever
 *     "a0 c250 b280 c:280"     a started at 0, c at 250, ..; c won at 280
 *     "a0 b0 lost"             nobody is left
 *     "a0 late"                somebody runs when the owner's time is over
 * Sources: RFC 8305, 4 "Sorting Addresses", 5 "Connection Attempts"; rules RACE-1
 * to RACE-3 of net/wire/race.h. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire/race.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"

#define START_MS 1000000      /* races do not begin when time does */
#define LONG_MS 60000
#define LOG_MAX 512

/* ---- the world ---- */

struct runner {
    int name;
    char fate;                /* '+', '-', '.' */
    int64_t after_ms;
    int64_t end_ms;           /* HF_NEVER: does not run, or no answer */
};

static struct hf_race race;
static struct runner runners[HF_ADDRESSES_MAX];  /* as race.addresses */
static char trace[LOG_MAX];
static int64_t now_ms;

static void tell(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

static void tell(const char *format, ...)
{
    size_t len = strlen(trace);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(trace + len, sizeof trace - len, format, args);
    va_end(args);
}

static int since_start_ms(void)
{
    return (int)(now_ms - START_MS);
}

static struct hf_address address_of(int family, int name)
{
    struct hf_address a;

    memset(&a, 0, sizeof a);
    a.storage.ss_family = family == '6' ? AF_INET6 : AF_INET;
    a.len = (socklen_t)(offsetof(struct sockaddr_storage, ss_family) + 24);
    ((char *)&a.storage)[20] = (char)name;
    return a;
}

static int name_of(const struct hf_address *a)
{
    return ((const char *)&a->storage)[20];
}

/* "6a+40 4b." */
static struct hf_addresses read_race(const char *text, struct runner *fates)
{
    struct hf_addresses found = {.count = 0};
    int used;

    for (; *text; text += used) {
        struct runner *r = &fates[found.count];
        int after_ms = 0;
        char family, name;

        ck_assert_int_eq(sscanf(text, " %c%c%c%n", &family, &name, &r->fate,
                                &used), 3);
        text += used;
        used = (int)strspn(text, "0123456789");
        if (used > 0)
            after_ms = atoi(text);
        r->after_ms = after_ms;
        r->name = name;
        found.list[found.count++] = address_of(family, name);
    }
    return found;
}

/* The fates, by index of the order in which the race has put them. */
static void assign(const struct runner *fates)
{
    for (unsigned i = 0; i < race.addresses.count; i++)
        for (const struct runner *f = fates;; f++)
            if (f->name == name_of(&race.addresses.list[i])) {
                runners[i] = *f;
                runners[i].end_ms = HF_NEVER;
                break;
            }
}

static void start_all_that_may(void)
{
    int i;

    while ((i = hf_race_next(&race, now_ms)) >= 0) {
        struct runner *r = &runners[i];

        ck_assert_int_eq(r->end_ms, HF_NEVER);
        tell("%c%d ", r->name, since_start_ms());
        if (r->fate == '-' && r->after_ms == 0)
            hf_race_failed(&race, now_ms);
        else if (r->fate != '.')
            r->end_ms = now_ms + r->after_ms;
    }
}

/* Who comes to an end first; the one that started earlier, of two. */
static int first_to_end(void)
{
    int first = -1;

    for (unsigned i = 0; i < race.addresses.count; i++)
        if (runners[i].end_ms != HF_NEVER &&
            (first < 0 || runners[i].end_ms < runners[first].end_ms))
            first = (int)i;
    return first;
}

enum { RUNNING = -1, OVER = -2 };

/* Until the next event: the winner's index, RUNNING, or OVER. */
static int step(int64_t deadline_ms)
{
    int64_t due_ms = hf_race_due_ms(&race);
    int i = first_to_end();
    int64_t end_ms = i < 0 ? HF_NEVER : runners[i].end_ms;

    now_ms = end_ms <= due_ms ? end_ms : due_ms;
    if (hf_race_is_lost(&race) || now_ms >= deadline_ms)
        return OVER;
    if (now_ms != end_ms)
        return RUNNING;
    runners[i].end_ms = HF_NEVER;
    if (runners[i].fate == '+')
        return i;
    hf_race_failed(&race, now_ms);
    return RUNNING;
}

/* Returns the winner's index, or OVER. */
static int run(const char *text, int64_t time_ms)
{
    struct runner fates[HF_ADDRESSES_MAX];
    struct hf_addresses found = read_race(text, fates);
    int result;

    trace[0] = '\0';
    now_ms = START_MS;
    hf_race_begin(&race, &found, now_ms);
    assign(fates);
    do {
        start_all_that_may();
        result = step(START_MS + time_ms);
    } while (result == RUNNING);
    if (result >= 0)
        tell("%c:%d", runners[result].name, since_start_ms());
    else
        tell(hf_race_is_lost(&race) ? "lost" : "late");
    return result;
}

/* ---- one race ---- */

static const struct {
    const char *race;
    const char *trace;
} races[] = {
    {"4a+30", "a0 a:30"},
    {"4a-30", "a0 lost"},
    {"4a.", "a0 late"},
    /* the next after 250 ms, and no earlier */
    {"4a. 4b+5", "a0 b250 b:255"},
    {"4a+249 4b+0", "a0 a:249"},
    {"4a. 4b. 4c. 4d+1", "a0 b250 c500 d750 d:751"},
    /* who started first and was slow may still win */
    {"4a+300 4b+51", "a0 b250 a:300"},
    {"4a+300 4b+49", "a0 b250 b:299"},
    /* at once, when one has failed */
    {"4a-40 4b+10", "a0 b40 b:50"},
    {"4a-0 4b-0 4c-0 4d+7", "a0 b0 c0 d0 d:7"},
    {"4a-0 4b-0 4c-0", "a0 b0 c0 lost"},
    {"4a-300 4b. 4c+5", "a0 b250 c300 c:305"},
    /* the delay counts from the last start, wherever that was */
    {"4a-100 4b. 4c+0", "a0 b100 c350 c:350"},
    {"4a. 4b-10 4c. 4d+0", "a0 b250 c260 d510 d:510"},
    /* all have started: nothing to do but wait */
    {"4a-400 4b.", "a0 b250 late"},
    {"4a-400 4b-10", "a0 b250 lost"},
    {"4a+9000 4b-10", "a0 b250 a:9000"},
    /* families are interleaved, each in its own order (RFC 8305, 4) */
    {"6a. 6b. 6c. 4d. 4e.", "a0 d250 b500 e750 c1000 late"},
    {"4a. 4b. 4c. 6d.", "a0 d250 b500 c750 late"},
    {"6a. 4b. 4c. 4d. 6e.", "a0 b250 e500 c750 d1000 late"},
    {"6a-0 6b-0 6c-0 4d+1", "a0 d0 d:1"},
    /* sixteen of them are over in four seconds */
    {"6a. 6b. 6c. 6d. 6e. 6f. 6g. 6h. 6i. 6j. 6k. 6l. 6m. 6n. 6o. 6p+1",
     "a0 b250 c500 d750 e1000 f1250 g1500 h1750 i2000 j2250 k2500 l2750 m3000 "
     "n3250 o3500 p3750 p:3751"},
};

/* RACE-1, RACE-2 */
START_TEST(race_follows_the_rules)
{
    memset(&race, 0, sizeof race);
    (void)run(races[_i].race, LONG_MS);
    ck_assert_str_eq(trace, races[_i].trace);
}
END_TEST

/* Also for a caller that asks more often than it has to. */
START_TEST(nothing_is_tried_early_and_nothing_is_lost_while_an_address_is_left)
{
    struct runner fates[HF_ADDRESSES_MAX];
    struct hf_addresses found = read_race("4a. 4b.", fates);

    memset(&race, 0, sizeof race);
    hf_race_begin(&race, &found, START_MS);
    ck_assert_int_eq(hf_race_next(&race, START_MS - 1), -1);
    ck_assert_int_eq(hf_race_next(&race, START_MS), 0);
    ck_assert_int_eq(hf_race_next(&race, START_MS + RACE_DELAY_MS - 1), -1);
    ck_assert(!hf_race_is_lost(&race));
    hf_race_failed(&race, START_MS + 1);
    ck_assert(!hf_race_is_lost(&race));
    ck_assert_int_eq(hf_race_next(&race, START_MS + 1), 1);
    ck_assert(!hf_race_is_lost(&race));
    ck_assert_int_eq(hf_race_next(&race, START_MS + LONG_MS), -1);
    hf_race_failed(&race, START_MS + 2);
    ck_assert(hf_race_is_lost(&race));
}
END_TEST

/* ---- one after the other ---- */

/* In front of a race: '=' when its winner worked, '?' when it worked and its server does
 * not serve any longer (LOADING, READONLY). */
#define RACES_MAX 5
static const struct {
    const char *what;
    const char *races[RACES_MAX];
    const char *last;
    int64_t time_ms;
} careers[] = {
    {"the address that worked is first, then the other family",
     {"=6a. 4b. 6c+0 4d.", "6a. 4b. 6c. 4d."},
     "c0 b250 a500 d750 late", LONG_MS},
    {"wherever the resolver lists it the next time",
     {"=4a+0 4b.", "4b. 4c. 4a."},
     "a0 b250 c500 late", LONG_MS},
    {"an address that is gone leaves the family that worked",
     {"=6a. 4b+0", "6a. 6c. 4d. 4e."},
     "d0 a250 e500 c750 late", LONG_MS},
    {"a family that is gone leaves the resolver's order",
     {"=6a. 4b+0", "6a. 6c."},
     "a0 c250 late", LONG_MS},
    {"what drops all is not first again, however short the time",
     {"4a. 4b+1 4c.", "4a. 4b+5 4c."},
     "b0 b:5", 100},
    {"and so to the last and around",
     {"4a. 4b. 4c. 4d+0", "4a. 4b. 4c. 4d+0"},
     "c0 d250 d:250", 300},
    {"an address that was connected and did not work is one that failed",
     {"4a+0 4b+0", "4a+0 4b+5"},
     "b0 b:5", LONG_MS},
    {"each has its turn",
     {"4a+0 4b+0 4c+0", "4a+0 4b+0 4c+0", "4a+0 4b+0 4c+0", "4a+0 4b+0 4c+0"},
     "a0 a:0", LONG_MS},
    {"the others have theirs when the favourite does not work any more",
     {"=4a. 4b+0", "4a+0 4b+0", "4a+0 4b+9"},
     "a0 a:0", LONG_MS},
    {"until it works again",
     {"=4a. 4b+0", "4a+0 4b+0", "=4a+0 4b+0", "4a+7 4b+0"},
     "a0 a:7", LONG_MS},
    {"where all failed, all begins as before",
     {"=4a. 4b+0", "4a-0 4b-0", "4a+0 4b+0"},
     "b0 b:0", LONG_MS},
    {"another address is first when the server does not serve",
     {"?4a+0 4b+0 4c+0", "4a+0 4b+7 4c+0"},
     "b0 b:7", LONG_MS},
    {"one after the other, until one serves",
     {"?4a+0 4b+0 4c+0", "4a+0 4b+0 4c+0", "=4a+0 4b+0 4c+0", "4a+0 4b+0 4c+9"},
     "c0 c:9", LONG_MS},
    {"the only address is tried again",
     {"?4a+0", "4a+7"},
     "a0 a:7", LONG_MS},
};

/* RACE-1, RACE-3 */
START_TEST(race_prefers_the_last_good_address)
{
    memset(&race, 0, sizeof race);
    for (int i = 0; i < RACES_MAX && careers[_i].races[i]; i++) {
        const char *text = careers[_i].races[i];
        bool is_in_doubt = text[0] == '?';
        bool has_worked = text[0] == '=' || is_in_doubt;
        int winner = run(text + has_worked, careers[_i].time_ms);

        if (has_worked)
            hf_race_worked(&race, (unsigned)winner);
        if (is_in_doubt)
            hf_race_avoid_favourite(&race);
    }
    ck_assert_msg(strcmp(trace, careers[_i].last) == 0, "%s: %s",
                  careers[_i].what, trace);
}
END_TEST

/* ---- any race ---- */

#define RANDOM_RACES 5000

static void write_race(char *text, size_t room)
{
    unsigned count = 1 + (unsigned)dice(HF_ADDRESSES_MAX);
    size_t len = 0;

    for (unsigned i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, room - len, "%s%c%c%c%u",
                                i ? " " : "", "46"[dice(2)], 'a' + (int)i,
                                "+--."[dice(4)],
                                dice(2) ? (unsigned)dice(1200) : 0);
}

/* The rules, by looking at the trace alone: nobody starts twice or is left out
 * while there is no winner; between two starts lie 250 ms, or a failure. */
static void judge(const char *text, unsigned count)
{
    struct runner fates[HF_ADDRESSES_MAX];
    int64_t starts[HF_ADDRESSES_MAX];
    int64_t at[128];
    unsigned n = 0;
    int used;

    (void)read_race(text, fates);
    memset(at, -1, sizeof at);
    for (const char *p = trace;; p += used) {
        long long ms;
        char name;

        if (sscanf(p, " %c%lld%n", &name, &ms, &used) != 2)
            break;
        ck_assert_msg(at[(int)name] < 0, "%c starts once: %s", name, trace);
        at[(int)name] = ms;
        starts[n++] = ms;
    }
    if (!strchr(trace, ':'))
        ck_assert_uint_eq(n, count);
    for (unsigned i = 1; i < n; i++) {
        bool is_excused = starts[i] - starts[i - 1] == RACE_DELAY_MS;

        for (unsigned k = 0; k < count; k++)
            is_excused = is_excused ||
                         (fates[k].fate == '-' && at[fates[k].name] >= 0 &&
                          at[fates[k].name] + fates[k].after_ms == starts[i]);
        ck_assert_msg(is_excused, "%s: %s", text, trace);
        ck_assert_int_le(starts[i] - starts[i - 1], RACE_DELAY_MS);
    }
}

START_TEST(any_race_keeps_the_rules)
{
    char text[16 * 16];

    memset(&race, 0, sizeof race);
    for (int i = 0; i < RANDOM_RACES; i++) {
        int winner;

        write_race(text, sizeof text);
        winner = run(text, LONG_MS);
        judge(text, race.addresses.count);
        if (winner >= 0 && dice(2))
            hf_race_worked(&race, (unsigned)winner);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/race");
    TCase *c = tcase_create("race");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, race_follows_the_rules, 0,
                        (int)(sizeof races / sizeof *races));
    tcase_add_test(
        c, nothing_is_tried_early_and_nothing_is_lost_while_an_address_is_left);
    tcase_add_loop_test(c, race_prefers_the_last_good_address, 0,
                        (int)(sizeof careers / sizeof *careers));
    tcase_add_test(c, any_race_keeps_the_rules);
    suite_add_tcase(s, c);
    return suite_run(s);
}
