/* Random bytes. */
#ifndef HF_RANDOM_H
#define HF_RANDOM_H

#include <stdbool.h>
#include <stddef.h>

/* hf_random - fills `ptr` with bytes that an attacker cannot guess. False: the kernel refused
 *   (a filter of system calls), and the bytes are zeros. Any thread. */
bool hf_random(void *ptr, size_t len);

#endif
