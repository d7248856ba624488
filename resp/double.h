/* Private to resp/: doubles as they stand in a reply. */
#ifndef HF_RESP_DOUBLE_H
#define HF_RESP_DOUBLE_H

/* The double nearest to a text of the grammar of text.h (take_double). */
double hf_resp_read_double(const char *at, const char *end);

#endif
