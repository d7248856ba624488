/* Reads the labels of the holders and waiters in a list. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/labels.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/label.h"
#include "cli/base/report.h"

#define READS 32                /* requests in flight at a time */
#define UUID_LEN 36             /* an owner begins with the UUID of its client */

/* An owner that may have a label, and the place for it. */
struct owner {
    const char *text;
    size_t len;
    char *label;                /* HF_LABEL_MAX + 1 bytes */
};

struct reading;

struct read {
    struct reading *reading;    /* NULL: free */
    size_t first;               /* of the owners of one client, in `order` */
    char label[HF_LABEL_MAX + 1];
};

struct reading {
    struct hf_client *client;
    struct owner *order;        /* by UUID */
    size_t count;
    uint32_t pending;
    struct read reads[READS];
};

static void add_owner(struct reading *r, const char *text, size_t len, char *label)
{
    if (len > UUID_LEN)
        r->order[r->count++] = (struct owner){text, len, label};
}

static void add_holder(struct reading *r, struct cli_lock *lock)
{
    const struct hf_lock_info *info = &lock->info;

    if (info->is_locked && info->holder_full_len <= info->holder_len)
        add_owner(r, info->holder, info->holder_len, lock->label);
}

static int compare(const void *a, const void *b)
{
    const struct owner *x = a, *y = b;

    return memcmp(x->text, y->text, UUID_LEN);
}

/* The end of the owners of the same client. */
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
        (void)strcpy(r->order[i].label, read->label);
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
    const struct owner *owner = &r->order[first];
    struct read *read = free_read(r);

    *read = (struct read){.reading = r, .first = first};
    if (hf_label_read_async(r->client, owner->text, owner->len, read->label, on_label, read) ==
        HF_OK)
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

    if (list->count == 0 || !cli_labels_are_enabled())
        return CLI_CONTINUE;
    if (!(r.order = calloc(list->count + list->waiters_count, sizeof *r.order)))
        return cli_fail("out of memory");
    for (size_t i = 0; i < list->count; i++)
        add_holder(&r, &list->locks[i]);
    for (size_t i = 0; i < list->waiters_count; i++)
        add_owner(&r, list->waiters[i].owner, list->waiters[i].owner_len,
                  list->waiters[i].label);
    qsort(r.order, r.count, sizeof *r.order, compare);
    read_all(&r);
    free(r.order);
    return CLI_CONTINUE;
}
