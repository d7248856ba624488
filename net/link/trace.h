/* What must not be seen in a trace. Private to net/. */
#ifndef HF_TRACE_H
#define HF_TRACE_H

#include "net/net.h"

#define TRACE_MASKED_MAX 16     /* arguments of AUTH and HELLO; there are 7 */

/* hf_trace_mask - AUTH and HELLO without their passwords. Returns how many
 * arguments stand in dst, or 0: there is nothing to hide. */
size_t hf_trace_mask(struct hf_resp_arg dst[TRACE_MASKED_MAX],
                     const struct hf_resp_arg *argv, size_t argc);

#endif
