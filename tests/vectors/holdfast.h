/* holdfast's parser, as the vectors see it. */
#ifndef VECTORS_HOLDFAST_H
#define VECTORS_HOLDFAST_H

#include "resp/resp.h"
#include "tests/vectors/vectors.h"

vec_adapter holdfast_adapter;

/* holdfast_put_value - a value in the notation of the file. Where two accessors
 *                      contradict each other it says so, as no vector does.
 * holdfast_answer    - what a parser said last, when so many bytes in front of
 *                      its buffer have been dropped. */
void holdfast_put_value(FILE *out, struct hf_resp_value v);
struct vec_answer holdfast_answer(const struct hf_resp_parser *p,
                                  hf_status status, size_t dropped);

#endif
