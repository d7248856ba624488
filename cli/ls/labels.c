/* Reads the labels of the holders in a list. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/labels.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/label.h"
#include "cli/base/report.h"

#define READS 32                /* requests in flight at a time */
#define UUID_LEN 36             /* an owner begins with the UUID of its client */

struct reading;

struct read {
    struct reading *reading;    /* NULL: free */
    size_t first;               /* of the locks of one client, in `order` */
    char label[HF_LABEL_MAX + 1];
};

struct reading {
    struct hf_client *client;
    struct cli_lock **order;    /* the locks whose holder may have a label, by UUID */
    size_t count;
    uint32_t pending;
    struct read reads[READS];
};

static bool may_have_label(const struct cli_lock *lock)
{
    return lock->info.is_locked && lock->info.holder_len > UUID_LEN &&
           lock->info.holder_full_len <= lock->info.holder_len;
}

static int compare(const void *a, const void *b)
{
    const struct cli_lock *const *x = a, *const *y = b;

    return memcmp((*x)->info.holder, (*y)->info.holder, UUID_LEN);
}

/* The end of the locks of the same client. */
static size_t end_of(const struct reading *r, size_t first)
{
    size_t end = first + 1;

    while (end < r->count && compare(&r->order[first], &r->order[end]) == 0)
        end++;
    return end;
}

static void on_label(void *ctx, hf_status status, const struct hf_error *err)
{
    struct read *read = ctx;
    struct reading *r = read->reading;
    size_t end = end_of(r, read->first);

    (void)status; /* without the right it is "" */
    (void)err;
    for (size_t i = read->first; i < end; i++)
        (void)strcpy(r->order[i]->label, read->label);
    read->reading = NULL;
    r->pending--;
}

static struct read *free_read(struct reading *r)
{
    struct read *read = r->reads;

    while (r->pending == READS)
        hf_loop_dispatch(hf_client_loop(r->client), -1);
    while (read->reading)
        read++;
    return read;
}

static void begin(struct reading *r, size_t first)
{
    const struct hf_lock_info *info = &r->order[first]->info;
    struct read *read = free_read(r);

    *read = (struct read){.reading = r, .first = first};
    if (hf_label_read_async(r->client, info->holder, info->holder_len, read->label, on_label,
                            read) == HF_OK)
        r->pending++;
    else
        read->reading = NULL;
}

static void read_all(struct reading *r)
{
    for (size_t i = 0; i < r->count; i = end_of(r, i))
        begin(r, i);
    while (r->pending > 0)
        hf_loop_dispatch(hf_client_loop(r->client), -1);
}

int ls_labels_read(struct ls_list *list, struct hf_client *client)
{
    struct reading r = {.client = client};

    if (list->count == 0 || !cli_label_is_read())
        return CLI_CONTINUE;
    if (!(r.order = calloc(list->count, sizeof *r.order)))
        return cli_fail("out of memory");
    for (size_t i = 0; i < list->count; i++)
        if (may_have_label(&list->locks[i]))
            r.order[r.count++] = &list->locks[i];
    qsort(r.order, r.count, sizeof *r.order, compare);
    read_all(&r);
    free(r.order);
    return CLI_CONTINUE;
}
