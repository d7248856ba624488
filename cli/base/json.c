/* One JSON object on one line. Source: RFC 8259, sections 7 and 8.1. */
/* Tests: tests/test_cli_json.c. */
#include "cli/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/report.h"
#include "net/base/utf8.h"
#include "net/net.h"

/* ---- the line ---- */

/* Most lines are shorter than this. */
#define ROOM_MIN 256

static bool grow_text(struct cli_json *j, size_t more)
{
    size_t room = j->capacity ? j->capacity : ROOM_MIN;
    char *text;

    while (room - j->len < more)
        room *= 2; /* text comes from a command line: far from overflow */
    if (room == j->capacity)
        return true;
    text = realloc(j->text, room);
    if (!text)
        return false;
    j->text = text;
    j->capacity = room;
    return true;
}

static void put_bytes(struct cli_json *j, const char *ptr, size_t len)
{
    if (j->is_out_of_memory || !grow_text(j, len)) {
        j->is_out_of_memory = true;
        return;
    }
    memcpy(j->text + j->len, ptr, len);
    j->len += len;
}

void cli_json_init(struct cli_json *j)
{
    *j = (struct cli_json){0};
    put_bytes(j, "{", 1);
}

const char *cli_json_end(struct cli_json *j)
{
    put_bytes(j, "}\n", 3);
    if (j->is_out_of_memory)
        return NULL;
    j->len--; /* the NUL */
    return j->text;
}

void cli_json_fini(struct cli_json *j)
{
    free(j->text);
    *j = (struct cli_json){0};
}

int cli_json_print(struct cli_json *j)
{
    const char *line = cli_json_end(j);

    if (line)
        (void)fputs(line, stdout);
    cli_json_fini(j);
    return line ? CLI_CONTINUE : cli_fail("out of memory");
}

static void put_key(struct cli_json *j, const char *key)
{
    if (j->len > 1)
        put_bytes(j, ",", 1);
    put_bytes(j, "\"", 1);
    put_bytes(j, key, strlen(key));
    put_bytes(j, "\":", 2);
}

/* ---- text ---- */

/* No character above U+FFFF is one that a terminal obeys. */
static void put_escape(struct cli_json *j, uint32_t code)
{
    char escape[sizeof "\\uXXXX"];

    (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)code & 0xffff);
    put_bytes(j, escape, sizeof escape - 1);
}

/* Puts the character or stray byte at p; returns its length. */
static size_t put_character(struct cli_json *j, const char *p, size_t len)
{
    uint32_t code;
    size_t step = hf_utf8_read(&code, p, len);

    if (step == 0 || !hf_utf8_is_printable(code)) {
        put_escape(j, step ? code : 0xfffd); /* a stray byte */
        return step ? step : 1;
    }
    if (code == '"' || code == '\\')
        put_bytes(j, "\\", 1);
    put_bytes(j, p, step);
    return step;
}

/* Likewise, where a stray byte, and each backslash, is spelled out. */
static size_t put_character_spelled_out(struct cli_json *j, const char *p, size_t len)
{
    char spelled[sizeof "\\\\xHH"];
    uint32_t code;

    if (*p == '\\') {
        put_bytes(j, "\\\\\\\\", 4);
        return 1;
    }
    if (hf_utf8_read(&code, p, len) > 0)
        return put_character(j, p, len);
    (void)snprintf(spelled, sizeof spelled, "\\\\x%02x", (unsigned char)*p);
    put_bytes(j, spelled, sizeof spelled - 1);
    return 1;
}

void cli_json_choose_escaping(struct cli_json *j, const char *ptr, size_t len)
{
    j->escapes_values = j->escapes_values || !hf_utf8_ok(ptr, len);
}

void cli_json_bytes(struct cli_json *j, const char *key, const char *ptr,
                    size_t len)
{
    put_key(j, key);
    put_bytes(j, "\"", 1);
    for (size_t i = 0; i < len;)
        i += (j->escapes_values ? put_character_spelled_out : put_character)(j, ptr + i, len - i);
    put_bytes(j, "\"", 1);
    if (j->escapes_values && !j->has_escaped_member) {
        j->has_escaped_member = true;
        cli_json_bool(j, "escaped", true);
    }
}

void cli_json_text(struct cli_json *j, const char *key, const char *text)
{
    cli_json_bytes(j, key, text, strlen(text));
}

/* ---- the rest ---- */

void cli_json_integer(struct cli_json *j, const char *key, int64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n);

    put_key(j, key);
    put_bytes(j, digits, (size_t)len);
}

void cli_json_bool(struct cli_json *j, const char *key, bool b)
{
    put_key(j, key);
    if (b)
        put_bytes(j, "true", 4);
    else
        put_bytes(j, "false", 5);
}
