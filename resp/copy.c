/* Values that outlive their buffer. A value, its attributes and its children are together on
 * the tape, and their bytes are together in the buffer, in the same order: a copy is both
 * pieces, one after the other.
 *
 *     mem   [node][node][node] bytes of the first node ... of the last */
/* Tests: tests/test_resp_copy.c. */
#include <string.h>

#include "resp/node.h"
#include "resp/resp.h"

/* What a copy takes over. */
struct value_extent {
    const struct hf_resp_node *first_node, *end_node;
    uint32_t first_byte, end_byte; /* offsets into the buffer; headers in between */
};

static inline struct value_extent extent_of_value(struct hf_resp_value v)
{
    struct value_extent e = {first_node(v), v.node + v.node->skip, 0, 0};
    const struct hf_resp_node *low = e.first_node, *high = e.end_node;

    while (low < e.end_node && !has_bytes(low))
        low++;
    if (low == e.end_node)
        return e;
    do
        high--;
    while (!has_bytes(high));
    e.first_byte = low->as.bytes.offset;
    e.end_byte = high->as.bytes.offset + high->as.bytes.length;
    return e;
}

/* Both parts are in memory already, so their sum is a size. */
static size_t copy_size(const struct value_extent *e)
{
    return (size_t)(e->end_node - e->first_node) * sizeof *e->first_node +
           (e->end_byte - e->first_byte);
}

size_t hf_resp_copy_size(struct hf_resp_value v)
{
    const struct value_extent e = extent_of_value(v);

    return copy_size(&e);
}

/* Both halves of `as` one by one, whatever they mean: as the parser has just
 * written them, a processor reads them at once. */
static void copy_node(struct hf_resp_node *dst, const struct hf_resp_node *src,
                      uint32_t from)
{
    memcpy(dst, src, offsetof(struct hf_resp_node, as));
    dst->as.bytes.offset = src->as.bytes.offset - (has_bytes(src) ? from : 0);
    dst->as.bytes.length = src->as.bytes.length;
}

hf_status hf_resp_copy(struct hf_resp_value v, void *mem, size_t room,
                       struct hf_resp_value *out)
{
    const struct value_extent e = extent_of_value(v);
    struct hf_resp_node *nodes = (struct hf_resp_node *)mem;
    size_t count = (size_t)(e.end_node - e.first_node);
    char *bytes = (char *)(nodes + count);

    if (copy_size(&e) > room)
        return HF_RESP_ROOM;
    for (size_t i = 0; i < count; i++)
        copy_node(&nodes[i], &e.first_node[i], e.first_byte);
    if (e.end_byte > e.first_byte)
        memcpy(bytes, v.buf + e.first_byte, e.end_byte - e.first_byte);
    out->buf = bytes;
    out->node = nodes + (v.node - e.first_node);
    return HF_OK;
}
