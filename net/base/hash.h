/* A hash for tables whose keys come from outside. */
#ifndef HF_HASH_H
#define HF_HASH_H

#include <stddef.h>
#include <stdint.h>

/* hf_hash - of any bytes, for tables (SipHash-1-3). Without the key nobody can
 *   choose names that fall into one bucket. Any thread. */
struct hf_hash_key {
    uint64_t a, b;
};
uint64_t hf_hash(const struct hf_hash_key *key, const void *ptr, size_t len);

#endif
