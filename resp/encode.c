/* Commands to bytes: an array of bulk strings, whatever the arguments hold, so
 * that no argument can begin a second command. Source: RESP "Sending commands
 * to a Redis server". */
/* Tests: tests/test_resp_encode.c. */
#include <string.h>

#include "resp/hints.h"
#include "resp/resp.h"

static size_t digit_count(uint64_t n)
{
    size_t count = 1;

    for (; n >= 10; n /= 10)
        count++;
    return count;
}

/* Writes `n` in exactly `count` digits, from the last to the first. */
static char *put_digits(char *dst, uint64_t n, size_t count)
{
    for (size_t i = count; i-- > 0; n /= 10)
        dst[i] = (char)('0' + n % 10);
    return dst + count;
}

static char *put_crlf(char *dst)
{
    dst[0] = '\r';
    dst[1] = '\n';
    return dst + 2;
}

static COLD char *put_long_number(char *dst, uint64_t n)
{
    return put_digits(dst, n, digit_count(n));
}

/* Nearly all arguments are shorter than 100 bytes: those take no loop. */
static inline char *put_header_line(char *dst, char type, uint64_t n)
{
    *dst++ = type;
    if (n >= 100)
        return put_crlf(put_long_number(dst, n));
    if (n >= 10)
        *dst++ = (char)('0' + n / 10);
    *dst++ = (char)('0' + n % 10);
    return put_crlf(dst);
}

static size_t header_line_size(size_t n)
{
    return 1 + (n < 10 ? 1 : n < 100 ? 2 : digit_count(n)) + 2;
}

size_t hf_resp_header_size(size_t argc)
{
    return header_line_size(argc);
}

size_t hf_resp_bulk_size(size_t len)
{
    return hf_resp_add_size(header_line_size(len) + 2, len);
}

size_t hf_resp_add_size(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

char *hf_resp_put_header(char *dst, size_t argc)
{
    return put_header_line(dst, '*', argc);
}

char *hf_resp_put_bulk(char *dst, const void *ptr, size_t len)
{
    dst = put_header_line(dst, '$', len);
    if (len)                     /* an empty argument may have no address */
        memcpy(dst, ptr, len);
    return put_crlf(dst + len);
}

size_t hf_resp_format_integer(char dst[HF_RESP_INTEGER_MAX], int64_t n)
{
    /* Negated as unsigned: -2^63 has no positive twin. */
    uint64_t size = n < 0 ? -(uint64_t)n : (uint64_t)n;
    char *end = dst;

    if (n < 0)
        *end++ = '-';
    return (size_t)(put_digits(end, size, digit_count(size)) - dst);
}

size_t hf_resp_bulk_integer_size(int64_t n)
{
    char text[HF_RESP_INTEGER_MAX];

    return hf_resp_bulk_size(hf_resp_format_integer(text, n));
}

size_t hf_resp_bulk_double_size(double n)
{
    char text[HF_RESP_DOUBLE_MAX];

    return hf_resp_bulk_size(hf_resp_format_double(text, n));
}

char *hf_resp_put_bulk_integer(char *dst, int64_t n)
{
    char text[HF_RESP_INTEGER_MAX];

    return hf_resp_put_bulk(dst, text, hf_resp_format_integer(text, n));
}

char *hf_resp_put_bulk_double(char *dst, double n)
{
    char text[HF_RESP_DOUBLE_MAX];

    return hf_resp_put_bulk(dst, text, hf_resp_format_double(text, n));
}

size_t hf_resp_prefix_size(size_t total, const struct hf_resp_arg *argv,
                           size_t argc)
{
    size_t size = hf_resp_header_size(total);

    for (size_t i = 0; i < argc; i++)
        size = hf_resp_add_size(size, hf_resp_bulk_size(argv[i].len));
    return size;
}

char *hf_resp_put_prefix(char *dst, size_t total,
                         const struct hf_resp_arg *argv, size_t argc)
{
    dst = hf_resp_put_header(dst, total);
    for (size_t i = 0; i < argc; i++)
        dst = hf_resp_put_bulk(dst, argv[i].ptr, argv[i].len);
    return dst;
}

size_t hf_resp_command_size(const struct hf_resp_arg *argv, size_t argc)
{
    return hf_resp_prefix_size(argc, argv, argc);
}

char *hf_resp_put_command(char *dst, const struct hf_resp_arg *argv,
                          size_t argc)
{
    return hf_resp_put_prefix(dst, argc, argv, argc);
}
