/* Error messages for people. Only these functions fill a struct hf_error. */
#ifndef HF_ERROR_H
#define HF_ERROR_H

#include "net/net.h"

/* hf_error_set - formats the text of *e as printf does, and sets its status. A text that is too
 *   long is cut, and ends in "...". `e` may be NULL. Returns `status`. */
hf_status hf_error_set(struct hf_error *e, hf_status status, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));

/* hf_error_add - appends "; " and a hint to the text of *e, which has a status already. The
 *   text before the hint is cut if the two are too long. */
void hf_error_add(struct hf_error *e, const char *hint);

/* hf_error_quote - writes bytes as text for a message to `dst` and returns it. Backslashes,
 *   characters that a terminal executes (utf8.h: hf_utf8_is_printable) and bytes that are not
 *   UTF-8 are written as \xHH. The text is cut with "..." to fit into `room`, between
 *   characters, and ends in NUL. */
char *hf_error_quote(char *dst, size_t room, const void *ptr, size_t len);

/* hf_error_sanitize - makes a line safe for a terminal, in place: control characters become
 *   spaces; other characters that must not be shown, and bytes that are not UTF-8, become
 *   question marks. */
void hf_error_sanitize(char *text, size_t len);

/* hf_errno_text - returns the text of strerror. For EMFILE and ENFILE it adds the symbol and
 *   the limit: "Too many open files (EMFILE: ulimit -n)". Valid as long as that of
 *   strerror. */
const char *hf_errno_text(int number);

/* hf_errno_name_limit - appends the same to `dst`, if that contains strerror's text of EMFILE
 *   or ENFILE without it. Returns dst. */
char *hf_errno_name_limit(char *dst, size_t room);

/* hf_error_status - fills *e with "WHAT: " and the text of the status; for HF_E_SYSTEM, the
 *   text of errno. Returns `status`. */
hf_status hf_error_status(struct hf_error *e, hf_status status, const char *what);

/* hf_net_status_text - returns one line about a status of net/ or resp/; static. */
const char *hf_net_status_text(hf_status status);

/* hf_net_status_name - returns its name; static. */
const char *hf_net_status_name(hf_status status);

#endif
