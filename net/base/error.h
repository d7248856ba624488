/* Errors, for a person: struct hf_error is filled here and nowhere else. */
#ifndef HF_ERROR_H
#define HF_ERROR_H

#include "net/net.h"

/* hf_error_set - fills *e (NULL: does nothing) as printf would; returns
 * `status`, so that `return hf_error_set(...)` reads well. */
hf_status hf_error_set(struct hf_error *e, hf_status status, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));

/* hf_error_quote - bytes as text for a message: UTF-8 as it is; the bytes of
 *   what is none, of a backslash and of characters that a terminal obeys
 *   (utf8.h: hf_utf8_is_shown) as \xHH. Cut with "..." to fit, between
 *   characters; always ends in NUL. Returns dst.
 * hf_error_tame - makes a finished line fit for a terminal, in place: control
 *   characters become spaces; the bytes of what else is not to be shown, and of
 *   what is no UTF-8, question marks. */
char *hf_error_quote(char *dst, size_t room, const void *ptr, size_t len);
void hf_error_tame(char *text, size_t len);

/* hf_errno_text - as strerror; if the process or the system has no descriptor left,
 *   also the symbol and what limits them: "Too many open files (EMFILE: ulimit -n)".
 *   Lent as by strerror.
 * hf_errno_name_limit - appends the same to a text that holds strerror's of EMFILE or
 *   ENFILE, and does not name it yet. Returns dst.
 * hf_error_status - fills *e with "WHAT: " and the status's text; of HF_E_SYSTEM the
 *   text of errno, which then tells why. Returns `status`. */
const char *hf_errno_text(int number);
char *hf_errno_name_limit(char *dst, size_t room);
hf_status hf_error_status(struct hf_error *e, hf_status status, const char *what);

/* hf_net_status_text - one line about a status of this floor or of the one
 *                      below.
 * hf_net_status_name - its name. Both: as hf_resp_status_text. */
const char *hf_net_status_text(hf_status status);
const char *hf_net_status_name(hf_status status);

#endif
