/* Errors as one line for a person. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/net.h"

/* A server's words may hold anything; a line for a person does not. */
static void tame(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = ' ';
}

hf_status hf_error_set(struct hf_error *e, hf_status status, const char *format,
                       ...)
{
    va_list args;

    if (!e)
        return status;
    e->status = status;
    va_start(args, format);
    (void)vsnprintf(e->text, sizeof e->text, format, args); /* cut is fine */
    va_end(args);
    tame(e->text);
    return status;
}

static bool is_plain(unsigned char c)
{
    return c >= ' ' && c < 127 && c != '\\';
}

char *hf_error_quote(char *dst, size_t room, const void *ptr, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *p = ptr;
    char *d = dst;
    char *end = dst + room - sizeof "..."; /* where only the dots still fit */

    for (size_t i = 0; i < len; i++) {
        size_t need = is_plain(p[i]) ? 1 : 4;

        if (d + need > end) {
            memcpy(d, "...", 3);
            d += 3;
            break;
        }
        if (need == 1) {
            *d++ = (char)p[i];
        } else {
            *d++ = '\\';
            *d++ = 'x';
            *d++ = hex[p[i] >> 4];
            *d++ = hex[p[i] & 15];
        }
    }
    *d = '\0';
    return dst;
}
