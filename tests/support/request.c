/* Requests as a server reads them. */
#include "tests/support/request.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/local.h"

/* A mark, as many digits as SIZE_MAX has, and CRLF: no header is longer. */
#define HEADER_MAX 24

struct cursor {
    const char *at;
    const char *end;
};

static size_t left(const struct cursor *c)
{
    return (size_t)(c->end - c->at);
}

/* "<mark><number>\r\n", number at most `max`. */
static enum request_state read_header(struct cursor *c, char mark, size_t max,
                                      size_t *out)
{
    const char *at = c->at;
    size_t room = left(c) < HEADER_MAX ? left(c) : HEADER_MAX;
    const char *newline = memchr(at, '\n', room);
    size_t number = 0;

    if (left(c) > 0 && *at != mark)
        return REQUEST_BROKEN;
    if (!newline)
        return left(c) < HEADER_MAX ? REQUEST_MORE : REQUEST_BROKEN;
    if (newline - at < 3 || newline[-1] != '\r')
        return REQUEST_BROKEN;
    for (at++; at < newline - 1; at++) {
        if (*at < '0' || *at > '9')
            return REQUEST_BROKEN;
        number = number * 10 + (size_t)(*at - '0');
        if (number > max)
            return REQUEST_BROKEN;
    }
    *out = number;
    c->at = newline + 1;
    return REQUEST_WHOLE;
}

/* "$<length>\r\n<bytes>\r\n". */
static enum request_state read_bulk(struct cursor *c, const char **ptr,
                                    size_t *len)
{
    enum request_state state = read_header(c, '$', REQUEST_ARG_MAX, len);

    if (state != REQUEST_WHOLE)
        return state;
    if (left(c) < *len + 2)
        return REQUEST_MORE;
    if (memcmp(c->at + *len, "\r\n", 2) != 0)
        return REQUEST_BROKEN;
    *ptr = c->at;
    c->at += *len + 2;
    return REQUEST_WHOLE;
}

enum request_state request_decode(struct request *out, const char *bytes,
                                  size_t len)
{
    struct cursor c = {bytes, bytes};
    enum request_state state;

    if (len == 0)
        return REQUEST_MORE;
    c.end += len;
    state = read_header(&c, '*', REQUEST_ARGS_MAX, &out->argc);
    if (state == REQUEST_WHOLE && out->argc == 0)
        return REQUEST_BROKEN;
    for (size_t i = 0; state == REQUEST_WHOLE && i < out->argc; i++)
        state = read_bulk(&c, &out->arg[i].ptr, &out->arg[i].len);
    out->len = (size_t)(c.at - bytes);
    return state;
}

/* ---- patterns and text --------------------------------------------------- */

static bool word_is(const char *word, size_t len, const char *text)
{
    return len == strlen(text) && memcmp(word, text, len) == 0;
}

static bool word_matches(const char *word, size_t len, const struct request *r,
                         size_t i)
{
    if (word_is(word, len, "*"))
        return true;
    if (word_is(word, len, "\"\""))
        return r->arg[i].len == 0;
    return r->arg[i].len == len && memcmp(r->arg[i].ptr, word, len) == 0;
}

bool request_matches(const struct request *r, const char *pattern)
{
    size_t i = 0;

    while (*pattern) {
        size_t len = strcspn(pattern, " ");

        if (word_is(pattern, len, "..."))
            return true;
        if (i == r->argc || !word_matches(pattern, len, r, i))
            return false;
        i++;
        pattern += len;
        pattern += strspn(pattern, " ");
    }
    return i == r->argc;
}

static void write_argument(FILE *out, const char *ptr, size_t len)
{
    if (len == 0)
        (void)fputs("\"\"", out);
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)ptr[i];

        if (byte < 32 || byte > 126)
            (void)fprintf(out, "\\x%02X", byte);
        else
            (void)putc(byte, out);
    }
}

char *request_text(const struct request *r)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return local_copy("(no memory)");
    for (size_t i = 0; i < r->argc; i++) {
        if (i > 0)
            (void)putc(' ', out);
        write_argument(out, r->arg[i].ptr, r->arg[i].len);
    }
    (void)fclose(out);
    return text;
}
