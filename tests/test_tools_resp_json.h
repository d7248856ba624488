/* Is a text one value of JSON? Slow and plain, the judge of what is printed.
 * Source: RFC 8259. */
#ifndef TEST_TOOLS_RESP_JSON_H
#define TEST_TOOLS_RESP_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Each steps over what it is named after, up to `end`; NULL: it is not there.
 * No white space: none is printed. */
static inline const char *json_value(const char *at, const char *end);

static inline const char *json_word(const char *at, const char *end,
                                    const char *word)
{
    size_t len = strlen(word);

    if (!at || (size_t)(end - at) < len || memcmp(at, word, len) != 0)
        return NULL;
    return at + len;
}

static inline bool json_is(const char *at, const char *end, const char *set)
{
    return at && at < end && *at && strchr(set, *at);
}

static inline const char *json_digits(const char *at, const char *end)
{
    const char *first = at;

    while (json_is(at, end, "0123456789"))
        at++;
    return at && at > first ? at : NULL;
}

static inline const char *json_number(const char *at, const char *end)
{
    at += json_is(at, end, "-");
    at = json_is(at, end, "0") ? at + 1 : json_digits(at, end);
    if (json_is(at, end, "."))
        at = json_digits(at + 1, end);
    if (!json_is(at, end, "eE"))
        return at;
    at++;
    at += json_is(at, end, "+-");
    return json_digits(at, end);
}

/* Behind a backslash. */
static inline const char *json_escape(const char *at, const char *end)
{
    if (json_is(at, end, "\"\\/bfnrt"))
        return at + 1;
    if (!json_is(at, end, "u"))
        return NULL;
    for (int i = 1; i <= 4; i++)
        if (!json_is(at + i, end, "0123456789abcdefABCDEF"))
            return NULL;
    return at + 5;
}

static inline const char *json_string(const char *at, const char *end)
{
    at = json_word(at, end, "\"");
    while (at && at < end && *at != '"') {
        if ((unsigned char)*at < ' ')
            return NULL;
        at = *at == '\\' ? json_escape(at + 1, end) : at + 1;
    }
    return json_word(at, end, "\"");
}

static inline const char *json_member(const char *at, const char *end)
{
    at = json_word(json_string(at, end), end, ":");
    return at ? json_value(at, end) : NULL;
}

/* What stands between brackets, from behind the first to behind the last. */
static inline const char *json_list(const char *at, const char *end, char close,
                                    const char *(*item)(const char *,
                                                        const char *))
{
    if (at < end && *at == close)
        return at + 1;
    while ((at = item(at, end)) && at < end && *at == ',')
        at++;
    return at && at < end && *at == close ? at + 1 : NULL;
}

static inline const char *json_value(const char *at, const char *end)
{
    const char *word;

    if (!at || at == end)
        return NULL;
    if (*at == '{')
        return json_list(at + 1, end, '}', json_member);
    if (*at == '[')
        return json_list(at + 1, end, ']', json_value);
    if (*at == '"')
        return json_string(at, end);
    if ((word = json_word(at, end, "true")) ||
        (word = json_word(at, end, "false")) ||
        (word = json_word(at, end, "null")))
        return word;
    return json_number(at, end);
}

/* Are these lines an object of JSON each? */
static inline bool json_lines_ok(const char *text, size_t len)
{
    const char *end = text + len;

    while (text && text < end && *text == '{')
        text = json_word(json_value(text, end), end, "\n");
    return text == end;
}

#endif
