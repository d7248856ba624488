/* RESP2 and RESP3: bytes to values and commands to bytes. No I/O, no clock, no
 * thread, no allocation: the caller lends all memory. Usable alone.
 *
 * A parser turns bytes into a *tape*: an array of 16-byte nodes, one for each
 * value, parents before children. Payloads stay where the bytes are; nodes
 * hold offsets into them, so the caller may move its buffer. Values are read
 * through the hf_resp_* accessors below, which never leave the buffer and
 * answer a question of the wrong type with HF_E_TYPE.
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
    HF_RESP_CHUNK,        /* ;  stands behind its HF_RESP_STREAM on the tape; no
                                accessor gives it */
    HF_RESP_NULL,         /* _, and $-1 and *-1 in both protocols */
    HF_RESP_BOOLEAN,      /* #  */
    HF_RESP_DOUBLE,       /* ,  kept as text, converted when asked for */
    HF_RESP_BIG,          /* (  kept as text */
    HF_RESP_BULK_ERROR,   /* !  */
    HF_RESP_VERBATIM,     /* =  */
    HF_RESP_ARRAY,        /* *  */
    HF_RESP_SET,          /* ~  */
    HF_RESP_MAP,          /* %  */
    HF_RESP_PUSH,         /* >  */
    HF_RESP_ATTRIBUTE     /* |  stands before the value that it belongs to,
                                counts as no element */
};

/* One value. The accessors say the same, and more safely. */
struct hf_resp_node {
    uint32_t type : 8;    /* enum hf_resp_type */
    uint32_t flag : 1;    /* boolean: 1 true; aggregate: 1 streamed */
    uint32_t before : 23; /* nodes of the attributes that stand before it */
    uint32_t skip;        /* nodes from this one to the next sibling, >= 1;
                             the parser's own until the value is whole */
    union {
        int64_t integer;
        struct {
            uint32_t offset;   /* bytes from the start of the buffer */
            uint32_t length;
        } bytes;
        struct {
            uint32_t count;    /* children, attributes not counted; a map or
                                  attribute of n pairs has 2n */
            uint32_t open;     /* the parser's own until the value is whole */
        } children;
    } as;
};

/* Nodes are appended; the caller lends `nodes` and may move and grow the array
 * between calls (then it sets `nodes` and `room` anew). Between two values it
 * may set `count` to 0. A value has at least three bytes: N bytes make at most
 * N / 3 nodes. */
struct hf_resp_tape {
    struct hf_resp_node *nodes;
    uint32_t count;
    uint32_t room;
};

/* What a parser refuses. A header that promises more is refused at the header;
 * memory follows the bytes received, never the bytes promised. */
struct hf_resp_limits {
    uint32_t depth;        /* levels of nesting, attributes and streamed strings
                              included; a scalar on its own has 0 */
    uint32_t line;         /* bytes of a simple string, error, big number or
                              double, without type byte and CR LF. The other
                              lines have HF_RESP_LINE_MAX */
    uint32_t bulk;         /* bytes of one bulk string, error, verbatim string,
                              and of all chunks of a streamed one together */
    uint32_t elements;     /* children of one aggregate; of a map or attribute,
                              2 a pair */
    uint32_t reply;        /* bytes of one whole reply, headers included */
};

/* Bytes of an integer, length, count, boolean or null. The longest number has
 * 20; the rest is for zeros in front. */
#define HF_RESP_LINE_MAX 64

/* Nodes of the attributes before one value; more are refused. */
#define HF_RESP_ATTRIBUTES_MAX ((1 << 23) - 1)

/* Depth 512, line 68 KiB (64 and some words around them), bulk 512 MiB and
 * elements 2^31 - 1 (as the server's own), reply 1 GiB. Whatever the limits, no
 * value may end more than 4 GiB behind the start of the buffer. */
HF_API extern const struct hf_resp_limits hf_resp_default_limits;

/* A parser. The caller's memory; of its fields, `pos`, `start` and `error` may
 * be read: a stream that ends while pos != start was cut within a value. */
struct hf_resp_parser {
    struct hf_resp_limits limits;
    uint32_t pos;          /* bytes of the buffer already looked at */
    uint32_t start;        /* where the value under way began; pos if none is */
    uint32_t first;        /* its first node's index on the tape */
    uint32_t line;         /* where the line under way began: its type byte */
    uint32_t parent;       /* index of the innermost open aggregate + 1, or 0 */
    uint32_t attributes;   /* if `attributed`: index of the first one */
    uint32_t depth;
    uint32_t need;         /* bulk bytes behind pos, CR LF included */
    uint32_t total;        /* bytes of the chunks of a streamed string so far */
    uint8_t state;
    uint8_t type;          /* of the line under way */
    uint8_t protocol;      /* 2 or 3: the types that are taken */
    bool streamed;         /* the innermost open aggregate has no count */
    bool attributed;       /* an attribute is whole, its value must follow */
    bool strict;
    int16_t broken;        /* 0, or the status that every call repeats */
    struct {
        uint32_t offset;       /* which byte, from the start of the buffer */
        const char *expected;  /* static text: "CR LF behind the string" */
        char found[40];        /* what stood there, escaped and cut */
    } error;
};

/* hf_resp_init - makes a parser ready for the first byte of a connection.
 *   limits    copied; NULL: hf_resp_default_limits
 *   protocol  2: only the five types of RESP2 are taken; otherwise all
 * hf_resp_set_protocol - from the next value on; as is hf_resp_set_strict, to
 *   be called while none is under way (pos == start). */
HF_API void hf_resp_init(struct hf_resp_parser *p,
                         const struct hf_resp_limits *limits, int protocol);
HF_API void hf_resp_set_protocol(struct hf_resp_parser *p, int protocol);

/* hf_resp_set_strict - takes what the texts of RESP and RESP3 allow, and no
 * more; for checking a server. Without it, what servers send is taken.
 *
 *                           as servers send       strict
 *     ,-nan ,NAN ,nan(1)    nan (1)               HF_E_PROTOCOL
 *     > inside a value      a child of it (2)     HF_E_PROTOCOL
 *     >0                    an empty push         HF_E_PROTOCOL: it has no kind
 *     $05 *01 :007 :+5      5, 1, 7, 5            the same: the grammar
 *                                                 has them
 *     ,1e400  ,1e-400       inf, 0                the same
 *     $-1 *-1 in RESP3      null                  the same
 *     _ # , ( ! = % ~ > |
 *       in RESP2            HF_E_PROTOCOL         the same
 *
 * (1) Before 7.2, Redis prints what its libc prints. (2) EXEC with SUBSCRIBE
 * inside; it is a counted element and no push between replies. */
HF_API void hf_resp_set_strict(struct hf_resp_parser *p, bool strict);

/* hf_resp_parse - goes on until one whole value stands on the tape.
 *
 *   buf, len  all bytes since the start of the buffer, those of earlier calls
 *             included; more may have come behind, and the caller may have
 *             moved them. They may end anywhere.
 *   tape      nodes are appended. A value that has attributes is preceded by
 *             them. The nodes of an incomplete value are the parser's own.
 *
 * Returns HF_OK          one more value is complete; p->pos is the byte behind
 *                        it. Call again for the next.
 *         HF_RESP_MORE   all bytes are used and no value is complete
 *         HF_RESP_ROOM   the tape is full: give it room and call again
 *         HF_E_PROTOCOL, HF_E_LIMIT   for good, until hf_resp_init; p->error
 *                        says where and why
 * Cost: each byte is looked at a few times, however the stream is cut; those of
 * a bulk string never. No allocation, no recursion.
 * Threads: one parser, one thread at a time. */
HF_API hf_status hf_resp_parse(struct hf_resp_parser *p, const char *buf,
                               size_t len, struct hf_resp_tape *tape)
    HF_MUST_CHECK;

/* hf_resp_drop - forgets everything before the value under way: the tape's
 * nodes of complete values, and `*bytes` bytes at the front of the buffer; the
 * caller moves the rest of them down (or, if all are used, starts anew).
 * Cost: in the nodes of the incomplete value alone; none if it is in front. */
HF_API void hf_resp_drop(struct hf_resp_parser *p, struct hf_resp_tape *tape,
                         size_t *bytes);

/* hf_resp_wanted - how many more bytes are certain to be needed before
 * hf_resp_parse can return HF_OK (at least 1). For sizing the next read. */
HF_API size_t hf_resp_wanted(const struct hf_resp_parser *p, size_t len);

/* A value, to be read. Small; pass it by value. Valid as long as buffer and
 * tape stand still. */
struct hf_resp_value {
    const char *buf;
    const struct hf_resp_node *node;   /* an attribute only if it comes from
                                          hf_resp_attributes */
};

/* hf_resp_first - the value that begins at tape index `index` (0 for the
 * first, then hf_resp_next_index). index < tape->count, the value complete. */
HF_API struct hf_resp_value hf_resp_first(const struct hf_resp_tape *tape,
                                          const char *buf, uint32_t index);
HF_API uint32_t hf_resp_next_index(const struct hf_resp_tape *tape,
                                   uint32_t index);

/* hf_resp_type - what RESP calls it. A null of any spelling is HF_RESP_NULL. */
HF_API enum hf_resp_type hf_resp_type(struct hf_resp_value v);

/* Each answers HF_OK, or HF_E_TYPE and leaves *out alone.
 *   hf_resp_integer  of an integer only
 *   hf_resp_double   of a double, or an integer; correctly rounded, whatever
 *                    the locale
 *   hf_resp_boolean  of a boolean only
 *   hf_resp_bytes    of a simple or bulk string, an error of either kind, a big
 *                    number, a double's text; of a verbatim string the text
 *                    without its format. *ptr points into the buffer, no NUL
 *                    behind. Not of a streamed string: use
 *                    hf_resp_copy_bytes. */
HF_API hf_status hf_resp_integer(struct hf_resp_value v, int64_t *out);
HF_API hf_status hf_resp_double(struct hf_resp_value v, double *out);
HF_API hf_status hf_resp_boolean(struct hf_resp_value v, bool *out);
HF_API hf_status hf_resp_bytes(struct hf_resp_value v, const char **ptr,
                               size_t *len);

#define HF_RESP_FORMAT_LEN 3
/* hf_resp_verbatim_format - the HF_RESP_FORMAT_LEN bytes before a verbatim
 *                           string's colon.
 * Source: RESP "Verbatim strings". */
HF_API hf_status hf_resp_verbatim_format(struct hf_resp_value v,
                                         const char **ptr);

/* hf_resp_copy_bytes - as hf_resp_bytes, streamed strings too, into `dst` of
 * `room` bytes. *len is the whole length; HF_RESP_ROOM if it does not fit. */
HF_API hf_status hf_resp_copy_bytes(struct hf_resp_value v, char *dst,
                                    size_t room, size_t *len);

/* hf_resp_is_null - is it a null, of RESP3 or either null of RESP2? */
static inline bool hf_resp_is_null(struct hf_resp_value v)
{
    return v.node->type == HF_RESP_NULL;
}

/* hf_resp_is_error - is it an error, simple or bulk? */
static inline bool hf_resp_is_error(struct hf_resp_value v)
{
    return v.node->type == HF_RESP_ERROR || v.node->type == HF_RESP_BULK_ERROR;
}

/* hf_resp_is_text - is it text (as of hf_resp_bytes) equal to these bytes?
 * Never a streamed string; nor is one found as a key below. */
HF_API bool hf_resp_is_text(struct hf_resp_value v, const char *text,
                            size_t len);

/* hf_resp_error_is - is it an error with this code (the text up to the first
 * space, compared whole: "-MO" is not MOVED)?  `code` ends in NUL. */
HF_API bool hf_resp_error_is(struct hf_resp_value v, const char *code);

/* Children of an array, set, map or push. For a map they are key, value, key,
 * value; the count of pairs is half of hf_resp_count.
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

/* hf_resp_element - child number `index`, from 0. HF_E_TYPE if there is none.
 * Cost: in `index`. */
HF_API hf_status hf_resp_element(struct hf_resp_value v, size_t index,
                                 struct hf_resp_value *out);

/* hf_resp_map_get - the value of a text key: the first such pair of a map, or
 * of a flat array that RESP2 sends in its place. HF_E_TYPE if there is none. */
HF_API hf_status hf_resp_map_get(struct hf_resp_value v, const char *key,
                                 size_t len, struct hf_resp_value *out);

/* hf_resp_attribute - the value under a text key among v's attributes, the
 * last one given if several; HF_E_TYPE if there is none. */
HF_API hf_status hf_resp_attribute(struct hf_resp_value v, const char *key,
                                   size_t len, struct hf_resp_value *out);

/* hf_resp_attributes - attribute number `index` before v, from 0, as a map (for
 * hf_resp_iter, hf_resp_count, hf_resp_map_get). HF_E_TYPE if there is none.
 * Cost: in `index`. */
HF_API hf_status hf_resp_attributes(struct hf_resp_value v, size_t index,
                                    struct hf_resp_value *out);

/* Deep copies: a value, with its attributes, that needs neither the buffer nor
 * the tape any more. One block of memory, the caller's.
 *
 * hf_resp_copy_size - bytes that a copy of v takes
 * hf_resp_copy      - writes it to `mem`, which is aligned as malloc's and has
 *                     `room` bytes; *out is the copy, valid as long as `mem`
 *                     stands still. HF_RESP_ROOM if it does not fit; nothing
 *                     is written then.
 * Cost: in the nodes and bytes of v. */
HF_API size_t hf_resp_copy_size(struct hf_resp_value v);
HF_API hf_status hf_resp_copy(struct hf_resp_value v, void *mem, size_t room,
                              struct hf_resp_value *out);

/* Commands: `*argc` and then each argument as a bulk string, into memory that
 * the caller sized first.
 *   dst    room for at least the size announced
 *   each put_ function returns the byte behind what it wrote. Nothing can fail.
 * A size beyond SIZE_MAX is SIZE_MAX.
 * Source: RESP "Sending commands to a Redis server". */

/* One argument of a command. */
struct hf_resp_arg {
    const void *ptr;
    size_t len;
};

/* hf_resp_command_size, hf_resp_put_command - a whole command; argc >= 1. Its
 * size is at most that of the arguments and HF_RESP_ARG_EXTRA for each of them
 * and for the header. */
#define HF_RESP_ARG_EXTRA 25
HF_API size_t hf_resp_command_size(const struct hf_resp_arg *argv, size_t argc);
HF_API char *hf_resp_put_command(char *dst, const struct hf_resp_arg *argv,
                                 size_t argc);

/* Argument after argument: first the header, with the count of all that will
 * follow, then each. Sizes:
 *   hf_resp_header_size   of the header for `argc` arguments
 *   hf_resp_bulk_size     of an argument of `len` bytes
 *   hf_resp_integer_size, hf_resp_double_size   of a number as an argument
 *   hf_resp_add_size      of two of these together */
HF_API size_t hf_resp_header_size(size_t argc);
HF_API size_t hf_resp_bulk_size(size_t len);
HF_API size_t hf_resp_integer_size(int64_t n);
HF_API size_t hf_resp_double_size(double n);
HF_API size_t hf_resp_add_size(size_t a, size_t b);

/* hf_resp_put_header   - the header for `argc` arguments
 * hf_resp_put_bulk     - `len` bytes of any value
 * hf_resp_put_integer  - in decimal digits
 * hf_resp_put_double   - the shortest text that reads back as the same double;
 *                        inf, -inf, nan */
HF_API char *hf_resp_put_header(char *dst, size_t argc);
HF_API char *hf_resp_put_bulk(char *dst, const void *ptr, size_t len);
HF_API char *hf_resp_put_integer(char *dst, int64_t n);
HF_API char *hf_resp_put_double(char *dst, double n);

/* hf_resp_prefix_size, hf_resp_put_prefix - the front of a command that is sent
 * again and again, made once: the header for `total` arguments and the first
 * `argc` of them. It is copied in front of the others. EVALSHA, its digest and
 * its count of keys, say, are 70 bytes that need not be formatted again. */
HF_API size_t hf_resp_prefix_size(size_t total, const struct hf_resp_arg *argv,
                                  size_t argc);
HF_API char *hf_resp_put_prefix(char *dst, size_t total,
                                const struct hf_resp_arg *argv, size_t argc);

/* hf_resp_format_integer - decimal text of `n`, without NUL; its length, which
 *   is at most HF_RESP_INTEGER_MAX.
 * hf_resp_format_double  - likewise, as hf_resp_put_double says. */
#define HF_RESP_INTEGER_MAX 20
#define HF_RESP_DOUBLE_MAX 24
HF_API size_t hf_resp_format_integer(char dst[HF_RESP_INTEGER_MAX], int64_t n);
HF_API size_t hf_resp_format_double(char dst[HF_RESP_DOUBLE_MAX], double n);

#ifdef __cplusplus
}
#endif
#endif
