/* One JSON object on one line. Source: RFC 8259, sections 7 and 8.1. */
#include "cli/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the line ---- */

/* The first lines are shorter than this; most are. */
#define ROOM_MIN 256

static bool make_room(struct cli_json *j, size_t more)
{
    size_t room = j->room ? j->room : ROOM_MIN;
    char *text;

    while (room - j->len < more)
        room *= 2; /* text comes from a command line: far from overflow */
    if (room == j->room)
        return true;
    text = realloc(j->text, room);
    if (!text)
        return false;
    j->text = text;
    j->room = room;
    return true;
}

static void put(struct cli_json *j, const char *ptr, size_t len)
{
    if (j->is_broken || !make_room(j, len)) {
        j->is_broken = true;
        return;
    }
    memcpy(j->text + j->len, ptr, len);
    j->len += len;
}

void cli_json_init(struct cli_json *j)
{
    *j = (struct cli_json){0};
    put(j, "{", 1);
}

const char *cli_json_end(struct cli_json *j)
{
    put(j, "}\n", 3);
    if (j->is_broken)
        return NULL;
    j->len--; /* the NUL */
    return j->text;
}

void cli_json_fini(struct cli_json *j)
{
    free(j->text);
    *j = (struct cli_json){0};
}

static void put_key(struct cli_json *j, const char *key)
{
    if (j->len > 1)
        put(j, ",", 1);
    put(j, "\"", 1);
    put(j, key, strlen(key));
    put(j, "\":", 2);
}

/* ---- text ---- */

/* How a sequence of UTF-8 begins; the second byte's range keeps out overlong
 * forms, surrogates and what is above U+10FFFF. Source: RFC 3629, section 4. */
static const struct {
    unsigned char first_min, first_max, second_min, second_max;
    size_t len;
} sequences[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
                 {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                 {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

static bool is_tail(const unsigned char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return false;
    return true;
}

/* The length of the sequence at p, which is no ASCII; 0: it is none. */
static size_t sequence_len(const unsigned char *p, size_t len)
{
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        size_t want = sequences[i].len;

        if (p[0] < sequences[i].first_min || p[0] > sequences[i].first_max)
            continue;
        if (len < want || p[1] < sequences[i].second_min ||
            p[1] > sequences[i].second_max || !is_tail(p + 2, want - 2))
            return 0;
        return want;
    }
    return 0;
}

static void put_ascii(struct cli_json *j, unsigned char c)
{
    char escape[sizeof "\\u0000"];
    char plain[2] = {'\\', (char)c};

    if (c == '"' || c == '\\') {
        put(j, plain, 2);
    } else if (c < ' ' || c == 127) {
        (void)snprintf(escape, sizeof escape, "\\u%04x", c);
        put(j, escape, 6);
    } else {
        put(j, plain + 1, 1);
    }
}

/* The ASCII character, the sequence or the stray byte at p; its length. */
static size_t put_next(struct cli_json *j, const char *p, size_t len)
{
    const unsigned char *byte = (const unsigned char *)p;
    size_t step = *byte < 128 ? 0 : sequence_len(byte, len);

    if (step > 0) {
        put(j, p, step);
        return step;
    }
    if (*byte < 128)
        put_ascii(j, *byte);
    else
        put(j, "\\ufffd", 6);
    return 1;
}

void cli_json_bytes(struct cli_json *j, const char *key, const char *ptr,
                    size_t len)
{
    put_key(j, key);
    put(j, "\"", 1);
    for (size_t i = 0; i < len;)
        i += put_next(j, ptr + i, len - i);
    put(j, "\"", 1);
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
    put(j, digits, (size_t)len);
}

void cli_json_bool(struct cli_json *j, const char *key, bool b)
{
    put_key(j, key);
    if (b)
        put(j, "true", 4);
    else
        put(j, "false", 5);
}
