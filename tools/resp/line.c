/* Replies as one line each, close to the wire. */
/* Tests: tests/test_tools_resp.c. */
#include "tools/resp/line.h"

#include <inttypes.h>
#include <string.h>

static void put_byte(FILE *out, unsigned char c)
{
    if (c >= ' ' && c <= '~')
        (void)fputc(c, out);
    else
        (void)fprintf(out, "\\x%02x", c);
}

static void put_bytes(FILE *out, const char *ptr, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (len - i < 2 || memcmp(ptr + i, "\r\n", 2) != 0) {
            put_byte(out, (unsigned char)ptr[i]);
            continue;
        }
        (void)fputc(' ', out);
        i++; /* also the LF */
    }
}

void cli_print_sent(FILE *out, const struct cli_reply *reply)
{
    put_bytes(out, reply->buf + reply->begin, reply->len - reply->begin - 2);
    (void)fputc('\n', out);
}

/* ---- from the tape ---- */

static char type_byte(const struct hf_resp_node *node)
{
    static const char bytes[] = {
        [HF_RESP_SIMPLE] = '+',     [HF_RESP_ERROR] = '-',
        [HF_RESP_INTEGER] = ':',    [HF_RESP_BULK] = '$',
        [HF_RESP_STREAM] = '$',     [HF_RESP_CHUNK] = ';',
        [HF_RESP_NULL] = '_',       [HF_RESP_BOOLEAN] = '#',
        [HF_RESP_DOUBLE] = ',',     [HF_RESP_BIG] = '(',
        [HF_RESP_BULK_ERROR] = '!', [HF_RESP_VERBATIM] = '=',
        [HF_RESP_ARRAY] = '*',      [HF_RESP_SET] = '~',
        [HF_RESP_MAP] = '%',        [HF_RESP_PUSH] = '>',
        [HF_RESP_ATTRIBUTE] = '|',
    };

    return bytes[node->type];
}

/* The tape does not have the form of a null, which has no meaning. */
static void put_null(FILE *out, char form)
{
    (void)fputc(form, out);
    if (form != '_')
        (void)fputs("-1", out);
}

static void put_header(FILE *out, const struct hf_resp_node *node)
{
    uint32_t per = cli_is_paired(node) ? 2 : 1;

    (void)fputc(type_byte(node), out);
    if (node->flag)
        (void)fputc('?', out);
    else
        (void)fprintf(out, "%" PRIu32, node->as.children.count / per);
}

static void put_text(FILE *out, const struct hf_resp_node *node,
                     const char *ptr)
{
    bool is_line = node->type == HF_RESP_SIMPLE ||
                   node->type == HF_RESP_ERROR ||
                   node->type == HF_RESP_DOUBLE || node->type == HF_RESP_BIG;

    (void)fputc(type_byte(node), out);
    if (!is_line)
        (void)fprintf(out, "%" PRIu32 " ", node->as.bytes.length);
    put_bytes(out, ptr, node->as.bytes.length);
}

static void put_node(FILE *out, const struct cli_reply *reply,
                     const struct cli_place *place)
{
    const struct hf_resp_node *node = place->node;

    if (cli_has_children(node))
        put_header(out, node);
    else if (node->type == HF_RESP_NULL)
        put_null(out, reply->buf[place->at]);
    else if (node->type == HF_RESP_INTEGER)
        (void)fprintf(out, ":%" PRId64, node->as.integer);
    else if (node->type == HF_RESP_BOOLEAN)
        (void)fputs(node->flag ? "#t" : "#f", out);
    else
        put_text(out, node, reply->buf + node->as.bytes.offset);
}

void cli_print_read(FILE *out, const struct cli_reply *reply)
{
    const char *separator = "";
    struct cli_walk walk;
    struct cli_place place;
    enum cli_walk_step step;

    cli_walk_start(&walk, reply);
    while ((step = cli_walk_next(&walk, &place)) != CLI_AT_END) {
        if (step == CLI_AT_CLOSE && !place.node->flag)
            continue;
        (void)fputs(separator, out);
        separator = " ";
        if (step == CLI_AT_VALUE)
            put_node(out, reply, &place);
        else
            (void)fputs(place.node->type == HF_RESP_STREAM ? ";0" : ".", out);
    }
    (void)fputc('\n', out);
}
