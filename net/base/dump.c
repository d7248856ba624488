/* Lines of text that describe a state, collected in memory. */
/* Tests: tests/live/lock/test_dump.c. */
#include "net/base/dump.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/moment.h"
#include "net/base/utf8.h"

static void append_line(struct hf_dump *dump, const char *line, size_t len)
{
    if (dump->text_len + len + 1 > dump->text_max) {
        dump->lines_left_out++;
        return;
    }
    if (dump->text_len + len + 1 > dump->capacity &&
        !hf_mem_grow(dump->mem, &dump->text, &dump->capacity, 1, dump->text_len + len + 1,
                     dump->text_max)) {
        dump->is_out_of_memory = true;
        return;
    }
    memcpy(dump->text + dump->text_len, line, len);
    dump->text_len += (uint32_t)len;
    dump->text[dump->text_len++] = '\0';
}

void hf_dump_line(struct hf_dump *dump, int depth, const char *format, ...)
{
    char line[HF_DUMP_LINE_MAX + 1];
    size_t len = (size_t)(2 * depth);
    va_list args;
    int wanted;

    if (dump->lines_left_out > 0) { /* full: no time is spent with the lock held */
        dump->lines_left_out++;
        return;
    }
    memset(line, ' ', len);
    va_start(args, format);
    wanted = vsnprintf(line + len, sizeof line - len, format, args);
    va_end(args);
    if (wanted < 0)
        return;
    len += (size_t)wanted;
    if (len >= sizeof line)
        len = hf_utf8_complete_len(line, sizeof line - 1);
    hf_error_sanitize(line, len);
    append_line(dump, line, len);
}

char *hf_dump_time(const struct hf_dump *dump, char dst[HF_DUMP_TIME_MAX],
                   int64_t moment_ms)
{
    int64_t in_ms = moment_ms - dump->now_ms;

    if (moment_ms == HF_NEVER || moment_ms == INT64_MIN)
        (void)strcpy(dst, "never");
    else if (in_ms > 0)
        (void)snprintf(dst, HF_DUMP_TIME_MAX, "in %" PRId64 " ms", in_ms);
    else
        (void)snprintf(dst, HF_DUMP_TIME_MAX, "%" PRId64 " ms ago", -in_ms);
    return dst;
}

void hf_dump_fini(struct hf_dump *dump)
{
    hf_mem_free(dump->mem, dump->text, dump->capacity);
    dump->text = NULL;
    dump->capacity = dump->text_len = 0;
}
