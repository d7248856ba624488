/* Reading what a script answers. */
/* Tests: tests/test_lock_reply.c. */
#include "lock/script/reply.h"
#include "net/base/assert.h"

/* Reads a 64-bit integer: a token may have any value. */
static bool read_integer_text(struct hf_bytes text, int64_t *out)
{
    bool minus = text.len > 0 && *text.ptr == '-';
    int64_t n = 0;

    if (text.len - minus == 0)
        return false;
    for (size_t i = minus; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9' ||
            __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, text.ptr[i] - '0', &n))
            return false;
    *out = minus ? -n : n;
    return true;
}

bool hf_text_integer(struct hf_bytes text, int64_t *out)
{
    return text.len > 0 && text.len - (*text.ptr == '-') <= 18 &&
           read_integer_text(text, out);
}

bool hf_reply_bytes(struct hf_resp_value reply, size_t index,
                   struct hf_bytes *out)
{
    struct hf_resp_value v;

    return hf_resp_element(reply, index, &v) == HF_OK &&
           hf_resp_bytes(v, &out->ptr, &out->len) == HF_OK;
}

bool hf_reply_integer(struct hf_resp_value reply, size_t index, int64_t *out)
{
    struct hf_resp_value v;
    struct hf_bytes text;

    if (hf_resp_element(reply, index, &v) < 0)
        return false;
    if (hf_resp_integer(v, out) == HF_OK)
        return true;
    return hf_resp_bytes(v, &text.ptr, &text.len) == HF_OK &&
           read_integer_text(text, out);
}

/* The true length of a text, which is `index` of the reply. */
static size_t read_full_length(struct hf_resp_value reply, size_t index,
                               struct hf_bytes text)
{
    int64_t len;

    return hf_reply_integer(reply, index, &len) && len > (int64_t)text.len
               ? (size_t)len
               : text.len;
}

static void read_field_and_value(struct hf_answer *out, struct hf_resp_value reply)
{
    if (!hf_reply_bytes(reply, 5, &out->mode))
        out->mode = (struct hf_bytes){"", 0};
    if (!hf_reply_bytes(reply, 3, &out->field) ||
        !hf_reply_bytes(reply, 4, &out->value))
        out->field = out->value = (struct hf_bytes){"", 0};
    out->field_full_len = read_full_length(reply, 6, out->field);
    out->value_full_len = read_full_length(reply, 7, out->value);
}

bool hf_answer_read(struct hf_answer *out, struct hf_resp_value reply)
{
    bool has_number = hf_resp_count(reply) > 2;

    *out = (struct hf_answer){.number = -1, .field = {"", 0}, .value = {"", 0},
                              .mode = {"", 0}, .note = {"", 0}};
    if (!hf_reply_integer(reply, 1, &out->count) ||
        (has_number && !hf_reply_integer(reply, 2, &out->number)))
        return false;
    if (out->count >= 0) {
        if (!hf_reply_bytes(reply, 3, &out->note))
            out->note = (struct hf_bytes){"", 0};
        return !has_number || out->number >= 0;
    }
    if (out->count != ANSWER_NOT_HELD)
        return true;
    read_field_and_value(out, reply);
    HF_ASSERT(out->field_full_len >= out->field.len && out->value_full_len >= out->value.len);
    return has_number && out->number >= TTL_NO_LOCK;
}

enum hf_lost hf_answer_loss_reason(const struct hf_answer *answer)
{
    return answer->number == TTL_NO_LOCK ? HF_REASON_DELETED : HF_REASON_TAKEN;
}
