/* Owners and channels, spelled as Redisson spells them. */
#include <string.h>

#include "lock/names.h"

#define SERIAL_DIGITS 10
#define SERIAL_MAX 10000000000u   /* 10^SERIAL_DIGITS */

static const char channel_prefix[] = "redisson_lock__channel:";
#define PREFIX_LEN (sizeof channel_prefix - 1)

bool hf_uuid_make(char dst[UUID_LEN + 1])
{
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[16];
    char *d = dst;

    if (!hf_random(bytes, sizeof bytes))
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
                       int64_t owner, uint64_t serial)
{
    char *d = dst;

    memcpy(d, uuid, UUID_LEN);
    d += UUID_LEN;
    *d++ = ':';
    d += hf_resp_format_integer(d, owner);
    serial %= SERIAL_MAX;
    for (int i = SERIAL_DIGITS - 1; i >= 0; i--, serial /= 10)
        d[i] = (char)('0' + serial % 10);
    d += SERIAL_DIGITS;
    *d = '\0';
    return (size_t)(d - dst);
}

static bool has_brace(const char *name, size_t len)
{
    return memchr(name, '{', len) != NULL;
}

size_t hf_channel_size(const char *name, size_t len)
{
    return PREFIX_LEN + len + (has_brace(name, len) ? 0 : 2);
}

void hf_channel_put(char *dst, const char *name, size_t len)
{
    bool bare = has_brace(name, len);

    memcpy(dst, channel_prefix, PREFIX_LEN);
    dst += PREFIX_LEN;
    if (!bare)
        *dst++ = '{';
    memcpy(dst, name, len);
    dst += len;
    if (!bare)
        *dst = '}';
}
