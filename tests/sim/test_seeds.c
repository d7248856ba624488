/* Plays: past failures stay mended, and a seed is one history. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/play.h"
#include "tests/sim/seeds.h"
#include "tests/support/suite.h"

#define FRESH 15 /* seeds that nobody chose, the same each time */

static struct plan plan;

static void read_past(const struct past *past)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "tests/sim/plans/%s.plan", past->plan);
    file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s is not there", path);
    ck_assert(plan_read(&plan, file));
    (void)fclose(file);
}

START_TEST(plan_that_failed_once_fails_no_more)
{
    const struct past *past = &past_failures[_i];
    struct play_result r;

    read_past(past);
    play(&plan, NULL, &r);
    ck_assert_msg(!r.has_failed, "%s (%s, %s) fails: %s: %s", past->plan,
                  past->violated, past->why, r.property, r.text);
}
END_TEST

static char *history_of(uint64_t seed)
{
    struct play_result r;
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);

    ck_assert_ptr_nonnull(file);
    plan_draw(&plan, seed);
    play(&plan, file, &r);
    (void)fclose(file);
    return text;
}

START_TEST(seed_gives_the_same_history_byte_for_byte)
{
    for (uint64_t seed = 1; seed <= FRESH; seed++) {
        char *first = history_of(seed), *second = history_of(seed);

        ck_assert_msg(strcmp(first, second) == 0,
                      "seed %llu gives two histories",
                      (unsigned long long)seed);
        free(first);
        free(second);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: seeds");
    TCase *t = tcase_create("plays");

    tcase_add_loop_test(t, plan_that_failed_once_fails_no_more, 0,
                        ROWS(past_failures));
    tcase_add_test(t, seed_gives_the_same_history_byte_for_byte);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return suite_run(s);
}
