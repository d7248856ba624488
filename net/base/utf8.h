/* UTF-8, and which characters are safe for a terminal. All functions are pure. */
#ifndef HF_UTF8_H
#define HF_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* hf_utf8_read - reads the character at `ptr`, and returns its length, 1 to 4 bytes; 0: no
 *   character begins there. `len` must be > 0. */
size_t hf_utf8_read(uint32_t *code, const char *ptr, size_t len);

/* hf_utf8_ok - returns whether all of it is UTF-8. */
bool hf_utf8_ok(const char *ptr, size_t len);

/* hf_utf8_complete_len - returns the length without a character that is cut off at the end. */
size_t hf_utf8_complete_len(const char *ptr, size_t len);

/* hf_utf8_is_printable - returns whether the character may be sent to a terminal. False: a
 *   terminal executes it (C0, DEL, C1), it changes the direction of the text (bidirectional
 *   controls), or it ends a line. */
bool hf_utf8_is_printable(uint32_t code);

#endif
