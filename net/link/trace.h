/* Removes passwords from traced commands. Private to net/. */
#ifndef HF_TRACE_H
#define HF_TRACE_H

#include "net/net.h"

#define TRACE_MASKED_MAX 16     /* arguments of AUTH and HELLO; there are 7 */

/* hf_trace_mask - writes AUTH or HELLO without the passwords to dst, and returns the number
 *   of arguments. 0: this command contains no password, and dst is unchanged. */
size_t hf_trace_mask(struct hf_resp_arg dst[TRACE_MASKED_MAX],
                     const struct hf_resp_arg *argv, size_t argc);

#endif
