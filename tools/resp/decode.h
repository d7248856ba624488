/* A stream of replies, decoded and printed as it comes: bytes in, text out. */
#ifndef TOOLS_RESP_DECODE_H
#define TOOLS_RESP_DECODE_H

#include "tools/resp/print.h"

/* The greatest number of values of one reply. A tape of this number of nodes of 16
 * bytes needs as much memory as the bytes of the largest reply (cli_resp_limits.reply).
 * */
#define CLI_NODES_MAX (64u << 20)

/* Bytes that are shown of the place of an error. */
#define CLI_FOUND_MAX 24

/* Why a stream cannot be decoded further. */
struct cli_decode_error {
    hf_status status;           /* HF_E_PROTOCOL; HF_E_LIMIT; HF_RESP_MORE: it
                                   ends in the middle of a value; HF_E_NOMEM */
    uint64_t offset;            /* which byte, from 0; the stream's length */
    uint64_t reply_offset;      /* where its reply begins */
    const char *expected;       /* static text */
    const char *found;          /* lent until cli_decoder_fini; may be empty */
    size_t found_len;
};

struct cli_decoder {
    /* Set once. */
    cli_print *print;
    FILE *out;
    /* The decoder's own. */
    struct hf_resp_parser parser;
    struct hf_resp_tape tape;
    char *buf;
    uint32_t len;
    uint32_t room;
    uint32_t begin;             /* of the reply under way, in the buffer */
    uint64_t dropped;           /* bytes in front of the buffer */
    hf_status broken;           /* HF_OK, or the first error */
};

/* cli_decoder_init - `protocol` 2: only the types of RESP2 are taken; 3: all.
 *
 * cli_decoder_feed - the next bytes, copied, cut anywhere; prints each reply
 *   that is whole by them. HF_OK, or for good: HF_E_PROTOCOL, HF_E_LIMIT,
 *   HF_E_NOMEM. Bytes fed behind the first error are taken as what stood there,
 *   as far as an error shows any; nothing is printed any more.
 *
 * cli_decoder_has_seen_enough - broken, and more bytes would change nothing.
 *
 * cli_decoder_end - the stream is over. HF_OK: behind a reply; else, as in
 *   error->status, which is filled. What was printed and what is answered
 *   depends on the bytes alone, not on how they were cut.
 *
 * cli_decoder_fini - frees.
 *
 * Memory: twice the bytes of the longest reply, and 16 bytes, doubled, for each
 * of its values; never what a header promises. */
void cli_decoder_init(struct cli_decoder *d, int protocol, cli_print *print,
                      FILE *out);
hf_status cli_decoder_feed(struct cli_decoder *d, const char *ptr, size_t len);
bool cli_decoder_has_seen_enough(const struct cli_decoder *d);
hf_status cli_decoder_end(const struct cli_decoder *d,
                          struct cli_decode_error *error);
void cli_decoder_fini(struct cli_decoder *d);

#endif
