/* Asks a whole value everything that resp/resp.h can answer. */
#ifndef TEST_RESP_ANSWERS_H
#define TEST_RESP_ANSWERS_H

#include "tests/support/resp_reading.h"

/* resp_answers_all - a reading_check: the answers are of the value's type, agree with
 *   each other and are within the limits; every byte that is given is touched;
 *   a deep copy stands on its own and gives the same answers. */
reading_check resp_answers_all;

#endif
