/* Looks into a page of names: hashes, sorted sets, strings. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/classify.h"

#include <stdlib.h>

#include "cli/ls/permits.h"
#include "cli/ls/queues.h"
#include "cli/ls/strings.h"

struct ls_look {
    struct ls_looking looking;
    struct ls_inspection *hashes, *permits;
};

struct ls_look *ls_look_new(struct hf_client *client, struct ls_list *list,
                            const struct ls_options *options)
{
    struct ls_look *look = calloc(1, sizeof *look);

    if (!look)
        return NULL;
    look->looking = (struct ls_looking){
        .client = client, .list = list, .options = options};
    look->hashes = ls_inspection_new(&look->looking, HF_KIND_PLAIN);
    look->permits = ls_inspection_new(&look->looking, HF_KIND_PERMIT);
    if (look->hashes && look->permits)
        return look;
    ls_look_free(look);
    return NULL;
}

void ls_look_free(struct ls_look *look)
{
    if (!look)
        return;
    ls_inspection_free(look->hashes);
    ls_inspection_free(look->permits);
    free(look);
}

static void look_at_hashes(struct ls_look *look)
{
    size_t count;
    const struct ls_name *names = ls_scan_names(look->looking.scan, &count);

    for (size_t i = 0; i < count; i++)
        if (ls_looking_wants(&look->looking, &names[i], LS_HASH))
            ls_inspection_add(look->hashes, names[i].source, names[i].ptr,
                              names[i].len, 0);
    ls_inspection_await(look->hashes);
}

static void look_at_queues(struct ls_look *look)
{
    size_t count;
    const struct ls_name *names = ls_scan_names(look->looking.scan, &count);
    struct ls_part locks[2];

    for (size_t i = 0; i < count; i++) {
        int n = ls_looking_wants(&look->looking, &names[i], LS_LIST)
                    ? ls_queue_names(locks, names[i].ptr, names[i].len)
                    : 0;

        while (n-- > 0)
            if (ls_queue_is_wanted(&look->looking, &locks[n]))
                ls_inspection_add(look->hashes, names[i].source, locks[n].ptr,
                                  locks[n].len, 0);
    }
    ls_inspection_await(look->hashes);
}

hf_status ls_look_at(struct ls_look *look, struct ls_scan *scan)
{
    struct ls_looking *looking = &look->looking;

    looking->scan = scan;
    look_at_hashes(look);
    if (looking->options->filter.has_queues)
        look_at_queues(look);
    if (looking->options->filter.types & 1u << LS_ZSET)
        ls_permits_look(looking, look->permits);
    if (looking->options->filter.types & 1u << LS_STRING)
        ls_strings_look(looking);
    return looking->status;
}

uint64_t ls_look_refused(const struct ls_look *look,
                         const struct hf_error **why)
{
    *why = &look->looking.refusal;
    return look->looking.refused;
}
