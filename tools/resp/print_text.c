/* Replies for a person: a line for each value. */
/* Tests: tests/test_tools_resp.c. */
#include <inttypes.h>
#include <string.h>

#include "tools/resp/print.h"

/* Ten digits: offsets up to 10 GB are in one column. */
#define OFFSET_WIDTH 10
#define INDENT 2

/* ---- bytes ---- */

static bool is_plain(unsigned char c)
{
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

static void put_escape(FILE *out, unsigned char c)
{
    static const char special[] = "\r\n\t\\\"", letters[] = "rnt\\\"";
    const char *at = c ? strchr(special, c) : NULL;

    if (at)
        (void)fprintf(out, "\\%c", letters[at - special]);
    else
        (void)fprintf(out, "\\x%02x", c);
}

void cli_print_escaped(FILE *out, const char *ptr, size_t len)
{
    for (size_t i = 0, run; i < len; i += run + 1) {
        for (run = 0; i + run < len && is_plain((unsigned char)ptr[i + run]);)
            run++;
        (void)fwrite(ptr + i, 1, run, out);
        if (i + run < len)
            put_escape(out, (unsigned char)ptr[i + run]);
    }
}

static void put_quoted(FILE *out, const char *ptr, size_t len)
{
    (void)fputs(" \"", out);
    cli_print_escaped(out, ptr, len);
    (void)fputc('"', out);
}

/* ---- values ---- */

/* " of 3", " of 2 pairs, streamed" */
static void put_count(FILE *out, const struct hf_resp_node *node)
{
    uint32_t per = cli_is_paired(node) ? 2 : 1;
    uint32_t count = node->as.children.count / per;

    (void)fprintf(out, " of %" PRIu32, count);
    if (per == 2)
        (void)fputs(count == 1 ? " pair" : " pairs", out);
    if (node->type == HF_RESP_STREAM)
        (void)fputs(count == 1 ? " chunk" : " chunks", out);
    else if (node->flag)
        (void)fputs(", streamed", out);
    if (node->type == HF_RESP_ATTRIBUTE)
        (void)fputs(", of the next value", out);
}

/* The format of a verbatim string is printed separately. */
static void put_bytes(FILE *out, const struct hf_resp_node *node,
                      const char *ptr)
{
    size_t skip = 0;

    if (node->type == HF_RESP_VERBATIM) {
        put_quoted(out, ptr, HF_RESP_FORMAT_LEN);
        skip = HF_RESP_FORMAT_LEN + 1; /* and the colon */
    }
    put_quoted(out, ptr + skip, node->as.bytes.length - skip);
}

/* Prints the value after the name of its type. */
static void put_value(FILE *out, const struct cli_reply *reply,
                      const struct cli_place *place)
{
    const struct hf_resp_node *node = place->node;

    switch (node->type) {
    case HF_RESP_INTEGER:
        (void)fprintf(out, " %" PRId64, node->as.integer);
        return;
    case HF_RESP_BOOLEAN:
        (void)fputs(node->flag ? " true" : " false", out);
        return;
    case HF_RESP_NULL:
        if (reply->buf[place->at] != '_')
            (void)fprintf(out, " (%c-1)", reply->buf[place->at]);
        return;
    case HF_RESP_DOUBLE:
    case HF_RESP_BIG: /* of a grammar without surprises */
        (void)fprintf(out, " %.*s", (int)node->as.bytes.length,
                      reply->buf + node->as.bytes.offset);
        return;
    }
    put_bytes(out, node, reply->buf + node->as.bytes.offset);
}

static void put_line(FILE *out, const struct cli_reply *reply,
                     const struct cli_place *place)
{
    bool is_attribute = place->node->type == HF_RESP_ATTRIBUTE;

    (void)fprintf(out, "%*" PRIu64 "  %*s", OFFSET_WIDTH, place->offset,
                  (int)place->depth * INDENT, "");
    if (place->role == CLI_VALUE_OF_KEY && !is_attribute)
        (void)fputs("=> ", out);
    (void)fputs(cli_type_name(place->node), out);
    if (cli_has_children(place->node))
        put_count(out, place->node);
    else
        put_value(out, reply, place);
    (void)fputc('\n', out);
}

void cli_print_text(FILE *out, const struct cli_reply *reply)
{
    struct cli_walk walk;
    struct cli_place place;
    enum cli_walk_step step;

    cli_walk_start(&walk, reply);
    while ((step = cli_walk_next(&walk, &place)) != CLI_AT_END)
        if (step == CLI_AT_VALUE)
            put_line(out, reply, &place);
}
