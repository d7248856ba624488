/* The command lines of `holdfast run` and `holdfast elect`. */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/common.h"
#include "cli/base/kind_options.h"
#include "cli/base/metrics.h"
#include "cli/run/state.h"
#include "lock/multi.h"

struct cli_run_options {
    const char *name;
    const char *other_names[HF_MULTI_MAX]; /* of --multi; NAME is one more */
    size_t other_names_count;
    struct cli_kind_options kind;
    bool is_quorum;
    bool allow_same_server;     /* --quorum: members may be on one server */
    char **argv;                /* the command; ends in NULL */
    char *shell_argv[4];        /* of -c; then argv is this */
    int64_t wait_ms;            /* as in hf_acquire_options */
    int conflict_code;
    int64_t ttl_ms;
    int64_t lease_ms;           /* 0: renewed */
    int64_t max_hold_ms;        /* 0: no limit */
    int64_t at_least_ms;
    int64_t kill_after_ms;
    enum cli_on_lost on_lost;
    int lost_signal;
    int status_fd;              /* -1: none */
    const char *dump_path;      /* USR1: a description of our state is appended; or NULL */
    struct cli_metrics_options metrics_options;
    struct cli_metrics *metrics;    /* opened by cli_round_main; or NULL */
    bool hides_url;             /* from the command */
    bool has_close, has_no_fork;        /* flock's options, which have no effect */
    bool is_once;               /* elect: ends after one term */
    int64_t rest_ms;            /* elect: before it does */
};

extern const char cli_run_help[], cli_elect_help[];

/* cli_run_options_parse, cli_elect_options_parse - parse the command line. Return CLI_CONTINUE,
 *                    or the exit code after --help or after reporting an error.
 * cli_run_rules_of - returns the options that state.c needs. */
int cli_run_options_parse(struct cli_run_options *run, struct cli_args *args,
                          struct cli_common *common);
int cli_elect_options_parse(struct cli_run_options *run, struct cli_args *args,
                            struct cli_common *common);
struct cli_run_rules cli_run_rules_of(const struct cli_run_options *run);

#endif
