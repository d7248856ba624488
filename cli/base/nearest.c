/* The edit distance of two short words, by one row of the table for each character; and words that
 * other programs use. */
/* Tests: tests/test_cli_options.c. */
#include "cli/base/nearest.h"

#include <string.h>

#define LEN_MAX 40              /* bytes of a word; the longest option has 22 */
#define LONG_WORD 6             /* bytes; two changes of a shorter word give an unrelated one */

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Returns whether the two characters before i and j are the same, in the other order. */
static int is_exchange(const char *a, size_t i, const char *b, size_t j)
{
    return i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
}

/* rows[i % 3][j] is the distance of the first i characters of `a` from the first j of `b`. */
static int distance_of(const char *a, size_t a_len, const char *b, size_t b_len)
{
    int rows[3][LEN_MAX + 1];

    for (size_t i = 0; i <= a_len; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];

        for (size_t j = 0; j <= b_len; j++) {
            if (i == 0 || j == 0) {
                row[j] = (int)(i + j);
                continue;
            }
            row[j] = least(least(above[j], row[j - 1]) + 1,
                           above[j - 1] + (a[i - 1] != b[j - 1]));
            if (is_exchange(a, i, b, j))
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

/* Options of flock, consul lock, redis-cli and of other lock libraries. If a word has several rows,
 * the first one whose option exists counts. */
static const struct {
    const char *word, *name;
} synonyms[] = {
    {"timeout", "wait"},        {"try", "wait"},
    {"retry", "wait"},          {"blocking-timeout", "wait"},
    {"expire", "ttl"},          {"expire", "lease"},
    {"expiry", "ttl"},          {"expiry", "lease"},
    {"px", "ttl"},              {"px", "lease"},
    {"ex", "ttl"},              {"ex", "lease"},
    {"session-ttl", "ttl"},     {"lock-timeout", "ttl"},
    {"nb", "nonblock"},         {"no-wait", "nonblock"},
    {"host", "url"},            {"hostname", "url"},
    {"port", "url"},            {"server", "url"},
    {"redis", "url"},           {"socket", "url"},
    {"pass", "password-file"},  {"password", "password-file"},
    {"askpass", "password-file"},
    {"semaphore", "permits"},   {"n", "permits"},
};

#define SYNONYMS ((int)(sizeof synonyms / sizeof *synonyms))

/* Returns a negative distance: the earlier the row, the smaller. 0: there is no such row. */
static int synonym_of(const char *word, size_t len, const char *name)
{
    for (int i = 0; i < SYNONYMS; i++)
        if (strlen(synonyms[i].word) == len && memcmp(synonyms[i].word, word, len) == 0 &&
            strcmp(synonyms[i].name, name) == 0)
            return i - SYNONYMS;
    return 0;
}

void cli_nearest_try(struct cli_nearest *n, const char *word, size_t len, const char *name)
{
    int near = len >= LONG_WORD ? 2 : 1, distance;

    if (len > LEN_MAX || strlen(name) > LEN_MAX)
        return;
    distance = synonym_of(word, len, name);
    if (distance == 0)
        distance = distance_of(word, len, name, strlen(name));
    if (distance > near || (n->name && distance >= n->distance))
        return;
    n->name = name;
    n->distance = distance;
}
