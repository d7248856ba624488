/* The rows of the kinds of locks: each is complete, and says what WIRE says. */
#include <check.h>

#include "lock/record/records.h"
#include "lock/script/kind.h"
#include "lock/script/scripts.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

static const struct {
    enum hf_lock_kind id;
    bool is_reentrant;
    const char *channel, *payload;  /* WIRE 2.4, 5.2 */
    const char *owner_suffix;       /* WIRE 1 */
} rows[] = {
    {HF_KIND_PLAIN, true, "redisson_lock__channel", "0", ""},
    {HF_KIND_NONREENTRANT, false, "redisson_lock__channel", "0", ""},
    {HF_KIND_FENCED, true, "redisson_lock__channel", "0", ""},
    {HF_KIND_FAIR, true, "redisson_lock__channel", "0", ""},
    {HF_KIND_NONREENTRANT_FAIR, false, "redisson_lock__channel", "0", ""},
    {HF_KIND_SPIN, true, "redisson_lock__channel", "0", ""},
    {HF_KIND_WRITE, true, "redisson_rwlock", "1", ":write"},
    {HF_KIND_VALUE, false, "", "", ""},    /* not Redisson's */
};

START_TEST(a_row_matches_the_contract)
{
    const struct hf_kind *row = hf_kind_row(rows[_i].id);

    ck_assert_ptr_nonnull(row);
    ck_assert_int_eq(row->id, rows[_i].id);
    ck_assert_int_eq(row->is_reentrant, rows[_i].is_reentrant);
    ck_assert_str_eq(row->channel_prefix, rows[_i].channel);
    ck_assert_str_eq(row->notification_payload, rows[_i].payload);
    ck_assert_str_eq(row->owner_suffix, rows[_i].owner_suffix);
}
END_TEST

START_TEST(a_row_with_a_token_is_the_kinds_but_for_that)
{
    const struct hf_kind *row = hf_kind_row(rows[_i].id);
    const struct hf_kind *numbers =
        hf_kind_row((enum hf_lock_kind)(rows[_i].id | HF_WITH_TOKEN));
    int keys;

    ck_assert_ptr_nonnull(numbers);
    ck_assert(numbers->steps[STEP_ACQUIRE].takes_retention);
    keys = numbers->steps[STEP_ACQUIRE].keys_count;
    ck_assert_str_eq(numbers->key_names[keys - 1], "redisson_lock_token");
    ck_assert_str_eq(numbers->channel_prefix, row->channel_prefix);
    ck_assert_int_eq(numbers->is_reentrant, row->is_reentrant);
    ck_assert_int_eq(numbers->waiters_poll, row->waiters_poll);
    ck_assert_ptr_eq(numbers->other_side, row->other_side);
    for (int step = 0; step < STEP_COUNT; step++)
        if (step != STEP_COUNTER_READ) /* what was given out: of tokens alone */
            ck_assert_ptr_eq(numbers->steps[step].script,
                             row->steps[step].script);
    ck_assert_ptr_nonnull(numbers->steps[STEP_COUNTER_READ].script);
}
END_TEST

START_TEST(every_row_is_complete)
{
    for (int id = 0; id < 100; id++) {
        const struct hf_kind *row = hf_kind_row((enum hf_lock_kind)id);
        int keys = 0;

        if (!row)
            continue;
        ck_assert_int_eq(row->id, id);
        while (keys < KIND_KEYS_MAX && row->key_names[keys])
            keys++;
        for (int step = 0; step <= STEP_INSPECT; step++) {
            ck_assert_ptr_nonnull(row->steps[step].script);
            ck_assert_int_le(row->steps[step].first_key + row->steps[step].keys_count, keys);
        }
    }
}
END_TEST

/* Of a name of the longest kind, by the text of its script: what any step of any
 * kind may send fits into the least output_max. */
static size_t longest_of(const struct hf_kind *row, int step)
{
    const struct hf_kind_step *how = &row->steps[step];
    static char name[HF_LOCK_NAME_MAX];
    size_t size = how->script->len + sizeof name +
                  hf_prefixed_size(row->channel_prefix, name, sizeof name) +
                  HF_OWNER_TEXT_MAX;

    for (int i = 0; i < how->keys_count; i++)
        size += hf_key_size(row->key_names[i], name, sizeof name);
    if (how->takes_hold_key)
        size += hf_hold_key_size(row->hold_key, HF_OWNER_TEXT_MAX, name,
                                 sizeof name);
    return size + OP_ARGS_MAX * (OP_WORD_MAX + HF_RESP_ARG_EXTRA);
}

static void ck_assert_fits(const struct hf_kind *row)
{
    for (int step = 0; row && step < STEP_COUNT; step++) {
        if (!row->steps[step].script)
            continue;
        ck_assert_uint_le(row->steps[step].script->len, OP_SCRIPT_MAX);
        ck_assert_uint_le(longest_of(row, step), OP_BYTES_MAX);
    }
}

START_TEST(every_command_fits_into_the_least_output)
{
    for (int id = 0; id < 100; id++) {
        ck_assert_fits(hf_kind_row((enum hf_lock_kind)id));
        ck_assert_fits(hf_kind_row((enum hf_lock_kind)(id | HF_WITH_TOKEN)));
    }
    ck_assert_fits(&hf_kind_semaphore);
    ck_assert_fits(&hf_kind_latch);
}
END_TEST

/* What nobody owns: a handle of a lock cannot be one. */
static const struct {
    const struct hf_kind *row;
    const char *channel, *noun;     /* WIRE 2.4 */
    bool has_braced_channel, gives_back;
} ownerless[] = {
    {&hf_kind_semaphore, "redisson_sc", "semaphore", false, true},
    {&hf_kind_latch, "redisson_countdownlatch__channel__", "latch", true, false},
};

START_TEST(kinds_without_owners_are_not_kinds_of_locks)
{
    const struct hf_kind *row = ownerless[_i].row;

    ck_assert(row->is_ownerless && row->may_have_several_holders);
    ck_assert_int_eq(row->id, HF_KIND_NONE);
    ck_assert_str_eq(row->channel_prefix, ownerless[_i].channel);
    ck_assert_str_eq(row->noun, ownerless[_i].noun);
    ck_assert_int_eq(row->has_braced_channel, ownerless[_i].has_braced_channel);
    ck_assert_int_eq(row->steps[STEP_RELEASE].script != NULL,
                     ownerless[_i].gives_back);
    ck_assert_ptr_nonnull(row->unavailable_text);
    ck_assert_ptr_nonnull(row->steps[STEP_ACQUIRE].script);
    ck_assert(row->steps[STEP_COUNTER_ADD].takes_hold_key); /* COUNT-1 */
    ck_assert(row->steps[STEP_COUNTER_SET].takes_hold_key);
    ck_assert(row->steps[STEP_COUNTER_DELETE].takes_hold_key);
    ck_assert(!row->steps[STEP_COUNTER_REDUCE].script || row->steps[STEP_COUNTER_REDUCE].takes_hold_key);
    ck_assert_ptr_nonnull(row->steps[STEP_COUNTER_READ].script);
    for (int id = 0; id < 100; id++)
        ck_assert_ptr_ne(hf_kind_row((enum hf_lock_kind)id), row);
}
END_TEST

START_TEST(unknown_kind_has_a_text)
{
    ck_assert_ptr_null(hf_kind_row(HF_KIND_NONE));
    ck_assert_ptr_null(hf_kind_row(HF_KIND_MULTI));
    ck_assert_ptr_null(hf_kind_row((enum hf_lock_kind)99));
    ck_assert_str_eq(hf_lock_kind_text(HF_KIND_MULTI), "multi-lock");
    ck_assert_str_eq(hf_lock_kind_text((enum hf_lock_kind)99),
                     "unknown kind of lock");
}
END_TEST

/* Each kind that can be acquired has a label of its own, and so have semaphores and latches. */
START_TEST(each_kind_has_its_number_and_label)
{
    bool is_used[HF_KIND_NUMBER_COUNT] = {false};

    for (int id = 0; id < 100; id++) {
        const struct hf_kind *row = hf_kind_row((enum hf_lock_kind)id);
        const struct hf_kind *numbers = hf_kind_row((enum hf_lock_kind)(id | HF_WITH_TOKEN));

        if (!row)
            continue;
        ck_assert_uint_lt(hf_kind_number(row), HF_KIND_NUMBER_COUNT);
        ck_assert(!is_used[hf_kind_number(row)]);
        is_used[hf_kind_number(row)] = true;
        ck_assert_ptr_nonnull(hf_kind_label(hf_kind_number(row)));
        if (numbers && numbers->id == row->id)
            ck_assert_uint_eq(hf_kind_number(numbers), hf_kind_number(row));
    }
    ck_assert_str_eq(hf_kind_label(hf_kind_number(&hf_kind_semaphore)), "semaphore");
    ck_assert_str_eq(hf_kind_label(hf_kind_number(&hf_kind_latch)), "latch");
    ck_assert(!is_used[hf_kind_number(&hf_kind_semaphore)]);
    ck_assert(!is_used[hf_kind_number(&hf_kind_latch)]);
    ck_assert_ptr_null(hf_kind_label(HF_KIND_NONE));
    ck_assert_ptr_null(hf_kind_label(HF_KIND_NUMBER_COUNT));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock/kind");
    TCase *c = tcase_create("rows");

    tcase_add_loop_test(c, a_row_matches_the_contract, 0, COUNT(rows));
    tcase_add_loop_test(c, a_row_with_a_token_is_the_kinds_but_for_that, 0,
                        COUNT(rows));
    tcase_add_test(c, every_row_is_complete);
    tcase_add_test(c, every_command_fits_into_the_least_output);
    tcase_add_loop_test(c, kinds_without_owners_are_not_kinds_of_locks, 0,
                        COUNT(ownerless));
    tcase_add_test(c, unknown_kind_has_a_text);
    tcase_add_test(c, each_kind_has_its_number_and_label);
    suite_add_tcase(s, c);
    return suite_run(s);
}
