/* `holdfast slot`: where a cluster keeps a key. */
/* Tests: tests/live/cli/test_run_slot.c. */
#include <stdio.h>
#include <string.h>

#include "cli/base/common.h"
#include "cli/base/json.h"
#include "cli/base/report.h"
#include "net/route/slot.h"

static void print_text(const char *key, uint16_t slot)
{
    char quoted[CLI_QUOTE_MAX];

    (void)printf("%s: %u\n", cli_quote(quoted, key, strlen(key)),
                 (unsigned)slot);
}

/* `key` comes first, for people. */
static int print_json(const char *key, uint16_t slot)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_choose_escaping(&j, key, strlen(key));
    cli_json_text(&j, "key", key);
    cli_json_integer(&j, "slot", slot);
    return cli_json_print(&j);
}

static int print_slot(const struct cli_common *common, const char *key)
{
    uint16_t slot = hf_slot_of(key, strlen(key));

    if (common->is_json)
        return print_json(key, slot);
    print_text(key, slot);
    return CLI_CONTINUE;
}

static int main_slot(struct cli_args *args, struct cli_common *common)
{
    char **keys;
    int rc = cli_common_parse_words(common, args, &keys);

    if (rc == CLI_CONTINUE && !*keys)
        return cli_usage(args, "KEY is required");
    for (; rc == CLI_CONTINUE && *keys; keys++)
        rc = print_slot(common, *keys);
    return rc == CLI_CONTINUE ? CLI_EXIT_OK : rc;
}

const struct cli_command cli_slot_command = {
    .name = "slot",
    .summary = "show the cluster hash slot of a key",
    .help =
        "usage: holdfast slot [--json] KEY...\n"
        "\n"
        "Shows the hash slot of each key, 0 to 16383. A cluster keeps all keys of a\n"
        "slot on the same node. If a key has a hash tag, such as {user1} in\n"
        "'cart:{user1}', only the tag is hashed. Connects to no server.\n"
        "\n"
        "Exit code: 0 done, 125 error.\n",
    .main = main_slot,
};
