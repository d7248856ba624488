/* Replies for a program: a line of JSON for each. Source: RFC 8259. */
/* Tests: tests/test_tools_resp.c. */
#include <inttypes.h>
#include <string.h>

#include "tools/resp/print.h"
#include "net/base/utf8.h"
#include "net/net.h"

/* ---- bytes ---- */

static bool is_plain(unsigned char c)
{
    return c >= ' ' && c < 127 && c != '"' && c != '\\';
}

static size_t plain_run(const char *ptr, size_t len)
{
    size_t run = 0;

    while (run < len && is_plain((unsigned char)ptr[run]))
        run++;
    return run;
}

/* Puts the character or stray byte at `ptr`, which is not plain; returns its
 * length. `is_escaped`: stray bytes and backslashes are spelled out. */
static size_t put_odd(FILE *out, const char *ptr, size_t len, bool is_escaped)
{
    unsigned char c = (unsigned char)*ptr;
    uint32_t code;
    size_t step = hf_utf8_read(&code, ptr, len);

    if (step == 0)
        (void)fprintf(out, "\\\\x%02x", c);
    else if (step > 1 && hf_utf8_is_printable(code))
        (void)fwrite(ptr, 1, step, out);
    else if (c == '\\')
        (void)fputs(is_escaped ? "\\\\\\\\" : "\\\\", out);
    else if (c == '"')
        (void)fputs("\\\"", out);
    else
        (void)fprintf(out, "\\u%04x", (unsigned)code); /* below U+10000 */
    return step ? step : 1;
}

static void put_string(FILE *out, const char *ptr, size_t len, bool is_escaped)
{
    (void)fputc('"', out);
    for (size_t i = 0; i < len;) {
        size_t run = plain_run(ptr + i, len - i);

        (void)fwrite(ptr + i, 1, run, out);
        i += run;
        if (i < len)
            i += put_odd(out, ptr + i, len - i, is_escaped);
    }
    (void)fputc('"', out);
}

static void put_bytes(FILE *out, const char *ptr, size_t len)
{
    bool is_escaped = !hf_utf8_ok(ptr, len);

    (void)fputs(is_escaped ? ",\"escaped\":true,\"value\":" : ",\"value\":",
                out);
    put_string(out, ptr, len, is_escaped);
}

/* ---- scalars ---- */

static void put_verbatim(FILE *out, const char *ptr, size_t len)
{
    const char *text = ptr + HF_RESP_FORMAT_LEN + 1;
    size_t text_len = len - HF_RESP_FORMAT_LEN - 1;
    bool is_escaped =
        !hf_utf8_ok(ptr, HF_RESP_FORMAT_LEN) || !hf_utf8_ok(text, text_len);

    if (is_escaped)
        (void)fputs(",\"escaped\":true", out);
    (void)fputs(",\"format\":", out);
    put_string(out, ptr, HF_RESP_FORMAT_LEN, is_escaped);
    (void)fputs(",\"value\":", out);
    put_string(out, text, text_len, is_escaped);
}

/* As sent; but JSON has no plus sign, no leading zeros, and only finite numbers. */
static void put_double(FILE *out, const char *at, size_t len)
{
    const char *end = at + len;
    bool is_negative = *at == '-';

    if (*at == '-' || *at == '+')
        at++;
    if (*at == 'i') {
        (void)fputs(is_negative ? "\"-inf\"" : "\"inf\"", out);
    } else if (*at == 'n' || *at == 'N') {
        (void)fputs("\"nan\"", out);
    } else {
        while (*at == '0' && end - at > 1 && at[1] >= '0' && at[1] <= '9')
            at++;
        (void)fprintf(out, "%s%.*s", is_negative ? "-" : "", (int)(end - at),
                      at);
    }
}

static void put_text(FILE *out, const struct hf_resp_node *node,
                     const char *ptr)
{
    if (node->type == HF_RESP_DOUBLE) {
        (void)fputs(",\"value\":", out);
        put_double(out, ptr, node->as.bytes.length);
    } else if (node->type == HF_RESP_VERBATIM) {
        put_verbatim(out, ptr, node->as.bytes.length);
    } else {
        put_bytes(out, ptr, node->as.bytes.length);
    }
}

static void put_scalar(FILE *out, const struct cli_reply *reply,
                       const struct cli_place *place)
{
    const struct hf_resp_node *node = place->node;
    char type_byte = reply->buf[place->at];

    switch (node->type) {
    case HF_RESP_INTEGER:
        (void)fprintf(out, ",\"value\":%" PRId64, node->as.integer);
        return;
    case HF_RESP_BOOLEAN:
        (void)fprintf(out, ",\"value\":%s", node->flag ? "true" : "false");
        return;
    case HF_RESP_NULL:
        (void)fprintf(out, ",\"form\":\"%c%s\",\"value\":null", type_byte,
                      type_byte == '_' ? "" : "-1");
        return;
    }
    put_text(out, node, reply->buf + node->as.bytes.offset);
}

/* ---- aggregates ---- */

/* Puts what separates a value (or its first attribute) from the one before. */
static void put_separator(FILE *out, const struct cli_place *place)
{
    if (place->index > 0)
        (void)fputc(',', out);
    if (place->role == CLI_KEY)
        (void)fputc('[', out);
}

static void put_end(FILE *out, const struct cli_place *place)
{
    bool is_attribute = place->node->type == HF_RESP_ATTRIBUTE;

    (void)fputc('}', out);
    if (place->role == CLI_VALUE_OF_KEY && !is_attribute)
        (void)fputc(']', out);
}

/* Attributes are the first member of the object that they belong to. */
static void put_beginning(FILE *out, const struct cli_place *place)
{
    bool is_attribute = place->node->type == HF_RESP_ATTRIBUTE;

    if (!place->is_attributed) {
        put_separator(out, place);
        (void)fputs(is_attribute ? "{\"attributes\":[{" : "{", out);
    } else {
        (void)fputs(is_attribute ? ",{" : "],", out);
    }
    (void)fprintf(out, "\"offset\":%" PRIu64 ",\"type\":\"%s\"", place->offset,
                  cli_type_name(place->node));
}

static void put_value(FILE *out, const struct cli_reply *reply,
                      const struct cli_place *place)
{
    put_beginning(out, place);
    if (!cli_has_children(place->node)) {
        put_scalar(out, reply, place);
        put_end(out, place);
        return;
    }
    if (place->node->flag && place->node->type != HF_RESP_STREAM)
        (void)fputs(",\"streamed\":true", out);
    (void)fputs(",\"value\":[", out);
}

void cli_print_json(FILE *out, const struct cli_reply *reply)
{
    struct cli_walk walk;
    struct cli_place place;
    enum cli_walk_step step;

    cli_walk_start(&walk, reply);
    while ((step = cli_walk_next(&walk, &place)) != CLI_AT_END) {
        if (step == CLI_AT_VALUE) {
            put_value(out, reply, &place);
            continue;
        }
        (void)fputc(']', out);
        put_end(out, &place);
    }
    (void)fputc('\n', out);
}
