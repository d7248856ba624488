/* Which of many sorted sets are of semaphores whose permits expire. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/permits.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/counter.h"
#include "cli/ls/glob.h"
#include "net/route/slot.h"

#define SUFFIX_LEN (sizeof LS_PERMITS_SUFFIX - 1)
#define PERMIT_ID_BYTES 16 /* bytes of a permit id: PERMIT-2 */
/* The last member that is looked at: of 17. */
#define SAMPLE_LAST "16"
/* Sets at a time. */
#define BATCH_MAX 32

/* ---- names ---- */

/* "{x}:timeout" is that of "x"; but also of "{x}". */
int ls_permits_names(struct ls_name_part names[2], const char *set, size_t len)
{
    size_t body = len < SUFFIX_LEN ? 0 : len - SUFFIX_LEN;
    int count = 0;

    if (body == 0 || memcmp(set + body, LS_PERMITS_SUFFIX, SUFFIX_LEN) != 0)
        return 0;
    if (body > 2 && set[0] == '{' && set[body - 1] == '}' &&
        !memchr(set + 1, '{', body - 1))
        names[count++] = (struct ls_name_part){set + 1, body - 2};
    if (memchr(set, '{', body))
        names[count++] = (struct ls_name_part){set, body};
    return count;
}

/* ---- one set ---- */

struct semaphore_candidate {
    struct ls_name_part name;   /* the semaphore's */
    uint32_t source;
    struct cli_query number_query, members_query, size_query;
    int64_t available, permits_out;
    bool has_number, has_permits;
};

static void read_available_number(struct cli_query *q, struct hf_resp_value reply)
{
    struct semaphore_candidate *c = HF_OWNER_OF(q, struct semaphore_candidate, number_query);
    const char *ptr;
    size_t len;

    c->has_number = hf_resp_bytes(reply, &ptr, &len) == HF_OK &&
                    cli_counter_read(ptr, len, &c->available);
}

static void read_set_members(struct cli_query *q, struct hf_resp_value reply)
{
    struct semaphore_candidate *c = HF_OWNER_OF(q, struct semaphore_candidate, members_query);
    struct hf_resp_value member;
    const char *ptr;
    size_t len;

    for (size_t i = 0; i < hf_resp_count(reply); i++)
        if (hf_resp_element(reply, i, &member) < 0 ||
            hf_resp_bytes(member, &ptr, &len) < 0 || len != PERMIT_ID_BYTES)
            return;
    c->has_permits = hf_resp_count(reply) > 0;
}

static void read_set_size(struct cli_query *q, struct hf_resp_value reply)
{
    struct semaphore_candidate *c = HF_OWNER_OF(q, struct semaphore_candidate, size_query);

    if (hf_resp_integer(reply, &c->permits_out) < 0)
        c->has_permits = false;
}

static void query_candidate(struct cli_requests *requests, struct semaphore_candidate *c,
                            const struct ls_name *set)
{
    uint16_t slot = hf_slot_of(set->ptr, set->len);

    c->number_query = (struct cli_query){.slot = slot, .read_reply = read_available_number};
    cli_query_add_word(&c->number_query, "GETRANGE");
    cli_query_add_bytes(&c->number_query, c->name.ptr, c->name.len);
    cli_query_add_word(&c->number_query, "0");
    cli_query_add_word(&c->number_query, CLI_COUNTER_LAST_BYTE);
    c->members_query = (struct cli_query){.slot = slot, .read_reply = read_set_members};
    cli_query_add_word(&c->members_query, "ZRANGE");
    cli_query_add_bytes(&c->members_query, set->ptr, set->len);
    cli_query_add_word(&c->members_query, "0");
    cli_query_add_word(&c->members_query, SAMPLE_LAST);
    c->size_query = (struct cli_query){.slot = slot, .read_reply = read_set_size};
    cli_query_add_word(&c->size_query, "ZCARD");
    cli_query_add_bytes(&c->size_query, set->ptr, set->len);
    cli_requests_send(requests, &c->number_query);
    cli_requests_send(requests, &c->members_query);
    cli_requests_send(requests, &c->size_query);
}

/* The status of the first request that failed. */
static const struct cli_query *first_failure(const struct semaphore_candidate *c)
{
    if (c->number_query.error.status != HF_OK)
        return &c->number_query;
    if (c->members_query.error.status != HF_OK)
        return &c->members_query;
    return c->size_query.error.status != HF_OK ? &c->size_query : NULL;
}

/* ---- all of a page ---- */

struct semaphore_batch {
    struct ls_page *page;
    struct ls_inspection *inspection;
    size_t count;
    struct semaphore_candidate candidates[BATCH_MAX];
};

static void finish_batch(struct semaphore_batch *batch)
{
    cli_requests_await(ls_scan_requests(batch->page->scan));
    for (size_t i = 0; i < batch->count; i++) {
        const struct semaphore_candidate *c = &batch->candidates[i];
        int64_t total;

        if (first_failure(c))
            ls_page_fail(batch->page, c->source, first_failure(c));
        else if (c->has_number && c->has_permits &&
                 !__builtin_add_overflow(c->available, c->permits_out, &total))
            ls_inspection_add(batch->inspection, c->source, c->name.ptr,
                              c->name.len, total);
    }
    batch->count = 0;
}

/* A pattern is of the semaphore's name. A cluster takes no semaphore whose two keys have
 * different slots: there it is none. */
static bool is_candidate_wanted(const struct ls_page *page,
                                struct ls_name_part name, const struct ls_name *set)
{
    const char *pattern = page->options->filter.pattern;

    return (!page->options->is_cluster ||
            hf_slot_of(name.ptr, name.len) == hf_slot_of(set->ptr, set->len)) &&
           (!pattern || ls_glob_matches(pattern, name.ptr, name.len));
}

static void add_candidates_of_set(struct semaphore_batch *batch, const struct ls_name *set)
{
    struct ls_name_part names[2];
    int count = ls_permits_names(names, set->ptr, set->len);

    for (int i = 0; i < count; i++) {
        struct semaphore_candidate *c = &batch->candidates[batch->count];

        if (!is_candidate_wanted(batch->page, names[i], set))
            continue;
        *c = (struct semaphore_candidate){.name = names[i], .source = set->source};
        query_candidate(ls_scan_requests(batch->page->scan), c, set);
        if (++batch->count == BATCH_MAX)
            finish_batch(batch);
    }
}

void ls_permits_find(struct ls_page *page,
                     struct ls_inspection *inspection)
{
    size_t count;
    const struct ls_name *names = ls_scan_names(page->scan, &count);
    struct semaphore_batch *batch = calloc(1, sizeof *batch);

    if (!batch) {
        page->status = HF_E_NOMEM;
        return;
    }
    batch->page = page;
    batch->inspection = inspection;
    for (size_t i = 0; i < count; i++)
        if (ls_page_wants(page, &names[i], LS_ZSET))
            add_candidates_of_set(batch, &names[i]);
    finish_batch(batch);
    ls_inspection_await(inspection);
    free(batch);
}
