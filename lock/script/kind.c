/* The kinds of locks: what each is called, and the row of those that can be
 * taken. */
/* Tests: tests/test_lock_kind.c. */
#include "lock/script/kind.h"

#include <assert.h>

/* Part of the interface: lock/metrics.h. */
static const char *const labels[HF_KIND_NUMBERS] = {
    [HF_KIND_PLAIN] = "plain",
    [HF_KIND_FAIR] = "fair",
    [HF_KIND_READ] = "read",
    [HF_KIND_WRITE] = "write",
    [HF_KIND_NONREENTRANT] = "nonreentrant",
    [HF_KIND_FENCED] = "fenced",
    [HF_KIND_NONREENTRANT_FAIR] = "nonreentrant_fair",
    [HF_KIND_PERMIT] = "permit",
    [HF_KIND_SPIN] = "spin",
    [HF_KIND_VALUE] = "value",
    [HF_KIND_SEMAPHORE_NUMBER] = "semaphore",
    [HF_KIND_LATCH_NUMBER] = "latch",
};

static const struct {
    const char *text;
    const struct hf_kind *row;  /* NULL: inspect only */
    const struct hf_kind *with_token;   /* NULL: several may hold it */
} kinds[] = {
    [HF_KIND_NONE] = {"no lock", NULL, NULL},
    [HF_KIND_PLAIN] = {"plain lock", &hf_kind_reentrant, &hf_kind_fenced},
    [HF_KIND_FAIR] = {"fair lock", &hf_kind_fair, &hf_kind_fenced_fair},
    [HF_KIND_READ] = {"read lock", &hf_kind_read, NULL},
    [HF_KIND_WRITE] = {"write lock", &hf_kind_write, &hf_kind_fenced_write},
    [HF_KIND_MULTI] = {"multi-lock", NULL, NULL},
    [HF_KIND_NONREENTRANT] = {"non-reentrant lock", &hf_kind_nonreentrant,
                              &hf_kind_fenced_nonreentrant},
    [HF_KIND_FENCED] = {"fenced lock", &hf_kind_fenced, &hf_kind_fenced},
    [HF_KIND_NONREENTRANT_FAIR] = {"non-reentrant fair lock",
                                   &hf_kind_nonreentrant_fair,
                                   &hf_kind_fenced_nonreentrant_fair},
    [HF_KIND_SPIN] = {"spin lock", &hf_kind_spin, &hf_kind_fenced_spin},
    [HF_KIND_VALUE] = {"value lock", &hf_kind_value, &hf_kind_fenced_value},
    [HF_KIND_PERMIT] = {"permit", &hf_kind_permit, NULL},
};

static bool is_known(enum hf_lock_kind id)
{
    return (size_t)id < sizeof kinds / sizeof *kinds;
}

static enum hf_lock_kind without_token(enum hf_lock_kind kind)
{
    return (enum hf_lock_kind)((unsigned)kind & ~(unsigned)HF_WITH_TOKEN);
}

const char *hf_lock_kind_text(enum hf_lock_kind kind)
{
    enum hf_lock_kind id = without_token(kind);

    return is_known(id) ? kinds[id].text : "unknown kind of lock";
}

const char *hf_kind_label(unsigned number)
{
    return number < HF_KIND_NUMBERS ? labels[number] : NULL;
}

const struct hf_kind *hf_kind_row(enum hf_lock_kind kind)
{
    enum hf_lock_kind id = without_token(kind);

    if (!is_known(id))
        return NULL;
    return id == kind ? kinds[id].row : kinds[id].with_token;
}

const struct hf_kind_step *hf_kind_step(const struct hf_kind *kind,
                                        enum hf_step step)
{
    static const struct hf_kind_step raises[] = {
        [1] = {.script = &hf_script_token_raise, .keys = 1},
        [2] = {.script = &hf_script_token_raise, .keys = 2},
        [3] = {.script = &hf_script_token_raise, .keys = 3},
    };

    static_assert(KIND_KEYS_MAX == 3, "a row for each number of keys");
    return step == STEP_RAISE ? &raises[kind->steps[STEP_READ].keys]
                              : &kind->steps[step];
}
