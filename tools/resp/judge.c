/* Judges whether an answer is the expected one. */
/* Tests: tests/test_tools_resp_check.c. */
#include "tools/resp/judge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/resp/decode.h"
#include "tools/resp/line.h"

/* ---- bytes to lines ---- */

/* Decodes by `step` bytes at a time. Returns the lines, for free(), or NULL. */
static char *to_lines(const struct cli_answer *answer, int protocol,
                      cli_print *print, size_t step,
                      struct cli_decode_error *error)
{
    struct cli_decoder d;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return NULL;
    cli_decoder_init(&d, protocol, print, out);
    for (size_t i = 0; i < answer->len; i += step)
        (void)cli_decoder_feed(&d, answer->bytes + i,
                               answer->len - i < step ? answer->len - i : step);
    error->status = HF_OK;
    (void)cli_decoder_end(&d, error); /* HF_OK leaves it so */
    if (error->status != HF_OK && error->status != HF_RESP_MORE)
        (void)fprintf(out, "byte %" PRIu64 ": expected %s\n", error->offset,
                      error->expected);
    error->found = NULL; /* is freed with the decoder */
    cli_decoder_fini(&d);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Appends `more` to the lines. Without memory it frees them and returns
 * NULL. */
static char *append_lines(char *lines, const char *more)
{
    char *longer =
        lines ? realloc(lines, strlen(lines) + strlen(more) + 1) : NULL;

    if (longer)
        return strcat(longer, more);
    free(lines);
    return NULL;
}

static char *add_end(char *lines, const struct cli_answer *answer,
                     const struct cli_decode_error *error)
{
    static const char *const ends[] = {
        [CLI_WHOLE] = "",
        [CLI_ENDED] = "end of stream\n",
        [CLI_SILENT] = "nothing more in time\n",
    };

    if (error->status == HF_RESP_MORE)
        lines = append_lines(lines, "a reply that is cut short\n");
    return append_lines(lines, ends[answer->end]);
}

/* ---- lines and patterns ---- */

/* Returns the text up to a separator, and sets the text after it, or NULL. */
struct piece {
    const char *at;
    size_t len;
    const char *rest;
};

static struct piece cut_at(const char *text, const char *end,
                           const char *separator)
{
    size_t len = strlen(separator);
    const char *at = memmem(text, (size_t)(end - text), separator, len);

    if (!at)
        return (struct piece){text, (size_t)(end - text), NULL};
    return (struct piece){text, (size_t)(at - text), at + len};
}

#define ANYTHING "..."

/* The parts before the first "..." and after the last must match at the ends; each part
 * in between is searched from the left. */
bool cli_matches(const char *pattern, size_t pattern_len, const char *line,
                 size_t len)
{
    const char *end = pattern + pattern_len;
    struct piece p = cut_at(pattern, end, ANYTHING);

    if (!p.rest)
        return len == p.len && memcmp(line, p.at, len) == 0;
    if (len < p.len || memcmp(line, p.at, p.len) != 0)
        return false;
    for (;;) {
        const char *found;

        line += p.len;
        len -= p.len;
        p = cut_at(p.rest, end, ANYTHING);
        if (!p.rest)
            return len >= p.len && memcmp(line + len - p.len, p.at, p.len) == 0;
        found = memmem(line, len, p.at, p.len);
        if (!found)
            return false;
        len -= (size_t)(found - line);
        line = found;
    }
}

/* Compares with one alternative, reply by reply. */
static bool all_match(const char *pattern, const char *end, const char *lines)
{
    const char *lines_end = lines + strlen(lines);
    struct piece want = {.rest = pattern};

    while (want.rest && lines < lines_end) {
        struct piece line = cut_at(lines, lines_end, "\n");

        want = cut_at(want.rest, end, " / ");
        if (!cli_matches(want.at, want.len, line.at, line.len))
            return false;
        lines = line.rest ? line.rest : lines_end;
    }
    return !want.rest && lines == lines_end;
}

static bool is_as(const char *expected, const char *lines)
{
    const char *end = expected ? expected + strlen(expected) : NULL;
    struct piece p = {.rest = expected};

    while (p.rest) {
        p = cut_at(p.rest, end, " or ");
        if (all_match(p.at, p.at + p.len, lines))
            return true;
    }
    return false;
}

/* ---- the verdict ---- */

/* Errors that say nothing about the protocol: the server lacks the command,
 * forbids it, or cannot run it now. */
static bool is_refusal(const char *line)
{
    static const char *const codes[] = {
        "-ERR ",       "-NOPERM ",     "-NOAUTH ",    "-MOVED ",
        "-ASK ",       "-CLUSTERDOWN", "-CROSSSLOT ", "-READONLY ",
        "-MISCONF ",   "-OOM ",        "-LOADING",    "-BUSY ",
        "-MASTERDOWN", "-NOREPLICAS",  "-EXECABORT ", "-NOPROTO ",
        "-DENIED "};

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strncmp(line, codes[i], strlen(codes[i])) == 0)
            return true;
    return false;
}

static bool holds_refusal(const char *lines)
{
    for (; lines; lines = strchr(lines, '\n')) {
        lines += *lines == '\n';
        if (is_refusal(lines))
            return true;
    }
    return false;
}

/* Joins the lines with " / " and frees them (NULL is allowed). NULL: no memory. */
static char *join(char *lines)
{
    size_t len;
    char *text = NULL;
    FILE *out = lines ? open_memstream(&text, &len) : NULL;

    if (!out) {
        free(lines);
        return NULL;
    }
    for (const char *at = lines; *at; at++) {
        if (*at != '\n')
            (void)fputc(*at, out);
        else if (at[1])
            (void)fputs(" / ", out);
    }
    free(lines);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static enum cli_verdict decide(const struct cli_answer *answer,
                               const struct cli_expectation *e,
                               const char *lines, bool is_broken)
{
    if (is_as(e->expected, lines))
        return CLI_CONFORMS;
    if (is_broken || answer->end == CLI_SILENT)
        return CLI_DEVIATES;
    if (is_as(e->absent, lines) || holds_refusal(lines))
        return CLI_NOT_OFFERED;
    return CLI_DEVIATES;
}

/* The parser reads the bytes as something else. */
static char *two_readings(char *sent, const char *read)
{
    return join(append_lines(append_lines(sent, "the parser reads: "), read));
}

enum cli_verdict cli_judge(const struct cli_answer *answer,
                           const struct cli_expectation *e, char **came)
{
    enum cli_verdict verdict = CLI_DEVIATES;
    struct cli_decode_error error, ignored;
    size_t len = answer->len ? answer->len : 1;
    char *sent = to_lines(answer, e->protocol, cli_print_sent, len, &error);
    char *read = to_lines(answer, e->protocol, cli_print_read, 1, &ignored);

    if (sent && read && strcmp(sent, read) == 0) {
        sent = add_end(sent, answer, &error);
        if (sent)
            verdict = decide(answer, e, sent, error.status != HF_OK);
        *came = join(sent);
    } else {
        *came = two_readings(sent, read ? read : "");
    }
    free(read);
    return verdict;
}

bool cli_answer_begins(const struct cli_answer *answer, const char *text)
{
    size_t len = strlen(text);

    return answer->len >= len && memcmp(answer->bytes, text, len) == 0;
}
