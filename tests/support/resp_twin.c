/* A second parser. Each function reads what it is named after, from `pos` on,
 * and returns false if that is not there; `status` and `error_at` then say
 * why. Sources: RESP, RESP3; what is taken beyond them, and what `strict`
 * refuses, is in resp/resp.h. */
#include "tests/support/resp_twin.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "tests/support/must.h"

/* The longest line of a number, a boolean or a null. */
#define SHORT_LINE 64

struct twin {
    const struct input *in;
    const char *b;              /* its bytes */
    size_t pos;
    size_t start;               /* of the reply under way */
    uint32_t depth;
    struct hf_resp_node *nodes;
    uint32_t count;
    hf_status status;
    size_t error_at;
};

/* What stands in a line, without CR LF: from `at` to the byte before `end`. */
struct line {
    size_t at;
    size_t end;
};

static bool stop(struct twin *t, hf_status status, size_t at)
{
    t->status = status;
    t->error_at = at;
    return false;
}

/* May the byte at `at` be looked at? */
static bool may_see(struct twin *t, size_t at)
{
    if (at >= t->in->len)
        return stop(t, HF_RESP_MORE, at);
    if (at - t->start >= t->in->limits.reply)
        return stop(t, HF_E_LIMIT, t->start + t->in->limits.reply);
    return true;
}

static bool read_line(struct twin *t, size_t max, struct line *l)
{
    size_t i;

    l->at = t->pos;
    for (i = t->pos; may_see(t, i) && t->b[i] != '\r'; i++) {
        if (t->b[i] == '\n')
            return stop(t, HF_E_PROTOCOL, i);
        if (i - t->pos == max)
            return stop(t, HF_E_LIMIT, i);
    }
    if (!may_see(t, i) || !may_see(t, i + 1))
        return false;
    if (t->b[i + 1] != '\n')
        return stop(t, HF_E_PROTOCOL, i + 1);
    l->end = i;
    t->pos = i + 2;
    return true;
}

/* ---- what may stand in a line ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_sign(char c)
{
    return c == '-' || c == '+';
}

static bool line_is(const struct twin *t, struct line l, const char *word)
{
    return l.end - l.at == strlen(word) &&
           memcmp(t->b + l.at, word, l.end - l.at) == 0;
}

/* Where the digits from `at` on end. */
static size_t behind_digits(const struct twin *t, size_t at, size_t end)
{
    while (at < end && is_digit(t->b[at]))
        at++;
    return at;
}

static size_t behind_sign(const struct twin *t, struct line l)
{
    return l.at + (l.at < l.end && is_sign(t->b[l.at]));
}

/* Digits alone; what is far beyond every limit need not be exact. */
static bool read_size(struct twin *t, struct line l, uint64_t *size)
{
    size_t end = behind_digits(t, l.at, l.end);

    *size = 0;
    for (size_t i = l.at; i < end; i++)
        *size = *size >> 58 ? UINT64_MAX >> 2
                            : *size * 10 + (uint64_t)(t->b[i] - '0');
    if (end == l.at || end < l.end)
        return stop(t, HF_E_PROTOCOL, end);
    return true;
}

/* Counts below zero, where there is room for one more. */
static bool read_integer(struct twin *t, struct line l, int64_t *n)
{
    bool negative = l.at < l.end && t->b[l.at] == '-';
    size_t first = behind_sign(t, l);

    *n = 0;
    for (size_t at = first; at < l.end; at++) {
        int digit = t->b[at] - '0';

        if (digit < 0 || digit > 9 || *n < (INT64_MIN + digit) / 10 ||
            (!negative && *n * 10 - digit == INT64_MIN))
            return stop(t, HF_E_PROTOCOL, at);
        *n = *n * 10 - digit;
    }
    if (first == l.end)
        return stop(t, HF_E_PROTOCOL, first);
    *n = negative ? *n : -*n;
    return true;
}

static bool is_nan(const struct twin *t, struct line l)
{
    const char *word = t->b + l.at;
    size_t len = l.end - l.at;

    if (len < 3 || strncasecmp(word, "nan", 3) != 0)
        return false;
    if (len == 3)
        return true;
    for (size_t i = 4; i < len - 1; i++) {
        if (word[i] != '_' && !isalnum((unsigned char)word[i]))
            return false;
    }
    return len >= 5 && word[3] == '(' && word[len - 1] == ')';
}

/* inf, -inf, nan; and if not strict whatever a libc may print for nan. */
static bool read_word(struct twin *t, struct line l)
{
    struct line word = {behind_sign(t, l), l.end};
    bool ok;

    if (word.at > l.at && t->b[l.at] == '+')
        return stop(t, HF_E_PROTOCOL, word.at);
    if (t->in->strict)
        ok = line_is(t, l, "nan") || line_is(t, word, "inf");
    else
        ok = line_is(t, word, "inf") || is_nan(t, word);
    return ok || stop(t, HF_E_PROTOCOL, ANY_PLACE);
}

/* 12, -12.5, 1.2e-3; or a word. */
static bool read_double(struct twin *t, struct line l)
{
    size_t first = behind_sign(t, l);
    size_t at = behind_digits(t, first, l.end), digits;

    if (at == first)
        return read_word(t, l);
    if (at < l.end && t->b[at] == '.') {
        digits = ++at;
        at = behind_digits(t, digits, l.end);
        if (at == digits)
            return stop(t, HF_E_PROTOCOL, at);
    }
    if (at < l.end && (t->b[at] == 'e' || t->b[at] == 'E')) {
        digits = behind_sign(t, (struct line){at + 1, l.end});
        at = behind_digits(t, digits, l.end);
        if (at == digits)
            return stop(t, HF_E_PROTOCOL, at);
    }
    return at == l.end || stop(t, HF_E_PROTOCOL, at);
}

static bool read_big(struct twin *t, struct line l)
{
    size_t first = behind_sign(t, l);
    size_t end = behind_digits(t, first, l.end);

    return (end == l.end && end > first) || stop(t, HF_E_PROTOCOL, end);
}

/* ---- nodes ---- */

static struct hf_resp_node *add(struct twin *t, unsigned type)
{
    struct hf_resp_node *node = &t->nodes[t->count++];

    *node = (struct hf_resp_node){.type = (uint8_t)type, .skip = 1};
    return node;
}

static bool add_bytes(struct twin *t, unsigned type, size_t at, size_t end)
{
    struct hf_resp_node *node = add(t, type);

    node->as.bytes.offset = (uint32_t)at;
    node->as.bytes.length = (uint32_t)(end - at);
    return true;
}

static bool open_children(struct twin *t, unsigned type, size_t type_at)
{
    if (t->depth == t->in->limits.depth)
        return stop(t, HF_E_LIMIT, type_at);
    t->depth++;
    add(t, type);
    return true;
}

static bool close_children(struct twin *t, uint32_t index, uint32_t count)
{
    t->nodes[index].as.children.count = count;
    t->nodes[index].skip = t->count - index;
    t->depth--;
    return true;
}

/* ---- scalars ---- */

static bool text_value(struct twin *t, unsigned type)
{
    struct line l;

    if (!read_line(t, t->in->limits.line, &l))
        return false;
    if (type == HF_RESP_BIG && !read_big(t, l))
        return false;
    if (type == HF_RESP_DOUBLE && !read_double(t, l))
        return false;
    return add_bytes(t, type, l.at, l.end);
}

static bool integer_value(struct twin *t)
{
    struct line l;
    int64_t n;

    if (!read_line(t, SHORT_LINE, &l) || !read_integer(t, l, &n))
        return false;
    add(t, HF_RESP_INTEGER)->as.integer = n;
    return true;
}

static bool null_value(struct twin *t)
{
    struct line l;

    if (!read_line(t, SHORT_LINE, &l))
        return false;
    if (l.end > l.at)
        return stop(t, HF_E_PROTOCOL, l.at);
    return add(t, HF_RESP_NULL) != NULL;
}

static bool boolean_value(struct twin *t)
{
    struct line l;

    if (!read_line(t, SHORT_LINE, &l))
        return false;
    if (l.end == l.at || (t->b[l.at] != 't' && t->b[l.at] != 'f'))
        return stop(t, HF_E_PROTOCOL, l.at);
    if (l.end > l.at + 1)
        return stop(t, HF_E_PROTOCOL, l.at + 1);
    add(t, HF_RESP_BOOLEAN)->flag = t->b[l.at] == 't';
    return true;
}

/* The bytes behind a length, which its type may have at most `max` of. */
static bool data_value(struct twin *t, unsigned type, size_t type_at,
                       uint64_t size, uint32_t max)
{
    size_t at = t->pos;

    if (size > max || at + size + 2 - t->start > t->in->limits.reply)
        return stop(t, HF_E_LIMIT, type_at);
    if (at + size + 2 > t->in->len)
        return stop(t, HF_RESP_MORE, at);
    if (type == HF_RESP_VERBATIM && t->b[at + HF_RESP_FORMAT_LEN] != ':')
        return stop(t, HF_E_PROTOCOL, at + HF_RESP_FORMAT_LEN);
    if (memcmp(t->b + at + size, "\r\n", 2) != 0)
        return stop(t, HF_E_PROTOCOL, at + size);
    t->pos = at + size + 2;
    return add_bytes(t, type, at, at + size);
}

/* ---- values that have children ---- */

/* $? and chunks, the last of length 0. */
static bool streamed_string(struct twin *t, size_t type_at)
{
    uint32_t index = t->count, count = 0, left = t->in->limits.bulk;

    if (!open_children(t, HF_RESP_STREAM, type_at))
        return false;
    t->nodes[index].flag = 1;
    for (;; count++) {
        size_t at = t->pos;
        struct line l;
        uint64_t size;

        if (!may_see(t, at))
            return false;
        if (t->b[at] != ';')
            return stop(t, HF_E_PROTOCOL, at);
        t->pos++;
        if (!read_line(t, SHORT_LINE, &l) || !read_size(t, l, &size))
            return false;
        if (size == 0)
            return close_children(t, index, count);
        if (!data_value(t, HF_RESP_CHUNK, at, size, left))
            return false;
        left -= (uint32_t)size;
    }
}

static bool value(struct twin *t, bool is_too_many);

/* "." in place of a child; a map's value is not to be replaced by one. */
static bool is_end(struct twin *t, bool may_end)
{
    return may_end && may_see(t, t->pos) && t->b[t->pos] == '.';
}

static bool read_end(struct twin *t)
{
    struct line l;

    t->pos++;
    if (!read_line(t, SHORT_LINE, &l))
        return false;
    return l.end == l.at || stop(t, HF_E_PROTOCOL, l.at);
}

static bool streamed_aggregate(struct twin *t, unsigned type, size_t type_at)
{
    uint32_t index = t->count, count = 0;

    if (!open_children(t, type, type_at))
        return false;
    t->nodes[index].flag = 1;
    while (!is_end(t, type != HF_RESP_MAP || count % 2 == 0)) {
        if (!value(t, count == t->in->limits.elements))
            return false;
        count++;
    }
    return read_end(t) && close_children(t, index, count);
}

static bool counted_aggregate(struct twin *t, unsigned type, size_t type_at,
                              uint64_t count)
{
    uint32_t index = t->count;

    if (type == HF_RESP_MAP || type == HF_RESP_ATTRIBUTE)
        count *= 2;
    if (count > t->in->limits.elements)
        return stop(t, HF_E_LIMIT, type_at);
    if (t->in->strict && type == HF_RESP_PUSH && count == 0)
        return stop(t, HF_E_PROTOCOL, type_at + 1);
    if (!open_children(t, type, type_at))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (!value(t, false))
            return false;
    }
    return close_children(t, index, (uint32_t)count);
}

/* What begins with a length or a count, or "?", or "-1" for null. */
static bool sized_value(struct twin *t, unsigned type, size_t type_at)
{
    struct line l;
    uint64_t size;

    if (!read_line(t, SHORT_LINE, &l))
        return false;
    if ((type == HF_RESP_BULK || type == HF_RESP_ARRAY) && line_is(t, l, "-1"))
        return add(t, HF_RESP_NULL) != NULL;
    if (t->in->protocol == 3 && line_is(t, l, "?")) {
        if (type == HF_RESP_BULK)
            return streamed_string(t, type_at);
        if (type == HF_RESP_ARRAY || type == HF_RESP_SET || type == HF_RESP_MAP)
            return streamed_aggregate(t, type, type_at);
    }
    if (!read_size(t, l, &size))
        return false;
    if (type == HF_RESP_VERBATIM && size <= HF_RESP_FORMAT_LEN)
        return stop(t, HF_E_PROTOCOL, l.at);
    if (type == HF_RESP_BULK || type == HF_RESP_BULK_ERROR ||
        type == HF_RESP_VERBATIM)
        return data_value(t, type, type_at, size, t->in->limits.bulk);
    return counted_aggregate(t, type, type_at, size);
}

/* ---- any value ---- */

/* 0: none that may stand here. */
static unsigned type_here(const struct twin *t, char byte)
{
    static const char bytes[] = "+-:$*_#,(!=~%>|";
    static const unsigned char types[] = {
        HF_RESP_SIMPLE, HF_RESP_ERROR,      HF_RESP_INTEGER,  HF_RESP_BULK,
        HF_RESP_ARRAY,  HF_RESP_NULL,       HF_RESP_BOOLEAN,  HF_RESP_DOUBLE,
        HF_RESP_BIG,    HF_RESP_BULK_ERROR, HF_RESP_VERBATIM, HF_RESP_SET,
        HF_RESP_MAP,    HF_RESP_PUSH,       HF_RESP_ATTRIBUTE};
    size_t known = t->in->protocol == 2 ? strlen("+-:$*") : sizeof bytes - 1;
    const char *found = memchr(bytes, byte, known);

    if (!found || (byte == '>' && t->in->strict && t->depth > 0))
        return 0;
    return types[found - bytes];
}

static bool typed_value(struct twin *t, unsigned type, size_t type_at)
{
    t->pos++;
    switch (type) {
    case HF_RESP_SIMPLE:
    case HF_RESP_ERROR:
    case HF_RESP_BIG:
    case HF_RESP_DOUBLE:
        return text_value(t, type);
    case HF_RESP_INTEGER:
        return integer_value(t);
    case HF_RESP_NULL:
        return null_value(t);
    case HF_RESP_BOOLEAN:
        return boolean_value(t);
    }
    return sized_value(t, type, type_at);
}

/* Any attributes, and the value that they belong to; each says how far it is
 * behind the first. `is_too_many`: in a stream that has all the elements it may
 * have; an attribute is none. */
static bool value(struct twin *t, bool is_too_many)
{
    uint32_t first = t->count, index;
    unsigned type;

    do {
        size_t at = t->pos;

        index = t->count;
        if (!may_see(t, at))
            return false;
        type = type_here(t, t->b[at]);
        if (!type)
            return stop(t, HF_E_PROTOCOL, at);
        if ((is_too_many && type != HF_RESP_ATTRIBUTE) ||
            index - first > HF_RESP_ATTRIBUTES_MAX)
            return stop(t, HF_E_LIMIT, at);
        if (!typed_value(t, type, at))
            return false;
        t->nodes[index].before = (index - first) & HF_RESP_ATTRIBUTES_MAX;
    } while (type == HF_RESP_ATTRIBUTE);
    return true;
}

struct reading reading_of_twin(const struct input *in)
{
    struct reading r = reading_begin(in->len);
    struct twin t = {.in = in, .b = in->bytes, .nodes = r.nodes};

    while (value(&t, false)) {
        r.count = t.count;
        r.end = t.start = t.pos;
    }
    r.status = t.status;
    r.error_at = t.error_at;
    return r;
}
