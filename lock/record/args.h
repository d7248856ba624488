/* The arguments of script calls. Private to lock/. */
#ifndef HF_ARGS_H
#define HF_ARGS_H

#include "lock/record/records.h"

/* hf_op_put_args - appends the keys, `echo` and the arguments of the step to op->argv, after
 *                  CALL_HEAD_ARGS. Returns the number of arguments. */
size_t hf_op_put_args(struct hf_op *op, enum hf_step step,
                      struct hf_bytes echo);

#endif
