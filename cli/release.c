/* `holdfast release`: frees a lock that `holdfast acquire` took. */
#include <stdio.h>
#include <string.h>

#include "cli/common.h"
#include "cli/json.h"
#include "cli/report.h"

static int report(const struct cli_common *common, char *const *words,
                  bool is_released)
{
    char name[CLI_QUOTE_MAX], owner[CLI_QUOTE_MAX];
    int code = is_released ? CLI_OK : CLI_LOST;
    struct cli_json j;
    int rc;

    if (!is_released)
        cli_note("%s is not released: %s does not hold it any more",
                 cli_quote(name, words[0], strlen(words[0])),
                 cli_quote(owner, words[1], strlen(words[1])));
    if (!common->is_json)
        return code;
    cli_json_init(&j);
    cli_json_text(&j, "name", words[0]);
    cli_json_bool(&j, "released", is_released);
    rc = cli_json_print(&j);
    return rc == CLI_GO_ON ? code : rc;
}

/* Compares and deletes in one step, so that a new holder keeps it. */
static int release_of(const struct cli_common *common, struct hf_lock *lock,
                      char *const *words)
{
    struct hf_error err = {0};
    hf_status status =
        hf_lock_force_release(lock, words[1], strlen(words[1]), &err);

    if (status < 0 && status != HF_NOT_OWNER)
        return cli_fail_status(status, &err);
    return report(common, words, status == HF_OK);
}

static int release(const struct cli_common *common, char *const *words)
{
    struct hf_client_options options;
    struct hf_client *client;
    struct hf_lock *lock = NULL;
    int rc;

    hf_client_options_init(&options);
    options.thread = false;
    options.connect_once = true;
    rc = cli_client_open(&client, common, &options);
    if (rc == CLI_GO_ON)
        rc = cli_lock_open(&lock, client, HF_KIND_PLAIN, words[0]);
    if (rc == CLI_GO_ON)
        rc = release_of(common, lock, words);
    hf_lock_free(lock);
    hf_client_free(client);
    return rc;
}

static int main_release(struct cli_args *args, struct cli_common *common)
{
    char **words;
    int rc = cli_common_words(common, args, &words);

    if (rc == CLI_GO_ON && (!words[0] || !words[1] || words[2]))
        return cli_usage(args, "give NAME and OWNER, the first word that "
                               "'holdfast acquire' printed");
    if (rc == CLI_GO_ON)
        rc = cli_common_begin(common);
    return rc == CLI_GO_ON ? release(common, words) : rc;
}

const struct cli_command cli_release_command = {
    .name = "release",
    .summary = "free a lock that 'acquire' took",
    .help =
        "usage: holdfast release [option]... NAME OWNER\n"
        "\n"
        "Frees the lock if OWNER, as 'holdfast acquire' printed it, still holds\n"
        "it, and wakes those who wait for it. Else nothing is changed, and the\n"
        "work since may not have been protected.\n"
        "Exit code: 0 released, 122 OWNER does not hold it any more, 125\n"
        "trouble.\n"
        "\n" CLI_COMMON_HELP,
    .main = main_release,
};
