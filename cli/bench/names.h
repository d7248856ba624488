/* The names of the locks that `holdfast bench` acquires. */
#ifndef CLI_BENCH_NAMES_H
#define CLI_BENCH_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* The longest NAME: the search for a name of the same slot reads it some 16384 times. */
#define BENCH_NAME_MAX 256
#define BENCH_OWN_MAX (BENCH_NAME_MAX + 48)

/* bench_name_make - writes "NAME:bench:RANDOM:NUMBER" to dst, and returns dst. An ACL rule for
 *   names that begin with NAME permits it.
 *   random     64 random bits, which other runs do not have
 *   number     in: the first number that is tried; out: the number after that of the name
 *   same_slot  the name has the slot of NAME, so that it is on the same node of a cluster
 * Pure. */
char *bench_name_make(char dst[BENCH_OWN_MAX], const char *name, uint64_t random,
                      uint32_t *number, bool same_slot);

#endif
