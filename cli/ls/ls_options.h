/* The command line of `holdfast ls`. */
#ifndef CLI_LS_OPTIONS_H
#define CLI_LS_OPTIONS_H

#include <stdint.h>

#include "cli/base/common.h"
#include "cli/ls/scan.h"

/* In `kinds`, in addition to 1 << HF_KIND_PLAIN, ...: numbers that may be counters of
 * any program. */
#define LS_COUNTER (1u << 31)

struct ls_options {
    struct ls_filter filter;
    unsigned kinds;             /* the kinds to list */
    int64_t time_ms;            /* 0: no limit */
    int limit;                  /* keys, of all servers together; 0: no limit */
    int rate;                   /* keys a second, of each server */
    bool is_long;               /* also the labels of holders */
    bool has_waiters;           /* also who waits */
    bool is_cluster;            /* by the URL */
};

extern const char ls_help[];

/* ls_options_parse - parses the command line. Returns CLI_CONTINUE, or the exit code after --help
 * or after reporting an error. */
int ls_options_parse(struct ls_options *options, struct cli_args *args,
                     struct cli_common *common);

#endif
