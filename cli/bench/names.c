/* Names that no other program uses, on the node of the name from which they are made. */
/* Tests: tests/test_cli_bench.c. */
#include "cli/bench/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "net/route/slot.h"

char *bench_name_make(char dst[BENCH_OWN_MAX], const char *name, uint64_t random,
                      uint32_t *number, bool same_slot)
{
    uint16_t slot = hf_slot_of(name, strlen(name));
    int len;

    do
        len = snprintf(dst, BENCH_OWN_MAX, "%.*s:bench:%016" PRIx64 ":%" PRIu32,
                       BENCH_NAME_MAX, name, random, (*number)++);
    while (same_slot && hf_slot_of(dst, (size_t)len) != slot);
    return dst;
}
