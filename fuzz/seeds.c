/* seeds VECTORS FOLDER: each vector as seeds for the harnesses that take a
 * stream of replies, under all their limits: once, in short pieces, and twice
 * at once, so that something stands behind it. Long ones are left out: a fuzzer
 * learns nothing from the length of a run. */
#include <stdio.h>

#include "fuzz/choices.h"
#include "tests/support/must.h"
#include "tests/vectors/vectors.h"

#define SEED_MAX 200

static void write_seed(const struct vec_vector *v, const char *folder,
                       int limits, int times)
{
    const char choices[CHOICES] = {
        (char)((v->protocol == 2 ? RESP2 : 0) + limits * LIMITS),
        (char)(times > 1 ? 255 : 2), 1};
    char path[4096];
    FILE *out;

    (void)snprintf(path, sizeof path, "%s/%s-%d-%d-%d", folder, v->name,
                   v->protocol, limits, times);
    out = fopen(path, "wb");
    must(out && fwrite(choices, 1, CHOICES, out) == CHOICES);
    while (times-- > 0)
        must(fwrite(v->bytes, 1, v->len, out) == v->len);
    must(fclose(out) == 0);
}

int main(int argc, char **argv)
{
    struct vec_file file;

    must(argc == 3);
    file = vec_read(argv[1]);
    for (size_t i = 0; i < file.count; i++) {
        if (file.vectors[i].len > SEED_MAX)
            continue;
        for (int limits = 0; limits < 4; limits++) {
            write_seed(&file.vectors[i], argv[2], limits, 1);
            write_seed(&file.vectors[i], argv[2], limits, 2);
        }
    }
    vec_free(&file);
    return 0;
}
