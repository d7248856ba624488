/* What `holdfast-resp check` prints: a row for each check, and a summary. */
#ifndef TOOLS_RESP_ROW_H
#define TOOLS_RESP_ROW_H

#include "cli/base/common.h"
#include "tools/resp/judge.h"

struct cli_row {
    int protocol;
    const char *rule;
    const char *name;
    enum cli_verdict verdict;
    const char *expected;
    const char *came;
};

struct cli_summary {
    const char *server;
    const char *version;
    const char *address;
    unsigned count[CLI_VERDICTS];
};

/* On standard output: JSON lines if common->is_json, nothing if is_quiet, else
 * text. */
void cli_row_print_head(const struct cli_common *common);
void cli_row_print(const struct cli_common *common, const struct cli_row *row);
void cli_row_print_summary(const struct cli_common *common,
                           const struct cli_summary *summary);

#endif
