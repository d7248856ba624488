/* What a script is called with. Private to lock/. */
#ifndef HF_ARGS_H
#define HF_ARGS_H

#include "lock/record/records.h"

/* hf_op_put_args - fills in op->argv behind CALL_HEAD: keys, `echo` and what
 *                  the step takes. Returns how long it is then. */
size_t hf_op_put_args(struct hf_op *op, enum hf_step step,
                      struct hf_bytes echo);

#endif
