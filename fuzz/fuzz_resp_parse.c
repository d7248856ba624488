/* Any bytes: cut anywhere, with nodes and bytes dropped at any moment, they
 * give the same tape and the same verdict as in one piece. Limits hold; every
 * accessor is called, and stays inside the buffer. */
#include "fuzz/choices.h"
#include "tests/support/resp_answers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct cuts uncut = {.piece = size + 1, .step = 8};
    struct reading whole, pieces;
    struct input in;
    struct cuts cuts;

    if (!choose(data, size, &in, &cuts))
        return 0;
    whole = reading_of_parser(&in, &uncut, NULL);
    pieces = reading_of_parser(&in, &cuts, resp_answers_all);
    reading_must_be(&pieces, &whole);
    reading_fini(&pieces);
    reading_fini(&whole);
    return 0;
}
