/* A walk over a parsed reply, in the order of its bytes. It knows at which byte
 * each value begins, which the tape says only of strings. */
#ifndef TOOLS_RESP_WALK_H
#define TOOLS_RESP_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resp/resp.h"

/* The most levels of nesting. A level costs 12 bytes, and no call stack. */
#define CLI_DEPTH_MAX 512

/* Limits for replies: the defaults of the parser, except for this number of levels. */
extern const struct hf_resp_limits cli_resp_limits;

/* One whole reply with the attributes before it. */
struct cli_reply {
    const char *buf;
    size_t len;                 /* bytes of the buffer, this reply's included */
    size_t begin;               /* its first byte in the buffer */
    uint64_t dropped;           /* bytes of the stream in front of the buffer */
    const struct hf_resp_node *nodes;
    uint32_t count;
};

enum cli_role { CLI_ELEMENT, CLI_KEY, CLI_VALUE_OF_KEY };

/* A value, and its place. */
struct cli_place {
    const struct hf_resp_node *node;
    size_t at;                  /* of its type byte, in the buffer */
    uint64_t offset;            /* the same in the stream */
    uint32_t depth;             /* 0: the reply itself */
    uint32_t index;             /* among its siblings, attributes not counted */
    enum cli_role role;
    bool is_attributed;         /* an attribute is directly before it */
};

enum cli_walk_step {
    CLI_AT_VALUE,               /* a value; if it has children, they follow */
    CLI_AT_CLOSE,               /* the same value, after its children */
    CLI_AT_END
};

struct cli_walk {
    struct cli_reply reply;
    uint32_t next;              /* the next node */
    size_t at;                  /* the byte where it begins */
    uint32_t depth;
    struct {
        uint32_t node;          /* whose children these are; not at depth 0 */
        uint32_t count;         /* of them so far, attributes not counted */
        bool is_attributed;     /* the last was an attribute */
    } level[CLI_DEPTH_MAX + 1];
};

/* cli_walk_start - begins before a reply, which was parsed with cli_resp_limits and must not change
 *                  during the walk.
 * cli_walk_next  - moves to the next place; fills *place unless it returns CLI_AT_END.
 * Cost: each byte outside of bulk strings is read once. */
void cli_walk_start(struct cli_walk *w, const struct cli_reply *reply);
enum cli_walk_step cli_walk_next(struct cli_walk *w, struct cli_place *place);

/* What the protocol calls the type: "bulk string". Static memory. */
const char *cli_type_name(const struct hf_resp_node *node);

/* Returns whether it has children (also chunks); whether it is a map or an attribute.
 * */
bool cli_has_children(const struct hf_resp_node *node);
bool cli_is_paired(const struct hf_resp_node *node);

#endif
