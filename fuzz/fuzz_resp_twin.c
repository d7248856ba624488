/* Any bytes, cut anywhere: the parser says what its slow and simple twin says,
 * node by node, and of an error what and where it is. */
#include "fuzz/choices.h"
#include "tests/support/resp_twin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading parser, twin;
    struct input in;
    struct cuts cuts;

    if (!choose(data, size, &in, &cuts))
        return 0;
    parser = reading_of_parser(&in, &cuts, NULL);
    twin = reading_of_twin(&in);
    reading_must_be(&parser, &twin);
    reading_fini(&parser);
    reading_fini(&twin);
    return 0;
}
