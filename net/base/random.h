/* Random bytes. */
#ifndef HF_RANDOM_H
#define HF_RANDOM_H

#include <stdbool.h>
#include <stddef.h>

/* hf_random - fills `ptr` with bytes that nobody can guess. false: the kernel
 * gives none (a filter of system calls), and they are zeros. Any thread. */
bool hf_random(void *ptr, size_t len);

#endif
