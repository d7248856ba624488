/* Clocks with a finer resolution than hf_clock_ms (net.h). */
#ifndef HF_CLOCK_H
#define HF_CLOCK_H

#include "net/net.h"

/* hf_clock_us - returns the same clock in microseconds. */
int64_t hf_clock_us(void);

/* hf_clock_thread_us - returns the processor time of the calling thread, by a system call. */
int64_t hf_clock_thread_us(void);

#endif
