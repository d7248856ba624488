/* A second parser, as simple as can be: recursive, all bytes at hand, no states
 * and no speed. It says what hf_resp_parse must say; nothing is shared with
 * resp/ but the header. */
#ifndef TEST_RESP_TWIN_H
#define TEST_RESP_TWIN_H

#include "tests/support/resp_reading.h"

/* reading_of_twin - of all the bytes at once. */
struct reading reading_of_twin(const struct input *in);

#endif
