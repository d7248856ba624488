/* Inspects many names at once, by the library's script. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/inspect.h"

#include <stdlib.h>

#include "net/loop/clock.h"

/* Scripts in flight at a time. A server executes this number in well under a
 * millisecond, between the commands of other clients. */
#define QUERIES 32
/* A refusal that took this long shows nothing about the key: the server is down or busy
 * (CLUSTERDOWN, LOADING), and was retried until the request timeout. */
#define PATIENCE_MS 1000

struct query {
    struct ls_inspection *inspection;   /* NULL: free */
    struct hf_lock *lock;
    struct hf_lock_info info;
    int64_t total;              /* permits, available and out */
    uint32_t source;
    int64_t sent_ms;
};

struct ls_inspection {
    struct ls_page *page;
    enum hf_lock_kind kind;
    uint32_t pending;
    struct query queries[QUERIES];
};

struct ls_inspection *ls_inspection_new(struct ls_page *page,
                                        enum hf_lock_kind kind)
{
    struct ls_inspection *inspection = calloc(1, sizeof *inspection);

    if (!inspection)
        return NULL;
    inspection->page = page;
    inspection->kind = kind;
    return inspection;
}

void ls_inspection_free(struct ls_inspection *inspection)
{
    free(inspection);
}

/* ---- answers ---- */

static void list_it(const struct query *q)
{
    struct cli_lock lock = {.info = q->info};

    if (!q->info.is_locked)
        lock.info.kind = HF_KIND_FAIR; /* free, but places are kept */
    lock.name = hf_lock_name(q->lock, &lock.len);
    lock.knows_available =
        q->info.kind == HF_KIND_PERMIT &&
        !__builtin_sub_overflow(q->total, q->info.holders, &lock.available);
    ls_page_add(q->inspection->page, &lock);
}

/* While the lock is free; a first place that has expired is dropped by the next
 * request. */
static bool keeps_places(const struct hf_lock_info *info)
{
    return info->waiters > 0 && info->first_place_ms != 0;
}

static void take_answer(const struct query *q, hf_status status,
                        const struct hf_error *err)
{
    struct ls_page *page = q->inspection->page;
    bool is_no_lock = q->info.is_locked && q->info.kind == HF_KIND_NONE;
    bool is_of_key = hf_clock_ms() - q->sent_ms < PATIENCE_MS;

    if (status == HF_OK && (q->info.is_locked || keeps_places(&q->info)))
        list_it(q);
    if (status == HF_OK || (status == HF_E_SERVER && is_no_lock))
        return;
    if (status == HF_E_SERVER && is_of_key)
        ls_page_refused(page, err);
    else if (status == HF_E_NOMEM)
        page->status = status;
    else
        ls_scan_fail(page->scan, q->source, err);
}

static void on_inspected(void *ctx, hf_status status,
                         const struct hf_error *err)
{
    struct query *q = ctx;

    take_answer(q, status, err);
    hf_lock_free(q->lock);
    q->inspection->pending--;
    q->inspection = NULL;
}

/* ---- requests ---- */

static void wait_for_reply(struct ls_inspection *inspection)
{
    hf_loop_dispatch(hf_client_loop(inspection->page->client), -1);
}

static struct query *free_question(struct ls_inspection *inspection)
{
    struct query *q = inspection->queries;

    while (inspection->pending == QUERIES)
        wait_for_reply(inspection);
    while (q->inspection)
        q++;
    return q;
}

void ls_inspection_add(struct ls_inspection *inspection, uint32_t source,
                       const char *name, size_t len, int64_t total)
{
    struct query *q = free_question(inspection);
    hf_status rc;

    *q = (struct query){
        .total = total, .source = source, .sent_ms = hf_clock_ms()};
    rc = hf_lock_new_kind(&q->lock, inspection->page->client,
                          inspection->kind, name, len, NULL);
    if (rc == HF_OK)
        rc = hf_lock_inspect_async(q->lock, &q->info, on_inspected, q);
    if (rc < 0) {
        hf_lock_free(q->lock);
        inspection->page->status = rc;
        return;
    }
    q->inspection = inspection;
    inspection->pending++;
}

void ls_inspection_await(struct ls_inspection *inspection)
{
    while (inspection->pending > 0)
        wait_for_reply(inspection);
}
