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

bool ls_page_wants(const struct ls_page *page,
                   const struct ls_name *name, enum ls_type type)
{
    return page->status == HF_OK && name->type == type && !is_label(name) &&
           !ls_scan_error(page->scan, name->source);
}

void ls_page_add(struct ls_page *page, const struct cli_lock *lock)
{
    unsigned bit = cli_lock_is_counter(&lock->info)
                       ? LS_COUNTER
                       : 1u << lock->info.kind;

    if (page->options->kinds & bit &&
        ls_list_add(page->list, lock) != HF_OK)
        page->status = HF_E_NOMEM;
}

void ls_page_refused(struct ls_page *page, const struct hf_error *err)
{
    if (page->refused_keys++ == 0)
        page->first_refusal = *err;
}

/* The answer says nothing about the key, and the next would be the same. */
static bool is_server_away(const struct cli_query *q)
{
    return !q->is_refused || cli_query_is_error(q, "BUSY") ||
           cli_query_is_error(q, "LOADING") || cli_query_is_error(q, "CLUSTERDOWN");
}

void ls_page_fail(struct ls_page *page, uint32_t source,
                  const struct cli_query *q)
{
    if (cli_query_is_error(q, "WRONGTYPE") || cli_query_is_error(q, CLI_TOO_LARGE))
        return; /* no lock has it */
    if (is_server_away(q))
        ls_scan_fail(page->scan, source, &q->error);
    else
        ls_page_refused(page, &q->error);
}
