/* The command line of `holdfast ls`. */
#ifndef CLI_LS_OPTIONS_H
#define CLI_LS_OPTIONS_H

#include <stdint.h>

#include "cli/common.h"

struct ls_options {
    const char *pattern;        /* as SCAN MATCH takes it; NULL: every name */
    int64_t time_ms;            /* 0: no limit */
    int limit;                  /* keys, of all servers together; 0: no limit */
    int rate;                   /* keys a second, of each server */
};

extern const char ls_help[];

/* ls_options_parse - CLI_GO_ON, or the exit code of an error that was reported,
 * or of --help. */
int ls_options_parse(struct ls_options *options, struct cli_args *args,
                     struct cli_common *common);

#endif
