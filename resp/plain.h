/* Private to parse.c: the values that servers send all day, read fast where
 * they lie whole in the buffer. Whatever is not plain (cut, of another type,
 * wrong, longer than usual) is answered with NULL and left to the slow way,
 * which alone decides what is an error: the two cannot disagree about one. */
#ifndef HF_RESP_PLAIN_H
#define HF_RESP_PLAIN_H

#include <string.h>

#include "resp/digits.h"
#include "resp/resp.h"

/* Digits of a length or count that is plain; they fit in 32 bits. Behind the
 * first there must be room for all and CR LF. */
#define SIZE_DIGITS 9

/* A length or a count: digits and CR LF, read byte by byte, because they
 * repeat from reply to reply and are predicted; eight digits at a time made
 * short bulk strings four times slower. */
static inline const char *plain_size(const char *at, const char *end,
                                     uint32_t *size)
{
    const char *first = at, *last;
    uint32_t n = 0;

    if (end - at < SIZE_DIGITS + 2)
        return NULL;
    last = at + SIZE_DIGITS;
    for (; at < last && is_digit(*at); at++)
        n = n * 10 + (unsigned char)(*at - '0');
    *size = n;
    return at > first && is_crlf(at) ? at + 2 : NULL;
}

/* Makes a node one whole value of this type; in one store. */
static inline void plain_node(struct hf_resp_node *node, unsigned type)
{
    node->type = (uint8_t)type;
    node->flag = 0;
    node->before = 0;
    node->skip = 1;
}

/* What does not change while plain values are read. */
struct plain {
    const struct hf_resp_parser *p;
    const char *buf;
    const char *end;
};

static inline const char *plain_integer(const struct plain *in, const char *at,
                                        struct hf_resp_node *node)
{
    bool negative = *at == '-';
    uint64_t n;

    if (is_crlf(at + 1) && is_digit(*at)) {
        plain_node(node, HF_RESP_INTEGER);
        node->as.integer = *at - '0';
        return at + 3;
    }
    if (in->end - at < 1 + INTEGER_WINDOW)
        return NULL;
    at = plain_digits(at + negative, &n);
    if (!at || n > (uint64_t)INT64_MAX)
        return NULL;
    plain_node(node, HF_RESP_INTEGER);
    node->as.integer = negative ? -(int64_t)n : (int64_t)n;
    return at;
}

static inline void plain_bytes(const struct plain *in, unsigned type,
                               const char *at, size_t len,
                               struct hf_resp_node *node)
{
    plain_node(node, type);
    node->as.bytes.offset = (uint32_t)(at - in->buf);
    node->as.bytes.length = (uint32_t)len;
}

/* The value from `at` to the line's end at `cr`, if that is where it ends. */
static inline const char *plain_end(const struct plain *in, unsigned type,
                                    const char *at, const char *cr,
                                    struct hf_resp_node *node)
{
    if (in->end - cr < 2 || !is_crlf(cr) ||
        (size_t)(cr - at) > in->p->limits.line)
        return NULL;
    plain_bytes(in, type, at, (size_t)(cr - at), node);
    return cr + 2;
}

/* A simple string or error, byte by byte: most are short. */
static inline const char *plain_line(const struct plain *in, unsigned type,
                                     const char *at, struct hf_resp_node *node)
{
    const char *cr = at;

    while (cr < in->end && (unsigned char)*cr >= ' ')
        cr++;
    return plain_end(in, type, at, cr, node);
}

static inline const char *plain_bulk(const struct plain *in, unsigned type,
                                     const char *at, struct hf_resp_node *node)
{
    uint32_t size;

    at = plain_size(at, in->end, &size);
    if (!at || size > in->p->limits.bulk ||
        in->end - at < (ptrdiff_t)size + 2 || !is_crlf(at + size))
        return NULL;
    plain_bytes(in, type, at, size, node);
    return at + size + 2;
}

static inline const char *plain_bulk_or_null(const struct plain *in,
                                             const char *at,
                                             struct hf_resp_node *node)
{
    if (memcmp(at, "-1\r\n", 4) != 0)
        return plain_bulk(in, HF_RESP_BULK, at, node);
    plain_node(node, HF_RESP_NULL);
    return at + 4;
}

static inline const char *plain_verbatim(const struct plain *in,
                                         const char *at,
                                         struct hf_resp_node *node)
{
    at = plain_bulk(in, HF_RESP_VERBATIM, at, node);
    if (!at || node->as.bytes.length <= HF_RESP_FORMAT_LEN ||
        in->buf[node->as.bytes.offset + HF_RESP_FORMAT_LEN] != ':')
        return NULL;
    return at;
}

static inline const char *plain_null(const char *at, struct hf_resp_node *node)
{
    if (!is_crlf(at))
        return NULL;
    plain_node(node, HF_RESP_NULL);
    return at + 2;
}

static inline const char *plain_boolean(const char *at,
                                        struct hf_resp_node *node)
{
    if ((*at != 't' && *at != 'f') || !is_crlf(at + 1))
        return NULL;
    plain_node(node, HF_RESP_BOOLEAN);
    node->flag = *at == 't';
    return at + 3;
}

/* The digits from `at` on; NULL if there is not one. */
static inline const char *skip_digits(const struct plain *in, const char *at)
{
    const char *first = at;

    while (at < in->end && is_digit(*at))
        at++;
    return at > first ? at : NULL;
}

/* -12 or, if it is a double, -12.5; more than that is not plain. */
static inline const char *plain_number(const struct plain *in, unsigned type,
                                       const char *at,
                                       struct hf_resp_node *node)
{
    const char *cr = skip_digits(in, at + (*at == '-'));

    if (cr && type == HF_RESP_DOUBLE && cr < in->end && *cr == '.')
        cr = skip_digits(in, cr + 1);
    return cr ? plain_end(in, type, at, cr, node) : NULL;
}

/* An aggregate's header; *open is how many children must follow. */
static inline const char *plain_aggregate(const struct plain *in,
                                          unsigned type, const char *at,
                                          struct hf_resp_node *node,
                                          uint32_t *open)
{
    uint32_t per = type == HF_RESP_MAP ? 2 : 1;
    uint32_t count;

    at = plain_size(at, in->end, &count);
    if (!at || count > in->p->limits.elements / per ||
        in->p->depth == in->p->limits.depth)
        return NULL;
    *open = count * per;
    plain_node(node, type);
    node->as.children.count = *open;
    node->as.children.open = *open;
    return at;
}

/* The types of RESP3, behind their first byte. */
static inline const char *plain_3(const struct plain *in, char first,
                                  const char *at, struct hf_resp_node *node,
                                  uint32_t *open)
{
    switch (first) {
    case '_':
        return plain_null(at, node);
    case '#':
        return plain_boolean(at, node);
    case ',':
        return plain_number(in, HF_RESP_DOUBLE, at, node);
    case '(':
        return plain_number(in, HF_RESP_BIG, at, node);
    case '=':
        return plain_verbatim(in, at, node);
    case '%':
        return plain_aggregate(in, HF_RESP_MAP, at, node, open);
    case '~':
        return plain_aggregate(in, HF_RESP_SET, at, node, open);
    case '>':
        if (in->p->strict)
            return NULL;
        return plain_aggregate(in, HF_RESP_PUSH, at, node, open);
    }
    return NULL;
}

/* Bytes that may be looked at without asking; few values are shorter. */
#define PLAIN_MIN 5

static inline const char *plain_value(const struct plain *in, const char *at,
                               struct hf_resp_node *node, uint32_t *open)
{
    *open = 0;
    if (in->end - at < PLAIN_MIN)
        return NULL;
    switch (*at++) {
    case '+':
        return plain_line(in, HF_RESP_SIMPLE, at, node);
    case '-':
        return plain_line(in, HF_RESP_ERROR, at, node);
    case ':':
        return plain_integer(in, at, node);
    case '$':
        return plain_bulk_or_null(in, at, node);
    case '*':
        return plain_aggregate(in, HF_RESP_ARRAY, at, node, open);
    }
    if (in->p->protocol == 2)
        return NULL;
    return plain_3(in, at[-1], at, node, open);
}

#endif
