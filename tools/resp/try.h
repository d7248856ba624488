/* One check of a server: sends the request, judges the reply, prints the row, and
 * deletes the key. */
#ifndef TOOLS_RESP_TRY_H
#define TOOLS_RESP_TRY_H

#include "cli/base/common.h"
#include "tools/resp/probe.h"
#include "tools/resp/row.h"
#include "tools/resp/talk.h"

#define CLI_KEY_ROOM 64   /* the prefix, 16 digits and a suffix */

struct cli_try {
    const struct cli_common *common;
    struct hf_url url;
    struct hf_wire_options server;  /* at this URL */
    char key[CLI_KEY_ROOM];     /* used by every check; deleted after each */
    struct cli_talk talk;       /* the connection that is tried */
    struct cli_talk second;     /* open within a check at most */
    unsigned count[CLI_VERDICTS];
};

/* cli_try_open    - opens the connection, if it is not open. CLI_CONTINUE, or the error was
 *                   reported; or, if `refused` is not NULL, *refused, for free(), says that the
 *                   server has no RESP3.
 * cli_try_words   - sends a line as in tools/resp/probe.h, outside of any check; false: there is
 *                   no complete reply.
 * cli_try_expects - returns the reply that a check expects; NULL: it is not for this protocol.
 * cli_try_probe   - executes such a check. CLI_CONTINUE, or the error was reported.
 * cli_try_count   - counts a row, and prints it. */
int cli_try_open(struct cli_try *c, int protocol, char **refused);
bool cli_try_words(struct cli_try *c, const char *line,
                   struct cli_answer *answer);
const char *cli_try_expects(const struct cli_probe *p, int protocol);
int cli_try_probe(struct cli_try *c, const struct cli_probe *p, int protocol);
void cli_try_count(struct cli_try *c, const struct cli_row *row);

#endif
