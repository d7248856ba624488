/* What all looks at a page of names share. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/page.h"

#include <string.h>

/* A string that holdfast has written beside locks (lock/label.h). */
static bool is_label(const struct ls_name *name)
{
    static const char prefix[] = "holdfast_label:";

    return name->type == LS_STRING && name->len >= sizeof prefix - 1 &&
           memcmp(name->ptr, prefix, sizeof prefix - 1) == 0;
}

bool ls_looking_wants(const struct ls_looking *looking,
                      const struct ls_name *name, enum ls_type type)
{
    return looking->status == HF_OK && name->type == type && !is_label(name) &&
           !ls_scan_error(looking->scan, name->source);
}

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

/* The answer says nothing about the key, and the next would be the same. */
static bool is_server_away(const struct cli_query *q)
{
    return !q->is_refused || cli_query_is(q, "BUSY") ||
           cli_query_is(q, "LOADING") || cli_query_is(q, "CLUSTERDOWN");
}

void ls_looking_fail(struct ls_looking *looking, uint32_t source,
                     const struct cli_query *q)
{
    if (cli_query_is(q, "WRONGTYPE") || cli_query_is(q, CLI_TOO_LARGE))
        return; /* no lock has it */
    if (is_server_away(q))
        ls_scan_fail(looking->scan, source, &q->error);
    else
        ls_looking_refused(looking, &q->error);
}
