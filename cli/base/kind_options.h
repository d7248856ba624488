/* The options that select the kind of a lock, for run, elect and acquire. */
#ifndef CLI_KIND_OPTIONS_H
#define CLI_KIND_OPTIONS_H

#include <stdbool.h>

#include "cli/base/options.h"
#include "lock/lock.h"

struct cli_kind_options {
    enum hf_lock_kind kind;     /* the kind that the options select; plain without any */
    bool is_fenced;             /* also in `kind`, after they were checked */
    int permits;                /* 0: not a lock with permits */
};

/* Their ids, apart from those of the subcommands. */
enum {
    CLI_KIND_OPTION = 500,
    CLI_OPT_EXCLUSIVE = CLI_KIND_OPTION,
    CLI_OPT_FAIR,
    CLI_OPT_FENCED,
    CLI_OPT_VALUE,
    CLI_OPT_SHARED,
    CLI_OPT_PERMITS
};

/* Rows for a subcommand's table: kinds with one owner, and kinds with many. */
#define CLI_KIND_ROWS \
    {CLI_OPT_EXCLUSIVE, 'x', "exclusive", NULL}, {CLI_OPT_EXCLUSIVE, 'e', NULL, NULL}, \
        {CLI_OPT_FAIR, 0, "fair", NULL}, {CLI_OPT_FENCED, 0, "fenced", NULL}, \
        {CLI_OPT_VALUE, 0, "value", NULL}
#define CLI_KIND_ROWS_OF_MANY \
    {CLI_OPT_SHARED, 's', "shared", NULL}, {CLI_OPT_PERMITS, 0, "permits", "NUMBER"}

/* Their lines of help texts; each subcommand has a line of its own for --fenced. */
#define CLI_KIND_HELP_SHARED \
    "  -s, --shared         read side of a read-write lock\n" \
    "  -x, --exclusive      write side of a read-write lock\n"
#define CLI_KIND_HELP_FAIR \
    "  --fair               waiters get the lock in the order of their requests\n"
#define CLI_KIND_HELP_VALUE \
    "  --value              string with a TTL, compatible with redis-py, redsync\n" \
    "                       and node-redlock\n"
#define CLI_KIND_HELP_PERMITS \
    "  --permits N          take one of N permits\n"

/* cli_kind_take_option  - processes one of these options.
 * cli_kind_check - checks that the options fit together, after all were processed.
 * cli_kind_make_permits - with --permits: makes that many permits if there are none yet; prints
 *                         a note if there is another number of them.
 * Each returns CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the error. */
int cli_kind_take_option(struct cli_kind_options *of, const struct cli_args *args, int id,
                         const char *value);
int cli_kind_check(struct cli_kind_options *of, const struct cli_args *args);
int cli_kind_make_permits(const struct cli_kind_options *of,
                          struct hf_lock *lock);

#endif
