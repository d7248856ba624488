/* Reads the labels of the holders and waiters in a list. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/labels.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/label.h"
#include "cli/base/report.h"

#define READS_AT_ONCE 32        /* requests in flight at a time */
#define UUID_LEN 36             /* an owner begins with the UUID of its client */

/* An owner that may have a label, and the place for it. */
struct labelled_owner {
    const char *text;
    size_t len;
    char *label;                /* HF_LABEL_MAX + 1 bytes */
};

struct labels_reading;

struct label_read {
    struct labels_reading *reading; /* NULL: free */
    size_t first_owner;             /* of the owners of one client, in `owners_by_uuid` */
    char label[HF_LABEL_MAX + 1];
};

struct labels_reading {
    struct hf_client *client;
    struct labelled_owner *owners_by_uuid; /* by UUID */
    size_t owners_count;
    uint32_t pending;
    struct label_read reads[READS_AT_ONCE];
};

static void add_owner(struct labels_reading *r, const char *text, size_t len, char *label)
{
    if (len > UUID_LEN)
        r->owners_by_uuid[r->owners_count++] = (struct labelled_owner){text, len, label};
}

static void add_holder(struct labels_reading *r, struct cli_lock *lock)
{
    const struct hf_lock_info *info = &lock->info;

    if (info->is_locked && info->holder_full_len <= info->holder_len)
        add_owner(r, info->holder, info->holder_len, lock->label);
}

static int compare_client_uuids(const void *a, const void *b)
{
    const struct labelled_owner *x = a, *y = b;

    return memcmp(x->text, y->text, UUID_LEN);
}

/* The end of the owners of the same client. */
static size_t end_of_client_owners(const struct labels_reading *r, size_t first)
{
    size_t end = first + 1;

    while (end < r->owners_count &&
           compare_client_uuids(&r->owners_by_uuid[first], &r->owners_by_uuid[end]) == 0)
        end++;
    return end;
}

static void on_label(void *ctx, hf_status status, const struct hf_error *err)
{
    struct label_read *read = ctx;
    struct labels_reading *r = read->reading;
    size_t end = end_of_client_owners(r, read->first_owner);

    (void)status; /* without the right it is "" */
    (void)err;
    for (size_t i = read->first_owner; i < end; i++)
        (void)strcpy(r->owners_by_uuid[i].label, read->label);
    read->reading = NULL;
    r->pending--;
}

static struct label_read *find_free_read(struct labels_reading *r)
{
    struct label_read *read = r->reads;

    while (r->pending == READS_AT_ONCE)
        hf_loop_dispatch(hf_client_loop(r->client), -1);
    while (read->reading)
        read++;
    return read;
}

static void begin_reading_label(struct labels_reading *r, size_t first)
{
    const struct labelled_owner *owner = &r->owners_by_uuid[first];
    struct label_read *read = find_free_read(r);

    *read = (struct label_read){.reading = r, .first_owner = first};
    if (hf_label_read_async(r->client, owner->text, owner->len, read->label, on_label, read) ==
        HF_OK)
        r->pending++;
    else
        read->reading = NULL;
}

static void read_all_labels(struct labels_reading *r)
{
    for (size_t i = 0; i < r->owners_count; i = end_of_client_owners(r, i))
        begin_reading_label(r, i);
    while (r->pending > 0)
        hf_loop_dispatch(hf_client_loop(r->client), -1);
}

int ls_labels_read(struct ls_list *list, struct hf_client *client)
{
    struct labels_reading r = {.client = client};

    if (list->locks_count == 0 || !cli_labels_are_enabled())
        return CLI_CONTINUE;
    if (!(r.owners_by_uuid = calloc(list->locks_count + list->waiters_count,
                                    sizeof *r.owners_by_uuid)))
        return cli_fail("out of memory");
    for (size_t i = 0; i < list->locks_count; i++)
        add_holder(&r, &list->locks[i]);
    for (size_t i = 0; i < list->waiters_count; i++)
        add_owner(&r, list->waiters[i].owner, list->waiters[i].owner_len,
                  list->waiters[i].label);
    qsort(r.owners_by_uuid, r.owners_count, sizeof *r.owners_by_uuid, compare_client_uuids);
    read_all_labels(&r);
    free(r.owners_by_uuid);
    return CLI_CONTINUE;
}
