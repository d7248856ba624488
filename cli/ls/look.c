/* Which of many names are locks that are held. */
#include "cli/ls/look.h"

#include <stdlib.h>

#include "net/loop/clock.h"

/* At a time. A server runs so many scripts in well under a millisecond, between
 * the commands of others. */
#define QUESTIONS 32
/* A refusal that took so long says nothing about the hash: the server is down or
 * busy (CLUSTERDOWN, LOADING), and was asked again until the request timeout. */
#define PATIENCE_MS 1000

struct question {
    struct ls_look *look;       /* NULL: free */
    struct hf_lock *lock;
    struct hf_lock_info info;
    uint32_t source;
    int64_t asked_ms;
};

struct ls_look {
    struct hf_client *client;
    struct ls_list *list;
    struct ls_scan *scan;       /* of this page */
    hf_status status;
    uint32_t pending;
    uint64_t refused;
    struct hf_error refusal;    /* the first */
    struct question questions[QUESTIONS];
};

struct ls_look *ls_look_new(struct hf_client *client, struct ls_list *list)
{
    struct ls_look *look = calloc(1, sizeof *look);

    if (!look)
        return NULL;
    look->client = client;
    look->list = list;
    return look;
}

void ls_look_free(struct ls_look *look)
{
    free(look);
}

/* ---- answers ---- */

static hf_status list_it(const struct question *q)
{
    size_t len;
    const char *name = hf_lock_name(q->lock, &len);

    return ls_list_add(q->look->list, name, len, &q->info);
}

static void note_refusal(struct ls_look *look, const struct hf_error *err)
{
    if (look->refused++ == 0)
        look->refusal = *err;
}

static void take_answer(const struct question *q, hf_status status,
                        const struct hf_error *err)
{
    struct ls_look *look = q->look;
    bool is_no_lock = q->info.is_locked && q->info.kind == HF_KIND_NONE;
    bool is_of_hash = hf_clock_ms() - q->asked_ms < PATIENCE_MS;

    if (status == HF_OK && q->info.is_locked)
        status = list_it(q);
    if (status == HF_OK || (status == HF_E_SERVER && is_no_lock))
        return;
    if (status == HF_E_SERVER && is_of_hash)
        note_refusal(look, err);
    else if (status == HF_E_NOMEM)
        look->status = status;
    else
        ls_scan_fail(look->scan, q->source, err);
}

static void on_inspected(void *ctx, hf_status status,
                         const struct hf_error *err)
{
    struct question *q = ctx;

    take_answer(q, status, err);
    hf_lock_free(q->lock);
    q->look->pending--;
    q->look = NULL;
}

/* ---- questions ---- */

static struct question *free_question(struct ls_look *look)
{
    struct question *q = look->questions;

    while (look->pending == QUESTIONS)
        hf_loop_dispatch(hf_client_loop(look->client), -1);
    while (q->look)
        q++;
    return q;
}

static hf_status ask(struct ls_look *look, const struct ls_name *name)
{
    struct question *q = free_question(look);
    hf_status rc;

    *q = (struct question){.source = name->source,
                           .asked_ms = hf_clock_ms()};
    rc = hf_lock_new(&q->lock, look->client, name->ptr, name->len, NULL);
    if (rc == HF_OK)
        rc = hf_lock_inspect_async(q->lock, &q->info, on_inspected, q);
    if (rc < 0) {
        hf_lock_free(q->lock);
        return rc;
    }
    q->look = look;
    look->pending++;
    return HF_OK;
}

hf_status ls_look_at(struct ls_look *look, struct ls_scan *scan)
{
    size_t count;
    const struct ls_name *names = ls_scan_names(scan, &count);

    look->scan = scan;
    for (size_t i = 0; i < count && look->status == HF_OK; i++) {
        hf_status rc;

        if (ls_scan_error(scan, names[i].source))
            continue;
        if ((rc = ask(look, &names[i])) < 0)
            look->status = rc;
    }
    while (look->pending > 0)
        hf_loop_dispatch(hf_client_loop(look->client), -1);
    return look->status;
}

uint64_t ls_look_refused(const struct ls_look *look,
                         const struct hf_error **why)
{
    *why = &look->refusal;
    return look->refused;
}
