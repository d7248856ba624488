/* One check of a server: sends the request, judges the reply, prints the row, and deletes the key.
 *
 * One connection is used for many checks, until one of them makes it unusable: the server closes
 * it, or a reply deviates, and later bytes might still belong to that reply. */
/* Tests: tests/test_tools_resp_check.c, tests/live/cli/test_resp_check.c. */
#include "tools/resp/try.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/report.h"
#include "tools/resp/request.h"
#include "tools/resp/row.h"

/* Requests and replies of CLI_PROBE_THOUSAND; its numbers have four digits. */
#define THOUSAND 1000

/* ---- text in memory ---- */

/* What a check sends, expects or gets. */
struct text {
    char *ptr;
    size_t len;
    FILE *out;
};

static bool text_open(struct text *t)
{
    *t = (struct text){0};
    t->out = open_memstream(&t->ptr, &t->len);
    return t->out != NULL;
}

/* Ends the text: ptr and len are valid then. */
static bool text_close(struct text *t)
{
    bool is_whole = t->out && fclose(t->out) == 0;

    t->out = NULL;
    return is_whole;
}

static void text_free(struct text *t)
{
    if (t->out)
        (void)fclose(t->out);
    free(t->ptr);
    *t = (struct text){0};
}

/* ---- requests ---- */

bool cli_try_words(struct cli_try *c, const char *line,
                   struct cli_answer *answer)
{
    const struct cli_terms terms = {.key = c->key,
                                    .protocol = c->talk.protocol};
    struct text request;

    if (!text_open(&request))
        return false;
    cli_request_put(request.out, line, strlen(line), &terms);
    if (text_close(&request))
        cli_talk_exchange(&c->talk, request.ptr, request.len, CLI_TALK, answer);
    else
        *answer = (struct cli_answer){.end = CLI_SILENT};
    text_free(&request);
    return answer->end == CLI_WHOLE;
}

int cli_try_open(struct cli_try *c, int protocol, char **refused)
{
    struct hf_error err = {0};
    hf_status status;

    if (c->talk.wire)
        return CLI_CONTINUE;
    status = cli_talk_open(&c->talk, &c->server, protocol,
                           c->url.connect_timeout_ms, &err);
    if (status == HF_OK)
        return CLI_CONTINUE;
    if (status == HF_E_SERVER && refused && (*refused = strdup(err.text)))
        return CLI_EXIT_ERROR; /* reported in a row */
    return cli_fail_status(status, &err);
}

/* ---- one check ---- */

const char *cli_try_expects(const struct cli_probe *p, int protocol)
{
    if (p->both)
        return p->both;
    return protocol == 3 ? p->resp3 : p->resp2;
}

/* Writes the lines of `text` with the words of this check replaced, a thousand times if
 * the check requires it. */
static void put_request(FILE *out, const struct cli_probe *p, const char *text,
                        size_t len, struct cli_terms *terms)
{
    int times = p->flags & CLI_PROBE_THOUSAND ? THOUSAND : 1;

    if (p->flags & CLI_PROBE_RAW) {
        (void)fwrite(text, 1, len, out);
        return;
    }
    for (int i = 0; i < times; i++) {
        terms->number = THOUSAND + i;
        cli_request_put(out, text, len, terms);
    }
}

static bool expect(struct text *t, const struct cli_probe *p, const char *text,
                   struct cli_terms *terms)
{
    int times = p->flags & CLI_PROBE_THOUSAND ? THOUSAND : 1;

    if (!text_open(t))
        return false;
    for (int i = 0; i < times; i++) {
        terms->number = THOUSAND + i;
        (void)fputs(i ? " / " : "", t->out);
        cli_expected_put(t->out, text, terms);
    }
    return text_close(t);
}

static enum cli_how how_of(const struct cli_probe *p)
{
    if (p->flags & CLI_PROBE_ENDS)
        return CLI_TALK_LAST;
    return p->flags & CLI_PROBE_CUT ? CLI_TALK_CUT : CLI_TALK;
}

/* Sends the lines of `text`, and adds the answer to `came`. */
static void send_lines(struct cli_try *c, const struct cli_probe *p,
                       const char *text, size_t len, FILE *came,
                       struct cli_answer *answer)
{
    struct cli_terms terms = {c->key, c->talk.protocol, c->talk.id, 0};
    struct text request;

    answer->end = CLI_SILENT; /* if there is no memory */
    if (!text_open(&request))
        return;
    put_request(request.out, p, text, len, &terms);
    if (text_close(&request)) {
        cli_talk_exchange(&c->talk, request.ptr, request.len, how_of(p), answer);
        if (answer->len > 0)
            (void)fwrite(answer->bytes, 1, answer->len, came);
    }
    text_free(&request);
}

/* Sends a command over the second connection. If its answer is an error, that
 * is the check's answer. */
static void send_as_second(struct cli_try *c, const char *line, size_t len,
                           FILE *came)
{
    struct cli_terms terms = {c->key, c->talk.protocol, c->talk.id, 0};
    struct cli_answer answer = {.end = CLI_SILENT};
    struct text request;

    if (!text_open(&request))
        return;
    cli_request_put(request.out, line, len, &terms);
    if (text_close(&request))
        cli_talk_exchange(&c->second, request.ptr, request.len, CLI_TALK, &answer);
    if (answer.end == CLI_WHOLE && answer.len > 0 && *answer.bytes == '-')
        (void)fwrite(answer.bytes, 1, answer.len, came);
    text_free(&request);
}

/* Sends the line at `text`, "& ..."; returns the text after it. If the second
 * connection fails, the check misses its effect. */
static const char *send_second(struct cli_try *c, const char *text, FILE *came)
{
    const char *line = text + strlen("& ");
    size_t len = strcspn(line, "\n");
    bool is_open = c->second.wire != NULL;

    if (!is_open)
        is_open = cli_talk_open(&c->second, &c->server, c->talk.protocol,
                                c->url.connect_timeout_ms, NULL) == HF_OK;
    if (is_open)
        send_as_second(c, line, len, came);
    return line + len + (line[len] == '\n');
}

/* Bytes of `text` up to the next line of the second connection. */
static size_t lines_of_ours(const char *text)
{
    const char *at = strstr(text, "\n& ");

    if (strncmp(text, "& ", 2) == 0)
        return 0;
    return at ? (size_t)(at - text) + 1 : strlen(text);
}

/* Gathers all that comes for the request of a check. */
static bool gather(struct cli_try *c, const struct cli_probe *p,
                   struct text *came, struct cli_answer *answer)
{
    const char *at = p->request;

    if (!text_open(came))
        return false;
    *answer = (struct cli_answer){.end = CLI_WHOLE};
    while (*at && answer->end == CLI_WHOLE) {
        size_t len = lines_of_ours(at);

        if (len > 0)
            send_lines(c, p, at, len, came->out, answer);
        at += len;
        if (*at == '&')
            at = send_second(c, at, came->out);
    }
    cli_talk_close(&c->second);
    if (!text_close(came))
        return false;
    answer->bytes = came->ptr;
    answer->len = came->len;
    return true;
}

void cli_try_count(struct cli_try *c, const struct cli_row *row)
{
    c->count[row->verdict]++;
    cli_row_print(c->common, row);
}

/* Judges and prints. Can the connection be used again? */
static bool judge(struct cli_try *c, const struct cli_probe *p, int protocol,
                  const struct cli_answer *answer,
                  const struct cli_expectation *e)
{
    const unsigned spoils =
        CLI_PROBE_ENDS | CLI_PROBE_FRESH | CLI_PROBE_SWITCHES;
    struct cli_row row = {protocol,     p->rule,     p->name,
                          CLI_DEVIATES, e->expected, "out of memory"};
    char *came;

    row.verdict = cli_judge(answer, e, &came);
    if (came)
        row.came = came;
    cli_try_count(c, &row);
    free(came);
    return answer->end == CLI_WHOLE && row.verdict != CLI_DEVIATES &&
           !(p->flags & spoils);
}

/* CLI_CONTINUE, or reported. */
static int open_for(struct cli_try *c, const struct cli_probe *p, int protocol)
{
    struct hf_error err = {0};
    hf_status status;

    if (!(p->flags & CLI_PROBE_FRESH))
        return cli_try_open(c, protocol, NULL);
    cli_talk_close(&c->talk);
    status = cli_talk_open_bare(&c->talk, &c->server,
                                c->url.connect_timeout_ms, &err);
    return status == HF_OK ? CLI_CONTINUE : cli_fail_status(status, &err);
}

static int try_open(struct cli_try *c, const struct cli_probe *p, int protocol)
{
    struct cli_terms terms = {.key = c->key, .protocol = protocol};
    struct text came = {0}, expected = {0};
    struct cli_answer answer;
    int rc = CLI_CONTINUE;

    if (gather(c, p, &came, &answer) &&
        expect(&expected, p, cli_try_expects(p, protocol), &terms)) {
        struct cli_expectation e = {expected.ptr, p->absent,
                                    p->flags & CLI_PROBE_SWITCHES ? 3
                                                                  : protocol};

        if (!judge(c, p, protocol, &answer, &e))
            cli_talk_close(&c->talk);
    } else {
        rc = cli_fail("out of memory");
    }
    text_free(&came);
    text_free(&expected);
    return rc;
}

/* Tries again on a new connection, in case a check's remains confuse this one.
 * CLI_CONTINUE, or reported. */
static int delete_key(struct cli_try *c, int protocol)
{
    struct cli_answer answer;
    int rc;

    for (int i = 0; i < 2; i++) {
        rc = cli_try_open(c, protocol, NULL);
        if (rc != CLI_CONTINUE || cli_try_words(c, "DEL KEY", &answer))
            return rc;
        cli_talk_close(&c->talk);
    }
    return cli_fail("the server no longer replies; the key %s may remain",
                    c->key);
}

int cli_try_probe(struct cli_try *c, const struct cli_probe *p, int protocol)
{
    int rc = open_for(c, p, protocol);

    if (rc == CLI_CONTINUE)
        rc = try_open(c, p, protocol);
    if (rc == CLI_CONTINUE && strstr(p->request, "KEY"))
        rc = delete_key(c, protocol);
    return rc;
}
