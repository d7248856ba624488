/* A counter's text: the number of a semaphore or a latch, or another program's. */
#ifndef CLI_COUNTER_H
#define CLI_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cli_counter_read - returns whether this is an integer as INCRBY writes it, of 64 bits. *out
 *   receives its value. Bytes 0 to CLI_COUNTER_LAST_BYTE distinguish it from a longer text. Pure.
 *   */
#define CLI_COUNTER_LAST_BYTE "20"
bool cli_counter_read(const char *text, size_t len, int64_t *out);

#endif
