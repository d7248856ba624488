/* Names as Redisson spells them: owners and channels. Private to lock/. */
#ifndef HF_NAMES_H
#define HF_NAMES_H

#include "lock/lock.h"

#define UUID_LEN 36

/* hf_uuid_make - a random version-4 UUID, lower case; false: nothing random is to
 * be had. Source: WIRE 1. */
bool hf_uuid_make(char dst[UUID_LEN + 1]);

/* hf_owner_format - the owner field of one hold: "uuid:" and a decimal number
 * whose last ten digits are the hold's serial number and whose others are the
 * owner's, so that no two holds of a client ever share a field (design 11 a) and
 * the number still tells the owner. Returns the length. Source: WIRE 1. */
size_t hf_owner_format(char dst[HF_OWNER_TEXT_MAX], const char *uuid,
                       int64_t owner, uint64_t serial);

/* hf_channel_size, hf_channel_put - "redisson_lock__channel:{name}", or without
 * braces if the name has a '{' anywhere. Source: WIRE 2.2, 2.4. */
size_t hf_channel_size(const char *name, size_t len);
void hf_channel_put(char *dst, const char *name, size_t len);

#endif
