/* Formats a trace as text, and removes what must not be shown. */
/* Tests: tests/test_net_trace.c. */
#include "net/link/trace.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "net/base/error.h"
#include "net/base/utf8.h"

#define WORD_MAX 48             /* of one argument: a script's SHA-1 fits */
#define WORDS_MAX 12            /* arguments; elements of a reply */
#define CUT_MAX (HF_TRACE_TEXT_MAX - sizeof "...") /* of a line, before the dots */

/* ---- secrets ---- */

static bool is_arg_equal_to(struct hf_resp_arg arg, const char *word)
{
    return arg.len == strlen(word) && strncasecmp(arg.ptr, word, arg.len) == 0;
}

/* AUTH [user] password; HELLO n AUTH user password ... */
static bool is_password_arg(const struct hf_resp_arg *argv, size_t argc, size_t i)
{
    if (is_arg_equal_to(argv[0], "AUTH"))
        return i > 0 && i + 1 == argc;
    return i > 2 && is_arg_equal_to(argv[i - 2], "AUTH");
}

size_t hf_trace_mask(struct hf_resp_arg dst[TRACE_MASKED_MAX],
                     const struct hf_resp_arg *argv, size_t argc)
{
    static const struct hf_resp_arg mask = {"(secret)", 8};

    if (!is_arg_equal_to(argv[0], "AUTH") && !is_arg_equal_to(argv[0], "HELLO"))
        return 0;
    if (argc > TRACE_MASKED_MAX)
        argc = TRACE_MASKED_MAX;
    for (size_t i = 0; i < argc; i++)
        dst[i] = is_password_arg(argv, argc, i) ? mask : argv[i];
    return argc;
}

/* ---- a line that is cut where it is full ---- */

struct trace_line {
    char *text;
    size_t len;
    bool is_full;
};

static void add_to_line(struct trace_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_to_line(struct trace_line *line, const char *format, ...)
{
    size_t room = HF_TRACE_TEXT_MAX - line->len;
    va_list args;
    int n;

    if (line->is_full)
        return;
    va_start(args, format);
    n = vsnprintf(line->text + line->len, room, format, args);
    va_end(args);
    line->is_full = n < 0 || (size_t)n >= room;
    line->len += line->is_full ? room - 1 : (size_t)n;
    if (line->is_full)
        (void)strcpy(line->text + hf_utf8_complete_len(line->text, CUT_MAX), "...");
}

static void add_quoted_word(struct trace_line *line, const char *ptr, size_t len)
{
    char word[WORD_MAX];
    bool has_gap = len == 0 || memchr(ptr, ' ', len);

    (void)hf_error_quote(word, sizeof word, ptr, len);
    add_to_line(line, has_gap ? " \"%s\"" : " %s", word);
}

static void add_command(struct trace_line *line, const struct hf_trace *t)
{
    add_to_line(line, " >");
    for (size_t i = 0; i < t->argc && i < WORDS_MAX; i++)
        add_quoted_word(line, t->argv[i].ptr, t->argv[i].len);
    if (t->argc > WORDS_MAX)
        add_to_line(line, " and %zu more", t->argc - WORDS_MAX);
}

/* ---- values ---- */

static void add_scalar_value(struct trace_line *line, struct hf_resp_value v)
{
    const char *ptr;
    int64_t number;
    size_t len;

    if (hf_resp_is_error(v))
        add_to_line(line, " (error)");
    if (hf_resp_integer(v, &number) == HF_OK)
        add_to_line(line, " %lld", (long long)number);
    else if (hf_resp_is_null(v))
        add_to_line(line, " (nil)");
    else if (hf_resp_bytes(v, &ptr, &len) == HF_OK)
        add_quoted_word(line, ptr, len);
    else
        add_to_line(line, " (elements: %zu)", hf_resp_count(v));
}

/* Writes one level of a list; of deeper levels and maps, only the number of elements.
 * */
static void add_reply_value(struct trace_line *line, struct hf_resp_value v)
{
    struct hf_resp_iter it = hf_resp_children(v);
    enum hf_resp_type type = hf_resp_type(v);
    struct hf_resp_value child;
    size_t n = 0;

    if (type != HF_RESP_ARRAY && type != HF_RESP_PUSH) {
        add_scalar_value(line, v);
        return;
    }
    add_to_line(line, " [");
    for (; n < WORDS_MAX && hf_resp_next(&it, &child); n++)
        add_scalar_value(line, child);
    add_to_line(line, hf_resp_count(v) > n ? " ... ]" : " ]");
}

/* ---- kinds ---- */

static void add_request_end(struct trace_line *line, const struct hf_trace *t)
{
    if (t->outcome == HF_UNSENT) {
        add_to_line(line, " was not sent");
    } else if (t->outcome == HF_UNKNOWN) {
        add_to_line(line, " was sent, and has no answer");
    } else {
        add_to_line(line, " <");
        add_reply_value(line, t->reply);
        add_to_line(line, " (%u us)", (unsigned)t->latency_us);
    }
}

/* The contents of lists are not shown, because only single texts were checked for the
 * password. */
static void add_handshake_reply(struct trace_line *line, const struct hf_trace *t)
{
    add_to_line(line, " <");
    if (t->why)
        add_to_line(line, " %s", t->why);
    else
        add_scalar_value(line, t->reply);
}

/* An error begins with the address, which is already in the line. */
static void add_lost_connection(struct trace_line *line, const struct hf_trace *t)
{
    size_t len = strlen(t->address);
    bool repeats = strncmp(t->why, t->address, len) == 0 &&
                   strncmp(t->why + len, ": ", 2) == 0;

    add_to_line(line, " lost: %s", repeats ? t->why + len + 2 : t->why);
}

static void add_event(struct trace_line *line, const struct hf_trace *t)
{
    switch (t->kind) {
    case HF_TRACE_CONNECTED:
        add_to_line(line, " connected, RESP%d", t->protocol);
        break;
    case HF_TRACE_LOST:
        add_lost_connection(line, t);
        break;
    case HF_TRACE_HANDSHAKE:
    case HF_TRACE_QUEUED:
        add_command(line, t);
        break;
    case HF_TRACE_HANDSHAKE_REPLY:
        add_handshake_reply(line, t);
        break;
    case HF_TRACE_ENDED:
        add_request_end(line, t);
        break;
    case HF_TRACE_LATE:
        add_to_line(line, " < late, dropped:");
        add_reply_value(line, t->reply);
        break;
    case HF_TRACE_PUSH:
        add_to_line(line, " < push");
        add_reply_value(line, t->reply);
        break;
    }
}

char *hf_trace_text(char dst[HF_TRACE_TEXT_MAX], const struct hf_trace *t)
{
    struct trace_line line = {.text = dst};

    dst[0] = '\0';
    add_to_line(&line, "%s", t->address);
    if (t->number > 0)
        add_to_line(&line, " #%llu", (unsigned long long)t->number);
    add_event(&line, t);
    return dst;
}
