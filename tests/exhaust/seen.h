/* The states that a search has seen: a set of hashes. Of two states with one
 * hash of 64 bits the second is taken for the first; among a hundred million
 * states that happens once in 3,000 runs. */
#ifndef EXHAUST_SEEN_H
#define EXHAUST_SEEN_H

#include <stdbool.h>
#include <stdint.h>

struct seen {
    uint64_t *hashes;           /* 0: free */
    uint64_t room;              /* a power of two */
    uint64_t count;
};

/* seen_init - an empty set; it grows. Ends the program without memory.
 * seen_add  - true: `hash` is new. */
void seen_init(struct seen *seen);
void seen_fini(struct seen *seen);
bool seen_add(struct seen *seen, uint64_t hash);

/* seen_mix - the hash of what was hashed before, and one word more. */
static inline uint64_t seen_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

#endif
