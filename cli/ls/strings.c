/* Which of many strings may be value locks, or counters. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/strings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/counter.h"
#include "cli/base/value_string.h"
#include "cli/ls/key_names.h"
#include "net/route/slot.h"

/* Strings at a time. */
#define BATCH_MAX 100
#define TOKEN_LEAST 16

struct string_candidate {
    const struct ls_name *name;
    struct cli_query ttl_query, text_query;
    struct hf_lock_info info;
    bool wants_value, wants_counter; /* are these requested? */
    bool is_listed;                /* `info` is for the list */
};

struct string_batch {
    struct ls_page *page;
    size_t count;
    struct string_candidate candidates[BATCH_MAX];
};

/* ---- TTLs ---- */

static void read_ttl(struct cli_query *q, struct hf_resp_value reply)
{
    struct string_candidate *c = HF_OWNER_OF(q, struct string_candidate, ttl_query);

    if (hf_resp_integer(reply, &c->info.ttl_ms) < 0)
        c->info.ttl_ms = -2;
}

static void request_ttl(struct cli_requests *requests, struct string_candidate *c)
{
    c->ttl_query = (struct cli_query){
        .slot = hf_slot_of(c->name->ptr, c->name->len), .read_reply = read_ttl};
    cli_query_add_word(&c->ttl_query, "PTTL");
    cli_query_add_bytes(&c->ttl_query, c->name->ptr, c->name->len);
    cli_requests_send(requests, &c->ttl_query);
}

/* Returns whether a string with this TTL may be of a requested kind. */
static bool may_be_requested_kind(const struct ls_page *page,
                                  const struct string_candidate *c)
{
    unsigned kinds = page->options->kinds;

    if (c->info.ttl_ms >= 0)
        return kinds & 1u << HF_KIND_VALUE;
    return c->info.ttl_ms == -1 && kinds & (LS_COUNTER | 1u << HF_KIND_VALUE);
}

/* Locks that are taken without a TTL (redis-py's default) hold a random token: no
 * spaces, and long enough to be unique. */
static bool is_random_token(const char *ptr, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)ptr[i]) && !strchr("+/=_:.-", ptr[i]))
            return false;
    return len >= TOKEN_LEAST;
}

/* ---- texts ---- */

static void set_value_holder(struct string_candidate *c, const char *ptr, size_t len)
{
    memcpy(c->info.holder, ptr, len);
    c->info.holder[len] = '\0';
    c->info.holder_len = len;
    c->info.kind = HF_KIND_VALUE;
    c->info.is_locked = true;
    c->info.hold_count = c->info.holders = 1;
    c->is_listed = true;
}

static void read_text(struct cli_query *q, struct hf_resp_value reply)
{
    struct string_candidate *c = HF_OWNER_OF(q, struct string_candidate, text_query);
    const char *ptr;
    size_t len;

    if (hf_resp_bytes(reply, &ptr, &len) < 0)
        return;
    switch (cli_string_classify(ptr, len, c->info.ttl_ms, &c->info.hold_count)) {
    case CLI_STRING_LOCK:
        set_value_holder(c, ptr, len);
        break;
    case CLI_STRING_UNTIMED:
        if (c->wants_value && is_random_token(ptr, len))
            set_value_holder(c, ptr, len);
        break;
    case CLI_STRING_COUNTER:
        c->info.kind = HF_KIND_PERMIT;
        c->is_listed = c->wants_counter;
        break;
    default:
        break;
    }
}

/* One byte more than a holder has: a longer text is seen to be longer. */
static void request_text(struct cli_requests *requests, struct string_candidate *c)
{
    static const char last[] = "191";

    _Static_assert(CLI_HOLDER_MAX == 191 &&
                       sizeof c->info.holder == CLI_HOLDER_MAX + 1,
                   "the last byte that is read");
    c->text_query = (struct cli_query){.slot = c->ttl_query.slot, .read_reply = read_text};
    cli_query_add_word(&c->text_query, "GETRANGE");
    cli_query_add_bytes(&c->text_query, c->name->ptr, c->name->len);
    cli_query_add_word(&c->text_query, "0");
    cli_query_add_word(&c->text_query, c->wants_value ? last : CLI_COUNTER_LAST_BYTE);
    cli_requests_send(requests, &c->text_query);
}

/* ---- all of a page ---- */

static void add_if_requested(struct ls_page *page, const struct string_candidate *c)
{
    const struct cli_query *failed =
        c->ttl_query.error.status != HF_OK ? &c->ttl_query : &c->text_query;

    if (failed->error.status != HF_OK)
        ls_page_fail(page, c->name->source, failed);
    else if (c->is_listed)
        ls_page_add(page, &(struct cli_lock){.name = c->name->ptr,
                                             .name_len = c->name->len,
                                             .info = c->info});
}

static void finish_batch(struct string_batch *batch)
{
    struct cli_requests *requests = ls_scan_requests(batch->page->scan);

    cli_requests_await(requests);
    for (size_t i = 0; i < batch->count; i++)
        if (batch->candidates[i].ttl_query.error.status == HF_OK &&
            may_be_requested_kind(batch->page, &batch->candidates[i]))
            request_text(requests, &batch->candidates[i]);
    cli_requests_await(requests);
    for (size_t i = 0; i < batch->count; i++)
        add_if_requested(batch->page, &batch->candidates[i]);
    batch->count = 0;
}

static void add_string(struct string_batch *batch, const struct ls_name *name)
{
    struct string_candidate *c = &batch->candidates[batch->count++];

    *c = (struct string_candidate){
        .name = name,
        .wants_value = batch->page->options->kinds & 1u << HF_KIND_VALUE,
        .wants_counter = batch->page->options->kinds & LS_COUNTER};
    request_ttl(ls_scan_requests(batch->page->scan), c);
    if (batch->count == BATCH_MAX)
        finish_batch(batch);
}

void ls_strings_find(struct ls_page *page)
{
    size_t count;
    const struct ls_name *names = ls_scan_names(page->scan, &count);
    struct string_batch *batch = calloc(1, sizeof *batch);

    if (!batch) {
        page->status = HF_E_NOMEM;
        return;
    }
    batch->page = page;
    for (size_t i = 0; i < count; i++)
        if (ls_page_wants(page, &names[i], LS_STRING) &&
            !ls_key_is_auxiliary(names[i].ptr, names[i].len))
            add_string(batch, &names[i]);
    finish_batch(batch);
    free(batch);
}
