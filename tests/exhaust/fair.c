/* The order of a fair lock, exhaustively (FAIR-6): every order of arrival of a few waiters of
 * holdfast and of Redisson, with every fate of a few of them: fair_scenario.h.
 *
 *     fair check               a few seconds
 *     fair full [PART PARTS]   every order of 3 + 3, in minutes
 *
 * Prints how many scenarios that were, and for how long a live waiter waited for a free
 * lock at most. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/exhaust/fair_scenario.h"

static const int64_t holds_ms[] = {70000, 400000, 3600000};
static const int64_t next_holds_ms[] = {1000, 70000};
static const int64_t spacings_ms[] = {1000, 45000, 200000};
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static long scenarios, part, parts = 1;
static int64_t worst_free_ms;
static struct scenario worst;

static void run(const struct scenario *s)
{
    if (scenarios++ % parts != part)
        return;
    if (!scenario_run(s)) {
        scenario_print(s);
        (void)printf("a promise is broken, in scenario %ld\n", scenarios);
        exit(1);
    }
    if (scenario_free_ms() > worst_free_ms) {
        worst_free_ms = scenario_free_ms();
        worst = *s;
    }
}

/* ---- the times ---- */

static bool is_likely(const struct scenario *s)
{
    return s->spacing_ms * s->count <= s->hold_ms * 2;
}

static void with_times(struct scenario *s, int most_holds)
{
    for (int i = 0; i < most_holds * COUNT(next_holds_ms) * COUNT(spacings_ms) * 4;
         i++) {
        int k = i / 4;

        s->holder_is_ours = i % 2;
        s->holder_dies = i / 2 % 2;
        s->next_hold_ms = next_holds_ms[k % COUNT(next_holds_ms)];
        k /= COUNT(next_holds_ms);
        s->spacing_ms = spacings_ms[k % COUNT(spacings_ms)];
        s->hold_ms = holds_ms[k / COUNT(spacings_ms)];
        if (is_likely(s))
            run(s);
    }
}

/* ---- fates ---- */

/* `others`: how many of the waiters, from `from` on, have a fate other than to live. */
static void with_fates(struct scenario *s, int from, int others, int most_holds)
{
    if (others == 0 || from == s->count) {
        if (others == 0)
            with_times(s, most_holds);
        return;
    }
    with_fates(s, from + 1, others, most_holds);
    for (int fate = LIVES + 1; fate < IS_FAR; fate++) {
        if (fate == WAITS_LONG && s->waiters[from].is_ours)
            continue;
        s->waiters[from].fate = (uint8_t)fate;
        with_fates(s, from + 1, others - 1, most_holds);
    }
    s->waiters[from].fate = LIVES;
}

/* ---- orders ---- */

static void with_orders(int ours, int theirs, int others, int most_holds)
{
    int count = ours + theirs;

    for (int set = 0; set < 1 << count; set++) {
        struct scenario s = {.count = count};
        int in_set = 0;

        for (int i = 0; i < count; i++) {
            s.waiters[i].is_ours = set >> i & 1;
            in_set += set >> i & 1;
        }
        if (in_set == ours)
            with_fates(&s, 0, others, most_holds);
    }
}

/* An infinite place among them; a waiter of holdfast comes later. */
static void with_far_places(int most_holds)
{
    static const char *const orders[] = {"FJCC", "FCJC", "JFCC", "CFJC", "JCFC",
                                         "CJFC", "FFJC", "FJFC"};

    for (int k = 0; k < COUNT(orders); k++) {
        struct scenario s = {.count = 4};

        for (int i = 0; i < s.count; i++) {
            s.waiters[i].is_ours = orders[k][i] == 'C';
            s.waiters[i].fate = orders[k][i] == 'F' ? IS_FAR : LIVES;
        }
        with_times(&s, most_holds);
    }
}

static int finish(void)
{
    (void)printf("%ld scenarios; a live waiter waited for a free lock for %lld ms at "
                 "most:\n  ", scenarios / parts, (long long)worst_free_ms);
    scenario_print(&worst);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 1 || strcmp(argv[1], "check") == 0) {
        with_orders(1, 2, 0, 2);
        with_orders(2, 1, 0, 1);
        with_orders(1, 2, 1, 1);
        with_far_places(1);
        return finish();
    }
    if (argc == 4) {
        part = atol(argv[2]);
        parts = atol(argv[3]);
    }
    for (int others = 0; others <= 1; others++) {
        with_orders(1, 2, others, COUNT(holds_ms));
        with_orders(2, 2, others, COUNT(holds_ms));
        with_orders(3, 3, others, COUNT(holds_ms) - others);
    }
    with_far_places(COUNT(holds_ms));
    with_orders(1, 2, 2, COUNT(holds_ms));
    with_orders(2, 2, 2, 1);
    with_orders(3, 3, 2, 1);
    return finish();
}
