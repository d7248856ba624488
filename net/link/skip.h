/* A value of RESP that is too large to keep: its bytes are read over, in constant
 * memory, to find where it ends. A pure machine. Private to net/.
 *
 *     VALUE -type byte-> LINE -CR LF of a scalar or count-> VALUE
 *       ^                  |
 *       |                  +-CR LF of a length-> DATA
 *       +-----------all bytes and CR LF-----------+
 *
 * SKIP-1  Only what is needed to find the end is checked: type bytes, lengths,
 *         counts, CR LF. The contents of a scalar are not.
 * SKIP-2  `values` counts the values to come, so nesting costs no memory. A
 *         streamed aggregate has no count: that of its parent is kept until its
 *         end. More than HF_SKIP_STREAMS_MAX of them within each other are
 *         refused (HF_E_LIMIT); no server sends any.
 * SKIP-3  A string or an aggregate beyond hf_resp_default_limits is refused: no
 *         server sends one, and to read over it would take too long. */
#ifndef HF_SKIP_H
#define HF_SKIP_H

#include "resp/resp.h"

#define HF_SKIP_STREAMS_MAX 8
#define HF_SKIP_LINE_MAX 32

struct hf_skip {
    enum { HF_SKIP_VALUE, HF_SKIP_LINE, HF_SKIP_DATA } state;
    bool is_resp2;
    char outermost;             /* its type byte; 0: not known, for attributes are
                                   before it */
    char type;                  /* of the line under way */
    bool has_cr;                /* the line's last byte was CR */
    uint8_t line_len;
    char line[HF_SKIP_LINE_MAX];
    uint64_t data;              /* bytes of a string to come, CR LF included */
    uint64_t values;            /* to come at this level */
    uint32_t streams;
    uint64_t outer[HF_SKIP_STREAMS_MAX];
};

/* hf_skip_begin - before the first byte of the value.
 *   protocol  2 or 3, as for hf_resp_init.
 * hf_skip_bytes - reads over `len` more bytes; *used: how many of them belong to
 *   the value.
 *   Returns HF_OK            the value ends there
 *           HF_RESP_MORE     all are used
 *           HF_E_PROTOCOL, HF_E_LIMIT   its end cannot be found */
void hf_skip_begin(struct hf_skip *s, int protocol);
hf_status hf_skip_bytes(struct hf_skip *s, const char *ptr, size_t len,
                        size_t *used) HF_MUST_CHECK;

#endif
