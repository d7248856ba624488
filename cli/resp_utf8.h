/* Which bytes are UTF-8. */
#ifndef CLI_RESP_UTF8_H
#define CLI_RESP_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* cli_utf8_len - bytes of the character at `ptr`, 1 to 4; 0: the first byte is
 *                not the beginning of one. len > 0.
 * cli_utf8_ok  - is all of it UTF-8? */
size_t cli_utf8_len(const char *ptr, size_t len);
bool cli_utf8_ok(const char *ptr, size_t len);

#endif
