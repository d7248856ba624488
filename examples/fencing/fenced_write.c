/* fenced_write FILE TOKEN VALUE: writes the value into the file, unless somebody
 * with a greater token has done so before; FILE.fence has the greatest. Ends with
 * 0: written, 3: refused, 1: an error. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fence.h"

static bool has_written(const char *path, const char *value)
{
    FILE *file = fopen(path, "w");
    bool is_whole = file && fputs(value, file) >= 0;

    return file && fclose(file) == 0 && is_whole;
}

int main(int argc, char **argv)
{
    char path[4096], *end;
    int64_t token;
    bool is_done;
    int fd;

    if (argc != 4)
        return 1;
    errno = 0;
    token = strtoll(argv[2], &end, 10);
    if (errno || end == argv[2] || *end || token < 1) {
        fprintf(stderr, "%s: not a token\n", argv[2]);
        return 1;
    }
    (void)snprintf(path, sizeof path, "%s.fence", argv[1]);
    fd = fence_open(path);
    if (fd < 0 || !fence_enter(fd, token)) {
        is_done = errno == ESTALE;
        perror(path);
        return is_done ? 3 : 1;
    }
    is_done = has_written(argv[1], argv[3]);
    fence_leave(fd);
    return is_done ? 0 : 1;
}
