/* A command that a script needs and the server does not have. See missing_command.h.
 *
 * Servers say in which line of the script the error was:
 *
 *   ERR Unknown Redis command called from script script: SHA1, on @user_script:7.
 *   ERR Error running script (call to f_SHA1): @user_script:7: @user_script: 7:
 *   Unknown Redis command called from Lua script                        before 7.0
 *
 * unless the script caught it (redis.pcall). */
/* Tests: tests/live/server/test_less.c. */
#include "lock/script/missing_command.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct span {
    const char *ptr;
    size_t len;
};

static const char *find_text_in_span(struct span in, const char *what)
{
    return memmem(in.ptr, in.len, what, strlen(what));
}

static struct span span_from(struct span in, const char *at)
{
    return (struct span){at, in.len - (size_t)(at - in.ptr)};
}

/* 0: none is given. */
static unsigned line_number_in_error(struct span words)
{
    const char *at = find_text_in_span(words, "user_script:");
    unsigned line = 0;

    if (!at)
        return 0;
    at += strlen("user_script:");
    for (; at < words.ptr + words.len && *at >= '0' && *at <= '9' && line < 1000; at++)
        line = line * 10 + (unsigned)(*at - '0');
    return line;
}

/* Line `line`, counted from 1, or the whole script. */
static struct span script_line_or_all(const struct hf_script *script, unsigned line)
{
    struct span all = {script->text, script->len}, rest = all;
    const char *end = NULL;

    for (unsigned n = 1; line > 0 && n < line; n++) {
        end = memchr(rest.ptr, '\n', rest.len);
        if (!end)
            return all;
        rest = span_from(rest, end + 1);
    }
    if (line > 0 && (end = memchr(rest.ptr, '\n', rest.len)))
        rest.len = (size_t)(end - rest.ptr);
    return rest;
}

/* Finds the next literal name after "call(", also of pcall. Returns its end, or NULL if
 * there is none. */
static const char *next_called_command(struct span in, struct span *name)
{
    const char *at = find_text_in_span(in, "call('"), *end;

    if (!at)
        return NULL;
    in = span_from(in, at + strlen("call('"));
    end = memchr(in.ptr, '\'', in.len);
    if (end)
        *name = (struct span){in.ptr, (size_t)(end - in.ptr)};
    return end;
}

static bool is_word_in_list(const char *list, struct span name)
{
    for (const char *at = list; (at = strchr(at, ' ')); at++)
        if (strncasecmp(at + 1, name.ptr, name.len) == 0 &&
            (at[1 + name.len] == ' ' || !at[1 + name.len]))
            return true;
    return false;
}

/* " HGET PEXPIRE": each once. */
static void list_called_commands(struct span in, char *dst, size_t room)
{
    struct span name;
    const char *end;
    size_t len = 0;

    dst[0] = '\0';
    while ((end = next_called_command(in, &name)) && len + name.len + 2 < room) {
        if (!is_word_in_list(dst, name)) {
            dst[len++] = ' ';
            for (size_t i = 0; i < name.len; i++)
                dst[len++] = (char)toupper((unsigned char)name.ptr[i]);
            dst[len] = '\0';
        }
        in = span_from(in, end);
    }
}

const char *hf_missing_command_advice(const struct hf_script *script,
                                      struct hf_resp_value reply,
                                      char dst[HF_MISSING_ADVICE_MAX])
{
    struct span words = {"", 0};
    char names[HF_MISSING_ADVICE_MAX / 2];

    if (!hf_resp_is_error(reply) ||
        hf_resp_bytes(reply, &words.ptr, &words.len) < 0 ||
        !(find_text_in_span(words, "nknown") && find_text_in_span(words, "command called from")))
        return NULL;
    list_called_commands(script_line_or_all(script, line_number_in_error(words)), names,
                         sizeof names);
    if (!names[0])
        return NULL;
    (void)snprintf(dst, HF_MISSING_ADVICE_MAX,
                   strchr(names + 1, ' ')
                       ? "the server lacks one of the commands of this script, or it "
                         "was renamed:%s"
                       : "the server lacks the command%s of this script, or it was "
                         "renamed",
                   names);
    return dst;
}
