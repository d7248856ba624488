/* The kinds of locks: what each is called, and the row of those that can be
 * taken. */
/* Tests: tests/test_lock_kind.c. */
#include "lock/script/kind.h"

#include <assert.h>

static const struct {
    const char *text;
    const char *label;          /* part of the interface: lock/metrics.h; NULL: inspect only */
} names[HF_KIND_NUMBER_COUNT] = {
    [HF_KIND_NONE] = {"no lock", NULL},
    [HF_KIND_PLAIN] = {"plain lock", "plain"},
    [HF_KIND_FAIR] = {"fair lock", "fair"},
    [HF_KIND_READ] = {"read lock", "read"},
    [HF_KIND_WRITE] = {"write lock", "write"},
    [HF_KIND_MULTI] = {"multi-lock", NULL},
    [HF_KIND_NONREENTRANT] = {"non-reentrant lock", "nonreentrant"},
    [HF_KIND_FENCED] = {"fenced lock", "fenced"},
    [HF_KIND_NONREENTRANT_FAIR] = {"non-reentrant fair lock", "nonreentrant_fair"},
    [HF_KIND_PERMIT] = {"permit", "permit"},
    [HF_KIND_SPIN] = {"spin lock", "spin"},
    [HF_KIND_VALUE] = {"value lock", "value"},
    [HF_KIND_SEMAPHORE_NUMBER] = {NULL, "semaphore"},
    [HF_KIND_LATCH_NUMBER] = {NULL, "latch"},
};

/* Apart from the names, which every program uses: one that only calls hf_lock_new is linked
 * without the other rows and their scripts. */
static const struct {
    const struct hf_kind *row;  /* NULL: inspect only */
    const struct hf_kind *with_token;   /* NULL: several may hold it */
} rows[] = {
    [HF_KIND_PLAIN] = {&hf_kind_reentrant, &hf_kind_fenced},
    [HF_KIND_FAIR] = {&hf_kind_fair, &hf_kind_fenced_fair},
    [HF_KIND_READ] = {&hf_kind_read, NULL},
    [HF_KIND_WRITE] = {&hf_kind_write, &hf_kind_fenced_write},
    [HF_KIND_NONREENTRANT] = {&hf_kind_nonreentrant, &hf_kind_fenced_nonreentrant},
    [HF_KIND_FENCED] = {&hf_kind_fenced, &hf_kind_fenced},
    [HF_KIND_NONREENTRANT_FAIR] = {&hf_kind_nonreentrant_fair,
                                   &hf_kind_fenced_nonreentrant_fair},
    [HF_KIND_SPIN] = {&hf_kind_spin, &hf_kind_fenced_spin},
    [HF_KIND_VALUE] = {&hf_kind_value, &hf_kind_fenced_value},
    [HF_KIND_PERMIT] = {&hf_kind_permit, NULL},
};

static bool is_kind_known(enum hf_lock_kind id)
{
    return (size_t)id < sizeof rows / sizeof *rows;
}

static enum hf_lock_kind without_token(enum hf_lock_kind kind)
{
    return (enum hf_lock_kind)((unsigned)kind & ~(unsigned)HF_WITH_TOKEN);
}

const char *hf_lock_kind_text(enum hf_lock_kind kind)
{
    enum hf_lock_kind id = without_token(kind);

    return is_kind_known(id) ? names[id].text : "unknown kind of lock";
}

const char *hf_kind_label(unsigned number)
{
    return number < HF_KIND_NUMBER_COUNT ? names[number].label : NULL;
}

const struct hf_kind *hf_kind_row(enum hf_lock_kind kind)
{
    enum hf_lock_kind id = without_token(kind);

    if (!is_kind_known(id))
        return NULL;
    return id == kind ? rows[id].row : rows[id].with_token;
}

const struct hf_kind_step *hf_kind_step(const struct hf_kind *kind,
                                        enum hf_step step)
{
    static const struct hf_kind_step raises[] = {
        [1] = {.script = &hf_script_token_raise, .keys_count = 1},
        [2] = {.script = &hf_script_token_raise, .keys_count = 2},
        [3] = {.script = &hf_script_token_raise, .keys_count = 3},
    };

    static_assert(KIND_KEYS_MAX == 3, "a row for each number of keys");
    return step == STEP_RAISE_TOKEN ? &raises[kind->steps[STEP_COUNTER_READ].keys_count]
                              : &kind->steps[step];
}
