/* Inspects many names at once, by the library's script. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/inspect.h"

#include <stdlib.h>

#include "net/loop/clock.h"

/* Scripts in flight at a time. A server executes this number in well under a
 * millisecond, between the commands of other clients. */
#define QUERIES_AT_ONCE 32
/* A refusal that took this long shows nothing about the key: the server is down or busy
 * (CLUSTERDOWN, LOADING), and was retried until the request timeout. */
#define PATIENCE_MS 1000

struct inspection_query {
    struct ls_inspection *inspection;   /* NULL: free */
    struct hf_lock *lock;
    struct hf_lock_info info;
    int64_t permits_total;      /* permits, available and out */
    uint32_t source_index;
    int64_t sent_ms;
};

struct ls_inspection {
    struct ls_page *page;
    enum hf_lock_kind kind;
    uint32_t pending;
    struct inspection_query queries[QUERIES_AT_ONCE];
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

static void add_to_list(const struct inspection_query *q)
{
    struct cli_lock lock = {.info = q->info};

    if (!q->info.is_locked)
        lock.info.kind = HF_KIND_FAIR; /* free, but places are kept */
    lock.name = hf_lock_name(q->lock, &lock.name_len);
    lock.knows_available =
        q->info.kind == HF_KIND_PERMIT &&
        !__builtin_sub_overflow(q->permits_total, q->info.holders, &lock.available);
    ls_page_add(q->inspection->page, &lock);
}

/* While the lock is free; a first place that has expired is dropped by the next
 * request. */
static bool has_places_in_queue(const struct hf_lock_info *info)
{
    return info->waiters > 0 && info->first_place_ms != 0;
}

static void handle_inspected(const struct inspection_query *q, hf_status status,
                             const struct hf_error *err)
{
    struct ls_page *page = q->inspection->page;
    bool is_no_lock = q->info.is_locked && q->info.kind == HF_KIND_NONE;
    bool is_of_key = hf_clock_ms() - q->sent_ms < PATIENCE_MS;

    if (status == HF_OK && (q->info.is_locked || has_places_in_queue(&q->info)))
        add_to_list(q);
    if (status == HF_OK || (status == HF_E_SERVER && is_no_lock))
        return;
    if (status == HF_E_SERVER && is_of_key)
        ls_page_refused(page, err);
    else if (status == HF_E_NOMEM)
        page->status = status;
    else
        ls_scan_fail(page->scan, q->source_index, err);
}

static void on_inspected(void *ctx, hf_status status,
                         const struct hf_error *err)
{
    struct inspection_query *q = ctx;

    handle_inspected(q, status, err);
    hf_lock_free(q->lock);
    q->inspection->pending--;
    q->inspection = NULL;
}

/* ---- requests ---- */

static void wait_for_reply(struct ls_inspection *inspection)
{
    hf_loop_dispatch(hf_client_loop(inspection->page->client), -1);
}

static struct inspection_query *find_free_query(struct ls_inspection *inspection)
{
    struct inspection_query *q = inspection->queries;

    while (inspection->pending == QUERIES_AT_ONCE)
        wait_for_reply(inspection);
    while (q->inspection)
        q++;
    return q;
}

void ls_inspection_add(struct ls_inspection *inspection, uint32_t source,
                       const char *name, size_t len, int64_t total)
{
    struct inspection_query *q = find_free_query(inspection);
    hf_status rc;

    *q = (struct inspection_query){
        .permits_total = total, .source_index = source, .sent_ms = hf_clock_ms()};
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
