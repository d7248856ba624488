/* Looking or sleeping, in worlds where either takes a known time. Rules S1 to
 * S3 of net/spin.h. */
#include <check.h>

#include "net/spin.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define WAITS 100000

/* A world: how long a reply takes to one who looks, and to one who sleeps. */
struct world {
    const char *what;
    int64_t looked_us;
    int64_t slept_us;
    bool looks;              /* what is right there */
};

static const struct world worlds[] = {
    {"a server nearby, on another processor", 15, 60, true},
    {"a server on our own processor", 40, 6, false},
    {"a server on our own, that runs only when our time is over", 3000, 6,
     false},
    {"a server far away", 500, 530, false},
    {"a server just far enough", 60, 90, false},
    {"waking up costs nothing", 15, 12, false},
    {"who looks finds it at once", 0, 4, true},
};

struct tally {
    unsigned looks;
    unsigned measured;
    int64_t burnt_us;        /* by looking */
};

static void live(struct hf_spin *spin, const struct world *world, unsigned waits,
                 struct tally *tally)
{
    for (unsigned i = 0; i < waits; i++) {
        struct hf_spin_plan plan = hf_spin_plan(spin);
        bool is_found = world->looked_us < plan.look_us;

        must(plan.look_us == 0 ||
             (plan.look_us >= SPIN_MIN_US && plan.look_us <= SPIN_MAX_US));
        must(plan.look_us == 0 || plan.is_measured);
        tally->looks += plan.look_us > 0;
        tally->measured += plan.is_measured;
        if (plan.look_us > 0)
            tally->burnt_us += is_found ? world->looked_us : plan.look_us;
        if (plan.look_us == 0)
            is_found = false;
        if (plan.is_measured)
            hf_spin_note(spin, plan, is_found,
                         is_found ? world->looked_us
                                  : plan.look_us + world->slept_us);
    }
}

static void check_is_right(const struct world *world, const struct tally *tally)
{
    if (world->looks) {
        ck_assert_msg(tally->looks > WAITS - WAITS / 500, "%s: only %u looks",
                      world->what, tally->looks);
        return;
    }
    ck_assert_msg(tally->looks < WAITS / 1000, "%s: %u looks", world->what,
                  tally->looks);
    /* Less than a fiftieth of a microsecond a wait, clock readings apart. */
    ck_assert_int_lt(tally->burnt_us, WAITS / 50);
    ck_assert_uint_lt(tally->measured, WAITS / 50);
}

START_TEST(quicker_way_is_used)
{
    struct hf_spin spin;
    struct tally first = {0}, then = {0};

    hf_spin_init(&spin, 2);
    live(&spin, &worlds[_i], 100, &first);
    live(&spin, &worlds[_i], WAITS, &then);
    check_is_right(&worlds[_i], &then);
}
END_TEST

/* From any world to any other: what was learnt is unlearnt. */
START_TEST(world_may_change)
{
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        struct hf_spin spin;
        struct tally before = {0}, meanwhile = {0}, then = {0};

        hf_spin_init(&spin, 64);
        live(&spin, &worlds[i], WAITS, &before);
        live(&spin, &worlds[_i], WAITS, &meanwhile);
        live(&spin, &worlds[_i], WAITS, &then);
        check_is_right(&worlds[_i], &then);
    }
}
END_TEST

START_TEST(one_processor_never_looks)
{
    struct hf_spin spin;
    struct tally tally = {0};

    hf_spin_init(&spin, 1);
    live(&spin, &worlds[0], WAITS, &tally);
    ck_assert_uint_eq(tally.looks, 0);
    ck_assert_uint_eq(tally.measured, 0);
}
END_TEST

/* A caller that waits for ten seconds now and then, among quick ones. */
START_TEST(rare_long_wait_changes_nothing)
{
    static const struct world long_wait = {"a long wait", 10000000, 10000000,
                                           false};
    struct hf_spin spin;
    struct tally tally = {0}, ignored = {0};

    hf_spin_init(&spin, 2);
    for (int i = 0; i < WAITS / 50; i++) {
        live(&spin, &worlds[0], 49, &tally);
        live(&spin, &long_wait, 1, &ignored);
    }
    ck_assert_uint_gt(tally.looks, WAITS * 9 / 10);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/spin");
    TCase *c = tcase_create("spin");
    int rows = (int)(sizeof worlds / sizeof *worlds);

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, quicker_way_is_used, 0, rows);
    tcase_add_loop_test(c, world_may_change, 0, rows);
    tcase_add_test(c, one_processor_never_looks);
    tcase_add_test(c, rare_long_wait_changes_nothing);
    suite_add_tcase(s, c);
    return suite_run(s);
}
