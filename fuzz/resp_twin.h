/* A second parser, as simple as can be: recursive, all bytes at hand, no
 * states, no speed. It says what hf_resp_parse must say. Nothing is shared
 * with resp/parse.c but the header. */
#ifndef FUZZ_RESP_TWIN_H
#define FUZZ_RESP_TWIN_H

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "resp/resp.h"

struct twin {
    const char *b;
    size_t len;
    struct hf_resp_limits limits;
    int protocol;
    struct hf_resp_node *nodes;   /* room for len + 1 */
    uint32_t count;
    size_t pos;
    size_t start;
    uint32_t depth;
    hf_status status;
    size_t error_at;
};

static bool twin_stop(struct twin *t, hf_status status, size_t at)
{
    t->status = status;
    t->error_at = at;
    return false;
}

/* May the byte at `at` be looked at? */
static bool twin_has(struct twin *t, size_t at)
{
    if (at < t->len && at - t->start >= t->limits.reply)
        return twin_stop(t, HF_E_LIMIT, t->start + t->limits.reply);
    if (at >= t->len)
        return twin_stop(t, HF_RESP_MORE, at);
    return true;
}

/* Steps over a line of at most `max` bytes; *end is where its CR stands. */
static bool twin_line(struct twin *t, size_t max, size_t *end)
{
    for (size_t i = t->pos; twin_has(t, i); i++) {
        if (t->b[i] == '\n')
            return twin_stop(t, HF_E_PROTOCOL, i);
        if (t->b[i] == '\r') {
            if (!twin_has(t, i + 1))
                return false;
            if (t->b[i + 1] != '\n')
                return twin_stop(t, HF_E_PROTOCOL, i + 1);
            *end = i;
            t->pos = i + 2;
            return true;
        }
        if (i - t->pos == max)
            return twin_stop(t, HF_E_LIMIT, i);
    }
    return false;
}

static size_t twin_digits(struct twin *t, size_t at, size_t end)
{
    while (at < end && strchr("0123456789", t->b[at]) && t->b[at])
        at++;
    return at;
}

static bool twin_is(struct twin *t, size_t at, size_t end, const char *word)
{
    return end - at == strlen(word) && !memcmp(t->b + at, word, end - at);
}

/* Digits to a number, SIZE_MAX if it is beyond 2^62. */
static bool twin_size(struct twin *t, size_t at, size_t end, uint64_t *size)
{
    size_t stop = twin_digits(t, at, end);

    *size = 0;
    for (size_t i = at; i < stop; i++)
        *size = *size >> 58 ? UINT64_MAX >> 2
                            : *size * 10 + (uint64_t)(t->b[i] - '0');
    if (stop == at || stop < end)
        return twin_stop(t, HF_E_PROTOCOL, stop);
    return true;
}

static bool twin_integer(struct twin *t, size_t at, size_t end, int64_t *n)
{
    bool negative = at < end && t->b[at] == '-';
    size_t first = at + (at < end && (t->b[at] == '-' || t->b[at] == '+'));
    int64_t out = 0;

    for (at = first; at < end; at++) {
        int digit = t->b[at] - '0';

        if (digit < 0 || digit > 9 || out < (INT64_MIN + digit) / 10 ||
            (!negative && out * 10 == INT64_MIN + digit))
            return twin_stop(t, HF_E_PROTOCOL, at);
        out = out * 10 - digit;   /* below zero there is room for one more */
    }
    if (first == end)
        return twin_stop(t, HF_E_PROTOCOL, end);
    *n = negative ? out : -out;
    return true;
}

static bool twin_is_nan(struct twin *t, size_t at, size_t end)
{
    if (end - at < 3 || strncasecmp(t->b + at, "nan", 3) != 0)
        return false;
    if (end - at == 3)
        return true;
    if (end - at < 5 || t->b[at + 3] != '(' || t->b[end - 1] != ')')
        return false;
    for (at += 4; at < end - 1; at++) {
        if (t->b[at] != '_' && !isalnum((unsigned char)t->b[at]))
            return false;
    }
    return true;
}

static bool twin_double(struct twin *t, size_t at, size_t end)
{
    size_t from = at + (at < end && (t->b[at] == '-' || t->b[at] == '+'));
    size_t stop = twin_digits(t, from, end);

    if (stop > from) {
        for (int part = 0; part < 2 && stop < end; part++) {
            bool is_point = t->b[stop] == '.' && part == 0;
            size_t next = stop + 1;

            if (!is_point && t->b[stop] != 'e' && t->b[stop] != 'E')
                break;
            if (!is_point && next < end &&
                (t->b[next] == '+' || t->b[next] == '-'))
                next++;
            stop = twin_digits(t, next, end);
            if (stop == next)
                return twin_stop(t, HF_E_PROTOCOL, stop);
            part += !is_point;
        }
        return stop == end || twin_stop(t, HF_E_PROTOCOL, stop);
    }
    if (from > at && t->b[at] == '+')
        return twin_stop(t, HF_E_PROTOCOL, from);
    if (twin_is(t, from, end, "inf") || twin_is_nan(t, from, end))
        return true;
    return twin_stop(t, HF_E_PROTOCOL, SIZE_MAX);   /* some place in there */
}

static struct hf_resp_node *twin_node(struct twin *t, unsigned type)
{
    struct hf_resp_node *node = &t->nodes[t->count++];

    memset(node, 0, sizeof *node);
    node->type = (uint8_t)type;
    node->skip = 1;
    return node;
}

static bool twin_bytes(struct twin *t, unsigned type, size_t at, size_t end)
{
    struct hf_resp_node *node = twin_node(t, type);

    node->as.bytes.offset = (uint32_t)at;
    node->as.bytes.length = (uint32_t)(end - at);
    return true;
}

static bool twin_text(struct twin *t, unsigned type)
{
    size_t at = t->pos, end, stop;

    if (!twin_line(t, t->limits.line, &end))
        return false;
    stop = at + (at < end && (t->b[at] == '-' || t->b[at] == '+'));
    if (type == HF_RESP_BIG && (stop == end || twin_digits(t, stop, end) < end))
        return twin_stop(t, HF_E_PROTOCOL, twin_digits(t, stop, end));
    if (type == HF_RESP_DOUBLE && !twin_double(t, at, end))
        return false;
    return twin_bytes(t, type, at, end);
}

static bool twin_data(struct twin *t, unsigned type, size_t line,
                      uint64_t size, uint32_t max)
{
    size_t at = t->pos;

    if (size > max || at + size + 2 - t->start > t->limits.reply)
        return twin_stop(t, HF_E_LIMIT, line);
    if (at + size + 2 > t->len)
        return twin_stop(t, HF_RESP_MORE, at);
    if (type == HF_RESP_VERBATIM && t->b[at + 3] != ':')
        return twin_stop(t, HF_E_PROTOCOL, at + 3);
    if (memcmp(t->b + at + size, "\r\n", 2) != 0)
        return twin_stop(t, HF_E_PROTOCOL, at + size);
    t->pos += size + 2;
    return twin_bytes(t, type, at, at + size);
}

static bool twin_deeper(struct twin *t, size_t line)
{
    if (t->depth++ == t->limits.depth)
        return twin_stop(t, HF_E_LIMIT, line);
    return true;
}

static void twin_close(struct twin *t, uint32_t index, uint32_t count)
{
    t->nodes[index].as.children.count = count;
    t->nodes[index].skip = t->count - index;
    t->depth--;
}

static bool twin_chunks(struct twin *t, size_t line)
{
    uint32_t index = t->count, count = 0, left = t->limits.bulk;

    if (!twin_deeper(t, line))
        return false;
    twin_node(t, HF_RESP_STREAM)->flag = 1;
    for (;; count++) {
        size_t at = t->pos, end;
        uint64_t size;

        if (!twin_has(t, at))
            return false;
        if (t->b[at] != ';')
            return twin_stop(t, HF_E_PROTOCOL, at);
        t->pos++;
        if (!twin_line(t, 64, &end) || !twin_size(t, at + 1, end, &size))
            return false;
        if (size == 0)
            break;
        if (!twin_data(t, HF_RESP_CHUNK, at, size, left))
            return false;
        left -= (uint32_t)size;
    }
    twin_close(t, index, count);
    return true;
}

static bool twin_value(struct twin *t, bool is_last);

/* "." instead of a child: 1; a child: 0; an error: -1. */
static int twin_is_end(struct twin *t, bool may_end)
{
    size_t at = t->pos, end;

    if (!twin_has(t, at))
        return -1;
    if (t->b[at] != '.' || !may_end)
        return 0;
    t->pos++;
    if (!twin_line(t, 64, &end))
        return -1;
    if (end > at + 1)
        return twin_stop(t, HF_E_PROTOCOL, at + 1) - 1;
    return 1;
}

static bool twin_stream(struct twin *t, unsigned type, size_t line)
{
    uint32_t index = t->count, count = 0;

    if (!twin_deeper(t, line))
        return false;
    twin_node(t, type)->flag = 1;
    for (;; count++) {
        int end = twin_is_end(t, type != HF_RESP_MAP || count % 2 == 0);

        if (end < 0)
            return false;
        if (end)
            break;
        if (!twin_value(t, count == t->limits.elements))
            return false;
    }
    twin_close(t, index, count);
    return true;
}

static bool twin_children(struct twin *t, unsigned type, size_t line,
                          uint64_t count)
{
    uint32_t index = t->count;

    if (type == HF_RESP_MAP || type == HF_RESP_ATTRIBUTE)
        count *= 2;
    if (count > t->limits.elements)
        return twin_stop(t, HF_E_LIMIT, line);
    if (!twin_deeper(t, line))
        return false;
    twin_node(t, type);
    for (uint64_t i = 0; i < count; i++) {
        if (!twin_value(t, false))
            return false;
    }
    twin_close(t, index, (uint32_t)count);
    return true;
}

static bool twin_counted(struct twin *t, unsigned type, size_t line)
{
    bool is_data = type == HF_RESP_BULK || type == HF_RESP_BULK_ERROR ||
                   type == HF_RESP_VERBATIM;
    size_t at = t->pos, end;
    uint64_t size;

    if (!twin_line(t, 64, &end))
        return false;
    if ((type == HF_RESP_BULK || type == HF_RESP_ARRAY) &&
        twin_is(t, at, end, "-1"))
        return twin_node(t, HF_RESP_NULL) != NULL;
    if (t->protocol == 3 && twin_is(t, at, end, "?")) {
        if (type == HF_RESP_BULK)
            return twin_chunks(t, line);
        if (type == HF_RESP_ARRAY || type == HF_RESP_SET || type == HF_RESP_MAP)
            return twin_stream(t, type, line);
    }
    if (!twin_size(t, at, end, &size))
        return false;
    if (type == HF_RESP_VERBATIM && size < 4)
        return twin_stop(t, HF_E_PROTOCOL, at);
    if (is_data)
        return twin_data(t, type, line, size, t->limits.bulk);
    return twin_children(t, type, line, size);
}

static bool twin_number(struct twin *t)
{
    size_t at = t->pos, end;
    int64_t n;

    if (!twin_line(t, 64, &end) || !twin_integer(t, at, end, &n))
        return false;
    twin_node(t, HF_RESP_INTEGER)->as.integer = n;
    return true;
}

static bool twin_null(struct twin *t)
{
    size_t at = t->pos, end;

    if (!twin_line(t, 64, &end))
        return false;
    if (end > at)
        return twin_stop(t, HF_E_PROTOCOL, at);
    twin_node(t, HF_RESP_NULL);
    return true;
}

static bool twin_boolean(struct twin *t)
{
    size_t at = t->pos, end;

    if (!twin_line(t, 64, &end))
        return false;
    if (end == at || (t->b[at] != 't' && t->b[at] != 'f'))
        return twin_stop(t, HF_E_PROTOCOL, at);
    if (end > at + 1)
        return twin_stop(t, HF_E_PROTOCOL, at + 1);
    twin_node(t, HF_RESP_BOOLEAN)->flag = t->b[at] == 't';
    return true;
}

/* One value with its attributes. `is_late`: there may be no more values here,
 * for want of room in a stream. */
static bool twin_value(struct twin *t, bool is_late)
{
    static const char bytes[] = "+-:$_#,(!=*~%>|";
    static const unsigned char types[] = {
        HF_RESP_SIMPLE,  HF_RESP_ERROR,      HF_RESP_INTEGER,  HF_RESP_BULK,
        HF_RESP_NULL,    HF_RESP_BOOLEAN,    HF_RESP_DOUBLE,   HF_RESP_BIG,
        HF_RESP_BULK_ERROR, HF_RESP_VERBATIM, HF_RESP_ARRAY,   HF_RESP_SET,
        HF_RESP_MAP,     HF_RESP_PUSH,       HF_RESP_ATTRIBUTE};
    const char *known = t->protocol == 2 ? "+-:$*" : bytes;
    size_t line = t->pos;
    unsigned type;

    if (!twin_has(t, line))
        return false;
    if (!t->b[line] || !strchr(known, t->b[line]))
        return twin_stop(t, HF_E_PROTOCOL, line);
    type = types[strchr(bytes, t->b[line]) - bytes];
    if (is_late && type != HF_RESP_ATTRIBUTE)
        return twin_stop(t, HF_E_LIMIT, line);
    t->pos++;
    switch (type) {
    case HF_RESP_SIMPLE:
    case HF_RESP_ERROR:
    case HF_RESP_BIG:
    case HF_RESP_DOUBLE:
        return twin_text(t, type);
    case HF_RESP_INTEGER:
        return twin_number(t);
    case HF_RESP_NULL:
        return twin_null(t);
    case HF_RESP_BOOLEAN:
        return twin_boolean(t);
    case HF_RESP_ATTRIBUTE:
        return twin_counted(t, type, line) && twin_value(t, is_late);
    }
    return twin_counted(t, type, line);
}

/* Parses one reply; false if there is none, and status and error_at say why. */
static bool twin_reply(struct twin *t)
{
    t->start = t->pos;
    t->depth = 0;
    return twin_value(t, false);
}

#endif
