/* Queues of fair locks, which stay while a lock is free. */
/* Tests: tests/live/cli/test_unlock_queue.c. */
#include "cli/ls/queues.h"

#include <stdlib.h>
#include <string.h>

#include "cli/ls/glob.h"

#define PREFIX_LEN (sizeof LS_QUEUE_PREFIX - 1)

/* ---- names ---- */

/* "...:{x}" is the queue of "x"; but also of "{x}". */
int ls_queue_names(struct ls_name_part names[2], const char *key, size_t len)
{
    const char *name = key + PREFIX_LEN;
    size_t body = len < PREFIX_LEN ? 0 : len - PREFIX_LEN;
    int count = 0;

    if (body == 0 || memcmp(key, LS_QUEUE_PREFIX, PREFIX_LEN) != 0)
        return 0;
    if (body > 2 && name[0] == '{' && name[body - 1] == '}' &&
        !memchr(name + 1, '{', body - 1))
        names[count++] = (struct ls_name_part){name + 1, body - 2};
    if (memchr(name, '{', body))
        names[count++] = (struct ls_name_part){name, body};
    return count;
}

bool ls_queue_is_wanted(const struct ls_page *page,
                        const struct ls_name_part *name)
{
    const char *pattern = page->options->filter.pattern;

    return !pattern || ls_glob_matches(pattern, name->ptr, name->len);
}

/* ---- twins ---- */

static bool is_free_queue(const struct cli_lock *lock)
{
    return !lock->info.is_locked && lock->info.waiters > 0;
}

static bool has_braces(const struct cli_lock *lock)
{
    return lock->name_len > 2 && lock->name[0] == '{' && lock->name[lock->name_len - 1] == '}';
}

/* The name without its braces, or with them; malloc. */
static char *name_with_other_braces(const struct cli_lock *lock, size_t *len)
{
    size_t braces = has_braces(lock) ? 0 : 1;
    char *name = malloc(lock->name_len + 2);

    if (!name)
        return NULL;
    *len = braces ? lock->name_len + 2 : lock->name_len - 2;
    name[0] = '{';
    memcpy(name + braces, braces ? lock->name : lock->name + 1,
           braces ? lock->name_len : lock->name_len - 2);
    if (braces)
        name[lock->name_len + 1] = '}';
    return name;
}

static bool has_better_twin(const struct ls_list *list, const struct cli_lock *lock)
{
    size_t len;
    char *name = name_with_other_braces(lock, &len);
    const struct cli_lock *twin = name ? ls_list_find(list, name, len) : NULL;
    bool is_better = twin && (twin->info.is_locked || has_braces(lock));

    free(name);
    return is_better;
}

void ls_queue_drop_twins(struct ls_list *list)
{
    bool *drops = list->locks_count ? calloc(list->locks_count, sizeof *drops) : NULL;
    size_t kept = 0;

    if (!drops)
        return; /* no memory: both are listed */
    for (size_t i = 0; i < list->locks_count; i++)
        drops[i] = is_free_queue(&list->locks[i]) &&
                   has_better_twin(list, &list->locks[i]);
    for (size_t i = 0; i < list->locks_count; i++)
        if (drops[i])
            free((char *)list->locks[i].name);
        else
            list->locks[kept++] = list->locks[i];
    list->locks_count = kept;
    free(drops);
}
