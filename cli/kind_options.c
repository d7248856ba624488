/* The options that say of what kind a lock is. */
#include "cli/kind_options.h"

#include <limits.h>

#include "cli/report.h"
#include "lock/permits.h"

/* A lock is of one kind. */
static int take_kind(struct cli_kind_options *of, const struct cli_args *args,
                     enum hf_lock_kind kind)
{
    if (of->kind != HF_KIND_PLAIN && of->kind != kind)
        return cli_usage(args, "of --shared, --exclusive, --fair, --value and "
                               "--permits, choose one");
    of->kind = kind;
    return CLI_GO_ON;
}

static int take_permits(struct cli_kind_options *of,
                        const struct cli_args *args, const char *value)
{
    int rc = cli_take_number(args, "--permits", value, 1, INT_MAX, &of->permits);

    return rc == CLI_GO_ON ? take_kind(of, args, HF_KIND_PERMIT) : rc;
}

int cli_kind_take(struct cli_kind_options *of, const struct cli_args *args, int id,
                  const char *value)
{
    switch (id) {
    case CLI_EXCLUSIVE:
        return take_kind(of, args, HF_KIND_WRITE);
    case CLI_FAIR:
        return take_kind(of, args, HF_KIND_FAIR);
    case CLI_VALUE:
        return take_kind(of, args, HF_KIND_VALUE);
    case CLI_SHARED:
        return take_kind(of, args, HF_KIND_READ);
    case CLI_PERMITS:
        return take_permits(of, args, value);
    default: /* CLI_FENCED */
        of->is_fenced = true;
        return CLI_GO_ON;
    }
}

int cli_kind_check(struct cli_kind_options *of, const struct cli_args *args)
{
    if (!of->is_fenced)
        return CLI_GO_ON;
    if (of->kind == HF_KIND_READ || of->kind == HF_KIND_PERMIT)
        return cli_usage(args, "holders that share a lock have no token: --shared "
                               "and --permits do not go with --fenced");
    of->kind = (enum hf_lock_kind)(of->kind | HF_WITH_TOKEN);
    return CLI_GO_ON;
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
        return CLI_GO_ON;
    if ((rc = hf_permits_try_set(lock, of->permits, &is_new, &err)) < 0)
        return cli_fail_status(rc, &err);
    name = hf_lock_name(lock, &len);
    if (is_new)
        cli_step("made %d permit%s of %s", of->permits,
                 of->permits == 1 ? "" : "s",
                 cli_quote(quoted, name, len));
    return CLI_GO_ON;
}
