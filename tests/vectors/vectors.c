/* The notation of the vectors: the file is read here, and what adapters write
 * in it is written here. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vectors/vectors.h"

void *vec_alloc(void *ptr, size_t size)
{
    ptr = realloc(ptr, size ? size : 1);
    if (!ptr)
        abort();
    return ptr;
}

/* ---- reading ---- */

/* One byte as the file spells it; returns the character behind it. */
typedef const char *taker(const char *at, char *byte);

static const char *take_byte(const char *at, char *byte)
{
    static const char letters[] = "rnsp\\", bytes[] = "\r\n |\\";
    char hex[3];

    if (*at != '\\') {
        *byte = *at;
        return at + 1;
    }
    if (at[1] == 'x') {
        memcpy(hex, at + 2, 2);
        hex[2] = '\0';
        *byte = (char)strtol(hex, NULL, 16);
        return at + 4;
    }
    *byte = bytes[strchr(letters, at[1]) - letters];
    return at + 2;
}

/* For `expected`, where a backslash means itself, and what parts two values is
 * the end of a line. */
static const char *take_expected(const char *at, char *byte)
{
    static const char between[] = " ;; ";

    if (strncmp(at, between, strlen(between)) == 0) {
        *byte = '\n';
        return at + strlen(between);
    }
    *byte = *at;
    return at + 1;
}

static void put_range(FILE *out, const char *at, const char *end, taker *take)
{
    char byte;

    while (at < end) {
        at = take(at, &byte);
        fputc(byte, out);
    }
}

/* Writes out `@{N*text}` N times; returns the character behind it. */
static const char *put_repeated(FILE *out, const char *at, taker *take)
{
    char *text;
    const char *end = strchr(at, '}');
    long n = strtol(at + 2, &text, 10);

    while (n-- > 0)
        put_range(out, text + 1, end, take);
    return end + 1;
}

static char *expand(const char *at, size_t *len, taker *take)
{
    char *text;
    FILE *out = open_memstream(&text, len);
    char byte;

    while (*at) {
        if (strncmp(at, "@{", 2) == 0) {
            at = put_repeated(out, at, take);
            continue;
        }
        at = take(at, &byte);
        fputc(byte, out);
    }
    fclose(out);
    return text;
}

/* What is expected, as an adapter writes it: each value ends its line. */
static char *expand_expected(const char *at, bool is_values)
{
    size_t len;
    char *text = expand(at, &len, take_expected);

    if (!is_values)
        return text;
    text = vec_alloc(text, len + 2);
    memcpy(text + len, "\n", 2);
    return text;
}

static void add_vector(struct vec_file *f, char **field, int protocol)
{
    struct vec_vector v = {.protocol = protocol};

    v.name = strdup(field[0]);
    v.verdict = strdup(field[1]);
    v.bytes = expand(field[3], &v.len, take_byte);
    v.expected = expand_expected(field[4], strcmp(v.verdict, "accept") == 0);
    f->vectors = vec_alloc(f->vectors, sizeof v * (f->count + 1));
    f->vectors[f->count++] = v;
}

/* Up to `end`: no escape but those that take_byte knows. */
static bool is_spelled(const char *at, const char *end)
{
    static const char hex[] = "0123456789abcdefABCDEF";

    while ((at = memchr(at, '\\', (size_t)(end - at)))) {
        size_t len = at[1] == 'x' ? 4 : 2;

        if ((size_t)(end - at) < len || !strchr("rnsp\\x", at[1]) ||
            (len == 4 && strspn(at + 2, hex) < 2))
            return false;
        at += len;
    }
    return true;
}

/* Each repetition has a number and an end; and, if a backslash is more than
 * itself, the rest is spelled as it should be. */
static bool is_text(const char *at, bool is_escaped)
{
    const char *brace;

    while ((brace = strstr(at, "@{"))) {
        size_t digits = strspn(brace + 2, "0123456789");
        const char *end = strchr(brace, '}');

        if (!digits || brace[2 + digits] != '*' || !end)
            return false;
        if (is_escaped && !(is_spelled(at, brace) && is_spelled(brace, end)))
            return false;
        at = end + 1;
    }
    return !is_escaped || is_spelled(at, at + strlen(at));
}

static bool is_one_of(const char *text, const char *a, const char *b)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0;
}

static bool is_vector(char *const field[5])
{
    const char *verdict = field[1], *expected = field[4];

    if (!*field[2] || field[2][strspn(field[2], "23")] ||
        !is_text(field[3], true))
        return false;
    if (strcmp(verdict, "reject") == 0)
        return is_one_of(expected, "protocol", "limit");
    if (strcmp(verdict, "incomplete") == 0)
        return strcmp(expected, "more") == 0;
    return strcmp(verdict, "accept") == 0 && is_text(expected, false);
}

static void read_vector(struct vec_file *f, const char *path, char *line)
{
    char *field[5] = {line};
    int count = 1;

    for (char *bar; count < 5 && (bar = strstr(field[count - 1], " | "));) {
        *bar = '\0';
        field[count++] = bar + 3;
    }
    if (count < 5 || !is_vector(field)) {
        fprintf(stderr, "%s: not a vector: %s\n", path, line);
        exit(2);
    }
    for (const char *protocol = field[2]; *protocol; protocol++)
        add_vector(f, field, *protocol - '0');
}

struct vec_file vec_read(const char *path)
{
    struct vec_file f = {NULL, 0};
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;

    if (!in) {
        perror(path);
        exit(2);
    }
    while (getline(&line, &room, in) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (*line && *line != '#')
            read_vector(&f, path, line);
    }
    free(line);
    fclose(in);
    return f;
}

void vec_free(struct vec_file *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free(f->vectors[i].name);
        free(f->vectors[i].verdict);
        free(f->vectors[i].expected);
        free(f->vectors[i].bytes);
    }
    free(f->vectors);
}

/* ---- writing ---- */

void vec_put_bytes(FILE *out, const char *bytes, size_t len)
{
    fputc('"', out);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (c == '\r')
            fputs("\\r", out);
        else if (c == '\n')
            fputs("\\n", out);
        else if (c < ' ' || c > '~')
            fprintf(out, "\\x%02x", c);
        else
            putc_unlocked(c, out); /* most of the time goes here */
    }
    fputc('"', out);
}

/* With a point, or an exponent from 1e16 up and 1e-4 down. */
void vec_put_double(FILE *out, double n)
{
    char text[64] = "nan";
    bool is_plain = fabs(n) >= 1e-4 && fabs(n) < 1e16;

    for (int digits = is_plain ? DBL_DIG : 1; digits < 18 && n == n; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, n);
        if (strtod(text, NULL) == n)
            break;
    }
    if (strchr(text, ','))
        *strchr(text, ',') = '.';
    fprintf(out, "dbl:%s%s", text, strpbrk(text, ".ein") ? "" : ".0");
}
