/* Private to resp/: which nodes hold what. */
#ifndef HF_RESP_NODE_H
#define HF_RESP_NODE_H

#include "resp/resp.h"

#define BIT(type) (UINT32_C(1) << (type))

/* Does the node point into the buffer? */
static inline bool has_bytes(const struct hf_resp_node *node)
{
    const uint32_t types =
        BIT(HF_RESP_SIMPLE) | BIT(HF_RESP_ERROR) | BIT(HF_RESP_BULK) |
        BIT(HF_RESP_CHUNK) | BIT(HF_RESP_DOUBLE) | BIT(HF_RESP_BIG) |
        BIT(HF_RESP_BULK_ERROR) | BIT(HF_RESP_VERBATIM);

    return types & BIT(node->type);
}

/* The first of a value's attributes, or the value. What stands before an
 * attribute is not its own. */
static inline const struct hf_resp_node *first_node(struct hf_resp_value v)
{
    return v.node->type == HF_RESP_ATTRIBUTE ? v.node
                                             : v.node - v.node->before;
}

static inline bool has_children(const struct hf_resp_node *node)
{
    return node->type >= HF_RESP_ARRAY;
}

#endif
