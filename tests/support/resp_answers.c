/* Asks a whole value everything. */
#include "tests/support/resp_answers.h"

#include <math.h>
#include <string.h>

#include "tests/support/must.h"

/* ---- scalars ---- */

/* Text that ends in NUL, from bytes that do not. */
static char *text_of(const char *ptr, size_t len)
{
    char *text = must_alloc(len + 1);

    if (len)
        memcpy(text, ptr, len);
    text[len] = '\0';
    return text;
}

/* The C library reads what the grammar allows and, in the locale "C", the
 * same. */
static void ask_double(struct hf_resp_value v, const char *ptr, size_t len)
{
    char *text = text_of(ptr, len);
    double want = strtod(text, NULL), got = 0;

    must(hf_resp_double(v, &got) == HF_OK);
    must(isnan(want) ? isnan(got) : memcmp(&got, &want, sizeof got) == 0);
    free(text);
}

/* The code is what stands in front of the first space, and no less. */
static void ask_error(struct hf_resp_value v, const char *ptr, size_t len)
{
    char *code = text_of(ptr, len);
    size_t n = strcspn(code, " ");

    code[n] = '\0';
    must(hf_resp_error_is(v, code) == (n == len || ptr[n] == ' '));
    if (n > 0) {
        code[n - 1] = '\0';
        must(!hf_resp_error_is(v, code));
    }
    free(code);
}

/* Into a block of its very size, and not into a smaller one. */
static char *copy_bytes(struct hf_resp_value v, size_t len)
{
    char *copy = must_alloc(len);
    size_t n = SIZE_MAX;

    must(!len || hf_resp_copy_bytes(v, copy, len - 1, &n) == HF_RESP_ROOM);
    must(hf_resp_copy_bytes(v, copy, len, &n) == HF_OK && n == len);
    return copy;
}

static void ask_bytes(struct hf_resp_value v, const char *ptr, size_t len)
{
    char *copy = copy_bytes(v, len);

    must(!len || memcmp(copy, ptr, len) == 0);
    must(hf_resp_is_text(v, copy, len));
    must(!len || !hf_resp_is_text(v, copy, len - 1));
    free(copy);
}

static uint32_t ask_stream(struct hf_resp_value v)
{
    const struct hf_resp_node *chunk = v.node + 1;
    size_t len = 0;
    char *copy;

    for (uint32_t i = 0; i < v.node->as.children.count; i++)
        len += chunk[i].as.bytes.length;
    must(v.node->skip == v.node->as.children.count + 1);
    copy = copy_bytes(v, len);
    for (size_t at = 0; at < len; at += chunk++->as.bytes.length)
        must(memcmp(copy + at, v.buf + chunk->as.bytes.offset,
                    chunk->as.bytes.length) == 0);
    free(copy);
    return (uint32_t)len;
}

/* The accessors that answer a type, each HF_OK and the others HF_E_TYPE. */
enum answers { INTEGER = 1, DOUBLE = 2, BOOLEAN = 4, BYTES = 8, FORMAT = 16 };

static unsigned answers_of(enum hf_resp_type type)
{
    switch (type) {
    case HF_RESP_INTEGER:
        return INTEGER | DOUBLE;
    case HF_RESP_BOOLEAN:
        return BOOLEAN;
    case HF_RESP_DOUBLE:
        return DOUBLE | BYTES;
    case HF_RESP_VERBATIM:
        return FORMAT | BYTES;
    case HF_RESP_SIMPLE:
    case HF_RESP_ERROR:
    case HF_RESP_BULK:
    case HF_RESP_BIG:
    case HF_RESP_BULK_ERROR:
        return BYTES;
    default:
        return 0;
    }
}

static bool is_line(enum hf_resp_type type)
{
    return type == HF_RESP_SIMPLE || type == HF_RESP_ERROR ||
           type == HF_RESP_DOUBLE || type == HF_RESP_BIG;
}

static void ask_scalar(struct hf_resp_value v, const struct hf_resp_limits *max)
{
    enum hf_resp_type type = hf_resp_type(v);
    unsigned answers = answers_of(type);
    const char *ptr, *format;
    size_t len;
    int64_t integer;
    double number;
    bool boolean;

    must((hf_resp_integer(v, &integer) == HF_OK) == !!(answers & INTEGER));
    must((hf_resp_double(v, &number) == HF_OK) == !!(answers & DOUBLE));
    must((hf_resp_boolean(v, &boolean) == HF_OK) == !!(answers & BOOLEAN));
    must((hf_resp_bytes(v, &ptr, &len) == HF_OK) == !!(answers & BYTES));
    must((hf_resp_verbatim_format(v, &format) == HF_OK) ==
         !!(answers & FORMAT));
    must(type != HF_RESP_INTEGER || number == (double)integer);
    must(type != HF_RESP_VERBATIM || format + HF_RESP_FORMAT_LEN + 1 == ptr);
    must(type != HF_RESP_STREAM || ask_stream(v) <= max->bulk);
    if (answers & BYTES) {
        must(len <= (is_line(type) ? max->line : max->bulk));
        ask_bytes(v, ptr, len);
    }
    if (type == HF_RESP_DOUBLE)
        ask_double(v, ptr, len);
    if (hf_resp_is_error(v))
        ask_error(v, ptr, len);
}

/* ---- values with children ---- */

/* What the first text key leads to is the child behind it. */
static void ask_map(struct hf_resp_value map)
{
    struct hf_resp_iter it = hf_resp_children(map);
    struct hf_resp_value key, value, found;
    const char *ptr;
    size_t len;

    if (hf_resp_type(map) == HF_RESP_SET || hf_resp_type(map) == HF_RESP_PUSH)
        return;
    while (hf_resp_next(&it, &key) && hf_resp_next(&it, &value)) {
        if (hf_resp_bytes(key, &ptr, &len) != HF_OK)
            continue;
        must(hf_resp_map_get(map, ptr, len, &found) == HF_OK);
        must(found.node == value.node);
        return;
    }
    must(hf_resp_map_get(map, "", 0, &found) == HF_E_TYPE);
}

/* What a key leads to in the attributes is the last that any of them says. */
static void ask_attributes(struct hf_resp_value v)
{
    struct hf_resp_value map, key, value, last = v, found;
    const char *ptr, *last_ptr = NULL;
    size_t len, last_len = 0;

    for (size_t i = 0; hf_resp_attributes(v, i, &map) == HF_OK; i++) {
        struct hf_resp_iter it = hf_resp_children(map);

        while (hf_resp_next(&it, &key) && hf_resp_next(&it, &value)) {
            if (hf_resp_bytes(key, &ptr, &len) != HF_OK)
                continue;
            last_ptr = ptr;
            last_len = len;
            last = value;
        }
    }
    if (!last_ptr)
        return;
    must(hf_resp_attribute(v, last_ptr, last_len, &found) == HF_OK);
    must(found.node == last.node);
}

static bool is_level(struct hf_resp_value v)
{
    return hf_resp_type(v) >= HF_RESP_ARRAY ||
           hf_resp_type(v) == HF_RESP_STREAM;
}

static void ask_tree(struct hf_resp_value v, const struct hf_resp_limits *max,
                     uint32_t around);

static void ask_children(struct hf_resp_value v,
                         const struct hf_resp_limits *max, uint32_t depth)
{
    struct hf_resp_iter it = hf_resp_children(v);
    struct hf_resp_value child = v, last;
    size_t count = 0;

    for (; hf_resp_next(&it, &child); count++)
        ask_tree(child, max, depth);
    must(count == hf_resp_count(v) && count <= max->elements);
    must(hf_resp_element(v, count, &last) == HF_E_TYPE);
    must(!count || hf_resp_element(v, count - 1, &last) == HF_OK);
    must(!count || last.node == child.node);
}

/* `around`: levels that v stands in. */
static void ask_tree(struct hf_resp_value v, const struct hf_resp_limits *max,
                     uint32_t around)
{
    struct hf_resp_value map;

    must(around + is_level(v) <= max->depth);
    ask_scalar(v, max);
    ask_children(v, max, around + is_level(v));
    for (size_t i = 0; hf_resp_attributes(v, i, &map) == HF_OK; i++)
        ask_tree(map, max, around);
    ask_attributes(v);
    if (hf_resp_type(v) >= HF_RESP_ARRAY)
        ask_map(v);
}

/* ---- deep copies ---- */

static bool is_same_text(struct hf_resp_value a, struct hf_resp_value b)
{
    size_t len = 0, b_len = 0;
    hf_status status = hf_resp_copy_bytes(a, NULL, 0, &len);
    char *in_a, *in_b;
    bool is_same;

    if (status != hf_resp_copy_bytes(b, NULL, 0, &b_len) || len != b_len)
        return false;
    if (status != HF_RESP_ROOM)
        return true;
    in_a = copy_bytes(a, len);
    in_b = copy_bytes(b, len);
    is_same = memcmp(in_a, in_b, len) == 0;
    free(in_a);
    free(in_b);
    return is_same;
}

static void must_be_same(struct hf_resp_value a, struct hf_resp_value b);

static void must_be_same_children(struct hf_resp_value a,
                                  struct hf_resp_value b)
{
    struct hf_resp_iter in_a = hf_resp_children(a), in_b = hf_resp_children(b);

    must(hf_resp_count(a) == hf_resp_count(b));
    while (hf_resp_next(&in_a, &a) && hf_resp_next(&in_b, &b))
        must_be_same(a, b);
}

static void must_be_same(struct hf_resp_value a, struct hf_resp_value b)
{
    struct hf_resp_value in_a, in_b;
    int64_t m = 0, n = 0;

    must(hf_resp_type(a) == hf_resp_type(b));
    must(a.node->flag == b.node->flag && a.node->skip == b.node->skip);
    must(hf_resp_integer(a, &m) == hf_resp_integer(b, &n) && m == n);
    must(is_same_text(a, b));
    must_be_same_children(a, b);
    for (size_t i = 0; hf_resp_attributes(a, i, &in_a) == HF_OK; i++) {
        must(hf_resp_attributes(b, i, &in_b) == HF_OK);
        must_be_same(in_a, in_b);
    }
}

/* A copy in a block of its very size, which it does not look out of; not in a
 * smaller one. */
static void ask_copy(struct hf_resp_value v, const struct hf_resp_limits *max)
{
    size_t size = hf_resp_copy_size(v);
    char *mem = must_alloc(size);
    struct hf_resp_value copy = v;

    must(hf_resp_copy(v, mem, size - 1, &copy) == HF_RESP_ROOM);
    must(hf_resp_copy(v, mem, size, &copy) == HF_OK);
    must(copy.buf >= mem && copy.buf <= mem + size);
    must((const char *)copy.node >= mem);
    must_be_same(v, copy);
    ask_tree(copy, max, 0);
    free(mem);
}

void resp_answers_all(struct hf_resp_value v, const struct input *in, size_t len)
{
    struct hf_resp_value child;

    must(len <= in->limits.reply);
    ask_tree(v, &in->limits, 0);
    ask_copy(v, &in->limits);
    if (hf_resp_element(v, 0, &child) == HF_OK)
        ask_copy(child, &in->limits);
}
