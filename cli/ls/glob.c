/* Patterns as SCAN MATCH takes them. */
/* Tests: tests/test_cli_ls.c. */
#include "cli/ls/glob.h"

#include <string.h>

static bool is_escape(const char *at)
{
    return at[0] == '\\' && at[1];
}

/* One member of a class: a byte, or a range either way round. */
static bool class_member_matches(const char **at, unsigned char c)
{
    bool is_literal = is_escape(*at);
    unsigned char low, high;

    *at += is_literal;
    low = high = (unsigned char)*(*at)++;
    if (!is_literal && (*at)[0] == '-' && (*at)[1]) {
        high = (unsigned char)(*at)[1];
        *at += 2;
    }
    return low > high ? c >= high && c <= low : c >= low && c <= high;
}

/* Returns the text after '[', up to its ']' or the end; *at is set to the position
 * after that. */
static bool is_in_class(const char **at, unsigned char c)
{
    bool is_inverted = **at == '^', has = false;

    *at += is_inverted;
    while (**at && **at != ']')
        if (class_member_matches(at, c))
            has = true;
    *at += **at == ']';
    return has != is_inverted;
}

/* Returns whether the element at *pattern, which is not '*', matches this byte;
 * *pattern is set to the next element. */
static bool match_element(const char **pattern, char c)
{
    if (**pattern == '[') {
        ++*pattern;
        return is_in_class(pattern, (unsigned char)c);
    }
    if (**pattern == '?') {
        ++*pattern;
        return true;
    }
    *pattern += is_escape(*pattern);
    return **pattern && *(*pattern)++ == c;
}

/* A star that took too little takes one byte more: only the last one need. */
bool ls_glob_matches(const char *pattern, const char *name, size_t len)
{
    const char *end = name + len;
    const char *behind_star = NULL, *taken = NULL;

    while (name < end) {
        if (*pattern == '*') {
            behind_star = ++pattern;
            taken = name;
        } else if (match_element(&pattern, *name)) {
            name++;
        } else if (behind_star) {
            pattern = behind_star;
            name = ++taken;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}
