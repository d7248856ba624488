/* Lines for a person, on standard error, each beginning with the program's name. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "lock/lock.h"

/* cli_report_name - sets the program's name, a static text; "holdfast" by default. */
void cli_report_name(const char *name);

/* cli_report_level - sets which lines are printed. Errors: always. Notes, which a person should
 * know although nothing failed: unless quiet. Steps: only if verbose. */
void cli_report_level(bool is_quiet, bool is_verbose);

/* cli_report_is_verbose - returns whether steps are printed. */
bool cli_report_is_verbose(void);

/* cli_report_server_source - sets the source of the server's URL, for the advice about a server
 * that cannot be reached: "-u" or the name of an environment variable, a static text; NULL: the
 * URL is the default. */
void cli_report_server_source(const char *source);

/* The reader of standard error may be slow (a full pipe, a stopped terminal). A line waits at
 * most two seconds, and is then dropped. While holdfast supervises a command it must not wait:
 * cli_report_never_wait - from now on, lines that cannot be written at once are kept, a few of
 *   them.
 * cli_report_flush - writes them, as far as the reader accepts them.
 * cli_report_flush_last - writes them for the last time, and waits at most patience_ms for the
 *   reader. Later lines are written as before cli_report_never_wait. */
void cli_report_never_wait(void);
void cli_report_flush(void);
void cli_report_flush_last(int patience_ms);

/* cli_fail        - prints an error. Returns CLI_EXIT_ERROR, for `return cli_fail(...)`.
 * cli_warn        - prints a note.
 * cli_verbose     - prints a step.
 * cli_fail_what   - prints the error "WHAT: why", as hf_error_status. Returns CLI_EXIT_ERROR.
 * cli_fail_status - prints an error of the library, with what to do about it. Returns
 *             CLI_EXIT_ERROR.
 * cli_close_reason - returns why hf_client_close, which returned `status`, left a lock unknown.
 * Each takes a format as printf, and writes one line at once, cut to CLI_LINE_MAX and without
 * control characters (hf_error_sanitize). Quote bytes of a user or a server (cli_quote). */
#define CLI_LINE_MAX 1024
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_fail_what(hf_status status, const char *what);
int cli_fail_status(hf_status status, const struct hf_error *err);
const char *cli_close_reason(hf_status status);

/* cli_log - prints the log lines of the library as steps, for hf_client_options.log, and keeps
 *   the last warning, or the first connection that was lost, if there was no warning. The
 *   first error (HF_LOG_ERROR) is printed as a note, and is not kept.
 * cli_warning_forget - forgets that warning: the operation has succeeded since.
 * cli_warning_print - prints that warning as an error, once, unless it was printed as a step.
 * cli_warning_last - returns that warning; "": there was none, or it was forgotten. */
void cli_log(void *ctx, enum hf_log_level level, const char *line);
void cli_warning_forget(void);
void cli_warning_print(void);
const char *cli_warning_last(void);

/* cli_quote - writes a name or a holder as text for a line. Returns dst. */
#define CLI_QUOTE_MAX 192
char *cli_quote(char dst[CLI_QUOTE_MAX], const void *ptr, size_t len);

/* cli_duration_text - writes a duration for a person: "250 ms", "27.3 s", "2 h 5 min". Returns dst.
 *   */
#define CLI_DURATION_TEXT_MAX 32
char *cli_duration_text(char dst[CLI_DURATION_TEXT_MAX], int64_t ms);

#endif
