/* Owners, channels and keys, spelled as Redisson spells them. */
/* Tests: tests/test_lock_names.c. */
#include "lock/script/names.h"

#include <string.h>

#include "lock/script/reply.h"
#include "net/base/assert.h"
#include "net/base/random.h"

bool hf_uuid_make(char dst[UUID_LEN + 1])
{
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[16];
    char *d = dst;

    if (!hf_random_bytes(bytes, sizeof bytes))
        return false;
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40); /* version 4 */
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80); /* variant 1 */
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *d++ = '-';
        *d++ = hex[bytes[i] >> 4];
        *d++ = hex[bytes[i] & 15];
    }
    *d = '\0';
    return true;
}

size_t hf_owner_format(char dst[HF_OWNER_TEXT_MAX], const char *uuid,
                       int64_t owner, uint64_t serial, const char *suffix)
{
    char *d = dst;

    memcpy(d, uuid, UUID_LEN);
    d += UUID_LEN;
    *d++ = ':';
    d += hf_resp_format_integer(d, owner);
    serial %= OWNER_SERIAL_MAX;
    for (int i = OWNER_SERIAL_DIGITS - 1; i >= 0; i--, serial /= 10)
        d[i] = (char)('0' + serial % 10);
    d = stpcpy(d + OWNER_SERIAL_DIGITS, suffix);
    HF_ASSERT(d < dst + HF_OWNER_TEXT_MAX);
    return (size_t)(d - dst);
}

/* ---- fields of a lock's hash ---- */

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
           (c >= 'A' && c <= 'F');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool begins_with_uuid(const char *text, size_t len)
{
    if (len < UUID_LEN)
        return false;
    for (int i = 0; i < UUID_LEN; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (is_dash ? text[i] != '-' : !is_hex(text[i]))
            return false;
    }
    return true;
}

/* The length of "-12" at the start of `text`; 0: there is no number. Ours has a
 * 64-bit number's 20 characters and ten digits more. */
#define NUMBER_MAX 30

static size_t leading_number_len(const char *text, size_t len)
{
    size_t sign = len > 0 && text[0] == '-', n = sign;

    while (n < len && is_digit(text[n]))
        n++;
    return n == sign || n > NUMBER_MAX ? 0 : n;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t end_len = strlen(end);

    return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

bool hf_owner_has_suffix(const char *text, size_t len, const char *suffix)
{
    size_t end = strlen(suffix);

    return len > end && ends_with(text, len, suffix) &&
           is_digit(text[len - end - 1]);
}

static bool is_transaction_suffix(const char *text, size_t len)
{
    if (len != 33 || *text != ':')
        return false;
    for (size_t i = 1; i < len; i++)
        if (!is_hex(text[i]))
            return false;
    return true;
}

bool hf_owner_ok(const char *text, size_t len)
{
    static const char write_side[] = ":write";
    size_t n;

    if (!begins_with_uuid(text, len) || len == UUID_LEN || text[UUID_LEN] != ':')
        return false;
    text += UUID_LEN + 1;
    len -= UUID_LEN + 1;
    n = leading_number_len(text, len);
    if (n == 0)
        return false;
    text += n;
    len -= n;
    if (len >= strlen(write_side) &&
        memcmp(text, write_side, strlen(write_side)) == 0) {
        text += strlen(write_side);
        len -= strlen(write_side);
    }
    return len == 0 || is_transaction_suffix(text, len);
}

bool hf_permit_id_ok(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && strchr("0123456789abcdef", text[n]) && text[n])
        n++;
    return len == PERMIT_ID_LEN && n == len;
}

static bool is_value_hash(const char *text, size_t len)
{
    if (len < HF_VALUE_HASH_LEN)
        return false;
    for (int i = 0; i < HF_VALUE_HASH_LEN; i++) {
        char c = text[i];

        if (!is_digit(c) && !(c >= 'a' && c <= 'z') &&
            !(c >= 'A' && c <= 'Z') && c != '+' && c != '/')
            return false;
    }
    return true;
}

/* A field of Redisson's multi-lock of many values: the hash of a value, followed by the
 * owner, and perhaps by the name of a counter. */
static bool is_multi_lock_field(const char *field, size_t len, const char *value,
                                size_t value_len)
{
    static const char *const ends[] = {":lock_count", ":expire_time"};

    if (!is_value_hash(field, len))
        return false;
    if (len == HF_VALUE_HASH_LEN)
        return hf_owner_ok(value, value_len);
    field += HF_VALUE_HASH_LEN;
    len -= HF_VALUE_HASH_LEN;
    for (int i = 0; i < 2; i++)
        if (*field == ':' && ends_with(field, len, ends[i]))
            return hf_owner_ok(field + 1, len - 1 - strlen(ends[i]));
    return false;
}

/* A hold count, which is 1 at least. */
static bool is_hold_count(const char *text, size_t len)
{
    int64_t count;

    return hf_text_integer((struct hf_bytes){text, len}, &count) && count > 0;
}

static bool is_same_text(const char *ptr, size_t len, const char *text)
{
    return len == strlen(text) && memcmp(ptr, text, len) == 0;
}

enum hf_lock_kind hf_field_kind(const char *field, size_t field_len,
                                const char *value, size_t value_len)
{
    if (hf_owner_ok(field, field_len))
        return is_hold_count(value, value_len) ? HF_KIND_PLAIN : HF_KIND_NONE;
    if (is_same_text(field, field_len, "mode") && is_same_text(value, value_len, "read"))
        return HF_KIND_READ;
    if (is_same_text(field, field_len, "mode") && is_same_text(value, value_len, "write"))
        return HF_KIND_WRITE;
    return is_multi_lock_field(field, field_len, value, value_len) ? HF_KIND_MULTI
                                                        : HF_KIND_NONE;
}

/* ---- channels and keys ---- */

static bool has_brace(const char *name, size_t len)
{
    return memchr(name, '{', len) != NULL;
}

static size_t size_with_braces(const char *name, size_t len)
{
    return len + (has_brace(name, len) ? 0 : 2);
}

static char *put_text(char *dst, const char *text, size_t len)
{
    memcpy(dst, text, len);
    return dst + len;
}

static char *put_name_in_braces(char *dst, const char *name, size_t len)
{
    bool bare = has_brace(name, len);

    if (!bare)
        *dst++ = '{';
    dst = put_text(dst, name, len);
    if (!bare)
        *dst++ = '}';
    return dst;
}

size_t hf_tagged_size(const char *name, size_t len)
{
    return size_with_braces(name, len);
}

void hf_tagged_put(char *dst, const char *name, size_t len)
{
    (void)put_name_in_braces(dst, name, len);
}

size_t hf_prefixed_size(const char *prefix, const char *name, size_t len)
{
    return strlen(prefix) + 1 + size_with_braces(name, len);
}

void hf_prefixed_put(char *dst, const char *prefix, const char *name,
                     size_t len)
{
    dst = put_text(dst, prefix, strlen(prefix));
    *dst++ = ':';
    (void)put_name_in_braces(dst, name, len);
}

size_t hf_key_size(const char *key, const char *name, size_t len)
{
    return *key == ':' ? size_with_braces(name, len) + strlen(key)
                       : hf_prefixed_size(key, name, len);
}

void hf_key_put(char *dst, const char *key, const char *name, size_t len)
{
    if (*key != ':') {
        hf_prefixed_put(dst, key, name, len);
        return;
    }
    dst = put_name_in_braces(dst, name, len);
    (void)put_text(dst, key, strlen(key));
}

size_t hf_key_find_name(const char **name, const char *key, size_t len, int i)
{
    const char *colon = memrchr(key, ':', len);
    size_t until = colon ? (size_t)(colon - key) : 0;

    *name = key + i;
    if (i == 0)
        return until;
    return i == 1 && until > 2 && key[0] == '{' && key[until - 1] == '}' ? until - 2 : 0;
}

size_t hf_braced_size(const char *prefix, size_t len)
{
    return strlen(prefix) + 1 + len + 1;
}

void hf_braced_put(char *dst, const char *prefix, const char *name, size_t len)
{
    dst = put_text(dst, prefix, strlen(prefix));
    *dst++ = '{';
    dst = put_text(dst, name, len);
    *dst = '}';
}

size_t hf_hold_key_size(const char *suffix, size_t owner_len, const char *name,
                        size_t len)
{
    return size_with_braces(name, len) + 1 + owner_len + 1 + strlen(suffix);
}

void hf_hold_key_put(char *dst, const char *suffix, const char *owner,
                     size_t owner_len, const char *name, size_t len)
{
    dst = put_name_in_braces(dst, name, len);
    *dst++ = ':';
    dst = put_text(dst, owner, owner_len);
    *dst++ = ':';
    (void)put_text(dst, suffix, strlen(suffix));
}
