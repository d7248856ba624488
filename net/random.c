/* Bytes that nobody can guess, from the kernel. */
#include <sys/random.h>

#include "net/net.h"

void hf_random(void *ptr, size_t len)
{
    char *p = ptr;

    while (len > 0) {
        size_t piece = len < 256 ? len : 256; /* never cut short, by contract */

        if (getentropy(p, piece) < 0)
            continue; /* only before the kernel's pool is ready: it will be */
        p += piece;
        len -= piece;
    }
}
