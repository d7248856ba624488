/* Bytes to a tape of nodes, resumable at every byte.
 *
 *     VALUE -type byte-> LINE -CR LF of a scalar or count-> VALUE
 *       ^                  |
 *       |                  +-CR LF of a length-> DATA
 *       +-----------all bytes and CR LF-----------+
 *
 * SPECIAL is VALUE with more checks: in a streamed aggregate, or after an attribute. Any state
 * may change to BROKEN, which is final. In VALUE, plain.h is tried first; it takes values that
 * are complete and usual, and changes nothing otherwise.
 *
 * 1. The result depends only on the bytes, not on how they were cut.
 * 2. A line is scanned for its CR LF as it arrives, and read when it is complete; the bytes of a
 *    bulk string are never scanned.
 * 3. A node is put onto the tape before anything else changes: if there is no space, the same
 *    call can be made again.
 * 4. Open aggregates are a list through their nodes, so that depth needs no other memory: in an
 *    open one, `skip` is its parent's index + 1, and `open` counts its missing children.
 * 5. No value is incomplete exactly if pos == start. */
/* Tests: tests/test_resp_parse.c, tests/test_resp_random.c, tests/test_resp_vectors.c. */
#include <string.h>

#include "resp/hints.h"
#include "resp/node.h"
#include "resp/plain.h"
#include "resp/resp.h"
#include "resp/text.h"

/* A buffer's offsets are 32 bits wide. */
#define BUFFER_MAX UINT32_MAX

/* Stands in for the type of ".", the end of a streamed aggregate. */
#define END (HF_RESP_ATTRIBUTE + 1)

enum state {
    VALUE,                 /* at the first byte of a value */
    SPECIAL,               /* the same, see above */
    LINE,
    DATA,
    BROKEN                 /* for good; every call repeats why */
};

const struct hf_resp_limits hf_resp_default_limits = {
    512,                   /* depth */
    68 * 1024,             /* line */
    512 * 1024 * 1024,     /* bulk */
    INT32_MAX,             /* elements */
    1024 * 1024 * 1024,    /* reply */
};

/* What one call of hf_resp_parse works on. */
struct parse_input {
    struct hf_resp_parser *p;
    struct hf_resp_tape *tape;
    const char *buf;
    size_t len;
    uint32_t end;          /* the bytes after it exceed the limits */
};

void hf_resp_init(struct hf_resp_parser *p,
                  const struct hf_resp_limits *limits, int protocol)
{
    memset(p, 0, sizeof *p);
    p->limits = limits ? *limits : hf_resp_default_limits;
    p->state = VALUE;
    hf_resp_set_protocol(p, protocol);
}

void hf_resp_set_protocol(struct hf_resp_parser *p, int protocol)
{
    p->protocol = protocol == 2 ? 2 : 3;
}

void hf_resp_set_strict(struct hf_resp_parser *p, bool strict)
{
    p->strict = strict;
}

/* Writes one byte as C would spell it; returns how long that is, at most 4. */
static size_t escape_byte(char *dst, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";

    if (c >= ' ' && c <= '~' && c != '\\') {
        dst[0] = (char)c;
        return 1;
    }
    dst[0] = '\\';
    if (c == '\\' || c == '\r' || c == '\n') {
        dst[1] = c == '\\' ? '\\' : c == '\r' ? 'r' : 'n';
        return 2;
    }
    dst[1] = 'x';
    dst[2] = hex[c >> 4];
    dst[3] = hex[c & 15];
    return 4;
}

static COLD hf_status fail_parse(struct parse_input *f, hf_status why, size_t at,
                                 const char *expected)
{
    struct hf_resp_parser *p = f->p;
    size_t used = 0;

    for (size_t i = at; i < f->len && used + 4 < sizeof p->error.found; i++)
        used += escape_byte(&p->error.found[used], (unsigned char)f->buf[i]);
    p->error.found[used] = '\0';
    p->error.offset = (uint32_t)at;
    p->error.expected = expected;
    p->broken = (int16_t)why;
    p->state = BROKEN;
    return why;
}

/* All bytes are used. If more are there but out of bounds, they never will be
 * allowed. */
static hf_status need_more_bytes(struct parse_input *f)
{
    if (f->end < f->len)
        return fail_parse(f, HF_E_LIMIT, f->end, "the end of a reply that long");
    return HF_RESP_MORE;
}

/* The position at which the current value must end, at most. */
static uint32_t last_permitted_end(const struct hf_resp_parser *p)
{
    uint64_t end = (uint64_t)p->start + p->limits.reply;

    return end < BUFFER_MAX ? (uint32_t)end : BUFFER_MAX;
}

static struct hf_resp_node *innermost_aggregate(const struct hf_resp_parser *p,
                                                const struct hf_resp_tape *tape)
{
    return &tape->nodes[p->parent - 1];
}

/* Appends a node, initially a complete value. NULL: the tape is full. */
static struct hf_resp_node *append_node(struct parse_input *f, unsigned type)
{
    struct hf_resp_tape *tape = f->tape;
    struct hf_resp_node *node;

    if (tape->count == tape->room)
        return NULL;
    node = &tape->nodes[tape->count++];
    memset(node, 0, sizeof *node);
    node->type = (uint8_t)type;
    node->skip = 1;
    if (f->p->attributed)        /* begin_value has seen that it fits */
        node->before = (tape->count - 1 - f->p->attributes) &
                       HF_RESP_ATTRIBUTES_MAX;
    f->p->attributed = false;
    return node;
}

/* The state in front of the next value. */
static uint8_t state_before_next_value(const struct hf_resp_parser *p)
{
    return p->streamed || p->attributed ? SPECIAL : VALUE;
}

static void enter_aggregate(struct hf_resp_parser *p, const struct hf_resp_tape *tape,
                            struct hf_resp_node *node)
{
    node->skip = p->parent;
    p->parent = (uint32_t)(node - tape->nodes) + 1;
    p->depth++;
    p->streamed = node->flag;
    p->state = state_before_next_value(p);
}

static void return_to_parent(struct hf_resp_parser *p, const struct hf_resp_tape *tape)
{
    struct hf_resp_node *node = innermost_aggregate(p, tape);
    uint32_t index = p->parent - 1;

    p->parent = node->skip;
    p->depth--;
    p->streamed = p->parent && innermost_aggregate(p, tape)->flag;
    node->skip = tape->count - index;
}

/* The value of `node` is complete: counts it in its parent, and closes every aggregate
 * that it completes. */
static void finish_value(struct hf_resp_parser *p, const struct hf_resp_tape *tape,
                         const struct hf_resp_node *node)
{
    for (; node->type != HF_RESP_ATTRIBUTE && p->parent; return_to_parent(p, tape)) {
        struct hf_resp_node *parent = innermost_aggregate(p, tape);

        if (p->streamed)
            parent->as.children.count++;
        if (p->streamed || --parent->as.children.open)
            break;
        node = parent;
    }
    p->attributed = node->type == HF_RESP_ATTRIBUTE;
    p->attributes = (uint32_t)(node - tape->nodes) - node->before;
    p->state = state_before_next_value(p);
    if (!p->parent && !p->attributed)
        p->start = p->pos;
}

/* The innermost aggregate has all its children. */
static NO_INLINE void close_aggregate(struct hf_resp_parser *p,
                                      const struct hf_resp_tape *tape)
{
    const struct hf_resp_node *node = innermost_aggregate(p, tape);

    return_to_parent(p, tape);
    finish_value(p, tape, node);
}

/* The types, by their first byte; 0 is none. Compilers make a table of it; C++
 * cannot write one like this. */
static unsigned type_of_byte(char first)
{
    switch (first) {
    case '+':
        return HF_RESP_SIMPLE;
    case '-':
        return HF_RESP_ERROR;
    case ':':
        return HF_RESP_INTEGER;
    case '$':
        return HF_RESP_BULK;
    case ';':
        return HF_RESP_CHUNK;
    case '_':
        return HF_RESP_NULL;
    case '#':
        return HF_RESP_BOOLEAN;
    case ',':
        return HF_RESP_DOUBLE;
    case '(':
        return HF_RESP_BIG;
    case '!':
        return HF_RESP_BULK_ERROR;
    case '=':
        return HF_RESP_VERBATIM;
    case '*':
        return HF_RESP_ARRAY;
    case '~':
        return HF_RESP_SET;
    case '%':
        return HF_RESP_MAP;
    case '>':
        return HF_RESP_PUSH;
    case '|':
        return HF_RESP_ATTRIBUTE;
    case '.':
        return END;
    }
    return 0;
}

#define RESP2_TYPES                                                           \
    (BIT(HF_RESP_SIMPLE) | BIT(HF_RESP_ERROR) | BIT(HF_RESP_INTEGER) |        \
     BIT(HF_RESP_BULK) | BIT(HF_RESP_ARRAY))
#define RESP3_TYPES                                                           \
    (RESP2_TYPES | BIT(HF_RESP_NULL) | BIT(HF_RESP_BOOLEAN) |                 \
     BIT(HF_RESP_DOUBLE) | BIT(HF_RESP_BIG) | BIT(HF_RESP_BULK_ERROR) |       \
     BIT(HF_RESP_VERBATIM) | BIT(HF_RESP_SET) | BIT(HF_RESP_MAP) |            \
     BIT(HF_RESP_PUSH) | BIT(HF_RESP_ATTRIBUTE))

/* The types that are permitted here, as bits, and their name in an error. */
struct type_choice {
    uint32_t types;
    const char *names;
};

static struct type_choice make_choice(uint32_t types, const char *name)
{
    const struct type_choice c = {types, name};

    return c;
}

/* Source: RESP3 "Streamed strings", "Streamed aggregated data types"; rules
 * K3, M2, M4. */
static struct type_choice types_allowed_in_stream(const struct parse_input *f, uint32_t values)
{
    const struct hf_resp_node *stream = innermost_aggregate(f->p, f->tape);

    if (stream->type == HF_RESP_STREAM)
        return make_choice(BIT(HF_RESP_CHUNK), "a chunk");
    if (f->p->attributed)
        return make_choice(values, "the value of an attribute");
    if (stream->type == HF_RESP_MAP && stream->as.children.count % 2)
        return make_choice(values, "the value of a map's key");
    return make_choice(values | BIT(END), "a value or the end");
}

static struct type_choice types_allowed_here(const struct parse_input *f)
{
    bool refuses_push = f->p->strict && f->p->parent;
    uint32_t values = refuses_push ? RESP3_TYPES & ~BIT(HF_RESP_PUSH) : RESP3_TYPES;

    if (f->p->protocol == 2)
        return make_choice(RESP2_TYPES, "one of + - : $ *");
    if (f->p->streamed)
        return types_allowed_in_stream(f, values);
    return make_choice(values, refuses_push ? "a type byte of RESP3 but >"
                                   : "a type byte of RESP3");
}

/* A streamed aggregate has no header to refuse, so its children are counted.
 * Chunks need not be: each has a byte of the string, which is limited. */
static bool exceeds_elements_limit(const struct parse_input *f, unsigned type)
{
    if (!f->p->streamed || type > HF_RESP_PUSH || type == HF_RESP_CHUNK)
        return false;
    return innermost_aggregate(f->p, f->tape)->as.children.count ==
           f->p->limits.elements;
}

static hf_status begin_value(struct parse_input *f)
{
    struct hf_resp_parser *p = f->p;
    struct type_choice choice;
    unsigned type;

    if (p->pos == f->end)
        return need_more_bytes(f);
    type = type_of_byte(f->buf[p->pos]);
    choice = types_allowed_here(f);
    if (!(choice.types & BIT(type)))
        return fail_parse(f, HF_E_PROTOCOL, p->pos, choice.names);
    if (exceeds_elements_limit(f, type))
        return fail_parse(f, HF_E_LIMIT, p->pos, "the end of a stream that long");
    if (p->attributed &&
        f->tape->count - p->attributes > HF_RESP_ATTRIBUTES_MAX)
        return fail_parse(f, HF_E_LIMIT, p->pos, "fewer attributes before it");
    p->type = (uint8_t)type;
    p->line = p->pos++;
    p->state = LINE;
    return HF_OK;
}

static hf_status fail_at_text(struct parse_input *f, struct text t,
                              const char *expected)
{
    return fail_parse(f, HF_E_PROTOCOL, (size_t)(t.at - f->buf), expected);
}

/* The node of the line is on the tape or is not needed: continues after the line. */
static hf_status append_scalar(struct parse_input *f, struct text t,
                               const struct hf_resp_node *node)
{
    if (!node)
        return HF_RESP_ROOM;
    f->p->pos = (uint32_t)(t.end - f->buf) + 2;
    finish_value(f->p, f->tape, node);
    return HF_OK;
}

static hf_status append_text(struct parse_input *f, struct text t)
{
    struct hf_resp_node *node = append_node(f, f->p->type);

    if (node) {
        node->as.bytes.offset = (uint32_t)(t.at - f->buf);
        node->as.bytes.length = (uint32_t)(t.end - t.at);
    }
    return append_scalar(f, t, node);
}

static hf_status append_big_number(struct parse_input *f, struct text t)
{
    struct text rest = t;

    if (!take_big(&rest))
        return fail_at_text(f, rest, "a digit of a big number");
    return append_text(f, t);
}

static hf_status append_double(struct parse_input *f, struct text t)
{
    struct text rest = t;

    if (!take_double(&rest, f->p->strict))
        return fail_at_text(f, rest, "more of a double");
    return append_text(f, t);
}

static hf_status append_integer(struct parse_input *f, struct text t)
{
    struct hf_resp_node *node;
    int64_t n;

    if (!take_integer(&t, &n))
        return fail_at_text(f, t, "a digit of an integer of 64 bits");
    node = append_node(f, HF_RESP_INTEGER);
    if (node)
        node->as.integer = n;
    return append_scalar(f, t, node);
}

static hf_status append_null(struct parse_input *f, struct text t)
{
    struct hf_resp_node *node;

    if (t.at < t.end)
        return fail_at_text(f, t, "CR LF behind null");
    node = append_node(f, HF_RESP_NULL);
    return append_scalar(f, t, node);
}

/* -1 in place of a length or count. */
static hf_status append_null_of_minus_one(struct parse_input *f, struct text t)
{
    t.at = t.end;
    return append_null(f, t);
}

static hf_status append_boolean(struct parse_input *f, struct text t)
{
    bool is_true = t.at < t.end && *t.at == 't';
    struct hf_resp_node *node;

    if (!take(&t, 't', 'f'))
        return fail_at_text(f, t, "t or f");
    if (t.at < t.end)
        return fail_at_text(f, t, "CR LF behind a boolean");
    node = append_node(f, f->p->type);
    if (node)
        node->flag = is_true;
    return append_scalar(f, t, node);
}

static hf_status open_aggregate(struct parse_input *f, struct text t, unsigned type,
                                uint32_t count, bool streamed)
{
    struct hf_resp_parser *p = f->p;
    struct hf_resp_node *node;

    if (p->depth == p->limits.depth)
        return fail_parse(f, HF_E_LIMIT, p->line, "a value less deeply nested");
    node = append_node(f, type);
    if (!node)
        return HF_RESP_ROOM;
    node->flag = streamed;
    node->as.children.count = count;
    node->as.children.open = count;
    p->pos = (uint32_t)(t.end - f->buf) + 2;
    enter_aggregate(p, f->tape, node);
    return HF_OK;
}

static hf_status open_stream(struct parse_input *f, struct text t)
{
    unsigned type = f->p->type;

    if (type == HF_RESP_BULK)
        type = HF_RESP_STREAM;
    f->p->total = 0;
    return open_aggregate(f, t, type, 0, true);
}

/* "." or ";0": the stream is a whole value now. */
static hf_status end_stream(struct parse_input *f, struct text t)
{
    if (t.at < t.end)
        return fail_at_text(f, t, "CR LF behind the end of a stream");
    f->p->pos = (uint32_t)(t.end - f->buf) + 2;
    close_aggregate(f->p, f->tape);
    return HF_OK;
}

static bool can_be_null(const struct hf_resp_parser *p)
{
    return p->type == HF_RESP_BULK || p->type == HF_RESP_ARRAY;
}

static bool can_be_streamed(const struct hf_resp_parser *p)
{
    return p->protocol == 3 &&
           (p->type == HF_RESP_BULK || p->type == HF_RESP_ARRAY ||
            p->type == HF_RESP_SET || p->type == HF_RESP_MAP);
}

static hf_status open_counted_aggregate(struct parse_input *f, struct text t)
{
    const struct hf_resp_parser *p = f->p;
    bool paired = p->type == HF_RESP_MAP || p->type == HF_RESP_ATTRIBUTE;
    uint32_t per = paired ? 2 : 1;
    hf_status status;
    uint64_t count;

    if (can_be_null(p) && is_text(t, "-1", 2))
        return append_null_of_minus_one(f, t);
    if (can_be_streamed(p) && is_text(t, "?", 1))
        return open_stream(f, t);
    if (!take_size(&t, &count))
        return fail_at_text(f, t, "a digit of a count");
    if (count > p->limits.elements / per)
        return fail_parse(f, HF_E_LIMIT, p->line, "fewer elements");
    if (p->strict && p->type == HF_RESP_PUSH && count == 0)
        return fail_parse(f, HF_E_PROTOCOL, p->line + 1, "the kind of a push");
    status = open_aggregate(f, t, p->type, (uint32_t)count * per, false);
    if (status == HF_OK && !count)
        close_aggregate(f->p, f->tape);
    return status;
}

/* The header of a bulk string, bulk error, verbatim string or chunk is read;
 * `size` more bytes are promised. */
static hf_status expect_data(struct parse_input *f, struct text t, uint64_t size)
{
    struct hf_resp_parser *p = f->p;
    uint32_t earlier = p->type == HF_RESP_CHUNK ? p->total : 0;
    uint64_t begin = (uint64_t)(t.end - f->buf) + 2;
    struct hf_resp_node *node;

    if (size > p->limits.bulk - earlier)
        return fail_parse(f, HF_E_LIMIT, p->line, "fewer bytes of a string");
    if (begin + size + 2 > last_permitted_end(p))
        return fail_parse(f, HF_E_LIMIT, p->line, "the end of a reply that long");
    node = append_node(f, f->p->type);
    if (!node)
        return HF_RESP_ROOM;
    node->as.bytes.offset = (uint32_t)begin;
    node->as.bytes.length = (uint32_t)size;
    p->total = earlier + (uint32_t)size;
    p->pos = (uint32_t)begin;
    p->need = (uint32_t)size + 2;
    p->state = DATA;
    return HF_OK;
}

static hf_status expect_string_data(struct parse_input *f, struct text t)
{
    const struct hf_resp_parser *p = f->p;
    uint64_t size;

    if (can_be_null(p) && is_text(t, "-1", 2))
        return append_null_of_minus_one(f, t);
    if (can_be_streamed(p) && is_text(t, "?", 1))
        return open_stream(f, t);
    if (!take_size(&t, &size))
        return fail_at_text(f, t, "a digit of a length");
    if (p->type == HF_RESP_CHUNK && size == 0)
        return end_stream(f, t);
    if (p->type == HF_RESP_VERBATIM && size <= HF_RESP_FORMAT_LEN)
        return fail_parse(f, HF_E_PROTOCOL, p->line + 1, "a length of 4 or more");
    return expect_data(f, t, size);
}

static hf_status handle_line(struct parse_input *f, struct text t)
{
    switch (f->p->type) {
    case HF_RESP_SIMPLE:
    case HF_RESP_ERROR:
        return append_text(f, t);
    case HF_RESP_INTEGER:
        return append_integer(f, t);
    case HF_RESP_NULL:
        return append_null(f, t);
    case HF_RESP_BOOLEAN:
        return append_boolean(f, t);
    case HF_RESP_DOUBLE:
        return append_double(f, t);
    case HF_RESP_BIG:
        return append_big_number(f, t);
    case HF_RESP_BULK:
    case HF_RESP_BULK_ERROR:
    case HF_RESP_VERBATIM:
    case HF_RESP_CHUNK:
        return expect_string_data(f, t);
    case END:
        return end_stream(f, t);
    }
    return open_counted_aggregate(f, t);
}

static uint32_t line_length_limit(const struct hf_resp_parser *p)
{
    switch (p->type) {
    case HF_RESP_SIMPLE:
    case HF_RESP_ERROR:
    case HF_RESP_DOUBLE:
    case HF_RESP_BIG:
        return p->limits.line;
    }
    return HF_RESP_LINE_MAX;
}

/* The range in which the CR of the current line may be, from pos on: it ends with the
 * bytes that are present, or one byte after the longest line that is permitted. */
static uint32_t line_search_end(struct parse_input *f)
{
    uint64_t last = (uint64_t)f->p->line + 1 + line_length_limit(f->p);

    return last < f->end ? (uint32_t)last + 1 : f->end;
}

/* Source: RESP "the protocol's terminator"; rules A2, B1. */
static hf_status continue_line(struct parse_input *f)
{
    struct hf_resp_parser *p = f->p;
    const char *at = f->buf + p->pos;
    size_t len = line_search_end(f) - p->pos;
    const char *cr = (const char *)memchr(at, '\r', len);
    size_t until = cr ? (size_t)(cr - at) : len;
    const char *lf = (const char *)memchr(at, '\n', until);
    const struct text content = {f->buf + p->line + 1, cr};

    if (lf)
        return fail_parse(f, HF_E_PROTOCOL, (size_t)(lf - f->buf),
                          "CR in front of LF");
    p->pos = cr ? (uint32_t)(cr - f->buf) : p->pos + (uint32_t)len;
    if (!cr && p->pos > (uint64_t)p->line + 1 + line_length_limit(p))
        return fail_parse(f, HF_E_LIMIT, p->pos - 1, "the end of a line that long");
    if (!cr || p->pos + 1 == f->end)
        return need_more_bytes(f);
    if (cr[1] != '\n')
        return fail_parse(f, HF_E_PROTOCOL, p->pos + 1, "LF behind CR");
    return handle_line(f, content);
}

/* Source: RESP "Bulk strings"; rules D3, D4, I2. */
static hf_status continue_data(struct parse_input *f)
{
    struct hf_resp_parser *p = f->p;
    const char *data = f->buf + p->pos;
    const char *end;

    if (f->end - p->pos < p->need)
        return need_more_bytes(f);
    end = data + p->need - 2;
    if (p->type == HF_RESP_VERBATIM && data[HF_RESP_FORMAT_LEN] != ':')
        return fail_parse(f, HF_E_PROTOCOL, p->pos + HF_RESP_FORMAT_LEN,
                          "a colon behind the format");
    if (!is_crlf(end))
        return fail_parse(f, HF_E_PROTOCOL, (size_t)(end - f->buf),
                          "CR LF behind the string");
    p->pos += p->need;
    finish_value(p, f->tape, &f->tape->nodes[f->tape->count - 1]);
    return HF_OK;
}

/* Does as enter, if VALUE is the state before and after. */
static inline void enter_plain_aggregate(struct hf_resp_parser *p,
                                         struct hf_resp_node *nodes,
                                         struct hf_resp_node *node)
{
    node->skip = p->parent;
    p->parent = (uint32_t)(node - nodes) + 1;
    p->depth++;
}

/* Takes one plain value after another: true if the one under way is whole by
 * it, false if the next is not plain. What changes with every value is kept in
 * registers until then. */
static bool parse_plain_values(struct hf_resp_parser *p, const char *buf,
                               uint32_t visible, struct hf_resp_tape *tape)
{
    const struct plain in = {p, buf, buf + visible};
    const char *at = buf + p->pos, *next;
    struct hf_resp_node *const nodes = tape->nodes, *node = nodes + tape->count;
    const struct hf_resp_node *const full = nodes + tape->room;
    uint32_t open;

    while (node < full && (next = plain_value(&in, at, node, &open))) {
        at = next;
        if (open) {
            enter_plain_aggregate(p, nodes, node++);
            continue;
        }
        node++;
        if (p->parent && --innermost_aggregate(p, tape)->as.children.open)
            continue;
        p->pos = (uint32_t)(at - buf);
        tape->count = (uint32_t)(node - tape->nodes);
        if (p->parent)
            close_aggregate(p, tape);
        else
            p->start = p->pos;
        if (p->pos == p->start)
            return true;
        if (p->state != VALUE)
            return false;
    }
    p->pos = (uint32_t)(at - buf);
    tape->count = (uint32_t)(node - tape->nodes);
    return false;
}

static hf_status parse_step(struct parse_input *f)
{
    switch (f->p->state) {
    case VALUE:
    case SPECIAL:
        return begin_value(f);
    case LINE:
        return continue_line(f);
    case DATA:
        return continue_data(f);
    }
    return (hf_status)f->p->broken;
}

/* The slow way: any values or headers until a plain one may follow, or until
 * the bytes end. */
static COLD hf_status parse_until_plain(struct hf_resp_parser *p, const char *buf,
                                        size_t len, struct hf_resp_tape *tape,
                                        uint32_t end)
{
    struct parse_input f = {p, tape, buf, len, end};
    hf_status status;

    do {
        status = parse_step(&f);
    } while (status == HF_OK && p->state != VALUE);
    return status;
}

static NO_INLINE hf_status parse_remaining(struct hf_resp_parser *p, const char *buf,
                                           size_t len, struct hf_resp_tape *tape)
{
    uint32_t last = last_permitted_end(p);
    uint32_t end = len < last ? (uint32_t)len : last;
    hf_status status;

    if (p->pos == p->start)      /* the caller may have emptied the tape */
        p->first = tape->count;
    do {
        if (p->state == VALUE && p->pos < end && tape->count < tape->room &&
            parse_plain_values(p, buf, end, tape))
            return HF_OK;
        status = parse_until_plain(p, buf, len, tape, end);
    } while (status == HF_OK && p->pos != p->start);
    return status;
}

/* "+OK", or a bulk string, on its own, the shortest way: half of what many
 * clients ever read. */
static inline const char *parse_single_plain(const struct hf_resp_parser *p,
                                             const char *buf, size_t len,
                                             struct hf_resp_node *node)
{
    const struct plain in = {p, buf, buf + len};
    const char *at = buf + p->pos;

    if (memcmp(at, "+OK\r\n", 5) == 0 && p->limits.line >= 2) {
        plain_bytes(&in, HF_RESP_SIMPLE, at + 1, 2, node);
        return at + 5;
    }
    return *at == '$' ? plain_bulk(&in, HF_RESP_BULK, at + 1, node) : NULL;
}

hf_status hf_resp_parse(struct hf_resp_parser *p, const char *buf, size_t len,
                        struct hf_resp_tape *tape)
{
    const char *end;

    if (p->pos == p->start && p->state == VALUE && len - p->pos >= 5 &&
        len <= BUFFER_MAX && tape->count < tape->room &&
        (end = parse_single_plain(p, buf, len, tape->nodes + tape->count)) &&
        (size_t)(end - buf) - p->pos <= p->limits.reply) {
        tape->count++;
        p->start = p->pos = (uint32_t)(end - buf);
        return HF_OK;
    }
    return parse_remaining(p, buf, len, tape);
}

/* Moves the nodes of the value under way to the front, and what they say about
 * places in the buffer and on the tape with them. */
static void move_nodes_to_front(struct hf_resp_parser *p, struct hf_resp_tape *tape)
{
    struct hf_resp_node *nodes = tape->nodes;

    tape->count -= p->first;
    if (tape->count)
        memmove(nodes, nodes + p->first, tape->count * sizeof *nodes);
    for (uint32_t i = 0; i < tape->count; i++) {
        if (has_bytes(&nodes[i]))
            nodes[i].as.bytes.offset -= p->start;
    }
    for (uint32_t *up = &p->parent; *up; up = &nodes[*up - 1].skip)
        *up -= p->first;
    p->attributes -= p->first;
}

void hf_resp_drop(struct hf_resp_parser *p, struct hf_resp_tape *tape,
                  size_t *bytes)
{
    *bytes = p->start;
    if (p->pos == p->start)      /* the caller may have emptied the tape */
        p->first = tape->count;
    if (!p->start && !p->first)
        return;
    move_nodes_to_front(p, tape);
    p->pos -= p->start;
    p->line -= p->start;
    if (p->broken)
        p->error.offset -= p->start;
    p->start = 0;
    p->first = 0;
}

size_t hf_resp_wanted(const struct hf_resp_parser *p, size_t len)
{
    if (p->state != DATA || len - p->pos >= p->need)
        return 1;
    return p->need - (len - p->pos);
}
