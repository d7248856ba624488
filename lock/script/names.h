/* Names as Redisson spells them: owners, channels and keys. Private to
 * lock/. */
#ifndef HF_NAMES_H
#define HF_NAMES_H

#include "lock/lock.h"

#define UUID_LEN 36

/* hf_uuid_make - a random version-4 UUID, lower case; false: nothing random is
 * to be had. Source: WIRE 1. */
bool hf_uuid_make(char dst[UUID_LEN + 1]) HF_MUST_CHECK;

/* hf_owner_format - the owner field of one hold: "uuid:" and a decimal number
 * whose last ten digits are the hold's serial number and whose others are the
 * owner's, so that no two holds of a client ever share a field (design 11 a)
 * and the number still tells the owner; behind it `suffix`. Returns the length.
 * Source: WIRE 1. */
size_t hf_owner_format(char dst[HF_OWNER_TEXT_MAX], const char *uuid,
                       int64_t owner, uint64_t serial, const char *suffix);

/* hf_owner_ok - is it what Redisson or we write for an owner: "uuid:number",
 * behind it perhaps ":write" (a write lock's) and ":" with 32 hexadecimal
 * digits (a transaction's)? Source: WIRE 1, 12, 18. */
bool hf_owner_ok(const char *text, size_t len);

/* A multi-lock's value stands in its hash as the base64 of 16 bytes, without
 * padding: a field with the owner, and fields VALUE ":" owner ":lock_count" or
 * ":expire_time". Source: WIRE 14. */
#define HF_VALUE_HASH_LEN 22

/* hf_field_kind - of which kind of lock a hash is that has this field with this
 * value; HF_KIND_NONE: of none, for no lock has it. `mode` is a read-write
 * lock's own field, so its value says which side. Source: WIRE 2.3, 12, 14. */
enum hf_lock_kind hf_field_kind(const char *field, size_t field_len,
                                const char *value, size_t value_len);

/* hf_prefixed_size, hf_prefixed_put - "prefix:{name}", or without braces if the
 * name has a '{' anywhere. Source: WIRE 2.2. */
size_t hf_prefixed_size(const char *prefix, const char *name, size_t len);
void hf_prefixed_put(char *dst, const char *prefix, const char *name,
                     size_t len);

/* hf_key_size, hf_key_put - likewise; but of a prefix that begins with ':' it is
 *                           "{name}:suffix". */
size_t hf_key_size(const char *key, const char *name, size_t len);
void hf_key_put(char *dst, const char *key, const char *name, size_t len);

/* hf_braced_size, hf_braced_put - "prefix{name}", whatever the name. Source: WIRE
 *                                 17. */
size_t hf_braced_size(const char *prefix, size_t len);
void hf_braced_put(char *dst, const char *prefix, const char *name, size_t len);

/* hf_hold_key_size, hf_hold_key_put - "{name}:owner:suffix", with braces as
 *                                     above.
 * Source: WIRE 12. */
size_t hf_hold_key_size(const char *suffix, size_t owner_len, const char *name,
                        size_t len);
void hf_hold_key_put(char *dst, const char *suffix, const char *owner,
                     size_t owner_len, const char *name, size_t len);

/* hf_owner_ends_in - a digit, and then `suffix`: the owner is of that side. */
bool hf_owner_ends_in(const char *text, size_t len, const char *suffix);

#endif
