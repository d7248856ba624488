/* Lines of text that describe a state, collected in memory. Not [locked] by itself: its
 * owner calls it under the lock of what is described. */
#ifndef HF_NET_DUMP_H
#define HF_NET_DUMP_H

#include "net/net.h"

struct hf_dump {
    const struct hf_mem *mem;
    int64_t now_ms;             /* times are shown as distances from this one */
    uint32_t text_max;          /* bytes of text */
    char *text;                 /* lines, each followed by a NUL */
    uint32_t text_len, capacity;
    uint64_t lines_left_out;    /* lines from the first one beyond max */
    bool is_out_of_memory;
};

/* hf_dump_line - appends a line, formatted as printf does, after two spaces for each level
 *   of `depth`. A line has at most HF_DUMP_LINE_MAX bytes, and no control characters. */
#define HF_DUMP_LINE_MAX 1000
void hf_dump_line(struct hf_dump *dump, int depth, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* hf_dump_time - writes when a moment is or was, such as "in 120 ms", "40 ms ago" or "never"
 *   (HF_NEVER). Returns dst. */
#define HF_DUMP_TIME_MAX 40
char *hf_dump_time(const struct hf_dump *dump, char dst[HF_DUMP_TIME_MAX],
                   int64_t moment_ms);

/* hf_dump_fini - frees the text. */
void hf_dump_fini(struct hf_dump *dump);

#endif
