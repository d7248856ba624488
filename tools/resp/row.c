/* What `holdfast-resp check` prints. */
/* Tests: tests/live/cli/test_resp_check.c. */
#include "tools/resp/row.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/json.h"
#include "net/base/utf8.h"

/* The most bytes of an answer: in a row, what a wide terminal shows; of a
 * deviation, what a person can read; for a program, more than most answers
 * have. */
#define ROW_MAX 60
#define DEVIATION_MAX 600
#define JSON_MAX 4000

/* Width of the names: the longest fits. */
#define NAME_WIDTH 36

static const char *verdict_text(enum cli_verdict verdict)
{
    static const char *const texts[] = {
        [CLI_CONFORMS] = "ok",
        [CLI_DEVIATES] = "deviates",
        [CLI_NOT_OFFERED] = "not offered",
    };

    return texts[verdict];
}

/* ---- JSON ---- */

/* At most `max` bytes, and no half characters. */
static int cut_len(const char *text, size_t max)
{
    return (int)hf_utf8_complete_len(text, strnlen(text, max));
}

/* Adds a text that may be cut. */
static void put_cut(struct cli_json *j, const char *key, const char *text)
{
    char cut[JSON_MAX + sizeof "..."];
    const char *dots = strlen(text) > JSON_MAX ? "..." : "";

    (void)snprintf(cut, sizeof cut, "%.*s%s", cut_len(text, JSON_MAX), text,
                   dots);
    cli_json_text(j, key, cut);
}

static void print_json(const struct cli_row *row)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_text(&j, "name", row->name);
    cli_json_integer(&j, "protocol", row->protocol);
    cli_json_text(&j, "rule", row->rule);
    cli_json_text(&j, "verdict", verdict_text(row->verdict));
    put_cut(&j, "expected", row->expected);
    put_cut(&j, "came", row->came);
    (void)cli_json_print(&j); /* main looks at the errors */
}

static void print_summary_json(const struct cli_summary *s)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_text(&j, "server", s->server);
    cli_json_text(&j, "version", s->version);
    cli_json_text(&j, "address", s->address);
    cli_json_integer(&j, "ok", s->count[CLI_CONFORMS]);
    cli_json_integer(&j, "deviates", s->count[CLI_DEVIATES]);
    cli_json_integer(&j, "not_offered", s->count[CLI_NOT_OFFERED]);
    (void)cli_json_print(&j); /* main looks at the errors */
}

/* ---- text ---- */

static void put_text(const char *text, size_t max)
{
    const char *dots = strlen(text) > max ? "..." : "";

    (void)printf("%.*s%s", cut_len(text, max), text, dots);
}

static void print_text(const struct cli_row *row)
{
    bool deviates = row->verdict == CLI_DEVIATES;

    (void)printf("%-4d  %-4s  %-11s  %-*s  ", row->protocol, row->rule,
                 verdict_text(row->verdict), NAME_WIDTH, row->name);
    put_text(row->came, deviates ? DEVIATION_MAX : ROW_MAX);
    (void)putchar('\n');
    if (!deviates)
        return;
    (void)printf("%*sexpected  ", 4 + 2 + 4 + 2 + 11 + 2 + NAME_WIDTH - 8, "");
    put_text(row->expected, DEVIATION_MAX);
    (void)putchar('\n');
}

void cli_row_print_head(const struct cli_common *common)
{
    if (!common->is_json && !common->is_quiet)
        (void)printf("%-4s  %-4s  %-11s  %-*s  %s\n", "RESP", "rule", "verdict",
                     NAME_WIDTH, "check", "reply");
}

/* Flushes each line, because a check may take seconds. */
void cli_row_print(const struct cli_common *common, const struct cli_row *row)
{
    if (common->is_json)
        print_json(row);
    else if (!common->is_quiet)
        print_text(row);
    (void)fflush(stdout); /* main looks at the errors */
}

void cli_row_print_summary(const struct cli_common *common,
                           const struct cli_summary *s)
{
    if (common->is_json)
        print_summary_json(s);
    else if (!common->is_quiet)
        (void)printf("\n%s %s at %s: %u ok, %u %s, %u not offered\n", s->server,
                     s->version, s->address, s->count[CLI_CONFORMS],
                     s->count[CLI_DEVIATES],
                     s->count[CLI_DEVIATES] == 1 ? "deviates" : "deviate",
                     s->count[CLI_NOT_OFFERED]);
}
