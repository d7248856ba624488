/* The options that say of what kind a lock is. */
/* Tests: tests/test_cli_options.c, tests/live/cli/test_run_kinds.c. */
#include "cli/base/kind_options.h"

#include <limits.h>

#include "cli/base/report.h"
#include "lock/permits.h"

/* A lock is of one kind. */
static int select_kind(struct cli_kind_options *of, const struct cli_args *args,
                       enum hf_lock_kind kind)
{
    if (of->kind != HF_KIND_PLAIN && of->kind != kind)
        return cli_usage(args, "--shared, --exclusive, --fair, --value and --permits "
                               "cannot be combined");
    of->kind = kind;
    return CLI_CONTINUE;
}

static int select_permits(struct cli_kind_options *of,
                          const struct cli_args *args, const char *value)
{
    int rc = cli_take_number(args, "--permits", value, 1, INT_MAX, &of->permits);

    return rc == CLI_CONTINUE ? select_kind(of, args, HF_KIND_PERMIT) : rc;
}

int cli_kind_take_option(struct cli_kind_options *of, const struct cli_args *args, int id,
                         const char *value)
{
    switch (id) {
    case CLI_OPT_EXCLUSIVE:
        return select_kind(of, args, HF_KIND_WRITE);
    case CLI_OPT_FAIR:
        return select_kind(of, args, HF_KIND_FAIR);
    case CLI_OPT_VALUE:
        return select_kind(of, args, HF_KIND_VALUE);
    case CLI_OPT_SHARED:
        return select_kind(of, args, HF_KIND_READ);
    case CLI_OPT_PERMITS:
        return select_permits(of, args, value);
    default: /* CLI_OPT_FENCED */
        of->is_fenced = true;
        return CLI_CONTINUE;
    }
}

int cli_kind_check(struct cli_kind_options *of, const struct cli_args *args)
{
    if (!of->is_fenced)
        return CLI_CONTINUE;
    if (of->kind == HF_KIND_READ || of->kind == HF_KIND_PERMIT)
        return cli_usage(args, "--fenced cannot be combined with --shared or "
                               "--permits: shared holders have no token");
    of->kind = (enum hf_lock_kind)(of->kind | HF_WITH_TOKEN);
    return CLI_CONTINUE;
}

/* ---- permits that exist already ---- */

#define COUNT_TRIES 3           /* others may take one between two replies */

/* How many there are: available, or out. False: unknown. */
static bool count_all_permits(struct hf_lock *lock, int64_t *total)
{
    struct hf_lock_info before, after;
    int64_t available;

    for (int i = 0; i < COUNT_TRIES; i++) {
        if (hf_lock_inspect(lock, &before, NULL) < 0 ||
            hf_permits_available(lock, &available, NULL) < 0 ||
            hf_lock_inspect(lock, &after, NULL) < 0)
            return false;
        *total = available + after.holders;
        if (before.holders == after.holders)
            return true;
    }
    return false;
}

/* Their number is not changed: the processes that hold one count on it. */
static void warn_if_permits_differ(const struct cli_kind_options *of, struct hf_lock *lock)
{
    char quoted[CLI_QUOTE_MAX];
    int64_t total;
    size_t len;
    const char *name = hf_lock_name(lock, &len);

    if (count_all_permits(lock, &total) && total != of->permits)
        cli_warn("%s has %lld permit%s; --permits %d has no effect. To change the "
                 "number, use 'holdfast semaphore NAME resize %d'",
                 cli_quote(quoted, name, len), (long long)total,
                 total == 1 ? "" : "s", of->permits, of->permits);
}

int cli_kind_make_permits(const struct cli_kind_options *of,
                          struct hf_lock *lock)
{
    struct hf_error err = {0};
    char quoted[CLI_QUOTE_MAX];
    const char *name;
    bool is_new = false;
    hf_status rc;
    size_t len;

    if (of->permits == 0)
        return CLI_CONTINUE;
    if ((rc = hf_permits_try_set(lock, of->permits, &is_new, &err)) < 0)
        return cli_fail_status(rc, &err);
    name = hf_lock_name(lock, &len);
    if (is_new)
        cli_verbose("created %d permit%s for %s", of->permits,
                    of->permits == 1 ? "" : "s",
                    cli_quote(quoted, name, len));
    else
        warn_if_permits_differ(of, lock);
    return CLI_CONTINUE;
}
