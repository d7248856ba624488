/* Random bytes and numbers. */
#ifndef HF_RANDOM_H
#define HF_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* hf_random_bytes - fills `ptr` with bytes that an attacker cannot guess. False: the kernel refused
 *   (a filter of system calls), and the bytes are zeros. Any thread. */
bool hf_random_bytes(void *ptr, size_t len);

/* hf_random_jitter - returns `ms` (0 or more) less up to a quarter, at random. Any thread. */
static inline int64_t hf_random_jitter(int64_t ms)
{
    uint32_t random;

    (void)hf_random_bytes(&random, sizeof random);
    return ms - (int64_t)(random % (uint64_t)(ms / 4 + 1));
}

/* hf_random_next - returns the next number of a sequence (xorshift), for numbers that may be
 *   predictable. *state is the first number, from hf_random_bytes, and not 0. Pure. */
static inline uint32_t hf_random_next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

#endif
