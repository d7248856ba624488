/* Looks into a page of names: hashes, sorted sets, strings. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/classify.h"

#include <stdlib.h>

#include "cli/ls/permits.h"
#include "cli/ls/queues.h"
#include "cli/ls/strings.h"

struct ls_classifier {
    struct ls_page page;
    struct ls_inspection *hashes, *permits;
};

struct ls_classifier *ls_classifier_new(struct hf_client *client, struct ls_list *list,
                                        const struct ls_options *options)
{
    struct ls_classifier *look = calloc(1, sizeof *look);

    if (!look)
        return NULL;
    look->page = (struct ls_page){
        .client = client, .list = list, .options = options};
    look->hashes = ls_inspection_new(&look->page, HF_KIND_PLAIN);
    look->permits = ls_inspection_new(&look->page, HF_KIND_PERMIT);
    if (look->hashes && look->permits)
        return look;
    ls_classifier_free(look);
    return NULL;
}

void ls_classifier_free(struct ls_classifier *look)
{
    if (!look)
        return;
    ls_inspection_free(look->hashes);
    ls_inspection_free(look->permits);
    free(look);
}

static void inspect_hashes(struct ls_classifier *look)
{
    size_t count;
    const struct ls_name *names = ls_scan_names(look->page.scan, &count);

    for (size_t i = 0; i < count; i++)
        if (ls_page_wants(&look->page, &names[i], LS_HASH))
            ls_inspection_add(look->hashes, names[i].source, names[i].ptr,
                              names[i].len, 0);
    ls_inspection_await(look->hashes);
}

static void inspect_queues(struct ls_classifier *look)
{
    size_t count;
    const struct ls_name *names = ls_scan_names(look->page.scan, &count);
    struct ls_name_part locks[2];

    for (size_t i = 0; i < count; i++) {
        int n = ls_page_wants(&look->page, &names[i], LS_LIST)
                    ? ls_queue_names(locks, names[i].ptr, names[i].len)
                    : 0;

        while (n-- > 0)
            if (ls_queue_is_wanted(&look->page, &locks[n]))
                ls_inspection_add(look->hashes, names[i].source, locks[n].ptr,
                                  locks[n].len, 0);
    }
    ls_inspection_await(look->hashes);
}

hf_status ls_classify_page(struct ls_classifier *look, struct ls_scan *scan)
{
    struct ls_page *page = &look->page;

    page->scan = scan;
    inspect_hashes(look);
    if (page->options->filter.has_queues)
        inspect_queues(look);
    if (page->options->filter.types & 1u << LS_ZSET)
        ls_permits_find(page, look->permits);
    if (page->options->filter.types & 1u << LS_STRING)
        ls_strings_find(page);
    return page->status;
}

uint64_t ls_classifier_refused(const struct ls_classifier *look,
                               const struct hf_error **why)
{
    *why = &look->page.first_refusal;
    return look->page.refused_keys;
}
