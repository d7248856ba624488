/* Lines for a person, on standard error. */
/* Tests: tests/live/cli/test_run.c, tests/live/cli/test_run_loss.c,
 *        tests/live/cli/test_run_status.c. */
#include "cli/base/report.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/sink.h"
#include "net/base/error.h"
#include "net/base/utf8.h"

/* How much the program says, and its name: the only state that all of it shares. */
static const char *program = "holdfast";
static const char *server_source;
static bool is_quiet;
static bool is_verbose;

void cli_report_name(const char *name)
{
    program = name;
}

void cli_report_server_source(const char *source)
{
    server_source = source;
}

void cli_report_level(bool quiet, bool verbose)
{
    is_quiet = quiet;
    is_verbose = verbose;
}

bool cli_report_is_verbose(void)
{
    return is_verbose;
}

/* ---- without waiting ---- */

/* Lines that the reader has not taken yet; what does not fit is lost. No more
 * than a pipe takes at once (PIPE_BUF, 4,096 on Linux). */
#define WAITING_MAX 4096
#define PATIENCE_MS 2000

static struct {
    bool never_waits;
    bool was_last_line_not_taken; /* the reader did not take the last line */
    struct cli_sink sink;
    char lines[WAITING_MAX];
    size_t len;
} waiting;

void cli_report_never_wait(void)
{
    waiting.never_waits = true;
    cli_sink_open(&waiting.sink, STDERR_FILENO);
}

void cli_report_flush(void)
{
    ssize_t n;

    if (waiting.len == 0)
        return;
    n = cli_sink_write(&waiting.sink, waiting.lines, waiting.len);
    if (n < 0)
        n = (ssize_t)waiting.len; /* standard error is closed */
    waiting.len -= (size_t)n;
    memmove(waiting.lines, waiting.lines + n, waiting.len);
}

void cli_report_flush_last(int patience_ms)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

    cli_report_flush();
    if (waiting.len > 0 && poll(&p, 1, patience_ms) == 1)
        cli_report_flush();
    waiting.was_last_line_not_taken = waiting.len > 0;
    waiting.len = 0;
    cli_sink_close(&waiting.sink);
    waiting.never_waits = false;
}

static void queue_waiting_line(const char *line, size_t len)
{
    cli_report_flush();
    if (len > WAITING_MAX - waiting.len)
        return;
    memcpy(waiting.lines + waiting.len, line, len);
    waiting.len += len;
    cli_report_flush();
}

/* Waits for the reader at most PATIENCE_MS, and not again for each line. */
static void write_line_patiently(const char *line, size_t len)
{
    cli_report_never_wait();
    queue_waiting_line(line, len);
    cli_report_flush_last(waiting.was_last_line_not_taken ? 0 : PATIENCE_MS);
}

/* ---- lines ---- */

/* One write for each line, so that lines of processes that share a terminal or
 * a log do not mix. */
static void write_message_line(const char *format, va_list args)
{
    char line[CLI_LINE_MAX];
    size_t len = (size_t)snprintf(line, sizeof line, "%s: ", program);
    size_t room = sizeof line - len - 1; /* one for the newline */
    int wanted = vsnprintf(line + len, room, format, args);

    if (wanted < 0)
        return;
    if ((size_t)wanted < room)
        len += (size_t)wanted;
    else
        len = hf_utf8_complete_len(line, len + room - 1);
    hf_error_sanitize(line, len);
    line[len++] = '\n';
    if (waiting.never_waits)
        queue_waiting_line(line, len);
    else
        write_line_patiently(line, len);
}

int cli_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_message_line(format, args);
    va_end(args);
    return CLI_EXIT_ERROR;
}

void cli_warn(const char *format, ...)
{
    va_list args;

    if (is_quiet)
        return;
    va_start(args, format);
    write_message_line(format, args);
    va_end(args);
}

void cli_verbose(const char *format, ...)
{
    va_list args;

    if (!is_verbose)
        return;
    va_start(args, format);
    write_message_line(format, args);
    va_end(args);
}

/* The last warning of the library; "": none. */
static char last_warning[CLI_LINE_MAX];
static bool was_printed;

/* A refusal says more than the end of the connection that follows it. */
static void remember_warning(enum hf_log_level level, const char *line)
{
    if (level == HF_LOG_INFO && last_warning[0])
        return;
    (void)snprintf(last_warning, sizeof last_warning, "%s", line);
    was_printed = is_verbose;
}

/* The user must repair this, whether it costs a lock now or not. It explains no loss. */
static void print_error(const char *line)
{
    static bool was_seen;

    if (was_seen)
        cli_verbose("%s", line);
    else
        cli_warn("%s", line);
    was_seen = true;
}

void cli_log(void *ctx, enum hf_log_level level, const char *line)
{
    (void)ctx;
    if (level == HF_LOG_ERROR) {
        print_error(line);
        return;
    }
    remember_warning(level, line);
    cli_verbose("%s", line);
}

void cli_warning_forget(void)
{
    last_warning[0] = '\0';
}

void cli_warning_print(void)
{
    if (last_warning[0] && !was_printed)
        (void)cli_fail("%s", last_warning);
    was_printed = true;
}

const char *cli_warning_last(void)
{
    return last_warning;
}

/* ---- what the library reports ---- */

/* What a person can do about it; NULL: the text says all. */
static const char *advice_for_status(hf_status status)
{
    static char where[100];

    switch (status) {
    case HF_E_CONNECT:
        (void)snprintf(where, sizeof where,
                       "check that the server runs and that %s names it",
                       server_source ? server_source : "-u or HOLDFAST_URL");
        return where;
    case HF_E_AUTH:
        return "check --user and --password-file, or the login in the URL";
    case HF_E_PROTOCOL:
        return "check that this is the port of a Redis server";
    case HF_E_NOREPLY:
        return "check the server's load and its log"; /* its last reply may be the text */
    default:
        return NULL;
    }
}

const char *cli_close_reason(hf_status status)
{
    return status == HF_E_SERVER ? "the server refuses the release" : "the server does not reply";
}

int cli_fail_what(hf_status status, const char *what)
{
    struct hf_error err;

    (void)hf_error_status(&err, status, what);
    return cli_fail("%s", err.text);
}

int cli_fail_status(hf_status status, const struct hf_error *err)
{
    const char *text = err->text[0] ? err->text : hf_status_text(status);
    bool lacks_descriptors = strstr(text, "(EMFILE") || strstr(text, "(ENFILE");
    const char *todo = lacks_descriptors ? NULL : advice_for_status(status);
    size_t len = strlen(text);

    /* A line that ends in a question mark names the place to check. */
    if (!todo || text[len - 1] == '?')
        return cli_fail("%s", text);
    len -= text[len - 1] == '.';
    return cli_fail("%.*s; %s", (int)len, text, todo);
}

/* ---- pieces of lines ---- */

char *cli_quote(char dst[CLI_QUOTE_MAX], const void *ptr, size_t len)
{
    return hf_error_quote(dst, CLI_QUOTE_MAX, ptr, len);
}

char *cli_duration_text(char dst[CLI_DURATION_TEXT_MAX], int64_t ms)
{
    const int64_t second = 1000, minute = 60 * second, hour = 60 * minute;

    if (ms < second)
        (void)snprintf(dst, CLI_DURATION_TEXT_MAX, "%lld ms", (long long)ms);
    else if (ms < 2 * minute)
        (void)snprintf(dst, CLI_DURATION_TEXT_MAX, "%lld.%lld s",
                       (long long)(ms / second),
                       (long long)(ms % second / 100));
    else if (ms < 2 * hour)
        (void)snprintf(dst, CLI_DURATION_TEXT_MAX, "%lld min %lld s",
                       (long long)(ms / minute),
                       (long long)(ms % minute / second));
    else
        (void)snprintf(dst, CLI_DURATION_TEXT_MAX, "%lld h %lld min",
                       (long long)(ms / hour),
                       (long long)(ms % hour / minute));
    return dst;
}
