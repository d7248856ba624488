/* A program around a harness, without a fuzzer: runs it on each file of some
 * folders; without arguments, on the corpus kept for it. It ends as the harness
 * does; a folder that is not there, or empty, is an error. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input in a block of its very size. */
static void run_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    struct stat about;
    uint8_t *data;
    size_t size;

    must(in && fstat(fileno(in), &about) == 0);
    size = (size_t)about.st_size;
    data = must_alloc(size);
    must(fread(data, 1, size, in) == size);
    (void)fclose(in);
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
}

/* How many files were run. */
static unsigned run_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    unsigned count = 0;
    struct dirent *entry;
    char path[4096];

    must(dir != NULL);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        run_file(path);
        count++;
    }
    (void)closedir(dir);
    return count;
}

/* .../fuzz_resp_parse has its corpus in fuzz/corpus/resp_parse. */
static const char *own_folder(const char *program, char *folder, size_t room)
{
    const char *name = strstr(program, "fuzz_"), *next;

    while (name && (next = strstr(name + 1, "fuzz_")))
        name = next;
    (void)snprintf(folder, room, "fuzz/corpus/%s",
                   name ? name + strlen("fuzz_") : program);
    return folder;
}

int main(int argc, char **argv)
{
    char own[4096];
    unsigned count = 0;

    if (argc < 2)
        count = run_folder(own_folder(argv[0], own, sizeof own));
    for (int i = 1; i < argc; i++)
        count += run_folder(argv[i]);
    printf("%s: %u inputs\n", argv[0], count);
    return count == 0;
}
