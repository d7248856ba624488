/* Errors as one line for a person. */
/* Tests: tests/test_net_mem.c. */
#include "net/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/base/utf8.h"
#include "net/net.h"

/* The length of the character at `ptr` if it can be shown; 0: it cannot. */
static size_t printable_char_len(const char *ptr, size_t len)
{
    uint32_t code;
    size_t step = hf_utf8_read(&code, ptr, len);

    return step > 0 && hf_utf8_is_printable(code) ? step : 0;
}

void hf_error_sanitize(char *text, size_t len)
{
    for (size_t i = 0, step; i < len; i += step) {
        step = printable_char_len(text + i, len - i);
        if (step > 0)
            continue;
        text[i] = text[i] & 0x80 ? '?' : ' ';
        step = 1;
    }
}

#define DOTS "..." /* the end of a text that is cut */
#define DOTS_LEN (sizeof DOTS - 1)

/* Cuts `text` at `len` bytes or one character before, and appends DOTS. Returns its length. */
static size_t cut_with_dots(char *text, size_t len)
{
    len = hf_utf8_complete_len(text, len);
    (void)strcpy(text + len, DOTS);
    return len + DOTS_LEN;
}

hf_status hf_error_set(struct hf_error *e, hf_status status, const char *format,
                       ...)
{
    va_list args;
    size_t len;
    int wanted;

    if (!e)
        return status;
    e->status = status;
    e->is_temporary = false;
    memset(e->reserved_flags, 0, sizeof e->reserved_flags);
    e->member = 0;
    memset(e->reserved, 0, sizeof e->reserved);
    va_start(args, format);
    wanted = vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    len = strlen(e->text);
    if ((size_t)wanted > len)
        len = cut_with_dots(e->text, len - DOTS_LEN);
    hf_error_sanitize(e->text, len);
    return status;
}

void hf_error_add(struct hf_error *e, const char *hint)
{
    size_t room = sizeof e->text - strlen(hint) - sizeof "; ";
    struct hf_error said = *e;

    if (strlen(said.text) > room)
        (void)cut_with_dots(said.text, room - DOTS_LEN);
    (void)hf_error_set(e, said.status, "%s; %s", said.text, hint);
}

#define OF_PROCESS " (EMFILE: ulimit -n)"
#define OF_SYSTEM " (ENFILE: fs.file-max)"

const char *hf_errno_text(int number)
{
    if (number == EMFILE)
        return "Too many open files" OF_PROCESS;
    if (number == ENFILE)
        return "Too many open files in system" OF_SYSTEM;
    return strerror(number);
}

/* ENFILE first: its text begins with that of EMFILE. */
char *hf_errno_name_limit(char *dst, size_t room)
{
    const char *limit = strstr(dst, strerror(ENFILE))   ? OF_SYSTEM
                        : strstr(dst, strerror(EMFILE)) ? OF_PROCESS
                                                        : "";
    size_t len = strlen(dst);

    if (!strstr(dst, limit) && len + strlen(limit) < room)
        (void)strcpy(dst + len, limit);
    return dst;
}

hf_status hf_error_status(struct hf_error *e, hf_status status, const char *what)
{
    const char *why = status == HF_E_SYSTEM && errno != 0 ? hf_errno_text(errno)
                                                          : hf_net_status_text(status);

    return hf_error_set(e, status, "%s: %s", what, why);
}

static char *put_escaped_byte(char *d, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";

    *d++ = '\\';
    *d++ = 'x';
    *d++ = hex[c >> 4];
    *d++ = hex[c & 15];
    return d;
}

char *hf_error_quote(char *dst, size_t room, const void *ptr, size_t len)
{
    const char *p = ptr;
    char *d = dst;
    char *end = dst + room - sizeof "..."; /* where only the dots still fit */

    for (size_t i = 0, step; i < len; i += step) {
        size_t plain = p[i] == '\\' ? 0 : printable_char_len(p + i, len - i);

        if (d + (plain ? plain : sizeof "\\xHH" - 1) > end) {
            d = mempcpy(d, "...", 3);
            break;
        }
        d = plain ? mempcpy(d, p + i, plain) : put_escaped_byte(d, (unsigned char)p[i]);
        step = plain ? plain : 1;
    }
    *d = '\0';
    return dst;
}
