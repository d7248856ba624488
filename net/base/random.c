/* Random bytes from the kernel, which an attacker cannot guess. */
/* Tests: tests/test_net_hash.c. */
#include "net/base/random.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "net/net.h"

bool hf_random_bytes(void *ptr, size_t len)
{
    char *p = ptr;

    memset(ptr, 0, len);
    while (len > 0) {
        size_t piece = len < 256 ? len : 256; /* never cut short, by contract */

        if (getentropy(p, piece) == 0) {
            p += piece;
            len -= piece;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}
