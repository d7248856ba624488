/* Sorts the holds that are due by the slot of their lock, and holds of one slot by their script,
 * so that the number of script calls grows with the slots and not with the holds (WATCHDOG-5). */
/* Tests: tests/sim/test_masters.c. */
#include "lock/verb/due_order.h"

#include <assert.h>

#include "lock/record/hold.h"
#include "net/base/assert.h"
#include "net/route/slot.h"

#define DIGIT_BITS 7
#define DIGITS (1u << DIGIT_BITS)
#define PLACES 3                /* two of the slot; a look or a renewal, and the script */

static_assert(HF_SLOTS <= DIGITS * DIGITS, "a slot has two digits");

static struct hf_hold_work *work_of_node(struct hf_list *node)
{
    return HF_OWNER_OF(node, struct hf_hold_work, due_node);
}

/* A part of the hash. Two scripts with the same number would cost more calls, and no more. */
static unsigned number_of_script(const struct hf_script *script)
{
    return ((unsigned)script->sha[0] ^ (unsigned)script->sha[1] << 1) % (DIGITS / 2);
}

static uint32_t due_key_of_hold(const struct hf_hold_work *work)
{
    const struct hf_lock *lock = work->hold->lock;

    return lock->slot * DIGITS + work->is_due_for_look * DIGITS / 2 +
           number_of_script(lock->kind->steps[STEP_RENEW].script);
}

/* Returns whether the list is sorted already: as without a cluster, where each slot is 0, and
 * most locks are of one kind. */
static bool note_keys(struct hf_list *due_holds)
{
    bool is_sorted = true;
    uint32_t last = 0;

    for (struct hf_list *node = due_holds->next; node != due_holds; node = node->next) {
        struct hf_hold_work *work = work_of_node(node);

        work->due_key = due_key_of_hold(work);
        is_sorted = is_sorted && work->due_key >= last;
        last = work->due_key;
    }
    return is_sorted;
}

/* Stable. */
static void sort_by_digit(struct hf_list *due_holds, unsigned place)
{
    struct hf_list lists[DIGITS];

    for (unsigned i = 0; i < DIGITS; i++)
        hf_list_init(&lists[i]);
    while (!hf_list_is_empty(due_holds)) {
        struct hf_list *node = due_holds->next;

        hf_list_remove(node);
        hf_list_push(&lists[work_of_node(node)->due_key >> place * DIGIT_BITS & (DIGITS - 1)],
                     node);
    }
    for (unsigned i = 0; i < DIGITS; i++)
        hf_list_join(due_holds, &lists[i]);
}

void hf_due_holds_sort(struct hf_list *due_holds)
{
    if (note_keys(due_holds))
        return;
    for (unsigned place = 0; place < PLACES; place++)
        sort_by_digit(due_holds, place);
    HF_ASSERT(note_keys(due_holds));
}
