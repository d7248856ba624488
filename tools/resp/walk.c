/* A walk over a parsed reply, in the order of its bytes. */
/* Tests: tests/test_tools_resp.c. */
#include "tools/resp/walk.h"

#include <assert.h>
#include <string.h>

const struct hf_resp_limits cli_resp_limits = {
    .depth = CLI_DEPTH_MAX,
    .line = 68 * 1024,
    .bulk = 512 * 1024 * 1024,
    .elements = INT32_MAX,
    .reply = 1024 * 1024 * 1024,
};

/* ---- types ---- */

const char *cli_type_name(const struct hf_resp_node *node)
{
    static const char *const names[] = {
        [HF_RESP_SIMPLE] = "simple string",
        [HF_RESP_ERROR] = "error",
        [HF_RESP_INTEGER] = "integer",
        [HF_RESP_BULK] = "bulk string",
        [HF_RESP_STREAM] = "streamed string",
        [HF_RESP_CHUNK] = "chunk",
        [HF_RESP_NULL] = "null",
        [HF_RESP_BOOLEAN] = "boolean",
        [HF_RESP_DOUBLE] = "double",
        [HF_RESP_BIG] = "big number",
        [HF_RESP_BULK_ERROR] = "bulk error",
        [HF_RESP_VERBATIM] = "verbatim string",
        [HF_RESP_ARRAY] = "array",
        [HF_RESP_SET] = "set",
        [HF_RESP_MAP] = "map",
        [HF_RESP_PUSH] = "push",
        [HF_RESP_ATTRIBUTE] = "attribute",
    };

    return names[node->type];
}

bool cli_has_children(const struct hf_resp_node *node)
{
    return node->type == HF_RESP_STREAM || node->type >= HF_RESP_ARRAY;
}

bool cli_is_paired(const struct hf_resp_node *node)
{
    return node->type == HF_RESP_MAP || node->type == HF_RESP_ATTRIBUTE;
}

static bool has_length(const struct hf_resp_node *node)
{
    return node->type == HF_RESP_BULK || node->type == HF_RESP_BULK_ERROR ||
           node->type == HF_RESP_VERBATIM || node->type == HF_RESP_CHUNK;
}

/* ---- the walk ---- */

void cli_walk_start(struct cli_walk *w, const struct cli_reply *reply)
{
    w->reply = *reply;
    w->next = 0;
    w->at = reply->begin;
    w->depth = 0;
    w->level[0].node = 0;
    w->level[0].count = 0;
    w->level[0].is_attributed = false;
}

static size_t behind_line(const struct cli_walk *w)
{
    const char *from = w->reply.buf + w->at;
    const char *lf = memchr(from, '\n', w->reply.len - w->at);

    assert(lf); /* the parser saw it */
    return (size_t)(lf - w->reply.buf) + 1;
}

/* Returns the byte after the node at w->at, or after its header if it has children. */
static size_t behind(const struct cli_walk *w, const struct hf_resp_node *node)
{
    if (!has_length(node))
        return behind_line(w);
    return (size_t)node->as.bytes.offset + node->as.bytes.length + 2;
}

static enum cli_role role_of(const struct cli_walk *w)
{
    uint32_t node = w->level[w->depth].node;

    if (w->depth == 0 || !cli_is_paired(&w->reply.nodes[node]))
        return CLI_ELEMENT;
    return w->level[w->depth].count % 2 ? CLI_VALUE_OF_KEY : CLI_KEY;
}

static void fill(const struct cli_walk *w, struct cli_place *place,
                 uint32_t node)
{
    place->node = &w->reply.nodes[node];
    place->at = w->at;
    place->offset = w->reply.dropped + w->at;
    place->depth = w->depth;
    place->index = w->level[w->depth].count;
    place->role = role_of(w);
    place->is_attributed = w->level[w->depth].is_attributed;
}

/* Counts a whole value (or attribute) in its level. */
static void count(struct cli_walk *w, const struct hf_resp_node *node)
{
    bool is_attribute = node->type == HF_RESP_ATTRIBUTE;

    w->level[w->depth].is_attributed = is_attribute;
    w->level[w->depth].count += !is_attribute;
}

static enum cli_walk_step ascend(struct cli_walk *w, struct cli_place *place)
{
    uint32_t node = w->level[w->depth].node;

    w->depth--;
    fill(w, place, node);
    if (w->reply.nodes[node].flag)
        w->at = behind_line(w); /* "." or ";0" */
    count(w, place->node);
    return CLI_AT_CLOSE;
}

static void descend(struct cli_walk *w, uint32_t node)
{
    assert(w->depth < CLI_DEPTH_MAX);
    w->depth++;
    w->level[w->depth].node = node;
    w->level[w->depth].count = 0;
    w->level[w->depth].is_attributed = false;
}

static bool is_full(const struct cli_walk *w)
{
    uint32_t node = w->level[w->depth].node;

    return w->depth > 0 && w->next == node + w->reply.nodes[node].skip;
}

enum cli_walk_step cli_walk_next(struct cli_walk *w, struct cli_place *place)
{
    if (is_full(w))
        return ascend(w, place);
    if (w->next == w->reply.count)
        return CLI_AT_END;
    fill(w, place, w->next++);
    w->at = behind(w, place->node);
    if (cli_has_children(place->node))
        descend(w, w->next - 1);
    else
        count(w, place->node);
    return CLI_AT_VALUE;
}
