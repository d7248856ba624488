/* Names of locks: those that a plan draws, and those that plan_rename gives. */
#include <stdio.h>

#include "tests/sim/draw.h"
#include "tests/sim/plan.h"

/* 200 bytes: more than a reply or a log line quotes. */
#define TEN(x) x x x x x x x x x x
#define LONG_NAME TEN("a long name, 20 byte")
/* A few hundred commands with it fill the least output_max. */
#define LONGEST_NAME TEN(TEN("ten bytes "))

/* In two slots: its key is in another slot than the keys and the channel that
 * begin with a prefix, because it has a brace without a hash tag, or a closing
 * brace that ends the tag early. */
static const struct name {
    const char *text;
    bool is_in_two_slots;
} names[PLAN_NAMES_MANY] = {
    {"nightly", false},
    {"shop{eu}lock", false},
    {"order:42", false},
    {"a{b", true},
    {"two words", false},
    {"line\nfeed", false},
    {"per%cent=", false},
    {"{tag}x", false},
    /* The channel of the name without the braces. */
    {"{nightly}", false},
    {"{order:42}", false},
    {"{two words}", false},
    {"{line\nfeed}", false},
    {"{per%cent=}", false},
    {"x}y", true},
    {"{x}y}", false},
    {"\xc3\xbc\xe2\x82\xac\xf0\x9f\x94\x92", false},
    {"{\xc3\xbc\xe2\x82\xac\xf0\x9f\x94\x92}", false},
    {LONG_NAME, false},
    {"{" LONG_NAME "}", false},
    /* Nearly a hash tag. */
    {"{}", true},
    {"{}x{y}", true},
    {"}{", true},
    {"{{x}}", false},
    {"\xff\xfe\r\n", false},
    {LONGEST_NAME, false},
};
#define NAME_UNUSUAL 13

/* Two names, one channel: Redisson puts braces around a name that has none. */
static const int64_t pairs[][2] = {{0, 8},   {2, 9},   {4, 10},  {5, 11},
                                   {6, 12},  {13, 14}, {15, 16}, {17, 18}};

static const char *one_of_many(int64_t n)
{
    static char texts[PLAN_LOCKS_MAX][32];

    if (texts[n][0] == '\0')
        (void)snprintf(texts[n], sizeof texts[n], "{crowd}%lld", (long long)n);
    return texts[n];
}

const char *plan_lock_name(const struct plan *plan, int64_t lock)
{
    int64_t name = plan->locks[lock].name;

    return name < PLAN_NAMES_MANY ? names[name].text : one_of_many(name - PLAN_NAMES_MANY);
}

bool plan_name_has_two_slots(const struct plan *plan, int64_t lock)
{
    int64_t name = plan->locks[lock].name;

    return name < PLAN_NAMES_MANY && names[name].is_in_two_slots;
}

bool plan_may_have_two_keys(const struct plan *plan, int64_t lock)
{
    return !plan_is_cluster(plan->head.deployment) ||
           !plan_name_has_two_slots(plan, lock);
}

static bool is_taken(const struct plan *plan, int64_t name)
{
    for (size_t i = 0; i < plan->lock_count; i++)
        if (plan->locks[i].name == name)
            return true;
    return false;
}

/* Fair locks and permits of such a pair would also share a key, by the contract
 * with Redisson: a fault of the user's. */
static bool may_be_in_a_pair(const struct plan *plan, int64_t lock)
{
    return !plan_has_queue(plan, lock) &&
           plan->locks[lock].family != FAMILY_PERMIT;
}

/* The name that has the same channel; -1: there is none. */
static int64_t partner_of(int64_t name)
{
    for (size_t i = 0; i < DRAW_COUNT(pairs); i++)
        for (int k = 0; k < 2; k++)
            if (pairs[i][k] == name)
                return pairs[i][1 - k];
    return -1;
}

static bool would_share_a_key(const struct plan *plan, int64_t lock, int64_t name)
{
    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++)
        if (i != lock && plan->locks[i].name == partner_of(name) &&
            (!may_be_in_a_pair(plan, i) || !may_be_in_a_pair(plan, lock)))
            return true;
    return false;
}

/* The lock keeps its name if it cannot have the other. */
static void rename_lock(struct plan *plan, int64_t lock, int64_t name)
{
    int64_t before = plan->locks[lock].name;

    if (is_taken(plan, name) || would_share_a_key(plan, lock, name))
        return;
    plan->locks[lock].name = name;
    if (plan_needs_two_keys(plan, lock) && !plan_may_have_two_keys(plan, lock))
        plan->locks[lock].name = before;
}

static void make_pair(struct plan *plan, int64_t first, int64_t second,
                      uint64_t *dice)
{
    const int64_t *pair = pairs[draw_below(dice, DRAW_COUNT(pairs))];

    if (!may_be_in_a_pair(plan, first) || !may_be_in_a_pair(plan, second))
        return;
    rename_lock(plan, first, pair[0]);
    rename_lock(plan, second, pair[1]);
}

/* After all else, so that the rest of a plan does not depend on it. */
void plan_rename(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "names");
    int64_t count = (int64_t)plan->lock_count;
    int64_t first = draw_below(&dice, count);

    if (plan->head.is_crowd || !draw_one_in(&dice, 3))
        return;
    if (count > 1 && !draw_one_in(&dice, 3))
        make_pair(plan, first, (first + 1) % count, &dice);
    else
        rename_lock(plan, first, draw_between(&dice, NAME_UNUSUAL, PLAN_NAME_LONGEST - 1));
}
