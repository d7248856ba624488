/* `holdfast slot`: where a cluster keeps a key. */
#include <stdio.h>
#include <string.h>

#include "cli/common.h"
#include "cli/json.h"
#include "cli/report.h"
#include "net/route/slot.h"

static void print_text(const char *key, uint16_t slot)
{
    char quoted[CLI_QUOTE_MAX];

    (void)printf("%s: %u\n", cli_quote(quoted, key, strlen(key)),
                 (unsigned)slot);
}

/* `key` first, so that a person finds the line, too. */
static int print_json(const char *key, uint16_t slot)
{
    struct cli_json j;
    const char *line;

    cli_json_init(&j);
    cli_json_text(&j, "key", key);
    cli_json_integer(&j, "slot", slot);
    if ((line = cli_json_end(&j)))
        (void)fputs(line, stdout);
    cli_json_fini(&j);
    return line ? CLI_OK : cli_fail("out of memory");
}

static int show(const struct cli_common *common, const char *key)
{
    uint16_t slot = hf_slot_of(key, strlen(key));

    if (common->is_json)
        return print_json(key, slot);
    print_text(key, slot);
    return CLI_OK;
}

static int main_slot(struct cli_args *args, struct cli_common *common)
{
    static const struct cli_option *const tables[] = {cli_common_options, NULL};
    char **keys = args->next; /* gathered where the arguments stood */
    size_t count = 0;
    char *value;
    int id, rc;

    while ((id = cli_args_next(args, tables, &value)) != CLI_END) {
        if (id == CLI_WORD)
            keys[count++] = value;
        else if ((rc = cli_common_take(common, args, id, value)) != CLI_GO_ON)
            return rc;
    }
    if (count == 0)
        return cli_usage(args, "which key? KEY is missing");
    rc = CLI_OK;
    for (size_t i = 0; i < count && rc == CLI_OK; i++)
        rc = show(common, keys[i]);
    return rc;
}

const struct cli_command cli_slot_command = {
    .name = "slot",
    .summary = "the hash slot of a key in a cluster",
    .help =
        "usage: holdfast slot [--json] KEY...\n"
        "\n"
        "Shows the hash slot of each key, 0 to 16383. Keys with the same slot\n"
        "are always on the same node of a cluster. If a key has a hash tag,\n"
        "as in 'cart:{user1}', that alone decides. Asks no server.\n"
        "\n"
        "Exit code: 0, or 125 on trouble.\n",
    .main = main_slot,
};
