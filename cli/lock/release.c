/* `holdfast release`: frees a lock that `holdfast acquire` took. */
/* Tests: tests/live/cli/test_acquire.c. */
#include <string.h>

#include "cli/base/common.h"
#include "cli/base/label.h"
#include "cli/base/report.h"
#include "cli/lock/handle.h"
#include "lock/by_owner.h"

/* Compares and deletes in one step, so that a new holder keeps it. */
static int release_lock_of_handle(const struct cli_common *common, struct cli_handle *h)
{
    struct hf_error err = {0};
    hf_status status =
        hf_release_by_owner(h->lock, h->owner, strlen(h->owner), &err);

    if (status < 0 && status != HF_NOT_OWNER)
        return cli_handle_fail(h, status, &err);
    if (status == HF_OK) /* the process that acquired it had no other lock */
        cli_label_remove(h->client, h->owner);
    return cli_handle_report(h, common, "released", status == HF_OK, 0);
}

static int open_and_release_handle(const struct cli_common *common, char *const *words)
{
    struct cli_handle handle;
    int rc = cli_handle_open(&handle, common, words[0], words[1]);

    if (rc == CLI_CONTINUE)
        rc = release_lock_of_handle(common, &handle);
    cli_handle_close(&handle);
    return rc;
}

static int main_release(struct cli_args *args, struct cli_common *common)
{
    char **words;
    int rc = cli_common_parse_words(common, args, &words);

    if (rc == CLI_CONTINUE)
        rc = cli_handle_check(args, words[0], words[0] ? words[1] : NULL);
    if (rc == CLI_CONTINUE && words[2])
        rc = cli_handle_extra_word(args, words[2]);
    if (rc == CLI_CONTINUE)
        rc = cli_common_apply(common);
    return rc == CLI_CONTINUE ? open_and_release_handle(common, words) : rc;
}

const struct cli_command cli_release_command = {
    .name = "release",
    .summary = "release a lock that 'acquire' took",
    .help =
        "usage: holdfast release [option]... NAME HANDLE\n"
        "\n"
        "Releases the lock if HANDLE, as printed by 'holdfast acquire', still holds\n"
        "it, and wakes the waiters. Otherwise nothing is changed; the lock may have\n"
        "been held by another owner since.\n"
        "Exit code: 0 released, 122 HANDLE no longer holds the lock, 125 error.\n"
        "\n" CLI_COMMON_HELP,
    .main = main_release,
};
