/* Reads values from a tape. Nothing here can leave the buffer: every offset
 * and length on the tape was checked by the parser. */
/* Tests: tests/test_resp_value.c. */
#include <string.h>

#include "resp/double.h"
#include "resp/node.h"
#include "resp/resp.h"

/* Steps over the attributes at `node` to the value that they belong to. */
static struct hf_resp_value value_after_attributes(const char *buf,
                                                   const struct hf_resp_node *node)
{
    struct hf_resp_value v = {buf, node};

    while (v.node->type == HF_RESP_ATTRIBUTE)
        v.node += v.node->skip;
    return v;
}

struct hf_resp_value hf_resp_first(const struct hf_resp_tape *tape,
                                   const char *buf, uint32_t index)
{
    return value_after_attributes(buf, &tape->nodes[index]);
}

uint32_t hf_resp_next_index(const struct hf_resp_tape *tape, uint32_t index)
{
    const struct hf_resp_node *node =
        value_after_attributes(NULL, &tape->nodes[index]).node;

    return (uint32_t)(node - tape->nodes) + node->skip;
}

enum hf_resp_type hf_resp_type(struct hf_resp_value v)
{
    return (enum hf_resp_type)v.node->type;
}

hf_status hf_resp_integer(struct hf_resp_value v, int64_t *out)
{
    if (v.node->type != HF_RESP_INTEGER)
        return HF_E_TYPE;
    *out = v.node->as.integer;
    return HF_OK;
}

hf_status hf_resp_double(struct hf_resp_value v, double *out)
{
    const char *text;
    size_t len;

    if (v.node->type == HF_RESP_INTEGER) {
        *out = (double)v.node->as.integer;
        return HF_OK;
    }
    if (v.node->type != HF_RESP_DOUBLE)
        return HF_E_TYPE;
    (void)hf_resp_bytes(v, &text, &len);   /* a double has bytes */
    *out = hf_resp_read_double(text, text + len);
    return HF_OK;
}

hf_status hf_resp_boolean(struct hf_resp_value v, bool *out)
{
    if (v.node->type != HF_RESP_BOOLEAN)
        return HF_E_TYPE;
    *out = v.node->flag != 0;
    return HF_OK;
}

hf_status hf_resp_bytes(struct hf_resp_value v, const char **ptr, size_t *len)
{
    size_t skip = 0;

    if (!has_bytes(v.node))
        return HF_E_TYPE;
    if (v.node->type == HF_RESP_VERBATIM)
        skip = HF_RESP_FORMAT_LEN + 1;   /* and the colon */
    *ptr = v.buf + v.node->as.bytes.offset + skip;
    *len = v.node->as.bytes.length - skip;
    return HF_OK;
}

hf_status hf_resp_verbatim_format(struct hf_resp_value v, const char **ptr)
{
    if (v.node->type != HF_RESP_VERBATIM)
        return HF_E_TYPE;
    *ptr = v.buf + v.node->as.bytes.offset;
    return HF_OK;
}

static size_t streamed_string_len(const struct hf_resp_node *stream)
{
    size_t len = 0;

    for (uint32_t i = 1; i < stream->skip; i++)
        len += stream[i].as.bytes.length;
    return len;
}

static void copy_streamed_string(struct hf_resp_value v, char *dst)
{
    for (uint32_t i = 1; i < v.node->skip; i++) {
        const struct hf_resp_node *chunk = &v.node[i];

        memcpy(dst, v.buf + chunk->as.bytes.offset, chunk->as.bytes.length);
        dst += chunk->as.bytes.length;
    }
}

hf_status hf_resp_copy_bytes(struct hf_resp_value v, char *dst, size_t room,
                             size_t *len)
{
    const char *ptr;

    if (v.node->type == HF_RESP_STREAM) {
        *len = streamed_string_len(v.node);
        if (*len > room)
            return HF_RESP_ROOM;
        copy_streamed_string(v, dst);
        return HF_OK;
    }
    if (hf_resp_bytes(v, &ptr, len) != HF_OK)
        return HF_E_TYPE;
    if (*len > room)
        return HF_RESP_ROOM;
    if (*len)                    /* `dst` may be NULL if nothing is copied */
        memcpy(dst, ptr, *len);
    return HF_OK;
}

bool hf_resp_is_text(struct hf_resp_value v, const char *text, size_t len)
{
    const char *ptr;
    size_t n;

    if (hf_resp_bytes(v, &ptr, &n) != HF_OK || n != len)
        return false;
    return len == 0 || memcmp(ptr, text, len) == 0;
}

bool hf_resp_error_is(struct hf_resp_value v, const char *code)
{
    size_t want = strlen(code);
    const char *ptr;
    size_t len;

    if (!hf_resp_is_error(v))
        return false;
    (void)hf_resp_bytes(v, &ptr, &len);   /* an error has bytes */
    /* Length first: the text may be shorter than the code (B4). */
    if (len < want || memcmp(ptr, code, want) != 0)
        return false;
    return len == want || ptr[want] == ' ';
}

size_t hf_resp_count(struct hf_resp_value v)
{
    return has_children(v.node) ? v.node->as.children.count : 0;
}

struct hf_resp_iter hf_resp_children(struct hf_resp_value v)
{
    struct hf_resp_iter it = {v.buf, v.node + 1, v.node + 1};

    if (has_children(v.node))
        it.end = v.node + v.node->skip;
    return it;
}

bool hf_resp_next(struct hf_resp_iter *it, struct hf_resp_value *out)
{
    if (it->at == it->end)
        return false;
    *out = value_after_attributes(it->buf, it->at);
    it->at = out->node + out->node->skip;
    return true;
}

hf_status hf_resp_element(struct hf_resp_value v, size_t index,
                          struct hf_resp_value *out)
{
    struct hf_resp_iter it = hf_resp_children(v);

    if (index >= hf_resp_count(v))
        return HF_E_TYPE;
    v = value_after_attributes(it.buf, it.at); /* index < count: there is one */
    for (; index > 0; index--)
        v = value_after_attributes(it.buf, v.node + v.node->skip);
    *out = v;
    return HF_OK;
}

hf_status hf_resp_map_get(struct hf_resp_value v, const char *key, size_t len,
                          struct hf_resp_value *out)
{
    struct hf_resp_iter it = hf_resp_children(v);
    struct hf_resp_value k, value;

    if (v.node->type != HF_RESP_MAP && v.node->type != HF_RESP_ARRAY &&
        v.node->type != HF_RESP_ATTRIBUTE)
        return HF_E_TYPE;
    while (hf_resp_next(&it, &k) && hf_resp_next(&it, &value)) {
        if (!hf_resp_is_text(k, key, len))
            continue;
        *out = value;
        return HF_OK;
    }
    return HF_E_TYPE;
}

/* The last value under `key` in one attribute; *out as it was if none. */
static bool find_in_attribute(struct hf_resp_value map, const char *key,
                              size_t len, struct hf_resp_value *out)
{
    struct hf_resp_iter it = hf_resp_children(map);
    struct hf_resp_value k, value;
    bool found = false;

    while (hf_resp_next(&it, &k)) {
        (void)hf_resp_next(&it, &value);   /* pairs, always */
        if (!hf_resp_is_text(k, key, len))
            continue;
        *out = value;
        found = true;
    }
    return found;
}

hf_status hf_resp_attribute(struct hf_resp_value v, const char *key,
                            size_t len, struct hf_resp_value *out)
{
    struct hf_resp_value map = {v.buf, first_node(v)};
    bool found = false;

    for (; map.node != v.node; map.node += map.node->skip)
        found |= find_in_attribute(map, key, len, out);
    return found ? HF_OK : HF_E_TYPE;
}

hf_status hf_resp_attributes(struct hf_resp_value v, size_t index,
                             struct hf_resp_value *out)
{
    const struct hf_resp_node *node = first_node(v);

    for (; node != v.node && index > 0; index--)
        node += node->skip;
    if (node == v.node)
        return HF_E_TYPE;
    out->buf = v.buf;
    out->node = node;
    return HF_OK;
}
