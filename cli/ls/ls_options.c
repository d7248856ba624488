/* The command line of `holdfast ls`. */
/* Tests: tests/test_cli_ls.c. */
#include "cli/ls/ls_options.h"

#include <string.h>

#include "cli/base/lock_words.h"

/* A server reads about a million keys a second, and does nothing else meanwhile: this
 * rate takes a twentieth of its time. */
#define RATE_DEFAULT 50000
#define NUMBER_MAX 1000000000

enum { OPT_KIND = 1, OPT_LONG, OPT_WAITERS, OPT_TIME, OPT_LIMIT, OPT_RATE };

static const struct cli_option own_options[] = {
    {OPT_KIND, 0, "kind", "KIND"},
    {OPT_LONG, 'l', "long", NULL},
    {OPT_WAITERS, 0, "waiters", NULL},
    {OPT_TIME, 0, "time", "DURATION"},
    {OPT_LIMIT, 0, "limit", "KEYS"},
    {OPT_RATE, 0, "rate", "KEYS"},
    {0},
};

/* ---- kinds ---- */

/* The type of key that shows it. */
static const struct {
    enum hf_lock_kind kind;     /* HF_KIND_NONE: a counter */
    enum ls_type type;
    bool is_certain;            /* nothing else looks like it: listed unless other kinds
                                   are requested */
} kinds[] = {
    {HF_KIND_PLAIN, LS_HASH, true},  {HF_KIND_FAIR, LS_HASH, true},
    {HF_KIND_READ, LS_HASH, true},   {HF_KIND_WRITE, LS_HASH, true},
    {HF_KIND_MULTI, LS_HASH, true},  {HF_KIND_PERMIT, LS_ZSET, true},
    {HF_KIND_VALUE, LS_STRING, false}, {HF_KIND_NONE, LS_STRING, false},
};

#define KINDS (sizeof kinds / sizeof *kinds)

static void add_kind(struct ls_options *options, size_t i)
{
    options->kinds |= kinds[i].kind == HF_KIND_NONE ? LS_COUNTER
                                                    : 1u << kinds[i].kind;
    options->filter.types |= 1u << kinds[i].type;
    options->filter.has_queues |= kinds[i].kind == HF_KIND_FAIR;
}

static const char *word_of_kind(size_t i)
{
    return kinds[i].kind == HF_KIND_NONE ? CLI_COUNTER_WORD
                                         : cli_kind_word(kinds[i].kind);
}

static int add_kind_of_word(struct ls_options *options, const struct cli_args *args,
                            const char *value)
{
    bool is_known = false;

    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(value, word_of_kind(i)) == 0 || strcmp(value, "all") == 0) {
            add_kind(options, i);
            is_known = true;
        }
    if (!is_known)
        return cli_usage(args, "--kind '%s': write plain, fair, read, write, "
                               "multi, permit, value, counter or all", value);
    return CLI_CONTINUE;
}

/* The kinds that are listed by default. */
static void add_certain_kinds(struct ls_options *options)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].is_certain)
            add_kind(options, i);
}

/* ---- the rest ---- */

static int set_pattern(struct ls_options *options, const struct cli_args *args,
                       const char *value)
{
    if (options->filter.pattern)
        return cli_usage(args, "unexpected argument '%s': only one PATTERN (quote it, "
                               "so that the shell does not expand it)", value);
    if (!*value)
        return cli_usage(args, "PATTERN is empty");
    options->filter.pattern = value;
    return CLI_CONTINUE;
}

static int take_option(void *ctx, const struct cli_args *args, int id,
                       char *value)
{
    struct ls_options *options = ctx;

    switch (id) {
    case OPT_KIND:
        return add_kind_of_word(options, args, value);
    case OPT_LONG:
        options->is_long = true;
        return CLI_CONTINUE;
    case OPT_WAITERS:
        options->has_waiters = true;
        return CLI_CONTINUE;
    case OPT_TIME:
        return cli_take_duration(args, "--time", value, 1, &options->time_ms);
    case OPT_LIMIT:
        return cli_take_number(args, "--limit", value, 1, NUMBER_MAX,
                               &options->limit);
    case OPT_RATE:
        return cli_take_number(args, "--rate", value, 1, NUMBER_MAX,
                               &options->rate);
    default:
        return set_pattern(options, args, value);
    }
}

int ls_options_parse(struct ls_options *options, struct cli_args *args,
                     struct cli_common *common)
{
    int rc;

    *options = (struct ls_options){.rate = RATE_DEFAULT};
    rc = cli_common_parse(common, args, own_options, take_option, options);
    options->is_cluster = cli_common_is_cluster(common);
    if (options->kinds == 0)
        add_certain_kinds(options);
    return rc;
}

const char ls_help[] =
    "usage: holdfast ls [option]... [PATTERN]\n"
    "\n"
    "Lists the held locks of the server, of all masters of a cluster, or of the\n"
    "master named by sentinels; also free fair locks with waiters, and semaphores\n"
    "with expirable permits in use. Columns: name, kind, holder, number of\n"
    "holders, hold count, TTL, waiters in a fair lock's queue, permits left;\n"
    "sorted by name. PATTERN is a glob; quote it: 'deploy:*'. ls reads all keys\n"
    "with SCAN at a limited rate and changes nothing. On a terminal it prints a\n"
    "table with a heading. Elsewhere it prints tabs between columns, the TTL in\n"
    "milliseconds (-1: none) and no heading.\n"
    "Exit code: 0 the list is complete, 1 the list is incomplete: --time or\n"
    "--limit was reached, or a connection was lost; 125 error.\n"
    "\n"
    "  --kind KIND          list only this kind; repeatable: plain, fair, read,\n"
    "                       write, multi, permit, all; or a kind that other\n"
    "                       programs' strings resemble, not listed by default:\n"
    "                       value (has a TTL, from SET NX PX), counter (an\n"
    "                       integer: semaphore, latch)\n"
    "  -l, --long           all columns, and the label of the holder as the last one\n"
    "  --waiters            count the waiters of other locks also, by the connections\n"
    "                       that listen for their release; after a fair lock, print\n"
    "                       a line for each of its first 100 waiters: place, owner\n"
    "                       and label\n"
    "  --time DURATION      stop after DURATION\n"
    "  --limit KEYS         stop after about this number of keys\n"
    "  --rate KEYS          read at most this number of keys a second on each\n"
    "                       server; default 50000. An inspected hash counts as\n"
    "                       10 more keys, a string as 3\n"
    "\n" CLI_COMMON_HELP;
