/* Finds the end of a RESP value that is too large to keep, in constant memory: its bytes are
 * read and dropped. A pure machine. Private to net/.
 *
 *     VALUE -type byte-> LINE -CR LF of a scalar or count-> VALUE
 *       ^                  |
 *       |                  +-CR LF of a length-> DATA
 *       +-----------all bytes and CR LF-----------+
 *
 * SKIP-1  It checks only the parts that determine the end: type bytes, lengths, counts,
 *         CR LF. It does not check the contents of a scalar.
 * SKIP-2  `values_left` counts the values that remain, so nesting needs no memory. A streamed
 *         aggregate has no count: `values_left_outside` keeps the count of its parent until its
 *         end. More than HF_SKIP_STREAMS_MAX of them within each other are refused (HF_E_LIMIT); no
 *         server sends any.
 * SKIP-3  A string or an aggregate beyond hf_resp_default_limits is refused: no server sends
 *         one, and skipping it would take too long. */
#ifndef HF_SKIP_H
#define HF_SKIP_H

#include "resp/resp.h"

#define HF_SKIP_STREAMS_MAX 8   /* SKIP-2 */
#define HF_SKIP_LINE_MAX 32     /* a type byte, a 64-bit length or count, CR LF */

struct hf_skip {
    enum { HF_SKIP_VALUE, HF_SKIP_LINE, HF_SKIP_DATA } state;
    bool is_resp2;
    char outermost_type;        /* its type byte; 0: not known yet, because attributes precede it */
    char line_type;             /* of the line that is being read */
    bool has_line_cr;           /* the last byte of the line was CR */
    uint8_t line_len;
    char line[HF_SKIP_LINE_MAX];
    uint64_t string_bytes_left; /* bytes of a string that remain, CR LF included */
    uint64_t values_left;       /* values that remain at this level */
    uint32_t open_streams;      /* streamed aggregates that are open */
    uint64_t values_left_outside[HF_SKIP_STREAMS_MAX];
};

/* hf_skip_begin - begins before the first byte of the value.
 *   protocol  2 or 3, as for hf_resp_init. */
void hf_skip_begin(struct hf_skip *s, int protocol);

/* hf_skip_bytes - skips up to `len` bytes. *used receives how many of them belong to the
 *   value.
 * Returns HF_OK            the value ends there
 *         HF_RESP_MORE     all bytes belong to it, and more will follow
 *         HF_E_PROTOCOL, HF_E_LIMIT   its end cannot be found */
hf_status hf_skip_bytes(struct hf_skip *s, const char *ptr, size_t len,
                        size_t *used) HF_MUST_CHECK;

#endif
