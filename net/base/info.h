/* The text that a server replies to INFO and CLUSTER INFO: lines "NAME:VALUE", and comments. */
#ifndef HF_INFO_H
#define HF_INFO_H

#include <stdbool.h>
#include <stddef.h>

/* A line. Both texts are within the text that is read, and end in no NUL. */
struct hf_info_line {
    const char *name;
    size_t name_len;
    const char *value;
    size_t value_len;
};

/* hf_info_next - reads the next line that has a ':', and makes *text and *len the text after that
 *   line. False: there is none. */
bool hf_info_next(const char **text, size_t *len, struct hf_info_line *line);

/* hf_info_find - copies the value of the first line with this name to dst, cut to `room` - 1 bytes,
 *   with a NUL. False: there is no such line, and dst is unchanged. */
bool hf_info_find(const char *text, size_t len, const char *name, char *dst, size_t room);

#endif
