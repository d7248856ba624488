/* Judges whether an answer is the expected one. No I/O. */
#ifndef TOOLS_RESP_JUDGE_H
#define TOOLS_RESP_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

/* All that came for a request, and why we stopped waiting. */
struct cli_answer {
    const char *bytes;
    size_t len;
    enum {
        CLI_WHOLE,              /* that is all of it */
        CLI_ENDED,              /* the server closed the connection */
        CLI_SILENT              /* more should have come, and did not in time */
    } end;
};

enum cli_verdict { CLI_CONFORMS, CLI_DEVIATES, CLI_NOT_OFFERED };
#define CLI_VERDICTS 3   /* ok, deviates, not offered */

struct cli_expectation {
    const char *expected;       /* see tools/resp/probe.h, KEY and NUMBER */
    const char *absent;         /* already put in; likewise, or NULL */
    int protocol;               /* what the parser takes */
};

/* cli_judge - the verdict, and in *came, for free(), what came as text: replies
 *   as cli_print_sent writes them, parted by " / ". *came is NULL if there was
 *   no memory.
 * CLI_DEVIATES: the bytes are not RESP; or the parser, which is given them one
 *   by one, reads them otherwise than they stand; or the replies are other than
 *   expected. CLI_NOT_OFFERED: they are others because the server has it not or
 *   does not permit it.
 *
 * cli_matches - is `line` as `pattern`, in which "..." is anything?
 * cli_answer_begins - do its bytes begin with that text? */
enum cli_verdict cli_judge(const struct cli_answer *answer,
                           const struct cli_expectation *e, char **came);
bool cli_matches(const char *pattern, size_t pattern_len, const char *line,
                 size_t len);
bool cli_answer_begins(const struct cli_answer *answer, const char *text);

#endif
