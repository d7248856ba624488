/* score [FILE]: the score of the adapter that it was linked with. 0 if nothing
 * deviates, 1 if something does. */
#include "tests/vectors/vectors.h"

/* For one vector in one way. The slowest that was seen took three. */
#define SECONDS 60

int main(int argc, char **argv)
{
    struct vec_file f = vec_read(argc > 1 ? argv[1] : "tests/vectors/resp.txt");
    size_t deviating = vec_score(&f, &vec_parser, SECONDS, stdout);

    vec_free(&f);
    return deviating != 0;
}
