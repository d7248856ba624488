/* Finds the end of a value without keeping it. Rules in skip.h. */
/* Tests: tests/test_net_skip.c. */
#include "net/link/skip.h"

#include <string.h>

/* Values of one reply that are believed: no sum of counts overflows. */
#define VALUES_MAX (UINT64_C(1) << 60)
#define LENGTH_DIGITS_MAX 18

void hf_skip_begin(struct hf_skip *s, int protocol)
{
    *s = (struct hf_skip){.is_resp2 = protocol == 2, .values = 1};
}

static bool is_type(const struct hf_skip *s, char c)
{
    return c && strchr(s->is_resp2 ? "+-:$*" : "+-:$*_#,(!=~%>|.;", c) != NULL;
}

/* Is the text of this type's line of no interest? Its length has no bound. */
static bool is_text(char type)
{
    return strchr("+-:_#,(", type) != NULL;
}

/* ---- counting ---- */

static void value_done(struct hf_skip *s)
{
    s->values--;
    s->state = HF_SKIP_VALUE;
}

static hf_status values_follow(struct hf_skip *s, uint64_t count)
{
    s->values += count;
    s->state = HF_SKIP_VALUE;
    return s->values < VALUES_MAX ? HF_OK : HF_E_LIMIT;
}

/* The innermost stream is whole: a value of its parent. */
static void stream_done(struct hf_skip *s)
{
    s->values = s->outer[--s->streams];
    value_done(s);
}

static hf_status open_stream(struct hf_skip *s)
{
    if (s->streams == HF_SKIP_STREAMS_MAX)
        return HF_E_LIMIT;
    s->outer[s->streams++] = s->values;
    s->values = 0;
    s->state = HF_SKIP_VALUE;
    return HF_OK;
}

/* ---- lines ---- */

static bool read_size(const struct hf_skip *s, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s->line_len; i++) {
        if (s->line[i] < '0' || s->line[i] > '9')
            return false;
        *out = *out * 10 + (uint64_t)(s->line[i] - '0');
    }
    return s->line_len > 0 && s->line_len <= LENGTH_DIGITS_MAX;
}

static bool line_is(const struct hf_skip *s, const char *text)
{
    return s->line_len == strlen(text) &&
           memcmp(s->line, text, s->line_len) == 0;
}

static hf_status string_follows(struct hf_skip *s, uint64_t size)
{
    if (size > hf_resp_default_limits.bulk)
        return HF_E_LIMIT;
    s->data = size + 2;
    s->state = HF_SKIP_DATA;
    return HF_OK;
}

static hf_status children_follow(struct hf_skip *s, uint64_t count)
{
    uint64_t children = s->type == '%' || s->type == '|' ? 2 * count : count;

    if (children > hf_resp_default_limits.elements)
        return HF_E_LIMIT;
    s->values -= s->type != '|'; /* the value that it belongs to is counted */
    return values_follow(s, children);
}

static hf_status size_read(struct hf_skip *s)
{
    bool is_string = strchr("$!=;", s->type) != NULL;
    uint64_t size;

    if ((s->type == '$' || s->type == '*') && line_is(s, "-1")) {
        value_done(s);
        return HF_OK;
    }
    if (!s->is_resp2 && strchr("$*~%", s->type) && line_is(s, "?"))
        return open_stream(s);
    if (!read_size(s, &size))
        return HF_E_PROTOCOL;
    if (s->type == ';' && size == 0) {
        stream_done(s);
        return HF_OK;
    }
    return is_string ? string_follows(s, size) : children_follow(s, size);
}

static hf_status line_read(struct hf_skip *s)
{
    if (s->type == '.')
        stream_done(s);
    else if (is_text(s->type))
        value_done(s);
    else
        return size_read(s);
    return HF_OK;
}

/* The next child of a streamed aggregate, or its end, which is not a value. */
static void count_in_stream(struct hf_skip *s, char type)
{
    if (s->values == 0 && type != '.' && type != ';')
        s->values = 1;
}

static hf_status begin_line(struct hf_skip *s, char type)
{
    bool is_in_stream = s->streams > 0 && s->values == 0;

    if (!is_type(s, type) || (strchr(".;", type) && !is_in_stream))
        return HF_E_PROTOCOL;
    count_in_stream(s, type);
    if (!s->outermost && s->values == 1 && type != '|')
        s->outermost = type;
    s->type = type;
    s->line_len = 0;
    s->has_cr = false;
    s->state = HF_SKIP_LINE;
    return HF_OK;
}

/* Up to its CR, a text is passed over at once. */
static size_t text_len(const char *ptr, size_t len)
{
    const char *cr = memchr(ptr, '\r', len);

    return cr ? (size_t)(cr - ptr) : len;
}

static hf_status skip_text(struct hf_skip *s, const char *ptr, size_t len,
                           size_t *used)
{
    size_t n = text_len(ptr, len);

    if (memchr(ptr, '\n', n))
        return HF_E_PROTOCOL;
    s->has_cr = n < len;
    *used = n + s->has_cr;
    return HF_OK;
}

static hf_status keep_byte(struct hf_skip *s, char c)
{
    if (s->line_len == sizeof s->line)
        return HF_E_PROTOCOL;
    s->line[s->line_len++] = c;
    return HF_OK;
}

static hf_status skip_line(struct hf_skip *s, const char *ptr, size_t len,
                           size_t *used)
{
    if (s->has_cr)
        return *ptr == '\n' ? line_read(s) : HF_E_PROTOCOL;
    if (is_text(s->type))
        return skip_text(s, ptr, len, used);
    s->has_cr = *ptr == '\r';
    return s->has_cr ? HF_OK : keep_byte(s, *ptr);
}

/* ---- strings ---- */

static void data_done(struct hf_skip *s)
{
    if (s->type != ';') { /* a chunk is not a value */
        value_done(s);
        return;
    }
    s->state = HF_SKIP_VALUE;
}

/* All of a string but its CR LF is passed over at once. */
static hf_status skip_data(struct hf_skip *s, const char *ptr, size_t len,
                           size_t *used)
{
    if (s->data > 2) {
        *used = s->data - 2 < len ? (size_t)(s->data - 2) : len;
        s->data -= *used;
        return HF_OK;
    }
    *used = 1;
    if (*ptr != (s->data == 2 ? '\r' : '\n'))
        return HF_E_PROTOCOL;
    if (--s->data == 0)
        data_done(s);
    return HF_OK;
}

/* ---- all ---- */

static bool is_whole(const struct hf_skip *s)
{
    return s->state == HF_SKIP_VALUE && s->values == 0 && s->streams == 0;
}

static hf_status skip_step(struct hf_skip *s, const char *ptr, size_t len,
                           size_t *used)
{
    *used = 1;
    switch (s->state) {
    case HF_SKIP_VALUE:
        return begin_line(s, *ptr);
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
    while (rc == HF_OK && !is_whole(s) && *used < len) {
        rc = skip_step(s, ptr + *used, len - *used, &n);
        *used += n;
    }
    if (rc < 0)
        return rc;
    return is_whole(s) ? HF_OK : HF_RESP_MORE;
}
