/* Lines for a person, on standard error, each beginning with the program's name. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "lock/lock.h"

/* cli_report_name - the program's name; before, "holdfast". Static text. */
void cli_report_name(const char *name);

/* cli_report_level - how much is said from now on. Errors: always. Notes, which
 * a person should know though nothing failed: unless quiet. Steps: only if
 * verbose. */
void cli_report_level(bool is_quiet, bool is_verbose);

/* cli_report_server_source - what names the server: "-u", or the variable of the environment;
 * NULL: nothing. For the advice about a server that cannot be reached. Static text. */
void cli_report_server_source(const char *source);

/* The reader of standard error may be slow (a full pipe, a stopped terminal). A line waits at
 * most two seconds, and is then dropped. While holdfast supervises a command it must not wait:
 * cli_report_never_wait - from now on, lines that cannot be written at once are kept, a few of
 *   them.
 * cli_report_flush - writes them, as far as the reader accepts them.
 * cli_report_end - writes them for the last time, and waits at most this long. Later lines
 *   wait again. */
void cli_report_never_wait(void);
void cli_report_flush(void);
void cli_report_end(int patience_ms);

/* cli_fail  - an error; returns CLI_EXIT_ERROR, so that `return cli_fail(...)`
 *             reads well.
 * cli_warn  - a note.
 * cli_verbose  - a step.
 * cli_fail_what   - "WHAT: why", as hf_error_status; returns CLI_EXIT_ERROR.
 * cli_fail_status - an error that the library reports, with what to do about
 *             it; returns CLI_EXIT_ERROR.
 * As printf. One line, written at once, cut to CLI_LINE_MAX, without control
 * characters (hf_error_tame). Quote bytes of a user or a server (cli_quote). */
#define CLI_LINE_MAX 1024
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_fail_what(hf_status status, const char *what);
int cli_fail_status(hf_status status, const struct hf_error *err);

/* cli_log - for hf_client_options.log: log lines of the library as steps. */
void cli_log(void *ctx, enum hf_log_level level, const char *line);

/* cli_quote - a name or a holder as text for a line. Returns dst. */
#define CLI_QUOTE_MAX 192
char *cli_quote(char dst[CLI_QUOTE_MAX], const void *ptr, size_t len);

/* cli_span - a length of time for a person: "250 ms", "27.3 s", "2 h 5 min".
 * Returns dst. */
#define CLI_SPAN_MAX 32
char *cli_span(char dst[CLI_SPAN_MAX], int64_t ms);

#endif
