/* A hash for tables whose keys an attacker may choose. */
#ifndef HF_HASH_H
#define HF_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hf_hash_key {
    uint64_t a, b;
};

/* hf_hash - returns the SipHash-1-3 of these bytes. Without the key, an attacker cannot
 *   choose names that fall into one bucket. Any thread. */
uint64_t hf_hash(const struct hf_hash_key *key, const void *ptr, size_t len);

#endif
