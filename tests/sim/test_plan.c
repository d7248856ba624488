/* Plans: drawn from a seed, printed, read again, shrunk. */
#include <string.h>

#include "tests/sim/effects.h"
#include "tests/sim/plan.h"
#include "tests/sim/shrink.h"
#include "tests/support/suite.h"

#define SEEDS 500

static struct plan plan, again;

static void print_and_read(const struct plan *from, struct plan *to)
{
    FILE *file = tmpfile();

    ck_assert_ptr_nonnull(file);
    plan_print(from, file);
    rewind(file);
    ck_assert(plan_read(to, file));
    (void)fclose(file);
}

START_TEST(seed_gives_the_same_plan_every_time)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        plan_draw(&plan, seed);
        plan_draw(&again, seed);
        ck_assert_mem_eq(&plan, &again, sizeof plan);
    }
}
END_TEST

START_TEST(printed_plan_is_read_as_it_was)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        plan_draw(&plan, seed);
        print_and_read(&plan, &again);
        ck_assert_mem_eq(&plan, &again, sizeof plan);
    }
}
END_TEST

START_TEST(every_fault_verb_and_deployment_is_drawn)
{
    int faults[FAULT_KINDS] = {0}, verbs[VERBS] = {0},
        deployed[DEPLOYMENTS_DRAWN] = {0};

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        plan_draw(&plan, seed);
        deployed[plan.head.deployment]++;
        for (size_t i = 0; i < plan.fault_count; i++)
            faults[plan.faults[i].kind]++;
        for (size_t i = 0; i < plan.op_count; i++)
            verbs[plan.ops[i].verb]++;
    }
    for (int i = 0; i < FAULT_KINDS_OF_WORLDS; i++)
        ck_assert_msg(faults[i] > 0 ||
                          !plan_can_be(i, DEPLOY_SHARDED),
                      "no %s", plan_fault_name(i));
    for (int i = 0; i < VERBS_DRAWN; i++)
        ck_assert_msg(verbs[i] > 0, "no %s", plan_verb_name(i));
    ck_assert_msg(verbs[OP_EXTEND] > 0, "no %s", plan_verb_name(OP_EXTEND));
    for (int i = 0; i < DEPLOYMENTS_DRAWN; i++)
        ck_assert_msg(deployed[i] > 0, "no %s", plan_deployment_name(i));
}
END_TEST

static int refusals(const struct plan *p)
{
    int count = 0;

    for (size_t i = 0; i < p->fault_count; i++)
        count += p->faults[i].kind == FAULT_DENY && p->faults[i].n <= DENIED_INFO;
    return count;
}

START_TEST(world_has_its_faults_and_changes_no_other_plan)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        plan_draw(&plan, seed);
        ck_assert(plan_only("kill"));
        plan_draw(&again, seed);
        ck_assert_int_gt(refusals(&again), 0);
        plan_only_number(-1);
        plan_draw(&again, seed);
        ck_assert_mem_eq(&plan, &again, sizeof plan);
    }
}
END_TEST

/* What a long run of one family must meet. */
START_TEST(family_has_the_faults_that_can_be_in_its_world)
{
    static const struct {
        const char *family;
        int64_t has, has_not;
    } rows[] = {
        {"plain", FAULT_MOVE_SLOT, FAULT_SWALLOW},   {"fair", FAULT_POWER, FAULT_SERVER_CLOCK},
        {"quorum", FAULT_FLUSHALL, FAULT_FAILOVER},  {"multi", FAULT_DIE, FAULT_SERVER_CLOCK},
        {"silence", FAULT_SWALLOW, FAULT_RESET},     {"hosts", FAULT_REPLACE, FAULT_MOVE_SLOT},
        {"disagree", FAULT_DISAGREE, FAULT_NAMES},
    };
    bool can_have[FAULT_KINDS];

    ck_assert(plan_only(rows[_i].family));
    plan_kinds_of(plan_only_is(), can_have);
    ck_assert(can_have[rows[_i].has] && !can_have[rows[_i].has_not]);
    plan_only_number(-1);
    plan_kinds_of(-1, can_have);
    for (int64_t kind = 0; kind < FAULT_KINDS; kind++)
        ck_assert(can_have[kind] == (plan_fault_world(kind) < 0));
}
END_TEST

static size_t at_burst(const struct plan *p)
{
    size_t count = 0;

    for (size_t i = 0; i < p->op_count; i++)
        count += p->ops[i].at_ms >= 1000 && p->ops[i].at_ms < 1300;
    return count;
}

START_TEST(crowd_has_hundreds_of_calls_at_one_moment_or_many_clients)
{
    ck_assert(plan_only("crowd"));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        plan_draw(&plan, seed);
        ck_assert(plan.program_count > 16 || at_burst(&plan) > 100);
        print_and_read(&plan, &again);
        ck_assert_mem_eq(&plan, &again, sizeof plan);
    }
    plan_only_number(-1);
}
END_TEST

START_TEST(text_that_is_no_plan_is_refused)
{
    static const char *const texts[] = {
        "\n",
        "plan seed=1\n",
        "plan seed=1\nprogram\nlock family=plain\nop verb=acquire program=1\n",
        "plan seed=x\nprogram\nlock family=plain\n",
        "plan seed=1\nprogram\nlock family=strange\n",
        "plan seed=1\nprogram\nlock family=plain\nsomething\n",
    };
    FILE *file = fmemopen((void *)texts[_i], strlen(texts[_i]), "r");

    ck_assert_ptr_nonnull(file);
    ck_assert(!plan_read(&plan, file));
    (void)fclose(file);
}
END_TEST

/* ---- shrinking ---- */

/* Fails while it has this operation, with at least this lease, and both of
 * these faults. */
static int64_t op_ms, first_ms, second_ms;

static bool has_op(const struct plan *p)
{
    for (size_t i = 0; i < p->op_count; i++)
        if (p->ops[i].at_ms == op_ms && p->ops[i].lease_ms >= 40)
            return true;
    return false;
}

static bool has_fault(const struct plan *p, int64_t at_ms)
{
    for (size_t i = 0; i < p->fault_count; i++)
        if (p->faults[i].at_ms == at_ms)
            return true;
    return false;
}

static bool fails(void *ctx, const struct plan *p)
{
    ++*(int *)ctx;
    return has_op(p) && has_fault(p, first_ms) && has_fault(p, second_ms);
}

/* A plan with many faults, of which two matter. */
static void draw_wild(void)
{
    uint64_t seed = 0;

    do {
        plan_draw(&plan, seed++);
    } while (plan.fault_count < 10 || plan.op_count < 18);
    plan.ops[17].lease_ms = 1000;
    op_ms = plan.ops[17].at_ms;
    first_ms = plan.faults[2].at_ms;
    second_ms = plan.faults[8].at_ms;
}

START_TEST(shrunk_plan_has_only_the_causes_of_its_failure)
{
    int calls = 0, runs;

    draw_wild();
    runs = shrink(&plan, fails, &calls, 10000);
    ck_assert_int_eq(runs, calls);
    ck_assert_uint_eq(plan.op_count, 1);
    ck_assert_uint_eq(plan.fault_count, 2);
    ck_assert(fails(&calls, &plan));
    ck_assert_int_ge(plan.ops[0].lease_ms, 40);
    ck_assert_int_lt(plan.ops[0].lease_ms, 80);
    ck_assert_int_eq(plan.ops[0].hold_ms, 0);
}
END_TEST

START_TEST(shrinking_ends_after_so_many_runs_with_a_plan_that_fails)
{
    for (int most = 0; most < 40; most++) {
        int calls = 0;

        draw_wild();
        ck_assert_int_eq(shrink(&plan, fails, &calls, most), most);
        ck_assert(fails(&calls, &plan));
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: plans");
    TCase *t = tcase_create("plans");

    tcase_add_test(t, seed_gives_the_same_plan_every_time);
    tcase_add_test(t, printed_plan_is_read_as_it_was);
    tcase_add_test(t, every_fault_verb_and_deployment_is_drawn);
    tcase_add_test(t, world_has_its_faults_and_changes_no_other_plan);
    tcase_add_loop_test(t, family_has_the_faults_that_can_be_in_its_world, 0, 7);
    tcase_add_test(t, crowd_has_hundreds_of_calls_at_one_moment_or_many_clients);
    tcase_add_loop_test(t, text_that_is_no_plan_is_refused, 0, 6);
    tcase_add_test(t, shrunk_plan_has_only_the_causes_of_its_failure);
    tcase_add_test(t, shrinking_ends_after_so_many_runs_with_a_plan_that_fails);
    suite_add_tcase(s, t);
    return suite_run(s);
}
