/* Reads the lines of INFO. */
/* Tests: tests/test_net_info.c, tests/test_cli_doctor.c. */
#include "net/base/info.h"

#include <string.h>

static void split_line_at_colon(struct hf_info_line *line, const char *text, size_t len,
                                const char *colon)
{
    line->name = text;
    line->name_len = (size_t)(colon - text);
    line->value = colon + 1;
    line->value_len = len - line->name_len - 1;
    if (line->value_len > 0 && line->value[line->value_len - 1] == '\r')
        line->value_len--;
}

bool hf_info_next(const char **text, size_t *len, struct hf_info_line *line)
{
    while (*len > 0) {
        const char *at = *text, *end = memchr(at, '\n', *len), *colon;
        size_t line_len = end ? (size_t)(end - at) : *len;

        *text += line_len + (end != NULL);
        *len -= line_len + (end != NULL);
        if ((colon = line_len > 0 ? memchr(at, ':', line_len) : NULL)) {
            split_line_at_colon(line, at, line_len, colon);
            return true;
        }
    }
    return false;
}

bool hf_info_find(const char *text, size_t len, const char *name, char *dst, size_t room)
{
    size_t name_len = strlen(name);
    struct hf_info_line line;

    while (hf_info_next(&text, &len, &line)) {
        size_t n = line.value_len < room ? line.value_len : room - 1;

        if (line.name_len != name_len || memcmp(line.name, name, name_len) != 0)
            continue;
        memcpy(dst, line.value, n);
        dst[n] = '\0';
        return true;
    }
    return false;
}
