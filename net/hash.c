/* FNV-1a, by 32 bits. */
#include "net/net.h"

uint32_t hf_hash(const void *ptr, size_t len)
{
    const unsigned char *p = ptr;
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 16777619u;
    return h;
}
