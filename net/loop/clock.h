/* Time: hf_clock_ms (net.h), and more closely. */
#ifndef HF_CLOCK_H
#define HF_CLOCK_H

#include "net/net.h"

/* hf_clock_us - the same clock in microseconds. */
int64_t hf_clock_us(void);

/* hf_clock_thread_us - the calling thread's processor time. A system call. */
int64_t hf_clock_thread_us(void);

#endif
