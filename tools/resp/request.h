/* Requests and expected answers, from the words in which a probe gives them. */
#ifndef TOOLS_RESP_REQUEST_H
#define TOOLS_RESP_REQUEST_H

#include <stdio.h>

#include "net/net.h"

/* The texts that replace the words of tools/resp/probe.h. */
struct cli_terms {
    const char *key;
    int protocol;
    int64_t id;
    int number;
};

/* cli_request_put - writes the commands of the lines in `text` to `out`, each
 *                   as an array of bulk strings. Lines of another connection
 *                   are not for here.
 * cli_expected_put - writes an expected answer. */
void cli_request_put(FILE *out, const char *text, size_t len,
                     const struct cli_terms *terms);
void cli_expected_put(FILE *out, const char *text,
                      const struct cli_terms *terms);

#endif
