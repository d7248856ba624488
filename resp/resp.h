/* RESP2 and RESP3: parses replies and encodes commands. It uses no I/O, clock, thread or
 * allocation: the caller provides all memory. It can be used alone.
 *
 * The parser converts bytes into a *tape*: an array of 16-byte nodes, one for each value,
 * parents before children. Payloads stay in the caller's buffer. Nodes contain offsets
 * into it, so the caller may move the buffer. The hf_resp_* accessors below read values;
 * they never read outside the buffer, and return HF_E_TYPE for a value of another type.
 *
 *     bytes   *2\r\n :7\r\n $2\r\nok\r\n
 *     tape    [array 2] [integer 7] [bulk string, offset 12, 2 bytes]
 *
 * Sources: RESP (redis.io, protocol-spec), RESP3 (redis-specifications). */
#ifndef HF_RESP_H
#define HF_RESP_H

#include <stdbool.h>

#include "resp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hf_resp_type {
    HF_RESP_SIMPLE = 1,   /* +  */
    HF_RESP_ERROR,        /* -  */
    HF_RESP_INTEGER,      /* :  */
    HF_RESP_BULK,         /* $  */
    HF_RESP_STREAM,       /* $? a bulk string in chunks: hf_resp_copy_bytes */
    HF_RESP_CHUNK,        /* ;  follows its HF_RESP_STREAM on the tape; no accessor
                                returns it */
    HF_RESP_NULL,         /* _, and $-1 and *-1 in both protocols */
    HF_RESP_BOOLEAN,      /* #  */
    HF_RESP_DOUBLE,       /* ,  stored as text, converted by hf_resp_double */
    HF_RESP_BIG,          /* (  stored as text */
    HF_RESP_BULK_ERROR,   /* !  */
    HF_RESP_VERBATIM,     /* =  */
    HF_RESP_ARRAY,        /* *  */
    HF_RESP_SET,          /* ~  */
    HF_RESP_MAP,          /* %  */
    HF_RESP_PUSH,         /* >  */
    HF_RESP_ATTRIBUTE     /* |  precedes the value to which it belongs; it is not
                                counted as an element */
};

/* One value. Prefer the accessors: they check types and bounds. */
struct hf_resp_node {
    uint32_t type : 8;    /* enum hf_resp_type */
    uint32_t flag : 1;    /* boolean: 1 true; aggregate: 1 streamed */
    uint32_t before : 23; /* number of nodes of the attributes before it */
    uint32_t skip;        /* nodes from this one to the next sibling, >= 1;
                             private to the parser until the value is complete */
    union {
        int64_t integer;
        struct {
            uint32_t offset;   /* bytes from the start of the buffer */
            uint32_t length;
        } bytes;
        struct {
            uint32_t count;    /* children, attributes not counted; a map or
                                  attribute of n pairs has 2n */
            uint32_t open;     /* private to the parser until it is complete */
        } children;
    } as;
};

/* The parser appends nodes. The caller owns the array `nodes`, and may move or grow it
 * between calls, updating `nodes` and `room`. Between two values it may set `count` to 0.
 * A value has at least three bytes, so N bytes need at most N / 3 nodes. */
struct hf_resp_tape {
    struct hf_resp_node *nodes;
    uint32_t count;
    uint32_t room;
};

/* Limits of a parser. A header that announces more is refused at the header. Memory use
 * depends on the bytes received, never on the bytes announced. */
struct hf_resp_limits {
    uint32_t depth;        /* levels of nesting, attributes and streamed strings
                              included; a scalar alone has 0 */
    uint32_t line;         /* bytes of a simple string, error, big number or
                              double, without type byte and CR LF. The limit of
                              other lines is HF_RESP_LINE_MAX */
    uint32_t bulk;         /* bytes of one bulk string, error, verbatim string,
                              and of all chunks of a streamed one together */
    uint32_t elements;     /* children of one aggregate; a pair of a map or
                              attribute counts as 2 */
    uint32_t reply;        /* bytes of one whole reply, headers included */
};

/* Maximum bytes of an integer, length, count, boolean or null. The longest number has 20;
 * the others allow leading zeros. */
#define HF_RESP_LINE_MAX 64

/* Maximum number of nodes of the attributes before one value. */
#define HF_RESP_ATTRIBUTES_MAX ((1 << 23) - 1)

/* Depth 512, line 68 KiB (64 KiB and a margin), bulk 512 MiB and elements 2^31 - 1 (the
 * server's own limits), reply 1 GiB. Whatever the limits, no value may end more than
 * 4 GiB after the start of the buffer. */
HF_API extern const struct hf_resp_limits hf_resp_default_limits;

/* A parser, in the caller's memory. The caller may read `pos`, `start` and `error`. If a
 * stream ends while pos != start, it was cut within a value. */
struct hf_resp_parser {
    struct hf_resp_limits limits;
    uint32_t pos;          /* bytes of the buffer already parsed */
    uint32_t start;        /* where the incomplete value begins; pos if none */
    uint32_t first;        /* its first node's index on the tape */
    uint32_t line;         /* where the current line begins: its type byte */
    uint32_t parent;       /* index of the innermost open aggregate + 1, or 0 */
    uint32_t attributes;   /* if `attributed`: index of the first one */
    uint32_t depth;
    uint32_t need;         /* bulk bytes after pos, CR LF included */
    uint32_t total;        /* bytes of the chunks of a streamed string so far */
    uint8_t state;
    uint8_t type;          /* of the current line */
    uint8_t protocol;      /* 2 or 3: the types that are accepted */
    bool streamed;         /* the innermost open aggregate has no count */
    bool attributed;       /* an attribute is complete, its value must follow */
    bool strict;
    int16_t broken;        /* 0, or the status that every call returns */
    struct {
        uint32_t offset;       /* of the byte, from the start of the buffer */
        const char *expected;  /* static text: "CR LF behind the string" */
        char found[40];        /* the bytes there, escaped and truncated */
    } error;
};

/* hf_resp_init - prepares a parser for the first byte of a connection.
 *   limits    copied; NULL: hf_resp_default_limits
 *   protocol  2: accepts only the five types of RESP2; otherwise all types */
HF_API void hf_resp_init(struct hf_resp_parser *p,
                         const struct hf_resp_limits *limits, int protocol);

/* hf_resp_set_protocol - sets the protocol from the next value on. Call it, and
 *   hf_resp_set_strict, only between values (pos == start). */
HF_API void hf_resp_set_protocol(struct hf_resp_parser *p, int protocol);

/* hf_resp_set_strict - accepts only what the specifications of RESP and RESP3 allow, to
 *   check a server. Without it, the parser accepts what servers send.
 *
 *                           as servers send       strict
 *     ,-nan ,NAN ,nan(1)    nan (1)               HF_E_PROTOCOL
 *     > inside a value      a child of it (2)     HF_E_PROTOCOL
 *     >0                    an empty push         HF_E_PROTOCOL: it has no kind
 *     $05 *01 :007 :+5      5, 1, 7, 5            the same: the grammar
 *                                                 allows them
 *     ,1e400  ,1e-400       inf, 0                the same
 *     $-1 *-1 in RESP3      null                  the same
 *     _ # , ( ! = % ~ > |
 *       in RESP2            HF_E_PROTOCOL         the same
 *
 * (1) Redis before 7.2 prints what its libc prints. (2) EXEC with SUBSCRIBE inside: a
 * counted element, not a push between replies. */
HF_API void hf_resp_set_strict(struct hf_resp_parser *p, bool strict);

/* hf_resp_parse - parses until one complete value is on the tape.
 *
 *   buf, len  all bytes since the start of the buffer, including those of earlier calls.
 *             Between calls, bytes may be appended and the buffer may be moved. The
 *             bytes may end anywhere.
 *   tape      receives the nodes. A value with attributes follows their nodes. The nodes
 *             of an incomplete value are private to the parser.
 *
 * Returns HF_OK          one more value is complete; p->pos is the byte after it. Call
 *                        again for the next value
 *         HF_RESP_MORE   all bytes are parsed and no value is complete
 *         HF_RESP_ROOM   the tape is full: enlarge it and call again
 *         HF_E_PROTOCOL, HF_E_LIMIT   every call fails until hf_resp_init; p->error has
 *                        the position and the cause
 * Cost: each byte is read a few times, wherever the stream is cut; the bytes of a bulk
 * string are not read. No allocation, no recursion.
 * Threads: one thread at a time for each parser. */
HF_API hf_status hf_resp_parse(struct hf_resp_parser *p, const char *buf,
                               size_t len, struct hf_resp_tape *tape)
    HF_MUST_CHECK;

/* hf_resp_drop - discards everything before the incomplete value: the nodes of complete
 *   values, and `*bytes` bytes at the front of the buffer. The caller moves the other
 *   bytes to the front.
 * Cost: proportional to the nodes of the incomplete value; none if it is in front. */
HF_API void hf_resp_drop(struct hf_resp_parser *p, struct hf_resp_tape *tape,
                         size_t *bytes);

/* hf_resp_wanted - returns the least number of bytes (at least 1) that hf_resp_parse
 *   still needs to return HF_OK, to size the next read. */
HF_API size_t hf_resp_wanted(const struct hf_resp_parser *p, size_t len);

/* A reference to a value. It is small: pass it by value. It is valid until the buffer or
 * the tape moves or changes. */
struct hf_resp_value {
    const char *buf;
    const struct hf_resp_node *node;   /* an attribute only if hf_resp_attributes
                                          returned it */
};

/* hf_resp_first - returns the value at tape index `index` (0 for the first, then
 *   hf_resp_next_index). It must be complete, and index < tape->count. */
HF_API struct hf_resp_value hf_resp_first(const struct hf_resp_tape *tape,
                                          const char *buf, uint32_t index);

/* hf_resp_next_index - returns the tape index of the value after the one at `index`. */
HF_API uint32_t hf_resp_next_index(const struct hf_resp_tape *tape,
                                   uint32_t index);

/* hf_resp_type - returns the type of a value. Every form of null is HF_RESP_NULL. */
HF_API enum hf_resp_type hf_resp_type(struct hf_resp_value v);

/* Each of these returns HF_OK, or HF_E_TYPE for another type and leaves *out unchanged.
 *   hf_resp_integer  reads an integer
 *   hf_resp_double   reads a double or an integer, correctly rounded in every locale
 *   hf_resp_boolean  reads a boolean
 *   hf_resp_bytes    reads a simple or bulk string, an error of either kind, a big
 *                    number, the text of a double, and a verbatim string without its
 *                    format. *ptr points into the buffer; no NUL follows. For a streamed
 *                    string use hf_resp_copy_bytes. */
HF_API hf_status hf_resp_integer(struct hf_resp_value v, int64_t *out);
HF_API hf_status hf_resp_double(struct hf_resp_value v, double *out);
HF_API hf_status hf_resp_boolean(struct hf_resp_value v, bool *out);
HF_API hf_status hf_resp_bytes(struct hf_resp_value v, const char **ptr,
                               size_t *len);

#define HF_RESP_FORMAT_LEN 3
/* hf_resp_verbatim_format - returns the HF_RESP_FORMAT_LEN bytes before the colon of a
 *   verbatim string.
 * Source: RESP "Verbatim strings". */
HF_API hf_status hf_resp_verbatim_format(struct hf_resp_value v,
                                         const char **ptr);

/* hf_resp_copy_bytes - as hf_resp_bytes, also for streamed strings: copies the bytes to
 *   `dst` of `room` bytes. *len receives the full length; HF_RESP_ROOM if it exceeds
 *   `room`. */
HF_API hf_status hf_resp_copy_bytes(struct hf_resp_value v, char *dst,
                                    size_t room, size_t *len);

/* hf_resp_is_null - returns true for the null of RESP3 and both nulls of RESP2. */
static inline bool hf_resp_is_null(struct hf_resp_value v)
{
    return v.node->type == HF_RESP_NULL;
}

/* hf_resp_is_error - returns true for an error, simple or bulk. */
static inline bool hf_resp_is_error(struct hf_resp_value v)
{
    return v.node->type == HF_RESP_ERROR || v.node->type == HF_RESP_BULK_ERROR;
}

/* hf_resp_is_text - returns true if the value is text (see hf_resp_bytes) equal to these
 *   bytes. It is false for a streamed string, which the functions below do not find as a
 *   key either. */
HF_API bool hf_resp_is_text(struct hf_resp_value v, const char *text,
                            size_t len);

/* hf_resp_error_is - returns true for an error with this code: the text up to the first
 *   space, compared in full ("-MO" is not MOVED). `code` ends in NUL. */
HF_API bool hf_resp_error_is(struct hf_resp_value v, const char *code);

/* Iterates over the children of an array, set, map or push. The children of a map are
 * key, value, key, value; the number of pairs is half of hf_resp_count.
 *
 *     struct hf_resp_iter it = hf_resp_children(v);
 *     while (hf_resp_next(&it, &child)) ...
 *
 * hf_resp_count is 0 for a value without children. */
struct hf_resp_iter {
    const char *buf;
    const struct hf_resp_node *at;
    const struct hf_resp_node *end;
};
HF_API size_t hf_resp_count(struct hf_resp_value v);
HF_API struct hf_resp_iter hf_resp_children(struct hf_resp_value v);
HF_API bool hf_resp_next(struct hf_resp_iter *it, struct hf_resp_value *out);

/* hf_resp_element - returns child number `index`, from 0, or HF_E_TYPE if it does not
 *   exist. Cost: proportional to `index`. */
HF_API hf_status hf_resp_element(struct hf_resp_value v, size_t index,
                                 struct hf_resp_value *out);

/* hf_resp_map_get - returns the value of a text key: the first such pair of a map, or of
 *   the flat array that RESP2 sends instead. HF_E_TYPE if the key does not exist. */
HF_API hf_status hf_resp_map_get(struct hf_resp_value v, const char *key,
                                 size_t len, struct hf_resp_value *out);

/* hf_resp_attribute - returns the value of a text key among the attributes of v, the last
 *   one if there are several. HF_E_TYPE if the key does not exist. */
HF_API hf_status hf_resp_attribute(struct hf_resp_value v, const char *key,
                                   size_t len, struct hf_resp_value *out);

/* hf_resp_attributes - returns attribute number `index` before v, from 0, as a map (for
 *   hf_resp_iter, hf_resp_count, hf_resp_map_get). HF_E_TYPE if it does not exist.
 *   Cost: proportional to `index`. */
HF_API hf_status hf_resp_attributes(struct hf_resp_value v, size_t index,
                                    struct hf_resp_value *out);

/* hf_resp_copy_size - returns the number of bytes that hf_resp_copy needs for v. Cost:
 *   proportional to the nodes of v. */
HF_API size_t hf_resp_copy_size(struct hf_resp_value v);

/* hf_resp_copy - copies v, with its attributes, to `mem`, which has `room` bytes and the
 *   alignment of malloc. The copy depends neither on the buffer nor on the tape. *out
 *   receives the copy, valid until `mem` moves. HF_RESP_ROOM: it does not fit, and
 *   nothing was written. Cost: proportional to the nodes and bytes of v. */
HF_API hf_status hf_resp_copy(struct hf_resp_value v, void *mem, size_t room,
                              struct hf_resp_value *out);

/* Commands: the header `*argc`, followed by each argument as a bulk string. The caller
 * first computes the size, then provides the memory.
 *   dst    has at least the computed size
 * Each put_ function returns a pointer to the byte after its output, and cannot fail. A
 * size that exceeds SIZE_MAX is SIZE_MAX.
 * Source: RESP "Sending commands to a Redis server". */

/* One argument of a command. */
struct hf_resp_arg {
    const void *ptr;
    size_t len;
};

/* hf_resp_command_size, hf_resp_put_command - the size of a complete command, and its
 *   output; argc >= 1. The size is at most the sum of the arguments, plus
 *   HF_RESP_ARG_EXTRA for each argument and for the header. */
#define HF_RESP_ARG_EXTRA 25
HF_API size_t hf_resp_command_size(const struct hf_resp_arg *argv, size_t argc);
HF_API char *hf_resp_put_command(char *dst, const struct hf_resp_arg *argv,
                                 size_t argc);

/* A command in parts: first the header with the number of arguments, then each argument.
 * The sizes:
 *   hf_resp_header_size        of the header for `argc` arguments
 *   hf_resp_bulk_size          of an argument of `len` bytes
 *   hf_resp_bulk_integer_size, hf_resp_bulk_double_size   of a number as an argument
 *   hf_resp_add_size           of two of these together */
HF_API size_t hf_resp_header_size(size_t argc);
HF_API size_t hf_resp_bulk_size(size_t len);
HF_API size_t hf_resp_bulk_integer_size(int64_t n);
HF_API size_t hf_resp_bulk_double_size(double n);
HF_API size_t hf_resp_add_size(size_t a, size_t b);

/* hf_resp_put_header        - the header for `argc` arguments
 * hf_resp_put_bulk          - an argument: `len` bytes of any value
 * hf_resp_put_bulk_integer  - an argument: a number in decimal digits
 * hf_resp_put_bulk_double   - an argument: the shortest text that reads back as the same
 *                             double; inf, -inf, nan */
HF_API char *hf_resp_put_header(char *dst, size_t argc);
HF_API char *hf_resp_put_bulk(char *dst, const void *ptr, size_t len);
HF_API char *hf_resp_put_bulk_integer(char *dst, int64_t n);
HF_API char *hf_resp_put_bulk_double(char *dst, double n);

/* hf_resp_prefix_size, hf_resp_put_prefix - the size of the prefix of a command, and its
 *   output: the header for `total` arguments and the first `argc` of them. For a command
 *   that is sent often, format the prefix once and copy it each time: EVALSHA, its digest
 *   and its number of keys are 70 bytes. */
HF_API size_t hf_resp_prefix_size(size_t total, const struct hf_resp_arg *argv,
                                  size_t argc);
HF_API char *hf_resp_put_prefix(char *dst, size_t total,
                                const struct hf_resp_arg *argv, size_t argc);

#define HF_RESP_INTEGER_MAX 20
#define HF_RESP_DOUBLE_MAX 24

/* hf_resp_format_integer - writes the decimal text of `n`, without NUL, and returns its
 *   length, at most HF_RESP_INTEGER_MAX. */
HF_API size_t hf_resp_format_integer(char dst[HF_RESP_INTEGER_MAX], int64_t n);

/* hf_resp_format_double - writes the text of `n` in the format of hf_resp_put_bulk_double,
 *   without NUL, and returns its length, at most HF_RESP_DOUBLE_MAX. */
HF_API size_t hf_resp_format_double(char dst[HF_RESP_DOUBLE_MAX], double n);

#ifdef __cplusplus
}
#endif
#endif
