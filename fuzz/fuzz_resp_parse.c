/* Any bytes, cut anywhere, dropped at any moment: the parser says what its
 * twin says, and the accessors stay inside the buffer. The first four bytes
 * choose protocol, limits and cuts. */
#include <stdlib.h>

#include "fuzz/resp_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct hf_resp_limits low = {4, 20, 24, 6, 90};
    struct check c = {.protocol = 3};

    if (size < 4)
        return 0;
    c.limits = data[0] & 1 ? low : hf_resp_default_limits;
    c.protocol = data[0] & 2 ? 2 : 3;
    c.bytes = (const char *)data + 4;
    c.len = size - 4;
    check_begin(&c);
    check_pieces(&c, c.len, false, 1000);
    check_pieces(&c, 1, data[0] & 4, data[2]);
    check_pieces(&c, 1u + data[1], data[0] & 8, data[3]);
    check_end(&c);
    return 0;
}
