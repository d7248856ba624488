/* Names as Redisson spells them: owners, channels and keys. Private to
 * lock/. */
#ifndef HF_NAMES_H
#define HF_NAMES_H

#include "lock/lock.h"

#define OWNER_SERIAL_DIGITS 10          /* of the serial number of a hold */
#define OWNER_SERIAL_MAX 10000000000u
#define UUID_LEN 36   /* 32 hexadecimal digits and four dashes */
#define PERMIT_ID_LEN 32   /* hexadecimal digits: 16 bytes */

/* Prefixes of the keys of a fair lock's queue, and the suffix of hold keys. Source: WIRE
 * 2.3. */
#define HF_QUEUE_KEY "redisson_lock_queue"
#define HF_PLACES_KEY "redisson_lock_timeout"
#define HF_HOLD_KEY "rwlock_timeout"

/* hf_uuid_make - writes a random version-4 UUID in lower case; false: the kernel returned no
 * random bytes. Source: WIRE 1. */
bool hf_uuid_make(char dst[UUID_LEN + 1]) HF_MUST_CHECK;

/* hf_permit_id_ok - returns whether it is the id of a permit, in 32 hexadecimal digits. */
bool hf_permit_id_ok(const char *text, size_t len) HF_MUST_CHECK;

/* hf_owner_format - writes the owner field of one hold: "uuid:", a decimal number, and
 * `suffix`. The last ten digits of the number are the serial number of the hold, so that no
 * two holds of a client have the same field (design 11 a); the others are the owner. Returns
 * the length.
 * Source: WIRE 1. */
size_t hf_owner_format(char dst[HF_OWNER_TEXT_MAX], const char *uuid,
                       int64_t owner, uint64_t serial, const char *suffix);

/* hf_owner_ok - returns whether the text has the form of an owner of Redisson or holdfast:
 * "uuid:number", which ":write" (write lock) and ":" with 32 hexadecimal digits (transaction)
 * may follow. Source: WIRE 1, 12, 18. */
bool hf_owner_ok(const char *text, size_t len);

/* The hash of a multi-lock contains each value as the base64 of 16 bytes, without padding: a
 * field with the owner, and fields VALUE ":" owner ":lock_count" or
 * ":expire_time". Source: WIRE 14. */
#define HF_VALUE_HASH_LEN 22

/* hf_field_kind - returns the kind of lock whose hash contains this field with this value;
 * HF_KIND_NONE: no lock does. The value of the field `mode` is the side of a read-write lock.
 * Source: WIRE 2.3, 12, 14. */
enum hf_lock_kind hf_field_kind(const char *field, size_t field_len,
                                const char *value, size_t value_len);

/* hf_tagged_size, hf_tagged_put - measure and write "{name}", without braces if the name contains
 * '{'. */
size_t hf_tagged_size(const char *name, size_t len);
void hf_tagged_put(char *dst, const char *name, size_t len);

/* hf_prefixed_size, hf_prefixed_put - measure and write "prefix:{name}", without braces if
 * the name contains '{'. Source: WIRE 2.2. */
size_t hf_prefixed_size(const char *prefix, const char *name, size_t len);
void hf_prefixed_put(char *dst, const char *prefix, const char *name,
                     size_t len);

/* hf_key_size, hf_key_put - the same for a key; if it begins with ':', the result is
 *                           "{name}:suffix". */
size_t hf_key_size(const char *key, const char *name, size_t len);
void hf_key_put(char *dst, const char *key, const char *name, size_t len);

/* hf_braced_size, hf_braced_put - measure and write "prefix{name}", for every name. Source:
 *                                 WIRE 17. */
size_t hf_braced_size(const char *prefix, size_t len);
void hf_braced_put(char *dst, const char *prefix, const char *name, size_t len);

/* hf_key_find_name - finds the two names (i = 0, 1) for which hf_key_put, with a key that begins
 *   with ':', may have written the text `key`. *name is within that text. Returns the length;
 *   0: there is no such name. */
size_t hf_key_find_name(const char **name, const char *key, size_t len, int i);

/* hf_hold_key_size, hf_hold_key_put - measure and write "{name}:owner:suffix", with braces
 *                                     as hf_prefixed_put.
 * Source: WIRE 12. */
size_t hf_hold_key_size(const char *suffix, size_t owner_len, const char *name,
                        size_t len);
void hf_hold_key_put(char *dst, const char *suffix, const char *owner,
                     size_t owner_len, const char *name, size_t len);

/* hf_owner_has_suffix - returns whether the text ends in a digit and `suffix`, so that the owner
 * belongs to that side. */
bool hf_owner_has_suffix(const char *text, size_t len, const char *suffix);

#endif
