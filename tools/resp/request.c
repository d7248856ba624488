/* Requests and expected answers, from the words in which a probe gives them. */
/* Tests: tests/test_tools_resp_check.c. */
#include "tools/resp/request.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tools/resp/probe.h"

/* Words of a line. */
#define WORDS_MAX 16

#define MEGA (1024 * 1024)

/* ---- words ---- */

/* The words that are replaced. */
struct meanings {
    char number[HF_RESP_INTEGER_MAX];
    char bytes[256];
    char mega[MEGA];
};

static bool is_word(struct hf_resp_arg word, const char *text)
{
    return word.len == strlen(text) && memcmp(word.ptr, text, word.len) == 0;
}

static struct hf_resp_arg text_arg(const char *text)
{
    return (struct hf_resp_arg){text, strlen(text)};
}

static struct hf_resp_arg number_arg(struct meanings *m, int64_t n)
{
    return (struct hf_resp_arg){m->number,
                                hf_resp_format_integer(m->number, n)};
}

static struct hf_resp_arg bytes_arg(struct meanings *m)
{
    for (int i = 0; i < 256; i++)
        m->bytes[i] = (char)i;
    return (struct hf_resp_arg){m->bytes, sizeof m->bytes};
}

static struct hf_resp_arg mega_arg(struct meanings *m)
{
    memset(m->mega, 'x', sizeof m->mega);
    return (struct hf_resp_arg){m->mega, sizeof m->mega};
}

/* A line has at most one number. */
static struct hf_resp_arg meaning(struct meanings *m, struct hf_resp_arg word,
                                  const struct cli_terms *terms)
{
    if (is_word(word, "KEY"))
        return text_arg(terms->key);
    if (is_word(word, "SCRIPT"))
        return text_arg(cli_probe_script);
    if (is_word(word, "EMPTY"))
        return text_arg("");
    if (is_word(word, "PROTO"))
        return number_arg(m, terms->protocol);
    if (is_word(word, "ID"))
        return number_arg(m, terms->id);
    if (is_word(word, "NUMBER"))
        return number_arg(m, terms->number);
    if (is_word(word, "BYTES"))
        return bytes_arg(m);
    if (is_word(word, "MEGA"))
        return mega_arg(m);
    return word;
}

/* ---- commands ---- */

static size_t len_until(const char *text, size_t len, char end)
{
    const char *at = memchr(text, end, len);

    return at ? (size_t)(at - text) : len;
}

static void put_command(FILE *out, const struct hf_resp_arg *argv, size_t argc)
{
    size_t size = hf_resp_command_size(argv, argc);
    char *bytes = malloc(size);

    if (bytes) {
        (void)hf_resp_put_command(bytes, argv, argc);
        (void)fwrite(bytes, 1, size, out);
    }
    free(bytes);
}

static void put_line(FILE *out, const char *line, size_t len,
                     const struct cli_terms *terms)
{
    static struct meanings meanings; /* a megabyte is too much for the stack */
    struct hf_resp_arg argv[WORDS_MAX];
    size_t argc = 0;

    for (size_t i = 0, word; i < len; i += word + 1) {
        assert(argc < WORDS_MAX);
        word = len_until(line + i, len - i, ' ');
        argv[argc++] =
            meaning(&meanings, (struct hf_resp_arg){line + i, word}, terms);
    }
    put_command(out, argv, argc);
}

void cli_request_put(FILE *out, const char *text, size_t len,
                     const struct cli_terms *terms)
{
    for (size_t i = 0, line; i < len; i += line + 1) {
        line = len_until(text + i, len - i, '\n');
        put_line(out, text + i, line, terms);
    }
}

/* ---- expected answers ---- */

void cli_expected_put(FILE *out, const char *text,
                      const struct cli_terms *terms)
{
    while (*text) {
        if (strncmp(text, "KEY", 3) == 0) {
            (void)fprintf(out, "$%zu %s", strlen(terms->key), terms->key);
            text += 3;
        } else if (strncmp(text, "NUMBER", 6) == 0) {
            (void)fprintf(out, "%d", terms->number);
            text += 6;
        } else {
            (void)fputc(*text++, out);
        }
    }
}
