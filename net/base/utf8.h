/* UTF-8, and what of it a terminal is shown. */
#ifndef HF_UTF8_H
#define HF_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* hf_utf8_read  - the character at `ptr`: its length, 1 to 4, and its code; 0:
 *                 the first byte does not begin one. len > 0.
 * hf_utf8_ok    - is all of it UTF-8?
 * hf_utf8_whole - the length without a character that is cut off at the end.
 * hf_utf8_is_shown - false: a terminal obeys it (C0, DEL, C1), it turns the
 *                 text around (bidirectional controls), or it ends a line.
 * Pure; any thread. */
size_t hf_utf8_read(uint32_t *code, const char *ptr, size_t len);
bool hf_utf8_ok(const char *ptr, size_t len);
size_t hf_utf8_whole(const char *ptr, size_t len);
bool hf_utf8_is_shown(uint32_t code);

#endif
