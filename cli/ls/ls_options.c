/* The command line of `holdfast ls`. */
#include "cli/ls/ls_options.h"

/* A server looks through about a million keys a second, and does nothing else
 * meanwhile: so much takes a twentieth of its time. */
#define RATE 50000
#define NUMBER_MAX 1000000000

enum { OPT_TIME = 1, OPT_LIMIT, OPT_RATE };

static const struct cli_option own_options[] = {
    {OPT_TIME, 0, "time", "DURATION"},
    {OPT_LIMIT, 0, "limit", "KEYS"},
    {OPT_RATE, 0, "rate", "KEYS"},
    {0},
};

static int take_pattern(struct ls_options *options, const struct cli_args *args,
                        const char *value)
{
    if (options->pattern)
        return cli_usage(args, "one PATTERN only; '%s' is too much (quote it, "
                               "so that the shell leaves it alone)", value);
    if (!*value)
        return cli_usage(args, "PATTERN is empty");
    options->pattern = value;
    return CLI_GO_ON;
}

static int take_option(void *ctx, const struct cli_args *args, int id,
                       char *value)
{
    struct ls_options *options = ctx;

    switch (id) {
    case OPT_TIME:
        return cli_take_duration(args, "--time", value, 1, &options->time_ms);
    case OPT_LIMIT:
        return cli_take_number(args, "--limit", value, 1, NUMBER_MAX,
                               &options->limit);
    case OPT_RATE:
        return cli_take_number(args, "--rate", value, 1, NUMBER_MAX,
                               &options->rate);
    default:
        return take_pattern(options, args, value);
    }
}

int ls_options_parse(struct ls_options *options, struct cli_args *args,
                     struct cli_common *common)
{
    *options = (struct ls_options){.rate = RATE};
    return cli_common_parse(common, args, own_options, take_option, options);
}

const char ls_help[] =
    "usage: holdfast ls [option]... [PATTERN]\n"
    "\n"
    "Lists the locks that are held on the server, on all masters of a cluster,\n"
    "or on the master of sentinels: name, kind, holder, number of holders, hold\n"
    "count and TTL, by name. PATTERN is a glob, in quotes: 'deploy:*'.\n"
    "It looks through all keys (SCAN, at a pace that servers do not feel), and\n"
    "only reads. On a terminal that is a table; elsewhere a tab stands between\n"
    "columns, TTL is in milliseconds (-1: none), and there is no heading.\n"
    "Exit code: 0 the list is whole, 1 it is not, for --time or --limit is over\n"
    "or a connection was lost; 125 trouble.\n"
    "\n"
    "  --time DURATION      look for so long at most\n"
    "  --limit KEYS         look through about so many keys at most\n"
    "  --rate KEYS          keys a second, on each server; default 50000. A hash\n"
    "                       counts as ten\n"
    "\n" CLI_COMMON_HELP;
