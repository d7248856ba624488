/* Replies in RESP2 and RESP3. */
#include "tests/sim/model/inner.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static void header(struct bytes *out, char type, int64_t n)
{
    char *p = md_room(out, 32);
    size_t len = md_format(p + 1, n);

    p[0] = type;
    memcpy(p + 1 + len, "\r\n", 2);
    out->n += len + 3;
}

void md_put_int(struct bytes *out, int64_t n)
{
    header(out, ':', n);
}

void md_put_bulk(struct bytes *out, struct slice s)
{
    header(out, '$', (int64_t)s.n);
    md_add(out, s.p, s.n);
    md_add(out, "\r\n", 2);
}

void md_put_request(struct bytes *out, const struct slice *argv, int argc)
{
    header(out, '*', argc);
    for (int i = 0; i < argc; i++)
        md_put_bulk(out, argv[i]);
}

void md_push(struct bytes *out, int protocol, int n)
{
    header(out, protocol == 3 ? '>' : '*', n);
}

void md_simple(struct call *c, const char *text)
{
    md_add(c->out, "+", 1);
    md_add_text(c->out, text);
    md_add(c->out, "\r\n", 2);
}

void md_ok(struct call *c)
{
    md_add(c->out, "+OK\r\n", 5);
}

void md_int(struct call *c, int64_t n)
{
    header(c->out, ':', n);
}

void md_bulk(struct call *c, struct slice s)
{
    md_put_bulk(c->out, s);
}

void md_bulk_text(struct call *c, const char *text)
{
    md_put_bulk(c->out, md_text(text));
}

void md_null(struct call *c)
{
    md_add_text(c->out, c->protocol == 3 ? "_\r\n" : "$-1\r\n");
}

void md_null_array(struct call *c)
{
    md_add_text(c->out, c->protocol == 3 ? "_\r\n" : "*-1\r\n");
}

void md_array(struct call *c, size_t n)
{
    header(c->out, '*', (int64_t)n);
}

void md_map(struct call *c, size_t pairs)
{
    if (c->protocol == 3)
        header(c->out, '%', (int64_t)pairs);
    else
        header(c->out, '*', 2 * (int64_t)pairs);
}

void md_set_of(struct call *c, size_t n)
{
    header(c->out, c->protocol == 3 ? '~' : '*', (int64_t)n);
}

/* Scores of fair locks are of this kind: up to 7 digits, and a fraction of 1024 parts,
 * which has 10. All of them are within the 17 of "%.17g", which takes far longer.
 * Returns 0 if d is of another kind. */
static size_t format_parts(char buf[40], double d)
{
    double parts = d * 1024;
    int64_t whole = (int64_t)d, rest;
    size_t n;

    if (d < 1 || d >= 1e7 || parts != (double)(int64_t)parts)
        return 0;
    rest = ((int64_t)parts - whole * 1024) * 9765625; /* 10^10 / 1024 */
    n = md_format(buf, whole);
    buf[n] = '.';
    for (size_t i = 10; i > 0; i--, rest /= 10)
        buf[n + i] = (char)('0' + rest % 10);
    for (n += 11; buf[n - 1] == '0'; n--)
        ;
    buf[n] = '\0';
    return n;
}

size_t md_format_double(char buf[40], double d)
{
    size_t n;

    if (isinf(d))
        return (size_t)sprintf(buf, d > 0 ? "inf" : "-inf");
    if (d > -1e15 && d < 1e15 && d == (double)(int64_t)d && d != 0)
        return md_format(buf, (int64_t)d);
    n = format_parts(buf, d);
    return n > 0 ? n : (size_t)sprintf(buf, "%.17g", d);
}

void md_real(struct call *c, double d)
{
    char text[40];
    size_t n = md_format_double(text, d);

    if (c->protocol != 3) {
        md_put_bulk(c->out, (struct slice){text, n});
        return;
    }
    md_add(c->out, ",", 1);
    md_add(c->out, text, n);
    md_add(c->out, "\r\n", 2);
}

/* One line: its ends become spaces. Ends in a NUL behind what counts. */
static void __attribute__((format(printf, 2, 0)))
put_error(struct bytes *out, const char *format, va_list args)
{
    va_list again;
    int n;
    char *text;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    md_add(out, "-", 1);
    text = md_room(out, (size_t)n + 1);
    (void)vsnprintf(text, (size_t)n + 1, format, args);
    for (char *p = text; *p; p++)
        if (*p == '\r' || *p == '\n')
            *p = ' ';
    out->n += (size_t)n;
}

static void tell_error(const struct call *c, size_t start, bool is_refusal)
{
    const struct model *m = c->m;
    struct model_error e = {
        .container = c->container ? c->container->name : NULL,
        .command = c->command ? c->command->name : "",
        .text = c->out->p + start,
        .is_refusal = is_refusal};

    if (m->observer.on_error)
        m->observer.on_error(m->observer.ctx, c->m, &e);
}

void md_error(struct call *c, const char *format, ...)
{
    size_t start = c->out->n + 1;
    va_list args;

    va_start(args, format);
    put_error(c->out, format, args);
    va_end(args);
    tell_error(c, start, false);
    md_add(c->out, "\r\n", 2);
}

void md_refusal(struct call *c, const char *format, ...)
{
    size_t start = c->out->n + 1;
    va_list args;

    va_start(args, format);
    put_error(c->out, format, args);
    va_end(args);
    tell_error(c, start, true);
    md_add(c->out, "\r\n", 2);
}

void md_wrong_type(struct call *c)
{
    md_error(c, "WRONGTYPE Operation against a key holding the wrong kind of "
                "value");
}

void md_syntax(struct call *c)
{
    md_error(c, "ERR syntax error");
}

bool md_int_arg(struct call *c, int i, int64_t *out)
{
    if (md_integer(c->argv[i], out))
        return true;
    md_error(c, "ERR value is not an integer or out of range");
    return false;
}

bool md_double_arg(struct call *c, int i, double *out)
{
    if (md_double(c->argv[i], out))
        return true;
    md_error(c, "ERR value is not a valid float");
    return false;
}
