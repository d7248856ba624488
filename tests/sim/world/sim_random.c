/* In place of net/base/random.c: the stream of the process whose code runs. */
#include "net/base/random.h"
#include "tests/sim/world/inner.h"

bool hf_random_bytes(void *ptr, size_t len)
{
    unsigned char *byte = ptr;

    must(the_world->current);
    for (size_t i = 0; i < len; i++)
        byte[i] = (unsigned char)(dice_bits(&the_world->current->dice) >> 32);
    return true;
}
