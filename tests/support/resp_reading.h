/* What comes of a stream of replies: the nodes of all whole ones, and why it
 * went no further. hf_resp_parse, fed in pieces, gives one reading, its twin
 * (resp_twin.h) another: of the same bytes they must be the same. */
#ifndef TEST_RESP_READING_H
#define TEST_RESP_READING_H

#include "resp/resp.h"

struct input {
    const char *bytes;
    size_t len;
    struct hf_resp_limits limits;
    int protocol;
    bool strict;
};

/* How the bytes come in. */
struct cuts {
    size_t piece;               /* bytes at a time, at least 1 */
    bool uneven;                /* from 1 to so many, always the same ones */
    uint32_t step;              /* when the tape is full it gets room for one
                                   node more than that */
    bool drops;                 /* hf_resp_drop behind each piece */
};

/* An error's place, where the twin does not say it. */
#define ANY_PLACE SIZE_MAX

struct reading {
    struct hf_resp_node *nodes; /* offsets are from the stream's first byte;
                                   what a type does not use is 0 */
    uint32_t count;
    size_t end;                 /* bytes of whole replies */
    hf_status status;           /* HF_RESP_MORE, or the error */
    size_t error_at;
};

/* Called with each whole reply, which took so many bytes. */
typedef void reading_check(struct hf_resp_value v, const struct input *in,
                         size_t len);

/* reading_of_parser - feeds hf_resp_parse. It sees no byte behind a piece, and
 *   each piece elsewhere in memory. What the header says of HF_RESP_ROOM,
 *   HF_RESP_MORE, hf_resp_wanted and errors is checked on the way.
 *   ask  NULL, or called with each reply while its buffer stands
 *
 * reading_must_be - ends the program unless `got` is `want`.
 *
 * reading_fini - frees the nodes. */
struct reading reading_of_parser(const struct input *in,
                                 const struct cuts *cuts, reading_check *ask);
void reading_must_be(const struct reading *got, const struct reading *want);
void reading_fini(struct reading *r);

/* reading_begin - nothing read yet; room for as many nodes as so many bytes can
 * ever give: the shortest value has three. */
struct reading reading_begin(size_t len);

#endif
