/* A watch's file, taken apart. */
#include "tests/soak/chaos_monitor.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/local.h"

struct monitor {
    char *text, *at;
    int64_t offset_us;
    const char **stands;        /* by number */
    unsigned long stands_count;
    bool has_next;
    struct monitor_record next;
};

static char *read_all(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text;
    ssize_t n;
    size_t len = 0;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &st), 0);
    text = local_new((size_t)st.st_size + 1);
    while ((n = read(fd, text + len, (size_t)st.st_size - len)) > 0)
        len += (size_t)n;
    (void)close(fd);
    return text;
}

/* Answers come before or behind MONITOR's line, so they are gathered at first. */
static void gather_stands(struct monitor *m)
{
    for (char *at = strstr(m->text, "@stands "); at; at = strstr(at, "@stands ")) {
        unsigned long number = strtoul(at + 8, NULL, 10);

        if (number >= m->stands_count) {
            m->stands = realloc(m->stands, (number + 1) * sizeof *m->stands);
            ck_assert_ptr_nonnull(m->stands);
            while (m->stands_count <= number)
                m->stands[m->stands_count++] = NULL;
        }
        m->stands[number] = at + 8;
        at += 8;
    }
}

struct monitor *monitor_open(const char *path)
{
    struct monitor *m = local_new(sizeof *m);

    m->at = m->text = read_all(path);
    gather_stands(m);
    return m;
}

void monitor_close(struct monitor *m)
{
    free(m->stands);
    free(m->text);
    free(m);
}

const char *monitor_stands(const struct monitor *m, unsigned long number)
{
    return number < m->stands_count ? m->stands[number] : NULL;
}

int64_t monitor_us(const struct monitor *m, int64_t unix_ms)
{
    return unix_ms * 1000 - m->offset_us;
}

/* ---- lines ---- */

static char unescape(const char **from)
{
    char digits[3] = {0};
    char c = *++*from;

    switch (c) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'a': return '\a';
    case 'b': return '\b';
    case 'x':
        memcpy(digits, *from + 1, 2);
        *from += 2;
        return (char)strtoul(digits, NULL, 16);
    default: return c;
    }
}

/* From the '"' on; returns what is behind the closing one. */
static char *take_word(struct monitor_record *r, char *at)
{
    const char *from = ++at;
    char *word = at, *to = at;

    for (; *from && *from != '"' && *from != '\n'; from++)
        *to++ = *from == '\\' ? unescape(&from) : *from;
    if (*from == '"')
        from++;
    at = word + (from - word);
    *to = '\0';
    if (r->argc < MONITOR_ARGS_MAX)
        r->argv[r->argc++] = word;
    return at;
}

/* "+1795379222.776774 [0 lua] "exists" "plain:0"" */
static bool take_command(struct monitor *m, char *line, char *end)
{
    struct monitor_record *r = &m->next;
    long long s, us;
    char *at = strchr(line, '[');

    if (!at || at > end || sscanf(line, "+%lld.%6lld", &s, &us) != 2)
        return false;
    *r = (struct monitor_record){.us = s * 1000000 + us - m->offset_us,
                                 .unix_ms = s * 1000 + us / 1000};
    at += strcspn(at, " ]") + 1;
    r->is_lua = strncmp(at, "lua]", 4) == 0;
    r->is_local = strncmp(at, "unix:", 5) == 0;
    at = strchr(at, ']');
    while (at && at < end && (at = memchr(at, '"', (size_t)(end - at))))
        at = take_word(r, at);
    return r->argc > 0;
}

static bool take_note(struct monitor *m, const char *line)
{
    long long number;

    if (sscanf(line, "@offset %lld", &number) == 1)
        m->offset_us = number;
    if (sscanf(line, "@gone %lld", &number) != 1)
        return false;
    m->next = (struct monitor_record){
        .us = number, .unix_ms = (number + m->offset_us) / 1000};
    return true;
}

struct monitor_record *monitor_peek(struct monitor *m)
{
    while (!m->has_next && *m->at) {
        char *line = m->at, *end = strchr(line, '\n');

        if (!end)
            end = line + strlen(line);
        m->at = *end ? end + 1 : end;
        m->has_next = *line == '@' ? take_note(m, line)
                                   : take_command(m, line, end);
    }
    return m->has_next ? &m->next : NULL;
}

void monitor_pop(struct monitor *m)
{
    m->has_next = false;
}
