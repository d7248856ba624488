/* What all looks at a page of names share. */
#include "cli/ls/looking.h"

void ls_looking_add(struct ls_looking *looking, const struct cli_lock *lock)
{
    unsigned bit = cli_lock_is_counter(&lock->info)
                       ? LS_COUNTER
                       : 1u << lock->info.kind;

    if (looking->options->kinds & bit &&
        ls_list_add(looking->list, lock) != HF_OK)
        looking->status = HF_E_NOMEM;
}

void ls_looking_refused(struct ls_looking *looking, const struct hf_error *err)
{
    if (looking->refused++ == 0)
        looking->refusal = *err;
}

void ls_looking_fail(struct ls_looking *looking, uint32_t source,
                     const struct ls_question *q)
{
    if (ls_question_is(q, "WRONGTYPE"))
        return;
    if (q->is_refused)
        ls_looking_refused(looking, &q->error);
    else
        ls_scan_fail(looking->scan, source, &q->error);
}
