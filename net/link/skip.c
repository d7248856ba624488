/* Finds the end of a value without keeping it. Rules in skip.h. */
/* Tests: tests/test_net_skip.c. */
#include "net/link/skip.h"

#include <string.h>

/* Values of one reply that are believed: no sum of counts overflows. */
#define VALUES_MAX (UINT64_C(1) << 60)
#define LENGTH_DIGITS_MAX 18

void hf_skip_begin(struct hf_skip *s, int protocol)
{
    *s = (struct hf_skip){.is_resp2 = protocol == 2, .values_left = 1};
}

static bool is_type_byte(const struct hf_skip *s, char c)
{
    return c && strchr(s->is_resp2 ? "+-:$*" : "+-:$*_#,(!=~%>|.;", c) != NULL;
}

/* Is the text of this type's line of no interest? Its length has no bound. */
static bool is_line_of_text(char type)
{
    return strchr("+-:_#,(", type) != NULL;
}

/* ---- counting ---- */

static void count_skipped_value(struct hf_skip *s)
{
    s->values_left--;
    s->state = HF_SKIP_VALUE;
}

static hf_status expect_values(struct hf_skip *s, uint64_t count)
{
    s->values_left += count;
    s->state = HF_SKIP_VALUE;
    return s->values_left < VALUES_MAX ? HF_OK : HF_E_LIMIT;
}

/* The innermost stream is whole: a value of its parent. */
static void end_innermost_stream(struct hf_skip *s)
{
    s->values_left = s->values_left_outside[--s->open_streams];
    count_skipped_value(s);
}

static hf_status open_stream(struct hf_skip *s)
{
    if (s->open_streams == HF_SKIP_STREAMS_MAX)
        return HF_E_LIMIT;
    s->values_left_outside[s->open_streams++] = s->values_left;
    s->values_left = 0;
    s->state = HF_SKIP_VALUE;
    return HF_OK;
}

/* ---- lines ---- */

static bool parse_size(const struct hf_skip *s, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s->line_len; i++) {
        if (s->line[i] < '0' || s->line[i] > '9')
            return false;
        *out = *out * 10 + (uint64_t)(s->line[i] - '0');
    }
    return s->line_len > 0 && s->line_len <= LENGTH_DIGITS_MAX;
}

static bool is_line_equal_to(const struct hf_skip *s, const char *text)
{
    return s->line_len == strlen(text) &&
           memcmp(s->line, text, s->line_len) == 0;
}

static hf_status expect_string(struct hf_skip *s, uint64_t size)
{
    if (size > hf_resp_default_limits.bulk)
        return HF_E_LIMIT;
    s->string_bytes_left = size + 2;
    s->state = HF_SKIP_DATA;
    return HF_OK;
}

static hf_status expect_children(struct hf_skip *s, uint64_t count)
{
    uint64_t children = s->line_type == '%' || s->line_type == '|' ? 2 * count : count;

    if (children > hf_resp_default_limits.elements)
        return HF_E_LIMIT;
    s->values_left -= s->line_type != '|'; /* the value that it belongs to is counted */
    return expect_values(s, children);
}

static hf_status handle_size(struct hf_skip *s)
{
    bool is_string = strchr("$!=;", s->line_type) != NULL;
    uint64_t size;

    if ((s->line_type == '$' || s->line_type == '*') && is_line_equal_to(s, "-1")) {
        count_skipped_value(s);
        return HF_OK;
    }
    if (!s->is_resp2 && strchr("$*~%", s->line_type) && is_line_equal_to(s, "?"))
        return open_stream(s);
    if (!parse_size(s, &size))
        return HF_E_PROTOCOL;
    if (s->line_type == ';' && size == 0) {
        end_innermost_stream(s);
        return HF_OK;
    }
    return is_string ? expect_string(s, size) : expect_children(s, size);
}

static hf_status handle_line(struct hf_skip *s)
{
    if (s->line_type == '.')
        end_innermost_stream(s);
    else if (is_line_of_text(s->line_type))
        count_skipped_value(s);
    else
        return handle_size(s);
    return HF_OK;
}

/* The next child of a streamed aggregate, or its end, which is not a value. */
static void expect_child_of_stream(struct hf_skip *s, char type)
{
    if (s->values_left == 0 && type != '.' && type != ';')
        s->values_left = 1;
}

static hf_status begin_header_line(struct hf_skip *s, char type)
{
    bool is_in_stream = s->open_streams > 0 && s->values_left == 0;

    if (!is_type_byte(s, type) || (strchr(".;", type) && !is_in_stream))
        return HF_E_PROTOCOL;
    expect_child_of_stream(s, type);
    if (!s->outermost_type && s->values_left == 1 && type != '|')
        s->outermost_type = type;
    s->line_type = type;
    s->line_len = 0;
    s->has_line_cr = false;
    s->state = HF_SKIP_LINE;
    return HF_OK;
}

/* Up to its CR, a text is passed over at once. */
static size_t text_len_before_cr(const char *ptr, size_t len)
{
    const char *cr = memchr(ptr, '\r', len);

    return cr ? (size_t)(cr - ptr) : len;
}

static hf_status skip_text(struct hf_skip *s, const char *ptr, size_t len,
                           size_t *used)
{
    size_t n = text_len_before_cr(ptr, len);

    if (memchr(ptr, '\n', n))
        return HF_E_PROTOCOL;
    s->has_line_cr = n < len;
    *used = n + s->has_line_cr;
    return HF_OK;
}

static hf_status append_to_line(struct hf_skip *s, char c)
{
    if (s->line_len == sizeof s->line)
        return HF_E_PROTOCOL;
    s->line[s->line_len++] = c;
    return HF_OK;
}

static hf_status skip_line(struct hf_skip *s, const char *ptr, size_t len,
                           size_t *used)
{
    if (s->has_line_cr)
        return *ptr == '\n' ? handle_line(s) : HF_E_PROTOCOL;
    if (is_line_of_text(s->line_type))
        return skip_text(s, ptr, len, used);
    s->has_line_cr = *ptr == '\r';
    return s->has_line_cr ? HF_OK : append_to_line(s, *ptr);
}

/* ---- strings ---- */

static void end_string(struct hf_skip *s)
{
    if (s->line_type != ';') { /* a chunk is not a value */
        count_skipped_value(s);
        return;
    }
    s->state = HF_SKIP_VALUE;
}

/* All of a string but its CR LF is passed over at once. */
static hf_status skip_data(struct hf_skip *s, const char *ptr, size_t len,
                           size_t *used)
{
    if (s->string_bytes_left > 2) {
        *used = s->string_bytes_left - 2 < len ? (size_t)(s->string_bytes_left - 2) : len;
        s->string_bytes_left -= *used;
        return HF_OK;
    }
    *used = 1;
    if (*ptr != (s->string_bytes_left == 2 ? '\r' : '\n'))
        return HF_E_PROTOCOL;
    if (--s->string_bytes_left == 0)
        end_string(s);
    return HF_OK;
}

/* ---- all ---- */

static bool is_value_skipped(const struct hf_skip *s)
{
    return s->state == HF_SKIP_VALUE && s->values_left == 0 && s->open_streams == 0;
}

static hf_status skip_some_bytes(struct hf_skip *s, const char *ptr, size_t len,
                                 size_t *used)
{
    *used = 1;
    switch (s->state) {
    case HF_SKIP_VALUE:
        return begin_header_line(s, *ptr);
    case HF_SKIP_LINE:
        return skip_line(s, ptr, len, used);
    case HF_SKIP_DATA:
        break;
    }
    return skip_data(s, ptr, len, used);
}

hf_status hf_skip_bytes(struct hf_skip *s, const char *ptr, size_t len,
                        size_t *used)
{
    hf_status rc = HF_OK;
    size_t n;

    *used = 0;
    while (rc == HF_OK && !is_value_skipped(s) && *used < len) {
        rc = skip_some_bytes(s, ptr + *used, len - *used, &n);
        *used += n;
    }
    if (rc < 0)
        return rc;
    return is_value_skipped(s) ? HF_OK : HF_RESP_MORE;
}
